//! Morton codes and their order.

use coarsen_core::{Error, parallel};
use coarsen_sparse::morton::{codes, order, sort};

use crate::random;

fn random(n: usize) -> Vec<[f64; 3]> {
    random::vector(3 * n, 17).chunks_exact(3).map(|p| [p[0], 0.5 * p[1], 0.1 * p[2]]).collect()
}

/// A box of 2²⁰ cells of side 1, with points in the middle of cells.
#[test]
fn bits_are_interleaved() {
    let last = 0xf_ffff;
    let cells: Vec<[u64; 3]> =
        [0, 1, 0b1011, last, 0x5_4321].into_iter().flat_map(|v| [[v, 0, 0], [0, v, 0], [0, 0, v]]).collect();
    let middle = cells.iter().map(|cell| cell.map(|v| v as f64 + 0.5));
    let points: Vec<[f64; 3]> = [[0.0; 3], [f64::from(1 << 20); 3]].into_iter().chain(middle).collect();
    let slow = |v: u64| (0..20).fold(0, |code, bit| code | (((v >> bit) & 1) << (3 * bit)));
    let ends = [[0; 3], [last; 3]].into_iter();
    let expected: Vec<u64> =
        ends.chain(cells).map(|[x, y, z]| slow(x) | slow(y) << 1 | slow(z) << 2).collect();
    assert_eq!(codes(&points).unwrap(), expected);
}

#[test]
fn radix_order_is_the_stable_order() {
    let codes: Vec<u64> = (0..5000_u64).map(|i| ((i * i * 7919) % 701) << (i % 3 * 20)).collect();
    let mut expected: Vec<u32> = (0..5000).collect();
    expected.sort_by_key(|&i| codes[i as usize]);
    assert_eq!(sort(&codes), expected);
    assert_eq!(sort(&[u64::MAX, 5, 5]), [1, 2, 0]);
    assert!(sort(&[]).is_empty());
}

#[test]
fn the_curve_keeps_neighbours_near() {
    let points = random(4096);
    let order = order(&points).unwrap();
    let length = |order: &[u32]| -> f64 {
        let step = |w: &[u32]| {
            let (p, q) = (points[w[0] as usize], points[w[1] as usize]);
            (0..3).map(|a| (p[a] - q[a]).powi(2)).sum::<f64>().sqrt()
        };
        order.windows(2).map(step).sum()
    };
    let natural: Vec<u32> = (0..4096).collect();
    assert!(length(&order) < 0.15 * length(&natural));
}

#[test]
fn a_noisy_sheet_is_ordered_along_its_surface() {
    let sheet = |noise: f64| -> Vec<[f64; 3]> {
        let z = random::vector(4096, 3).into_iter().map(|z| z.abs() * noise);
        z.enumerate().map(|(i, z)| [(i % 64) as f64, (i / 64) as f64, z]).collect()
    };
    assert_eq!(order(&sheet(0.5)).unwrap(), order(&sheet(0.0)).unwrap());
}

#[test]
fn codes_do_not_depend_on_threads_or_scale() {
    let points = random(50_000);
    let one = parallel::threads(1, || codes(&points).unwrap()).unwrap();
    assert_eq!(one, parallel::threads(7, || codes(&points).unwrap()).unwrap());
    let larger: Vec<[f64; 3]> = points.iter().map(|p| p.map(|c| 8.0 * c)).collect();
    assert_eq!(one, codes(&larger).unwrap());
    assert!(one.iter().all(|c| c >> 60 == 0));
}

#[test]
fn bad_points_are_named() {
    let flat = [[0.0; 3], [0.0, 1.0, 0.0]];
    assert_eq!(order(&flat), Ok(vec![0, 1]));
    assert_eq!(order(&[[5.0; 3]]), Ok(vec![0]));
    assert_eq!(order(&[]), Ok(vec![]));
    assert!(matches!(order(&[[1.0; 3]; 2]), Err(Error::Parameter { value: 0.0, .. })));
    assert!(matches!(order(&[[f64::MAX; 3], [f64::MIN; 3]]), Err(Error::Parameter { .. })));
    let nan = [[0.0; 3], [0.0, 0.0, f64::NAN]];
    assert!(matches!(order(&nan), Err(Error::NotFinite { index: 1, .. })));
}
