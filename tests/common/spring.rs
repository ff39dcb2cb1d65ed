//! A contact for the tests of preconditioners, which gives a matrix another pattern.

use coarsen_sparse::Contacts;

/// A spring of a stiffness between two of n nodes, the same in all directions.
pub(crate) fn spring(n: usize, [i, j]: [u32; 2], stiffness: f64) -> Contacts<f64> {
    let mut contact = Contacts::new(n, 3).unwrap();
    let block = |sign: f64| (0..9).map(move |k| if k % 4 == 0 { sign * stiffness } else { 0.0 });
    let values: Vec<f64> = [1.0, -1.0, -1.0, 1.0].into_iter().flat_map(block).collect();
    contact.replace(&[(i, i), (i, j), (j, i), (j, j)], &values).unwrap();
    contact
}
