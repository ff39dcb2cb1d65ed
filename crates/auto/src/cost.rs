//! The cost of setups, iterations and factors, computed from sizes and from the pattern of the matrix.
//!
//! The unit is one byte moved between memory and processor, which takes 60 ps if two cores share 17 GB/s. The
//! constants are fitted to the seconds that `cargo bench -p coarsen-benches --bench work` prints together
//! with the work. Only ratios of costs matter, and no clock is used when a system is solved. A factorisation
//! runs on one core, so its constants are for one core.
//!
//! | letter | meaning |
//! |---|---|
//! | n, N | unknowns, nodes (block rows) |
//! | nnz | stored scalars of A |
//! | s | nnz + 20 n, the scalars that an iteration reads and writes |
//! | w | width: the number of unknowns divided by the number of levels of a breadth-first search |
//! | \|L\|, f | entries of the factor; multiplications and additions of the factorisation |

use coarsen_direct::Figures;
use coarsen_sparse::{Bsr, Pattern};

use crate::Kind;

/// The number of vector entries per unknown that an iteration of CG reads and writes. They count as much as
/// entries of A.
const PER_ROW: f64 = 20.0;

/// The cost of an iteration of CG with block Jacobi per entry of s.
const ITERATION: f64 = 2.5;

/// The constant cost of a setup or an iteration.
const START: f64 = 4e4;

/// The cost of a multigrid cycle per unit of operator complexity, in products with A.
const CYCLE: f64 = 2.6;

/// The cost of an iteration with IC(0), whose sweeps are serial, in products with A.
const SWEEPS: f64 = 3.3;

/// The setup cost of diagonal blocks per entry of s.
const INVERSES: f64 = 10.0;

/// The setup cost of IC(0) or ILU(0) per entry of s.
const INCOMPLETE: f64 = 70.0;

/// The setup cost of smoothed aggregation per entry of s, for matrices in blocks.
const BLOCKS: f64 = 185.0;

/// The setup cost of skinning per entry of s.
const HANDLES: f64 = 200.0;

/// The setup cost of smoothed aggregation per entry of s, for scalar matrices.
const SCALARS: f64 = 300.0;

/// The constant setup cost of smoothed aggregation.
const HIERARCHY_START: f64 = 1e7;

/// The expected number of iterations with smoothed aggregation if couplings are even, as in most systems.
const ITERATIONS: f64 = 30.0;

/// The expected number of iterations for scalar systems with the most uneven couplings.
const UNEVEN: f64 = 70.0;

/// The assumed operator complexity of a hierarchy before it is built.
const COMPLEXITY: f64 = 1.5;

/// The expected number of iterations with skinning, and its operator complexity.
const SKINNING: (f64, f64) = (25.0, 1.25);

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

/// The number of operations of a factor divided by w³ (n/w)^½. For a graph of width w, the result is between
/// the numbers for a band matrix and for a square or cube under nested dissection.
const WIDTH_FLOPS: f64 = 6.0;

/// The number of entries of a factor divided by n w (w/n)^¼. The result is between the numbers for the same
/// two cases.
const WIDTH_ENTRIES: f64 = 1.5;

/// The costs of the methods for a symmetric system that may be positive definite.
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
    /// The width w of the graph, similar to the width of a band: the number of unknowns divided by the number
    /// of levels of a breadth-first search. Infinite if it was not computed.
    pub width: f64,
}

impl Costs {
    /// Measures a square matrix, and its graph if a factor is an alternative (`factor`).
    ///
    /// *Cost*: a sample of 4,096 rows, and two breadth-first searches for the width.
    pub fn of(a: &Bsr<f64>, factor: bool) -> Self {
        let block = a.block().0;
        Self {
            unknowns: a.shape().0 as f64,
            entries: a.nnz() as f64,
            nodes: a.pattern().rows() as f64,
            stored_blocks: a.pattern().indices().len() as f64,
            block,
            evenness: if block > 1 { 1.0 } else { evenness(a) },
            width: if factor { width(a) } else { f64::INFINITY },
        }
    }

    /// The cost of the setup of a preconditioner.
    pub fn setup(&self, kind: Kind) -> f64 {
        match kind {
            Kind::Identity => 0.0,
            Kind::Jacobi | Kind::BlockJacobi => START + INVERSES * self.share(),
            Kind::Ic0 | Kind::Ilu0 => START + INCOMPLETE * self.share(),
            Kind::Skinning => HIERARCHY_START + HANDLES * self.share(),
            Kind::SmoothedAggregation => {
                HIERARCHY_START + if self.block > 1 { BLOCKS } else { SCALARS } * self.share()
            }
        }
    }

