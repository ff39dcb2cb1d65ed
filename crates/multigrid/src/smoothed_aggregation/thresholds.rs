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
    /// Share of couplings of the finest level that must be weak for weak ones to be dropped, on all levels.
    /// Sheets and rotated layers exceed it, solids and Laplacians do not.
    pub many_weak: f64,
    /// Value of the same norm above which a coupling ties two nodes, as stiff contact does: all couplings of
    /// tied nodes are strong.
    pub tied: f64,
    /// Share of tied nodes above which no coupling is dropped.
    pub many_tied: f64,
    /// Largest sum of |trace| over strong couplings, as a share of the trace of D_F; it is 1 if all couplings
    /// pull and nothing else holds the node. Rows above it are made with A.
    pub pull: f64,
    /// Largest growth of entries of P made with A_F over those of P̂. Rows above it are made with A.
    pub growth: f64,
    /// Aggregates of fewer nodes join a neighbour: three nodes hold six rigid-body modes.
    pub smallest: usize,
    /// Entries of a coarse matrix of scalars, as a share of the finer one, above which aggregates reach
    /// second neighbours (`Spread::Fitted`).
    pub full: f64,
    /// Share of couplings that must also be strong: with strong couplings along one direction only, wide
    /// aggregates are long ones.
    pub even: f64,
    /// Damped Jacobi sweeps from random vectors to a near-kernel (`Modes::Found`). *Source* Brezina et al.
    /// 2004 take 15 to 20.
    pub finding_sweeps: usize,
    /// ω ρ(D⁻¹A) of sweeps on A K = 0: 4/3 as for P.
    pub finding_omega: f64,
    /// A guessed near-kernel is divided by the scale of each node if that lowers its energy below this share.
    /// On unscaled systems the modes are already exact.
    pub scaled_energy: f64,
    /// Ratio of node scales up to which they are attributed to boundaries and meshes, and nothing is divided.
    pub scale_ratio: f64,
    /// A column of K on an aggregate counts as spanned by those before it if at most this share of its length
    /// is left: half the digits of f64. Rotations of a small aggregate far from the centre of a large body
    /// come near it, so it does not grow with the square root of the precision of T.
    pub spanned: f64,
    /// The same in units of the precision of T: a K relaxed with an A of T, or inherited from a coarse A of
    /// T, has noise of this size.
    pub noise: f64,
}

impl Default for Thresholds {
    /// The values used in the benchmarks.
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
