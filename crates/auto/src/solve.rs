//! Attempts at one system, each from the best x so far, on any backend.

use std::borrow::Cow;
use std::cell::Cell;
use std::ops::ControlFlow;
use std::time::Instant;

use coarsen_backend::{Backend, Prepared, SetupError};
use coarsen_core::{Error, Iteration, LinearOperator, Outcome, Real, Stop, largest, power_of_two};
use coarsen_direct::Factor;
use coarsen_krylov::{Krylov, NullSpace, Projected};
use coarsen_sparse::Bsr;

use crate::direct::{self, KnownFactor};
use crate::ending::failed;
use crate::factor_cost::FactorCost;
use crate::residual::{absolute_product, norm, relative_residual, round_off};
use crate::schedule::{Monitor, Next, Schedule};
use crate::{Attempt, Auto, Builder, Built, Ending, Method, Plan, Precond, Problem, Solved, attainable};

/// The ‖A‖∞ ‖M⁻¹ 1‖∞ above which an incomplete factor counts as unstable.
const UNSTABLE: f64 = 1e10;

/// At the limit on iterations an incomplete factor is suspected only if at least this many iterations left more than this share
/// of the residual: otherwise the limit may be too small.
const SUSPECT_ITERATIONS: usize = 20;
const SUSPECT_SHARE: f64 = 0.1;

/// The maximum number of continuations of a solve whose residual in f64 is still above the tolerance.
const CONTINUATIONS: usize = 3;

/// A function that is called at every iteration of all methods, with the number of iterations so far and the relative
/// residual. `Break` ends the solve.
pub type Observer<'a> = dyn FnMut(usize, f64) -> ControlFlow<()> + 'a;

/// The report of a solve, and what the last attempt used: a preconditioner, or a factor.
type Kept<V> = (Solved, Option<Box<dyn Prepared<V, f64> + Send>>, Option<Factor>);

impl Plan {
    /// Solves A x = b from the guess x. Also returns the preconditioner or the factor of the last attempt.
    ///
    /// For every ending, x is the best x so far. `known` is what is known of the factor.
    ///
    /// *Cost*: if a factor is possible, at most three times the smaller of the work of all methods tried and the
    /// work of the factor (see the source of `schedule` for the proof).
    ///
    /// # Errors
    /// Failures of the device.
    pub fn solve<B: Backend>(
        &self,
        problem: &Problem<'_>,
        known: Option<KnownFactor>,
        builder: &Builder<'_, B>,
        b: &[f64],
        x: &mut [f64],
        observer: &mut Observer<'_>,
    ) -> Result<Kept<B::Vector>, Error> {
        let c = problem.right_hand_side(b);
        let (auto, size) = (self.auto, norm(&c));
        if size > 0.0 && auto.absolute > auto.tolerance * size {
            let auto = Auto { tolerance: auto.absolute / size, absolute: 0.0, ..auto };
            return Self { auto, ..self.clone() }.solve(problem, known, builder, b, x, observer);
        }
        let operator = self.signed(problem.matrix());
        let symmetrised = problem.symmetrised.as_ref().map(|a| self.signed(a));
        problem.start(x);
        // A system that is scaled by a power of two fits every precision.
        let scale = power_of_two(largest(&c));
        let sign = if self.negate { -1.0 } else { 1.0 };
        let scaled = |v: &[f64], scale: f64| v.iter().map(|v| v / scale).collect::<Vec<f64>>();
        let (scaled_b, mut guess) = (scaled(&c, sign * scale), scaled(x, scale));
        // Start from zeros if they are the solution, or if the scaled guess overflows.
        if scaled_b.iter().all(|v| *v == 0.0) || guess.iter().any(|v| !v.is_finite()) {
            guess.fill(0.0);
        }
        let (mut ordering, factor) = match known {
            Some(KnownFactor::Ordering(analysis)) => (Some(analysis), None),
            Some(KnownFactor::Factor(factor)) => (None, Some(*factor)),
            None => (None, None),
        };
        let indefinite = Cell::new(self.symmetric && self.costs.pivots);
        let mut order = || -> Result<_, Ending> {
            let analysis = match ordering.take() {
                Some(known) => Ok(known),
                None => direct::order(&operator, indefinite.get()),
            };
            let analysis = analysis.map_err(Ending::Factor)?;
            Ok((analysis.stats(), Some(analysis)))
        };
        let mut schedule = Schedule::new(self, &mut order);
        if factor.is_some() {
            schedule.begin_with_factor();
        }
        let residual = relative_residual(&operator, &scaled_b, &guess);
        let null_space = problem.check_null_space(&operator, self.symmetric);
        let mut solve = Solve {
            plan: self,
            problem,
            operator: &operator,
            preconditioned: symmetrised.as_deref().unwrap_or(&operator),
            indefinite: &indefinite,
            b: &scaled_b,
            most: f64::MAX / scale.max(1.0),
            builder,
            observer,
            kept: Vec::new(),
            factor,
            other_transpose: null_space.as_ref().ok().copied().flatten(),
            start: (guess.clone(), residual),
            best: (guess, residual),
            attempts: Vec::new(),
            iterations: 0,
        };
        let refused = null_space.err();
        let runs = refused.is_none() && !solve.converged();
        while refused.is_none() && !solve.converged() {
            match schedule.next() {
                Next::Iterate(i) => solve.iterate(i, &mut schedule)?,
                Next::Factor => solve.factor(&mut schedule),
                Next::End => break,
            }
        }
        let converged = solve.converged();
        let Solve { best: (solution, residual), mut kept, factor, attempts, iterations, .. } = solve;
        let Schedule { iteration_work, factor_work, factor: cost, ordered, ordering_seconds, .. } = schedule;
        let last = attempts.last();
        let unbounded = if let FactorCost::None(why) = cost { Some(why).filter(|_| runs) } else { None };
        let ending = match (refused, last) {
            (Some(ending), _) => ending,
            _ if converged => Ending::Method(Outcome::Converged),
            (None, Some(last)) => last.ending.clone(),
            (None, None) => unbounded.clone().unwrap_or(Ending::Method(Outcome::Stopped)),
        };
        let at = kept.iter().rposition(|(precond, ..)| last.is_some_and(|last| last.precond == *precond));
        let preconditioner = at.map(|at| kept.swap_remove(at).2.0);
        let factor = factor.filter(|_| last.is_some_and(|last| last.method == Method::Direct));
        x.iter_mut().zip(&solution).for_each(|(x, v)| *x = v * scale);
        problem.set_prescribed(b, x);
        let solved = Solved {
            ending,
            true_residual: residual,
            tolerance: self.auto.tolerance,
            iterations,
            attempts,
            unbounded,
            negated: self.negate,
            work: iteration_work + factor_work,
            ordered,
            ordering_seconds,
        };
        Ok((solved, preconditioner, factor))
    }

