//! The times of setups, iterations and factors, compared with the work estimated by `coarsen_auto::Costs`:
//! `cargo bench -p coarsen-benches --bench work`.
//!
//! The constants of `crates/auto/src/cost.rs` are fitted to this table: seconds divided by work agree in all
//! rows up to a factor of about two.

use coarsen::smoothed_aggregation::smoothed_aggregation;
use std::hint::black_box;
use std::path::PathBuf;
use std::time::Instant;

use coarsen::auto::{Costs, Method, Precond};
use coarsen::backend::Cpu;
use coarsen::direct::Direct;
use coarsen::krylov::Cg;
use coarsen::problems::{Options, Problem, random_vector};
use coarsen::relax::{BlockJacobi, Ic0};
use coarsen::sparse::{Bsr, System, Zeros};
use coarsen::{Preconditioner, Stop, diagnose, matrix_market, parallel};

const PROBLEMS: [&str; 14] = [
    "poisson2d:100",
    "poisson2d:300",
    "poisson2d:700",
    "poisson3d:20",
    "poisson3d:40",
    "poisson3d:60",
    "jump3d:32",
    "anisotropic2d:300",
    "elasticity3d:10",
    "elasticity3d:20",
    "elasticity3d:30",
    "cloth:50",
    "cloth:150",
    "cloth:300",
];

const FILES: [&str; 6] =
    ["bcsstk16", "ccx_segmenttet", "ccx_bimetal", "ccx_armadillo13k", "ipc_mat40_stack2", "1138_bus"];

fn main() {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    println!("{:<22} {:<16} {:>10} {:>12} {:>10}", "system", "what", "seconds", "work", "ps a unit");
    let run = || {
        for spec in PROBLEMS {
            let problem = Problem::parse(spec, &Options::default()).expect("a problem of the gallery");
            rows(spec, &problem.matrix, Some(&problem));
        }
        let Some(folder) = std::env::var_os("COARSEN_DATA").map(PathBuf::from) else {
            return println!("no COARSEN_DATA: no real matrices");
        };
        for name in FILES {
            let file = folder.join(format!("matrices/{name}.mtx.gz"));
            let Ok(a) = matrix_market::read(&file) else {
                println!("{name}: not there");
                continue;
            };
            let size = diagnose::diagnose(&a).structure.blocking.map_or(1, |best| best.size);
            rows(name, &a.reblock((size, size), Zeros::Keep).expect("a block size that divides"), None);
        }
    };
    parallel::threads(threads, run).expect("a pool of threads");
}

/// The minimum time of three runs, in seconds.
fn fastest<T>(mut f: impl FnMut() -> T) -> (f64, T) {
    let mut best = f64::INFINITY;
    let mut last = None;
    for _ in 0..3 {
        let begun = Instant::now();
        last = Some(f());
        best = best.min(begun.elapsed().as_secs_f64());
    }
    (best, last.expect("three runs"))
}

fn rows(name: &str, a: &Bsr<f64>, problem: Option<&Problem>) {
    let system = match problem {
        Some(p) => {
            System { positions: Some(&p.positions), near_kernel: Some(&p.near_kernel), ..System::from(a) }
        }
        None => System::from(a),
    };
    let line = |what: &str, seconds: f64, work: f64| {
        println!("{name:<22} {what:<16} {seconds:>10.5} {work:>12.3e} {:>10.1}", 1e12 * seconds / work);
    };
    let (seconds, costs) = fastest(|| Costs::of(a, true));
    line("sample", seconds, 20.0 * a.nnz() as f64);
    let iterations = |precond: Precond, complexity: f64, m: &mut dyn Preconditioner<Vec<f64>>| {
        let (b, mut x) = (random_vector(a.shape().0, 1), vec![0.0; a.shape().0]);
        let stop = Stop { max_iterations: 20, ..Stop::relative(1e-30) };
        let mut cg = Cg::new(stop);
        let (seconds, done) = fastest(|| {
            x.fill(0.0);
            cg.solve(a, m, &b, &mut x).map_or(1, |report| report.iterations.max(1))
        });
        line(
            &format!("{precond} it"),
            seconds / done as f64,
            costs.iteration(Method::Cg, precond, complexity),
        );
    };
    let backend = Cpu::mixed();
    if let (seconds, Ok(mut m)) = fastest(|| BlockJacobi::default().build(system, &backend)) {
        line("block-jacobi", seconds, costs.setup(Precond::BlockJacobi));
        iterations(Precond::BlockJacobi, 1.0, &mut m);
    }
    if let (seconds, Ok(mut m)) = fastest(|| Ic0::default().build(system, &backend)) {
        line("ic0", seconds, costs.setup(Precond::Ic0));
        iterations(Precond::Ic0, 1.0, &mut m);
    }
    let sa = smoothed_aggregation();
    if let (seconds, Ok(mut m)) = fastest(|| sa.build_f32(system)) {
        line("sa", seconds, costs.setup(Precond::SmoothedAggregation));
        let complexity = m.get().operator_complexity();
        iterations(Precond::SmoothedAggregation, complexity, &mut m);
    }
    let (ordering, stats) = fastest(|| Direct::default().estimate(a));
    let Ok((_, stats)) = stats else { return };
    line("ordering", ordering, costs.ordering());
    line("direct by width", ordering, costs.direct());
    if stats.flops > 2e11 {
        return;
    }
    let begun = Instant::now();
    let Ok(mut factor) = Direct::default().factor(a) else { return };
    let mut x = vec![0.0; a.shape().0];
    let _ = black_box(factor.solve(&random_vector(a.shape().0, 1), &mut x));
    let seconds = begun.elapsed().as_secs_f64() - ordering;
    line("factor", seconds, costs.factor(&stats));
    println!("{name:<22} n {} entries {:.3e} flops {:.3e}", a.shape().0, stats.nnz as f64, stats.flops);
}
