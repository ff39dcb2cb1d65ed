//! Do the kernels reach memory bandwidth?
//!
//! A product performs two operations per 8 to 12 bytes of matrix, so memory bandwidth limits it. The
//! reference is a read-only inner product over two vectors of 128 MiB, larger than any cache. It is measured
//! again before each row of the table, because the speed of shared machines changes. The bytes of a kernel
//! are those of the matrix and of each vector that it reads or writes, each counted once. The percentage of a
//! kernel can slightly exceed 100 % if part of the matrix stays in a cache between calls.
//!
//! ```text
//! cargo bench -p coarsen-benches --bench spmv                  # the table
//! cargo bench -p coarsen-benches --bench spmv -- --plot        # and benches/spmv.svg
//! cargo bench -p coarsen-benches --bench spmv -- cloth         # matrices whose name contains "cloth"
//! ```
//!
//! *Output* the statistics of criterion for each kernel, compared with the last run, and finally a table of
//! the minimum times: ms, GB/s, and the percentage of the reference.

use std::hint::black_box;
use std::time::{Duration, Instant};

use coarsen_backend::{Backend, Cpu, DenseBlocks, Matrix, SweepDirection};
use coarsen_core::{LinearOperator, Preconditioner, Real, Vector, parallel};
use coarsen_problems::{Options, Problem};
use coarsen_relax::Ic0;
use coarsen_sparse::Bsr;
use criterion::{Bencher, Criterion};

mod roofline;

/// The number of entries of each reference vector.
const LARGE: usize = 16 << 20;

const SAMPLES: usize = 10;

/// The total time of the samples in seconds.
const SECONDS: f64 = 0.2;

/// A line of the table.
struct Row {
    name: String,
    kernel: &'static str,
    precision: &'static str,
    threads: usize,
    seconds: f64,
    bytes: usize,
    yardstick: f64,
}

impl Row {
    fn gigabytes(&self) -> f64 {
        self.bytes as f64 / self.seconds * 1e-9
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let plot = arguments.iter().any(|a| a == "--plot");
    let only = arguments.iter().find(|a| !a.starts_with("--")).cloned().unwrap_or_default();
    let mut rows = Vec::new();
    let cores = std::thread::available_parallelism()?.get();
    let mut criterion = Criterion::default()
        .without_plots()
        .sample_size(SAMPLES)
        .warm_up_time(Duration::from_millis(50))
        .measurement_time(Duration::from_secs_f64(SECONDS));
    for (name, a) in matrices(&only)? {
        for threads in [1, cores] {
            let mut run = Run { name, threads, dot: 0.0, criterion: &mut criterion, rows: &mut rows };
            run.dot = run.yardstick();
            run.precision(Cpu::new(), "f64", &a);
            run.precision(Cpu::mixed(), "f32/f64", &a);
            run.precision(Cpu::single(), "f32", &a);
        }
    }
    print(&rows);
    if plot {
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/spmv.svg"), roofline::svg(&rows))?;
    }
    Ok(())
}

/// Gallery matrices with 1x1 and 3x3 blocks, and random values in 6x6, 3x6 and 6x3 blocks on the pattern of
/// an elastic cube.
fn matrices(only: &str) -> Result<Vec<(&'static str, Bsr<f64>)>, Box<dyn std::error::Error>> {
    let mut list = Vec::new();
    for name in ["cloth:601", "poisson2d:1000", "poisson3d:100", "elasticity3d:40"] {
        if name.contains(only) {
            list.push((name, Problem::parse(name, &Options::default())?.matrix));
        }
    }
    for (name, block) in [("blocks 6x6", (6, 6)), ("blocks 3x6", (3, 6)), ("blocks 6x3", (6, 3))] {
        if name.contains(only) {
            let pattern = Problem::parse("elasticity3d:31", &Options::default())?.matrix.pattern().clone();
            let values = (0..pattern.len() * block.0 * block.1).map(|k| (k % 17) as f64 - 8.0).collect();
            list.push((name, Bsr::new(pattern, block, values)?));
        }
    }
    Ok(list)
}

/// Prints the table.
fn print(rows: &[Row]) {
    println!(
        "{:16} {:15} {:9} {:>7} {:>8} {:>7} {:>6} {:>9}",
        "matrix", "kernel", "precision", "threads", "ms", "MB", "GB/s", "of dot"
    );
    for row in rows {
        println!(
            "{:16} {:15} {:9} {:7} {:8.3} {:7.1} {:6.1} {:7.0} %",
            row.name,
            row.kernel,
            row.precision,
            row.threads,
            row.seconds * 1e3,
            row.bytes as f64 * 1e-6,
            row.gigabytes(),
            100.0 * row.gigabytes() / row.yardstick
        );
    }
}

/// The kernels of one matrix on a number of threads.
struct Run<'a> {
    name: &'a str,
    threads: usize,
    dot: f64,
    criterion: &'a mut Criterion,
    rows: &'a mut Vec<Row>,
}

