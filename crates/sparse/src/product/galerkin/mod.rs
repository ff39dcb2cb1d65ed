//! The coarse matrix Pᵀ A P, computed by coarse rows.
//!
//! Row I of A_c is the sum of P_iIᵀ (A P)_i over the fine rows i with P_iI ≠ 0. A row of A P is computed when
//! a coarse row first needs it and dropped after its last use, so A P is never stored as a whole. Only a
//! window of its rows exists at a time. It stays in the cache if neighbouring nodes have nearby numbers.
//!
//! | symbol | what | blocks |
//! |---|---|---|
//! | A | fine matrix | b x b |
//! | P | prolongation | b x k |
//! | Q | A P | b x k |
//! | A_c | Pᵀ A P | k x k |
//!
//! | file | what |
//! |---|---|
//! | `mod` | the plan: structures computed from the patterns, and the division of coarse rows among tasks |
//! | `worker` | one task: its memory, and what becomes of its coarse rows |
//! | `factors` | A, P and the plan of Pᵀ |
//! | `rows` | computes rows of Q and sums coarse rows |
//! | `positions` | new values, at positions that are computed once |
//! | `blocks` | products of blocks |
//! | `kept` | storage for rows of Q |
//! | `scalars` | the algorithm for 1 x 1 blocks |
//! | `weights` | the algorithm for blocks w ⊗ I_d, and identities |
//! | `piecewise` | the algorithm for the same blocks, if every fine node has one coarse node |

mod blocks;
mod factors;
mod kept;
mod lists;
mod loops;
mod piecewise;
mod positions;
mod rows;
mod scalars;
mod weights;
mod worker;

use std::ops::Range;
use std::sync::Arc;

use coarsen_core::{Real, compiled, parallel};

use crate::prolongation::Form;
use crate::{Bsr, Pattern, ProlongationRef, SparseError, TransposePlan, fits};
use factors::Factors;
pub use lists::{GalerkinLists, ProductList};
use piecewise::{Piecewise, Product};
use positions::{Counts, Positions};
use worker::{Worker, fine_rows, least_bytes};

/// The minimum work per task, in blocks of P.
const SHARE: usize = 4096;

/// The plan of Pᵀ A P for one pattern of A and one of P.
///
/// P is a [`Bsr`] or a [`Prolongation`](crate::Prolongation). *Use* on every level of a Galerkin hierarchy:
/// [`build`](Self::build) once, then [`update`](Self::update) for new values of A or P. Each entry of A_c is
/// one sum in a fixed order, so equal values give the same bits for any number of threads. Entries (I, J) and
/// (J, I) are summed in different orders. So if A is symmetric, A_c is symmetric up to round-off, but not bit
/// for bit.
/// *Cost* 2 b² k operations per block product of A P, 2 b k² per block product of Pᵀ Q, and one look-up each.
/// *Memory* 8 bytes per block of P. Each task uses 12 bytes per row from its first to its last fine row, 8 bytes per
/// coarse row, and storage for 5000 blocks plus at most twice the rows of Q in use; for scalars 24 bytes per coarse
/// row, and two to four times those rows of A_c that are summed at the same time. There are at most as many tasks as
/// threads, and fewer if these rows would take more bytes than A, as with random numbers of nodes. For full blocks of P
/// the first update replaces all this by 4 bytes per row of A and, in most cases, one byte per block product, unless
/// these would take more bytes than A. If every fine node has at most one coarse node, and P has identities or four
/// weights of three unknowns, threads keep lists instead: 4 bytes per row of A, and for identities 4 bytes per block of
/// A, a third of a scalar A in f64; for weights 4 bytes per row of A and coarse node to which it is coupled.
///
/// *Reference* Briggs, Henson & McCormick 2000, "A multigrid tutorial", 2nd edition, ch. 8: the Galerkin
/// condition. Row-wise accumulation: Gustavson 1978.
///
/// ```
/// use coarsen_sparse::{GalerkinPlan, assembly};
/// let a = assembly::from_triplets(2, 2, &[(0, 0, 2.0), (0, 1, -1.0), (1, 0, -1.0), (1, 1, 2.0)])?;
/// let p = assembly::from_triplets(2, 1, &[(0, 0, 1.0), (1, 0, 1.0)])?;
/// let mut plan = GalerkinPlan::new(&a, &p)?;
/// let mut coarse = plan.build(&a, &p)?;
/// assert_eq!(coarse.values(), [2.0]);
/// plan.update(&a, &p, &mut coarse)?; // new values: only the first update allocates
/// # Ok::<(), coarsen_sparse::SparseError>(())
/// ```
#[derive(Clone, Debug)]
pub struct GalerkinPlan<T> {
    fine: Arc<Pattern>,
    transpose: TransposePlan, // of P
    coarse: Option<Arc<Pattern>>,
    block: (usize, usize), // of P
    /// The number of stored scalars of A, times k.
    work: usize,
    /// The bytes that the rows of all tasks may take, and later their positions: those of A.
    most: usize,
    /// Empty for a P that is followed by lists.
    workers: Vec<Worker<T>>,
    /// The lists of a P whose fine nodes have one coarse node each, after the build.
    piecewise: Option<Piecewise<T>>,
}

