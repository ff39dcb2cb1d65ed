//! Conjugate gradients with three preconditioners on one system: the residual over the iterations.

use std::error::Error;
use std::fmt::Write;

use coarsen::prelude::*;
use coarsen::problems::{Options, Problem};

/// ‖b − A x‖ / ‖b‖ that ends a solve, as a power of ten.
const DECADES: i32 = 8;

/// The frame of the plot in pixels: left, top, right, bottom; around it the picture.
const FRAME: [f64; 4] = [64.0, 44.0, 780.0, 360.0];
const SIZE: (f64, f64) = (804.0, 412.0);

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
        let (system, on) = (problem.system(), Cpu::new());
        let mut jacobi = Jacobi::default().build(system, &on)?;
        let mut ic0 = Ic0::default().build(system, &on)?;
        let mut sa = Multigrid::smoothed_aggregation().build(system, &on)?;
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
        let last = self.runs.iter().map(|run| run.history.len() - 1).max().unwrap_or(1).max(1);
        let step = [1, 2, 5, 10, 20, 50, 100].into_iter().find(|s| last <= 8 * s).unwrap_or(200);
        let highest = self.runs.iter().flat_map(|run| &run.history).fold(1.0_f64, |m, &r| m.max(r)).log10();
        let (high, low) = (highest.ceil(), -f64::from(DECADES) - 0.5);
        let x = |k: f64| left + (right - left) * k / last as f64;
        let y = |log: f64| bottom - (bottom - top) * (log - low) / (high - low);

        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" font-family=\"sans-serif\" \
             font-size=\"14\" fill=\"#333\" role=\"img\"",
            SIZE.0, SIZE.1
        );
        let mut add =
            |text: std::fmt::Arguments<'_>| svg.write_fmt(text).expect("a String takes all that is written");
        self.runs
            .iter()
            .for_each(|run| add(format_args!(" data-{}=\"{}\"", run.slug, run.history.len() - 1)));
        add(format_args!(">\n<rect width=\"{}\" height=\"{}\" fill=\"white\"/>\n", SIZE.0, SIZE.1));
        add(format_args!("<text x=\"{left}\" y=\"26\" font-size=\"16\">{}</text>\n", self.title));
        for decade in -DECADES..=high as i32 {
            let at = y(f64::from(decade));
            let dash = if decade == -DECADES {
                " stroke-dasharray=\"5 4\" stroke=\"#a00\""
            } else {
                " stroke=\"#ddd\""
            };
            add(format_args!("<path d=\"M{left} {at:.1}H{right}\"{dash}/>\n"));
            if decade % 2 == 0 {
                let label = if decade == 0 { "1".to_owned() } else { format!("1e{decade}") };
                add(format_args!(
                    "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>\n",
                    left - 8.0,
                    at + 5.0
                ));
            }
        }
        for k in (0..=last).step_by(step) {
            let at = x(k as f64);
            add(format_args!("<path d=\"M{at:.1} {bottom}v5\" stroke=\"#333\"/>\n"));
            add(format_args!(
                "<text x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{k}</text>\n",
                bottom + 20.0
            ));
        }
        add(format_args!("<path d=\"M{left} {top}V{bottom}H{right}\" fill=\"none\" stroke=\"#333\"/>\n"));
        add(format_args!(
            "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">iterations</text>\n",
            0.5 * (left + right),
            bottom + 40.0
        ));
        for (line, run) in self.runs.iter().enumerate() {
            let points: Vec<String> = run
                .history
                .iter()
                .enumerate()
                .map(|(k, r)| format!("{:.1} {:.1}", x(k as f64), y(r.max(1e-300).log10().max(low))))
                .collect();
            let stroke = format!("stroke=\"{}\" stroke-width=\"2.4\" fill=\"none\"", run.colour);
            add(format_args!("<path d=\"M{}\" {stroke} stroke-linejoin=\"round\"/>\n", points.join("L")));
            let (at, end) = (top + 20.0 + 24.0 * line as f64, right - 10.0);
            add(format_args!("<path d=\"M{} {}h26\" {stroke}/>\n", end - 296.0, at - 5.0));
            add(format_args!(
                "<text x=\"{}\" y=\"{at}\">{}: {} iterations</text>\n",
                end - 260.0,
                run.name,
                run.history.len() - 1
            ));
        }
        svg.push_str("</svg>\n");
        svg
    }
}

impl Run {
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
        cg.solve_with(&problem.matrix, m, &b, &mut x, &mut history)?.converged()?;
        Ok(Self { name, slug, colour, history: history.relative })
    }
}
