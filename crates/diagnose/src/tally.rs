//! Counts over the rows.

use super::row::Row;

/// Counts over the rows.
#[derive(Clone, Copy)]
pub(super) struct Tally {
    pub(super) positive_diagonal: usize,
    pub(super) negative_diagonal: usize,
    pub(super) not_finite: usize,
    pub(super) empty: usize,
    /// The number of nonempty rows with a zero diagonal entry.
    pub(super) zero_diagonal: usize,
    pub(super) fixed: usize,
    pub(super) diagonal_only: usize,
    pub(super) weak: usize,
    /// The number of strictly dominant rows.
    pub(super) strict: usize,
    /// The number of rows with other nonzeros whose sum vanishes.
    pub(super) vanishing: usize,
    /// The number of off-diagonal nonzeros.
    pub(super) off: usize,
    /// The number of off-diagonal nonzeros with the sign of the diagonal.
    pub(super) same_sign: usize,
    /// The smallest and largest absolute diagonal entry of rows with other nonzeros.
    pub(super) range: (f64, f64),
    /// The largest absolute diagonal entry above [`PRESCRIBED`] times the other entries of its row.
    huge: f64,
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            positive_diagonal: 0,
            negative_diagonal: 0,
            not_finite: 0,
            empty: 0,
            zero_diagonal: 0,
            fixed: 0,
            diagonal_only: 0,
            weak: 0,
            strict: 0,
            vanishing: 0,
            off: 0,
            same_sign: 0,
            range: (f64::INFINITY, 0.0),
            huge: 0.0,
        }
    }
}

/// A diagonal entry above this multiple of the other entries of its row prescribes the value of the unknown: the other
/// entries are below the round-off of its equation.
const PRESCRIBED: f64 = 1e15;

/// Such an entry also exceeds the median by this factor. Stiff springs, as of contact, stay below one of the two limits.
const ABOVE_MEDIAN: f64 = 1e10;

impl Tally {
    /// Counts a row.
    pub(super) fn add(&mut self, row: &Row, tolerance: f64) {
        let (d, others) = (row.diagonal, row.entries > 0);
        self.positive_diagonal += usize::from(d > 0.0);
        self.negative_diagonal += usize::from(d < 0.0);
        self.empty += usize::from(d == 0.0 && !others);
        self.zero_diagonal += usize::from(d == 0.0 && others);
        self.fixed += usize::from(d == 1.0 && !others);
        self.diagonal_only += usize::from(row.is_alone() && d != 1.0);
        let slack = row.slack(tolerance);
        self.not_finite += usize::from(!row.finite);
        self.weak += usize::from(slack < 0.0);
        self.strict += usize::from(slack > 0.0);
        self.vanishing += usize::from(row.sums_vanish && others);
        self.off += row.entries as usize;
        self.same_sign += row.same_sign as usize;
        if others && d != 0.0 {
            self.range = (self.range.0.min(d.abs()), self.range.1.max(d.abs()));
        }
        if d.abs() > PRESCRIBED * row.off {
            self.huge = self.huge.max(d.abs());
        }
    }

    pub(super) fn join(self, other: Self) -> Self {
        Self {
            positive_diagonal: self.positive_diagonal + other.positive_diagonal,
            negative_diagonal: self.negative_diagonal + other.negative_diagonal,
            not_finite: self.not_finite + other.not_finite,
            empty: self.empty + other.empty,
            zero_diagonal: self.zero_diagonal + other.zero_diagonal,
            fixed: self.fixed + other.fixed,
            diagonal_only: self.diagonal_only + other.diagonal_only,
            weak: self.weak + other.weak,
            strict: self.strict + other.strict,
            vanishing: self.vanishing + other.vanishing,
            off: self.off + other.off,
            same_sign: self.same_sign + other.same_sign,
            range: (self.range.0.min(other.range.0), self.range.1.max(other.range.1)),
            huge: self.huge.max(other.huge),
        }
    }

    /// The rows whose diagonal entry is above both limits, in ascending order.
    pub(super) fn prescribed(&self, rows: &[Row]) -> Vec<usize> {
        let exceeds = |row: &Row| row.diagonal.abs() > PRESCRIBED * row.off;
        if self.huge <= ABOVE_MEDIAN * self.range.0 {
            return Vec::new();
        }
        let others = rows.iter().filter(|row| row.diagonal != 0.0 && !exceeds(row));
        let mut sizes: Vec<f64> = others.map(|row| row.diagonal.abs()).collect();
        if sizes.is_empty() {
            return Vec::new();
        }
        let middle = sizes.len() / 2;
        let size = *sizes.select_nth_unstable_by(middle, f64::total_cmp).1;
        let is = |row: &Row| exceeds(row) && row.diagonal.abs() > ABOVE_MEDIAN * size;
        (0..rows.len()).filter(|&i| is(&rows[i])).collect()
    }

    /// Whether any diagonal entry is zero, in an empty or a nonempty row.
    pub(super) fn any_zero(&self) -> bool {
        self.empty + self.zero_diagonal > 0
    }
}
