//! What `auto` measures beyond the diagnosis: what a factorisation, a hierarchy and an iteration of a cheap method would cost.
//!
//! None of it depends on the scale of the unknowns, and on their order only where ends of a graph are equally far. How many iterations the cheap method takes is not
//! measured here: a [`Trial`](crate::trial::Trial) shows it.
//!
//! The costs below are seconds on two present-day cores; only their ratios matter.

use coarsen::sparse::{Bsr, Graph};

/// An iteration of CG with block Jacobi: a share for each entry, and [`PER_ROW`] times that for each unknown.
const ITERATION: f64 = 1.2e-10;
const PER_ROW: usize = 20;

/// The work around an iteration that does not depend on the size.
const START: f64 = 2e-6;

/// Setup and solve of smoothed aggregation, for the same share: with blocks, with scalars, and with scalars whose couplings
/// are so uneven that aggregates are strings and iterations many.
const BLOCKS: f64 = 3.8e-8;
const SCALARS: f64 = 4.5e-8;
const STRINGS: f64 = 1e-7;

/// How much dearer it becomes with the unevenness of couplings, from [`SCALARS`] on.
const UNEVEN: f64 = 6.0;

/// What a hierarchy costs however small it is.
const HIERARCHY_START: f64 = 2e-3;

/// Ordering and solution with a factor, an unknown and an entry; factoring, for the cube of the width of the graph.
const ORDERING: f64 = 1.5e-6;
const ENTRY: f64 = 3e-8;
const FACTORING: f64 = 1.5e-9;

/// Seconds that the ways to solve a symmetric matrix would take, which may be positive definite.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measures {
    /// A factorisation; infinite where none is wanted.
    pub(crate) direct: f64,
    /// Smoothed aggregation.
    pub(crate) hierarchy: f64,
    /// An iteration of CG with block Jacobi.
    pub(crate) iteration: f64,
    /// Whether the matrix is in blocks of several unknowns.
    pub(crate) blocks: bool,
}

impl Measures {
    /// Measures; `factor` says whether a factorisation is an alternative.
    pub(crate) fn of(a: &Bsr<f64>, factor: bool) -> Self {
        let n = a.shape().0;
        let share = (a.nnz() + PER_ROW * n) as f64;
        let blocks = a.block().0 > 1;
        let setup = match blocks {
            true => BLOCKS,
            false => (SCALARS * (1.0 + UNEVEN * (1.0 - evenness(a)).max(0.0))).min(STRINGS),
        };
        let direct = match factor {
            true => ORDERING * n as f64 + ENTRY * a.nnz() as f64 + FACTORING * width(a).powi(3),
            false => f64::INFINITY,
        };
        Self {
            direct,
            hierarchy: HIERARCHY_START + setup * share,
            iteration: START + ITERATION * share,
            blocks,
        }
    }
}

/// Rows that [`evenness`] looks at.
const SAMPLE: usize = 4096;

/// The mean coupling |a_ij| / √(a_ii a_jj) of a row of scalars as a share of its strongest, in the mean over rows that have some, whatever the units of the
/// unknowns; infinite where a diagonal entry is not positive.
fn evenness(a: &Bsr<f64>) -> f64 {
    let n = a.shape().0;
    let (mut sum, mut rows) = (0.0, 0_usize);
    for i in (0..n).step_by(n.div_ceil(SAMPLE).max(1)) {
        let (mut strongest, mut whole, mut others) = (0.0_f64, 0.0, 0_usize);
        for (j, value) in a.row(i).filter(|&(j, _)| j != i) {
            let scale = a.get(i, i) * a.get(j, j);
            if !(scale > 0.0 && scale.is_finite()) {
                return f64::INFINITY;
            }
            let coupling = value[0].abs() / scale.sqrt();
            (strongest, whole, others) = (strongest.max(coupling), whole + coupling, others + 1);
        }
        if strongest > 0.0 {
            sum += whole / strongest / others as f64;
            rows += 1;
        }
    }
    sum / rows.max(1) as f64
}

/// Unknowns over levels of a breadth-first search from an end of the graph, of the component of the node with most neighbours.
fn width(a: &Bsr<f64>) -> f64 {
    let Ok(graph) = Graph::of(a.pattern()) else { return f64::INFINITY };
    let Some(inside) = (0..graph.nodes()).max_by_key(|&i| graph.degree(i)) else { return 0.0 };
    let levels = graph.levels(graph.pseudo_peripheral(inside));
    // Of other components nothing is seen; the level sizes of this one count.
    (levels.order().len() * a.block().0) as f64 / levels.count().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use coarsen::problems::poisson2d;

    #[test]
    fn strings_are_seen() {
        assert!(evenness(&poisson2d(20).unwrap().matrix) > 0.99);
        assert!(evenness(&coarsen::problems::anisotropic2d(20).unwrap().matrix) < 0.7);
    }

    #[test]
    fn widths_are_those_of_the_graph() {
        let w = width(&poisson2d(40).unwrap().matrix);
        assert!((15.0..45.0).contains(&w), "{w}");
    }
}
