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

use crate::factor_cost::{FactorCost, NoFactor};
use crate::run::Last;
use crate::{Costs, Kind, Method};

/// The number of unknowns up to which a matrix is factorised at once, because a factor is then
/// faster than any analysis.
const QUICK: usize = 300;

/// The options for the choice.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// The method, if it is prescribed.
    pub method: Option<Method>,
    /// Whether a direct method is excluded.
    pub iterate: bool,
    /// Whether smoothed aggregation is a variable preconditioner (a K-cycle).
    pub varies: bool,
    /// Whether skinning is a candidate ([`is_solid`](crate::is_solid)).
    pub solid: bool,
    /// Whether positions or near-kernel vectors are known.
    pub near_kernel: bool,
    /// The memory limit in bytes for a factor.
    pub memory: usize,
    /// The tolerance for the relative residual.
    pub tolerance: f64,
}

/// The default memory limit of a factor: 4 GiB.
pub const MEMORY: usize = 4 << 30;

impl Default for Options {
    fn default() -> Self {
        Self {
            method: None,
            iterate: false,
            varies: false,
            solid: false,
            near_kernel: false,
            memory: MEMORY,
            tolerance: 1e-8,
        }
    }
}

/// A method with a preconditioner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The method; never [`Method::Direct`].
    pub method: Method,
    /// The preconditioner.
    pub kind: Kind,
}

impl Candidate {
    /// Whether storage in f32 makes an iteration cheaper, and rounding of the preconditioner is harmless.
    pub(crate) fn stores_single(self) -> bool {
        self.needs_definite()
            && !matches!(self.kind, Kind::Identity | Kind::Schwarz | Kind::RestrictedSchwarz)
    }

    /// Whether the method needs a positive definite matrix.
    pub(crate) fn needs_definite(self) -> bool {
        matches!(self.method, Method::Cg | Method::FlexibleCg)
    }
}

impl fmt::Display for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} with {}", self.method, self.kind)
    }
}

/// The reason for the first method of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Reason {
    /// The properties of the matrix.
    pub matrix: String,
    /// The number of unknowns.
    pub unknowns: usize,
    /// Why this method comes first.
    pub why: Why,
}

/// Why a method comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// It was requested.
    Asked,
    /// A factor is quick for so few unknowns.
    Few,
    /// It has the lowest expected cost.
    Cheapest,
    /// Constants are in the kernel of the matrix, so it has no Cholesky factor.
    Unconstrained,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { matrix, unknowns, why } = self;
        match why {
            Why::Asked => f.write_str("requested"),
            Why::Few => write!(f, "{matrix}; {unknowns} unknowns are quick to factorise"),
            Why::Cheapest => write!(f, "{matrix}; {unknowns} unknowns"),
            Why::Unconstrained => {
                write!(
                    f,
                    "{matrix}; constants are in the kernel; a null space of constants would remove them"
                )
            }
        }
    }
}

/// Several ways to solve a system. The method with the lowest forecast is tried first.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The costs of the methods.
    pub costs: Costs,
    /// The methods.
    pub candidates: Vec<Candidate>,
    /// The method that begins, whatever is expected of it: the one that solved a similar system, or a factor of a small one.
    pub first: Option<Last>,
    /// The cost of a factor.
    pub factor: FactorCost,
    /// The memory limit of the factor in bytes.
    pub memory: usize,
    /// Whether −A x = −b is solved, because −A may be positive definite.
    pub negate: bool,
    /// Whether A is symmetric.
    pub symmetric: bool,
    /// The reason for the first method.
    pub reason: Reason,
}

