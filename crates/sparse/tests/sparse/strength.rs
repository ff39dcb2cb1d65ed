//! Strength of connection.

use std::sync::Arc;

use coarsen_core::{Error, parallel};
use coarsen_sparse::{Bsr, Graph, Pattern, Strength, assembly};

use crate::random;

/// The anisotropic 5-point stencil on n x n nodes: −1 along x, −ε along y.
fn anisotropic(n: u32, epsilon: f64) -> Bsr<f64> {
    let mut entries = vec![];
    for i in 0..n * n {
        entries.push((i, i, 2.0 + 2.0 * epsilon));
        if i % n + 1 < n {
            entries.extend([(i, i + 1, -1.0), (i + 1, i, -1.0)]);
        }
        if i + n < n * n {
            entries.extend([(i, i + n, -epsilon), (i + n, i, -epsilon)]);
        }
    }
    assembly::from_triplets((n * n) as usize, (n * n) as usize, &entries).unwrap()
}

#[test]
fn weak_directions_are_dropped() {
    let a = anisotropic(8, 0.01);
    for (strength, all) in [
        (Strength::Symmetric { theta: 0.08 }, Strength::Symmetric { theta: 0.0 }),
        (Strength::SpectralRadius { theta: 0.48 }, Strength::SpectralRadius { theta: 0.0 }),
    ] {
        let g = strength.graph(&a).unwrap();
        assert_eq!((g.edges(), g.components().count()), (56, 8));
        assert_eq!(all.graph(&a).unwrap(), Graph::of(a.pattern()).unwrap());
    }
}

#[test]
fn units_do_not_matter() {
    let a = anisotropic(6, 0.3);
    let n = a.shape().0;
    let scale: Vec<f64> = (0..n).map(|i| 10_f64.powi(i as i32 % 7 - 3)).collect();
    let mut entries = vec![];
    for i in 0..n {
        entries.extend(a.row(i).map(|(j, v)| (i as u32, j as u32, v[0] * scale[i] * scale[j])));
    }
    let scaled = assembly::from_triplets(n, n, &entries).unwrap();
    for strength in [Strength::Symmetric { theta: 0.2 }, Strength::SpectralRadius { theta: 0.48 }] {
        assert_eq!(strength.graph(&a).unwrap(), strength.graph(&scaled).unwrap());
    }
}

/// For A ⊗ D with any SPD matrix D, the spectral radii of the blocks equal the scalar strengths of A.
#[test]
fn kronecker_blocks_are_as_strong_as_scalars() {
    let a = anisotropic(5, 0.2);
    let d = [4.0, 1.0, 0.5, 1.0, 3.0, 0.2, 0.5, 0.2, 9.0];
    let values: Vec<f64> = a.values().iter().flat_map(|v| d.iter().map(move |d| v * d)).collect();
    let blocks = Bsr::new(a.pattern().clone(), (3, 3), values).unwrap();
    let strength = Strength::SpectralRadius { theta: 0.48 };
    let (w, wd) = (strength.weights(&a, false).unwrap(), strength.weights(&blocks, false).unwrap());
    assert!(w.iter().zip(&wd).all(|(a, b)| (a - b).abs() < 1e-3 * a));
    assert_eq!(strength.graph(&a).unwrap(), strength.graph(&blocks).unwrap());
}

/// For scalars both criteria compare the same weights.
#[test]
fn scalars_have_one_weight() {
    let a = anisotropic(7, 0.3);
    let [radii, norms] = [Strength::SpectralRadius { theta: 0.48 }, Strength::Symmetric { theta: 0.08 }]
        .map(|strength| strength.weights(&a, false).unwrap());
    assert!(radii.iter().zip(&norms).all(|(r, n)| (r - n).abs() <= f32::EPSILON * n));
    assert_eq!(radii[a.pattern().find(3, 3).unwrap()], 1.0);
}

#[test]
fn no_coupled_node_is_left_alone() {
    // Node 0 is weak in the row of node 1.
    let mut entries = vec![(0, 0, 1e6), (0, 1, -1.0), (1, 0, -1.0), (1, 1, 3.0)];
    entries.extend([(1, 2, -1.0), (2, 1, -1.0), (2, 2, 2.0), (3, 3, 1.0), (3, 0, 0.0)]); // node 3 is fixed
    let a = assembly::from_triplets(4, 4, &entries).unwrap();
    let g = Strength::SpectralRadius { theta: 0.9 }.graph(&a).unwrap();
    assert_eq!((g.neighbours(1), g.degree(3)), (&[0, 2][..], 0));
    assert_eq!(Strength::Symmetric { theta: 0.08 }.graph(&a).unwrap().neighbours(1), [2]);
}

