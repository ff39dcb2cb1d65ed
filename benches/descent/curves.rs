//! Error against time: Wu, Wang & Wang 2022, Fig. 5.

use std::ops::ControlFlow;
use std::time::Instant;

use coarsen::optimize::{Iterate, Verdict};
use coarsen::prelude::*;
use coarsen::problems::Scene;

use crate::body::method;
use crate::lines::{self, Line};

pub(crate) const METHODS: [&str; 6] = ["gradient", "agd", "lbfgs", "ncg", "newton-32", "newton-inexact"];
const INVERSES: [&str; 4] = ["jacobi", "block-jacobi", "tamstorf", "mas"];

/// The number of cells across the bar: 93 x 24 x 24 nodes, with one face fixed.
const CELLS: usize = 23;

/// Young's modulus in Pa.
const YOUNG: f64 = 1e6;

/// The time step in seconds.
const STEP: f64 = 1.0 / 30.0;

/// The first error whose time is printed.
const ASKED: f64 = 1e-3;

/// The second error whose time is printed; it ends the run.
const END: f64 = 1e-6;

/// The time limit of a run in seconds.
const LIMIT: f64 = 45.0;

/// The colours of the preconditioners.
const COLOURS: [u32; 4] = [0x0072b2, 0x56b4e9, 0xd55e00, 0x009e73];

pub(crate) fn run(names: &[&str]) {
    let scene = || Scene::bar_step(CELLS, [YOUNG; 2], STEP).expect("a bar");
    let least = {
        let Scene { body, start: mut x, .. } = scene();
        let (mut f, mut direction, search) = method("newton-inexact", "tamstorf", body, &x);
        let mut descent = Descent::new(search, Stop::relative(1e-9));
        descent.refresh = Refresh::Every(8);
        let report = descent.minimize(&mut f, &mut direction, &mut x);
        let report = report.expect("a Hessian").converged().expect("Newton's method converges");
        println!("{} vertices, f from {:.6e} to {:.9e}", x.len() / 3, report.initial_value, report.value);
        report.value
    };
    println!(
        "\n| method | preconditioner | iterations | s to {ASKED:.0e} | s to {END:.0e} |\n|---|---|---:|---:|---:|"
    );
    for name in METHODS.into_iter().filter(|m| names.is_empty() || names.contains(m)) {
        let curves: Vec<Line> = INVERSES
            .into_iter()
            .map(|precond| {
                let Scene { body, start: mut x, .. } = scene();
                let begin = Instant::now();
                let (mut f, mut direction, search) = method(name, precond, body, &x);
                let mut points = Vec::new();
                let mut first = f64::NAN;
                let mut monitor = |it: &Iterate<'_, Vec<f64>>| {
                    if it.number == 0 {
                        first = it.value;
                    }
                    let (seconds, error) =
                        (begin.elapsed().as_secs_f64(), (it.value - least) / (first - least));
                    points.push((seconds, error));
                    if error < END || seconds > LIMIT {
                        ControlFlow::Break(Verdict::Stop)
                    } else {
                        ControlFlow::Continue(())
                    }
                };
                let mut descent = Descent::new(search, Stop::relative(0.0));
                descent.refresh = Refresh::Every(8);
                let report =
                    descent.minimize_with(&mut f, &mut direction, &mut x, &mut monitor).expect("a Hessian");
                let until = |error: f64| {
                    let reached = points.iter().find(|p| p.1 < error);
                    reached.map_or("-".to_owned(), |p| format!("{:.2}", p.0))
                };
                println!(
                    "| {name} | {precond} | {} | {} | {} |",
                    report.iterations,
                    until(ASKED),
                    until(END)
                );
                (precond.to_owned(), points)
            })
            .collect();
        let last = curves.iter().flat_map(|(_, points)| points.iter().map(|p| p.0)).fold(0.1, f64::max);
        let file = format!("book/src/methods/descent_{}.svg", name.replace('-', "_"));
        let titles = [name, "seconds, assembly and setup included", "relative error of the energy"];
        lines::write(&file, titles, [last, END], &curves, &COLOURS).expect("a picture");
    }
}
