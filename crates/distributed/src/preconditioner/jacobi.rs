//! Jacobi: z = ω D⁻¹ r on the rows of each rank.
//!
//! | symbol | here | |
//! |---|---|---|
//! | ω | `omega` | damping |
//! | D | | the diagonal of A |
//! | ω D⁻¹ | `d` | |

use coarsen_backend::SetupError;
use coarsen_core::{Preconditioner, PreconditionerKind, Vector};
use num_traits::zero;

use super::diagonal::{block_diagonal, check_omega};
use crate::agree::agree;
use crate::{Communicator, DistError, DistMatrix, DistVector, Number};

/// Jacobi on scalar unknowns. No rank needs data of another, so it is the same operator at any number of
/// ranks, to the last bit.
///
/// *Cost* 3 vector passes per application, no message. *Reference* Saad 2003, §4.1; used by Li et al. 2020,
/// §3.2.
///
/// ```
/// use coarsen_core::Preconditioner;
/// use coarsen_distributed::{DistJacobi, DistMatrix, GlobalRows, Layout, Partition, SelfComm, Spmv};
/// let on = Partition::new(SelfComm, Layout::even(2, 1, 1)?)?;
/// let rows = GlobalRows::new(0, (1, 1), vec![0, 1, 2], vec![0, 1], vec![2.0, 4.0])?;
/// let mut m = DistJacobi::new(&DistMatrix::new(&on, &on, &rows, Spmv::default())?, 1.0)?;
/// let (r, mut z) = (on.vector(vec![1.0, 1.0])?, on.vector(vec![0.0; 2])?);
/// m.apply(&r, &mut z);
/// assert_eq!(z.own(), [0.5, 0.25]);
/// # Ok::<(), coarsen_distributed::DistError>(())
/// ```
pub struct DistJacobi<C: Communicator, T = f64> {
    class: PreconditionerKind,
    d: DistVector<C, T>,
}

impl<C: Communicator, T: Number> DistJacobi<C, T> {
    /// ω D⁻¹ of a square matrix. All ranks call it.
    ///
    /// # Errors
    /// On every rank: [`SetupError::ZeroDiagonal`] with the global row, [`SetupError::NotSquare`], an error of
    /// range if T cannot hold ω dᵢ⁻¹, and an error of `omega`.
    pub fn new(a: &DistMatrix<C, T>, omega: f64) -> Result<Self, DistError> {
        let (on, size) = (a.rows(), a.rows().layout().block());
        let first_row = on.first() as usize * size;
        let own = check_omega("DistJacobi::omega", omega).and_then(|()| {
            let diagonal = block_diagonal(a)?.diagonal();
            let invert = |(row, d): (usize, T)| {
                let value = omega / d.as_f64();
                match T::from_f64(value) {
                    _ if d.is_zero() => Err(SetupError::ZeroDiagonal { row, method: "jacobi" }),
                    stored if stored.is_finite() && !stored.is_zero() => Ok(stored),
                    _ => {
                        let (what, storage) = ("the inverted diagonal", T::NAME);
                        Err(coarsen_core::Error::Range { what, value, storage }.into())
                    }
                }
            };
            let inverse = diagonal.into_iter().enumerate().map(invert).collect::<Result<Vec<T>, _>>();
            inverse.map_err(|error| DistError::of_rows(error, first_row, size))
        });
        let d = on.vector(agree(on.comm(), own)?)?;
        let mut negative = [d.own().iter().filter(|d| **d < zero()).count() as f64];
        on.comm().all_reduce(&mut negative)?;
        // With a negative entry, M is not positive definite.
        let class =
            if negative[0] > 0.0 { PreconditionerKind::Linear } else { PreconditionerKind::Symmetric };
        Ok(Self { class, d })
    }
}

impl<C: Communicator, T: Number> Preconditioner<DistVector<C, T>> for DistJacobi<C, T> {
    fn apply(&mut self, r: &DistVector<C, T>, z: &mut DistVector<C, T>) {
        z.hadamard(&T::one().into(), &self.d, r, &T::zero().into());
    }

    fn kind(&self) -> PreconditionerKind {
        self.class
    }

    fn size(&self) -> Option<usize> {
        Some(self.d.size())
    }
}
