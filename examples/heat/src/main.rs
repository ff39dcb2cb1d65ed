//! Heat conduction, steady and transient. Copy this example to start your own.
//!
//! It shows one loop: assemble into the same pattern, `impose` prescribed values, `update` the
//! preconditioner, `solve` from the last temperature. The conductivity k(u) = k₀ / (1 + β u) changes in every
//! step, and the time step doubles every few steps, but nothing is built again. The finite elements are in
//! `fem.rs` (Thomée 2006), the bodies in `scene.rs`.
//!
//! Sample runs:
//!
//! ```text
//! cargo run --release -p heat                                   # a plate of three materials, in time
//! cargo run --release -p heat -- --steady --grid 300            # the steady state
//! cargo run --release -p heat -- --mesh spot.obj --out pictures # a surface; OBJ, PLY, MSH, MESH, NODE/ELE, VTK
//! cargo run --release -p heat --features opencl -- --backend opencl
//! ```
//!
//! Each prints the levels of the preconditioner and a table, and writes `heat.png`; transient runs also write
//! `heat.gif`. Output of the first run:
//!
//! ```text
//!   step       time         dt  iterations  residual      min      max     energy
//!      1  4.000e-4   4.000e-4            8    1.7e-9    0.000  100.000    4.997e1
//!     48  2.016e-1   1.280e-2            8    1.9e-9    0.000  100.000    1.146e3
//! ```

mod fem;
mod options;
mod scene;
#[cfg(test)]
mod tests;

use std::error::Error;
use std::fmt;
use std::process::ExitCode;

use coarsen::NotConverged;
use coarsen::backend::Matrix;
use coarsen::constraints::Dirichlet;
use coarsen::prelude::*;
use examples_render::Animation;
use examples_run::arguments::{BackendOption, parse, say};

use fem::Heat;
use options::Options;
use scene::{COLD, HOT, Scene};

/// A line of the table.
struct Row {
    step: usize,
    /// The time and the time step; `None` for the steady state.
    time: Option<[f64; 2]>,
    report: Report<f64>,
    /// The lowest and highest temperature.
    range: [f64; 2],
    /// See [`Heat::energy`].
    energy: f64,
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [time, dt] = self.time.map_or(["steady".into(), "-".into()], |t| t.map(|t| format!("{t:.3e}")));
        let Report { iterations, true_residual, .. } = self.report;
        let [min, max] = self.range.map(|u| (u * 1e3).round() / 1e3 + 0.0); // no -0.000
        write!(f, "{:>6}  {time:>9}  {dt:>9}  {iterations:>10}  {true_residual:>8.1e}", self.step)?;
        write!(f, "  {min:>7.3}  {max:>7.3}  {:>9.3e}", self.energy)
    }
}

/// A steady state that is not reached.
#[derive(Debug, thiserror::Error)]
#[error(
    "after {iterations} iterations the temperature still changes, so heat.png shows no steady state; take more --steps"
)]
struct NotSteady {
    iterations: usize,
}

/// Whether the last temperature solved the equations with its own conductivity, which it does if that is `fixed`.
fn check_steady(rows: &[Row], fixed: bool) -> Result<(), NotSteady> {
    match rows.last() {
        Some(last) if fixed || last.report.iterations == 0 => Ok(()),
        _ => Err(NotSteady { iterations: rows.len() }),
    }
}

/// What the picture of the last temperature shows.
fn caption(options: &Options, rows: &[Row], time: f64) -> String {
    match (options.steady, check_steady(rows, options.beta == 0.0)) {
        (false, _) => format!("t = {time:.4}"),
        (true, Ok(())) => "steady state".into(),
        (true, Err(NotSteady { iterations })) => format!("iteration {iterations}, not steady"),
    }
}

/// 4 for a result that is not converged, as of the command `coarsen`, otherwise 1.
fn exit_code(error: &(dyn Error + Send + Sync + 'static)) -> u8 {
    if error.is::<NotSteady>() || error.is::<NotConverged>() { 4 } else { 1 }
}

fn main() -> ExitCode {
    let options: Options = match parse() {
        Ok(options) => options,
        Err(code) => return code,
    };
    // The library does not start threads: run everything inside one pool.
    let done = threads(options.threads, || match options.backend {
        BackendOption::Named(choice) => {
            AnyBackend::choose(choice).map_err(Box::from).and_then(|backend| run(backend, &options))
        }
        BackendOption::Cpu => run(Cpu::new(), &options),
        BackendOption::Mixed => run(Cpu::mixed(), &options),
    });
    let done = done.map_err(Box::from).flatten();
    match done.and_then(|rows| match options.steady {
        true => check_steady(&rows, options.beta == 0.0).map_err(Box::from),
        false => Ok(()),
    }) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(exit_code(&*error))
        }
    }
}

