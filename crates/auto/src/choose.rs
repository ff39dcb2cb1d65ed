//! The choice of method and preconditioner from properties of the matrix.
//!
//! | matrix | method | preconditioner |
//! |---|---|---|
//! | symmetric, possibly positive definite | direct up to `QUICK` unknowns; otherwise cg, and direct after work equal to the cost of a factor | block-jacobi as long as its forecast is cheaper, then a hierarchy (skinning for solids with positions, sa), then weaker ones |
//! | symmetric, not positive definite | direct up to `HARD` unknowns, otherwise minres | jacobi if the diagonal is positive, otherwise none |
//! | unsymmetric | direct up to `HARD` unknowns, otherwise gmres | ilu0, then jacobi, then none |
//!
//! A [`Plan`] starts with the method with the cheapest forecast, and [`Rental`](crate::Rental) limits the
//! cost of wrong forecasts. A direct method is excluded if the caller chooses a preconditioner, a null space,
//! a precision other than f64 or a device, or if a component of the graph has no constraints.

use std::fmt;

use coarsen_diagnose::{Definiteness, Diagnosis, Values};

use crate::rent::{NoFactor, Price};
use crate::{Costs, Kind, Last, Method};

/// The number of unknowns up to which a symmetric matrix is factorised at once, because a factor is then
/// faster than any analysis.
const QUICK: usize = 300;

/// The number of unknowns up to which a factor is preferred to iterations without a reliable preconditioner.
const HARD: usize = 20_000;

/// The options for the choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wish {
    /// The method, if it is prescribed.
    pub method: Option<Method>,
    /// Whether a direct method is excluded.
    pub iterate: bool,
    /// Whether smoothed aggregation is a variable preconditioner (a K-cycle).
    pub varies: bool,
    /// Whether skinning is tried before smoothed aggregation ([`is_solid`](crate::is_solid)).
    pub solid: bool,
    /// The memory limit in bytes for a factor, if iterations are an alternative. They are for symmetric
    /// matrices with more than 300 unknowns that may be positive definite. For other matrices with up to
    /// 20,000 unknowns no other method is reliable, and a factor is always tried.
    pub memory: usize,
}

/// The default memory limit of a factor: 4 GiB.
pub const MEMORY: usize = 4 << 30;

impl Default for Wish {
    fn default() -> Self {
        Self { method: None, iterate: false, varies: false, solid: false, memory: MEMORY }
    }
}

/// The reason for a choice.
#[derive(Clone, Debug, PartialEq)]
pub enum Reason {
    /// The method or preconditioner was requested.
    Asked,
    /// A factor is quick for so few unknowns.
    Quick {
        /// The properties of the matrix.
        seen: String,
        /// The number of unknowns.
        unknowns: usize,
    },
    /// A factor is possible for this number of unknowns, and no preconditioner is reliable.
    Few {
        /// The properties of the matrix.
        seen: String,
        /// The number of unknowns.
        unknowns: usize,
    },
    /// The properties and the size of the matrix.
    Seen {
        /// The properties of the matrix.
        seen: String,
        /// The number of unknowns.
        unknowns: usize,
    },
    /// Constants are in the kernel of the matrix, so it has no Cholesky factor.
    Floats {
        /// The properties of the matrix.
        seen: String,
    },
    /// Direct methods need no preconditioner.
    NeedsNone,
    /// The strongest preconditioner with a cheap setup.
    QuickSetup,
    /// The number of iterations grows slowly with the size.
    Scales,
    /// The strongest fixed preconditioner.
    Fixed,
    /// The strongest cheap preconditioner for a matrix that may be positive definite.
    CheapDefinite,
    /// The diagonal is positive, and the matrix is not positive definite.
    PositiveDiagonal,
    /// The preconditioner accepts unsymmetric matrices.
    Unsymmetric,
    /// The diagonal has zeros, and other preconditioners divide by the diagonal.
    ZeroDiagonal,
    /// No other preconditioner is reliable.
    NothingSafe,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Asked => f.write_str("requested"),
            Self::Quick { seen, unknowns } => write!(f, "{seen}; {unknowns} unknowns are quick to factorise"),
            Self::Few { seen, unknowns } => {
                write!(f, "{seen}; {unknowns} unknowns are few enough to factorise")
            }
            Self::Seen { seen, unknowns } => write!(f, "{seen}; {unknowns} unknowns"),
            Self::Floats { seen } => {
                write!(f, "{seen}; constants are in the kernel; a null space of constants would remove them")
            }
            Self::NeedsNone => f.write_str("a factorisation needs no preconditioner"),
            Self::QuickSetup => f.write_str("the strongest preconditioner with a cheap setup"),
            Self::Scales => f.write_str("its iterations grow slowly with the size"),
            Self::Fixed => f.write_str("the strongest fixed preconditioner"),
            Self::CheapDefinite => {
                f.write_str("the strongest cheap preconditioner for a matrix that may be positive definite")
            }
            Self::PositiveDiagonal => f.write_str(
                "the diagonal is positive, but the matrix is indefinite and so are incomplete factors",
            ),
            Self::Unsymmetric => {
                f.write_str("it accepts unsymmetric matrices, and no diagonal entry is zero")
            }
            Self::ZeroDiagonal => f.write_str("the diagonal has zeros, and all others divide by it"),
            Self::NothingSafe => {
                f.write_str("no other is reliable for a matrix that is not positive definite")
            }
        }
    }
}

