//! Node embedding: the nodes of a grid are embedded in a grid of twice the spacing, as particles are embedded
//! in a grid by the material point method.
//!
//! | symbol | here |
//! |---|---|
//! | m | a level; 0 is the finest |
//! | x_i | the position of node i, as integers in units of the spacing of its level |
//! | N | the kernel: a hat or a quadratic B-spline, in units of the coarse spacing |
//! | ∂x_i⁰/∂x_j¹ = w_ij | N(x_i/2 − x_j), a product over the axes |
//! | P = (∂x⁰/∂x¹), R = Pᵀ | weights w ⊗ I_d |
//! | H | the matrix of a level; H¹ = R H⁰ P |
//! | S | the projector onto the motions that held and sliding nodes allow |
//! | n | the common normal of the nodes that a coarse node embeds, if all of them slide |
//!
//! | file | step |
//! |---|---|
//! | `nodes` | integers for the nodes of a grid |
//! | `kernel` | weights of a node at the coarse nodes around it (§4.2) |
//! | `cells` | the coarse nodes that embed a node, in a hash table; sorted (§6) |
//! | `constraints` | nodes that are held, and nodes that slide: S |
//! | `still` | coarse nodes that move no node along n |
//! | `lib` | P (eq. 4) |
//! | `product` | R H P (eq. 6) by stencils |
//!
//! Smoothers, the cycle (Algorithm 2) and the coarsest solve (§5.3) come from
//! [`Multigrid`].
//!
//! *Reference* Wang, Li, Fang, Zhang, Gao, Tang, Kaufman, Jiang 2020, "Hierarchical Optimization Time
//! Integration for CFL-rate MPM Stepping" (HOT), ACM TOG 39(3):21, §4.

mod cells;
mod constraints;
mod kernel;
mod nodes;
mod product;
mod still;

use std::sync::Arc;

use coarsen_backend::SetupError;
use coarsen_core::Real;
use coarsen_sparse::{Bsr, GalerkinPlan, Pattern, Prolongation};

use cells::Cells;
/// What a program on this crate alone needs.
pub use coarsen_multigrid as multigrid;
use coarsen_multigrid::{Coarse, Coarsening, Coarsest, Grid, JacobiCg, Multigrid, Smoothing, stiffen};
use coarsen_relax::GaussSeidel;
use constraints::NodeConstraints;
pub use constraints::{Constraint, WrongConstraint};
pub use kernel::Kernel;
pub use nodes::{Nodes, OffGrid};
use product::{Product, Window};
use still::Still;

/// Returns node embedding for nodes at multiples of `spacing`, with the settings of Wang et al. 2020
/// (HOT), Algorithm 2 and §7.1: three levels, one symmetric Gauss-Seidel before and one after the coarse
/// correction, and block-Jacobi CG to half of √(bᵀ D⁻¹ b) on the coarsest level. *Deviation*: b is the right-hand
/// side of that level, with which Newton's method takes fewer iterations of CG; [`ResidualReference::RightHandSide`](coarsen_multigrid::ResidualReference::RightHandSide) is that of the
/// paper.
///
/// CG makes the cycle [`Variable`](coarsen_core::PreconditionerKind): use it as the initial inverse Hessian of
/// `Lbfgs`, or with `FlexibleCg`. [`Coarsest::Factor`] makes it a fixed symmetric operator for `Cg`.
///
/// ```
/// use coarsen_backend::Cpu;
/// use coarsen_core::Stop;
/// use coarsen_krylov::Cg;
/// use coarsen_multigrid::{Coarsest, Multigrid};
/// let p = coarsen_problems::elasticity3d(12, 1.0)?; // nodes at multiples of 1/12
/// let parameters = Multigrid { coarsest: Coarsest::Factor, ..coarsen_node_embedding::node_embedding(1.0 / 12.0) };
/// let mut m = parameters.build(p.system(), &Cpu::new())?;
/// let (b, mut x) = (p.right_hand_side(1), vec![0.0; p.matrix.shape().0]);
/// let report = Cg::new(Stop::relative(1e-8)).solve(&p.matrix, &mut m, &b, &mut x)?.converged()?;
/// assert!(report.iterations < 25);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn node_embedding(spacing: f64) -> Multigrid<NodeEmbedding> {
    node_embedding_of(NodeEmbedding::new(Nodes::OfSystem { spacing, origin: [0.0; 3] }))
}

