//! Block couplings ρ(A_ii^−½ A_ij A_jj^−½), independent of units.

use std::ops::Range;

use coarsen_core::parallel::{self, Groups, each};
use coarsen_core::{Compiled, Real, simd};

use super::block::{self, LANES};
use super::weight;
use crate::Bsr;
use crate::rows::{BlockRows, LEAF};

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

/// The radii of the blocks in some rows.
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

/// |A_ii|^−½ of some nodes; zero for a missing diagonal block.
#[inline(always)]
fn roots_of<T: Real>(a: &Bsr<T>, b: usize, nodes: Range<usize>, out: &mut [f64]) {
    let size = b * b;
    let (mut d, mut q, mut root) =
        (vec![[0.0; LANES]; size], vec![[0.0; LANES]; size], vec![[0.0; LANES]; size]);
    for (first, out) in nodes.clone().step_by(LANES).zip(out.chunks_mut(LANES * size)) {
        d.fill([0.0; LANES]);
        for (l, i) in (first..nodes.end.min(first + LANES)).enumerate() {
            if let Some(block) = a.pattern().find(i, i).map(|k| a.value(k)) {
                (0..size)
                    .for_each(|e| d[e][l] = 0.5 * (block[e].as_f64() + block[e % b * b + e / b].as_f64()));
            }
        }
        block::inverse_root(b, &mut d, &mut q, &mut root);
        for (l, out) in out.chunks_exact_mut(size).enumerate() {
            out.iter_mut().zip(&root).for_each(|(out, root)| *out = root[l]);
        }
    }
}

/// The radii of the blocks in some rows, from the inverse roots of all nodes.
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
                (left[e][l], m[e][l], right[e][l]) = (ri[e], block[e].as_f64(), rj[e]);
            }
        }
        let radius = block::spectral_radius(b, &left, &mut m, &right, &mut square);
        out.iter_mut().zip(radius).for_each(|(w, r)| *w = weight(r));
    }
}
