//! A body, its Hessian, and directions whose preconditioners follow it.

use coarsen::backend::Prepared;
use coarsen::multigrid::SmoothedAggregation;
use coarsen::optimize::{
    AcceleratedGradient, Beta, Constant, DescentError, Direction, Gradient, LineSearch, Linearized,
    NonlinearCg, Preconditioned, Refreshed,
};
use coarsen::prelude::*;
use coarsen::problems::{Curvature, ImplicitEuler, StableNeoHookean, Tetrahedra};

pub(crate) type Follower = Box<dyn Prepared<Vec<f64>, f64>>;
pub(crate) type Body = ImplicitEuler<Tetrahedra<StableNeoHookean>>;
pub(crate) type Elastic = Linearized<
    Body,
    Bsr<f64>,
    Follower,
    fn(&mut Body, &Vec<f64>, &mut Bsr<f64>) -> Result<(), DescentError>,
    fn(&Bsr<f64>, &Vec<f64>, &mut Follower) -> Result<(), DescentError>,
>;
type Way = Box<dyn Direction<Vec<f64>, Elastic>>;

/// Inner tolerance of the constant matrix.
const INNER: f64 = 1e-2;

/// A preconditioner of the Hessian at x, by name. All are stored in `f32`, but for `sa-contrast`: stiff parts next to soft
/// ones want all digits, and small blocks of P.
pub(crate) fn inverse(name: &str, body: &mut Body, x: &[f64]) -> Follower {
    with_system(body.hessian(x), x, |system| build(name, system)).expect("rigid motions of points")
}

fn build(name: &str, system: System<'_, f64>) -> Follower {
    let on = Cpu::mixed();
    match name {
        "jacobi" => Box::new(Jacobi::default().build_from(system, &on).expect("a diagonal")),
        "block-jacobi" => Box::new(BlockJacobi::default().build_from(system, &on).expect("blocks")),
        "mas" => Box::new(Schwarz::multilevel().build_from(system, &on).expect("domains")),
        "sa" => Box::new(Multigrid::smoothed_aggregation().build_from(system, &on).expect("a hierarchy")),
        "sa-contrast" => {
            let coarsening = SmoothedAggregation { prune: 1e-3, ..Default::default() };
            let recipe = Multigrid { coarsening, ..Multigrid::smoothed_aggregation() };
            Box::new(recipe.build_from(system, &Cpu::new()).expect("a hierarchy"))
        }
        other => panic!("no preconditioner {other}"),
    }
}

/// Hands over a Hessian with the points of x and their rigid motions.
fn with_system<R>(
    a: &Bsr<f64>,
    x: &[f64],
    take: impl FnOnce(System<'_, f64>) -> R,
) -> Result<R, DescentError> {
    let points = x.as_chunks().0;
    let modes = NearKernel::rigid_body_modes(points, 3)?;
    Ok(take(System { positions: Some(points), near_kernel: Some(&modes), ..a.into() }))
}

fn follow(a: &Bsr<f64>, x: &[f64], m: &mut Follower) -> Result<(), DescentError> {
    with_system(a, x, |system| m.update_from(system))?.map_err(DescentError::linearize)?;
    Ok(())
}

/// Joins a body and the preconditioner that Newton's method will use.
pub(crate) fn elastic(body: Body, m: Follower) -> Elastic {
    let hessian = body.last_hessian().clone();
    let assemble = |f: &mut Body, x: &Vec<f64>, a: &mut Bsr<f64>| {
        a.values_mut().copy_from_slice(f.hessian(x).values());
        Ok(())
    };
    Linearized::new(body, hessian, m, assemble, |a, x, m| follow(a, x, m))
}

/// A direction by name, its preconditioner by name, the body that it is a direction of, and its line search.
pub(crate) fn method(
    name: &str,
    precond: &str,
    mut body: Body,
    x: &[f64],
) -> (Elastic, Way, Box<dyn LineSearch<f64>>) {
    let armijo: Box<dyn LineSearch<f64>> = Box::new(Backtracking::default());
    let tight: Box<dyn LineSearch<f64>> = Box::new(MoreThuente::tight());
    if name.ends_with("constant") {
        body.curvature = Curvature::Constant;
    }
    let m = inverse(precond, &mut body, x);
    // Newton's method asks the objective for a preconditioner, the others have their own.
    let newton: Option<Way> = match name {
        "newton-32" => Some(Box::new(Newton::fixed(32))),
        "newton-inexact" => Some(Box::new(Newton::inexact())),
        "newton-on-demand" => Some(Box::new(Newton::inexact())),
        _ => None,
    };
    if let Some(newton) = newton {
        let f = elastic(body, m);
        let projecting = |body: &mut Body, stand_in: bool| {
            body.curvature = if stand_in { Curvature::Projected } else { Curvature::Exact };
        };
        return (if name == "newton-on-demand" { f.projecting(projecting) } else { f }, newton, armijo);
    }
    let (direction, search) = match name {
        "gradient" => (following(Gradient::scaled(m)), armijo),
        "agd" => (following(AcceleratedGradient::new(0.99, m)), armijo),
        "lbfgs" | "lbfgs-constant" => (following(Lbfgs::new(8, m)), armijo),
        "ncg" => (following(NonlinearCg::new(Beta::DaiKou, m)), tight),
        "ncg+" => (following(NonlinearCg::new(Beta::PolakRibierePlus, m)), tight),
        "constant" => {
            let a = body.last_hessian().clone();
            let inner = Cg::new(Stop::relative(INNER));
            (Box::new(Constant::new(a, m, inner)) as Way, armijo)
        }
        other => panic!("no method {other}"),
    };
    (elastic(body, Box::new(Identity)), direction, search)
}

fn following<D>(direction: D) -> Way
where
    D: Direction<Vec<f64>, Elastic> + Preconditioned<Vec<f64>, Inverse = Follower> + 'static,
{
    let update = |f: &mut Elastic, x: &Vec<f64>, m: &mut Follower| follow(f.objective.hessian(x), x, m);
    Box::new(Refreshed::new(direction, update))
}
