//! The blocks of SPAI-0, read from steps of the smoother on unit vectors: formulas and optimality.

use coarsen_backend::conformance::{noise, ring};
use coarsen_backend::{Cpu, Smoother};
use coarsen_relax::Spai0;
use coarsen_sparse::Bsr;

/// Returns the blocks of M. The first step from zero is x = ω M b with ω = 2 / (β + β/4).
fn blocks(a: &Bsr<f64>) -> Vec<Vec<f64>> {
    let (n, b) = (a.shape().0, a.block().0);
    let mut step = Spai0::default().build(a, &Cpu::new()).unwrap();
    let omega = 2.0 / (step.radius() + step.radius() / 4.0);
    let mut blocks = vec![vec![0.0; b * b]; n / b];
    for j in 0..n {
        let (mut unit, mut x) = (vec![0.0; n], vec![f64::NAN; n]);
        unit[j] = 1.0;
        step.pre_smooth(a, &unit, &mut x);
        for (i, x) in x.into_iter().enumerate() {
            if i / b == j / b {
                blocks[j / b][i % b * b + j % b] = x / omega;
            } else {
                assert_eq!(x, 0.0, "M is a block diagonal");
            }
        }
    }
    blocks
}

/// Returns ‖(I − M A) of the rows of node i‖²_F.
fn distance(a: &Bsr<f64>, m: &[f64], i: usize, b: usize) -> f64 {
    let mut sum = 0.0;
    for (j, block) in a.row(i) {
        for r in 0..b {
            for c in 0..b {
                let ma: f64 = (0..b).map(|k| m[r * b + k] * block[k * b + c]).sum();
                sum += (f64::from(u8::from(i == j && r == c)) - ma).powi(2);
            }
        }
    }
    sum
}

#[test]
fn no_symmetric_neighbour_is_closer() {
    for b in [1, 2, 3, 6] {
        let a = ring(12, b);
        let m = blocks(&a);
        for i in 0..12 {
            let best = distance(&a, &m[i], i, b);
            for seed in 1..4 {
                let e = noise(b * b, seed);
                let size = 1e-3 * m[i][0];
                let moved: Vec<f64> =
                    (0..b * b).map(|k| m[i][k] + size * (e[k] + e[k % b * b + k / b])).collect();
                assert!(distance(&a, &moved, i, b) > best, "block {i} of {b}");
            }
        }
    }
}

#[test]
fn scalars_are_the_formula() {
    let a = ring(9, 1);
    let m = blocks(&a);
    for i in 0..9 {
        let squares: f64 = a.row(i).map(|(_, v)| v[0] * v[0]).sum();
        assert!((m[i][0] - a.get(i, i) / squares).abs() < 1e-15);
    }
}

/// For a node without neighbours M is the inverse of its block, even if one unknown is much stiffer than
/// the others.
#[test]
fn a_large_unknown_hides_no_coupling_of_others() {
    for (b, large) in [3, 4, 5, 6].into_iter().flat_map(|b| (0..b).map(move |large| (b, large))) {
        for (p, r) in (0..b).flat_map(|p| (p + 1..b).map(move |r| (p, r))) {
            let (mut block, mut inverse) = (vec![0.0; b * b], vec![0.0; b * b]);
            (0..b).for_each(|k| (block[k * b + k], inverse[k * b + k]) = (2.0, 0.5));
            if p != large && r != large {
                (block[p * b + r], block[r * b + p]) = (1.0, 1.0); // [2 1; 1 2]
                (inverse[p * b + p], inverse[r * b + r]) = (2.0 / 3.0, 2.0 / 3.0);
                (inverse[p * b + r], inverse[r * b + p]) = (-1.0 / 3.0, -1.0 / 3.0);
            }
            (block[large * b + large], inverse[large * b + large]) = (1e20, 1e-20);
            let a = coarsen_sparse::assembly::from_blocks((1, 1), (b, b), &[(0, 0)], &block).unwrap();
            let m = &blocks(&a)[0];
            let near = |(m, e): (&f64, &f64)| (m - e).abs() <= 1e-14 * e.abs();
            assert!(m.iter().zip(&inverse).all(near), "{b}, {large}: {p} and {r}: {:?}", m);
        }
    }
}
