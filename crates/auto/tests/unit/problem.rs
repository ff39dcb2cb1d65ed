//! Prescribed values, and matrices that are symmetric to single precision.

use std::borrow::Cow;

use coarsen_backend::{Cpu, Setup};
use coarsen_core::{Preconditioner, PreconditionerKind};
use coarsen_diagnose::diagnose;
use coarsen_problems::{poisson2d, random_vector};
use coarsen_relax::GaussSeidel;
use coarsen_sparse::Bsr;

use crate::ending::round_off;
use crate::problem::Problem;
use crate::solve::relative_residual;
use crate::{Auto, Method};

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
        let (b, mut x) = (random_vector(3600, 1), vec![0.0; 3600]);
        let solved = Auto::default().solve(&a, &b, &mut x).unwrap().converged().unwrap();
        let all_cg = solved.attempts.iter().all(|attempt| attempt.method == Method::Cg);
        assert_eq!(all_cg, by_cg, "{difference}: {solved}");
        assert!(relative_residual(&a, &b, &x) <= 1e-8);
    }
}

#[test]
fn round_off_binds_above_the_tolerance_and_near_the_residual() {
    assert!(round_off(2e-8, 1e-8, 1e-6).is_some());
    assert!(round_off(9e-9, 1e-8, 1e-6).is_none(), "the tolerance is above it");
    assert!(round_off(2e-8, 1e-8, 1e-3).is_none(), "the residual is far from it");
}
