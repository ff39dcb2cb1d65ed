//! A cheap preconditioner is tried first, and given up where it promises to take longer than what it is tried against.
//!
//! How many iterations conjugate gradients take no feature of a matrix tells, but their own beginning does. The trial is the solve
//! itself: where it keeps its promise nothing is lost, else its x is the start of what follows.
//!
//! | letter | here | meaning |
//! |---|---|---|
//! | W | `worth` | iterations that cost what the alternative costs |
//! | k | `logs.len() − 1` | iterations done |
//! | s | `slope` | mean of ln ‖r‖ an iteration, over the last half of them |
//! | κ | `condition` | condition of M⁻¹A, as the Ritz values have it: from below |
//! | ε | `tolerance` | relative residual asked for |
//!
//! Two forecasts of the total: k + (ln ε − ln ‖rₖ‖) / s, which is too long on the plateau before the smallest eigenvalue is found and too
//! short where a fast start has a long tail; and ½ √κ ln(2/ε) (Saad 2003, (6.128)), which is too short until that eigenvalue
//! is found and too long where few are small. The truth lies between: a weighted geometric mean.

use std::fmt;
use std::ops::ControlFlow;

use coarsen::{Iteration, Real, Vector};

/// Shares of W after which a forecast is made, and how many times W the rest may promise to cost there. Early forecasts
/// are bad, late ones costly: fitted to the gallery, scrambled, where W was wrong by up to a quarter.
const CHECKS: [(f64, f64); 10] = [
    (0.05, 1.8),
    (0.10, 1.6),
    (0.15, 1.4),
    (0.20, 1.2),
    (0.30, 1.0),
    (0.40, 1.0),
    (0.50, 1.0),
    (0.60, 1.0),
    (0.80, 1.0),
    (1.00, 1.0),
];

/// Iterations before the first forecast.
pub(crate) const LEAST: usize = 10;

/// The weight of the slope in the forecast; that of the condition is the rest.
const SLOPE: f64 = 0.3;

/// Watches a trial.
#[derive(Clone, Debug)]
pub(crate) struct Trial {
    /// W, and the most iterations allowed.
    worth: f64,
    limit: f64,
    /// ln ε.
    goal: f64,
    /// ln ‖rₖ‖ of every iteration.
    logs: Vec<f64>,
    next: usize,
}

/// Why a trial was given up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Forecast {
    /// Iterations done.
    pub(crate) after: usize,
    /// Iterations that it would have taken.
    pub(crate) total: f64,
}

impl Trial {
    /// A trial against an alternative worth so many iterations.
    pub(crate) fn new(worth: f64, tolerance: f64, max_iterations: usize) -> Self {
        let goal = tolerance.max(f64::MIN_POSITIVE).ln();
        Self { worth, limit: max_iterations as f64, goal, logs: Vec::new(), next: 0 }
    }

    /// Sees an iteration; a forecast where the trial is to be given up.
    pub(crate) fn look<V: Vector>(&mut self, it: &Iteration<'_, V>) -> ControlFlow<Forecast> {
        self.logs.push(it.relative.wide().ln());
        let k = it.number;
        let Some(&(share, patience)) = CHECKS.get(self.next) else { return ControlFlow::Continue(()) };
        if k < LEAST.max((share * self.worth) as usize) {
            return ControlFlow::Continue(());
        }
        self.next += CHECKS[self.next..].iter().take_while(|c| (c.0 * self.worth) as usize <= k).count();
        let condition = it.ritz_values.and_then(coarsen::RitzValues::extremes).map(|[low, high]| high / low);
        let total = self.forecast(condition);
        if total - k as f64 > patience * self.worth || total > self.limit {
            return ControlFlow::Break(Forecast { after: k, total });
        }
        ControlFlow::Continue(())
    }

