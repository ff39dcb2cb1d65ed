//! One line for a program: solve a system, and keep what solved it for the next one.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

use coarsen_auto::{
    Attempt, Auto, DIRECT, Ending, Method, Observer, Parameters, Precond, Solved, relative_residual,
};
use coarsen_backend::{Cpu, Prepared, Setup, SetupError};
use coarsen_core::{Cancel, Iteration, Outcome, PreconditionerKind, Stop, parallel};
use coarsen_krylov::{BlockCg, Cg, Krylov, Richardson};
use coarsen_sparse::{Bsr, COLUMNS, OwnedSystem, System};

use crate::{Action, AnyError, RebuildPolicy, Step};

/// Solves A x = b by the method with the lowest forecast ([`auto`](crate::auto)), and returns x with the report.
///
/// b and x have one number for each scalar unknown. For systems that follow each other use [`Solver`]. *Cost* and *memory* as for
/// [`Auto`].
///
/// ```
/// let a = coarsen::assembly::from_triplets(2, 2, &[(0, 0, 4.0), (1, 1, 2.0)])?;
/// let (x, report) = coarsen::solve(&a, &[4.0, 4.0])?;
/// assert!((x[0] - 1.0).abs() + (x[1] - 2.0).abs() < 1e-12);
/// println!("{report}"); // method, iterations, true residual
/// # Ok::<(), coarsen::AnyError>(())
/// ```
///
/// # Errors
/// [`AnyError::Auto`] unless the true relative residual is at most 1e-8; the error names the cause and a remedy. Those of
/// [`Auto::solve`].
pub fn solve<'a>(system: impl Into<System<'a, f64>>, b: &[f64]) -> Result<(Vec<f64>, Solved), AnyError> {
    let mut x = vec![0.0; b.len()];
    let solved = Auto::default().solve(system, b, &mut x)?.converged()?;
    Ok((x, solved))
}

/// A solver that keeps the method and the preconditioner that it chose, for systems that follow each other.
///
/// The first solve tries methods as [`Auto`] does. Later solves take the method that ended it; its preconditioner is updated
/// as a [`RebuildPolicy`](crate::RebuildPolicy) decides ([`Step`]). If a later solve does not converge, or the number of
/// unknowns changes, methods are tried again.
///
/// Nothing is kept, so that every solve tries methods, if a row prescribes a value by a huge diagonal entry or if A is symmetric
/// only to single precision: another matrix is then solved ([`Problem`](coarsen_auto::Problem)). A singular system is
/// solved without its null space; pass one to [`Plan::solve`](coarsen_auto::Plan::solve) by the `Problem`. Whether positions or a
/// near-kernel are in the order of the matrix is not tested; [`by_component`](coarsen_sparse::NearKernel::by_component) does.
///
/// *Use* for right-hand sides or matrices that follow each other. A solve that is large enough for several threads runs on a
/// thread of the current pool, which it [enters](parallel::enter) once; a call with an observer enters it
/// more often. *Memory* three copies of A (the given system, and two in [`Step`]), and the preconditioner or the factor.
///
/// ```
/// use coarsen::Solver;
/// let mut a = coarsen::problems::poisson2d(40)?.matrix;
/// let mut solver = Solver::new(&a)?;
/// let (b, mut x) = (vec![1.0; 1600], vec![0.0; 1600]);
/// for step in 1..4 {
///     a.values_mut().iter_mut().for_each(|v| *v *= 1.01); // the matrix of the next step
///     solver.update(&a)?;
///     println!("{step}: {}", solver.solve(&b, &mut x)?.converged()?);
/// }
/// # Ok::<(), coarsen::AnyError>(())
/// ```
pub struct Solver {
    /// The tolerance and the limits of each solve.
    pub auto: Auto,
    /// A flag that cancels setups from another thread; none at first.
    pub cancel: Option<Arc<Cancel>>,
    system: OwnedSystem<f64>,
    kept: Option<CachedMethod>,
}

/// The method that solved the last system, with its preconditioner.
struct CachedMethod {
    method: Method,
    precond: Precond,
    single: bool,
    /// Whether −A x = −b is solved.
    negated: bool,
    step: Step,
    krylov: Box<dyn Krylov<Vec<f64>> + Send>,
    /// Conjugate gradients in place of `krylov`, for products with a rounded matrix.
    rounding: Cg,
    /// Whether the preconditioner is that of the system.
    is_exact: bool,
    /// Whether the system is another one than in the last solve.
    is_new: bool,
    b: Vec<f64>,
    x: Vec<f64>,
}

