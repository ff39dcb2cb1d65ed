//! Conjugate gradients with three preconditioners on one system: the residual over the iterations.

use std::error::Error;

use coarsen::prelude::*;
use coarsen::problems::{Options, Problem};

use crate::picture::Picture;

/// ‖b − A x‖ / ‖b‖ that ends a solve, as a power of ten.
const DECADES: i32 = 8;

/// The frame of the plot in pixels: left, top, right, bottom; around it the picture.
const FRAME: [f64; 4] = [64.0, 44.0, 780.0, 360.0];
const SIZE: (f64, f64) = (804.0, 412.0);

const AXIS: &str = "stroke=\"#333\"";
const TOLERANCE: &str = "stroke=\"#a00\" stroke-dasharray=\"5 4\"";

/// One solve.
pub(crate) struct Run {
    pub(crate) name: &'static str,
    /// The name as a part of an attribute.
    pub(crate) slug: &'static str,
    colour: &'static str,
    /// ‖b − A x‖ / ‖b‖, the starting guess first.
    pub(crate) history: Vec<f64>,
}

/// Three solves of one system.
pub(crate) struct Race {
    title: String,
    pub(crate) runs: Vec<Run>,
}

impl Race {
    /// Solves a problem of the gallery with a random right-hand side.
    pub(crate) fn run(problem: &str) -> Result<Self, Box<dyn Error>> {
        let problem = Problem::parse(problem, &Options::default())?;
        let (system, backend) = (problem.system(), Cpu::new());
        let mut jacobi = Jacobi::default().build(system, &backend)?;
        let mut ic0 = Ic0::default().build(system, &backend)?;
        let mut sa = smoothed_aggregation().build(system, &backend)?;
        let runs = vec![
            Run::new("Jacobi", "jacobi", "#777777", &problem, &mut jacobi)?,
            Run::new("IC(0)", "ic0", "#e69f00", &problem, &mut ic0)?,
            Run::new("smoothed aggregation", "sa", "#0072b2", &problem, &mut sa)?,
        ];
        let n = problem.matrix.shape().0;
        Ok(Self { title: format!("Cg on {}, {n} unknowns", problem.name), runs })
    }

    /// The picture.
    pub(crate) fn draw(&self) -> String {
        let [left, top, right, bottom] = FRAME;
        let last = self.runs.iter().map(Run::iterations).max().unwrap_or(1).max(1);
        let highest = self.runs.iter().flat_map(|run| &run.history).fold(1.0_f64, |m, &r| m.max(r));
        let (high, low) = (highest.log10().ceil() as i32, -DECADES);
        let x = |k: usize| left + (right - left) * k as f64 / last as f64;
        let y =
            |log: f64| bottom - (bottom - top) * (log - f64::from(low) + 0.9) / (f64::from(high - low) + 0.9);

        let numbers: Vec<_> = self.runs.iter().map(|run| (run.slug, run.iterations())).collect();
        let mut picture = Picture::new(SIZE, &numbers);
        picture.words((left, top - 18.0), "start", &self.title);
        for decade in low..=high {
            let at = y(f64::from(decade));
            let style = if decade == low { TOLERANCE } else { "stroke=\"#ddd\"" };
            picture.line(&[(left, at), (right, at)], style);
            let label = if decade == 0 { "1".to_owned() } else { format!("1e{decade}") };
            picture.words((left - 8.0, at + 5.0), "end", &label);
        }
        let step = [1, 2, 5, 10, 20, 50].into_iter().find(|step| last <= 10 * step).unwrap_or(100);
        for k in (0..=last).step_by(step) {
            picture.line(&[(x(k), bottom), (x(k), bottom + 5.0)], AXIS);
            picture.words((x(k), bottom + 20.0), "middle", &k.to_string());
        }
        picture.line(&[(left, top), (left, bottom), (right, bottom)], AXIS);
        picture.words((0.5 * (left + right), bottom + 40.0), "middle", "iterations");

        for (row, run) in self.runs.iter().enumerate() {
            let style = format!("stroke=\"{}\" stroke-width=\"2.4\" stroke-linejoin=\"round\"", run.colour);
            let points = run.history.iter().enumerate();
            let points: Vec<_> =
                points.filter(|(_, r)| **r > 0.0).map(|(k, r)| (x(k), y(r.log10()).min(bottom))).collect();
            picture.line(&points, &style);
            let at = top + 20.0 + 24.0 * row as f64;
            picture.line(&[(right - 300.0, at - 5.0), (right - 274.0, at - 5.0)], &style);
            picture.words(
                (right - 264.0, at),
                "start",
                &format!("{}: {} iterations", run.name, run.iterations()),
            );
        }
        picture.finish()
    }
}

impl Run {
    pub(crate) fn iterations(&self) -> usize {
        self.history.len() - 1
    }

    fn new(
        name: &'static str,
        slug: &'static str,
        colour: &'static str,
        problem: &Problem,
        m: &mut dyn Preconditioner<Vec<f64>>,
    ) -> Result<Self, Box<dyn Error>> {
        let (b, mut history) = (problem.right_hand_side(1), History::default());
        let mut x = vec![0.0; b.len()];
        let mut cg = Cg::new(Stop::relative(10.0_f64.powi(-DECADES)));
        let solved = cg.solve_with(&problem.matrix, m, &b, &mut x, &mut |it| history.record(it))?;
        solved.converged().map(|_| ())?;
        Ok(Self { name, slug, colour, history: history.relative })
    }
}
