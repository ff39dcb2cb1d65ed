//! The choice of method and preconditioner: from the command line, otherwise by `coarsen::auto`.

use coarsen::auto::{Auto, Ending, Method as AutoMethod, Plan, Precond as AutoPrecond, Solved};
use coarsen::sparse::System;

use crate::arguments::{Given, Method, Precision, Precond, name};
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

/// What the options ask for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    pub(crate) method: Method,
    pub(crate) precond: Precond,
    /// Whether an option excludes a direct method.
    pub(crate) iterate: bool,
    pub(crate) precision: Precision,
}

/// Chooses for a system.
pub(crate) fn choose(ready: &Ready<'_>, given: &Given, asked: Asked) -> Choice {
    let auto = Auto {
        tolerance: given.tol,
        absolute: given.atol,
        max_iterations: given.max_iterations,
        memory: given.memory(),
        method: asked.method.into(),
        precond: asked.precond.into(),
        iterate: asked.iterate,
        single: asked.precision == Precision::Auto,
        varies: given.aggregation.varies(),
    };
    let positions = ready.positions.as_deref();
    // The vectors of a problem are those of its positions.
    let near_kernel =
        ready.near_kernel.as_deref().filter(|_| positions.is_none() || given.near_kernel.is_some());
    let system = System { positions, near_kernel, ..ready.matrix().into() };
    let mut plan = ready.analysis.borrow_mut().time("forecasts", || Plan::new(auto, system, ready.seen()));
    if asked.precond == Precond::Auto && !given.aggregation.words().is_empty() {
        plan.candidates.retain(|(_, precond)| *precond != AutoPrecond::Skinning);
    }
    Choice::new(plan, asked)
}

impl Choice {
    fn new(plan: Plan, asked: Asked) -> Self {
        let auto = asked.precond == Precond::Auto && asked.method != Method::Direct;
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
        self.plan.begins().0.into()
    }

    /// The preconditioner that begins.
    pub(crate) fn precond(&self) -> Precond {
        self.plan.begins().1.into()
    }

    /// All preconditioners that may be used.
    pub(crate) fn preconds(&self) -> Vec<Precond> {
        match self.plan.candidates.is_empty() {
            true => vec![Precond::None],
            false => self.plan.candidates.iter().map(|(_, precond)| (*precond).into()).collect(),
        }
    }

    /// Whether a factor follows if iterations cost as much.
    pub(crate) fn factor_follows(&self) -> bool {
        self.plan.has_factor() && self.method() != Method::Direct
    }

    /// Excludes the factor, if there is another method.
    pub(crate) fn exclude_factor(&mut self, why: Ending) {
        self.plan.exclude_factor(why);
        self.tell();
    }

    fn tell(&mut self) {
        let how = match self.method() {
            Method::Direct => "a factorisation needs no preconditioner",
            _ if self.auto => "the lowest expected cost",
            _ => "requested",
        };
        let [method, precond] = [name(self.method()), name(self.precond())];
        self.because = [format!("{method}: {}", self.plan.reason()), format!("{precond}: {how}")];
    }

    /// Removes preconditioners that cannot be used. If the first choice changes, `why` becomes part of the
    /// reason.
    pub(crate) fn keep(&mut self, mut usable: impl FnMut(Precond) -> bool, why: &str) {
        let first = self.precond();
        self.plan.candidates.retain(|(_, precond)| usable((*precond).into()));
        if !self.plan.candidates.is_empty() && self.precond() != first {
            self.tell();
            self.because[1] = format!("{}: {} {why}", name(self.precond()), name(first));
        }
    }

    /// Replaces the reasons by what happened in the solve. Returns the note that became a reason.
    pub(crate) fn went(&mut self, solved: &Solved) -> Option<String> {
        let last = solved.attempts.last()?;
        if !self.auto || (last.method, last.precond) == self.plan.begins() {
            return None;
        }
        let matrix = self.plan.matrix();
        let note = solved.reason().map(str::to_owned);
        let told = note.clone().unwrap_or_else(|| "the lowest forecast".to_owned());
        self.because = match last.method {
            AutoMethod::Direct => [
                format!("direct: {matrix}; {told}"),
                "none: a factorisation needs no preconditioner".to_owned(),
            ],
            method => [format!("{method}: {matrix}"), format!("{}: {told}", last.precond)],
        };
        note
    }
}

