//! Does the matrix-vector product reach memory bandwidth?
//!
//! A product does two operations on 8 to 12 bytes of matrix, so memory decides. The yardstick is a read-only inner product
//! measured in the same run: over two vectors that together take as many bytes as the product moves, so that caches help both
//! alike, and once over 128 MiB, which no cache holds. A product counts the matrix once, x once and y once; it may exceed its
//! yardstick a little where part of the matrix stays in a cache from one call to the next.
//!
//! ```text
//! cargo bench --bench spmv
//! ```
//!
//! *Output* criterion's statistics, then a table of the fastest time of each case: ms, GB/s, and the fraction of the yardstick.

use std::hint::black_box;
use std::time::{Duration, Instant};

use coarsen_core::{LinearOperator, Vector, parallel};
use coarsen_problems::{Options, Problem};
use criterion::{BenchmarkId, Criterion, Throughput};

/// 3x3 blocks, and single entries in a matrix of seven diagonals.
const PROBLEMS: [&str; 2] = ["cloth:201", "poisson3d:64"];

/// Bytes that no cache holds.
const LARGE: usize = 128 << 20;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let problems = PROBLEMS
        .iter()
        .map(|spec| Problem::parse(spec, &Options::default()))
        .collect::<Result<Vec<_>, _>>()?;
    parallel::threads(0, || {
        let mut criterion = Criterion::default()
            .sample_size(20)
            .warm_up_time(Duration::from_millis(500))
            .measurement_time(Duration::from_secs(2))
            .configure_from_args();
        let mut rows = vec![("dot, 128 MiB".to_owned(), dot(&mut criterion, "memory", LARGE), None)];
        for p in &problems {
            let (m, n) = p.matrix.shape();
            let bytes = p.matrix.bytes() + 8 * (m + n);
            let yardstick = dot(&mut criterion, &p.name, bytes);
            let x = p.right_hand_side(1);
            let mut y = vec![0.0; m];
            let rate = fastest(&mut criterion, "spmv", &p.name, bytes, || {
                p.matrix.apply(black_box(&x), &mut y);
            });
            rows.push((p.name.clone(), rate, yardstick));
        }
        print(&rows);
        criterion.final_summary();
    })?;
    Ok(())
}

/// Seconds and bytes of the fastest call.
#[derive(Clone, Copy)]
struct Rate {
    seconds: f64,
    bytes: usize,
}

impl Rate {
    fn gigabytes_per_second(self) -> f64 {
        self.bytes as f64 / self.seconds * 1e-9
    }
}

/// x · y over two vectors that together take `bytes`.
fn dot(criterion: &mut Criterion, name: &str, bytes: usize) -> Option<Rate> {
    let x = vec![1.0; bytes / 16];
    let y = vec![0.5; bytes / 16];
    fastest(criterion, "dot", name, bytes, || {
        black_box(black_box(&x).dot(&y));
    })
}

/// Hands `call` to criterion and keeps the least mean time of its batches; `None` where the command line filters it out.
fn fastest(
    criterion: &mut Criterion,
    group: &str,
    name: &str,
    bytes: usize,
    mut call: impl FnMut(),
) -> Option<Rate> {
    let mut seconds = f64::INFINITY;
    let mut group = criterion.benchmark_group(group);
    group.throughput(Throughput::Bytes(bytes as u64));
    group.bench_function(BenchmarkId::from_parameter(name), |bencher| {
        bencher.iter_custom(|calls| {
            let start = Instant::now();
            (0..calls).for_each(|_| call());
            let time = start.elapsed();
            seconds = seconds.min(time.as_secs_f64() / calls as f64);
            time
        });
    });
    group.finish();
    seconds.is_finite().then_some(Rate { seconds, bytes })
}

/// A line for each rate with its yardstick.
fn print(rows: &[(String, Option<Rate>, Option<Rate>)]) {
    println!("{:24} {:>9} {:>8} {:>8} {:>12}", "", "ms", "MB", "GB/s", "of its dot");
    for (name, rate, yardstick) in rows {
        let Some(rate) = rate else { continue };
        let (ms, mb) = (rate.seconds * 1e3, rate.bytes as f64 * 1e-6);
        print!("{name:24} {ms:9.3} {mb:8.1} {:8.2}", rate.gigabytes_per_second());
        match yardstick {
            Some(dot) => {
                println!(" {:10.0} %", 100.0 * rate.gigabytes_per_second() / dot.gigabytes_per_second());
            }
            None => println!(" {:>12}", "-"),
        }
    }
}
