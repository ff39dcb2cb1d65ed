//! Preconditioners by name, built on any backend and timed.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use coarsen::auto::{Method, Precond};
use coarsen::backend::{SetupError, Update};
use coarsen::descent::Built;
use coarsen::prelude::*;
use coarsen::schwarz::SchwarzBackend;
use coarsen::{Dot, Vector};

use crate::factor_or::FactorOr;

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

/// The tolerance of the trial solve of `auto`; linear solves in a step need no higher accuracy.
const TRIAL: f64 = 1e-3;

/// A function that builds the preconditioner of a system.
pub type Recipe<V> = Box<dyn FnMut(System<'_, f64>) -> Result<Built<V>, SetupError>>;

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
pub struct Clock(Rc<Cell<Duration>>);

impl Clock {
    /// Returns the setup time since the last call.
    pub fn take(&self) -> Duration {
        self.0.take()
    }

    fn time<T>(&self, run: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let done = run();
        self.0.set(self.0.get() + start.elapsed());
        done
    }
}

impl Solver {
    /// Checks that the option `--levels` fits the solver.
    ///
    /// # Errors
    /// [`LevelsError`]
    pub fn check(self, levels: &[usize]) -> Result<(), LevelsError> {
        let (most, takes) = match self {
            Self::Skinning => (usize::MAX, "one for each level"),
            Self::Sa | Self::Mas => (1, "one: the most levels"),
            _ => (0, "none"),
        };
        let count = levels.len();
        let falls = levels.windows(2).all(|pair| pair[0] > pair[1]);
        let takes = if count > most { takes } else { "fewer handles on each coarser level" };
        if count <= most && falls {
            return Ok(());
        }
        let solver = self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned());
        let given = levels.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
        Err(LevelsError { solver, given, takes })
    }

    /// Returns the function that builds the preconditioner; `rest` has the rest positions.
    pub fn recipe<B: SchwarzBackend<Real = f64>>(
        self,
        levels: &[usize],
        rest: Arc<[[f64; 3]]>,
        on: &B,
        clock: &Clock,
    ) -> Recipe<B::Vector> {
        let (levels, on) = (levels.to_vec(), on.clone());
        timed(clock, move |system| build(self, &levels, &rest, system, &on))
    }
}

/// Returns a function that builds a preconditioner, and whose calls and updates the clock measures.
fn timed<V: Vector>(
    clock: &Clock,
    mut build: impl FnMut(System<'_, f64>) -> Result<Built<V>, SetupError> + 'static,
) -> Recipe<V> {
    let clock = clock.clone();
    Box::new(move |system| {
        let inner = clock.time(|| build(system))?;
        Ok(Box::new(Clocked { inner, clock: clock.clone() }))
    })
}

fn build<B: SchwarzBackend<Real = f64>>(
    solver: Solver,
    levels: &[usize],
    rest: &Arc<[[f64; 3]]>,
    system: System<'_, f64>,
    on: &B,
) -> Result<Built<B::Vector>, SetupError> {
    Ok(match solver {
        Solver::Skinning => {
            let mut recipe = if levels.is_empty() { skinning() } else { skinning_levels(levels) };
            recipe.coarsening.rest = Some(rest.clone());
            Box::new(recipe.build_from(system, on)?)
        }
        Solver::Mas => {
            let recipe = Schwarz::multilevel();
            let levels = levels.first().copied().unwrap_or(recipe.levels);
            Box::new(Schwarz { levels, ..recipe }.build_from(system, on)?)
        }
        Solver::Sa | Solver::Auto => {
            let recipe = smoothed_aggregation();
            let levels = levels.first().copied().unwrap_or(recipe.levels);
            Box::new(Multigrid { levels, ..recipe }.build_from(system, on)?)
        }
        Solver::BlockJacobi => Box::new(BlockJacobi::default().build_from(system, on)?),
        Solver::Gs => Box::new(GaussSeidel::default().build_from(system, on)?),
        Solver::Chebyshev => Box::new(Chebyshev::default().build_from(system, on)?),
        Solver::Direct => Box::new(FactorOr::build(system, on)?),
    })
}

/// Chooses the solver with the least work on a system, among a factor, skinning, smoothed aggregation and
/// one-level methods.
///
/// *Cost* a solve to three digits. The work is counted and not timed, so that runs can be repeated with the
/// same bits.
///
/// # Errors
/// [`SetupError`] if the parts of the system do not fit.
pub fn choose(system: System<'_, f64>) -> Result<Solver, SetupError> {
    let n = system.matrix.shape().0;
    let (b, mut x) = (vec![1.0; n], vec![0.0; n]);
    let solved = Auto { tolerance: TRIAL, ..Auto::default() }.solve(system, &b, &mut x)?;
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
pub fn copied<B: Backend<Real = f64>>(mut recipe: Recipe<B::Vector>, on: &B) -> Recipe<Vec<f64>> {
    let on = on.clone();
    Box::new(move |system| {
        let zeros = vec![0.0; system.matrix.shape().0];
        let (r, z) = (on.vector(&zeros)?, on.vector(&zeros)?);
        Ok(Box::new(Copied { on: on.clone(), inner: recipe(system)?, r, z }))
    })
}

/// A preconditioner on a backend, for vectors on the host. If the backend fails, z is NaN, which ends a descent.
struct Copied<B: Backend> {
    on: B,
    inner: Built<B::Vector>,
    r: B::Vector,
    z: B::Vector,
}

impl<B: Backend<Real = f64>> Preconditioner<Vec<f64>> for Copied<B> {
    fn apply(&mut self, r: &Vec<f64>, z: &mut Vec<f64>) {
        let done = self.on.write(r, &mut self.r).and_then(|()| {
            self.inner.apply(&self.r, &mut self.z);
            self.on.read(&self.z, z)
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

/// A preconditioner whose updates are timed.
struct Clocked<V: Vector> {
    inner: Built<V>,
    clock: Clock,
}

impl<V: Vector> Preconditioner<V> for Clocked<V> {
    fn apply(&mut self, r: &V, z: &mut V) {
        self.inner.apply(r, z);
    }

    fn apply_dot(&mut self, r: &V, z: &mut V) -> Dot<V::Scalar> {
        self.inner.apply_dot(r, z)
    }

    fn kind(&self) -> PreconditionerKind {
        Preconditioner::<V>::kind(&self.inner)
    }

    fn size(&self) -> Option<usize> {
        Preconditioner::<V>::size(&self.inner)
    }
}

impl<V: Vector> Update<f64> for Clocked<V> {
    fn update_from(&mut self, system: System<'_, f64>) -> Result<Reused, SetupError> {
        let Self { inner, clock } = self;
        clock.time(|| inner.update_from(system))
    }

    fn patch_from(&mut self, system: System<'_, f64>, touched: &[u32]) -> Result<Reused, SetupError> {
        let Self { inner, clock } = self;
        clock.time(|| inner.patch_from(system, touched))
    }
}
