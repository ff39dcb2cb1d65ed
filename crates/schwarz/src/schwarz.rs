//! The parameters of multilevel additive Schwarz.

use std::num::NonZeroUsize;

use coarsen_backend::SetupError;
use coarsen_core::Error;

use crate::links::Coupling;
use crate::options::{Arithmetic, Coarse, Storage, Weights};
use crate::order::Order;
use crate::packed::MOST;

/// Multilevel additive Schwarz: small dense domains on every level, all solved at once.
///
/// M⁻¹ = Σ_l C_lᵀ (Σ_d S_dᵀ (S_d A_l S_dᵀ)⁻¹ S_d) C_l with A_l = C_l A C_lᵀ. S_d selects the nodes of a
/// domain, and C_l sums over the nodes of a supernode. On every level the nodes are covered by domains of a
/// few connected nodes, and each domain is one node of the next level.
///
/// *Use* for systems that change from step to step (implicit time steps with contact): a setup costs a few
/// products with A, and [`patch`](coarsen_backend::Update::patch) recomputes only the domains that
/// changed. The number of iterations grows with the mesh; use multigrid for one solve of a large elliptic
/// system. A must be symmetric positive definite; only one triangle is read. *Cost* about `domain` · b / 2
/// stored values per unknown, each read once per application; a setup takes about m³ / 2 operations per
/// domain of m unknowns. *Reference* Wu, Wang, Wang 2022, "A GPU-based multilevel additive Schwarz
/// preconditioner for cloth and deformable body simulation", ACM Trans. Graph. 41(4), 63: §5 to §7.
///
/// ```
/// use coarsen_backend::Cpu;
/// use coarsen_core::Stop;
/// use coarsen_krylov::Cg;
/// let p = coarsen_problems::cloth(30, 0.01)?;
/// let b = p.right_hand_side(1);
/// let mut m = coarsen_schwarz::Schwarz::multilevel().build(p.system(), &Cpu::new())?;
/// let mut x = vec![0.0; b.len()];
/// let report = Cg::new(Stop::relative(1e-6)).solve(&p.matrix, &mut m, &b, &mut x)?.converged()?;
/// assert!(report.iterations < 100);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Schwarz {
    /// M: the maximal number of nodes of a domain; 32 by default.
    pub domain: usize,
    /// L: the maximal number of levels with domains, including the finest; 8 by default, which is enough to
    /// reach a single domain. With one level and [`Coarse::Domains`] this is one-level additive Schwarz
    /// without overlap.
    pub levels: usize,
    /// The order of the nodes from which domains grow.
    pub order: Order,
    /// The couplings along which domains grow. By default a coupling must have at least a quarter of the
    /// strength of the strongest coupling of each of its two nodes, so that stiff contact lies inside
    /// domains.
    ///
    /// An update keeps the domains that were chosen for the first values; see [`refresh`](Self::refresh).
    pub coupling: Coupling,
    /// The solver of the coarsest level.
    pub coarse: Coarse,
    /// The precision of the stored inverses.
    pub storage: Storage,
    /// The precision in which the inverses are computed.
    pub arithmetic: Arithmetic,
    /// The weights of the levels.
    pub weights: Weights,
    /// The number of updates and patches after which order and domains are chosen again (§5.3: ten); if
    /// `None`, they are kept.
    pub refresh: Option<NonZeroUsize>,
}

impl Schwarz {
    /// Returns multilevel additive Schwarz with domains of 32 nodes.
    pub fn multilevel() -> Self {
        Self {
            domain: 32,
            levels: 8,
            order: Order::Auto,
            coupling: Coupling::Strength { theta: 0.25 },
            coarse: Coarse::Auto,
            storage: Storage::Single,
            arithmetic: Arithmetic::Double,
            weights: Weights::Ones,
            refresh: None,
        }
    }

    /// Checks that all parameters are in range for blocks of `block` unknowns, as a build does.
    ///
    /// # Errors
    /// [`Error::Parameter`] names the parameter and its range.
    pub fn validate(&self, block: usize) -> Result<(), SetupError> {
        let bad =
            |name, value: usize, range| Err(Error::Parameter { name, value: value as f64, range }.into());
        if self.domain < 2 {
            return bad("Schwarz::domain", self.domain, "2 or more");
        }
        if self.domain.saturating_mul(block) > MOST {
            let (name, unknowns) = ("Schwarz::domain, in unknowns,", self.domain.saturating_mul(block));
            return bad(name, unknowns, "at most 1024");
        }
        if self.levels == 0 {
            return bad("Schwarz::levels", self.levels, "1 or more");
        }
        Ok(self.coupling.validate()?)
    }
}