    /// A, or −A if that is solved.
    fn signed<'a>(&self, a: &'a Bsr<f64>) -> Cow<'a, Bsr<f64>> {
        if self.negate { Cow::Owned(-a) } else { Cow::Borrowed(a) }
    }
}

/// A running solve.
pub(crate) struct Solve<'a, 'o, B: Backend> {
    plan: &'a Plan,
    problem: &'a Problem<'a>,
    /// A or −A, as it is multiplied and factored, and as preconditioners see it.
    pub(crate) operator: &'a Bsr<f64>,
    preconditioned: &'a Bsr<f64>,
    /// Whether the operator is symmetric and known to be indefinite, so that Cholesky fails.
    pub(crate) indefinite: &'a Cell<bool>,
    pub(crate) b: &'a [f64],
    /// The largest number in x that does not overflow when the scaling is undone.
    most: f64,
    builder: &'a Builder<'a, B>,
    pub(crate) observer: &'a mut Observer<'o>,
    /// Preconditioners built earlier, for later attempts.
    kept: Vec<(Precond, bool, Built<B::Vector>)>,
    pub(crate) factor: Option<Factor>,
    /// The x from which the next attempt starts, and its residual.
    pub(crate) start: (Vec<f64>, f64),
    /// The x with the smallest residual, and that residual.
    best: (Vec<f64>, f64),
    pub(crate) attempts: Vec<Attempt>,
    /// The number of iterations of all methods.
    pub(crate) iterations: usize,
    /// A vector of the null space that Aᵀ does not map to zero, and |Aᵀ v| relative to its value without cancellation.
    other_transpose: Option<(usize, f64)>,
}

impl<B: Backend> Solve<'_, '_, B> {
    fn converged(&self) -> bool {
        self.best.1 <= self.plan.auto.tolerance
    }