    /// Iterations in total.
    fn forecast(&self, condition: Option<f64>) -> f64 {
        let drawn = draw_on(&self.logs, self.goal);
        match condition.filter(|c| *c >= 1.0) {
            Some(c) => {
                let bound = 0.5 * c.sqrt() * (2.0_f64.ln() - self.goal);
                drawn.min(UNSEEN).powf(SLOPE) * bound.powf(1.0 - SLOPE)
            }
            None => drawn,
        }
    }
}

/// A forecast where the residual does not fall.
const UNSEEN: f64 = 1e4;

impl fmt::Display for Forecast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "after {} iterations it promises to take {:.0}", self.after, self.total)
    }
}

/// Where the line through the middle and the end of `logs` reaches `goal`.
fn draw_on(logs: &[f64], goal: f64) -> f64 {
    let last = logs.len() - 1;
    let middle = last / 2;
    let slope = (logs[last] - logs[middle]) / (last - middle).max(1) as f64;
    if slope < 0.0 { last as f64 + (goal - logs[last]).min(0.0) / slope } else { f64::INFINITY }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coarsen::Stop;
    use coarsen::backend::{Cpu, Setup};
    use coarsen::krylov::{Cg, Krylov};
    use coarsen::problems::{Options, Problem, random_vector};
    use coarsen::relax::BlockJacobi;

    #[test]
    fn a_straight_line_is_drawn_on() {
        let logs: Vec<f64> = (0..11).map(|k| -0.5 * f64::from(k)).collect();
        assert!((draw_on(&logs, -20.0) - 40.0).abs() < 1e-12);
        assert_eq!(draw_on(&logs, -1.0), 10.0, "what is reached is reached");
        assert_eq!(draw_on(&[0.0, 0.0, 1.0], -1.0), f64::INFINITY);
    }

    /// The forecast that ends a trial, or the iterations of one that is left to run.
    fn tried(spec: &str, dt: Option<f64>, worth: f64) -> Result<usize, Forecast> {
        let options = Options { dt, ..Options::default() };
        let a = Problem::parse(spec, &options).unwrap().matrix;
        let (b, mut x) = (random_vector(a.shape().0, 1), vec![0.0; a.shape().0]);
        let mut m = BlockJacobi::default().build(&a, &Cpu::new()).unwrap();
        let (mut trial, mut verdict) = (Trial::new(worth, 1e-8, 10_000), None);
        let mut watch = |it: &Iteration<'_, Vec<f64>>| match trial.look(it) {
            ControlFlow::Break(forecast) => {
                verdict = Some(forecast);
                ControlFlow::Break(())
            }
            ControlFlow::Continue(()) => ControlFlow::Continue(()),
        };
        let report = Cg::new(Stop::relative(1e-8)).solve_with(&a, &mut m, &b, &mut x, &mut watch).unwrap();
        verdict.map_or(Ok(report.iterations), Err)
    }

    #[test]
    fn time_steps_are_left_to_run_and_statics_given_up() {
        assert!(tried("cloth:15", Some(1e-4), 300.0).unwrap() < 40);
        let forecast = tried("poisson2d:200", None, 200.0).unwrap_err();
        assert!(forecast.after <= 60 && forecast.total > 300.0, "{forecast:?}");
    }

    #[test]
    fn what_has_begun_to_pay_is_not_given_up() {
        // It takes about as long as the alternative: giving it up late would cost both.
        assert!(tried("poisson3d:20", None, 100.0).is_ok());
    }

    #[test]
    fn a_budget_that_cannot_be_kept_ends_a_trial() {
        let mut trial = Trial::new(1e6, 1e-8, 100);
        let mut look = |k: usize| {
            let relative = (-0.01 * k as f64).exp();
            trial.look::<Vec<f64>>(&Iteration {
                number: k,
                residual: relative,
                relative,
                x: None,
                ritz_values: None,
            })
        };
        let ended = (0..60_000).find_map(|k| match look(k) {
            ControlFlow::Break(forecast) => Some(forecast),
            ControlFlow::Continue(()) => None,
        });
        assert!(ended.unwrap().total > 1800.0);
    }
}
