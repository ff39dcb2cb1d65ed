//! Real matrices: every symmetric positive definite matrix of the data folder is solved to a true relative
//! residual of 1e-8.

use crate::common::{data, noise, read};
use crate::pyamg::REAL;
use coarsen::prelude::*;

/// ‖b − A x‖ / ‖b‖ by plain loops.
fn true_residual(a: &Bsr<f64>, b: &[f64], x: &[f64]) -> f64 {
    let mut r = b.to_vec();
    for (i, r) in r.iter_mut().enumerate() {
        for (j, v) in a.row(i) {
            *r -= v[0] * x[j];
        }
    }
    let norm = |v: &[f64]| v.iter().map(|v| v * v).sum::<f64>().sqrt();
    norm(&r) / norm(b)
}

/// Those of the symmetric positive definite matrices of the data folder that take seconds each.
const LONG: [&str; 3] = ["ccx_armadillo13k", "ccx_bimetal", "ipc_mat40_stack2"];

#[test]
fn every_positive_definite_matrix_by_ic0_cg() {
    let short: Vec<_> = REAL.into_iter().map(|row| row.0).filter(|name| !LONG.contains(name)).collect();
    by_ic0_cg(&short);
}

#[test]
#[ignore = "half a minute: run by .ci/full"]
fn long_positive_definite_matrices_by_ic0_cg() {
    by_ic0_cg(&LONG);
}

fn by_ic0_cg(names: &[&str]) {
    let Some(data) = data() else { return };
    let solve = |name: &str| {
        let a = read(&data, name);
        let b = noise(a.shape().0, 7);
        let mut x = vec![0.0; b.len()];
        let mut m = Ic0::default().build(&a, &Cpu::new()).unwrap_or_else(|e| panic!("{name}: {e}"));
        let stop = Stop { max_iterations: 20_000, ..Stop::relative(1e-8) };
        let report = Cg::new(stop).solve(&a, &mut m, &b, &mut x).unwrap().converged();
        let report = report.unwrap_or_else(|e| panic!("{name}: {e}"));
        let found = true_residual(&a, &b, &x);
        assert!(found <= 1e-8 * 1.001, "{name}: reported {:.2e}, found {found:.2e}", report.true_residual);
        println!("{name}: {} iterations", report.iterations);
    };
    // Two at once: the small systems are solved on one thread.
    std::thread::scope(|scope| {
        scope.spawn(|| names.iter().step_by(2).for_each(|name| solve(name)));
        names.iter().skip(1).step_by(2).for_each(|name| solve(name));
    });
}

/// Singular Laplacians are solved with constants projected out, and an unbalanced load is reported.
#[test]
fn singular_laplacians_with_their_kernel() {
    use coarsen::krylov::{NullSpace, Projected};
    let Some(data) = data() else { return };
    for name in ["pyamg_unit_square", "metis_4elt_laplacian"] {
        let a = read(&data, name);
        let n = a.shape().0;
        let exact = noise(n, 3);
        let mut b = vec![0.0; n];
        a.apply(&exact, &mut b);
        let mut x = vec![0.0; n];
        let mut m = Jacobi::default().build(&a, &Cpu::new()).unwrap();
        let mut cg = Projected::new(Cg::new(Stop::relative(1e-8)), NullSpace::constants(&b).unwrap());
        let report = cg.solve(&a, &mut m, &b, &mut x).unwrap();
        assert_eq!(report.outcome, Outcome::Converged, "{name}");
        assert!(true_residual(&a, &b, &x) <= 1e-8 * 1.001, "{name}");
        b.iter_mut().for_each(|b| *b += 1.0);
        let report = cg.solve(&a, &mut m, &b, &mut x).unwrap();
        assert_eq!(report.outcome, Outcome::Inconsistent, "{name}");
    }
}

/// For matrices that violate the assumptions of conjugate gradients, the outcome names the failure and is
/// never convergence.
#[test]
fn conjugate_gradients_refuse_what_they_cannot_solve() {
    let Some(data) = data() else { return };
    for (name, expected) in
        [("sherman1", Outcome::IndefiniteOperator), ("jagmesh7", Outcome::IndefiniteOperator)]
    {
        let a = read(&data, name);
        let b = noise(a.shape().0, 7);
        let mut x = vec![0.0; b.len()];
        let report = Cg::new(Stop::relative(1e-8)).solve(&a, &mut Identity, &b, &mut x).unwrap();
        assert_eq!(report.outcome, expected, "{name}");
        assert!(report.converged().is_err(), "{name}");
        let mut minres = Minres::new(Stop { max_iterations: 20_000, ..Stop::relative(1e-8) });
        let report = minres.solve(&a, &mut Identity, &b, &mut x).unwrap();
        assert_eq!(report.outcome, Outcome::Converged, "{name}");
        assert!(true_residual(&a, &b, &x) <= 1e-8 * 1.001, "{name}");
    }
    for name in ["add32", "orsirr_2"] {
        let a = read(&data, name);
        let b = noise(a.shape().0, 7);
        let mut x = vec![0.0; b.len()];
        assert!(Ic0::default().build(&a, &Cpu::new()).is_err(), "{name}: IC(0) of an unsymmetric matrix");
        let mut m = Ilu0.build(&a, &Cpu::new()).unwrap();
        assert!(
            Cg::new(Stop::relative(1e-8)).solve(&a, &mut m, &b, &mut x).is_err(),
            "{name}: M is not symmetric"
        );
        let report = Gmres::new(Stop::relative(1e-8)).solve(&a, &mut m, &b, &mut x).unwrap();
        assert_eq!(report.outcome, Outcome::Converged, "{name}");
        assert!(true_residual(&a, &b, &x) <= 1e-8 * 1.001, "{name}");
    }
}
