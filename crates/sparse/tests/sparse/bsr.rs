//! Block matrices: products, sums, diagonals.

use std::sync::Arc;

use coarsen_core::{LinearOperator, parallel};
use coarsen_sparse::{Bsr, COLUMNS, Pattern, SparseError};

use crate::random;

#[test]
fn diagonals_are_copied_whatever_the_blocks() {
    for (rows, columns, block) in [(5, 5, (1, 1)), (4, 7, (3, 3)), (7, 4, (2, 2)), (6, 4, (2, 3))] {
        let a = random::matrix(rows, columns, block, 2, 5); // some diagonal blocks are missing
        let n = a.shape().0.min(a.shape().1);
        let expected: Vec<f64> = (0..n).map(|i| a.get(i, i)).collect();
        assert_eq!(a.diagonal(), expected, "{rows} x {columns}");
    }
}

#[test]
fn diagonals_are_added_to_stored_blocks() {
    for block in [(1, 1), (3, 3)] {
        let mut a = random::matrix(5, 5, block, 2, 5); // some diagonal blocks are missing
        let (before, b) = (a.clone(), block.0);
        let stored: Vec<bool> = (0..5).map(|i| a.pattern().find(i, i).is_some()).collect();
        let d: Vec<f64> = stored.iter().zip(1..).map(|(&s, i)| if s { f64::from(i) } else { 0.0 }).collect();
        a.add_diagonal(&d).unwrap();
        for (i, j) in (0..5 * b).flat_map(|i| (0..5 * b).map(move |j| (i, j))) {
            let added = if i == j { d[i / b] } else { 0.0 };
            assert_eq!(a.get(i, j), before.get(i, j) + added);
        }
        let missing = stored.iter().position(|s| !s).unwrap();
        let mut same = before.clone();
        assert_eq!(same.add_diagonal(&[1.0; 5]), Err(SparseError::NoDiagonal { node: missing }));
        assert!(matches!(
            same.add_diagonal(&[1.0; 4]),
            Err(SparseError::Length { expected: 5, found: 4, .. })
        ));
        assert_eq!(same, before);
    }
    let wide = random::matrix(4, 4, (2, 3), 2, 5);
    assert!(matches!(wide.clone().add_diagonal(&[1.0; 4]), Err(SparseError::BlockSize { .. })));
}

#[test]
fn parts_must_fit() {
    let p = Arc::new(Pattern::diagonal(2).unwrap());
    assert!(matches!(
        Bsr::new(p.clone(), (2, 2), vec![0.0; 7]),
        Err(SparseError::Length { expected: 8, .. })
    ));
    assert!(matches!(Bsr::<f64>::new(p.clone(), (0, 2), vec![]), Err(SparseError::BlockSize { .. })));
    for block in [(1 << 40, 1), (1, usize::MAX), (usize::MAX, usize::MAX), (1 << 31, 1 << 31)] {
        assert!(matches!(Bsr::<f64>::new(p.clone(), block, vec![]), Err(SparseError::TooLarge { .. })));
        assert!(matches!(Bsr::<f64>::zeros(p.clone(), block), Err(SparseError::TooLarge { .. })));
    }
    let none = Arc::new(Pattern::new(0, vec![0], vec![]).unwrap());
    let huge = Bsr::<f64>::zeros(none, (usize::MAX, usize::MAX));
    assert!(matches!(huge, Err(SparseError::TooLarge { .. })));
}

/// Compares A x with plain loops, for block sizes with and without special kernels.
#[test]
fn products_equal_plain_loops() {
    let blocks =
        [(1, 1), (2, 2), (3, 3), (3, 6), (6, 3), (6, 6), (3, 12), (12, 3), (12, 12), (5, 4), (13, 2)];
    for (seed, block) in (1..).zip(blocks) {
        let a = random::matrix(70, 50, block, 4, seed);
        let (m, n) = a.shape();
        let (x, b) = (random::vector(n, seed + 50), random::vector(m, seed + 90));
        let mut expected = vec![0.0; m];
        for i in 0..70 {
            for (j, values) in a.row(i) {
                for (at, v) in values.iter().enumerate() {
                    expected[i * block.0 + at / block.1] += v * x[j * block.1 + at % block.1];
                }
            }
        }
        let close = |y: &[f64], expected: &[f64], tolerance: f64| {
            assert!(y.iter().zip(expected).all(|(y, e)| (y - e).abs() < tolerance), "{block:?}");
        };
        let (mut y, mut r) = (vec![f64::NAN; m], vec![f64::NAN; m]);
        a.apply(&x, &mut y);
        close(&y, &expected, 1e-13);
        a.residual(&b, &x, &mut r);
        close(&r, &b.iter().zip(&expected).map(|(b, y)| b - y).collect::<Vec<_>>(), 1e-13);
        a.to::<f32>().apply(&x, &mut y);
        close(&y, &expected, 1e-5);
        let (short, mut single) = (x.iter().map(|&v| v as f32).collect(), vec![0.0_f32; m]);
        a.apply(&short, &mut single);
        close(&single.iter().map(|&v| f64::from(v)).collect::<Vec<_>>(), &expected, 1e-4);
    }
}

