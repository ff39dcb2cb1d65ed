//! `auto`: method and preconditioner from what is measured, never from a name.
//!
//! | matrix | method | preconditioner |
//! |---|---|---|
//! | symmetric, nothing against positive definite | direct to `QUICK` unknowns; else cg, or direct where that is cheaper than a hierarchy | block-jacobi as long as it promises to be cheaper, then sa, then weaker ones |
//! | symmetric, not positive definite | direct to `HARD` unknowns, else minres | jacobi where the diagonal is positive, else none |
//! | unsymmetric | direct to `HARD` unknowns, else gmres | ilu0, else jacobi, else none |
//!
//! What costs what [`Measures`] estimates, what block-jacobi promises a [`Trial`](crate::trial::Trial) sees. A direct method is left out where an option speaks against it: a preconditioner, a null space,
//! a precision other than f64, or a component that floats.

use coarsen::sparse::diagnose::{Definiteness, Diagnosis, Values};

use crate::args::{Method, Precond, name};
use crate::ending::Ending;
use crate::measure::Measures;
use crate::trial::LEAST;

/// Unknowns up to which a symmetric matrix is factored before anything else could be measured.
const QUICK: usize = 300;

/// Unknowns up to which factoring is preferred to iterations without a safe preconditioner.
const HARD: usize = 20_000;

/// What will be done, and why.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    pub(crate) method: Method,
    /// The first that can be set up is taken; never empty.
    pub(crate) preconds: Vec<Precond>,
    /// A line on the method, a line on the preconditioner.
    pub(crate) because: [String; 2],
    /// What is tried before.
    pub(crate) first: Option<First>,
}

/// A cheap method that is tried before another one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct First {
    pub(crate) method: Method,
    pub(crate) precond: Precond,
    /// Iterations that cost what the other one does.
    pub(crate) worth: f64,
}

/// What the user asked for beside the matrix.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wish {
    pub(crate) method: Method,
    pub(crate) precond: Precond,
    /// Whether an option speaks against a direct method.
    pub(crate) iterate: bool,
    /// Whether smoothed aggregation is to be another map each time.
    pub(crate) varies: bool,
}

impl Choice {
    /// Decides; `measure` is called where there is something to choose between, and told whether a factorisation is.
    pub(crate) fn new(
        wish: Wish,
        n: usize,
        diagnosis: &Diagnosis,
        measure: impl FnOnce(bool) -> Measures,
    ) -> Self {
        let values = diagnosis.values.as_ref();
        if wish.method == Method::Auto
            && let Some(definite) = values.filter(|v| v.symmetry.holds() && maybe_positive(v))
        {
            return Self::definite(wish, n, definite, measure);
        }
        let (method, why) = match wish.method {
            Method::Auto => method(wish, n, values),
            asked => (asked, "as asked".to_owned()),
        };
        let (preconds, how) = match wish.precond {
            _ if method == Method::Direct => (vec![Precond::None], NEEDS_NONE.to_owned()),
            Precond::Auto
                if matches!(method, Method::Cg | Method::Fcg) && values.is_some_and(maybe_positive) =>
            {
                let costs = measure(false);
                let (preconds, how) = hierarchy(wish);
                let first = First::new(method, &costs);
                return Self { first, ..Self::said(method, preconds, [why, how]) };
            }
            Precond::Auto => preconds(method, values),
            asked => (vec![asked], "as asked".to_owned()),
        };
        Self::said(method, preconds, [why, how])
    }

    /// For a matrix that is symmetric and may be positive definite.
    fn definite(wish: Wish, n: usize, values: &Values, measure: impl FnOnce(bool) -> Measures) -> Self {
        let (seen, floats) = (format!("symmetric, {}", values.definiteness), values.floating > 0);
        let factor = !wish.iterate && !floats;
        if factor && n <= QUICK {
            let why = format!("{seen}; {n} unknowns are quick to factor");
            return Self::said(Method::Direct, vec![Precond::None], [why, NEEDS_NONE.to_owned()]);
        }
        let mut first = None;
        let (preconds, how) = match wish.precond {
            Precond::Auto if n <= QUICK => {
                (ONE_LEVEL.to_vec(), "the strongest that is quick to set up".to_owned())
            }
            Precond::Auto => {
                let costs = measure(factor);
                first = First::new(Method::Cg, &costs);
                if costs.direct < costs.hierarchy {
                    let why = format!("{seen}; {n} unknowns on a narrow graph, whose factor is small");
                    let last = Self::said(Method::Direct, vec![Precond::None], [why, NEEDS_NONE.to_owned()]);
                    return Self { first, ..last };
                }
                hierarchy(wish)
            }
            asked => (vec![asked], "as asked".to_owned()),
        };
        let why = match floats {
            true => format!("{seen}; constants are in the kernel, which --null-space constants takes out"),
            false => format!("{seen}; {n} unknowns"),
        };
        let method = if wish.varies && preconds[0] == Precond::Sa { Method::Fcg } else { Method::Cg };
        Self { first, ..Self::said(method, preconds, [why, how]) }
    }

