//! C = A B for sparse block matrices, by rows (Gustavson 1978).
//!
//! Row i of C is the sum over the blocks of row i of A of A_ik times row k of B. A row in the making keeps for each column where its block
//! is, so that a product finds its place without a search. A first pass lists the columns of the rows, a second one their values. Rows are
//! independent, and each is summed in the order of A: the same bits at any thread count.
//!
//! | file | what |
//! |---|---|
//! | `sums` | rows in the making |
//! | `numeric` | the dense products, by kernels for the common block sizes |
//! | [`galerkin`](GalerkinPlan) | Pᵀ A P by coarse rows, without A P |

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

/// C = A B, once.
///
/// Blocks of r x m and m x c give blocks of r x c. Every block that the patterns can produce is stored, zero or not, and
/// rows come out sorted. *Use* [`GalerkinPlan`] for Pᵀ A P. *Cost* one symbolic pass, with a sort of each row, and one numeric pass, each
/// with a look-up a block product; the memory of C, and 4 bytes a column of B for each of a few tasks a thread.
///
/// *Reference* Gustavson 1978, "Two fast algorithms for sparse matrices: multiplication and permuted transposition".
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
    let rows = a.pattern().rows();
    let work: usize = (0..rows).map(|i| most(a.pattern(), b.pattern(), i)).sum();
    let leaf = |parallel: bool| {
        // A task has a place for each column, so there are few of them.
        let tasks = if parallel { 4 * rayon::current_num_threads() } else { 1 };
        (rows.div_ceil(tasks).max(1), parallel)
    };

    let mut lists = vec![Vec::new(); rows];
    let symbolic = |(rows, lists): (Range<usize>, &mut [Vec<u32>])| {
        let mut sum = RowSums::<T>::new(b.pattern().columns());
        for (i, list) in rows.zip(lists) {
            sum.room(most(a.pattern(), b.pattern(), i).min(b.pattern().columns()), 0)?;
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
            failed = failed.clone().and(sum.room(pattern.row(i).len(), r * c));
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

/// The most blocks that row i of C may have.
fn most(left: &Pattern, right: &Pattern, i: usize) -> usize {
    left.row(i).iter().map(|&k| right.row(k as usize).len()).sum()
}

#[cfg(test)]
mod tests;
