//! The trait of energies that depend on the positions of nodes.

use std::iter::Sum;
use std::ops::{Add, Mul};
use std::sync::Arc;

use coarsen_sparse::{Contacts, Pattern, SparseError, Stencil};

use crate::{BodyError, ElementKernel};

/// The kind of Hessian.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Curvature {
    /// The Hessian with the negative eigenvalues of each element set to 0, which is positive semidefinite
    /// (Teran et al. 2005).
    #[default]
    Projected,
    /// The exact Hessian.
    Exact,
    /// The constant matrix of Projective Dynamics: a weighted Laplacian that does not depend on x and bounds
    /// the exact Hessian at rest from above. *Reference* Bouaziz et al. 2014; for other energies Liu, Bouaziz
    /// & Kavan 2017, "Quasi-Newton methods for real-time simulation of hyperelastic materials", ACM TOG
    /// 36(3).
    Constant,
}

/// An energy in J, and the magnitude of its terms.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Energy {
    /// The energy E.
    pub value: f64,
    /// Σ |t ∂E/∂t| over the terms t of E. Rounding changes E by a few ε times this magnitude, even if E is
    /// near 0.
    pub magnitude: f64,
}

impl Add for Energy {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { value: self.value + other.value, magnitude: self.magnitude + other.magnitude }
    }
}

impl Sum for Energy {
    fn sum<I: Iterator<Item = Self>>(terms: I) -> Self {
        terms.fold(Self::default(), Add::add)
    }
}

impl Mul<Energy> for f64 {
    type Output = Energy;

    /// Multiplies by a weight, which must be 0 or more.
    fn mul(self, Energy { value, magnitude }: Energy) -> Energy {
        Energy { value: self * value, magnitude: self * magnitude }
    }
}

/// Contacts and their stiffness, the input of [`Contacts::assemble`](coarsen_sparse::Contacts::assemble).
#[derive(Clone, Debug, Default)]
pub struct ContactHessian {
    stencils: Vec<Stencil>,
    stiffness: Vec<f64>,
    places: Vec<(u32, u32)>,
    blocks: Vec<f64>,
}

impl ContactHessian {
    /// Adds a contact between free nodes with the stiffness K = ∂²E/∂g², where g is its gap.
    pub fn push(&mut self, stencil: Stencil, k: [[f64; 3]; 3]) {
        self.stencils.push(stencil);
        self.stiffness.extend_from_slice(k.as_flattened());
    }

    /// Adds the Hessian of a contact of four nodes whose blocks are not multiples of one K, for example because its
    /// normal turns; `None` is a node that is not free.
    pub fn push_blocks(&mut self, nodes: [Option<u32>; 4], hessian: &[[[[f64; 3]; 3]; 4]; 4]) {
        for (i, row) in nodes.iter().zip(hessian) {
            for (j, block) in nodes.iter().zip(row) {
                if let (Some(i), Some(j)) = (*i, *j) {
                    self.places.push((i, j));
                    self.blocks.extend_from_slice(block.as_flattened());
                }
            }
        }
    }

    /// Removes all contacts and keeps the memory.
    pub fn clear(&mut self) {
        self.stencils.clear();
        self.stiffness.clear();
        self.places.clear();
        self.blocks.clear();
    }

    /// Replaces a set by the Hessian of all contacts. With blocks those of the stencils are listed one by one, which
    /// takes longer.
    pub(crate) fn assemble(&mut self, set: &mut Contacts<f64>) -> Result<(), SparseError> {
        if self.places.is_empty() {
            return set.assemble(&self.stencils, &self.stiffness);
        }
        for (stencil, k) in self.stencils.iter().zip(self.stiffness.chunks_exact(9)) {
            for (i, v) in stencil.nodes().iter().zip(stencil.weights()) {
                for (j, w) in stencil.nodes().iter().zip(stencil.weights()) {
                    self.places.push((*i, *j));
                    self.blocks.extend(k.iter().map(|k| v * w * k));
                }
            }
        }
        self.stencils.clear();
        self.stiffness.clear();
        set.replace(&self.places, &self.blocks)
    }

    /// The contacts that have a K.
    pub fn stencils(&self) -> &[Stencil] {
        &self.stencils
    }

    /// The 3x3 matrices K of these contacts.
    pub fn stiffness(&self) -> &[f64] {
        &self.stiffness
    }

    /// The blocks of the contacts that have none: pairs of free nodes, and nine values each, row-major.
    pub fn blocks(&self) -> (&[(u32, u32)], &[f64]) {
        (&self.places, &self.blocks)
    }
}

