//! Properties of every factorisation on generated matrices.

use std::sync::Arc;

use coarsen_core::{LinearOperator, Preconditioner, PreconditionerKind, parallel};
use coarsen_direct::{Direct, DirectError, Engine, Factor, Inertia, Method};
use coarsen_sparse::{Bsr, assembly};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::common::{build, direct, small, unconstrained};

const SEED: u64 = 7;

/// −Δ on an n x n grid with Dirichlet ends, plus `shift`; three copies coupled into 3x3 blocks for `b` = 3.
fn laplace(n: u32, b: u32, shift: f64) -> Bsr<f64> {
    let mut entries = Vec::new();
    for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))) {
        let at = i * n + j;
        for p in 0..b {
            for q in 0..b {
                let coupling = if p == q { 3.5 + 0.5 * f64::from(b) + shift } else { 0.5 };
                entries.push((at * b + p, at * b + q, coupling));
            }
            for (near, inside) in [
                (at.wrapping_sub(1), j > 0),
                (at + 1, j + 1 < n),
                (at.wrapping_sub(n), i > 0),
                (at + n, i + 1 < n),
            ] {
                if inside {
                    entries.push((at * b + p, near * b + p, -1.0));
                }
            }
        }
    }
    let size = (n * n * b) as usize;
    assembly::from_triplets_blocked(size, size, (b as usize, b as usize), &entries).unwrap()
}

fn random(n: usize) -> Vec<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(SEED);
    (0..n).map(|_| rng.random_range(-1.0..1.0)).collect()
}

/// ‖b − A x‖ / ‖b‖ by plain loops.
fn residual(a: &Bsr<f64>, b: &[f64], x: &[f64]) -> f64 {
    let mut r = b.to_vec();
    let (h, w) = a.block();
    for i in 0..a.pattern().rows() {
        for (j, block) in a.row(i) {
            for (at, v) in block.iter().enumerate() {
                r[i * h + at / w] -= v * x[j * w + at % w];
            }
        }
    }
    let norm = |v: &[f64]| v.iter().map(|v| v * v).sum::<f64>().sqrt();
    norm(&r) / norm(b)
}

fn solves(factor: &mut Factor, a: &Bsr<f64>) {
    let b = random(a.shape().0);
    let mut x = vec![0.0; b.len()];
    let solved = factor.solve(&b, &mut x).unwrap();
    let true_residual = residual(a, &b, &x);
    assert!(true_residual < 1e-12, "{true_residual:e}");
    assert!((solved.relative_residual - true_residual).abs() < 1e-13);
}

#[test]
fn every_method_solves_every_block_size() {
    for (n, b) in [(1, 1), (5, 1), (20, 1), (40, 1), (6, 2), (20, 3), (4, 7)] {
        let a = laplace(n, b, 0.0);
        for method in [Method::Auto, Method::Cholesky, Method::Ldlt, Method::Lu] {
            solves(&mut build(method, &a).unwrap(), &a);
        }
        assert_eq!(build(Method::Auto, &a).unwrap().method(), Method::Cholesky);
    }
}

#[test]
fn negative_and_indefinite_matrices_show_their_inertia() {
    let mut a = laplace(12, 1, 0.0);
    a.values_mut().iter_mut().for_each(|v| *v = -*v);
    let mut factor = build(Method::Auto, &a).unwrap();
    assert_eq!((factor.method(), factor.fallback()), (Method::Cholesky, None));
    assert_eq!(factor.inertia(), Some(Inertia { positive: 0, negative: 144 }));
    assert_eq!(Preconditioner::<Vec<f64>>::kind(&factor), PreconditionerKind::Linear);
    solves(&mut factor, &a);

    // λ = 4 − 2 cos(iπ/13) − 2 cos(jπ/13) − 2.9 is known.
    let a = laplace(12, 1, -2.9);
    let mut factor = build(Method::Auto, &a).unwrap();
    let angle = |i: i32| 2.0 * (f64::from(i) * std::f64::consts::PI / 13.0).cos();
    let negative =
        (1..=12).flat_map(|i| (1..=12).map(move |j| (i, j))).filter(|&(i, j)| 1.1 < angle(i) + angle(j));
    assert_eq!(
        factor.inertia(),
        Some(Inertia { positive: 144 - negative.clone().count(), negative: negative.count() })
    );
    assert!(matches!(factor.fallback(), Some(DirectError::NotPositiveDefinite { .. })));
    assert_eq!(Preconditioner::<Vec<f64>>::kind(&factor), PreconditionerKind::Linear);
    solves(&mut factor, &a);
}