impl<T: Real> GalerkinPlan<T> {
    /// The plan for the patterns and block sizes of A and P; values are not read.
    ///
    /// # Errors
    /// [`SparseError::Shape`] unless A is square with square blocks, P has as many block rows as A, and
    /// blocks of P have as many rows as blocks of A.
    pub fn new<'p>(a: &Bsr<T>, p: impl Into<ProlongationRef<'p, T>>) -> Result<Self, SparseError> {
        let p = p.into();
        let ProlongationRef { pattern: of, block: (b, k), .. } = p;
        fits::sizes([
            ("Galerkin product, block columns of A", a.pattern().rows(), a.pattern().columns()),
            ("Galerkin product, columns of a block of A", a.block().0, a.block().1),
            ("Galerkin product, block rows of P", a.pattern().rows(), of.rows()),
            ("Galerkin product, rows of a block of P", a.block().0, b),
        ])?;
        let mut plan = Self {
            fine: a.pattern().clone(),
            transpose: TransposePlan::new(of)?,
            coarse: None,
            block: (b, k),
            work: a.nnz() * k,
            most: a.bytes(),
            workers: Vec::new(),
            piecewise: None,
        };
        if !Piecewise::fits(&p) {
            plan.divide();
        }
        Ok(plan)
    }

    /// The plan of Pᵀ: its pattern, and for each of its blocks the index of the block in P.
    pub fn transpose(&self) -> &TransposePlan {
        &self.transpose
    }

    /// The number of bytes of the plan, without the patterns of A, P and A_c.
    pub fn bytes(&self) -> usize {
        let piecewise = self.piecewise.as_ref().map_or(0, Piecewise::bytes);
        let workers = self.workers.iter().map(Worker::bytes).sum::<usize>();
        self.transpose.bytes() + piecewise + workers
    }

    /// A_c as a new matrix.
    ///
    /// # Errors
    /// As [`update`](Self::update), and [`SparseError::TooLarge`] if the rows of A P in use at the same time
    /// have more blocks than `u32` can count.
    pub fn build<'p>(
        &mut self,
        a: &Bsr<T>,
        p: impl Into<ProlongationRef<'p, T>>,
    ) -> Result<Bsr<T>, SparseError> {
        BUILD.of::<Build<T>>()(self, a, p.into())
    }

    fn build_product(&mut self, a: &Bsr<T>, p: ProlongationRef<'_, T>) -> Result<Bsr<T>, SparseError> {
        self.check(a, p)?;
        if Piecewise::fits(&p) {
            return self.build_piecewise(a, p);
        }
        self.piecewise = None;
        self.divide_again(); // P had another form, there were updates, or the last product failed
        let transpose = &self.transpose;
        let made = together(&mut self.workers, (&[], 1), &mut [], &|worker, _: &mut [T]| {
            Factors { a, p, transpose }.make(worker)
        });
        if let Err(error) = made {
            self.workers.clear(); // rows may be incomplete
            return Err(error);
        }
        let k = self.block.1;
        let mut offsets = Vec::with_capacity(p.pattern.columns() + 1);
        offsets.push(0);
        for worker in &self.workers {
            let before = offsets[offsets.len() - 1];
            offsets.extend(worker.ends.iter().map(|end| before + end));
        }
        let blocks = offsets[offsets.len() - 1];
        let (mut indices, mut values) = (vec![0; blocks], vec![T::zero(); blocks * k * k]);
        together(&mut self.workers, (&offsets, k * k), &mut values, &|worker, values| {
            values.copy_from_slice(&worker.values);
            (worker.ends, worker.values) = (Vec::new(), Vec::new());
            Ok(())
        })?;
        together(&mut self.workers, (&offsets, 1), &mut indices, &|worker, indices: &mut [u32]| {
            indices.copy_from_slice(&worker.columns);
            worker.columns = Vec::new();
            Ok(())
        })?;
        // SAFETY: every coarse row was made once, in order, with sorted columns of P, each once; `offsets` are their ends.
        let pattern = Arc::new(unsafe { Pattern::new_unchecked(p.pattern.columns(), offsets, indices) });
        self.coarse = Some(pattern.clone());
        Bsr::new(pattern, (k, k), values)
    }

    /// [`build_product`](Self::build_product) for a P whose fine nodes have one coarse node each.
    fn build_piecewise(&mut self, a: &Bsr<T>, p: ProlongationRef<'_, T>) -> Result<Bsr<T>, SparseError> {
        let pattern = Arc::new(piecewise::coarse_pattern(a.pattern(), p.pattern, self.transpose.pattern())?);
        let product = Product { a, p, transpose: &self.transpose, coarse: &pattern };
        let (k, mut piecewise) = (self.block.1, Piecewise::new(&product));
        let mut values = vec![T::zero(); pattern.len() * (k * k)];
        piecewise.refill(&product, &mut values);
        (self.coarse, self.piecewise) = (Some(pattern.clone()), Some(piecewise));
        Bsr::new(pattern, (k, k), values)
    }

    /// Makes a worker for each task.
    fn divide(&mut self) {
        let (restriction, scalars) = (self.transpose.pattern(), self.block == (1, 1));
        let shares = shares(restriction, self.work, self.most).into_iter();
        self.workers = shares.map(|rows| Worker::new(rows, restriction, scalars)).collect();
    }

    /// Makes workers with scratch memory, unless there are some.
    fn divide_again(&mut self) {
        if self.workers.is_empty() || self.workers.iter().any(|worker| worker.positions.is_some()) {
            self.divide();
        }
    }

    /// Writes the values of A_c into `coarse`, which was created by the last [`build`](Self::build). Only the
    /// first update after a build allocates, and one whose P has another form than before.
    ///
    /// # Errors
    /// [`SparseError::Pattern`] if A, P or `coarse` has another pattern than the plan, [`SparseError::Shape`]
    /// if the block sizes differ; nothing is then written. [`SparseError::TooLarge`] as for [`build`](Self::build).
    pub fn update<'p>(
        &mut self,
        a: &Bsr<T>,
        p: impl Into<ProlongationRef<'p, T>>,
        coarse: &mut Bsr<T>,
    ) -> Result<(), SparseError> {
        let p = p.into();
        self.check(a, p)?;
        let what = "the coarse matrix given to a GalerkinPlan";
        let pattern = self.coarse.clone().ok_or(SparseError::Pattern { what })?;
        fits::patterns([(what, &pattern, coarse.pattern())])?;
        let k = self.block.1;
        fits::sizes([
            ("Galerkin product, rows of a coarse block", k, coarse.block().0),
            ("Galerkin product, columns of a coarse block", k, coarse.block().1),
        ])?;
        REFILL.of::<Refill<T>>()(self, a, p, coarse)
    }

    /// Computes the values after all checks have passed.
    fn refill(
        &mut self,
        a: &Bsr<T>,
        p: ProlongationRef<'_, T>,
        coarse: &mut Bsr<T>,
    ) -> Result<(), SparseError> {
        let (pattern, k) = (coarse.pattern().clone(), self.block.1);
        if let Some(piecewise) = self.piecewise.as_mut().filter(|piecewise| piecewise.takes(&p)) {
            let product = Product { a, p, transpose: &self.transpose, coarse: &pattern };
            piecewise.refill(&product, coarse.values_mut());
            return Ok(());
        }
        if self.workers.is_empty() {
            self.divide();
        }
        let rows = (pattern.offsets(), k * k);
        if let Form::Blocks(full) = p.form {
            let factors = Factors { a, p, transpose: &self.transpose };
            if self.workers.iter().any(|worker| worker.counts.is_none()) {
                together(&mut self.workers, (&[], 1), &mut [], &|worker, _: &mut [T]| {
                    worker.counts = Some(Counts::new(&factors, (&worker.rows, &worker.fine), &pattern));
                    Ok(())
                })?;
            }
            let counted = self.workers.iter().filter_map(|worker| worker.counts.as_ref());
            if counted.map(Counts::total::<T>).sum::<usize>() <= self.most {
                return together(&mut self.workers, rows, coarse.values_mut(), &|worker, values| {
                    let Worker { rows, fine, counts, positions, .. } = worker;
                    if let (None, Some(counts)) = (&positions, *counts) {
                        let positions = Positions::new(&factors, (rows, fine), &pattern, counts);
                        worker.keep_positions(positions);
                    }
                    let Worker { rows, fine, positions, .. } = worker;
                    let positions = positions.as_mut().expect("made above");
                    positions.sum(factors, full, (rows, fine), &pattern, values);
                    Ok(())
                });
            }
        }
        self.divide_again();
        let transpose = &self.transpose;
        together(&mut self.workers, rows, coarse.values_mut(), &|worker, values| {
            Factors { a, p, transpose }.refill(worker, &pattern, values)
        })
    }

    /// Checks that A and P fit the plan.
    fn check(&self, a: &Bsr<T>, p: ProlongationRef<'_, T>) -> Result<(), SparseError> {
        let (b, k) = self.block;
        fits::patterns([
            ("A, given to a GalerkinPlan,", &self.fine, a.pattern()),
            ("P, given to a GalerkinPlan,", self.transpose.of(), p.pattern),
        ])?;
        fits::sizes([
            ("Galerkin product, rows of a block of A", b, a.block().0),
            ("Galerkin product, columns of a block of A", b, a.block().1),
            ("Galerkin product, rows of a block of P", b, p.block.0),
            ("Galerkin product, columns of a block of P", k, p.block.1),
        ])
    }
}

