//! The first iterates of every method, compared with the algorithm of its source written in plain loops.

use std::ops::ControlFlow;

use coarsen_core::{Iteration, LinearOperator, Preconditioner, PreconditionerKind, Stop};
use coarsen_krylov::{BiCgStab, Cg, FlexibleCg, Gmres, Krylov, Minres, PipelinedCg, SingleReductionCg};

use crate::common::{Dense, Scaling, distance, gmres, random, richardson, spread};

const N: usize = 9;
const STEPS: usize = 4;

type Numbers = Vec<f64>;

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

/// x + a y
fn plus(x: &[f64], a: f64, y: &[f64]) -> Numbers {
    x.iter().zip(y).map(|(x, y)| x + a * y).collect()
}

/// A system, its preconditioner M⁻¹ = diag(d), and a guess.
struct Case {
    a: Dense<f64>,
    d: Numbers,
    b: Numbers,
    x0: Numbers,
}

impl Case {
    fn new(a: Dense<f64>, seed: u64) -> Self {
        let d = random(N, seed).iter().map(|v| 1.2 + v).collect();
        Self { a, d, b: random(N, seed + 1), x0: random(N, seed + 2) }
    }

    fn product(&self, x: &[f64]) -> Numbers {
        let mut y = vec![0.0; N];
        self.a.apply(&x.to_vec(), &mut y);
        y
    }

    fn residual(&self, x: &[f64]) -> Numbers {
        plus(&self.b, -1.0, &self.product(x))
    }

    fn precondition(&self, r: &[f64]) -> Numbers {
        r.iter().zip(&self.d).map(|(r, d)| r * d).collect()
    }

    /// x after 0, 1, 2, … steps, each from a solve with this number as iteration limit.
    fn iterates(&self, method: &mut dyn Krylov<Numbers>) -> Vec<Numbers> {
        let run = |steps| {
            *method.stop_mut() = Stop { max_iterations: steps, ..Stop::relative(1e-14) };
            let mut m = Scaling { d: self.d.clone(), kind: PreconditionerKind::Symmetric };
            let mut x = self.x0.clone();
            let _ = method.solve(&self.a, &mut m, &self.b, &mut x).unwrap();
            x
        };
        (0..=STEPS).map(run).collect()
    }

    /// The iterates passed to monitors, and the reported residual norms.
    fn observed(&self, method: &mut dyn Krylov<Numbers>) -> (Vec<Numbers>, Numbers) {
        let (mut seen, mut norms) = (Vec::new(), Vec::new());
        let mut monitor = |it: &Iteration<'_, Numbers>| {
            seen.extend(it.x.cloned());
            norms.push(it.residual);
            if it.number == STEPS { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        *method.stop_mut() = Stop::relative(1e-14);
        let mut m = Scaling { d: self.d.clone(), kind: PreconditionerKind::Symmetric };
        let mut x = self.x0.clone();
        let _ = method.solve_with(&self.a, &mut m, &self.b, &mut x, &mut monitor).unwrap();
        (seen, norms)
    }

    /// The iterates of a method equal the reference iterates, and the reported norms are the norms of their
    /// residuals.
    fn assert_same(&self, name: &str, method: &mut dyn Krylov<Numbers>, reference: &[Numbers]) {
        let (seen, norms) = self.observed(method);
        for (k, x) in reference.iter().enumerate() {
            if let Some(seen) = seen.get(k) {
                assert!(distance(seen, x) < 1e-11, "{name}, iterate {k}: {}", distance(seen, x));
            }
            let r = self.residual(x);
            assert!((norms[k] / dot(&r, &r).sqrt() - 1.0).abs() < 1e-10, "{name}, residual {k}");
        }
    }
}

fn definite(seed: u64) -> Case {
    Case::new(Dense::with_spectrum(&spread(N, 1.0, 60.0), seed), seed)
}

fn indefinite(seed: u64) -> Case {
    let mut d = spread(N, 1.0, 30.0);
    d.iter_mut().step_by(3).for_each(|d| *d = -*d);
    Case::new(Dense::with_spectrum(&d, seed), seed)
}

fn general(seed: u64) -> Case {
    let e = random(N * N, seed);
    Case::new(Dense::from_fn(N, |i, j| e[i * N + j] + if i == j { 3.0 } else { 0.0 }), seed)
}

/// Saad 2003, Algorithm 9.1.
fn conjugate_gradients(case: &Case) -> Vec<Numbers> {
    let (mut x, mut r) = (case.x0.clone(), case.residual(&case.x0));
    let mut z = case.precondition(&r);
    let mut p = z.clone();
    let mut list = vec![x.clone()];
    for _ in 0..STEPS {
        let ap = case.product(&p);
        let rz = dot(&r, &z);
        let alpha = rz / dot(&ap, &p);
        x = plus(&x, alpha, &p);
        r = plus(&r, -alpha, &ap);
        z = case.precondition(&r);
        p = plus(&z, dot(&r, &z) / rz, &p);
        list.push(x.clone());
    }
    list
}

#[test]
fn conjugate_gradients_are_those_of_the_book() {
    for seed in 1..6 {
        let case = definite(seed);
        let reference = conjugate_gradients(&case);
        case.assert_same("Cg", &mut Cg::default(), &reference);
        case.assert_same("SingleReductionCg", &mut SingleReductionCg::default(), &reference);
        case.assert_same("PipelinedCg", &mut PipelinedCg::default(), &reference);
        case.assert_same("FlexibleCg", &mut FlexibleCg::default(), &reference); // M is fixed
    }
}

/// M⁻¹ = diag(d). In every other application the entries of even unknowns are halved.
struct Varying {
    d: Numbers,
    calls: usize,
}

impl Preconditioner<Numbers> for Varying {
    fn apply(&mut self, r: &Numbers, z: &mut Numbers) {
        *z = vary(&self.d, self.calls, r);
        self.calls += 1;
    }

