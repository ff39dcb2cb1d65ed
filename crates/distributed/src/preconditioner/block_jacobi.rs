//! Block Jacobi: z = ω D⁻¹ r with the diagonal blocks of the matrix.
//!
//! | symbol | here | |
//! |---|---|---|
//! | ω | `omega` | damping |
//! | D | | the diagonal blocks of A |
//! | D⁻¹ | `d` | |

use coarsen_backend::DenseBlocks;
use coarsen_core::{Preconditioner, PreconditionerKind, Vector};

use super::diagonal::{block_diagonal, check_omega};
use crate::agree::agree;
use crate::{Communicator, DistError, DistMatrix, DistVector, Number};

/// Block Jacobi on the blocks of the matrix (one node each). No rank needs data of another, so it is the same
/// operator at any number of ranks, to the last bit.
///
/// *Cost* b² products per block row and application, no message. *Reference* Saad 2003, §4.1.1.
pub struct DistBlockJacobi<C: Communicator, T = f64> {
    class: PreconditionerKind,
    omega: T,
    d: DenseBlocks<T>,
    like: DistVector<C, T>,
}

impl<C: Communicator, T: Number> DistBlockJacobi<C, T> {
    /// ω D⁻¹ of a square matrix. All ranks call it.
    ///
    /// # Errors
    /// On every rank: the errors of [`DenseBlocks::inverse_diagonal`] with global rows and nodes, and an
    /// error of `omega`.
    pub fn new(a: &DistMatrix<C, T>, omega: f64) -> Result<Self, DistError> {
        let (on, size) = (a.rows(), a.rows().layout().block());
        let first_row = on.first() as usize * size;
        let own = check_omega("DistBlockJacobi::omega", omega).and_then(|()| {
            let diagonal = block_diagonal(a)?;
            DenseBlocks::inverse_diagonal(&diagonal, "block-jacobi")
                .map_err(|error| DistError::of_rows(error, first_row, size))
        });
        let d = agree(on.comm(), own)?;
        let mut other = [f64::from(u8::from(d.kind() != PreconditionerKind::Symmetric))];
        on.comm().all_reduce(&mut other)?;
        let class = if other[0] > 0.0 { PreconditionerKind::Linear } else { PreconditionerKind::Symmetric };
        let like = on.vector(vec![T::zero(); on.count() * size])?;
        Ok(Self { class, omega: T::from_f64(omega), d, like })
    }
}

impl<C: Communicator, T: Number> Preconditioner<DistVector<C, T>> for DistBlockJacobi<C, T> {
    fn apply(&mut self, r: &DistVector<C, T>, z: &mut DistVector<C, T>) {
        assert!(r.same_layout(&self.like) && z.same_layout(r), "apply: vectors of other layouts");
        self.d.multiply(r.own(), z.own_mut());
        if self.omega != T::one() {
            z.own_mut().iter_mut().for_each(|z| *z *= self.omega);
        }
    }

    fn kind(&self) -> PreconditionerKind {
        self.class
    }

    fn size(&self) -> Option<usize> {
        Some(self.like.size())
    }
}
