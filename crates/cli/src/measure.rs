//! What `auto` measures beyond the diagnosis: how wide the graph is, and how slow the cheapest iteration is.
//!
//! Neither depends on the order or, with the diagonal blocks as preconditioner, much on the scale of the unknowns.
//!
//! | what | how | what it tells |
//! |---|---|---|
//! | w | unknowns over levels of a breadth-first search | separators, and so the work of a factor: about w³ |
//! | p | iterations of CG with block Jacobi, extrapolated from the first ones | what every one-level method will take |
//!
//! How far entries are from the diagonal tells beside that whether a product finds its vector in a cache.
//!
//! The costs below are seconds on one present-day core; only their ratios matter.

use std::ops::ControlFlow;

use coarsen::backend::{Cpu, Setup};
use coarsen::krylov::{Cg, Krylov};
use coarsen::relax::BlockJacobi;
use coarsen::sparse::{Bsr, Graph, Strength};
use coarsen::{Iteration, Stop};

use crate::renumber::spread;

/// An iteration of CG with block Jacobi: a share for each entry, and [`PER_ROW`] times that for each unknown.
const ITERATION: f64 = 1.7e-10;
const PER_ROW: usize = 20;

/// The work around an iteration that does not depend on the size.
const START: f64 = 2e-6;

/// Setup and solve of smoothed aggregation, for the same share: between 2e-8 and 8e-8 on the gallery.
const HIERARCHY: f64 = 5.5e-8;

/// How much more it costs where couplings of scalars prefer a direction: aggregates are strings, and iterations many.
const STRINGS: f64 = 2.0;

/// The mean coupling of a row as a share of its strongest, below which a direction is preferred.
const EVEN: f64 = 0.7;

/// What a hierarchy costs however small it is.
const HIERARCHY_START: f64 = 4e-3;

/// Ordering and solution with a factor, an unknown and an entry; factoring, for w³.
const ORDERING: f64 = 1.5e-6;
const ENTRY: f64 = 3e-8;
const FACTORING: f64 = 1.5e-9;

/// How much dearer an iteration is where neighbours in the graph are further apart in memory than a cache holds, in unknowns.
const SCATTERED: f64 = 4.0;
const CACHE: f64 = 60_000.0;

/// The share of the cheapest alternative that may be spent on finding out how slow iterations are; so a forecast from fewer
/// iterations than this share of itself is not believed either.
const TRIAL: f64 = 0.12;

/// Iterations as a share of the bound ½ √κ ln(2/ε), which CG undercuts as it learns the ends of the spectrum.
const FASTER: f64 = 0.45;

/// What was measured of a symmetric matrix that may be positive definite.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measures {
    /// Seconds of a factorisation, of smoothed aggregation, and of an iteration of CG with block Jacobi.
    pub(crate) direct: f64,
    pub(crate) hierarchy: f64,
    pub(crate) iteration: f64,
    /// Iterations of CG with block Jacobi; infinite where more than the alternatives are worth.
    pub(crate) iterations: f64,
    /// Whether the matrix is in blocks of several unknowns.
    pub(crate) blocks: bool,
}

impl Measures {
    /// Measures; `factor` says whether a factorisation is an alternative.
    pub(crate) fn of(a: &Bsr<f64>, b: &[f64], tolerance: f64, factor: bool) -> Self {
        let n = a.shape().0;
        let share = (a.nnz() + PER_ROW * n) as f64;
        let far = if spread(a) > CACHE { SCATTERED } else { 1.0 };
        let iteration = START + ITERATION * far * share;
        let strings = if a.block().0 == 1 && evenness(a) < EVEN { STRINGS } else { 1.0 };
        let hierarchy = HIERARCHY_START + HIERARCHY * strings * share;
        let direct = ORDERING * n as f64 + ENTRY * a.nnz() as f64 + FACTORING * width(a).powi(3);
        let alternative = if factor { hierarchy.min(direct) } else { hierarchy };
        let worth = alternative / iteration;
        let iterations = forecast(a, b, tolerance.max(1e-14), worth);
        Self { direct, hierarchy, iteration, iterations, blocks: a.block().0 > 1 }
    }

    /// Seconds of CG with block Jacobi.
    pub(crate) fn one_level(&self) -> f64 {
        self.iteration * self.iterations
    }
}

