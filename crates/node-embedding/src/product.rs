//! R H P by stencils: positions in a window around a coarse node replace look-ups (§6).
//!
//! For each coarse node j, the rows of H of the nodes i that j embeds are summed, Q_l = Σ_i w_ij S_i H_il S_l, and
//! each Q_l is spread over the coarse nodes k that embed l. In a window centred at j, the places of i, l
//! and k are numbers of slots, and the weights from l to k depend on the slot of l alone.
//!
//! | symbol | here |
//! |---|---|
//! | r, s | the largest distances along an axis between coupled nodes, and between an embedded node and j |
//! | W = 2 (r + s) + 1 | the width of the window of fine places |
//! | D = 2 ⌊(r + 2 s) / 2⌋ + 1 | the width of the window of coarse places: a coarse row has at most D^d blocks |
//! | Q_l | `fine`; the slots of l are in the order of places |
//! | (H¹)_jk | `coarse` |

use std::ops::Range;
use std::sync::Arc;

use coarsen_backend::SetupError;
use coarsen_core::parallel::{self, each};
use coarsen_core::simd::{self, Pack, Set};
use coarsen_core::{Real, compiled};
use coarsen_sparse::{Bsr, Pattern, Prolongation, TransposePlan};

use super::Embedded;
use super::constraints::{Constraint, NodeConstraints};
use super::kernel::Kernel;

/// The largest supported r + s. With it a window fits the level-1 cache: 7³ slots.
const WIDEST: i32 = 3;

/// The slots of the largest windows of fine and of coarse places.
const SLOTS: (usize, usize) = (343, 125);

/// The largest block, 3 x 3.
const AREA: usize = 9;

/// The number of coarse rows of a task.
const LEAF: usize = 256;

/// The windows around a coarse node, for a kernel and a reach.
#[derive(Clone, Debug)]
pub(super) struct Window {
    /// What the windows are made for.
    of: (Kernel, [bool; 3], i32),
    /// W and D.
    widths: (i32, i32),
    /// For each fine slot, where its list begins in `spread`; then the end of `spread`.
    begins: Vec<usize>,
    /// The coarse slots of each fine slot, and their weights.
    spread: Vec<(usize, f64)>,
    /// The coarse slots of each fine slot, as bits.
    reached: Vec<u128>,
}

impl Window {
    /// Returns the windows for `absent` axes and for coupled nodes at most `reach` apart along an axis; `None`
    /// if they are too large.
    pub(super) fn new(kernel: Kernel, absent: [bool; 3], reach: i32) -> Option<Self> {
        let half = reach + kernel.reach();
        if half > WIDEST {
            return None;
        }
        let widths = (2 * half + 1, 2 * coarse_reach(kernel, reach) + 1);
        let centre = index([widths.1 / 2; 3], widths.1);
        let (mut begins, mut spread, mut reached) = (vec![0], Vec::new(), Vec::new());
        for slot in 0..widths.0.pow(3) {
            let add = |k: [i32; 3], w: f64| spread.push(((index(k, widths.1) + centre) as usize, w));
            kernel.around(place(slot, widths.0), absent, add);
            let own: &[(usize, f64)] = &spread[begins[begins.len() - 1]..];
            reached.push(own.iter().fold(0, |bits, (k, _)| bits | 1 << k));
            begins.push(spread.len());
        }
        Some(Self { of: (kernel, absent, reach), widths, begins, spread, reached })
    }

    /// Whether the windows are those of a kernel, absent axes and a reach.
    pub(super) fn is_of(&self, kernel: Kernel, absent: [bool; 3], reach: i32) -> bool {
        self.of == (kernel, absent, reach)
    }

    /// Returns the numbers of fine nodes.
    pub(super) fn numbers(&self, nodes: &[[i32; 3]]) -> impl Iterator<Item = i32> {
        nodes.iter().map(|x| index(*x, self.widths.0))
    }

    /// The number of slots of the windows of fine and of coarse places.
    fn slots(&self) -> (usize, usize) {
        (self.begins.len() - 1, (self.widths.1 as usize).pow(3))
    }
}

/// The largest distance along an axis between coupled coarse nodes.
pub(super) fn coarse_reach(kernel: Kernel, reach: i32) -> i32 {
    (reach + 2 * kernel.reach()) / 2
}

