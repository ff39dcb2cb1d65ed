//! Elimination row by row without fill (the IKJ variant); the chunks of a stage run in parallel.
//!
//! | symbol | meaning |
//! |---|---|
//! | Wᵢⱼ | the blocks of row i, overwritten by Lᵢⱼ (j < i), Dᵢ (j = i), Uᵢⱼ (j > i) |
//! | Dᵢ⁻¹ | `pivots` |
//!
//! Row i reads the rows k < i to which it is coupled. They belong to its own chunk or to an earlier stage.
//!
//! *Reference* Saad 2003, §10.3, Algorithm 10.4, to which the step numbers in the code refer.

use coarsen_backend::DenseBlocks;
use coarsen_core::parallel::{self, Shared};
use coarsen_core::simd::{self, Kernel, Set};
use coarsen_core::small_dense::Scratch;
use coarsen_core::{Cancel, Real, compiled};
use coarsen_sparse::{Bsr, Pattern};

use super::Order;
use super::order::Chunk;

/// Why an elimination is not complete.
pub(super) enum Fault {
    /// An unusable pivot: its row in the order of elimination, and its value.
    Pivot { row: usize, pivot: f64 },
    /// The flag is set.
    Cancelled,
}

/// The number of rows between two checks of the flag.
const CHECKED_ROWS: usize = 1024;

/// Overwrites W = P A Pᵀ with L and U, and `pivots` with the inverses of D.
///
/// If `positive`, every Dᵢ must be positive definite. *Cost* about 2 b³ flops per product of two blocks.
///
/// # Errors
/// The fault of the first chunk with a fault, for any number of threads; [`Fault::Cancelled`] once `cancel` is set.
pub(super) fn eliminate<T: Real>(
    w: &mut Bsr<T>,
    order: &Order,
    pivots: &mut DenseBlocks<T>,
    positive: bool,
    cancel: Option<&Cancel>,
) -> Result<(), Fault> {
    ELIMINATE.of::<Eliminate<T>>()(w, order, pivots, positive, cancel)
}

compiled!(
    ELIMINATE: Eliminate<T> =
        fn(&mut Bsr<T>, &Order, &mut DenseBlocks<T>, bool, Option<&Cancel>) -> Result<(), Fault>, eliminate_rows
);

fn eliminate_rows<T: Real>(
    w: &mut Bsr<T>,
    order: &Order,
    pivots: &mut DenseBlocks<T>,
    positive: bool,
    cancel: Option<&Cancel>,
) -> Result<(), Fault> {
    let (b, parallel) = (w.block().0, parallel::worth(w.nnz()));
    assert!(Pattern::same(w.pattern(), order.pattern()) && pivots.values().len() == w.shape().0 * b);
    let (values, pivots) = (Shared::new(w.values_mut()), Shared::new(pivots.values_mut()));
    for stage in order.stages() {
        if cancel.is_some_and(Cancel::is_cancelled) {
            return Err(Fault::Cancelled);
        }
        let rows =
            |chunk: &Chunk| simd::run(EliminatedRows { chunk, order, values, pivots, b, positive, cancel });
        forked(stage, parallel, &rows)?;
    }
    Ok(())
}

/// Eliminates the chunks of a stage, one task each, and returns the fault of the first chunk with a fault.
fn forked(
    stage: &[Chunk],
    parallel: bool,
    rows: &(impl Fn(&Chunk) -> Result<(), Fault> + Sync),
) -> Result<(), Fault> {
    match stage {
        _ if !parallel => stage.iter().try_for_each(rows),
        [] => Ok(()),
        [chunk] => rows(chunk),
        _ => {
            let (left, right) = stage.split_at(stage.len() / 2);
            let (left, right) = parallel::join(|| forked(left, true, rows), || forked(right, true, rows));
            left.and(right)
        }
    }
}

/// The elimination of the rows of one chunk.
struct EliminatedRows<'a, T> {
    chunk: &'a Chunk,
    order: &'a Order,
    values: Shared<'a, T>,
    pivots: Shared<'a, T>,
    b: usize,
    positive: bool,
    cancel: Option<&'a Cancel>,
}

impl<T: Real> Kernel<T> for EliminatedRows<'_, T> {
    type Output = Result<(), Fault>;

    #[inline(always)]
    fn run<I: Set<T>>(self, set: I) -> Result<(), Fault> {
        match self.b {
            1 => self.fixed::<I, 1>(set),
            2 => self.fixed::<I, 2>(set),
            3 => self.fixed::<I, 3>(set),
            6 => self.fixed::<I, 6>(set),
            _ => self.fixed::<I, 0>(set),
        }
    }
}

