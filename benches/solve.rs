//! How long does it take to solve a problem of the gallery, including setup?
//!
//! ```text
//! cargo bench -p coarsen-benches --bench solve -- cloth:317@0.01 poisson3d:100           # these problems, with the recorded parameters
//! cargo bench -p coarsen-benches --bench solve -- cloth:201 --smoother gs --modes constants --levels
//! ```
//!
//! A problem is NAME:SIZE, with @DT for the time step in seconds and ^JUMP for the stiffness contrast of
//! `elasticity3d`. Each run builds smoothed aggregation and solves by conjugate gradients in f64 to a true
//! relative residual of 1e-8. The hierarchy is computed in f64 and stored in f32; `--double` stores it in
//! f64, and `--single` computes it in f32. `--rounded` computes both the hierarchy and the products with A in
//! f32; residuals are recomputed with A in f64.
//!
//! `--columns 8` instead solves for eight right-hand sides, with the hierarchy in f32: seconds of the setup, of one
//! solve, and of all by `Cg` one after the other, by `BlockCg` with shared and with separate search directions, and the
//! ratio of the last to one solve. `--columns` excludes `--single`, `--double` and `--rounded`.
//!
//! The columns are the median seconds of setup, update and solve, and the iterations and MiB of the last run.
//! An update keeps the transfers; it is not timed with `--rounded`. Update plus solve is a step of a sequence. The last column is setup
//! plus solve time, divided by the time of one product y = A x on one thread. This ratio depends less on the
//! speed of the machine.

use coarsen::smoothed_aggregation::smoothed_aggregation;
use std::num::NonZeroUsize;
use std::time::Instant;

use coarsen::backend::{Backend, Cpu, Setup, SetupError, Update};
use coarsen::krylov::{BlockCg, Cg};
use coarsen::multigrid::{Cycle, Multigrid, Smoothing};
use coarsen::problems::{Options, Problem};
use coarsen::relax::{Chebyshev, DampedJacobi, GaussSeidel, Spai0};
use coarsen::smoothed_aggregation::{Modes, SmoothedAggregation, Spread};
use coarsen::sparse::{Strength, System};
use coarsen::{Error, F32Preconditioner, LinearOperator, MixedPrecision, Preconditioner, Stop, parallel};

/// With products in f32, the residual is recomputed when ‖r‖ has decreased by this factor.
const REPLACE: f64 = 1e-2;

/// What an option changes.
type Change = Box<dyn Fn(&mut Multigrid<SmoothedAggregation>) + Sync>;

/// The command-line settings.
struct Settings {
    problems: Vec<String>,
    threads: Vec<usize>,
    runs: usize,
    levels: bool,
    double: bool,
    /// Computes the hierarchy in f32.
    single: bool,
    /// Computes the hierarchy in f32, and products with A in f32.
    rounded: bool,
    change: Vec<Change>,
    /// The number of right-hand sides, if several are measured.
    columns: Option<NonZeroUsize>,
}

/// The problems that run by default.
const PROBLEMS: [&str; 14] = [
    "poisson2d:1000",
    "poisson3d:100",
    "jump3d:80",
    "anisotropic2d:700",
    "elasticity3d:40",
    "elasticity3d:40^1e4",
    "cloth:101",
    "cloth:101@0.01",
    "cloth:201",
    "cloth:201@0.01",
    "cloth:317",
    "cloth:317@0.01",
    "cloth:601",
    "cloth:601@0.01",
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let settings = settings()?;
    if settings.columns.is_some() {
        println!(
            "{:<22} {:>7} {:>9} {:>9} {:>9} {:>9} {:>9} {:>7}",
            "problem", "threads", "setup s", "one s", "each s", "shared s", "separate", "ratio"
        );
    } else {
        println!(
            "{:<22} {:>7} {:>9} {:>9} {:>9} {:>9} {:>5} {:>8} {:>9}",
            "problem", "threads", "setup s", "update s", "solve s", "total s", "its", "MiB", "products"
        );
    }
    for spec in &settings.problems {
        let (problem, options) = parse(spec)?;
        let problem = Problem::parse(problem, &options)?;
        let unit = product(&problem);
        for &threads in &settings.threads {
            parallel::threads(threads, || {
                if let Some(columns) = settings.columns {
                    several(spec, &problem, &settings, columns, threads)
                } else if settings.double {
                    measure(spec, &problem, &settings, threads, unit, &Cpu::new())
                } else {
                    measure(spec, &problem, &settings, threads, unit, &Cpu::mixed())
                }
            })?
            .map_err(|error| error as Box<dyn std::error::Error>)?;
        }
    }
    Ok(())
}

