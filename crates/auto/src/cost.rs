//! The cost of setups, iterations and factors, computed from sizes, from the pattern and from a sample of the rows.
//!
//! The unit is one byte moved between memory and processor, which takes 60 ps if two cores share 17 GB/s. The
//! constants are fitted to the seconds that `cargo bench -p coarsen-benches --bench work` prints together
//! with the work. Only ratios of costs matter, and no clock is used when a system is solved, so that the same
//! system is solved in the same way on every machine and by every number of threads. A factorisation runs on one
//! core, so its constants are for one core.
//!
//! s = nnz + 20 n is the number of scalars that an iteration reads and writes.

use coarsen_core::parallel;
use coarsen_direct::FactorStats;
use coarsen_sparse::Bsr;

use crate::sample::{Sample, sample, width};
use crate::{Method, Precond};

/// The cost of a product with A and the vector updates of CG per entry of s.
const ITERATION: f64 = 2.5;

/// The constant cost of a setup or an iteration; of the setup of a hierarchy, and for blocks of an ordering or a factor.
const START: [f64; 2] = [4e4, 1e7];

/// The number of unknowns up to which incomplete factors of blocks mostly stay in the caches.
const CACHED: f64 = 1e5;

/// The jump of the diagonal above which more iterations are expected.
const LARGE_JUMP: f64 = 100.0;

/// The costs of the methods for a system, in bytes moved between memory and processor; an operation of a factorisation counts as the
/// bytes that move in its time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    /// The number of unknowns n.
    pub(crate) unknowns: f64,
    /// The number of stored scalars nnz.
    pub(crate) entries: f64,
    /// The block size of A.
    pub(crate) block: usize,
    pub(crate) sample: Sample,
    /// The mean width w of a level structure of the graph, similar to the width of a band. Infinite if it was not computed.
    pub(crate) width: f64,
    /// Whether the caller knows the near-kernel of blocks, from positions or vectors.
    pub(crate) near_kernel: bool,
    /// Whether a factorisation needs pivots, because the matrix is not positive definite.
    pub(crate) pivots: bool,
    /// Whether the factor is L U, because the matrix is unsymmetric.
    pub(crate) lu: bool,
    /// The tolerance ε.
    pub(crate) tolerance: f64,
}

impl Costs {
    /// Measures a square matrix, and its graph if a factor is an alternative (`factor`). The costs are those of a
    /// positive definite matrix without a known near-kernel, for ε = 1e-8, until the other fields are set.
    ///
    /// *Cost*: a sample of 8,192 scalar rows, and breadth-first searches of at most 32,768 nodes.
    pub fn of(a: &Bsr<f64>, factor: bool) -> Self {
        let of_graph = || if factor { width(a) } else { f64::INFINITY };
        let (sample, width) = match parallel::worth(a.nnz()) {
            true => parallel::join(|| sample(a), of_graph),
            false => (sample(a), of_graph()),
        };
        Self {
            unknowns: a.shape().0 as f64,
            entries: a.nnz() as f64,
            block: a.block().0,
            sample,
            width,
            near_kernel: false,
            pivots: false,
            lu: false,
            tolerance: 1e-8,
        }
    }

    /// The cost of the setup of a preconditioner: a constant, and these multiples of s.
    pub fn setup(&self, precond: Precond) -> f64 {
        let multiple = match precond {
            Precond::None => return 0.0,
            Precond::Jacobi | Precond::L1Jacobi | Precond::BlockJacobi => 10.0,
            Precond::GaussSeidel | Precond::Ssor | Precond::Chebyshev => 10.0,
            Precond::Ic0 | Precond::Ilu0 => 70.0,
            Precond::Schwarz => 160.0,
            Precond::RestrictedSchwarz | Precond::OverlappingSchwarz => 3000.0,
            Precond::Skinning => 200.0,
            Precond::SmoothedAggregation if self.block > 1 => 185.0,
            // Ruge-Stueben is not measured, and never chosen.
            Precond::SmoothedAggregation | Precond::RugeStueben => 300.0,
        };
        START[usize::from(precond.is_hierarchy())] + multiple * self.read_and_written()
    }