    fn kind(&self) -> PreconditionerKind {
        PreconditionerKind::Variable
    }

    fn size(&self) -> Option<usize> {
        Some(N)
    }
}

fn vary(d: &[f64], call: usize, r: &[f64]) -> Numbers {
    let half = |i: usize| if (i + call).is_multiple_of(2) { 0.5 } else { 1.0 };
    (0..N).map(|i| half(i) * d[i] * r[i]).collect()
}

/// Notay 2000, Algorithm FCG(1): each direction is made conjugate to the previous direction, for any M.
#[test]
fn flexible_conjugate_gradients_are_those_of_the_paper() {
    for seed in 1..6 {
        let case = definite(seed);
        let (mut u, mut r) = (case.x0.clone(), case.residual(&case.x0));
        let mut last: Option<(Numbers, Numbers)> = None; // d, A d
        let mut reference = Vec::new();
        for call in 0..STEPS {
            let w = vary(&case.d, call, &r);
            let d = match &last {
                Some((d, ad)) => plus(&w, -dot(&w, ad) / dot(d, ad), d),
                None => w.clone(),
            };
            let ad = case.product(&d);
            let alpha = dot(&d, &r) / dot(&d, &ad);
            u = plus(&u, alpha, &d);
            r = plus(&r, -alpha, &ad);
            last = Some((d, ad));
            reference.push(u.clone());
        }
        for (k, exact) in reference.iter().enumerate() {
            let mut method = FlexibleCg::new(Stop { max_iterations: k + 1, ..Stop::relative(1e-14) });
            let (mut m, mut x) = (Varying { d: case.d.clone(), calls: 0 }, case.x0.clone());
            let _ = method.solve(&case.a, &mut m, &case.b, &mut x).unwrap();
            assert!(distance(&x, exact) < 1e-11, "iterate {k}: {}", distance(&x, exact));
        }
    }
}

/// van der Vorst 1992, with M applied from the right.
fn stabilised_biconjugate_gradients(case: &Case) -> Vec<Numbers> {
    let (mut x, mut r) = (case.x0.clone(), case.residual(&case.x0));
    let shadow = r.clone();
    let (mut rho, mut alpha, mut omega) = (1.0, 1.0, 1.0);
    let (mut v, mut p) = (vec![0.0; N], vec![0.0; N]);
    let mut list = vec![x.clone()];
    for _ in 0..STEPS {
        let next = dot(&shadow, &r);
        let beta = (next / rho) * (alpha / omega);
        rho = next;
        p = plus(&r, beta, &plus(&p, -omega, &v));
        let y = case.precondition(&p);
        v = case.product(&y);
        alpha = rho / dot(&shadow, &v);
        let s = plus(&r, -alpha, &v);
        let z = case.precondition(&s);
        let t = case.product(&z);
        omega = dot(&t, &s) / dot(&t, &t);
        x = plus(&plus(&x, alpha, &y), omega, &z);
        r = plus(&s, -omega, &t);
        list.push(x.clone());
    }
    list
}

#[test]
fn stabilised_biconjugate_gradients_are_those_of_the_paper() {
    for seed in 1..6 {
        for case in [general(seed), definite(seed)] {
            let reference = stabilised_biconjugate_gradients(&case);
            case.assert_same("BiCgStab", &mut BiCgStab::default(), &reference);
        }
    }
}

/// x ← x + ω M⁻¹ (b − A x).
#[test]
fn richardson_is_the_stationary_iteration() {
    for seed in 1..6 {
        let case = definite(seed);
        let (mut x, mut reference) = (case.x0.clone(), vec![case.x0.clone()]);
        for _ in 0..STEPS {
            x = plus(&x, 0.01, &case.precondition(&case.residual(&x)));
            reference.push(x.clone());
        }
        case.assert_same("Richardson", &mut richardson(Stop::default(), 0.01), &reference);
    }
}

/// The least-squares solution of min ‖r − C y‖ by the normal equations, where `columns` are the columns of C.
fn least(columns: &[Numbers], r: &[f64]) -> Numbers {
    let k = columns.len();
    let normal = Dense::<f64>::from_fn(k, |i, j| dot(&columns[i], &columns[j]));
    normal.solve(&columns.iter().map(|c| dot(c, r)).collect::<Vec<_>>())
}

/// x₀ + the combination of z, B z, B² z, … with B = M⁻¹ A whose residual is least in the norm of `weight`.
/// The vectors are orthogonalised.
fn minimal_residuals(case: &Case, weight: &[f64]) -> Vec<Numbers> {
    let r = case.residual(&case.x0);
    let scaled = |v: &[f64]| v.iter().zip(weight).map(|(v, w)| v * w.sqrt()).collect::<Numbers>();
    let (mut basis, mut images) = (Vec::<Numbers>::new(), Vec::new());
    let mut next = case.precondition(&r);
    let mut list = vec![case.x0.clone()];
    for _ in 0..STEPS {
        for _ in 0..2 {
            for v in &basis {
                next = plus(&next, -dot(v, &next), v);
            }
        }
        let length = dot(&next, &next).sqrt();
        basis.push(next.iter().map(|v| v / length).collect());
        let image = case.product(&basis[basis.len() - 1]);
        next = case.precondition(&image);
        images.push(scaled(&image));
        let y = least(&images, &scaled(&r));
        list.push(basis.iter().zip(&y).fold(case.x0.clone(), |x, (v, y)| plus(&x, *y, v)));
    }
    list
}

#[test]
fn minres_minimises_over_the_krylov_space() {
    for seed in 1..6 {
        for case in [definite(seed), indefinite(seed)] {
            let reference = minimal_residuals(&case, &case.d.clone()); // in the norm of M⁻¹
            case.assert_same("Minres", &mut Minres::default(), &reference);
        }
    }
}

#[test]
fn gmres_minimises_over_the_krylov_space() {
    for seed in 1..6 {
        for case in [general(seed), indefinite(seed)] {
            let reference = minimal_residuals(&case, &[1.0; N]);
            let methods: [Gmres<Numbers>; 2] =
                [gmres(Stop::default(), 30, false), gmres(Stop::default(), 30, true)];
            for mut method in methods {
                case.assert_same("Gmres", &mut method, &reference);
                for (k, (x, exact)) in case.iterates(&mut method).iter().zip(&reference).enumerate() {
                    assert!(distance(x, exact) < 1e-9, "iterate {k}: {}", distance(x, exact));
                }
            }
        }
    }
}

/// A cycle of two steps restarts from the residual of the previous cycle.
#[test]
fn restarted_gmres_begins_anew() {
    for seed in 1..6 {
        let mut case = general(seed);
        let twice = case.iterates(&mut gmres(Stop::default(), 2, false))[4].clone();
        case.x0 = minimal_residuals(&case, &[1.0; N])[2].clone();
        let exact = &minimal_residuals(&case, &[1.0; N])[2];
        assert!(distance(&twice, exact) < 1e-9, "{}", distance(&twice, exact));
    }
}
