//! The library without any feature: multigrid, Schwarz methods, relaxation, `auto` and direct solves with
//! built-in factors, on systems assembled here. With the default features the same tests use the factors of
//! faer.

use coarsen::auto::Auto;
use coarsen::direct::{Dense, Engine, Method};
use coarsen::prelude::*;

/// −Δ on an n x n x n grid with Dirichlet boundary; for b > 1, b copies of it, coupled by b x b blocks.
fn poisson3d(n: u32, b: u32) -> Bsr<f64> {
    let mut entries = Vec::new();
    for at in 0..n * n * n {
        let (i, j, k) = (at / (n * n), at / n % n, at % n);
        for p in 0..b {
            entries.push((at * b + p, at * b + p, 6.0 + 0.2 * f64::from(b - 1)));
            (0..b).filter(|&q| q != p).for_each(|q| entries.push((at * b + p, at * b + q, -0.2)));
            for (step, inside) in [(n * n, i + 1 < n), (n, j + 1 < n), (1, k + 1 < n)] {
                if inside {
                    let (here, there) = (at * b + p, (at + step) * b + p);
                    entries.extend([(here, there, -1.0), (there, here, -1.0)]);
                }
            }
        }
    }
    let (size, b) = ((n * n * n * b) as usize, b as usize);
    assembly::from_triplets_blocked(size, size, (b, b), &entries).expect("entries inside")
}

fn right_hand_side(n: usize) -> Vec<f64> {
    (0..n).map(|i| (0.3 * i as f64).sin() + 0.1).collect()
}

/// ‖b − A x‖ / ‖b‖.
fn residual(a: &Bsr<f64>, b: &Vec<f64>, x: &Vec<f64>) -> f64 {
    let mut r = vec![0.0; b.len()];
    a.residual(b, x, &mut r);
    let norm = |v: &[f64]| v.iter().map(|v| v * v).sum::<f64>().sqrt();
    norm(&r) / norm(b)
}

/// Conjugate gradients to 1e-8, and again after an update with stiffer values.
fn solves<M>(
    name: &str,
    a: &Bsr<f64>,
    parameters: &impl Setup<f64, Cpu, Built = M>,
    most: usize,
) -> Result<(), AnyError>
where
    M: Preconditioner<Vec<f64>> + coarsen::backend::Update<f64>,
{
    let mut stiffer = a.clone();
    stiffer.values_mut().iter_mut().for_each(|v| *v *= 3.0);
    let b = right_hand_side(a.shape().0);
    let mut m = parameters.build(a, &Cpu::new())?;
    let mut cg: Cg = Cg::new(Stop::relative(1e-8));
    for a in [a, &stiffer] {
        m.update(a)?;
        let mut x = vec![0.0; b.len()];
        let report = cg.solve(a, &mut m, &b, &mut x)?.converged()?;
        assert!(report.iterations <= most, "{name}: {} iterations", report.iterations);
        assert!(residual(a, &b, &x) <= 1e-8, "{name}");
    }
    Ok(())
}

#[test]
fn multigrid_and_schwarz_solve() -> Result<(), AnyError> {
    for a in [&poisson3d(16, 1), &poisson3d(8, 3)] {
        solves("smoothed aggregation", a, &smoothed_aggregation(), 20)?;
        solves("Schwarz", a, &Schwarz::multilevel(), 60)?;
        solves("IC(0)", a, &Ic0::default(), 60)?;
    }
    let a = &poisson3d(16, 1);
    solves("Ruge-Stueben", a, &ruge_stueben(), 20)
}

/// An unconstrained body: the coarsest matrix is singular, and its constants are deflated.
#[test]
fn singular_systems_have_a_hierarchy() -> Result<(), AnyError> {
    let mut a = poisson3d(9, 1);
    let sums: Vec<f64> = (0..a.shape().0).map(|i| -a.row(i).map(|(_, v)| v[0]).sum::<f64>()).collect();
    a.add_diagonal(&sums)?;
    let mut b = right_hand_side(sums.len());
    let mean = b.iter().sum::<f64>() / b.len() as f64;
    b.iter_mut().for_each(|v| *v -= mean);
    let mut m = smoothed_aggregation().build(&a, &Cpu::new())?;
    let mut x = vec![0.0; b.len()];
    let report = Cg::new(Stop::relative(1e-8)).solve(&a, &mut m, &b, &mut x)?.converged()?;
    assert!(report.iterations < 30, "{}", report.iterations);
    assert!(residual(&a, &b, &x) <= 1e-8);
    Ok(())
}

