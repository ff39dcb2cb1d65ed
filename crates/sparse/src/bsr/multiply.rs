//! y = A x by block rows, and operations fused with it.
//!
//! Rows are divided into leaves of a fixed number of scalar rows. The same tree sums the fused inner
//! products, so the bits do not depend on the number of threads. Column indices are checked when the pattern
//! is constructed, so the kernels index without checks.
//!
//! *Traffic* A once, y once, x once if it fits the cache.

use std::ops::Range;

use coarsen_core::parallel::{self, Groups, each, tree};
use coarsen_core::simd::{self, Kernel, Pack, Set, Twelve};
use coarsen_core::small_dense::Scratch;
use coarsen_core::{Dot, LinearOperator, Real, compiled, products};

use super::lanes::LaneProducts;
use super::{Bsr, COLUMNS, row_product, uneven_row};

/// The number of scalar rows per leaf: a few hundred kilobytes of matrix, enough work to amortise a fork.
const ROWS: usize = 1024;

/// The number of scalar rows whose products are buffered, so that the fused operation runs over several rows
/// at once.
const BATCH: usize = 96;

/// Multiplies some block rows with x; see [`Bsr::row_products`].
struct RowProducts<'a, T, V> {
    a: &'a Bsr<T>,
    rows: Range<usize>,
    x: &'a [V],
    then: Then<'a, V>,
}

/// What follows the product: a call by pointer, so that the kernels of all block sizes are compiled once.
pub(super) type Then<'a, V> = &'a mut dyn FnMut(usize, &[V]);

impl<T: Real, V: Real> RowProducts<'_, T, V> {
    /// The kernel for blocks of R x C, with R and C known at compile time. `UNEVEN` is for scalar rows of a few entries, such
    /// as those of a prolongation.
    #[inline(always)]
    fn fixed<I, P, const R: usize, const C: usize, const UNEVEN: bool>(self, set: I)
    where
        I: Set<V>,
        P: Pack<V, Set = I>,
    {
        let pattern = self.a.pattern();
        assert!(self.a.block == (R, C) && self.x.len() == pattern.columns() * C);
        const { assert!(BATCH.is_multiple_of(R)) };
        let offsets = &pattern.offsets()[self.rows.start..=self.rows.end];
        let mut ax = [V::zero(); BATCH];
        let (rows, mut first) = (offsets.len() - 1, 0);
        while first < rows {
            let batch = (rows - first).min(BATCH / R);
            for k in 0..batch {
                // SAFETY: offsets rise up to indices.len(), values.len() = indices.len() · R · C (Bsr::new),
                // and every column is below pattern.columns() (Pattern::new), so C j + C ≤ x.len(), asserted
                // above. From `start` on, there are four columns where `uneven_row` reads so many.
                let sums = unsafe {
                    let start = *offsets.get_unchecked(first + k);
                    let end = *offsets.get_unchecked(first + k + 1);
                    let (values, x) = (self.a.values.as_ptr().add(start * R * C), self.x.as_ptr());
                    if UNEVEN && end - start <= 4 && start + 4 <= pattern.len() {
                        let columns = pattern.indices().as_ptr().add(start);
                        [uneven_row::<V, T, I>(set, values, columns, end - start, x); R]
                    } else {
                        let columns = pattern.indices().get_unchecked(start..end);
                        row_product::<V, T, I, P, R, C, true>(set, values, columns, x)
                    }
                };
                ax[k * R..(k + 1) * R].copy_from_slice(&sums);
            }
            (self.then)(first * R, &ax[..batch * R]);
            first += batch;
        }
    }

    /// The kernel for any block size. The sums of a row are on the stack for blocks of up to 12 rows.
    #[inline(always)]
    fn any(self) {
        let (r, c) = self.a.block;
        let mut memory = Scratch::<V, 12>::new(r);
        let ax = memory.values();
        for (k, i) in self.rows.enumerate() {
            ax.fill(V::zero());
            for (j, block) in self.a.row(i) {
                let x = &self.x[j * c..(j + 1) * c];
                for (ax, row) in ax.iter_mut().zip(block.chunks_exact(c)) {
                    for (a, &x) in row.iter().zip(x) {
                        *ax += a.to::<V>() * x;
                    }
                }
            }
            (self.then)(k * r, ax);
        }
    }
}

