//! The algorithm for blocks of P of the form w ⊗ I_d or I_d. Products cost a factor d less than with full
//! blocks.
//!
//! | symbol | what |
//! |---|---|
//! | Q_iJ | Σⱼ w_jJ ⊗ A_ij, d x (m d) |
//! | (A_c)_IJ | Σᵢ w_iIᵀ ⊗ Q_iJ, (m d) x (m d) |
//!
//! The d rows of a block are summed weight by weight. For each weight, the d x d numbers of a block of A are
//! consecutive, so that the inner loops are long. For 3 x 3 blocks and 4 weights, the 4 weights of a number of
//! A are consecutive instead and fill a pack. A finished coarse row is then brought into row-major order.
//!
//! In skinning, m = 4 and w is a weight times X, the homogeneous rest position (x, y, z, 1). If the weights
//! are 1, fine nodes i and j contribute (X_i X_jᵀ) ⊗ A_ij: Xian, Tong & Liu 2019, §4.2.

use coarsen_core::Real;
use coarsen_core::simd::{Pack, Set};

use super::blocks::{Four, Twelve, Width, whole};
use super::loops::Loops;
use crate::product::sums::RowSums;
use crate::{Bsr, ProlongationRef};

/// Weight by weight, for `D` unknowns per fine node; `D` = 0 stands for any number.
pub(super) struct ByWeight<'a, T, const D: usize>(pub(super) ProlongationRef<'a, T>);

impl<T: Real, const D: usize> ByWeight<'_, T, D> {
    /// d and k.
    #[inline(always)]
    fn block(&self) -> (usize, usize) {
        let (d, k) = self.0.block;
        (if D == 0 { d } else { D }, k)
    }
}

impl<T: Real, const D: usize> Loops<T> for ByWeight<'_, T, D> {
    #[inline(always)]
    fn sizes<S: Set<T>>(&self) -> [usize; 2] {
        let (d, k) = self.block();
        [d * k, k * k]
    }

    #[inline(always)]
    fn of_p(&self, at: usize) -> &[T] {
        self.0.row_of_weights(at)
    }

    /// Q_iJ += w_jJ ⊗ A_ij for all j and J.
    #[inline(always)]
    fn row_of_q<S: Set<T>>(&self, _: S, a: &Bsr<T>, fine: usize, q: &mut RowSums<T>) {
        let (p, (d, k)) = (self.0, self.block());
        for (j, a) in a.row(fine) {
            for at in p.pattern.range(j) {
                let q = q.block(p.pattern.indices()[at], d * k);
                for (&w, q) in p.row_of_weights(at).iter().zip(q.chunks_exact_mut(d * d)) {
                    q.iter_mut().zip(&a[..d * d]).for_each(|(q, &a)| *q += w * a);
                }
            }
        }
    }

    /// (A_c)_IJ += wᵀ ⊗ Q_iJ; the d rows of each weight are consecutive.
    #[inline(always)]
    fn add_sum<S: Set<T>>(&self, _: S, weights: &[T], q: &[T], c: &mut [T]) {
        for (&w, c) in weights.iter().zip(c.chunks_exact_mut(q.len())) {
            c.iter_mut().zip(q).for_each(|(c, &q)| *c += w * q);
        }
    }

    #[inline(always)]
    fn in_order(&self, sums: &mut [T], scratch: &mut Vec<T>) {
        let (d, k) = self.block();
        if d == 1 || d == k {
            return;
        }
        scratch.resize(d * k, T::zero());
        for rows in sums.chunks_exact_mut(d * k) {
            scratch.copy_from_slice(rows);
            for (r, row) in rows.chunks_exact_mut(k).enumerate() {
                for (to, from) in row.chunks_exact_mut(d).zip(scratch.chunks_exact(d * d)) {
                    to.copy_from_slice(&from[r * d..(r + 1) * d]);
                }
            }
        }
    }
}

/// Number of A by number of A, each with its 4 weights: 3 unknowns per fine node.
pub(super) struct ByNumber<'a, T>(pub(super) ProlongationRef<'a, T>);

