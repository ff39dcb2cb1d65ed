//! The preconditioner of a sequence, its update in each step, and the next kind after a failure.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Instant;

use coarsen::auto::Precond as AutoPrecond;
use coarsen::backend::{Cpu, Prepared, Reused, SetupError};
use coarsen::krylov::{Cg, Krylov};
use coarsen::problems::Sequence;
use coarsen::sparse::System;
use coarsen::{Action, AnyError, Decision, Outcome, Step, StepUpdate};
use serde::{Serialize, Serializer};

use super::backend::{Parameters, SolveBackend};
use crate::arguments::domains::Domains;
use crate::arguments::{Precision, Precond, Solve, UpdatePolicy, name};
use crate::error::Failure;
use crate::words::told;

/// The number of unknowns above which `auto` uses a hierarchy over the domains, from the table by size
/// (`benches/results/show.py mas/steps`), with contact that changes in each step.
const LARGE: usize = 100_000;

/// The number of unknowns above which `auto` uses smoothed aggregation, from the same table.
const LARGEST: usize = 250_000;

/// The choice of `auto` by the number of unknowns, and the reason; `asked` states that options select a form
/// of domains.
fn automatic(unknowns: usize, asked: bool) -> (Precond, &'static str) {
    match unknowns {
        _ if asked => (Precond::Mas, " (auto, in the requested form)"),
        n if n > LARGEST => (
            Precond::Sa,
            " (auto: above 250,000 unknowns its few iterations make up for a setup in each step)",
        ),
        n if n > LARGE => (
            Precond::Mas,
            " with a hierarchy above (auto: above 100,000 unknowns its few iterations make up for its setup)",
        ),
        _ => (
            Precond::Mas,
            " (auto: up to 100,000 unknowns patching the domains is the cheapest way to include contact)",
        ),
    }
}

/// The kinds that `auto` takes in turn: the first is its choice, and a kind that fails gives way to the next.
fn kinds(first: Precond) -> Vec<Precond> {
    let others = [Precond::Mas, Precond::Sa, Precond::BlockJacobi].into_iter().filter(|&kind| kind != first);
    std::iter::once(first).chain(others).collect()
}

/// The system of each step, with a preconditioner that is built, updated and patched.
pub(crate) struct SequenceSolver {
    /// One kind, or those of `auto`.
    kinds: Vec<Precond>,
    /// The kind that is built.
    kind: Rc<Cell<Precond>>,
    /// The kind that failed, until the next one is built.
    failed: Option<Precond>,
    /// Whether the last solve failed or continued from a failed one, so that its iterations are no reference: the
    /// preconditioner is built again.
    is_stale: bool,
    update: UpdatePolicy,
    /// The reason for the choice of `auto`.
    because: &'static str,
    step: Step,
}

