//! The eigenvalues of a Lanczos matrix by Sturm sequences.
//!
//! The number of eigenvalues below s is the number of negative pivots of T − s I = L D Lᵀ (Golub & Van Loan
//! 2013, §8.4). Bisection that uses this count needs no memory. Each pivot waits for a division, so the middle and both
//! quarters of the interval of each end are counted at once: a pass bisects both intervals twice.

use coarsen_core::RitzValues;

/// The number of rows that are stored. Later rows change the extreme eigenvalues little.
pub(crate) const KEPT: usize = 1024;

/// The largest number of passes, each of two bisections.
const PASSES: usize = 32;

/// The points of an interval that a pass counts.
const POINTS: usize = 3;

/// The relative width at which bisection ends. Six digits are more than the accuracy of the estimate.
const WIDTH: f64 = 1e-6;

/// A symmetric tridiagonal matrix that grows row by row, up to `KEPT` rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tridiagonal {
    /// T_jj and T_{j,j−1}² (0 for j = 0) for each row j.
    rows: Vec<(f64, f64)>,
    /// ρ = rᵀz and pᵀAp of the last step of conjugate gradients.
    last: (f64, f64),
}

impl Tridiagonal {
    /// Removes all rows and keeps the memory, which the first call allocates.
    pub(crate) fn clear(&mut self) {
        self.rows.clear();
        self.rows.reserve_exact(KEPT);
    }

    /// Adds the row with diagonal entry `alpha`, coupled to the previous row by `beta`.
    pub(crate) fn push(&mut self, alpha: f64, beta: f64) {
        if self.rows.len() < KEPT {
            let square = if self.rows.is_empty() { 0.0 } else { beta * beta };
            self.rows.push((alpha, square));
        }
    }

    /// Adds the row of one step of conjugate gradients with ρ = rᵀz and pᵀAp (Saad 2003, §6.7.3).
    ///
    /// A step with a value that is not positive is omitted, because the process ends there.
    pub(crate) fn push_step(&mut self, rho: f64, curvature: f64) {
        let (rho0, curvature0) = std::mem::replace(&mut self.last, (rho, curvature));
        if !(rho > 0.0 && curvature > 0.0) {
            return;
        }
        if self.rows.is_empty() {
            return self.push(curvature / rho, 0.0);
        }
        let (inverse_alpha, beta) = (curvature0 / rho0, rho / rho0);
        self.push(curvature / rho + beta * inverse_alpha, beta.sqrt() * inverse_alpha);
    }

    /// p(t), where p(A) maps the first Lanczos vector of length 1 to the one after the last row, whose coupling to the
    /// last row is `next`. Positive for all t above the largest eigenvalue, and infinite if it is too large for f64.
    pub(crate) fn polynomial(&self, t: f64, next: f64) -> f64 {
        let (mut before, mut now) = (0.0, 1.0);
        for (j, &(diagonal, square)) in self.rows.iter().enumerate() {
            let couple = self.rows.get(j + 1).map_or(next, |row| row.1.sqrt());
            (before, now) = (now, ((t - diagonal) * now - square.sqrt() * before) / couple);
            if !now.is_finite() {
                return f64::INFINITY;
            }
        }
        now
    }

    /// The number of eigenvalues below each s.
    fn below<const N: usize>(&self, s: [f64; N]) -> [usize; N] {
        let (mut counts, mut pivots) = ([0; N], [1.0_f64; N]);
        for &(diagonal, square) in &self.rows {
            let zero = -f64::EPSILON * square.sqrt().max(f64::MIN_POSITIVE / f64::EPSILON);
            for ((count, pivot), s) in counts.iter_mut().zip(&mut pivots).zip(s) {
                *pivot = diagonal - s - square / *pivot;
                *pivot = if *pivot == 0.0 { zero } else { *pivot };
                *count += usize::from(*pivot < 0.0);
            }
        }
        counts
    }
}

/// An interval with the eigenvalue at an end of the spectrum.
#[derive(Clone, Copy)]
struct Interval {
    low: f64,
    high: f64,
}

impl Interval {
    fn middle(self) -> f64 {
        self.low + 0.5 * (self.high - self.low)
    }

    fn is_narrow(self) -> bool {
        self.high - self.low <= WIDTH * self.middle().abs()
    }

    fn halves(self) -> [Self; 2] {
        let middle = self.middle();
        [Self { low: self.low, high: middle }, Self { low: middle, high: self.high }]
    }

