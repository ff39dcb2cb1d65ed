//! Products with a rounded matrix, and residuals with the exact matrix.

use coarsen::backend::{Cpu, Setup};
use coarsen::krylov::Cg;
use coarsen::problems::{Options, Problem};
use coarsen::smoothed_aggregation::tamstorf;
use coarsen::sparse::assembly;
use coarsen::{Error, Identity, LinearOperator, MixedPrecision, Stop, parallel};

fn replacing(tolerance: f64) -> Cg<Vec<f64>> {
    let mut cg = Cg::new(Stop::relative(tolerance));
    cg.replace_residual = Some(1e-2);
    cg
}

/// A solve takes at most ten per cent more iterations than with the exact matrix, and its true residual is
/// correct.
#[test]
fn products_in_f32_cost_hardly_an_iteration() {
    for (spec, dt) in
        [("cloth:61", Some(0.01)), ("cloth:41", None), ("elasticity3d:12", None), ("jump3d:24", None)]
    {
        let p = Problem::parse(spec, &Options { dt, ..Options::default() }).unwrap();
        let (b, a32) = (p.right_hand_side(1), p.matrix.to::<f32>());
        let mut m = tamstorf().build_from(p.system(), &Cpu::mixed()).unwrap();
        let mut count = |a: &dyn LinearOperator<Vec<f64>>, cg: &mut Cg<Vec<f64>>| {
            let mut x = vec![0.0; b.len()];
            let report = cg.solve(a, &mut m, &b, &mut x).unwrap().converged().unwrap();
            let mut r = b.clone();
            p.matrix.residual(&b, &x, &mut r);
            let norm = |v: &[f64]| v.iter().map(|v| v * v).sum::<f64>().sqrt();
            let truth = norm(&r) / norm(&b);
            assert!(truth <= 1e-10 && (report.true_residual / truth - 1.0).abs() < 1e-6, "{spec}: {truth:e}");
            (report.iterations, x)
        };
        let exact = count(&p.matrix, &mut Cg::new(Stop::relative(1e-10))).0;
        let a = MixedPrecision::new::<Vec<f64>>(&p.matrix, &a32).unwrap();
        let (rounded, x) = count(&a, &mut replacing(1e-10));
        assert!(10 * rounded <= 11 * exact + 20, "{spec}: {rounded} of {exact}");
        let again = parallel::threads(1, || count(&a, &mut replacing(1e-10)));
        assert_eq!(again.unwrap(), (rounded, x), "{spec}: the same bits on one thread");
    }
}

/// The number of extra iterations grows with the condition number. In the worst case, each replacement of the
/// residual acts as a restart.
#[test]
fn the_condition_decides_how_many_iterations_rounding_costs() {
    // A chain with a weak spring at each node: eigenvalues from k to 4 + k.
    for (k, most) in [(1e-2, 1.05), (1e-4, 1.05), (1e-5, 1.1)] {
        let n = 2000_u32;
        let entries = (0..n).flat_map(|i| {
            let near = [i.checked_sub(1), Some(i + 1).filter(|j| *j < n)];
            let ties = near.into_iter().flatten().map(move |j| (i, j, -1.0 / 3.0));
            ties.chain([(i, i, 2.0 / 3.0 + k)])
        });
        let entries: Vec<_> = entries.collect();
        let a = assembly::from_triplets(n as usize, n as usize, &entries).unwrap();
        let (b, a32): (Vec<f64>, _) = ((0..n).map(|i| f64::from(i).sin()).collect(), a.to::<f32>());
        let count = |a: &dyn LinearOperator<Vec<f64>>, mut cg: Cg<Vec<f64>>| {
            let mut x = vec![0.0; b.len()];
            cg.solve(a, &mut Identity, &b, &mut x).unwrap().converged().unwrap().iterations
        };
        let exact = count(&a, Cg::new(Stop::relative(1e-8)));
        let rounded = count(&MixedPrecision::new::<Vec<f64>>(&a, &a32).unwrap(), replacing(1e-8));
        println!("{k:e}: {rounded} iterations, {exact} with the exact matrix");
        assert!(rounded as f64 <= most * exact as f64 + 2.0, "{k:e}: {rounded} of {exact}");
    }
}

/// A matrix that becomes singular by rounding is never reported as solved.
#[test]
fn matrices_singular_by_rounding_are_never_reported_solved() {
    let near = 1.0 - 1e-9;
    let a = assembly::from_triplets(2, 2, &[(0, 0, 1.0), (0, 1, near), (1, 0, near), (1, 1, 1.0)]).unwrap();
    let a32 = a.to::<f32>();
    let (b, mut x) = (vec![1.0, -1.0], vec![0.0; 2]);
    let rounded = MixedPrecision::new::<Vec<f64>>(&a, &a32).unwrap();
    let report = replacing(1e-8).solve(&rounded, &mut Identity, &b, &mut x).unwrap();
    assert!(report.converged().is_err() && x.iter().all(|x| x.is_finite()));
    assert!(replacing(1e-8).solve(&a, &mut Identity, &b, &mut x).unwrap().converged().is_ok());
}

#[test]
fn operands_of_another_size_are_named() {
    let [two, three] = [2, 3].map(|n| coarsen::sparse::Bsr::<f64>::identity(n, 1).unwrap());
    assert!(matches!(
        MixedPrecision::new::<Vec<f64>>(&two, &three),
        Err(Error::Shape { expected: 2, found: 3, .. })
    ));
    for share in [0.0, 1.0, f64::NAN] {
        let mut cg = replacing(1e-8);
        cg.replace_residual = Some(share);
        let refused = cg.solve(&two, &mut Identity, &vec![1.0; 2], &mut vec![0.0; 2]);
        assert!(matches!(refused, Err(Error::Parameter { name: "Cg::replace_residual", .. })), "{share}");
    }
}
