//! Properties of a single row.

use coarsen_core::Real;
use coarsen_sparse::Bsr;

/// The properties of a scalar row.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Row {
    pub(super) diagonal: f64,
    /// Σ_j≠i |a_ij|
    pub(super) off: f64,
    /// The number of nonzero off-diagonal entries.
    pub(super) entries: u32,
    /// The number of off-diagonal entries with the sign of the diagonal.
    pub(super) same_sign: u32,
    /// Whether the row sums to zero up to round-off.
    pub(super) sums_vanish: bool,
    pub(super) finite: bool,
}

impl Row {
    /// Whether the diagonal entry is the only nonzero entry of the row.
    pub(super) fn is_alone(&self) -> bool {
        self.entries == 0 && self.diagonal != 0.0
    }

    /// |a_ii| − Σ|a_ij|; 0 if this difference is round-off.
    pub(super) fn slack(&self, tolerance: f64) -> f64 {
        let slack = self.diagonal.abs() - self.off;
        if self.off.is_finite() && slack.abs() <= tolerance * self.off { 0.0 } else { slack }
    }
}

/// Sums over the blocks of a row, with one array per sum, so that the loop over entries is vectorised. Counts
/// are floating-point numbers, which are exact.
pub(super) struct Sums {
    /// Σ a_ij
    sum: Vec<f64>,
    /// Σ |a_ij| off the diagonal
    off: Vec<f64>,
    positive: Vec<f64>,
    negative: Vec<f64>,
}

impl Sums {
    pub(super) fn new(size: usize) -> Self {
        let [sum, off, positive, negative] = std::array::from_fn(|_| vec![0.0; size]);
        Self { sum, off, positive, negative }
    }

    fn clear(&mut self) {
        for sums in [&mut self.sum, &mut self.off, &mut self.positive, &mut self.negative] {
            sums.fill(0.0);
        }
    }

    fn add(&mut self, e: usize, v: f64) {
        self.sum[e] += v;
        self.off[e] += v.abs();
        self.positive[e] += f64::from(u8::from(v > 0.0));
        self.negative[e] += f64::from(u8::from(v < 0.0));
    }

    fn add_block<T: Real>(&mut self, block: &[T]) {
        match block.len() {
            4 => self.add_all::<T, 4>(block),
            9 => self.add_all::<T, 9>(block),
            36 => self.add_all::<T, 36>(block),
            _ => block.iter().enumerate().for_each(|(e, v)| self.add(e, v.as_f64())),
        }
    }

    fn add_all<T: Real, const N: usize>(&mut self, block: &[T]) {
        let Self { sum, off, positive, negative } = self;
        let (block, sum, off) = (&block[..N], &mut sum[..N], &mut off[..N]);
        let (positive, negative) = (&mut positive[..N], &mut negative[..N]);
        for e in 0..N {
            let v = block[e].as_f64();
            sum[e] += v;
            off[e] += v.abs();
            positive[e] += f64::from(u8::from(v > 0.0));
            negative[e] += f64::from(u8::from(v < 0.0));
        }
    }
}

impl Row {
    /// The properties of a finite or infinite row, from its sums without the diagonal entry.
    fn of(diagonal: f64, (sum, off): (f64, f64), (positive, negative): (u32, u32), tolerance: f64) -> Self {
        let size = off + diagonal.abs();
        Self {
            diagonal,
            off,
            entries: positive + negative,
            same_sign: if diagonal < 0.0 { negative } else { positive },
            sums_vanish: size.is_finite() && (diagonal + sum).abs() <= tolerance * size,
            finite: size.is_finite(),
        }
    }
}

/// Computes the properties of row i of a matrix of scalars.
pub(super) fn scan_scalars<T: Real>(a: &Bsr<T>, i: usize, tolerance: f64, row: &mut Row) {
    let range = a.pattern().range(i);
    let (mut sum, mut off, mut positive, mut negative) = (0.0, 0.0, 0, 0);
    let mut diagonal = 0.0;
    for (&j, v) in a.pattern().indices()[range.clone()].iter().zip(&a.values()[range]) {
        let v = v.as_f64();
        if j as usize == i {
            diagonal = v;
        } else {
            (sum, off) = (sum + v, off + v.abs());
            positive += u32::from(v > 0.0);
            negative += u32::from(v < 0.0);
        }
    }
    *row = Row::of(diagonal, (sum, off), (positive, negative), tolerance);
    row.finite |= !row.finite && is_finite(a, i, 0);
}

/// Computes the properties of the rows of block row i.
pub(super) fn scan<T: Real>(a: &Bsr<T>, i: usize, tolerance: f64, sums: &mut Sums, rows: &mut [Row]) {
    let (r, c) = a.block();
    sums.clear();
    rows.fill(Row::default());
    for (j, block) in a.row(i) {
        if j * c < (i + 1) * r && i * r < (j + 1) * c {
            for (s, values) in block.chunks_exact(c).enumerate() {
                for (t, v) in values.iter().map(|v| v.as_f64()).enumerate() {
                    if i * r + s == j * c + t {
                        rows[s].diagonal = v;
                    } else {
                        sums.add(s * c + t, v);
                    }
                }
            }
        } else {
            sums.add_block(block);
        }
    }
    for (s, row) in rows.iter_mut().enumerate() {
        let of_row = s * c..(s + 1) * c;
        let total = |sums: &[f64]| sums[of_row.clone()].iter().sum::<f64>();
        let counts = (total(&sums.positive) as u32, total(&sums.negative) as u32);
        let diagonal = row.diagonal;
        *row = Row::of(diagonal, (total(&sums.sum), total(&sums.off)), counts, tolerance);
        // Infinity and NaN propagate to every sum of absolute values. But a sum of finite entries can also
        // overflow, so `is_finite` checks the entries.
        row.finite |= !row.finite && is_finite(a, i, s);
    }
}

/// Whether the entries of row s of block row i are finite.
fn is_finite<T: Real>(a: &Bsr<T>, i: usize, s: usize) -> bool {
    let c = a.block().1;
    a.row(i).all(|(_, block)| block[s * c..(s + 1) * c].iter().all(|v| v.is_finite()))
}
