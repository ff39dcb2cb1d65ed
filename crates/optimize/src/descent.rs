//! The descent loop.
//!
//! | symbol | here | |
//! |---|---|---|
//! | x | `x` | iterate |
//! | g | `g` | ∇f(x) |
//! | d | `d` | direction, and later the step s = α d |
//! | y | | change of the gradient, stored in place of the old gradient |
//! | φ′(0) | `slope` | g·d |
//!
//! Step numbers at line ends are the lines of the general descent method, Xian, Tong & Liu 2019, Algorithm 1.

use std::cell::RefCell;
use std::ops::ControlFlow;

use coarsen_core::{Error, Objective, Real, Stop, Vector};
use num_traits::Float;

use crate::direction::{minus, vectors};
use crate::ray::Along;
use crate::run::{Criteria, DescentState};
use crate::{
    Criterion, DescentError, DescentMonitor, DescentOutcome, DescentReport, Direction, LineSearch, Norm,
    Refresh,
};

/// Minimises an objective by repeated steps along descent directions, until a criterion is met.
///
/// The descent stops at ‖∇f‖ ≤ max(`stop.relative` ‖∇f(x₀)‖, `stop.absolute`) in the norm
/// [`norm`](Self::norm), if another enabled criterion is met, or if no step succeeds.
/// [`DescentReport::outcome`] gives the reason. A step can increase f only if the predicted decrease is less
/// than a few times the noise of the line search, and then by at most this noise, by default 256 times the
/// round-off of f. If a direction does not descend or its line search fails, a safer direction is used
/// ([`Direction::fall_back`]). If no safer direction exists, the preconditioner is rebuilt and the step is
/// tried again. If that fails too, the descent ends. *Cost* per iteration: the cost of the direction, a value
/// per trial step, 1 gradient, 4 inner products, 5 passes. Where numbers stay on a device: 2 synchronisations, 1 more for
/// each further trial and each further slope, and one inner product more, since the gradient at the first
/// trial is computed with its value. *Memory*: 4 vectors. After a call for the largest size, `minimize` allocates nothing, but
/// refreshing a preconditioner may allocate. *Reference* Nocedal & Wright 2006, chapter 3.
///
/// ```
/// use coarsen_core::Stop;
/// use coarsen_optimize::{Backtracking, Descent, Lbfgs, Rosenbrock};
/// let mut x = vec![-1.2, 1.0];
/// let mut descent = Descent::new(Backtracking::default(), Stop::relative(1e-8));
/// let report = descent.minimize(&mut Rosenbrock, &mut Lbfgs::scaled(8), &mut x)?.converged()?;
/// println!("{report}"); // outcome, iterations, evaluations, gradient, value
/// # Ok::<(), coarsen_optimize::DescentError>(())
/// ```
pub struct Descent<V: Vector, L> {
    /// The line search.
    pub search: L,
    /// The tolerance for the gradient and the limit on iterations. Both are tested in every iteration.
    pub stop: Stop<V::Real>,
    /// A step that decreases f by at most this fraction of |f| counts as convergence; 0 disables the
    /// criterion.
    pub decrease: V::Real,
    /// A step s with at most this ‖s‖₂, in the unit of x, counts as convergence; 0 disables the criterion.
    pub step: V::Real,
    /// The policy for rebuilding the preconditioner of the direction.
    pub refresh: Refresh,
    /// The least number of steps before the gradient is tested, 0 by default. A zero gradient, or a start from which no
    /// step lowers f, ends at once. *Use* if the tolerance is relative to something much larger than the gradients of
    /// interest.
    pub least_iterations: usize,
    /// The norm of gradients for stopping, refreshing, stagnation and the report; Euclidean by default.
    pub norm: Norm<V>,
    kept: Vec<V>,
}

impl<V: Vector, L: LineSearch<V::Real>> Descent<V, L> {
    /// Returns the loop with a line search and a tolerance for the gradient. Vectors are allocated in the
    /// first call of [`minimize`](Self::minimize).
    pub fn new(search: L, stop: Stop<V::Real>) -> Self {
        let zero = V::Real::from_f64(0.0);
        Self {
            search,
            stop,
            decrease: zero,
            step: zero,
            refresh: Refresh::Never,
            least_iterations: 0,
            norm: Norm::default(),
            kept: Vec::new(),
        }
    }

