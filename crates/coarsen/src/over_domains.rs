//! Domains of multilevel Schwarz as a smoother of a hierarchy. Each domain is one node of the next level.

use coarsen_backend::{Setup, SetupError, Smoother};
use coarsen_core::Real;
use coarsen_schwarz::{DampedDomains, Schwarz, SchwarzBackend};
use coarsen_sparse::System;

use coarsen_multigrid::{Cycle, Grid, Multigrid, SmootherParameters, Smoothing};
use coarsen_smoothed_aggregation::{Modes, SmoothedAggregation, tamstorf};

/// Small dense domains as smoother on the finest levels, and another smoother on the coarser levels.
///
/// Each domain is solved exactly. It becomes one node of the next level, whose unknowns are the rigid-body
/// modes of the domain. The coarser levels together cost less than the domains. Levels are combined
/// multiplicatively; [`Schwarz`] combines them additively. *Use* in place of [`Schwarz`] if iterations must
/// not grow with the mesh. A must be symmetric positive definite. *Cost* of a cycle: two passes over the
/// inverses and two passes over A. The coarser levels add about a fifth of this cost. *Reference* Wu, Wang,
/// Wang 2022, §5 and §6, for the domains; Smith, Bjørstad, Gropp 1996, "Domain Decomposition", §3, for hybrid
/// forms.
///
/// ```
/// use coarsen::prelude::*;
/// use coarsen::OverDomains;
/// let p = coarsen::problems::cloth(40, 0.01)?;
/// let (b, mut x) = (p.right_hand_side(1), vec![0.0; 4800]);
/// let mut m = OverDomains::multiplicative().build(p.system(), &Cpu::new())?;
/// let report = Cg::new(Stop::relative(1e-6)).solve(&p.matrix, &mut m, &b, &mut x)?.converged()?;
/// assert!(report.iterations < 40);
/// # Ok::<(), AnyError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OverDomains {
    /// The domains.
    pub domains: DampedDomains,
    /// The number of levels with domains, counted from the finest.
    pub levels: usize,
    /// The smoother of the levels without domains.
    pub below: Smoothing,
}

impl<T: Real, B: SchwarzBackend> SmootherParameters<B, T> for OverDomains {
    fn smoother(&self, grid: &Grid<'_, T>, backend: &B) -> Result<Box<dyn Smoother<B, T>>, SetupError> {
        if grid.depth >= self.levels {
            return self.below.smoother(grid, backend);
        }
        let Grid { a, positions, cancel, .. } = *grid;
        let system = System { positions, cancel, ..System::from(a) };
        Ok(Box::new(self.domains.build_from(system, backend)?))
    }
}

impl OverDomains {
    /// Returns domains of 16 nodes on the finest level, and smoothed aggregation with rigid-body modes for
    /// the coarser levels.
    ///
    /// Larger domains need more iterations here. A domain is one node of the next level, and the part of the
    /// error that one node cannot represent grows with the domain.
    pub fn multiplicative() -> Multigrid<SmoothedAggregation, Self> {
        let sa = tamstorf();
        let schwarz = Schwarz { domain: 16, ..Schwarz::multilevel() };
        let domains = DampedDomains { schwarz, ..DampedDomains::default() };
        Multigrid {
            coarsening: sa.coarsening,
            cycle: Cycle::V,
            smoothing: OverDomains { domains, levels: 1, below: sa.smoothing },
            levels: sa.levels,
            coarse_size: sa.coarse_size,
            keep: sa.keep,
            coarsest: sa.coarsest,
        }
    }

    /// Returns multilevel additive Schwarz with the rigid-body modes of each supernode instead of constants:
    /// six unknowns per supernode in 3D.
    ///
    /// Coarse levels then represent rotations of a stiff region; constants cannot. Wu, Wang, Wang 2022, §8.6,
    /// leave a richer coarse space to future work. *Use* for heterogeneous stiffness if levels must be
    /// independent; otherwise [`multiplicative`](Self::multiplicative) needs fewer iterations. *Cost*: the coarse
    /// level has four times as many values as with constants, and the setup takes more than twice as long as
    /// for [`Schwarz`].
    pub fn additive() -> Multigrid<SmoothedAggregation, Self> {
        let over = Self::multiplicative();
        let smoothing =
            OverDomains { domains: DampedDomains::default(), levels: usize::MAX, ..over.smoothing };
        Multigrid { cycle: Cycle::Additive, smoothing, ..over }
    }

    /// Returns multilevel Schwarz with multiplicative levels: domains of 32 nodes on every level, and
    /// constants between levels.
    ///
    /// *Not* for 2x2 or 3x3 blocks with known positions, for which [`multiplicative`](Self::multiplicative) is
    /// better: with constants, cloth needs about three times as many iterations.
    pub fn hybrid() -> Multigrid<SmoothedAggregation, Self> {
        let over = Self::multiplicative();
        Multigrid {
            coarsening: SmoothedAggregation { modes: Modes::Constants, ..over.coarsening },
            smoothing: OverDomains {
                domains: DampedDomains::default(),
                levels: usize::MAX,
                ..over.smoothing
            },
            ..over
        }
    }
}
