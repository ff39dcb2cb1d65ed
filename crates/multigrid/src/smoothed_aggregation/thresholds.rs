//! The numerical thresholds of smoothed aggregation.

/// The numerical thresholds of smoothed aggregation.
///
/// Values without a source are measured on the problems of the gallery and the benchmark matrices, in
/// iterations and seconds of conjugate gradients to 1e-8. *Use* the defaults; change one to study it, not to
/// repair a failing solve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    /// θ of the finest level: a coupling is weak for the smoothing of P if ‖A_ij‖ ≤ θ (‖A_ii‖ ‖A_jj‖)^½.
    /// Halved from level to level. *Source* Vaněk, Mandel & Brezina 1996, §5.1.
    pub weak: f64,
    /// The fraction of couplings of the finest level that must be weak for weak couplings to be dropped, on
    /// all levels. Sheets and rotated layers exceed it, solids and Laplacians do not.
    pub many_weak: f64,
    /// The value of ‖A_ij‖ / (‖A_ii‖ ‖A_jj‖)^½ above which a coupling ties two nodes, as stiff contact does:
    /// all couplings of tied nodes are strong.
    pub tied: f64,
    /// The fraction of tied nodes above which no coupling is dropped.
    pub many_tied: f64,
    /// The largest sum of |trace| over strong couplings, relative to the trace of D_F; it is 1 if all
    /// couplings attract and nothing else holds the node. Rows above this limit use A.
    pub pull: f64,
    /// The largest growth of entries of P computed with A_F relative to P̂. Rows above this limit use A.
    pub growth: f64,
    /// Aggregates with fewer nodes join a neighbour: three nodes can represent six rigid-body modes.
    pub smallest: usize,
    /// The entries of a coarse matrix of scalars, relative to the finer matrix, above which aggregates
    /// contain second neighbours (`Spread::Fitted`).
    pub full: f64,
    /// The fraction of couplings that must also be strong: with strong couplings along one direction only,
    /// wide aggregates would be long.
    pub even: f64,
    /// The number of damped Jacobi sweeps from random vectors to a near-kernel (`Modes::Found`). *Source*
    /// Brezina et al. 2004 use 15 to 20.
    pub finding_sweeps: usize,
    /// ω ρ(D⁻¹A) of sweeps on A K = 0; 4/3 as for P.
    pub finding_omega: f64,
    /// A guessed near-kernel is divided by the scale of each node if this lowers its energy below this
    /// fraction. On unscaled systems the modes are already exact.
    pub scaled_energy: f64,
    /// The ratio of node scales up to which they are attributed to boundaries and meshes, and nothing is
    /// divided.
    pub scale_ratio: f64,
    /// A column of K on an aggregate counts as spanned by the columns before it if at most this fraction of
    /// its length is left: half the digits of f64. Rotations of a small aggregate far from the centre of a
    /// large body come near this limit, so it does not grow with the square root of the precision of T.
    pub spanned: f64,
    /// As `spanned`, in units of the precision of T: a K relaxed with an A of T, or inherited from a coarse A
    /// of T, has noise of this size.
    pub noise: f64,
}

impl Default for Thresholds {
    /// Returns the values used in the benchmarks.
    fn default() -> Self {
        Self {
            weak: 0.08,
            many_weak: 0.45,
            tied: 0.75,
            many_tied: 0.005,
            pull: 1.25,
            growth: 4.0,
            smallest: 3,
            full: 0.45,
            even: 0.8,
            finding_sweeps: 20,
            finding_omega: 4.0 / 3.0,
            scaled_energy: 0.5,
            scale_ratio: 4.0,
            spanned: 1e-8,
            noise: 16.0,
        }
    }
}
