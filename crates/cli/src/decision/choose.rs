//! The choice of method and preconditioner: from the command line, otherwise by `coarsen::auto`.

use coarsen::auto::{
    Candidate, Costs, Event, FactorCost, Kind, Last, Method as AutoMethod, NoFactor, Options, Plan, Run, Why,
};

use crate::arguments::{Given, Method, Precond, name};
use crate::input::ready::Ready;

/// The choice and its reasons.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    pub(crate) plan: Plan,
    /// The reason for the method and the reason for the preconditioner, one line each.
    pub(crate) because: [String; 2],
    /// Whether the preconditioner is chosen here.
    auto: bool,
}

/// The options that matter for the choice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wish {
    pub(crate) method: Method,
    pub(crate) precond: Precond,
    /// Whether an option excludes a direct method.
    pub(crate) iterate: bool,
}

/// Whether skinning is a candidate: for a solid whose positions are known, if no file has
/// a near null space and no option is for smoothed aggregation.
fn is_solid(ready: &Ready<'_>, given: &Given) -> bool {
    let open = given.near_kernel.is_none() && given.aggregation.words().is_empty();
    let positions = ready.positions.as_deref().filter(|_| open);
    positions.is_some_and(|positions| coarsen::auto::is_solid(ready.matrix(), positions))
}

/// Chooses for a system.
pub(crate) fn choose(ready: &Ready<'_>, given: &Given, wish: Wish) -> Choice {
    let options = Options {
        method: wish.method.into(),
        iterate: wish.iterate,
        varies: given.aggregation.varies(),
        solid: is_solid(ready, given),
        near_kernel: ready.positions.is_some() || ready.near_kernel.is_some(),
        memory: given.memory(),
        tolerance: given.tol,
    };
    let costs = |factor| ready.looks.borrow_mut().time("forecasts", || Costs::of(ready.matrix(), factor));
    let plan = Plan::new(options, ready.input.b.len(), ready.seen(), costs);
    Choice::new(plan, options, wish)
}

impl Choice {
    fn new(mut plan: Plan, options: Options, wish: Wish) -> Self {
        let auto = wish.precond == Precond::Auto && wish.method != Method::Direct;
        if let (false, Some(kind)) = (plan.candidates.is_empty(), Option::from(wish.precond)) {
            // The method that the plan has with it; otherwise the first one, if it can take it.
            let planned = || plan.candidates.iter().find(|candidate| candidate.kind == kind);
            let unsymmetric = matches!(kind, Kind::Ilu0 | Kind::RestrictedSchwarz);
            let method =
                options.method.unwrap_or_else(|| match planned().map(|candidate| candidate.method) {
                    Some(method) => method,
                    None if unsymmetric => AutoMethod::Gmres,
                    None if plan.candidates[0].method == AutoMethod::BiCgStab => AutoMethod::Gmres,
                    None => plan.candidates[0].method,
                });
            plan.candidates = vec![Candidate { method, kind }];
        }
        let mut choice = Self { plan, because: Default::default(), auto };
        choice.tell();
        choice
    }

    /// Whether methods are chosen here.
    pub(crate) fn is_auto(&self) -> bool {
        self.auto
    }

    /// The method that begins.
    pub(crate) fn method(&self) -> Method {
        match self.plan.begins() {
            Last::Factor => Method::Direct,
            Last::Iterations(method, _) => method.into(),
        }
    }

    /// The preconditioner that begins.
    pub(crate) fn precond(&self) -> Precond {
        match self.plan.begins() {
            Last::Factor => Precond::None,
            Last::Iterations(_, kind) => kind.into(),
        }
    }

    /// All preconditioners that may be used.
    pub(crate) fn preconds(&self) -> Vec<Precond> {
        match self.plan.candidates.is_empty() {
            true => vec![Precond::None],
            false => self.plan.candidates.iter().map(|candidate| candidate.kind.into()).collect(),
        }
    }

    /// Whether a factor follows if iterations cost as much.
    pub(crate) fn factor_follows(&self) -> bool {
        !matches!(self.plan.factor, FactorCost::None(_)) && self.method() != Method::Direct
    }

    /// Excludes the factor, if there is another method.
    pub(crate) fn exclude_factor(&mut self, why: NoFactor) {
        if self.plan.candidates.is_empty() {
            return;
        }
        self.plan.factor = FactorCost::None(why);
        self.plan.first = self.plan.first.filter(|first| *first != Last::Factor);
        if self.plan.reason.why == Why::Few {
            self.plan.reason.why = Why::Cheapest;
        }
        self.tell();
    }

