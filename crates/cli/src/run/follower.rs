//! The preconditioner of a sequence, and its update in each step.

use coarsen::auto::OVER_RELAXATION;
use coarsen::backend::{Backend, Cpu, Prepared, Reused, Setup, SetupError, Update};
use coarsen::krylov::Krylov;
use coarsen::multigrid::{Multigrid, Skinning, SmoothedAggregation};
use coarsen::problems::Sequence;
use coarsen::relax::{BlockJacobi, Chebyshev, GaussSeidel, Ic0, Ilu0, Jacobi};
use coarsen::sparse::System;
use coarsen::{Action, Followed, Real, RebuildPolicy, Report, Step};

use crate::arguments::domains::{Domains, Form};
use crate::arguments::overlap::Overlap;
use crate::arguments::{Follow, Precision, Precond, Solve};
use crate::error::Failure;

/// The number of unknowns above which `auto` uses a hierarchy over the domains, from the table by size in
/// `benches/README.md`, with contact that changes in each step.
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

/// The system of each step, with a preconditioner that is built, updated and patched.
pub(crate) struct Follower {
    precond: Precond,
    follow: Follow,
    /// The reason for the choice of `auto`.
    because: &'static str,
    step: Step,
}

/// The recipe of a preconditioner.
struct Recipe {
    precond: Precond,
    mixed: bool,
    aggregation: Multigrid<SmoothedAggregation>,
    /// The recipe of skinning with the positions of the first step, so that new positions do not change the
    /// transfers.
    skinning: Multigrid<Skinning>,
    domains: Form,
    overlap: Overlap,
    /// Whether the inverses of overlapping domains are stored in f64.
    double: bool,
}

impl Follower {
    pub(crate) fn new(options: &Solve, sequence: &Sequence) -> Result<Self, Failure> {
        let auto = options.precond == Precond::Auto;
        let asked = !options.given.domains.words().is_empty();
        let unknowns = sequence.elastic().shape().0;
        let (precond, because) = if auto { automatic(unknowns, asked) } else { (options.precond, "") };
        let large = auto && !asked && unknowns > LARGE;
        let double = options.precision == Precision::F64;
        let domains = if large { Domains::over(double) } else { options.given.domains.recipe(double) };
        let mut skinning = options.given.skinning.recipe();
        skinning.coarsening.rest = Some(sequence.positions().into());
        let recipe = Recipe {
            precond,
            mixed: options.precision == Precision::Mixed,
            aggregation: options.given.aggregation.recipe(),
            skinning,
            domains,
            overlap: options.given.overlap.clone(),
            double,
        };
        let step = Step::new(sequence.system(), move |system| recipe.build(system))?;
        Ok(Self { precond, follow: options.follow, because, step })
    }

    /// The preconditioner whose options are accepted; for `auto`, options of domains.
    pub(crate) fn taken(asked: Precond) -> Precond {
        if asked == Precond::Auto { Precond::Mas } else { asked }
    }

    pub(crate) fn precond(&self) -> Precond {
        self.precond
    }

    /// The text after the name of the preconditioner in the report.
    pub(crate) fn because(&self) -> &'static str {
        self.because
    }

    /// The decisions.
    pub(crate) fn policy(&self) -> &RebuildPolicy {
        &self.step.policy
    }

    /// Takes the system of the next step.
    pub(crate) fn set(&mut self, sequence: &Sequence) -> Result<(), Failure> {
        Ok(self.step.set(sequence.system())?)
    }

    /// Decides, acts on the decision, and returns a text with the reused parts.
    pub(crate) fn follow(&mut self) -> Result<(Action, String), Failure> {
        let how = self.follow;
        let Followed { action, reused } = self.step.follow_as(|decided| match how {
            Follow::Build => Action::Build,
            Follow::Update => Action::Update,
            Follow::Policy => decided,
        })?;
        let words = match reused {
            None => "everything".to_owned(),
            Some(Reused::Structure) => "structure".to_owned(),
            Some(Reused::Rest { redone, of }) => format!("{} of {of} parts", of - redone),
            Some(Reused::Nothing) => "nothing".to_owned(),
        };
        Ok((action, words))
    }

    /// Solves the system of the step.
    pub(crate) fn solve(
        &mut self,
        method: &mut dyn Krylov<Vec<f64>>,
        b: &Vec<f64>,
        x: &mut Vec<f64>,
    ) -> Result<Report<f64>, Failure> {
        Ok(self.step.solve(method, b, x)?)
    }
}

impl Recipe {
    fn build(&self, system: System<'_, f64>) -> Result<Box<dyn Prepared<Vec<f64>, f64>>, SetupError> {
        if self.mixed { self.build_on(system, &Cpu::mixed()) } else { self.build_on(system, &Cpu::new()) }
    }

    fn build_on<S: Real>(
        &self,
        system: System<'_, f64>,
        on: &Cpu<f64, S>,
    ) -> Result<Box<dyn Prepared<Vec<f64>, f64>>, SetupError> {
        let ssor = GaussSeidel { omega: OVER_RELAXATION, ..GaussSeidel::default() };
        match self.precond {
            Precond::Sa => boxed(&self.aggregation, system, on),
            Precond::Skinning => boxed(&self.skinning, system, on),
            Precond::Mas | Precond::Auto => match &self.domains {
                Form::Additive(recipe) => boxed(recipe, system, on),
                Form::Multiplicative(recipe) => boxed(&**recipe, system, on),
            },
            Precond::None | Precond::BlockJacobi => boxed(&BlockJacobi::default(), system, on),
            Precond::Jacobi => boxed(&Jacobi::default(), system, on),
            Precond::L1Jacobi => boxed(&Jacobi { l1: true, ..Jacobi::default() }, system, on),
            Precond::Gs => boxed(&GaussSeidel::default(), system, on),
            Precond::Ssor => boxed(&ssor, system, on),
            Precond::Ic0 => boxed(&Ic0::default(), system, on),
            Precond::Ilu0 => boxed(&Ilu0, system, on),
            Precond::As | Precond::Ras => {
                boxed(&self.overlap.recipe(self.precond == Precond::Ras, self.double), system, on)
            }
            Precond::Chebyshev => boxed(&Chebyshev::default(), system, on),
        }
    }
}

fn boxed<R, B>(
    recipe: &R,
    system: System<'_, f64>,
    on: &B,
) -> Result<Box<dyn Prepared<Vec<f64>, f64>>, SetupError>
where
    B: Backend<Vector = Vec<f64>>,
    R: Setup<f64, B>,
    R::Built: Prepared<Vec<f64>, f64> + Update<f64> + 'static,
{
    Ok(Box::new(recipe.build_from(system, on)?))
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
    }
}
