//! Attempts at one system, each from the best x so far, at any backend.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::time::Instant;

use coarsen_backend::SetupError;
use coarsen_core::{Error, Iteration, LinearOperator, Outcome, Real, Stop, Vector, power_of_two};
use coarsen_direct::{Analysis, Direct, Engine, Factor};
use coarsen_krylov::{Krylov, NullSpace, Projected};
use coarsen_sparse::{Bsr, System};

use crate::drive::{Attempt, Attempts, Limits, drive};
use crate::ending::Ending;
use crate::problem::{
    Builder, Built, Kept, Observer, Outcomes, Problem, Tried, krylov, negated, numbers, relative_residual,
};
use crate::run::Last;
use crate::{Candidate, Kind, Method, Monitor, NoFactor, Plan, RoundOff, attainable};

/// Options that accept a factor of any accuracy, because the residual is checked here.
pub const DIRECT: Direct = Direct {
    method: coarsen_direct::Method::Auto,
    refinements: 3,
    accept: f64::INFINITY,
    trial: f64::INFINITY,
    engine: Engine::Fastest,
};

/// The largest |A v| of a vector v of the null space, relative to its value without cancellation.
const NULL: f64 = 1e-6;

/// The ‖A‖∞ ‖M⁻¹ 1‖∞ above which an incomplete factor counts as unstable.
const UNSTABLE: f64 = 1e10;

/// The maximum number of continuations of a solve whose residual in f64 is still above the tolerance.
const CONTINUATIONS: usize = 3;

/// Solves a system by a plan, from the guess x. For every outcome, x is the best x so far. `ordered` is an ordering of the
/// matrix that is already known.
///
/// # Errors
/// Failures of the device.
pub fn solve_by_plan<B: Builder>(
    plan: &Plan,
    problem: Problem<'_>,
    builder: &B,
    ordered: Option<Analysis>,
    x: &mut [f64],
    observer: &mut Observer<'_>,
) -> Result<Outcomes<B::Vector>, Error> {
    let negative = |a: &Bsr<f64>| plan.negate.then(|| negated(a));
    let same = std::ptr::eq(problem.system.matrix, problem.operator);
    let (of_system, of_operator) =
        (negative(problem.system.matrix), if same { None } else { negative(problem.operator) });
    let system = System { matrix: of_system.as_ref().unwrap_or(problem.system.matrix), ..problem.system };
    let operator = match same {
        true => system.matrix,
        false => of_operator.as_ref().unwrap_or(problem.operator),
    };
    let problem = Problem { system, operator, ..problem };
    let scale = power_of_two(problem.b.iter().fold(0.0, |m: f64, v| m.max(v.abs())));
    let scaled = |v: &[f64], scale: f64| v.iter().map(|v| v / scale).collect::<Vec<f64>>();
    let b = scaled(problem.b, if plan.negate { -scale } else { scale });
    let mut guess = scaled(x, scale);
    // Start from zeros if they are the solution, or if the scaled guess overflows.
    if b.iter().all(|v| *v == 0.0) || guess.iter().any(|v| !v.is_finite()) {
        guess.fill(0.0);
    }
    let (ordered, ordering_seconds) = (Cell::new(ordered), Cell::new(0.0));
    let residual = relative_residual(operator, &b, &guess);
    let null_space = match null_space(&problem, plan.symmetric) {
        Ok(found) => found,
        Err(ending) => return Ok(Outcomes::refused(ending, residual)),
    };
    let mut solve = Solve {
        null_space,
        problem: Problem { b: &b, ..problem },
        builder,
        observer,
        left: problem.max_iterations,
        kept: Vec::new(),
        factor: None,
        ordered: &ordered,
        ordering_seconds: &ordering_seconds,
        x: guess,
        residual,
        tried: Vec::new(),
    };
    let limits = Limits {
        tolerance: problem.tolerance,
        max_iterations: problem.max_iterations,
        single: problem.single,
    };
    let refused = Cell::new(None);
    let mut order = || {
        let analysis = match ordered.take() {
            Some(known) => known,
            None => {
                let begun = Instant::now();
                let analysis = DIRECT.analyse(operator).map_err(|error| {
                    refused.set(Some(error));
                    NoFactor::Failed
                });
                ordering_seconds.set(ordering_seconds.get() + begun.elapsed().as_secs_f64());
                analysis?
            }
        };
        let figures = analysis.figures();
        ordered.set(Some(analysis));
        Ok(figures)
    };
    let run = match solve.converged() {
        true => None,
        false => Some(drive(plan, limits, &mut solve, &mut order)?),
    };
    // The solution of the scaled system may be too large for b.
    let overflow = solve.x.iter().any(|v| v.is_finite() && !(v * scale).is_finite());
    let residual = match overflow {
        true => relative_residual(operator, &scaled(problem.b, if plan.negate { -1.0 } else { 1.0 }), x),
        false => solve.residual,
    };
    if !overflow {
        x.iter_mut().zip(&solve.x).for_each(|(x, v)| *x = v * scale);
    }
    let last = run.as_ref().map(|run| run.last);
    let ending = match solve.tried.iter().rfind(|tried| Some(tried.of) == last) {
        _ if overflow => Ending::Method(Outcome::NotFinite),
        _ if solve.converged() => Ending::Method(Outcome::Converged),
        Some(tried) => tried.ending.clone(),
        None => refused.take().map_or(Ending::Method(Outcome::Stopped), Ending::Factor),
    };
    let solver = match last {
        Some(Last::Iterations(method, kind)) => {
            let at = solve.kept.iter().rposition(|(known, ..)| *known == kind);
            at.map(|at| {
                let (kind, single, built) = solve.kept.swap_remove(at);
                Kept::Preconditioner(Candidate { method, kind }, single, built)
            })
        }
        _ => solve.factor.map(|factor| Kept::Factor(Box::new(factor))),
    };
    Ok(Outcomes {
        run,
        iterations: problem.max_iterations - solve.left,
        residual,
        ordering_seconds: ordering_seconds.get(),
        tried: solve.tried,
        ending,
        solver,
    })
}

