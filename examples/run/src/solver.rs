//! Preconditioners by name, built on any backend and timed.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use clap::ValueEnum;
use coarsen::auto::{Method, Precond};
use coarsen::backend::{SetupError, Update};
use coarsen::prelude::*;
use coarsen::schwarz::SchwarzBackend;
use coarsen::sparse::SystemAt;
use coarsen::{Dot, Vector, direct};

use crate::Failure;

/// The preconditioners.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Solver {
    /// Skinning-space multigrid.
    Skinning,
    /// Multilevel additive Schwarz.
    Mas,
    /// Smoothed aggregation.
    Sa,
    /// Inverses of the diagonal blocks.
    BlockJacobi,
    /// Symmetric Gauss-Seidel.
    Gs,
    /// A Chebyshev polynomial.
    Chebyshev,
    /// A sparse factor; smoothed aggregation where there is none.
    Direct,
    /// The solver with the least work on the first system.
    Auto,
}

examples_scene::fields!(unit Solver);

/// The tolerance of the first solve of `auto`; linear solves in a step need no higher accuracy.
const FIRST_TOLERANCE: f64 = 1e-3;

/// A preconditioner.
pub type Built<V> = Box<dyn Prepared<V, f64> + Send>;

/// A function that builds the preconditioner of a system.
pub type Build<V> = Box<dyn FnMut(System<'_, f64>) -> Result<Built<V>, SetupError> + Send>;

/// Levels that the solver does not accept.
#[derive(Debug, thiserror::Error)]
#[error("--levels {given} does not fit the solver {solver}, which takes {takes}")]
pub struct LevelsError {
    solver: String,
    given: String,
    takes: &'static str,
}

/// The time spent in setups.
#[derive(Clone, Debug, Default)]
pub struct Clock(Arc<Mutex<Duration>>);

impl Clock {
    /// Returns the setup time since the last call.
    pub fn take(&self) -> Duration {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn time<T>(&self, run: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let done = run();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) += start.elapsed();
        done
    }
}

impl Solver {
    /// Checks that the option `--levels` fits the solver.
    pub fn check(self, levels: &[usize]) -> Result<(), LevelsError> {
        let (most, takes) = match self {
            Self::Skinning => (usize::MAX, "one for each level"),
            Self::Sa | Self::Mas => (1, "one: the most levels"),
            _ => (0, "none"),
        };
        let count = levels.len();
        let falls = levels.windows(2).all(|pair| pair[0] > pair[1]);
        let takes = if count > most { takes } else { "fewer control points on each coarser level" };
        if count <= most && falls {
            return Ok(());
        }
        let solver = self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned());
        let given = levels.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
        Err(LevelsError { solver, given, takes })
    }

    /// Returns the function that builds the preconditioner; `rest` has the rest positions.
    pub fn builder<B: SchwarzBackend<Real = f64>>(
        self,
        levels: &[usize],
        rest: Arc<[[f64; 3]]>,
        backend: &B,
        clock: &Clock,
    ) -> Build<B::Vector> {
        let (levels, backend, clock) = (levels.to_vec(), backend.clone(), clock.clone());
        Box::new(move |system| Ok(Box::new(Timed::build(self, &levels, &rest, system, &backend, &clock)?)))
    }
}

fn build<B: SchwarzBackend<Real = f64>>(
    solver: Solver,
    levels: &[usize],
    rest: &Arc<[[f64; 3]]>,
    system: System<'_, f64>,
    backend: &B,
) -> Result<Built<B::Vector>, SetupError> {
    Ok(match solver {
        Solver::Skinning => {
            let mut multigrid = if levels.is_empty() { skinning() } else { skinning_levels(levels) };
            multigrid.coarsening.rest = Some(rest.clone());
            Box::new(multigrid.build_from(system, backend)?)
        }
        Solver::Mas => {
            let schwarz = Schwarz::multilevel();
            let levels = levels.first().copied().unwrap_or(schwarz.levels);
            Box::new(Schwarz { levels, ..schwarz }.build_from(system, backend)?)
        }
        Solver::Sa | Solver::Auto => {
            let multigrid = smoothed_aggregation();
            let levels = levels.first().copied().unwrap_or(multigrid.levels);
            Box::new(Multigrid { levels, ..multigrid }.build_from(system, backend)?)
        }
        Solver::BlockJacobi => Box::new(BlockJacobi::default().build_from(system, backend)?),
        Solver::Gs => Box::new(GaussSeidel::default().build_from(system, backend)?),
        Solver::Chebyshev => Box::new(Chebyshev::default().build_from(system, backend)?),
        Solver::Direct => {
            let (method, accept, test_tolerance) = (direct::Method::Cholesky, f64::INFINITY, f64::INFINITY);
            Box::new(
                Direct { method, accept, test_tolerance, ..Direct::default() }.build_from(system, backend)?,
            )
        }
    })
}

