//! The preconditioner of a soft body, by name.

use coarsen::skinning::skinning;
use coarsen::smoothed_aggregation::smoothed_aggregation;
use std::sync::Arc;

use coarsen::backend::{Setup, SetupError};
use coarsen::descent::{BackendObjective, Built, CachedPreconditioner};
use coarsen::elastic::{ImplicitEuler, StableNeoHookean, Tetrahedra};
use coarsen::relax::{BlockJacobi, Jacobi};
use coarsen::schwarz::Schwarz;
use coarsen::{AnyBackend, AnyVector, Identity};

use crate::arguments::minimize::Inverse;

/// The material of the scenes.
pub(crate) type Energy = Tetrahedra<StableNeoHookean>;

/// The body of a scene, as an objective for all methods including Newton's.
pub(crate) type Soft = BackendObjective<ImplicitEuler<Energy>, AnyBackend>;

/// The preconditioner of the Hessian at x; `rest` has the rest positions of the free nodes.
pub(crate) fn build(
    inverse: Inverse,
    body: &mut ImplicitEuler<Energy>,
    x: &[f64],
    rest: &[f64],
    backend: &AnyBackend,
) -> Result<CachedPreconditioner<AnyVector>, SetupError> {
    if inverse == Inverse::None {
        return Ok(CachedPreconditioner::constant(Box::new(Identity)));
    }
    let (backend, rest): (_, Arc<[[f64; 3]]>) = (backend.clone(), rest.as_chunks().0.into());
    CachedPreconditioner::build(body, x, move |system| {
        let built: Built<AnyVector> = match inverse {
            Inverse::None => Box::new(Identity),
            Inverse::Jacobi => Box::new(Jacobi::default().build_from(system, &backend)?),
            Inverse::BlockJacobi => Box::new(BlockJacobi::default().build_from(system, &backend)?),
            Inverse::Sa => Box::new(smoothed_aggregation().build_from(system, &backend)?),
            Inverse::Mas => Box::new(Schwarz::multilevel().build_from(system, &backend)?),
            Inverse::Skinning => {
                let mut multigrid = skinning();
                multigrid.coarsening.rest = Some(rest.clone());
                Box::new(multigrid.build_from(system, &backend)?)
            }
        };
        Ok(built)
    })
}
