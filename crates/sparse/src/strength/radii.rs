//! Block couplings ρ(A_ii^−½ A_ij A_jj^−½), independent of units.
//!
//! Roots are computed in f64 and scaled to a largest entry of 1; products with them in f32, in f64 where a diagonal block is
//! ill-conditioned; powers in f32. Radii are rounded to [`BITS`] bits, so that couplings which differ by round-off alone are equal.

use std::ops::Range;

use coarsen_core::parallel::{self, Groups, each};
use coarsen_core::{Real, compiled, simd};

use super::block::{self, LANES, SINGLES, Singles};
use super::weight;
use crate::Bsr;
use crate::rows::{BlockRows, LEAF};

/// The digits of a radius that are kept: round-off is a few hundredths of the last one.
const BITS: u32 = 16;

/// The square root of the condition number above which a diagonal block is ill-conditioned: products in f32 then lose digits that
/// are kept.
const ILL: f64 = 10.0;

compiled!(RADII: Fill<T> = fn(&Bsr<T>, bool, &mut [f32]), fill);

/// ρ(A_ii^−½ A_ij A_jj^−½) of every block. If A is `symmetric`, each pair of blocks is computed once.
pub(super) fn radii<T: Real>(a: &Bsr<T>, symmetric: bool, weights: &mut [f32]) {
    RADII.of::<Fill<T>>()(a, symmetric, weights);
}

fn fill<T: Real>(a: &Bsr<T>, symmetric: bool, weights: &mut [f32]) {
    let (pattern, b) = (a.pattern(), a.block().0);
    let nodes = pattern.rows();
    let mut roots = Roots { of: vec![0.0; nodes * b * b], sizes: vec![0.0; nodes], ill: vec![false; nodes] };
    let pieces = (0..nodes, Groups(&mut roots.of[..], b * b), (&mut roots.sizes[..], &mut roots.ill[..]));
    let leaf = |(nodes, of, (sizes, ill)): (Range<usize>, Groups<&mut [f64]>, (&mut [f64], &mut [bool]))| {
        simd::run(FillRoots { a, nodes, of: of.0, sizes, ill });
    };
    each(pieces, 256, parallel::worth(20 * b * a.shape().0), &leaf);
    let upper = |out: &mut [f32]| {
        let leaf = |leaf: BlockRows<'_, f32>| {
            simd::run(Radii { a, roots: &roots, rows: leaf.rows, upper: symmetric, out: leaf.values });
        };
        each(BlockRows::new(pattern.offsets(), 1, out), LEAF, parallel::worth(4 * b * a.nnz()), &leaf);
    };
    if !symmetric {
        return upper(weights);
    }
    let mut of_pairs = vec![0.0; pattern.len()];
    upper(&mut of_pairs);
    BlockRows::new(pattern.offsets(), 1, weights).for_each(4 * pattern.len(), |i, row| {
        for ((w, &j), k) in row.iter_mut().zip(pattern.row(i)).zip(pattern.range(i)) {
            // A block without a transposed one is zero.
            let from = if j as usize >= i { Some(k) } else { pattern.find(j as usize, i) };
            *w = from.map_or(0.0, |k| of_pairs[k]);
        }
    });
}

/// |A_ii|^−½ of all nodes: matrices with a largest entry of 1, or 0, and the factors of these, and whether A_ii is ill-conditioned.
struct Roots {
    of: Vec<f64>,
    sizes: Vec<f64>,
    ill: Vec<bool>,
}

/// The roots of some nodes.
struct FillRoots<'a, T> {
    a: &'a Bsr<T>,
    nodes: Range<usize>,
    of: &'a mut [f64],
    sizes: &'a mut [f64],
    ill: &'a mut [bool],
}

impl<T: Real> simd::Kernel<f64> for FillRoots<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: simd::Set<f64>>(self, _: S) {
        match self.a.block().0 {
            3 => self.fill(3),
            6 => self.fill(6),
            b => self.fill(b),
        }
    }
}

impl<T: Real> FillRoots<'_, T> {
    /// |A_ii|^−½ of blocks of b x b; zero for a missing diagonal block.
    #[inline(always)]
    fn fill(self, b: usize) {
        let Self { a, nodes, of, sizes, ill } = self;
        let size = b * b;
        let [mut d, mut q, mut root] = std::array::from_fn(|_| vec![[0.0; LANES]; size]);
        let out = of.chunks_mut(LANES * size).zip(sizes.chunks_mut(LANES)).zip(ill.chunks_mut(LANES));
        for (first, ((of, sizes), ill)) in nodes.clone().step_by(LANES).zip(out) {
            d.fill([0.0; LANES]);
            for (l, i) in (first..nodes.end.min(first + LANES)).enumerate() {
                if let Some(block) = a.pattern().find(i, i).map(|k| a.value(k)) {
                    (0..size).for_each(|e| {
                        d[e][l] = 0.5 * (block[e].as_f64() + block[e % b * b + e / b].as_f64())
                    });
                }
            }
            block::inverse_root(b, &mut d, &mut q, &mut root);
            let mut most = [0.0_f64; LANES];
            for root in &root {
                for l in 0..LANES {
                    most[l] = most[l].max(root[l].abs());
                }
            }
            for (l, ((of, to), ill)) in of.chunks_exact_mut(size).zip(sizes).zip(ill).enumerate() {
                *to = most[l];
                let scale = if *to > 0.0 { 1.0 / *to } else { 0.0 };
                of.iter_mut().zip(&root).for_each(|(of, root)| *of = root[l] * scale);
                // The roots of the eigenvalues are inverted.
                let [mut least, mut most] = [f64::INFINITY, 0.0_f64];
                for k in 0..b {
                    let root = d[k * b + k][l];
                    if root > 0.0 {
                        [least, most] = [least.min(root), most.max(root)];
                    }
                }
                *ill = most > ILL * least;
            }
        }
    }
}