impl Solver {
    /// Copies the first system; nothing is chosen or set up before the first solve.
    ///
    /// # Errors
    /// [`AnyError::Core`] if the parts of the system do not fit.
    pub fn new<'a>(system: impl Into<System<'a, f64>>) -> Result<Self, AnyError> {
        Self::from_owned(owned(system.into()))
    }

    /// Takes the first system, as [`new`](Self::new) copies it.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn from_owned(system: OwnedSystem<f64>) -> Result<Self, AnyError> {
        system.system().check()?;
        Ok(Self { auto: Auto::default(), cancel: None, system, kept: None })
    }

    /// Copies the next system, with the same or another pattern. With as many nodes and unknowns, positions and near-kernel
    /// stay where `system` has none.
    ///
    /// # Errors
    /// [`AnyError::Core`] if the parts do not fit. Nothing has then changed.
    pub fn update<'a>(&mut self, system: impl Into<System<'a, f64>>) -> Result<(), AnyError> {
        let system = system.into();
        system.check()?;
        // Contact is not negated, and prescribed values need another system.
        let other = |kept: &mut CachedMethod| {
            let matrix = &kept.step.system.matrix;
            (system.matrix.shape(), system.matrix.block()) != (matrix.shape(), matrix.block())
                || kept.negated && system.contact.is_some()
                || has_prescribed(system.matrix)
        };
        if let Some(kept) = self.kept.take_if(other) {
            self.system = kept.given();
        }
        match &mut self.kept {
            Some(kept) => kept.set(system)?,
            None => {
                let Self { system: before, .. } = self;
                *before = owned(system.with_kept(&before.positions, before.near_kernel.as_ref()));
            }
        }
        Ok(())
    }

    /// Solves A x = b from the guess x; both have one number for each scalar unknown. For every ending, x is the best x found,
    /// and the report has all attempts with their causes.
    ///
    /// # Errors
    /// [`AnyError::Core`] and [`AnyError::Setup`] for shapes that do not match and for NaN in A or b.
    pub fn solve(&mut self, b: &[f64], x: &mut [f64]) -> Result<Solved, AnyError> {
        parallel::enter(self.nnz(), || self.solve_with(b, x, &mut |_, _| ControlFlow::Continue(())))
    }

    /// [`solve`](Self::solve) with a function that is called at every iteration of all methods, with the number of iterations so
    /// far and the relative residual. Its `Break` ends the solve as [`Ending::TimeLimit`].
    ///
    /// It is called on the calling thread, so iterations stay there: outside of a pool, each of their large loops enters it.
    ///
    /// # Errors
    /// As [`solve`](Self::solve).
    pub fn solve_with(
        &mut self,
        b: &[f64],
        x: &mut [f64],
        observer: &mut Observer<'_>,
    ) -> Result<Solved, AnyError> {
        let (auto, mut before) = (self.auto, None);
        if let Some(kept) = &mut self.kept {
            kept.step.cancel.clone_from(&self.cancel);
            let solved = kept.solve(&auto, b, x, observer)?;
            if matches!(solved.ending, Ending::TimeLimit | Ending::Setup(SetupError::Cancelled))
                || solved.ending.converged()
            {
                return Ok(solved);
            }
            self.system = kept.given();
            self.kept = None;
            before = Some(solved);
        }
        let system = System { cancel: self.cancel.as_deref(), ..self.system.system() };
        let done = before.as_ref().map_or(0, |before| before.iterations);
        let mut counted = |iteration, residual| observer(done + iteration, residual);
        let (mut solved, built) = auto.solve_and_keep(system, b, x, &mut counted)?;
        let keeps = solved.ending.converged() && !(solved.negated && system.contact.is_some());
        if let (Some(built), Some(last), true) = (built, solved.attempts.last(), keeps) {
            self.kept = Some(CachedMethod::new(last, solved.negated, built, system)?);
        }
        if let Some(before) = before {
            solved.iterations += before.iterations;
            solved.attempts.splice(0..0, before.attempts);
        }
        Ok(solved)
    }

    /// Solves A x = b for several right-hand sides with one setup. If conjugate gradients with a fixed preconditioner solve the
    /// first one, the others are solved eight at once, by [`BlockCg`] with separate search directions: each then takes a third to
    /// two thirds of the time. Otherwise they are solved one after the other.
    ///
    /// # Errors
    /// As [`solve`](Self::solve), and [`AnyError::Core`] unless there is one x for each b.
    pub fn solve_many(&mut self, b: &[Vec<f64>], x: &mut [Vec<f64>]) -> Result<Vec<Solved>, AnyError> {
        parallel::enter(self.nnz(), || self.solve_many_with(b, x, &mut |_, _| ControlFlow::Continue(())))
    }

    /// [`solve_many`](Self::solve_many) with a function that is called at every iteration as in [`solve_with`](Self::solve_with),
    /// with the largest relative residual of those that are solved at once. If its `Break` ends the solve, there is no report for
    /// the right-hand sides that were not begun. All are checked before the first solve.
    ///
    /// # Errors
    /// As [`solve_many`](Self::solve_many).
    pub fn solve_many_with(
        &mut self,
        b: &[Vec<f64>],
        x: &mut [Vec<f64>],
        observer: &mut Observer<'_>,
    ) -> Result<Vec<Solved>, AnyError> {
        if b.len() != x.len() {
            let (what, expected, found) = ("the solutions, one for each right-hand side", b.len(), x.len());
            return Err(coarsen_core::Error::Shape { what, expected, found }.into());
        }
        for (b, x) in b.iter().zip(&*x) {
            self.auto.check(
                self.kept.as_ref().map_or(&self.system, |kept| &kept.step.system).system(),
                b,
                x,
            )?;
        }
        let ended = Cell::new(false);
        let mut observer = |iteration, relative| {
            let flow = observer(iteration, relative);
            ended.set(ended.get() || flow.is_break());
            flow
        };
        let is_ended = |last: &Solved| ended.get() || last.ending == Ending::Setup(SetupError::Cancelled);
        let mut solved: Vec<Solved> = Vec::with_capacity(b.len());
        while solved.len() < b.len() && !solved.last().is_some_and(is_ended) {
            let first = solved.len();
            let mut together = Vec::new();
            if let Some(kept) = self.kept.as_mut().filter(|kept| !kept.is_new && first + 1 < b.len()) {
                kept.step.cancel.clone_from(&self.cancel);
                let next = first..b.len().min(first + COLUMNS);
                together = kept.solve_many(&self.auto, &b[next.clone()], &mut x[next], &mut observer)?;
            }
            if together.is_empty() {
                together.push(None);
            }
            for (i, known) in (first..).zip(together) {
                solved.push(known.map_or_else(|| self.solve_with(&b[i], &mut x[i], &mut observer), Ok)?);
            }
        }
        Ok(solved)
    }

    /// The stored scalars of the system that the next solve takes.
    fn nnz(&self) -> usize {
        self.kept.as_ref().map_or(&self.system.matrix, |kept| &kept.step.system.matrix).nnz()
    }

    /// The decisions about the preconditioner of the kept method; `None` if no method is kept.
    pub fn policy(&self) -> Option<&RebuildPolicy> {
        self.kept.as_ref().map(|kept| &kept.step.policy)
    }

    /// The method that the next solve takes first; `None` before the first solve and after one that failed.
    pub fn method(&self) -> Option<(Method, Precond)> {
        self.kept.as_ref().map(|kept| (kept.method, kept.precond))
    }
}

