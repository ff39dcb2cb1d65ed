//! Contact of nodes and edges with a shape.
//!
//! | file | what |
//! |---|---|
//! | `mod` | contact of nodes |
//! | `edges` | contact of edges between them |
//! | `kernel` | the same for devices |
//! | `motion` | steps before a shape, and shapes that move |
//!
//! | symbol | here | |
//! |---|---|---|
//! | g | `gap` | signed distance of a node to the surface: (x − t) · n for the nearest point t |
//! | n | `gradient` | ∇g, the outward normal at t |
//! | φ | `potential` | the energy of a gap: k/2 min(g, 0)² of a [`Penalty`], or a [`Barrier`](coarsen_elastic::Barrier) |
//!
//! > E = Σ φ(g),  ∇E = φ' n,  ∇²E = φ'' n nᵀ + φ' ∇²g    (1)
//!
//! Xian, Tong & Liu 2019, §4.6, with the penalty and its Hessian k n nᵀ. Li et al. 2020, "Incremental potential
//! contact", ACM TOG 39(4), with the barrier.

mod edges;
mod kernel;
mod motion;

use std::ops::Range;
use std::sync::Arc;

use coarsen_core::parallel;
use coarsen_elastic::{
    BodyError, ContactHessian, ContactPotential, Curvature, ElementKernel, Energy, Penalty, Potential,
};
use coarsen_mesh::vector::{dot, sub};
use coarsen_sparse::{Pattern, Stencil};

use self::edges::{Edge, least};
use crate::error::positive;
use crate::shape::norm;
use crate::{ContactError, Penetration, Shape};

/// The number of nodes per task of a parallel loop.
const LEAF: usize = 1024;

/// The number of scalar operations per node, used to decide whether threads pay off.
const WORK: usize = 24;

/// Contact of free nodes with a solid shape, by a quadratic penalty or any other potential φ of the gap, and of edges if they are
/// given ([`edges`](Self::edges)).
///
/// A [`Penalty`] pushes nodes that are inside: nodes enter by their load divided by k. With a
/// [`Barrier`](coarsen_elastic::Barrier) of the reach r nodes feel the shape at the distance r, and
/// [`max_step`](Potential::max_step) ends every step before a node reaches it: nodes that start outside stay outside. An
/// edge of the length l between nodes outside dips into a ball of the radius ρ by up to l²/(8ρ), unless it has contact too.
///
/// The projected Hessian is φ'' n nᵀ. Only the exact Hessian contains the term φ' ∇²g, which is negative
/// semidefinite for a convex shape. The Hessian changes with the
/// set of nodes in contact. It is stored as contacts, separately from the matrix. There is no friction and no
/// damping: a moving obstacle pushes nodes but does not drag them. *Cost*: one pass over the nodes, which runs
/// in parallel and whose result is bitwise the same for any number of threads; contacts are listed, and edges are visited, on
/// one thread. *Use* [`only`](Self::only) if only a few nodes can touch the shape.
///
/// ```
/// use coarsen_contact::{Obstacle, Sphere};
/// use coarsen_elastic::{Barrier, Potential};
/// let mut ball = Obstacle::new(2, Sphere::new([0.0; 3], 1.0)?, 8.0)?;
/// assert_eq!(ball.energy(&[0.5, 0.0, 0.0, 3.0, 0.0, 0.0]).value, 1.0); // 8/2 · 0.5²
/// assert_eq!(ball.penetration(&[0.5, 0.0, 0.0, 3.0, 0.0, 0.0]).deepest, 0.5);
///
/// // A barrier of 0.1: the node may move to a tenth of its distance.
/// let potential = Barrier { stiffness: 2.0, reach: 0.1 };
/// let mut ball = Obstacle::with_potential(1, Sphere::new([0.0; 3], 1.0)?, potential)?;
/// assert!((ball.max_step(&[1.5, 0.0, 0.0], &[-1.0, 0.0, 0.0]) - 0.45).abs() < 1e-12);
/// # Ok::<(), coarsen_contact::ContactError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Obstacle<S> {
    shape: S,
    potential: ContactPotential,
    /// For each free node, whether it can touch the shape.
    active: Vec<bool>,
    edges: Vec<Edge>,
    pattern: Arc<Pattern>,
}

