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
//! | S | the projector onto the motions that restraints allow |
//! | n | the common normal of the nodes that a coarse node embeds, if all of them slide |
//!
//! | file | step |
//! |---|---|
//! | `nodes` | integers for the nodes of a grid |
//! | `kernel` | weights of a node at the coarse nodes around it (§4.2) |
//! | `cells` | the coarse nodes that embed a node, in a hash table; sorted (§6) |
//! | `restraints` | nodes that are held, and nodes that slide: S |
//! | `still` | coarse nodes that move no node along n |
//! | `mod` | P (eq. 4), in the memory of an old step |
//! | `product` | R H P (eq. 6) by stencils |
//!
//! Smoothers, the cycle (Algorithm 2) and the coarsest solve (§5.3) come from
//! [`Multigrid`](coarsen_multigrid::Multigrid).
//!
//! *Reference* Wang, Li, Fang, Zhang, Gao, Tang, Kaufman, Jiang 2020, "Hierarchical Optimization Time
//! Integration for CFL-rate MPM Stepping" (HOT), ACM TOG 39(3):21, §4.

mod cells;
mod kernel;
mod nodes;
mod product;
mod restraints;
mod still;

use std::sync::Arc;

use coarsen_backend::SetupError;
use coarsen_core::Real;
use coarsen_sparse::{Bsr, GalerkinPlan, Pattern, Prolongation};

use cells::Cells;
use coarsen_multigrid::{Coarse, Coarsening, Coarsest, Grid, JacobiCg, Multigrid, Smoothing, stiffen};
use coarsen_relax::GaussSeidel;
pub use kernel::Kernel;
pub use nodes::Nodes;
use product::{Product, Window};
pub use restraints::Restraint;
use restraints::Restraints;
use still::{Common, Still};

/// Returns node embedding for nodes at multiples of `spacing`, with the settings of Wang et al. 2020
/// (HOT), Algorithm 2 and §7.1: three levels, one symmetric Gauss-Seidel before and one after the coarse
/// correction, and block-Jacobi CG to half of √(bᵀ D⁻¹ b) on the coarsest level. *Deviation*: b is the right-hand
/// side of that level, with which Newton's method takes fewer iterations of CG; [`Compared::RightHandSide`] is that of the
/// paper.
///
/// CG makes the cycle [`Variable`](coarsen_core::Class): use it as the initial inverse Hessian of
/// `Lbfgs`, or with `FlexibleCg`. [`Coarsest::Factor`] makes it a fixed symmetric operator for `Cg`.
///
/// ```
/// use coarsen_backend::{Cpu, Setup};
/// use coarsen_core::Stop;
/// use coarsen_krylov::{Cg, Krylov};
/// use coarsen_multigrid::{Coarsest, Multigrid};
/// let p = coarsen_problems::elasticity3d(12, 1.0)?; // nodes at multiples of 1/12
/// let recipe = Multigrid { coarsest: Coarsest::Factor, ..coarsen_node_embedding::node_embedding(1.0 / 12.0) };
/// let mut m = recipe.build(p.system(), &Cpu::new())?;
/// let (b, mut x) = (p.right_hand_side(1), vec![0.0; p.matrix.shape().0]);
/// let report = Cg::new(Stop::relative(1e-8)).solve(&p.matrix, &mut m, &b, &mut x)?.converged()?;
/// assert!(report.iterations < 25);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn node_embedding(spacing: f64) -> Multigrid<NodeEmbedding> {
    node_embedding_of(NodeEmbedding::new(Nodes::OfSystem { spacing, origin: [0.0; 3] }))
}

/// Returns [`node_embedding`](node_embedding) for other nodes, with restraints, or with the
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
/// A build fails without positions, for a node that does not lie on the grid, for restraints that name no node
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
    pub restraints: Arc<[(u32, Restraint)]>,
}

impl NodeEmbedding {
    /// Returns the linear embedding without restraints.
    pub fn new(nodes: Nodes) -> Self {
        Self { nodes, kernel: Kernel::Linear, restraints: Arc::new([]) }
    }
}