/// Returns [`node_embedding()`] for other nodes, with constraints, or with the
/// quadratic kernel.
pub fn node_embedding_of(coarsening: NodeEmbedding) -> Multigrid<NodeEmbedding> {
    let smoothing = Smoothing::SymmetricGaussSeidel(GaussSeidel::default());
    let coarsest = Coarsest::Iterative(JacobiCg::default());
    Multigrid { levels: 3, coarse_size: 0, smoothing, coarsest, ..Multigrid::of(coarsening) }
}

/// Multigrid on the occupied nodes of a grid: each node is embedded in the nodes of a grid of twice the
/// spacing.
///
/// The nodes can be any set, of one to three axes. A coarse node exists if it embeds at least one node that
/// can move; if none can, the hierarchy has one level. The coarse matrix is R H P. For matrices assembled from
/// particles it is the matrix that the particles give with the composed weights Σ_i w_ij ω_ip (eq. 7 and 8). *Use* for
/// the material point method, where the set changes in every step, and for other systems on a grid with one spacing.
/// *Not* if the nodes lie on no grid: use smoothed aggregation. *Cost* of P: a hash look-up per weight, at most 2^d
/// weights per node. Where rows of H have 5^d (3^d) blocks, coarse rows have at most 5^d (3^d) with the linear kernel, and
/// 7^d (5^d) with the quadratic one.
///
/// A build fails without positions, for a node that does not lie on the grid, for constraints that name no node
/// or one node twice, and for a node that slides without a normal or with one unknown.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeEmbedding {
    /// The places of the nodes on the grid.
    pub nodes: Nodes,
    /// The kernel that embeds nodes.
    pub kernel: Kernel,
    /// Nodes that cannot move freely, each named at most once. H is then S H S + σ (I − S), as
    /// `coarsen_constraints::prefilter` computes it. P becomes S P, and its blocks are stored in full if a
    /// node slides.
    pub constraints: Arc<[(u32, Constraint)]>,
}

impl NodeEmbedding {
    /// Returns the linear embedding without constraints.
    pub fn new(nodes: Nodes) -> Self {
        Self { nodes, kernel: Kernel::Linear, constraints: Arc::new([]) }
    }
}

/// The state of a level of [`NodeEmbedding`].
#[derive(Clone, Debug)]
pub struct Embedded {
    fine: Vec<[i32; 3]>,
    coarse: Vec<[i32; 3]>,
    constraints: NodeConstraints,
    /// The coarse nodes that move no node along a direction n.
    still: Vec<Still>,
    /// The largest distance along an axis between coupled fine nodes.
    reach: i32,
    /// The pattern of the couplings.
    pattern: Arc<Pattern>,
    /// The windows of the product, and the numbers of the fine nodes in them; `None` if they are too large.
    window: Option<Arc<Window>>,
    numbers: Vec<i32>,
}

impl Embedded {
    /// Returns the places of the coarse nodes, in units of their spacing, with the last axis fastest.
    pub fn nodes(&self) -> &[[i32; 3]] {
        &self.coarse
    }

    fn bytes(&self) -> usize {
        let places = size_of_val(&self.fine[..]) + size_of_val(&self.coarse[..]);
        let numbers = size_of_val(&self.numbers[..]) + size_of_val(&self.still[..]);
        places + numbers + self.constraints.bytes()
    }

    /// Takes a distance between coupled fine nodes.
    fn reach(&mut self, kernel: Kernel, reach: i32) {
        self.reach = reach;
        let absent = kernel::absent(&self.fine);
        if !self.window.as_ref().is_some_and(|window| window.is_of(kernel, absent, reach)) {
            self.window = Window::new(kernel, absent, reach).map(Arc::new);
        }
        self.numbers.clear();
        if let Some(window) = &self.window {
            self.numbers.extend(window.numbers(&self.fine));
        }
    }
}

impl<T: Real> Coarsening<T> for NodeEmbedding {
    type State = Embedded;