impl<T: Real, V: Real> Kernel<V> for RowProducts<'_, T, V> {
    type Output = ();

    #[inline(always)]
    fn run<I: Set<V>>(self, set: I) {
        match self.a.block {
            (1, 1) if self.a.pattern.len() < 4 * self.a.pattern.rows() => {
                self.fixed::<I, I::Four, 1, 1, true>(set)
            }
            (1, 1) => self.fixed::<I, I::Four, 1, 1, false>(set),
            (2, 2) => self.fixed::<I, I::Four, 2, 2, false>(set),
            (3, 3) => self.fixed::<I, I::Four, 3, 3, false>(set),
            (3, 6) => self.fixed::<I, I::Eight, 3, 6, false>(set),
            (6, 3) => self.fixed::<I, I::Four, 6, 3, false>(set),
            (6, 6) => self.fixed::<I, I::Eight, 6, 6, false>(set),
            // from displacements to affine motions
            (3, 12) => self.fixed::<I, Twelve<V, I::Eight, I::Four>, 3, 12, false>(set),
            (12, 3) => self.fixed::<I, I::Four, 12, 3, false>(set),
            (12, 12) => self.fixed::<I, Twelve<V, I::Eight, I::Four>, 12, 12, false>(set),
            _ => self.any(),
        }
    }
}

impl<T: Real> Bsr<T> {
    /// Calls `then(at, part)` for consecutive parts of A x; fused kernels use this function.
    ///
    /// A part is a few whole block rows, in scalars; `at` is its first scalar row, relative to the first row
    /// of `rows`.
    /// *Use* inside a loop of [`parallel`], on one leaf of rows. `then` is called once for up to 96 scalar
    /// rows, or for each block row if the block size has no kernel. It is compiled apart from the kernel, so a
    /// long `then` calls [`simd::run`] itself. If x [interleaves eight columns](COLUMNS), so does a part, and `at` is
    /// eight times its first scalar row. *Panics* unless x has n or 8 n numbers for n columns of A, or if a row does not
    /// exist.
    ///
    /// ```
    /// use coarsen_sparse::Bsr;
    /// let mut norm = 0.0;
    /// Bsr::<f64>::identity(2, 1)?.row_products(0..2, &[3.0, 4.0], &mut |_, ax| norm += ax.iter().map(|v| v * v).sum::<f64>());
    /// assert_eq!(norm, 25.0);
    /// # Ok::<(), coarsen_sparse::SparseError>(())
    /// ```
    pub fn row_products<V: Real>(&self, rows: Range<usize>, x: &[V], then: &mut dyn FnMut(usize, &[V])) {
        let n = self.shape().1;
        assert!(x.len() == n || x.len() == n * COLUMNS, "row_products: x does not fit A");
        PRODUCTS.of::<Products<T, V>>()(self, rows, x, then);
    }

    /// (A x) for the block rows `rows`, into `y`, which holds only those rows.
    pub(crate) fn multiply_rows<V: Real>(&self, rows: Range<usize>, x: &[V], y: &mut [V]) {
        self.row_products(rows, x, &mut |at, ax| y[at..at + ax.len()].copy_from_slice(ax));
    }

    /// y = a A x + b y in one pass. With b = 0 the old y is not read.
    ///
    /// *Panics* on a wrong length.
    pub fn apply_add<V: Real>(&self, a: V, x: &[V], b: V, y: &mut [V]) {
        self.assert_fits(x, y);
        APPLY_ADD.of::<ApplyAdd<T, V>>()(self, a, x, b, y);
    }

    /// Calls `leaf` for pieces of [`ROWS`] scalar rows.
    fn each_leaf<P: parallel::Pieces>(&self, rows: P, leaf: &(impl Fn(P) + Sync)) {
        each(rows, self.leaf_rows(), parallel::worth_product(self.nnz()), leaf);
    }

    /// The number of block rows per leaf.
    pub(super) fn leaf_rows(&self) -> usize {
        (ROWS / self.block.0).max(1)
    }

    pub(super) fn assert_fits<V>(&self, x: &[V], y: &[V]) {
        let (m, n) = self.shape();
        assert!(
            x.len() == n && y.len() == m,
            "apply: a {m} x {n} matrix, but x has {} entries and y has {}",
            x.len(),
            y.len()
        );
    }
}

compiled!(PRODUCTS: Products<T, V> = fn(&Bsr<T>, Range<usize>, &[V], Then<'_, V>), products_of);

fn products_of<T: Real, V: Real>(a: &Bsr<T>, rows: Range<usize>, x: &[V], then: Then<'_, V>) {
    match x.len() == a.shape().1 {
        true => simd::run(RowProducts { a, rows, x, then }),
        false => simd::run(LaneProducts { a, rows, x, then }),
    }
}

/// y = a t + b y for the entries of one part; with b = 0 the old y is not read.
struct Combine<'a, V> {
    a: V,
    t: &'a [V],
    b: V,
    y: &'a mut [V],
}

impl<V: Real> Kernel<V> for Combine<'_, V> {
    type Output = ();

    #[inline(always)]
    fn run<I: Set<V>>(self, _: I) {
        let (a, b) = (self.a, self.b);
        for (y, &t) in self.y.iter_mut().zip(self.t) {
            *y = if b == V::zero() { a * t } else { a * t + b * *y };
        }
    }
}

