//! Block couplings ρ(A_ii^−½ A_ij A_jj^−½), independent of units.
//!
//! Roots and products with them are computed in f64, powers in f32. Radii are rounded to [`BITS`] bits, so that couplings
//! which differ by round-off alone are equal.

use std::ops::Range;

use coarsen_core::parallel::{self, Groups, each};
use coarsen_core::{Compiled, Real, simd};

use super::block::{self, Doubles, LANES, SINGLES, Singles};
use super::weight;
use crate::Bsr;
use crate::rows::{BlockRows, LEAF};

/// The digits of a radius that are kept: round-off is a few hundredths of the last one.
const BITS: u32 = 16;

type Fill<T> = fn(&Bsr<T>, &mut [f32]);

static RADII: Compiled<2> = Compiled([&(fill as Fill<f32>), &(fill as Fill<f64>)]);

/// ρ(A_ii^−½ A_ij A_jj^−½) of every block.
pub(super) fn radii<T: Real>(a: &Bsr<T>, weights: &mut [f32]) {
    RADII.of::<Fill<T>>()(a, weights);
}

fn fill<T: Real>(a: &Bsr<T>, weights: &mut [f32]) {
    let (pattern, b) = (a.pattern(), a.block().0);
    let mut roots = vec![0.0; pattern.rows() * b * b];
    let pieces = (0..pattern.rows(), Groups(&mut roots[..], b * b));
    let leaf = |(nodes, of): (Range<usize>, Groups<&mut [f64]>)| {
        simd::run(FillRoots { a, nodes, of: of.0 });
    };
    each(pieces, 256, parallel::worth(20 * b * a.shape().0), &leaf);
    let rows = BlockRows::new(pattern.offsets(), 1, weights);
    let leaf = |leaf: BlockRows<'_, f32>| {
        simd::run(Radii { a, roots: &roots, rows: leaf.rows, out: leaf.values });
    };
    each(rows, LEAF, parallel::worth(4 * b * a.nnz()), &leaf);
}

/// |A_ii|^−½ of some nodes.
struct FillRoots<'a, T> {
    a: &'a Bsr<T>,
    nodes: Range<usize>,
    of: &'a mut [f64],
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
        let Self { a, nodes, of } = self;
        let size = b * b;
        let [mut d, mut q, mut root] = std::array::from_fn(|_| vec![[0.0; LANES]; size]);
        for (first, of) in nodes.clone().step_by(LANES).zip(of.chunks_mut(LANES * size)) {
            d.fill([0.0; LANES]);
            for (l, i) in (first..nodes.end.min(first + LANES)).enumerate() {
                if let Some(block) = a.pattern().find(i, i).map(|k| a.value(k)) {
                    (0..size).for_each(|e| {
                        d[e][l] = 0.5 * (block[e].as_f64() + block[e % b * b + e / b].as_f64())
                    });
                }
            }
            block::inverse_root(b, &mut d, &mut q, &mut root);
            for (l, of) in of.chunks_exact_mut(size).enumerate() {
                of.iter_mut().zip(&root).for_each(|(of, root)| *of = root[l]);
            }
        }
    }
}

/// The radii of the blocks in some rows.
struct Radii<'a, T> {
    a: &'a Bsr<T>,
    roots: &'a [f64],
    rows: Range<usize>,
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
        let Self { a, roots, rows, out } = self;
        let (pattern, size) = (a.pattern(), b * b);
        let mut wide: [Vec<Doubles>; 4] = std::array::from_fn(|_| vec![[0.0; SINGLES]; size]);
        let mut powers: [Vec<Singles>; 2] = std::array::from_fn(|_| vec![[0.0; SINGLES]; size]);
        let start = pattern.offsets()[rows.start];
        let (mut at, mut count) = ([0; SINGLES], 0);
        for i in rows {
            let own = &roots[i * size..][..size];
            for (k, &j) in pattern.range(i).zip(pattern.row(i)) {
                let j = j as usize;
                let (block, other) = (&a.value(k)[..size], &roots[j * size..][..size]);
                let [left, m, right, _] = wide.each_mut().map(|wide| &mut wide[..size]);
                for e in 0..size {
                    left[e][count] = own[e];
                    m[e][count] = block[e].as_f64();
                    right[e][count] = other[e];
                }
                at[count] = k;
                count += 1;
                if count == SINGLES {
                    write(b, &mut wide, &mut powers, &at, start, out);
                    count = 0;
                }
            }
        }
        write(b, &mut wide, &mut powers, &at[..count], start, out);
    }
}

/// Writes the radii of a batch to the positions `at`; `out` begins at position `start`. A function and not a closure, which
/// would be compiled without the instructions of the kernel.
#[inline(always)]
fn write(
    b: usize,
    wide: &mut [Vec<Doubles>; 4],
    powers: &mut [Vec<Singles>; 2],
    at: &[usize],
    start: usize,
    out: &mut [f32],
) {
    let radius =
        block::spectral_radius(b, wide.each_mut().map(|v| &mut v[..]), powers.each_mut().map(|v| &mut v[..]));
    at.iter().zip(radius).for_each(|(&k, r)| out[k - start] = rounded(r));
}

/// A radius with [`BITS`] bits.
#[inline(always)]
fn rounded(r: f64) -> f32 {
    let dropped = f32::MANTISSA_DIGITS - BITS;
    let bits = ((r as f32).to_bits() + (1 << (dropped - 1))) & !((1 << dropped) - 1);
    weight(f64::from(f32::from_bits(bits)))
}
