//! Monitors: called while a descent runs.

use std::ops::ControlFlow;

use coarsen_core::{Real, Vector};

/// The state of a running descent, as a monitor receives it.
pub struct Iterate<'a, V: Vector> {
    /// Steps taken so far; 0 is the start.
    pub number: usize,
    /// f(x).
    pub value: V::Real,
    /// The round-off of f(x): [`Objective::round_off`](coarsen_core::Objective::round_off).
    pub round_off: V::Real,
    /// ‖∇f(x)‖ in the norm of the descent.
    pub gradient: V::Real,
    /// α of the last step; 0 at the start.
    pub alpha: V::Real,
    /// Evaluations of f and of ∇f so far.
    pub evaluations: [usize; 2],
    /// x.
    pub x: &'a V,
    /// ∇f(x).
    pub g: &'a V,
}

/// The reason of a monitor that ends the descent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Its own criterion is met.
    Converged,
    /// The caller stops the descent.
    Stop,
}

/// Called at every iterate, including the first and the last, unless f or its gradient is not finite there;
/// `Break` ends the descent.
///
/// `()` does nothing, a closure is a monitor, a pair calls two monitors, [`DescentHistory`] records the
/// numbers.
///
/// ```
/// use coarsen_core::Stop;
/// use coarsen_optimize::{Backtracking, Descent, DescentHistory, Lbfgs, Rosenbrock};
/// let (mut x, mut history) = (vec![-1.2, 1.0], DescentHistory::default());
/// let mut descent = Descent::new(Backtracking::default(), Stop::absolute(1e-8));
/// let report = descent.minimize(&mut Rosenbrock, &mut Lbfgs::scaled(4), &mut x, &mut history)?.converged()?;
/// assert_eq!(history.values.len(), report.iterations + 1);
/// # Ok::<(), coarsen_optimize::DescentError>(())
/// ```
pub trait DescentMonitor<V: Vector> {
    /// Called with the current state.
    fn observe(&mut self, it: &Iterate<'_, V>) -> ControlFlow<Verdict>;
}

impl<V: Vector> DescentMonitor<V> for () {
    fn observe(&mut self, _: &Iterate<'_, V>) -> ControlFlow<Verdict> {
        ControlFlow::Continue(())
    }
}

impl<V: Vector, F: FnMut(&Iterate<'_, V>) -> ControlFlow<Verdict>> DescentMonitor<V> for F {
    fn observe(&mut self, it: &Iterate<'_, V>) -> ControlFlow<Verdict> {
        self(it)
    }
}

impl<V: Vector, A: DescentMonitor<V>, B: DescentMonitor<V>> DescentMonitor<V> for (A, B) {
    fn observe(&mut self, it: &Iterate<'_, V>) -> ControlFlow<Verdict> {
        let first = self.0.observe(it);
        let second = self.1.observe(it);
        if first.is_break() { first } else { second }
    }
}

/// f and ‖∇f‖ of every iterate, in the norm of the descent, the start first; it allocates as it grows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DescentHistory<T> {
    /// f(x).
    pub values: Vec<T>,
    /// ‖∇f(x)‖.
    pub gradients: Vec<T>,
}

impl<V: Vector<Real = T>, T: Real> DescentMonitor<V> for DescentHistory<T> {
    fn observe(&mut self, it: &Iterate<'_, V>) -> ControlFlow<Verdict> {
        self.values.push(it.value);
        self.gradients.push(it.gradient);
        ControlFlow::Continue(())
    }
}
