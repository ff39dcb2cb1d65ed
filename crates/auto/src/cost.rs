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
use coarsen_sparse::{Bsr, Pattern};

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

/// The number of block rows that [`sample`] reads, in runs of [`RUN`].
const SAMPLE: usize = 16_384;

/// The number of consecutive block rows of a sample.
const RUN: usize = 16;

/// Returns the evenness of the couplings, the quotient ρ and the jump of the diagonal, from a sample of the rows.
///
/// The evenness is the mean coupling |a_ij| / √(a_ii a_jj) of a scalar row divided by the strongest coupling of the
/// row, averaged over rows with couplings. It does not depend on the units of the unknowns. All are 1 if
/// diagonal entries are zero or differ in sign.
fn sample(a: &Bsr<f64>) -> (f64, f64, f64) {
    let (rows, b) = (a.pattern().rows(), a.block().0);
    let runs = if rows <= SAMPLE { 1 } else { SAMPLE / RUN };
    let step = rows / runs.max(1);
    let mut tally = Tally::default();
    for k in 0..runs {
        // The place within a stratum is irregular, so that it does not agree with the lines of a grid.
        let irregular = (k as f64 * 0.618_033_988_749_895).fract() * (step.saturating_sub(RUN)) as f64;
        let first = if runs == 1 { 0 } else { k * step + irregular as usize };
        let end = if runs == 1 { rows } else { first + RUN };
        for i in first..end {
            if !tally.add(a, i, b) {
                return (1.0, 1.0, 1.0);
            }
        }
    }
    let (constants, scaled) = (tally.constants / tally.diagonals, tally.scaled / tally.rows);
    let quotient = constants.min(scaled);
    let evenness = if tally.coupled > 0.0 { tally.evenness / tally.coupled } else { 1.0 };
    let quotient = if quotient.is_finite() { quotient.clamp(1e-16, 1.0) } else { 1.0 };
    // Where D^-½ 1 is nearer to the kernel than constants, the diagonal shows the units of the unknowns.
    let in_one_unit = tally.least > 0.0 && constants <= 2.0 * scaled;
    (evenness, quotient, if in_one_unit { tally.largest / tally.least } else { 1.0 })
}

/// Sums over the rows of a sample.
#[derive(Default)]
struct Tally {
    /// 1ᵀA 1 and 1ᵀD 1.
    constants: f64,
    diagonals: f64,
    /// The smallest and the largest diagonal entry.
    least: f64,
    largest: f64,
    /// 1ᵀD^-½ A D^-½ 1 and the number of rows.
    scaled: f64,
    rows: f64,
    /// The evenness of the rows with couplings, and their number.
    evenness: f64,
    coupled: f64,
}

impl Tally {
    /// Adds a block row; returns whether its diagonal entries, and those of its neighbours, have one sign and are not zero.
    fn add(&mut self, a: &Bsr<f64>, i: usize, b: usize) -> bool {
        for r in 0..b {
            let own = a.get(i * b + r, i * b + r);
            let sign = own.signum();
            let (mut strongest, mut sum, mut others) = (0.0_f64, 0.0, 0_usize);
            for (j, block) in a.row(i) {
                let value = block[r * b + r];
                let other = if j == i { own } else { a.get(j * b + r, j * b + r) };
                if !(own * other > 0.0) {
                    return false;
                }
                let coupling = sign * value / own.abs().sqrt() / other.abs().sqrt();
                self.constants += sign * value;
                self.scaled += coupling;
                if j != i {
                    (strongest, sum, others) =
                        (strongest.max(coupling.abs()), sum + coupling.abs(), others + 1);
                }
            }
            self.diagonals += own.abs();
            self.least = if self.least > 0.0 { self.least.min(own.abs()) } else { own.abs() };
            self.largest = self.largest.max(own.abs());
            self.rows += 1.0;
            if b == 1 && strongest > 0.0 {
                self.evenness += sum / strongest / others as f64;
                self.coupled += 1.0;
            }
        }
        true
    }
}

/// The number of nodes that a search reads.
const SEARCH: usize = 32_768;

