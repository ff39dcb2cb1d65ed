//! The drivers of a time step on a grid, by name: quasi-Newton and Newton methods around node embedding and
//! the methods it is compared with.
//!
//! *Reference* Wang et al. 2020, "Hierarchical Optimization Time Integration for CFL-rate MPM Stepping" (HOT),
//! ACM TOG 39(3):21, Algorithms 1 and 3, §7.1.

use coarsen_node_embedding::node_embedding_of;
use coarsen_smoothed_aggregation::smoothed_aggregation;
use std::fmt;
use std::str::FromStr;

use coarsen_backend::{Setup, SetupError};
use coarsen_multigrid::{Multigrid, Smoothing};
use coarsen_node_embedding::{Kernel, NodeEmbedding};
use coarsen_relax::{BlockJacobi, GaussSeidel};
use coarsen_schwarz::{Schwarz, SchwarzBackend};
use coarsen_sparse::System;

use super::Built;

/// A method that minimises the incremental potential of a time step, with its preconditioner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Driver {
    /// L-BFGS with one V-cycle of node embedding as its initial inverse Hessian, built once per time step
    /// (Algorithm 3).
    Hot,
    /// `Hot` with the quadratic kernel (§7.5).
    HotQuadratic,
    /// L-BFGS with block-Jacobi CG to half of √(gᵀD⁻¹g) as its initial inverse Hessian: `Hot` with one level.
    LbfgsH,
    /// `Hot` with coarse matrices from particles on coarser grids (§7.3): the caller builds the hierarchy.
    LbfgsGmg,
    /// Projected Newton with CG and 3 x 3 block Jacobi (Algorithm 1).
    PnPcg,
    /// `PnPcg` without a matrix: the objective multiplies by its Hessian.
    PnMf,
    /// Projected Newton with CG and symmetric Gauss-Seidel (Table 3).
    PnSgsPcg,
    /// Projected Newton with flexible CG and one V-cycle of node embedding, built in every iteration (§5).
    PnMgpcg,
    /// `PnMgpcg` with coarse matrices from particles on coarser grids (Fig. 19): the caller builds the hierarchy.
    PnGmgPcg,
    /// `PnMf` with the Euclidean norm in place of the characteristic norm and of the forcing term: Gast et al.
    /// 2015, "Optimization integrator for large time steps", as the paper compares with it.
    Gast,
    /// L-BFGS with one V-cycle of smoothed aggregation.
    LbfgsSa,
    /// L-BFGS with multilevel additive Schwarz.
    LbfgsMas,
    /// Projected Newton with flexible CG and smoothed aggregation.
    NewtonSa,
    /// Projected Newton with flexible CG and multilevel additive Schwarz.
    NewtonMas,
}

use Driver::{
    Gast, Hot, HotQuadratic, LbfgsGmg, LbfgsH, LbfgsMas, LbfgsSa, NewtonMas, NewtonSa, PnGmgPcg, PnMf,
    PnMgpcg, PnPcg, PnSgsPcg,
};

/// All drivers with their names, in the order of the type.
const NAMES: [(Driver, &str); 14] = [
    (Hot, "hot"),
    (HotQuadratic, "hot-quadratic"),
    (LbfgsH, "lbfgs-h"),
    (LbfgsGmg, "lbfgs-gmg"),
    (PnPcg, "pn-pcg"),
    (PnMf, "pn-mf"),
    (PnSgsPcg, "pn-sgs-pcg"),
    (PnMgpcg, "pn-mgpcg"),
    (PnGmgPcg, "pn-gmg-pcg"),
    (Gast, "gast"),
    (LbfgsSa, "lbfgs-sa"),
    (LbfgsMas, "lbfgs-mas"),
    (NewtonSa, "newton-sa"),
    (NewtonMas, "newton-mas"),
];

/// What a driver needs of the objective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Needs {
    /// The system at x: [`TimeStepper::minimize`](super::TimeStepper::minimize).
    System,
    /// Coarse matrices from particles: [`TimeStepper::minimize_with`](super::TimeStepper::minimize_with).
    Quadrature,
    /// Products with the Hessian: [`TimeStepper::minimize_free`](super::TimeStepper::minimize_free).
    Products,
}