/// A choice and its reasons.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The method that is expected to solve the system.
    pub method: Method,
    /// The preconditioners of the method, never empty. The first one that can be set up is used.
    pub preconds: Vec<Kind>,
    /// The reason for the method.
    pub why: Reason,
    /// The reason for the preconditioner.
    pub how: Reason,
    /// The plan of several attempts with a bound on their cost; `None` for a single attempt.
    pub plan: Option<Plan>,
}

/// Several ways to solve a system that may be positive definite. The method with the cheapest forecast is
/// tried first.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The costs of the methods.
    pub costs: Costs,
    /// The cheap preconditioner of the first attempt.
    pub trial: Kind,
    /// What ended the solve of a similar system: it begins, and there is no trial before it. `None` for a system of
    /// which nothing is known.
    pub first: Option<Last>,
    /// Later preconditioners, from the strongest to the weakest; never empty.
    pub kinds: Vec<Kind>,
    /// The method: conjugate gradients, or flexible conjugate gradients for a variable preconditioner.
    pub method: Method,
    /// The price of a factor.
    pub price: Price,
    /// The memory limit of the factor in bytes.
    pub memory: usize,
}

impl Choice {
    /// Chooses for a square matrix of `n` unknowns. `measure` computes the costs, and is called only if there
    /// are alternatives. Its argument is whether a factor is an alternative.
    pub fn new(wish: Wish, n: usize, diagnosis: &Diagnosis, measure: impl FnOnce(bool) -> Costs) -> Self {
        let values = diagnosis.values.as_ref();
        let definite = values.filter(|v| v.symmetry.holds() && maybe_positive(v));
        match (wish.method, definite) {
            (None, Some(values)) => Self::definite(wish, n, values, measure),
            (Some(method @ (Method::Cg | Method::FlexibleCg)), _) if values.is_some_and(maybe_positive) => {
                let (kinds, how) = hierarchy(wish);
                let plan = Plan::new(measure(false), kinds.clone(), Wish { iterate: true, ..wish }, method);
                Self { method, preconds: kinds, why: Reason::Asked, how, plan: Some(plan) }
            }
            (Some(Method::Direct), _) => Self::direct(Reason::Asked),
            (Some(method), _) => Self::simple(method, Reason::Asked, values),
            (None, None) => {
                let (method, why) = method(wish, n, values);
                match method {
                    Method::Direct => Self::direct(why),
                    _ => Self::simple(method, why, values),
                }
            }
        }
    }

