//! Strength of connection: the graph of couplings that a coarsening should follow.

mod block;

use std::ops::Range;

use coarsen_core::parallel::{self, Groups, each};
use coarsen_core::{Error, Real, largest, simd};

use crate::rows::{BlockRows, LEAF};
use crate::{Bsr, Graph, Pattern};
use block::LANES;

/// When two nodes of a block matrix are strongly coupled; θ grows from 0 (every stored value that is not zero) towards 1.
///
/// Both tests compare blocks after scaling by the diagonal, so they do not depend on units. A node whose off-diagonal
/// blocks are all zero (a Dirichlet row) is strongly coupled to none.
///
/// ```
/// use coarsen_sparse::{Strength, assembly};
/// let entries = [(0, 0, 2.0), (1, 1, 2.0), (2, 2, 2.0), (0, 1, -1.0), (1, 0, -1.0), (1, 2, -0.01), (2, 1, -0.01)];
/// let a = assembly::from_triplets(3, 3, &entries)?;
/// let g = Strength::Symmetric { theta: 0.08 }.graph(&a)?;
/// assert!(g.has_edge(0, 1) && !g.has_edge(1, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Strength {
    /// ‖A_ij‖ > θ (‖A_ii‖ ‖A_jj‖)^½ in the Frobenius norm: an absolute test, θ around 0.08 on the finest level.
    ///
    /// *Reference* Vaněk, Mandel & Brezina 1996, there for scalars and with ≥.
    Symmetric {
        /// θ, in 0..1.
        theta: f64,
    },
    /// ρ(A_ii^−½ A_ij A_jj^−½) > θ max_k≠i ρ(A_ii^−½ A_ik A_kk^−½), in the row of i or in that of j: relative to the strongest coupling.
    ///
    /// No node with a coupling is left alone, whatever θ is. Cloth uses θ = 0.48.
    /// *Use* for elasticity, where the components of a block differ in size. Diagonal blocks are taken by the absolute values of
    /// their eigenvalues; directions without stiffness (eigenvalue zero) do not couple.
    /// *Reference* Tamstorf, Jones & McCormick 2015, §5. Deviation: s_ij or s_ji makes an edge, since their test is not symmetric.
    SpectralRadius {
        /// θ, in 0..1.
        theta: f64,
    },
}

impl Strength {
    /// The graph of strong couplings, symmetric: a subset of the edges of `Graph::of(a.pattern())`.
    ///
    /// *Cost* that of [`weights`](Self::weights) and a sort of each row.
    ///
    /// # Errors
    /// As [`weights`](Self::weights).
    pub fn graph<T: Real>(&self, a: &Bsr<T>) -> Result<Graph, Error> {
        Ok(self.graph_of(a.pattern(), &self.weights(a)?))
    }

    /// [`graph`](Self::graph) from [`weights`](Self::weights) that are at hand.
    ///
    /// *Panics* unless there is one weight a block.
    pub fn graph_of(&self, pattern: &Pattern, weights: &[f32]) -> Graph {
        let limits = self.limits(pattern, weights);
        let strong = (0..pattern.rows()).flat_map(|i| {
            let limit = limits[i];
            let stored = pattern.range(i).filter(move |&k| weights[k] > limit);
            stored.map(move |k| (i as u32, pattern.indices()[k]))
        });
        Graph::symmetrised(pattern.rows(), strong)
    }

    /// Which stored blocks are strong, in the row of i or in that of j: [`graph`](Self::graph) as flags, for symmetric matrices. Weights of (i, j) and (j, i)
    /// are rounded on their own, so a coupling at the very threshold may be strong in one row alone.
    ///
    /// *Cost* two passes over pattern and weights, one where the limit is the same for all, parallel. *Panics* unless there is one weight a block.
    pub fn strong(&self, pattern: &Pattern, weights: &[f32]) -> Vec<bool> {
        assert_eq!(weights.len(), pattern.len(), "strength: one weight a block");
        let mut strong = vec![false; weights.len()];
        if let Self::Symmetric { theta } = *self {
            let limit = narrow(theta);
            parallel::map(weights, &mut strong, |&weight| weight > limit);
            return strong;
        }
        let limits = self.limits(pattern, weights);
        BlockRows::new(pattern.offsets(), 1, &mut strong).for_each(4 * weights.len(), |i, row| {
            let (own, stored) = (limits[i], weights[pattern.range(i)].iter().zip(pattern.row(i)));
            for (strong, (&weight, &j)) in row.iter_mut().zip(stored) {
                // A column without a row of its own has no limit.
                let other = limits.get(j as usize).is_some_and(|&limit| weight > limit);
                *strong = weight > own || other;
            }
        });
        strong
    }

