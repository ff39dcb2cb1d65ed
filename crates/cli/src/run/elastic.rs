//! The preconditioner of a soft body, by name.

use coarsen::backend::{Setup, SetupError};
use coarsen::elastic::{ImplicitEuler, StableNeoHookean, Tetrahedra};
use coarsen::follow::{Built, Follower, Placed};
use coarsen::multigrid::Multigrid;
use coarsen::relax::{BlockJacobi, Jacobi};
use coarsen::schwarz::Schwarz;
use coarsen::{AnyBackend, AnyVector, Identity};

use crate::arguments::minimize::Inverse;

/// The material of the scenes.
pub(crate) type Energy = Tetrahedra<StableNeoHookean>;

/// The body of a scene, as an objective for all methods including Newton's.
pub(crate) type Soft = Placed<ImplicitEuler<Energy>, AnyBackend>;

/// The preconditioner of the Hessian at x.
pub(crate) fn build(
    inverse: Inverse,
    body: &mut ImplicitEuler<Energy>,
    x: &[f64],
    on: &AnyBackend,
) -> Result<Follower<AnyVector>, SetupError> {
    if inverse == Inverse::None {
        return Ok(Follower::constant(Box::new(Identity)));
    }
    let on = on.clone();
    Follower::build(body, x, move |system| {
        let built: Built<AnyVector> = match inverse {
            Inverse::None => Box::new(Identity),
            Inverse::Jacobi => Box::new(Jacobi::default().build_from(system, &on)?),
            Inverse::BlockJacobi => Box::new(BlockJacobi::default().build_from(system, &on)?),
            Inverse::Sa => Box::new(Multigrid::smoothed_aggregation().build_from(system, &on)?),
            Inverse::Mas => Box::new(Schwarz::multilevel().build_from(system, &on)?),
        };
        Ok(built)
    })
}