impl CachedMethod {
    /// Keeps what the last attempt at a system has built.
    fn new(
        last: &Attempt,
        negated: bool,
        built: Box<dyn Prepared<Vec<f64>, f64> + Send>,
        system: System<'_, f64>,
    ) -> Result<Self, AnyError> {
        let &Attempt { method, precond, single, .. } = last;
        let stop = Stop::relative(0.0);
        let krylov = match method {
            Method::Direct => Box::new(Richardson::new(stop)),
            method => method.krylov(stop),
        };
        let mut first = Some(built);
        let build = move |system: System<'_, f64>| -> Result<Box<dyn Prepared<_, f64> + Send>, SetupError> {
            Ok(match (first.take(), method) {
                (Some(built), _) => built,
                (None, Method::Direct) => Box::new(DIRECT.build_from(system, &Cpu::new())?),
                _ if single => Parameters::default().build(precond, system, &Cpu::mixed())?.0,
                _ => Parameters::default().build(precond, system, &Cpu::new())?.0,
            })
        };
        let negative = negated.then(|| -system.matrix);
        let system = System { matrix: negative.as_ref().unwrap_or(system.matrix), ..system };
        let mut step = Step::new(system, build)?;
        step.update()?; // takes what is built
        step.policy.learn(last.iterations, Outcome::Converged);
        let (b, x, mut rounding) = (Vec::new(), Vec::new(), Cg::new(stop));
        rounding.replace_residual = Some(1e-2);
        let (is_exact, is_new) = (true, false);
        Ok(Self { method, precond, single, negated, step, krylov, rounding, is_exact, is_new, b, x })
    }

    fn set(&mut self, system: System<'_, f64>) -> Result<(), AnyError> {
        self.is_new = true;
        let negative = self.negated.then(|| -system.matrix);
        self.step.set(System { matrix: negative.as_ref().unwrap_or(system.matrix), ..system })
    }

    /// The system as it was given.
    fn given(&self) -> OwnedSystem<f64> {
        let mut system = owned(self.step.system.system());
        if self.negated {
            system.matrix = -&system.matrix;
        }
        system
    }

    /// Solves by the kept method. x is then the best x.
    fn solve(
        &mut self,
        auto: &Auto,
        b: &[f64],
        x: &mut [f64],
        observer: &mut Observer<'_>,
    ) -> Result<Solved, AnyError> {
        auto.check(self.step.system.system(), b, x)?;
        let sign = if self.negated { -1.0 } else { 1.0 };
        self.b.clear();
        self.b.extend(b.iter().map(|v| sign * v));
        self.x.clear();
        self.x.extend_from_slice(x);
        let Self { method, precond, single, .. } = *self;
        let mut attempt = Attempt { method, precond, single, ..Attempt::default() };
        let begun = Instant::now();
        let is_new = std::mem::replace(&mut self.is_new, false);
        let updated = self.step.update_as(|decided| match decided {
            _ if !is_new => Action::Keep,
            Action::Patch if method == Method::Direct => Action::Update, // a factor has no parts to keep
            decided => decided,
        });
        if is_new {
            let action = updated.as_ref().map(|update| update.action);
            self.is_exact = matches!(action, Ok(Action::Update | Action::Build));
        }
        attempt.setup_seconds = begun.elapsed().as_secs_f64();
        let begun = Instant::now();
        let mut is_ended = false;
        let mut monitor = |it: &Iteration<'_, Vec<f64>>| {
            is_ended |= observer(it.number, it.relative).is_break();
            if is_ended { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let Self { step, krylov, rounding, b: own_b, x: own_x, is_exact, .. } = self;
        let may_round = *is_exact && method == Method::Cg;
        let rounded = may_round.then(|| step.rounded()).flatten();
        let krylov: &mut dyn Krylov<_> = if rounded.is_some() { rounding } else { &mut **krylov };
        *krylov.stop_mut() = Stop {
            relative: auto.tolerance,
            absolute: auto.absolute,
            max_iterations: auto.max_iterations,
            check_every: 1,
        };
        let report =
            updated.and_then(|_| step.solve_with(krylov, rounded.as_deref(), own_b, own_x, &mut monitor));
        attempt.solve_seconds = begun.elapsed().as_secs_f64();
        let mut solved =
            Solved { tolerance: auto.tolerance, true_residual: f64::INFINITY, ..Solved::default() };
        attempt.ending = match report {
            Ok(report) => {
                (attempt.iterations, attempt.condition) = (report.iterations, report.condition);
                if report.true_residual <= report.initial_residual {
                    x.copy_from_slice(&self.x);
                }
                solved.true_residual = report.true_residual.min(report.initial_residual);
                solved.tolerance = report.tolerance;
                match is_ended && report.outcome == Outcome::Stopped {
                    true => Ending::TimeLimit,
                    false => Ending::Method(report.outcome),
                }
            }
            Err(AnyError::Setup(error)) => Ending::Setup(error),
            Err(AnyError::Core(error)) => Ending::Unsuitable(error),
            Err(error) => return Err(error),
        };
        if solved.true_residual.is_infinite() {
            let whole = self.step.system.system().whole()?;
            solved.true_residual = relative_residual(&whole, &self.b, x);
        }
        (solved.ending, solved.negated) = (attempt.ending.clone(), self.negated);
        (solved.iterations, solved.attempts) = (attempt.iterations, vec![attempt]);
        Ok(solved)
    }
}

