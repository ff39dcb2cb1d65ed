//! Attempts at one system, each from the best x so far, on any backend.

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;
use std::ops::ControlFlow;
use std::time::Instant;

use coarsen_backend::{Prepared, SetupError};
use coarsen_core::{Error, Iteration, LinearOperator, Outcome, Real, Stop, Vector, largest, power_of_two};
use coarsen_direct::{Analysis, Direct, DirectError, Engine, Factor};
use coarsen_krylov::{BiCgStab, Cg, FlexibleCg, Gmres, Krylov, Minres, NullSpace, Projected};
use coarsen_sparse::Bsr;

use crate::build::{Builder, Built, Levels};
use crate::ending::{failed, norm, round_off};
use crate::plan::{FactorCost, Plan};
use crate::problem::Problem;
use crate::schedule::{Monitor, Next, Schedule};
use crate::{Auto, Ending, Method, Precond, Solved, attainable};

/// Options that accept a factor of any accuracy, because the residual is checked here.
pub const DIRECT: Direct = Direct {
    method: coarsen_direct::Method::Auto,
    refinements: 3,
    accept: f64::INFINITY,
    trial: f64::INFINITY,
    engine: Engine::Fastest,
};

/// The same for a matrix that is known to be symmetric and indefinite.
const PIVOTED: Direct = Direct { method: coarsen_direct::Method::Ldlt, ..DIRECT };

/// The largest |A v| of a vector v of the null space, relative to its value without cancellation.
const NULL: f64 = 1e-6;

/// The ‖A‖∞ ‖M⁻¹ 1‖∞ above which an incomplete factor counts as unstable.
const UNSTABLE: f64 = 1e10;

/// The maximum number of continuations of a solve whose residual in f64 is still above the tolerance.
const CONTINUATIONS: usize = 3;

/// An attempt that was made. `Display` names the method and the preconditioner.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attempt {
    /// The method.
    pub method: Method,
    /// The preconditioner.
    pub precond: Precond,
    /// Whether the preconditioner was stored in f32.
    pub single: bool,
    /// The seconds of its setup; 0 if the preconditioner was kept from an earlier attempt.
    pub setup_seconds: f64,
    /// The seconds of its iterations.
    pub solve_seconds: f64,
    /// The number of its iterations, or of refinements by a factor.
    pub iterations: usize,
    /// How it ended.
    pub ending: Ending,
    /// Why it was left or is repeated; why a factor was computed.
    pub note: Option<String>,
    /// An estimate of the condition number of M⁻¹A from below.
    pub condition: Option<f64>,
    /// The levels of the preconditioner.
    pub levels: Option<Levels>,
    /// How A was factorised, and the failure of a cheaper factorisation.
    pub factorised: Option<(coarsen_direct::Method, Option<DirectError>)>,
}

impl Attempt {
    /// Whether it was left for another method or for a factor.
    pub(crate) fn is_left(&self) -> bool {
        matches!(self.ending, Ending::Method(Outcome::Stopped))
    }
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.method {
            Method::Direct => f.write_str("a factor"),
            method => write!(f, "{method} with {}", self.precond),
        }
    }
}

