//! `coarsen minimize`: an energy, a direction, a preconditioner.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use coarsen::backend::Backend;
use coarsen::descent::CachedPreconditioner;
use coarsen::optimize::{
    AcceleratedGradient, Backtracking, Beta, Descent, DescentHistory, DescentReport, Direction, Gradient,
    Lbfgs, LineSearch, MoreThuente, Newton, NonlinearCg, Refresh,
};
use coarsen::problems::Scene;
use coarsen::{AnyBackend, AnyVector, Identity, Stop, parallel};

use crate::arguments::files::{check_files, outputs};
use crate::arguments::minimize::{Body, DirectionOption, Inverse, Minimize};
use crate::arguments::{name, threads};
use crate::console::{complain, count, say};
use crate::error::Failure;
use crate::report::plot::{self, Curve};
use crate::run::elastic::{Soft, build};
use crate::words;

/// The mesh of armadillo-stretch inside the folder of data.
const ARMADILLO: &str = "meshes/ipc_Armadillo13K.msh.gz";

/// The time step of armadillo-stretch in seconds.
const STEP: f64 = 1.0 / 30.0;

/// The number of pairs of L-BFGS: Wang et al. 2020, §5.1.
const WINDOW: usize = 8;

/// The estimate of the spectral radius for the accelerated gradient method.
const RADIUS: f64 = 0.99;

pub(crate) fn run(options: &Minimize) -> Result<ExitCode, Failure> {
    let outputs = outputs([("--mesh", &options.mesh), ("--plot", &options.plot)]);
    let (inputs, outputs) = outputs.split_at(usize::from(options.mesh.is_some()));
    check_files(inputs, outputs)?;
    let threads = threads(options.threads);
    let backend = AnyBackend::choose(options.backend.0)?;
    let begin = Instant::now();
    let (text, report, history) = parallel::threads(threads, || minimize(options, &backend))??;
    if !options.quiet {
        say(&format!(
            "{text}minimize  {:.3} s on {}, ",
            begin.elapsed().as_secs_f64(),
            count(threads, "thread")
        ))?;
        say(&format!(
            "{} ({} inner), {}, {}, {}, {}\n",
            count(report.iterations, "iteration"),
            report.inner,
            count(report.values, "value"),
            count(report.gradients, "gradient"),
            count(report.refreshes, "refresh"),
            count(report.fallbacks, "fallback")
        ))?;
        say(&format!(
            "outcome   {}, relative gradient {:.2e} (asked {:.0e}), value {:.8e}\n",
            report.outcome,
            report.gradient / report.initial_gradient,
            options.tol,
            report.value
        ))?;
    }
    if let Some(file) = &options.plot {
        let title = format!("{} with {}", name(options.direction), name(options.precond));
        plot::curve(
            file,
            &Curve { title, what: "relative gradient", history: &history, tolerance: options.tol },
        )?;
    }
    match report.converged() {
        Ok(_) => Ok(ExitCode::SUCCESS),
        Err(failure) => {
            complain(&words::options(&format!("error: {failure}\n")));
            Ok(ExitCode::from(4))
        }
    }
}

/// Minimises; returns the header of the report, the outcome of the descent, and the relative gradients.
fn minimize(
    options: &Minimize,
    backend: &AnyBackend,
) -> Result<(String, DescentReport<f64>, Vec<f64>), Failure> {
    let (problem, Scene { mut body, mut start, rest }) = match options.problem {
        Body::BarTwist(_) if options.mesh.is_some() => {
            let why = "a bar generates its own tetrahedra, so leave --mesh out";
            return Err(Failure::usage(format!("--mesh is an option of armadillo-stretch only; {why}")));
        }
        Body::BarTwist(n) => (format!("bar-twist:{n}"), Scene::bar_twist(n)?),
        Body::ArmadilloStretch => {
            let data = std::env::var_os("COARSEN_DATA").map(|folder| PathBuf::from(folder).join(ARMADILLO));
            let file = options.mesh.clone().or(data).ok_or_else(|| {
                Failure::usage("the problem armadillo-stretch needs a mesh of tetrahedra; give --mesh FILE")
            })?;
            ("armadillo-stretch".to_owned(), Scene::stretched(&file.to_string_lossy(), STEP)?)
        }
    };
    let inverse = build(options.precond, &mut body, &start, &rest, backend)?;
    // In Newton's method the objective owns the preconditioner; all other directions own their
    // preconditioner.
    let (own, of_objective) = if options.direction == DirectionOption::Newton {
        (CachedPreconditioner::constant(Box::new(Identity)), inverse)
    } else {
        (inverse, CachedPreconditioner::constant(Box::new(Identity)))
    };
    let (mut direction, search) = direction(options.direction, options.precond, own);
    let (mut f, mut x) =
        (Soft::new(body, &start, of_objective, backend).projecting_on_demand(), backend.vector(&start)?);
    let mut descent =
        Descent::new(search, Stop { max_iterations: options.max_iterations, ..Stop::relative(options.tol) });
    descent.refresh = if options.refresh == 0 { Refresh::Never } else { Refresh::Every(options.refresh) };
    let mut history = DescentHistory::default();
    let report = descent.minimize_with(&mut f, &mut direction, &mut x, &mut |it| history.record(it));
    // Returns the first failure of a device, which is more informative than the resulting error of the
    // descent.
    backend.read(&x, &mut start)?;
    let report = report?;
    let relative = history.gradients.iter().map(|g| g / report.initial_gradient).collect();
    let text = format!(
        "problem   {problem}: {}\nmethod    {} with {}, vectors on {backend}\n",
        count(start.len(), "unknown"),
        name(options.direction),
        name(options.precond)
    );
    Ok((text, report, relative))
}

/// Returns a direction with a preconditioner that is updated to the body, and a suitable line search.
fn direction(
    direction: DirectionOption,
    precond: Inverse,
    inverse: CachedPreconditioner<AnyVector>,
) -> (Box<dyn Direction<AnyVector, Soft>>, Box<dyn LineSearch<f64>>) {
    let armijo = Box::new(Backtracking::default());
    match direction {
        DirectionOption::Newton => (Box::new(Newton::inexact()), armijo),
        DirectionOption::Lbfgs if precond == Inverse::None => {
            (Box::new(Lbfgs::scaled(WINDOW)), Box::new(MoreThuente::default()))
        }
        DirectionOption::Lbfgs => {
            (Box::new(Soft::refreshed(Lbfgs::new(WINDOW, inverse), |d| &mut d.initial)), armijo)
        }
        DirectionOption::Ncg => (
            Box::new(Soft::refreshed(NonlinearCg::new(Beta::DaiKou, inverse), NonlinearCg::inverse_mut)),
            Box::new(MoreThuente::tight()),
        ),
        DirectionOption::Agd => {
            (Box::new(Soft::refreshed(AcceleratedGradient::new(RADIUS, inverse), |d| &mut d.inverse)), armijo)
        }
        DirectionOption::Gradient => {
            (Box::new(Soft::refreshed(Gradient::scaled(inverse), |d| &mut d.inverse)), armijo)
        }
    }
}