/// The largest distance along an axis between coupled nodes.
pub(super) fn reach(pattern: &Pattern, nodes: &[[i32; 3]]) -> i32 {
    let apart = |i: usize, j: u32| {
        let (x, y) = (nodes[i], nodes[j as usize]);
        (0..3).map(|d| (x[d] - y[d]).abs()).fold(0, i32::max)
    };
    let of = |i: usize| pattern.row(i).iter().map(|&j| apart(i, j)).fold(0, i32::max);
    let leaf = |rows: Range<usize>| rows.map(of).fold(0, i32::max);
    parallel::tree(0..nodes.len(), LEAF, parallel::worth(pattern.len()), &leaf, &i32::max)
}

/// The number of a place; differences of numbers depend only on differences of places.
fn index(x: [i32; 3], width: i32) -> i32 {
    (x[0] * width + x[1]) * width + x[2]
}

/// The place of a slot, counted from the centre of its window.
fn place(slot: i32, width: i32) -> [i32; 3] {
    [slot / (width * width), slot / width % width, slot % width].map(|k| k - width / 2)
}

/// The factors of R H P.
pub(super) struct Product<'a, T> {
    a: &'a Bsr<T>,
    p: &'a Prolongation<T>,
    transpose: &'a TransposePlan,
    window: &'a Window,
    /// The number of each fine node in a window of width W.
    numbers: &'a [i32],
    coarse: &'a [[i32; 3]],
    constraints: &'a NodeConstraints,
}

/// Workspace of a task.
struct Workspace<T> {
    fine: [T; SLOTS.0 * AREA],
    coupled: [bool; SLOTS.0],
    coarse: [T; SLOTS.1 * AREA],
    hit: [bool; SLOTS.1],
}

impl<'a, T: Real> Product<'a, T> {
    /// Returns the factors, or `None` if the window or the blocks are too large for this algorithm.
    pub(super) fn new(
        a: &'a Bsr<T>,
        p: &'a Prolongation<T>,
        transpose: &'a TransposePlan,
        state: &'a Embedded,
    ) -> Option<Self> {
        let (window, constraints) = (state.window.as_ref()?, &state.constraints);
        let (numbers, coarse) = (&state.numbers[..], &state.coarse[..]);
        (a.block().0 <= 3).then_some(Self { a, p, transpose, window, numbers, coarse, constraints })
    }

    /// Returns H¹: the couplings of all rows, the pattern, then the values.
    pub(super) fn build(&self) -> Result<Bsr<T>, SetupError> {
        let (nodes, b) = (self.coarse.len(), self.a.block().0);
        // The slots of each row that have a block, as bits.
        let mut rows = vec![0; nodes];
        let leaf = |(range, rows): (Range<usize>, &mut [u128])| {
            range.zip(rows).for_each(|(j, row)| *row = self.coupled(j));
        };
        each((0..nodes, &mut rows[..]), LEAF, self.is_large(), &leaf);
        let (mut offsets, mut end) = (Vec::with_capacity(nodes + 1), 0);
        offsets.push(end);
        offsets.extend(rows.iter().map(|row| {
            end += row.count_ones() as usize;
            end
        }));
        let mut columns = vec![0; end];
        self.columns(0..nodes, &rows, &offsets, &mut columns);
        let mut made = Bsr::zeros(Arc::new(Pattern::new(nodes, offsets, columns)?), (b, b))?;
        self.update(&mut made);
        Ok(made)
    }

    /// Returns the slots that have a block in coarse row j.
    fn coupled(&self, j: usize) -> u128 {
        let (pattern, base) = (self.a.pattern(), self.base(j));
        let mut row = 0;
        for &i in self.transpose.pattern().row(j) {
            let slot = |l: u32| (self.numbers[l as usize] + base) as usize;
            let columns = pattern.row(i as usize).iter();
            if self.constraints.is_empty() {
                columns.for_each(|&l| row |= self.window.reached[slot(l)]);
            } else {
                let moves = |l: &&u32| self.constraints.of(**l as usize) != Some(Constraint::Held);
                columns.filter(moves).for_each(|&l| row |= self.window.reached[slot(l)]);
            }
        }
        row
    }

    /// The slot of a fine node in the window of coarse node j, less the number of the node.
    #[inline(always)]
    fn base(&self, j: usize) -> i32 {
        let width = self.window.widths.0;
        index([width / 2; 3], width) - index(self.coarse[j].map(|k| 2 * k), width)
    }