/// The state of a level of [`NodeEmbedding`].
#[derive(Clone, Debug, Default)]
pub struct Embedded {
    fine: Vec<[i32; 3]>,
    coarse: Vec<[i32; 3]>,
    restraints: Restraints,
    /// The coarse nodes that move no node along a direction n.
    still: Vec<Still>,
    /// The largest distance along an axis between coupled fine nodes.
    reach: i32,
    /// The windows of the product, and the numbers of the fine nodes in them; `None` if they are too large.
    window: Option<Arc<Window>>,
    numbers: Vec<i32>,
    room: Workspace,
}

impl Embedded {
    /// Returns the places of the coarse nodes, in units of their spacing, with the last axis fastest.
    pub fn nodes(&self) -> &[[i32; 3]] {
        &self.coarse
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
        let mut made = Coarse::new(Bsr::nothing((1, 1)), Embedded::default());
        Ok(self.coarsen_into(fine, above, &mut made)?.then_some(made))
    }

    fn coarsen_into(
        &self,
        fine: &Grid<'_, T>,
        above: Option<&Embedded>,
        into: &mut Coarse<T, Embedded>,
    ) -> Result<bool, SetupError> {
        let (pattern, b) = (fine.a.pattern(), fine.a.block().0);
        let Coarse { prolongation, positions, state, .. } = into;
        let Embedded { fine: nodes, coarse, restraints, still, room, .. } = state;
        let reach = match above {
            None => {
                restraints.renew(&self.restraints, pattern.rows(), b)?;
                self.nodes.places(fine.positions, pattern.rows(), nodes)?;
                product::reach(pattern, nodes)
            }
            Some(above) => {
                restraints.clear();
                nodes.clone_from(&above.coarse);
                product::coarse_reach(self.kernel, above.reach)
            }
        };
        let weights = room.embed(self.kernel, (nodes, restraints), coarse, prolongation.take())?;
        match above {
            None => still::of::<T>(weights.pattern(), |i| restraints.normal(i), &mut room.common, still),
            Some(above) if above.still.is_empty() => still.clear(),
            Some(above) => {
                room.normals.clear();
                room.normals.resize(nodes.len(), None);
                above.still.iter().for_each(|&(j, n)| room.normals[j as usize] = Some(n));
                still::of::<T>(weights.pattern(), |i| room.normals[i], &mut room.common, still);
            }
        }
        *positions = self.nodes.positions(coarse, fine.depth + 1, positions.take());
        *prolongation = restraints.apply(Prolongation::weights(weights, b)?)?; // S P
        state.reach(self.kernel, reach);
        Ok(!state.coarse.is_empty()) // there is none if all nodes are held
    }

    /// True: the set of nodes changes in every step. Two hierarchies then exist, one of which is in use.
    fn keeps_memory(&self) -> bool {
        true
    }

    fn product(
        &self,
        a: &Bsr<T>,
        coarse: &Coarse<T, Embedded>,
        plan: &mut GalerkinPlan<T>,
    ) -> Result<Bsr<T>, SetupError> {
        let (mut made, mut rows) = (Bsr::nothing(a.block()), Vec::new());
        match Product::new(a, &coarse.prolongation, plan.transpose(), &coarse.state) {
            Some(product) => product.build(&mut rows, &mut made)?,
            None => made = plan.build(a, &coarse.prolongation)?,
        }
        Ok(made)
    }

    fn product_into(
        &self,
        a: &Bsr<T>,
        coarse: &mut Coarse<T, Embedded>,
        plan: &mut GalerkinPlan<T>,
        into: &mut Bsr<T>,
    ) -> Result<(), SetupError> {
        let mut rows = std::mem::take(&mut coarse.state.room.rows);
        match Product::new(a, &coarse.prolongation, plan.transpose(), &coarse.state) {
            Some(product) => product.build(&mut rows, into)?,
            None => *into = plan.build(a, &coarse.prolongation)?,
        }
        coarse.state.room.rows = rows;
        Ok(())
    }

