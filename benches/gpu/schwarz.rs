//! What does multilevel additive Schwarz cost on a device, beside the host in the same run?
//!
//! ```text
//! cargo bench -p coarsen-opencl --bench device_schwarz -- cloth:512 garment:FILE@2
//! ```
//!
//! For every problem and both precisions: seconds of a build, an update and an application, and the bandwidth at which an application reads the
//! inverses. Times are the least of several.

use std::time::Instant;

use coarsen_backend::{Backend, Cpu, Setup, UpdateExt};
use coarsen_core::{Preconditioner, Real, Vector};
use coarsen_opencl::OpenCl;
use coarsen_problems::{Options, Problem};
use coarsen_schwarz::{Coarse, Place, Schwarz};

type Outcome = Result<(), Box<dyn std::error::Error + Send + Sync>>;

/// Applications between two looks at the clock.
const BATCH: usize = 10;

fn main() -> Outcome {
    let mut names: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    if names.is_empty() {
        names.push("cloth:200".into());
    }
    let (double, single) = match (OpenCl::<f64>::default_device(), OpenCl::<f32>::default_device()) {
        (Ok(double), Ok(single)) => (double, single),
        (_, Err(why)) | (Err(why), _) => {
            println!("skipped: {why}");
            return Ok(());
        }
    };
    println!("{}", double.device());
    println!(
        "{:<24} {:<8} {:<4} {:>10} {:>10} {:>10} {:>8}",
        "problem", "place", "", "build ms", "update ms", "apply ms", "GB/s"
    );
    for name in names {
        let p = Problem::parse(&name, &Options::default())?;
        row(&p, &Cpu::new())?;
        row(&p, &double)?;
        row(&p, &Cpu::single())?;
        row(&p, &single)?;
    }
    Ok(())
}

fn row<B: Place>(p: &Problem, on: &B) -> Outcome {
    let recipe = Schwarz { coarse: Coarse::Domains, ..Schwarz::multilevel() };
    let n = p.matrix.shape().0;
    let mut m = recipe.build(p.system(), on)?;
    let build = least(3, || recipe.build(p.system(), on).map(drop))?;
    let update = least(3, || m.update(p.system()).map(drop))?;
    let r = on.vector(&(0..n).map(|i| B::Real::of((i as f64).sin())).collect::<Vec<_>>())?;
    let mut z = r.like()?;
    let apply = least(10, || {
        (0..BATCH).for_each(|_| m.apply(&r, &mut z));
        z.sync()
    })? / BATCH as f64;
    let bytes = 4 * m.plan().values();
    println!(
        "{:<24} {:<8} {:<4} {:>10.2} {:>10.2} {:>10.3} {:>8.1}",
        p.name,
        on.name(),
        B::Real::NAME,
        1e3 * build,
        1e3 * update,
        1e3 * apply,
        bytes as f64 / apply / 1e9
    );
    Ok(())
}

/// The least seconds of some runs.
fn least<E>(runs: usize, mut run: impl FnMut() -> Result<(), E>) -> Result<f64, E> {
    let mut best = f64::INFINITY;
    for _ in 0..runs {
        let begun = Instant::now();
        run()?;
        best = best.min(begun.elapsed().as_secs_f64());
    }
    Ok(best)
}
