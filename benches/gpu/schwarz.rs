//! What does multilevel additive Schwarz cost on a device, compared with the host in the same run?
//!
//! ```text
//! cargo bench -p coarsen-opencl --bench device_schwarz -- cloth:512 garment:FILE@2
//! ```
//!
//! Prints, for every problem and both precisions, the milliseconds of a build, an update, an application, a
//! product, and an iteration of conjugate gradients; convergence is checked in every tenth iteration. The
//! bandwidth of applications and products is also given relative to that of reading two vectors of 16 Mi
//! entries on the same backend, and relative to the theoretical peak if COARSEN_PEAK gives it in GB/s. The
//! bytes of an application are those of the inverses and two vectors, those of a product the matrix and two
//! vectors. `opencl` computes the inverses on the host. `opencl here` computes them from a matrix on the
//! device. `opencl all` also chooses order, domains and levels on the device (its build is structure and
//! inverses, without transfers). Times are the minimum of several runs. `--no-cpu` skips the host, `--small`
//! reads shorter vectors, and `--export FOLDER` writes the first matrix in the format of `other.py`.

use std::path::{Path, PathBuf};
use std::time::Instant;

use coarsen_backend::{Backend, Cpu};
use coarsen_core::{LinearOperator, Preconditioner, Real, Stop, Vector};
use coarsen_krylov::Cg;
use coarsen_opencl::{DeviceSchwarz, OpenCl, StructureSource, default_device};
use coarsen_problems::{Options, Problem};
use coarsen_schwarz::{Coarse, Schwarz, SchwarzBackend};

type Outcome = Result<(), Box<dyn std::error::Error + Send + Sync>>;

/// The number of applications between two readings of the clock.
const BATCH: usize = 10;

/// The number of entries of the vectors whose inner product is the reference.
const READ: usize = 16 << 20;

/// The command-line arguments.
#[derive(Default)]
struct Arguments {
    problems: Vec<String>,
    export: Option<PathBuf>,
    no_cpu: bool,
    small: bool,
}

impl Arguments {
    fn parse() -> Result<Self, String> {
        let mut found = Self::default();
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            match word.as_str() {
                "--bench" => (), // passed by cargo
                "--no-cpu" => found.no_cpu = true,
                "--small" => found.small = true,
                "--export" => found.export = Some(words.next().ok_or("--export takes a folder")?.into()),
                option if option.starts_with("--") => return Err(format!("there is no option {option}")),
                _ => found.problems.push(word),
            }
        }
        if found.problems.is_empty() {
            found.problems.push("cloth:200".into());
        }
        Ok(found)
    }
}

fn main() -> Outcome {
    let arguments = Arguments::parse()?;
    let single = match default_device::<f32>() {
        Ok(single) => single,
        Err(why) => {
            eprintln!("skipped: {why}");
            std::process::exit(5);
        }
    };
    let double = default_device::<f64>().ok();
    println!("{}\n", single.device());
    println!(
        "| problem | backend | scalar | build ms | update ms | apply ms | GB/s | of read | product ms | GB/s | of read | iteration ms | iterations |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|---|");
    for (k, name) in arguments.problems.iter().enumerate() {
        let p = Problem::parse(name, &Options::default())?;
        if let Some(folder) = arguments.export.as_ref().filter(|_| k == 0) {
            export(folder, &p)?;
        }
        if !arguments.no_cpu {
            on_host(&p, &Cpu::new(), &arguments)?;
        }
        if let Some(double) = &double {
            on_device(&p, double, &arguments)?;
        }
        if !arguments.no_cpu {
            on_host(&p, &Cpu::single(), &arguments)?;
        }
        on_device(&p, &single, &arguments)?;
    }
    Ok(())
}

/// Writes block rows, columns and values as plain numbers.
fn export(folder: &Path, p: &Problem) -> Outcome {
    let a = &p.matrix;
    let pattern = a.pattern();
    let mut offsets = vec![0_u32];
    offsets.extend((0..pattern.rows()).scan(0, |end, i| {
        *end += pattern.row(i).len() as u32;
        Some(*end)
    }));
    let columns: Vec<u8> =
        (0..pattern.rows()).flat_map(|i| pattern.row(i)).flat_map(|j| j.to_le_bytes()).collect();
    std::fs::create_dir_all(folder)?;
    std::fs::write(folder.join("block"), format!("{}\n", a.block().0))?;
    std::fs::write(
        folder.join("offsets"),
        offsets.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>(),
    )?;
    std::fs::write(folder.join("columns"), columns)?;
    std::fs::write(
        folder.join("values"),
        a.values().iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>(),
    )?;
    Ok(())
}

/// The read bandwidth of a backend in bytes per second.
fn reading<B: Backend>(backend: &B, small: bool) -> Result<f64, Box<dyn std::error::Error + Send + Sync>> {
    let n = if small { READ / 16 } else { READ };
    let ones = vec![B::Real::from_f64(1.0); n];
    let (x, y) = (backend.vector(&ones)?, backend.vector(&ones)?);
    let seconds = least(10, || {
        (0..BATCH).for_each(|_| _ = std::hint::black_box(x.dot(&y)));
        y.sync()
    })? / BATCH as f64;
    Ok((2 * n * size_of::<B::Real>()) as f64 / seconds)
}