#[test]
fn factors_solve() -> Result<(), AnyError> {
    let (a, mut x) = (poisson3d(12, 1), vec![0.0; 1728]);
    let b = right_hand_side(1728);
    for engine in [Engine::Fastest, Engine::Own] {
        for method in [Method::Auto, Method::Cholesky, Method::Ldlt, Method::Lu] {
            let mut factor = Direct { method, engine, ..Direct::default() }.factor(&a)?;
            assert!(factor.solve(&b, &mut x)?.relative_residual < 1e-14, "{engine:?} {method:?}");
            assert!(residual(&a, &b, &x) < 1e-14, "{engine:?} {method:?}");
        }
    }
    let small = poisson3d(5, 1);
    let mut inverse = Dense::default().build(&small, &Cpu::new())?;
    let (b, mut x) = (right_hand_side(125), vec![0.0; 125]);
    inverse.apply(&b, &mut x);
    assert!(residual(&small, &b, &x) < 1e-12);
    Ok(())
}

/// `auto` works with the cost estimates of both factorisation engines, also for an unsymmetric system.
#[test]
fn auto_chooses() -> Result<(), AnyError> {
    let mut unsymmetric = poisson3d(10, 1);
    let pattern = unsymmetric.pattern().clone();
    for i in 0..pattern.rows() {
        if let Some(at) = pattern.find(i, i + 1).filter(|_| i + 1 < pattern.rows()) {
            unsymmetric.values_mut()[at] = -0.5;
        }
    }
    for a in [&poisson3d(4, 1), &poisson3d(14, 1), &poisson3d(8, 3), &unsymmetric] {
        let b = right_hand_side(a.shape().0);
        let mut x = vec![0.0; b.len()];
        let solved = Auto::default().solve(a, &b, &mut x)?.converged()?;
        assert!(residual(a, &b, &x) <= 1e-6, "{solved}");
    }
    Ok(())
}

/// `build`, `update`, `patch` and `solve` are inherent: no trait is in scope here.
mod without_traits {
    use coarsen::backend::Componentwise;
    use coarsen::direct::{Dense, Direct};
    use coarsen::relax::{BlockJacobi, Chebyshev, DampedJacobi, GaussSeidel, Ic0, Ilu0, Jacobi, Spai0};
    use coarsen::schwarz::{AdditiveSchwarz, Schwarz};
    use coarsen::{AnyError, Cg, Cpu, Stop, smoothed_aggregation};

    #[test]
    fn every_method_solves() -> Result<(), AnyError> {
        let (a, cpu) = (super::poisson3d(6, 1), Cpu::new());
        let b = super::right_hand_side(216);
        macro_rules! solve {
            ($($parameters:expr),+) => {$({
                let mut m = $parameters.build(&a, &cpu)?;
                m.update(&a)?;
                m.patch(&a, &[0])?;
                let mut x = vec![0.0; b.len()];
                Cg::new(Stop::relative(1e-8)).solve(&a, &mut m, &b, &mut x)?.converged()?;
                assert!(super::residual(&a, &b, &x) <= 1e-8, "{}", stringify!($parameters));
            })+};
        }
        solve!(Jacobi::default(), BlockJacobi::default(), DampedJacobi::default(), Spai0::default());
        solve!(Chebyshev::default(), GaussSeidel::default(), Ic0::default(), Ilu0);
        solve!(Componentwise { scalar: Ic0::default() }, Direct::default(), Dense::default());
        solve!(Schwarz::multilevel(), AdditiveSchwarz::overlapping(), smoothed_aggregation());
        Ok(())
    }
}