    /// The first quarter, the middle and the last quarter.
    fn points(self) -> [f64; POINTS] {
        let [lower, upper] = self.halves();
        [lower.middle(), self.middle(), upper.middle()]
    }

    /// The interval after two bisections, or one or none if it is narrow then: it has the k-th smallest eigenvalue, for the
    /// numbers of eigenvalues below the points.
    fn bisected(self, k: usize, counts: &[usize]) -> Self {
        if self.is_narrow() {
            return self;
        }
        let upper = usize::from(counts[1] <= k);
        let half = self.halves()[upper];
        if half.is_narrow() {
            return half;
        }
        half.halves()[usize::from(counts[2 * upper] <= k)]
    }
}

impl RitzValues for Tridiagonal {
    /// The smallest and the largest eigenvalue; `None` without rows, or if a row is not finite.
    ///
    /// Accurate to six digits. *Cost* 20 to 64 bisections in half as many passes of six independent divisions per row.
    fn extremes(&self) -> Option<[f64; 2]> {
        let n = self.rows.len();
        let couple = |j: usize| self.rows.get(j).map_or(0.0, |row| row.1.sqrt());
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for (j, row) in self.rows.iter().enumerate() {
            let radius = couple(j) + couple(j + 1); // by Gershgorin's theorem
            low = low.min(row.0 - radius);
            high = high.max(row.0 + radius);
        }
        let finite = self.rows.iter().all(|row| row.0.is_finite() && row.1.is_finite());
        if n == 0 || !finite {
            return None;
        }
        let mut ends = [Interval { low, high }; 2];
        for _ in 0..PASSES {
            if ends.iter().all(|end| end.is_narrow()) {
                break;
            }
            let points = ends.map(Interval::points);
            let counts: [usize; 2 * POINTS] =
                self.below(std::array::from_fn(|i| points[i / POINTS][i % POINTS]));
            let (first, last) = counts.split_at(POINTS);
            ends = [ends[0].bisected(0, first), ends[1].bisected(n - 1, last)];
        }
        Some(ends.map(Interval::middle))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn second_differences() {
        let mut t = Tridiagonal::default();
        let n = 50;
        for _ in 0..n {
            t.push(2.0, -1.0);
        }
        let exact = |k: f64| 2.0 - 2.0 * (std::f64::consts::PI * k / 51.0).cos();
        let [low, high] = t.extremes().unwrap();
        assert!((low / exact(1.0) - 1.0).abs() < 1e-6 && (high / exact(50.0) - 1.0).abs() < 1e-6);
        assert_eq!(t.below([2.0, -1.0, 5.0]), [n / 2, 0, n]);
    }

    /// The eigenvalues of [[a, b], [b, c]]: of either sign, clustered, and of very different sizes.
    #[test]
    fn two_rows() {
        for (a, b, c) in
            [(2.0, 1.0, 2.0), (-2.0, 1.0, -3.0), (1.0, 1e-9, 1.0), (1e-12, 0.0, 1.0), (0.0, 0.0, 0.0)]
        {
            let mut t = Tridiagonal::default();
            t.push(a, 0.0);
            t.push(c, b);
            let (mean, radius) = (0.5 * (a + c), (0.25 * (a - c) * (a - c) + b * b).sqrt());
            let far = if mean < 0.0 { mean - radius } else { mean + radius };
            let near = if far == 0.0 { 0.0 } else { (a * c - b * b) / far };
            for (found, exact) in t.extremes().unwrap().into_iter().zip([near.min(far), near.max(far)]) {
                assert!((found - exact).abs() <= 1e-6 * exact.abs(), "{found} {exact}: {a} {b} {c}");
            }
        }
    }

    #[test]
    fn nothing_and_infinity_give_nothing() {
        let mut t = Tridiagonal::default();
        assert_eq!(t.extremes(), None);
        t.push(3.0, 9.0);
        assert_eq!(t.extremes().map(|e| e.map(|v| v.round())), Some([3.0, 3.0]));
        t.push(f64::INFINITY, 1.0);
        assert_eq!(t.extremes(), None);
    }

    #[test]
    fn steps_that_are_not_positive_are_left_out() {
        for step in [(1.0, -1.0), (-1.0, 1.0), (0.0, 1.0), (1.0, 0.0)] {
            let mut t = Tridiagonal::default();
            t.push_step(1.0, 2.0);
            t.push_step(step.0, step.1);
            assert_eq!(t.rows, [(2.0, 0.0)], "{step:?}");
        }
    }
}
