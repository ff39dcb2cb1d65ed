//! The elimination of the first columns of a full symmetric matrix, a *front*, by pivots of order 1 and 2.
//!
//! All entries of the first p columns are known; entries of the other columns follow from other fronts. So only
//! these p columns have pivots, and a pivot is compared with all entries of its column:
//!
//! | pivot | accepted if |
//! |---|---|
//! | d of order 1 | \|d\| ≥ u λ, with λ the largest other entry of the column |
//! | D of order 2 | \|D⁻¹\| (λ₁, λ₂)ᵀ ≤ 1/u, with λ₁ and λ₂ the largest other entries of the two columns |
//! | 0 | all entries of the column are 0: the unknown is set to 0 |
//!
//! So no entry of L exceeds 1/u. Columns without such a pivot are left to a later front. Columns are eliminated in
//! panels; the other columns are updated by products of dense matrices after each panel.
//!
//! *Reference* Duff and Reid 1983, "The multifrontal solution of indefinite sparse symmetric linear equations";
//! Duff 2004, "MA57: a code for the solution of sparse symmetric definite and indefinite systems".

use coarsen_core::simd::{self, Kernel, Set};
#[cfg(feature = "faer")]
use faer::{Accum, MatMut, MatRef, Par};

use crate::factorization::{Pivots, Signs};

/// The number of columns that are updated pivot by pivot.
const PANEL: usize = 32;

/// The number of columns of a product.
const CHUNK: usize = 64;

/// The lower triangle of an m x m matrix by columns; L and D overwrite its first columns.
pub(crate) struct Front<'a> {
    pub(crate) m: usize,
    /// The number of columns that may have pivots.
    pub(crate) p: usize,
    /// The matrix, whose diagonal becomes D; an infinite entry stands for a pivot that is 0.
    pub(crate) f: &'a mut [f64],
    /// L D, by columns.
    pub(crate) w: &'a mut [f64],
    /// The entries of D below its diagonal: d_{k+1,k} at k for a pivot of order 2, otherwise 0.
    pub(crate) below: &'a mut [f64],
    /// The row of A of each row of the front.
    pub(crate) rows: &'a mut [u32],
    /// The threshold u of a pivot, at most 1/2, with which a full matrix always has one.
    pub(crate) threshold: f64,
    /// Whether products of dense matrices are those of faer, which need its buffer.
    pub(crate) by_faer: bool,
}

/// L and D of fronts that were eliminated, children before parents. Rows are rows of A.
#[derive(Default)]
pub(crate) struct Fronts {
    /// The number of rows and of pivots of each front.
    pub(crate) sizes: Vec<(usize, usize)>,
    /// The rows of all fronts.
    pub(crate) rows: Vec<u32>,
    /// The columns of L of all fronts, with D in place of the unit diagonal; infinite for a pivot that is 0.
    pub(crate) l: Vec<f64>,
    /// The entries of D below its diagonal: d_{k+1,k} at k for a block of order 2, otherwise 0.
    pub(crate) below: Vec<f64>,
}

impl Fronts {
    /// Signs and sizes of the eigenvalues of the blocks of D; `sizes` are max |aᵢⱼ| of each row.
    pub(crate) fn pivots(&self, sizes: &[f64]) -> Pivots {
        let mut signs = Signs::default();
        let (mut rows, mut l, mut below) = (&self.rows[..], &self.l[..], &self.below[..]);
        for &(m, k) in &self.sizes {
            let d = |j: usize| l[j * m + j];
            let mut j = 0;
            while j < k {
                let row = rows[j] as usize;
                if below[j] != 0.0 {
                    signs.two([row, rows[j + 1] as usize], [d(j), below[j], d(j + 1)], sizes);
                    j += 2;
                } else {
                    if d(j) == f64::INFINITY {
                        signs.zero(row)
                    } else {
                        signs.one(row, d(j), sizes)
                    }
                    j += 1;
                }
            }
            (rows, l, below) = (&rows[m..], &l[m * k..], &below[k..]);
        }
        signs.pivots()
    }

