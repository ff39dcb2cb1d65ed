//! Strength of connection: the graph of couplings for a coarsening.

mod block;
mod radii;

use std::ops::Range;

use coarsen_core::parallel::{self, each};
use coarsen_core::{Error, Real, largest};

use crate::rows::{BlockRows, LEAF};
use crate::{Bsr, Graph, Pattern};
use radii::radii;

/// A criterion for strong coupling of two nodes of a block matrix. The threshold θ lies between 0 and 1; with
/// θ = 0, every stored nonzero value is strong.
///
/// Both criteria compare blocks scaled by the diagonal, so they do not depend on units. A node whose
/// off-diagonal blocks are all zero (a Dirichlet row) has no strong couplings.
///
/// ```
/// use coarsen_sparse::{Strength, assembly};
/// let entries = [(0, 0, 2.0), (1, 1, 2.0), (2, 2, 2.0), (0, 1, -1.0), (1, 0, -1.0), (1, 2, -0.01), (2, 1, -0.01)];
/// let a = assembly::from_triplets(3, 3, &entries)?;
/// let g = Strength::Symmetric { theta: 0.08 }.graph(&a)?;
/// assert_eq!(g.neighbours(1), [0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Strength {
    /// Absolute: ‖A_ij‖ > θ (‖A_ii‖ ‖A_jj‖)^½ in the Frobenius norm, with θ around 0.08 on the finest level.
    ///
    /// *Reference* Vaněk, Mandel & Brezina 1996, for scalars and with ≥ instead of >.
    Symmetric {
        /// θ, in 0..1.
        theta: f64,
    },
    /// Relative to the strongest coupling: ρ(A_ii^−½ A_ij A_jj^−½) > θ max_k≠i ρ(A_ii^−½ A_ik A_kk^−½), in
    /// the row of i or in the row of j.
    ///
    /// For every θ, a node with a coupling has at least one strong coupling. For cloth θ = 0.48 is used.
    /// *Use* for elasticity, where the components of a block differ in size. For the powers −½, the
    /// eigenvalues of the diagonal blocks are replaced by their absolute values. Directions with eigenvalue
    /// zero do not couple. *Reference* Tamstorf, Jones & McCormick 2015, §5. Deviation: their criterion is
    /// not symmetric; here i and j are connected if s_ij or s_ji is strong.
    SpectralRadius {
        /// θ, in 0..1.
        theta: f64,
    },
}

impl Strength {
    /// The symmetric graph of strong couplings: a subgraph of `Graph::of(a.pattern())`.
    ///
    /// *Cost* as [`weights`](Self::weights), and a sort of each row.
    ///
    /// # Errors
    /// As [`weights`](Self::weights).
    pub fn graph<T: Real>(&self, a: &Bsr<T>) -> Result<Graph, Error> {
        let (pattern, weights) = (a.pattern(), self.weights(a, false)?);
        let (limits, weights) = (self.limits(pattern, &weights), &weights);
        let strong = (0..pattern.rows()).flat_map(|i| {
            let limit = limits[i];
            let stored = pattern.range(i).filter(move |&k| weights[k] > limit);
            stored.map(move |k| (i as u32, pattern.indices()[k]))
        });
        Ok(Graph::symmetrised(pattern.rows(), strong))
    }

    /// Flags the stored blocks that are strong in the row of i or in the row of j. For symmetric matrices
    /// these are the edges of [`graph`](Self::graph). The weights of (i, j) and (j, i) are rounded
    /// independently, so a coupling exactly at the threshold can be strong in only one row.
    ///
    /// *Cost* two passes over pattern and weights, or one pass if all rows have the same limit; parallel.
    /// *Panics* unless there is one weight per block.
    pub fn strong(&self, pattern: &Pattern, weights: &[f32]) -> Vec<bool> {
        self.strong_beside(pattern, weights, &[])
    }

