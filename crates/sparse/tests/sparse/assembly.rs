//! Assembly from triplets and blocks.

use coarsen_core::parallel;
use coarsen_sparse::SparseError;
use coarsen_sparse::assembly::{from_blocks, from_triplets, from_triplets_blocked};

#[test]
fn duplicates_are_summed_in_order() {
    let entries = [(1, 1, 1e16), (0, 0, 4.0), (1, 1, 1.0), (1, 0, 2.0), (1, 1, -1e16)];
    let a = from_triplets(2, 2, &entries).unwrap();
    assert_eq!(a.pattern().indices(), [0, 0, 1]);
    assert_eq!(a.values(), [4.0, 2.0, (1e16 + 1.0) - 1e16]);
}

#[test]
fn blocks_agree_with_scalars() {
    let entries: Vec<(u32, u32, f64)> =
        (0..200_u32).map(|k| (k * 7 % 12, k * 5 % 18, f64::from(k))).collect();
    let scalar = from_triplets(12, 18, &entries).unwrap();
    let blocked = from_triplets_blocked(12, 18, (2, 3), &entries).unwrap();
    for i in 0..12 {
        for j in 0..18 {
            assert_eq!(scalar.get(i, j), blocked.get(i, j));
        }
    }
}

#[test]
fn entries_outside_are_named() {
    let row = from_triplets(2, 2, &[(0, 0, 1.0), (2, 0, 1.0)]).unwrap_err();
    assert_eq!(row, SparseError::Row { entry: 1, row: 2, rows: 2 });
    let column = from_triplets(2, 2, &[(1, 5, 1.0)]).unwrap_err();
    assert_eq!(column, SparseError::Column { row: 1, column: 5, columns: 2 });
    assert!(from_triplets_blocked(3, 4, (2, 2), &[(0, 0, 1.0)]).is_err());
    assert!(from_blocks((1, 1), (2, 2), &[(0, 0)], &[1.0]).is_err());
}

/// Streams of blocks and of their scalars give the same matrix, with the size in the unit of their positions.
#[test]
fn sizes_count_what_positions_count() {
    let places = [(0, 0), (1, 1), (2, 2), (3, 3), (1, 2)];
    let values: Vec<f64> = (0..45).map(|k| f64::from(k % 7)).collect();
    let scalars: Vec<(u32, u32, f64)> = places
        .iter()
        .zip(values.chunks_exact(9))
        .flat_map(|(&(i, j), block)| {
            (0..3).flat_map(move |p| (0..3).map(move |q| (3 * i + p, 3 * j + q, (p, q), block)))
        })
        .map(|(i, j, (p, q), block)| (i, j, block[(3 * p + q) as usize]))
        .collect();
    let blocks = from_blocks((4, 4), (3, 3), &places, &values).unwrap();
    assert_eq!(blocks, from_triplets_blocked(12, 12, (3, 3), &scalars).unwrap());
    assert_eq!(blocks.shape(), (12, 12));
    let of_nodes = from_triplets_blocked(4, 4, (3, 3), &scalars);
    assert!(matches!(of_nodes, Err(SparseError::BlockSize { rows: 4, .. })));
    let of_nodes = from_blocks((2, 2), (3, 3), &places, &values);
    assert_eq!(of_nodes, Err(SparseError::Row { entry: 2, row: 2, rows: 2 }));
}

#[test]
fn gigantic_blocks_are_refused() {
    let side = 1 << 32;
    let blocked = from_triplets_blocked(side, side, (side, side), &[(0, 0, 1.0)]);
    assert!(matches!(blocked, Err(SparseError::TooLarge { .. })));
    let none = from_triplets_blocked(0, 0, (side, 1), &[(0, 0, 1.0)]);
    assert!(matches!(none, Err(SparseError::TooLarge { .. })));
    for block in [(usize::MAX, 2), (side, side)] {
        assert!(matches!(from_blocks::<f64>((0, 0), block, &[], &[]), Err(SparseError::TooLarge { .. })));
    }
    let wide = from_blocks::<f64>((1, 1), (side - 1, side - 1), &[(0, 0); 3], &[]);
    assert!(matches!(wide, Err(SparseError::Length { .. })));
}

#[test]
fn threads_do_not_change_bits() {
    let n = 20_000_u32;
    let entries: Vec<(u32, u32, f64)> =
        (0..20 * n).map(|k| (k.wrapping_mul(2_654_435_761) % n, k % 97, f64::from(k).sin())).collect();
    let one = parallel::threads(1, || from_triplets(n as usize, 97, &entries).unwrap()).unwrap();
    let seven = parallel::threads(7, || from_triplets(n as usize, 97, &entries).unwrap()).unwrap();
    assert_eq!(one, seven);
}