/// A function that is called at every iteration of all methods, with the number of iterations so far and the relative
/// residual. `Break` ends the solve.
pub type Observer<'a> = dyn FnMut(usize, f64) -> ControlFlow<()> + 'a;

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
    /// For every ending, x is the best x so far. `known` is what is known of the factor; `observer` is
    /// called at every iteration of all methods, with the number of iterations so far and the relative residual, and its
    /// `Break` ends the solve.
    ///
    /// *Cost*: if a factor is possible, at most three times the smaller of the work of all methods tried and the
    /// work of the factor (see the source of `schedule` for the proof).
    ///
    /// # Errors
    /// Failures of the device.
    pub fn solve<B: Builder>(
        &self,
        problem: &Problem<'_>,
        known: Option<KnownFactor>,
        builder: &B,
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
        let signed = |a| if self.negate { Cow::Owned(negated(a)) } else { Cow::Borrowed(a) };
        let operator = signed(problem.matrix());
        let symmetrised = problem.symmetrised.as_ref().map(signed);
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
                None if indefinite.get() => PIVOTED.analyse(&operator).or_else(|_| DIRECT.analyse(&operator)),
                None => DIRECT.analyse(&operator),
            };
            let analysis = analysis.map_err(Ending::Factor)?;
            Ok((analysis.stats(), Some(analysis)))
        };
        let mut schedule = Schedule::new(self, &mut order);
        if factor.is_some() {
            schedule.begin_with_factor();
        }
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
            other_transpose: None,
            solved: Solved {
                true_residual: relative_residual(&operator, &scaled_b, &guess),
                tolerance: self.auto.tolerance,
                ..Solved::default()
            },
            x: guess,
            smallest: None,
        };
        let refused = solve.check_null_space().err();
        let runs = refused.is_none() && !solve.converged();
        while refused.is_none() && !solve.converged() {
            match schedule.next() {
                Next::Iterate(i) => solve.iterate(i, &mut schedule)?,
                Next::Factor => solve.factor(&mut schedule),
                Next::End => break,
            }
        }
        let converged = solve.converged();
        let Solve { x: mut solution, smallest, mut kept, factor, mut solved, .. } = solve;
        if let Some(smallest) = smallest.filter(|smallest| smallest.1 < solved.true_residual) {
            (solution, solved.true_residual) = smallest;
        }
        let Schedule { iteration_work, factor_work, factor: cost, ordered, ordering_seconds, .. } = schedule;
        let last = solved.attempts.last();
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
        (solved.ending, solved.work, solved.unbounded) = (ending, iteration_work + factor_work, unbounded);
        (solved.negated, solved.ordered) = (self.negate, ordered);
        solved.ordering_seconds = ordering_seconds;
        Ok((solved, preconditioner, factor))
    }
}

/// A running solve.
struct Solve<'a, 'o, B: Builder> {
    plan: &'a Plan,
    problem: &'a Problem<'a>,
    /// A or −A, as it is multiplied and factored, and as preconditioners see it.
    operator: &'a Bsr<f64>,
    preconditioned: &'a Bsr<f64>,
    /// Whether the operator is symmetric and known to be indefinite, so that Cholesky fails.
    indefinite: &'a Cell<bool>,
    b: &'a [f64],
    /// The largest number in x that does not overflow when the scaling is undone.
    most: f64,
    builder: &'a B,
    observer: &'a mut Observer<'o>,
    /// Preconditioners built earlier, for later attempts.
    kept: Vec<(Precond, bool, Built<B::Vector>)>,
    factor: Option<Factor>,
    /// The x from which the next attempt starts; its residual is in the report.
    x: Vec<f64>,
    /// An earlier x with a smaller residual, and that residual.
    smallest: Option<(Vec<f64>, f64)>,
    solved: Solved,
    /// A vector of the null space that Aᵀ does not map to zero, and |Aᵀ v| relative to its value without cancellation.
    other_transpose: Option<(usize, f64)>,
}

/// A number of the vectors of a backend.
type Number<B> = <<B as Builder>::Vector as Vector>::Real;

impl<B: Builder> Solve<'_, '_, B> {
    fn converged(&self) -> bool {
        self.solved.true_residual <= self.plan.auto.tolerance
    }

    /// Checks the given null space.
    fn check_null_space(&mut self) -> Result<(), Ending> {
        let Some(vectors) = &self.problem.null_space else { return Ok(()) };
        let wrong = |a: &Bsr<f64>| -> Result<Option<(usize, f64)>, Ending> {
            let quality = vectors.quality(a).map_err(Ending::Unsuitable)?;
            Ok(quality.iter().map(|q| q.all).enumerate().find(|(_, share)| *share > NULL))
        };
        if let Some((vector, share)) = wrong(self.operator)? {
            return Err(Ending::NotNull { vector, share, of_transpose: false });
        }
        if !self.plan.symmetric {
            let transposed = self.operator.transpose().map_err(|error| Ending::Setup(error.into()))?;
            self.other_transpose = wrong(&transposed)?;
        }
        Ok(())
    }