    /// The cost of an iteration of conjugate gradients; `complexity` is the operator complexity if `kind` is
    /// a hierarchy.
    pub fn iteration(&self, kind: Kind, complexity: f64) -> f64 {
        let product = ITERATION * self.share();
        START
            + match kind {
                Kind::Identity | Kind::Jacobi | Kind::BlockJacobi => product,
                Kind::Ic0 | Kind::Ilu0 => SWEEPS * product,
                Kind::SmoothedAggregation | Kind::Skinning => (1.0 + CYCLE * complexity) * product,
            }
    }

    /// The expected cost of setup and iterations of a hierarchy, before its setup.
    pub fn hierarchy(&self, kind: Kind) -> f64 {
        if kind == Kind::Skinning {
            return self.setup(kind) + SKINNING.0 * self.iteration(kind, SKINNING.1);
        }
        let iterations = ITERATIONS + (UNEVEN - ITERATIONS) * (1.0 - self.evenness).clamp(0.0, 1.0);
        self.setup(kind) + iterations * self.iteration(kind, COMPLEXITY)
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
        let entries = (0.5 * self.entries).max(WIDTH_ENTRIES * n * w / levels.powf(0.25));
        self.ordering() + self.sized(entries, WIDTH_FLOPS * w.powi(3) * levels.sqrt())
    }

    fn sized(&self, entries: f64, flops: f64) -> f64 {
        FACTOR_ROW * self.unknowns + FACTOR_ENTRY * entries + FACTOR_FLOP * flops
    }

    fn share(&self) -> f64 {
        self.entries + PER_ROW * self.unknowns
    }
}

/// The number of rows that [`evenness`] samples.
const SAMPLE: usize = 4096;

/// Returns the mean coupling |a_ij| / √(a_ii a_jj) of a scalar row divided by the strongest coupling of the
/// row, averaged over rows with couplings. It does not depend on the units of the unknowns. It is 1 if a
/// diagonal entry is not positive.
fn evenness(a: &Bsr<f64>) -> f64 {
    let n = a.shape().0;
    let (mut sum, mut rows) = (0.0, 0_usize);
    for i in (0..n).step_by(n.div_ceil(SAMPLE).max(1)) {
        let (mut strongest, mut whole, mut others) = (0.0_f64, 0.0, 0_usize);
        for (j, value) in a.row(i).filter(|&(j, _)| j != i) {
            let scale = a.get(i, i) * a.get(j, j);
            if !(scale > 0.0 && scale.is_finite()) {
                return 1.0;
            }
            let coupling = value[0].abs() / scale.sqrt();
            (strongest, whole, others) = (strongest.max(coupling), whole + coupling, others + 1);
        }
        if strongest > 0.0 {
            sum += whole / strongest / others as f64;
            rows += 1;
        }
    }
    if rows == 0 { 1.0 } else { sum / rows as f64 }
}

/// Returns the number of unknowns divided by the number of levels of a breadth-first search from an end of
/// the graph. Only the component of the first longest row is measured.
///
/// *Cost*: two searches, the second from the last node of the first. The pattern is assumed to be symmetric.
fn width(a: &Bsr<f64>) -> f64 {
    let pattern = a.pattern();
    let longest = |i: &usize| (pattern.row(*i).len(), std::cmp::Reverse(*i));
    let Some(inside) = (0..pattern.rows()).max_by_key(longest) else { return 0.0 };
    let mut search = Search { seen: vec![false; pattern.rows()], order: Vec::with_capacity(pattern.rows()) };
    search.levels(pattern, inside as u32);
    let end = *search.order.last().expect("a search reaches its root");
    search.seen.fill(false);
    let levels = search.levels(pattern, end);
    // Only one component is measured.
    (search.order.len() * a.block().0) as f64 / levels as f64
}

/// A breadth-first search.
struct Search {
    seen: Vec<bool>,
    /// The reached nodes, level by level.
    order: Vec<u32>,
}

impl Search {
    /// Searches from a root and returns the number of levels.
    fn levels(&mut self, pattern: &Pattern, root: u32) -> usize {
        self.order.clear();
        self.order.push(root);
        self.seen[root as usize] = true;
        let (mut begun, mut levels) = (0, 0);
        while begun < self.order.len() {
            levels += 1;
            let end = self.order.len();
            for at in begun..end {
                for &j in pattern.row(self.order[at] as usize) {
                    if !std::mem::replace(&mut self.seen[j as usize], true) {
                        self.order.push(j);
                    }
                }
            }
            begun = end;
        }
        levels
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coarsen_problems::{anisotropic2d, elasticity3d, poisson2d, poisson3d};

    #[test]
    fn strings_are_seen() {
        assert!(evenness(&poisson2d(20).unwrap().matrix) > 0.99);
        assert!(evenness(&anisotropic2d(20).unwrap().matrix) < 0.7);
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