/// Rows of at most four entries are computed without a branch on their length, with what follows them in memory.
#[test]
fn rows_of_a_few_entries_do_not_read_their_neighbours() {
    let lengths = [0, 1, 2, 3, 4, 5, 1, 0, 2, 9, 1, 3, 1];
    let offsets: Vec<usize> = (0..=lengths.len()).map(|rows| lengths[..rows].iter().sum()).collect();
    let indices = lengths.iter().flat_map(|&length| (0..length as u32).map(|k| 2 * k + 1)).collect();
    let p = Arc::new(Pattern::new(18, offsets.clone(), indices).unwrap());
    let values: Vec<f64> = (1..=p.len()).map(|k| 1.0 / k as f64).collect();
    let x: Vec<f64> = (0..18).map(|j| (j as f64).sin()).collect();
    let a = Bsr::new(p.clone(), (1, 1), values.clone()).unwrap();
    let mut ax = vec![0.0; lengths.len()];
    a.apply(&x, &mut ax);
    for (i, ax) in ax.iter().enumerate() {
        let terms = p.range(i).zip(p.row(i)).map(|(k, &j)| values[k] * x[j as usize]);
        let exact: f64 = terms.sum();
        assert!((ax - exact).abs() <= 1e-15, "row {i}: {ax}, expected {exact}");
    }
    for other in (0..lengths.len()).filter(|&i| lengths[i] > 0) {
        let mut bad = values.clone();
        bad[offsets[other]..offsets[other + 1]].fill(f64::NAN);
        let mut found = ax.clone();
        Bsr::new(p.clone(), (1, 1), bad).unwrap().apply(&x, &mut found);
        (0..lengths.len()).for_each(|i| match i == other {
            true => assert!(found[i].is_nan()),
            false => assert_eq!(found[i].to_bits(), ax[i].to_bits(), "row {i} beside row {other}"),
        });
    }
    let (mut x, mut found) = (x, ax.clone());
    x[9] = f64::INFINITY; // a column of the longer rows only
    a.apply(&x, &mut found);
    for i in 0..lengths.len() {
        let reads = p.row(i).contains(&9);
        assert!(reads != found[i].is_finite(), "row {i} of {} entries", lengths[i]);
    }
}

#[test]
fn threads_do_not_change_bits() {
    let a = random::matrix(9000, 9000, (3, 3), 5, 3);
    let (x, b) = (random::vector(27_000, 1), random::vector(27_000, 2));
    let run = || {
        let (mut y, mut r) = (vec![0.0; 27_000], vec![0.0; 27_000]);
        let dot = a.apply_dot(&x, &mut y);
        a.residual(&b, &x, &mut r);
        assert!(parallel::worth_product(a.nnz()) || rayon::current_num_threads() == 1);
        (y, dot, r)
    };
    crate::same_bits(run);
}

#[test]
fn entries_are_found_and_nan_is_located() {
    let mut a = Bsr::<f64>::identity(3, 2).unwrap();
    assert_eq!((a.shape(), a.nnz(), a.get(3, 3), a.get(3, 2), a.get(0, 5)), ((6, 6), 12, 1.0, 0.0, 0.0));
    assert_eq!(a.diagonal(), [1.0; 6]);
    a.values_mut()[6] = f64::NAN;
    assert_eq!(a.check_finite(), Err(SparseError::NotFinite { row: 3, column: 2 }));
}

#[test]
fn each_column_is_a_product() {
    for (seed, block) in (1..).zip([(1, 1), (3, 3), (6, 6), (3, 6), (2, 5)]) {
        let a = random::matrix(20, 30, block, 4, seed);
        let (m, n) = a.shape();
        for k in [1, 2, 3, 4, 5, 6, 7, 8, 9, 17] {
            let x = random::vector(n * k, seed);
            let mut y = vec![f64::NAN; m * k];
            a.apply_columns(k, &x, &mut y);
            for c in 0..k {
                let mut expected = vec![0.0; m];
                a.apply(&x.iter().copied().skip(c).step_by(k).collect(), &mut expected);
                let found = y.iter().skip(c).step_by(k);
                assert!(found.zip(&expected).all(|(f, e)| (f - e).abs() < 1e-12), "{block:?} {k} {c}");
            }
        }
    }
}

