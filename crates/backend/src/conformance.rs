//! Conformance tests of a backend: every primitive equals the plain loops of [`Reference`].
//!
//! [`check`] is the test.

use std::sync::Arc;

use coarsen_core::{LinearOperator, Real, Scalar, SplitMix64, Vector};
use coarsen_sparse::{Bsr, Pattern};

use crate::{Backend, DenseBlocks, Matrix, Reference, RowSets, SweepDirection};

/// The tested numbers of nodes: zero, one, around a power of two, and enough for several leaves of a parallel
/// loop.
const NODES: [usize; 6] = [0, 1, 31, 32, 33, 1000];

/// The tested block sizes, with and without specialised kernels.
const BLOCKS: [usize; 6] = [1, 2, 3, 5, 6, 12];

/// Checks that every primitive of a backend equals the plain loops of [`Reference`], up to `tolerance` relative to the magnitude
/// of the terms of a sum. *Panics* otherwise.
///
/// ```
/// use coarsen_backend::{Cpu, conformance};
/// conformance::check(&Cpu::mixed(), 1e-6);
/// ```
pub fn check<B: Backend>(backend: &B, tolerance: f64) {
    vectors(backend, tolerance);
    products(backend, tolerance);
    blocks(backend, tolerance);
    relaxation(backend, tolerance);
    interleaved(backend, tolerance);
    wrong_sizes(backend);
}

/// Returns pseudo-random entries between -1 and 1, the same in every run.
pub fn noise(n: usize, seed: u64) -> Vec<f64> {
    SplitMix64::new(seed.wrapping_mul(SplitMix64::GAMMA) | 1).numbers(n)
}

/// Returns a diagonally dominant matrix of n nodes on a ring with some couplings across it, in b x b blocks.
pub fn ring(n: usize, b: usize) -> Bsr<f64> {
    let mut places = Vec::new();
    for i in 0..n as u32 {
        let n = n as u32;
        let mut row = vec![i, (i + 1) % n, (i + n - 1) % n, (i * 7 + 3) % n];
        row.sort_unstable();
        row.dedup();
        places.extend(row.into_iter().map(|j| (i, j)));
    }
    let mut values = noise(places.len() * b * b, 5);
    for (k, (i, j)) in places.iter().enumerate() {
        if i == j {
            (0..b).for_each(|d| values[k * b * b + d * b + d] += 8.0 * b as f64);
        }
    }
    coarsen_sparse::assembly::from_blocks((n, n), (b, b), &places, &values)
        .expect("places are inside the matrix")
}

fn real<T: Real>(x: &[f64]) -> Vec<T> {
    x.iter().map(|&v| T::from_f64(v)).collect()
}

fn close<B: Backend>(
    backend: &B,
    found: &B::Vector,
    expected: &[f64],
    scale: f64,
    tolerance: f64,
    invariant: &str,
) {
    let mut host = vec![B::Real::default(); expected.len()];
    backend.read(found, &mut host).expect("a vector is readable");
    for (i, (f, e)) in host.iter().zip(expected).enumerate() {
        let error = (f.as_f64() - e).abs();
        assert!(
            error <= tolerance * scale,
            "{invariant}: entry {i} of {} is {f}, expected {e}",
            expected.len()
        );
    }
}