compiled!(
    BUILD: Build<T> =
        fn(&mut GalerkinPlan<T>, &Bsr<T>, ProlongationRef<'_, T>) -> Result<Bsr<T>, SparseError>,
    GalerkinPlan::build_product
);

compiled!(
    REFILL: Refill<T> =
        fn(&mut GalerkinPlan<T>, &Bsr<T>, ProlongationRef<'_, T>, &mut Bsr<T>) -> Result<(), SparseError>,
    GalerkinPlan::refill
);

/// Divides the coarse rows among the threads, with about equal numbers of blocks of Pᵀ; among fewer tasks if their rows
/// would take more than `most` bytes. The division does not change any bit of the result.
fn shares(restriction: &Pattern, work: usize, most: usize) -> Vec<Range<usize>> {
    let mut tasks = match parallel::worth(work) {
        true => rayon::current_num_threads().min(restriction.len().div_ceil(SHARE)).max(1),
        false => 1,
    };
    loop {
        let start = |t: usize| {
            let blocks = restriction.len() * t / tasks;
            if t == tasks {
                restriction.rows()
            } else {
                restriction.offsets().partition_point(|&o| o < blocks)
            }
        };
        let shares: Vec<Range<usize>> = (0..tasks).map(|t| start(t)..start(t + 1)).collect();
        let bytes = |rows: &Range<usize>| least_bytes(fine_rows(rows, restriction).len(), restriction.rows());
        if tasks == 1 || shares.iter().map(bytes).sum::<usize>() <= most {
            return shares;
        }
        tasks -= tasks.div_ceil(4);
    }
}

/// Calls `body` for every worker with the values, or columns, of its coarse rows, in parallel. If `offsets` is empty, the
/// values are empty too.
fn together<T: Real, V: Send>(
    workers: &mut [Worker<T>],
    (offsets, size): (&[usize], usize),
    values: &mut [V],
    body: &(impl Fn(&mut Worker<T>, &mut [V]) -> Result<(), SparseError> + Sync),
) -> Result<(), SparseError> {
    if let [worker] = workers {
        return body(worker, values);
    }
    let (left, right) = workers.split_at_mut(workers.len() / 2);
    let at = |row: usize| offsets.get(row).map_or(0, |offset| offset * size);
    let (head, tail) = values.split_at_mut(at(right[0].rows.start) - at(left[0].rows.start));
    let (left, right) = parallel::join(
        || together(left, (offsets, size), head, body),
        || together(right, (offsets, size), tail, body),
    );
    left.and(right)
}
