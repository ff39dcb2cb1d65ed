//! The recipe of a coarsening.

use coarsen_core::Error;
use coarsen_sparse::Strength;

use super::thresholds::Thresholds;

/// Smoothed aggregation for symmetric positive definite systems, in blocks, with any near-kernel.
///
/// The prolongation is (I − ω D⁻¹A) P̂, with A_F for A where many couplings are weak, where P̂ holds an
/// orthonormal basis of the near-kernel on each aggregate of strongly connected nodes. *Use* with rigid-body
/// modes for elasticity and cloth (6 unknowns a coarse node), with constants for scalar problems. *Cost* of a
/// level: strength, one product A P̂, one Galerkin product; about 2 to 4 times A in memory while it is made.
/// *Reference* Tamstorf, Jones, McCormick 2015, §5, Algorithms 1 to 3; Vaněk, Mandel, Brezina 1996.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SmoothedAggregation {
    /// Which couplings the aggregates follow.
    pub strength: Strength,
    /// How far aggregates reach.
    pub spread: Spread,
    /// A node whose couplings, scaled by the diagonal, add up to less than this is left to relaxation.
    pub dominance: f64,
    /// Which near-kernel to take.
    pub modes: Modes,
    /// Nodes of a mean aggregate from which rotations are worth their price; with fewer, rigid-body modes are
    /// cut to translations, since six unknowns for ten nodes of three make a coarse matrix larger than the
    /// fine one. 0 keeps them always.
    pub rotations_from: usize,
    /// Damped Jacobi sweeps on A K = 0 before the finest level is coarsened, for a K that is guessed: none
    /// where the system brings one (`Modes::Known`) or constants are asked for, which are taken as they are
    /// but for constraints, and none where aggregates are the sets of a smoother.
    pub kernel_sweeps: usize,
    /// ω ρ(D⁻¹A) of the prolongation smoother, ρ = 2 with A_F; 4/3 is the classical choice, 0 leaves P̂
    /// unsmoothed.
    pub omega: f64,
    /// The same where aggregates are the sets of a smoother. Smoothing saves every fifth iteration on domains
    /// of 16 nodes and makes a build 1.6 to 1.9 times as long.
    pub omega_of_sets: f64,
    /// Blocks of P below this share of the largest in their row are left out.
    pub prune: f64,
    /// Whether weak couplings are left out of the smoothing of P, on all levels, where about half of those of
    /// the finest level are weak. Aggregates of blocks then follow norms of couplings, which are measured for
    /// that anyway, by the θ of `strength`.
    pub filter: bool,
    /// Generalized Lanczos steps for ρ(D⁻¹A), at least, where the smoother brings no bound; half of them
    /// where weak couplings are left out.
    pub lanczos_steps: usize,
    /// Factor on the estimate of ρ(D⁻¹A), which comes from below.
    pub safety: f64,
    /// Where the lines are drawn between weak and strong, small and large.
    pub thresholds: Thresholds,
}

impl Default for SmoothedAggregation {
    /// θ = 0.48 relative to the strongest coupling, 4/(3ρ) as Tamstorf 2015; 6 Lanczos steps where the
    /// smoother brings no bound.
    fn default() -> Self {
        Self {
            strength: Strength::SpectralRadius { theta: 0.48 },
            spread: Spread::Fitted,
            dominance: 0.05,
            modes: Modes::Known,
            rotations_from: 7,
            kernel_sweeps: 1,
            omega: 4.0 / 3.0,
            omega_of_sets: 0.0,
            prune: 1e-2,
            filter: true,
            lanczos_steps: 6,
            safety: 1.1,
            thresholds: Thresholds::default(),
        }
    }
}

/// How far an aggregate reaches from the node it grows from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// To its strong neighbours (Tamstorf 2015, Algorithm 1).
    Neighbours,
    /// To their strong neighbours too: fewer levels and cheaper products for more iterations.
    Second,
    /// To second neighbours on levels of scalars where couplings are even and first neighbours would leave a
    /// coarse matrix of about half of the fine one's entries, as in space: three quarters of the memory and
    /// two thirds of the setup of a cube for up to two more iterations.
    Fitted,
}

/// Where the near-kernel of the finest level comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Modes {
    /// That of the system where it has one, else rigid-body modes where positions are known and blocks are
    /// 2x2 or 3x3, else one constant per unknown of a block; the two latter divided by the scale of each node
    /// where that clearly lowers their energy, as it does on D A D.
    Known,
    /// One constant per unknown of a block.
    Constants,
    /// This many vectors, found by relaxing random ones on A x = 0 (Tamstorf 2015, §6; Brezina et al. 2004).
    Found(usize),
}

impl SmoothedAggregation {
    /// Fields that no later step looks at; θ, Lanczos steps and safety are checked where they are used.
    pub(super) fn validate(&self) -> Result<(), Error> {
        let within = [
            ("SmoothedAggregation::dominance", self.dominance, f64::MAX, "0 or more"),
            ("SmoothedAggregation::omega", self.omega, 2.0, "0 or more and below 2"),
            ("SmoothedAggregation::omega_of_sets", self.omega_of_sets, 2.0, "0 or more and below 2"),
            ("SmoothedAggregation::prune", self.prune, 1.0, "0 or more and below 1"),
        ];
        match within.into_iter().find(|(_, value, limit, _)| !(0.0..*limit).contains(value)) {
            Some((name, value, _, range)) => Err(Error::Parameter { name, value, range }),
            None => Ok(()),
        }
    }
}
