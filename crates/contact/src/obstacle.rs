//! Contact of nodes with a shape.
//!
//! | symbol | here | |
//! |---|---|---|
//! | g | `gap` | signed distance of a node to the surface: (x − t) · n for the nearest point t |
//! | n | `normal` | outward normal at t |
//! | k | `stiffness` | stiffness of the penalty |
//!
//! > E = Σ k/2 min(g, 0)²,  ∇E = k g n,  ∇²E = k (n nᵀ + g ∇²g)    (1)
//!
//! Xian, Tong & Liu 2019, §4.6, with the Hessian k n nᵀ.

use std::ops::Range;
use std::sync::Arc;

use coarsen_core::parallel;
use coarsen_elastic::{BodyError, Curvature, Energy, Potential, Touching};
use coarsen_sparse::{Pattern, Stencil};

use crate::error::positive;
use crate::{ContactError, Penetration, Shape};

/// The number of nodes per task of a parallel loop.
const LEAF: usize = 1024;

/// The number of scalar operations per node, used to decide whether threads pay off.
const WORK: usize = 24;

/// Contact of free nodes with a solid shape, by a quadratic penalty.
///
/// A node penetrates by about its load divided by k. The projected Hessian is k n nᵀ. Only the exact Hessian
/// contains the term k g ∇²g, which is negative semidefinite for a convex shape. The Hessian changes with the
/// set of nodes in contact. It is stored as contacts, separately from the matrix. There is no friction and no
/// damping: a moving obstacle pushes nodes but does not drag them. *Cost*: one pass over the nodes. It runs
/// in parallel, and its result is bitwise the same for any number of threads; contacts are listed on one
/// thread. *Use* [`only`](Self::only) if only a few nodes can touch the shape.
///
/// ```
/// use coarsen_contact::{Obstacle, Sphere};
/// use coarsen_elastic::Potential;
/// let mut ball = Obstacle::new(2, Sphere::new([0.0; 3], 1.0)?, 8.0)?;
/// assert_eq!(ball.energy(&[0.5, 0.0, 0.0, 3.0, 0.0, 0.0]).value, 1.0); // 8/2 · 0.5²
/// assert_eq!(ball.penetration(&[0.5, 0.0, 0.0, 3.0, 0.0, 0.0]).deepest, 0.5);
/// # Ok::<(), coarsen_contact::ContactError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Obstacle<S> {
    shape: S,
    stiffness: f64,
    /// For each free node, whether it can touch the shape.
    touches: Vec<bool>,
    pattern: Arc<Pattern>,
}

impl<S: Shape> Obstacle<S> {
    /// Returns the contact of `nodes` free nodes with a shape, with a stiffness k in N/m.
    ///
    /// # Errors
    /// [`ContactError::Value`] for a k that is not positive and finite, [`ContactError::Sparse`] for more
    /// nodes than the rows that a matrix may have.
    pub fn new(nodes: usize, shape: S, stiffness: f64) -> Result<Self, ContactError> {
        let stiffness = positive("the stiffness of an obstacle", stiffness)?;
        let pattern = Arc::new(Pattern::diagonal(nodes)?);
        Ok(Self { shape, stiffness, touches: vec![true; nodes], pattern })
    }

    /// Restricts the contact to the free nodes of a list, which may have any order.
    ///
    /// # Errors
    /// [`ContactError::Body`] for a node that does not exist.
    pub fn only(mut self, list: &[u32]) -> Result<Self, ContactError> {
        self.touches.fill(false);
        let nodes = self.touches.len();
        for (index, &node) in list.iter().enumerate() {
            let node = node as usize;
            let Some(touches) = self.touches.get_mut(node) else {
                return Err(BodyError::Node { what: "entry of a list", index, node, nodes }.into());
            };
            *touches = true;
        }
        Ok(self)
    }

    /// The shape.
    pub fn shape(&self) -> &S {
        &self.shape
    }