/// The solver of the steps of an objective: a given one, or for `auto` that with the least work on the system at x, among a
/// factor, skinning, smoothed aggregation and one-level methods.
///
/// *Cost* a solve to three digits. The work is counted and not timed, so that runs can be repeated with the
/// same bits.
///
/// # Errors
/// [`SetupError`] if the parts of the system do not fit, and errors of its assembly.
pub fn choose(given: Solver, f: &mut impl SystemAt, x: &[f64]) -> Result<Solver, Failure> {
    if given != Solver::Auto {
        return Ok(given);
    }
    let system = f.system_at(x)?.system();
    let n = system.matrix.shape().0;
    let (b, mut x) = (vec![1.0; n], vec![0.0; n]);
    let solved = Auto { tolerance: FIRST_TOLERANCE, ..Auto::default() }.solve(system, &b, &mut x)?;
    Ok(match solved.attempts.last().map(|last| (last.method, last.precond)) {
        Some((Method::Direct, _)) => Solver::Direct,
        Some((_, Precond::Skinning)) => Solver::Skinning,
        Some((_, Precond::SmoothedAggregation)) => Solver::Sa,
        Some((_, Precond::Schwarz)) => Solver::Mas,
        Some((_, Precond::Ic0 | Precond::Ilu0)) => Solver::Gs,
        _ => Solver::BlockJacobi,
    })
}

/// The same preconditioners for vectors on the host, which are copied to the backend and back.
pub fn copied<B: Backend<Real = f64>>(mut build: Build<B::Vector>, backend: &B) -> Build<Vec<f64>> {
    let backend = backend.clone();
    Box::new(move |system| {
        let zeros = vec![0.0; system.matrix.shape().0];
        let (r, z) = (backend.vector(&zeros)?, backend.vector(&zeros)?);
        Ok(Box::new(Copied { backend: backend.clone(), inner: build(system)?, r, z }))
    })
}

/// A preconditioner on a backend, for vectors on the host. If the backend fails, z is NaN, which ends a descent.
struct Copied<B: Backend> {
    backend: B,
    inner: Built<B::Vector>,
    r: B::Vector,
    z: B::Vector,
}

impl<B: Backend<Real = f64>> Preconditioner<Vec<f64>> for Copied<B> {
    fn apply(&mut self, r: &Vec<f64>, z: &mut Vec<f64>) {
        let done = self.backend.write(r, &mut self.r).and_then(|()| {
            self.inner.apply(&self.r, &mut self.z);
            self.backend.read(&self.z, z)
        });
        if done.is_err() {
            z.fill(f64::NAN);
        }
    }

    fn kind(&self) -> PreconditionerKind {
        Preconditioner::<B::Vector>::kind(&self.inner)
    }

    fn size(&self) -> Option<usize> {
        Preconditioner::<B::Vector>::size(&self.inner)
    }
}

impl<B: Backend<Real = f64>> Update<f64> for Copied<B> {
    fn update_from(&mut self, system: System<'_, f64>) -> Result<Reused, SetupError> {
        self.inner.update_from(system)
    }

    fn patch_from(&mut self, system: System<'_, f64>, touched: &[u32]) -> Result<Reused, SetupError> {
        self.inner.patch_from(system, touched)
    }
}

/// A preconditioner whose setups are timed, and a Cholesky factor for as long as there is one.
///
/// Contact that is 1e14 times as stiff as inertia leaves a factor no correct digit along soft directions, which conjugate
/// gradients find, or no positive pivot. From the first matrix without a factor, smoothed aggregation takes its place until the
/// solver is built again, at the next checkpoint, and the reason is printed.
struct Timed<B: SchwarzBackend<Real = f64>> {
    inner: Built<B::Vector>,
    is_factor: bool,
    backend: B,
    clock: Clock,
}

impl<B: SchwarzBackend<Real = f64>> Timed<B> {
    fn build(
        solver: Solver,
        levels: &[usize],
        rest: &Arc<[[f64; 3]]>,
        system: System<'_, f64>,
        backend: &B,
        clock: &Clock,
    ) -> Result<Self, SetupError> {
        let (inner, is_factor) = clock.time(|| match build(solver, levels, rest, system, backend) {
            Err(refused @ SetupError::Factor { .. }) if solver == Solver::Direct => {
                Ok((hierarchy(system, backend, &refused)?, false))
            }
            built => built.map(|built| (built, solver == Solver::Direct)),
        })?;
        Ok(Self { inner, is_factor, backend: backend.clone(), clock: clock.clone() })
    }