    fn coarsen(
        &self,
        fine: &Grid<'_, T>,
        above: Option<&Embedded>,
    ) -> Result<Option<Coarse<T, Embedded>>, SetupError> {
        let (pattern, b) = (fine.a.pattern(), fine.a.block().0);
        let (constraints, nodes, reach) = match above {
            None => {
                let constraints = NodeConstraints::new(&self.constraints, pattern.rows(), b)?;
                let nodes = self.nodes.places(fine.positions, pattern.rows())?;
                let reach = product::reach(pattern, &nodes);
                (constraints, nodes, reach)
            }
            Some(above) => {
                let reach = product::coarse_reach(self.kernel, above.reach);
                (NodeConstraints::default(), above.coarse.clone(), reach)
            }
        };
        let (weights, coarse) = embed(self.kernel, &nodes, &constraints)?;
        let still = match above {
            None => still::of::<T>(weights.pattern(), |i| constraints.normal(i)),
            Some(above) if above.still.is_empty() => Vec::new(),
            Some(above) => {
                let mut normals = vec![None; nodes.len()];
                above.still.iter().for_each(|&(j, n)| normals[j as usize] = Some(n));
                still::of::<T>(weights.pattern(), |i| normals[i])
            }
        };
        if coarse.is_empty() {
            return Ok(None); // all nodes are held
        }
        let positions = self.nodes.positions(&coarse, fine.depth + 1);
        let prolongation = constraints.apply(Prolongation::weights(weights, b)?)?; // S P
        let (pattern, has_term) = (pattern.clone(), !still.is_empty());
        let (window, numbers) = (None, Vec::new());
        let mut state = Embedded { fine: nodes, coarse, constraints, still, reach, pattern, window, numbers };
        state.reach(self.kernel, reach);
        Ok(Some(Coarse {
            positions,
            has_term,
            state_bytes: state.bytes(),
            ..Coarse::new(prolongation, state)
        }))
    }

    /// Uses stencils if no coupled nodes are too far apart.
    fn product(
        &self,
        a: &Bsr<T>,
        coarse: &mut Coarse<T, Embedded>,
        plan: &mut GalerkinPlan<T>,
        into: Option<Bsr<T>>,
    ) -> Result<Bsr<T>, SetupError> {
        if into.is_none() && !Arc::ptr_eq(&coarse.state.pattern, a.pattern()) {
            coarse.state.pattern = a.pattern().clone();
            let reach = product::reach(a.pattern(), &coarse.state.fine);
            coarse.state.reach(self.kernel, reach);
        }
        let Coarse { prolongation, state, .. } = coarse;
        match (Product::new(a, prolongation, plan.transpose(), state), into) {
            (Some(product), None) => product.build(),
            (None, None) => Ok(plan.build(a, &*prolongation)?),
            (Some(product), Some(mut made)) => {
                product.update(&mut made);
                Ok(made)
            }
            (None, Some(mut made)) => {
                plan.update(a, &*prolongation, &mut made)?;
                Ok(made)
            }
        }
    }

    /// P depends only on the nodes and constraints, so new values do not change it.
    fn refresh(
        &self,
        _: &Grid<'_, T>,
        _: Option<&Embedded>,
        _: &mut Coarse<T, Embedded>,
    ) -> Result<(), SetupError> {
        Ok(())
    }

    /// Adds s n nᵀ to the diagonal block of each coarse node that moves no node along n, where s is the largest
    /// entry on the diagonal of the block.
    fn add_term(&self, a: &mut Bsr<T>, above: &Embedded) -> Result<(), SetupError> {
        let b = a.block().0;
        for &(node, [x, y, z]) in &above.still {
            stiffen(a, node as usize, std::iter::once(([x, y, z, 0.0], b)), "node embedding")?;
        }
        Ok(())
    }

    fn name(&self) -> &'static str {
        "node embedding"
    }
}

/// Returns the weights w_ij of all nodes, with an empty row for each node that is held, and the places of the coarse
/// nodes.
fn embed<T: Real>(
    kernel: Kernel,
    nodes: &[[i32; 3]],
    constraints: &NodeConstraints,
) -> Result<(Bsr<T>, Vec<[i32; 3]>), SetupError> {
    let (absent, mut cells) = (kernel::absent(nodes), Cells::new(nodes.len() / 4));
    let (mut offsets, mut columns, mut values) =
        (Vec::with_capacity(nodes.len() + 1), Vec::new(), Vec::new());
    offsets.push(0);
    for (i, x) in nodes.iter().enumerate() {
        if constraints.of(i) != Some(Constraint::Held) {
            kernel.around(*x, absent, |cell, w| {
                columns.push(cells.insert(cell));
                values.push(T::from_f64(w));
            });
        }
        offsets.push(columns.len());
    }
    let (places, order) = cells.sorted();
    columns.iter_mut().for_each(|j| *j = order[*j as usize]); // increasing, as `around` visits cells in order
    let pattern = Pattern::new(places.len(), offsets, columns)?;
    Ok((Bsr::new(Arc::new(pattern), (1, 1), values)?, places))
}
