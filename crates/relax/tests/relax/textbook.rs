//! Each method compared with its formula in plain loops: polynomials on eigenvectors, sweeps, factors without
//! fill, and shifts.

use std::f64::consts::PI;

use coarsen_backend::{Cpu, Setup, SetupError, Smoother, Update};
use coarsen_core::{Error, LinearOperator, Preconditioner, PreconditionerKind, from_fn};
use coarsen_relax::{BlockJacobi, Chebyshev, DampedJacobi, GaussSeidel, Ic0, Ilu0, Jacobi, Scaling, Spai0};
use coarsen_sparse::{Bsr, assembly};

use crate::common::{applied, near, right_hand_side};

/// Returns a diagonally dominant chain of `n` nodes with full blocks of `b`; `skew` makes it unsymmetric.
fn chain(n: u32, b: u32, skew: f64) -> Bsr<f64> {
    let mut entries = Vec::new();
    for i in 0..n {
        for p in 0..b {
            for q in 0..b {
                let (row, of) = (i * b + p, |node: u32| node * b + q);
                let own = f64::from((i + p.min(q) + 2 * p.max(q)) % 3) / 4.0;
                entries.push((row, of(i), if p == q { 4.0 * f64::from(b) + own } else { own }));
                let link = |low: u32| 0.5 + f64::from((low + p + q) % 4) / 4.0;
                if i > 0 {
                    entries.push((row, of(i - 1), -link(i - 1)));
                }
                if i + 1 < n {
                    entries.push((row, of(i + 1), -link(i) * (1.0 + skew)));
                }
            }
        }
    }
    let size = (n * b) as usize;
    assembly::from_triplets_blocked(size, size, (b as usize, b as usize), &entries).unwrap()
}

/// Returns the Chebyshev polynomial T_m at any real number.
fn chebyshev(m: usize, t: f64) -> f64 {
    let (mut low, mut high) = (1.0, t);
    for _ in 0..m {
        (low, high) = (high, 2.0 * t * high - low);
    }
    low
}

/// On an eigenvector of D⁻¹A with eigenvalue λ the error is multiplied by T_m((θ − λ)/δ) / T_m(θ/δ).
#[test]
fn chebyshev_multiplies_errors_by_its_polynomial() {
    let n = 30;
    let entries: Vec<_> = (0..n)
        .flat_map(|i| [(i, i, 2.0), (i, i + 1, -1.0), (i + 1, i, -1.0)])
        .filter(|&(i, j, _)| i < n && j < n)
        .collect();
    let a = assembly::from_triplets(n as usize, n as usize, &entries).unwrap();
    let all = [
        Chebyshev { degree: 1, ratio: 4.0, ..Chebyshev::default() },
        Chebyshev::default(),
        Chebyshev { degree: 7, ratio: 10.0, ..Chebyshev::default() },
    ];
    for parameters in all {
        let mut m = parameters.build(&a, &Cpu::new()).unwrap();
        let beta = m.radius();
        assert!((1.95..2.4).contains(&beta), "{beta}");
        assert_eq!(m.facts().radius, Some(beta));
        assert!(m.matrix().is_some());
        let alpha = beta / parameters.ratio;
        let (theta, delta) = (0.5 * (beta + alpha), 0.5 * (beta - alpha));
        for k in [1, 4, 15, 29, 30] {
            let angle = f64::from(k) * PI / f64::from(n + 1);
            let lambda = 1.0 - angle.cos();
            let v: Vec<f64> = (1..=n).map(|i| (angle * f64::from(i)).sin()).collect();
            let left = chebyshev(parameters.degree, (theta - lambda) / delta)
                / chebyshev(parameters.degree, theta / delta);
            let expected: Vec<f64> = v.iter().map(|v| (1.0 - left) / (2.0 * lambda) * v).collect();
            assert!(near(&applied(&mut m, &v), &expected), "degree {} of mode {k}", parameters.degree);
            let mut x = v.clone();
            m.smooth(&a, &vec![0.0; n as usize], &mut x);
            let expected: Vec<f64> = v.iter().map(|v| left * v).collect();
            assert!(near(&x, &expected), "relaxing, degree {} of mode {k}", parameters.degree);
        }
        // If A is scaled, M is scaled inversely: β is unchanged, also in an update.
        let mut four = a.clone();
        four.values_mut().iter_mut().for_each(|v| *v *= 4.0);
        let r = right_hand_side(n as usize);
        let quarter: Vec<f64> = applied(&mut m, &r).iter().map(|z| z / 4.0).collect();
        m.update(&four).unwrap();
        assert!(near(&applied(&mut m, &r), &quarter) && (m.radius() - beta).abs() < 1e-12);
    }
}