#[test]
fn threads_and_neighbours_do_not_change_bits() {
    let a = random::matrix(3000, 3000, (3, 3), 6, 4);
    let x = random::vector(9000 * 5, 1);
    let run = |k: usize, x: &[f64]| {
        let mut y = vec![0.0; 9000 * k];
        a.apply_columns(k, x, &mut y);
        y
    };
    let one = parallel::threads(1, || run(5, &x)).unwrap();
    for n in [2, 7] {
        assert_eq!(one, parallel::threads(n, || run(5, &x)).unwrap());
    }
    let third: Vec<f64> = x.iter().copied().skip(2).step_by(5).collect();
    assert!(run(1, &third).iter().eq(one.iter().skip(2).step_by(5)));
}

#[test]
fn no_columns_are_no_work() {
    Bsr::<f64>::identity(2, 2).unwrap().apply_columns::<f64>(0, &[], &mut []);
}

#[test]
fn several_products_at_once_have_the_bits_of_single_ones() {
    for (b, n) in [(1, 5000), (3, 2000), (2, 300), (5, 40), (2, 0)] {
        let a = random::matrix(n, n, (b, b), 12, 7);
        for k in [0, 1, 3, 8, 11] {
            let x: Vec<Vec<f64>> = (0..k).map(|j| random::vector(b * n, j as u64)).collect();
            let (mut one, mut all) = (vec![vec![0.0; b * n]; k], vec![vec![1.0; b * n]; k]);
            x.iter().zip(&mut one).for_each(|(x, y)| a.apply(x, y));
            for threads in [1, 2, 7] {
                parallel::threads(threads, || a.apply_many(&x, &mut all)).unwrap();
                assert_eq!(one, all, "{k} vectors, {threads} threads");
            }
        }
    }
}

#[test]
fn interleaved_columns_have_the_results_of_single_ones() {
    for block in [(1, 1), (2, 2), (3, 3), (3, 6), (6, 3), (6, 6), (2, 3), (5, 5)] {
        for (rows, columns) in [(0, 0), (1, 1), (700, 300)] {
            let a = random::matrix(rows, columns, block, 7, 3);
            let (m, n) = a.shape();
            let x: Vec<f64> = random::vector(COLUMNS * n, 5);
            let column = |v: &[f64], c: usize| v.iter().copied().skip(c).step_by(COLUMNS).collect::<Vec<_>>();
            let mut all = vec![f64::NAN; COLUMNS * m];
            a.row_products(0..rows, &x, &mut |at, ax| all[at..at + ax.len()].copy_from_slice(ax));
            for c in 0..COLUMNS {
                let mut one = vec![0.0; m];
                a.apply(&column(&x, c), &mut one);
                let mut pairs = one.iter().zip(column(&all, c));
                assert!(pairs.all(|(one, all)| (one - all).abs() < 1e-12), "{block:?}, {rows}: {c}");
            }
        }
    }
}

/// The vectors of a 3D grid that was refined once have eight times the length.
#[test]
fn products_refuse_vectors_of_eight_times_the_length() {
    let a = random::matrix(4, 4, (1, 1), 2, 1);
    let x = vec![1.0; 4 * COLUMNS];
    let refused = |product: &dyn Fn(&mut Vec<f64>)| {
        let product = std::panic::AssertUnwindSafe(|| product(&mut x.clone()));
        assert!(std::panic::catch_unwind(product).is_err());
    };
    refused(&|y| a.apply(&x, y));
    refused(&|y| a.residual(&x, &x, y));
    refused(&|y| a.apply_add(1.0, &x, 0.0, y));
    refused(&|y| _ = a.apply_dot(&x, y));
}

#[test]
fn sums_are_those_of_the_entries() {
    for block in [(1, 1), (3, 3), (2, 3)] {
        let [a, b] = [1, 2].map(|seed| random::matrix(40, 30, block, 3, seed));
        for (p, q) in [(&a, &b), (&b, &a), (&a, &a)] {
            let sum = p + q;
            let (rows, columns) = sum.shape();
            assert!((0..rows).all(|i| (0..columns).all(|j| sum.get(i, j) == p.get(i, j) + q.get(i, j))));
            let x: Vec<f64> = (0..columns).map(|j| j as f64 - 7.0).collect();
            let formula = |i: usize| (0..columns).map(|j| sum.get(i, j) * x[j]).sum::<f64>();
            let product = &sum * &x;
            assert!((0..rows).all(|i| (product[i] - formula(i)).abs() < 1e-12 * (1.0 + formula(i).abs())));
        }
    }
}

#[test]
#[should_panic(expected = "A + B")]
fn sums_of_other_shapes_are_refused() {
    _ = &random::matrix(4, 3, (1, 1), 2, 1) + &random::matrix(3, 4, (1, 1), 2, 1);
}