impl Driver {
    /// All drivers.
    pub const ALL: [Self; NAMES.len()] = {
        let mut all = [Hot; NAMES.len()];
        let mut k = 0;
        while k < all.len() {
            all[k] = NAMES[k].0;
            k += 1;
        }
        all
    };

    /// Returns the name, such as `pn-mgpcg`.
    pub fn name(self) -> &'static str {
        NAMES[self as usize].1
    }

    /// Whether the driver is Newton's method; otherwise it is L-BFGS.
    pub fn is_newton(self) -> bool {
        !matches!(self, Hot | HotQuadratic | LbfgsH | LbfgsGmg | LbfgsSa | LbfgsMas)
    }

    /// Whether the preconditioner is a fixed operator, for which plain CG suffices.
    pub(super) fn is_fixed(self) -> bool {
        matches!(self, PnPcg | PnMf | PnSgsPcg | Gast)
    }

    /// Returns what the driver needs of the objective.
    pub fn needs(self) -> Needs {
        match self {
            LbfgsGmg | PnGmgPcg => Needs::Quadrature,
            PnMf | Gast => Needs::Products,
            _ => Needs::System,
        }
    }

    /// Builds the preconditioner of a system on a backend. `method` describes the grid.
    ///
    /// Drivers that need [products](Needs::Products) or [coarse matrices](Needs::Quadrature) get what a system alone
    /// gives: block Jacobi and node embedding. [`TimeStepper::minimize`](super::TimeStepper::minimize) refuses them.
    ///
    /// # Errors
    /// The errors of the setup.
    pub fn precondition<B: SchwarzBackend<Real = f64>>(
        self,
        method: &NodeEmbedding,
        system: System<'_, f64>,
        backend: &B,
    ) -> Result<Built<B::Vector>, SetupError> {
        if let Some(multigrid) = self.hierarchy(method) {
            return Ok(Box::new(multigrid.build_from(system, backend)?));
        }
        Ok(match self {
            PnSgsPcg => Box::new(GaussSeidel::default().build_from(system, backend)?),
            LbfgsSa | NewtonSa => Box::new(smoothed_aggregation().build_from(system, backend)?),
            LbfgsMas | NewtonMas => Box::new(Schwarz::multilevel().build_from(system, backend)?),
            _ => Box::new(BlockJacobi::default().build_from(system, backend)?),
        })
    }

    /// Returns the parameters of the hierarchy, if the driver uses node embedding; for the drivers that need coarse matrices
    /// from particles, that of the matrix alone.
    pub(super) fn hierarchy(self, method: &NodeEmbedding) -> Option<Multigrid<NodeEmbedding>> {
        let method = method.clone();
        Some(match self {
            Hot | PnMgpcg | LbfgsGmg | PnGmgPcg => cycle(method),
            HotQuadratic => cycle(NodeEmbedding { kernel: Kernel::Quadratic, ..method }),
            LbfgsH => Multigrid { levels: 1, ..node_embedding_of(method) },
            _ => return None,
        })
    }
}

/// Node embedding of a Hessian, which needs no test of symmetry.
fn cycle(method: NodeEmbedding) -> Multigrid<NodeEmbedding> {
    let known = GaussSeidel { symmetric: true, ..GaussSeidel::default() };
    let smoothing = Smoothing::SymmetricGaussSeidel(known);
    Multigrid { smoothing, ..node_embedding_of(method) }
}

impl fmt::Display for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that no driver has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no driver is called `{name}`; take one of {}",
    Driver::ALL.map(Driver::name).join(", ")
)]
pub struct UnknownDriver {
    /// The name.
    pub name: String,
}

impl FromStr for Driver {
    type Err = UnknownDriver;

    fn from_str(name: &str) -> Result<Self, UnknownDriver> {
        let found = NAMES.into_iter().find(|(_, known)| *known == name);
        found.map(|(driver, _)| driver).ok_or_else(|| UnknownDriver { name: name.to_owned() })
    }
}
