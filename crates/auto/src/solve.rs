//! Attempts at one system, each from the best x so far, on any backend.

use std::any::Any;
use std::borrow::Cow;
use std::cell::Cell;
use std::mem;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::time::Instant;

use coarsen_backend::{Backend, Prepared, SetupError};
use coarsen_core::{
    Error, Iteration, LinearOperator, MixedPrecision, Outcome, Real, Stop, largest, parallel, power_of_two,
};
use coarsen_direct::{Analysis, Direct, DirectError, Engine, Factor, Method as Factorisation};
use coarsen_krylov::{Cg, Krylov, NullSpace, Projected};
use coarsen_sparse::Bsr;

use crate::plan::FactorCost;
use crate::report::failed;
use crate::residual::{absolute_product, norm, relative_residual, round_off};
use crate::schedule::{Monitor, Next, Schedule};
use crate::{
    Attempt, Auto, Builder, Built, Ending, Method, Observer, Plan, Precond, Problem, Solved, attainable,
};

/// Options that accept a factor of any accuracy, because the residual is checked here.
pub const DIRECT: Direct = Direct {
    method: Factorisation::Auto,
    refinements: 3,
    accept: f64::INFINITY,
    test_tolerance: f64::INFINITY,
    engine: Engine::Fastest,
};

/// The same for a matrix that is known to be symmetric and indefinite.
const PIVOTED: Direct = Direct { method: Factorisation::Ldlt, ..DIRECT };

/// The ‖A‖∞ ‖M⁻¹ 1‖∞ above which an incomplete factor counts as unstable.
const UNSTABLE: f64 = 1e10;

/// At the limit on iterations an incomplete factor is suspected only if at least this many iterations left more than this share
/// of the residual: otherwise the limit may be too small.
const SUSPECT_ITERATIONS: usize = 20;
const SUSPECT_SHARE: f64 = 0.1;

/// The factor by which the residual falls until it is recomputed, if products are rounded to f32.
const REPLACE_RESIDUAL: f64 = 1e-2;

/// The maximum number of continuations of a solve whose residual in f64 is still above the tolerance.
const CONTINUATIONS: usize = 3;

/// A factor of a matrix, as far as it is computed before a solve.
pub enum KnownFactor {
    /// The ordering alone.
    Ordering(Analysis),
    /// The factor of A, or of −A if a report said so. It solves first.
    Factor(Box<Factor>),
}

/// The report of a solve, and what the last attempt used: a preconditioner, or a factor.
type Kept<V> = (Solved, Option<Box<dyn Prepared<V, f64> + Send>>, Option<Factor>);

