//! What a setup, an iteration and a factor cost, from sizes and from the look of the matrix.
//!
//! The unit is a byte that moves between memory and processor while two cores share 17 GB/s: 60 ps. Every constant is a fit to
//! seconds that `cargo bench -p coarsen-benches --bench work` prints beside the work it stands for; only ratios
//! matter, and no clock is read when a system is solved. A factor runs on one core whatever the others do, which its constants hold.
//!
//! | letter | meaning |
//! |---|---|
//! | n, N | unknowns, nodes (block rows) |
//! | nnz | stored scalars of A |
//! | s | share: nnz + 20 n, what an iteration reads and writes |
//! | w | width: unknowns over the levels of a breadth-first search |
//! | \|L\|, f | entries of the factor, its multiplications and additions |

use coarsen_direct::Figures;
use coarsen_sparse::{Bsr, Pattern};

use crate::Kind;

/// Scalars of vectors that an iteration of CG reads and writes, as entries of A for each unknown.
const PER_ROW: f64 = 20.0;

/// An iteration of CG with block Jacobi: for an entry of s, and whatever the size.
const ITERATION: f64 = 2.4;
const START: f64 = 4e4;

/// Applications of a hierarchy in products with A, for each unit of its operator complexity; of IC(0), whose sweeps are serial.
const CYCLE: f64 = 3.5;
const SWEEPS: f64 = 3.5;

/// Setups, for an entry of s: diagonal blocks, IC(0), ILU(0).
const INVERSES: f64 = 10.0;
const INCOMPLETE: f64 = 100.0;

/// Setup of smoothed aggregation for an entry of s, with blocks and with scalars, and whatever the size.
const BLOCKS: f64 = 300.0;
const SCALARS: f64 = 350.0;
const HIERARCHY_START: f64 = 2e7;

/// Iterations that smoothed aggregation promises: on most systems, and on scalars whose couplings are most uneven.
const ITERATIONS: f64 = 30.0;
const UNEVEN: f64 = 70.0;

/// Operator complexity of a hierarchy that is not built yet.
const COMPLEXITY: f64 = 1.5;

/// Ordering: for a node; for a stored block and the root of the width in nodes, whose separators are searched, of blocks and of scalars.
const ORDERING_NODE: f64 = 5e3;
const ORDERING_BLOCK: f64 = 250.0;
const ORDERING_SCALAR: f64 = 100.0;

/// A factor: for an unknown, for an entry of L (solves included), for an operation.
const FACTOR_ROW: f64 = 1.3e4;
const FACTOR_ENTRY: f64 = 200.0;
const FACTOR_FLOP: f64 = 0.6;

/// Operations of a factor for w³ (n/w)^½, and its entries for n w (w/n)^¼: between those of a band and those of a square or a cube,
/// whose largest front is as wide as w and whose others shrink from one dissection to the next.
const WIDTH_FLOPS: f64 = 6.0;
const WIDTH_ENTRIES: f64 = 1.5;

/// What the ways to solve a symmetric system cost that may be positive definite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    /// n.
    pub unknowns: f64,
    /// nnz.
    pub entries: f64,
    /// N.
    pub nodes: f64,
    /// Stored blocks of A.
    pub stored_blocks: f64,
    /// The order of the blocks of A.
    pub block: usize,
    /// How even the couplings of a row are: 1 where all are equal, towards 0 where few of many count; 1 for blocks.
    pub evenness: f64,
    /// Unknowns over levels of a breadth-first search: the width of a band; infinite where it was not asked for.
    pub width: f64,
}

impl Costs {
    /// Looks at a square matrix; at its graph only where a factor is wanted.
    ///
    /// *Cost* a sample of 4,096 rows, and two breadth-first searches for the width.
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

    /// Setting a preconditioner up.
    pub fn setup(&self, kind: Kind) -> f64 {
        match kind {
            Kind::Identity => 0.0,
            Kind::Jacobi | Kind::BlockJacobi => START + INVERSES * self.share(),
            Kind::Ic0 | Kind::Ilu0 => START + INCOMPLETE * self.share(),
            Kind::SmoothedAggregation => {
                HIERARCHY_START + if self.block > 1 { BLOCKS } else { SCALARS } * self.share()
            }
        }
    }

    /// One iteration of conjugate gradients; `complexity` is the operator complexity of a hierarchy.
    pub fn iteration(&self, kind: Kind, complexity: f64) -> f64 {
        let product = ITERATION * self.share();
        START
            + match kind {
                Kind::Identity | Kind::Jacobi | Kind::BlockJacobi => product,
                Kind::Ic0 | Kind::Ilu0 => SWEEPS * product,
                Kind::SmoothedAggregation => (1.0 + CYCLE * complexity) * product,
            }
    }

    /// Setup and iterations of smoothed aggregation, before anything is known of it.
    pub fn hierarchy(&self) -> f64 {
        let iterations = ITERATIONS + (UNEVEN - ITERATIONS) * (1.0 - self.evenness).clamp(0.0, 1.0);
        self.setup(Kind::SmoothedAggregation)
            + iterations * self.iteration(Kind::SmoothedAggregation, COMPLEXITY)
    }

    /// O: ordering the matrix and finding the structure of its factor.
    pub fn ordering(&self) -> f64 {
        let search = if self.block > 1 { ORDERING_BLOCK } else { ORDERING_SCALAR };
        ORDERING_NODE * self.nodes + search * (self.width / self.block as f64).sqrt() * self.stored_blocks
    }

    /// F: a factor of known size, and the solve; `None` where the sizes are not known.
    pub fn factor(&self, figures: &Figures) -> Option<f64> {
        Some(self.sized(figures.nnz? as f64, figures.flops?))
    }

    /// C₀: ordering and factor at least, as if there were no fill.
    pub fn least(&self) -> f64 {
        self.ordering() + self.sized(0.5 * self.entries, 0.0)
    }

    /// Ordering and factor, as the width of the graph promises.
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

/// Rows that [`evenness`] looks at.
const SAMPLE: usize = 4096;

/// The mean coupling |a_ij| / √(a_ii a_jj) of a row of scalars as a share of its strongest, in the mean over rows that have some, whatever the units of the
/// unknowns; 1 where a diagonal entry is not positive.
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

/// Unknowns over levels of a breadth-first search from an end of the graph, of the component of the first longest row.
///
/// *Cost* two searches: the second begins where the first ended. The pattern counts as symmetric.
fn width(a: &Bsr<f64>) -> f64 {
    let pattern = a.pattern();
    let longest = |i: &usize| (pattern.row(*i).len(), std::cmp::Reverse(*i));
    let Some(inside) = (0..pattern.rows()).max_by_key(longest) else { return 0.0 };
    let mut search = Search { seen: vec![false; pattern.rows()], order: Vec::with_capacity(pattern.rows()) };
    search.levels(pattern, inside as u32);
    let end = *search.order.last().expect("a search reaches its root");
    search.seen.fill(false);
    let levels = search.levels(pattern, end);
    // Of other components nothing is seen; the level sizes of this one count.
    (search.order.len() * a.block().0) as f64 / levels as f64
}

/// A breadth-first search.
struct Search {
    seen: Vec<bool>,
    /// The nodes it reached, level after level.
    order: Vec<u32>,
}

impl Search {
    /// Searches from a root, and counts the levels.
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

    /// The factor's true size, known after the ordering, beside what the width promised before.
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