/// Returns the number of unknowns divided by the number of levels of a breadth-first search from an end of
/// the graph. Only the component of the first longest row is measured.
///
/// *Cost*: two searches, the second from the last node of the first. In a large graph, one search of
/// [`SEARCH`] nodes; the number of levels of all nodes follows from the dimension d with which the number of nodes grows.
/// The pattern is assumed to be symmetric.
fn width(a: &Bsr<f64>) -> f64 {
    let (pattern, b) = (a.pattern(), a.block().0 as f64);
    let rows = pattern.rows();
    // One end of a path between an end of the graph and its middle.
    const AROUND: f64 = 1.5;
    let longest = |i: &usize| (pattern.row(*i).len() <= HUB, pattern.row(*i).len(), std::cmp::Reverse(*i));
    let Some(inside) = (0..rows.min(SEARCH)).max_by_key(longest) else { return 0.0 };
    let mut search = Search {
        seen: vec![false; rows],
        order: Vec::with_capacity(rows.min(2 * SEARCH)),
        starts: Vec::new(),
        ended: false,
    };
    search.levels(pattern, inside as u32);
    if !search.ended {
        let levels = search.starts.len() - 1;
        let within = |level: usize| search.starts[level] as f64;
        let dimension = (within(levels) / within(levels.div_ceil(2))).log2().clamp(1.0, 3.0);
        let whole = AROUND * levels as f64 * (rows as f64 / within(levels)).powf(1.0 / dimension);
        return b * rows as f64 / whole;
    }
    let end = *search.order.last().expect("a search reaches its root");
    search.seen.fill(false);
    search.levels(pattern, end);
    // Only one component is measured.
    b * search.order.len() as f64 / search.starts.len() as f64
}

/// The couplings of a node above which a search does not go through it.
const HUB: usize = 1024;

/// A breadth-first search.
struct Search {
    seen: Vec<bool>,
    /// The reached nodes, level by level.
    order: Vec<u32>,
    /// The number of nodes before each level.
    starts: Vec<usize>,
    /// Whether all nodes of the component were reached.
    ended: bool,
}

impl Search {
    /// Searches from a root, level by level, until [`SEARCH`] nodes are reached.
    fn levels(&mut self, pattern: &Pattern, root: u32) {
        self.order.clear();
        self.starts.clear();
        self.order.push(root);
        self.seen[root as usize] = true;
        let mut begun = 0;
        while begun < self.order.len() {
            self.starts.push(begun);
            if begun > SEARCH {
                self.ended = false;
                return;
            }
            let end = self.order.len();
            for at in begun..end {
                let row = pattern.row(self.order[at] as usize);
                // A node that is coupled to all others says nothing about their distances, and is ordered last.
                if row.len() > HUB {
                    continue;
                }
                for &j in row {
                    if !std::mem::replace(&mut self.seen[j as usize], true) {
                        self.order.push(j);
                    }
                }
            }
            begun = end;
        }
        self.ended = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coarsen_problems::{anisotropic2d, elasticity3d, poisson2d, poisson3d, scrambled};

    #[test]
    fn a_sample_shows_uneven_couplings_and_jumps() {
        let (even, quotient, jump) = sample(&poisson2d(200).unwrap().matrix);
        assert!(even > 0.99 && jump == 1.0);
        // 4 · 200 · 1 / (4 · 200²), from the missing neighbours outside of the boundary.
        assert!((quotient * 200.0 - 1.0).abs() < 0.3, "{quotient}");
        assert!(sample(&anisotropic2d(20).unwrap().matrix).0 < 0.7);
        let rescaled = scrambled(&poisson2d(60).unwrap().matrix, 3).unwrap();
        assert!(sample(&rescaled).1 < 0.05, "the units of the unknowns do not matter");
    }

    /// The width of a large graph is estimated from a part of it.
    #[test]
    fn widths_of_large_graphs_are_near_the_width() {
        for (a, expected) in [(poisson2d(300).unwrap().matrix, 150.0), (poisson3d(50).unwrap().matrix, 845.0)]
        {
            let ratio = width(&a) / expected;
            assert!((0.5..2.0).contains(&ratio), "{ratio}");
        }
    }

    #[test]
    fn widths_are_those_of_the_graph() {
        let w = width(&poisson2d(40).unwrap().matrix);
        assert!((15.0..45.0).contains(&w), "{w}");
    }

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