impl From<Method> for Option<AutoMethod> {
    fn from(method: Method) -> Self {
        match method {
            Method::Auto => None,
            Method::Cg => Some(AutoMethod::Cg),
            Method::Fcg => Some(AutoMethod::FlexibleCg),
            Method::Minres => Some(AutoMethod::Minres),
            Method::Gmres => Some(AutoMethod::Gmres),
            Method::Bicgstab => Some(AutoMethod::BiCgStab),
            Method::Direct => Some(AutoMethod::Direct),
        }
    }
}

impl From<AutoMethod> for Method {
    fn from(method: AutoMethod) -> Self {
        match method {
            AutoMethod::Direct => Self::Direct,
            AutoMethod::Cg => Self::Cg,
            AutoMethod::FlexibleCg => Self::Fcg,
            AutoMethod::Minres => Self::Minres,
            AutoMethod::Gmres => Self::Gmres,
            AutoMethod::BiCgStab => Self::Bicgstab,
        }
    }
}

/// The preconditioners of the command line, with those of the library.
const PAIRS: [(Precond, AutoPrecond); 14] = [
    (Precond::None, AutoPrecond::None),
    (Precond::Jacobi, AutoPrecond::Jacobi),
    (Precond::L1Jacobi, AutoPrecond::L1Jacobi),
    (Precond::BlockJacobi, AutoPrecond::BlockJacobi),
    (Precond::Gs, AutoPrecond::GaussSeidel),
    (Precond::Ssor, AutoPrecond::Ssor),
    (Precond::Ic0, AutoPrecond::Ic0),
    (Precond::Ilu0, AutoPrecond::Ilu0),
    (Precond::Chebyshev, AutoPrecond::Chebyshev),
    (Precond::Sa, AutoPrecond::SmoothedAggregation),
    (Precond::Skinning, AutoPrecond::Skinning),
    (Precond::Mas, AutoPrecond::Schwarz),
    (Precond::As, AutoPrecond::OverlappingSchwarz),
    (Precond::Ras, AutoPrecond::RestrictedSchwarz),
];

/// `None` for `auto`.
impl From<Precond> for Option<AutoPrecond> {
    fn from(precond: Precond) -> Self {
        PAIRS.iter().find(|(of, _)| *of == precond).map(|(_, named)| *named)
    }
}

impl From<AutoPrecond> for Precond {
    fn from(precond: AutoPrecond) -> Self {
        PAIRS.iter().find(|(_, of)| *of == precond).map_or(Self::Auto, |(named, _)| *named)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coarsen::diagnose::diagnose;
    use coarsen::sparse::Bsr;
    use coarsen::sparse::assembly::from_triplets;

    fn choose(a: &Bsr<f64>, method: Method, precond: Precond, iterate: bool) -> Choice {
        let auto = Auto { method: method.into(), precond: precond.into(), iterate, ..Auto::default() };
        let plan = Plan::new(auto, a.into(), &diagnose(a));
        Choice::new(plan, Asked { method, precond, iterate, precision: Precision::Auto })
    }

    #[test]
    fn a_requested_method_is_used() {
        let a = from_triplets(2, 2, &[(0, 0, 2.0), (0, 1, 1.0), (1, 0, 1.0), (1, 1, 2.0)]).unwrap();
        let choice = choose(&a, Method::Minres, Precond::Jacobi, true);
        assert_eq!((choice.method(), choice.preconds()), (Method::Minres, vec![Precond::Jacobi]));
        assert_eq!(choice.because, ["minres: requested", "jacobi: requested"]);
        let choice = choose(&a, Method::Auto, Precond::Auto, false);
        assert_eq!((choice.method(), choice.precond()), (Method::Direct, Precond::None));
    }

    #[test]
    fn every_preconditioner_has_one_name() {
        for (precond, named) in PAIRS {
            assert_eq!((Option::from(precond), Precond::from(named)), (Some(named), precond));
            assert_eq!(name(precond), named.to_string());
        }
    }
}
