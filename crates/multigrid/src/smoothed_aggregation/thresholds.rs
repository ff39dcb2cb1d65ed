//! The numbers by which smoothed aggregation decides.

/// Where smoothed aggregation draws its lines.
///
/// Figures without a source are measured on the problems of the gallery and the matrices of the record, in
/// iterations and seconds of conjugate gradients to 1e-8. *Use* the defaults; change one to study it, not to
/// save a solve that fails.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    /// θ of the finest level below which a coupling is weak for the smoothing of P: ‖A_ij‖ ≤ θ (‖A_ii‖
    /// ‖A_jj‖)^½. Halved from level to level. *Source* Vaněk, Mandel & Brezina 1996, §5.1.
    pub weak: f64,
    /// Share of the couplings of the finest level that must be weak for weak ones to be left out, on all
    /// levels. Sheets and rotated layers have more, solids and Laplacians fewer.
    pub many_weak: f64,
    /// The same norm from which on a coupling ties two nodes, as stiff contact does: all couplings of tied
    /// nodes are strong.
    pub tied: f64,
    /// Share of the nodes above which so many are tied that no coupling is left out.
    pub many_tied: f64,
    /// The most that traces of strong couplings, each taken as positive, may add up to, as a share of the
    /// trace of D_F: it is 1 where each pulls and nothing else holds a node. Rows beyond it are made with A.
    pub pull: f64,
    /// How many times as large as those of P̂ entries of P made with A_F may be. Rows beyond it are made with
    /// A.
    pub growth: f64,
    /// Nodes of an aggregate below which it joins a neighbour: three nodes hold six rigid-body modes.
    pub smallest: usize,
    /// Share of the finer matrix that a coarser one of scalars may fill before aggregates reach second
    /// neighbours (`Spread::Fitted`).
    pub full: f64,
    /// Share of the couplings that must be strong for that: along one direction alone, wide aggregates are
    /// long ones.
    pub even: f64,
    /// Damped Jacobi sweeps that turn random vectors into a near-kernel (`Modes::Found`). *Source* Brezina et
    /// al. 2004 take 15 to 20.
    pub finding_sweeps: usize,
    /// ω ρ(D⁻¹A) of sweeps on A K = 0: 4/3 as for P.
    pub finding_omega: f64,
    /// Energy of a guessed near-kernel divided by the scale of each node, as a share of that without, below
    /// which it is taken: where nothing is scaled, modes are exact as they are.
    pub scaled_energy: f64,
    /// Ratio of the scales of nodes up to which they are those of boundaries and meshes, and nothing is
    /// divided.
    pub scale_ratio: f64,
    /// Share of its length that is left of a column of K on an aggregate when the ones before it span it:
    /// half the digits of f64. Rotations of a small aggregate far from the centre of a large body come near
    /// it, so that it does not grow with the square root of the precision of T.
    pub spanned: f64,
    /// The same in units of the precision of T: a K that was relaxed with an A of T, or that came from a
    /// coarse A of T, has noise of this size.
    pub noise: f64,
}

impl Default for Thresholds {
    /// What the record is measured with.
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
