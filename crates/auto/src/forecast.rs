//! Forecasts of the total number of iterations of conjugate gradients, computed from the iterations so far.
//!
//! | letter | here | meaning |
//! |---|---|---|
//! | k | `logs.len() − 1` | the number of iterations so far |
//! | s | slope | mean change of ln ‖r‖ per iteration, over the last half of the iterations |
//! | κ | `condition` | the condition number of M⁻¹A, estimated from below by Ritz values |
//! | ε | `goal` = ln ε | tolerance for the relative residual |
//!
//! The forecast is a weighted geometric mean of two forecasts. The first is k + (ln ε − ln ‖rₖ‖) / s. It is
//! too high on a plateau before the smallest eigenvalue is found, and too low if convergence slows down
//! later. The second is ½ √κ ln(2/ε) (Saad 2003, (6.128)). It is too low until the smallest eigenvalue is
//! found, and too high if only few eigenvalues are small.

/// The weight of the slope in the forecast; the condition number has the remaining weight.
const SLOPE: f64 = 0.3;

/// The forecast if the residual does not fall.
const UNSEEN: f64 = 1e4;

/// The residuals of a running solve, and the forecast that follows from them.
#[derive(Clone, Debug)]
pub struct Forecast {
    /// ln ε.
    goal: f64,
    /// ln(‖rₖ‖ / ‖b‖) of every iteration.
    logs: Vec<f64>,
}

impl Forecast {
    /// Returns the forecast of a solve to the relative residual `tolerance`, before the first residual.
    pub fn new(tolerance: f64) -> Self {
        Self { goal: tolerance.max(f64::MIN_POSITIVE).ln(), logs: Vec::new() }
    }

    /// Adds the relative residual of the next iteration, starting with the guess.
    pub fn see(&mut self, relative: f64) {
        self.logs.push(relative.ln());
    }

    /// The forecast of the total number of iterations; `condition` is an estimate from below of the condition
    /// number of M⁻¹A. Without `condition`, the forecast for fewer than two residuals is infinite.
    pub fn total(&self, condition: Option<f64>) -> f64 {
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

/// Returns the iteration at which the line through the middle and the end of `logs` reaches `goal`.
fn draw_on(logs: &[f64], goal: f64) -> f64 {
    let Some(last) = logs.len().checked_sub(1) else { return f64::INFINITY };
    let middle = last / 2;
    let slope = (logs[last] - logs[middle]) / (last - middle).max(1) as f64;
    if slope < 0.0 { last as f64 + (goal - logs[last]).min(0.0) / slope } else { f64::INFINITY }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_straight_line_is_drawn_on() {
        let logs: Vec<f64> = (0..11).map(|k| -0.5 * f64::from(k)).collect();
        assert!((draw_on(&logs, -20.0) - 40.0).abs() < 1e-12);
        assert_eq!(draw_on(&logs, -1.0), 10.0, "what is reached is reached");
        assert_eq!(draw_on(&[0.0, 0.0, 1.0], -1.0), f64::INFINITY);
        assert_eq!(draw_on(&[], -1.0), f64::INFINITY);
    }

    #[test]
    fn slope_and_condition_are_weighed() {
        let mut forecast = Forecast::new((-20.0_f64).exp());
        (0..11).for_each(|k| forecast.see((-0.5 * f64::from(k)).exp()));
        assert!((forecast.total(None) - 40.0).abs() < 1e-9);
        let bound = 0.5 * 10.0 * (2.0_f64.ln() + 20.0);
        let mean = 40.0_f64.powf(0.3) * bound.powf(0.7);
        assert!((forecast.total(Some(100.0)) - mean).abs() < 1e-9);
        assert_eq!(forecast.total(Some(0.5)), forecast.total(None), "no condition number is below 1");
    }
}
