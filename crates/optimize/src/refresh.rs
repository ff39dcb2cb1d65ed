//! Policies for rebuilding the preconditioner of a descent.

use coarsen_core::{Real, Vector};

use crate::{DescentError, Direction, Proposal};

/// The policy by which the driver rebuilds the preconditioner of its direction from the curvature at the
/// current x.
///
/// All policies rebuild an old preconditioner after a failure: if the line search also fails for every safer
/// direction, the preconditioner is rebuilt and the step is tried again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refresh {
    /// Only after a failure. *Use* if the caller refreshes or the preconditioner is constant.
    #[default]
    Never,
    /// Before the first iteration of every `minimize`: once per time step (Wang et al. 2020, Algorithm 3).
    AtStart,
    /// Before iterations 0, k, 2k, …; 0 counts as 1 (Wu, Wang & Wang 2022, §4.3: 8).
    Every(usize),
    /// Before the first iteration, and when convergence has slowed down. The reduction of ‖∇f‖ over every n
    /// iterations is compared with the reduction over the first n iterations after the last refresh, both in
    /// orders of magnitude. The preconditioner is rebuilt if ‖∇f‖ rose or if the reduction is less than half
    /// as large; 0 counts as 1.
    WhenSlower(usize),
}

/// The age of the preconditioner, and the contraction measured for [`Refresh::WhenSlower`].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pace {
    /// The iteration of the last refresh; `None` before the first refresh of this descent.
    born: Option<usize>,
    /// One plus the last tested iteration. An iteration that is repeated is not tested again.
    judged: usize,
    /// log ‖∇f‖ at the start of the current n iterations.
    mark: f64,
    /// The change of log ‖∇f‖ over the first n iterations after a refresh.
    first: f64,
}

impl Pace {
    /// Whether the policy requires a refresh before iteration `k`, at gradient norm `norm`.
    pub(crate) fn due<T: Real>(&mut self, policy: Refresh, k: usize, norm: T) -> bool {
        if self.judged > k {
            return false;
        }
        self.judged = k + 1;
        let due = match policy {
            Refresh::Never => false,
            Refresh::AtStart => k == 0,
            Refresh::Every(n) => k.is_multiple_of(n.max(1)),
            Refresh::WhenSlower(n) => {
                k == 0 || self.slower(n.max(1), k - self.born.unwrap_or(0), norm.as_f64().ln())
            }
        };
        if due {
            self.renewed(k, norm);
        }
        due
    }

    /// Records that the preconditioner was rebuilt in iteration `k`.
    pub(crate) fn renewed<T: Real>(&mut self, k: usize, norm: T) {
        *self = Self { born: Some(k), judged: k + 1, mark: norm.as_f64().ln(), first: 0.0 };
    }

    /// Whether the preconditioner is older than iteration `k`, or of unknown age.
    pub(crate) fn stale(&self, k: usize) -> bool {
        self.born.is_none_or(|born| k > born)
    }

    fn slower(&mut self, stretch: usize, age: usize, log: f64) -> bool {
        if age == 0 || !age.is_multiple_of(stretch) {
            return false;
        }
        let change = log - std::mem::replace(&mut self.mark, log);
        if age == stretch {
            self.first = change;
        }
        change >= 0.0 || change > 0.5 * self.first
    }
}

/// A direction whose preconditioner is rebuilt: `update(f, x, direction)` rebuilds it from the curvature of f at x
/// and returns whether it changed.
///
/// [`Descent::refresh`](crate::Descent::refresh) determines when `update` is called. Newton's method does not
/// need this wrapper, since [`Linearize`](crate::Linearize) rebuilds its preconditioner.
///
/// ```
/// use coarsen_core::{Identity, Stop};
/// use coarsen_optimize::{Backtracking, Descent, Lbfgs, Refresh, Refreshed, Rosenbrock};
/// let mut built = 0;
/// let mut lbfgs = Refreshed::new(Lbfgs::new(8, Identity), |_: &mut Rosenbrock, _: &Vec<f64>, _| {
///     built += 1; // assemble the Hessian of the first, update the preconditioner of the third from it
///     Ok(true)
/// });
/// let mut descent = Descent::new(Backtracking::default(), Stop::absolute(1e-8));
/// descent.refresh = Refresh::Every(8);
/// let mut x = vec![-1.2, 1.0];
/// let report = descent.minimize(&mut Rosenbrock, &mut lbfgs, &mut x)?.converged()?;
/// assert_eq!(report.refreshes, built);
/// # Ok::<(), coarsen_optimize::DescentError>(())
/// ```
pub struct Refreshed<D, U> {
    /// The direction.
    pub direction: D,
    update: U,
}

impl<D, U> Refreshed<D, U> {
    /// Returns `direction` with its preconditioner rebuilt by `update`.
    pub fn new<V, F: ?Sized>(direction: D, update: U) -> Self
    where
        U: FnMut(&mut F, &V, &mut D) -> Result<bool, DescentError>,
    {
        Self { direction, update }
    }
}

impl<V, F, D, U> Direction<V, F> for Refreshed<D, U>
where
    V: Vector,
    F: ?Sized,
    D: Direction<V, F>,
    U: FnMut(&mut F, &V, &mut D) -> Result<bool, DescentError>,
{
    fn propose(&mut self, f: &mut F, x: &V, g: &V, d: &mut V) -> Result<Proposal<V::Real>, DescentError> {
        self.direction.propose(f, x, g, d)
    }
    fn prepare(&mut self, x: &V) -> Result<(), DescentError> {
        self.direction.prepare(x)
    }
    fn learn(&mut self, s: &V, y: &V, alpha: V::Real) {
        self.direction.learn(s, y, alpha);
    }
    fn learn_from_other(&mut self, s: &V, y: &V) {
        self.direction.learn_from_other(s, y);
    }
    fn forget(&mut self) {
        self.direction.forget();
    }
    fn fall_back(&mut self) -> bool {
        self.direction.fall_back()
    }
    fn inner_iterations(&self) -> usize {
        self.direction.inner_iterations()
    }
    fn refresh(&mut self, f: &mut F, x: &V) -> Result<bool, DescentError> {
        (self.update)(f, x, &mut self.direction)
    }
}