    /// Stores x if it is better than the stored x, and returns how the attempt ended.
    fn take(&mut self, x: Vec<f64>, said: Outcome) -> Ending {
        let (tolerance, has_null_space) = (self.plan.auto.tolerance, self.problem.null_space.is_some());
        let fits = x.iter().all(|v| v.abs() <= self.most);
        let residual = if fits { relative_residual(self.operator, self.b, &x) } else { f64::NAN };
        let outcome = match said {
            _ if residual <= tolerance => Outcome::Converged,
            _ if !residual.is_finite() => Outcome::NotFinite,
            Outcome::Converged => Outcome::Stagnated,
            other => other,
        };
        // Conjugate gradients reduce the error in the A-norm in every iteration, even if the residual grows.
        let closer = said == Outcome::Stopped && residual.is_finite();
        let current = &mut self.solved.true_residual;
        if closer || residual <= *current || !current.is_finite() {
            let before = (std::mem::replace(&mut self.x, x), std::mem::replace(current, residual));
            if before.1 < residual && self.smallest.as_ref().is_none_or(|smallest| before.1 < smallest.1) {
                self.smallest = Some(before);
            }
        }
        let best = self.smallest.as_ref().map_or(*current, |smallest| smallest.1.min(*current));
        if outcome == Outcome::Inconsistent && has_null_space {
            return Ending::NotInRange(best);
        }
        if failed(outcome) && self.plan.unconstrained && !has_null_space {
            return Ending::Singular(outcome);
        }
        if (failed(outcome) || outcome == Outcome::IterationLimit) && residual.is_finite() {
            let bound = attainable(self.operator, self.b, &self.x);
            if let Some(ending) = round_off(bound, tolerance, best) {
                return ending;
            }
        }
        Ending::Method(outcome)
    }

    /// The Krylov method, with the null space projected out.
    fn method(&self, method: Method) -> Result<Box<dyn Krylov<B::Vector>>, Ending> {
        let krylov = krylov(method, Stop::relative(Number::<B>::from_f64(self.plan.auto.tolerance)));
        let Some(vectors) = &self.problem.null_space else { return Ok(krylov) };
        match self.other_transpose {
            Some((vector, share)) if method.needs_definite() || method == Method::Minres => {
                return Err(Ending::NotNull { vector, share, of_transpose: true });
            }
            Some(_) => return Ok(krylov),
            None => {}
        }
        let columns = (0..vectors.vectors()).map(|j| self.builder.vector(&numbers(&vectors.column(j))));
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
        attempt.note = schedule.end(i, attempt.iterations, &attempt.ending);
        self.solved.attempts.push(attempt);
        Ok(())
    }