impl CachedMethod {
    /// Solves for several right-hand sides at once, where the kept method is `Cg`. Those that have not converged are `None`, and
    /// their x is the guess, unless the observer ended the solve; without reports all are left to [`solve`](Self::solve).
    fn solve_many(
        &mut self,
        auto: &Auto,
        b: &[Vec<f64>],
        x: &mut [Vec<f64>],
        observer: &mut Observer<'_>,
    ) -> Result<Vec<Option<Solved>>, AnyError> {
        let Self { method, precond, single, negated, .. } = *self;
        if method != Method::Cg || self.step.kind() != PreconditionerKind::Symmetric {
            return Ok(Vec::new());
        }
        for (b, x) in b.iter().zip(&*x) {
            auto.check(self.step.system.system(), b, x)?;
        }
        self.step.update_as(|_| Action::Keep)?;
        let mut block = BlockCg::new(Stop {
            relative: auto.tolerance,
            absolute: auto.absolute,
            max_iterations: auto.max_iterations,
            check_every: 1,
        });
        block.shared = false;
        let begun = Instant::now();
        let sign = if negated { -1.0 } else { 1.0 };
        let signed: Vec<Vec<f64>> = b.iter().map(|b| b.iter().map(|v| sign * v).collect()).collect();
        let mut iterates = x.to_vec();
        let (mut iteration, mut is_ended) = (0, false);
        let mut observe = |relative: &[f64]| {
            iteration += 1;
            let larger = |most: f64, one: &f64| if *one <= most { most } else { *one }; // or NaN
            let flow = observer(iteration, relative.iter().fold(0.0, larger));
            is_ended = flow.is_break();
            flow
        };
        let reports = match self.step.solve_many(&mut block, &signed, &mut iterates, &mut observe) {
            Ok(reports) => reports,
            Err(AnyError::Core(_)) => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let solve_seconds = begun.elapsed().as_secs_f64() / b.len() as f64;
        let solved = reports.into_iter().zip(x.iter_mut().zip(iterates)).map(|(report, (x, iterate))| {
            let ending = match report.outcome {
                Outcome::Converged => Ending::Method(Outcome::Converged),
                _ if is_ended => Ending::TimeLimit,
                _ => return None,
            };
            let (iterations, tolerance) = (report.iterations, report.tolerance);
            if report.true_residual <= report.initial_residual {
                *x = iterate;
            }
            let true_residual = report.true_residual.min(report.initial_residual);
            let attempt =
                Attempt { method, precond, single, iterations, solve_seconds, ..Attempt::default() };
            let attempts = vec![Attempt { ending: ending.clone(), ..attempt }];
            let report = Solved { ending, true_residual, tolerance, iterations, ..Solved::default() };
            Some(Solved { attempts, negated, ..report })
        });
        Ok(solved.collect())
    }
}

/// Whether a diagonal entry may prescribe a value: it is above 1e15 times another one.
fn has_prescribed(a: &Bsr<f64>) -> bool {
    let diagonal = (0..a.shape().0).map(|i| a.get(i, i).abs()).filter(|d| *d > 0.0);
    let (least, most) = diagonal.fold((f64::INFINITY, 0.0_f64), |(l, m), d| (l.min(d), m.max(d)));
    most > 1e15 * least
}

/// A copy of a system.
pub(crate) fn owned(system: System<'_, f64>) -> OwnedSystem<f64> {
    OwnedSystem {
        matrix: system.matrix.clone(),
        contact: system.contact.cloned(),
        positions: system.positions.map(<[_]>::to_vec).unwrap_or_default(),
        near_kernel: system.near_kernel.cloned(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::thread::{self, ThreadId};

    use coarsen_backend::{Reused, Update};
    use coarsen_core::Preconditioner;
    use coarsen_problems::{Problem, poisson2d, random_vector};
    use coarsen_sparse::assembly::from_triplets;
    use coarsen_sparse::{Contacts, Pattern};

    use super::*;

    #[test]
    fn kept_methods_solve_the_next_systems() {
        for (spec, scale) in
            [("poisson2d:60", 1.0), ("poisson2d:60", -1.0), ("poisson2d:12", 1.0), ("elasticity3d:8", 1.0)]
        {
            let mut a = Problem::parse(spec, &Default::default()).unwrap().matrix;
            a.values_mut().iter_mut().for_each(|v| *v *= scale);
            let mut solver = Solver::new(&a).unwrap();
            let n = a.shape().0;
            let mut first = None;
            for seed in 1..4 {
                let (b, mut x) = (random_vector(n, seed), vec![0.0; n]);
                let solved = solver.solve(&b, &mut x).unwrap().converged().unwrap();
                assert_eq!(*first.get_or_insert(solved.method()), solved.method(), "{spec}");
                assert!(relative_residual(&a, &b, &x) <= 1e-8, "{spec} {scale}: {solved}");
                a.values_mut().iter_mut().for_each(|v| *v *= 1.5);
                solver.update(&a).unwrap();
            }
            assert_eq!(solver.method().map(|(method, _)| method), first.unwrap());
        }
    }

    /// A negative definite E with contact, and prescribed values in a later system, are not solved by what was kept.
    #[test]
    fn a_kept_method_is_used_only_if_it_fits_the_system() {
        let n = 900;
        let mut e = poisson2d(30).unwrap().matrix;
        e.values_mut().iter_mut().for_each(|v| *v *= -1.0);
        let mut contact = Contacts::new(n, 1).unwrap();
        contact.replace(&[(0, 0), (0, 5), (5, 0), (5, 5)], &[-9.0, 9.0, 9.0, -9.0]).unwrap();
        let system = System { contact: Some(&contact), ..(&e).into() };
        let whole = system.whole().unwrap();
        let mut solver = Solver::new(system).unwrap();
        for seed in 1..4 {
            let (b, mut x) = (random_vector(n, seed), vec![0.0; n]);
            let _ = solver.solve(&b, &mut x).unwrap().converged().unwrap();
            assert!(relative_residual(&whole, &b, &x) <= 1e-8, "{seed}");
            solver.update(system).unwrap();
        }

        let free = poisson2d(30).unwrap().matrix;
        let mut solver = Solver::new(&free).unwrap();
        let (mut b, mut x) = (random_vector(n, 1), vec![0.0; n]);
        let _ = solver.solve(&b, &mut x).unwrap().converged().unwrap();
        let entries = |scale: f64| -> Vec<(u32, u32, f64)> {
            let rows = 0..n as u32;
            let all = rows.flat_map(|i| {
                free.row(i as usize).map(move |(j, v)| (i, j as u32, v[0])).collect::<Vec<_>>()
            });
            all.map(|(i, j, v)| (i, j, if i == j && i % 30 == 0 { scale * v } else { v })).collect()
        };
        let fixed = from_triplets(n, n, &entries(1e30)).unwrap();
        (0..n).step_by(30).for_each(|i| b[i] = 4e30);
        solver.update(&fixed).unwrap();
        let _ = solver.solve(&b, &mut x).unwrap().converged().unwrap();
        let expected = {
            let mut y = vec![0.0; n];
            let mut solver = Solver::new(&fixed).unwrap();
            let _ = solver.solve(&b, &mut y).unwrap().converged().unwrap();
            assert_eq!(solver.method(), None, "nothing is kept where values are prescribed");
            y
        };
        assert!(x.iter().zip(&expected).all(|(x, y)| (x - y).abs() < 1e-6), "the free rows are solved");
    }

    /// The identity, which records the threads that apply it.
    #[derive(Clone, Default)]
    struct Recorder(Arc<Mutex<Vec<ThreadId>>>);

    impl Recorder {
        /// The threads since the last call, each once for consecutive calls.
        fn take(&self) -> Vec<ThreadId> {
            let mut threads = std::mem::take(&mut *self.0.lock().unwrap());
            threads.dedup();
            threads
        }
    }

    impl Preconditioner<Vec<f64>> for Recorder {
        fn apply(&mut self, r: &Vec<f64>, z: &mut Vec<f64>) {
            self.0.lock().unwrap().push(thread::current().id());
            z.clone_from(r);
        }

        fn kind(&self) -> PreconditionerKind {
            PreconditionerKind::Symmetric
        }

        fn size(&self) -> Option<usize> {
            None
        }
    }

    impl Update<f64> for Recorder {
        fn update_from(&mut self, _: System<'_, f64>) -> Result<Reused, SetupError> {
            Ok(Reused::Structure)
        }
    }

    /// Outside of a pool, a large solve runs on one of its threads from the first iteration to the last; a small one, one with
    /// an observer and one inside a pool stay on the calling thread. All give the same bits.
    #[test]
    fn large_solves_enter_the_pool_once() {
        let own = thread::current().id();
        let has_several = parallel::enter(usize::MAX, || thread::current().id()) != own;
        for (side, is_large) in [(30, false), (100, true)] {
            let a = poisson2d(side).unwrap().matrix;
            let (b, recorder) = (random_vector(side * side, 1), Recorder::default());
            let step = || {
                let recorder = recorder.clone();
                Step::new((&a).into(), move |_| Ok(Box::new(recorder.clone()))).unwrap()
            };
            let mut solver = Solver::new(&a).unwrap();
            (solver.auto.method, solver.auto.memory) = (Some(Method::Cg), 0);
            let _ = solver.solve(&b, &mut vec![0.0; b.len()]).unwrap().converged().unwrap();
            solver.kept.as_mut().unwrap().step = step();
            let mut solve = |observer: Option<&mut Observer<'_>>| {
                let mut x = vec![0.0; b.len()];
                let solved = match observer {
                    Some(observer) => solver.solve_with(&b, &mut x, observer),
                    None => solver.solve(&b, &mut x),
                };
                let _ = solved.unwrap().converged().unwrap();
                x
            };

            let x = solve(None);
            let threads = recorder.take();
            assert_eq!(threads.len(), 1, "{side}");
            assert_eq!(threads[0] != own, is_large && has_several, "{side}");

            let seen = std::rc::Rc::default(); // is not sent
            let mut observer = |_, _| {
                let seen: &std::cell::RefCell<Vec<_>> = &seen;
                seen.borrow_mut().push(thread::current().id());
                ControlFlow::Continue(())
            };
            assert_eq!(solve(Some(&mut observer)), x);
            assert!(seen.take().iter().chain(&recorder.take()).all(|thread| *thread == own), "{side}");

            for threads in [1, 2] {
                let inside = || (thread::current().id(), solve(None));
                let (caller, found) = parallel::threads(threads, inside).unwrap();
                assert_eq!(
                    (found == x, recorder.take()),
                    (true, vec![caller]),
                    "{side} at {threads} threads"
                );
            }

            let (mut cg, mut y) = (Cg::new(Stop::relative(1e-8)), vec![0.0; b.len()]);
            let _ = step().solve(&mut cg, &b, &mut y).unwrap().converged().unwrap();
            let again = recorder.take(); // another call may enter another thread of the pool
            assert_eq!((y == x, again.len()), (true, 1), "{side}: as the solver");
            assert_eq!(again[0] != own, is_large && has_several, "{side}");
        }
    }

    /// An observer sees the iterations of all solves and ends them; a flag ends setups. What was kept stays.
    #[test]
    fn solves_are_watched_and_ended() {
        let a = poisson2d(120).unwrap().matrix;
        let mut solver = Solver::new(&a).unwrap();
        (solver.auto.method, solver.auto.memory) = (Some(Method::Cg), 0);
        let (b, mut x) = (random_vector(14_400, 1), vec![0.0; 14_400]);
        for _ in 0..2 {
            x.fill(0.0);
            let mut seen = 0;
            let mut count = |_, _| {
                seen += 1;
                ControlFlow::Continue(())
            };
            let solved = solver.solve_with(&b, &mut x, &mut count).unwrap().converged().unwrap();
            assert!(seen > solved.iterations && solved.iterations > 2, "{seen}: {solved}");
        }
        x.fill(0.0);
        let mut end = |done, _| if done < 2 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) };
        let solved = solver.solve_with(&b, &mut x, &mut end).unwrap();
        assert_eq!((&solved.ending, solved.iterations), (&Ending::TimeLimit, 2), "{solved}");
        assert!(solver.method().is_some());

        let cancel = Arc::new(Cancel::new());
        solver.cancel = Some(cancel.clone());
        cancel.cancel();
        let mut other = a.clone();
        other.values_mut().iter_mut().for_each(|v| *v *= 3.0);
        let mut rebuilt = Solver::new(&other).unwrap();
        (rebuilt.auto, rebuilt.cancel) = (solver.auto, Some(cancel.clone()));
        let solved = rebuilt.solve(&b, &mut x).unwrap();
        assert!(matches!(solved.ending, Ending::Setup(SetupError::Cancelled)), "{solved}");
        cancel.reset();
        let _ = rebuilt.solve(&b, &mut x).unwrap().converged().unwrap();
        assert!(relative_residual(&other, &b, &x) <= 1e-8);

        // A kept method that another pattern builds again, which is cancelled, reports the residual of x.
        let chain = |i: u32| [(i, i, 2.1), (i, (i + 1) % 14_400, -1.0), ((i + 1) % 14_400, i, -1.0)];
        let entries: Vec<_> = (0..14_400).flat_map(chain).collect();
        let ring = coarsen_sparse::assembly::from_triplets(14_400, 14_400, &entries).unwrap();
        rebuilt.update(&ring).unwrap();
        cancel.cancel();
        let solved = rebuilt.solve(&b, &mut x).unwrap();
        assert!(matches!(solved.ending, Ending::Setup(SetupError::Cancelled)), "{solved}");
        assert_eq!(solved.true_residual, relative_residual(&ring, &b, &x));
    }