#[test]
fn zero_diagonals_and_unsymmetric_matrices() {
    for rows in
        [&[&[0.0, 1.0][..], &[1.0, 0.0]][..], &[&[1.0, 1.0, 0.0][..], &[1.0, 1.0, 1.0], &[0.0, 1.0, 1.0]]]
    {
        let a = small(rows);
        solves(&mut build(Method::Auto, &a).unwrap(), &a);
    }
    let a = small(&[&[0.0, 2.0, 0.0], &[0.0, 0.0, 3.0], &[4.0, 0.0, 1.0]]);
    let mut factor = build(Method::Auto, &a).unwrap();
    assert_eq!((factor.method(), factor.inertia()), (Method::Lu, None));
    solves(&mut factor, &a);
    let mut rng = ChaCha8Rng::seed_from_u64(SEED);
    for n in [1_u32, 2, 10, 100, 400] {
        let mut entries: Vec<_> = (0..n).map(|i| (i, (i * 7 + 3) % n, 5.0)).collect();
        entries.extend(
            (0..5 * n).map(|_| (rng.random_range(0..n), rng.random_range(0..n), rng.random_range(-1.0..1.0))),
        );
        let a = assembly::from_triplets(n as usize, n as usize, &entries).unwrap();
        solves(&mut build(Method::Lu, &a).unwrap(), &a);
    }
}

#[test]
fn rows_that_are_not_positive_are_named() {
    for n in [3, 40] {
        // Entrywise and supernodal factorisations count pivots differently.
        for row in [0, 4, 8] {
            let mut a = laplace(n, 1, 0.0);
            let at = a.pattern().find(row, row).unwrap();
            a.values_mut()[at] = -1.0;
            assert_eq!(build(Method::Cholesky, &a).err(), Some(DirectError::NotPositiveDefinite { row }));
        }
    }
    for n in [2_u32, 300] {
        let size = 3 * n as usize;
        for row in [2, size - 2] {
            let entries: Vec<_> = (0..3 * n)
                .flat_map(|i| (i / 3 * 3..i / 3 * 3 + 3).map(move |j| (i, j, if i == j { 2.0 } else { 0.5 })))
                .collect();
            let mut a = assembly::from_triplets(size, size, &entries).unwrap();
            let at = a.pattern().find(row, row).unwrap();
            a.values_mut()[at] = 1e-3;
            let Err(DirectError::NotPositiveDefinite { row: found }) = build(Method::Cholesky, &a) else {
                panic!()
            };
            assert_eq!(found / 3, row / 3);
        }
    }
    let dense: Vec<_> = (0..200_u32)
        .flat_map(|i| {
            (0..200_u32).map(move |j| {
                (
                    i,
                    j,
                    if i != j {
                        0.1
                    } else if i == 137 {
                        1.0
                    } else {
                        30.0
                    },
                )
            })
        })
        .collect();
    let mut a = assembly::from_triplets(200, 200, &dense).unwrap();
    let at = a.pattern().find(137, 137).unwrap();
    a.values_mut()[at] = 1e-5;
    let Err(DirectError::NotPositiveDefinite { row }) = build(Method::Cholesky, &a) else { panic!() };
    assert!(row < 200);
}

