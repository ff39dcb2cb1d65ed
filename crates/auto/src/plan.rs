//! The plan for a system: the methods that may solve it, their expected costs, and the reason for the first one.
//!
//! | matrix | methods, in the order of their expected costs |
//! |---|---|
//! | symmetric, perhaps positive definite | CG with smoothed aggregation, skinning for solids with positions, block Jacobi, multilevel Schwarz, IC(0); a Cholesky factor; MINRES if it turns out indefinite |
//! | symmetric, perhaps negative definite | the same for −A |
//! | symmetric indefinite | MINRES with a positive diagonal, GMRES with factors of domains; L B Lᵀ |
//! | unsymmetric | GMRES with smoothed aggregation if the diagonal has one sign, BiCGStab and GMRES with ILU(0), GMRES with factors of domains; LU |
//!
//! A factor is excluded if the caller chooses a preconditioner, a null space,
//! a precision other than f64 or a device, or if a component of the graph has no constraints.

use std::fmt;

use coarsen_diagnose::{Definiteness, Diagnosis, Values};
use coarsen_sparse::System;

use crate::cost::Costs;
use crate::sample::is_solid;
use crate::{Method, Precond};

/// The number of unknowns up to which a matrix is factorised at once, because a factor is then
/// faster than any analysis.
const QUICK: usize = 300;

/// The default memory limit of a factor: 4 GiB.
pub const MEMORY: usize = 4 << 30;

/// Solves a system by the method with the lowest forecast, and limits the cost of wrong forecasts.
///
/// *Use* for a system that is solved once. For systems that follow each other `coarsen::Solver` keeps what it chose. *Cost*, in
/// the units of [`Costs`]: at most three times the cost of all methods tried, and at most three times the
/// cost of a sparse factor, if a factor is possible. *Memory*: the preconditioners that were tried, and a factor
/// of up to `memory` bytes.
///
/// ```
/// use coarsen_auto::{Auto, Method};
/// let a = coarsen_sparse::assembly::from_triplets(2, 2, &[(0, 0, 2.0), (0, 1, 1.0), (1, 0, 1.0), (1, 1, 2.0)])?;
/// let auto = Auto::default();
/// assert_eq!(auto.plan(&a)?.begins().0, Method::Direct);
/// let mut x = [0.0; 2];
/// let solved = auto.solve(&a, &[3.0, 3.0], &mut x)?.converged()?;
/// assert!((x[0] - 1.0).abs() < 1e-12);
/// println!("{solved}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Auto {
    /// The tolerance for the relative residual ‖b − A x‖ / ‖b‖; 1e-8 by default.
    pub tolerance: f64,
    /// The maximal number of iterations of all methods together; 5000 by default.
    pub max_iterations: usize,
    /// The memory limit in bytes for a factor, if iterations are an alternative. The default is [`MEMORY`] and does not
    /// depend on the free memory.
    pub memory: usize,
    /// The method, if it is prescribed.
    pub method: Option<Method>,
    /// The preconditioner, if it is prescribed; there is then no factor, unless the method is [`Method::Direct`].
    pub precond: Option<Precond>,
    /// Whether a factor is excluded.
    pub iterate: bool,
    /// Whether preconditioners are first tried in f32; the default.
    pub single: bool,
    /// Whether smoothed aggregation is a variable preconditioner (a K-cycle), so that conjugate gradients must be flexible.
    pub varies: bool,
}

impl Default for Auto {
    fn default() -> Self {
        let (method, precond, iterate, single, varies) = (None, None, false, true, false);
        Self {
            tolerance: 1e-8,
            max_iterations: 5000,
            memory: MEMORY,
            method,
            precond,
            iterate,
            single,
            varies,
        }
    }
}

/// The reason why no factor is possible.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NoFactor {
    /// An option or the system excludes a factor, for example a null space, a precision or a device.
    Unwanted,
    /// The factor needs more bytes than the limit allows.
    TooLarge {
        /// The number of bytes of the factor.
        bytes: usize,
        /// The memory limit.
        allowed: usize,
    },
    /// The ordering or the factorisation failed.
    Failed,
}