impl<T: Real> Loops<T> for ByNumber<'_, T> {
    #[inline(always)]
    fn sizes<S: Set<T>>(&self) -> [usize; 2] {
        [Q, C]
    }

    #[inline(always)]
    fn of_p(&self, at: usize) -> &[T] {
        self.0.row_of_weights(at)
    }

    /// Q_iJ stays in registers while the next neighbour has the same J.
    #[inline(always)]
    fn row_of_q<S: Set<T>>(&self, set: S, a: &Bsr<T>, fine: usize, q: &mut RowSums<T>) {
        type Row<T, S> = <Four as Width>::Pack<T, S>;
        let p = self.0;
        let (mut open, mut sums) = (None, [Row::<T, S>::zero(set); 9]);
        for (j, a) in a.row(fine) {
            let a = &a[..9];
            for at in p.pattern.range(j) {
                let column = p.pattern.indices()[at];
                if open != Some(column) {
                    if let Some(open) = open {
                        write(sums, q.block(open, Q));
                    }
                    sums = read(set, q.block(column, Q));
                    open = Some(column);
                }
                let w = whole::<T, Row<T, S>>(set, p.row_of_weights(at), 0);
                for (sum, &a) in sums.iter_mut().zip(a) {
                    *sum = Row::<T, S>::splat(set, a).mul_add(w, *sum);
                }
            }
        }
        if let Some(open) = open {
            write(sums, q.block(open, Q));
        }
    }

    #[inline(always)]
    fn add_sum<S: Set<T>>(&self, set: S, weights: &[T], q: &[T], c: &mut [T]) {
        add_affine(set, weights, q, c);
    }

    #[inline(always)]
    fn in_order(&self, sums: &mut [T], _: &mut Vec<T>) {
        affine_in_order(sums);
    }
}

/// The numbers of a block of Q and of A_c, from displacements to affine motions.
pub(super) const Q: usize = 36;
pub(super) const C: usize = 144;

/// (A_c)_IJ += w ⊗ Q_iJ, weight by weight.
#[inline(always)]
pub(super) fn add_affine<T: Real, S: Set<T>>(set: S, weights: &[T], q: &[T], c: &mut [T]) {
    type Third<T, S> = <Twelve as Width>::Pack<T, S>;
    let (weights, c) = (&weights[..4], &mut c[..C]);
    for third in 0..3 {
        let q: Third<T, S> = whole(set, q, third);
        for (m, &w) in weights.iter().enumerate() {
            let at = 3 * m + third;
            let sum = Third::<T, S>::splat(set, w).mul_add(q, whole(set, c, at));
            // SAFETY: C is 12 packs of 12 numbers, and `at` is less than 12.
            unsafe { sum.store(c.as_mut_ptr().add(12 * at)) };
        }
    }
}

/// Brings blocks of A_c, summed weight by weight, into row-major order.
#[inline(always)]
pub(super) fn affine_in_order<T: Real>(c: &mut [T]) {
    for rows in c.chunks_exact_mut(Q) {
        let mut from = [T::zero(); Q];
        from.copy_from_slice(rows);
        for r in 0..3 {
            for e in 0..12 {
                rows[12 * r + e] = from[4 * (3 * r + e % 3) + e / 3];
            }
        }
    }
}

/// The 9 packs of a block of Q.
#[inline(always)]
pub(super) fn read<T: Real, R: Pack<T>>(set: R::Set, q: &[T]) -> [R; 9] {
    let mut packs = [R::zero(set); 9];
    for (e, pack) in packs.iter_mut().enumerate() {
        *pack = whole(set, q, e);
    }
    packs
}

/// Writes the 9 packs of a block of Q.
#[inline(always)]
pub(super) fn write<T: Real, R: Pack<T>>(sums: [R; 9], q: &mut [T]) {
    let q = &mut q[..9 * R::LANES];
    for (e, sum) in sums.into_iter().enumerate() {
        // SAFETY: q has 9 packs, as cut above.
        unsafe { sum.store(q.as_mut_ptr().add(e * R::LANES)) };
    }
}
