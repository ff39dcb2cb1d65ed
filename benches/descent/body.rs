//! A body, its Hessian, and descent directions with cached preconditioners.

use coarsen::descent::{Built, CachedPreconditioner, HostObjective, refreshed};
use coarsen::elastic::{Curvature, ImplicitEuler, StableNeoHookean, Tetrahedra};
use coarsen::optimize::{AcceleratedGradient, Beta, Constant, Direction, Gradient, LineSearch, NonlinearCg};
use coarsen::prelude::*;
use coarsen::smoothed_aggregation::SmoothedAggregation;

type Energy = Tetrahedra<StableNeoHookean>;
pub(crate) type Body = ImplicitEuler<Energy>;
pub(crate) type Soft = HostObjective<Body>;
type BoxedDirection = Box<dyn Direction<Vec<f64>, Soft>>;

/// The tolerance of the linear solves with the constant matrix.
const INNER: f64 = 1e-2;

/// A preconditioner of the Hessian at x, by name. All are stored in `f32` except `tamstorf-contrast`: contrasts in
/// stiffness require full precision and small blocks of P.
pub(crate) fn inverse(name: &str, body: &mut Body, x: &[f64]) -> CachedPreconditioner {
    let (backend, name) = (Cpu::mixed(), name.to_owned());
    let built = CachedPreconditioner::build(body, x, move |system| {
        let built: Built = match name.as_str() {
            "jacobi" => Box::new(Jacobi::default().build_from(system, &backend)?),
            "block-jacobi" => Box::new(BlockJacobi::default().build_from(system, &backend)?),
            "mas" => Box::new(Schwarz::multilevel().build_from(system, &backend)?),
            "tamstorf" => Box::new(tamstorf().build_from(system, &backend)?),
            "tamstorf-contrast" => {
                let coarsening = SmoothedAggregation { prune: 1e-3, ..Default::default() };
                let parameters = Multigrid { coarsening, ..tamstorf() };
                Box::new(parameters.build_from(system, &Cpu::new())?)
            }
            other => unreachable!("no preconditioner {other}"),
        };
        Ok(built)
    });
    built.expect("a preconditioner")
}

/// The objective of a body, a direction with its preconditioner (both by name), and a line search.
pub(crate) fn method(
    name: &str,
    precond: &str,
    mut body: Body,
    x: &[f64],
) -> (Soft, BoxedDirection, Box<dyn LineSearch<f64>>) {
    let armijo: Box<dyn LineSearch<f64>> = Box::new(Backtracking::default());
    let tight: Box<dyn LineSearch<f64>> = Box::new(MoreThuente::tight());
    if name.ends_with("constant") {
        body.curvature = Curvature::Constant;
    }
    let m = inverse(precond, &mut body, x);
    // In Newton's method the objective owns the preconditioner; in all other methods the direction owns it.
    let newton: Option<BoxedDirection> = match name {
        "newton-32" => Some(Box::new(Newton::fixed(32))),
        "newton-inexact" => Some(Box::new(Newton::inexact())),
        "newton-on-demand" => Some(Box::new(Newton::inexact())),
        _ => None,
    };
    if let Some(newton) = newton {
        let f = HostObjective::new(body, m);
        return (if name == "newton-on-demand" { f.projecting_on_demand() } else { f }, newton, armijo);
    }
    let (direction, search): (BoxedDirection, _) = match name {
        "gradient" => (Box::new(refreshed(Gradient::scaled(m), |d| &mut d.inverse)), armijo),
        "agd" => (Box::new(refreshed(AcceleratedGradient::new(0.99, m), |d| &mut d.inverse)), armijo),
        "lbfgs" | "lbfgs-constant" => (Box::new(refreshed(Lbfgs::new(8, m), |d| &mut d.initial)), armijo),
        "ncg" => (Box::new(refreshed(NonlinearCg::new(Beta::DaiKou, m), NonlinearCg::inverse_mut)), tight),
        "ncg+" => (
            Box::new(refreshed(NonlinearCg::new(Beta::PolakRibierePlus, m), NonlinearCg::inverse_mut)),
            tight,
        ),
        "constant" => {
            let a = body.last_hessian().clone();
            (Box::new(Constant::new(a, m, Cg::new(Stop::relative(INNER)))), armijo)
        }
        other => unreachable!("no method {other}"),
    };
    (HostObjective::bare(body), direction, search)
}
