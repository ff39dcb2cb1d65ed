//! Relative error against iterations and against time on garments (Fig. 4 and 16).
//!
//! The error is defined as in the paper: (E(x) − E(x*)) / (E(0) − E(x*)), with the quadratic objective E and
//! a solution x* to a residual of 10⁻⁹.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

use coarsen_core::{Iteration, LinearOperator, Outcome, Stop, parallel};
use coarsen_krylov::{Cg, FlexibleCg, Krylov};
use coarsen_problems::{Problem, garment};

use crate::chart::{Line, chart};
use crate::{Outcome as Result, build};

/// The preconditioners of the figures.
const METHODS: [&str; 9] =
    ["jacobi", "block-jacobi", "as", "ic0", "ilu0", "mas", "mas exact", "mas sa", "sa"];

/// The maximum number of iterations.
const MOST: usize = 800;

/// The errors whose times are printed: one that suffices for simulation, and a smaller one.
const GOALS: [f64; 2] = [1e-3, 1e-6];

/// The T-shirt, about 120,000 vertices.
pub(crate) fn shirt() -> Result<()> {
    figure("diffcloth_tshirt1900.obj.gz", "shirt")
}

/// The dress, about 330,000 vertices.
pub(crate) fn dress() -> Result<()> {
    figure("diffcloth_dress-v5k-f10k.obj.gz", "dress")
}

fn figure(file: &str, name: &str) -> Result<()> {
    let Ok(data) = std::env::var("COARSEN_DATA") else {
        println!("{name}: left out, COARSEN_DATA is not set");
        return Ok(());
    };
    let mesh = Path::new(&data).join("meshes").join(file);
    let p = garment(&mesh.to_string_lossy(), 3, 0.01, 0.0)?;
    let b = p.right_hand_side(1);
    let exact = parallel::threads(2, || -> Result<Vec<f64>> {
        let (mut m, mut x) = (build("sa", p.system())?, vec![0.0; b.len()]);
        Cg::new(Stop::relative(1e-9)).solve(&p.matrix, &mut m, &b, &mut x)?.converged()?;
        Ok(x)
    })??;
    println!("{name}: {file} divided three times, {} unknowns, 10 ms", b.len());
    println!(
        "method        setup s, 1 and 2 threads   iterations and total s (1, 2 threads) to 1e-3 and to 1e-6"
    );
    let (mut by_iterations, mut by_seconds) = (Vec::<Line>::new(), Vec::<Line>::new());
    for method in METHODS {
        let (curve, outcome) = curve(method, &p, &b, &exact)?;
        if !matches!(outcome, Outcome::Stopped | Outcome::IterationLimit) {
            let end = curve.len().saturating_sub(1);
            println!("{method:14} left out: {} after {end} iterations", outcome.name());
            continue;
        }
        let [one, two] = [seconds(method, &p, &b, 1)?, seconds(method, &p, &b, 2)?];
        print!("{method:14}{:8.3} {:8.3}", one.0, two.0);
        for goal in GOALS {
            match curve.iter().find(|point| point.1 <= goal) {
                None => print!("{:>14} {:>8} {:>8}", format!("> {MOST}"), "", ""),
                Some(&(k, _)) => print!("{k:>14} {:8.3} {:8.3}", one.0 + k * one.1, two.0 + k * two.1),
            }
        }
        println!();
        let points = |x: &dyn Fn(f64) -> f64| {
            curve.iter().skip(1).filter(|point| point.1 > 1e-9).map(|&(k, e)| (x(k), e)).collect()
        };
        by_iterations.push((method, points(&|k| k)));
        by_seconds.push((method, points(&|k| two.0 + k * two.1)));
    }
    let y = "relative error of the energy";
    let title = |x: &str| format!("{name}, {} unknowns at 10 ms: error over {x}", b.len());
    chart(
        &format!("book/src/methods/mas_{name}_iterations.svg"),
        &title("iterations"),
        ["iterations", y],
        &by_iterations,
    )?;
    chart(
        &format!("book/src/methods/mas_{name}_seconds.svg"),
        &title("seconds, setup included"),
        ["seconds", y],
        &by_seconds,
    )
}

/// The error after each iteration until it is far below the goals, and the outcome of the method.
fn curve(method: &str, p: &Problem, b: &[f64], exact: &[f64]) -> Result<(Vec<(f64, f64)>, Outcome)> {
    parallel::threads(2, || {
        let mut m = build(method, p.system())?;
        let (mut x, b) = (vec![0.0; b.len()], b.to_vec());
        let (mut e, mut ae, mut points, mut first) =
            (vec![0.0; b.len()], vec![0.0; b.len()], Vec::new(), 0.0);
        let mut monitor = |it: &Iteration<'_, Vec<f64>>| {
            if let Some(x) = it.x {
                e.iter_mut().zip(x.iter().zip(exact)).for_each(|(e, (x, s))| *e = x - s);
                p.matrix.apply(&e, &mut ae);
                let energy: f64 = e.iter().zip(&ae).map(|(e, a)| e * a).sum();
                first = if it.number == 0 { energy } else { first };
                points.push((it.number as f64, energy / first));
                if energy < 1e-7 * first {
                    return ControlFlow::Break(());
                }
            }
            ControlFlow::Continue(())
        };
        let stop = Stop { max_iterations: MOST, ..Stop::relative(1e-12) };
        let report = driver(method, stop).solve_with(&p.matrix, &mut m, &b, &mut x, &mut monitor)?;
        Ok((points, report.outcome))
    })?
}

/// ILU(0) need not be symmetric, so it is used with flexible conjugate gradients, which stop by the same test
/// as `Cg`.
fn driver(method: &str, stop: Stop<f64>) -> Box<dyn Krylov<Vec<f64>>> {
    match method {
        "ilu0" => Box::new(FlexibleCg::new(stop)),
        _ => Box::new(Cg::new(stop)),
    }
}

/// The times of setup and of one iteration, in seconds.
fn seconds(method: &str, p: &Problem, b: &[f64], threads: usize) -> Result<(f64, f64)> {
    parallel::threads(threads, || {
        let begun = Instant::now();
        let mut m = build(method, p.system())?;
        let setup = begun.elapsed().as_secs_f64();
        let (mut x, b) = (vec![0.0; b.len()], b.to_vec());
        let mut cg = driver(method, Stop { max_iterations: 12, ..Stop::relative(1e-30) });
        let _ = cg.solve(&p.matrix, &mut m, &b, &mut x)?;
        x.fill(0.0);
        let begun = Instant::now();
        let _ = cg.solve(&p.matrix, &mut m, &b, &mut x)?;
        Ok((setup, begun.elapsed().as_secs_f64() / 13.0))
    })?
}