    /// As [`strong`](Self::strong), but a coupling of a high-degree node is strong only if it is strong in the row of the other
    /// node.
    ///
    /// *Use* for nodes with very many neighbours: if all their couplings are equally weak, each is strong in the row
    /// of the high-degree node. [`Symmetric`](Self::Symmetric) has one limit for all rows, and so no high-degree nodes. A coupling of two high-degree nodes is as
    /// for [`strong`](Self::strong). `high_degree` flags these nodes, and may be shorter than the pattern. *Cost* and *panics* as
    /// [`strong`](Self::strong).
    ///
    /// ```
    /// use coarsen_sparse::{Strength, assembly};
    /// let couplings = [(0, 1, -1e-3), (0, 2, -1e-3), (1, 2, -1.0)];
    /// let both = couplings.iter().flat_map(|&(i, j, v)| [(i, j, v), (j, i, v)]);
    /// let entries: Vec<_> = both.chain((0..3).map(|i| (i, i, 2.0))).collect();
    /// let a = assembly::from_triplets(3, 3, &entries)?;
    /// let by = Strength::SpectralRadius { theta: 0.48 };
    /// let weights = by.weights(&a, true)?;
    /// let at = a.pattern().find(0, 1).unwrap_or_default();
    /// assert!(by.strong(a.pattern(), &weights)[at]);
    /// assert!(!by.strong_beside(a.pattern(), &weights, &[true])[at]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn strong_beside(&self, pattern: &Pattern, weights: &[f32], high_degree: &[bool]) -> Vec<bool> {
        assert_eq!(weights.len(), pattern.len(), "strength: expected one weight per block");
        let mut strong = vec![false; weights.len()];
        if let Self::Symmetric { theta } = *self {
            let limit = theta_as_f32(theta);
            parallel::map(weights, &mut strong, |&weight| weight > limit);
            return strong;
        }
        let limits = self.limits(pattern, weights);
        let is_high_degree = |i: usize| high_degree.get(i) == Some(&true);
        BlockRows::new(pattern.offsets(), 1, &mut strong).for_each(4 * weights.len(), |i, row| {
            let (own, stored) = (limits[i], weights[pattern.range(i)].iter().zip(pattern.row(i)));
            // A column without a corresponding row has no limit.
            let other = |j: u32| limits.get(j as usize).copied().unwrap_or(f32::INFINITY);
            for (strong, (&weight, &j)) in row.iter_mut().zip(stored) {
                *strong = weight > own || weight > other(j);
                if !high_degree.is_empty() && is_high_degree(i) != is_high_degree(j as usize) {
                    *strong = weight > if is_high_degree(i) { other(j) } else { own };
                }
            }
        });
        strong
    }

    /// The limit of each row. Blocks with larger weights are strong.
    fn limits(&self, pattern: &Pattern, weights: &[f32]) -> Vec<f32> {
        assert_eq!(weights.len(), pattern.len(), "strength: expected one weight per block");
        let mut limits = vec![0.0; pattern.rows()];
        let leaf = |(rows, limits): (Range<usize>, &mut [f32])| {
            for (i, limit) in rows.zip(limits) {
                *limit = match *self {
                    Self::Symmetric { theta } => theta_as_f32(theta),
                    Self::SpectralRadius { theta } => {
                        let stored = weights[pattern.range(i)].iter().zip(pattern.row(i));
                        let larger = |most: f32, (&weight, &j): (&f32, &u32)| {
                            if weight > most && j as usize != i { weight } else { most }
                        };
                        theta_as_f32(theta) * stored.fold(0.0, larger) // θ ρ_i,max
                    }
                };
            }
        };
        each((0..pattern.rows(), &mut limits[..]), 1024, parallel::worth(weights.len()), &leaf);
        limits
    }

    /// The size of each stored block after scaling by the diagonal, in the order of the pattern. The criteria
    /// compare these weights. If A is `symmetric`, at least to round-off, the weights of (i, j) and (j, i) are computed once.
    ///
    /// *Cost* one pass over the matrix; for [`SpectralRadius`](Self::SpectralRadius) also an
    /// eigendecomposition per node and 6 small products per block, or per pair of a `symmetric` A.
    ///
    /// # Errors
    /// [`Error::NotSquare`] if the matrix or its blocks are not square, [`Error::Parameter`] if θ is outside
    /// 0..1, [`Error::NotFinite`] gives the index of a stored value.
    pub fn weights<T: Real>(&self, a: &Bsr<T>, symmetric: bool) -> Result<Vec<f32>, Error> {
        let (Self::Symmetric { theta } | Self::SpectralRadius { theta }) = *self;
        if !(0.0..1.0).contains(&theta) {
            return Err(Error::Parameter { name: "Strength.theta", value: theta, range: "in 0..1" });
        }
        for (rows, columns) in [a.shape(), a.block()] {
            if rows != columns {
                return Err(Error::NotSquare { rows, columns });
            }
        }
        let mut weights = vec![0.0; a.pattern().len()];
        match self {
            Self::Symmetric { .. } => norms(a, &mut weights),
            Self::SpectralRadius { .. } if a.block() == (1, 1) => ratios(a, &mut weights),
            Self::SpectralRadius { .. } => {
                check_finite(a)?; // a block with NaN or infinity has no inverse square root
                radii(a, symmetric, &mut weights);
            }
        }
        // A weight is not finite if a value is not finite, and possibly if a diagonal block is missing.
        if largest(&weights).is_nan() {
            check_finite(a)?;
        }
        Ok(weights)
    }
}