/// An end of an edge.
#[derive(Clone, Copy, Debug)]
enum End {
    /// The number of a free node.
    Free(u32),
    /// The number of a held node among all nodes, and where it is.
    Held { node: u32, at: [f64; 3] },
}

impl End {
    fn slot(&self) -> Option<usize> {
        if let Self::Free(slot) = self { Some(*slot as usize) } else { None }
    }

    fn at(&self, x: &[f64]) -> [f64; 3] {
        match *self {
            Self::Free(slot) => at(slot as usize, x),
            Self::Held { at, .. } => at,
        }
    }

    /// Its displacement, given those of free nodes, and where held nodes go, if they move.
    fn along(&self, d: &[f64], held: &[[f64; 3]]) -> [f64; 3] {
        match *self {
            Self::Free(slot) => at(slot as usize, d),
            Self::Held { node, at } => held.get(node as usize).map_or([0.0; 3], |to| sub(*to, at)),
        }
    }

    fn hold(&mut self, positions: &[[f64; 3]]) {
        if let Self::Held { node, at } = self {
            *at = positions[*node as usize];
        }
    }
}

/// A node, or a point of an edge, that a shape presses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pressed {
    /// The ends of the edge; twice the same node for a node.
    ends: [End; 2],
    /// Their weights: 1 and 0 for a node.
    weights: [f64; 2],
    /// The unit normal of the shape.
    pub(crate) normal: [f64; 3],
}

impl Pressed {
    fn node(i: usize, normal: [f64; 3]) -> Self {
        Self { ends: [End::Free(i as u32); 2], weights: [1.0, 0.0], normal }
    }

    /// Its position.
    pub(crate) fn at(&self, x: &[f64]) -> [f64; 3] {
        let ([a, b], [v, w]) = (self.ends.map(|end| end.at(x)), self.weights);
        if w == 0.0 { a } else { std::array::from_fn(|k| v * a[k] + w * b[k]) }
    }

    /// Moves held ends.
    pub(crate) fn hold(&mut self, positions: &[[f64; 3]]) {
        self.ends.iter_mut().for_each(|end| end.hold(positions));
    }

    /// Adds a slope at the point to the gradient.
    pub(crate) fn add(&self, slope: [f64; 3], g: &mut [f64]) {
        for (end, w) in self.ends.iter().zip(self.weights).filter(|(_, w)| *w != 0.0) {
            let Some(slot) = end.slot() else { continue };
            (0..3).for_each(|k| g[3 * slot + k] += w * slope[k]);
        }
    }

    /// The free nodes and their weights.
    pub(crate) fn stencil(&self) -> Stencil {
        match self.ends {
            [End::Free(a), End::Free(b)] if a == b => Stencil::point(a),
            ends => on_edge(&ends, self.weights),
        }
    }
}

/// The number of every held node in a stencil.
const HELD: u32 = u32::MAX;

/// The free nodes of a point of an edge, and their weights.
fn on_edge(ends: &[End; 2], weights: [f64; 2]) -> Stencil {
    let ends = ends.map(|end| end.slot().map_or(HELD, |slot| slot as u32));
    Stencil::edge_edge(ends, weights[1], [HELD; 2], 0.0).without(HELD)
}

impl<S: Shape> Obstacle<S> {
    /// Returns the contact of `nodes` free nodes with a shape by a penalty, with a stiffness k in N/m.
    ///
    /// # Errors
    /// [`ContactError::Value`] for a k that is not positive and finite, [`ContactError::Sparse`] for more
    /// nodes than the rows that a matrix may have.
    pub fn new(nodes: usize, shape: S, stiffness: f64) -> Result<Self, ContactError> {
        let stiffness = positive("the stiffness of an obstacle", stiffness)?;
        Self::with_potential(nodes, shape, Penalty { stiffness })
    }