impl Plan {
    /// Solves A x = b from the guess x. Also returns the preconditioner or the factor of the last attempt.
    ///
    /// For every ending, x is the best x so far. `known` is what is known of the factor.
    ///
    /// *Cost*: if a factor is possible, at most three times the smaller of the work of all methods tried and the
    /// work of the factor.
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
        let scaled = |v: &[f64], scale: f64| mapped(v, |v: &f64| v / scale);
        let (scaled_b, mut guess) = (scaled(&c, sign * scale), vec![0.0; x.len()]);
        if x.iter().any(|v| *v != 0.0) {
            guess = scaled(x, scale); // otherwise the pages of the zeros are not written
        }
        // Start from zeros if they are the solution, or if the scaled guess overflows.
        if scaled_b.iter().all(|v| *v == 0.0) || largest(&guess).is_nan() {
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
                Some(known) => known,
                None => analyse(&operator, indefinite.get()).map_err(Ending::Factor)?,
            };
            Ok((analysis.stats(), Some(analysis)))
        };
        let mut schedule = Schedule::new(self, &mut order, factor.is_some());
        let residual = relative_residual(&operator, &scaled_b, &guess);
        let guess = Rc::new(guess);
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
            best: guess,
            solved: Solved {
                true_residual: residual,
                tolerance: self.auto.tolerance,
                negated: self.negate,
                ..Solved::default()
            },
        };
        let refused = null_space.err();
        let runs = refused.is_none() && !solve.converged();
        while refused.is_none() && !solve.converged() {
            match schedule.next() {
                Next::Iterate(i) => solve.attempt(i, &mut schedule)?,
                Next::Factor => solve.factor(&mut schedule),
                Next::End => break,
            }
        }
        let converged = solve.converged();
        let Solve { mut solved, best, mut kept, factor, .. } = solve;
        solved.work = schedule.iteration_work + schedule.factor_work;
        (solved.ordered, solved.ordering_seconds) = (schedule.ordered, schedule.ordering_seconds);
        solved.unbounded = match schedule.factor {
            FactorCost::None(why) if runs => Some(why),
            _ => None,
        };
        let last = solved.attempts.last();
        solved.ending = match (refused, last) {
            (Some(ending), _) => ending,
            _ if converged => Ending::Method(Outcome::Converged),
            (None, Some(last)) => last.ending.clone(),
            (None, None) => solved.unbounded.clone().unwrap_or_default(),
        };
        let at = kept.iter().rposition(|(precond, ..)| last.is_some_and(|last| last.precond == *precond));
        let preconditioner = at.map(|at| kept.swap_remove(at).2.0);
        let factor = factor.filter(|_| last.is_some_and(|last| last.method == Method::Direct));
        parallel::map(&best, x, |v| v * scale);
        problem.set_prescribed(b, x);
        Ok((solved, preconditioner, factor))
    }

    /// A, or −A if that is solved.
    fn signed<'a>(&self, a: &'a Bsr<f64>) -> Cow<'a, Bsr<f64>> {
        if self.negate { Cow::Owned(-a) } else { Cow::Borrowed(a) }
    }
}

/// A running solve.
struct Solve<'a, 'o, B: Backend> {
    plan: &'a Plan,
    problem: &'a Problem<'a>,
    /// A or −A, as it is multiplied and factored, and as preconditioners see it.
    operator: &'a Bsr<f64>,
    preconditioned: &'a Bsr<f64>,
    /// Whether the operator is symmetric and known to be indefinite, so that Cholesky fails.
    indefinite: &'a Cell<bool>,
    b: &'a Vec<f64>,
    /// The largest number in x that does not overflow when the scaling is undone.
    most: f64,
    builder: &'a Builder<'a, B>,
    observer: &'a mut Observer<'o>,
    /// Preconditioners built earlier, for later attempts.
    kept: Vec<(Precond, bool, Built<B::Vector>)>,
    factor: Option<Factor>,
    /// The x from which the next attempt starts, and its residual.
    start: (Rc<Vec<f64>>, f64),
    /// The x with the smallest residual, which is in the report.
    best: Rc<Vec<f64>>,
    solved: Solved,
    /// A vector of the null space that Aᵀ does not map to zero, and |Aᵀ v| relative to its value without cancellation.
    other_transpose: Option<(usize, f64)>,
}

impl<B: Backend> Solve<'_, '_, B> {
    fn converged(&self) -> bool {
        self.solved.true_residual <= self.plan.auto.tolerance
    }