#[test]
fn flags_are_the_graph() {
    let a = anisotropic(9, 0.3);
    for theta in [0.0, 0.25, 0.48, 0.999_999_99] {
        let strength = Strength::SpectralRadius { theta };
        let weights = strength.weights(&a, false).unwrap();
        let (strong, graph) = (strength.strong(a.pattern(), &weights), strength.graph(&a).unwrap());
        for i in 0..a.shape().0 {
            let flagged = a.pattern().range(i).filter(|&k| strong[k]).map(|k| a.pattern().indices()[k]);
            let flagged: Vec<u32> = flagged.filter(|&j| j as usize != i).collect();
            assert_eq!(flagged, graph.neighbours(i), "{theta}: node {i}");
            assert!(!flagged.is_empty(), "{theta}: node {i} is alone");
        }
    }
}

/// Couplings of f64 beyond the range of f32 have the weights of their multiples within.
#[test]
fn weights_do_not_depend_on_range() {
    let strength = Strength::SpectralRadius { theta: 0.48 };
    let mut a = random::matrix(40, 40, (3, 3), 5, 1);
    a = &a + &Bsr::identity(40, 3).unwrap();
    let weights = strength.weights(&a, false).unwrap();
    for exponent in [-180, 180] {
        let mut b = a.clone();
        b.values_mut().iter_mut().for_each(|v| *v *= 2_f64.powi(exponent));
        assert_eq!(strength.weights(&b, false).unwrap(), weights, "2^{exponent}");
    }
}

#[test]
fn threads_do_not_change_bits() {
    let a = random::matrix(3000, 3000, (3, 3), 8, 4);
    for strength in [Strength::Symmetric { theta: 0.1 }, Strength::SpectralRadius { theta: 0.48 }] {
        let one = parallel::threads(1, || strength.weights(&a, false).unwrap()).unwrap();
        assert_eq!(one, parallel::threads(5, || strength.weights(&a, false).unwrap()).unwrap());
    }
}

#[test]
fn bad_input_is_named() {
    let mut a = Bsr::<f64>::identity(2, 2).unwrap();
    let outside = Strength::Symmetric { theta: 1.0 }.graph(&a);
    assert!(matches!(outside, Err(Error::Parameter { value: 1.0, .. })));
    a.values_mut()[5] = f64::INFINITY;
    let strength = Strength::SpectralRadius { theta: 0.5 };
    assert!(matches!(strength.graph(&a), Err(Error::NotFinite { index: 5, .. })));
    for (block, at) in [1, 2, 3].into_iter().flat_map(|b| (0..4 * b * b).map(move |at| (b, at))) {
        for bad in [f64::NAN, f64::INFINITY] {
            let full = Arc::new(Pattern::new(2, vec![0, 2, 4], vec![0, 1, 0, 1]).unwrap());
            let mut values = vec![1.0; 4 * block * block];
            values[at] = bad;
            let a = Bsr::new(full, (block, block), values).unwrap();
            for strength in [strength, Strength::Symmetric { theta: 0.5 }] {
                let found = strength.weights(&a, false);
                assert!(matches!(found, Err(Error::NotFinite { index, .. }) if index == at), "{found:?}");
            }
        }
    }
    let wide = assembly::from_triplets(1, 2, &[(0, 1, 1.0)]).unwrap();
    assert!(matches!(strength.graph(&wide), Err(Error::NotSquare { .. })));
}

/// A contact stiffens one direction of both nodes; the coupling is a tenth of the diagonal blocks in all directions.
#[test]
fn ill_conditioned_blocks_keep_their_coupling() {
    let n = [1.0, 2.0, 3.0].map(|v: f64| v / 14.0_f64.sqrt());
    for stiffness in [1.0, 1e3, 1e8, 1e10] {
        let d: Vec<f64> =
            (0..9).map(|e| f64::from(u8::from(e % 4 == 0)) + stiffness * n[e / 3] * n[e % 3]).collect();
        let c: Vec<f64> = d.iter().map(|v| -0.1 * v).collect();
        let values = [&d[..], &c, &c, &d].concat();
        let a = assembly::from_blocks((2, 2), (3, 3), &[(0, 0), (0, 1), (1, 0), (1, 1)], &values).unwrap();
        let weights = Strength::SpectralRadius { theta: 0.0 }.weights(&a, false).unwrap();
        assert!((weights[1] - 0.1).abs() < 1e-4 && weights[1] == weights[2], "{stiffness}: {weights:?}");
    }
}

/// Each pair is computed once, whatever the block size, and at the ends of batches.
#[test]
fn symmetric_weights_are_those_of_all_blocks() {
    let strength = Strength::SpectralRadius { theta: 0.48 };
    for (n, b) in [(1, 2), (5, 3), (700, 3), (300, 6)] {
        let half = random::matrix(n, n, (b, b), 6, b as u64);
        let mut a = &half + &half.transpose().unwrap();
        a = &a + &Bsr::identity(n, b).unwrap();
        let (all, pairs) = (strength.weights(&a, false).unwrap(), strength.weights(&a, true).unwrap());
        for (k, (&w, &v)) in all.iter().zip(&pairs).enumerate() {
            assert!((w - v).abs() <= 1e-4 * w.max(1e-3), "{n} x {b}: block {k} is {v}, not {w}");
        }
        let one = parallel::threads(1, || strength.weights(&a, true).unwrap()).unwrap();
        assert_eq!(one, pairs);
    }
}