    /// Builds or takes a preconditioner, and iterates. The error ends the attempt too.
    fn run(&mut self, attempt: &mut Attempt, monitor: &mut Monitor<'_, '_>) -> Result<Ending, Ending> {
        let (precond, single) = (attempt.precond, attempt.single);
        let begun = Instant::now();
        let mut krylov = self.method(attempt.method)?;
        let at = self.kept.iter().position(|known| (known.0, known.1) == (precond, single));
        let mut built = match at {
            Some(at) => self.kept.swap_remove(at).2,
            None => self.builder.build(precond, single, self.preconditioned).map_err(Ending::Setup)?,
        };
        monitor.built(built.1.as_ref().map_or(1.0, |levels| levels.operator_complexity));
        let vector = |v: &[f64]| self.builder.vector(&numbers(v)).map_err(Ending::Unsuitable);
        let (b, mut x) = (vector(self.b)?, vector(&self.x)?);
        let a = self.builder.operator(self.operator).map_err(Ending::Unsuitable)?;
        attempt.setup_seconds = begun.elapsed().as_secs_f64();
        attempt.levels.clone_from(&built.1);
        let (begun, ordering) = (Instant::now(), monitor.ordering_seconds());
        let ending = self.follow(&mut *krylov, &*a, &mut built, (&b, &mut x), monitor, attempt);
        let ordering = monitor.ordering_seconds() - ordering;
        attempt.solve_seconds = begun.elapsed().as_secs_f64() - ordering;
        let mut ending = ending.map_err(Ending::Unsuitable)?;
        let is_suspect =
            matches!(ending, Ending::Method(Outcome::Stagnated | Outcome::Breakdown | Outcome::Diverged));
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
        let (a, n, b) = (self.operator, self.operator.shape().0, self.operator.block().0);
        let ones = self.builder.vector(&numbers(&vec![1.0; n]))?;
        let mut z = self.builder.vector(&numbers(&vec![0.0; n]))?;
        built.0.apply(&ones, &mut z);
        let mut found = numbers(&vec![0.0; n]);
        self.builder.read(&z, &mut found)?;
        let largest = found.iter().fold(0.0, |m: f64, v| m.max(v.as_f64().abs()));
        let mut sums = vec![0.0; n];
        for i in 0..a.pattern().rows() {
            for (_, block) in a.row(i) {
                block.iter().enumerate().for_each(|(k, v)| sums[i * b + k / b] += v.abs());
            }
        }
        let condition = largest * sums.into_iter().fold(0.0, f64::max);
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
        let mut found = numbers(&self.x);
        let mut ending = Ending::Method(Outcome::Stopped);
        for run in 0..=CONTINUATIONS {
            let (done, mut late) = (self.solved.iterations, false);
            let max_iterations = self.plan.auto.max_iterations - done;
            *krylov.stop_mut() = Stop { max_iterations, ..Stop::relative(Number::<B>::from_f64(asked)) };
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
            self.solved.iterations += report.iterations;
            self.builder.read(x, &mut found)?;
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

    /// Factorises the matrix and solves by the factor, with refinement from the best x.
    fn factor(&mut self, schedule: &mut Schedule<'_>) {
        let mut attempt = Attempt { note: Some(schedule.begin_factor()), ..Attempt::default() };
        let (a, begun) = (self.operator, Instant::now());
        let indefinite = self.indefinite.get();
        let useless = |known: &Analysis| indefinite && known.method() == coarsen_direct::Method::Cholesky;
        let built = match (self.factor.take(), schedule.analysis.take().filter(|known| !useless(known))) {
            (Some(factor), _) => Ok(factor),
            (None, Some(analysis)) => analysis.factor(a),
            (None, None) if indefinite => PIVOTED.factor(a),
            (None, None) => DIRECT.factor(a),
        };
        let built = match built {
            Ok(factor) if !indefinite || factor.singular().is_none() => Ok(factor),
            Err(error) if !indefinite => Err(error),
            _ => DIRECT.factor(a),
        };
        attempt.setup_seconds = begun.elapsed().as_secs_f64();
        let (begun, mut x) = (Instant::now(), self.x.clone());
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
                let late = (self.observer)(done, self.solved.true_residual).is_break()
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
}

/// Whether an error is a failure of the machine, and not of the method.
fn of_device(error: &Error) -> bool {
    matches!(
        error,
        Error::Device { .. } | Error::Memory { .. } | Error::Allocation { .. } | Error::Build { .. }
    )
}

/// −A.
pub fn negated(a: &Bsr<f64>) -> Bsr<f64> {
    let mut negative = a.clone();
    negative.values_mut().iter_mut().for_each(|v| *v = -*v);
    negative
}

/// Numbers in the precision of a backend.
fn numbers<V: Real>(x: &[f64]) -> Vec<V> {
    x.iter().map(|v| V::from_f64(*v)).collect()
}

/// A Krylov method by name; [`Method::Direct`] is none, and gives conjugate gradients.
pub fn krylov<V: Vector>(method: Method, stop: Stop<V::Real>) -> Box<dyn Krylov<V>> {
    match method {
        Method::Cg | Method::Direct => Box::new(Cg::new(stop)),
        Method::FlexibleCg => Box::new(FlexibleCg::new(stop)),
        Method::Minres => Box::new(Minres::new(stop)),
        Method::Gmres => Box::new(Gmres::new(stop)),
        Method::BiCgStab => Box::new(BiCgStab::new(stop)),
    }
}

/// Returns ‖b − A x‖ / ‖b‖, or ‖A x‖ if b = 0; NaN if x is not finite.
pub fn relative_residual(a: &Bsr<f64>, b: &[f64], x: &[f64]) -> f64 {
    if x.iter().any(|x| !x.is_finite()) {
        return f64::NAN;
    }
    let (b, x) = (b.to_vec(), x.to_vec());
    let mut r = b.clone();
    if x.iter().any(|x| *x != 0.0) {
        a.residual(&b, &x, &mut r);
    }
    let size = norm(&b);
    norm(&r) / if size > 0.0 { size } else { 1.0 }
}
