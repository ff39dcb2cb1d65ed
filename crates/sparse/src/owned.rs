//! A system that owns its parts, and the trait of objectives that assemble such a system.

use coarsen_core::{Dot, LinearOperator, Real};

use crate::{Bsr, Contacts, NearKernel, SparseError, Sum, System};

/// A matrix A with contact C and geometry, kept between nonlinear iterations. A [`System`] borrows it. As an
/// operator it is A + C.
///
/// ```
/// use coarsen_core::LinearOperator;
/// use coarsen_sparse::{Bsr, Contacts, OwnedSystem};
/// let mut contact = Contacts::new(2, 1)?;
/// contact.replace(&[(0, 1)], &[10.0])?;
/// let system = OwnedSystem { contact: Some(contact), ..OwnedSystem::from(Bsr::<f64>::identity(2, 1)?) };
/// let mut y = vec![0.0; 2];
/// system.apply(&vec![1.0, 2.0], &mut y);
/// assert_eq!(y, [21.0, 2.0]);
/// # Ok::<(), coarsen_sparse::SparseError>(())
/// ```
#[derive(Clone, Debug)]
pub struct OwnedSystem<T> {
    /// A.
    pub matrix: Bsr<T>,
    /// C, if contact can occur.
    pub contact: Option<Contacts<T>>,
    /// One point per block row; empty if unknown.
    pub positions: Vec<[f64; 3]>,
    /// Vectors v with ‖A v‖ small relative to ‖|A| |v|‖.
    pub near_kernel: Option<NearKernel>,
}

impl<T: Real> OwnedSystem<T> {
    /// A borrowed view for builders of preconditioners.
    pub fn system(&self) -> System<'_, T> {
        System {
            contact: self.contact.as_ref(),
            positions: Some(&self.positions[..]).filter(|points| !points.is_empty()),
            near_kernel: self.near_kernel.as_ref(),
            ..System::from(&self.matrix)
        }
    }

    fn sum(&self) -> Option<Sum<'_, T>> {
        self.contact.as_ref().map(|contact| Sum { elastic: &self.matrix, contact })
    }
}

impl<T: Real> From<Bsr<T>> for OwnedSystem<T> {
    fn from(matrix: Bsr<T>) -> Self {
        Self { matrix, contact: None, positions: Vec::new(), near_kernel: None }
    }
}

impl<T: Real> LinearOperator<Vec<T>> for OwnedSystem<T> {
    fn shape(&self) -> (usize, usize) {
        self.matrix.shape()
    }

    fn apply(&self, x: &Vec<T>, y: &mut Vec<T>) {
        match self.sum() {
            Some(sum) => sum.apply(x, y),
            None => self.matrix.apply(x, y),
        }
    }

    fn apply_many(&self, x: &[Vec<T>], y: &mut [Vec<T>]) {
        match self.sum() {
            Some(sum) => sum.apply_many(x, y),
            None => self.matrix.apply_many(x, y),
        }
    }

    fn apply_dot(&self, x: &Vec<T>, y: &mut Vec<T>) -> Dot<T> {
        match self.sum() {
            Some(sum) => sum.apply_dot(x, y),
            None => self.matrix.apply_dot(x, y),
        }
    }

    fn residual(&self, b: &Vec<T>, x: &Vec<T>, r: &mut Vec<T>) {
        match self.sum() {
            Some(sum) => sum.residual(b, x, r),
            None => self.matrix.residual(b, x, r),
        }
    }
}

/// An objective that can assemble its Hessian at every x as a system.
///
/// Preconditioners are built and updated from this system. Elastic bodies and cloth implement the trait; the
/// grid of a material point method can implement it too.
pub trait SystemAt {
    /// The system at x, valid until the next call. x has the layout of the objective. The positions in the
    /// system are those of the nodes at x.
    ///
    /// *Cost* one assembly. *Panics* on a wrong length.
    ///
    /// # Errors
    /// [`SparseError`] if a part cannot be assembled.
    fn system_at(&mut self, x: &[f64]) -> Result<&OwnedSystem<f64>, SparseError>;

    /// Selects the Hessian of the following systems: a positive definite approximation (`true`) or the exact
    /// Hessian (`false`). Returns false if there is no choice.
    fn project(&mut self, stand_in: bool) -> bool {
        let _ = stand_in;
        false
    }
}

/// A borrowed objective.
impl<F: SystemAt + ?Sized> SystemAt for &mut F {
    fn system_at(&mut self, x: &[f64]) -> Result<&OwnedSystem<f64>, SparseError> {
        (**self).system_at(x)
    }
    fn project(&mut self, stand_in: bool) -> bool {
        (**self).project(stand_in)
    }
}