    /// x = L⁻ᵀ D⁻¹ L⁻¹ x; `y` is scratch for the rows of the largest front.
    pub(crate) fn solve(&self, x: &mut [f64], y: &mut [f64]) {
        let (mut rows, mut l) = (&self.rows[..], &self.l[..]);
        for &(m, k) in &self.sizes {
            y.iter_mut().zip(&rows[..m]).for_each(|(y, &i)| *y = x[i as usize]);
            for (j, column) in l[..m * k].chunks_exact(m.max(1)).enumerate() {
                let y_j = y[j];
                y[j + 1..m].iter_mut().zip(&column[j + 1..]).for_each(|(y, l)| *y -= l * y_j);
            }
            rows[..m].iter().zip(&*y).for_each(|(&i, y)| x[i as usize] = *y);
            (rows, l) = (&rows[m..], &l[m * k..]);
        }
        let (mut rows, mut l, mut below) = (&self.rows[..], &self.l[..], &self.below[..]);
        for &(m, k) in self.sizes.iter().rev() {
            let (here, columns, off);
            (rows, here) = rows.split_at(rows.len() - m);
            (l, columns) = l.split_at(l.len() - m * k);
            (below, off) = below.split_at(below.len() - k);
            y.iter_mut().zip(here).for_each(|(y, &i)| *y = x[i as usize]);
            divide(&mut y[..k], off, |j| columns[j * m + j]);
            for (j, column) in columns.chunks_exact(m.max(1)).enumerate().rev() {
                let sum: f64 = column[j + 1..].iter().zip(&y[j + 1..m]).map(|(l, y)| l * y).sum();
                y[j] -= sum;
            }
            here[..k].iter().zip(&*y).for_each(|(&i, y)| x[i as usize] = *y);
        }
    }
}

/// [`Front::panel`], compiled for the widest instructions.
struct Panel<'a, 'b> {
    front: &'a mut Front<'b>,
    q: usize,
    end: usize,
}

impl Kernel<f64> for Panel<'_, '_> {
    type Output = usize;

    #[inline(always)]
    fn run<S: Set<f64>>(self, _: S) -> usize {
        self.front.panel(self.q, self.end)
    }
}

/// A pivot of a column.
enum Pivot {
    None,
    Zero,
    One,
    /// With this column as the second one.
    Two(usize),
}

