//! Who looks on while a descent runs.

use std::ops::ControlFlow;

use coarsen_core::{Error, Real, Vector};
use num_traits::Float;

use crate::line_search::within;

/// One look at a running descent.
pub struct Iterate<'a, V: Vector> {
    /// Steps taken so far; 0 is the start.
    pub number: usize,
    /// f(x).
    pub value: V::Real,
    /// How far rounding may have moved it: [`Objective::round_off`](coarsen_core::Objective::round_off).
    pub round_off: V::Real,
    /// ‖∇f(x)‖₂.
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

/// What a monitor that breaks the loop found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Its own criterion is met.
    Converged,
    /// The caller wants no more.
    Stop,
}

/// Called at every iterate, the first and the last too, unless f or its gradient is not finite there; `Break` ends the descent.
///
/// `()` looks at nothing, a closure is a monitor, a pair is two of them, [`DescentHistory`] keeps the numbers,
/// [`ScaledNorm`] converges in a norm of its own.
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
    /// Sees one iterate.
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

/// f and ‖∇f‖₂ of every iterate, the start first; it allocates as it grows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DescentHistory<T> {
    /// f(x).
    pub values: Vec<T>,
    /// ‖∇f(x)‖₂.
    pub gradients: Vec<T>,
}

impl<V: Vector<Real = T>, T: Real> DescentMonitor<V> for DescentHistory<T> {
    fn observe(&mut self, it: &Iterate<'_, V>) -> ControlFlow<Verdict> {
        self.values.push(it.value);
        self.gradients.push(it.gradient);
        ControlFlow::Continue(())
    }
}

/// Converges when ‖W ∇f‖₂ ≤ tolerance, W diagonal: forces of stiff and of soft parts in one measure.
///
/// With W = 1 / (ℓᵢ ξᵢ Δt) at node i it is the node-wise characteristic norm of Wang et al. 2020 (HOT), Eq. 9: ξᵢ the norm of
/// dP/dF at rest, averaged by mass; ℓᵢ the area around the node; Δt only where x is a velocity. Their tolerance is ε √nodes.
/// *Use* beside a [`Descent::stop`](crate::Descent::stop) of tolerance 0. *Cost* 3 passes and a reduction a step.
pub struct ScaledNorm<V: Vector> {
    weights: V,
    tolerance: V::Real,
    scaled: V,
    last: V::Real,
}

impl<V: Vector> ScaledNorm<V> {
    /// The norm with these weights, one per scalar.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a tolerance below 0 or NaN, and for weights that are not finite or whose squares overflow, [`Error::Device`] when the memory is not to be had.
    pub fn new(weights: V, tolerance: V::Real) -> Result<Self, Error> {
        within("ScaledNorm, tolerance", tolerance, tolerance >= V::Real::of(0.0), "0 or more")?;
        let size = weights.norm();
        within("ScaledNorm, norm of the weights", size, size.is_finite(), "finite")?;
        Ok(Self { scaled: weights.like()?, weights, tolerance, last: V::Real::of(f64::NAN) })
    }

    /// ‖W ∇f‖₂ at the last look.
    pub fn last(&self) -> V::Real {
        self.last
    }
}

impl<V: Vector> DescentMonitor<V> for ScaledNorm<V> {
    fn observe(&mut self, it: &Iterate<'_, V>) -> ControlFlow<Verdict> {
        let [one, zero] = [1.0, 0.0].map(|v| it.g.scalar(V::Real::of(v)));
        self.scaled.hadamard(&one, &self.weights, it.g, &zero);
        self.last = self.scaled.norm();
        if self.last <= self.tolerance {
            ControlFlow::Break(Verdict::Converged)
        } else {
            ControlFlow::Continue(())
        }
    }
}
