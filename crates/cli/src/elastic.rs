//! A soft body and the preconditioner of its Hessian.

use coarsen::Identity;
use coarsen::backend::{Cpu, Prepared, Setup, SetupError};
use coarsen::multigrid::Multigrid;
use coarsen::optimize::{DescentError, Linearized};
use coarsen::problems::{Curvature, ImplicitEuler, StableNeoHookean, Tetrahedra};
use coarsen::relax::{BlockJacobi, Jacobi};
use coarsen::schwarz::Schwarz;
use coarsen::sparse::{Bsr, NearKernel, System};

use crate::minimize::Inverse;

/// A preconditioner that follows a Hessian.
pub(crate) type Follower = Box<dyn Prepared<Vec<f64>, f64>>;

/// The body that the scenes are made of.
pub(crate) type Body = ImplicitEuler<Tetrahedra<StableNeoHookean>>;

/// A body with its Hessian and a preconditioner of it.
pub(crate) type Elastic = Linearized<
    Body,
    Bsr<f64>,
    Follower,
    fn(&mut Body, &Vec<f64>, &mut Bsr<f64>) -> Result<(), DescentError>,
    fn(&Bsr<f64>, &Vec<f64>, &mut Follower) -> Result<(), DescentError>,
>;

/// Joins a body and a preconditioner.
pub(crate) fn elastic(mut body: Body, x: &[f64], inverse: Follower) -> Elastic {
    let hessian = body.hessian(x).clone();
    let assemble = |body: &mut Body, x: &Vec<f64>, a: &mut Bsr<f64>| {
        a.values_mut().copy_from_slice(body.hessian(x).values());
        Ok(())
    };
    let f: Elastic = Linearized::new(body, hessian, inverse, assemble, |a, x, inverse| follow(a, x, inverse));
    f.projecting(|body, stand_in| {
        body.curvature = if stand_in { Curvature::Projected } else { Curvature::Exact };
    })
}

/// Takes the Hessian at x into a preconditioner.
pub(crate) fn follow(a: &Bsr<f64>, x: &[f64], inverse: &mut Follower) -> Result<(), DescentError> {
    with_system(a, x, |system| inverse.update_from(system)).map_err(DescentError::linearize)?;
    Ok(())
}

/// The preconditioner of the Hessian at x.
pub(crate) fn build(inverse: Inverse, a: &Bsr<f64>, x: &[f64]) -> Result<Follower, SetupError> {
    let on = Cpu::new();
    with_system(a, x, |system| {
        let built: Follower = match inverse {
            Inverse::None => Box::new(Identity),
            Inverse::Jacobi => Box::new(Jacobi::default().build_from(system, &on)?),
            Inverse::BlockJacobi => Box::new(BlockJacobi::default().build_from(system, &on)?),
            Inverse::Sa => Box::new(Multigrid::smoothed_aggregation().build_from(system, &on)?),
            Inverse::Mas => Box::new(Schwarz::multilevel().build_from(system, &on)?),
        };
        Ok(built)
    })
}

/// Hands over a Hessian with the points of x and their rigid motions.
fn with_system<R>(
    a: &Bsr<f64>,
    x: &[f64],
    take: impl FnOnce(System<'_, f64>) -> Result<R, SetupError>,
) -> Result<R, SetupError> {
    let points = x.as_chunks().0;
    let near_kernel = NearKernel::rigid_body_modes(points, 3)?;
    take(System { positions: Some(points), near_kernel: Some(&near_kernel), ..a.into() })
}