    /// The cost of an iteration: a constant, and these multiples of a product with A. `complexity` is the operator complexity of a
    /// hierarchy. An iteration of BiCGStab counts twice; GMRES orthogonalises.
    pub fn iteration(&self, method: Method, precond: Precond, complexity: f64) -> f64 {
        let products = match precond {
            Precond::None | Precond::Jacobi | Precond::L1Jacobi | Precond::BlockJacobi => 1.0,
            Precond::Ic0 if self.block > 1 && self.unknowns <= CACHED => 2.4,
            // The sweeps of incomplete factors are serial.
            Precond::Ic0 | Precond::Ilu0 | Precond::GaussSeidel | Precond::Ssor | Precond::Chebyshev => 3.3,
            Precond::Schwarz => 1.7,
            Precond::RestrictedSchwarz | Precond::OverlappingSchwarz => 40.0,
            Precond::SmoothedAggregation | Precond::RugeStueben | Precond::Skinning => 1.0 + 2.6 * complexity,
        };
        let (with, vectors) = (products * ITERATION * self.read_and_written(), ITERATION * self.unknowns);
        START[0]
            + match method {
                Method::BiCgStab => 2.0 * with,
                Method::Gmres => with + 40.0 * vectors,
                _ => with,
            }
    }

    /// The expected cost of setup and iterations, before the setup. The operator complexity of a hierarchy is not known yet.
    pub(crate) fn expected(&self, method: Method, precond: Precond) -> f64 {
        let complexity = if precond == Precond::Skinning { 1.25 } else { 1.5 };
        self.setup(precond) + self.iterations(method, precond) * self.iteration(method, precond, complexity)
    }

    /// The expected number of iterations.
    pub(crate) fn iterations(&self, method: Method, precond: Precond) -> f64 {
        // The numbers are for eight digits.
        let digits = -self.tolerance.clamp(1e-16, 0.1).log10() / 8.0;
        match (method, precond) {
            (Method::Cg | Method::FlexibleCg, Precond::SmoothedAggregation | Precond::RugeStueben) => {
                let smooth = digits
                    * match (self.block > 1, self.near_kernel) {
                        (true, true) => 30.0,
                        (true, false) => 45.0,
                        (false, _) => 30.0 + 40.0 * (1.0 - self.sample.uniformity).clamp(0.0, 1.0),
                    };
                let rough = smooth.max(0.3 * self.jacobi_iterations());
                smooth.powf(1.0 - self.roughness()) * rough.powf(self.roughness())
            }
            (_, Precond::Skinning) => digits * self.skinning(),
            (Method::Cg | Method::FlexibleCg, precond) => {
                let of_jacobi = match precond {
                    Precond::None => 1.5,
                    Precond::Ic0 if self.block > 1 => 0.3,
                    // Strong couplings along the order of the rows are eliminated almost exactly.
                    Precond::Ic0 => {
                        0.4 - 0.25 * self.roughness() * ((0.8 - self.sample.uniformity) / 0.3).clamp(0.0, 1.0)
                    }
                    Precond::Schwarz => 0.7,
                    _ => 1.0,
                };
                of_jacobi * self.jacobi_iterations()
            }
            (_, Precond::SmoothedAggregation | Precond::RugeStueben) => {
                digits * (45.0 + 400.0 * self.roughness())
            }
            // The pivots of skew blocks are small beside the entries that ILU(0) drops.
            (_, Precond::Ilu0) => digits * 100.0 * (self.sample.couplings / 4.0).clamp(1.0, 5.0),
            (_, Precond::RestrictedSchwarz) => digits * 40.0,
            (_, Precond::None) => digits * 600.0,
            _ => digits * 400.0,
        }
    }

