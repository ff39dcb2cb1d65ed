//! This crate's own factorisations and spectra, by plain loops as in the textbooks.
//!
//! | file | what |
//! |---|---|
//! | `minimum_degree` | the elimination order, by approximate degrees in a quotient graph |
//! | `structure` | the ordered matrix, its elimination tree, and the entries of L in each column |
//! | `ldlt` | A = L D Lᵀ row by row, without exchanges: positive definite and large indefinite matrices |
//! | `full_cholesky` | A = L Lᵀ of a full matrix |
//! | `full_ldlt` | A = L D Lᵀ of a full matrix, pivots of order 1 and 2 |
//! | `lu`, `full_lu` | A = L U of a sparse and of a full matrix column by column, with row exchanges |
//! | `reach` | the rows that can be nonzero in the solution of L x = b |
//! | `eigen` | A = V Λ Vᵀ by Householder reflections and QL steps |
//! | `singular` | A = U Σ Vᵀ by plane rotations of columns |
//! | `rows` | the scalars of a row of blocks |
//! | `memory` | memory whose failed allocation is an error |
//!
//! *Reference* Davis 2006, "Direct Methods for Sparse Linear Systems"; George and Liu 1981, "Computer
//! Solution of Large Sparse Positive Definite Systems"; Golub and Van Loan 2013, "Matrix Computations".

mod eigen;
mod full_cholesky;
mod full_ldlt;
mod full_lu;
mod ldlt;
mod lu;
mod memory;
mod minimum_degree;
mod reach;
mod rows;
mod singular;
mod structure;

use coarsen_sparse::Bsr;

use crate::factorization::Factorization;
use crate::spectral::{Parts, Spectral};
use crate::{DirectError, Method};
use full_cholesky::FullCholesky;
use full_ldlt::FullLdlt;
use full_lu::FullLu;
use ldlt::Ldlt;
use lu::Lu;
#[cfg(feature = "faer")]
pub(crate) use memory::{fill, more, zeros};

/// The largest number of unknowns for which an indefinite matrix is factored as a full matrix with row exchanges, and
/// any other matrix with much fill. This takes 8 MB and n³ / 3 = 0.3 Gflop.
const FULL: usize = 1000;

/// Orders `a` for a factorisation.
pub(crate) fn plan(method: Method, a: &Bsr<f64>) -> Result<Box<dyn Factorization>, DirectError> {
    Ok(match method {
        Method::Auto | Method::Cholesky if is_full(a, a.nnz()) => Box::new(FullCholesky::plan(a)?),
        Method::Auto | Method::Cholesky => match Ldlt::definite(a)? {
            ldlt if is_full(a, 2 * ldlt.below()) => Box::new(FullCholesky::plan(a)?),
            ldlt => Box::new(ldlt),
        },
        Method::Ldlt if a.shape().0 <= FULL => Box::new(FullLdlt::plan(a)?),
        Method::Ldlt => Box::new(Ldlt::indefinite(a)?),
        Method::Lu if is_full(a, a.nnz()) => Box::new(FullLu::plan(a)?),
        Method::Lu => match Lu::plan(a)? {
            lu if is_full(a, lu.bound()) => Box::new(FullLu::plan(a)?),
            lu => Box::new(lu),
        },
    })
}

/// Whether a matrix or a factor with this number of entries is better stored as a full matrix.
fn is_full(a: &Bsr<f64>, entries: usize) -> bool {
    let n = a.shape().0;
    n <= FULL && 3 * entries > n * n
}

/// Scratch for either decomposition of a full matrix: two numbers per row.
pub(crate) struct Decompositions(Vec<f64>);

impl Decompositions {
    /// The number of bytes of scratch for matrices of size n.
    pub(crate) fn bytes(n: usize) -> usize {
        16 * n
    }

    /// Scratch for matrices of size n, or an error with `bytes` if it does not fit in memory.
    pub(crate) fn new(n: usize, bytes: usize) -> Result<Self, DirectError> {
        memory::zeros(2 * n).map(Self).map_err(|_| DirectError::Memory { bytes })
    }
}

impl Spectral for Decompositions {
    fn eigen(&mut self, parts: Parts<'_>) -> Result<(), DirectError> {
        let n = parts.spectrum.len();
        parts.right.copy_from_slice(parts.full);
        let (below, scales) = self.0.split_at_mut(n);
        eigen::tridiagonalise(parts.right, parts.left, parts.spectrum, below, scales);
        eigen::diagonalise(parts.spectrum, below, parts.left)?;
        eigen::sort(parts.spectrum, &mut [parts.left], |a, b| a < b);
        Ok(())
    }

    fn singular(&mut self, parts: Parts<'_>) -> Result<(), DirectError> {
        parts.left.copy_from_slice(parts.full);
        singular::rotate(parts.left, parts.right, parts.spectrum)
    }

    /// Column by column, so that the columns of `right` are read in order.
    fn multiply(&self, n: usize, right: &[f64], left: &[f64], product: &mut [f64]) {
        for (j, column) in product.chunks_exact_mut(n).enumerate() {
            column.fill(0.0);
            for (k, right) in right.chunks_exact(n).enumerate() {
                let s = left[k * n + j];
                column.iter_mut().zip(right).for_each(|(c, r)| *c += r * s);
            }
        }
    }
}