    /// A right-hand side that is refused changes nothing: the next solve is that of the last matrix.
    #[test]
    fn refused_right_hand_sides_keep_the_system() {
        let mut a = poisson2d(40).unwrap().matrix;
        let mut solver = Solver::new(&a).unwrap();
        let (b, mut x) = (vec![1.0; 1600], vec![0.0; 1600]);
        let _ = solver.solve(&b, &mut x).unwrap().converged().unwrap();
        a.values_mut().iter_mut().for_each(|v| *v *= 3.0);
        solver.update(&a).unwrap();
        assert!(solver.solve(&[f64::NAN; 1600], &mut x).is_err() && solver.solve(&b[1..], &mut x).is_err());
        x.fill(0.0);
        let _ = solver.solve(&b, &mut x).unwrap().converged().unwrap();
        assert!(relative_residual(&a, &b, &x) <= 1e-8);
    }

    #[test]
    fn other_sizes_and_failures_start_again() {
        let mut solver = Solver::new(&poisson2d(40).unwrap().matrix).unwrap();
        let (b, mut x) = (vec![1.0; 1600], vec![0.0; 1600]);
        let _ = solver.solve(&b, &mut x).unwrap().converged().unwrap();
        let first = solver.method().unwrap();
        // An indefinite matrix of the same pattern: the kept conjugate gradients fail, and another method solves it.
        let mut a = poisson2d(40).unwrap().matrix;
        let n = a.pattern().rows();
        for i in 0..n {
            let at = a.pattern().find(i, i).unwrap();
            a.values_mut()[at] -= 3.0;
        }
        solver.update(&a).unwrap();
        let solved = solver.solve(&b, &mut x).unwrap().converged().unwrap();
        assert!(solved.method() != Some(Method::Cg), "{solved}");
        // The report has the attempt that failed, with its cause and its iterations.
        let [kept, .., _] = &solved.attempts[..] else { panic!("{solved:?}") };
        assert!(kept.method == first.0 && kept.iterations > 0, "{kept:?}");
        assert!(!kept.ending.converged() && kept.ending != Ending::Method(Outcome::Stopped), "{kept:?}");
        let krylov = solved.attempts.iter().filter(|attempt| attempt.method != Method::Direct);
        assert_eq!(krylov.map(|attempt| attempt.iterations).sum::<usize>(), solved.iterations);
        solver.update(&poisson2d(10).unwrap().matrix).unwrap();
        assert_eq!(solver.method(), None);
        let _ = solver.solve(&[1.0; 100], &mut [0.0; 100]).unwrap().converged().unwrap();
    }