    /// Chooses for a matrix that is symmetric and may be positive definite.
    fn definite(wish: Wish, n: usize, values: &Values, measure: impl FnOnce(bool) -> Costs) -> Self {
        let (seen, floats) = (format!("symmetric, {}", values.definiteness), values.floating > 0);
        let factor = !wish.iterate && !floats;
        if factor && n <= QUICK {
            return Self::direct(Reason::Quick { seen, unknowns: n });
        }
        let why = match floats {
            true => Reason::Floats { seen },
            false => Reason::Seen { seen, unknowns: n },
        };
        if n <= QUICK {
            let preconds = ONE_LEVEL.to_vec();
            return Self { method: Method::Cg, preconds, why, how: Reason::QuickSetup, plan: None };
        }
        let (kinds, how) = hierarchy(wish);
        let varies = wish.varies && kinds[0].is_hierarchy();
        let method = if varies { Method::FlexibleCg } else { Method::Cg };
        let plan = Plan::new(measure(factor), kinds.clone(), Wish { iterate: !factor, ..wish }, method);
        Self { method, preconds: kinds, why, how, plan: Some(plan) }
    }

    fn direct(why: Reason) -> Self {
        let (preconds, how) = (vec![Kind::Identity], Reason::NeedsNone);
        Self { method: Method::Direct, preconds, why, how, plan: None }
    }

    fn simple(method: Method, why: Reason, values: Option<&Values>) -> Self {
        let (preconds, how) = preconds(method, values);
        Self { method, preconds, why, how, plan: None }
    }
}

impl Plan {
    fn new(costs: Costs, kinds: Vec<Kind>, wish: Wish, method: Method) -> Self {
        let (direct, hierarchy) = (costs.direct(), costs.hierarchy(first_hierarchy(&kinds)));
        let price = match wish.iterate {
            true => Price::None(NoFactor::Unwanted),
            false => Price::Unknown {
                ordering: costs.ordering(),
                least: costs.least(),
                promise: direct,
                cheap: direct < hierarchy,
            },
        };
        let trial = if costs.block > 1 { Kind::BlockJacobi } else { Kind::Jacobi };
        Self { costs, trial, first: None, kinds, method, price, memory: wish.memory }
    }

    /// The expected cost of the first hierarchy, or of smoothed aggregation if there is none.
    pub(crate) fn hierarchy(&self) -> f64 {
        self.costs.hierarchy(first_hierarchy(&self.kinds))
    }
}

/// One-level preconditioners for definite matrices, from the strongest to the weakest.
pub(crate) const ONE_LEVEL: [Kind; 3] = [Kind::Ic0, Kind::BlockJacobi, Kind::Jacobi];

fn maybe_positive(values: &Values) -> bool {
    matches!(values.definiteness, Definiteness::Positive | Definiteness::MaybePositive)
}

fn first_hierarchy(kinds: &[Kind]) -> Kind {
    kinds.iter().copied().find(|kind| kind.is_hierarchy()).unwrap_or(Kind::SmoothedAggregation)
}

/// Skinning for solids, smoothed aggregation, then weaker preconditioners in case its setup fails.
fn hierarchy(wish: Wish) -> (Vec<Kind>, Reason) {
    match (wish.method, wish.varies) {
        // A K-cycle is variable, and cg needs a fixed preconditioner.
        (Some(Method::Cg), true) => (ONE_LEVEL.to_vec(), Reason::Fixed),
        _ => {
            let skinning: &[Kind] = if wish.solid && !wish.varies { &[Kind::Skinning] } else { &[] };
            ([skinning, &[Kind::SmoothedAggregation], &ONE_LEVEL[..]].concat(), Reason::Scales)
        }
    }
}

fn method(wish: Wish, n: usize, values: Option<&Values>) -> (Method, Reason) {
    let symmetric = values.filter(|v| v.symmetry.holds());
    let seen = match (symmetric, values) {
        (Some(v), _) => format!("symmetric, {}", v.definiteness),
        (None, Some(v)) => v.symmetry.to_string(),
        (None, None) => "unsymmetric".to_owned(),
    };
    match symmetric {
        _ if n <= HARD && !wish.iterate => (Method::Direct, Reason::Few { seen, unknowns: n }),
        Some(_) => (Method::Minres, Reason::Seen { seen, unknowns: n }),
        None => (Method::Gmres, Reason::Seen { seen, unknowns: n }),
    }
}