    /// Minimises f from x and sets x to the last accepted point, which is finite if the start is finite.
    ///
    /// The direction keeps its data about f for the next call; call [`forget`](Direction::forget) before a
    /// call with another function.
    ///
    /// # Errors
    /// [`DescentError`] for parameters outside their range, and for failures of the machine, of the assembly
    /// of a Hessian or of the setup of a preconditioner. All other outcomes are in the report.
    pub fn minimize<F, D>(
        &mut self,
        f: &mut F,
        direction: &mut D,
        x: &mut V,
    ) -> Result<DescentReport<V::Real>, DescentError>
    where
        F: Objective<V> + ?Sized,
        D: Direction<V, F> + ?Sized,
    {
        self.minimize_with(f, direction, x, &mut |_| ControlFlow::Continue(()))
    }

    /// As [`minimize`](Self::minimize), and calls `monitor` at every iterate.
    ///
    /// # Errors
    /// As [`minimize`](Self::minimize).
    pub fn minimize_with<F, D>(
        &mut self,
        f: &mut F,
        direction: &mut D,
        x: &mut V,
        monitor: &mut DescentMonitor<'_, V>,
    ) -> Result<DescentReport<V::Real>, DescentError>
    where
        F: Objective<V> + ?Sized,
        D: Direction<V, F> + ?Sized,
    {
        self.validate()?;
        self.norm.fits(x)?;
        direction.prepare(x)?;
        let inner_before = direction.inner_iterations();
        let Self { stop, decrease, step, least_iterations: least, .. } = *self;
        let criteria = Criteria { stop, decrease, step, least };
        let [g, d, trial, g_trial] = vectors(&mut self.kept, x)?;
        let mut run = DescentState::begin(f, x, g, &mut self.norm, &criteria); // 1
        let outcome = loop {
            if let Some(outcome) = run.judge(&criteria, x, g, monitor) {
                break outcome;
            }
            run.refresh_if_due(self.refresh, f, direction, x)?;
            let found = match run.aim(f, direction, x, g, d)? {
                Ok(aim) => {
                    let along = Along::new(f, x, d, trial, g_trial, &mut self.norm, &mut run.evaluations);
                    let along = RefCell::new(along);
                    let mut phi = |alpha| along.borrow_mut().value(alpha);
                    let mut dphi = |alpha| along.borrow_mut().slope(alpha);
                    let searched = self.search.search(&mut phi, &mut dphi, &aim.start); // 4
                    let settled = searched.map(|step| (aim, along.into_inner().settle(step)));
                    settled.map_err(DescentOutcome::LineSearchFailed)
                }
                Err(refusal) => Err(DescentOutcome::NoDirection(refusal)),
            };
            let (aim, reached) = match found {
                Ok(found) => found,
                Err(_) if run.recover(f, direction, x)? => continue,
                Err(_) if run.is_within() => break DescentOutcome::Converged(Criterion::Gradient),
                Err(failure) => break failure,
            };

            let alpha = reached.0.alpha;
            if alpha != V::Real::from_f64(1.0) {
                d.axpby(&x.scalar(V::Real::from_f64(0.0)), g, &x.scalar(alpha)); // s = alpha d
            }
            g.axpby(&x.scalar(V::Real::from_f64(1.0)), g_trial, &minus(x)); // y
            direction.learn(d, g, alpha);
            std::mem::swap(x, trial); // 5
            std::mem::swap(g, g_trial);
            run.advance(&criteria, &aim, reached);
        };
        x.sync()?;
        Ok(run.report(outcome, direction.inner_iterations().saturating_sub(inner_before)))
    }

    fn validate(&self) -> Result<(), Error> {
        self.stop.validate()?;
        self.search.validate()?;
        for (name, value) in [("Descent::decrease", self.decrease), ("Descent::step", self.step)] {
            if value.is_nan() || value < V::Real::from_f64(0.0) {
                return Err(Error::Parameter { name, value: value.as_f64(), range: "0 or more" });
            }
        }
        Ok(())
    }
}