    /// What a weight of each row must exceed.
    fn limits(&self, pattern: &Pattern, weights: &[f32]) -> Vec<f32> {
        assert_eq!(weights.len(), pattern.len(), "strength: one weight a block");
        let mut limits = vec![0.0; pattern.rows()];
        let leaf = |(rows, limits): (Range<usize>, &mut [f32])| {
            for (i, limit) in rows.zip(limits) {
                *limit = match *self {
                    Self::Symmetric { theta } => narrow(theta),
                    Self::SpectralRadius { theta } => {
                        let stored = weights[pattern.range(i)].iter().zip(pattern.row(i));
                        let others = stored.filter(|&(_, &j)| j as usize != i).map(|(&weight, _)| weight);
                        narrow(theta) * others.fold(0.0, f32::max) // θ ρ_i,max
                    }
                };
            }
        };
        each((0..pattern.rows(), &mut limits[..]), 1024, parallel::worth(weights.len()), &leaf);
        limits
    }

    /// The size of each stored block after scaling by the diagonal, in the order of the pattern: what the tests compare.
    ///
    /// *Cost* one pass over the matrix; for [`SpectralRadius`](Self::SpectralRadius) also an eigendecomposition a node and
    /// 12 small products a block.
    ///
    /// # Errors
    /// [`Error::NotSquare`] for the matrix or its blocks, [`Error::Parameter`] for θ outside 0..1, [`Error::NotFinite`] names a stored
    /// value.
    pub fn weights<T: Real>(&self, a: &Bsr<T>) -> Result<Vec<f32>, Error> {
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
                check_finite(a)?; // a block without numbers has no root
                radii(a, &mut weights);
            }
        }
        // A value that is not finite makes its weight so; so may a missing diagonal.
        if largest(&weights).is_nan() {
            check_finite(a)?;
        }
        Ok(weights)
    }
}

fn check_finite<T: Real>(a: &Bsr<T>) -> Result<(), Error> {
    // The search is slow, so it follows a look at the speed of memory.
    let search = || parallel::position(a.values(), |v| !v.is_finite());
    let index = largest(a.values()).is_nan().then(search).flatten();
    index.map_or(Ok(()), |index| Err(Error::NotFinite { what: "matrix values", index }))
}

/// ‖A_ij‖ / (‖A_ii‖ ‖A_jj‖)^½ of every block; infinite where a diagonal is missing: nothing is stronger.
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

/// ‖B‖ in the norm of Frobenius, in three sums, which need not wait for each other.
#[inline(always)]
fn norm<T: Real>(block: &[T]) -> f64 {
    let (chunks, rest) = block.as_chunks::<3>();
    let mut sums = [0.0; 3];
    for chunk in chunks {
        sums.iter_mut().zip(chunk).for_each(|(s, v)| *s += v.wide() * v.wide());
    }
    sums.iter_mut().zip(rest).for_each(|(s, v)| *s += v.wide() * v.wide());
    sums.iter().sum::<f64>().sqrt()
}

/// |a_ij| / |a_ii a_jj|^½, 0 where a diagonal is missing: [`radii`] of scalars.
fn ratios<T: Real>(a: &Bsr<T>, weights: &mut [f32]) {
    let pattern = a.pattern();
    let mut roots = vec![0.0; pattern.rows()];
    let root = |i: usize| pattern.find(i, i).map_or(0.0, |k| a.values()[k].wide().abs());
    let leaf = |(rows, roots): (Range<usize>, &mut [f64])| {
        for (i, out) in rows.zip(roots) {
            let size = root(i);
            *out = if size > 0.0 { 1.0 / size.sqrt() } else { 0.0 };
        }
    };
    each((0..pattern.rows(), &mut roots[..]), LEAF, parallel::worth(a.nnz()), &leaf);
    BlockRows::new(pattern.offsets(), 1, weights).for_each(2 * a.nnz(), |i, row| {
        for (w, (j, value)) in row.iter_mut().zip(a.row(i)) {
            *w = weight(value[0].wide().abs() * (roots[i] * roots[j]));
        }
    });
}

/// In f32, where nothing but zero is zero.
#[inline(always)]
fn weight(v: f64) -> f32 {
    if v > 0.0 { (v as f32).max(f32::MIN_POSITIVE) } else { v as f32 }
}

/// θ in f32, below 1 where it was.
fn narrow(theta: f64) -> f32 {
    (theta as f32).min(1.0 - f32::EPSILON)
}