    /// Writes the values of H¹ into a matrix of [`build`](Self::build). Does not allocate.
    pub(super) fn update(&self, into: &mut Bsr<T>) {
        let (pattern, area) = (into.pattern().clone(), self.a.block().0 * self.a.block().1);
        self.update_rows(0..self.coarse.len(), &pattern, area, into.values_mut());
    }

    fn update_rows(&self, rows: Range<usize>, pattern: &Pattern, area: usize, values: &mut [T]) {
        if rows.len() > LEAF && self.is_large() {
            let middle = rows.start + rows.len() / 2;
            let (left, right) =
                values.split_at_mut(area * (pattern.offsets()[middle] - pattern.offsets()[rows.start]));
            parallel::join(
                || self.update_rows(rows.start..middle, pattern, area, left),
                || self.update_rows(middle..rows.end, pattern, area, right),
            );
            return;
        }
        let mut rest = values.chunks_exact_mut(area);
        RUN.of::<Run<T>>()(self, rows, &mut |_, hit, sums| {
            let found = sums.chunks_exact(area).zip(hit).filter(|(_, hit)| **hit);
            found.zip(&mut rest).for_each(|((sum, _), to)| to.copy_from_slice(sum));
        });
    }

    /// Writes the columns of coarse rows. Coarse nodes are sorted, so for each slot the column of the next row follows
    /// that of this row.
    fn columns(&self, range: Range<usize>, rows: &[u128], offsets: &[usize], columns: &mut [u32]) {
        if range.len() > LEAF && self.is_large() {
            let middle = range.start + range.len() / 2;
            let (left, right) = columns.split_at_mut(offsets[middle] - offsets[range.start]);
            parallel::join(
                || self.columns(range.start..middle, rows, offsets, left),
                || self.columns(middle..range.end, rows, offsets, right),
            );
            return;
        }
        let (coarse, width, slots) = (self.coarse, self.window.widths.1, self.window.slots().1);
        let mut by = [[0; 3]; SLOTS.1];
        let mut next = [0; SLOTS.1];
        for (slot, (by, next)) in by[..slots].iter_mut().zip(&mut next).enumerate() {
            *by = place(slot as i32, width);
            let first = [0, 1, 2].map(|d| coarse[range.start][d] + by[d]);
            *next = coarse.partition_point(|x| *x < first);
        }
        let mut columns = columns.iter_mut();
        for j in range {
            let mut row = rows[j];
            while row != 0 {
                let slot = row.trailing_zeros() as usize;
                row &= row - 1;
                let x = [0, 1, 2].map(|d| coarse[j][d] + by[slot][d]);
                while coarse[next[slot]] < x {
                    next[slot] += 1;
                }
                if let Some(column) = columns.next() {
                    *column = next[slot] as u32;
                }
            }
        }
    }

    fn is_large(&self) -> bool {
        parallel::worth(4 * self.a.nnz())
    }

    /// Computes coarse row j; `A` is the number of scalars of a block.
    #[inline(always)]
    fn row<S: Set<T>, const A: usize>(&self, set: S, j: usize, workspace: &mut Workspace<T>) {
        let Self { a, p, transpose, window, numbers, .. } = *self;
        let (fine, coarse) = window.slots();
        let ((sums, _), (blocks, _)) = (workspace.fine.as_chunks_mut::<A>(), a.values().as_chunks::<A>());
        let (sums, coupled) = (&mut sums[..fine], &mut workspace.coupled[..fine]);
        sums.fill([T::zero(); A]);
        coupled.fill(false);
        let base = self.base(j);
        let (weights, stride) = (p.values(), p.values().len() / p.pattern().len().max(1));
        let embedded = transpose.pattern().range(j);
        for (&i, &at) in
            transpose.pattern().indices()[embedded.clone()].iter().zip(&transpose.source()[embedded])
        {
            let (transfer, row) = (&weights[at as usize * stride..][..stride], a.pattern().range(i as usize));
            let entries = a.pattern().indices()[row.clone()].iter().zip(&blocks[row]);
            if self.constraints.is_empty() {
                let w = transfer[0];
                for (&l, h) in entries {
                    let slot = (numbers[l as usize] + base) as usize;
                    coupled[slot] = true;
                    add(set, &mut sums[slot], w, h);
                }
                continue;
            }
            let slides = self.constraints.of(i as usize).is_some();
            for (&l, h) in entries {
                let slot = (numbers[l as usize] + base) as usize;
                match (slides, self.constraints.of(l as usize)) {
                    (_, Some(Constraint::Held)) => continue,
                    (false, None) => add(set, &mut sums[slot], transfer[0], h),
                    (_, to) => add_constrained(transfer, h, to, &mut sums[slot]),
                }
                coupled[slot] = true;
            }
        }
        let (to, hit) =
            (&mut workspace.coarse.as_chunks_mut::<A>().0[..coarse], &mut workspace.hit[..coarse]);
        to.fill([T::zero(); A]);
        hit.fill(false);
        for (slot, sum) in sums.iter().enumerate().filter(|(slot, _)| coupled[*slot]) {
            for &(k, w) in &window.spread[window.begins[slot]..window.begins[slot + 1]] {
                hit[k] = true;
                add(set, &mut to[k], T::from_f64(w), sum);
            }
        }
    }
}