/// A running solve.
struct Solve<'a, 'o, B: Builder> {
    problem: Problem<'a>,
    builder: &'a B,
    observer: &'a mut Observer<'o>,
    /// The number of remaining iterations.
    left: usize,
    /// Preconditioners built earlier, for later attempts.
    kept: Vec<(Kind, bool, Built<B::Vector>)>,
    factor: Option<Factor>,
    /// The ordering of the matrix, until the factor takes it.
    ordered: &'a Cell<Option<Analysis>>,
    ordering_seconds: &'a Cell<f64>,
    /// The best x so far.
    x: Vec<f64>,
    /// ‖b − A x‖ / ‖b‖ of `x`.
    residual: f64,
    tried: Vec<Tried>,
    null_space: NullOf,
}

/// Which matrices have the given null space.
#[derive(Clone, Copy)]
enum NullOf {
    /// No null space is given.
    Nothing,
    /// A and Aᵀ.
    Both,
    /// A, but not Aᵀ: |Aᵀ v| of a vector is not small.
    Matrix { vector: usize, share: f64 },
}

/// Checks the given null space.
fn null_space(problem: &Problem<'_>, symmetric: bool) -> Result<NullOf, Ending> {
    let Some(vectors) = problem.null_space else { return Ok(NullOf::Nothing) };
    let wrong = |a: &Bsr<f64>| -> Result<Option<(usize, f64)>, Ending> {
        let quality = vectors.quality(a).map_err(Ending::Unsuitable)?;
        Ok(quality.iter().map(|q| q.all).enumerate().find(|(_, share)| *share > NULL))
    };
    if let Some((vector, share)) = wrong(problem.operator)? {
        return Err(Ending::NotNull { vector, share });
    }
    if symmetric {
        return Ok(NullOf::Both);
    }
    let transposed = problem.operator.transpose().map_err(|error| Ending::Setup(error.into()))?;
    Ok(wrong(&transposed)?.map_or(NullOf::Both, |(vector, share)| NullOf::Matrix { vector, share }))
}

/// A number of the vectors of a backend.
type Number<B> = <<B as Builder>::Vector as Vector>::Real;

impl<B: Builder> Solve<'_, '_, B> {
    fn converged(&self) -> bool {
        self.residual <= self.problem.tolerance
    }

    /// Stores x if it is better than the stored x, and returns how the attempt ended.
    fn take(&mut self, x: Vec<f64>, said: Outcome) -> Ending {
        let problem = self.problem;
        let residual = relative_residual(problem.operator, problem.b, &x);
        let outcome = match said {
            _ if residual <= problem.tolerance => Outcome::Converged,
            _ if !residual.is_finite() => Outcome::NotFinite,
            Outcome::Converged => Outcome::Stagnated,
            other => other,
        };
        // Conjugate gradients reduce the error in the A-norm in every iteration, even if the residual grows.
        let closer = said == Outcome::Stopped && residual.is_finite();
        if closer || residual <= self.residual || !self.residual.is_finite() {
            (self.x, self.residual) = (x, residual);
        }
        let failed = !matches!(outcome, Outcome::Converged | Outcome::IterationLimit | Outcome::Stopped);
        if outcome == Outcome::Inconsistent && problem.null_space.is_some() {
            return Ending::NotInRange(self.residual);
        }
        if failed && problem.unconstrained && problem.null_space.is_none() {
            return Ending::Singular(outcome);
        }
        if (failed || outcome == Outcome::IterationLimit) && residual.is_finite() {
            let bound = attainable(problem.operator, problem.b, &self.x);
            if RoundOff::limits(bound, problem.tolerance, self.residual) {
                return Ending::RoundOff(RoundOff {
                    bound,
                    reached: self.residual,
                    tolerance: problem.tolerance,
                });
            }
        }
        Ending::Method(outcome)
    }

