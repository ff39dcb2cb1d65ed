//! Square real matrices, solved to the smallest residual that rounding allows.
//!
//! The matrices come from the folder that the environment variable COARSEN_DATA names; without this variable
//! the tests pass and print a message.

use coarsen_core::LinearOperator;
use coarsen_direct::{DirectError, Engine, Method};
use coarsen_matrix_market as matrix_market;
use coarsen_sparse::Bsr;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::common::direct;

const SPD: [&str; 29] = [
    "1138_bus",
    "494_bus",
    "Chem97ZtZ",
    "ani4",
    "bcsstk01",
    "bcsstk02",
    "bcsstk04",
    "bcsstk14",
    "bcsstk16",
    "ccx_armadillo13k",
    "ccx_beam20p",
    "ccx_bimetal",
    "ccx_segmenttet",
    "fv3",
    "gr_30_30",
    "hypre_beam_hex_459",
    "hypre_beam_tet_2475",
    "hypre_tucker21935",
    "ipc_bunny_free_stiff",
    "ipc_mat40_stack2",
    "jl_lin_elastic_2d",
    "lund_a",
    "nos3",
    "nos5",
    "polyfem_A_2",
    "pyamg_airfoil",
    "pyamg_bar",
    "pyamg_local_disc_galerkin_diffusion",
    "wathenSmall",
];

/// The matrices of `SPD` that take most of the time.
const LARGE: [&str; 7] = [
    "ccx_armadillo13k",
    "ccx_beam20p",
    "ccx_bimetal",
    "ccx_segmenttet",
    "hypre_tucker21935",
    "ipc_bunny_free_stiff",
    "ipc_mat40_stack2",
];

/// The matrix of a name; `None`, with the reason printed, if it cannot be read.
fn read(name: &str) -> Option<Bsr<f64>> {
    Some(matrix_market::read(crate::data::data()?.join(format!("matrices/{name}.mtx.gz"))).unwrap())
}

/// Factors, and solves for b random, b = 1 and b = A · random; prints the recomputed relative residuals.
///
/// Also returns ε ‖|A| |x|‖ / ‖b‖: up to a small factor, the residual of the exact solution rounded to `f64`.
fn solve(name: &str) -> Option<(Method, Vec<(f64, f64)>)> {
    let a = read(name)?;
    let n = a.shape().0;
    let mut factor = direct(Method::Auto).factor(&a).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let random: Vec<f64> = (0..n).map(|_| rng.random_range(-1.0..1.0)).collect();
    let mut image = vec![0.0; n];
    a.apply(&random, &mut image);
    let mut sizes = a.clone();
    sizes.values_mut().iter_mut().for_each(|v| *v = v.abs());
    let norm = |v: &[f64]| v.iter().map(|v| v * v).sum::<f64>().sqrt();
    let residuals = [random, vec![1.0; n], image].map(|b| {
        let (mut x, mut r) = (vec![0.0; n], vec![0.0; n]);
        let solved = factor.solve(&b, &mut x).unwrap();
        a.residual(&b, &x, &mut r);
        let residual = norm(&r) / norm(&b);
        assert_eq!(residual, solved.relative_residual, "{name}");
        x.iter_mut().for_each(|x| *x = x.abs());
        sizes.apply(&x, &mut r);
        (residual, f64::EPSILON * norm(&r) / norm(&b))
    });
    let weakest = factor.weakest_pivot().map_or(0.0, |w| w.1);
    println!("{name:36} {n:6} {:?} {} weakest {weakest:.0e}", factor.method(), show(&residuals));
    Some((factor.method(), residuals.to_vec()))
}

fn show(residuals: &[(f64, f64)]) -> String {
    residuals.iter().map(|(r, f)| format!("{r:.1e} ({f:.0e}) ")).collect()
}

#[test]
fn positive_definite_matrices_are_solved_by_cholesky() {
    solved_by_cholesky(SPD.into_iter().filter(|name| !LARGE.contains(name)));
}

#[test]
#[ignore = "5 s: run by .ci/full"]
fn long_positive_definite_matrices_are_solved_by_cholesky() {
    solved_by_cholesky(LARGE.into_iter());
}

fn solved_by_cholesky(names: impl Iterator<Item = &'static str>) {
    for name in names {
        let Some((method, residuals)) = solve(name) else { return };
        assert_eq!(method, Method::Cholesky, "{name}");
        for (residual, bound) in residuals {
            assert!(residual < bound, "{name}: {residual:e}");
        }
    }
}

#[test]
fn other_matrices_are_solved_by_the_expected_method() {
    for (name, expected) in [
        ("add32", Method::Lu),
        ("e05r0500", Method::Lu),
        ("orsirr_2", Method::Lu),
        ("west0479", Method::Lu),
        ("cavity14", Method::Lu),
        ("jagmesh7", if super::ENGINE == Engine::Own { Method::Lu } else { Method::Ldlt }),
        ("sherman1", Method::Cholesky),
    ] {
        let Some((method, residuals)) = solve(name) else { return };
        assert_eq!(method, expected, "{name}");
        for (residual, _) in residuals {
            assert!(residual < 1e-8, "{name}: {residual:e}");
        }
    }
}

#[test]
fn singular_matrices_are_refused() {
    for name in ["pyamg_unit_square", "metis_4elt_laplacian"] {
        let Some(a) = read(name) else { return };
        assert!(matches!(direct(Method::Auto).factor(&a), Err(DirectError::Singular { .. })), "{name}");
    }
}