fn check_finite<T: Real>(a: &Bsr<T>) -> Result<(), Error> {
    // The search is slow, so it runs only after the fast check above has found a NaN.
    let search = || parallel::position(a.values(), |v| !v.is_finite());
    let index = largest(a.values()).is_nan().then(search).flatten();
    index.map_or(Ok(()), |index| Err(Error::NotFinite { what: "matrix values", index }))
}

/// ‖A_ij‖ / (‖A_ii‖ ‖A_jj‖)^½ of every block; infinite if a diagonal block is missing, so that the coupling
/// is strong.
fn norms<T: Real>(a: &Bsr<T>, weights: &mut [f32]) {
    let pattern = a.pattern();
    let mut roots = vec![0.0; pattern.rows()];
    let leaf = |(rows, roots): (Range<usize>, &mut [f64])| {
        for (i, root) in rows.zip(roots) {
            *root = pattern.find(i, i).map_or(0.0, |k| norm(a.value(k))).sqrt().recip();
        }
    };
    each((0..pattern.rows(), &mut roots[..]), LEAF, parallel::worth(a.nnz()), &leaf);
    BlockRows::new(pattern.offsets(), 1, weights).for_each(a.nnz(), |i, row| {
        for (w, (j, block)) in row.iter_mut().zip(a.row(i)) {
            let (norm, root) = (norm(block), roots[i] * roots[j]);
            *w = if norm != 0.0 && root.is_finite() {
                weight(norm * root)
            } else if root.is_finite() || block.iter().all(|v| *v == T::zero()) {
                0.0
            } else {
                f32::INFINITY
            };
        }
    });
}

/// The Frobenius norm ‖B‖. Three independent sums hide the latency of additions.
#[inline(always)]
fn norm<T: Real>(block: &[T]) -> f64 {
    let (chunks, rest) = block.as_chunks::<3>();
    let mut sums = [0.0; 3];
    for chunk in chunks {
        sums.iter_mut().zip(chunk).for_each(|(s, v)| *s += v.as_f64() * v.as_f64());
    }
    sums.iter_mut().zip(rest).for_each(|(s, v)| *s += v.as_f64() * v.as_f64());
    sums.iter().sum::<f64>().sqrt()
}

/// |a_ij| / |a_ii a_jj|^½, or 0 if a diagonal entry is missing: [`radii`] for scalars.
fn ratios<T: Real>(a: &Bsr<T>, weights: &mut [f32]) {
    let pattern = a.pattern();
    let mut roots = vec![0.0; pattern.rows()];
    let root = |i: usize| pattern.find(i, i).map_or(0.0, |k| a.values()[k].as_f64().abs());
    let leaf = |(rows, roots): (Range<usize>, &mut [f64])| {
        for (i, out) in rows.zip(roots) {
            let size = root(i);
            *out = if size > 0.0 { 1.0 / size.sqrt() } else { 0.0 };
        }
    };
    each((0..pattern.rows(), &mut roots[..]), LEAF, parallel::worth(a.nnz()), &leaf);
    BlockRows::new(pattern.offsets(), 1, weights).for_each(2 * a.nnz(), |i, row| {
        let range = pattern.range(i);
        for (w, (value, &j)) in row.iter_mut().zip(a.values()[range].iter().zip(pattern.row(i))) {
            *w = weight(value.as_f64().abs() * (roots[i] * roots[j as usize]));
        }
    });
}

/// Converts a weight to f32 without rounding nonzero values to zero.
#[inline(always)]
fn weight(v: f64) -> f32 {
    if v > 0.0 { (v as f32).max(f32::MIN_POSITIVE) } else { v as f32 }
}

/// Converts θ to f32 without rounding values below 1 up to 1.
fn theta_as_f32(theta: f64) -> f32 {
    (theta as f32).min(1.0 - f32::EPSILON)
}