#[test]
fn singular_matrices_are_errors() {
    let neumann = |n: u32| {
        let mut a = laplace(n, 1, 0.0);
        let sums: Vec<f64> = (0..a.shape().0).map(|i| a.row(i).map(|(_, v)| v[0]).sum()).collect();
        let places: Vec<usize> = (0..a.shape().0).map(|i| a.pattern().find(i, i).unwrap()).collect();
        places.iter().zip(sums).for_each(|(&k, s)| a.values_mut()[k] -= s);
        a
    };
    for a in [unconstrained(2), unconstrained(3), unconstrained(1000), neumann(5), neumann(40)] {
        for method in [Method::Auto, Method::Cholesky, Method::Ldlt, Method::Lu] {
            let error = build(method, &a).err();
            let known =
                matches!(error, Some(DirectError::Singular { .. } | DirectError::NotPositiveDefinite { .. }));
            let small = matches!(error, Some(DirectError::SmallPivot { .. }));
            assert!(known || small && super::ENGINE == Engine::Own, "{method:?} {error:?}");
        }
    }
    // Row 2 is the sum of rows 0 and 1: the error may name any of these three, but not row 3.
    let a =
        small(&[&[1.0, 2.0, 0.0, 0.0], &[0.0, 1.0, 1.0, 0.0], &[1.0, 3.0, 1.0, 0.0], &[0.0, 0.0, 0.0, 5.0]]);
    assert!(matches!(build(Method::Auto, &a), Err(DirectError::Singular { row: 0..=2, .. })));
    // Two rows share their only column.
    let a = small(&[&[1.0, 0.0, 0.0], &[1.0, 0.0, 0.0], &[1.0, 1.0, 1.0]]);
    assert!(matches!(build(Method::Auto, &a), Err(DirectError::Singular { row: 0..=1, .. })));
    let a = small(&[&[-6.0, 2.0, -2.0], &[1.0, 0.0, 0.0], &[1.0, 0.0, 0.0]]);
    assert!(matches!(build(Method::Auto, &a), Err(DirectError::Singular { row: 1..=2, .. })));
    // Row 1 is twice row 0. Its pivot is exactly 0, and must not take the place of the pivot of another row.
    let a = small(&[
        &[0.0, 2.0, 0.0, -2.0, -2.0, 0.0],
        &[0.0, 4.0, 0.0, -4.0, -4.0, 0.0],
        &[0.0, 0.0, 0.0, 0.0, 1.0, 0.0],
        &[-2.0, -3.0, 0.0, 0.0, 0.0, 1.0],
        &[-2.0, 0.0, 1.0, 0.0, 4.0, 2.0],
        &[0.0, -4.0, 0.0, 1.0, 2.0, 0.0],
    ]);
    let error = build(Method::Auto, &a).err();
    assert!(matches!(error, Some(DirectError::Singular { row: 0..=1, .. })), "{error:?}");
}

#[test]
fn bad_matrices_are_named() {
    let a = small(&[&[1.0, 0.0], &[1.0, 0.0]]);
    assert_eq!(build(Method::Auto, &a).err(), Some(DirectError::EmptyColumn { column: 1 }));
    let a = small(&[&[1.0, 1.0], &[0.0, 0.0]]);
    assert_eq!(build(Method::Auto, &a).err(), Some(DirectError::EmptyRow { row: 1 }));
    let a = small(&[&[1.0, 2.0], &[0.5, 1.0]]);
    let skew = DirectError::NotSymmetric { row: 0, column: 1, here: 2.0, there: 0.5 };
    assert_eq!(build(Method::Cholesky, &a).err(), Some(skew.clone()));
    assert_eq!(build(Method::Ldlt, &a).err(), Some(skew));
    let a = small(&[&[1.0, f64::NAN], &[0.5, 1.0]]);
    assert_eq!(build(Method::Auto, &a).err(), Some(DirectError::NotFinite { row: 0, column: 1 }));
    let a = assembly::from_triplets(2, 3, &[(0, 0, 1.0)]).unwrap();
    assert_eq!(build(Method::Auto, &a).err(), Some(DirectError::NotSquare { rows: 2, columns: 3 }));
    let empty = assembly::from_triplets::<f64>(0, 0, &[]).unwrap();
    assert!(build(Method::Auto, &empty).unwrap().solve::<f64>(&[], &mut []).is_ok());
}

#[test]
fn an_acceptance_that_is_not_positive_is_refused() {
    let a = laplace(4, 1, 0.0);
    for accept in [f64::NAN, 0.0, -1.0] {
        let parameters = Direct { accept, ..direct(Method::Auto) };
        for error in
            [parameters.factor(&a).err(), parameters.analyse(&a).err(), parameters.estimate(&a).err()]
        {
            let named = matches!(error, Some(DirectError::Parameter { name: "Direct::accept", .. }));
            assert!(named, "{accept}: {error:?}");
        }
    }
    assert!(Direct { accept: f64::INFINITY, ..direct(Method::Auto) }.factor(&a).is_ok());
}

#[test]
fn right_hand_sides_of_any_scale_are_solved() {
    let a = laplace(6, 1, 0.0);
    let mut factor = build(Method::Auto, &a).unwrap();
    let mut x = vec![f64::NAN; 36];
    assert_eq!(factor.solve(&[0.0; 36], &mut x).unwrap().relative_residual, 0.0);
    assert_eq!(x, [0.0; 36]);
    let b = random(36);
    factor.solve(&b, &mut x).unwrap();
    for scale in [1e-300, 1e300] {
        let scaled: Vec<f64> = b.iter().map(|v| v * scale).collect();
        let mut y = vec![0.0; 36];
        factor.solve(&scaled, &mut y).unwrap();
        assert!(y.iter().zip(&x).all(|(y, x)| (y / scale - x).abs() <= 1e-12 * x.abs()));
    }
    assert_eq!(factor.solve(&b[1..], &mut x), Err(DirectError::Shape { what: "b", expected: 36, found: 35 }));
    let mut bad = b.clone();
    bad[7] = f64::INFINITY;
    assert_eq!(factor.solve(&bad, &mut x), Err(DirectError::RightHandSide { index: 7 }));
}

