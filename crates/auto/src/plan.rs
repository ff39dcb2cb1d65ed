//! The plan for a system: the methods that may solve it, their expected costs, the cost of a factor, and the reason for the
//! first one.
//!
//! The methods for each kind of matrix are listed in the page "Choosing a solver" of the book. A factor is excluded if the caller
//! chooses a preconditioner, a null space, a precision other than f64 or a device, or if a component of the graph has no
//! constraints.

use std::fmt;

use coarsen_diagnose::{Definiteness, Diagnosis, Values};
use coarsen_sparse::System;

use crate::sample::is_solid;
use crate::{Auto, Costs, Ending, Method, Precond};

/// The number of unknowns up to which a matrix is factorised at once, because a factor is then
/// faster than any analysis.
const SMALL: usize = 300;

/// The cost of a factor, as far as it is known; R is the work of setups and iterations so far.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum FactorCost {
    /// No factor is possible, and why.
    None(Ending),
    /// The matrix is not ordered yet: O, the lower bound C₀, and the estimate of C from the structure of the matrix.
    Estimated { ordering: f64, least: f64, total: f64 },
    /// The matrix is ordered: F and C.
    Known { factor: f64, total: f64 },
}

impl FactorCost {
    /// The R before which neither the factor nor its ordering may follow, the R that a setup must not exceed, and the forecast
    /// above which a factor is cheaper.
    pub(crate) fn limits(&self) -> (f64, f64, f64) {
        match *self {
            Self::None(_) => (f64::INFINITY, f64::INFINITY, f64::INFINITY),
            Self::Estimated { ordering, least, total } => (0.5 * ordering, 2.0 * least, total),
            Self::Known { factor, total } => (0.5 * total, 2.0 * total, factor),
        }
    }

    /// Whether a candidate with this forecast runs before the factor and its ordering; `with` is R with its setup, and it is the
    /// `first` if no method has begun.
    pub(crate) fn is_deferred(&self, forecast: f64, with: f64, first: bool) -> bool {
        let (earliest, most, cost) = self.limits();
        // A cheap setup begins before an ordering that costs more than twice as much.
        let cheap = first && !matches!(self, Self::Known { .. }) && with < earliest;
        forecast <= cost && with <= most || cheap
    }
}

/// Several ways to solve a system. The method with the lowest forecast is tried first.
///
/// `Display` names the method that begins, and the reason.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The methods with their preconditioners, in any order; never [`Method::Direct`], and none if only a factor is possible.
    pub candidates: Vec<(Method, Precond)>,
    pub(crate) auto: Auto,
    pub(crate) costs: Costs,
    pub(crate) factor: FactorCost,
    /// Whether the factor begins, whatever is expected of it, because the matrix is small.
    pub(crate) factor_first: bool,
    /// Whether −A x = −b is solved, because −A may be positive definite.
    pub(crate) negate: bool,
    pub(crate) symmetric: bool,
    /// Whether a component of the graph has constants in its kernel.
    pub(crate) unconstrained: bool,
    /// The properties of the matrix, and the number of unknowns.
    pub(crate) matrix: String,
}