    /// Between 0 and 1: whether relaxation leaves errors that change their sign between neighbours, because many couplings have
    /// the sign of the diagonal, as for the curl, flat cells and skew blocks. Coarse levels of smoothed aggregation cannot represent
    /// them, and its iterations are in proportion to those of one level.
    pub(crate) fn roughness(&self) -> f64 {
        ((self.sample.mixed - 0.2) / 0.1).clamp(0.0, 1.0)
    }

    /// Without inertia (ρ is small) the iterations grow like the diameter of a body of more than 16,000 nodes.
    fn skinning(&self) -> f64 {
        let growth = if self.sample.rayleigh_quotient > 0.05 {
            1.0
        } else {
            (self.nodes() / 16_000.0).cbrt().max(1.0)
        };
        25.0 * growth * if self.sample.diagonal_jump > LARGE_JUMP { 4.0 } else { 1.0 }
    }

    /// The expected number of iterations of CG with block Jacobi: a multiple of the bound ½ √(2/ρ) ln(2/ε), since κ ≥ 1/ρ.
    fn jacobi_iterations(&self) -> f64 {
        let multiple = match self.block {
            1 => (2.5 / self.sample.uniformity.powi(4)).clamp(2.5, 5.0),
            _ => 4.0,
        };
        let multiple = if self.sample.diagonal_jump > LARGE_JUMP { 1.5 * multiple } else { multiple };
        multiple
            * 0.5
            * (2.0 / self.sample.rayleigh_quotient).sqrt()
            * (2.0 / self.tolerance.clamp(1e-16, 0.1)).ln()
    }

    /// The cost O of ordering the matrix and computing the structure of its factor: a pass over the nodes, and the search for
    /// separators in a graph of w / b nodes in width.
    pub fn ordering(&self) -> f64 {
        let (b, search) = (self.block as f64, if self.block > 1 { 250.0 } else { 100.0 });
        self.start_of_factor()
            + 5e3 * self.nodes()
            + search * (self.width / b).sqrt() * self.entries / (b * b)
    }

    /// The cost F of computing a factor and solving with it.
    pub fn factor(&self, stats: &FactorStats) -> f64 {
        self.sized(stats.nnz as f64, stats.flops)
    }

    /// The lower bound C₀ of the cost of ordering and factor: the cost without fill-in.
    pub(crate) fn least(&self) -> f64 {
        self.ordering() + self.sized(0.5 * self.entries, 0.0)
    }

    /// The cost of ordering and factor, estimated from the width of the graph.
    ///
    /// With n/w levels, a factor has 1.5 n w (w/n)^¼ entries and takes 6 w³ (n/w)^½ operations. Both are between the
    /// numbers for a band matrix and for a square or cube under nested dissection. L B Lᵀ has the entries of a Cholesky factor. L U
    /// counts twice: its structure bounds all row exchanges.
    pub fn direct(&self) -> f64 {
        let (n, w) = (self.unknowns, self.width);
        let levels = (n / w.max(1.0)).max(1.0);
        let times = if self.lu { 2.0 } else { 1.0 };
        let entries = times * (0.5 * self.entries).max(1.5 * n * w / levels.powf(0.25));
        self.ordering() + self.sized(entries, times * 6.0 * w.powi(3) * levels.sqrt())
    }

    /// The cost of a factor by its unknowns, its entries with the solves, and its operations.
    fn sized(&self, entries: f64, flops: f64) -> f64 {
        self.start_of_factor() + 1e4 * self.unknowns + 150.0 * entries + 0.45 * flops
    }

    /// The constant part of the cost of an ordering, and of that of a factor.
    fn start_of_factor(&self) -> f64 {
        if self.block > 1 { START[1] } else { 0.0 }
    }

    fn nodes(&self) -> f64 {
        self.unknowns / self.block as f64
    }

    /// s: entries of vectors count as much as entries of A.
    fn read_and_written(&self) -> f64 {
        self.entries + 20.0 * self.unknowns
    }
}