#[test]
fn single_precision_is_factored_in_double() {
    let a = laplace(20, 3, 0.0).to::<f32>();
    let mut factor = direct(Method::Auto).factor(&a).unwrap();
    let b: Vec<f32> = random(1200).iter().map(|&v| v as f32).collect();
    let mut x = vec![0.0_f32; 1200];
    assert!(factor.solve(&b, &mut x).unwrap().relative_residual < 1e-14);
    let mut z = vec![0.0_f32; 1200];
    factor.apply(&b, &mut z);
    assert!(x.iter().zip(&z).all(|(x, z)| (x - z).abs() <= 1e-6 * x.abs().max(1e-3)));
}

#[test]
fn update_equals_build_bit_for_bit() {
    for (method, b, shift) in [
        (Method::Cholesky, 1, 0.0),
        (Method::Cholesky, 3, 0.0),
        (Method::Ldlt, 1, -2.9),
        (Method::Lu, 1, 0.0),
    ] {
        let (old, new) = (laplace(20, b, shift), laplace(20, b, shift + 0.3));
        let mut factor = build(method, &old).unwrap();
        let rhs = random(old.shape().0);
        let apply = |factor: &mut Factor| {
            let mut z = vec![0.0; rhs.len()];
            factor.apply(&rhs, &mut z);
            z
        };
        let before = apply(&mut factor);
        factor.refactor(&old).unwrap();
        assert_eq!(apply(&mut factor), before);
        factor.refactor(&new).unwrap();
        assert_eq!(apply(&mut factor), apply(&mut build(method, &new).unwrap()));
        solves(&mut factor, &new);
    }
}

#[test]
fn a_failed_update_leaves_the_old_factor() {
    let a = laplace(20, 1, 0.0);
    for method in [Method::Cholesky, Method::Ldlt, Method::Lu] {
        let mut factor = build(method, &a).unwrap();
        let rhs = random(400);
        let (mut before, mut after) = (vec![0.0; 400], vec![0.0; 400]);
        factor.apply(&rhs, &mut before);
        let mut zero = a.clone();
        let sums: Vec<f64> = (0..400).map(|i| a.row(i).map(|(_, v)| v[0]).sum()).collect();
        for (i, s) in sums.iter().enumerate() {
            let at = a.pattern().find(i, i).unwrap();
            zero.values_mut()[at] -= s;
        }
        assert!(factor.refactor(&zero).is_err());
        zero.values_mut()[3] = f64::NAN;
        assert!(matches!(factor.refactor(&zero), Err(DirectError::NotFinite { .. })));
        assert_eq!(factor.refactor(&laplace(21, 1, 0.0)), Err(DirectError::Pattern));
        factor.apply(&rhs, &mut after);
        assert_eq!(before, after);
        solves(&mut factor, &a);
    }
}

#[test]
fn applying_is_symmetric_and_positive() {
    let a = laplace(20, 3, 0.0);
    let mut factor = build(Method::Auto, &a).unwrap();
    assert_eq!(Preconditioner::<Vec<f64>>::kind(&factor), PreconditionerKind::Symmetric);
    assert_eq!(Preconditioner::<Vec<f64>>::size(&factor), Some(1200));
    let r = random(1200);
    let s: Vec<f64> = r.iter().rev().map(|v| v + 0.1).collect();
    let (mut mr, mut ms) = (vec![0.0; 1200], vec![0.0; 1200]);
    factor.apply(&r, &mut mr);
    factor.apply(&s, &mut ms);
    let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
    assert!((dot(&s, &mr) - dot(&r, &ms)).abs() < 1e-12 * dot(&s, &ms));
    assert!(dot(&r, &mr) > 0.0);
    let mut product = vec![0.0; 1200];
    a.apply(&mr, &mut product);
    assert!(product.iter().zip(&r).all(|(p, r)| (p - r).abs() < 1e-12));
}