/// The part of [`check`] for vectors: fill, copy, axpby, hadamard, renewed vectors, dots and cg_update.
pub fn vectors<B: Backend>(backend: &B, tolerance: f64) {
    for n in NODES.into_iter().chain([4096, 10_000]) {
        let [x, y, d] = [1, 2, 3].map(|seed| noise(n, seed));
        let [vx, vy, vd] = [&x, &y, &d].map(|v| backend.vector(&real(v)).expect("memory for a vector"));
        let copy_of_y = || backend.vector(&real(&y)).expect("memory for a vector");
        let scalar = |v: f64| vx.scalar(B::Real::from_f64(v));
        let zip =
            |f: &dyn Fn(f64, f64, f64) -> f64| -> Vec<f64> { (0..n).map(|i| f(x[i], y[i], d[i])).collect() };

        let mut v = copy_of_y();
        assert_eq!(v.size(), n);
        v.fill(B::Real::from_f64(0.5));
        close(backend, &v, &vec![0.5; n], 1.0, 0.0, "fill");
        v.copy(&vx);
        close(backend, &v, &x, 1.0, tolerance, "copy");
        for (a, b) in [(0.5, 0.0), (2.0, 1.0), (-1.0, 0.25)] {
            let mut v = copy_of_y();
            v.axpby(&scalar(a), &vx, &scalar(b));
            close(backend, &v, &zip(&|x, y, _| a * x + b * y), 4.0, tolerance, "axpby");
            let mut v = copy_of_y();
            v.hadamard(&scalar(a), &vd, &vx, &scalar(b));
            close(backend, &v, &zip(&|x, y, d| a * d * x + b * y), 4.0, tolerance, "hadamard");
        }
        // Neither the old entries nor the old length of a vector show after it is renewed.
        for old in [&[][..], &x[..n / 2], &[&x[..], &y[..]].concat()] {
            let mut v = backend.vector(&real(old)).expect("memory for a vector");
            v.renew_like(&vx).expect("memory for a vector");
            assert!(v.same_layout(&vx), "a renewed vector of {n}");
            close(backend, &v, &vec![0.0; n], 0.0, 0.0, "a renewed vector");
            v.copy(&vx);
            let [found, expected] = [v.dot(&vy), vx.dot(&vy)].map(|s| s.read());
            assert!(found == expected, "a dot of a renewed vector of {n}");
        }
        let sum = |f: &dyn Fn(usize) -> f64| (0..n).map(f).sum::<f64>();
        let [xy, xd] = vx.dots([&vy, &vd]);
        let m = vx.dot_magnitude(&vy);
        let expected = [
            (xy, sum(&|i| x[i] * y[i])),
            (xd, sum(&|i| x[i] * d[i])),
            (m.value, sum(&|i| x[i] * y[i])),
            (m.magnitude, sum(&|i| (x[i] * y[i]).abs())),
        ];
        for (found, expected) in expected {
            assert!((found.read().as_f64() - expected).abs() <= tolerance * (n as f64 + 1.0), "dots at {n}");
        }
        let (mut u, mut r) = (copy_of_y(), backend.vector(&real(&d)).expect("memory for a vector"));
        let rr = B::Vector::cg_update(&mut u, &mut r, &scalar(0.5), &vx, &vy);
        close(backend, &u, &zip(&|x, y, _| y + 0.5 * x), 2.0, tolerance, "cg_update x");
        close(backend, &r, &zip(&|_, y, d| d - 0.5 * y), 2.0, tolerance, "cg_update r");
        let expected = sum(&|i| (d[i] - 0.5 * y[i]).powi(2));
        assert!(
            (rr.read().as_f64() - expected).abs() <= tolerance * (n as f64 + 1.0),
            "cg_update r.r at {n}"
        );
    }
}

/// Tests apply, apply_dot, residual, apply_add and set_values.
fn products<B: Backend>(backend: &B, tolerance: f64) {
    for (n, b) in NODES.into_iter().flat_map(|n| BLOCKS.map(|b| (n, b))) {
        let a = ring(n, b);
        let [x, y] = [1, 2].map(|seed| noise(n * b, seed));
        let oracle = Reference::default().matrix(&a).expect("the reference takes any matrix");
        let matrix = backend.matrix(&a).expect("memory for a matrix");
        let [vx, vy] = [&x, &y].map(|v| backend.vector(&real(v)).expect("memory for a vector"));
        let (mut expected, scale) = (vec![0.0; n * b], 32.0 * b as f64);
        let mut found = vx.like().expect("memory for a vector");
        assert_eq!(LinearOperator::shape(&matrix), (n * b, n * b));

        oracle.apply(&x, &mut expected);
        matrix.apply(&vx, &mut found);
        close(backend, &found, &expected, scale, tolerance, "apply");
        let dot = matrix.apply_dot(&vx, &mut found);
        close(backend, &found, &expected, scale, tolerance, "apply_dot");
        let [value, magnitude] = B::Vector::wait_for([&dot.value, &dot.magnitude]);
        let terms: Vec<f64> = x.iter().zip(&expected).map(|(x, y)| x * y).collect();
        let allowed = tolerance * scale * (n as f64 + 1.0);
        assert!((value.as_f64() - terms.iter().sum::<f64>()).abs() <= allowed);
        assert!((magnitude.as_f64() - terms.iter().map(|t| t.abs()).sum::<f64>()).abs() <= allowed);
        oracle.residual(&y, &x, &mut expected);
        matrix.residual(&vy, &vx, &mut found);
        close(backend, &found, &expected, scale, tolerance, "residual");
        for (p, q) in [(0.5, 0.0), (-1.0, 1.0), (2.0, 0.5)] {
            let mut e = y.clone();
            oracle.apply_add(p, &x, q, &mut e);
            found.copy(&vy);
            matrix.apply_add(B::Real::from_f64(p), &vx, B::Real::from_f64(q), &mut found);
            close(backend, &found, &e, scale * 2.0, tolerance, "apply_add");
        }
        let mut changed = a.clone();
        changed.values_mut().iter_mut().for_each(|v| *v *= 0.5);
        let mut matrix = matrix;
        matrix.set_values(&changed).expect("the same pattern");
        matrix.apply(&vx, &mut found);
        oracle.apply(&x, &mut expected);
        expected.iter_mut().for_each(|v| *v *= 0.5);
        close(backend, &found, &expected, scale, tolerance, "set_values");
    }
}