impl Plan {
    /// Plans the solve of a square matrix of `n` unknowns. `measure` computes the costs; its argument is whether a
    /// factor is an alternative.
    pub fn new(
        options: Options,
        n: usize,
        diagnosis: &Diagnosis,
        measure: impl FnOnce(bool) -> Costs,
    ) -> Self {
        let values = diagnosis.values.as_ref();
        let signed = values.and_then(sign);
        let symmetric = values.is_some_and(|v| v.symmetry.holds());
        let unconstrained = signed.is_some() && values.is_some_and(|v| v.floating > 0);
        let iterate = options.iterate || options.method.is_some_and(|m| m != Method::Direct);
        let no_factor = iterate || unconstrained && options.method != Some(Method::Direct);
        let mut costs = measure(!no_factor && n > QUICK);
        costs.near_kernel = options.near_kernel;
        costs.pivots = signed.is_none();
        costs.tolerance = options.tolerance;
        let candidates = match options.method {
            Some(Method::Direct) => Vec::new(),
            _ => candidates(options, &costs, values),
        };
        let factor = match no_factor {
            true => FactorCost::None(NoFactor::Unwanted),
            false => FactorCost::Estimated {
                ordering: costs.ordering(),
                least: costs.least(),
                total: costs.direct(),
            },
        };
        let quick = !no_factor && n <= QUICK;
        let why = match options.method {
            Some(_) => Why::Asked,
            None if quick => Why::Few,
            None if unconstrained && !iterate => Why::Unconstrained,
            None => Why::Cheapest,
        };
        let reason = Reason { matrix: described(values), unknowns: n, why };
        let first = quick.then_some(Last::Factor);
        // Nothing else is possible, so the limit does not hold.
        let memory = if candidates.is_empty() { usize::MAX } else { options.memory };
        let all_negative = values.is_some_and(|v| n > 0 && v.negative_diagonal == n);
        let negate = signed == Some(-1.0) || signed.is_none() && all_negative;
        Self { costs, candidates, first, factor, memory, negate, symmetric, reason }
    }

    /// The expected work of a candidate, with its setup.
    pub fn expected(&self, candidate: Candidate) -> f64 {
        match self.first {
            Some(Last::Iterations(method, kind)) if candidate == (Candidate { method, kind }) => 0.0,
            // Only if the matrix turns out not to be definite.
            _ if candidate.method == Method::Minres && !self.costs.pivots => f64::INFINITY,
            _ => self.costs.expected(candidate.method, candidate.kind),
        }
    }

    /// What begins: the candidate with the lowest expected work, or a factor.
    pub fn begins(&self) -> Last {
        let expected = |c: &&Candidate| self.expected(**c);
        let least = self.candidates.iter().min_by(|p, q| expected(p).total_cmp(&expected(q)));
        match (least, self.factor) {
            (None, _) => Last::Factor,
            _ if self.first == Some(Last::Factor) => Last::Factor,
            // A cheap setup begins before an ordering that costs more than twice as much.
            (Some(c), FactorCost::Estimated { ordering, total, .. })
                if total < expected(&c) && self.costs.setup(c.kind) >= 0.5 * ordering =>
            {
                Last::Factor
            }
            (Some(c), _) => Last::Iterations(c.method, c.kind),
        }
    }

