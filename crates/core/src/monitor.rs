//! Who looks on while a solve runs.

use std::fmt;
use std::ops::ControlFlow;

use crate::{Real, Vector};

/// One look at a running solve.
pub struct Iteration<'a, V: Vector> {
    /// Iterations done so far; 0 is the starting guess.
    pub number: usize,
    /// ‖r‖₂ as the recurrence has it.
    pub residual: V::Real,
    /// The same as a share of ‖b‖₂ (of 1 where b = 0).
    pub relative: V::Real,
    /// The current solution, where the method has it at hand (`Gmres` forms it only at restarts, and of a right-hand side whose square leaves
    /// the range of the numbers methods hold a scaled one).
    pub x: Option<&'a V>,
    /// What the method has learned of the eigenvalues of M⁻¹A, where it learns them (`Cg` with `look_every` = 1).
    pub ritz_values: Option<&'a dyn RitzValues>,
}

/// Eigenvalues of the projection of an operator on the Krylov space of an iteration.
pub trait RitzValues {
    /// Estimates of the smallest and the largest eigenvalue from inside, `None` before there are any.
    ///
    /// The work is done when it is asked for: it grows with the iterations done, not with the size of the system.
    fn extremes(&self) -> Option<[f64; 2]>;
}

impl<V: Vector> fmt::Display for Iteration<'_, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>6}  {:.3e}  {:.3e}", self.number, self.residual, self.relative)
    }
}

/// Called at every look; `Break` ends the solve as [`Stopped`](crate::Outcome::Stopped).
///
/// Where ranks share a vector, all of them are called, and must answer alike. `()` looks at nothing, a closure is a monitor, [`History`] keeps the norms.
///
/// ```
/// use coarsen_core::{Iteration, Monitor};
/// use std::ops::ControlFlow;
/// let mut twenty = |it: &Iteration<'_, Vec<f64>>| if it.number < 20 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) };
/// let look = Iteration { number: 20, residual: 1.0, relative: 1.0, x: None, ritz_values: None };
/// assert!(twenty.observe(&look).is_break());
/// ```
pub trait Monitor<V: Vector> {
    /// Sees one iteration.
    fn observe(&mut self, it: &Iteration<'_, V>) -> ControlFlow<()>;
}

impl<V: Vector> Monitor<V> for () {
    fn observe(&mut self, _: &Iteration<'_, V>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

impl<V: Vector, F: FnMut(&Iteration<'_, V>) -> ControlFlow<()>> Monitor<V> for F {
    fn observe(&mut self, it: &Iteration<'_, V>) -> ControlFlow<()> {
        self(it)
    }
}

/// The relative residual norms of a solve, one per look, the starting guess first.
///
/// It belongs to the caller, so that [`Report`](crate::Report) stays small; it allocates as it grows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History<T> {
    /// ‖r‖₂ / ‖b‖₂ at each look.
    pub relative: Vec<T>,
}

impl<V: Vector<Real = T>, T: Real> Monitor<V> for History<T> {
    fn observe(&mut self, it: &Iteration<'_, V>) -> ControlFlow<()> {
        self.relative.push(it.relative);
        ControlFlow::Continue(())
    }
}

/// A monitor that hands every k-th look to a closure; made by [`every`].
pub struct Every<F> {
    k: usize,
    f: F,
}

/// Calls `f` at iterations 0, k, 2k, …; `k` = 0 counts as 1.
pub fn every<V: Vector, F: FnMut(&Iteration<'_, V>)>(k: usize, f: F) -> Every<F> {
    Every { k: k.max(1), f }
}

impl<V: Vector, F: FnMut(&Iteration<'_, V>)> Monitor<V> for Every<F> {
    fn observe(&mut self, it: &Iteration<'_, V>) -> ControlFlow<()> {
        if it.number.is_multiple_of(self.k) {
            (self.f)(it);
        }
        ControlFlow::Continue(())
    }
}