    /// What was tried first ended well.
    pub(crate) fn kept(&mut self, first: First, iterations: usize) {
        let First { method, precond, worth } = first;
        let other = if self.method == Method::Direct { "a factorisation" } else { "a hierarchy" };
        let seen = self.because[0].split_once(": ").map_or("", |(_, seen)| seen);
        self.because = [
            format!("{}: {seen}", name(method)),
            format!("{}: {iterations} iterations, where {other} costs {worth:.0}", name(precond)),
        ];
        (self.method, self.preconds) = (method, vec![precond]);
    }

    /// What was tried first did not end well.
    pub(crate) fn given_up(&mut self, first: First, why: &str) {
        let line = if self.method == Method::Direct { 0 } else { 1 };
        let other = if line == 0 { "a factorisation" } else { "a hierarchy" };
        let because = &mut self.because[line];
        *because = format!("{because}; {}: {why}; {other} costs {:.0}", name(first.precond), first.worth);
    }

    fn said(method: Method, preconds: Vec<Precond>, [why, how]: [String; 2]) -> Self {
        let because = [format!("{}: {why}", name(method)), format!("{}: {how}", name(preconds[0]))];
        Self { method, preconds, because, first: None }
    }
}

/// One-level preconditioners for definite matrices, the strongest first.
const ONE_LEVEL: [Precond; 3] = [Precond::Ic0, Precond::BlockJacobi, Precond::Jacobi];

/// What is said of a direct method.
const NEEDS_NONE: &str = "a factorisation needs none";

fn maybe_positive(values: &Values) -> bool {
    matches!(values.definiteness, Definiteness::Positive | Definiteness::MaybePositive)
}

/// Smoothed aggregation; weaker ones follow, for setups that fail.
fn hierarchy(wish: Wish) -> (Vec<Precond>, String) {
    match (wish.method, wish.varies) {
        // A K-cycle changes from one application to the next, which cg cannot take.
        (Method::Cg, true) => (ONE_LEVEL.to_vec(), "the strongest that is the same map each time".to_owned()),
        _ => (
            [&[Precond::Sa], &ONE_LEVEL[..]].concat(),
            "iterations that grow little with the size".to_owned(),
        ),
    }
}

impl First {
    /// A trial worth its start.
    fn new(method: Method, costs: &Measures) -> Option<Self> {
        let precond = if costs.blocks { Precond::BlockJacobi } else { Precond::Jacobi };
        let worth = costs.hierarchy.min(costs.direct) / costs.iteration;
        (worth >= 2.0 * LEAST as f64).then_some(Self { method, precond, worth })
    }
}

fn method(wish: Wish, n: usize, values: Option<&Values>) -> (Method, String) {
    let symmetric = values.filter(|v| v.symmetry.holds());
    let seen = match (symmetric, values) {
        (Some(v), _) => format!("symmetric, {}", v.definiteness),
        (None, Some(v)) => v.symmetry.to_string(),
        (None, None) => "unsymmetric".to_owned(),
    };
    match symmetric {
        _ if n <= HARD && !wish.iterate => {
            (Method::Direct, format!("{seen}; {n} unknowns are few enough to factor"))
        }
        Some(_) => (Method::Minres, format!("{seen}; {n} unknowns")),
        None => (Method::Gmres, format!("{seen}; {n} unknowns")),
    }
}

fn preconds(method: Method, values: Option<&Values>) -> (Vec<Precond>, String) {
    let zero = values.is_none_or(|v| v.zero_diagonal + v.empty > 0);
    let positive = !zero && values.is_some_and(|v| v.negative_diagonal == 0);
    match method {
        Method::Minres if values.is_some_and(maybe_positive) => (
            ONE_LEVEL.to_vec(),
            "the strongest of the cheap ones for a matrix that may be positive definite".to_owned(),
        ),
        Method::Minres if positive => (
            vec![Precond::Jacobi, Precond::None],
            "the diagonal is positive although the matrix is not; factors would not be".to_owned(),
        ),
        Method::Gmres | Method::Bicgstab if !zero => (
            vec![Precond::Ilu0, Precond::Jacobi, Precond::None],
            "takes unsymmetric matrices, and no diagonal entry is zero".to_owned(),
        ),
        Method::Gmres | Method::Bicgstab => {
            (vec![Precond::None], "there are zeros on the diagonal, which all others divide by".to_owned())
        }
        _ => (vec![Precond::None], "no other is safe on a matrix that is not positive definite".to_owned()),
    }
}