    /// Stores x if it is better than the stored x, and returns how the attempt ended.
    fn take(&mut self, x: Vec<f64>, said: Outcome) -> Ending {
        let (tolerance, has_null_space) = (self.plan.auto.tolerance, self.problem.null_space.is_some());
        let fits = largest(&x) <= self.most; // false for NaN
        let residual = if fits { relative_residual(self.operator, self.b, &x) } else { f64::NAN };
        let outcome = match said {
            _ if residual <= tolerance => Outcome::Converged,
            _ if !residual.is_finite() => Outcome::NotFinite,
            Outcome::Converged => Outcome::Stagnated,
            other => other,
        };
        let x = Rc::new(x);
        if residual < self.solved.true_residual || !self.solved.true_residual.is_finite() {
            (self.best, self.solved.true_residual) = (x.clone(), residual);
        }
        let best = self.solved.true_residual;
        // Conjugate gradients reduce the error in the A-norm in every iteration, even if the residual grows.
        let closer = said == Outcome::Stopped && residual.is_finite();
        if closer || residual <= self.start.1 || !self.start.1.is_finite() {
            self.start = (x, residual);
        }
        if outcome == Outcome::Inconsistent && has_null_space {
            return Ending::NotInRange(best);
        }
        if failed(outcome) && self.plan.unconstrained && !has_null_space {
            return Ending::Singular(outcome);
        }
        if (failed(outcome) || outcome == Outcome::IterationLimit) && residual.is_finite() {
            let bound = attainable(self.operator, self.b, &self.start.0);
            if let Some(ending) = round_off(bound, tolerance, best) {
                let is_singular = self.plan.unconstrained && !has_null_space; // x grows along the null space
                return if is_singular { Ending::Singular(outcome) } else { ending };
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
        let columns = (0..vectors.vectors()).map(|j| self.vector(&vectors.column(j)));
        let space = NullSpace::new(columns.collect::<Result<Vec<_>, _>>()?).map_err(Ending::Dependent)?;
        Ok(Box::new(Projected::new(krylov, space)))
    }

    /// Makes an attempt with a candidate.
    fn attempt(&mut self, i: usize, schedule: &mut Schedule<'_>) -> Result<(), Error> {
        let (method, precond) = self.plan.candidates[i];
        let mut attempt = Attempt { method, precond, single: schedule.single(i), ..Attempt::default() };
        attempt.ending = match self.run(i, &mut attempt, schedule) {
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
            Ending::Unstable(_) if self.solved.iterations >= self.plan.auto.max_iterations => &limit,
            ending => ending,
        };
        attempt.note = schedule.end(i, attempt.iterations, ending);
        self.solved.attempts.push(attempt);
        Ok(())
    }

    /// Builds or takes a preconditioner, and iterates. The error ends the attempt too.
    fn run(
        &mut self,
        i: usize,
        attempt: &mut Attempt,
        schedule: &mut Schedule<'_>,
    ) -> Result<Ending, Ending> {
        let (precond, single, before) = (attempt.precond, attempt.single, self.start.1);
        let begun = Instant::now();
        schedule.begin(i);
        let mut krylov = self.method(attempt.method)?;
        let at = self.kept.iter().position(|known| (known.0, known.1) == (precond, single));
        let mut built = match at {
            Some(at) => self.kept.swap_remove(at).2,
            None => (self.builder.build)(precond, single, self.preconditioned).map_err(Ending::Setup)?,
        };
        let complexity = built.1.as_ref().map_or(1.0, |levels| levels.operator_complexity);
        let (b, mut x) = (self.vector(self.b)?, self.vector(&self.start.0)?);
        let exact = (self.builder.operator)(self.operator)?;
        let may_round = attempt.method == Method::Cg && self.may_round_products();
        let rounded = may_round.then(|| built.0.rounded()).flatten();
        attempt.setup_seconds = begun.elapsed().as_secs_f64();
        attempt.levels.clone_from(&built.1);
        let (begun, ordering) = (Instant::now(), schedule.ordering_seconds);
        let monitor = schedule.monitor(i, complexity);
        let mut ending = match &rounded {
            Some(rounded) => {
                let mut cg = Cg::new(*krylov.stop_mut());
                cg.replace_residual = Some(B::Real::from_f64(REPLACE_RESIDUAL));
                let a = MixedPrecision::new::<B::Vector>(&*exact, &**rounded)?;
                self.iterate(&mut cg, &a, &mut built, (&b, &mut x), monitor, attempt)
            }
            None => self.iterate(&mut *krylov, &*exact, &mut built, (&b, &mut x), monitor, attempt),
        };
        if rounded.is_some() && matches!(ending, Ok(Ending::Method(outcome)) if failed(outcome)) {
            x = self.vector(&self.start.0)?; // the rounded A may be indefinite where A is not
            let monitor = schedule.monitor(i, complexity);
            ending = self.iterate(&mut *krylov, &*exact, &mut built, (&b, &mut x), monitor, attempt);
        }
        let ordering = schedule.ordering_seconds - ordering;
        attempt.solve_seconds = begun.elapsed().as_secs_f64() - ordering;
        let mut ending = ending?;
        let is_suspect = match ending {
            Ending::Method(Outcome::Stagnated | Outcome::Breakdown | Outcome::Diverged) => true,
            Ending::Method(Outcome::IterationLimit) => {
                attempt.iterations >= SUSPECT_ITERATIONS && self.start.1 > SUSPECT_SHARE * before
            }
            _ => false,
        };
        if is_suspect && precond == Precond::Ilu0 {
            let condition = self.condition(&mut built)?;
            if condition > UNSTABLE {
                ending = Ending::Unstable(condition);
            }
        }
        self.kept.push((precond, single, built));
        Ok(ending)
    }

    /// Whether the preconditioner is that of A itself, and no null space is projected out.
    fn may_round_products(&self) -> bool {
        std::ptr::eq(self.operator, self.preconditioned) && self.problem.null_space.is_none()
    }

    /// ‖A‖∞ ‖M⁻¹ 1‖∞, a measure of the stability of an incomplete factor. *Reference* Saad 2003, §10.4.4; Chow & Saad 1997.
    fn condition(&self, built: &mut Built<B::Vector>) -> Result<f64, Error> {
        let ones = vec![1.0; self.operator.shape().0];
        let mut z = self.vector(&vec![0.0; ones.len()])?;
        built.0.apply(&self.vector(&ones)?, &mut z);
        let condition = largest_of(&self.numbers(&z)?) * largest_of(&absolute_product(self.operator, &ones));
        Ok(if condition.is_nan() { f64::INFINITY } else { condition })
    }

    /// Iterates until the residual in f64 is within the tolerance. The method may see a smaller residual than that, because
    /// of the precision of its vectors; then it goes on with a smaller tolerance.
    fn iterate(
        &mut self,
        krylov: &mut dyn Krylov<B::Vector>,
        a: &dyn LinearOperator<B::Vector>,
        built: &mut Built<B::Vector>,
        (b, x): (&B::Vector, &mut B::Vector),
        mut monitor: Monitor<'_, '_>,
        attempt: &mut Attempt,
    ) -> Result<Ending, Error> {
        let mut asked = self.plan.auto.tolerance;
        let mut ending = Ending::default();
        for run in 0..=CONTINUATIONS {
            let (done, mut late) = (self.solved.iterations, false);
            let max_iterations = self.plan.auto.max_iterations - done;
            *krylov.stop_mut() = Stop { max_iterations, ..Stop::relative(B::Real::from_f64(asked)) };
            let observer = &mut *self.observer;
            let mut watch = |it: &Iteration<'_, B::Vector>| {
                if run > 0 && it.number == 0 {
                    return ControlFlow::Continue(());
                }
                let relative = it.relative.as_f64();
                late = observer(done + it.number, relative).is_break();
                if late {
                    return ControlFlow::Break(());
                }
                let extremes = || it.ritz_values.and_then(|extremes| extremes());
                monitor.observe(it.number, relative, &|| extremes().map(|[low, high]| high / low))
            };
            let report = krylov.solve_with(a, &mut built.0, b, x, &mut watch)?;
            attempt.iterations += report.iterations;
            attempt.condition = attempt.condition.or(report.condition.map(Real::as_f64));
            self.solved.iterations += report.iterations;
            let mut whole = self.numbers(x)?;
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

    /// Factorises the matrix and solves by the factor, with refinement from the best x.
    fn factor(&mut self, schedule: &mut Schedule<'_>) {
        let mut attempt = Attempt { note: Some(schedule.begin_factor()), ..Attempt::default() };
        let (a, begun) = (self.operator, Instant::now());
        let built = match self.factor.take() {
            Some(factor) => Ok(factor),
            None => factorise(a, schedule.analysis.take(), self.indefinite.get()),
        };
        attempt.setup_seconds = begun.elapsed().as_secs_f64();
        let (begun, mut x) = (Instant::now(), self.start.0.to_vec());
        let solved = built.and_then(|mut factor| {
            attempt.factorised = Some((factor.method(), factor.fallback().cloned()));
            let solved = factor.solve_from(self.b, &mut x);
            let singular = factor.singular().cloned();
            self.factor = Some(factor);
            Ok((solved?, singular))
        });
        attempt.ending = match solved {
            Ok((solved, singular)) => {
                attempt.iterations = solved.refinements;
                let done = self.solved.iterations;
                let late = (self.observer)(done, self.start.1).is_break()
                    | (self.observer)(done + 1, solved.relative_residual).is_break();
                match (self.take(x, Outcome::Stagnated), singular) {
                    (ending, _) if late && !ending.converged() => Ending::TimeLimit,
                    (Ending::Method(Outcome::Stagnated), Some(error)) => Ending::Factor(error),
                    (ending, _) => ending,
                }
            }
            Err(error) => Ending::Factor(error),
        };
        attempt.solve_seconds = begun.elapsed().as_secs_f64();
        let twice = matches!(attempt.factorised, Some((_, Some(_))));
        schedule.end_factor(&attempt.ending, twice);
        self.solved.attempts.push(attempt);
    }

    /// A vector of the backend. Numbers of its type are not converted first.
    #[expect(clippy::ptr_arg, reason = "a slice is not `Any`")]
    fn vector(&self, x: &Vec<f64>) -> Result<B::Vector, Error> {
        match (x as &dyn Any).downcast_ref::<Vec<B::Real>>() {
            Some(same) => self.builder.backend.vector(same),
            None => self.builder.backend.vector(&mapped(x, |v: &f64| B::Real::from_f64(*v))),
        }
    }

    /// The numbers of a vector of the backend.
    fn numbers(&self, x: &B::Vector) -> Result<Vec<f64>, Error> {
        let mut numbers = vec![B::Real::from_f64(0.0); self.b.len()];
        self.builder.backend.read(x, &mut numbers)?;
        let same = (&mut numbers as &mut dyn Any).downcast_mut().map(mem::take);
        Ok(same.unwrap_or_else(|| mapped(&numbers, |v: &B::Real| v.as_f64())))
    }
}

/// Orders a matrix. If it is `indefinite`, it is known that Cholesky fails.
fn analyse(a: &Bsr<f64>, indefinite: bool) -> Result<Analysis, DirectError> {
    match indefinite {
        true => PIVOTED.analyse(a).or_else(|_| DIRECT.analyse(a)),
        false => DIRECT.analyse(a),
    }
}

/// Factorises a matrix that was ordered before it was known whether it is `indefinite`.
fn factorise(a: &Bsr<f64>, ordered: Option<Analysis>, indefinite: bool) -> Result<Factor, DirectError> {
    let ordered = ordered.filter(|ordered| !indefinite || ordered.method() != Factorisation::Cholesky);
    let built = match ordered {
        Some(ordered) => ordered.factor(a),
        None if indefinite => PIVOTED.factor(a),
        None => DIRECT.factor(a),
    };
    match built {
        Ok(factor) if !indefinite || factor.singular().is_none() => Ok(factor),
        Err(error) if !indefinite => Err(error),
        _ => DIRECT.factor(a),
    }
}

/// Whether an error is a failure of the machine, and not of the method.
fn of_device(error: &Error) -> bool {
    matches!(
        error,
        Error::Device { .. } | Error::Memory { .. } | Error::Allocation { .. } | Error::Build { .. }
    )
}

/// The values of a function, computed on all threads.
fn mapped<X: Sync, Y: Real>(v: &[X], f: impl Fn(&X) -> Y + Sync) -> Vec<Y> {
    let mut values = vec![Y::zero(); v.len()];
    parallel::map(v, &mut values, f);
    values
}

/// The largest size of a number.
fn largest_of(v: &[f64]) -> f64 {
    v.iter().fold(0.0, |largest: f64, v| largest.max(v.abs()))
}
