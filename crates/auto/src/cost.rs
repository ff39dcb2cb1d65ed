//! The cost of setups, iterations and factors, computed from sizes, from the pattern and from a sample of the rows.
//!
//! The unit is one byte moved between memory and processor, which takes 60 ps if two cores share 17 GB/s. The
//! constants are fitted to the seconds that `cargo bench -p coarsen-benches --bench work` prints together
//! with the work. Only ratios of costs matter, and no clock is used when a system is solved, so that the same
//! system is solved in the same way on every machine and by every number of threads. A factorisation runs on one
//! core, so its constants are for one core.
//!
//! | letter | meaning |
//! |---|---|
//! | n, N | unknowns, nodes (block rows) |
//! | nnz | stored scalars of A |
//! | s | nnz + 20 n, the scalars that an iteration reads and writes |
//! | w | width: the number of unknowns divided by the number of levels of a breadth-first search |
//! | \|L\|, f | entries of the factor; multiplications and additions of the factorisation |
//! | ρ | the smallest Rayleigh quotient vᵀA v / vᵀD v of constants and of D^-½ 1, where D = diag(A): above the smallest eigenvalue of D⁻¹A |
//! | ε | tolerance for the relative residual |

use coarsen_direct::Figures;
use coarsen_sparse::Bsr;

use crate::sample::{sample, width};
use crate::{Kind, Method};

/// The number of vector entries per unknown that an iteration of CG reads and writes. They count as much as
/// entries of A.
const PER_ROW: f64 = 20.0;

/// The cost of an iteration of CG with block Jacobi per entry of s.
const ITERATION: f64 = 2.5;

/// The constant cost of a setup or an iteration.
const START: f64 = 4e4;

/// The cost of a multigrid cycle per unit of operator complexity, in products with A.
const CYCLE: f64 = 2.6;

/// The cost of an iteration with IC(0) or ILU(0), whose sweeps are serial, in products with A.
const SWEEPS: f64 = 3.3;

/// The cost of an iteration with multilevel Schwarz, in products with A.
const DOMAINS: f64 = 1.7;

/// The cost of an iteration with factors of overlapping domains, in products with A.
const OVERLAP: f64 = 40.0;

/// The cost of orthogonalisation in an iteration of restarted GMRES: vector entries per unknown.
const ORTHOGONAL: f64 = 40.0;

/// The setup cost of diagonal blocks per entry of s.
const INVERSES: f64 = 10.0;

/// The setup cost of IC(0) or ILU(0) per entry of s.
const INCOMPLETE: f64 = 70.0;

/// The setup cost of multilevel Schwarz per entry of s.
const DOMAIN_INVERSES: f64 = 160.0;

/// The setup cost of factors of overlapping domains per entry of s.
const DOMAIN_FACTORS: f64 = 3000.0;

/// The setup cost of smoothed aggregation per entry of s, for matrices in blocks.
const BLOCKS: f64 = 185.0;

/// The setup cost of skinning per entry of s.
const HANDLES: f64 = 200.0;

/// The setup cost of smoothed aggregation per entry of s, for scalar matrices.
const SCALARS: f64 = 300.0;

/// The constant setup cost of smoothed aggregation.
const HIERARCHY_START: f64 = 1e7;

/// The assumed operator complexity of a hierarchy before it is built.
const COMPLEXITY: f64 = 1.5;

/// The expected number of iterations to ε = 1e-8 with smoothed aggregation: if the near-kernel is known or couplings
/// are even, if it is not known for blocks, and for scalars with the most uneven couplings.
const AGGREGATION: [f64; 3] = [30.0, 45.0, 70.0];

/// The expected number of iterations with skinning to ε = 1e-8 for a body of [`BODY`] nodes, and its operator complexity.
const SKINNING: (f64, f64) = (25.0, 1.25);

/// The number of nodes from which the iterations with skinning grow like the diameter of the body, if it has no inertia.
const BODY: f64 = 16_000.0;