/// An energy of the positions of free nodes, three scalars per node, and its derivatives.
pub trait Potential {
    /// The number of free nodes.
    fn nodes(&self) -> usize;

    /// The block pattern of the Hessian: all pairs of free nodes in a common element, and the diagonal.
    fn pattern(&self) -> &Arc<Pattern>;

    /// The energy E(x). *Panics* on a wrong length, as do the gradient and the Hessian.
    fn energy(&mut self, x: &[f64]) -> Energy;

    /// Adds the gradient: g += ∇E(x), in N.
    fn add_gradient(&mut self, x: &[f64], g: &mut [f64]);

    /// Adds the Hessian: values += ∇²E(x) in N/m, for a matrix with this pattern and 3x3 blocks.
    fn add_hessian(&mut self, x: &[f64], curvature: Curvature, values: &mut [f64]);

    /// Appends the contacts at x with their stiffness: the part of ∇²E outside the pattern, which changes
    /// with x.
    ///
    /// [`ImplicitEuler`](crate::ImplicitEuler) passes contacts and matrix separately to the preconditioner.
    fn add_contacts(&mut self, x: &[f64], curvature: Curvature, contacts: &mut ContactHessian) {
        let _ = (x, curvature, contacts);
    }

    /// Whether [`add_contacts`](Self::add_contacts) ever adds contacts.
    fn has_contact_hessian(&self) -> bool {
        false
    }

    /// The largest α for which x + α d is known to be valid; ∞ by default. Valid means that elements are not
    /// inverted and that no barrier is crossed.
    fn max_step(&mut self, x: &[f64], d: &[f64]) -> f64 {
        let _ = (x, d);
        f64::INFINITY
    }

    /// Updates the elements for the x at the start of a time step, if they depend on x. Returns whether
    /// [`pattern`](Self::pattern) has changed.
    ///
    /// # Errors
    /// [`BodyError`] if the new pattern cannot be allocated.
    fn renew(&mut self, x: &[f64]) -> Result<bool, BodyError> {
        let _ = x;
        Ok(false)
    }

    /// Adds the characteristic force of each free node in N: ℓᵢ ξᵢ of Wang et al. 2020 (HOT), Eq. 9, without
    /// the time step, since x are positions. The gradient divided by this force measures strain, both in
    /// stiff and in soft parts. Potentials without an extent (pins, obstacles) add nothing.
    fn add_characteristic(&self, forces: &mut [f64]) {
        let _ = forces;
    }

    /// The energy for a device, as elements with the source that computes them.
    ///
    /// # Errors
    /// [`BodyError::NoKernel`] with the name of an energy that has none.
    fn kernels(&self) -> Result<Vec<ElementKernel>, BodyError> {
        Err(BodyError::no_kernel::<Self>())
    }
}

/// A boxed energy, for parts that are chosen at run time.
impl<P: Potential + ?Sized> Potential for Box<P> {
    fn nodes(&self) -> usize {
        (**self).nodes()
    }

    fn pattern(&self) -> &Arc<Pattern> {
        (**self).pattern()
    }

    fn energy(&mut self, x: &[f64]) -> Energy {
        (**self).energy(x)
    }

    fn add_gradient(&mut self, x: &[f64], g: &mut [f64]) {
        (**self).add_gradient(x, g);
    }

    fn add_hessian(&mut self, x: &[f64], curvature: Curvature, values: &mut [f64]) {
        (**self).add_hessian(x, curvature, values);
    }

    fn add_contacts(&mut self, x: &[f64], curvature: Curvature, contacts: &mut ContactHessian) {
        (**self).add_contacts(x, curvature, contacts);
    }

    fn has_contact_hessian(&self) -> bool {
        (**self).has_contact_hessian()
    }

    fn max_step(&mut self, x: &[f64], d: &[f64]) -> f64 {
        (**self).max_step(x, d)
    }

    fn renew(&mut self, x: &[f64]) -> Result<bool, BodyError> {
        (**self).renew(x)
    }

    fn add_characteristic(&self, forces: &mut [f64]) {
        (**self).add_characteristic(forces);
    }

    fn kernels(&self) -> Result<Vec<ElementKernel>, BodyError> {
        (**self).kernels()
    }
}

/// Returns the shorter of two steps; NaN counts as 0.
pub(crate) fn shorter(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { 0.0 } else { a.min(b) }
}
