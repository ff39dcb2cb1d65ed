//! Nonlinear conjugate gradients.
//!
//! | symbol | here | |
//! |---|---|---|
//! | g | `g` | gradient |
//! | z | `z` | preconditioned gradient M⁻¹ g |
//! | y | | g − g_old |
//! | p | `p` | search direction |
//! | (g_old, z_old) | `rho` | |
//! | (g_old, p) | `slope` | |
//! | (p, M p) | `square` | |
//!
//! Since M is symmetric, (y, z) = (g, z) − (g, z_old) and (y, M⁻¹ y) = (g, z) − 2 (g, z_old) + (g_old,
//! z_old), so one reduction over g is enough. With p_new = −z + β p, (p_new, M p_new) = (g, z) − 2 β (g, p) +
//! β² (p, M p).

use coarsen_core::{Error, Preconditioner, PreconditionerKind, Real, Vector};
use num_traits::Float;

use crate::direction::{fits, minus, vectors};
use crate::{DescentError, Direction, Proposal};

/// The formula for β, the weight of the last direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Beta {
    /// Polak–Ribière: max(0, (y, z) / (g_old, z_old)), which restarts after bad steps. Nocedal & Wright 2006,
    /// (5.44), (5.45).
    PolakRibierePlus,
    /// Dai & Kou 2013, (2.11): (y, z) / (y, p) − (y, M⁻¹ y) (p, g) / (y, p)², but at least ½ (g, p) / (p, M
    /// p). Their τ and their lower bound are used. The direction is then closest to the self-scaled
    /// memoryless quasi-Newton direction.
    #[default]
    DaiKou,
}

/// Preconditioned nonlinear conjugate gradients: p = −z + β p.
///
/// On a quadratic function with exact line searches, both formulas for β give linear conjugate gradients. The
/// method restarts with p = −z after a refresh of the preconditioner, for a β that is not finite, and if (g,
/// p) ≥ −10⁻³ (g, z), since p then hardly descends. *Use* if memory is scarce or reductions are expensive,
/// with [`MoreThuente::tight`](crate::MoreThuente::tight) and a fixed symmetric M. [`Lbfgs`](crate::Lbfgs)
/// needs fewer evaluations. *Cost* of an iteration: 1 apply of M⁻¹, 1 reduction, 2 passes. *Memory*: 3
/// vectors. *Reference* Dai & Kou 2013, "A nonlinear conjugate gradient algorithm with an optimal property
/// and an improved Wolfe line search", SIAM J. Optim. 23(1); Nocedal & Wright 2006, §5.2.
///
/// ```
/// use coarsen_core::{Identity, Stop};
/// use coarsen_optimize::{Beta, Descent, MoreThuente, NonlinearCg, Rosenbrock};
/// let mut x = vec![-1.2_f64, 1.0];
/// let mut descent = Descent::new(MoreThuente::tight(), Stop::absolute(1e-8));
/// let mut ncg = NonlinearCg::new(Beta::DaiKou, Identity);
/// descent.minimize(&mut Rosenbrock, &mut ncg, &mut x)?.converged()?;
/// assert!((x[0] - 1.0).abs() < 1e-6);
/// # Ok::<(), coarsen_optimize::DescentError>(())
/// ```
pub struct NonlinearCg<V: Vector, P> {
    /// The formula for β.
    pub beta: Beta,
    inverse: P,
    kept: Vec<V>,
    last: Option<Last<V::Real>>,
}

/// The data of the last step.
struct Last<T> {
    rho: T,
    slope: T,
    square: T,
    /// Whether the last direction was −M⁻¹ g, so that no safer direction exists.
    restarted: bool,
}

/// η of the truncation of Dai & Kou.
const TRUNCATION: f64 = 0.5;

/// The method restarts unless (g, p) is below this fraction of −(g, z).
const DESCENT: f64 = 1e-3;

impl<V: Vector, P: Preconditioner<V>> NonlinearCg<V, P> {
    /// Returns the method with a formula for β and a preconditioner.
    pub fn new(beta: Beta, inverse: P) -> Self {
        Self { beta, inverse, kept: Vec::new(), last: None }
    }

    /// Restarts: the next direction is −M⁻¹ g. Call this function when the objective changes.
    pub fn forget(&mut self) {
        self.last = None;
    }

    /// The preconditioner, applied as M⁻¹, to change it: the method restarts.
    pub fn inverse_mut(&mut self) -> &mut P {
        self.forget(); // rho and slope refer to the old preconditioner
        &mut self.inverse
    }
}

impl<V: Vector, F: ?Sized, P: Preconditioner<V>> Direction<V, F> for NonlinearCg<V, P> {
    fn prepare(&mut self, x: &V) -> Result<(), DescentError> {
        fits(&self.inverse, x)?;
        vectors::<V, 3>(&mut self.kept, x)?;
        Ok(())
    }

    fn propose(&mut self, _: &mut F, x: &V, g: &V, d: &mut V) -> Result<Proposal<V::Real>, DescentError> {
        let found = self.inverse.kind();
        if found > PreconditionerKind::Symmetric {
            let (method, needed) = ("NonlinearCg", PreconditionerKind::Symmetric);
            return Err(Error::Preconditioner { method, needed, found }.into());
        }
        let [z, z_old, p] = vectors(&mut self.kept, x)?;
        self.inverse.apply(g, z);
        let dots = g.dots([z, z_old, p]);
        let [gz, gz_old, gp] = V::wait_for([&dots[0], &dots[1], &dots[2]]);

        let restart = V::Real::from_f64(0.0);
        let mut beta = match &self.last {
            None => restart,
            Some(Last { rho, slope, square, .. }) => {
                let (yz, yp) = (gz - gz_old, gp - *slope);
                match self.beta {
                    Beta::PolakRibierePlus => (yz / *rho).max(restart),
                    Beta::DaiKou => {
                        let beta = (yz - (yz - gz_old + *rho) * gp / yp) / yp;
                        let least = V::Real::from_f64(TRUNCATION) * gp / *square;
                        if beta < least { least } else { beta } // NaN stays and causes a restart
                    }
                }
            }
        };
        let mut slope = beta * gp - gz;
        if !slope.is_finite() || slope > -V::Real::from_f64(DESCENT) * gz {
            (beta, slope) = (restart, -gz);
        }
        let restarted = beta == restart;
        p.axpby(&minus(g), z, &g.scalar(beta));
        d.copy(p);
        std::mem::swap(z, z_old);
        let before = self.last.as_ref().map_or(restart, |last| last.square);
        // The old p is not used after a restart: it may be NaN.
        let square = if restarted { gz } else { gz - (beta + beta) * gp + beta * beta * before };
        self.last = Some(Last { rho: gz, slope, square, restarted });
        Ok(Proposal::Scaled(num_traits::one()))
    }

    fn forget(&mut self) {
        self.forget();
    }

    fn fall_back(&mut self) -> bool {
        // `last` belongs to the refused proposal.
        self.last.take().is_some_and(|last| !last.restarted)
    }
}