    /// The expected cost of smoothed aggregation.
    pub(crate) fn hierarchy(&self) -> f64 {
        self.costs.expected(Method::Cg, Kind::SmoothedAggregation)
    }
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

fn described(values: Option<&Values>) -> String {
    match values {
        Some(v) if v.symmetry.holds() => format!("symmetric, {}", v.definiteness),
        Some(v) => v.symmetry.to_string(),
        None => "unsymmetric".to_owned(),
    }
}

/// The methods that may solve a system.
fn candidates(options: Options, costs: &Costs, values: Option<&Values>) -> Vec<Candidate> {
    let with = |method: Method, kinds: &[Kind]| -> Vec<Candidate> {
        kinds.iter().map(|&kind| Candidate { method, kind }).collect()
    };
    let zero = values.is_none_or(|v| v.zero_diagonal + v.empty > 0);
    let symmetric = values.is_some_and(|v| v.symmetry.holds());
    let definite = values.and_then(sign).is_some();
    let diagonal = if costs.block > 1 { Kind::BlockJacobi } else { Kind::Jacobi };
    let one_sign = !zero
        && values.is_some_and(|v| v.negative_diagonal == 0 || v.negative_diagonal == costs.unknowns as usize);
    let aggregation: &[Kind] = if one_sign { &[Kind::SmoothedAggregation] } else { &[] };
    let incomplete: &[Kind] = if zero { &[] } else { &[Kind::Ilu0] };
    match options.method {
        Some(method @ (Method::Cg | Method::FlexibleCg)) => with(method, &definite_kinds(options, diagonal)),
        Some(Method::Minres) if definite => {
            with(Method::Minres, &[Kind::Ic0, diagonal, Kind::L1Jacobi, Kind::Identity])
        }
        Some(Method::Minres) => with(Method::Minres, &[Kind::L1Jacobi, Kind::Identity]),
        Some(method @ (Method::Gmres | Method::BiCgStab)) => {
            let kinds = [aggregation, incomplete, &[Kind::RestrictedSchwarz, Kind::L1Jacobi, Kind::Identity]];
            with(method, &kinds.concat())
        }
        Some(Method::Direct) => Vec::new(),
        None if definite => {
            let method = if options.varies { Method::FlexibleCg } else { Method::Cg };
            let minres = with(Method::Minres, &[Kind::L1Jacobi]);
            [with(method, &definite_kinds(options, diagonal)), minres].concat()
        }
        None if symmetric => [
            with(Method::Minres, &[Kind::L1Jacobi, Kind::Identity]),
            with(Method::Gmres, incomplete),
            with(Method::Gmres, &[Kind::RestrictedSchwarz]),
        ]
        .concat(),
        None => [
            with(Method::Gmres, aggregation),
            with(Method::BiCgStab, incomplete),
            with(Method::Gmres, incomplete),
            with(Method::Gmres, &[Kind::RestrictedSchwarz, Kind::L1Jacobi]),
        ]
        .concat(),
    }
}

/// The preconditioners of CG.
fn definite_kinds(options: Options, diagonal: Kind) -> Vec<Kind> {
    let one_level = [Kind::Schwarz, Kind::Ic0, diagonal];
    match (options.method, options.varies) {
        // A K-cycle is variable, and cg needs a fixed preconditioner.
        (Some(Method::Cg), true) => one_level.to_vec(),
        _ => {
            let skinning: &[Kind] = if options.solid && !options.varies { &[Kind::Skinning] } else { &[] };
            [&[Kind::SmoothedAggregation], skinning, &one_level[..]].concat()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coarsen_diagnose::diagnose;
    use coarsen_problems::{elasticity3d, poisson2d, poisson3d};
    use coarsen_sparse::Bsr;
    use coarsen_sparse::assembly::from_triplets;

    fn plan(a: &Bsr<f64>, iterate: bool) -> Plan {
        let options = Options { iterate, ..Options::default() };
        Plan::new(options, a.shape().0, &diagnose(a), |factor| Costs::of(a, factor))
    }

    fn square(entries: [f64; 4]) -> Bsr<f64> {
        let [a, b, c, d] = entries;
        from_triplets(2, 2, &[(0, 0, a), (0, 1, b), (1, 0, c), (1, 1, d)]).unwrap()
    }

    #[test]
    fn the_matrix_decides() {
        for (entries, method) in [
            ([2.0, 1.0, 1.0, 2.0], Method::Cg),
            ([-2.0, 1.0, 1.0, -2.0], Method::Cg),
            ([1.0, 2.0, 2.0, 1.0], Method::Minres),
            ([1.0, 2.0, 2.0, -1.0], Method::Minres),
            ([2.0, 1.0, 0.0, 2.0], Method::BiCgStab),
            ([0.0, 1.0, 3.0, 2.0], Method::Gmres),
        ] {
            let a = square(entries);
            assert_eq!(plan(&a, false).begins(), Last::Factor, "{entries:?}");
            let Last::Iterations(begins, _) = plan(&a, true).begins() else { panic!("{entries:?}") };
            assert!(begins == method || begins == Method::Gmres, "{entries:?}: {begins}");
        }
        // A component without constraints is singular, so the matrix is not factorised, even if it is small.
        assert!(matches!(plan(&square([1.0, -1.0, -1.0, 1.0]), false).begins(), Last::Iterations(..)));
    }

    #[test]
    fn sizes_and_structure_decide() {
        let begins = |a: &Bsr<f64>| plan(a, false).begins();
        let sa = Last::Iterations(Method::Cg, Kind::SmoothedAggregation);
        assert_eq!(begins(&poisson3d(40).unwrap().matrix), Last::Iterations(Method::Cg, Kind::Jacobi));
        assert_eq!(begins(&poisson2d(300).unwrap().matrix), sa);
        assert_eq!(begins(&elasticity3d(30, 1.0).unwrap().matrix), sa);
        let plan = plan(&elasticity3d(6, 1.0).unwrap().matrix, true);
        assert_eq!(plan.factor, FactorCost::None(NoFactor::Unwanted));
    }
}