    /// A large matrix of blocks is multiplied in f32 only while its hierarchy is that of the last system.
    #[test]
    fn rounded_products_are_those_of_the_system() {
        let mut a = Problem::parse("cloth:150", &Default::default()).unwrap().matrix;
        let n = a.shape().0;
        let (b, mut iterations) = (random_vector(n, 1), Vec::new());
        let mut solver = Solver::new(&a).unwrap();
        for step in 0..4 {
            let mut x = vec![0.0; n];
            let solved = solver.solve(&b, &mut x).unwrap().converged().unwrap();
            assert_eq!(solved.attempts.len(), 1, "{solved}");
            assert!(relative_residual(&a, &b, &x) <= 1e-8);
            iterations.push(solved.iterations);
            let kept = solver.kept.as_mut().unwrap();
            assert_eq!((kept.method, kept.step.rounded().is_some()), (Method::Cg, true), "{}", kept.precond);
            assert_eq!(
                kept.is_exact,
                step == 0 || step == 3,
                "step {step}: kept for the second and the third system"
            );
            a.values_mut().iter_mut().for_each(|v| *v *= 4.0);
            if step == 2 {
                // another pattern, so the preconditioner is built
                let (nodes, far) = (n / 3, n as u32 / 3 - 1);
                let offsets = (0..=nodes).map(|i| usize::from(i > 0) + usize::from(i == nodes)).collect();
                let corners = Arc::new(Pattern::new(nodes, offsets, vec![far, 0]).unwrap());
                a = &a + &Bsr::new(corners, (3, 3), vec![0.0; 18]).unwrap();
            }
            solver.update(&a).unwrap();
        }
        assert!(iterations.iter().all(|&i| i.abs_diff(iterations[0]) <= 1), "{iterations:?}");
    }

