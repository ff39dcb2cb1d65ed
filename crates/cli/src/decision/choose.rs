//! The choice of method and preconditioner: from the command line, otherwise by `coarsen::auto`.

use coarsen::auto::{Costs, Course, Event, Kind, Last, NoFactor, Plan, Reason};
use coarsen::diagnose::Diagnosis;

use crate::arguments::{Given, Method, Precond, name};
use crate::input::ready::Ready;

/// The choice and its reasons.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    pub(crate) method: Method,
    /// The preconditioners to try, never empty: the first that can be set up is used.
    pub(crate) preconds: Vec<Precond>,
    /// The reason for the method and the reason for the preconditioner, one line each.
    pub(crate) because: [String; 2],
    /// The plan for several attempts, if `auto` decides.
    pub(crate) plan: Option<Plan>,
    /// The reason why the cost has no bound, if `auto` chooses the preconditioner and there is no plan.
    pub(crate) unbounded: Option<NoFactor>,
}

/// The options that matter for the choice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wish {
    pub(crate) method: Method,
    pub(crate) precond: Precond,
    /// Whether an option excludes a direct method.
    pub(crate) iterate: bool,
    /// Whether smoothed aggregation is a variable preconditioner.
    pub(crate) varies: bool,
    /// Whether skinning is tried before smoothed aggregation.
    pub(crate) solid: bool,
    /// Memory limit of a factor in bytes.
    pub(crate) memory: usize,
}

/// Whether skinning is tried before smoothed aggregation: for a solid whose positions are known, if no file has
/// a near null space and no option is for smoothed aggregation.
pub(crate) fn is_solid(ready: &Ready<'_>, given: &Given) -> bool {
    let open = given.near_kernel.is_none() && given.aggregation.words().is_empty();
    let positions = ready.positions.as_deref().filter(|_| open);
    positions.is_some_and(|positions| coarsen::auto::is_solid(&ready.matrix, positions))
}

/// Chooses for a system.
pub(crate) fn choose(ready: &Ready<'_>, wish: Wish) -> Choice {
    let costs = |factor| ready.looks.borrow_mut().time("forecasts", || Costs::of(&ready.matrix, factor));
    Choice::new(wish, ready.input.b.len(), &ready.diagnosis, costs)
}

impl Choice {
    /// Chooses. `measure` computes the costs and is called only if there is more than one candidate; its
    /// argument states whether a factor is a candidate.
    pub(crate) fn new(
        wish: Wish,
        n: usize,
        diagnosis: &Diagnosis,
        measure: impl FnOnce(bool) -> Costs,
    ) -> Self {
        let Wish { iterate, varies, solid, memory, .. } = wish;
        let auto = coarsen::auto::Wish { method: wish.method.into(), iterate, varies, solid, memory };
        let choice = coarsen::auto::Choice::new(auto, n, diagnosis, measure);
        let method = choice.method.into();
        let (preconds, how, plan) = match wish.precond {
            _ if method == Method::Direct => (vec![Precond::None], Reason::NeedsNone, None),
            Precond::Auto => (choice.preconds.into_iter().map(Into::into).collect(), choice.how, choice.plan),
            asked => (vec![asked], Reason::Asked, None),
        };
        let iterated = wish.precond == Precond::Auto && plan.is_none() && method != Method::Direct;
        let unbounded = iterated.then_some(match choice.why {
            Reason::Seen { .. } if !iterate => NoFactor::Unknown,
            _ => NoFactor::Unwanted,
        });
        let because = [format!("{}: {}", name(method), choice.why), format!("{}: {how}", name(preconds[0]))];
        Self { method, preconds, because, plan, unbounded }
    }

    /// Removes preconditioners that cannot be used. If the first choice changes, `why` becomes part of the
    /// reason.
    pub(crate) fn keep(&mut self, mut usable: impl FnMut(Precond) -> bool, why: &str) {
        let first = self.preconds[0];
        self.preconds.retain(|&precond| usable(precond));
        if let Some(plan) = &mut self.plan {
            plan.kinds.retain(|&kind| usable(kind.into()));
        }
        if let Some(&taken) = self.preconds.first().filter(|&&taken| taken != first) {
            self.because[1] = format!("{}: {} {why}", name(taken), name(first));
        }
    }

