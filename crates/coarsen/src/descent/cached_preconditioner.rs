//! A preconditioner that is updated to the system at each x.

use std::sync::Arc;
use std::time::{Duration, Instant};

use coarsen_backend::{Prepared, SetupError};
use coarsen_core::{Dot, Objective, Preconditioner, PreconditionerKind, Vector};
use coarsen_optimize::{DescentError, Direction, Refreshed};
use coarsen_sparse::{Pattern, System, SystemAt};

/// A preconditioner built from a Hessian, for vectors of type V.
pub type Built<V = Vec<f64>> = Box<dyn Prepared<V, f64>>;

/// A preconditioner of the system at x that can be updated to the system at another x. It is updated if the
/// pattern is the same, patched in all rows if only contact has other pairs, and rebuilt if the pattern of the matrix has
/// changed.
///
/// ```
/// use coarsen::descent::{CachedPreconditioner, refreshed};
/// use coarsen::prelude::*;
/// use coarsen::problems::Scene;
/// let Scene { mut body, start: mut x, .. } = Scene::bar_twist(3)?;
/// let jacobi = BlockJacobi::default();
/// let m: CachedPreconditioner = CachedPreconditioner::build(&mut body, &x, move |system| Ok(Box::new(jacobi.build_from(system, &Cpu::new())?)))?;
/// let mut descent = Descent::new(Backtracking::default(), Stop::relative(1e-6));
/// descent.refresh = Refresh::Every(8);
/// let mut lbfgs = refreshed(Lbfgs::new(8, m), |lbfgs| &mut lbfgs.initial);
/// descent.minimize(&mut body, &mut lbfgs, &mut x)?.converged()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct CachedPreconditioner<V: Vector = Vec<f64>> {
    inverse: Built<V>,
    build: Option<Build<V>>,
    pattern: Option<Arc<Pattern>>,
    /// The places of the contact of the last update.
    pairs: Vec<(u32, u32)>,
    rows: Vec<u32>,
    /// The x at which the preconditioner was built.
    built_at: Vec<f64>,
    /// Whether neither a call of `refresh` nor an update came after the build.
    is_new: bool,
    setup: Duration,
}