/// The quotient ρ above which inertia bounds the iterations with skinning.
const INERTIA: f64 = 0.05;

/// The jump of the diagonal above which more iterations are expected: 1.5 times as many with block Jacobi, and [`STIFF`] times as
/// many with skinning.
const JUMP: f64 = 100.0;

/// See [`JUMP`].
const STIFF: f64 = 4.0;

/// The expected numbers of iterations to ε = 1e-8 for matrices that are not positive definite: with the diagonal, with ILU(0),
/// and with factors of domains.
const INDEFINITE: [f64; 3] = [400.0, 100.0, 40.0];

/// The cost of the ordering per node.
const ORDERING_NODE: f64 = 5e3;

/// The cost of the search for separators, for matrices in blocks, per stored block times the root of the
/// width in nodes.
const ORDERING_BLOCK: f64 = 250.0;

/// `ORDERING_BLOCK` for scalar matrices.
const ORDERING_SCALAR: f64 = 100.0;

/// The cost of a factor per unknown.
const FACTOR_ROW: f64 = 1e4;

/// The cost of a factor per entry of L, solves included.
const FACTOR_ENTRY: f64 = 150.0;

/// The cost of a factor per operation.
const FACTOR_FLOP: f64 = 0.45;

/// The cost of LU, and of L B Lᵀ with pivots, as a multiple of a Cholesky factorisation of the same pattern.
const PIVOTS: f64 = 2.0;

/// The number of operations of a factor divided by w³ (n/w)^½. For a graph of width w, the result is between
/// the numbers for a band matrix and for a square or cube under nested dissection.
const WIDTH_FLOPS: f64 = 6.0;

/// The number of entries of a factor divided by n w (w/n)^¼. The result is between the numbers for the same
/// two cases.
const WIDTH_ENTRIES: f64 = 1.5;

/// The ratio of the iterations of CG with block Jacobi to ½ √(2/ρ) ln(2/ε), for scalars and for blocks.
const ABOVE_BOUND: [f64; 2] = [2.5, 4.0];

/// The costs of the methods for a system.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    /// The number of unknowns n.
    pub unknowns: f64,
    /// The number of stored scalars nnz.
    pub entries: f64,
    /// The number of nodes N.
    pub nodes: f64,
    /// The number of stored blocks of A.
    pub stored_blocks: f64,
    /// The block size of A.
    pub block: usize,
    /// The evenness of the couplings in a row: 1 if all are equal, near 0 if a few dominate, and 1 for
    /// matrices in blocks.
    pub evenness: f64,
    /// The quotient ρ. It is 1 if diagonal entries of the sample are zero or differ in sign.
    pub quotient: f64,
    /// The largest diagonal entry of the sample, divided by the smallest; 1 if unknowns have several units.
    pub jump: f64,
    /// The width w of the graph, similar to the width of a band: the number of unknowns divided by the number
    /// of levels of a breadth-first search. Infinite if it was not computed.
    pub width: f64,
    /// Whether the caller knows the near-kernel of blocks, from positions or vectors.
    pub near_kernel: bool,
    /// Whether a factorisation needs pivots, because the matrix is not positive definite.
    pub pivots: bool,
    /// The tolerance ε.
    pub tolerance: f64,
}

impl Costs {
    /// Measures a square matrix, and its graph if a factor is an alternative (`factor`). The costs are those of a
    /// positive definite matrix without a known near-kernel, for ε = 1e-8, until the other fields are set.
    ///
    /// *Cost*: a sample of 16,384 block rows, and breadth-first searches of at most 32,768 nodes.
    pub fn of(a: &Bsr<f64>, factor: bool) -> Self {
        let (evenness, quotient, jump) = sample(a);
        Self {
            unknowns: a.shape().0 as f64,
            entries: a.nnz() as f64,
            nodes: a.pattern().rows() as f64,
            stored_blocks: a.pattern().indices().len() as f64,
            block: a.block().0,
            evenness,
            quotient,
            jump,
            width: if factor { width(a) } else { f64::INFINITY },
            near_kernel: false,
            pivots: false,
            tolerance: 1e-8,
        }
    }

