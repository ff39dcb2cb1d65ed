//! A solve around the recurrence of a method: checks before the first write, restarts, and the outcome.
//!
//! A method is a recurrence between two recomputed residuals:
//!
//! ```text
//! r = b − A x                           scaled by a power of two if b·b overflows or underflows
//! until the outcome is certain {
//!     run the recurrence from x and r   a `ConvergenceTest` watches it; `Break` tells why the run ended
//!     r = b − A x
//! }
//! ```
//!
//! The end of a run does not end the solve. The recomputed residual decides:
//!
//! - The recomputed residual is within the tolerance: `Converged`, whatever ended the run.
//! - The run had a residual r with A r nearly zero, and the recomputed residual is no smaller: `Inconsistent`,
//!   with the iterate of that r.
//! - The run converged, but the recomputed residual is above the tolerance: another run begins. If the last run
//!   did not halve the residual: `Stagnated`.
//! - The recurrence broke down: another run if this one made progress, otherwise `Breakdown` (`Stagnated` from
//!   the second run on).
//! - Any other reason is the outcome, or `Diverged` if the residual has grown too much.
//!
//! A finite iterate is stored each time the residual has halved, a few dozen times per solve. So a returned x
//! never contains NaN.

use std::ops::ControlFlow;

use coarsen_core::{
    Error, LinearOperator, Monitor, Outcome, Preconditioner, PreconditionerKind, Real, Report, Stop, Vector,
    vectors_like,
};
use num_traits::{Float, one, zero};

use crate::convergence_test::{Best, ConvergenceTest};
use crate::scaling::{Scaled, measure, scaled_stop, unscaling};

/// The system A x = b, and how its solve ends.
pub(crate) struct Solve<'a, V: Vector> {
    pub(crate) a: &'a dyn LinearOperator<V>,
    pub(crate) b: &'a V,
    pub(crate) stop: Stop<V::Real>,
    pub(crate) monitor: &'a mut Monitor<'a, V>,
    /// Whether the iterate of smallest residual is returned at the iteration limit; methods that minimise
    /// another norm return the last iterate.
    pub(crate) smallest_residual: bool,
}

/// One run of a recurrence from b, x and r = b − A x. `Break` gives the reason for its end; `Continue` means that
/// a cycle is complete and another run may follow.
type Run<'a, V> = dyn FnMut(&V, &mut V, &mut V, &mut ConvergenceTest<'_, V>) -> ControlFlow<Outcome> + 'a;

impl<V: Vector> Solve<'_, V> {
    /// Solves from the guess x with the vectors of a workspace, by runs of a recurrence.
    ///
    /// # Errors
    /// As [`Scaled::new`], and as [`Vector::like`] and [`Vector::sync`].
    pub(crate) fn run<const N: usize>(
        self,
        workspace: &mut Workspace<V, N>,
        x: &mut V,
        mut run: impl FnMut(&mut [V; N], &V, &mut V, &mut V, &mut ConvergenceTest<'_, V>) -> ControlFlow<Outcome>,
    ) -> Result<Report<V::Real>, Error> {
        let (vectors, [r, best], scaled) = workspace.with_residual(self.b)?;
        let a = self.a;
        let system = Scaled::new(a, self.b, x, r, scaled)?;
        let report = self.restarts(&system, x, r, best, &mut |b, x, r, test| run(vectors, b, x, r, test));
        let report = system.restore(a, x, r, report);
        x.sync()?;
        Ok(report)
    }

    /// Solves the possibly scaled system from x and its residual r.
    fn restarts(
        self,
        system: &Scaled<'_, V>,
        x: &mut V,
        r: &mut V,
        best: &mut V,
        run: &mut Run<'_, V>,
    ) -> Report<V::Real> {
        let Self { a, stop, monitor, smallest_residual, .. } = self;
        let &Scaled { b, power, size, initial, residual: mut norm } = system;
        let threshold = scaled_stop(stop, power).threshold(size);
        let scale = if size > zero() { size } else { one() };
        let mut monitor = unscaling(monitor, power);
        let mut test = ConvergenceTest {
            stop: Stop { absolute: threshold, ..stop },
            scale,
            initial,
            recomputed: norm,
            iterations: 0,
            best: Best::new(best),
            monitor: &mut monitor,
        };
        let mut end = ControlFlow::Continue(());
        if norm.is_finite() {
            end = test.observe(norm, Some(x), None);
        }
        let (mut runs, mut before) = (0, V::Real::infinity()); // ‖b − A x‖ before the last run
        let mut outcome = loop {
            let enough = match end {
                ControlFlow::Break(Outcome::Converged) => V::Real::from_f64(0.5),
                _ => one::<V::Real>() - V::Real::EPSILON.sqrt(),
            };
            let progress = norm <= enough * before;
            match end {
                _ if !norm.is_finite() => break Outcome::NotFinite,
                _ if norm <= test.stop.absolute => break Outcome::Converged,
                ControlFlow::Break(end) if !may_restart(end) => break end,
                _ if test.best.is_least_squares(norm, scale) => break Outcome::Inconsistent,
                ControlFlow::Break(Outcome::Breakdown) if !progress && runs == 1 => break Outcome::Breakdown,
                _ if !progress => break Outcome::Stagnated,
                _ if test.iterations >= stop.max_iterations => break Outcome::IterationLimit,
                _ => (),
            }
            (runs, before, test.recomputed) = (runs + 1, norm, norm);
            test.best.release();
            test.best.keep(x, norm);
            end = run(b, x, r, &mut test);
            norm = measure(a, b, x, r);
        };

        // The stored iterate is returned if the last one is not finite or has a larger residual.
        let ruined = norm > initial / V::Real::EPSILON.sqrt();
        let limit = matches!(outcome, Outcome::IterationLimit | Outcome::Stopped);
        let doubt = match outcome {
            Outcome::Converged => false,
            Outcome::NotFinite => true,
            _ => norm > test.best.residual && (!limit || smallest_residual || ruined),
        };
        if runs > 0 && doubt {
            let stored = measure(a, b, test.best.x, r);
            if outcome == Outcome::NotFinite || stored < norm {
                x.copy(test.best.x);
                norm = stored;
            }
            if !norm.is_finite() {
                // x or A x overflowed while the residual of the recurrence decreased. x = 0 has the finite
                // residual ‖b‖.
                x.fill(zero());
                norm = measure(a, b, x, r);
            }
        }
        if runs > 0 && ruined && (limit || outcome == Outcome::Stagnated) {
            outcome = Outcome::Diverged;
        }
        Report {
            outcome,
            iterations: test.iterations,
            initial_residual: initial / scale,
            true_residual: norm / scale,
            tolerance: threshold / scale,
            condition: None,
        }
    }
}

