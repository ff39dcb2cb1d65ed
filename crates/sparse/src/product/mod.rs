//! C = A B for sparse block matrices, row by row (Gustavson 1978).
//!
//! Row i of C is Σₖ A_ik B_k, where A_ik are the blocks of row i of A and B_k the rows of B. While a row is
//! computed, an array maps each column to its block, so products are added without a search. A first pass
//! computes the columns of all rows, a second pass the values. Rows are independent, and each row is summed
//! in the order of A, so the bits do not depend on the number of threads.
//!
//! | file | what |
//! |---|---|
//! | `sums` | the accumulator of sparse rows |
//! | `numeric` | the dense products, with kernels for common block sizes |
//! | [`galerkin`](GalerkinPlan) | Pᵀ A P by coarse rows, without storing A P |

mod galerkin;
mod numeric;
mod sums;

use std::ops::Range;
use std::sync::Arc;

use coarsen_core::Real;
use coarsen_core::parallel::{self, tree};

use crate::rows::{self, BlockRows};
use crate::{Bsr, Pattern, SparseError, fits};

pub use galerkin::{GalerkinLists, GalerkinPlan, ProductList};
use sums::RowSums;

/// C = A B.
///
/// Blocks of r x m times blocks of m x c give blocks of r x c. Every block that the patterns can produce is
/// stored, even if it is zero. Rows are sorted. *Use* [`GalerkinPlan`] for Pᵀ A P. *Cost* a symbolic pass
/// with a sort of each row and a numeric pass, each with one look-up per block product. *Memory* C itself,
/// and 4 bytes per column of B for each task; a thread has a few tasks.
///
/// *Reference* Gustavson 1978, "Two fast algorithms for sparse matrices: multiplication and permuted
/// transposition".
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
/// [`SparseError::Shape`] unless A has as many block columns as B has block rows, and blocks of A have as
/// many columns as blocks of B have rows.
pub fn multiply<T: Real>(a: &Bsr<T>, b: &Bsr<T>) -> Result<Bsr<T>, SparseError> {
    let ((r, m), (rows, c)) = (a.block(), b.block());
    fits::sizes([
        ("product, block rows of the right factor", a.pattern().columns(), b.pattern().rows()),
        ("product, rows of a block of the right factor", m, rows),
    ])?;
    let rows = a.pattern().rows();
    let work: usize = (0..rows).map(|i| most(a.pattern(), b.pattern(), i)).sum();
    let leaf = |parallel: bool| {
        // Few tasks, because each task has an array over all columns.
        let tasks = if parallel { 4 * rayon::current_num_threads() } else { 1 };
        (rows.div_ceil(tasks).max(1), parallel)
    };

    let mut lists = vec![Vec::new(); rows];
    let symbolic = |(rows, lists): (Range<usize>, &mut [Vec<u32>])| {
        let mut sum = RowSums::<T>::new(b.pattern().columns());
        for (i, list) in rows.zip(lists) {
            sum.reserve(most(a.pattern(), b.pattern(), i).min(b.pattern().columns()), 0)?;
            for &k in a.pattern().row(i) {
                b.pattern().row(k as usize).iter().for_each(|&j| _ = sum.block(j, 0));
            }
            *list = sum.columns().to_vec();
            list.sort_unstable();
            sum.clear(0);
        }
        Ok(())
    };
    let (size, parallel) = leaf(parallel::worth(work * 10));
    tree((0..rows, &mut lists[..]), size, parallel, &symbolic, &Result::and)?;
    let pattern = Arc::new(rows::join(b.pattern().columns(), &lists)?);
    drop(lists);

    let mut product = Bsr::zeros(pattern.clone(), (r, c))?;
    let kernel = numeric::kernel::<T>((r, m, c));
    let numeric = |leaf: BlockRows<'_, T>| {
        let mut sum = RowSums::new(pattern.columns());
        let mut failed = Ok(());
        leaf.in_order(|i, values| {
            failed = failed.clone().and(sum.reserve(pattern.row(i).len(), r * c));
            if failed.is_ok() {
                kernel(a, b, i, &mut sum);
                let blocks = pattern.row(i).iter().zip(values.chunks_exact_mut(r * c));
                blocks.for_each(|(&j, block)| block.copy_from_slice(sum.of(j, r * c)));
                sum.clear(r * c);
            }
        });
        failed
    };
    let values = BlockRows::new(pattern.offsets(), r * c, product.values_mut());
    let (size, parallel) = leaf(parallel::worth(work * r * m * c));
    tree(values, size, parallel, &numeric, &Result::and)?;
    Ok(product)
}

/// An upper bound for the number of blocks in row i of C.
fn most(left: &Pattern, right: &Pattern, i: usize) -> usize {
    left.row(i).iter().map(|&k| right.row(k as usize).len()).sum()
}