fn parameters() -> Schwarz {
    Schwarz { coarse: Coarse::Domains, ..Schwarz::multilevel() }
}

/// Measures with inverses computed on the host, for any backend.
fn on_host<B: SchwarzBackend>(p: &Problem, backend: &B, arguments: &Arguments) -> Outcome {
    let parameters = parameters();
    let mut m = parameters.build(p.system(), backend)?;
    let build = least(3, || parameters.build(p.system(), backend).map(drop))?;
    let update = least(3, || m.update(p.system()).map(drop))?;
    let values = m.plan().values();
    row(p, backend, backend.name(), [build, update, reading(backend, arguments.small)?], values, &mut m)
}

/// Measures three variants: inverses computed on the host, on the device, and on the device together with the
/// structure.
fn on_device<T: Real>(p: &Problem, backend: &OpenCl<T>, arguments: &Arguments) -> Outcome {
    on_host(p, backend, arguments)?;
    let read = reading(backend, arguments.small)?;
    let a = backend.matrix(&p.matrix)?;
    let flat: Vec<T> = p.positions.iter().flatten().map(|&c| T::from_f64(c)).collect();
    let positions = backend.vector(&flat)?;
    for (structure, name) in [(StructureSource::Host, "opencl here"), (StructureSource::Device, "opencl all")]
    {
        let parameters = DeviceSchwarz { schwarz: parameters(), structure, ..DeviceSchwarz::default() };
        let mut m = parameters.build(p.system(), backend)?;
        let build = match structure {
            StructureSource::Device => {
                least(3, || m.restructure_on_device(&a, &positions).and_then(|()| backend.sync()))?
            }
            _ => least(3, || parameters.build(p.system(), backend).and_then(|_| Ok(backend.sync()?)))?,
        };
        let update = least(3, || m.update_on_device(&a).and_then(|()| backend.sync()))?;
        let values = match structure {
            StructureSource::Device => values(&m.nodes()?, parameters.schwarz.domain, p.matrix.block().0),
            _ => m.values(),
        };
        row(p, backend, name, [build, update, read], values, &mut m)?;
    }
    Ok(())
}

/// The number of values of the inverses if every `domain` nodes of a level form a domain; unused space is not
/// read.
fn values(nodes: &[usize], domain: usize, block: usize) -> usize {
    let of = |nodes: usize| {
        let tiles = (nodes * block).div_ceil(8);
        tiles * (tiles + 1) / 2 * 64
    };
    nodes.iter().map(|n| n / domain * of(domain) + of(n % domain)).sum()
}

fn row<B: SchwarzBackend>(
    p: &Problem,
    backend: &B,
    name: &str,
    [build, update, read]: [f64; 3],
    values: usize,
    m: &mut dyn Preconditioner<B::Vector>,
) -> Outcome {
    let n = p.matrix.shape().0;
    let a = backend.matrix(&p.matrix)?;
    let b: Vec<B::Real> = p.right_hand_side(1).into_iter().map(B::Real::from_f64).collect();
    let r = backend.vector(&b)?;
    let mut z = r.like()?;
    let apply = least(10, || {
        (0..BATCH).for_each(|_| m.apply(&r, &mut z));
        z.sync()
    })? / BATCH as f64;
    let product = least(10, || {
        (0..BATCH).for_each(|_| a.apply(&r, &mut z));
        z.sync()
    })? / BATCH as f64;
    let stop = Stop { check_every: 10, max_iterations: 2000, ..Stop::relative(B::Real::from_f64(1e-4)) };
    let (mut x, mut cg, mut iterations) = (r.like()?, Cg::new(stop), 0);
    let solve = least(2, || {
        x.fill(B::Real::from_f64(0.0));
        iterations = cg.solve(&a, m, &r, &mut x)?.iterations;
        z.sync()
    })?;
    let vectors = 2 * n * size_of::<B::Real>();
    let inverses = values * size_of::<f32>();
    let matrix = p.matrix.nnz() * size_of::<B::Stored>() + p.matrix.pattern().len() * size_of::<u32>();
    let rate = |bytes: usize, seconds: f64| {
        let rate = bytes as f64 / seconds;
        let peak = std::env::var("COARSEN_PEAK").ok().and_then(|peak| peak.parse::<f64>().ok());
        let of_peak = peak
            .filter(|_| name != "cpu")
            .map_or(String::new(), |peak| format!(" ({:.0} % of peak)", rate / peak * 1e-7));
        format!("{:.3} | {:.1} | {:.0} %{of_peak}", 1e3 * seconds, rate / 1e9, 100.0 * rate / read)
    };
    println!(
        "| {} ({n}) | {name} | {} | {:.2} | {:.2} | {} | {} | {:.3} | {iterations} |",
        p.name.split('/').next_back().unwrap_or(""),
        B::Real::NAME,
        1e3 * build,
        1e3 * update,
        rate(inverses + vectors, apply),
        rate(matrix + vectors, product),
        1e3 * solve / iterations.max(1) as f64
    );
    Ok(())
}

/// The minimum time of several runs, in seconds.
fn least<E>(runs: usize, mut run: impl FnMut() -> Result<(), E>) -> Result<f64, E> {
    let mut best = f64::INFINITY;
    for _ in 0..runs {
        let begun = Instant::now();
        run()?;
        best = best.min(begun.elapsed().as_secs_f64());
    }
    Ok(best)
}