impl fmt::Display for NoFactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mib = |bytes: usize| bytes as f64 / f64::from(1 << 20);
        match self {
            Self::Unwanted => f.write_str("an option or the system excludes it"),
            Self::TooLarge { bytes, allowed } => {
                write!(f, "it needs {:.0} MiB, and the limit is {:.0} MiB", mib(*bytes), mib(*allowed))
            }
            Self::Failed => f.write_str("it failed"),
        }
    }
}

/// The cost of a factor, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum FactorCost {
    /// No factor is possible.
    None(NoFactor),
    /// The matrix is not ordered yet: O, C₀, and the estimate of C from the structure of the matrix.
    Estimated { ordering: f64, least: f64, total: f64 },
    /// The matrix is ordered: F and C.
    Known { factor: f64, total: f64 },
}

impl FactorCost {
    /// The R before which neither the factor nor its ordering may follow, the R that a setup must not exceed, and the forecast
    /// above which a factor is cheaper.
    pub(crate) fn limits(self) -> (f64, f64, f64) {
        match self {
            Self::None(_) => (f64::INFINITY, f64::INFINITY, f64::INFINITY),
            Self::Estimated { ordering, least, total } => (0.5 * ordering, 2.0 * least, total),
            Self::Known { factor, total } => (0.5 * total, 2.0 * total, factor),
        }
    }

    /// Whether the factor and its ordering wait for a candidate with this forecast; `with` is R with its setup, and it is the
    /// `first` if no method has begun.
    pub(crate) fn waits(self, forecast: f64, with: f64, first: bool) -> bool {
        let (paid, most, price) = self.limits();
        // A cheap setup begins before an ordering that costs more than twice as much.
        let cheap = first && !matches!(self, Self::Known { .. }) && with < paid;
        forecast <= price && with <= most || cheap
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
    /// The memory limit of the factor in bytes.
    pub(crate) memory: usize,
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
        let signed = values.and_then(sign);
        let symmetric = values.is_some_and(|v| v.symmetry.holds());
        let unconstrained = values.is_some_and(|v| v.floating > 0);
        let iterates =
            auto.iterate || auto.precond.is_some() || auto.method.is_some_and(|m| m != Method::Direct);
        let singular = signed.is_some() && unconstrained;
        let no_factor = iterates || singular && auto.method != Some(Method::Direct);
        let mut costs = Costs::of(a, !no_factor && n > QUICK);
        costs.near_kernel = system.positions.is_some() || system.near_kernel.is_some();
        costs.pivots = signed.is_none();
        costs.tolerance = auto.tolerance;
        let positions = system.positions.filter(|_| system.near_kernel.is_none());
        let solid = positions.is_some_and(|positions| is_solid(a, positions));
        let candidates = match auto.method {
            Some(Method::Direct) => Vec::new(),
            _ => requested(auto, candidates(auto, solid, &costs, values)),
        };
        let matrix = match (auto.method, values) {
            (Some(_), _) => "requested".to_owned(),
            (None, Some(v)) if symmetric => format!("symmetric, {}; {n} unknowns", v.definiteness),
            (None, Some(v)) => format!("{}; {n} unknowns", v.symmetry),
            (None, None) => format!("unsymmetric; {n} unknowns"),
        };
        let all_negative = values.is_some_and(|v| n > 0 && v.negative_diagonal == n);
        let mut plan = Self {
            auto,
            costs,
            factor: FactorCost::Estimated {
                ordering: costs.ordering(),
                least: costs.least(),
                total: costs.direct(),
            },
            factor_first: n <= QUICK,
            // Where nothing else is possible, the limit does not hold.
            memory: if candidates.is_empty() { usize::MAX } else { auto.memory },
            candidates,
            negate: signed == Some(-1.0) || signed.is_none() && all_negative,
            symmetric,
            unconstrained,
            matrix,
        };
        if no_factor {
            plan.exclude_factor(NoFactor::Unwanted);
        }
        plan
    }

    /// Excludes the factor, if there is another method.
    pub fn exclude_factor(&mut self, why: NoFactor) {
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
        let goes =
            |i: &usize| !self.factor_first && self.factor.waits(self.expected(*i), self.setup(*i), true);
        least.filter(goes).map_or((Method::Direct, Precond::None), |i| self.candidates[i])
    }