    /// The cost of the setup of a preconditioner.
    pub fn setup(&self, kind: Kind) -> f64 {
        match kind {
            Kind::Identity => 0.0,
            Kind::Jacobi
            | Kind::L1Jacobi
            | Kind::BlockJacobi
            | Kind::GaussSeidel
            | Kind::Ssor
            | Kind::Chebyshev => START + INVERSES * self.share(),
            Kind::Ic0 | Kind::Ilu0 => START + INCOMPLETE * self.share(),
            Kind::Schwarz => START + DOMAIN_INVERSES * self.share(),
            Kind::RestrictedSchwarz | Kind::OverlappingSchwarz => START + DOMAIN_FACTORS * self.share(),
            Kind::Skinning => HIERARCHY_START + HANDLES * self.share(),
            Kind::SmoothedAggregation => {
                HIERARCHY_START + if self.block > 1 { BLOCKS } else { SCALARS } * self.share()
            }
        }
    }

    /// The cost of an iteration; `complexity` is the operator complexity if `kind` is a hierarchy.
    pub fn iteration(&self, method: Method, kind: Kind, complexity: f64) -> f64 {
        let product = ITERATION * self.share();
        let with = match kind {
            Kind::Identity | Kind::Jacobi | Kind::L1Jacobi | Kind::BlockJacobi => product,
            Kind::Ic0 | Kind::Ilu0 | Kind::GaussSeidel | Kind::Ssor | Kind::Chebyshev => SWEEPS * product,
            Kind::Schwarz => DOMAINS * product,
            Kind::RestrictedSchwarz | Kind::OverlappingSchwarz => OVERLAP * product,
            Kind::SmoothedAggregation | Kind::Skinning => (1.0 + CYCLE * complexity) * product,
        };
        START
            + match method {
                Method::BiCgStab => 2.0 * with,
                Method::Gmres => with + ITERATION * ORTHOGONAL * self.unknowns,
                _ => with,
            }
    }

    /// The expected cost of setup and iterations, before the setup.
    pub fn expected(&self, method: Method, kind: Kind) -> f64 {
        let complexity = if kind == Kind::Skinning { SKINNING.1 } else { COMPLEXITY };
        self.setup(kind) + self.iterations(method, kind) * self.iteration(method, kind, complexity)
    }

    /// The expected number of iterations of CG with a preconditioner without levels of its own; `None` for others.
    pub(crate) fn one_level(&self, method: Method, kind: Kind) -> Option<f64> {
        let definite = matches!(method, Method::Cg | Method::FlexibleCg);
        (definite && !kind.is_hierarchy()).then(|| self.iterations(method, kind))
    }

    /// The expected number of iterations.
    fn iterations(&self, method: Method, kind: Kind) -> f64 {
        // The numbers are for eight digits.
        let digits = -self.tolerance.clamp(1e-16, 0.1).log10() / 8.0;
        match (method, kind) {
            (Method::Cg | Method::FlexibleCg, Kind::SmoothedAggregation) => digits * self.aggregation(),
            (_, Kind::Skinning) => digits * self.skinning(),
            (Method::Cg | Method::FlexibleCg, kind) => {
                let of_jacobi = match kind {
                    Kind::Identity => 1.5,
                    Kind::Ic0 => 0.4,
                    Kind::Schwarz => 0.7,
                    _ => 1.0,
                };
                of_jacobi * self.jacobi_iterations()
            }
            (_, Kind::SmoothedAggregation) => digits * AGGREGATION[1],
            (_, Kind::Ilu0) => digits * INDEFINITE[1],
            (_, Kind::RestrictedSchwarz) => digits * INDEFINITE[2],
            _ => digits * INDEFINITE[0],
        }
    }

