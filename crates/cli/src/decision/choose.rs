//! The choice of method and preconditioner: from the command line, otherwise by `coarsen::auto`.

use clap::ValueEnum;
use coarsen::auto::{Auto, Ending, Method as AutoMethod, Plan, Precond as AutoPrecond, Solved};
use coarsen::sparse::System;

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

/// Chooses for a system; `asked` has the method and the preconditioner that are asked for, and what excludes others.
pub(crate) fn choose(ready: &Ready<'_>, given: &Given, asked: Auto) -> Choice {
    let auto = Auto {
        tolerance: given.tol,
        absolute: given.atol,
        max_iterations: given.max_iterations,
        memory: given.memory(),
        varies: given.aggregation.varies(),
        ..asked
    };
    let positions = ready.positions.as_deref();
    // The vectors of a problem are those of its positions.
    let near_kernel =
        ready.near_kernel.as_deref().filter(|_| positions.is_none() || given.near_kernel.is_some());
    let system = System { positions, near_kernel, ..ready.matrix().into() };
    let diagnosis = ready.adapted_diagnosis();
    let mut plan = ready.analysis.borrow_mut().time("forecasts", || Plan::new(auto, system, diagnosis));
    if auto.precond.is_none() && given.of_preconds.first("sa_").is_some() {
        plan.candidates.retain(|(_, precond)| *precond != AutoPrecond::Skinning);
    }
    Choice::new(plan, auto)
}

impl Choice {
    fn new(plan: Plan, asked: Auto) -> Self {
        let auto = asked.precond.is_none() && asked.method != Some(AutoMethod::Direct);
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

/// Names are those of the library; `None` for `auto`.
impl From<Method> for Option<AutoMethod> {
    fn from(method: Method) -> Self {
        AutoMethod::ALL.into_iter().find(|other| other.to_string() == name(method))
    }
}

impl From<AutoMethod> for Method {
    fn from(method: AutoMethod) -> Self {
        Self::from_str(&method.to_string(), false).unwrap_or(Self::Auto)
    }
}

/// Names are those of the library; `None` for `auto`.
impl From<Precond> for Option<AutoPrecond> {
    fn from(precond: Precond) -> Self {
        AutoPrecond::ALL.into_iter().find(|other| other.to_string() == name(precond))
    }
}

impl From<AutoPrecond> for Precond {
    fn from(precond: AutoPrecond) -> Self {
        Self::from_str(&precond.to_string(), false).unwrap_or(Self::Auto)
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
        Choice::new(plan, auto)
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
    fn names_are_those_of_the_library() {
        for (precond, method) in AutoPrecond::ALL.into_iter().zip(AutoMethod::ALL.into_iter().cycle()) {
            assert_eq!(name(Precond::from(precond)), precond.to_string());
            assert_eq!(name(Method::from(method)), method.to_string());
            assert_eq!(Option::<AutoPrecond>::from(Precond::from(precond)), Some(precond));
            assert_eq!(Option::<AutoMethod>::from(Method::from(method)), Some(method));
        }
        assert_eq!(
            (Option::<AutoPrecond>::from(Precond::Auto), Option::<AutoMethod>::from(Method::Auto)),
            (None, None)
        );
    }
}
