//! min ‖β e₁ − H y‖ for a Hessenberg matrix H that grows column by column.

/// The QR factors of H by Givens rotations (Saad 2003, §6.5.3), in f64 for vectors of either type.
#[derive(Default)]
pub(super) struct LeastSquares {
    /// The columns of R. Column j starts at j (j + 1) / 2 and has j + 1 entries.
    r: Vec<f64>,
    /// (c, s) of each rotation.
    rotations: Vec<(f64, f64)>,
    /// The rotated right-hand side, with one entry more than R has columns.
    g: Vec<f64>,
    /// The largest absolute value of the entries of R.
    largest: f64,
    /// The current column, then the solution.
    pub(super) work: Vec<f64>,
}

impl LeastSquares {
    /// Resets the problem to no columns and the right-hand side β e₁. The first call allocates memory for
    /// `columns`.
    pub(super) fn start(&mut self, beta: f64, columns: usize) {
        self.r.clear();
        self.rotations.clear();
        self.g.clear();
        self.work.clear();
        self.largest = 0.0;
        self.r.reserve(columns * (columns + 1) / 2);
        self.rotations.reserve(columns);
        self.g.reserve(columns + 1);
        self.work.reserve(columns + 1);
        self.g.push(beta);
    }

    /// Adds the column whose upper part is in `work` and whose subdiagonal entry is `last`. Returns the norm
    /// of the residual, which a column that depends on the previous columns up to `round_off` does not
    /// reduce.
    pub(super) fn push(&mut self, last: f64, round_off: f64) -> f64 {
        let j = self.rotations.len();
        self.work.push(last);
        let h = &mut self.work[..];
        for (i, &(c, s)) in self.rotations.iter().enumerate() {
            (h[i], h[i + 1]) = (c * h[i] + s * h[i + 1], c * h[i + 1] - s * h[i]);
        }
        let length = h[j].hypot(h[j + 1]);
        self.largest = h[..j].iter().fold(self.largest.max(length), |m, v| m.max(v.abs()));
        let pivot = if length > round_off * self.largest { length } else { 0.0 };
        // Without a pivot, the remaining right-hand side moves to the next row.
        let (c, s) = if pivot > 0.0 { (h[j] / pivot, h[j + 1] / pivot) } else { (0.0, 1.0) };
        h[j] = pivot;
        self.r.extend_from_slice(&h[..=j]);
        self.rotations.push((c, s));
        let g = self.g[j];
        self.g[j] = c * g;
        self.g.push(-s * g);
        (s * g).abs()
    }

    /// y by back substitution. Unknowns whose pivot is only round-off (A is singular) are 0.
    pub(super) fn solve(&mut self, round_off: f64) -> &[f64] {
        let n = self.rotations.len();
        let least = round_off * self.largest;
        let at = |i: usize, j: usize| self.r[j * (j + 1) / 2 + i];
        let y = &mut self.work;
        y.clear();
        y.extend_from_slice(&self.g[..n]);
        for j in (0..n).rev() {
            y[j] = if at(j, j) > least { y[j] / at(j, j) } else { 0.0 };
            for i in 0..j {
                y[i] -= at(i, j) * y[j];
            }
        }
        y
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_columns_by_hand() {
        // H = [3 1; 4 2; 0 2], right-hand side (5, 0, 0)
        let mut problem = LeastSquares::default();
        problem.start(5.0, 2);
        problem.work.push(3.0);
        assert!((problem.push(4.0, 1e-16) - 4.0).abs() < 1e-15);
        problem.work.clear();
        problem.work.extend([1.0, 2.0]);
        let residual = problem.push(2.0, 1e-16);
        let y = problem.solve(0.0).to_vec();
        let left = [5.0 - 3.0 * y[0] - y[1], -4.0 * y[0] - 2.0 * y[1], -2.0 * y[1]];
        for column in [[3.0, 4.0, 0.0], [1.0, 2.0, 2.0]] {
            assert!(column.iter().zip(left).map(|(a, b)| a * b).sum::<f64>().abs() < 1e-14);
        }
        assert!((left.iter().map(|v| v * v).sum::<f64>().sqrt() - residual).abs() < 1e-14);
    }

    #[test]
    fn a_column_of_zeros_takes_no_share() {
        let mut problem = LeastSquares::default();
        problem.start(1.0, 1);
        problem.work.push(0.0);
        assert_eq!(problem.push(0.0, 1e-16), 1.0);
        assert_eq!(problem.solve(1e-16), [0.0]);
    }

    /// H = [3 3; 4 4; 0 0]. The second column equals the first up to round-off, so it does not reduce the
    /// residual further.
    #[test]
    fn a_breakdown_reports_the_residual_that_is_left() {
        for noise in [0.0, 1e-17, -1e-17] {
            let mut problem = LeastSquares::default();
            problem.start(5.0, 2);
            problem.work.push(3.0);
            problem.push(4.0, 1e-15);
            // The column (3, 4) again. The first rotation turns it into (5, noise).
            problem.work.clear();
            problem.work.extend([3.0 - 0.8 * noise, 4.0 + 0.6 * noise]);
            assert!((problem.push(0.0, 1e-15) - 4.0).abs() < 1e-15, "{noise}");
            let y = problem.solve(1e-15).to_vec();
            let left = [5.0 - 3.0 * (y[0] + y[1]), -4.0 * (y[0] + y[1])];
            assert!((left[0].hypot(left[1]) - 4.0).abs() < 1e-14, "{y:?}");
        }
    }
}
