//! Between vectors and the columns of one vector that interleaves them.

use std::ops::Range;

use coarsen_core::parallel::{self, Groups, Shared, each};
use coarsen_core::{Real, compiled};
use coarsen_sparse::COLUMNS;

/// The number of entries per task: a hundred kilobytes of all columns.
const LEAF: usize = 1024;

/// The number of columns that a vector interleaves if each has n entries: 8 for a length of 8 n, otherwise 1.
pub(crate) fn columns_of<V>(x: &[V], n: usize) -> usize {
    if x.len() != n && x.len() == n * COLUMNS { COLUMNS } else { 1 }
}

/// Writes at most eight columns, each multiplied by its factor and rounded, to the one vector that
/// [interleaves](COLUMNS) them. The columns that are missing become zero.
///
/// *Use* for vectors of a [`Cpu`](crate::Cpu); factors of 1 copy. *Cost* one pass over all columns. *Panics* on a wrong
/// length.
///
/// ```
/// use coarsen_backend::{interleave, separate};
/// let (mut both, mut back) = (vec![0.0_f32; 16], [vec![0.0; 2], vec![0.0; 2]]);
/// interleave(&[vec![1.0, 2.0], vec![3.0, 4.0]], [0.5; 8], &mut both);
/// assert_eq!(both[8..11], [1.0, 2.0, 0.0]); // the second entry of each column
/// separate(&both, [2.0; 8], &mut back);
/// assert_eq!(back, [[1.0, 2.0], [3.0, 4.0]]);
/// ```
pub fn interleave<V: Real, U: Real>(columns: &[Vec<V>], factors: [f64; COLUMNS], to: &mut [U]) {
    let fits = |column: &Vec<V>| column.len() * COLUMNS == to.len();
    assert!(columns.len() <= COLUMNS && columns.iter().all(fits), "interleave: lengths");
    INTERLEAVE.of::<Interleave<V, U>>()(columns, factors, to);
}

/// Computes the columns from the vector that [`interleave`]s them, each multiplied by its factor and rounded. *Panics*
/// on a wrong length.
pub fn separate<U: Real, V: Real>(from: &[U], factors: [f64; COLUMNS], columns: &mut [Vec<V>]) {
    let fits = |column: &Vec<V>| column.len() * COLUMNS == from.len();
    assert!(columns.len() <= COLUMNS && columns.iter().all(fits), "separate: lengths");
    SEPARATE.of::<Separate<U, V>>()(from, factors, columns);
}

compiled!(INTERLEAVE: Interleave<V, U> = fn(&[Vec<V>], [f64; COLUMNS], &mut [U]), interleave_columns);

fn interleave_columns<V: Real, U: Real>(columns: &[Vec<V>], factors: [f64; COLUMNS], to: &mut [U]) {
    let (n, worth) = (to.len() / COLUMNS, parallel::worth(to.len()));
    let leaf = |(rows, to): (Range<usize>, Groups<&mut [U]>)| {
        let (to, _) = to.0.as_chunks_mut::<COLUMNS>();
        if columns.len() < COLUMNS {
            to.fill([U::zero(); COLUMNS]);
        }
        for (c, (column, factor)) in columns.iter().zip(factors).enumerate() {
            for (to, v) in to.iter_mut().zip(&column[rows.clone()]) {
                to[c] = U::from_f64(v.as_f64() * factor);
            }
        }
    };
    each((0..n, Groups(to, COLUMNS)), LEAF, worth, &leaf);
}

compiled!(SEPARATE: Separate<U, V> = fn(&[U], [f64; COLUMNS], &mut [Vec<V>]), separate_columns);

fn separate_columns<U: Real, V: Real>(from: &[U], factors: [f64; COLUMNS], columns: &mut [Vec<V>]) {
    let (n, worth) = (from.len() / COLUMNS, parallel::worth(from.len()));
    let mut shared = columns.iter_mut().map(|column| Shared::new(&mut column[..]));
    let columns: [Option<Shared<'_, V>>; COLUMNS] = std::array::from_fn(|_| shared.next());
    let leaf = |(rows, from): (Range<usize>, Groups<&[U]>)| {
        let (from, _) = from.0.as_chunks::<COLUMNS>();
        for (c, (column, factor)) in columns.iter().flatten().zip(factors).enumerate() {
            // SAFETY: each column has n entries (asserted by the caller), and leaves are disjoint ranges of them.
            let column = unsafe { std::slice::from_raw_parts_mut(column.get().add(rows.start), rows.len()) };
            for (to, from) in column.iter_mut().zip(from) {
                *to = V::from_f64(from[c].as_f64() * factor);
            }
        }
    };
    each((0..n, Groups(from, COLUMNS)), LEAF, worth, &leaf);
}