    /// The Krylov method, with the null space projected out.
    fn method(&self, method: Method) -> Result<Box<dyn Krylov<B::Vector>>, Ending> {
        let krylov = krylov(method, Stop::relative(Number::<B>::of(self.problem.tolerance)));
        let vectors = match (self.problem.null_space, self.null_space) {
            (Some(vectors), NullOf::Both) => vectors,
            (Some(_), NullOf::Matrix { vector, share })
                if matches!(method, Method::Cg | Method::FlexibleCg | Method::Minres) =>
            {
                return Err(Ending::NotNullOfTranspose { vector, share });
            }
            _ => return Ok(krylov),
        };
        let columns = (0..vectors.vectors()).map(|j| self.builder.vector(&numbers(&vectors.column(j))));
        let columns = columns.collect::<Result<Vec<_>, _>>().map_err(Ending::Unsuitable)?;
        let space = NullSpace::new(columns).map_err(Ending::Dependent)?;
        Ok(Box::new(Projected::new(krylov, space)))
    }

    /// Removes the null space from x, if the method could not project it out.
    fn remove_null_space(&self, x: &mut Vec<f64>) {
        if let (Some(vectors), NullOf::Matrix { .. }) = (self.problem.null_space, self.null_space)
            && let Ok(space) = NullSpace::new((0..vectors.vectors()).map(|j| vectors.column(j)).collect())
        {
            space.project(x);
        }
    }

    /// Builds or takes a preconditioner, and iterates.
    fn attempt(
        &mut self,
        attempt: Attempt,
        monitor: &mut Monitor<'_>,
        tried: &mut Tried,
    ) -> Result<Ending, Error> {
        let Attempt { candidate: Candidate { method, kind }, single } = attempt;
        let begun = Instant::now();
        let mut krylov = match self.method(method) {
            Ok(found) => found,
            Err(Ending::Unsuitable(error)) if of_device(&error) => return Err(error),
            Err(ending) => return Ok(ending),
        };
        let at = self.kept.iter().position(|known| (known.0, known.1) == (kind, single));
        let mut built = match at {
            Some(at) => self.kept.swap_remove(at).2,
            None => match self.builder.build(kind, single, self.problem.system) {
                Ok(built) => built,
                Err(SetupError::Place(error)) if of_device(&error) => return Err(error),
                Err(error) => return Ok(Ending::Setup(error)),
            },
        };
        monitor.built(built.levels.as_ref().map_or(1.0, |levels| levels.operator_complexity));
        let (b, mut x) =
            (self.builder.vector(&numbers(self.problem.b))?, self.builder.vector(&numbers(&self.x))?);
        let a = self.builder.operator(self.problem.operator)?;
        tried.setup_seconds = begun.elapsed().as_secs_f64();
        tried.levels.clone_from(&built.levels);
        let (begun, ordering) = (Instant::now(), self.ordering_seconds.get());
        let ending = self.iterate(&mut *krylov, &*a, &mut built, (&b, &mut x), monitor, tried);
        tried.solve_seconds = begun.elapsed().as_secs_f64() - (self.ordering_seconds.get() - ordering);
        let mut ending = ending?;
        let failed =
            matches!(ending, Ending::Method(Outcome::Stagnated | Outcome::Breakdown | Outcome::Diverged));
        if failed && kind == Kind::Ilu0 {
            let condition = self.enlarges(&mut built)?;
            if condition > UNSTABLE {
                ending = Ending::Unstable(condition);
            }
        }
        self.kept.push((kind, single, built));
        Ok(ending)
    }

