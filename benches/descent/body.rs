//! A body, its Hessian, and directions whose preconditioners follow it.

use coarsen::backend::Prepared;
use coarsen::optimize::{
    AcceleratedGradient, Beta, DescentError, Direction, Gradient, LineSearch, Linearized, NonlinearCg,
    Preconditioned, Refreshed,
};
use coarsen::prelude::*;
use coarsen::problems::{ImplicitEuler, StableNeoHookean, Tetrahedra};

pub(crate) type Follower = Box<dyn Prepared<Vec<f64>, f64>>;
pub(crate) type Body = ImplicitEuler<Tetrahedra<StableNeoHookean>>;
pub(crate) type Elastic = Linearized<
    Body,
    Bsr<f64>,
    Follower,
    fn(&mut Body, &Vec<f64>, &mut Bsr<f64>) -> Result<(), DescentError>,
    fn(&Bsr<f64>, &Vec<f64>, &mut Follower) -> Result<(), DescentError>,
>;

pub(crate) const METHODS: [&str; 5] = ["gradient", "agd", "lbfgs", "ncg", "newton"];
pub(crate) const INVERSES: [&str; 3] = ["block-jacobi", "sa", "mas"];

/// A preconditioner of the Hessian at x, by name.
pub(crate) fn inverse(name: &str, body: &mut Body, x: &[f64]) -> Follower {
    let modes = NearKernel::rigid_body_modes(x.as_chunks().0, 3).expect("points");
    let system =
        System { positions: Some(x.as_chunks().0), near_kernel: Some(&modes), ..body.hessian(x).into() };
    let on = Cpu::new();
    match name {
        "jacobi" => Box::new(Jacobi::default().build_from(system, &on).expect("a diagonal")),
        "block-jacobi" => Box::new(BlockJacobi::default().build_from(system, &on).expect("blocks")),
        "mas" => Box::new(Schwarz::multilevel().build_from(system, &on).expect("domains")),
        _ => Box::new(Multigrid::smoothed_aggregation().build_from(system, &on).expect("a hierarchy")),
    }
}

fn follow(a: &Bsr<f64>, x: &[f64], m: &mut Follower) -> Result<(), DescentError> {
    let points = x.as_chunks().0;
    let modes = NearKernel::rigid_body_modes(points, 3)?;
    let system = System { positions: Some(points), near_kernel: Some(&modes), ..a.into() };
    m.update_from(system).map_err(DescentError::linearize)?;
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

/// A direction by name around m, and its line search.
pub(crate) fn method(
    name: &str,
    m: Follower,
) -> (Box<dyn Direction<Vec<f64>, Elastic>>, Box<dyn LineSearch<f64>>) {
    let armijo: Box<dyn LineSearch<f64>> = Box::new(Backtracking::default());
    match name {
        "gradient" => (following(Gradient::scaled(m)), armijo),
        "agd" => (following(AcceleratedGradient::new(0.99, m)), armijo),
        "lbfgs" => (following(Lbfgs::new(8, m)), armijo),
        "ncg" => (following(NonlinearCg::new(Beta::DaiKou, m)), Box::new(MoreThuente::tight())),
        "newton" => (Box::new(Newton::fixed(32)), armijo),
        "inexact-newton" => (Box::new(Newton::inexact()), armijo),
        other => panic!("no method {other}; there are {METHODS:?} and inexact-newton"),
    }
}

fn following<D>(direction: D) -> Box<dyn Direction<Vec<f64>, Elastic>>
where
    D: Direction<Vec<f64>, Elastic> + Preconditioned<Vec<f64>, Inverse = Follower> + 'static,
{
    let update = |f: &mut Elastic, x: &Vec<f64>, m: &mut Follower| follow(f.objective.hessian(x), x, m);
    Box::new(Refreshed::new(direction, update))
}
