//! The eigenvalues of a Lanczos matrix by Sturm sequences.
//!
//! The number of eigenvalues below s is the number of negative pivots of T − s I = L D Lᵀ (Golub & Van Loan
//! 2013, §8.4). Bisection that uses this count needs no memory.

use coarsen_core::RitzValues;

/// The number of rows that are stored. Later rows change the extreme eigenvalues little.
pub(crate) const KEPT: usize = 1024;

/// The largest number of bisections.
const BISECTIONS: usize = 64;

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

    /// The k-th smallest eigenvalue, known to lie in [low, high].
    fn eigenvalue(&self, k: usize, mut low: f64, mut high: f64) -> f64 {
        for _ in 0..BISECTIONS {
            let middle = low + 0.5 * (high - low);
            if high - low <= WIDTH * middle.abs() {
                break;
            }
            if self.below(middle) > k {
                high = middle;
            } else {
                low = middle;
            }
        }
        low + 0.5 * (high - low)
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

    /// The number of eigenvalues below s.
    fn below(&self, s: f64) -> usize {
        let (mut count, mut pivot) = (0, 1.0_f64);
        for &(diagonal, square) in &self.rows {
            pivot = diagonal - s - square / pivot;
            if pivot == 0.0 {
                pivot = -f64::EPSILON * square.sqrt().max(f64::MIN_POSITIVE / f64::EPSILON);
            }
            count += usize::from(pivot < 0.0);
        }
        count
    }
}

impl RitzValues for Tridiagonal {
    /// The smallest and the largest eigenvalue; `None` without rows, or if a row is not finite.
    ///
    /// Accurate to six digits. *Cost* 40 to 128 Sturm counts of one division per row.
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
        (n > 0 && finite).then(|| [self.eigenvalue(0, low, high), self.eigenvalue(n - 1, low, high)])
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
        assert_eq!(t.below(2.0), n / 2);
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