impl Front<'_> {
    /// Eliminates as many of the first p columns as have a pivot, and returns their number k. They become the first
    /// columns, and the others the first rows of the remaining matrix, which starts at (k, k). If no other columns
    /// exist, all columns are eliminated.
    pub(crate) fn eliminate(&mut self) -> usize {
        let (mut q, mut whole) = (0, false);
        while q < self.p {
            let end = if whole { self.p } else { self.p.min(q + PANEL) };
            let start = q;
            if end < self.p {
                self.bring_partners(q, end);
            }
            q = simd::run(Panel { front: self, q, end });
            self.update(start, q, end, self.p);
            if q == start && end == self.p {
                if self.p < self.m {
                    break;
                }
                self.one(q, end); // only if entries are not finite
                q += 1;
            }
            whole = q == start;
            // Columns without a pivot come last.
            (q..end)
                .zip((0..self.p).rev())
                .take_while(|(i, j)| i < j)
                .for_each(|(i, j)| self.exchange(q, i, j));
        }
        self.update(0, q, self.p, self.m);
        q
    }

    /// Eliminates columns from q on that have a pivot among the columns before `end`; returns the next column.
    #[inline(always)]
    fn panel(&mut self, mut q: usize, end: usize) -> usize {
        let mut j = q;
        while j < end {
            match self.choose(q, j, end) {
                Pivot::None => {
                    j += 1;
                    continue;
                }
                Pivot::Zero => {
                    self.exchange(q, q, j);
                    self.zero(q);
                    q += 1;
                }
                Pivot::One => {
                    self.exchange(q, q, j);
                    self.one(q, end);
                    q += 1;
                }
                Pivot::Two(r) => {
                    self.exchange(q, q, j);
                    self.exchange(q, q + 1, if r == q { j } else { r });
                    self.two(q, end);
                    q += 2;
                }
            }
            j = q;
        }
        q
    }

    /// For each column of a panel that has no pivot of order 1, moves the column of its largest entry into the panel.
    fn bring_partners(&mut self, q: usize, end: usize) {
        let mut j = q;
        while j + 1 < end {
            if let Pivot::Two(r) = self.choose(q, j, self.p)
                && r > j
            {
                self.exchange(q, j + 1, r);
                j += 1;
            }
            j += 1;
        }
    }

    /// The entry (i, j) of the lower triangle.
    fn at(&self, i: usize, j: usize) -> f64 {
        self.f[i.min(j) * self.m + i.max(j)].abs()
    }

    /// The largest |entry| of column j from row q on, without the diagonal and row `skip`, and the row before `end` with
    /// the largest entry.
    #[inline(always)]
    fn largest(&self, q: usize, j: usize, skip: usize, end: usize) -> (f64, Option<usize>) {
        let (mut most, mut row) = (0.0_f64, None);
        for i in (q..end).filter(|&i| i != j && i != skip) {
            let v = self.at(i, j);
            if v > most || v.is_nan() {
                (most, row) = (v, Some(i));
            }
        }
        let rest = &self.f[j * self.m + end..(j + 1) * self.m];
        (rest.iter().fold(most, |most, v| most.max(v.abs())), row)
    }

    /// The pivot of column j, with a partner before `end`.
    #[inline(always)]
    fn choose(&self, q: usize, j: usize, end: usize) -> Pivot {
        let (all, partner) = self.largest(q, j, j, end);
        let own = self.at(j, j);
        if own == 0.0 && all == 0.0 {
            return Pivot::Zero;
        }
        if own >= self.threshold * all {
            return Pivot::One;
        }
        let Some(r) = partner else { return Pivot::None };
        let ((first, _), (second, _)) = (self.largest(q, j, r, end), self.largest(q, r, j, end));
        let (off, other) = (self.at(r, j), self.at(r, r));
        // D / off has the determinant −1 up to a product that is far below 1.
        let (p, s) = (own / off, other / off);
        let limit = (1.0 - p * s) * off / self.threshold;
        let accepted = s * first + second <= limit && first + p * second <= limit;
        if accepted { Pivot::Two(r) } else { Pivot::None }
    }

    /// Exchanges rows and columns i and j, of which the first q are eliminated.
    fn exchange(&mut self, q: usize, i: usize, j: usize) {
        let ((i, j), m) = ((i.min(j), i.max(j)), self.m);
        if i == j {
            return;
        }
        for c in 0..q {
            self.f.swap(c * m + i, c * m + j);
            self.w.swap(c * m + i, c * m + j);
        }
        for c in q..i {
            self.f.swap(c * m + i, c * m + j);
        }
        (i + 1..j).for_each(|k| self.f.swap(i * m + k, k * m + j));
        let (first, second) = self.f.split_at_mut(j * m);
        first[i * m + j + 1..(i + 1) * m].swap_with_slice(&mut second[j + 1..m]);
        self.f.swap(i * m + i, j * m + j);
        self.rows.swap(i, j);
    }

    /// Sets the unknown of column q to 0.
    fn zero(&mut self, q: usize) {
        let column = q * self.m + q..(q + 1) * self.m;
        self.f[column.clone()].fill(0.0);
        self.w[column].fill(0.0);
        (self.f[q * self.m + q], self.below[q]) = (f64::INFINITY, 0.0);
    }

    /// A pivot of order 1 in column q; updates the columns before `end`.
    #[inline(always)]
    fn one(&mut self, q: usize, end: usize) {
        let m = self.m;
        let (head, tail) = self.f.split_at_mut((q + 1) * m);
        let (l, w) = (&mut head[q * m..], &mut self.w[q * m..(q + 1) * m]);
        w[q + 1..].copy_from_slice(&l[q + 1..]);
        let scale = 1.0 / l[q];
        l[q + 1..].iter_mut().for_each(|l| *l *= scale);
        for c in q + 1..end {
            let (factor, column) = (w[c], &mut tail[(c - q - 1) * m..(c - q) * m]);
            if factor != 0.0 {
                column[c..].iter_mut().zip(&l[c..]).for_each(|(f, l)| *f -= l * factor);
            }
        }
        self.below[q] = 0.0;
    }

    /// A pivot of order 2 in columns q and q + 1; updates the columns before `end`.
    #[inline(always)]
    fn two(&mut self, q: usize, end: usize) {
        let m = self.m;
        let (head, tail) = self.f.split_at_mut((q + 2) * m);
        let (first, second) = head[q * m..].split_at_mut(m);
        let off = first[q + 1];
        // D⁻¹, scaled by its entry off the diagonal.
        let (p, s) = (first[q] / off, second[q + 1] / off);
        let scale = 1.0 / ((p * s - 1.0) * off);
        let (w, v) = self.w[q * m..(q + 2) * m].split_at_mut(m);
        w[q + 2..].copy_from_slice(&first[q + 2..]);
        v[q + 2..].copy_from_slice(&second[q + 2..]);
        for (x, y) in first[q + 2..].iter_mut().zip(&mut second[q + 2..]) {
            (*x, *y) = ((s * *x - *y) * scale, (p * *y - *x) * scale);
        }
        for c in q + 2..end {
            let column = &mut tail[(c - q - 2) * m..(c - q - 1) * m];
            let (one, two) = (w[c], v[c]);
            if one != 0.0 || two != 0.0 {
                let entries = column[c..].iter_mut().zip(&first[c..]).zip(&second[c..]);
                entries.for_each(|((f, x), y)| *f -= x * one + y * two);
            }
        }
        (self.below[q], first[q + 1], self.below[q + 1]) = (off, 0.0, 0.0);
    }

    /// Subtracts L D Lᵀ of the pivots from `start` to q from columns `from` to `to`.
    fn update(&mut self, start: usize, q: usize, from: usize, to: usize) {
        let m = self.m;
        for c in (from..to).step_by(CHUNK) {
            let (width, height, k) = (CHUNK.min(to - c), m - c, q - start);
            if k == 0 {
                return;
            }
            let (l, rest) = self.f.split_at_mut(c * m);
            if k * height <= 64 || !self.by_faer {
                for j in 0..width {
                    let column = &mut rest[j * m + c + j..(j + 1) * m];
                    for p in start..q {
                        let factor = self.w[p * m + c + j];
                        let l = &l[p * m + c + j..(p + 1) * m];
                        column.iter_mut().zip(l).for_each(|(f, l)| *f -= l * factor);
                    }
                }
                continue;
            }
            #[cfg(feature = "faer")]
            {
                let l = MatRef::from_column_major_slice_with_stride(
                    &l[start * m + c..(q - 1) * m + m],
                    height,
                    k,
                    m,
                );
                let w = &self.w[start * m + c..(q - 1) * m + c + width];
                let w = MatRef::from_column_major_slice_with_stride(w, width, k, m);
                let to = &mut rest[c..(width - 1) * m + m];
                let to = MatMut::from_column_major_slice_with_stride_mut(to, height, width, m);
                faer::linalg::matmul::matmul(to, Accum::Add, l, w.transpose(), -1.0, Par::Seq);
            }
        }
    }
}

/// y = D⁻¹ y.
fn divide(y: &mut [f64], below: &[f64], d: impl Fn(usize) -> f64) {
    let mut j = 0;
    while j < y.len() {
        let q = below[j];
        if q == 0.0 {
            y[j] /= d(j);
            j += 1;
        } else {
            let (p, s) = (d(j) / q, d(j + 1) / q);
            let scale = 1.0 / ((p * s - 1.0) * q);
            (y[j], y[j + 1]) = ((s * y[j] - y[j + 1]) * scale, (p * y[j + 1] - y[j]) * scale);
            j += 2;
        }
    }
}
