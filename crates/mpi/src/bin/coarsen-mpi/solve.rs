//! From the rows of each rank to the solution.

use std::sync::Arc;
use std::time::{Duration, Instant};

use coarsen_core::{Identity, Iteration, LinearOperator, Preconditioner, Stop, Vector, every};
use coarsen_distributed::{Communicator, Counted, DistJacobi, DistMatrix, DistVector, Partition, Spmv};
use coarsen_krylov::{BiCgStab, Cg, FlexibleCg, Gmres, Krylov, Minres, PipelinedCg, SingleReductionCg};
use coarsen_matrix_market as matrix_market;

use crate::arguments::{BackendOption, Method, Precond, Solve};
use crate::device;
use crate::failure::{Failure, together};
use crate::files::{self, is_standard};
use crate::input::Input;
use crate::matrix;
use crate::parameters;
use crate::ranks::Ranks;
use crate::report::{Found, Report};
use crate::schedule;
use crate::steps::{Setup, Spent, TimedOperator, TimedPreconditioner, Times};

type Built<C> = Box<dyn Preconditioner<DistVector<C>>>;

/// What a backend has found.
pub(crate) struct Solved<C: Communicator> {
    pub(crate) x: DistVector<C>,
    pub(crate) setup: Setup,
    pub(crate) run: Run,
    /// The table of levels.
    pub(crate) table: Option<String>,
    /// The block rows of this rank, its ghosts, and the bytes that it sends in a product.
    pub(crate) own: [usize; 3],
    /// The number of the device of each rank.
    pub(crate) devices: Option<Vec<u64>>,
}

/// A solve.
pub(crate) struct Run {
    report: coarsen_core::Report<f64>,
    history: Vec<f64>,
    duration: Duration,
    products: Spent,
    preconditioner: Spent,
}

/// Solves the system of the command line; every rank returns the same report.
pub(crate) fn run<C: Communicator>(
    comm: &Counted<C>,
    options: &Solve,
    threads: usize,
) -> Result<Report, Failure> {
    let begun = Instant::now();
    schedule::check(options, comm.size())?;
    parameters::check(options)?;
    let checked = if comm.rank() == 0 { files::check(options) } else { Ok(()) };
    together(comm, checked)?;
    let input = Input::load(comm, options)?;
    let partition = Partition::new(comm.clone(), input.layout.clone())?;
    matrix::check(options, &partition, &input.rows, &input.order)?;
    let read = Spent::since(begun);

    let (mode, schedule) = schedule::mode(comm, options, &input.layout)?;
    let solved = match options.backend {
        BackendOption::Cpu => on_cpu(comm, options, &input, &partition, mode),
        BackendOption::Opencl => device::solve(comm, options, &input, &partition),
    };
    let block = input.layout.block();
    let Solved { x, setup, run, table, own, devices } =
        solved.map_err(|failure| failure.in_file(&input.order, block))?;
    let Run { products, preconditioner, duration: solve, .. } = run;
    let times = Times { read, setup, solve, products, preconditioner };
    let ranks = Ranks::gather(comm, own, times.steps())?;
    if let Some(file) = &options.out {
        let mut all = vec![0.0; input.layout.unknowns()]; // other ranks than 0 write to parts of it
        partition.collect(x.own(), &mut all)?;
        let write = || -> Result<(), Failure> {
            let x = input.order.given(&all, input.layout.block());
            match is_standard(file) {
                true => matrix_market::print_dense(&matrix_market::Dense::new(x.len(), 1, x)?)?,
                false => matrix_market::write_vector(file, &x)?,
            }
            Ok(())
        };
        let written = if comm.rank() == 0 { write() } else { Ok(()) };
        together(comm, written)?;
    }
    let found = Found { solved: run.report, history: run.history, levels: table, schedule, devices };
    Ok(Report::new(options, &input, threads, &times, found, ranks))
}

fn on_cpu<C: Communicator>(
    comm: &Counted<C>,
    options: &Solve,
    input: &Input,
    partition: &Arc<Partition<Counted<C>>>,
    mode: Spmv,
) -> Result<Solved<Counted<C>>, Failure> {
    let begun = Instant::now();
    let a = DistMatrix::new(partition, partition, &input.rows, mode)?;
    let b = partition.vector(input.b.clone())?;
    let mut x = partition.vector(input.x0.clone())?;
    let (matrix, then) = (Spent::since(begun), Instant::now());
    let (mut m, table) = preconditioner(&a, options, input)?;
    let preconditioner = Spent::since(then);
    comm.barrier()?;
    let setup = Setup { matrix, preconditioner, all: begun.elapsed() };
    let run = timed(comm, options, &a, &mut *m, &b, &mut x)?;
    let own = [partition.count(), a.ghosts(), a.bytes_sent()];
    Ok(Solved { x, setup, run, table, own, devices: None })
}

/// Solves A x = b on any backend, and counts messages.
pub(crate) fn timed<C: Communicator, V: Vector<Real = f64>>(
    comm: &Counted<C>,
    options: &Solve,
    a: &dyn LinearOperator<V>,
    m: &mut dyn Preconditioner<V>,
    b: &V,
    x: &mut V,
) -> Result<Run, Failure> {
    comm.restart();
    let begun = Instant::now();
    let stop = Stop { max_iterations: options.max_iterations, ..Stop::relative(options.tol) };
    let mut history = Vec::new();
    let (a, mut m) = (TimedOperator::new(a), TimedPreconditioner::new(m));
    let solved = {
        let mut record = every(1, |it: &Iteration<'_, V>| history.push(it.residual));
        method(options.method, stop).solve_with(&a, &mut m, b, x, &mut record)
    };
    let (report, duration) = (solved.map_err(Failure::Core)?, begun.elapsed());
    Ok(Run { report, history, duration, products: a.spent(), preconditioner: m.spent() })
}

/// The preconditioner, and the table of its levels.
fn preconditioner<C: Communicator>(
    a: &DistMatrix<C>,
    options: &Solve,
    input: &Input,
) -> Result<(Built<C>, Option<String>), Failure> {
    Ok(match options.precond {
        Precond::None => (Box::new(Identity), None),
        Precond::Jacobi => (Box::new(DistJacobi::new(a, 1.0)?), None),
        Precond::BlockJacobi => (Box::new(DistJacobi::blocks(a, 1.0)?), None),
        Precond::Sa => {
            let (parameters, near_kernel) = (options.aggregation.parameters(), input.near_kernel.as_ref());
            let hierarchy = parameters.build(a.rows(), &input.rows, near_kernel)?;
            let table = hierarchy.to_string();
            (Box::new(hierarchy), Some(table))
        }
        Precond::Mas => {
            let domains = options.domains.parameters().build(a.rows(), &input.rows)?;
            let table = domains.to_string();
            (Box::new(domains), Some(table))
        }
    })
}

fn method<V: Vector<Real = f64>>(name: Method, stop: Stop<f64>) -> Box<dyn Krylov<V>> {
    match name {
        Method::Cg => Box::new(Cg::new(stop)),
        Method::SingleReductionCg => Box::new(SingleReductionCg::new(stop)),
        Method::PipelinedCg => Box::new(PipelinedCg::new(stop)),
        Method::Fcg => Box::new(FlexibleCg::new(stop)),
        Method::Minres => Box::new(Minres::new(stop)),
        Method::Gmres => Box::new(Gmres::new(stop)),
        Method::Bicgstab => Box::new(BiCgStab::new(stop)),
    }
}