    /// Stores x if it is better than the stored x, and returns how the attempt ended.
    pub(crate) fn take(&mut self, x: Vec<f64>, said: Outcome) -> Ending {
        let (tolerance, has_null_space) = (self.plan.auto.tolerance, self.problem.null_space.is_some());
        let fits = x.iter().all(|v| v.abs() <= self.most);
        let residual = if fits { relative_residual(self.operator, self.b, &x) } else { f64::NAN };
        let outcome = match said {
            _ if residual <= tolerance => Outcome::Converged,
            _ if !residual.is_finite() => Outcome::NotFinite,
            Outcome::Converged => Outcome::Stagnated,
            other => other,
        };
        if residual < self.best.1 || !self.best.1.is_finite() {
            self.best = (x.clone(), residual);
        }
        // Conjugate gradients reduce the error in the A-norm in every iteration, even if the residual grows.
        let closer = said == Outcome::Stopped && residual.is_finite();
        if closer || residual <= self.start.1 || !self.start.1.is_finite() {
            self.start = (x, residual);
        }
        let best = self.best.1;
        if outcome == Outcome::Inconsistent && has_null_space {
            return Ending::NotInRange(best);
        }
        if failed(outcome) && self.plan.unconstrained && !has_null_space {
            return Ending::Singular(outcome);
        }
        if (failed(outcome) || outcome == Outcome::IterationLimit) && residual.is_finite() {
            let bound = attainable(self.operator, self.b, &self.start.0);
            if let Some(ending) = round_off(bound, tolerance, best) {
                return ending;
            }
        }
        Ending::Method(outcome)
    }

    /// The Krylov method, with the null space projected out.
    fn method(&self, method: Method) -> Result<Box<dyn Krylov<B::Vector>>, Ending> {
        let krylov = method.krylov(Stop::relative(B::Real::from_f64(self.plan.auto.tolerance)));
        let Some(vectors) = &self.problem.null_space else { return Ok(krylov) };
        match self.other_transpose {
            Some((vector, share)) if method.needs_definite() || method == Method::Minres => {
                return Err(Ending::NotNull { vector, share, of_transpose: true });
            }
            Some(_) => return Ok(krylov),
            None => {}
        }
        let columns =
            (0..vectors.vectors()).map(|j| self.builder.backend.vector(&numbers(&vectors.column(j))));
        let columns = columns.collect::<Result<Vec<_>, _>>().map_err(Ending::Unsuitable)?;
        Ok(Box::new(Projected::new(krylov, NullSpace::new(columns).map_err(Ending::Dependent)?)))
    }

    /// Makes an attempt with a candidate.
    fn iterate(&mut self, i: usize, schedule: &mut Schedule<'_>) -> Result<(), Error> {
        let (method, precond) = self.plan.candidates[i];
        let mut attempt = Attempt { method, precond, single: schedule.single(i), ..Attempt::default() };
        attempt.ending = match self.run(&mut attempt, &mut schedule.begin(i)) {
            Err(Ending::Setup(SetupError::Core(error)) | Ending::Unsuitable(error)) if of_device(&error) => {
                return Err(error);
            }
            Ok(ending) | Err(ending) => ending,
        };
        if attempt.ending == Ending::Method(Outcome::IndefiniteOperator) {
            self.indefinite.set(self.plan.symmetric);
        }
        // After the last iteration no method follows, whatever the cause.
        let limit = Ending::Method(Outcome::IterationLimit);
        let ending = match &attempt.ending {
            Ending::Unstable(_) if self.iterations >= self.plan.auto.max_iterations => &limit,
            ending => ending,
        };
        attempt.note = schedule.end(i, attempt.iterations, ending);
        self.attempts.push(attempt);
        Ok(())
    }

    /// Builds or takes a preconditioner, and iterates. The error ends the attempt too.
    fn run(&mut self, attempt: &mut Attempt, monitor: &mut Monitor<'_, '_>) -> Result<Ending, Ending> {
        let (precond, single, before) = (attempt.precond, attempt.single, self.start.1);
        let begun = Instant::now();
        let mut krylov = self.method(attempt.method)?;
        let at = self.kept.iter().position(|known| (known.0, known.1) == (precond, single));
        let mut built = match at {
            Some(at) => self.kept.swap_remove(at).2,
            None => (self.builder.build)(precond, single, self.preconditioned).map_err(Ending::Setup)?,
        };
        monitor.built(built.1.as_ref().map_or(1.0, |levels| levels.operator_complexity));
        let vector = |v: &[f64]| self.builder.backend.vector(&numbers(v)).map_err(Ending::Unsuitable);
        let (b, mut x) = (vector(self.b)?, vector(&self.start.0)?);
        let a = (self.builder.operator)(self.operator).map_err(Ending::Unsuitable)?;
        attempt.setup_seconds = begun.elapsed().as_secs_f64();
        attempt.levels.clone_from(&built.1);
        let (begun, ordering) = (Instant::now(), monitor.ordering_seconds());
        let ending = self.follow(&mut *krylov, &*a, &mut built, (&b, &mut x), monitor, attempt);
        let ordering = monitor.ordering_seconds() - ordering;
        attempt.solve_seconds = begun.elapsed().as_secs_f64() - ordering;
        let mut ending = ending.map_err(Ending::Unsuitable)?;
        let is_suspect = match ending {
            Ending::Method(Outcome::Stagnated | Outcome::Breakdown | Outcome::Diverged) => true,
            Ending::Method(Outcome::IterationLimit) => {
                attempt.iterations >= SUSPECT_ITERATIONS && self.start.1 > SUSPECT_SHARE * before
            }
            _ => false,
        };
        if is_suspect && precond == Precond::Ilu0 {
            let condition = self.enlarges(&mut built).map_err(Ending::Unsuitable)?;
            if condition > UNSTABLE {
                ending = Ending::Unstable(condition);
            }
        }
        self.kept.push((precond, single, built));
        Ok(ending)
    }

