//! Near-kernel vectors.

use coarsen_core::Error;
use coarsen_sparse::{Bsr, NearKernel, assembly};

const SIDE: usize = 4;

fn grid() -> Vec<[f64; 3]> {
    let at = |i: usize| (i as f64) * 0.5 + 3.0;
    (0..SIDE * SIDE * SIDE).map(|i| [at(i % SIDE), at(i / SIDE % SIDE), at(i / SIDE / SIDE)]).collect()
}

/// Unit springs between all nodes of a grid that are closer than 1: K = Σ d dᵀ. The kernel of K consists of
/// the rigid motions.
fn truss(points: &[[f64; 3]], fixed: impl Fn(usize) -> bool) -> Bsr<f64> {
    let (mut places, mut values) = (vec![], vec![]);
    for i in 0..points.len() {
        for j in 0..points.len() {
            let d = [0, 1, 2].map(|a| points[j][a] - points[i][a]);
            let length2 = d.iter().map(|d| d * d).sum::<f64>();
            if i == j || length2 >= 1.0 {
                continue;
            }
            let mut add = |i: usize, j: usize, sign: f64| {
                places.push((i as u32, j as u32));
                values.extend((0..9).map(|e| sign * d[e / 3] * d[e % 3] / length2));
            };
            if !fixed(i) {
                add(i, i, 1.0);
                if !fixed(j) {
                    add(i, j, -1.0);
                }
            }
        }
        if fixed(i) {
            places.push((i as u32, i as u32));
            values.extend((0..9).map(|e| f64::from(u8::from(e % 4 == 0))));
        }
    }
    assembly::from_blocks(3 * points.len(), 3 * points.len(), (3, 3), &places, &values).unwrap()
}

/// The rows of some nodes are those of all nodes, to the bit: the centroid is that of all.
#[test]
fn modes_of_some_nodes_are_rows_of_the_modes_of_all() {
    let points = grid();
    for dimension in [2, 3] {
        let all = NearKernel::rigid_body_modes(&points, dimension).unwrap();
        let nodes = [7, 0, 3, 3];
        let some = NearKernel::rigid_body_modes_at(&points, dimension, &nodes).unwrap();
        assert_eq!((some.size(), some.vectors()), (4 * dimension, all.vectors()));
        for (k, node) in nodes.iter().enumerate() {
            for d in 0..dimension {
                assert_eq!(some.row(k * dimension + d), all.row(*node as usize * dimension + d));
            }
        }
        assert_eq!(NearKernel::rigid_body_modes_at(&points, dimension, &[]).unwrap().size(), 0);
    }
    let outside = NearKernel::rigid_body_modes_at(&points, 3, &[points.len() as u32]);
    assert!(matches!(outside, Err(Error::Parameter { name: "node", .. })));
    assert!(matches!(NearKernel::rigid_body_modes_at(&points, 1, &[0]), Err(Error::Parameter { .. })));
}

#[test]
fn rigid_motions_are_the_kernel_of_a_truss() {
    let points = grid();
    let modes = NearKernel::rigid_body_modes(&points, 3).unwrap();
    for q in modes.quality(&truss(&points, |_| false)).unwrap() {
        assert!(q.all < 1e-15 && q.free.unwrap() < 1e-15, "{q:?}");
    }
}

#[test]
fn wrong_modes_show_on_free_rows() {
    let points = grid();
    let clamped = truss(&points, |i| i % SIDE == 0);
    let mut modes = NearKernel::rigid_body_modes(&points, 3).unwrap();
    let fixed: Vec<usize> =
        (0..points.len()).filter(|i| i % SIDE == 0).flat_map(|i| 3 * i..3 * i + 3).collect();
    modes.constrain(&fixed).unwrap();
    let mut wrong = modes.column(3);
    wrong.iter_mut().step_by(3).for_each(|v| *v = -*v); // (y, x, 0)
    for q in modes.quality(&clamped).unwrap() {
        assert!(q.all > 0.05 && q.free.unwrap() < 1e-15, "{q:?}");
    }
    let wrong = NearKernel::from_columns(&[&wrong]).unwrap();
    assert!(wrong.quality(&clamped).unwrap()[0].free.unwrap() > 0.05);
}

#[test]
fn turns_are_orthogonal_to_translations() {
    for (dimension, k) in [(2, 3), (3, 6)] {
        let b = NearKernel::rigid_body_modes(&grid(), dimension).unwrap();
        assert_eq!((b.vectors(), b.size()), (k, 64 * dimension));
        for t in 0..dimension {
            for turn in dimension..k {
                let dot: f64 = b.column(t).iter().zip(b.column(turn)).map(|(a, b)| a * b).sum();
                assert!(dot.abs() < 1e-12);
            }
        }
    }
}

#[test]
fn constants_and_columns() {
    let b = NearKernel::constants(4, 2).unwrap();
    assert_eq!(b.values(), [1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0]);
    let (first, second) = (b.column(0), b.column(1));
    assert_eq!(NearKernel::from_columns(&[&first, &second]).unwrap(), b);
    assert_eq!(NearKernel::from_columns(&[]).unwrap().size(), 0);
}

#[test]
fn bad_input_is_named() {
    assert!(matches!(NearKernel::constants(5, 2), Err(Error::Shape { expected: 6, found: 5, .. })));
    assert!(matches!(NearKernel::constants(5, 0), Err(Error::Parameter { .. })));
    assert!(matches!(NearKernel::rigid_body_modes(&[], 1), Err(Error::Parameter { .. })));
    let nan = [[0.0; 3], [0.0, f64::NAN, 0.0]];
    assert!(matches!(NearKernel::rigid_body_modes(&nan, 3), Err(Error::NotFinite { index: 1, .. })));
    let uneven = NearKernel::from_columns(&[&[1.0, 2.0], &[1.0]]);
    assert!(matches!(uneven, Err(Error::Shape { expected: 2, found: 1, .. })));
    let mut b = NearKernel::constants(4, 1).unwrap();
    assert!(b.constrain(&[0, 4]).is_err() && b.row(0) == [1.0]);
    let other = Bsr::<f64>::identity(3, 1).unwrap();
    assert!(b.quality(&other).is_err());
}