/// Damped Jacobi and SPAI-0 equal the polynomials of degree 1 to the last bit: after a build and an update,
/// from zero and from a guess.
#[test]
fn damped_steps_are_chebyshev_of_degree_one() {
    fn check<R: Setup<f64, Cpu>>(parameters: R, scaling: Scaling)
    where
        R::Built: Smoother,
    {
        for b in [1_u32, 3] {
            let (a, backend) = (chain(20, b, 0.0), Cpu::new());
            let mut changed = a.clone();
            changed.values_mut().iter_mut().enumerate().for_each(|(k, v)| *v *= 2.0 + (k % 2) as f64 * 1e-3);
            let polynomial = Chebyshev { degree: 1, ratio: 4.0, scaling, ..Chebyshev::default() };
            let (mut m, mut expected) =
                (parameters.build(&a, &backend).unwrap(), polynomial.build(&a, &backend).unwrap());
            assert_eq!(Smoother::bytes(&m), expected.bytes());
            for a in [&a, &changed] {
                m.update(a).unwrap();
                expected.update(a).unwrap();
                assert_eq!(
                    (Smoother::kind(&m), m.facts().radius),
                    (Smoother::kind(&expected), expected.facts().radius)
                );
                let r = right_hand_side(a.shape().0);
                let [mut x, mut y] = [(); 2].map(|()| vec![f64::NAN; r.len()]);
                for _ in 0..2 {
                    m.pre_smooth(a, &r, &mut x);
                    expected.pre_smooth(a, &r, &mut y);
                    assert_eq!(x, y);
                    m.post_smooth(a, &r, &mut x);
                    expected.post_smooth(a, &r, &mut y);
                    assert_eq!(x, y);
                }
            }
        }
    }
    check(DampedJacobi::default(), Scaling::Inverse);
    check(Spai0::default(), Scaling::Spai0);
}

/// Forward and backward sweeps equal their loops, node by node.
#[test]
fn sweeps_are_their_loops() {
    for (b, skew) in [(1_usize, 0.0), (1, 0.25), (2, 0.0), (3, 0.25)] {
        let a = chain(20, b as u32, skew);
        let n = 20 * b;
        let r = right_hand_side(n);
        for (omega, sweeps) in [(1.0, 1), (1.3, 1), (0.8, 2)] {
            let mut m = GaussSeidel { omega, sweeps, symmetric: false }.build(&a, &Cpu::new()).unwrap();
            let node = |x: &mut [f64], i: usize| {
                // (1 − ω) x + ω D⁻¹ (r − couplings to other nodes); the block is solved by elimination.
                let mut block: Vec<Vec<f64>> = (0..b)
                    .map(|p| {
                        let row = i * b + p;
                        let others: f64 = (0..n).filter(|j| j / b != i).map(|j| a.get(row, j) * x[j]).sum();
                        let own = (0..b).map(|q| a.get(row, i * b + q));
                        own.chain([r[row] - others]).collect()
                    })
                    .collect();
                for k in 0..b {
                    for p in (0..b).filter(|&p| p != k) {
                        let factor = block[p][k] / block[k][k];
                        (0..=b).for_each(|q| block[p][q] -= factor * block[k][q]);
                    }
                }
                (0..b).for_each(|p| x[i * b + p] += omega * (block[p][b] / block[p][p] - x[i * b + p]));
            };
            let forward = |x: &mut [f64]| (0..20).for_each(|i| node(x, i));
            let backward = |x: &mut [f64]| (0..20).rev().for_each(|i| node(x, i));
            // A preconditioner makes pairs of sweeps. A smoother makes all forward sweeps before the coarse
            // correction, and all backward sweeps after it.
            let (mut pairs, mut x, mut smoothed) = (vec![0.0; n], vec![0.0; n], vec![f64::NAN; n]);
            (0..sweeps).for_each(|_| {
                forward(&mut pairs);
                backward(&mut pairs);
            });
            assert!(near(&applied(&mut m, &r), &pairs), "block {b}, skew {skew}, omega {omega}: pairs");
            (0..sweeps).for_each(|_| forward(&mut x));
            m.pre_smooth(&a, &r, &mut smoothed);
            assert!(near(&smoothed, &x), "block {b}, skew {skew}, omega {omega}: forward");
            (0..sweeps).for_each(|_| backward(&mut x));
            m.post_smooth(&a, &r, &mut smoothed);
            assert!(near(&smoothed, &x), "block {b}, skew {skew}, omega {omega}: backward");
            (0..sweeps).for_each(|_| forward(&mut x));
            m.smooth(&a, &r, &mut smoothed);
            assert!(near(&smoothed, &x), "block {b}, skew {skew}, omega {omega}: relaxing");
        }
    }
}

