//! The test of convergence while the recurrence of a method runs: whether the run ends, and why. `solve` decides the outcome.

use std::ops::ControlFlow::{self, Break, Continue};

use coarsen_core::{Dot, Error, Iteration, LinearOperator, Monitor, Outcome, Real, Scalar, Stop, Vector};
use num_traits::{Float, one, zero};

use crate::scaling::measure;

/// What a run of a recurrence must know to end.
pub(crate) struct ConvergenceTest<'a, V: Vector> {
    /// The stopping rule; `absolute` is the residual norm at which the solve has converged.
    pub(crate) stop: Stop<V::Real>,
    /// ‖b‖, or 1 if b = 0.
    pub(crate) scale: V::Real,
    /// ‖b − A x₀‖.
    pub(crate) initial: V::Real,
    /// ‖b − A x‖ when r was last recomputed, in a run or before it.
    pub(crate) recomputed: V::Real,
    pub(crate) iterations: usize,
    pub(crate) best: Best<'a, V>,
    pub(crate) monitor: &'a mut Monitor<'a, V>,
}

impl<V: Vector> ConvergenceTest<'_, V> {
    /// Counts an iteration. Returns whether a convergence check is due.
    pub(crate) fn step(&mut self) -> bool {
        self.iterations += 1;
        self.iterations.is_multiple_of(self.stop.check_every) || self.iterations >= self.stop.max_iterations
    }

    /// A convergence check with r·r of the recurrence, and with x if it is computed. `Break` gives the reason to
    /// end the run.
    pub(crate) fn check(&mut self, rr: V::Real, x: Option<&V>) -> ControlFlow<Outcome> {
        self.check_all(rr, &[], x, None)
    }

    /// A convergence check of conjugate gradients: (r, M⁻¹r) and (p, A p) must be positive beyond round-off.
    pub(crate) fn check_positive(
        &mut self,
        rr: V::Real,
        [rho, curvature]: [Dot<V::Real>; 2],
        x: &V,
        ritz_values: Option<&dyn Fn() -> Option<[f64; 2]>>,
    ) -> ControlFlow<Outcome> {
        let positive = [(Outcome::IndefinitePreconditioner, rho), (Outcome::IndefiniteOperator, curvature)];
        self.check_all(rr, &positive, Some(x), ritz_values)
    }

    fn check_all(
        &mut self,
        rr: V::Real,
        positive: &[(Outcome, Dot<V::Real>)],
        x: Option<&V>,
        ritz_values: Option<&dyn Fn() -> Option<[f64; 2]>>,
    ) -> ControlFlow<Outcome> {
        let residual = rr.sqrt();
        if !residual.is_finite() || positive.iter().any(|(_, dot)| !dot.value.is_finite()) {
            return Break(Outcome::NotFinite);
        }
        let stopped = self.observe(residual, x, ritz_values);
        // Below EPSILON times its first value, the recurrence no longer approximates the residual.
        if residual <= self.stop.absolute.max(V::Real::EPSILON * self.recomputed) {
            return Break(Outcome::Converged);
        }
        if residual > self.initial / V::Real::EPSILON {
            return Break(Outcome::Diverged);
        }
        for (negative, dot) in positive {
            let bound = dot.round_off(&round_off());
            if dot.value <= bound {
                return Break(if dot.value < -bound { *negative } else { Outcome::Breakdown });
            }
        }
        stopped?;
        if self.iterations >= self.stop.max_iterations {
            return Break(Outcome::IterationLimit);
        }
        if let Some(x) = x {
            self.best.keep(x, residual);
        }
        Continue(())
    }

    /// Calls the monitor; `Break` if it ends the solve.
    pub(crate) fn observe(
        &mut self,
        residual: V::Real,
        x: Option<&V>,
        ritz_values: Option<&dyn Fn() -> Option<[f64; 2]>>,
    ) -> ControlFlow<Outcome> {
        let (number, relative) = (self.iterations, residual / self.scale);
        match (self.monitor)(&Iteration { number, residual, relative, x, ritz_values }) {
            Break(()) => Break(Outcome::Stopped),
            Continue(()) => Continue(()),
        }
    }

    /// Recomputes r = b − A x during a run; `residual` is the norm in the recurrence. Returns the recomputed norm divided by
    /// it. `Break` if the recomputed residual has not halved since the last recomputation.
    pub(crate) fn replace(
        &mut self,
        residual: V::Real,
        (a, b): (&dyn LinearOperator<V>, &V),
        x: &V,
        r: &mut V,
    ) -> ControlFlow<Outcome, V::Real> {
        let norm = measure(a, b, x, r);
        if norm <= self.recomputed / V::Real::from_f64(2.0) {
            self.recomputed = norm;
            return Continue(norm / residual);
        }
        Break(Outcome::Converged) // checked with the recomputed residual
    }
}