fn run<B: Backend<Real = f64>>(
    backend: B,
    options: &Options,
) -> Result<Vec<Row>, Box<dyn Error + Send + Sync>> {
    // 1. A body: mesh, materials, prescribed temperatures.
    let scene = match &options.mesh {
        Some(file) => Scene::read(file, options.azimuth)?,
        None => Scene::plate(options.grid.into()),
    };
    let conductivity = |e: usize, u: f64| scene.conductivity[e] / (1.0 + options.beta * u.max(0.0));
    let mut dt = options.dt.unwrap_or(4e-4 * scene.length * scene.length);
    let rate = |dt: f64| if options.steady { 0.0 } else { 1.0 / dt };

    // 2. The discrete equations: the pattern is fixed, the values change.
    // ANCHOR: setup
    let mut heat = Heat::new(&scene.mesh)?;
    let given = Dirichlet::new(heat.unknowns(), scene.given.iter().copied())?;
    let (mut u, mut b) = (vec![COLD; heat.unknowns()], vec![0.0; heat.unknowns()]);
    scene.given.iter().for_each(|&(v, held)| u[v] = held);
    // ANCHOR_END: setup

    // 3. A backend, a preconditioner, a method. To change the preconditioner, change one line.
    // ANCHOR: solver
    heat.assemble(rate(dt), &u, conductivity);
    given.impose_matrix(&mut heat.matrix)?;
    let mut m = tamstorf().build(&heat.matrix, &backend)?;
    let mut a = backend.matrix(&heat.matrix)?;
    let (mut x, mut rhs) = (backend.vector(&u)?, backend.vector(&b)?);
    let mut cg = Cg::new(Stop::relative(1e-8));
    // ANCHOR_END: solver
    say(format_args!(
        "{} unknowns, {} entries, on {}\n{m}\n",
        heat.unknowns(),
        heat.matrix.nnz(),
        backend.name()
    ))?;
    say("  step       time         dt  iterations  residual      min      max     energy")?;

    // 4. Time steps: assemble, impose, update, solve from the last temperature. The steady state is computed
    //    as a step of infinite length, repeated until the conductivity has converged.
    let (mut time, mut rows, mut frames) = (0.0, Vec::new(), Vec::new());
    for step in 1..=options.steps {
        // ANCHOR: step
        heat.assemble(rate(dt), &u, conductivity);
        heat.load(rate(dt), &u, |_| 0.0, &mut b);
        given.impose(&mut heat.matrix, &mut b)?;
        m.update(&heat.matrix)?; // reuses the structure
        a.set_values(&heat.matrix)?;
        backend.write(&b, &mut rhs)?;
        let report = cg.solve(&a, &mut m, &rhs, &mut x)?.converged()?;
        backend.read(&x, &mut u)?;
        // ANCHOR_END: step
        time += dt;
        let range = u.iter().fold([HOT, COLD], |[low, high], &u| [low.min(u), high.max(u)]);
        let moment = (!options.steady).then_some([time, dt]);
        rows.push(Row { step, time: moment, report: *report, range, energy: heat.energy(&u) });
        say(&rows[rows.len() - 1])?;
        if options.steady && report.iterations == 0 {
            break; // the old temperature already solves the new equations
        }
        if !options.steady {
            frames.push(scene.picture(&u, &format!("t = {time:.4}"), true)?);
        }
        if step % 8 == 0 {
            dt *= 2.0; // changes only values, so `update` suffices
        }
    }

    // 5. Pictures.
    std::fs::create_dir_all(&options.out)?;
    scene.picture(&u, &caption(options, &rows, time), false)?.write_png(options.out.join("heat.png"))?;
    if !frames.is_empty() {
        Animation { frames, delay: 8 }.write_gif(options.out.join("heat.gif"))?;
    }
    say(format_args!("pictures in {}", options.out.display()))?;
    Ok(rows)
}