    /// ‖A‖∞ ‖M⁻¹ 1‖∞, a measure of the stability of an incomplete factor. *Reference* Saad 2003, §10.4.4; Chow & Saad 1997.
    fn enlarges(&self, built: &mut Built<B::Vector>) -> Result<f64, Error> {
        let n = self.operator.shape().0;
        let ones = self.builder.backend.vector(&numbers(&vec![1.0; n]))?;
        let mut z = self.builder.backend.vector(&numbers(&vec![0.0; n]))?;
        built.0.apply(&ones, &mut z);
        let mut found = numbers(&vec![0.0; n]);
        self.builder.backend.read(&z, &mut found)?;
        let largest = found.iter().fold(0.0, |m: f64, v| m.max(v.as_f64().abs()));
        let condition =
            largest * absolute_product(self.operator, &vec![1.0; n]).into_iter().fold(0.0, f64::max);
        Ok(if condition.is_nan() { f64::INFINITY } else { condition })
    }

    /// Iterates until the residual in f64 is within the tolerance. The method may see a smaller residual than that, because
    /// of the precision of its vectors; then it goes on with a smaller tolerance.
    fn follow(
        &mut self,
        krylov: &mut dyn Krylov<B::Vector>,
        a: &dyn LinearOperator<B::Vector>,
        built: &mut Built<B::Vector>,
        (b, x): (&B::Vector, &mut B::Vector),
        monitor: &mut Monitor<'_, '_>,
        attempt: &mut Attempt,
    ) -> Result<Ending, Error> {
        let mut asked = self.plan.auto.tolerance;
        let mut found = numbers(&self.start.0);
        let mut ending = Ending::Method(Outcome::Stopped);
        for run in 0..=CONTINUATIONS {
            let (done, mut late) = (self.iterations, false);
            let max_iterations = self.plan.auto.max_iterations - done;
            *krylov.stop_mut() = Stop { max_iterations, ..Stop::relative(B::Real::from_f64(asked)) };
            let observer = &mut *self.observer;
            let mut watch = |it: &Iteration<'_, B::Vector>| {
                if run > 0 && it.number == 0 {
                    return ControlFlow::Continue(());
                }
                late = observer(done + it.number, it.relative.as_f64()).is_break();
                if late { ControlFlow::Break(()) } else { monitor.observe(it) }
            };
            let report = krylov.solve_with(a, &mut built.0, b, x, &mut watch)?;
            attempt.iterations += report.iterations;
            attempt.condition = attempt.condition.or(report.condition.map(Real::as_f64));
            self.iterations += report.iterations;
            self.builder.backend.read(x, &mut found)?;
            let mut whole: Vec<f64> = found.iter().map(|v| v.as_f64()).collect();
            // The method could not project out a null space that is not that of Aᵀ.
            if let (Some(vectors), Some(_)) = (&self.problem.null_space, self.other_transpose)
                && let Ok(space) = NullSpace::new((0..vectors.vectors()).map(|j| vectors.column(j)).collect())
            {
                space.project(&mut whole);
            }
            ending = self.take(whole, report.outcome);
            if late && !ending.converged() {
                ending = Ending::TimeLimit;
            }
            if ending.converged() || report.outcome != Outcome::Converged {
                break;
            }
            asked *= 0.5;
        }
        Ok(ending)
    }
}

/// Whether an error is a failure of the machine, and not of the method.
fn of_device(error: &Error) -> bool {
    matches!(
        error,
        Error::Device { .. } | Error::Memory { .. } | Error::Allocation { .. } | Error::Build { .. }
    )
}

/// Numbers in the precision of a backend.
fn numbers<V: Real>(x: &[f64]) -> Vec<V> {
    x.iter().map(|v| V::from_f64(*v)).collect()
}
