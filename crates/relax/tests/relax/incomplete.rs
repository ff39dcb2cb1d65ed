//! IC(0) and ILU(0): M is A on the pattern, its factors have no fill, and bits do not depend on threads.

use coarsen_backend::{Backend, Cpu, Reused, RowSets};
use coarsen_core::{Preconditioner, PreconditionerKind, parallel};
use coarsen_problems::{Options, Problem};
use coarsen_relax::{Ic0, Ilu0};

use crate::backends::chunked;
use crate::common::applied;

/// Returns the inverse of a matrix of n rows by Gauss-Jordan elimination with partial pivoting.
fn inverse(mut a: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let n = a.len();
    for (i, row) in a.iter_mut().enumerate() {
        row.extend((0..n).map(|j| f64::from(u8::from(i == j))));
    }
    for k in 0..n {
        let pivot = (k..n).max_by(|&p, &q| a[p][k].abs().total_cmp(&a[q][k].abs())).unwrap();
        a.swap(k, pivot);
        let by = a[k][k];
        a[k].iter_mut().for_each(|v| *v /= by);
        let row = a[k].clone();
        for other in a.iter_mut().enumerate().filter(|(i, _)| *i != k).map(|(_, other)| other) {
            let factor = other[k];
            other.iter_mut().zip(&row).for_each(|(v, r)| *v -= factor * r);
        }
    }
    a.into_iter().map(|row| row[n..].to_vec()).collect()
}

/// Returns L (unit diagonal, below) and U (above) of a matrix by elimination without pivoting, in one matrix.
fn factors(mut a: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    for i in 0..a.len() {
        for k in 0..i {
            let (above, below) = a.split_at_mut(i);
            let (pivot, row) = (&above[k], &mut below[0]);
            let factor = row[k] / pivot[k];
            row[k] = factor;
            row[k + 1..].iter_mut().zip(&pivot[k + 1..]).for_each(|(v, p)| *v -= factor * p);
        }
    }
    a
}

/// M, the inverse of the preconditioner, equals A on its pattern, and the factors of M in the order of the
/// chunks have no entries outside the pattern.
#[test]
fn factors_multiply_to_a_on_its_pattern_and_substitution_inverts_them() {
    for (name, chunk) in [("poisson3d:6", 40), ("elasticity3d:4", 20), ("cloth:9", 16), ("poisson2d:9", 81)] {
        let a = Problem::parse(name, &Options::default()).unwrap().matrix;
        let (n, b) = (a.shape().0, a.block().0);
        let mut ic = Ic0::default().build(&a, &chunked(chunk)).unwrap();
        assert_eq!((ic.kind(), ic.shift()), (PreconditionerKind::Symmetric, 0.0), "{name}");
        let mut ilu = Ilu0.build(&a, &chunked(chunk)).unwrap();
        assert_eq!(ilu.kind(), PreconditionerKind::Symmetric, "{name}");
        for (method, m) in [("ic0", &mut ic as &mut dyn Preconditioner<Vec<f64>>), ("ilu0", &mut ilu)] {
            let columns: Vec<Vec<f64>> = (0..n)
                .map(|j| {
                    let mut unit = vec![0.0; n];
                    unit[j] = 1.0;
                    applied(m, &unit)
                })
                .collect();
            let columns = inverse(columns); // of the transposes: column j of M
            let inside = |i: usize, j: usize| a.pattern().find(i / b, j / b).is_some();
            for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))).filter(|&(i, j)| inside(i, j)) {
                let (found, exact) = (columns[j][i], a.get(i, j));
                assert!(
                    (found - exact).abs() <= 1e-11 * a.get(i, i),
                    "{method}, {name} ({i}, {j}): {found}, not {exact}"
                );
            }
            let order: Vec<usize> = RowSets::chunked(a.pattern(), chunk).order().collect();
            let old = |i: usize| order[i / b] * b + i % b;
            let lu = factors((0..n).map(|i| (0..n).map(|j| columns[old(j)][old(i)]).collect()).collect());
            for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))) {
                if !inside(old(i), old(j)) {
                    let size = if i < j { a.get(old(i), old(i)) } else { 1.0 };
                    assert!(lu[i][j].abs() <= 1e-11 * size, "{method}, {name} ({i}, {j}): {}", lu[i][j]);
                }
            }
        }
    }
}

#[test]
fn bits_do_not_depend_on_threads() {
    for name in ["poisson3d:36", "elasticity3d:20"] {
        let a = Problem::parse(name, &Options::default()).unwrap().matrix;
        let r: Vec<f64> = (0..a.shape().0).map(|i| (i as f64 * 0.3).cos()).collect();
        let run = |threads| {
            let solve = || {
                let mut m = Ic0::default().build(&a, &Cpu::mixed()).unwrap();
                let order = Cpu::mixed().relaxation_order(a.pattern());
                assert!(order.sets()[0].len() > 1, "{name} has chunks to share");
                let mut z = vec![0.0; r.len()];
                m.apply(&r, &mut z);
                assert_eq!(m.update(&a).unwrap(), Reused::Structure);
                let mut again = z.clone();
                m.apply(&r, &mut again);
                assert_eq!(z, again, "{name}: an update with the same matrix");
                z
            };
            parallel::threads(threads, solve).unwrap()
        };
        let one = run(1);
        assert!([2, 7].into_iter().all(|threads| run(threads) == one), "{name}");
    }
}