/// Tests dense blocks.
fn blocks<B: Backend>(backend: &B, tolerance: f64) {
    for (n, b) in NODES.into_iter().flat_map(|n| BLOCKS.map(|b| (n, b))) {
        let host = DenseBlocks::new(b, noise(n * b * b, 7)).expect("whole blocks");
        let [r, z] = [1, 2].map(|seed| noise(n * b, seed));
        let oracle = Reference::default().blocks(&host).expect("the reference takes any blocks");
        let mut blocks = backend
            .blocks(&DenseBlocks::new(b, vec![0.0; n * b * b]).expect("whole blocks"))
            .expect("memory");
        B::set_blocks(&mut blocks, &host).expect("the same size");
        let vr = backend.vector(&real(&r)).expect("memory for a vector");
        for (p, q) in [(1.0, 0.0), (0.5, 1.0), (-2.0, 0.25)] {
            let mut expected = z.clone();
            Reference::apply_blocks(&oracle, p, &r, q, &mut expected);
            let mut found = backend.vector(&real(&z)).expect("memory for a vector");
            B::apply_blocks(&blocks, B::Real::from_f64(p), &vr, B::Real::from_f64(q), &mut found);
            close(backend, &found, &expected, 4.0 * b as f64, tolerance, "blocks");
        }
    }
}

/// Tests relaxation in the order of the backend, in small chunks and in natural order.
fn relaxation<B: Backend>(backend: &B, tolerance: f64) {
    for (n, b) in NODES.into_iter().flat_map(|n| BLOCKS.map(|b| (n, b))) {
        let a = ring(n, b);
        let d = DenseBlocks::inverse_diagonal(&a, "gauss-seidel").expect("the ring is diagonally dominant");
        let [rhs, start] = [1, 2].map(|seed| noise(n * b, seed));
        let pattern: &Arc<Pattern> = a.pattern();
        for sets in
            [backend.relaxation_order(pattern), RowSets::chunked(pattern, 10), RowSets::chunked(pattern, n)]
        {
            let (matrix, blocks) = (backend.matrix(&a).expect("memory"), backend.blocks(&d).expect("memory"));
            let rows = backend.rows(&sets).expect("memory");
            let vb = backend.vector(&real(&rhs)).expect("memory");
            let (mut found, mut expected) = (backend.vector(&real(&start)).expect("memory"), start.clone());
            let oracle = (
                Reference::default().matrix(&a).expect("any"),
                Reference::default().blocks(&d).expect("any"),
            );
            for (sweep, omega) in [(SweepDirection::Forward, 1.0), (SweepDirection::Backward, 0.5)] {
                matrix.relax(&rows, sweep, &blocks, B::Real::from_f64(omega), &vb, &mut found);
                Matrix::<Reference>::relax(&oracle.0, &sets, sweep, &oracle.1, omega, &rhs, &mut expected);
            }
            close(backend, &found, &expected, 8.0, tolerance, "relax");
            for beta in [0.0, 0.5] {
                let vx = backend.vector(&real(&rhs)).expect("memory");
                let (mut step, mut y) =
                    (backend.vector(&real(&start)).expect("memory"), vx.like().expect("memory"));
                let (mut expected_step, mut expected) = (start.clone(), vec![0.0; n * b]);
                matrix.relax_into(
                    &blocks,
                    B::Real::from_f64(0.5),
                    B::Real::from_f64(beta),
                    &vb,
                    &vx,
                    &mut step,
                    &mut y,
                );
                oracle.0.relax_into(&oracle.1, 0.5, beta, &rhs, &rhs, &mut expected_step, &mut expected);
                close(backend, &step, &expected_step, 8.0, tolerance, "relax_into, the step");
                close(backend, &y, &expected, 8.0, tolerance, "relax_into");
            }
        }
    }
}