/// ρ(A_ii^−½ A_ij A_jj^−½) of every block.
fn radii<T: Real>(a: &Bsr<T>, weights: &mut [f32]) {
    let (pattern, b) = (a.pattern(), a.block().0);
    let mut roots = vec![0.0; pattern.rows() * b * b];
    let pieces = (0..pattern.rows(), Groups(&mut roots[..], b * b));
    let leaf = |(nodes, out): (Range<usize>, Groups<&mut [f64]>)| simd::run(Roots { a, nodes, out: out.0 });
    each(pieces, 256, parallel::worth(20 * b * a.shape().0), &leaf);
    let rows = BlockRows::new(pattern.offsets(), 1, weights);
    let leaf = |leaf: BlockRows<'_, f32>| {
        simd::run(Radii { a, roots: &roots, rows: leaf.rows, out: leaf.values });
    };
    each(rows, LEAF, parallel::worth(4 * b * a.nnz()), &leaf);
}

/// |A_ii|^−½ of some nodes.
struct Roots<'a, T> {
    a: &'a Bsr<T>,
    nodes: Range<usize>,
    out: &'a mut [f64],
}

impl<T: Real> simd::Kernel<f64> for Roots<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: simd::Set<f64>>(self, _: S) {
        match self.a.block().0 {
            3 => roots_of(self.a, 3, self.nodes, self.out),
            6 => roots_of(self.a, 6, self.nodes, self.out),
            b => roots_of(self.a, b, self.nodes, self.out),
        }
    }
}

/// The radii of the blocks of some rows.
struct Radii<'a, T> {
    a: &'a Bsr<T>,
    roots: &'a [f64],
    rows: Range<usize>,
    out: &'a mut [f32],
}

impl<T: Real> simd::Kernel<f64> for Radii<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: simd::Set<f64>>(self, _: S) {
        match self.a.block().0 {
            3 => radii_of(self.a, 3, self.roots, self.rows, self.out),
            6 => radii_of(self.a, 6, self.roots, self.rows, self.out),
            b => radii_of(self.a, b, self.roots, self.rows, self.out),
        }
    }
}

/// |A_ii|^−½ of some nodes; a missing block is zero.
#[inline(always)]
fn roots_of<T: Real>(a: &Bsr<T>, b: usize, nodes: Range<usize>, out: &mut [f64]) {
    let size = b * b;
    let (mut d, mut q, mut root) =
        (vec![[0.0; LANES]; size], vec![[0.0; LANES]; size], vec![[0.0; LANES]; size]);
    for (first, out) in nodes.clone().step_by(LANES).zip(out.chunks_mut(LANES * size)) {
        d.fill([0.0; LANES]);
        for (l, i) in (first..nodes.end.min(first + LANES)).enumerate() {
            if let Some(block) = a.pattern().find(i, i).map(|k| a.value(k)) {
                (0..size).for_each(|e| d[e][l] = 0.5 * (block[e].wide() + block[e % b * b + e / b].wide()));
            }
        }
        block::inverse_root(b, &mut d, &mut q, &mut root);
        for (l, out) in out.chunks_exact_mut(size).enumerate() {
            out.iter_mut().zip(&root).for_each(|(out, root)| *out = root[l]);
        }
    }
}

/// The radii of the blocks of some rows, from the roots of all nodes.
#[inline(always)]
fn radii_of<T: Real>(a: &Bsr<T>, b: usize, roots: &[f64], rows: Range<usize>, out: &mut [f32]) {
    let (pattern, size) = (a.pattern(), b * b);
    let [mut left, mut m, mut right, mut square] = std::array::from_fn(|_| vec![[0.0; LANES]; size]);
    let first = pattern.offsets()[rows.start];
    let mut i = rows.start;
    for (group, out) in out.chunks_mut(LANES).enumerate() {
        let start = first + group * LANES;
        for (l, k) in (start..start + out.len()).enumerate() {
            while pattern.offsets()[i + 1] <= k {
                i += 1;
            }
            let j = pattern.indices()[k] as usize;
            let (ri, rj, block) =
                (&roots[i * size..][..size], &roots[j * size..][..size], &a.value(k)[..size]);
            let (left, m, right) = (&mut left[..size], &mut m[..size], &mut right[..size]);
            for e in 0..size {
                (left[e][l], m[e][l], right[e][l]) = (ri[e], block[e].wide(), rj[e]);
            }
        }
        let radius = block::spectral_radius(b, &left, &mut m, &right, &mut square);
        out.iter_mut().zip(radius).for_each(|(w, r)| *w = weight(r));
    }
}

#[cfg(test)]
mod tests;