impl Plan {
    /// Plans the solve of a system; `diagnosis` is that of its matrix. Contact is ignored.
    ///
    /// *Cost*: a sample of the rows, and breadth-first searches in a part of the graph.
    pub fn new(auto: Auto, system: System<'_, f64>, diagnosis: &Diagnosis) -> Self {
        let (a, n) = (system.matrix, system.matrix.shape().0);
        let values = diagnosis.values.as_ref();
        let sign = values.and_then(sign);
        let symmetric = diagnosis.is_symmetric();
        let unconstrained = values.is_some_and(|v| v.unconstrained > 0);
        let iterates =
            auto.iterate || auto.precond.is_some() || auto.method.is_some_and(|m| m != Method::Direct);
        let no_factor = iterates || sign.is_some() && unconstrained && auto.method != Some(Method::Direct);
        let mut costs = Costs::of(a, !no_factor && n > SMALL);
        costs.near_kernel = system.positions.is_some() || system.near_kernel.is_some();
        costs.pivots = sign.is_none();
        costs.lu = costs.pivots && !symmetric;
        costs.tolerance = auto.tolerance;
        let positions = system.positions.filter(|_| system.near_kernel.is_none());
        let solid = positions.is_some_and(|positions| is_solid(a, positions));
        let candidates = requested(auto, candidates(auto, solid, &costs, values));
        let matrix = match values {
            _ if auto.method.is_some() => "requested".to_owned(),
            Some(v) if symmetric => format!("symmetric, {}; {n} unknowns", v.definiteness),
            Some(v) => format!("{}; {n} unknowns", v.symmetry),
            None => format!("unsymmetric; {n} unknowns"),
        };
        let all_negative = values.is_some_and(|v| n > 0 && v.negative_diagonal == n);
        let (ordering, least, total) = (costs.ordering(), costs.least(), costs.direct());
        let mut plan = Self {
            auto,
            costs,
            factor: FactorCost::Estimated { ordering, least, total },
            factor_first: n <= SMALL,
            candidates,
            negate: sign.unwrap_or(if all_negative { -1.0 } else { 1.0 }) < 0.0,
            symmetric,
            unconstrained,
            matrix,
        };
        if no_factor {
            plan.exclude_factor(Ending::FactorExcluded);
        }
        plan
    }

    /// Excludes the factor, if there is another method; `why` is the reason in reports.
    pub fn exclude_factor(&mut self, why: Ending) {
        if !self.candidates.is_empty() {
            (self.factor, self.factor_first) = (FactorCost::None(why), false);
        }
    }

    /// Whether a factor is possible.
    pub fn has_factor(&self) -> bool {
        !matches!(self.factor, FactorCost::None(_))
    }

    /// What begins: the candidate with the lowest expected work, or a factor, which is ([`Method::Direct`], [`Precond::None`]).
    pub fn begins(&self) -> (Method, Precond) {
        let least = (0..self.candidates.len()).min_by(|&i, &j| self.expected(i).total_cmp(&self.expected(j)));
        let is_first =
            |&i: &usize| !self.factor_first && self.factor.is_deferred(self.expected(i), self.setup(i), true);
        least.filter(is_first).map_or((Method::Direct, Precond::None), |i| self.candidates[i])
    }

    /// The properties of the matrix that decide, and the number of unknowns.
    pub fn matrix(&self) -> &str {
        &self.matrix
    }

    /// The reason for the method that begins.
    pub fn reason(&self) -> String {
        let Self { matrix, auto, .. } = self;
        match auto.method {
            None if self.factor_first => format!("{matrix} are quick to factorise"),
            None if !auto.iterate && self.unconstrained && !self.costs.pivots => {
                format!("{matrix}; constants are in the kernel; a null space of constants would remove them")
            }
            _ => matrix.clone(),
        }
    }

    /// The expected work of a candidate, with its setup.
    pub(crate) fn expected(&self, i: usize) -> f64 {
        match self.candidates[i] {
            // Only if the matrix turns out not to be definite.
            (Method::Minres, _) if !self.costs.pivots => f64::INFINITY,
            (method, precond) => self.costs.expected(method, precond),
        }
    }

    /// The work of the setup of a candidate.
    pub(crate) fn setup(&self, i: usize) -> f64 {
        self.costs.setup(self.candidates[i].1)
    }

    /// The work of an iteration of a candidate; `complexity` is the operator complexity of a hierarchy.
    pub(crate) fn iteration(&self, i: usize, complexity: f64) -> f64 {
        let (method, precond) = self.candidates[i];
        self.costs.iteration(method, precond, complexity)
    }

    /// Whether storage in f32 makes an iteration of a candidate cheaper, and rounding of its preconditioner is harmless.
    pub(crate) fn stores_single(&self, i: usize) -> bool {
        let (method, precond) = self.candidates[i];
        method.needs_definite()
            && !matches!(precond, Precond::None | Precond::Schwarz | Precond::RestrictedSchwarz)
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.begins() {
            (Method::Direct, _) => write!(f, "direct: {}", self.reason()),
            (method, precond) => write!(f, "{method} with {precond}: {}", self.reason()),
        }
    }
}

