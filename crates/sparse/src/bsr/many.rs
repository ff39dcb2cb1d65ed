//! Y = A X for several vectors. Each leaf of rows of A is read from memory for the first vector and from the
//! cache for all others.

use std::ops::Range;

use coarsen_core::parallel::{self, Shared, each};
use coarsen_core::{Real, compiled};

use super::Bsr;

/// The number of vectors per pass over A.
const TOGETHER: usize = 8;

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
        for (x, y) in x.iter().zip(y.iter().flatten()) {
            let (from, length) = (rows.start * height, rows.len() * height);
            // SAFETY: y has as many entries as A has rows (asserted by the caller), and leaves are disjoint
            // ranges of rows.
            let y = unsafe { std::slice::from_raw_parts_mut(y.get().add(from), length) };
            a.multiply_rows(rows.clone(), x, y);
        }
    };
    each(0..a.pattern.rows(), a.leaf_rows(), parallel::worth_product(x.len() * a.nnz()), &leaf);
}
