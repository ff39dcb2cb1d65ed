//! The numerical thresholds of smoothed aggregation.

/// The numerical thresholds of smoothed aggregation.
///
/// Defaults without a source come from measurements: iterations and seconds of conjugate gradients to 1e-8 on
/// the problems of the gallery and the benchmark matrices. *Use* the defaults. Change a threshold to study
/// it, not to repair a failing solve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    /// θ of the finest level: a coupling is weak for the smoothing of P if ‖A_ij‖ ≤ θ (‖A_ii‖ ‖A_jj‖)^½.
    /// Halved from level to level. *Source*: Vaněk, Mandel & Brezina 1996, §5.1.
    pub weak: f64,
    /// The largest sum of |trace| over strong couplings, relative to the trace of D_F. This ratio is 1 if all
    /// couplings are attractive and nothing else holds the node. Rows above this limit use A.
    pub strength_pull: f64,
    /// The largest ratio of entries of P, computed with A_F, to entries of P̂. Rows above this limit use A.
    pub prolongation_growth: f64,
    /// Aggregates with fewer nodes are merged into a neighbouring aggregate. Three nodes can represent six
    /// rigid-body modes.
    pub smallest: usize,
    /// With `Spread::Fitted`, aggregates contain second neighbours if the coarse matrix would have more than
    /// this fraction of the entries of the finer matrix.
    pub fill_fraction: f64,
    /// With `Spread::Fitted`, aggregates contain second neighbours only if more than this fraction of the
    /// couplings are strong. If couplings are strong in one direction only, such aggregates would be long and
    /// thin.
    pub strength_fraction: f64,
}

impl Default for Thresholds {
    /// Returns the values used in the benchmarks.
    fn default() -> Self {
        Self {
            weak: 0.08,
            strength_pull: 1.25,
            prolongation_growth: 4.0,
            smallest: 3,
            fill_fraction: 0.45,
            strength_fraction: 0.8,
        }
    }
}