    /// Right-hand sides that take more iterations than the first one cause no setup either.
    #[test]
    fn several_right_hand_sides_share_one_setup() {
        for (spec, memory) in
            [("poisson2d:30", 0), ("poisson2d:30", usize::MAX), ("poisson2d:12", usize::MAX)]
        {
            let a = Problem::parse(spec, &Default::default()).unwrap().matrix;
            let n = a.shape().0;
            let mut solver = Solver::new(&a).unwrap();
            solver.auto.memory = memory;
            let b: Vec<_> =
                (0..6).map(|seed| if seed == 0 { vec![1.0; n] } else { random_vector(n, seed) }).collect();
            let mut x = vec![vec![0.0; n]; 6];
            let solved = solver.solve_many(&b, &mut x).unwrap();
            assert!(solved.iter().all(|solved| solved.ending.converged()));
            let policy = &solver.kept.as_ref().unwrap().step.policy;
            let is_cg = solver.method().unwrap().0 == Method::Cg;
            assert!(is_cg || memory > 0, "no factor fits into the memory");
            let kept = if is_cg { 1 } else { 5 }; // conjugate gradients solve all others at once
            assert_eq!(
                (policy.count(Action::Build), policy.count(Action::Keep)),
                (1, kept),
                "{spec}: {policy}"
            );
            for ((x, b), solved) in x.iter().zip(&b).zip(&solved) {
                let residual = relative_residual(&a, b, x);
                assert!(residual <= 1e-8 && (residual / solved.true_residual - 1.0).abs() < 1e-2);
                assert_eq!(solved.attempts.len(), 1);
            }
            assert!(solver.solve_many(&b, &mut x[..1]).is_err());
            // An observer ends all that are solved at once; those that were not begun have no report.
            let many: Vec<_> = (0..20).map(|seed| random_vector(n, seed)).collect();
            let (mut x, mut last) = (vec![vec![0.0; n]; 20], 0);
            let mut end = |iteration: usize, relative: f64| {
                last = iteration;
                if relative < 1e-3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            };
            let ended = solver.solve_many_with(&many, &mut x, &mut end).unwrap();
            if is_cg {
                assert!(
                    ended.len() == COLUMNS && last > 1,
                    "{spec}: {} reports, {last} iterations",
                    ended.len()
                );
                assert!(ended.iter().any(|solved| solved.ending == Ending::TimeLimit), "{spec}");
                for ((x, b), solved) in x.iter().zip(&many).zip(&ended) {
                    let residual = relative_residual(&a, b, x);
                    assert!(
                        residual < 1e-3 && (residual / solved.true_residual - 1.0).abs() < 1e-2,
                        "{spec}"
                    );
                }
            } else {
                assert_eq!(ended.len(), 1, "{spec}");
            }
            // The first solve is the reference of the next system.
            let mut solver = Solver::new(&a).unwrap();
            solver.auto.memory = memory;
            for scale in [1.0, 1.001] {
                let mut a = a.clone();
                a.values_mut().iter_mut().for_each(|v| *v *= scale);
                solver.update(&a).unwrap();
                let _ = solver.solve(&b[0], &mut vec![0.0; n]).unwrap().converged().unwrap();
            }
            let policy = &solver.kept.as_ref().unwrap().step.policy;
            assert_eq!((policy.count(Action::Build), policy.count(Action::Keep)), (1, 1), "{spec}: {policy}");
        }
    }

    /// An update by a matrix alone keeps positions and near-kernel, also where no method is kept.
    #[test]
    fn updates_keep_positions() {
        let problem = Problem::parse("elasticity3d:8", &Default::default()).unwrap();
        let a = &problem.matrix;
        let system = System { positions: Some(&problem.positions), ..a.into() };
        let (b, mut x) = (random_vector(a.shape().0, 1), vec![0.0; a.shape().0]);
        let mut solver = Solver::new(system).unwrap();
        solver.update(a).unwrap();
        assert_eq!(solver.system.positions, problem.positions);
        let _ = solver.solve(&b, &mut x).unwrap().converged().unwrap();
        let mut fixed = a.clone();
        fixed.values_mut()[0] = 1e30; // prescribes a value, so that nothing is kept
        for matrix in [&fixed, a] {
            solver.update(matrix).unwrap();
            assert_eq!(solver.system.positions, problem.positions);
            assert_eq!(solver.system.matrix.values(), matrix.values());
        }
    }
}