impl<T: Real> EliminatedRows<'_, T> {
    /// Eliminates with block size `B`, or with any block size if `B` is 0.
    #[inline(always)]
    fn fixed<I: Set<T>, const B: usize>(self, set: I) -> Result<(), Fault> {
        let b = if B == 0 { self.b } else { B };
        let area = b * b;
        let (offsets, indices) = (self.order.pattern().offsets(), self.order.pattern().indices());
        let diagonal = self.order.diagonal();
        let mut memory = Scratch::<T, 144>::new(area);
        let l = memory.values();
        // 1
        for i in self.chunk.rows.clone() {
            if i.is_multiple_of(CHECKED_ROWS) && self.cancel.is_some_and(Cancel::is_cancelled) {
                return Err(Fault::Cancelled);
            }
            let (start, end) = (offsets[i], offsets[i + 1]);
            // SAFETY: there are `area` values per block and `area` pivots per row (asserted in
            // `eliminate_rows`). Row i belongs to this chunk, which only this call writes. A row k < i in its
            // pattern is another row of this chunk, or a row of an earlier stage, which is finished.
            let own = unsafe {
                std::slice::from_raw_parts_mut(self.values.get().add(start * area), (end - start) * area)
            };
            for at in start..diagonal[i] {
                let k = indices[at] as usize; // 2
                // SAFETY: as above.
                let (d, upper) = unsafe {
                    let d = std::slice::from_raw_parts(self.pivots.get().add(k * area), area);
                    (d, self.values.get().cast_const())
                };
                let w = &mut own[(at - start) * area..(at - start + 1) * area];
                multiply(set, w, d, l, b); // 3: Lᵢₖ = Wᵢₖ Dₖ⁻¹
                w.copy_from_slice(l);
                let mut to = at + 1;
                for u in diagonal[k] + 1..offsets[k + 1] {
                    let j = indices[u];
                    while to < end && indices[to] < j {
                        to += 1;
                    }
                    if to == end {
                        break;
                    }
                    if indices[to] != j {
                        continue; // fill: dropped
                    }
                    // SAFETY: as above.
                    let u = unsafe { std::slice::from_raw_parts(upper.add(u * area), area) };
                    // 4, 5: Wᵢⱼ −= Lᵢₖ Uₖⱼ
                    subtract(set, l, u, &mut own[(to - start) * area..(to - start + 1) * area], b);
                }
            }
            let d = &own[(diagonal[i] - start) * area..(diagonal[i] - start + 1) * area];
            // SAFETY: as above.
            let inverse = unsafe { std::slice::from_raw_parts_mut(self.pivots.get().add(i * area), area) };
            let usable = !self.positive || smallest_pivot(d, b) > T::zero();
            if !usable || !DenseBlocks::invert_one(d, inverse, b) {
                return Err(Fault::Pivot { row: i, pivot: smallest_pivot(d, b).as_f64() });
            }
        } // 6
        Ok(())
    }
}

/// Returns the smallest pivot of a Cholesky factorisation of a block: positive if the block is positive
/// definite, otherwise not positive or NaN.
fn smallest_pivot<T: Real>(d: &[T], b: usize) -> T {
    let mut memory = Scratch::<T, 144>::new(b * b);
    let l = memory.values();
    let mut smallest = T::infinity();
    for i in 0..b {
        for j in 0..=i {
            let s = (0..j).fold(d[i * b + j], |s, k| s - l[i * b + k] * l[j * b + k]);
            if i != j {
                l[i * b + j] = s / l[j * b + j];
            } else if s > T::EPSILON * d[i * b + i].abs() {
                smallest = smallest.min(s);
                l[i * b + i] = s.sqrt();
            } else {
                return if s.is_nan() { s } else { s.min(T::zero()) };
            }
        }
    }
    smallest
}

/// Computes c = x y for b x b blocks.
#[inline(always)]
fn multiply<T: Real, I: Set<T>>(set: I, x: &[T], y: &[T], c: &mut [T], b: usize) {
    for i in 0..b {
        for j in 0..b {
            let mut sum = T::zero();
            for k in 0..b {
                sum = set.mul_add(x[i * b + k], y[k * b + j], sum);
            }
            c[i * b + j] = sum;
        }
    }
}

/// Computes c −= x y for b x b blocks.
#[inline(always)]
fn subtract<T: Real, I: Set<T>>(set: I, x: &[T], y: &[T], c: &mut [T], b: usize) {
    for i in 0..b {
        for j in 0..b {
            let mut sum = c[i * b + j];
            for k in 0..b {
                sum = set.mul_add(-x[i * b + k], y[k * b + j], sum);
            }
            c[i * b + j] = sum;
        }
    }
}