/// A chain has no fill, so incomplete factors are complete for any block size and solve with A exactly.
#[test]
fn factors_that_fill_nothing_are_exact() {
    for b in 1..=7 {
        let r = right_hand_side(20 * b as usize);
        let check = |a: &Bsr<f64>, m: &mut dyn Preconditioner<Vec<f64>>, name: &str| {
            let z = applied(m, &r);
            let mut back = vec![0.0; r.len()];
            a.apply(&z, &mut back);
            assert!(near(&back, &r), "{name} with blocks of {b}");
        };
        let a = chain(20, b, 0.0);
        let mut ic = Ic0::default().build(&a, &Cpu::new()).unwrap();
        check(&a, &mut ic, "ic0");
        assert_eq!((ic.shift(), Preconditioner::<Vec<f64>>::kind(&ic)), (0.0, PreconditionerKind::Symmetric));
        let skew = chain(20, b, 0.25);
        check(&skew, &mut Ilu0.build(&skew, &Cpu::new()).unwrap(), "ilu0");
        let mut twice = a.clone();
        twice.values_mut().iter_mut().for_each(|v| *v *= 2.0);
        ic.update(&twice).unwrap();
        check(&twice, &mut ic, "an updated ic0");
    }
}

/// IC(0) of Kershaw's matrix has a negative pivot: the first shift of the diagonal is doubled until all
/// pivots are positive.
#[test]
fn a_shift_is_doubled_until_it_is_enough() {
    let rows = [[3.0, -2.0, 0.0, 2.0], [-2.0, 3.0, -2.0, 0.0], [0.0, -2.0, 3.0, -2.0], [2.0, 0.0, -2.0, 3.0]];
    let entries: Vec<_> = (0..16)
        .map(|at| (at / 4, at % 4, rows[at as usize / 4][at as usize % 4]))
        .filter(|e| e.2 != 0.0)
        .collect();
    let a = assembly::from_triplets(4, 4, &entries).unwrap();
    /// Returns L on the pattern of A, or `None` if a pivot is not positive.
    fn incomplete(mut a: [[f64; 4]; 4], shift: f64) -> Option<[[f64; 4]; 4]> {
        (0..4).for_each(|i| a[i][i] *= 1.0 + shift);
        let mut l = [[0.0; 4]; 4];
        for i in 0..4 {
            for j in (0..=i).filter(|&j| a[i][j] != 0.0) {
                let left = a[i][j] - (0..j).map(|k| l[i][k] * l[j][k]).sum::<f64>();
                l[i][j] = if i > j { left / l[j][j] } else { left.sqrt() };
            }
            if l[i][i].is_nan() || l[i][i] <= 0.0 {
                return None;
            }
        }
        Some(l)
    }
    for first_shift in [0.001, 0.01, 0.3] {
        let mut shift = 0.0;
        let l = loop {
            match incomplete(rows, shift) {
                Some(l) => break l,
                None => shift = f64::clamp(2.0 * shift, first_shift, 1.0),
            }
        };
        let mut m = Ic0 { first_shift }.build(&a, &Cpu::new()).unwrap();
        assert_eq!(m.shift(), shift);
        let z = applied(&mut m, &vec![1.0, 2.0, -3.0, 4.0]);
        let y: Vec<f64> = (0..4).map(|k| (k..4).map(|i| l[i][k] * z[i]).sum()).collect();
        let back: Vec<f64> = (0..4).map(|i| (0..=i).map(|k| l[i][k] * y[k]).sum()).collect();
        assert!(near(&back, &[1.0, 2.0, -3.0, 4.0]), "{back:?}");
    }
}

