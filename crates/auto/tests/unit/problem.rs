//! Prescribed values, and matrices that are symmetric to single precision.

use std::borrow::Cow;
use std::cell::Cell;
use std::f64::consts::PI;
use std::ops::ControlFlow;
use std::rc::Rc;

use coarsen_backend::Cpu;
use coarsen_core::{LinearOperator, Preconditioner, PreconditionerKind};
use coarsen_diagnose::diagnose;
use coarsen_problems::{poisson2d, random_vector};
use coarsen_relax::GaussSeidel;
use coarsen_sparse::assembly::from_triplets;
use coarsen_sparse::{Bsr, NearKernel};

use crate::plan::Plan;
use crate::problem::Problem;
use crate::residual::{relative_residual, round_off};
use crate::{Auto, Builder, Ending, Method, Parameters, Precond};

/// The residual of the rows that are not prescribed decides.
#[test]
fn prescribed_values_hold_and_the_other_rows_are_solved() {
    let mut a = poisson2d(30).unwrap().matrix;
    let (mut b, n) = (random_vector(900, 1), 900);
    for p in [0, 17, 450] {
        let at = a.pattern().find(p, p).unwrap();
        a.values_mut()[at] = 1e30;
        b[p] = 0.01 * 1e30;
    }
    let mut x = vec![0.0; n];
    let solved = Auto::default().solve(&a, &b, &mut x).unwrap().converged().unwrap();
    assert!(solved.true_residual <= 1e-8 && [0, 17, 450].iter().all(|&p| x[p] == 0.01), "{solved}");
    let mut r = vec![0.0; n];
    coarsen_core::LinearOperator::residual(&a, &b, &x, &mut r);
    let free =
        |v: &[f64]| (0..n).filter(|i| ![0, 17, 450].contains(i)).map(|i| v[i] * v[i]).sum::<f64>().sqrt();
    assert!(free(&r) <= 1e-7 * free(&b), "{} of {}", free(&r), free(&b));
    // Springs of contact stay as they are.
    let mut a = poisson2d(30).unwrap().matrix;
    let at = a.pattern().find(17, 17).unwrap();
    for stiff in [1e4, 1e12] {
        a.values_mut()[at] = stiff;
        let problem = Problem::new(Cow::Borrowed(&a), &diagnose(&a), true);
        assert!(problem.is_given());
    }
}

/// A matrix whose halves differ is solved by conjugate gradients up to a difference of single precision, and the residual is
/// that of the given matrix. The diagnosis, the search for a pair and the kind of a preconditioner agree on what is symmetric.
#[test]
fn almost_symmetric_matrices_are_solved_as_symmetric_ones() {
    let (b, a) = (random_vector(3600, 1), poisson2d(60).unwrap().matrix);
    let symmetric = Auto::default().solve(&a, &b, &mut vec![0.0; 3600]).unwrap();
    for (difference, is_symmetric, by_cg) in [(1e-9, true, true), (1e-7, false, true), (1e-5, false, false)] {
        let mut a = poisson2d(60).unwrap().matrix;
        for i in 0..3600 {
            let above = a.pattern().range(i).filter(|&k| a.pattern().indices()[k] as usize > i);
            above.collect::<Vec<_>>().into_iter().for_each(|k| a.values_mut()[k] *= 1.0 + difference);
        }
        assert_eq!(a.asymmetric_pair(Bsr::<f64>::symmetry_tolerance()).is_none(), is_symmetric);
        let kind = GaussSeidel::default().build(&a, &Cpu::new()).unwrap().kind();
        assert_eq!(kind == PreconditionerKind::Symmetric, is_symmetric, "{difference}");
        let problem = Problem::new(Cow::Borrowed(&a), &diagnose(&a), true);
        assert_eq!(problem.is_given(), is_symmetric || !by_cg, "{difference}");
        let mut x = vec![0.0; 3600];
        let solved = Auto::default().solve(&a, &b, &mut x).unwrap().converged().unwrap();
        let all_cg = solved.attempts.iter().all(|attempt| attempt.method == Method::Cg);
        assert_eq!(all_cg, by_cg, "{difference}: {solved}");
        assert!(relative_residual(&a, &b, &x) <= 1e-8);
        // As many iterations as with the symmetric matrix.
        assert!(
            !by_cg || solved.iterations <= symmetric.iterations + 1,
            "{difference}: {solved}, {symmetric}"
        );
        let prescribed = Auto { method: Some(Method::Cg), ..Auto::default() };
        let solved = prescribed.solve(&a, &b, &mut vec![0.0; 3600]).unwrap();
        assert!(!by_cg || solved.ending.converged(), "{difference}: {solved}");
    }
}

