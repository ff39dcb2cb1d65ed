//! Times products and conjugate gradients on the ranks of `mpirun`, beside the formulas of Li et al. 2020.
//!
//! ```text
//! mpirun -n 2 products [SIDE] [PRODUCTS]    # a cloth of SIDE² nodes, 601 by default; 20 products of each kind
//! ```
//!
//! | symbol | measured as |
//! |---|---|
//! | C₀, C₁ | the product with the diagonal block, and with all other columns, without messages |
//! | T | the exchange of whole sub-vectors, without a product |
//!
//! `benches/ranks/network.sh` runs it over a network with a limited rate.

use std::sync::Arc;
use std::time::{Duration, Instant};

use coarsen_core::{LinearOperator, Stop, Vector};
use coarsen_distributed::simulation::{blocking, pipelined};
use coarsen_distributed::{
    Communicator, Counted, DistJacobi, DistMatrix, GlobalRows, Layout, Partition, Schedule, SelfComm, Spmv,
};
use coarsen_krylov::Cg;
use coarsen_mpi::MpiComm;
use coarsen_problems::{Options, Parts, random_vector};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// Iterations of conjugate gradients that are timed.
const ITERATIONS: usize = 30;

fn main() -> Outcome<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let asked: Option<Vec<usize>> = words.iter().map(|word| word.parse().ok()).collect();
    let usage = "usage: products [SIDE, 2 or more] [PRODUCTS, 1 or more]";
    let asked = asked.filter(|asked| asked.len() <= 2).ok_or(usage)?;
    let (side, times) = (asked.first().copied().unwrap_or(601), asked.get(1).copied().unwrap_or(20));
    if side < 2 || times == 0 {
        return Err(usage.into());
    }
    let comm = Counted::new(MpiComm::world(Duration::from_secs(120))?);
    coarsen_core::parallel::threads(1, || run(&comm, side, times).map_err(|error| error.to_string()))??;
    Ok(())
}

