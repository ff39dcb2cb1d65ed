//! A = L D Lᵀ of a full symmetric matrix, by pivots of order 1 and 2: the elimination of a single front.

use coarsen_sparse::Bsr;

use super::memory::{fill, zeros};
use super::rows::{row, sizes};
use crate::DirectError;
use crate::factorization::{FactorStats, Factorization, Pivots};
use crate::front::{Front, Fronts};

/// The lower triangle of a full matrix by columns, which L and D overwrite.
pub(super) struct FullLdlt {
    factor: Fronts,
    /// L D.
    w: Vec<f64>,
    sizes: Vec<f64>,
    y: Vec<f64>,
}

impl FullLdlt {
    /// Allocates the vectors; the n² values are allocated by the first factorisation.
    pub(super) fn plan(a: &Bsr<f64>) -> Result<Self, DirectError> {
        let n = a.shape().0;
        let factor = Fronts { sizes: vec![(n, n)], rows: zeros(n)?, l: Vec::new(), below: zeros(n)? };
        Ok(Self { factor, w: Vec::new(), sizes: zeros(n)?, y: zeros(n)? })
    }
}

impl Factorization for FullLdlt {
    fn factor(&mut self, a: &Bsr<f64>) -> Result<Pivots, DirectError> {
        let n = self.y.len();
        let Fronts { rows, l, below, .. } = &mut self.factor;
        fill(l, n * n)?;
        fill(&mut self.w, n * n)?;
        for i in 0..n {
            rows[i] = i as u32;
            row(a, i).filter(|&(j, _)| j <= i).for_each(|(j, at)| l[j * n + i] = a.values()[at]);
        }
        below.fill(0.0);
        sizes(a, &mut self.sizes);
        Front { m: n, p: n, f: l, w: &mut self.w, below, rows, threshold: 0.5, by_faer: false }.eliminate();
        Ok(self.factor.pivots(&self.sizes))
    }

    fn solve(&mut self, x: &mut [f64]) {
        self.factor.solve(x, &mut self.y);
    }

    fn stats(&self) -> FactorStats {
        let n = self.y.len();
        let bytes = 8 * (2 * n * n + 3 * n) + 4 * n;
        FactorStats { nnz: n * (n + 1) / 2, bytes, products: 0, flops: (1..=n).map(|c| (c * c) as f64).sum() }
    }
}
