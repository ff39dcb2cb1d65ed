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
//! | [`galerkin`](GalerkinPlan) | Pᵀ A P by two products |

mod galerkin;
mod numeric;
mod symbolic;

use std::sync::Arc;

use coarsen_core::Real;
use coarsen_core::parallel::{self, each};

use crate::rows::{self, LEAF, Rows};
use crate::{Bsr, Pattern, SparseError, fits};

pub use galerkin::GalerkinPlan;
use numeric::Operand;
use symbolic::RowProducts;

/// C = A B, once.
///
/// Blocks of r x m and m x c give blocks of r x c. Every block that the patterns can produce is stored, zero or not, and
/// rows come out sorted. *Use* [`ProductPlan`] where values change and patterns do not. *Cost* two symbolic passes
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
    let (left, kernel) = (Operand::plain(a), numeric::kernel::<T>((r, m, c), false));
    let numeric = |leaf: Rows<'_, T>| {
        let mut products = RowProducts::default();
        leaf.in_order(|i, row| {
            products.plan(a.pattern().row(i), b.pattern());
            kernel(&left, b, i, products.targets(), row);
        });
    };
    let rows = Rows::new(pattern.offsets(), r * c, product.values_mut());
    each(rows, LEAF, parallel::worth(work * r * m * c), &numeric);
    Ok(product)
}

/// The symbolic half of C = A B, for one pattern of A and one of B.
///
/// *Use* where values change and patterns do not: [`update`](Self::update) neither searches nor allocates. For a single
/// product take [`multiply`]: it needs no memory for targets. *Memory* the pattern of C, 4 bytes a block product (729 a
/// row for the square of a 27-point stencil: prefer large blocks) and 8 a block row.
///
/// ```
/// use coarsen_sparse::{Bsr, ProductPlan};
/// let a = Bsr::<f64>::identity(2, 3)?;
/// let plan = ProductPlan::new(a.pattern(), a.pattern())?;
/// let mut c = plan.build(&a, &a)?;
/// plan.update(&a, &a, &mut c)?;
/// assert_eq!(c, a);
/// # Ok::<(), coarsen_sparse::SparseError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ProductPlan {
    left: Arc<Pattern>,
    right: Arc<Pattern>,
    pattern: Arc<Pattern>,
    starts: Vec<usize>,
    targets: Vec<u32>,
}

impl ProductPlan {
    /// The plan for a pattern of A and one of B.
    ///
    /// # Errors
    /// [`SparseError::Shape`] if A has not as many block columns as B has block rows.
    pub fn new(left: &Arc<Pattern>, right: &Arc<Pattern>) -> Result<Self, SparseError> {
        fits::sizes([("product, block rows of the right factor", left.columns(), right.rows())])?;
        let starts = product_starts(left, right);
        let mut targets = vec![0_u32; starts[left.rows()]];
        let mut lists = vec![Vec::new(); left.rows()];
        let work = targets.len() * 10;
        let plan = |(targets, lists): (Rows<'_, u32>, &mut [Vec<u32>])| {
            let (mut products, mut lists) = (RowProducts::default(), lists.iter_mut());
            targets.in_order(|i, targets| {
                products.plan(left.row(i), right);
                targets.copy_from_slice(products.targets());
                lists.next().into_iter().for_each(|list| list.extend(products.columns()));
            });
        };
        each((Rows::new(&starts, 1, &mut targets), &mut lists[..]), LEAF, parallel::worth(work), &plan);
        let pattern = Arc::new(rows::join(right.columns(), &lists)?);
        Ok(Self { left: left.clone(), right: right.clone(), pattern, starts, targets })
    }

    /// The pattern of C.
    pub fn pattern(&self) -> &Arc<Pattern> {
        &self.pattern
    }

    /// Block products A_ik B_kj: each costs 2 r m c operations.
    pub fn products(&self) -> usize {
        self.targets.len()
    }

    /// C = A B as a new matrix.
    ///
    /// # Errors
    /// As [`update`](Self::update).
    pub fn build<T: Real>(&self, a: &Bsr<T>, b: &Bsr<T>) -> Result<Bsr<T>, SparseError> {
        let mut c = Bsr::zeros(self.pattern.clone(), (a.block().0, b.block().1))?;
        self.update(a, b, &mut c)?;
        Ok(c)
    }

    /// Writes the values of C = A B into `c`, which an earlier [`build`](Self::build) made. No allocation.
    ///
    /// # Errors
    /// [`SparseError::Pattern`] if a matrix has another pattern than the plan, [`SparseError::Shape`] if block sizes do
    /// not multiply; nothing is written then.
    pub fn update<T: Real>(&self, a: &Bsr<T>, b: &Bsr<T>, c: &mut Bsr<T>) -> Result<(), SparseError> {
        fits::patterns([
            ("the left factor given to a ProductPlan", &self.left, a.pattern()),
            ("the right factor given to a ProductPlan", &self.right, b.pattern()),
            ("the target of a ProductPlan", &self.pattern, c.pattern()),
        ])?;
        fits::sizes([
            ("product, rows of a block of the right factor", a.block().1, b.block().0),
            ("product, rows of a target block", a.block().0, c.block().0),
            ("product, columns of a target block", b.block().1, c.block().1),
        ])?;
        self.run(&Operand::plain(a), b, c);
        Ok(())
    }

    /// The numeric phase, for operands that were found to fit.
    pub(crate) fn run<T: Real>(&self, left: &Operand<'_, T>, b: &Bsr<T>, c: &mut Bsr<T>) {
        let ((r, m), columns) = (left.block(), b.block().1);
        let kernel = numeric::kernel::<T>((r, m, columns), left.is_transposed());
        let work = self.targets.len() * r * m * columns;
        Rows::new(self.pattern.offsets(), r * columns, c.values_mut()).for_each(work, |i, row| {
            kernel(left, b, i, &self.targets[self.starts[i]..self.starts[i + 1]], row);
        });
    }
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