/// Whether A, or −A, may be positive definite: 1 or −1.
fn sign(values: &Values) -> Option<f64> {
    match values.definiteness {
        Definiteness::Positive | Definiteness::MaybePositive => Some(1.0),
        Definiteness::Negative | Definiteness::MaybeNegative => Some(-1.0),
        _ => None,
    }
}

/// The prescribed preconditioner with the method that the plan has for it; otherwise with the first method that can take it.
fn requested(auto: Auto, planned: Vec<(Method, Precond)>) -> Vec<(Method, Precond)> {
    let (Some(precond), Some(&(first, _))) = (auto.precond, planned.first()) else { return planned };
    let unsymmetric = matches!(precond, Precond::Ilu0 | Precond::RestrictedSchwarz);
    let method = match (auto.method, planned.iter().find(|candidate| candidate.1 == precond)) {
        (Some(method), _) | (None, Some(&(method, _))) => method,
        (None, None) if unsymmetric || first == Method::BiCgStab => Method::Gmres,
        (None, None) => first,
    };
    vec![(method, precond)]
}

/// The methods that may solve a system.
fn candidates(auto: Auto, solid: bool, costs: &Costs, values: Option<&Values>) -> Vec<(Method, Precond)> {
    use Precond::{
        BlockJacobi, Ic0, Ilu0, Jacobi, L1Jacobi, None as Plain, RestrictedSchwarz, Schwarz, Skinning,
        SmoothedAggregation,
    };
    let (negative, zero) = values.map_or((0, true), |v| (v.negative_diagonal, v.zero_diagonal + v.empty > 0));
    let has_one_sign = !zero && (negative == 0 || negative == costs.unknowns as usize);
    let definite = values.and_then(sign).is_some();
    let diagonal = if costs.block > 1 { BlockJacobi } else { Jacobi };
    let with = |method: Method, preconds: &[Precond]| -> Vec<(Method, Precond)> {
        let can = |precond: &Precond| match precond {
            // A K-cycle is variable, and cg needs a fixed preconditioner.
            SmoothedAggregation if method.needs_definite() => !(auto.varies && method == Method::Cg),
            SmoothedAggregation => has_one_sign,
            Skinning => solid && !auto.varies,
            Ilu0 => !zero,
            _ => true,
        };
        preconds.iter().copied().filter(can).map(|precond| (method, precond)).collect()
    };
    let for_definite = [SmoothedAggregation, Skinning, Schwarz, Ic0, diagonal];
    let plans = match auto.method {
        Some(Method::Direct) => vec![],
        Some(method @ (Method::Cg | Method::FlexibleCg)) => vec![with(method, &for_definite)],
        Some(method @ Method::Minres) if definite => vec![with(method, &[Ic0, diagonal, L1Jacobi, Plain])],
        Some(method @ Method::Minres) => vec![with(method, &[L1Jacobi, Plain])],
        Some(method) => vec![with(method, &[SmoothedAggregation, Ilu0, RestrictedSchwarz, L1Jacobi, Plain])],
        None if definite => {
            let method = if auto.varies { Method::FlexibleCg } else { Method::Cg };
            vec![with(method, &for_definite), with(Method::Minres, &[L1Jacobi])]
        }
        None if values.is_some_and(|v| v.symmetry.holds()) => {
            vec![with(Method::Minres, &[L1Jacobi, Plain]), with(Method::Gmres, &[Ilu0, RestrictedSchwarz])]
        }
        None => vec![
            with(Method::Gmres, &[SmoothedAggregation]),
            with(Method::BiCgStab, &[Ilu0]),
            with(Method::Gmres, &[Ilu0, RestrictedSchwarz, L1Jacobi]),
        ],
    };
    plans.concat()
}