fn preconds(method: Method, values: Option<&Values>) -> (Vec<Kind>, Reason) {
    let zero = values.is_none_or(|v| v.zero_diagonal + v.empty > 0);
    let positive = !zero && values.is_some_and(|v| v.negative_diagonal == 0);
    match method {
        Method::Minres if values.is_some_and(maybe_positive) => (ONE_LEVEL.to_vec(), Reason::CheapDefinite),
        Method::Minres if positive => (vec![Kind::Jacobi, Kind::Identity], Reason::PositiveDiagonal),
        Method::Gmres | Method::BiCgStab if !zero => {
            (vec![Kind::Ilu0, Kind::Jacobi, Kind::Identity], Reason::Unsymmetric)
        }
        Method::Gmres | Method::BiCgStab => (vec![Kind::Identity], Reason::ZeroDiagonal),
        _ => (vec![Kind::Identity], Reason::NothingSafe),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coarsen_diagnose::diagnose;
    use coarsen_problems::{elasticity3d, poisson2d, poisson3d};
    use coarsen_sparse::Bsr;
    use coarsen_sparse::assembly::from_triplets;

    fn choose(a: &Bsr<f64>, iterate: bool) -> Choice {
        let wish = Wish { iterate, ..Wish::default() };
        Choice::new(wish, a.shape().0, &diagnose(a), |factor| Costs::of(a, factor))
    }

    fn first(a: &Bsr<f64>, iterate: bool) -> (Method, Kind) {
        let choice = choose(a, iterate);
        assert!(choice.why.to_string().len() > 20 && choice.how.to_string().len() > 20, "{choice:?}");
        (choice.method, choice.preconds[0])
    }

    fn square(entries: [f64; 4]) -> Bsr<f64> {
        let [a, b, c, d] = entries;
        from_triplets(2, 2, &[(0, 0, a), (0, 1, b), (1, 0, c), (1, 1, d)]).unwrap()
    }

    #[test]
    fn the_matrix_decides() {
        for (entries, iterative) in [
            ([2.0, 1.0, 1.0, 2.0], (Method::Cg, Kind::Ic0)),
            ([1.0, 2.0, 2.0, 1.0], (Method::Minres, Kind::Jacobi)),
            ([1.0, 2.0, 2.0, -1.0], (Method::Minres, Kind::Identity)),
            ([-2.0, 1.0, 1.0, -2.0], (Method::Minres, Kind::Identity)),
            ([2.0, 1.0, 0.0, 2.0], (Method::Gmres, Kind::Ilu0)),
            ([0.0, 1.0, 3.0, 2.0], (Method::Gmres, Kind::Identity)),
        ] {
            assert_eq!(first(&square(entries), false), (Method::Direct, Kind::Identity), "{entries:?}");
            assert_eq!(first(&square(entries), true), iterative, "{entries:?}");
        }
        // A component without constraints is singular, so the matrix is not factorised, even if it is small.
        assert_eq!(first(&square([1.0, -1.0, -1.0, 1.0]), false), (Method::Cg, Kind::Ic0));
    }

    #[test]
    fn structure_says_when_a_factor_is_worth_its_ordering() {
        let cheap = |a: &Bsr<f64>| match choose(a, false).plan.unwrap().price {
            Price::Unknown { cheap, .. } => cheap,
            price => panic!("{price:?}"),
        };
        assert!(cheap(&poisson2d(25).unwrap().matrix), "narrow");
        assert!(!cheap(&poisson3d(30).unwrap().matrix), "wide");
        let elastic = elasticity3d(6, 1.0).unwrap().matrix;
        assert_eq!(choose(&elastic, false).plan.unwrap().trial, Kind::BlockJacobi);
        let plan = choose(&elastic, true).plan.unwrap();
        assert_eq!(plan.price, Price::None(NoFactor::Unwanted));
    }
}
