//! C = A B for sparse block matrices, by rows (Gustavson 1978).
//!
//! Row i of C is the sum over the blocks of row i of A of A_ik times row k of B. The symbolic phase lists its columns and,
//! for every product A_ik B_kj in that order, which block of row i it is added to (its *target*). The numeric phase then
//! is a list of small dense products without any search. Rows are independent, and each is summed in the order of the
//! list: the same bits at any thread count.
//!
//! | file | what |
//! |---|---|
//! | `symbolic` | columns and targets of a row, by a small hash table |
//! | `numeric` | the dense products, by kernels for the common block sizes |
//! | [`galerkin`](GalerkinPlan) | Pᵀ A P by coarse rows, without A P |

mod galerkin;
mod numeric;
mod symbolic;

use std::sync::Arc;

use coarsen_core::Real;
use coarsen_core::parallel::{self, each};

use crate::rows::{self, BlockRows, LEAF};
use crate::{Bsr, Pattern, SparseError, fits};

pub use galerkin::GalerkinPlan;
use symbolic::RowProducts;

/// C = A B, once.
///
/// Blocks of r x m and m x c give blocks of r x c. Every block that the patterns can produce is stored, zero or not, and
/// rows come out sorted. *Use* [`GalerkinPlan`] for Pᵀ A P. *Cost* two symbolic passes
/// (about ten operations a block product each) and one numeric pass; the memory of C and small scratch.
///
/// *Reference* Gustavson 1978, "Two fast algorithms for sparse matrices: multiplication and permuted transposition";
/// hash tables as in Nagasaka et al. 2018, "High-performance sparse matrix-matrix products on Intel KNL and multicore
/// architectures".
///
/// ```
/// use coarsen_sparse::{assembly, multiply};
/// let a = assembly::from_triplets(1, 2, &[(0, 0, 2.0), (0, 1, 3.0)])?;
/// let b = assembly::from_triplets(2, 1, &[(0, 0, 10.0), (1, 0, 1.0)])?;
/// assert_eq!(multiply(&a, &b)?.values(), [23.0]);
/// # Ok::<(), coarsen_sparse::SparseError>(())
/// ```
///
/// # Errors
/// [`SparseError::Shape`] if A has not as many columns, or its blocks have not as many, as B has rows.
pub fn multiply<T: Real>(a: &Bsr<T>, b: &Bsr<T>) -> Result<Bsr<T>, SparseError> {
    let ((r, m), (rows, c)) = (a.block(), b.block());
    fits::sizes([
        ("product, block rows of the right factor", a.pattern().columns(), b.pattern().rows()),
        ("product, rows of a block of the right factor", m, rows),
    ])?;
    let starts = product_starts(a.pattern(), b.pattern());
    let work = starts[a.pattern().rows()];

    let mut lists = vec![Vec::new(); a.pattern().rows()];
    let symbolic = |(rows, lists): (std::ops::Range<usize>, &mut [Vec<u32>])| {
        let mut products = RowProducts::default();
        for (i, list) in rows.zip(lists) {
            products.plan(a.pattern().row(i), b.pattern());
            *list = products.columns().collect();
        }
    };
    each((0..lists.len(), &mut lists[..]), LEAF, parallel::worth(work * 10), &symbolic);
    let pattern = Arc::new(rows::join(b.pattern().columns(), &lists)?);
    drop(lists);

    let mut product = Bsr::zeros(pattern.clone(), (r, c))?;
    let kernel = numeric::kernel::<T>((r, m, c));
    let numeric = |leaf: BlockRows<'_, T>| {
        let mut products = RowProducts::default();
        leaf.in_order(|i, row| {
            products.plan(a.pattern().row(i), b.pattern());
            kernel(a, b, i, products.targets(), row);
        });
    };
    let rows = BlockRows::new(pattern.offsets(), r * c, product.values_mut());
    each(rows, LEAF, parallel::worth(work * r * m * c), &numeric);
    Ok(product)
}

/// For each row of C, how many block products come before it.
fn product_starts(left: &Pattern, right: &Pattern) -> Vec<usize> {
    let mut starts = Vec::with_capacity(left.rows() + 1);
    starts.push(0);
    for i in 0..left.rows() {
        let products: usize = left.row(i).iter().map(|&k| right.row(k as usize).len()).sum();
        starts.push(starts[i] + products);
    }
    starts
}

#[cfg(test)]
mod tests;
