//! The descent loop.
//!
//! | symbol | here | |
//! |---|---|---|
//! | x | `x` | iterate |
//! | g | `g` | ∇f(x) |
//! | d | `d` | direction, and then the step s = α d |
//! | y | | change of the gradient, written over the old one |
//! | φ′(0) | `slope` | g·d |
//!
//! Step numbers at line ends are the lines of the general descent method, Xian, Tong & Liu 2019, Algorithm 1.

use coarsen_core::{Error, Objective, Real, Stop, Vector};
use num_traits::Float;

use crate::direction::{minus, vectors};
use crate::ray::Along;
use crate::run::{Criteria, DescentState};
use crate::{
    DescentError, DescentMonitor, DescentOutcome, DescentReport, Direction, LineSearch, Norm, Refresh,
};

/// Minimises an objective: direction, step length, step, until a criterion is met.
///
/// Stops at ‖∇f‖ ≤ max(`stop.relative` ‖∇f(x₀)‖, `stop.absolute`) in the norm that [`norm`](Self::norm) says, at the other criteria that are set, or when nothing
/// helps any more; [`DescentReport::outcome`] says which. A step raises f by at most the noise of the
/// line search, 256 times its round-off unless set, and only where less than a few times that is to be gained. A direction
/// that does not descend, and one whose line search fails, is given up for a safer one ([`Direction::retreat`]), then tried
/// again with a new preconditioner, and only then the descent ends.
/// *Cost* per iteration: what the direction costs, a value a trial step, 1 gradient, 4 inner products in 2 waits (one more where the line search
/// asks for slopes), 5 passes; 4 vectors. After the first `minimize` of a length nothing is allocated here; what refreshing a preconditioner allocates is its own.
/// *Reference* Nocedal & Wright 2006, chapter 3.
///
/// ```
/// use coarsen_core::Stop;
/// use coarsen_optimize::{Backtracking, Descent, Lbfgs, Rosenbrock};
/// let mut x = vec![-1.2, 1.0];
/// let mut descent = Descent::new(Backtracking::default(), Stop::relative(1e-8));
/// let report = descent.minimize(&mut Rosenbrock, &mut Lbfgs::scaled(8), &mut x, &mut ())?.converged()?;
/// println!("{report}"); // outcome, iterations, evaluations, gradient, value
/// # Ok::<(), coarsen_optimize::DescentError>(())
/// ```
pub struct Descent<V: Vector, L> {
    /// How far along a direction.
    pub search: L,
    /// Tolerance of the gradient and budget of iterations; its looks are every iteration.
    pub stop: Stop<V::Real>,
    /// Converged when a step lowers f by at most this share of |f|; 0 asks for nothing.
    pub decrease: V::Real,
    /// Converged when a step is at most this long, ‖s‖₂ in the unit of x; 0 asks for nothing.
    pub step: V::Real,
    /// When the preconditioner of the direction is rebuilt.
    pub refresh: Refresh,
    /// The norm of the gradient that stops, refreshes, shows stagnation and is reported: Euclidean unless it is set.
    pub norm: Norm<V>,
    kept: Vec<V>,
}

impl<V: Vector, L: LineSearch<V::Real>> Descent<V, L> {
    /// The loop with a line search and a tolerance of the gradient; vectors are made at the first call.
    pub fn new(search: L, stop: Stop<V::Real>) -> Self {
        let zero = V::Real::of(0.0);
        Self {
            search,
            stop,
            decrease: zero,
            step: zero,
            refresh: Refresh::Never,
            norm: Norm::default(),
            kept: Vec::new(),
        }
    }

    /// Minimises f from x, which becomes the last point accepted: finite wherever the start was.
    ///
    /// The direction keeps what it learnt of f for the next call: tell it to [`forget`](Direction::forget) when f is another one then.
    ///
    /// # Errors
    /// [`DescentError`] for wrong parameters, failures of the machine, of a Hessian's assembly or a preconditioner's setup;
    /// what the mathematics did is in the report.
    pub fn minimize<F, D>(
        &mut self,
        f: &mut F,
        direction: &mut D,
        x: &mut V,
        monitor: &mut dyn DescentMonitor<V>,
    ) -> Result<DescentReport<V::Real>, DescentError>
    where
        F: Objective<V> + ?Sized,
        D: Direction<V, F> + ?Sized,
    {
        self.validate()?;
        self.norm.fits(x)?;
        direction.prepare(x)?;
        let inner_before = direction.inner_iterations();
        let criteria = Criteria { stop: self.stop, decrease: self.decrease, step: self.step };
        let [g, d, trial, g_trial] = vectors(&mut self.kept, x)?;
        let mut run = DescentState::begin(f, x, g, &mut self.norm, &criteria); // 1
        let outcome = loop {
            if let Some(outcome) = run.judge(&criteria, x, g, monitor) {
                break outcome;
            }
            run.refresh_if_due(self.refresh, f, direction, x)?;
            let found = match run.aim(f, direction, x, g, d)? {
                Ok(aim) => {
                    let mut phi = Along::new(f, x, d, trial, g_trial, &mut run.evaluations);
                    let searched = self.search.search(&mut phi, &aim.start); // 4
                    searched.map(|step| (aim, phi.settle(step))).map_err(DescentOutcome::LineSearchFailed)
                }
                Err(refusal) => Err(DescentOutcome::NoDirection(refusal)),
            };
            let (aim, (step, round_off)) = match found {
                Ok(found) => found,
                Err(_) if run.recover(f, direction, x)? => continue,
                Err(failure) => break failure,
            };

            if step.alpha != V::Real::of(1.0) {
                d.axpby(&x.scalar(V::Real::of(0.0)), g, &x.scalar(step.alpha)); // s = alpha d
            }
            g.axpby(&x.scalar(V::Real::of(1.0)), g_trial, &minus(x)); // y
            direction.learn(d, g, step.alpha);
            std::mem::swap(x, trial); // 5
            std::mem::swap(g, g_trial);
            run.advance(&criteria, &aim, (step, round_off), self.norm.of(g));
        };
        x.sync()?;
        Ok(run.report(outcome, direction.inner_iterations().saturating_sub(inner_before)))
    }

    fn validate(&self) -> Result<(), Error> {
        self.stop.validate()?;
        self.search.validate()?;
        for (name, value) in [("Descent::decrease", self.decrease), ("Descent::step", self.step)] {
            if value.is_nan() || value < V::Real::of(0.0) {
                return Err(Error::Parameter { name, value: value.wide(), range: "0 or more" });
            }
        }
        Ok(())
    }
}