    fn tell(&mut self) {
        let (method, precond) = (name(self.method()), name(self.precond()));
        let how = match self.plan.begins() {
            Last::Factor => "a factorisation needs no preconditioner",
            _ if self.auto => "the lowest expected cost",
            _ => "requested",
        };
        self.because = [format!("{method}: {}", self.plan.reason), format!("{precond}: {how}")];
    }

    /// Removes preconditioners that cannot be used. If the first choice changes, `why` becomes part of the
    /// reason.
    pub(crate) fn keep(&mut self, mut usable: impl FnMut(Precond) -> bool, why: &str) {
        let first = self.precond();
        self.plan.candidates.retain(|candidate| usable(candidate.kind.into()));
        if !self.plan.candidates.is_empty() && self.precond() != first {
            self.tell();
            self.because[1] = format!("{}: {} {why}", name(self.precond()), name(first));
        }
    }

    /// Replaces the reasons by the course of the run. Returns the event that became a reason.
    pub(crate) fn went(&mut self, run: &Run) -> Option<String> {
        if !self.auto || run.last == self.plan.begins() {
            return None;
        }
        let reason = match self.plan.reason.why {
            Why::Asked => String::from("requested"),
            _ => format!("{}; {} unknowns", self.plan.reason.matrix, self.plan.reason.unknowns),
        };
        let told = run.events.iter().rev().find(|event| match (event, run.last) {
            (Event::Factored { .. }, Last::Factor) => true,
            (Event::Left { from, .. }, last) => *from != last,
            _ => false,
        });
        let event = told.map(Event::to_string);
        let told = event.clone().unwrap_or_else(|| "the lowest forecast".to_owned());
        self.because = match run.last {
            Last::Factor => [
                format!("direct: {reason}; {told}"),
                "none: a factorisation needs no preconditioner".to_owned(),
            ],
            Last::Iterations(method, kind) => [format!("{method}: {reason}"), format!("{kind}: {told}")],
        };
        event
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

/// The preconditioners of the command line, with those of the library.
const PAIRS: [(Precond, Kind); 14] = [
    (Precond::None, Kind::Identity),
    (Precond::Jacobi, Kind::Jacobi),
    (Precond::L1Jacobi, Kind::L1Jacobi),
    (Precond::BlockJacobi, Kind::BlockJacobi),
    (Precond::Gs, Kind::GaussSeidel),
    (Precond::Ssor, Kind::Ssor),
    (Precond::Ic0, Kind::Ic0),
    (Precond::Ilu0, Kind::Ilu0),
    (Precond::Chebyshev, Kind::Chebyshev),
    (Precond::Sa, Kind::SmoothedAggregation),
    (Precond::Skinning, Kind::Skinning),
    (Precond::Mas, Kind::Schwarz),
    (Precond::As, Kind::OverlappingSchwarz),
    (Precond::Ras, Kind::RestrictedSchwarz),
];

/// `None` for `auto`.
impl From<Precond> for Option<Kind> {
    fn from(precond: Precond) -> Self {
        PAIRS.iter().find(|(of, _)| *of == precond).map(|(_, kind)| *kind)
    }
}

impl From<Kind> for Precond {
    fn from(kind: Kind) -> Self {
        PAIRS.iter().find(|(_, of)| *of == kind).map_or(Self::Auto, |(precond, _)| *precond)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coarsen::diagnose::diagnose;
    use coarsen::sparse::Bsr;
    use coarsen::sparse::assembly::from_triplets;

    fn choose(a: &Bsr<f64>, method: Method, precond: Precond, iterate: bool) -> Choice {
        let options = Options { method: method.into(), iterate, ..Options::default() };
        let plan = Plan::new(options, a.shape().0, &diagnose(a), |factor| Costs::of(a, factor));
        Choice::new(plan, options, Wish { method, precond, iterate })
    }

    #[test]
    fn what_is_asked_for_is_done() {
        let a = from_triplets(2, 2, &[(0, 0, 2.0), (0, 1, 1.0), (1, 0, 1.0), (1, 1, 2.0)]).unwrap();
        let choice = choose(&a, Method::Minres, Precond::Jacobi, true);
        assert_eq!((choice.method(), choice.preconds()), (Method::Minres, vec![Precond::Jacobi]));
        assert_eq!(choice.because, ["minres: requested", "jacobi: requested"]);
        let choice = choose(&a, Method::Auto, Precond::Auto, false);
        assert_eq!((choice.method(), choice.precond()), (Method::Direct, Precond::None));
    }

    #[test]
    fn every_preconditioner_has_one_name() {
        for (precond, kind) in PAIRS {
            assert_eq!((Option::from(precond), Precond::from(kind)), (Some(kind), precond));
            assert_eq!(name(precond), kind.to_string());
        }
    }
}