    fn aggregation(&self) -> f64 {
        let [even, unknown, uneven] = AGGREGATION;
        match (self.block > 1, self.near_kernel) {
            (true, false) => unknown,
            (true, true) => even,
            (false, _) => even + (uneven - even) * (1.0 - self.evenness).clamp(0.0, 1.0),
        }
    }

    fn skinning(&self) -> f64 {
        let growth = if self.quotient > INERTIA { 1.0 } else { (self.nodes / BODY).cbrt().max(1.0) };
        SKINNING.0 * growth * if self.jump > JUMP { STIFF } else { 1.0 }
    }

    /// The expected number of iterations of CG with block Jacobi, from the bound κ ≥ 1/ρ.
    fn jacobi_iterations(&self) -> f64 {
        let above = match self.block {
            1 => (ABOVE_BOUND[0] / self.evenness.powi(4)).clamp(ABOVE_BOUND[0], 2.0 * ABOVE_BOUND[0]),
            _ => ABOVE_BOUND[1],
        };
        let above = if self.jump > JUMP { 1.5 * above } else { above };
        above * 0.5 * (2.0 / self.quotient).sqrt() * (2.0 / self.tolerance.clamp(1e-16, 0.1)).ln()
    }

    /// The cost O of ordering the matrix and computing the structure of its factor.
    pub fn ordering(&self) -> f64 {
        let search = if self.block > 1 { ORDERING_BLOCK } else { ORDERING_SCALAR };
        ORDERING_NODE * self.nodes + search * (self.width / self.block as f64).sqrt() * self.stored_blocks
    }

    /// The cost F of computing a factor of known size and solving with it; `None` if the size is not known.
    pub fn factor(&self, figures: &Figures) -> Option<f64> {
        Some(self.sized(figures.nnz? as f64, figures.flops?))
    }

    /// The lower bound C₀ of the cost of ordering and factor: the cost without fill-in.
    pub fn least(&self) -> f64 {
        self.ordering() + self.sized(0.5 * self.entries, 0.0)
    }

    /// The cost of ordering and factor, estimated from the width of the graph.
    pub fn direct(&self) -> f64 {
        let (n, w) = (self.unknowns, self.width);
        let levels = (n / w.max(1.0)).max(1.0);
        let times = if self.pivots { PIVOTS } else { 1.0 };
        let entries = times * (0.5 * self.entries).max(WIDTH_ENTRIES * n * w / levels.powf(0.25));
        self.ordering() + self.sized(entries, times * WIDTH_FLOPS * w.powi(3) * levels.sqrt())
    }

    fn sized(&self, entries: f64, flops: f64) -> f64 {
        FACTOR_ROW * self.unknowns + FACTOR_ENTRY * entries + FACTOR_FLOP * flops
    }

    fn share(&self) -> f64 {
        self.entries + PER_ROW * self.unknowns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coarsen_problems::{elasticity3d, poisson2d, poisson3d};

    /// Compares the true size of the factor, known after the ordering, with the estimate from the width.
    #[test]
    fn widths_promise_factors_within_a_factor_of_five() {
        for a in [
            poisson2d(100).unwrap().matrix,
            poisson3d(15).unwrap().matrix,
            elasticity3d(6, 1.0).unwrap().matrix,
        ] {
            let costs = Costs::of(&a, true);
            let (_, figures) = coarsen_direct::Direct::default().estimate(&a).unwrap();
            let ratio = costs.direct() / (costs.ordering() + costs.factor(&figures).unwrap());
            assert!((0.2..5.0).contains(&ratio), "{ratio}");
        }
    }

    #[test]
    fn a_factor_costs_at_least_what_it_is_said_to() {
        for a in [poisson2d(30).unwrap().matrix, elasticity3d(5, 1.0).unwrap().matrix] {
            let costs = Costs::of(&a, true);
            let (_, figures) = coarsen_direct::Direct::default().estimate(&a).unwrap();
            let whole = costs.ordering() + costs.factor(&figures).unwrap();
            assert!(costs.least() <= whole && costs.ordering() < costs.least());
        }
    }
}
