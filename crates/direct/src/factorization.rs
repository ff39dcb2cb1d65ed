//! What the factorisations have in common: their trait, and what they say of themselves.

use coarsen_sparse::Bsr;

use crate::DirectError;

/// One factorisation of one sparsity pattern: what both engines implement.
pub(crate) trait Factorization: Send + Sync {
    /// Computes the factors of a matrix of the planned pattern, in place of older ones; allocates on the
    /// first call only, as far as the method can promise it.
    fn factor(&mut self, a: &Bsr<f64>) -> Result<Pivots, DirectError>;
    /// x = A⁻¹ x.
    fn solve(&mut self, x: &mut [f64]);
    /// x = A⁻ᵀ x.
    fn solve_transpose(&mut self, x: &mut [f64]) {
        self.solve(x);
    }
    /// Sizes, as far as they are known.
    fn figures(&self) -> Figures;
}

/// What the pivots say.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pivots {
    pub(crate) inertia: Option<Inertia>,
    /// The row whose pivot is smallest against the row's own entries, and that ratio.
    pub(crate) weakest: Option<(usize, f64)>,
}

/// The pivots of B in A = L B Lᵀ, as they are seen one after the other.
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
    /// A pivot of order 1 of `row`; `sizes` are max |aᵢⱼ| of each row.
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

    /// A pivot [p q; q s] of order 2: its eigenvalues.
    pub(crate) fn two(&mut self, rows: [usize; 2], [p, q, s]: [f64; 3], sizes: &[f64]) {
        let (middle, half) = (0.5 * (p + s), 0.5 * (p - s));
        let radius = half.hypot(q);
        self.one(rows[0], middle + radius, sizes);
        self.one(rows[1], middle - radius, sizes);
    }

    /// All of them.
    pub(crate) fn pivots(self) -> Pivots {
        Pivots { inertia: Some(self.inertia), weakest: Some(self.weakest) }
    }
}

/// How many eigenvalues are positive and negative: the signs of the pivots (Sylvester's law of inertia).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inertia {
    /// Positive eigenvalues.
    pub positive: usize,
    /// Negative eigenvalues.
    pub negative: usize,
}

/// The size of a factorisation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures {
    /// Entries of L, diagonal included; unknown for LU, whose fill depends on its pivots.
    pub nnz: Option<usize>,
    /// Bytes of the factor, its structure and its copy of the matrix; without L and U for LU.
    pub bytes: usize,
    /// Bytes of the buffer for dense products that each thread keeps which factors, about twice its last
    /// cache; 0 where no dense products are made. One buffer serves all factors of a thread.
    pub products: usize,
    /// Multiplications and additions of the numeric factorisation; unknown for LU.
    pub flops: Option<f64>,
}