/// Builds and solves `settings.runs` times, and prints one row.
fn measure<B: Backend<Real = f64, Vector = Vec<f64>>>(
    name: &str,
    problem: &Problem,
    settings: &Settings,
    threads: usize,
    unit: f64,
    backend: &B,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let (a, b) = (&problem.matrix, problem.right_hand_side(1));
    let system =
        System { positions: Some(&problem.positions), near_kernel: Some(&problem.near_kernel), ..a.into() };
    let mut parameters = smoothed_aggregation();
    settings.change.iter().for_each(|change| change(&mut parameters));
    let (mut setup, mut solve, mut update) = (vec![], vec![], vec![]);
    let (mut iterations, mut table, mut bytes) = (0, String::new(), 0);
    for _ in 0..settings.runs {
        let start = Instant::now();
        let mut x = vec![0.0; b.len()];
        let mut solve_with = |a: &dyn LinearOperator<Vec<f64>>, m: &mut dyn Preconditioner<Vec<f64>>| {
            setup.push(start.elapsed().as_secs_f64());
            let mut cg = Cg::new(Stop::relative(1e-8));
            cg.replace_residual = settings.rounded.then_some(REPLACE);
            let report = cg.solve(a, m, &b, &mut x)?.converged()?;
            solve.push(start.elapsed().as_secs_f64() - setup[setup.len() - 1]);
            Ok::<_, Error>(report.iterations)
        };
        if settings.rounded {
            let single = a.to::<f32>(); // for the hierarchy and the products
            let System { positions, near_kernel, .. } = system;
            let rounded = System { positions, near_kernel, ..System::from(&single) };
            let m = parameters.build_from(rounded, &Cpu::single())?;
            (table, bytes) = (m.to_string(), m.bytes() + size_of_val(single.values()));
            let mut m = F32Preconditioner::new(m, b.len())?;
            iterations = solve_with(&MixedPrecision::new::<Vec<f64>>(a, &single)?, &mut m)?;
        } else if settings.single {
            let mut m = parameters.build_f32(system)?;
            (table, bytes) = (m.get().to_string(), m.get().bytes());
            iterations = solve_with(a, &mut m)?;
            update.push(seconds_of_update(&mut m, system)?);
        } else {
            let mut m = parameters.build_from(system, backend)?;
            iterations = solve_with(a, &mut m)?;
            (table, bytes) = (m.to_string(), m.bytes());
            update.push(seconds_of_update(&mut m, system)?);
        }
    }
    let (setup, solve) = (median(setup), median(solve));
    let update = if update.is_empty() { f64::NAN } else { median(update) };
    let mib = bytes as f64 / f64::from(1 << 20);
    println!(
        "{name:<22} {threads:>7} {setup:>9.4} {update:>9.4} {solve:>9.4} {:>9.4} {iterations:>5} {mib:>8.1} {:>9.0}",
        setup + solve,
        (setup + solve) / unit
    );
    if settings.levels {
        println!("{table}");
    }
    Ok(())
}

/// The seconds of the second update; the first one allocates.
fn seconds_of_update(m: &mut impl Update<f64>, system: System<'_, f64>) -> Result<f64, SetupError> {
    m.update_from(system)?;
    let start = Instant::now();
    m.update_from(system)?;
    Ok(start.elapsed().as_secs_f64())
}

/// Solves for several right-hand sides, and prints one row.
fn several(
    name: &str,
    problem: &Problem,
    settings: &Settings,
    columns: NonZeroUsize,
    threads: usize,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let (a, near_kernel) = (&problem.matrix, Some(&problem.near_kernel));
    let b: Vec<_> = (0..columns.get() as u64).map(|j| problem.right_hand_side(j + 1)).collect();
    let mut x = vec![vec![0.0; a.shape().0]; b.len()];
    let mut parameters = smoothed_aggregation();
    settings.change.iter().for_each(|change| change(&mut parameters));
    let start = Instant::now();
    let mut m =
        parameters.build_f32(System { positions: Some(&problem.positions), near_kernel, ..a.into() })?;
    let setup = start.elapsed().as_secs_f64();
    let mut cg = Cg::new(Stop::relative(1e-8));
    let mut blocks = [true, false].map(|shared| {
        let mut method = BlockCg::new(Stop::relative(1e-8));
        method.shared = shared;
        method
    });
    let mut seconds = [const { Vec::new() }; 4];
    for run in 0..=settings.runs {
        for (kind, seconds) in seconds.iter_mut().enumerate() {
            x.iter_mut().for_each(|x| x.fill(0.0));
            let start = Instant::now();
            match kind {
                0 => drop(cg.solve(a, &mut m, &b[0], &mut x[0])?.converged()?),
                1 => {
                    for (b, x) in b.iter().zip(&mut x) {
                        cg.solve(a, &mut m, b, x)?.converged()?;
                    }
                }
                _ => blocks[kind - 2]
                    .solve(a, &mut m, &b, &mut x)?
                    .into_iter()
                    .try_for_each(|report| report.converged().map(drop))?,
            }
            if run > 0 {
                seconds.push(start.elapsed().as_secs_f64()); // the first run allocates
            }
        }
    }
    let [one, each, shared, separate] = seconds.map(median);
    println!(
        "{name:<22} {threads:>7} {setup:>9.4} {one:>9.4} {each:>9.4} {shared:>9.4} {separate:>9.4} {:>7.2}",
        separate / one
    );
    Ok(())
}