    /// Replaces the shape, for example by the same shape at another position.
    pub fn set_shape(&mut self, shape: S) {
        self.shape = shape;
    }

    /// The number of nodes inside the shape and the largest depth. *Panics* on a wrong length.
    pub fn penetration(&self, x: &[f64]) -> Penetration {
        self.check("penetration", x);
        let leaf = |nodes: Range<usize>| {
            let own = nodes.filter(|&i| self.touches[i]).map(|i| Penetration::of(self.gap(i, x)));
            own.fold(Penetration::default(), Penetration::and)
        };
        parallel::tree(0..self.touches.len(), LEAF, self.parallel(), &leaf, &Penetration::and)
    }

    fn check(&self, what: &str, x: &[f64]) {
        assert_eq!(x.len(), 3 * self.touches.len(), "{what}: wrong length");
    }

    fn parallel(&self) -> bool {
        parallel::worth(self.touches.len() * WORK)
    }

    /// g of node i.
    fn gap(&self, i: usize, x: &[f64]) -> f64 {
        self.shape.distance(at(i, x))
    }

    /// K = k (n nᵀ + g ∇²g), with the second term only if `exact`.
    fn stiffness(&self, x: [f64; 3], gap: f64, exact: bool) -> [[f64; 3]; 3] {
        let (n, k) = (self.shape.normal(x), self.stiffness);
        let turning = if exact { self.shape.curvature(x) } else { [[0.0; 3]; 3] };
        std::array::from_fn(|p| std::array::from_fn(|q| k * (n[p] * n[q] + gap * turning[p][q]))) // (1)
    }
}

/// The position of node i.
fn at(i: usize, x: &[f64]) -> [f64; 3] {
    [x[3 * i], x[3 * i + 1], x[3 * i + 2]]
}

impl<S: Shape> Potential for Obstacle<S> {
    fn nodes(&self) -> usize {
        self.touches.len()
    }

    fn pattern(&self) -> &Arc<Pattern> {
        &self.pattern
    }

    fn energy(&mut self, x: &[f64]) -> Energy {
        self.check("energy", x);
        let energy = |i: usize| {
            let gap = self.gap(i, x);
            if gap >= 0.0 {
                return Energy::default();
            }
            let magnitude = gap.abs() * self.shape.magnitude(at(i, x));
            self.stiffness * Energy { value: 0.5 * gap * gap, magnitude } // (1)
        };
        let leaf = |nodes: Range<usize>| nodes.filter(|&i| self.touches[i]).map(energy).sum::<Energy>();
        parallel::tree(0..self.touches.len(), LEAF, self.parallel(), &leaf, &|a, b| a + b)
    }

    fn add_gradient(&mut self, x: &[f64], g: &mut [f64]) {
        self.check("add_gradient", x);
        self.check("add_gradient", g);
        let add = |(nodes, g): (Range<usize>, parallel::Groups<&mut [f64]>)| {
            for (i, g) in nodes.zip(g.0.chunks_exact_mut(3)).filter(|(i, _)| self.touches[*i]) {
                let gap = self.gap(i, x);
                if gap >= 0.0 {
                    continue;
                }
                let n = self.shape.normal(at(i, x));
                (0..3).for_each(|k| g[k] += self.stiffness * gap * n[k]); // (1)
            }
        };
        parallel::each((0..self.touches.len(), parallel::Groups(g, 3)), LEAF, self.parallel(), &add);
    }

    fn add_hessian(&mut self, _: &[f64], _: Curvature, _: &mut [f64]) {}

    fn add_contacts(&mut self, x: &[f64], curvature: Curvature, contacts: &mut Touching) {
        self.check("add_contacts", x);
        let exact = curvature == Curvature::Exact;
        for i in (0..self.touches.len()).filter(|&i| self.touches[i]) {
            let gap = self.gap(i, x);
            if gap < 0.0 {
                contacts.push(Stencil::point(i as u32), self.stiffness(at(i, x), gap, exact));
            }
        }
    }

    fn touches(&self) -> bool {
        true
    }
}