/// `ROUNDINGS · EPSILON`, the argument of [`Dot::round_off`].
pub(crate) fn round_off<T: Real>() -> T {
    T::from_f64(Dot::<T>::ROUNDINGS) * T::EPSILON
}

/// The values of r·r and of two inner products, with one synchronisation.
pub(crate) fn read<V: Vector>(rr: &V::Scalar, [u, v]: [&Dot<V::Scalar>; 2]) -> (V::Real, [Dot<V::Real>; 2]) {
    let [rr, u, u_size, v, v_size] = V::wait_for([rr, &u.value, &u.magnitude, &v.value, &v.magnitude]);
    (rr, [Dot { value: u, magnitude: u_size }, Dot { value: v, magnitude: v_size }])
}

/// The stored iterate, which is returned if the last iterate is not finite or has a larger residual.
pub(crate) struct Best<'a, V: Vector> {
    pub(crate) x: &'a mut V,
    /// ‖r‖ of this iterate; infinity if none is stored.
    pub(crate) residual: V::Real,
    /// Whether it is a possible least-squares solution, which must not change until the run ends.
    held: bool,
}

impl<'a, V: Vector> Best<'a, V> {
    pub(crate) fn new(x: &'a mut V) -> Self {
        Self { x, residual: V::Real::infinity(), held: false }
    }

    /// Stores x if its residual is at most half of the stored one.
    pub(crate) fn keep(&mut self, x: &V, residual: V::Real) {
        if !self.held && residual <= self.residual / V::Real::from_f64(2.0) {
            self.x.copy(x);
            self.residual = residual;
        }
    }

    /// Stores x as a possible least-squares solution until the run ends.
    pub(crate) fn hold(&mut self, x: &V, residual: V::Real) {
        self.x.copy(x);
        (self.residual, self.held) = (residual, true);
    }

    /// Ends [`hold`](Self::hold).
    pub(crate) fn release(&mut self) {
        self.held = false;
    }

    /// Whether the held iterate is a least-squares solution: the recomputed residual `norm` is not smaller than
    /// its residual, which exceeds the round-off of b.
    pub(crate) fn is_least_squares(&self, norm: V::Real, scale: V::Real) -> bool {
        let rest = V::Real::EPSILON.sqrt();
        self.held
            && norm > (one::<V::Real>() - V::Real::from_f64(4.0) * rest) * self.residual
            && self.residual > rest * scale
    }
}

/// The test of √(rᵀM⁻¹r) relative to its first value in a solve.
pub(crate) struct PreconditionerTest<T> {
    /// `None` if nothing is tested.
    tolerance: Option<T>,
    /// The rᵀM⁻¹r at which the solve ends, known from its first value on; negative if that was not positive.
    end: Option<T>,
}

impl<T: Real> PreconditionerTest<T> {
    pub(crate) fn new(tolerance: Option<T>) -> Result<Self, Error> {
        if let Some(value) = tolerance.filter(|t| t.is_nan() || *t < zero()) {
            let (name, range) = ("stop_in_preconditioner", "0 or more");
            return Err(Error::Parameter { name, value: value.as_f64(), range });
        }
        Ok(Self { tolerance, end: None })
    }

    /// `Break` if rᵀM⁻¹r is small enough: the solve has then converged, whatever ‖r‖ is. The first call only stores
    /// its first value; unless that is positive, it is no measure of r, and the solve never ends by this test.
    /// Does not synchronise if nothing is tested.
    pub(crate) fn check<V: Vector<Real = T>>(
        &mut self,
        rho: &V::Scalar,
        test: &mut ConvergenceTest<'_, V>,
    ) -> ControlFlow<Outcome> {
        let Some(tolerance) = self.tolerance else { return Continue(()) };
        let rho = rho.read();
        match self.end {
            None => self.end = Some(if rho > zero() { tolerance * tolerance * rho } else { -one::<T>() }),
            Some(end) if rho >= zero() && rho <= end => {
                test.stop.absolute = T::infinity(); // any finite residual is accepted
                return Break(Outcome::Converged);
            }
            Some(_) => (),
        }
        Continue(())
    }
}
