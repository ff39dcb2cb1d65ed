//! Near-kernel vectors.

use coarsen_core::{Error, parallel};
use coarsen_sparse::{Bsr, NearKernel, Permutation, Zeros, assembly};

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
    assembly::from_blocks((points.len(), points.len()), (3, 3), &places, &values).unwrap()
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
fn constants_are_rebuilt_from_their_columns() {
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
    assert!(b.constrain([0, 4]).is_err() && b.row(0) == [1.0]);
    let other = Bsr::<f64>::identity(3, 1).unwrap();
    assert!(b.quality(&other).is_err());
}

/// The permutation from the order by component to that by node.
fn to_nodes(n: usize, components: usize) -> Permutation {
    let nodes = n / components;
    Permutation::new((0..n).map(|i| (i % components * nodes + i / components) as u32).collect()).unwrap()
}

/// Free or clamped, in blocks or as scalars, and with a matrix or a near-kernel that is ordered by component.
#[test]
fn an_order_by_component_is_found() {
    let points = grid();
    let modes = NearKernel::rigid_body_modes(&points, 3).unwrap();
    let by_node = to_nodes(modes.size(), 3);
    for clamped in [false, true] {
        let blocks = truss(&points, |i| clamped && i % SIDE == 0);
        let scalars = blocks.reblock((1, 1), Zeros::Drop).unwrap();
        let mixed = scalars.permute(&by_node.inverse()).unwrap();
        let translations = NearKernel::constants(modes.size(), 3).unwrap();
        for kernel in [&modes, &translations] {
            let moved = kernel.permuted(&by_node.inverse()).unwrap();
            for a in [&blocks, &scalars] {
                assert_eq!(kernel.by_component(a).unwrap(), None, "{clamped}");
                let found = moved.by_component(a).unwrap().unwrap();
                assert_eq!((found.matrix, found.components), (false, 3), "{found}");
                assert_eq!(&moved.permuted(&found.to_nodes).unwrap(), kernel);
                assert!(found.after < 1e-14 && found.before > 0.1, "{found}");
            }
            assert_eq!(moved.by_component(&mixed).unwrap(), None, "both are ordered by component");
            for a in [mixed.clone(), mixed.reblock((3, 3), Zeros::Keep).unwrap()] {
                let found = kernel.by_component(&a).unwrap().unwrap();
                assert_eq!((found.matrix, found.components), (true, 3), "{found}");
                assert_eq!(mixed.permute(&found.to_nodes).unwrap(), scalars);
                assert!(found.to_string().starts_with("the matrix is ordered by component"), "{found}");
            }
        }
    }
}

/// Wrong modes, a mass term and a single vector of ones are not taken for another order.
#[test]
fn an_order_that_does_not_help_is_not_found() {
    let points = grid();
    let clamped = truss(&points, |i| i % SIDE == 0);
    let mut modes = NearKernel::rigid_body_modes(&points, 3).unwrap();
    let mut heavy = truss(&points, |_| false);
    let pattern = heavy.pattern().clone();
    for i in 0..pattern.rows() {
        for k in pattern.range(i).filter(|&k| pattern.indices()[k] as usize == i) {
            (0..3).for_each(|d| heavy.values_mut()[9 * k + 4 * d] += 0.3);
        }
    }
    assert_eq!(modes.by_component(&heavy).unwrap(), None);
    modes.values_mut().iter_mut().step_by(18).for_each(|v| *v = -*v);
    assert_eq!(modes.by_component(&clamped).unwrap(), None);
    let ones = NearKernel::constants(modes.size(), 1).unwrap();
    assert_eq!(ones.by_component(&heavy).unwrap(), None);
    assert_eq!(
        NearKernel::from_columns(&[]).unwrap().by_component(&Bsr::<f64>::identity(0, 1).unwrap()),
        Ok(None)
    );
    assert!(ones.by_component(&Bsr::<f64>::identity(3, 1).unwrap()).is_err());
    assert!(ones.permuted(&to_nodes(6, 2)).is_err());
}

#[test]
fn quality_has_the_same_bits_for_any_number_of_threads() {
    let n = 30_000;
    let entries: Vec<_> = (0..n as u32)
        .flat_map(|i| {
            [
                (i, i, 2.0 + 1e-3 * f64::from(i % 7)),
                (i, (i + 1) % n as u32, -1.0),
                ((i + 1) % n as u32, i, -1.1),
            ]
        })
        .collect();
    let a = assembly::from_triplets(n, n, &entries).unwrap();
    let b = NearKernel::from_rows(3, (0..3 * n).map(|i| (i as f64).sin()).collect()).unwrap();
    let of = |threads| parallel::threads(threads, || b.quality(&a).unwrap()).unwrap();
    assert_eq!(of(1), of(4));
}