    /// ‖A‖∞ ‖M⁻¹ 1‖∞, a measure of the stability of an incomplete factor. *Reference* Saad 2003, §10.4.4; Chow & Saad 1997.
    fn enlarges(&self, built: &mut Built<B::Vector>) -> Result<f64, Error> {
        let a = self.problem.operator;
        let (n, b) = (a.shape().0, a.block().0);
        let ones = self.builder.vector(&numbers(&vec![1.0; n]))?;
        let mut z = self.builder.vector(&numbers(&vec![0.0; n]))?;
        built.preconditioner.apply(&ones, &mut z);
        let mut found = numbers(&vec![0.0; n]);
        self.builder.read(&z, &mut found)?;
        let largest = found.iter().fold(0.0, |m: f64, v| m.max(v.wide().abs()));
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
    fn iterate(
        &mut self,
        krylov: &mut dyn Krylov<B::Vector>,
        a: &dyn LinearOperator<B::Vector>,
        built: &mut Built<B::Vector>,
        (b, x): (&B::Vector, &mut B::Vector),
        monitor: &mut Monitor<'_>,
        tried: &mut Tried,
    ) -> Result<Ending, Error> {
        let mut asked = self.problem.tolerance;
        let mut found = numbers(&self.x);
        let before = self.problem.max_iterations - self.left;
        let mut ending = Ending::Method(Outcome::Stopped);
        for run in 0..=CONTINUATIONS {
            *krylov.stop_mut() = Stop { max_iterations: self.left, ..Stop::relative(Number::<B>::of(asked)) };
            let (mut told, mut late) = (false, false);
            let (observer, done) = (&mut *self.observer, before + tried.iterations);
            let mut watch = |it: &Iteration<'_, B::Vector>| {
                if run == 0 || it.number > 0 {
                    late = observer(done + it.number, it.relative.wide()).is_break();
                    told = monitor.observe(it).is_break();
                }
                if late || told { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            };
            let report = match krylov.solve_with(a, &mut built.preconditioner, b, x, &mut watch) {
                Ok(report) => report,
                Err(error) if of_device(&error) => return Err(error),
                Err(error) => return Ok(Ending::Unsuitable(error)),
            };
            tried.iterations += report.iterations;
            tried.condition = tried.condition.or(report.condition.map(Real::wide));
            self.left = self.left.saturating_sub(report.iterations);
            self.builder.read(x, &mut found)?;
            let mut whole: Vec<f64> = found.iter().map(|v| v.wide()).collect();
            self.remove_null_space(&mut whole);
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

impl<B: Builder> Attempts for Solve<'_, '_, B> {
    type Error = Error;

    fn iterate(&mut self, attempt: Attempt, monitor: &mut Monitor<'_>) -> Result<Ending, Error> {
        let Attempt { candidate: Candidate { method, kind }, single } = attempt;
        let mut tried = Tried::new(Last::Iterations(method, kind), single);
        let ending = self.attempt(attempt, monitor, &mut tried)?;
        tried.ending = ending.clone();
        self.tried.push(tried);
        Ok(ending)
    }

    fn factor(&mut self) -> Result<(Ending, bool), Error> {
        let mut tried = Tried::new(Last::Factor, false);
        let (a, begun) = (self.problem.operator, Instant::now());
        let built = match self.ordered.take() {
            Some(analysis) => analysis.factor(a),
            None => DIRECT.factor(a),
        };
        tried.setup_seconds = begun.elapsed().as_secs_f64();
        let begun = Instant::now();
        let (ending, twice) = match built {
            Ok(mut factor) => {
                let ending = self.solve_by_factor(&mut factor, &mut tried);
                let twice = factor.fallback().is_some();
                self.factor = Some(factor);
                (ending, twice)
            }
            Err(error) => (Ending::Factor(error), false),
        };
        tried.solve_seconds = begun.elapsed().as_secs_f64();
        tried.ending = ending.clone();
        self.tried.push(tried);
        Ok((ending, twice))
    }
}

impl<B: Builder> Solve<'_, '_, B> {
    fn solve_by_factor(&mut self, factor: &mut Factor, tried: &mut Tried) -> Ending {
        let mut x = self.x.clone();
        match factor.solve_from(self.problem.b, &mut x) {
            Ok(solved) => {
                tried.iterations = solved.refinements;
                let done = self.problem.max_iterations - self.left;
                let _ = (self.observer)(done, self.residual);
                let _ = (self.observer)(done + 1, solved.relative_residual); // nothing is left to break
                match (self.take(x, Outcome::Stagnated), factor.singular()) {
                    (Ending::Method(Outcome::Stagnated), Some(error)) => Ending::Factor(error.clone()),
                    (ending, _) => ending,
                }
            }
            Err(error) => Ending::Factor(error),
        }
    }
}

/// Whether an error is a failure of the machine, and not of the method.
fn of_device(error: &Error) -> bool {
    matches!(
        error,
        Error::Device { .. } | Error::Memory { .. } | Error::Allocation { .. } | Error::Build { .. }
    )
}
