//! Monitors: called while a solve runs.

use std::fmt;
use std::ops::ControlFlow;

use crate::{Real, Vector};

/// The state of a running solve, passed to monitors.
pub struct Iteration<'a, V: Vector> {
    /// The number of iterations done so far; 0 for the starting guess.
    pub number: usize,
    /// ‖r‖₂, the norm of the recursively updated residual.
    pub residual: V::Real,
    /// ‖r‖₂ / ‖b‖₂; ‖r‖₂ if b = 0.
    pub relative: V::Real,
    /// The current solution, if the method has computed it. `Gmres` computes it only at restarts. `None` also
    /// if the square of ‖b‖₂ overflows or underflows, since methods then solve a scaled system.
    pub x: Option<&'a V>,
    /// The smallest and the largest Ritz value of M⁻¹A, if the method computes them (`Cg` with `check_every` = 1); `None`
    /// before the first. Both lie between the extreme eigenvalues of M⁻¹A, up to their accuracy of three digits. They are
    /// computed in the call, whose cost grows with the number of iterations, not with the size of the system.
    pub ritz_values: Option<&'a dyn Fn() -> Option<[f64; 2]>>,
}

impl<V: Vector> fmt::Display for Iteration<'_, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>6}  {:.3e}  {:.3e}", self.number, self.residual, self.relative)
    }
}

/// A function called at every convergence test; `Break` ends the solve as
/// [`Stopped`](crate::Outcome::Stopped).
///
/// For a distributed vector it is called on all ranks and must return the same value on each rank. [`History`]
/// records the norms.
///
/// ```
/// use coarsen_core::{Iteration, Monitor};
/// use std::ops::ControlFlow;
/// let twenty: &mut Monitor<'_, Vec<f64>> =
///     &mut |it| if it.number < 20 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) };
/// let iteration = Iteration { number: 20, residual: 1.0, relative: 1.0, x: None, ritz_values: None };
/// assert!(twenty(&iteration).is_break());
/// ```
pub type Monitor<'a, V> = dyn FnMut(&Iteration<'_, V>) -> ControlFlow<()> + 'a;

/// The relative residual norms of a solve, one per convergence test. The first is the norm for the starting
/// guess.
///
/// The history belongs to the caller and allocates as it grows. [`Report`](crate::Report) stays small.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History<T> {
    /// ‖r‖₂ / ‖b‖₂ at each test.
    pub relative: Vec<T>,
}

impl<T: Real> History<T> {
    /// Appends the norm of a test. *Use* in a [`Monitor`].
    pub fn record<V: Vector<Real = T>>(&mut self, it: &Iteration<'_, V>) -> ControlFlow<()> {
        self.relative.push(it.relative);
        ControlFlow::Continue(())
    }
}

/// A monitor that calls `f` at iterations 0, k, 2k, …; `k` = 0 is taken as 1.
pub fn every<V: Vector>(
    k: usize,
    mut f: impl FnMut(&Iteration<'_, V>),
) -> impl FnMut(&Iteration<'_, V>) -> ControlFlow<()> {
    move |it: &Iteration<'_, V>| {
        if it.number.is_multiple_of(k.max(1)) {
            f(it);
        }
        ControlFlow::Continue(())
    }
}
