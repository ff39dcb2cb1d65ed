//! The solver of a sequence: `auto`, or a preconditioner and its update in each step.

use std::time::Instant;

use coarsen::auto::{Auto, Ending, Method, Precond as AutoPrecond};
use coarsen::backend::{Cpu, Prepared, Reused, SetupError};
use coarsen::krylov::{Cg, Krylov};
use coarsen::problems::Sequence;
use coarsen::sparse::System;
use coarsen::{Action, AnyError, Decision, Outcome, RebuildPolicy, Solver, Step, StepUpdate};
use serde::{Serialize, Serializer};

use super::backend::{Parameters, SolveBackend};
use crate::arguments::{Precision, Precond, Solve, UpdatePolicy, name};
use crate::error::Failure;
use crate::words::options as told;

/// The system of each step, and what solves it.
pub(crate) enum SequenceSolver {
    /// `auto`: the method is chosen in the first step and kept while it converges.
    Auto(Box<Solver>),
    /// A preconditioner that is built, updated and patched.
    Named {
        kind: Precond,
        update: UpdatePolicy,
        /// Whether the last solve failed, so that its iterations are no reference: the preconditioner is built again.
        is_stale: bool,
        step: Box<Step>,
    },
}

/// How the system of a step was solved.
#[derive(Serialize)]
pub(crate) struct Solved {
    /// The preconditioner or the factor, the action and the reused parts of the last attempt.
    pub(crate) precond: String,
    #[serde(serialize_with = "by_action")]
    pub(crate) action: Action,
    /// `None` with `auto`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reused: Option<String>,
    /// The reason for the action.
    pub(crate) because: String,
    pub(crate) setup_seconds: f64,
    pub(crate) solve_seconds: f64,
    /// The iterations of all attempts.
    pub(crate) iterations: usize,
    pub(crate) residual: f64,
    #[serde(serialize_with = "by_outcome")]
    pub(crate) outcome: Outcome,
}

fn by_action<S: Serializer>(action: &Action, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(action.name())
}

fn by_outcome<S: Serializer>(outcome: &Outcome, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(outcome.name())
}