/// Block Jacobi is the damped inverse of the diagonal blocks, Jacobi the damped inverse of the diagonal.
#[test]
fn jacobi_inverts_what_is_on_the_diagonal() {
    for b in [1_usize, 2, 5] {
        let a = chain(6, b as u32, 0.0);
        let r = right_hand_side(6 * b);
        let z = applied(&mut Jacobi { omega: 0.5, l1: false }.build(&a, &Cpu::new()).unwrap(), &r);
        let expected: Vec<f64> = (0..6 * b).map(|i| 0.5 * r[i] / a.get(i, i)).collect();
        assert!(near(&z, &expected));
        let z = applied(&mut BlockJacobi { omega: 0.5, l1: false }.build(&a, &Cpu::new()).unwrap(), &r);
        let back: Vec<f64> = (0..6 * b)
            .map(|i| (i / b * b..(i / b + 1) * b).map(|j| a.get(i, j) * z[j] / 0.5).sum())
            .collect();
        assert!(near(&back, &r), "blocks of {b}");
    }
}

/// Matrix-free Chebyshev equals its recurrence with the matrix up to round-off; matrix-free `Jacobi` equals
/// `Jacobi`.
#[test]
fn matrix_free_methods_are_those_of_the_matrix() {
    let a = chain(60, 1, 0.0);
    let (diagonal, backend): (Vec<f64>, _) = ((0..60).map(|i| a.get(i, i)).collect(), Cpu::new());
    let free = from_fn(60, |x: &Vec<f64>, y: &mut Vec<f64>| a.apply(x, y));
    let r = right_hand_side(60);
    for degree in [1, 2, 3, 7] {
        let parameters = Chebyshev { degree, safety: 1.3, ..Default::default() };
        let mut without = parameters.matrix_free(&free, &diagonal, &backend).unwrap();
        assert_eq!(
            (without.size(), Preconditioner::kind(&without)),
            (Some(60), PreconditionerKind::Symmetric)
        );
        let theta = 0.5 * without.radius() * (1.0 + 1.0 / parameters.ratio);
        let delta = 0.5 * without.radius() * (1.0 - 1.0 / parameters.ratio);
        // p(D⁻¹A) by its recurrence in f64, with the same interval.
        let scaled = |v: Vec<f64>| -> Vec<f64> { v.iter().zip(&diagonal).map(|(v, d)| v / d).collect() };
        let mut d: Vec<f64> = scaled(r.clone()).iter().map(|v| v / theta).collect();
        let (mut z, mut rho) = (d.clone(), delta / theta);
        for _ in 1..degree {
            let mut left = vec![0.0; 60];
            a.residual(&r, &z, &mut left);
            let next = 1.0 / (2.0 * theta / delta - rho);
            for ((d, s), z) in d.iter_mut().zip(scaled(left)).zip(&mut z) {
                *d = next * rho * *d + 2.0 * next / delta * s;
                *z += *d;
            }
            rho = next;
        }
        assert!(near(&applied(&mut without, &r), &z), "degree {degree}");
    }
    let (mut with, mut without) = (
        Jacobi { omega: 0.7, l1: false }.build(&a, &backend).unwrap(),
        Jacobi { omega: 0.7, l1: false }.matrix_free(&diagonal, &backend).unwrap(),
    );
    assert_eq!(applied(&mut with, &r), applied(&mut without, &r));
}

#[test]
fn diagonals_that_are_not_positive_are_named() {
    let (backend, free) = (Cpu::new(), from_fn(3, |x: &Vec<f64>, y: &mut Vec<f64>| y.copy_from_slice(x)));
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let refused = Jacobi::default().matrix_free(&[1.0, bad, 2.0], &backend).err().unwrap();
        assert!(matches!(refused, SetupError::NotPositive { row: 1, .. }), "{refused}");
        let refused = Chebyshev::default().matrix_free(&free, &[1.0, bad, 2.0], &backend).err().unwrap();
        assert!(matches!(refused, SetupError::NotPositive { row: 1, .. }), "{refused}");
    }
    let refused = Jacobi::default().matrix_free(&[1e-40_f32, 1.0], &Cpu::single()).err().unwrap();
    assert!(matches!(refused, SetupError::Core(Error::Range { .. })), "{refused}");
    let refused = Chebyshev::default().matrix_free(&free, &[1.0; 2], &backend).err().unwrap();
    assert!(matches!(refused, SetupError::Core(Error::Shape { expected: 3, found: 2, .. })), "{refused}");
    let spai0 = Chebyshev { scaling: Scaling::Spai0, ..Default::default() };
    assert!(matches!(spai0.matrix_free(&free, &[1.0; 3], &backend).err(), Some(SetupError::HostOnly { .. })));
}
