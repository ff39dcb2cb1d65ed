//! How close are the kernels of a step to what the machine can do?
//!
//! ```text
//! cargo bench -p coarsen-benches --bench hot_kernels -- [SCENE] [PARTICLES]    # with --features opencl also a device
//! ```
//!
//! | table | kernels | beside |
//! |---|---|---|
//! | transfers | particles to nodes and back | Taichi: `benches/peers/taichi_mpm.py` |
//! | assembly | blocks of the Hessian, gathered by rows | scattered by particles; the peak of multiply-adds |
//! | sweeps | products with the Hessian and Gauss-Seidel | read bandwidth |
//! | parts | the parts of a step of HOT | the same on a device |
//!
//! One and two threads, and all cores for the parts, the fastest of several runs; the scene is the stretched box with 110,000 particles unless
//! another is named. Bytes of a kernel are those of its matrix and of its vectors, each counted once per pass.
//!
//! | file | what |
//! |---|---|
//! | `machine` | the peak of multiply-adds, and read bandwidth |
//! | `transfers`, `assembly`, `sweeps`, `parts` | the tables |
//! | `scatter` | a Hessian that particles add their blocks to |

mod assembly;
mod machine;
mod parts;
mod scatter;
#[path = "../stage.rs"]
mod stage;
mod sweeps;
mod transfers;

use std::time::Instant;

use coarsen_core::parallel;

use stage::Stage;

/// The result of a benchmark, which ends at the first error.
type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// The numbers of threads.
const THREADS: [usize; 2] = [1, 2];

/// The seconds that a kernel is repeated.
const SECONDS: f64 = 0.4;

/// The seconds of the fastest call, after one that is not counted.
fn fastest(mut call: impl FnMut()) -> f64 {
    call();
    let (start, mut least) = (Instant::now(), f64::INFINITY);
    while start.elapsed().as_secs_f64() < SECONDS {
        let begun = Instant::now();
        call();
        least = least.min(begun.elapsed().as_secs_f64());
    }
    least
}

/// The same on one and on two threads.
fn on_threads(call: impl Fn(usize) -> f64 + Send + Sync) -> Outcome<[f64; 2]> {
    let [one, two] = THREADS.map(|threads| parallel::threads(threads, || call(threads)));
    Ok([one?, two?])
}

fn main() -> Outcome<()> {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let scene = words.first().map_or("stretched", String::as_str);
    let particles = words.get(1).map_or(Ok(110_000), |word| word.parse())?;
    let stage = Stage::new(scene, Some(particles))?;
    println!("{scene}, {} particles, spacing {} m", stage.state.particles.len(), stage.dx);
    let peak = on_threads(machine::multiply_adds)?;
    let bandwidth = on_threads(|_| machine::bandwidth())?;
    println!(
        "peak {:.1}, {:.1} GFLOP/s; reading {:.1}, {:.1} GB/s",
        peak[0], peak[1], bandwidth[0], bandwidth[1]
    );
    transfers::run(&stage)?;
    assembly::run(&stage, peak)?;
    sweeps::run(&stage, bandwidth)?;
    parts::run(&stage)
}
