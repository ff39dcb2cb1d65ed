//! Monitors: functions called while a descent runs.

use std::ops::ControlFlow;

use coarsen_core::{Real, Vector};

/// The state of a running descent, which a monitor receives.
pub struct Iterate<'a, V: Vector> {
    /// The number of steps so far; 0 at the start.
    pub number: usize,
    /// f(x).
    pub value: V::Real,
    /// The round-off of f(x), by the magnitude that [`Objective::value`](coarsen_core::Objective::value) states.
    pub round_off: V::Real,
    /// ‖∇f(x)‖ in the norm of the descent.
    pub gradient: V::Real,
    /// α of the last step; 0 at the start.
    pub alpha: V::Real,
    /// The numbers of evaluations of f and of ∇f so far.
    pub evaluations: [usize; 2],
    /// x.
    pub x: &'a V,
    /// ∇f(x).
    pub g: &'a V,
}

/// The reason why a monitor ends the descent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// The criterion of the monitor is met.
    Converged,
    /// The caller stops the descent.
    Stop,
}

/// A function that is called at every iterate, including the first and the last; `Break` ends the descent.
///
/// It is not called if f or its gradient is not finite. [`DescentHistory`] records f and ‖∇f‖.
///
/// ```
/// use coarsen_core::Stop;
/// use coarsen_optimize::{Backtracking, Descent, DescentHistory, Iterate, Lbfgs, Rosenbrock};
/// let (mut x, mut history) = (vec![-1.2, 1.0], DescentHistory::default());
/// let mut descent = Descent::new(Backtracking::default(), Stop::absolute(1e-8));
/// let mut record = |it: &Iterate<'_, Vec<f64>>| history.record(it);
/// let report = descent.minimize_with(&mut Rosenbrock, &mut Lbfgs::scaled(4), &mut x, &mut record)?.converged()?;
/// assert_eq!(history.values.len(), report.iterations + 1);
/// # Ok::<(), coarsen_optimize::DescentError>(())
/// ```
pub type DescentMonitor<'a, V> = dyn FnMut(&Iterate<'_, V>) -> ControlFlow<Verdict> + 'a;

/// The history of f and of ‖∇f‖ in the norm of the descent, beginning with the start. It allocates as it
/// grows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DescentHistory<T> {
    /// f(x).
    pub values: Vec<T>,
    /// ‖∇f(x)‖.
    pub gradients: Vec<T>,
}

impl<T: Real> DescentHistory<T> {
    /// Appends f and ‖∇f‖ of an iterate. *Use* in a [`DescentMonitor`].
    pub fn record<V: Vector<Real = T>>(&mut self, it: &Iterate<'_, V>) -> ControlFlow<Verdict> {
        self.values.push(it.value);
        self.gradients.push(it.gradient);
        ControlFlow::Continue(())
    }
}
