//! The parts of a system, owned, and what has them at every point.

use coarsen_core::{Dot, LinearOperator, Real};

use crate::{Bsr, Contacts, NearKernel, SparseError, Sum, System};

/// A matrix with contact and geometry, kept from one nonlinear iteration to the next: what a [`System`] borrows. As an operator it is
/// A + C.
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
    /// C, where there may be contact.
    pub contact: Option<Contacts<T>>,
    /// One point per block row; empty where there are none.
    pub positions: Vec<[f64; 3]>,
    /// Vectors v with A v small beside |A| |v|.
    pub near_kernel: Option<NearKernel>,
}

impl<T: Real> OwnedSystem<T> {
    /// The parts as a builder of preconditioners takes them.
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

/// What has a system at every x: an energy, whose Hessian it is.
///
/// Preconditioners follow whatever has one: bodies, cloth, the grid of a material point method.
pub trait SystemAt {
    /// The system at x, which stays until the next call. x is as the objective takes it; the positions of the system are those of its
    /// nodes, whatever x is.
    ///
    /// *Cost* an assembly. *Panics* on a wrong length.
    ///
    /// # Errors
    /// [`SparseError`] where a part cannot be made.
    fn system_at(&mut self, x: &[f64]) -> Result<&OwnedSystem<f64>, SparseError>;

    /// Makes the systems from now on positive definite stand-ins for the Hessian, or the true ones again; false where there is no choice.
    fn project(&mut self, stand_in: bool) -> bool {
        let _ = stand_in;
        false
    }
}