/// The time of one product on one thread, in seconds.
fn product(problem: &Problem) -> f64 {
    let x = problem.right_hand_side(1);
    let mut y = x.clone();
    let once = |_| {
        let start = Instant::now();
        problem.matrix.apply(&x, &mut y);
        start.elapsed().as_secs_f64()
    };
    parallel::threads(1, || median((0..9).map(once).collect())).unwrap_or(f64::NAN)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Parses NAME:SIZE with optional @DT and ^JUMP.
fn parse(spec: &str) -> Result<(&str, Options), Box<dyn std::error::Error>> {
    let mut options = Options::default();
    let mut name = spec;
    if let Some((before, dt)) = name.split_once('@') {
        (name, options.dt) = (before, Some(dt.parse()?));
    }
    if let Some((before, jump)) = name.split_once('^') {
        (name, options.jump) = (before, Some(jump.parse()?));
    }
    Ok((name, options))
}

fn settings() -> Result<Settings, Box<dyn std::error::Error>> {
    let mut settings = Settings {
        problems: vec![],
        threads: vec![2],
        runs: 3,
        levels: false,
        double: false,
        single: false,
        rounded: false,
        change: vec![],
        columns: None,
    };
    let mut arguments = std::env::args().skip(1).filter(|a| a != "--bench");
    while let Some(argument) = arguments.next() {
        if !argument.starts_with("--") {
            settings.problems.push(argument);
            continue;
        }
        if ["--levels", "--double", "--single", "--rounded"].contains(&&*argument) {
            settings.single |= argument == "--single";
            settings.rounded |= argument == "--rounded";
            settings.levels |= argument == "--levels";
            settings.double |= argument == "--double";
            continue;
        }
        let value = arguments.next().ok_or_else(|| format!("{argument} requires a value"))?;
        let number = value.parse::<f64>();
        let change: Change = match (argument.as_str(), value.as_str()) {
            ("--threads", _) => {
                settings.threads = value.split(',').map(str::parse).collect::<Result<_, _>>()?;
                continue;
            }
            ("--runs", _) => {
                settings.runs = value.parse::<NonZeroUsize>()?.get();
                continue;
            }
            ("--columns", _) => {
                settings.columns = Some(value.parse()?);
                continue;
            }
            ("--smoother", "gs") => {
                Box::new(|m| m.smoothing = Smoothing::GaussSeidel(GaussSeidel::default()))
            }
            ("--smoother", "damped") => {
                Box::new(|m| m.smoothing = Smoothing::DampedJacobi(DampedJacobi::default()))
            }
            ("--smoother", "spai0") => Box::new(|m| m.smoothing = Smoothing::Spai0(Spai0::default())),
            ("--smoother", degree) => {
                let degree: usize = degree.parse()?;
                Box::new(move |m| {
                    m.smoothing =
                        Smoothing::Chebyshev(Chebyshev { degree, ratio: 10.0, ..Default::default() });
                })
            }
            ("--ratio", _) => {
                let ratio = number?;
                Box::new(move |m| {
                    if let Smoothing::Chebyshev(c) = &mut m.smoothing {
                        c.ratio = ratio;
                    }
                })
            }
            ("--modes", "constants") => Box::new(|m| m.coarsening.modes = Modes::Constants),
            ("--rotations", _) => {
                let nodes: usize = value.parse()?;
                Box::new(move |m| m.coarsening.rotations_from = nodes)
            }
            ("--spread", "1") => Box::new(|m| m.coarsening.spread = Spread::Neighbours),
            ("--spread", "2") => Box::new(|m| m.coarsening.spread = Spread::Second),
            ("--cycle", "w") => Box::new(|m| m.cycle = Cycle::W),
            ("--theta", _) => {
                let theta = number?;
                Box::new(move |m| m.coarsening.strength = Strength::SpectralRadius { theta })
            }
            ("--prune", _) => {
                let prune = number?;
                Box::new(move |m| m.coarsening.prune = prune)
            }
            ("--filter", "no") => Box::new(|m| m.coarsening.filter = false),
            ("--symmetric", _) => {
                let theta = number?;
                Box::new(move |m| m.coarsening.strength = Strength::Symmetric { theta })
            }
            ("--omega", _) => {
                let omega = number?;
                Box::new(move |m| m.coarsening.omega = omega)
            }
            ("--lanczos", _) => {
                let steps: usize = value.parse()?;
                Box::new(move |m| m.coarsening.lanczos_steps = steps)
            }
            ("--coarse-size", _) => {
                let size: usize = value.parse()?;
                Box::new(move |m| m.coarse_size = size)
            }
            ("--sweeps", _) => {
                let sweeps: usize = value.parse()?;
                Box::new(move |m| m.coarsening.kernel_sweeps = sweeps)
            }
            _ => return Err(format!("there is no option {argument} {value}").into()),
        };
        settings.change.push(change);
    }
    if settings.problems.is_empty() {
        settings.problems = PROBLEMS.map(str::to_owned).to_vec();
    }
    if settings.columns.is_some() && (settings.single || settings.double || settings.rounded) {
        return Err("--columns excludes --single, --double and --rounded".into());
    }
    Ok(settings)
}