#[test]
fn threads_do_not_change_bits() {
    for (method, shift) in [(Method::Cholesky, 0.0), (Method::Ldlt, -2.9), (Method::Lu, 0.0)] {
        let a = laplace(60, 1, shift);
        let run = || {
            let mut factor = build(method, &a).unwrap();
            let mut x = vec![0.0; 3600];
            factor.solve(&random(3600), &mut x).unwrap();
            x
        };
        let one = parallel::threads(1, run).unwrap();
        for n in [2, 7] {
            assert_eq!(one, parallel::threads(n, run).unwrap());
        }
    }
}

#[test]
fn the_pattern_is_shared() {
    let a = laplace(4, 1, 0.0);
    let count = Arc::strong_count(a.pattern());
    let factor = build(Method::Auto, &a).unwrap();
    assert_eq!(Arc::strong_count(a.pattern()), count + 2);
    drop(factor);
}

#[test]
fn empty_scalars_of_blocks_are_named() {
    let full: Vec<(u32, u32, f64)> = (0..6)
        .flat_map(|i| (0..6).map(move |j| (i, j, if i == j { 9.0 } else { 1.0 + f64::from(i + j) / 10.0 })))
        .collect();
    for empty in 0..6 {
        let without = |row: bool| -> Vec<_> {
            full.iter().copied().filter(|&(i, j, _)| empty != if row { i } else { j }).collect()
        };
        let a = assembly::from_triplets_blocked(6, 6, (3, 3), &without(true)).unwrap();
        assert_eq!(build(Method::Lu, &a).err(), Some(DirectError::EmptyRow { row: empty as usize }));
        let a = assembly::from_triplets_blocked(6, 6, (3, 3), &without(false)).unwrap();
        assert_eq!(build(Method::Lu, &a).err(), Some(DirectError::EmptyColumn { column: empty as usize }));
    }
}

#[test]
fn an_update_asks_what_a_build_asks() {
    let a = laplace(5, 1, 0.0);
    let mut skew = a.clone();
    let place = skew.pattern().find(0, 1).unwrap();
    skew.values_mut()[place] = -2.0;
    for method in [Method::Cholesky, Method::Ldlt] {
        let mut factor = build(method, &a).unwrap();
        assert!(matches!(factor.refactor(&skew), Err(DirectError::NotSymmetric { .. })), "{method:?}");
        solves(&mut factor, &a);
    }
    let mut factor = build(Method::Lu, &a).unwrap();
    factor.refactor(&skew).unwrap();
    solves(&mut factor, &skew);
}

/// If x = b / a is beyond the range of f32 but b is not, the solve returns an error, and x is unchanged.
#[test]
fn an_overflow_of_the_storage_is_told() {
    let mut factor = build(Method::Auto, &small(&[&[1.0, 0.0], &[0.0, 1e-10]])).unwrap();
    let mut x = [7.0_f32; 2];
    let error = factor.solve(&[1e30_f32, 1e30], &mut x);
    assert_eq!(error, Err(DirectError::Overflow { index: 1, storage: "f32" }));
    assert_eq!(x, [7.0; 2]);
    factor.solve(&[1e30_f32, 1e20], &mut x).unwrap();
    assert!((x[0] / 1e30 - 1.0).abs() < 1e-6 && (x[1] / 1e30 - 1.0).abs() < 1e-6, "{x:?}");
}

#[test]
fn refinement_begins_at_the_guess() {
    let a = laplace(20, 1, 0.0);
    let (n, mut factor) = (a.shape().0, direct(Method::Auto).factor(&a).unwrap());
    let b = random(n);
    let mut x = vec![0.0; n];
    let from_zeros = factor.solve_from(&b, &mut x).unwrap();
    let mut plain = vec![f64::NAN; n];
    assert_eq!(factor.solve(&b, &mut plain).unwrap(), from_zeros);
    assert_eq!(x, plain);
    // A solution needs no step, a close guess few steps, and a guess that is not finite counts as zeros.
    let again = factor.solve_from(&b, &mut x).unwrap();
    assert!(again.relative_residual <= from_zeros.relative_residual && again.refinements == 0, "{again:?}");
    let loose = Direct { refinements: 0, ..direct(Method::Auto) };
    let mut loose = loose.factor(&a).unwrap();
    let mut near: Vec<f64> = plain.iter().map(|v| v * (1.0 + 1e-7)).collect();
    let solved = loose.solve_from(&b, &mut near).unwrap();
    assert!(solved.relative_residual < 1e-14, "{solved:?}");
    let mut none = vec![f64::NAN; n];
    factor.solve_from(&b, &mut none).unwrap();
    assert_eq!(none, plain);
    let mut far = vec![1e12; n];
    assert!(factor.solve_from(&b, &mut far).unwrap().relative_residual < 1e-14);
}