impl Run<'_> {
    /// The minimum time of a call in seconds, over the samples of criterion, which prints and stores their
    /// statistics.
    fn least(&mut self, id: &str, mut call: impl FnMut() + Send) -> f64 {
        let (mut least, threads) = (f64::INFINITY, self.threads);
        let sample = |calls: u64| {
            let timed = || {
                let start = Instant::now();
                (0..calls).for_each(|_| call());
                start.elapsed()
            };
            let time = parallel::threads(threads, timed).expect("threads start");
            least = least.min(time.as_secs_f64() / calls as f64);
            time
        };
        let mut sample = sample;
        let id = format!("{} {id}, {threads} threads", self.name);
        self.criterion.bench_function(&id, |b: &mut Bencher<'_>| b.iter_custom(&mut sample));
        least
    }

    /// The bandwidth of an inner product in GB/s.
    fn yardstick(&mut self) -> f64 {
        let (x, y) = (vec![1.0; LARGE], vec![0.5; LARGE]);
        let seconds = self.least("yardstick", || {
            black_box(black_box(&x).dot(&y));
        });
        LARGE as f64 * 16e-9 / seconds
    }

    /// Measures all kernels for vectors in `V` and a matrix stored in `S`.
    fn precision<V: Real, S: Real>(&mut self, backend: Cpu<V, S>, precision: &'static str, host: &Bsr<f64>) {
        let a = backend.matrix(host).expect("values fit");
        let (m, n) = host.shape();
        let matrix = host.to::<S>().bytes();
        let (x, mut y) = (vec![V::one(); n], vec![V::zero(); m]);
        let mut row = |kernel: &'static str, bytes, call: &mut (dyn FnMut() + Send)| {
            let seconds = self.least(&format!("{kernel}, {precision}"), call);
            let (name, threads, yardstick) = (self.name.to_owned(), self.threads, self.dot);
            self.rows.push(Row { name, kernel, precision, threads, seconds, bytes, yardstick });
        };
        let word = size_of::<V>();
        row("A x", matrix + word * (m + n), &mut || a.apply(black_box(&x), &mut y));
        if m != n || host.values()[0] == -8.0 {
            return; // random values: only products
        }
        let b = vec![V::one(); n];
        row("b - A x", matrix + word * 3 * n, &mut || a.residual(&b, black_box(&x), &mut y));
        row("A x, x.Ax", matrix + word * 2 * n, &mut || {
            black_box(a.apply_dot(black_box(&x), &mut y));
        });
        let inverses = DenseBlocks::inverse_diagonal(host, "bench").expect("gallery matrices are definite");
        let d = backend.blocks(&inverses).expect("values fit");
        let blocks = inverses.values().len() * size_of::<S>();
        row("D r", blocks + word * 2 * n, &mut || {
            Cpu::<V, S>::apply_blocks(&d, V::one(), black_box(&x), V::zero(), &mut y)
        });
        let (omega, mut step) = (V::from_f64(0.3), vec![V::zero(); n]);
        row("Jacobi", matrix + blocks + word * 4 * n, &mut || {
            a.relax_into(&d, omega, V::zero(), &b, black_box(&x), &mut step, &mut y);
        });
        let order = backend.relaxation_order(host.pattern());
        row("Gauss-Seidel", matrix + blocks + word * 3 * n, &mut || {
            a.relax(&order, SweepDirection::Forward, &d, V::one(), &b, &mut y);
        });
        let mut ic0 = Ic0::default().build(host, &backend).expect("gallery matrices are definite");
        row("IC(0)", matrix + blocks + word * 4 * n, &mut || ic0.apply(black_box(&b), &mut y));
    }
}