/// Whether a method may restart if its recurrence stopped for this reason.
fn may_restart(end: Outcome) -> bool {
    matches!(end, Outcome::Converged | Outcome::Breakdown | Outcome::Inconsistent)
}

/// Checks that sizes, layouts and the kind of the preconditioner fit; writes nothing.
pub(crate) fn check<V: Vector>(
    method: &'static str,
    needed: PreconditionerKind,
    stop: &Stop<V::Real>,
    a: &dyn LinearOperator<V>,
    m: &dyn Preconditioner<V>,
    b: &V,
    x: &V,
) -> Result<(), Error> {
    stop.validate()?;
    check_shapes(a, m, &[("b", b.size()), ("x", x.size())])?;
    if !x.same_layout(b) {
        return Err(Error::Layout { what: "x" });
    }
    if m.kind() > needed {
        return Err(Error::Preconditioner { method, needed, found: m.kind() });
    }
    Ok(())
}

/// Checks that A is square, and that M and the named vectors have its size.
pub(crate) fn check_shapes<V: Vector>(
    a: &dyn LinearOperator<V>,
    m: &dyn Preconditioner<V>,
    vectors: &[(&'static str, usize)],
) -> Result<(), Error> {
    let (rows, columns) = a.shape();
    if rows != columns {
        return Err(Error::NotSquare { rows, columns });
    }
    for &(what, found) in vectors.iter().chain(&[("M", m.size().unwrap_or(rows))]) {
        if found != rows {
            return Err(Error::Shape { what, expected: rows, found });
        }
    }
    Ok(())
}

/// N vectors like b, and those of [`Solve`], allocated at the first solve. When the size or the layout changes,
/// they change within the memory that they have.
pub(crate) struct Workspace<V, const N: usize> {
    vectors: Vec<V>,
    /// A scaled b, which only few solves need.
    scaled: Vec<V>,
    /// Copies of a b and an x that are slices.
    pub(crate) slices: [Option<V>; 2],
}

impl<V: Vector, const N: usize> Workspace<V, N> {
    pub(crate) fn new() -> Self {
        Self { vectors: Vec::new(), scaled: Vec::new(), slices: [None, None] }
    }

    /// N vectors; they contain old values.
    pub(crate) fn like(&mut self, b: &V) -> Result<&mut [V; N], Error> {
        vectors_like(&mut self.vectors, N, b)?;
        Ok(self.vectors.first_chunk_mut().expect("there are N vectors"))
    }

    /// N vectors, two for the residual and the best iterate, and storage for a scaled b.
    pub(crate) fn with_residual(&mut self, b: &V) -> Result<(&mut [V; N], &mut [V; 2], &mut Vec<V>), Error> {
        vectors_like(&mut self.vectors, N + 2, b)?;
        let (vectors, rest) = self.vectors.split_first_chunk_mut().expect("there are N vectors");
        Ok((vectors, rest.first_chunk_mut().expect("there are two more"), &mut self.scaled))
    }
}