/// r = b − t for the entries of one part.
struct Subtract<'a, V> {
    b: &'a [V],
    t: &'a [V],
    r: &'a mut [V],
}

impl<V: Real> Kernel<V> for Subtract<'_, V> {
    type Output = ();

    #[inline(always)]
    fn run<I: Set<V>>(self, _: I) {
        for ((r, &b), &t) in self.r.iter_mut().zip(self.b).zip(self.t) {
            *r = b - t;
        }
    }
}

compiled!(APPLY_ADD: ApplyAdd<T, V> = fn(&Bsr<T>, V, &[V], V, &mut [V]), apply_add);

fn apply_add<T: Real, V: Real>(matrix: &Bsr<T>, a: V, x: &[V], b: V, y: &mut [V]) {
    let rows = (0..matrix.pattern.rows(), Groups(y, matrix.block.0));
    let body = |(rows, y): (Range<usize>, Groups<&mut [V]>)| {
        matrix.row_products(rows, x, &mut |at, t| {
            simd::run(Combine { a, t, b, y: &mut y.0[at..at + t.len()] });
        });
    };
    matrix.each_leaf(rows, &body);
}

compiled!(APPLY: Apply<T, V> = fn(&Bsr<T>, &[V], &mut [V]), apply);

fn apply<T: Real, V: Real>(a: &Bsr<T>, x: &[V], y: &mut [V]) {
    let rows = (0..a.pattern.rows(), Groups(y, a.block.0));
    a.each_leaf(rows, &|(rows, y): (Range<usize>, Groups<&mut [V]>)| a.multiply_rows(rows, x, y.0));
}

compiled!(APPLY_DOT: ApplyDot<T, V> = fn(&Bsr<T>, &[V], &mut [V]) -> [f64; 2], apply_dot);

fn apply_dot<T: Real, V: Real>(a: &Bsr<T>, x: &[V], y: &mut [V]) -> [f64; 2] {
    let r = a.block.0;
    let rows = (0..a.pattern.rows(), Groups(y, r));
    let body = |(rows, y): (Range<usize>, Groups<&mut [V]>)| {
        let x_rows = &x[rows.start * r..rows.end * r];
        a.multiply_rows(rows, x, y.0);
        products(x_rows, y.0)
    };
    let add = |a: [f64; 2], b: [f64; 2]| [a[0] + b[0], a[1] + b[1]];
    tree(rows, a.leaf_rows(), parallel::worth_product(a.nnz()), &body, &add)
}

compiled!(RESIDUAL: Residual<T, V> = fn(&Bsr<T>, &[V], &[V], &mut [V]), residual);

fn residual<T: Real, V: Real>(a: &Bsr<T>, b: &[V], x: &[V], r: &mut [V]) {
    let k = a.block.0;
    let rows = (0..a.pattern.rows(), Groups(b, k), Groups(r, k));
    let body = |(rows, b, r): (Range<usize>, Groups<&[V]>, Groups<&mut [V]>)| {
        a.row_products(rows, x, &mut |at, t| {
            let own = at..at + t.len();
            simd::run(Subtract { b: &b.0[own.clone()], t, r: &mut r.0[own] });
        });
    };
    a.each_leaf(rows, &body);
}

impl<T: Real, V: Real> LinearOperator<Vec<V>> for Bsr<T> {
    fn shape(&self) -> (usize, usize) {
        self.shape()
    }

    fn apply(&self, x: &Vec<V>, y: &mut Vec<V>) {
        self.assert_fits(x, y);
        APPLY.of::<Apply<T, V>>()(self, x, y);
    }

    fn apply_many(&self, x: &[Vec<V>], y: &mut [Vec<V>]) {
        self.multiply_many(x, y);
    }

    fn apply_dot(&self, x: &Vec<V>, y: &mut Vec<V>) -> Dot<V> {
        self.assert_fits(x, y);
        assert_eq!(x.len(), y.len(), "apply_dot needs a square matrix");
        let [value, magnitude] = APPLY_DOT.of::<ApplyDot<T, V>>()(self, x, y);
        Dot { value: V::from_f64(value), magnitude: V::from_f64(magnitude) }
    }

    fn residual(&self, b: &Vec<V>, x: &Vec<V>, r: &mut Vec<V>) {
        self.assert_fits(x, r);
        assert_eq!(b.len(), r.len(), "residual: b and r differ in length");
        RESIDUAL.of::<Residual<T, V>>()(self, b, x, r);
    }
}