    fn update_product(
        &self,
        a: &Bsr<T>,
        coarse: &Coarse<T, Embedded>,
        plan: &mut GalerkinPlan<T>,
        into: &mut Bsr<T>,
    ) -> Result<(), SetupError> {
        match Product::new(a, &coarse.prolongation, plan.transpose(), &coarse.state) {
            Some(product) => product.update(into),
            None => plan.update(a, &coarse.prolongation, into)?,
        }
        Ok(())
    }

    /// P depends only on the nodes and restraints, so new values do not change it.
    fn refresh(
        &self,
        _: &Grid<'_, T>,
        _: Option<&Embedded>,
        _: &mut Coarse<T, Embedded>,
    ) -> Result<(), SetupError> {
        Ok(())
    }

    fn has_term(&self, above: Option<&Embedded>) -> bool {
        above.is_some_and(|above| !above.still.is_empty())
    }

    /// Adds s n nᵀ to the diagonal block of each coarse node that moves no node along n, where s is the largest
    /// entry on the diagonal of the block.
    fn add_term(&self, a: &mut Bsr<T>, above: Option<&Embedded>) -> Result<(), SetupError> {
        let b = a.block().0;
        for &(node, [x, y, z]) in above.map_or(&[][..], |above| &above.still) {
            stiffen(a, node as usize, std::iter::once(([x, y, z, 0.0], b)), "node embedding")?;
        }
        Ok(())
    }

    fn carried(&self, state: &Embedded, _: &Pattern, after: &Pattern) -> Embedded {
        let mut state = state.clone();
        state.reach(self.kernel, product::reach(after, &state.fine));
        state
    }

    fn state_bytes(&self, state: &Embedded) -> usize {
        let places = size_of_val(&state.fine[..]) + size_of_val(&state.coarse[..]);
        let numbers = size_of_val(&state.numbers[..]) + size_of_val(&state.still[..]);
        places + numbers + state.restraints.bytes() + state.room.bytes()
    }

    fn name(&self) -> &'static str {
        "node embedding"
    }
}

/// Lists that a build fills, kept for the next build.
#[derive(Clone, Debug, Default)]
struct Workspace {
    cells: Cells,
    common: Vec<Common>,
    normals: Vec<Option<[f64; 3]>>,
    /// The couplings of each coarse row.
    rows: Vec<u128>,
}

impl Workspace {
    /// Returns the weights w_ij of all nodes in the memory of a matrix, with an empty row for each node that is held,
    /// and writes the places of the coarse nodes.
    fn embed<T: Real>(
        &mut self,
        kernel: Kernel,
        (nodes, restraints): (&[[i32; 3]], &Restraints),
        places: &mut Vec<[i32; 3]>,
        (pattern, mut values): (Arc<Pattern>, Vec<T>),
    ) -> Result<Bsr<T>, SetupError> {
        let (absent, cells) = (kernel::absent(nodes), &mut self.cells);
        let free = |i: usize| restraints.of(i) != Some(Restraint::Held);
        cells.clear(nodes.len() / 4);
        values.clear();
        let fill = |offsets: &mut Vec<usize>, columns: &mut Vec<u32>| {
            offsets.push(0);
            for (i, x) in nodes.iter().enumerate() {
                if free(i) {
                    kernel.around(*x, absent, |cell, w| {
                        columns.push(cells.insert(cell));
                        values.push(T::of(w));
                    });
                }
                offsets.push(columns.len());
            }
            let order = cells.sorted(places);
            columns.iter_mut().for_each(|j| *j = order[*j as usize]); // increasing, as `around` visits cells in order
            places.len()
        };
        Ok(Bsr::new(Pattern::renewed(pattern, fill)?, (1, 1), values)?)
    }

    fn bytes(&self) -> usize {
        self.cells.bytes()
            + size_of_val(&self.common[..])
            + size_of_val(&self.normals[..])
            + size_of_val(&self.rows[..])
    }
}