/// Why a method cannot be used on this matrix, where the matrix itself shows it.
pub(crate) fn refuse(method: Method, diagnosis: &Diagnosis) -> Option<Ending> {
    let values = diagnosis.values.as_ref()?;
    let symmetric = matches!(method, Method::Cg | Method::Fcg | Method::Minres);
    if symmetric && !values.symmetry.holds() {
        let (row, column, here, there) = values.symmetry.worst?;
        return Some(Ending::Unsymmetric { row, column, here, there });
    }
    let why = match &values.definiteness {
        Definiteness::Indefinite(witness) => witness.to_string(),
        Definiteness::Negative | Definiteness::MaybeNegative => {
            "every diagonal entry is negative (negate matrix and right-hand side)".to_owned()
        }
        _ => return None,
    };
    matches!(method, Method::Cg | Method::Fcg).then_some(Ending::Indefinite { why })
}

#[cfg(test)]
mod tests {
    use super::*;
    use coarsen::problems::{elasticity3d, poisson2d};
    use coarsen::sparse::Bsr;
    use coarsen::sparse::assembly::from_triplets;
    use coarsen::sparse::diagnose::diagnose;

    fn choose(a: &Bsr<f64>, method: Method, precond: Precond, iterate: bool) -> Choice {
        let wish = Wish { method, precond, iterate, varies: false };
        Choice::new(wish, a.shape().0, &diagnose(a), |factor| Measures::of(a, factor))
    }

    fn auto(a: &Bsr<f64>, iterate: bool) -> (Method, Precond) {
        let choice = choose(a, Method::Auto, Precond::Auto, iterate);
        assert!(choice.because.iter().all(|line| line.len() > 20), "{choice:?}");
        (choice.method, choice.preconds[0])
    }

    fn square(entries: [f64; 4]) -> Bsr<f64> {
        let [a, b, c, d] = entries;
        from_triplets(2, 2, &[(0, 0, a), (0, 1, b), (1, 0, c), (1, 1, d)]).unwrap()
    }

    #[test]
    fn the_matrix_decides() {
        let narrow = poisson2d(60).unwrap().matrix;
        assert_eq!(auto(&narrow, false), (Method::Direct, Precond::None));
        let wide = poisson2d(400).unwrap().matrix;
        assert_eq!(auto(&wide, false), (Method::Cg, Precond::Sa));
        assert_eq!(auto(&wide, true), (Method::Cg, Precond::Sa));
        let elastic = elasticity3d(6, 1.0).unwrap().matrix;
        let choice = choose(&elastic, Method::Auto, Precond::Auto, false);
        let first = choice.first.unwrap();
        assert_eq!((first.method, first.precond), (Method::Cg, Precond::BlockJacobi));
        assert!(first.worth > 20.0);
        for (entries, iterative) in [
            ([2.0, 1.0, 1.0, 2.0], (Method::Cg, Precond::Ic0)),
            ([1.0, 2.0, 2.0, 1.0], (Method::Minres, Precond::Jacobi)),
            ([1.0, 2.0, 2.0, -1.0], (Method::Minres, Precond::None)),
            ([-2.0, 1.0, 1.0, -2.0], (Method::Minres, Precond::None)),
            ([2.0, 1.0, 0.0, 2.0], (Method::Gmres, Precond::Ilu0)),
            ([0.0, 1.0, 3.0, 2.0], (Method::Gmres, Precond::None)),
        ] {
            assert_eq!(auto(&square(entries), false), (Method::Direct, Precond::None), "{entries:?}");
            assert_eq!(auto(&square(entries), true), iterative, "{entries:?}");
        }
        // A floating component: no factorisation, however small.
        assert_eq!(auto(&square([1.0, -1.0, -1.0, 1.0]), false), (Method::Cg, Precond::Ic0));
    }

    #[test]
    fn what_is_asked_for_is_done() {
        let a = square([2.0, 1.0, 1.0, 2.0]);
        let choice = choose(&a, Method::Minres, Precond::Jacobi, true);
        assert_eq!((choice.method, choice.preconds), (Method::Minres, vec![Precond::Jacobi]));
        assert_eq!(choice.because, ["minres: as asked", "jacobi: as asked"]);
    }

    #[test]
    fn methods_are_refused_where_the_matrix_shows_it() {
        let refused = |method, entries| refuse(method, &diagnose(&square(entries))).map(|e| e.name());
        assert_eq!(refused(Method::Cg, [2.0, 1.0, 0.0, 2.0]), Some("unsymmetric_matrix"));
        assert_eq!(refused(Method::Fcg, [1.0, 2.0, 2.0, 1.0]), Some("indefinite_operator"));
        assert_eq!(refused(Method::Cg, [-2.0, 1.0, 1.0, -2.0]), Some("indefinite_operator"));
        assert_eq!(refused(Method::Minres, [1.0, 2.0, 2.0, 1.0]), None);
        assert_eq!(refused(Method::Gmres, [2.0, 1.0, 0.0, 2.0]), None);
        assert_eq!(refused(Method::Cg, [2.0, 1.0, 1.0, 2.0]), None);
    }
}
