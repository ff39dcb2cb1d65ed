//! Y = A X for several vectors. Each leaf of rows of A is read from memory for the first vectors and from the
//! cache for all others.

use std::ops::Range;

use coarsen_core::parallel::{self, Shared, each};
use coarsen_core::simd::{self, Kernel, Pack, Set};
use coarsen_core::{Real, compiled};

use super::Bsr;
use super::row::row_product_of;

/// The number of vectors per pass over A.
const TOGETHER: usize = 8;

/// The number of vectors that share the loads of a block: their sums fill twelve registers.
const GROUP: usize = 4;

compiled!(MANY: Many<T, V> = fn(&Bsr<T>, &[Vec<V>], &mut [Vec<V>]), many);

impl<T: Real> Bsr<T> {
    /// yⱼ = A xⱼ for all j, with the same bits as separate products.
    ///
    /// *Cost* one pass over A for up to eight vectors. *Panics* on a wrong length, or if there are not as
    /// many y as x.
    pub(crate) fn multiply_many<V: Real>(&self, x: &[Vec<V>], y: &mut [Vec<V>]) {
        assert_eq!(x.len(), y.len(), "apply_many: vectors");
        x.iter().zip(&*y).for_each(|(x, y)| self.assert_fits(x, y));
        for (x, y) in x.chunks(TOGETHER).zip(y.chunks_mut(TOGETHER)) {
            MANY.of::<Many<T, V>>()(self, x, y);
        }
    }
}

fn many<T: Real, V: Real>(a: &Bsr<T>, x: &[Vec<V>], y: &mut [Vec<V>]) {
    let height = a.block.0;
    let mut columns = y.iter_mut().map(|y| Shared::new(&mut y[..]));
    let y: [Option<Shared<'_, V>>; TOGETHER] = std::array::from_fn(|_| columns.next());
    let leaf = |rows: Range<usize>| {
        let shared = if GroupProducts::<T, V>::has_kernel(a.block) { x.len() / GROUP * GROUP } else { 0 };
        for k in (0..shared).step_by(GROUP) {
            simd::run(GroupProducts { a, rows: rows.clone(), x: &x[k..k + GROUP], y: &y[k..k + GROUP] });
        }
        for (x, y) in x.iter().zip(y.iter().flatten()).skip(shared) {
            let (from, length) = (rows.start * height, rows.len() * height);
            // SAFETY: y has as many entries as A has rows (asserted by the caller), and leaves are disjoint
            // ranges of rows.
            let y = unsafe { std::slice::from_raw_parts_mut(y.get().add(from), length) };
            a.multiply_rows(rows.clone(), x, y);
        }
    };
    each(0..a.pattern.rows(), a.leaf_rows(), parallel::worth_product(x.len() * a.nnz()), &leaf);
}

/// Multiplies some block rows with vectors that share the loads of A.
struct GroupProducts<'a, T, V> {
    a: &'a Bsr<T>,
    rows: Range<usize>,
    x: &'a [Vec<V>],
    y: &'a [Option<Shared<'a, V>>],
}

impl<T: Real, V: Real> GroupProducts<'_, T, V> {
    fn has_kernel(block: (usize, usize)) -> bool {
        [(2, 2), (3, 3)].contains(&block)
    }

    #[inline(always)]
    fn fixed<I: Set<V>, P: Pack<V, Set = I>, const R: usize, const C: usize>(self, set: I) {
        let pattern = self.a.pattern();
        let [n, m] = [pattern.columns() * C, pattern.rows() * R];
        let (mut x, mut y) = ([std::ptr::null(); GROUP], [std::ptr::null_mut(); GROUP]);
        assert!(self.a.block == (R, C) && self.x.len() == GROUP && self.y.len() == GROUP);
        for k in 0..GROUP {
            assert!(self.x[k].len() == n && self.y[k].is_some_and(|y| y.size() == m));
            x[k] = self.x[k].as_ptr();
            y[k] = self.y[k].map_or(std::ptr::null_mut(), Shared::get);
        }
        for i in self.rows {
            let range = pattern.range(i);
            // SAFETY: columns increase and are below pattern.columns() (Pattern::new), so C j + C ≤ n, and there are
            // R C values for each (Bsr::new). y has R numbers for row i, and no other thread writes them.
            unsafe {
                let values = self.a.values.as_ptr().add(range.start * R * C);
                let columns = pattern.indices().get_unchecked(range);
                let sums = row_product_of::<V, T, I, P, R, C, GROUP, true>(set, values, columns, x);
                for k in 0..GROUP {
                    for r in 0..R {
                        *y[k].add(i * R + r) = sums[k][r];
                    }
                }
            }
        }
    }
}

impl<T: Real, V: Real> Kernel<V> for GroupProducts<'_, T, V> {
    type Output = ();

    #[inline(always)]
    fn run<I: Set<V>>(self, set: I) {
        match self.a.block {
            (2, 2) => self.fixed::<I, I::Four, 2, 2>(set),
            _ => self.fixed::<I, I::Four, 3, 3>(set),
        }
    }
}
