//! Properties of matrices and graphs, compared with plain loops over scalars.

use coarsen_core::LinearOperator;
use coarsen_sparse::{Bsr, Contacts, NearKernel, Pattern, Sum, assembly};

/// A block matrix with the nonzero entries of `rows`.
fn blocks<const N: usize>(rows: [[f64; N]; N], b: usize) -> Bsr<f64> {
    let entries: Vec<(u32, u32, f64)> = (0..N * N)
        .map(|at| ((at / N) as u32, (at % N) as u32, rows[at / N][at % N]))
        .filter(|e| e.2 != 0.0)
        .collect();
    assembly::from_triplets_blocked(N, N, (b, b), &entries).unwrap()
}

#[test]
fn bytes_are_those_of_values_columns_and_offsets() {
    let places = [(0, 1), (0, 4), (2, 2)];
    let a = assembly::from_blocks((3, 5), (2, 3), &places, &[1.5_f32; 18]).unwrap();
    assert_eq!(a.bytes(), 18 * 4 + 3 * 4 + 4 * 8);
    assert_eq!(a.to::<f64>().bytes(), 18 * 8 + 3 * 4 + 4 * 8);
}

#[test]
fn a_pattern_is_empty_where_nothing_is_stored() {
    let none = Pattern::new(3, vec![0, 0, 0], vec![]).unwrap();
    let some = Pattern::new(3, vec![0, 0, 1], vec![2]).unwrap();
    assert_eq!((none.is_empty(), none.len(), none.rows()), (true, 0, 2));
    assert_eq!((some.is_empty(), some.len(), some.rows()), (false, 1, 2));
}

/// Two entries may differ by a fraction of the geometric mean of the two diagonal entries.
#[test]
fn the_first_pair_that_differs_is_named() {
    let pair = |rows: [[f64; 3]; 3]| blocks(rows, 1).asymmetric_pair(1e-8);
    let [small, large] = [1e-7, 1e-4];
    assert_eq!(pair([[100.0, small, 0.0], [2.0 * small, 100.0, 1.0], [0.0, 2.0, 100.0]]), Some((1, 2)));
    assert_eq!(pair([[100.0, small, 0.0], [2.0 * small, 100.0, 1.0], [0.0, 1.0, 100.0]]), None);
    assert_eq!(pair([[100.0, large, 0.0], [2.0 * large, 100.0, 1.0], [0.0, 1.0, 100.0]]), Some((0, 1)));
    // The geometric mean of 100 and 1e-2 is 1.
    assert_eq!(pair([[100.0, small, 0.0], [2.0 * small, 1e-2, 0.0], [0.0, 0.0, 1.0]]), Some((0, 1)));
    assert_eq!(pair([[100.0, 1e-9, 0.0], [2e-9, 1e-2, 0.0], [0.0, 0.0, 1.0]]), None);
}

/// Every entry of a block is compared with the transposed block.
#[test]
fn every_entry_of_a_block_counts() {
    let symmetric = [[9.0, 1.0, 1.0, 2.0], [1.0, 9.0, 5.0, 7.0], [1.0, 5.0, 9.0, 3.0], [2.0, 7.0, 3.0, 9.0]];
    for b in [1, 2, 4] {
        assert_eq!(blocks(symmetric, b).asymmetric_pair(1e-8), None);
        for (i, j) in (0..4).flat_map(|i| (0..i).map(move |j| (i, j))) {
            let mut rows = symmetric;
            rows[i][j] += 0.25;
            let found = blocks(rows, b).asymmetric_pair(1e-8).unwrap();
            assert_eq!((found.0.min(found.1), found.0.max(found.1)), (j, i), "blocks of {b}");
        }
    }
    let halves = [[9.0, 0.0, 1.0, 2.0], [0.0, 9.0, 5.0, 7.0], [1.0, 1.0, 9.0, 0.0], [2.0, 2.0, 0.0, 9.0]];
    for b in [1, 2, 4] {
        let (i, j) = blocks(halves, b).asymmetric_pair(1e-8).unwrap();
        assert!(halves[i][j] != halves[j][i], "blocks of {b}: ({i}, {j})");
    }
}

#[test]
fn a_sum_has_the_shape_of_its_parts() {
    let a = Bsr::<f64>::identity(4, 3).unwrap();
    let contact = Contacts::new(4, 3).unwrap();
    let sum = Sum { elastic: &a, contact: &contact };
    assert_eq!(LinearOperator::<Vec<f64>>::shape(&sum), (12, 12));
}

#[test]
fn vectors_of_another_length_are_refused() {
    let a = blocks([[2.0, 1.0], [1.0, 2.0]], 1);
    for (m, n) in [(1, 2), (2, 1), (3, 2), (2, 3)] {
        let met = std::panic::catch_unwind(|| a.apply(&vec![1.0; n], &mut vec![0.0; m]));
        assert!(met.is_err(), "x of {n} and y of {m}");
    }
}

/// ‖A b‖ / ‖|A| |b|‖ of each column, compared with plain loops.
#[test]
fn near_kernel_quality_equals_plain_loops() {
    let rows = [[2.0, -1.0, 0.5], [-1.0, 3.0, -0.25], [0.5, -0.25, 1.0]];
    let columns = [[1.0, 2.0, 3.0], [0.5, -1.0, 0.0]];
    let kernel = NearKernel::from_columns(&columns.each_ref().map(|c| &c[..])).unwrap();
    let quality = kernel.quality(&blocks(rows, 1)).unwrap();
    for (column, quality) in columns.iter().zip(&quality) {
        let square = |f: fn(f64) -> f64| -> f64 {
            let row = |row: &[f64; 3]| row.iter().zip(column).map(|(a, b)| f(a * b)).sum::<f64>().powi(2);
            rows.iter().map(row).sum()
        };
        assert!((quality.all - (square(|v| v) / square(f64::abs)).sqrt()).abs() < 1e-14);
        assert_eq!(quality.free, None);
    }
}