fn run<C: Communicator>(comm: &Counted<C>, side: usize, times: usize) -> Outcome<()> {
    let sheet = Parts::parse(&format!("cloth:{side}"), &Options { dt: Some(0.01), ..Options::default() })?;
    let n = sheet.nodes() as u64;
    let partition = Partition::new(comm.clone(), Layout::even(n, 3, comm.size())?)?;
    let own = partition.layout().range(partition.rank());
    let part = sheet.part(&(own.start as u32..own.end as u32).collect::<Vec<_>>())?.matrix;
    let columns = part.pattern().indices().iter().map(|&j| u64::from(j)).collect();
    let offsets = part.pattern().offsets().to_vec();
    let rows = GlobalRows::new(own.start, (3, 3), offsets, columns, part.values().to_vec())?;
    let x = partition.part_of(&random_vector(3 * n as usize, 1))?;
    let ring = Schedule::ring(comm.size())?;

    let only = |keep: &dyn Fn(u64) -> bool| -> Outcome<GlobalRows<f64>> {
        let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        for k in 0..rows.count() {
            for (j, block) in rows.row(k).filter(|(j, _)| keep(*j)) {
                columns.push(j);
                values.extend_from_slice(block);
            }
            offsets.push(columns.len());
        }
        Ok(GlobalRows::new(own.start, (3, 3), offsets, columns, values)?)
    };
    let alone = |rows: GlobalRows<f64>| -> Outcome<f64> {
        let count = rows.count();
        let (mine, all) = (Layout::even(count as u64, 3, 1)?, Layout::even(n, 3, 1)?);
        let (to, from) = (Partition::new(SelfComm, mine)?, Partition::new(SelfComm, all)?);
        let rows = GlobalRows::new(
            0,
            (3, 3),
            rows.offsets().to_vec(),
            rows.columns().to_vec(),
            rows.values().to_vec(),
        )?;
        let a = DistMatrix::new(&to, &from, &rows, Spmv::Halo)?;
        let (x, mut y) = (from.vector(vec![1.0; 3 * n as usize])?, to.vector(vec![0.0; 3 * count])?);
        longest(comm, times, &mut || a.apply(&x, &mut y))
    };
    let inside = alone(only(&|j| own.contains(&j))?)?;
    let outside = alone(only(&|j| !own.contains(&j))?)?;
    let product = |rows: &GlobalRows<f64>, mode: Spmv| -> Outcome<(f64, usize)> {
        let (a, mut y) = (DistMatrix::new(&partition, &partition, rows, mode)?, x.like()?);
        let seconds = longest(comm, times, &mut || a.apply(&x, &mut y))?;
        x.sync()?;
        Ok((seconds, a.bytes_sent()))
    };
    let transfer = product(&only(&|_| false)?, Spmv::Blocking(ring.clone()))?.0;
    let (others, each) = (comm.size() - 1, (comm.size() - 1).max(1) as f64);
    let compute: Vec<f64> = std::iter::once(inside).chain(vec![outside / each; others]).collect();
    let transfers = vec![transfer / each; others];
    let (whole, bytes) = product(&rows, Spmv::Blocking(ring.clone()))?;
    let overlapped = product(&rows, Spmv::Pipelined(ring.clone()))?.0;
    let (halo, few) = product(&rows, Spmv::Halo)?;
    let model = [blocking(&compute, &transfers)[others], pipelined(&compute, &transfers)[others]];
    let by_cg = [
        iteration(comm, &partition, &rows, Spmv::Blocking(ring.clone()))?,
        iteration(comm, &partition, &rows, Spmv::Pipelined(ring))?,
        iteration(comm, &partition, &rows, Spmv::Halo)?,
    ];
    if comm.rank() == 0 {
        let ms = |seconds: f64| 1e3 * seconds;
        println!(
            "cloth:{side}, {} unknowns, {} ranks of 1 thread; medians of {times} products, ms",
            3 * n,
            comm.size()
        );
        println!("C0 {:.2}  C1 {:.2}  T {:.2}", ms(inside), ms(outside), ms(transfer));
        println!(
            "blocking {:.2} (eq. 6: {:.2})  pipelined {:.2} (eq. 7: {:.2})  halo {:.2}",
            ms(whole),
            ms(model[0]),
            ms(overlapped),
            ms(model[1]),
            ms(halo)
        );
        println!(
            "pipelined over blocking: {:.2}, by the model {:.2}; measured over eq. 7: {:.3}",
            whole / overlapped,
            model[0] / model[1],
            overlapped / model[1]
        );
        println!(
            "bytes sent by rank 0 per product: whole {bytes}, halo {few}, ratio {:.0}",
            bytes as f64 / few.max(1) as f64
        );
        println!(
            "conjugate gradients, ms per iteration: blocking {:.2}  pipelined {:.2}  halo {:.2}",
            ms(by_cg[0]),
            ms(by_cg[1]),
            ms(by_cg[2])
        );
        let saved = by_cg[0] - by_cg[2];
        println!(
            "halo saves {:.2} ms per iteration of the blocking mode, {:.0} % of T",
            ms(saved),
            100.0 * saved / transfer
        );
    }
    Ok(())
}

/// The median of the seconds of a call, and of these the largest of all ranks.
fn longest<C: Communicator>(comm: &C, times: usize, call: &mut dyn FnMut()) -> Outcome<f64> {
    call();
    let mut seconds = Vec::new();
    for _ in 0..times {
        comm.barrier()?;
        let begun = Instant::now();
        call();
        seconds.push(begun.elapsed().as_secs_f64());
    }
    seconds.sort_by(f64::total_cmp);
    largest(comm, seconds[times / 2])
}

fn largest<C: Communicator>(comm: &C, own: f64) -> Outcome<f64> {
    let all = comm.all_gather(&own.to_ne_bytes())?;
    let values = all.iter().flat_map(|bytes| coarsen_distributed::unpack::<f64>(bytes));
    Ok(values.fold(0.0, f64::max))
}

/// The seconds of an iteration of conjugate gradients with block Jacobi.
fn iteration<C: Communicator>(
    comm: &C,
    partition: &Arc<Partition<C>>,
    rows: &GlobalRows<f64>,
    mode: Spmv,
) -> Outcome<f64> {
    let a = DistMatrix::new(partition, partition, rows, mode)?;
    let mut m = DistJacobi::blocks(&a, 1.0)?;
    let b = partition.vector(vec![1.0; 3 * partition.count()])?;
    let mut cg = Cg::new(Stop { max_iterations: ITERATIONS, ..Stop::relative(1e-14) });
    let mut best = f64::INFINITY;
    for _ in 0..3 {
        let mut x = b.like()?;
        comm.barrier()?;
        let begun = Instant::now();
        let done = cg.solve(&a, &mut m, &b, &mut x)?.iterations;
        best = best.min(largest(comm, begun.elapsed().as_secs_f64() / done as f64)?);
    }
    Ok(best)
}