/// A finite volume ring has rows divided by volumes: Aᵀ does not map constants to zero.
#[test]
fn a_null_space_of_a_alone_is_refused_by_symmetric_methods() {
    let n = 60_u32;
    let row = |i: u32| {
        let volume = f64::from(1 + i % 3);
        [(i, i, 2.0 / volume), (i, (i + 1) % n, -1.0 / volume), (i, (i + n - 1) % n, -1.0 / volume)]
    };
    let a: Bsr<f64> = from_triplets(60, 60, &(0..n).flat_map(row).collect::<Vec<_>>()).unwrap();
    let mut b = vec![0.0; 60];
    coarsen_core::LinearOperator::apply(&a, &random_vector(60, 1), &mut b);
    let mut problem = Problem::new(Cow::Borrowed(&a), &diagnose(&a), true);
    problem.null_space = Some(NearKernel::constants(60, 1).unwrap());
    for method in [Method::Minres, Method::Cg, Method::Gmres] {
        let auto = Auto { method: Some(method), precond: Some(Precond::None), ..Auto::default() };
        let plan = Plan::new(auto, (&a).into(), &diagnose(&a));
        let build =
            |precond, _: bool, a: &Bsr<f64>| Parameters::default().build(precond, a.into(), &Cpu::new());
        let builder = Builder { backend: &Cpu::new(), operator: &|a| Ok(Box::new(a)), build: &build };
        let mut x = vec![0.0; 60];
        let mut go_on = |_, _| ControlFlow::Continue(());
        let (solved, ..) = plan.solve(&problem, None, &builder, &b, &mut x, &mut go_on).unwrap();
        if method == Method::Gmres {
            assert!(solved.ending.converged(), "{solved}");
            assert!(x.iter().sum::<f64>().abs() < 1e-10, "constants are removed from x");
        } else {
            let refused = matches!(solved.ending, Ending::NotNull { vector: 0, of_transpose: true, .. });
            assert!(refused && solved.to_string().contains("use gmres"), "{solved}");
        }
    }
}

/// A matrix that counts its products and residuals.
struct Counted<'a>(&'a Bsr<f64>, Rc<Cell<[usize; 2]>>);

impl Counted<'_> {
    fn count(&self, what: usize) {
        let mut counts = self.1.get();
        counts[what] += 1;
        self.1.set(counts);
    }
}

impl LinearOperator<Vec<f64>> for Counted<'_> {
    fn shape(&self) -> (usize, usize) {
        self.0.shape()
    }

    fn apply(&self, x: &Vec<f64>, y: &mut Vec<f64>) {
        self.count(0);
        self.0.apply(x, y);
    }

    fn residual(&self, b: &Vec<f64>, x: &Vec<f64>, r: &mut Vec<f64>) {
        self.count(1);
        self.0.residual(b, x, r);
    }
}

/// The same matrix for each of three unknowns of a node.
fn in_blocks(a: &Bsr<f64>) -> Bsr<f64> {
    let values = a.values().iter().flat_map(|&v| [v, 0.0, 0.0, 0.0, v, 0.0, 0.0, 0.0, v]).collect();
    Bsr::new(a.pattern().clone(), (3, 3), values).unwrap()
}

/// A large matrix of blocks is multiplied in f32 beside a hierarchy in f32. Where that is indefinite, although A is not, A itself decides.
#[test]
fn large_matrices_are_multiplied_in_f32() {
    let least = |side: usize| 8.0 * (0.5 * PI / (side + 1) as f64).sin().powi(2); // the smallest eigenvalue
    let (left, rounded) = (5e-9, |d: f64| f64::from(d as f32));
    let rounds_down = |side: &usize| rounded(4.0 - least(*side)) < 4.0 - least(*side) - 4.0 * left;
    let side = (230..).find(rounds_down).unwrap();
    let (laplace, least, n) = (in_blocks(&poisson2d(side).unwrap().matrix), least(side), 3 * side * side);
    for (shift, is_definite_in_f32) in [(0.0, true), (left - least, false)] {
        let mut a = laplace.clone();
        a.add_diagonal(&vec![shift; n / 3]).unwrap();
        let problem = Problem::new(Cow::Borrowed(&a), &diagnose(&a), true);
        let auto = Auto { precond: Some(Precond::SmoothedAggregation), ..Auto::default() };
        let plan = Plan::new(auto, (&a).into(), &diagnose(&a));
        let counts = Rc::new(Cell::new([0; 2]));
        let build = |precond, single: bool, a: &Bsr<f64>| match single {
            true => Parameters::default().build(precond, a.into(), &Cpu::mixed()),
            false => Parameters::default().build(precond, a.into(), &Cpu::new()),
        };
        let builder = Builder {
            backend: &Cpu::new(),
            operator: &|a| Ok(Box::new(Counted(a, counts.clone()))),
            build: &build,
        };
        let (b, mut x) = (random_vector(n, 1), vec![0.0; n]);
        let mut go_on = |_, _| ControlFlow::Continue(());
        let (solved, ..) = plan.solve(&problem, None, &builder, &b, &mut x, &mut go_on).unwrap();
        assert!(solved.ending.converged(), "{solved}");
        assert!(relative_residual(&a, &b, &x) <= 1e-8, "{solved}");
        let [products, residuals] = counts.get();
        if is_definite_in_f32 {
            assert!(products == 0 && residuals < solved.iterations, "{products}, {residuals}: {solved}");
        } else {
            assert!(products > 0, "{products}, {residuals}: {solved}");
        }
    }
}

#[test]
fn round_off_binds_above_the_tolerance_and_near_the_residual() {
    assert!(round_off(2e-8, 1e-8, 1e-6).is_some());
    assert!(round_off(9e-9, 1e-8, 1e-6).is_none(), "the tolerance is above it");
    assert!(round_off(2e-8, 1e-8, 1e-3).is_none(), "the residual is far from it");
}
