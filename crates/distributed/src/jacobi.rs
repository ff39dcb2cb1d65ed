//! Jacobi and block Jacobi: z = ω D⁻¹ r on the rows of each rank.
//!
//! | symbol | here | |
//! |---|---|---|
//! | ω | `omega` | damping |
//! | D | | the diagonal of A, or its diagonal blocks |
//! | ω D⁻¹ | `d` | |

use std::sync::Arc;

use coarsen_backend::{DenseBlocks, SetupError};
use coarsen_core::{Error, Preconditioner, PreconditionerKind, Real, Vector};
use coarsen_sparse::{Bsr, Pattern};

use crate::agree::agree;
use crate::{Communicator, DistError, DistMatrix, DistVector, GlobalRows};

/// Jacobi on scalar unknowns ([`new`](Self::new)) or on the blocks of the matrix, one node each ([`blocks`](Self::blocks)).
/// No rank needs data of another, so it is the same operator at any number of ranks, to the last bit.
///
/// *Cost* an application reads D⁻¹ and 2 vectors, and sends no message. *Reference* Saad 2003, §4.1; used by Li et al.
/// 2020, §3.2.
///
/// ```
/// use coarsen_core::Preconditioner;
/// use coarsen_distributed::{DistJacobi, DistMatrix, GlobalRows, Layout, Partition, SelfComm, Spmv};
/// let partition = Partition::new(SelfComm, Layout::even(2, 1, 1)?)?;
/// let rows = GlobalRows::new(0, (1, 1), vec![0, 1, 2], vec![0, 1], vec![2.0, 4.0])?;
/// let mut m = DistJacobi::new(&DistMatrix::new(&partition, &partition, &rows, Spmv::default())?, 1.0)?;
/// let (r, mut z) = (partition.vector(vec![1.0, 1.0])?, partition.vector(vec![0.0; 2])?);
/// m.apply(&r, &mut z);
/// assert_eq!(z.own(), [0.5, 0.25]);
/// # Ok::<(), coarsen_distributed::DistError>(())
/// ```
pub struct DistJacobi<C: Communicator, T = f64> {
    kind: PreconditionerKind,
    d: DenseBlocks<T>,
    like: DistVector<C, T>,
}

impl<C: Communicator, T: Real> DistJacobi<C, T> {
    /// ω D⁻¹ with the diagonal of a square matrix. All ranks call it.
    ///
    /// # Errors
    /// On every rank: [`SetupError::NotSquare`], the errors of [`DenseBlocks::inverse_diagonal`] with global rows and
    /// nodes, an error of range if T cannot hold ω D⁻¹, and an error of `omega`.
    pub fn new(a: &DistMatrix<C, T>, omega: f64) -> Result<Self, DistError> {
        let scalars = |blocks: Bsr<T>| -> Result<Bsr<T>, DistError> {
            let diagonal = blocks.diagonal();
            Ok(Bsr::new(Arc::new(Pattern::diagonal(diagonal.len())?), (1, 1), diagonal)?)
        };
        Self::of(a, omega, "jacobi", 1, scalars)
    }

