//! An objective along a direction.

use coarsen_core::{Objective, Real, Scalar, Vector};
use num_traits::Float;

use crate::{Norm, Step};

/// φ(α) = f(x + α d). The last point is stored, so that repeated evaluations at this point cost nothing.
pub(crate) struct Along<'a, V: Vector, F: ?Sized> {
    f: &'a mut F,
    x: &'a V,
    d: &'a V,
    /// x + α d for the last α.
    trial: &'a mut V,
    /// ∇f at `trial`, if `differentiated`.
    g: &'a mut V,
    norm: &'a mut Norm<V>,
    /// The numbers of evaluations of f and ∇f.
    evaluations: &'a mut [usize; 2],
    at: Option<V::Real>,
    value: Option<V::Real>,
    /// The round-off of the last value.
    round_off: Option<V::Real>,
    /// Whether `g` is ∇f at the last α.
    differentiated: bool,
    slope: Option<V::Real>,
    /// The norm of `g`.
    size: Option<V::Real>,
}

impl<'a, V: Vector, F: Objective<V> + ?Sized> Along<'a, V, F> {
    pub(crate) fn new(
        f: &'a mut F,
        x: &'a V,
        d: &'a V,
        trial: &'a mut V,
        g: &'a mut V,
        norm: &'a mut Norm<V>,
        evaluations: &'a mut [usize; 2],
    ) -> Self {
        let (at, value, round_off, slope, size) = (None, None, None, None, None);
        Self {
            f,
            x,
            d,
            trial,
            g,
            norm,
            evaluations,
            at,
            value,
            round_off,
            differentiated: false,
            slope,
            size,
        }
    }

    /// Stores the point of an accepted step in `trial` and its gradient in `g`. Returns the step, the norm of
    /// the gradient and, if an energy was evaluated, the round-off of the last energy.
    pub(crate) fn settle(&mut self, step: Step<V::Real>) -> (Step<V::Real>, V::Real, Option<V::Real>) {
        self.differentiate(step.alpha);
        let size = self.size.unwrap_or_else(|| self.norm.of(self.g));
        (step, size, self.round_off)
    }

    /// Evaluates ∇f at α.
    fn differentiate(&mut self, alpha: V::Real) {
        self.go(alpha);
        if !self.differentiated {
            self.evaluations[1] += 1;
            self.f.gradient(self.trial, self.g);
            self.differentiated = true;
        }
    }

    /// Moves the trial point to α.
    fn go(&mut self, alpha: V::Real) {
        if self.at != Some(alpha) {
            self.trial.copy(self.x);
            self.trial.axpy(&self.x.scalar(alpha), self.d);
            (self.value, self.slope, self.size, self.differentiated) = (None, None, None, false);
            self.at = Some(alpha);
        }
    }

    /// φ(α).
    pub(crate) fn value(&mut self, alpha: V::Real) -> V::Real {
        let first = self.at.is_none();
        self.go(alpha);
        if let Some(value) = self.value {
            return value;
        }
        self.evaluations[0] += 1;
        let value = self.f.value(self.trial);
        let [value, magnitude] = if first && value.value.known().is_none() {
            // Most first trials are accepted: one synchronisation for all that the next iteration needs.
            self.differentiate(alpha);
            let (slope, square) = (self.g.dot(self.d), self.norm.square(self.g));
            let [value, magnitude, slope, square] =
                V::wait_for([&value.value, &value.magnitude, &slope, &square]);
            (self.slope, self.size) = (Some(slope), Some(square.sqrt()));
            [value, magnitude]
        } else {
            V::wait_for([&value.value, &value.magnitude])
        };
        (self.value, self.round_off) = (Some(value), Some(V::Real::EPSILON * magnitude));
        value
    }

    /// φ′(α).
    pub(crate) fn slope(&mut self, alpha: V::Real) -> V::Real {
        self.differentiate(alpha);
        *self.slope.get_or_insert_with(|| self.g.dot(self.d).read())
    }
}