/// The mean coupling of a row as a share of its strongest, in the mean over all rows that have some; whatever the units of the unknowns.
fn evenness(a: &Bsr<f64>) -> f64 {
    let Ok(weights) = (Strength::SpectralRadius { theta: 0.0 }).weights(a) else { return f64::INFINITY };
    let pattern = a.pattern();
    let (mut sum, mut rows) = (0.0, 0_usize);
    for i in 0..pattern.rows() {
        let others = || pattern.range(i).filter(|&k| pattern.indices()[k] as usize != i).map(|k| weights[k]);
        let strongest = others().fold(0.0, f32::max);
        if strongest > 0.0 && strongest.is_finite() {
            sum += f64::from(others().sum::<f32>() / strongest) / others().count() as f64;
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

/// Iterations of CG with block Jacobi to `tolerance`, from the first TRIAL · worth at most; infinite where these do not tell.
///
/// Two forecasts, of which the longer counts: the slope of the last half of what was seen, drawn on to the tolerance, which is too hopeful where a
/// fast start has a long tail; and the bound from the condition that CG has seen, which grows with every iteration as long as the
/// smallest eigenvalue is not found.
fn forecast(a: &Bsr<f64>, b: &[f64], tolerance: f64, worth: f64) -> f64 {
    let Ok(mut m) = BlockJacobi::default().build(a, &Cpu::new()) else { return f64::INFINITY };
    let trial = (TRIAL * worth).max(10.0) as usize;
    let mut logs: Vec<f64> = Vec::new();
    let mut told = f64::INFINITY;
    let mut watch = |it: &Iteration<'_, Vec<f64>>| {
        logs.push(it.relative.ln());
        let k = logs.len() - 1;
        let ahead = draw_on(&logs, tolerance.ln());
        if k >= 10 && k as f64 >= TRIAL * ahead {
            told = ahead;
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    };
    let (rhs, mut x) = (b.to_vec(), vec![0.0; b.len()]);
    let mut cg = Cg::new(Stop { max_iterations: trial, ..Stop::relative(tolerance) });
    match cg.solve_with(a, &mut m, &rhs, &mut x, &mut watch) {
        Ok(report) if report.outcome == coarsen::Outcome::Converged => report.iterations as f64,
        Ok(report) => {
            let bound = report.condition.map_or(0.0, |c| 0.5 * c.sqrt() * (2.0 / tolerance).ln());
            let longer = told.max(FASTER * bound);
            if longer <= worth { longer } else { f64::INFINITY }
        }
        Err(_) => f64::INFINITY,
    }
}

/// Where the line through the middle and the end of `logs` reaches `goal`.
fn draw_on(logs: &[f64], goal: f64) -> f64 {
    let last = logs.len() - 1;
    let middle = last / 2;
    let slope = (logs[last] - logs[middle]) / (last - middle).max(1) as f64;
    if slope < 0.0 { last as f64 + (goal - logs[last]).min(0.0) / slope } else { f64::INFINITY }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coarsen::problems::{Problem, poisson2d, random_vector};

    #[test]
    fn a_straight_line_is_drawn_on() {
        let logs: Vec<f64> = (0..11).map(|k| -0.5 * f64::from(k)).collect();
        assert!((draw_on(&logs, -20.0) - 40.0).abs() < 1e-12);
        assert_eq!(draw_on(&logs, -1.0), 10.0, "what is reached is reached");
        assert_eq!(draw_on(&[0.0, 0.0, 1.0], -1.0), f64::INFINITY);
    }

    #[test]
    fn strings_are_seen() {
        assert!(evenness(&poisson2d(20).unwrap().matrix) > 0.99);
        assert!(evenness(&coarsen::problems::anisotropic2d(20).unwrap().matrix) < EVEN);
    }

    #[test]
    fn widths_are_those_of_the_graph() {
        let w = width(&poisson2d(40).unwrap().matrix);
        assert!((15.0..45.0).contains(&w), "{w}");
    }

    #[test]
    fn time_steps_are_fast_and_statics_slow() {
        let iterations = |spec: &str, dt| {
            let options = coarsen::problems::Options { dt, jump: None };
            let a = Problem::parse(spec, &options).unwrap().matrix;
            Measures::of(&a, &random_vector(a.shape().0, 1), 1e-8, true).iterations
        };
        assert!(iterations("cloth:15", Some(1e-4)) < 40.0);
        assert!(iterations("poisson2d:200", None) > 400.0);
    }
}