    /// The properties of the matrix that decide, and the number of unknowns.
    pub fn matrix(&self) -> &str {
        &self.matrix
    }

    /// The reason for the method that begins.
    pub fn reason(&self) -> String {
        let matrix = &self.matrix;
        match self.auto {
            Auto { method: None, .. } if self.factor_first => format!("{matrix} are quick to factorise"),
            Auto { method: None, iterate: false, .. } if self.unconstrained && !self.costs.pivots => {
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

    /// The expected number of iterations of CG with a preconditioner that is not a hierarchy; `None` for others.
    pub(crate) fn one_level(&self, i: usize) -> Option<f64> {
        let (method, precond) = self.candidates[i];
        (needs_definite(method) && !precond.is_hierarchy()).then(|| self.costs.iterations(method, precond))
    }

    /// Whether storage in f32 makes an iteration of a candidate cheaper, and rounding of its preconditioner is harmless.
    pub(crate) fn stores_single(&self, i: usize) -> bool {
        let (method, precond) = self.candidates[i];
        needs_definite(method)
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

/// Whether a method needs a positive definite matrix.
pub(crate) fn needs_definite(method: Method) -> bool {
    matches!(method, Method::Cg | Method::FlexibleCg)
}

/// Whether A, or −A, may be positive definite: 1 or −1.
fn sign(values: &Values) -> Option<f64> {
    match values.definiteness {
        _ if !values.symmetry.holds() => None,
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
    let with = |method: Method, preconds: &[&[Precond]]| -> Vec<(Method, Precond)> {
        preconds.concat().into_iter().map(|precond| (method, precond)).collect()
    };
    let zero = values.is_none_or(|v| v.zero_diagonal + v.empty > 0);
    let symmetric = values.is_some_and(|v| v.symmetry.holds());
    let definite = values.and_then(sign).is_some();
    let one_sign = !zero
        && values.is_some_and(|v| v.negative_diagonal == 0 || v.negative_diagonal == costs.unknowns as usize);
    let diagonal = if costs.block > 1 { Precond::BlockJacobi } else { Precond::Jacobi };
    let aggregation = &[Precond::SmoothedAggregation][..usize::from(one_sign)];
    let incomplete = &[Precond::Ilu0][..usize::from(!zero)];
    let domains = [Precond::RestrictedSchwarz];
    let one_level = [Precond::Schwarz, Precond::Ic0, diagonal];
    let skinning = &[Precond::Skinning][..usize::from(solid && !auto.varies)];
    let hierarchies = [&[Precond::SmoothedAggregation], skinning].concat();
    match auto.method {
        // A K-cycle is variable, and cg needs a fixed preconditioner.
        Some(Method::Cg) if auto.varies => with(Method::Cg, &[&one_level]),
        Some(method @ (Method::Cg | Method::FlexibleCg)) => with(method, &[&hierarchies, &one_level]),
        Some(Method::Minres) if definite => {
            with(Method::Minres, &[&[Precond::Ic0, diagonal, Precond::L1Jacobi, Precond::None]])
        }
        Some(Method::Minres) => with(Method::Minres, &[&[Precond::L1Jacobi, Precond::None]]),
        Some(method @ (Method::Gmres | Method::BiCgStab)) => {
            with(method, &[aggregation, incomplete, &domains, &[Precond::L1Jacobi, Precond::None]])
        }
        Some(Method::Direct) => Vec::new(),
        None if definite => {
            let method = if auto.varies { Method::FlexibleCg } else { Method::Cg };
            [with(method, &[&hierarchies, &one_level]), with(Method::Minres, &[&[Precond::L1Jacobi]])]
                .concat()
        }
        None if symmetric => [
            with(Method::Minres, &[&[Precond::L1Jacobi, Precond::None]]),
            with(Method::Gmres, &[incomplete, &domains]),
        ]
        .concat(),
        None => [
            with(Method::Gmres, &[aggregation]),
            with(Method::BiCgStab, &[incomplete]),
            with(Method::Gmres, &[incomplete, &domains, &[Precond::L1Jacobi]]),
        ]
        .concat(),
    }
}
