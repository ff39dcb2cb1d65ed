//! An objective along a direction.

use coarsen_core::{Objective, Scalar, Vector};

use crate::{Ray, Step};

/// φ(α) = f(x + α d). The last point is stored, so that repeated evaluations at this point cost nothing.
pub(crate) struct Along<'a, V: Vector, F: ?Sized> {
    f: &'a mut F,
    x: &'a V,
    d: &'a V,
    /// x + α d for the last α.
    trial: &'a mut V,
    /// ∇f at `trial`, if `differentiated`.
    g: &'a mut V,
    /// The numbers of evaluations of f and ∇f.
    evaluations: &'a mut [usize; 2],
    at: Option<V::Real>,
    value: Option<V::Real>,
    /// The round-off of the last value.
    round_off: Option<V::Real>,
    /// Whether `g` is ∇f at the last α.
    differentiated: bool,
    slope: Option<V::Real>,
}

impl<'a, V: Vector, F: Objective<V> + ?Sized> Along<'a, V, F> {
    pub(crate) fn new(
        f: &'a mut F,
        x: &'a V,
        d: &'a V,
        trial: &'a mut V,
        g: &'a mut V,
        evaluations: &'a mut [usize; 2],
    ) -> Self {
        let (at, value, round_off, slope) = (None, None, None, None);
        Self { f, x, d, trial, g, evaluations, at, value, round_off, differentiated: false, slope }
    }

    /// Stores the point of an accepted step in `trial` and its gradient in `g`. Returns the step and, if an
    /// energy was evaluated, the round-off of the last energy.
    pub(crate) fn settle(&mut self, step: Step<V::Real>) -> (Step<V::Real>, Option<V::Real>) {
        self.differentiate(step.alpha);
        (step, self.round_off)
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
            (self.at, self.value, self.slope, self.differentiated) = (Some(alpha), None, None, false);
        }
    }
}

impl<V: Vector, F: Objective<V> + ?Sized> Ray<V::Real> for Along<'_, V, F> {
    fn value(&mut self, alpha: V::Real) -> V::Real {
        self.go(alpha);
        *self.value.get_or_insert_with(|| {
            self.evaluations[0] += 1;
            let value = self.f.value(self.trial);
            self.round_off = Some(self.f.round_off(value));
            value
        })
    }

    fn slope(&mut self, alpha: V::Real) -> V::Real {
        self.differentiate(alpha);
        *self.slope.get_or_insert_with(|| self.g.dot(self.d).read())
    }
}