/// The function that builds the preconditioner.
type Build<V> = Box<dyn FnMut(System<'_, f64>) -> Result<Built<V>, SetupError>>;

impl<V: Vector> CachedPreconditioner<V> {
    /// Builds a cached preconditioner from the system of `f` at x, which has one number for each unknown. `build` receives the
    /// matrix, the contact part and the positions, from which setups compute rigid-body modes. `build` is stored, and is called
    /// again if the pattern changes.
    ///
    /// # Errors
    /// The errors of `build` and of the system.
    pub fn build<F: SystemAt>(
        f: &mut F,
        x: &[f64],
        mut build: impl FnMut(System<'_, f64>) -> Result<Built<V>, SetupError> + 'static,
    ) -> Result<Self, SetupError> {
        let system = f.system_at(x)?.system();
        let start = Instant::now();
        let mut cached = Self::constant(build(system)?);
        cached.setup = start.elapsed();
        cached.build = Some(Box::new(build));
        cached.note(system);
        (cached.built_at, cached.is_new) = (x.to_vec(), true);
        Ok(cached)
    }

    /// Returns a preconditioner that never changes.
    pub fn constant(inverse: Built<V>) -> Self {
        let (pairs, rows, built_at, setup) = (Vec::new(), Vec::new(), Vec::new(), Duration::ZERO);
        Self { inverse, build: None, pattern: None, pairs, rows, built_at, is_new: false, setup }
    }

    /// The time of the build and of all updates so far, without assembly.
    pub fn setup(&self) -> Duration {
        self.setup
    }

    /// Updates the preconditioner to the system at x and returns whether it changed. Nothing is done for a
    /// constant preconditioner, or in the first call if the preconditioner was built at this x.
    ///
    /// *Cost*: an assembly and an update, which may allocate.
    ///
    /// # Errors
    /// [`DescentError::Linearize`] with the error of the update. The old preconditioner is then still in use.
    pub fn refresh<F: SystemAt>(&mut self, f: &mut F, x: &[f64]) -> Result<bool, DescentError> {
        let due = self.is_due(x);
        if due {
            self.update(f.system_at(x).map_err(DescentError::linearize)?.system())?;
        }
        Ok(due)
    }

    /// Whether an update to x is needed: false for a constant preconditioner, and in the first call if the
    /// preconditioner was built at this x.
    pub(super) fn is_due(&mut self, x: &[f64]) -> bool {
        !(self.build.is_none() || std::mem::take(&mut self.is_new) && self.built_at == x)
    }

    /// Updates the preconditioner to a system, unless it is constant.
    pub(super) fn update(&mut self, system: System<'_, f64>) -> Result<(), DescentError> {
        let start = Instant::now();
        let updated = self.adapt(system);
        self.setup += start.elapsed();
        updated
    }

    fn adapt(&mut self, system: System<'_, f64>) -> Result<(), DescentError> {
        let Some(build) = &mut self.build else { return Ok(()) };
        self.is_new = false;
        let pattern = system.matrix.pattern();
        if self.pattern.as_ref().is_some_and(|known| Arc::ptr_eq(known, pattern) || known == pattern) {
            // All values change. With other pairs, a patch keeps what an update would build again: the transfers of a
            // hierarchy.
            let done = match self.pairs == pairs(&system) {
                true => self.inverse.update_from(system),
                false => self.inverse.patch_from(system, &self.rows),
            };
            done.map_err(DescentError::linearize)?;
        } else {
            self.inverse = build(system).map_err(DescentError::linearize)?;
        }
        self.note(system);
        Ok(())
    }

    /// Notes the structure of the system to which the preconditioner belongs.
    fn note(&mut self, system: System<'_, f64>) {
        let pattern = system.matrix.pattern();
        if !self.pattern.as_ref().is_some_and(|known| Arc::ptr_eq(known, pattern)) {
            self.pattern = Some(pattern.clone());
            self.rows.clear();
            self.rows.extend(0..pattern.rows() as u32);
        }
        self.pairs.clear();
        self.pairs.extend_from_slice(pairs(&system));
    }
}

/// The places of the contact of a system.
fn pairs<'a>(system: &System<'a, f64>) -> &'a [(u32, u32)] {
    system.contact.map_or(&[], |contact| contact.places())
}

impl<V: Vector> Preconditioner<V> for CachedPreconditioner<V> {
    fn apply(&mut self, r: &V, z: &mut V) {
        self.inverse.apply(r, z);
    }
    fn apply_dot(&mut self, r: &V, z: &mut V) -> Dot<V::Scalar> {
        self.inverse.apply_dot(r, z)
    }
    fn apply_many(&mut self, r: &[V], z: &mut [V]) {
        self.inverse.apply_many(r, z);
    }
    fn kind(&self) -> PreconditionerKind {
        Preconditioner::<V>::kind(&self.inverse)
    }
    fn size(&self) -> Option<usize> {
        Preconditioner::<V>::size(&self.inverse)
    }
}

/// A direction whose preconditioner is updated to the Hessian of the objective, as often as
/// [`Descent::refresh`](coarsen_optimize::Descent::refresh) decides. `inverse` is where the direction keeps it. With
/// vectors of a backend: [`BackendObjective::refreshed`](super::BackendObjective::refreshed).
pub fn refreshed<F, D>(
    direction: D,
    inverse: fn(&mut D) -> &mut CachedPreconditioner,
) -> impl Direction<Vec<f64>, F>
where
    F: Objective<Vec<f64>> + SystemAt,
    D: Direction<Vec<f64>, F>,
{
    Refreshed::new(direction, move |f: &mut F, x: &Vec<f64>, d: &mut D| inverse(d).refresh(f, x))
}
