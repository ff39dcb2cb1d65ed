//! The iterations before which a policy rebuilds the preconditioner.

use coarsen_core::{Dot, Objective, Stop};
use coarsen_optimize::{
    Descent, DescentError, Direction, LineSearch, LineSearchFailure, Proposal, Refresh, Start, Step,
};

/// The function −x with given norms of the gradient at x = 0, 1, 2, …
struct Falls<'a>(&'a [f64]);

impl Objective<Vec<f64>> for Falls<'_> {
    fn value(&mut self, x: &Vec<f64>) -> Dot<f64> {
        (-x[0]).into()
    }
    fn gradient(&mut self, x: &Vec<f64>, g: &mut Vec<f64>) {
        g[0] = -self.0.get(x[0] as usize).unwrap_or(&1.0);
    }
}

/// Steps of 1; the numbers of the iterations that begin with a refresh.
#[derive(Default)]
struct Steps(Vec<usize>);

impl<F: ?Sized> Direction<Vec<f64>, F> for Steps {
    fn propose(
        &mut self,
        _: &mut F,
        _: &Vec<f64>,
        _: &Vec<f64>,
        d: &mut Vec<f64>,
    ) -> Result<Proposal<f64>, DescentError> {
        d[0] = 1.0;
        Ok(Proposal::Unit)
    }
    fn refresh(&mut self, _: &mut F, x: &Vec<f64>) -> Result<bool, DescentError> {
        self.0.push(x[0] as usize);
        Ok(true)
    }
}

/// Accepts every step of 1.
struct Full;

impl LineSearch<f64> for Full {
    fn search(
        &mut self,
        phi: &mut dyn FnMut(f64) -> f64,
        _: &mut dyn FnMut(f64) -> f64,
        _: &Start<f64>,
    ) -> Result<Step<f64>, LineSearchFailure> {
        Ok(Step { alpha: 1.0, value: phi(1.0) })
    }
}

fn refreshes(policy: Refresh, norms: &[f64]) -> Vec<usize> {
    let mut descent = Descent::new(Full, Stop { max_iterations: norms.len(), ..Stop::absolute(0.0) });
    descent.refresh = policy;
    let mut steps = Steps::default();
    let report = descent.minimize(&mut Falls(norms), &mut steps, &mut vec![0.0]).unwrap();
    assert_eq!((report.iterations, report.refreshes), (norms.len(), steps.0.len()), "{report}");
    steps.0
}

#[test]
fn refreshes_come_every_n_iterations() {
    assert_eq!(refreshes(Refresh::Every(8), &[1.0; 20]), [0, 8, 16]);
    assert_eq!(refreshes(Refresh::AtStart, &[1.0; 20]), [0]);
    assert!(refreshes(Refresh::Never, &[1.0; 20]).is_empty());
}

/// ‖∇f‖ is multiplied by 0.1 in each of 6 iterations, then by 0.8. Half of the first rate would be a
/// factor of 10^(-1/2) ≈ 0.32.
#[test]
fn slower_convergence_causes_a_refresh() {
    let mut norm = 1.0;
    let norms: Vec<f64> = (0..14)
        .map(|k| {
            norm *= if k < 6 { 0.1 } else { 0.8 };
            norm
        })
        .collect();
    assert_eq!(refreshes(Refresh::WhenSlower(2), &norms), [0, 8]);
}

/// ‖∇f‖ rises by a factor of 100 in the first iteration, as after a full step that rotates a stiff part.
#[test]
fn a_rise_of_the_gradient_causes_a_refresh() {
    assert_eq!(refreshes(Refresh::WhenSlower(1), &[1.0, 100.0, 1.0, 1e-2, 1e-4]), [0, 1]);
}
