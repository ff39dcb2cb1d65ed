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
    /// If more than this fraction of the couplings of the finest level are weak, weak couplings are dropped
    /// on all levels. Sheets and rotated layers exceed this fraction; solids and Laplacians do not.
    pub many_weak: f64,
    /// A coupling with ‖A_ij‖ / (‖A_ii‖ ‖A_jj‖)^½ above this value, as in stiff contact, ties its two nodes.
    /// All couplings of tied nodes are strong.
    pub strength_tied: f64,
    /// The fraction of tied nodes above which no coupling is dropped.
    pub strength_many_tied: f64,
    /// The largest sum of |trace| over strong couplings, relative to the trace of D_F. This ratio is 1 if all
    /// couplings are attractive and nothing else holds the node. Rows above this limit use A.
    pub strength_pull: f64,
    /// The largest ratio of entries of P, computed with A_F, to entries of P̂. Rows above this limit use A.
    pub prolongation_growth: f64,
    /// Aggregates with fewer nodes are merged into a neighbouring aggregate. Three nodes can represent six
    /// rigid-body modes.
    pub smallest: usize,
    /// A node is a high-degree node if its row of A, without the columns of other such nodes, has more than this multiple
    /// of the mean number of blocks, and more than `high_degree_least`.
    pub high_degree_ratio: f64,
    /// The number of blocks in a row of A up to which a node is no high-degree node.
    pub high_degree_least: usize,
    /// With `Spread::Fitted`, aggregates contain second neighbours if the coarse matrix would have more than
    /// this fraction of the entries of the finer matrix.
    pub fill_fraction: f64,
    /// With `Spread::Fitted`, aggregates contain second neighbours only if more than this fraction of the
    /// couplings are strong. If couplings are strong in one direction only, such aggregates would be long and
    /// thin.
    pub strength_fraction: f64,
    /// The number of damped Jacobi sweeps that compute a near-kernel from random vectors (`Modes::Found`).
    /// *Source*: Brezina et al. 2004, who use 15 to 20.
    pub finding_sweeps: usize,
    /// ω ρ(D⁻¹A) of the sweeps on A K = 0; 4/3 as for P.
    pub finding_omega: f64,
    /// A guessed near-kernel is divided by the scale of each node if this reduces its energy to less than
    /// this fraction. On unscaled systems the guessed modes are already exact.
    pub scaled_energy: f64,
    /// A guessed near-kernel is not divided if the ratio of node scales is at most this value, because
    /// boundaries and uneven meshes cause such ratios.
    pub scale_ratio: f64,
    /// A column of K on an aggregate counts as spanned by the columns before it if at most this fraction of
    /// its length is orthogonal to them. The default is half the digits of f64 for every T, because rotations
    /// of a small aggregate far from the centre of a large body come near this limit.
    pub spanned: f64,
    /// As `spanned`, but in units of the precision of T. A K that was relaxed with an A stored in T, or
    /// inherited from such an A, has noise of this size.
    pub noise: f64,
}

impl Default for Thresholds {
    /// Returns the values used in the benchmarks.
    fn default() -> Self {
        Self {
            weak: 0.08,
            many_weak: 0.45,
            strength_tied: 0.75,
            strength_many_tied: 0.005,
            strength_pull: 1.25,
            prolongation_growth: 4.0,
            smallest: 3,
            high_degree_ratio: 8.0,
            high_degree_least: 64,
            fill_fraction: 0.45,
            strength_fraction: 0.8,
            finding_sweeps: 20,
            finding_omega: 4.0 / 3.0,
            scaled_energy: 0.5,
            scale_ratio: 4.0,
            spanned: 1e-8,
            noise: 16.0,
        }
    }
}