    /// Updates the preconditioner; a hierarchy is built instead of a factor that fails.
    fn update_or_replace(
        &mut self,
        system: System<'_, f64>,
        update: impl FnOnce(&mut Built<B::Vector>) -> Result<Reused, SetupError>,
    ) -> Result<Reused, SetupError> {
        let Self { inner, is_factor, backend, clock } = self;
        clock.time(|| match update(inner) {
            Err(refused @ SetupError::Factor { .. }) if *is_factor => {
                (*inner, *is_factor) = (hierarchy(system, backend, &refused)?, false);
                Ok(Reused::Nothing)
            }
            other => other,
        })
    }
}

fn hierarchy<B: SchwarzBackend<Real = f64>>(
    system: System<'_, f64>,
    backend: &B,
    refused: &SetupError,
) -> Result<Built<B::Vector>, SetupError> {
    eprintln!("smoothed aggregation instead of a factor until the next checkpoint: {refused}");
    Ok(Box::new(smoothed_aggregation().build_from(system, backend)?))
}

impl<B: SchwarzBackend<Real = f64>> Preconditioner<B::Vector> for Timed<B> {
    fn apply(&mut self, r: &B::Vector, z: &mut B::Vector) {
        self.inner.apply(r, z);
    }

    fn apply_dot(&mut self, r: &B::Vector, z: &mut B::Vector) -> Dot<<B::Vector as Vector>::Scalar> {
        self.inner.apply_dot(r, z)
    }

    fn kind(&self) -> PreconditionerKind {
        Preconditioner::<B::Vector>::kind(&self.inner)
    }

    fn size(&self) -> Option<usize> {
        Preconditioner::<B::Vector>::size(&self.inner)
    }
}

impl<B: SchwarzBackend<Real = f64>> Update<f64> for Timed<B> {
    fn update_from(&mut self, system: System<'_, f64>) -> Result<Reused, SetupError> {
        self.update_or_replace(system, |inner| inner.update_from(system))
    }

    fn patch_from(&mut self, system: System<'_, f64>, touched: &[u32]) -> Result<Reused, SetupError> {
        self.update_or_replace(system, |inner| inner.patch_from(system, touched))
    }
}

#[cfg(test)]
mod tests {
    use coarsen::problems::cloth;

    use super::*;

    fn factor(system: System<'_, f64>) -> Result<Timed<Cpu>, SetupError> {
        Timed::build(Solver::Direct, &[], &Arc::default(), system, &Cpu::new(), &Clock::default())
    }

    /// An indefinite matrix with positive diagonal blocks has no Cholesky factor, but a hierarchy.
    #[test]
    fn a_hierarchy_replaces_a_factor_that_fails() {
        let p = cloth(12, 0.01).unwrap();
        let n = p.matrix.shape().0;
        let mut m = factor(p.system()).unwrap();
        assert!(m.is_factor);
        let (r, mut z) = (vec![1.0; n], vec![0.0; n]);
        m.apply(&r, &mut z);
        let mut left = vec![0.0; n];
        p.matrix.residual(&r, &z, &mut left);
        assert!(left.iter().all(|v| v.abs() < 1e-9), "a factor solves");
        // A spring of negative stiffness between two neighbours outweighs their inertia.
        let mut unlike = p.matrix.clone();
        let next = p.matrix.pattern().row(78).iter().find(|&&j| j > 78).unwrap();
        let (i, j) = (3 * 78, 3 * *next as usize);
        for (row, column, k) in [(i, i, -1.0), (j, j, -1.0), (i, j, 1.0), (j, i, 1.0)] {
            let at = unlike.pattern().find(row / 3, column / 3).unwrap();
            unlike.values_mut()[9 * at] += 0.9 * k * p.matrix.get(i, i);
        }
        assert!(Direct { method: direct::Method::Cholesky, ..Direct::default() }.factor(&unlike).is_err());
        let system = System { matrix: &unlike, ..p.system() };
        assert_eq!(m.update_from(system).unwrap(), Reused::Nothing);
        assert!(!m.is_factor && !factor(system).unwrap().is_factor);
        m.apply(&r, &mut z);
        assert!(z.iter().all(|v| v.is_finite()));
        assert!(m.update_from(p.system()).is_ok() && !m.is_factor, "the hierarchy stays");
        let mut wild = p.matrix.clone();
        wild.values_mut()[0] = f64::NAN;
        assert!(factor(System { matrix: &wild, ..p.system() }).is_err());
    }
}
