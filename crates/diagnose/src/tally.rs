//! Counts over the rows.

use super::Sample;
use super::row::Row;

/// Counts over the rows; the first rows, where a finding names them.
#[derive(Clone)]
pub(super) struct Tally {
    pub(super) positive_diagonal: Sample,
    pub(super) negative_diagonal: Sample,
    pub(super) not_finite: Sample,
    pub(super) empty: Sample,
    /// Nonempty rows with a zero diagonal entry.
    pub(super) zero_diagonal: Sample,
    /// Rows of the identity.
    pub(super) fixed: Sample,
    /// Rows whose only nonzero is a diagonal entry other than 1.
    pub(super) diagonal_only: Sample,
    /// Rows that are not diagonally dominant.
    pub(super) weak: Sample,
    /// Rows with an off-diagonal entry of the sign of the diagonal.
    pub(super) same_sign: Sample,
    /// The number of strictly dominant rows.
    pub(super) strict: usize,
    /// The number of rows with other nonzeros whose sum vanishes.
    pub(super) vanishing: usize,
    /// The number of off-diagonal nonzeros, and of those with the sign of the diagonal.
    pub(super) off: usize,
    pub(super) same_sign_entries: usize,
    /// The smallest and largest absolute diagonal entry of rows with other nonzeros, and the first rows that have them.
    pub(super) range: [(f64, usize); 2],
    /// The largest absolute diagonal entry above [`PRESCRIBED`] times the other entries of its row.
    huge: f64,
}

impl Default for Tally {
    fn default() -> Self {
        let [positive_diagonal, negative_diagonal, not_finite, empty, zero_diagonal]: [Sample; 5] =
            Default::default();
        let [fixed, diagonal_only, weak, same_sign]: [Sample; 4] = Default::default();
        Self {
            positive_diagonal,
            negative_diagonal,
            not_finite,
            empty,
            zero_diagonal,
            fixed,
            diagonal_only,
            weak,
            same_sign,
            strict: 0,
            vanishing: 0,
            off: 0,
            same_sign_entries: 0,
            range: [(f64::INFINITY, 0), (0.0, 0)],
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
    /// Counts row i, after those before it.
    #[inline]
    pub(super) fn add(&mut self, i: usize, row: &Row, tolerance: f64) {
        let (d, others) = (row.diagonal, row.entries > 0);
        let slack = row.slack(tolerance);
        for (is, rows) in [
            (d > 0.0, &mut self.positive_diagonal),
            (slack < 0.0, &mut self.weak),
            (row.same_sign > 0, &mut self.same_sign),
            (d < 0.0, &mut self.negative_diagonal),
            (!row.finite, &mut self.not_finite),
            (row.finite && d == 0.0 && !others, &mut self.empty),
            (d == 0.0 && others, &mut self.zero_diagonal),
            (d == 1.0 && !others, &mut self.fixed),
            (row.is_alone() && d != 1.0, &mut self.diagonal_only),
        ] {
            if is {
                rows.add(i);
            }
        }
        self.strict += usize::from(slack > 0.0);
        self.vanishing += usize::from(row.sums_vanish && others);
        self.off += row.entries as usize;
        self.same_sign_entries += row.same_sign as usize;
        if others && d != 0.0 {
            let [least, most] = self.range;
            self.range = [smaller(least, (d.abs(), i)), larger(most, (d.abs(), i))];
        }
        if d.abs() > PRESCRIBED * row.off {
            self.huge = self.huge.max(d.abs());
        }
    }

    pub(super) fn join(self, later: Self) -> Self {
        Self {
            positive_diagonal: self.positive_diagonal.join(later.positive_diagonal),
            negative_diagonal: self.negative_diagonal.join(later.negative_diagonal),
            not_finite: self.not_finite.join(later.not_finite),
            empty: self.empty.join(later.empty),
            zero_diagonal: self.zero_diagonal.join(later.zero_diagonal),
            fixed: self.fixed.join(later.fixed),
            diagonal_only: self.diagonal_only.join(later.diagonal_only),
            weak: self.weak.join(later.weak),
            same_sign: self.same_sign.join(later.same_sign),
            strict: self.strict + later.strict,
            vanishing: self.vanishing + later.vanishing,
            off: self.off + later.off,
            same_sign_entries: self.same_sign_entries + later.same_sign_entries,
            range: [smaller(self.range[0], later.range[0]), larger(self.range[1], later.range[1])],
            huge: self.huge.max(later.huge),
        }
    }

    /// The rows whose diagonal entry is above both limits, in ascending order; `rows` computes the properties of all rows.
    pub(super) fn prescribed(&self, rows: impl FnOnce() -> Vec<Row>) -> Vec<usize> {
        let exceeds = |row: &Row| row.diagonal.abs() > PRESCRIBED * row.off;
        if self.huge <= ABOVE_MEDIAN * self.range[0].0 {
            return Vec::new();
        }
        let rows = rows();
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
        self.empty.count + self.zero_diagonal.count > 0
    }
}

/// The smaller of two numbers, the first if they are equal.
fn smaller(first: (f64, usize), second: (f64, usize)) -> (f64, usize) {
    if second.0 < first.0 { second } else { first }
}

/// The larger of two numbers, the first if they are equal.
fn larger(first: (f64, usize), second: (f64, usize)) -> (f64, usize) {
    if second.0 > first.0 { second } else { first }
}
