//! The parameters of a coarsening.

use coarsen_core::Error;
use coarsen_sparse::Strength;

/// Smoothed aggregation for symmetric positive definite systems, with blocks of any size and any near-kernel.
///
/// The prolongation is (I − ω D⁻¹A) P̂, where P̂ is an orthonormal basis of the near-kernel on each aggregate
/// of strongly connected nodes. If many couplings are weak, A_F replaces A: A without these couplings, which
/// are added to its diagonal. *Use* with rigid-body modes for elasticity and cloth (6 unknowns per coarse
/// node), and with constants for scalar problems. *Cost* of a level: the strength of couplings, one product A
/// P̂ and one Galerkin product. *Memory*: about 2 to 4 times A during setup. *Reference* Tamstorf, Jones,
/// McCormick 2015, §5, Algorithms 1 to 3; Vaněk, Mandel, Brezina 1996.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SmoothedAggregation {
    /// The measure of strength on which aggregates are based.
    pub strength: Strength,
    /// The reach of aggregates.
    pub spread: Spread,
    /// If the couplings of a node, scaled by the diagonal, sum to less than this value, the node is left to
    /// relaxation.
    pub dominance: f64,
    /// The choice of near-kernel.
    pub modes: Modes,
    /// The smallest mean number of nodes per aggregate for which rotations are used. For smaller aggregates
    /// only translations are used: with rotations an aggregate has six unknowns, and the coarse matrix would
    /// be larger than the fine matrix. With 0, rotations are always used.
    pub rotations_from: usize,
    /// The number of damped Jacobi sweeps on A K = 0 before the finest level is coarsened, for a guessed K.
    /// There are no sweeps for a K that the system provides (`Modes::Known`) and for `Modes::Constants`,
    /// which are used unchanged except at constraints, or if aggregates are the sets of a smoother.
    pub kernel_sweeps: usize,
    /// ω ρ(D⁻¹A) of the prolongation smoother, with ρ = 2 for A_F. The classical choice is 4/3; 0 leaves P̂
    /// unsmoothed.
    pub omega: f64,
    /// ω ρ(D⁻¹A) if aggregates are the sets of a smoother. On domains of 16 nodes, smoothing saves a fifth of
    /// the iterations, but a build takes 1.6 to 1.9 times as long.
    pub omega_of_sets: f64,
    /// Blocks of P below this fraction of the largest in their row are dropped.
    pub prune: f64,
    /// Whether P is smoothed without weak couplings on all levels if about half of the couplings of the
    /// finest level are weak. Aggregates of block matrices are then based on the norms of couplings, which
    /// are already computed, with θ of `strength`.
    pub filter: bool,
    /// The minimal number of generalized Lanczos steps for ρ(D⁻¹A) if the smoother has no bound. Half of this
    /// number is used with A_F.
    pub lanczos_steps: usize,
    /// The factor that multiplies the estimate of ρ(D⁻¹A), because the estimate is a lower bound.
    pub safety: f64,
}

impl Default for SmoothedAggregation {
    /// Returns θ = 0.48 relative to the strongest coupling and 4/(3ρ) as in Tamstorf 2015; 6 Lanczos steps if
    /// the smoother has no bound.
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
        }
    }
}

/// The distance that an aggregate reaches from its root node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Spread {
    /// The strong neighbours of the root (Tamstorf 2015, Algorithm 1).
    Neighbours,
    /// Also the strong neighbours of these neighbours: fewer levels and cheaper products, but more
    /// iterations.
    Second,
    /// `Second` on a level of scalars if most couplings are strong and `Neighbours` would give a coarse
    /// matrix with more than about half of the entries of the fine matrix, as in 3D; otherwise `Neighbours`.
    /// On a cube this saves a quarter of the memory and a third of the setup time, and needs up to two more
    /// iterations.
    Fitted,
}

/// The source of the near-kernel of the finest level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Modes {
    /// The near-kernel of the system, if given. Otherwise rigid-body modes if positions are known and blocks
    /// are 2x2 or 3x3, or else one constant per unknown of a block. These guessed modes are divided by the
    /// scale of each node if this clearly lowers their energy, as for a scaled matrix D A D.
    Known,
    /// One constant per unknown of a block.
    Constants,
    /// The given number of vectors, computed by relaxing random vectors on A x = 0 (Tamstorf 2015, §6;
    /// Brezina et al. 2004).
    Found(usize),
}

impl SmoothedAggregation {
    /// Checks the fields that later steps do not check; θ, Lanczos steps and safety are checked when they are
    /// used.
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