/// Tests that operations on interleaved columns have the results of single columns, with one column missing.
fn interleaved<B: Backend>(backend: &B, tolerance: f64) {
    let count = (B::COLUMNS - 1).max(1);
    for (n, b) in NODES.into_iter().flat_map(|n| BLOCKS.map(|b| (n, b))) {
        let a = ring(n, b);
        let d = DenseBlocks::inverse_diagonal(&a, "gauss-seidel").expect("the ring is diagonally dominant");
        let (matrix, blocks) = (backend.matrix(&a).expect("memory"), backend.blocks(&d).expect("memory"));
        let vector = |host: &[f64]| backend.vector(&real(host)).expect("memory");
        let columns = |seed: u64| -> Vec<B::Vector> {
            (0..count as u64).map(|c| vector(&noise(n * b, seed + 10 * c))).collect()
        };
        let [x, y, s] = [1, 2, 3].map(columns);
        let together = |columns: &[B::Vector]| {
            let mut all = vector(&vec![0.5; n * b * B::COLUMNS]);
            B::interleave(columns, &mut all);
            all
        };
        let number = B::Real::from_f64;
        type Operation<'a, V> = (&'a str, &'a dyn Fn(&V, &V, &mut V, &mut V));
        let operations: [Operation<'_, B::Vector>; 6] = [
            ("apply", &|x, _, s, _| matrix.apply(x, s)),
            ("residual", &|x, y, s, _| matrix.residual(y, x, s)),
            ("apply_add", &|x, _, s, _| matrix.apply_add(number(-1.0), x, number(0.5), s)),
            ("relax_into", &|x, y, s, t| matrix.relax_into(&blocks, number(0.5), number(0.0), y, x, s, t)),
            ("relax_into", &|x, y, s, t| matrix.relax_into(&blocks, number(0.5), number(0.5), y, x, s, t)),
            ("blocks", &|x, _, s, _| B::apply_blocks(&blocks, number(2.0), x, number(0.25), s)),
        ];
        for (name, operation) in operations {
            let (x_all, y_all, mut s_all) = (together(&x), together(&y), together(&s));
            let mut t_all = x_all.like().expect("memory");
            operation(&x_all, &y_all, &mut s_all, &mut t_all);
            for all in [&s_all, &t_all] {
                let mut host = vec![B::Real::default(); n * b * B::COLUMNS];
                backend.read(all, &mut host).expect("a vector is readable");
                let missing = host.iter().skip(count).step_by(B::COLUMNS);
                assert!(
                    B::COLUMNS == 1 || missing.into_iter().all(|v| v.as_f64() == 0.0),
                    "{name}: a missing column"
                );
            }
            let mut separate = [&s_all, &t_all].map(|all| {
                let mut columns = columns(4);
                B::separate(all, &mut columns);
                columns
            });
            for c in 0..count {
                let (mut s, mut t) = (vector(&noise(n * b, 3 + 10 * c as u64)), x[c].like().expect("memory"));
                operation(&x[c], &y[c], &mut s, &mut t);
                for (single, all) in [s, t].iter().zip(&mut separate) {
                    let mut host = vec![B::Real::default(); n * b];
                    backend.read(single, &mut host).expect("a vector is readable");
                    let expected: Vec<f64> = host.iter().map(|v| v.as_f64()).collect();
                    close(backend, &all[c], &expected, 64.0 * b as f64, tolerance, name);
                }
            }
        }
    }
}

/// Tests that wrong sizes are errors and leave the old state unchanged.
fn wrong_sizes<B: Backend>(backend: &B) {
    let mut v = backend.vector(&real(&[1.0, 2.0])).expect("memory");
    assert!(backend.read(&v, &mut [B::Real::default(); 3]).is_err());
    assert!(backend.write(&[B::Real::default(); 1], &mut v).is_err());
    close(backend, &v, &[1.0, 2.0], 1.0, 0.0, "write");
    let mut matrix = backend.matrix(&ring(4, 1)).expect("memory");
    assert!(matrix.set_values(&ring(5, 1)).is_err());
    // The same number of values in another pattern.
    let moved: Vec<(u32, u32, f64)> = (0..ring(4, 1).nnz() as u32).map(|k| (k / 4, k % 4, 1.0)).collect();
    let moved = coarsen_sparse::assembly::from_triplets(4, 4, &moved).expect("places are inside the matrix");
    assert_eq!(moved.nnz(), ring(4, 1).nnz());
    assert!(matrix.set_values(&moved).is_err(), "values of another pattern");
    let mut blocks =
        backend.blocks(&DenseBlocks::new(1, vec![1.0, 2.0]).expect("whole blocks")).expect("memory");
    let larger = DenseBlocks::new(2, vec![1.0; 8]).expect("whole blocks");
    assert!(B::set_blocks(&mut blocks, &larger).is_err());
    let mut z = v.like().expect("memory");
    B::apply_blocks(&blocks, B::Real::from_f64(1.0), &v, B::Real::from_f64(0.0), &mut z);
    close(backend, &z, &[1.0, 4.0], 1.0, 0.0, "set_values");
}