/// The radii of the blocks in some rows, or of those on and above the diagonal.
struct Radii<'a, T> {
    a: &'a Bsr<T>,
    roots: &'a Roots,
    rows: Range<usize>,
    upper: bool,
    out: &'a mut [f32],
}

impl<T: Real> simd::Kernel<f32> for Radii<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: simd::Set<f32>>(self, _: S) {
        match self.a.block().0 {
            3 => self.fill(3),
            6 => self.fill(6),
            b => self.fill(b),
        }
    }
}

impl<T: Real> Radii<'_, T> {
    #[inline(always)]
    fn fill(self, b: usize) {
        let Self { a, roots, rows, upper, out } = self;
        let (pattern, size) = (a.pattern(), b * b);
        let (mut in_f32, mut in_f64) = (Batch::<f32>::new(size), Batch::<f64>::new(size));
        let start = pattern.offsets()[rows.start];
        for i in rows {
            let own = &roots.of[i * size..][..size];
            for (k, &j) in pattern.range(i).zip(pattern.row(i)) {
                let j = j as usize;
                if upper && j < i {
                    continue;
                }
                let (block, other) = (&a.value(k)[..size], &roots.of[j * size..][..size]);
                let scale = roots.sizes[i] * roots.sizes[j];
                match roots.ill[i] || roots.ill[j] {
                    true => in_f64.push(b, k, [own, other], (block, scale), start, out),
                    false => in_f32.push(b, k, [own, other], (block, scale), start, out),
                }
            }
        }
        in_f32.write(b, start, out);
        in_f64.write(b, start, out);
    }
}

/// Matrices whose radii are computed together, in U.
struct Batch<U> {
    /// L, B, R and the product, see [`block::spectral_radius`].
    matrices: [Vec<[U; SINGLES]>; 4],
    powers: [Vec<Singles>; 2],
    /// The positions of the radii.
    at: [usize; SINGLES],
    count: usize,
}

impl<U: Real> Batch<U> {
    fn new(size: usize) -> Self {
        let matrices = std::array::from_fn(|_| vec![[U::zero(); SINGLES]; size]);
        let powers = std::array::from_fn(|_| vec![[0.0; SINGLES]; size]);
        Self { matrices, powers, at: [0; SINGLES], count: 0 }
    }

    /// Adds the block at position k, times `scale`; a full batch is written.
    #[inline(always)]
    fn push<T: Real>(
        &mut self,
        b: usize,
        k: usize,
        [own, other]: [&[f64]; 2],
        (block, scale): (&[T], f64),
        start: usize,
        out: &mut [f32],
    ) {
        let (size, count) = (b * b, self.count);
        let [left, m, right, _] = &mut self.matrices;
        let (left, m, right) = (&mut left[..size], &mut m[..size], &mut right[..size]);
        for e in 0..size {
            left[e][count] = U::from_f64(own[e]);
            m[e][count] = U::from_f64(block[e].as_f64() * scale);
            right[e][count] = U::from_f64(other[e]);
        }
        self.at[count] = k;
        self.count += 1;
        if self.count == SINGLES {
            self.write(b, start, out);
        }
    }

    /// Writes the radii to their positions; `out` begins at position `start`.
    #[inline(always)]
    fn write(&mut self, b: usize, start: usize, out: &mut [f32]) {
        if self.count == 0 {
            return;
        }
        let ([left, m, right, product], [power, square]) = (&mut self.matrices, &mut self.powers);
        let radius = block::spectral_radius(b, [left, m, right, product], [power, square]);
        self.at[..self.count].iter().zip(radius).for_each(|(&k, r)| out[k - start] = rounded(r));
        self.count = 0;
    }
}

/// A radius with [`BITS`] bits.
#[inline(always)]
fn rounded(r: f32) -> f32 {
    let dropped = f32::MANTISSA_DIGITS - BITS;
    let bits = (r.to_bits() + (1 << (dropped - 1))) & !((1 << dropped) - 1);
    weight(f64::from(f32::from_bits(bits)))
}
