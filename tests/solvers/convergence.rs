//! Upper bounds for the iterations of preconditioned conjugate gradients.
//!
//! The bounds are measured counts plus ten per cent, so the test fails if a method becomes weaker.

use crate::common::{self, noise, preconditioners, problem};
use coarsen::prelude::*;

fn iterations(name: &str, precond: &str, tolerance: f64) -> usize {
    let a = problem(name).matrix;
    let b = noise(a.shape().0, 1);
    let mut x = vec![0.0; b.len()];
    let method =
        preconditioners().into_iter().find(|r| r.0 == precond).expect("a preconditioner of the list");
    let report = Cg::new(Stop::relative(tolerance)).solve(&a, &mut *(method.1)(&a), &b, &mut x);
    report.unwrap().converged().unwrap_or_else(|e| panic!("{precond} on {name}: {e}")).iterations
}

const SYSTEMS: [&str; 6] =
    ["poisson2d:60", "poisson3d:20", "anisotropic2d:50", "jump3d:16", "elasticity3d:10", "cloth:31"];

/// For each preconditioner, bounds for the systems above at 1e-8.
const TABLE: &[(&str, [usize; SYSTEMS.len()])] = &[
    ("jacobi", [199, 86, 308, 84, 152, 216]),
    ("block-jacobi", [199, 86, 308, 84, 147, 165]),
    ("gauss-seidel", [80, 33, 104, 31, 59, 62]),
    ("ssor", [43, 18, 56, 17, 40, 36]),
    ("chebyshev", [57, 25, 87, 25, 41, 47]),
    ("ic0", [69, 30, 18, 28, 39, 29]),
    ("ilu0", [69, 30, 18, 28, 39, 29]),
];

#[test]
fn iterations_stay_within_the_table() {
    let mut over = Vec::new();
    for (name, bounds) in TABLE {
        let counts = SYSTEMS.map(|system| iterations(system, name, 1e-8));
        println!("(\"{name}\", {counts:?}),");
        for ((system, count), &bound) in SYSTEMS.iter().zip(counts).zip(bounds) {
            if count > bound {
                over.push(format!("{name} on {system}: {count} iterations, at most {bound}"));
            }
        }
    }
    assert!(over.is_empty(), "{}", over.join("\n"));
}

/// Stronger methods take fewer iterations, in the documented order.
#[test]
fn stronger_methods_take_fewer_iterations() {
    for system in ["poisson2d:60", "elasticity3d:10", "cloth:31"] {
        let [jacobi, gauss_seidel, ic0] =
            ["jacobi", "gauss-seidel", "ic0"].map(|precond| iterations(system, precond, 1e-8));
        assert!(ic0 < gauss_seidel && gauss_seidel < jacobi, "{system}: {jacobi}, {gauss_seidel}, {ic0}");
    }
}

/// Chebyshev of degree m costs m - 1 products per application and reduces iterations by almost that factor.
#[test]
fn chebyshev_degree_pays() {
    let a = problem("poisson2d:60").matrix;
    let b = noise(a.shape().0, 1);
    let count = |degree| {
        let mut m = Chebyshev { degree, ..Default::default() }.build(&a, &Cpu::new()).unwrap();
        let mut x = vec![0.0; b.len()];
        Cg::new(Stop::relative(1e-8)).solve(&a, &mut m, &b, &mut x).unwrap().converged().unwrap().iterations
    };
    let counts = [1, 2, 4, 8].map(count);
    assert!(counts.windows(2).all(|w| w[1] < w[0]), "{counts:?}");
    assert!(counts[0] >= 4 * counts[3], "{counts:?}");
}

/// Iteration counts of other libraries for similar right-hand sides, to 1e-8: SciPy's `cg` with a plain
/// ILU(0), and Eigen's `ConjugateGradient` with `IncompleteCholesky` in natural order. Eigen keeps the
/// largest entries instead of the pattern, so the smaller count is used.
const PEERS: [(&str, usize, usize); 8] = [
    ("nos3", 49, 54),
    ("fv3", 66, 65),
    ("gr_30_30", 23, 22),
    ("hypre_beam_hex_459", 52, 57),
    ("hypre_beam_tet_2475", 151, 157),
    ("pyamg_bar", 51, 55),
    ("polyfem_A_2", 54, 54),
    ("wathenSmall", 11, 12),
];

#[test]
fn incomplete_factors_are_as_strong_as_those_of_scipy_and_eigen() {
    let Some(data) = common::data() else { return };
    for (name, scipy, eigen) in PEERS {
        let a = common::read(&data, name);
        let b = noise(a.shape().0, 7);
        for precond in ["ic0", "ilu0"] {
            let method =
                preconditioners().into_iter().find(|r| r.0 == precond).expect("a preconditioner of the list");
            let mut x = vec![0.0; b.len()];
            let report = Cg::new(Stop::relative(1e-8)).solve(&a, &mut *(method.1)(&a), &b, &mut x).unwrap();
            let (count, allowed) = (report.converged().unwrap().iterations, scipy.min(eigen) * 11 / 10 + 1);
            println!("{name}: {precond} {count}, SciPy {scipy}, Eigen {eigen}");
            assert!(count <= allowed, "{precond} on {name}: {count} iterations, at most {allowed}");
        }
    }
}

/// l1 relaxation converges as a stationary iteration for every positive definite matrix, without damping.
#[test]
fn l1_iterations_converge_unaided() {
    for name in ["poisson2d:12", "elasticity3d:3", "cloth:8"] {
        let a = problem(name).matrix;
        let b = noise(a.shape().0, 1);
        for precond in ["l1-jacobi", "l1-block-jacobi"] {
            let method =
                preconditioners().into_iter().find(|r| r.0 == precond).expect("a preconditioner of the list");
            let mut x = vec![0.0; b.len()];
            let stop = Stop { max_iterations: 50_000, ..Stop::relative(1e-4) };
            let report =
                coarsen::krylov::Richardson::new(stop).solve(&a, &mut *(method.1)(&a), &b, &mut x).unwrap();
            assert_eq!(report.outcome, Outcome::Converged, "{precond} on {name}");
        }
    }
}

/// With damping computed from a bound of the spectrum, a case converges that diverges with the usual factor
/// 0.7.
#[test]
fn damping_is_found_and_not_guessed() {
    for name in ["elasticity3d:6", "cloth:31"] {
        let a = problem(name).matrix;
        let b = noise(a.shape().0, 1);
        let after = |m: &mut dyn Preconditioner<Vec<f64>>| {
            let (mut x, mut r, mut z) = (vec![0.0; b.len()], b.clone(), vec![0.0; b.len()]);
            for _ in 0..100 {
                m.apply(&r, &mut z);
                x.iter_mut().zip(&z).for_each(|(x, z)| *x += z);
                a.residual(&b, &x, &mut r);
            }
            let norm = |v: &[f64]| v.iter().map(|v| v * v).sum::<f64>().sqrt();
            norm(&r) / norm(&b)
        };
        let guessed = after(&mut Jacobi { omega: 0.7, l1: false }.build(&a, &Cpu::new()).unwrap());
        let found = after(&mut coarsen::relax::DampedJacobi::default().build(&a, &Cpu::new()).unwrap());
        assert!(guessed > 1e3 && found < 1.0, "{name}: {guessed:.1e} guessed, {found:.1e} found");
    }
}