    /// Replaces the reasons by the course of the run.
    pub(crate) fn went(&mut self, course: &Course) {
        let seen = self.because[0].split_once(": ").map_or("", |(_, seen)| seen).to_owned();
        let end = |event: &Event| match (event, course.last) {
            (Event::Bought { .. }, Last::Factor) => true,
            (Event::GivenUp { next, .. }, Last::Iterations(kind)) => *next == kind,
            (Event::Turn { .. }, Last::Iterations(_)) => true,
            _ => false,
        };
        let told = course.events.iter().rev().find(|event| end(event));
        let told = told.map_or_else(|| "the cheapest by its forecasts".to_owned(), Event::to_string);
        (self.method, self.preconds, self.because) = match course.last {
            Last::Factor => {
                let why = [format!("direct: {seen}; {told}"), format!("none: {}", Reason::NeedsNone)];
                (Method::Direct, vec![Precond::None], why)
            }
            Last::Iterations(kind) => {
                let why = [self.because[0].clone(), format!("{kind}: {told}")];
                (self.method, vec![kind.into()], why)
            }
        };
    }
}

impl From<Method> for Option<coarsen::auto::Method> {
    fn from(method: Method) -> Self {
        match method {
            Method::Auto => None,
            Method::Cg => Some(coarsen::auto::Method::Cg),
            Method::Fcg => Some(coarsen::auto::Method::FlexibleCg),
            Method::Minres => Some(coarsen::auto::Method::Minres),
            Method::Gmres => Some(coarsen::auto::Method::Gmres),
            Method::Bicgstab => Some(coarsen::auto::Method::BiCgStab),
            Method::Direct => Some(coarsen::auto::Method::Direct),
        }
    }
}

impl From<coarsen::auto::Method> for Method {
    fn from(method: coarsen::auto::Method) -> Self {
        match method {
            coarsen::auto::Method::Direct => Self::Direct,
            coarsen::auto::Method::Cg => Self::Cg,
            coarsen::auto::Method::FlexibleCg => Self::Fcg,
            coarsen::auto::Method::Minres => Self::Minres,
            coarsen::auto::Method::Gmres => Self::Gmres,
            coarsen::auto::Method::BiCgStab => Self::Bicgstab,
        }
    }
}

impl From<Kind> for Precond {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Identity => Self::None,
            Kind::Jacobi => Self::Jacobi,
            Kind::BlockJacobi => Self::BlockJacobi,
            Kind::Ic0 => Self::Ic0,
            Kind::Ilu0 => Self::Ilu0,
            Kind::SmoothedAggregation => Self::Sa,
            Kind::Skinning => Self::Skinning,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coarsen::auto::MEMORY;
    use coarsen::diagnose::diagnose;
    use coarsen::sparse::Bsr;
    use coarsen::sparse::assembly::from_triplets;

    fn choose(a: &Bsr<f64>, method: Method, precond: Precond, iterate: bool) -> Choice {
        let wish = Wish { method, precond, iterate, varies: false, solid: false, memory: MEMORY };
        Choice::new(wish, a.shape().0, &diagnose(a), |factor| Costs::of(a, factor))
    }

    fn square(entries: [f64; 4]) -> Bsr<f64> {
        let [a, b, c, d] = entries;
        from_triplets(2, 2, &[(0, 0, a), (0, 1, b), (1, 0, c), (1, 1, d)]).unwrap()
    }

    #[test]
    fn what_is_asked_for_is_done() {
        let a = square([2.0, 1.0, 1.0, 2.0]);
        let choice = choose(&a, Method::Minres, Precond::Jacobi, true);
        assert_eq!((choice.method, choice.preconds), (Method::Minres, vec![Precond::Jacobi]));
        assert_eq!(choice.because, ["minres: requested", "jacobi: requested"]);
        assert!(choice.plan.is_none(), "there are no alternatives");
        let choice = choose(&a, Method::Auto, Precond::Auto, false);
        assert_eq!((choice.method, choice.preconds), (Method::Direct, vec![Precond::None]));
    }
}