    /// Returns the contact of `nodes` free nodes with a shape by a potential φ of the gap.
    ///
    /// # Errors
    /// [`ContactError::Body`] for a potential whose parameters are out of range, [`ContactError::Sparse`] for more nodes
    /// than the rows that a matrix may have.
    pub fn with_potential(
        nodes: usize,
        shape: S,
        potential: impl Into<ContactPotential>,
    ) -> Result<Self, ContactError> {
        let potential = potential.into();
        potential.check()?;
        let pattern = Arc::new(Pattern::diagonal(nodes)?);
        Ok(Self { shape, potential, active: vec![true; nodes], edges: Vec::new(), pattern })
    }

    /// Restricts the contact of nodes, not that of edges, to the free nodes of a list, which may have any order.
    ///
    /// # Errors
    /// [`ContactError::Body`] for a node that does not exist.
    pub fn only(mut self, list: &[u32]) -> Result<Self, ContactError> {
        self.active.fill(false);
        let nodes = self.active.len();
        for (index, &node) in list.iter().enumerate() {
            let node = node as usize;
            let Some(active) = self.active.get_mut(node) else {
                return Err(BodyError::Node { what: "entry of a list", index, node, nodes }.into());
            };
            *active = true;
        }
        Ok(self)
    }

    /// The shape.
    pub fn shape(&self) -> &S {
        &self.shape
    }

    /// Replaces the shape, for example by the same shape at another position. Nodes that it meets are not searched for
    /// ([`impacts`](Self::impacts) does).
    pub fn set_shape(&mut self, shape: S) {
        self.shape = shape;
    }

    /// The number of nodes and edges with a force, which are those inside the shape if φ is a penalty, and the largest depth.
    /// *Panics* on a wrong length.
    pub fn penetration(&self, x: &[f64]) -> Penetration {
        self.check("penetration", x);
        let of = |i: usize| {
            let gap = self.gap(i, x);
            let contacts = usize::from(self.potential.at(gap)[1] != 0.0);
            Penetration { contacts, ..Penetration::of(gap) }
        };
        let leaf = |nodes: Range<usize>| {
            let own = nodes.filter(|&i| self.active[i]).map(of);
            own.fold(Penetration::default(), Penetration::and)
        };
        let nodes = parallel::tree(0..self.active.len(), LEAF, self.parallel(), &leaf, &Penetration::and);
        nodes.and(self.edge_penetration(x))
    }

    /// Calls `each` for the nodes and the points of edges that the shape presses, with the normal force |φ'| ‖∇d‖ in N.
    pub(crate) fn each_pressed(&self, x: &[f64], mut each: impl FnMut(Pressed, f64)) {
        for i in (0..self.active.len()).filter(|&i| self.active[i]) {
            let force = self.potential.at(self.gap(i, x))[1].abs();
            if force > 0.0 {
                let x = at(i, x);
                each(Pressed::node(i, self.shape.normal(x)), force * norm(self.shape.gradient(x)));
            }
        }
        self.each_pressed_edge(x, &mut each);
    }

    fn check(&self, what: &str, x: &[f64]) {
        assert_eq!(x.len(), 3 * self.active.len(), "{what}: wrong length");
    }

    fn parallel(&self) -> bool {
        parallel::worth(self.active.len() * WORK)
    }

    /// g of node i.
    fn gap(&self, i: usize, x: &[f64]) -> f64 {
        self.shape.distance(at(i, x))
    }

    /// φ'' n nᵀ + φ' ∇²g, with the second term only if `exact`.
    fn stiffness(&self, x: [f64; 3], [_, slope, bend]: [f64; 3], exact: bool) -> [[f64; 3]; 3] {
        let n = self.shape.gradient(x);
        let turning = if exact { self.shape.curvature(x) } else { [[0.0; 3]; 3] };
        std::array::from_fn(|p| std::array::from_fn(|q| bend * (n[p] * n[q]) + slope * turning[p][q])) // (1)
    }
}

