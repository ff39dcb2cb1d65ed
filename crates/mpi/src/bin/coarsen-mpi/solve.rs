//! From the rows of each rank to the solution.

use std::time::Instant;

use coarsen_core::{Identity, Iteration, Preconditioner, Stop, Vector, every};
use coarsen_distributed::{
    Communicator, Counted, DistBlockJacobi, DistJacobi, DistMatrix, DistVector, Partition, Schedule, Spmv,
};
use coarsen_krylov::{BiCgStab, Cg, FlexibleCg, Gmres, Krylov, Minres, SingleReductionCg};
use coarsen_matrix_market as matrix_market;

use coarsen_distributed_multigrid::DistMultigrid;
use coarsen_distributed_schwarz::DistSchwarz;

use crate::arguments::{Method, Order, Precond, Product, Solve};
use crate::failure::{Failure, together};
use crate::input::Input;
use crate::report::{Ranks, Report, Times};

type Built<C> = Box<dyn Preconditioner<DistVector<C>>>;

/// Solves the system of the command line; every rank returns the same report.
pub(crate) fn run<C: Communicator>(
    comm: &Counted<C>,
    options: &Solve,
    threads: usize,
) -> Result<Report, Failure> {
    let begun = Instant::now();
    let mode = mode(options, comm.size())?;
    let input = Input::load(comm, options)?;
    let read = begun.elapsed();

    let begun = Instant::now();
    let on = Partition::new(comm.clone(), input.layout.clone())?;
    let a = DistMatrix::new(&on, &on, &input.rows, mode)?;
    let b = on.vector(input.b.clone())?;
    let (mut m, table) = preconditioner(&a, options.precond, &input)?;
    let mut x = b.like().map_err(Failure::Place)?;
    comm.barrier()?;
    let setup = begun.elapsed();

    comm.restart();
    let begun = Instant::now();
    let stop = Stop { max_iterations: options.max_iterations, ..Stop::relative(options.tol) };
    let mut history = Vec::new();
    let mut follow = every(1, |it: &Iteration<'_, _>| history.push(it.residual));
    let solved = method(options.method, stop).solve_with(&a, &mut *m, &b, &mut x, &mut follow);
    let solved = solved.map_err(Failure::Place)?;
    let solve = begun.elapsed();

    let ranks = Ranks::gather(comm, &a)?;
    if let Some(file) = &options.out {
        let all = input.order.given(&x.gathered()?, input.layout.block());
        let written = if comm.rank() == 0 { matrix_market::write_vector(file, &all) } else { Ok(()) };
        together(comm, written.map_err(Failure::Write))?;
    }
    let times = Times { read, setup, solve };
    Ok(Report::new(options, &input, threads, times, solved, (history, table), ranks))
}

fn mode(options: &Solve, ranks: usize) -> Result<Spmv, Failure> {
    let schedule = || match options.schedule {
        Order::Ring => Ok(Schedule::ring(ranks)?),
        Order::Pairwise => Ok(Schedule::pairwise(ranks)?),
        Order::Queues if !ranks.is_power_of_two() => Err(Failure::Queues { ranks }),
        Order::Queues => Ok(Schedule::work_queues(ranks)?),
    };
    Ok(match options.product {
        Product::Blocking => Spmv::Blocking(schedule()?),
        Product::Pipelined => Spmv::Pipelined(schedule()?),
        Product::Halo => Spmv::Halo,
        Product::Reproducible => Spmv::Reproducible,
    })
}

/// The preconditioner, and the table of its levels.
fn preconditioner<C: Communicator>(
    a: &DistMatrix<C>,
    name: Precond,
    input: &Input,
) -> Result<(Built<C>, Option<String>), Failure> {
    Ok(match name {
        Precond::None => (Box::new(Identity), None),
        Precond::Jacobi => (Box::new(DistJacobi::new(a, 1.0)?), None),
        Precond::BlockJacobi => (Box::new(DistBlockJacobi::new(a, 1.0)?), None),
        Precond::Sa => {
            let hierarchy =
                DistMultigrid::default().build(a.rows(), &input.rows, input.near_kernel.as_ref())?;
            let table = hierarchy.to_string();
            (Box::new(hierarchy), Some(table))
        }
        Precond::Mas => {
            let domains = DistSchwarz::default().build(a.rows(), &input.rows)?;
            let table = domains.to_string();
            (Box::new(domains), Some(table))
        }
    })
}

fn method<V: Vector<Real = f64>>(name: Method, stop: Stop<f64>) -> Box<dyn Krylov<V>> {
    match name {
        Method::Cg => Box::new(Cg::new(stop)),
        Method::SingleReductionCg => Box::new(SingleReductionCg::new(stop)),
        Method::Fcg => Box::new(FlexibleCg::new(stop)),
        Method::Minres => Box::new(Minres::new(stop)),
        Method::Gmres => Box::new(Gmres::new(stop)),
        Method::Bicgstab => Box::new(BiCgStab::new(stop)),
    }
}
