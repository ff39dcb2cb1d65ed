//! Twenty steps of a stretched armadillo: the same trajectory with every driver.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Instant;

use coarsen::optimize::{DescentOutcome, Verdict};
use coarsen::prelude::*;
use coarsen::problems::Scene;

use crate::body::method;

/// All drivers.
pub(crate) const METHODS: [&str; 10] = [
    "newton-inexact",
    "newton-on-demand",
    "newton-32",
    "lbfgs",
    "ncg",
    "ncg+",
    "agd",
    "gradient",
    "lbfgs-constant",
    "constant",
];
const STEPS: usize = 20;
const STEP: f64 = 1.0 / 30.0;

/// The norm of the gradient, in newtons, at which a step ends. The softest mode has a stiffness of 7 N/m per
/// node, from its mass alone.
const TOLERANCE: f64 = 1e-6;

/// The maximum distance between the final states of two drivers, in m.
const GAP: f64 = 1e-6;

/// The time limit of a driver, in seconds.
const LIMIT: f64 = 1200.0;

pub(crate) fn run(names: &[&str]) {
    let Some(data) = std::env::var_os("COARSEN_DATA").map(PathBuf::from) else {
        println!("\nskipped: COARSEN_DATA is not set, so there is no armadillo");
        return;
    };
    let file = data.join("meshes/ipc_Armadillo13K.msh.gz");
    let names = if names.is_empty() { &METHODS[..] } else { names };
    println!(
        "\n| driver | s | iterations | values | fallbacks | gap to the first, m |\n|---|---:|---:|---:|---:|---:|"
    );
    let (mut reference, mut unfinished): (Option<Vec<f64>>, Vec<&str>) = (None, Vec::new());
    for name in names {
        let Scene { body, start: mut x, .. } =
            Scene::stretched(&file.to_string_lossy(), STEP).expect("a mesh");
        let begin = Instant::now();
        let (mut f, mut direction, search) = method(name, "tamstorf", body, &x);
        let mut descent = Descent::new(search, Stop::absolute(TOLERANCE));
        descent.stop.max_iterations = 100_000;
        descent.refresh = match *name {
            "constant" | "lbfgs-constant" => Refresh::Never,
            newton if newton.starts_with("newton") => Refresh::AtStart,
            _ => Refresh::Every(16),
        };
        let mut v = vec![0.0; x.len()];
        let mut counts = [0; 3];
        let mut reached = 0;
        for step in 0..STEPS {
            let before = x.clone();
            f.objective.begin(&before, &v, [0.0; 3]).expect("a pattern");
            direction.as_mut().forget();
            let mut last = f64::INFINITY;
            let mut falling = |it: &coarsen::optimize::Iterate<'_, Vec<f64>>| {
                assert!(it.value <= last + it.round_off, "{name}: f rises in step {step}");
                last = it.value;
                if begin.elapsed().as_secs_f64() > LIMIT {
                    ControlFlow::Break(Verdict::Stop)
                } else {
                    ControlFlow::Continue(())
                }
            };
            let report =
                descent.minimize_with(&mut f, &mut direction, &mut x, &mut falling).expect("a Hessian");
            counts[0] += report.iterations;
            counts[1] += report.values;
            counts[2] += report.fallbacks;
            if report.outcome == DescentOutcome::Stopped {
                break;
            }
            report.converged().unwrap_or_else(|e| panic!("{name}, step {step}: {e}"));
            reached = step + 1;
            v.iter_mut().zip(x.iter().zip(&before)).for_each(|(v, (x, x0))| *v = (x - x0) / STEP);
        }
        let seconds = begin.elapsed().as_secs_f64();
        let [iterations, values, fallbacks] = counts;
        if reached < STEPS {
            println!(
                "| {name} | {seconds:.1} | {iterations} | {values} | {fallbacks} | {reached} steps only |"
            );
            unfinished.push(name);
            continue;
        }
        let first = reference.get_or_insert_with(|| x.clone());
        let gap = first.iter().zip(&x).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        println!("| {name} | {seconds:.1} | {iterations} | {values} | {fallbacks} | {gap:.1e} |");
        assert!(gap < GAP, "{name} ends {gap:e} m away");
    }
    assert!(unfinished.is_empty(), "{unfinished:?} had no time for {STEPS} steps");
}