/// The position of node i.
fn at(i: usize, x: &[f64]) -> [f64; 3] {
    [x[3 * i], x[3 * i + 1], x[3 * i + 2]]
}

impl<S: Shape> Potential for Obstacle<S> {
    fn nodes(&self) -> usize {
        self.active.len()
    }

    fn pattern(&self) -> &Arc<Pattern> {
        &self.pattern
    }

    fn energy(&mut self, x: &[f64]) -> Energy {
        self.check("energy", x);
        let energy = |i: usize| {
            let [value, slope, _] = self.potential.at(self.gap(i, x));
            if value == 0.0 {
                return Energy::default();
            }
            Energy { value, magnitude: slope.abs() * self.shape.magnitude(at(i, x)) } // (1)
        };
        let leaf = |nodes: Range<usize>| nodes.filter(|&i| self.active[i]).map(energy).sum::<Energy>();
        let nodes = parallel::tree(0..self.active.len(), LEAF, self.parallel(), &leaf, &|a, b| a + b);
        if self.edges.is_empty() { nodes } else { nodes + self.edge_energy(x) }
    }

    fn add_gradient(&mut self, x: &[f64], g: &mut [f64]) {
        self.check("add_gradient", x);
        self.check("add_gradient", g);
        let add = |(nodes, g): (Range<usize>, parallel::Groups<&mut [f64]>)| {
            for (i, g) in nodes.zip(g.0.chunks_exact_mut(3)).filter(|(i, _)| self.active[*i]) {
                let slope = self.potential.at(self.gap(i, x))[1];
                if slope == 0.0 {
                    continue;
                }
                let n = self.shape.gradient(at(i, x));
                (0..3).for_each(|k| g[k] += slope * n[k]); // (1)
            }
        };
        parallel::each((0..self.active.len(), parallel::Groups(&mut *g, 3)), LEAF, self.parallel(), &add);
        self.add_edge_gradient(x, g);
    }

    fn add_hessian(&mut self, _: &[f64], _: Curvature, _: &mut [f64]) {}

    fn add_contacts(&mut self, x: &[f64], curvature: Curvature, contacts: &mut ContactHessian) {
        self.check("add_contacts", x);
        let exact = curvature == Curvature::Exact;
        for i in (0..self.active.len()).filter(|&i| self.active[i]) {
            let potential = self.potential.at(self.gap(i, x));
            if potential[2] > 0.0 {
                contacts.push(Stencil::point(i as u32), self.stiffness(at(i, x), potential, exact));
            }
        }
        self.add_edge_contacts(x, contacts);
    }

    fn has_contact_hessian(&self) -> bool {
        true
    }

    /// For planes, balls, capsules and boxes, by a penalty or a barrier.
    fn kernels(&self) -> Result<Vec<ElementKernel>, BodyError> {
        self.kernels_of(None)
    }

    /// The largest α that the potential allows: from the rate at which gaps shrink at x if the shape is convex, and by
    /// conservative advancement with its Lipschitz constant if not.
    fn max_step(&mut self, x: &[f64], d: &[f64]) -> f64 {
        self.check("max_step", x);
        self.check("max_step", d);
        let lipschitz = self.shape.lipschitz();
        let step = |i: usize| {
            let (x, dx) = (at(i, x), at(i, d));
            if self.shape.is_convex() {
                return self.potential.max_step(self.shape.distance(x), dot(self.shape.gradient(x), dx));
            }
            let gap = |t: f64| self.shape.distance([0, 1, 2].map(|k| x[k] + t * dx[k]));
            self.advance(gap, lipschitz * norm(dx), motion::LONG)
        };
        let leaf =
            |nodes: Range<usize>| nodes.filter(|&i| self.active[i]).map(step).fold(f64::INFINITY, least);
        let nodes = parallel::tree(0..self.active.len(), LEAF, self.parallel(), &leaf, &least);
        least(nodes, self.edge_step(x, d))
    }
}