impl SequenceSolver {
    pub(crate) fn new(options: &Solve, sequence: &Sequence) -> Result<Self, Failure> {
        let given = &options.given;
        if options.precond == Precond::Auto {
            let mut solver = Solver::new(sequence.system())?;
            solver.auto = Auto {
                tolerance: given.tol,
                absolute: given.atol,
                max_iterations: given.max_iterations,
                memory: given.memory(),
                method: options.method.into(),
                iterate: options.precision == Precision::Mixed,
                single: options.precision != Precision::F64,
                ..Auto::default()
            };
            return Ok(Self::Auto(Box::new(solver)));
        }
        let mut parameters = Parameters::of(given, options.precision);
        // Those of the first step, so that new positions do not change the transfers.
        parameters.named.skinning.coarsening.rest = Some(sequence.positions().into());
        let (kind, mixed) = (options.precond, options.precision == Precision::Mixed);
        let build = move |system: System<'_, f64>| -> Result<Box<dyn Prepared<_, f64> + Send>, SetupError> {
            let named = Option::from(kind).unwrap_or(AutoPrecond::Schwarz);
            Ok(match mixed {
                true => Cpu::mixed().build(named, &parameters, system)?.0,
                false => Cpu::new().build(named, &parameters, system)?.0,
            })
        };
        let step = Box::new(Step::new(sequence.system(), build)?);
        Ok(Self::Named { kind, update: options.update, is_stale: false, step })
    }

    /// Takes the system of the next step.
    pub(crate) fn set(&mut self, sequence: &Sequence) -> Result<(), Failure> {
        match self {
            Self::Auto(solver) => solver.update(sequence.system())?,
            Self::Named { step, .. } => step.set(sequence.system())?,
        }
        Ok(())
    }

    /// Solves the system of the step, from zero, by `auto` or by conjugate gradients.
    pub(crate) fn solve(&mut self, cg: &mut Cg, b: &Vec<f64>) -> Result<Solved, Failure> {
        let (begun, mut x) = (Instant::now(), vec![0.0; b.len()]);
        match self {
            Self::Auto(solver) => {
                let solved = solver.solve(b, &mut x)?;
                let solve_seconds = solved.attempts.iter().map(|attempt| attempt.solve_seconds).sum();
                let setup_seconds = begun.elapsed().as_secs_f64() - solve_seconds;
                let (solved, outcome) = match solved.ending {
                    Ending::Method(outcome) => (solved, outcome),
                    _ => (solved.converged().map_err(AnyError::from)?, Outcome::Converged), // an error names the cause
                };
                let last = solved.attempts.last();
                // A method that was kept has made the last decision.
                let log = solver.policy().map_or(&[][..], RebuildPolicy::log);
                let decision = log.last().filter(|decision| !decision.first && solved.attempts.len() == 1);
                let because = match decision {
                    Some(decision) => decision.to_string(),
                    None if solved.notes().is_empty() => "build: the choice of auto".to_owned(),
                    None => format!("build: {}", told(&solved.notes().join("; "))),
                };
                let precond = match last {
                    Some(last) if last.method == Method::Direct => "a factor".to_owned(),
                    Some(last) => name(Precond::from(last.precond)).to_owned(),
                    None => String::new(),
                };
                Ok(Solved {
                    precond,
                    action: decision.map_or(Action::Build, |decision| decision.action),
                    reused: None,
                    because,
                    setup_seconds,
                    solve_seconds,
                    iterations: solved.iterations,
                    residual: solved.true_residual,
                    outcome,
                })
            }
            Self::Named { kind, update, is_stale, step } => {
                let requested = match update {
                    _ if *is_stale => Some(Action::Build),
                    UpdatePolicy::Build => Some(Action::Build),
                    UpdatePolicy::Update => Some(Action::Update),
                    UpdatePolicy::Policy => None,
                };
                let mut done = step.update_as(|decided| requested.unwrap_or(decided))?;
                let mut setup_seconds = begun.elapsed().as_secs_f64();
                let mut because = because(step.policy.log(), *update, done.action);
                let mut report = step.solve(cg, b, &mut x)?;
                let mut iterations = report.iterations;
                let limit = cg.stop_mut().max_iterations;
                // What was not built for this step is built, and the solve goes on from x. Its iterations are no reference.
                *is_stale = report.outcome != Outcome::Converged;
                if *is_stale && done.action != Action::Build && iterations < limit {
                    let rebuilt = Instant::now();
                    done = step.update_as(|_| Action::Build)?;
                    setup_seconds += rebuilt.elapsed().as_secs_f64();
                    because = step.policy.log().last().map_or(because, Decision::to_string);
                    cg.stop_mut().max_iterations = limit - iterations;
                    report = step.solve(cg, b, &mut x)?;
                    cg.stop_mut().max_iterations = limit;
                    iterations += report.iterations;
                }
                Ok(Solved {
                    precond: name(*kind).to_owned(),
                    action: done.action,
                    reused: Some(reused(done)),
                    because,
                    setup_seconds,
                    solve_seconds: begun.elapsed().as_secs_f64() - setup_seconds,
                    iterations,
                    residual: report.true_residual,
                    outcome: report.outcome,
                })
            }
        }
    }
}

/// The reason for the last action of a log.
fn because(log: &[Decision], update: UpdatePolicy, action: Action) -> String {
    match log {
        [_, .., Decision { before: None | Some((_, Outcome::Converged)), .. }]
            if update == UpdatePolicy::Build
                || update == UpdatePolicy::Update && action == Action::Update =>
        {
            format!("{}: requested", action.name())
        }
        [.., last] => last.to_string(),
        [] => String::new(),
    }
}

/// The part of the preconditioner that was kept.
fn reused(done: StepUpdate) -> String {
    match done.reused {
        None => "everything".to_owned(),
        Some(Reused::Structure) => "structure".to_owned(),
        Some(Reused::Rest { redone, of }) => format!("{} of {of} parts", of - redone),
        Some(Reused::Nothing) => "nothing".to_owned(),
        Some(_) => "some parts".to_owned(),
    }
}