    /// ω D⁻¹ with the diagonal blocks of a square matrix. All ranks call it.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn blocks(a: &DistMatrix<C, T>, omega: f64) -> Result<Self, DistError> {
        Self::of(a, omega, "block-jacobi", a.rows().layout().block(), Ok)
    }

    fn of(
        a: &DistMatrix<C, T>,
        omega: f64,
        method: &'static str,
        size: usize,
        part: impl FnOnce(Bsr<T>) -> Result<Bsr<T>, DistError>,
    ) -> Result<Self, DistError> {
        let (partition, block) = (a.rows(), a.rows().layout().block());
        let first_row = partition.first() as usize * block;
        let own = || {
            if !(omega > 0.0 && omega.is_finite()) {
                let (name, range) = ("DistJacobi::omega", "positive and finite");
                return Err(SetupError::from(Error::Parameter { name, value: omega, range }).into());
            }
            if !a.is_square() {
                let ([rows, columns], [block_rows, block_columns]) = (a.unknowns(), [block; 2]);
                return Err(SetupError::NotSquare { rows, columns, block_rows, block_columns }.into());
            }
            let diagonal = part(of_blocks(partition.count(), block, |k| a.diagonal_block(k))?)?;
            let inverses = DenseBlocks::inverse_diagonal(&diagonal, method);
            let mut d = inverses.map_err(|error| DistError::of_rows(error, first_row, size))?;
            d.values_mut().iter_mut().for_each(|v| *v *= T::from_f64(omega));
            let overflow = d.values().iter().find(|v| !v.is_finite()).copied();
            let underflow = || d.values().chunks(size).any(|row| row.iter().all(|v| v.is_zero()));
            match overflow.or_else(|| underflow().then(T::zero)) {
                None => Ok(d),
                Some(v) => {
                    let what = "the inverted diagonal";
                    Err(SetupError::from(Error::Range { what, value: v.as_f64(), storage: T::NAME }).into())
                }
            }
        };
        let d = agree(partition.comm(), own())?;
        let mut other = [f64::from(u8::from(d.kind() != PreconditionerKind::Symmetric))];
        partition.comm().all_reduce(&mut other)?;
        // With a negative entry, M is not positive definite.
        let kind = if other[0] > 0.0 { PreconditionerKind::Linear } else { PreconditionerKind::Symmetric };
        Ok(Self { kind, d, like: partition.vector(vec![T::zero(); partition.count() * block])? })
    }
}

impl<C: Communicator, T: Real> Preconditioner<DistVector<C, T>> for DistJacobi<C, T> {
    fn apply(&mut self, r: &DistVector<C, T>, z: &mut DistVector<C, T>) {
        assert!(r.same_layout(&self.like) && z.same_layout(r), "apply: vectors of other layouts");
        self.d.multiply(r.own(), z.own_mut());
    }

    fn kind(&self) -> PreconditionerKind {
        self.kind
    }

    fn size(&self) -> Option<usize> {
        Some(self.like.size())
    }
}

/// A block diagonal from its blocks; a missing block is zero.
fn of_blocks<'a, T: Real>(
    count: usize,
    size: usize,
    block: impl Fn(usize) -> Option<&'a [T]>,
) -> Result<Bsr<T>, DistError> {
    let mut diagonal = Bsr::zeros(Arc::new(Pattern::diagonal(count)?), (size, size))?;
    for (k, to) in diagonal.values_mut().chunks_exact_mut(size * size).enumerate() {
        if let Some(block) = block(k) {
            to.copy_from_slice(block);
        }
    }
    Ok(diagonal)
}

impl<T: Real> GlobalRows<T> {
    /// The inverses of the diagonal blocks, whose diagonals are positive. Sends no message. `method` names the caller in
    /// errors.
    ///
    /// # Errors
    /// Those of [`DenseBlocks::inverse_diagonal`] and [`DenseBlocks::check_positive`] with global rows and nodes;
    /// [`SetupError::NotSquare`] for blocks that are not.
    pub fn inverse_diagonal(&self, method: &'static str) -> Result<DenseBlocks<T>, DistError> {
        let ((size, columns), first) = (self.block(), self.first());
        if size != columns {
            let rows = self.count() * size;
            let (block_rows, block_columns) = (size, columns);
            return Err(SetupError::NotSquare { rows, columns: rows, block_rows, block_columns }.into());
        }
        let own = |k: usize| self.row(k).find(|(j, _)| *j == first + k as u64).map(|(_, block)| block);
        let diagonal = of_blocks(self.count(), size, own)?;
        let inverses = DenseBlocks::inverse_diagonal(&diagonal, method)
            .and_then(|inverses| inverses.check_positive(&diagonal, method).map(|()| inverses));
        inverses.map_err(|error| DistError::of_rows(error, first as usize * size, size))
    }
}
