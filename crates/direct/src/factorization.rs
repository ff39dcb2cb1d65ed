//! The trait of all factorisations, and their pivots and sizes.

use coarsen_sparse::Bsr;

use crate::DirectError;

/// One factorisation of one sparsity pattern; both engines implement this trait.
pub(crate) trait Factorization: Send + Sync {
    /// Computes the factors of a matrix of the planned pattern and overwrites the old factors. Allocates only
    /// in the first call, except for methods whose fill depends on pivots.
    fn factor(&mut self, a: &Bsr<f64>) -> Result<Pivots, DirectError>;
    /// x = A⁻¹ x.
    fn solve(&mut self, x: &mut [f64]);
    /// x = A⁻ᵀ x.
    fn solve_transpose(&mut self, x: &mut [f64]) {
        self.solve(x);
    }
    /// The sizes of the factorisation, as far as they are known.
    fn stats(&self) -> FactorStats;
}

/// Properties of the pivots.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pivots {
    pub(crate) inertia: Option<Inertia>,
    /// The row whose pivot is smallest relative to the entries of that row, and this ratio. If a pivot is 0, the unknown of
    /// its row is set to 0, or the factor is not finite.
    pub(crate) weakest: Option<(usize, f64)>,
}

/// The inertia and the weakest pivot of B in A = L B Lᵀ, collected pivot by pivot.
pub(crate) struct Signs {
    inertia: Inertia,
    weakest: (usize, f64),
}

impl Default for Signs {
    fn default() -> Self {
        Self { inertia: Inertia { positive: 0, negative: 0 }, weakest: (0, f64::INFINITY) }
    }
}

impl Signs {
    /// Adds a pivot of order 1 of `row`; `sizes` are max |aᵢⱼ| of each row.
    pub(crate) fn one(&mut self, row: usize, pivot: f64, sizes: &[f64]) {
        if pivot > 0.0 {
            self.inertia.positive += 1;
        } else {
            self.inertia.negative += 1;
        }
        let ratio = pivot.abs() / sizes[row];
        if ratio < self.weakest.1 || ratio.is_nan() {
            self.weakest = (row, ratio);
        }
    }

    /// Adds a pivot of `row` that is 0.
    pub(crate) fn zero(&mut self, row: usize) {
        self.weakest = (row, 0.0);
    }

    /// Adds the two eigenvalues of a pivot [p q; q s] of order 2.
    pub(crate) fn two(&mut self, rows: [usize; 2], [p, q, s]: [f64; 3], sizes: &[f64]) {
        let (middle, half) = (0.5 * (p + s), 0.5 * (p - s));
        let radius = half.hypot(q);
        self.one(rows[0], middle + radius, sizes);
        self.one(rows[1], middle - radius, sizes);
    }

    /// The result for all pivots added.
    pub(crate) fn pivots(self) -> Pivots {
        Pivots { inertia: Some(self.inertia), weakest: Some(self.weakest) }
    }
}

/// The numbers of positive and negative eigenvalues, from the signs of the pivots (Sylvester's law of
/// inertia).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inertia {
    /// The number of positive eigenvalues.
    pub positive: usize,
    /// The number of negative eigenvalues.
    pub negative: usize,
}

impl Inertia {
    /// All n eigenvalues have one sign.
    pub(crate) fn definite(n: usize, negative: bool) -> Self {
        if negative { Self { positive: 0, negative: n } } else { Self { positive: n, negative: 0 } }
    }
}

/// The size of a factorisation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FactorStats {
    /// The number of entries of L, diagonal included; of L and U for LU: an upper bound for every choice of pivots, by the
    /// column counts of the Cholesky factor of A Aᵀ. For systems of flow and reservoirs the bound is 1 to 2 times the
    /// number of entries, for circuits 1 to 3 times.
    pub nnz: usize,
    /// The number of bytes of the factor, its structure and its copy of the matrix; for LU by that bound.
    pub bytes: usize,
    /// The number of bytes of the buffer for dense products, about twice the last-level cache; 0 without
    /// dense products. Each thread that factors keeps one buffer for all its factors.
    pub products: usize,
    /// The number of multiplications and additions of the numeric factorisation; for LU an upper bound.
    pub flops: f64,
}
