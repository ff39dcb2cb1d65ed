//! Small symmetric matrices on the host, stored by rows.

/// The factor R of PᵀGP = RᵀR up to the numerical rank, stored by rows, and the order P of the columns.
pub(super) struct Cholesky {
    n: usize,
    r: Vec<f64>,
    /// Column j of R corresponds to column `order[j]` of G.
    pub(super) order: Vec<usize>,
    /// The number of pivots above the floor.
    pub(super) rank: usize,
    /// The smallest accepted pivot as a fraction of its diagonal entry.
    pub(super) least: f64,
    /// Whether a pivot was below −floor, so that G is not positive semidefinite.
    pub(super) negative: bool,
}

impl Cholesky {
    /// Factors G with complete pivoting. The next pivot is the largest relative to its original diagonal
    /// entry. The factorisation ends at the first pivot that is at most `floor`.
    ///
    /// *Reference* Higham 2002, §10.3 (complete pivoting), for G scaled to a unit diagonal.
    pub(super) fn pivoted(g: &[f64], n: usize, floor: f64) -> Self {
        let size: Vec<f64> = (0..n).map(|i| g[i * n + i].abs()).collect();
        let share = |a: &[f64], i: usize| if size[i] > 0.0 { a[i * n + i] / size[i] } else { 0.0 };
        let (mut a, mut r) = (g.to_vec(), vec![0.0; n * n]); // R has the column order of G until the end
        let (mut order, mut rank, mut least, mut negative) = ((0..n).collect::<Vec<_>>(), 0, 1.0, false);
        while rank < n {
            let best = (rank..n).max_by(|&i, &j| share(&a, order[i]).total_cmp(&share(&a, order[j])));
            order.swap(rank, best.unwrap_or(rank));
            let p = order[rank];
            if share(&a, p) <= floor {
                negative = (rank..n).any(|i| share(&a, order[i]) < -floor);
                break;
            }
            least = share(&a, p).min(least);
            let pivot = a[p * n + p].sqrt();
            (rank..n).for_each(|j| r[rank * n + order[j]] = a[p * n + order[j]] / pivot);
            for i in rank + 1..n {
                for j in rank + 1..n {
                    let (row, column) = (order[i], order[j]);
                    a[row * n + column] -= r[rank * n + row] * r[rank * n + column];
                }
            }
            rank += 1;
        }
        Self { n, r, order, rank, least, negative }
    }

    /// Row i of R, in the order of the columns of G.
    pub(super) fn row(&self, i: usize) -> &[f64] {
        &self.r[i * self.n..(i + 1) * self.n]
    }

    /// Replaces y by G⁻¹ y. G must have full rank.
    pub(super) fn solve(&self, y: &mut [f64]) {
        let mut t = vec![0.0; self.n];
        for i in 0..self.n {
            let sum: f64 = (0..i).map(|k| self.row(k)[self.order[i]] * t[k]).sum();
            t[i] = (y[self.order[i]] - sum) / self.row(i)[self.order[i]];
        }
        for i in (0..self.n).rev() {
            let sum: f64 = (i + 1..self.n).map(|k| self.row(i)[self.order[k]] * y[self.order[k]]).sum();
            y[self.order[i]] = (t[i] - sum) / self.row(i)[self.order[i]];
        }
    }
}

/// A B, where A has m rows and B has `columns` columns.
pub(super) fn product(a: &[f64], b: &[f64], [m, n, columns]: [usize; 3]) -> Vec<f64> {
    let entry = |i: usize, j: usize| (0..n).map(|k| a[i * n + k] * b[k * columns + j]).sum();
    (0..m * columns).map(|at| entry(at / columns, at % columns)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factor_solves_and_finds_the_rank() {
        let g = [4.0, 2.0, 2.0, 2.0, 5.0, 1.0, 2.0, 1.0, 6.0];
        let factor = Cholesky::pivoted(&g, 3, 1e-12);
        assert!(factor.rank == 3 && !factor.negative);
        let mut y = product(&g, &[1.0, -2.0, 3.0], [3, 3, 1]);
        factor.solve(&mut y);
        assert!(y.iter().zip([1.0, -2.0, 3.0]).all(|(y, x)| (y - x).abs() < 1e-14));
        // The third column is the sum of the first two; each column has a different unit.
        let (b, unit) = ([[1.0, 0.0], [2.0, 1.0], [3.0, 1.0]], [1.0, 1e-9, 1e6]);
        let g: Vec<f64> = (0..9)
            .map(|k| unit[k / 3] * unit[k % 3] * (b[k / 3][0] * b[k % 3][0] + b[k / 3][1] * b[k % 3][1]))
            .collect();
        let factor = Cholesky::pivoted(&g, 3, 1e-12);
        assert!(factor.rank == 2 && !factor.negative);
        for (i, j) in (0..3).flat_map(|i| (0..3).map(move |j| (i, j))) {
            let found: f64 = (0..2).map(|k| factor.row(k)[i] * factor.row(k)[j]).sum();
            assert!((found - g[3 * i + j]).abs() < 1e-12 * unit[i] * unit[j] * 10.0);
        }
        assert!(Cholesky::pivoted(&[1.0, 2.0, 2.0, 1.0], 2, 1e-12).negative);
    }
}
