//! L-BFGS with any preconditioner as its initial inverse Hessian.
//!
//! | symbol | here | |
//! |---|---|---|
//! | s_a, y_a | `pair.s`, `pair.y` | a step, and the change of the gradient along it |
//! | ρ_a | `pair.rho` | 1 / (y_a, s_a) |
//! | q | `d` | the gradient after the first loop |
//! | H₀ | `initial` | initial inverse Hessian |
//! | r | `r` | H g |
//! | γ | `gamma` | (s, y) / (y, y) of the newest pair |
//!
//! | file | what |
//! |---|---|
//! | `pairs` | the stored steps |
//! | `two_loop` | H g by two loops, with separate or gathered reductions |

mod pairs;
mod two_loop;

use coarsen_core::{Dot, Identity, Preconditioner, Real, Vector};
use num_traits::Float;

use self::pairs::Pairs;
use crate::direction::{cautious, fits, minus, vectors};
use crate::{DescentError, Direction, Proposal};

/// Limited-memory BFGS: d = −H ∇f, where H is computed from H₀ and the last `window` steps.
///
/// H₀ is one application of a preconditioner of the Hessian, for example a multigrid cycle (Wang et al. 2020,
/// Algorithm 3), multilevel additive Schwarz, or a direct factorisation of an old Hessian. H₀ may vary, and
/// it is not scaled. Without a preconditioner ([`scaled`](Self::scaled)) H₀ = γ I. Pairs with (y, s) ≤
/// round-off have no curvature and are skipped, so that H stays positive definite. After a failure all pairs
/// are dropped. *Use* as the first choice for large smooth problems. An iteration needs one gradient and one
/// application of H₀, but no Hessian. *Cost* of an iteration with m pairs: 1 apply of H₀, 2 m reductions and
/// 2 m axpby, without synchronisation. *Memory*: 2 `window` + 1 vectors, allocated before the first step. *Reference*
/// Nocedal & Wright 2006, §7.2, Algorithm 7.4; Wang et al. 2020 (HOT), §5.1.
///
/// ```
/// use coarsen_core::Stop;
/// use coarsen_optimize::{Descent, Lbfgs, MoreThuente, Rosenbrock};
/// let mut x = vec![-1.2_f64, 1.0];
/// let mut descent = Descent::new(MoreThuente::default(), Stop::absolute(1e-9));
/// let report = descent.minimize(&mut Rosenbrock, &mut Lbfgs::scaled(8), &mut x)?.converged()?;
/// assert!(report.iterations < 50 && (x[0] - 1.0).abs() < 1e-8);
/// # Ok::<(), coarsen_optimize::DescentError>(())
/// ```
pub struct Lbfgs<V: Vector, P> {
    /// The initial inverse Hessian H₀.
    pub initial: P,
    gathered: bool,
    gamma: Option<V::Real>,
    pairs: Pairs<V>,
    alphas: Vec<V::Scalar>,
    numbers: Vec<V::Real>,
    r: Vec<V>,
}

impl<V: Vector> Lbfgs<V, Identity> {
    /// Returns the method with H₀ = γ I and the γ of the newest pair: Nocedal & Wright 2006, (7.20).
    pub fn scaled(window: usize) -> Self {
        Self { gamma: Some(num_traits::one()), ..Self::new(window, Identity) }
    }
}

impl<V: Vector, P: Preconditioner<V>> Lbfgs<V, P> {
    /// Returns the method with H₀ = `initial` and the last `window` steps (HOT: 8). With 0 steps, H = H₀.
    pub fn new(window: usize, initial: P) -> Self {
        let numbers = vec![V::Real::from_f64(0.0); 2 * window];
        let (pairs, alphas) = (Pairs::new(window), Vec::with_capacity(window));
        Self { initial, gathered: false, gamma: None, pairs, alphas, numbers, r: Vec::new() }
    }

    /// Gathers inner products: a direction needs two reductions instead of 2 m, and each step needs one more.
    /// This pays off if a reduction costs more than a pass. The direction is the same up to round-off. Stored
    /// pairs are dropped.
    pub fn gathering(mut self) -> Self {
        self.gathered = true;
        self.forget();
        self
    }

    /// Allocates pairs of vectors like x; pairs and γ of another layout are dropped, and memory is kept.
    fn reserve(&mut self, x: &V) -> Result<(), DescentError> {
        let known = self.pairs.len();
        let prepared = self.pairs.prepare(x);
        if self.pairs.len() < known {
            self.gamma = self.gamma.map(|_| num_traits::one());
        }
        Ok(prepared?)
    }

    /// Drops all pairs and γ; call this function when the objective changes.
    pub fn forget(&mut self) {
        self.pairs.clear();
        self.gamma = self.gamma.map(|_| num_traits::one());
    }
}

impl<V: Vector, F: ?Sized, P: Preconditioner<V>> Direction<V, F> for Lbfgs<V, P> {
    fn prepare(&mut self, x: &V) -> Result<(), DescentError> {
        fits(&self.initial, x)?;
        self.reserve(x)?;
        vectors::<V, 1>(&mut self.r, x)?;
        Ok(())
    }

    fn propose(&mut self, _: &mut F, x: &V, g: &V, d: &mut V) -> Result<Proposal<V::Real>, DescentError> {
        self.reserve(x)?;
        let [r] = vectors(&mut self.r, x)?;
        d.copy(g); // 1
        if self.gathered {
            two_loop::gathered(&self.pairs, &mut self.initial, self.gamma, &mut self.numbers, d, r);
        } else {
            two_loop::in_sequence(&self.pairs, &mut self.initial, self.gamma, &mut self.alphas, d, r);
        }
        d.scaled(&minus(g), r);
        let blind = self.gamma.is_some() && self.pairs.len() == 0;
        Ok(if blind { Proposal::Scaled(cautious(g)) } else { Proposal::Unit })
    }

    fn learn(&mut self, s: &V, y: &V, _: V::Real) {
        <Self as Direction<V, F>>::learn_from_other(self, s, y);
    }

    /// The pair of a step is useful, whichever direction proposed the step.
    fn learn_from_other(&mut self, s: &V, y: &V) {
        let (sy, yy) = (s.dot_magnitude(y), y.dot(y));
        let [sy, magnitude, yy] = V::wait_for([&sy.value, &sy.magnitude, &yy]);
        let round_off = V::Real::from_f64(Dot::<V::Scalar>::ROUNDINGS) * V::Real::EPSILON * magnitude;
        if !self.pairs.is_prepared() || sy.is_nan() || sy <= round_off || !yy.is_finite() {
            return; // no curvature
        }
        self.pairs.push(s, y, sy.recip());
        if self.gathered {
            self.pairs.multiply();
        }
        self.gamma = self.gamma.map(|_| sy / yy); // (7.20)
    }

    fn forget(&mut self) {
        self.forget();
    }

    fn fall_back(&mut self) -> bool {
        let had = self.pairs.len() > 0;
        self.forget();
        had
    }
}
