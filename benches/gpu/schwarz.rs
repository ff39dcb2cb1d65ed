//! What does multilevel additive Schwarz cost on a device, beside the host in the same run?
//!
//! ```text
//! cargo bench -p coarsen-opencl --bench device_schwarz -- cloth:512 garment:FILE@2
//! ```
//!
//! For every problem and both precisions: milliseconds of a build, an update, an application (with the bandwidth at which it reads the inverses), a
//! product, and an iteration of conjugate gradients that looks every tenth one. `opencl` has numbers of the host, `opencl here` computes them from a
//! matrix that lives on the device, `opencl all` also chooses order, domains and levels there (its build is structure and numbers, and nothing
//! travels). Times are the least of several.

use std::time::Instant;

use coarsen_backend::{Backend, Cpu, Setup, UpdateExt};
use coarsen_core::{LinearOperator, Preconditioner, Real, Stop, Vector};
use coarsen_krylov::{Cg, Krylov};
use coarsen_opencl::{By, DeviceSchwarz, OpenCl};
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
        "{:<24} {:<12} {:<4} {:>9} {:>9} {:>9} {:>7} {:>9} {:>12} {:>10}",
        "problem", "place", "", "build", "update", "apply", "GB/s", "product", "an iteration", "iterations"
    );
    for name in names {
        let p = Problem::parse(&name, &Options::default())?;
        on_host(&p, &Cpu::new())?;
        on_device(&p, &double)?;
        on_host(&p, &Cpu::single())?;
        on_device(&p, &single)?;
    }
    Ok(())
}

fn recipe() -> Schwarz {
    Schwarz { coarse: Coarse::Domains, ..Schwarz::multilevel() }
}

/// Numbers of the host, at any place.
fn on_host<B: Place>(p: &Problem, on: &B) -> Outcome {
    let recipe = recipe();
    let mut m = recipe.build(p.system(), on)?;
    let build = least(3, || recipe.build(p.system(), on).map(drop))?;
    let update = least(3, || m.update(p.system()).map(drop))?;
    let values = m.plan().values();
    row(p, on, on.name(), [build, update], values, &mut m)
}

/// Numbers of the host, numbers of the device, and structure of the device too.
fn on_device<T: Real>(p: &Problem, on: &OpenCl<T>) -> Outcome {
    on_host(p, on)?;
    let a = on.matrix(&p.matrix)?;
    let flat: Vec<T> = p.positions.iter().flatten().map(|&c| T::of(c)).collect();
    let positions = on.vector(&flat)?;
    for (structure, place) in [(By::Host, "opencl here"), (By::Device, "opencl all")] {
        let recipe = DeviceSchwarz { recipe: recipe(), structure };
        let mut m = recipe.build(p.system(), on)?;
        let build = match structure {
            By::Host => least(3, || recipe.build(p.system(), on).and_then(|_| Ok(on.sync()?)))?,
            By::Device => least(3, || m.restructure_here(&a, &positions).and_then(|()| on.sync()))?,
        };
        let update = least(3, || m.update_here(&a).and_then(|()| on.sync()))?;
        let values = m.values();
        row(p, on, place, [build, update], values, &mut m)?;
    }
    Ok(())
}

fn row<B: Place>(
    p: &Problem,
    on: &B,
    place: &str,
    [build, update]: [f64; 2],
    values: usize,
    m: &mut dyn Preconditioner<B::Vector>,
) -> Outcome {
    let n = p.matrix.shape().0;
    let a = on.matrix(&p.matrix)?;
    let b: Vec<B::Real> = p.right_hand_side(1).into_iter().map(B::Real::of).collect();
    let r = on.vector(&b)?;
    let mut z = r.like()?;
    let apply = least(10, || {
        (0..BATCH).for_each(|_| m.apply(&r, &mut z));
        z.sync()
    })? / BATCH as f64;
    let product = least(10, || {
        (0..BATCH).for_each(|_| a.apply(&r, &mut z));
        z.sync()
    })? / BATCH as f64;
    let stop = Stop { look_every: 10, max_iterations: 2000, ..Stop::relative(B::Real::of(1e-4)) };
    let (mut x, mut cg, mut iterations) = (r.like()?, Cg::new(stop), 0);
    let solve = least(2, || {
        x.fill(B::Real::of(0.0));
        iterations = cg.solve(&a, m, &r, &mut x)?.iterations;
        z.sync()
    })?;
    println!(
        "{:<24} {place:<12} {:<4} {:>9.2} {:>9.2} {:>9.3} {:>7.1} {:>9.3} {:>12.3} {iterations:>10}",
        format!("{} ({n})", p.name.split(['/', ' ']).next_back().unwrap_or("")),
        B::Real::NAME,
        1e3 * build,
        1e3 * update,
        1e3 * apply,
        4.0 * values as f64 / apply / 1e9,
        1e3 * product,
        1e3 * solve / iterations.max(1) as f64
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