/// Called with j, the slots of coarse row j that have a block, and all its blocks.
type Done<'a, T> = &'a mut dyn FnMut(usize, &[bool], &[T]);

compiled!(RUN: Run<T> = fn(&Product<'_, T>, Range<usize>, Done<'_, T>), run);

fn run<T: Real>(product: &Product<'_, T>, rows: Range<usize>, done: Done<'_, T>) {
    match product.a.block().0 {
        1 => simd::run(Task::<T, 1> { product, rows, done }),
        2 => simd::run(Task::<T, 4> { product, rows, done }),
        _ => simd::run(Task::<T, 9> { product, rows, done }),
    }
}

/// Coarse rows as a kernel, compiled for several instruction sets.
struct Task<'a, T, const A: usize> {
    product: &'a Product<'a, T>,
    rows: Range<usize>,
    done: Done<'a, T>,
}

impl<T: Real, const A: usize> simd::Kernel<T> for Task<'_, T, A> {
    type Output = ();

    #[inline(always)]
    fn run<S: Set<T>>(self, set: S) {
        let mut workspace = Workspace {
            fine: [T::zero(); SLOTS.0 * AREA],
            coupled: [false; SLOTS.0],
            coarse: [T::zero(); SLOTS.1 * AREA],
            hit: [false; SLOTS.1],
        };
        let slots = self.product.window.slots().1;
        for j in self.rows {
            self.product.row::<S, A>(set, j, &mut workspace);
            (self.done)(j, &workspace.hit[..slots], &workspace.coarse[..slots * A]);
        }
    }
}

/// Q += w H, eight numbers at a time.
#[inline(always)]
fn add<T: Real, S: Set<T>, const A: usize>(set: S, q: &mut [T; A], w: T, h: &[T; A]) {
    const PACK: usize = 8;
    for at in (0..A / PACK).map(|pack| PACK * pack) {
        // SAFETY: Q and H have eight numbers from here on.
        unsafe {
            let (from, to) = (h.as_ptr().add(at), q.as_mut_ptr().add(at));
            S::Eight::splat(set, w).mul_add(S::Eight::load(set, from), S::Eight::load(set, to)).store(to);
        }
    }
    for e in A / PACK * PACK..A {
        q[e] = set.mul_add(w, h[e], q[e]);
    }
}

/// Q += w S_i H S_l for blocks of `A` scalars. `transfer` is w S_i, or w if node i is free.
#[inline(always)]
fn add_constrained<T: Real, const A: usize>(
    transfer: &[T],
    h: &[T; A],
    to: Option<Constraint>,
    q: &mut [T; A],
) {
    let b = A.isqrt();
    let entry = |r: usize, m: usize| match (transfer.len() == A, r == m) {
        (true, _) => transfer[r * b + m],
        (false, true) => transfer[0],
        (false, false) => T::zero(),
    };
    for (r, q) in q.chunks_exact_mut(b).enumerate() {
        let mut row = [T::zero(); 3];
        let row = &mut row[..b];
        for (c, row) in row.iter_mut().enumerate() {
            *row = (0..b).map(|m| entry(r, m) * h[m * b + c]).sum();
        }
        if let Some(Constraint::Slides(n)) = to {
            let along = row.iter().zip(n).map(|(&row, n)| row * T::from_f64(n)).sum::<T>();
            row.iter_mut().zip(n).for_each(|(row, n)| *row -= along * T::from_f64(n));
        }
        q.iter_mut().zip(&*row).for_each(|(q, &row)| *q += row);
    }
}