/// How the system of a step was solved.
#[derive(Serialize)]
pub(crate) struct Solved {
    /// The kind, the action and the reused parts of the last attempt.
    pub(crate) precond: Precond,
    #[serde(serialize_with = "by_action")]
    pub(crate) action: Action,
    pub(crate) reused: String,
    /// The reasons for the actions of all attempts.
    pub(crate) because: String,
    pub(crate) setup_seconds: f64,
    pub(crate) solve_seconds: f64,
    /// The iterations of all attempts.
    pub(crate) iterations: usize,
    /// The residual and the outcome of the best attempt.
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
        let auto = options.precond == Precond::Auto;
        let asked = options.given.of_preconds.first("mas_").is_some();
        let unknowns = sequence.elastic().shape().0;
        let (precond, because) = if auto { automatic(unknowns, asked) } else { (options.precond, "") };
        let mut parameters = Parameters::of(&options.given, options.precision);
        if auto && !asked && unknowns > LARGE {
            parameters.domains = Domains::over(options.precision == Precision::F64);
        }
        // Those of the first step, so that new positions do not change the transfers.
        parameters.named.skinning.coarsening.rest = Some(sequence.positions().into());
        let kind = Rc::new(Cell::new(precond));
        let (current, mixed) = (kind.clone(), options.precision == Precision::Mixed);
        let build = move |system: System<'_, f64>| -> Result<Box<dyn Prepared<Vec<f64>, f64>>, SetupError> {
            let named = Option::from(current.get()).unwrap_or(AutoPrecond::Schwarz);
            Ok(match mixed {
                true => Cpu::mixed().build(named, &parameters, system)?.0,
                false => Cpu::new().build(named, &parameters, system)?.0,
            })
        };
        let step = Step::new(sequence.system(), build)?;
        let kinds = if auto { kinds(precond) } else { vec![precond] };
        Ok(Self { kinds, kind, failed: None, is_stale: false, update: options.update, because, step })
    }

    /// The preconditioner whose options are accepted; for `auto`, options of domains.
    pub(crate) fn taken(asked: Precond) -> Precond {
        if asked == Precond::Auto { Precond::Mas } else { asked }
    }

    /// The preconditioner of the first step.
    pub(crate) fn precond(&self) -> Precond {
        self.kinds[0]
    }

    /// The text after the name of the preconditioner in the report.
    pub(crate) fn because(&self) -> &'static str {
        self.because
    }

    /// Takes the system of the next step.
    pub(crate) fn set(&mut self, sequence: &Sequence) -> Result<(), Failure> {
        Ok(self.step.set(sequence.system())?)
    }

    /// Solves the system of the step, from zero. A preconditioner that fails is built again if it was not built in this
    /// step, and gives way to the next kind otherwise. The next attempt continues from the best x, within the same limit of
    /// iterations. As its iterations are then no reference, the next step builds.
    pub(crate) fn solve(&mut self, cg: &mut Cg, b: &Vec<f64>) -> Result<Solved, Failure> {
        let limit = cg.stop_mut().max_iterations;
        let (mut x, mut best) = (vec![0.0; b.len()], vec![0.0; b.len()]);
        let mut solved = Solved {
            precond: self.kind.get(),
            action: Action::Build,
            reused: String::new(),
            because: String::new(),
            setup_seconds: 0.0,
            solve_seconds: 0.0,
            iterations: 0,
            residual: f64::INFINITY,
            outcome: Outcome::NotFinite,
        };
        let mut others = self.kinds.len() - 1;
        loop {
            let begun = Instant::now();
            let updated = self.update_preconditioner(&mut solved);
            solved.setup_seconds += begun.elapsed().as_secs_f64();
            match updated {
                Ok(()) => {}
                Err(AnyError::Setup(error)) if others > 0 => {
                    others -= 1;
                    solved.because += &format!("{}; ", told(&error));
                    self.take_next_kind();
                    continue;
                }
                Err(error) => return Err(error.into()),
            }
            cg.stop_mut().max_iterations = limit - solved.iterations;
            let begun = Instant::now();
            let report = self.step.solve(cg, b, &mut x)?;
            solved.solve_seconds += begun.elapsed().as_secs_f64();
            solved.iterations += report.iterations;
            if report.true_residual < solved.residual || report.outcome == Outcome::Converged {
                (solved.residual, solved.outcome) = (report.true_residual, report.outcome);
                best.copy_from_slice(&x);
            }
            self.is_stale = report.outcome != Outcome::Converged || report.iterations < solved.iterations;
            if report.outcome == Outcome::Converged {
                break;
            }
            if solved.action == Action::Build {
                self.take_next_kind();
                let Some(left) = others.checked_sub(1) else { break };
                others = left;
            }
            if solved.iterations >= limit {
                break;
            }
            x.copy_from_slice(&best);
            solved.because += "; ";
        }
        cg.stop_mut().max_iterations = limit;
        Ok(solved)
    }

    /// Decides, acts on the decision, and writes down what was done and why.
    fn update_preconditioner(&mut self, solved: &mut Solved) -> Result<(), AnyError> {
        let requested = match self.update {
            _ if std::mem::take(&mut self.is_stale) => Some(Action::Build),
            UpdatePolicy::Build => Some(Action::Build),
            UpdatePolicy::Update => Some(Action::Update),
            UpdatePolicy::Policy => None,
        };
        let StepUpdate { action, reused } = self.step.update_as(|decided| requested.unwrap_or(decided))?;
        let reused = match reused {
            None => "everything".to_owned(),
            Some(Reused::Structure) => "structure".to_owned(),
            Some(Reused::Rest { redone, of }) => format!("{} of {of} parts", of - redone),
            Some(Reused::Nothing) => "nothing".to_owned(),
            Some(_) => "some parts".to_owned(),
        };
        (solved.precond, solved.action, solved.reused) = (self.kind.get(), action, reused);
        let failed = self.failed.take();
        solved.because += &match self.step.policy.log() {
            [_, .., Decision { before: None | Some((_, Outcome::Converged)), .. }]
                if self.update == UpdatePolicy::Build
                    || self.update == UpdatePolicy::Update && action == Action::Update =>
            {
                format!("{}: requested", action.name())
            }
            [.., last] => last.to_string(),
            [] => String::new(),
        };
        if let Some(failed) = failed {
            solved.because += &format!(", so {} follows {}", name(self.kind.get()), name(failed));
        }
        Ok(())
    }

    /// Goes to the kind after the present one; after the last, to the first.
    fn take_next_kind(&mut self) {
        let kind = self.kind.get();
        let at = self.kinds.iter().position(|&other| other == kind).map_or(0, |at| at + 1);
        let next = self.kinds[at % self.kinds.len()];
        if next != kind {
            self.kind.set(next);
            self.failed = Some(kind);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn auto_follows_the_table_by_size() {
        let taken = |unknowns, asked| automatic(unknowns, asked).0;
        assert_eq!([10_000, 100_000, 100_001, 250_000].map(|n| taken(n, false)), [Precond::Mas; 4]);
        assert_eq!(taken(250_001, false), Precond::Sa);
        assert_eq!(taken(1_000_000, true), Precond::Mas);
        assert!(automatic(100_000, false).1 != automatic(100_001, false).1);
        assert_eq!(kinds(Precond::Sa), [Precond::Sa, Precond::Mas, Precond::BlockJacobi]);
    }
}
