//! L-BFGS with any preconditioner as its initial inverse Hessian.
//!
//! | symbol | here | |
//! |---|---|---|
//! | s_a, y_a | `pair.s`, `pair.y` | a step, and the change of the gradient along it |
//! | ρ_a | `pair.rho` | 1 / (y_a, s_a) |
//! | q | `d` | the gradient, freed from what the pairs know |
//! | H₀ | `initial` | initial inverse Hessian |
//! | r | `r` | H q |
//! | α_a, β | `alpha`, `beta` | |
//! | γ | `gamma` | (s, y) / (y, y) of the newest pair |
//!
//! Step numbers at line ends are the lines of the two loops of Nocedal & Wright 2006, Algorithm 7.4.

use coarsen_core::{Dot, Identity, Preconditioner, Real, Vector};
use num_traits::Float;

use crate::direction::{cautious, minus, vectors};
use crate::{DescentError, Direction, Preconditioned, Proposal};

/// Limited-memory BFGS: d = −H ∇f, H made of H₀ and the last `window` steps.
///
/// H₀ is one application of a preconditioner of the Hessian: a multigrid cycle (Wang et al. 2020, Algorithm 3), multilevel
/// additive Schwarz, a direct factor of an old Hessian; it may vary. No scaling is put on top of it. Without one
/// ([`scaled`](Self::scaled)) H₀ = γ I. Pairs with (y, s) ≤ round-off carry no curvature and are left out, so that H stays
/// positive definite; after a failure all pairs are dropped.
/// *Use* as the first choice for large smooth problems: one gradient and one application of H₀ an iteration, no Hessian.
/// *Cost* 1 apply of H₀, 2 m reductions and 2 m axpby, none of which waits; 2 m + 1 vectors.
/// *Reference* Nocedal & Wright 2006, §7.2, Algorithm 7.4; Wang et al. 2020 (HOT), §5.1.
///
/// ```
/// use coarsen_core::Stop;
/// use coarsen_optimize::{Descent, Lbfgs, MoreThuente, Rosenbrock};
/// let mut x = vec![-1.2_f64, 1.0];
/// let mut descent = Descent::new(MoreThuente::default(), Stop::absolute(1e-9));
/// let report = descent.minimize(&mut Rosenbrock, &mut Lbfgs::scaled(8), &mut x, &mut ())?.converged()?;
/// assert!(report.iterations < 50 && (x[0] - 1.0).abs() < 1e-8);
/// # Ok::<(), coarsen_optimize::DescentError>(())
/// ```
pub struct Lbfgs<V: Vector, P> {
    /// H₀.
    pub initial: P,
    window: usize,
    gamma: Option<V::Real>,
    /// Storage of `window` pairs; the newest `count` of them are in use, the oldest first from `oldest`.
    pairs: Vec<Pair<V>>,
    oldest: usize,
    count: usize,
    alpha: Vec<V::Scalar>,
    r: Vec<V>,
}

struct Pair<V: Vector> {
    s: V,
    y: V,
    rho: V::Scalar,
}

impl<V: Vector> Lbfgs<V, Identity> {
    /// H₀ = γ I, with the γ of the newest pair: Nocedal & Wright 2006, (7.20).
    pub fn scaled(window: usize) -> Self {
        Self { gamma: Some(num_traits::one()), ..Self::new(window, Identity) }
    }
}

impl<V: Vector, P: Preconditioner<V>> Lbfgs<V, P> {
    /// The method with the memory of `window` steps (HOT: 8) around `initial`; 0 leaves `initial` alone.
    pub fn new(window: usize, initial: P) -> Self {
        let (pairs, alpha) = (Vec::with_capacity(window), Vec::with_capacity(window));
        Self { initial, window, gamma: None, pairs, oldest: 0, count: 0, alpha, r: Vec::new() }
    }

    /// Pairs in use.
    pub fn pairs(&self) -> usize {
        self.count
    }
}

impl<V: Vector, F: ?Sized, P: Preconditioner<V>> Direction<V, F> for Lbfgs<V, P> {
    fn propose(&mut self, _: &mut F, x: &V, g: &V, d: &mut V) -> Result<Proposal<V::Real>, DescentError> {
        let [r] = vectors(&mut self.r, x)?;
        let slot = |a: usize| (self.oldest + a) % self.window;
        d.copy(g); // 1
        self.alpha.clear();
        for a in (0..self.count).rev() {
            let Pair { s, y, rho } = &self.pairs[slot(a)];
            let alpha = rho.clone() * s.dot(d); // 3
            d.axpy(&-alpha.clone(), y); // 4
            self.alpha.push(alpha);
        }
        self.initial.apply(d, r); // 6
        if let Some(gamma) = self.gamma {
            d.copy(r);
            r.scaled(&g.scalar(gamma), d);
        }
        for a in 0..self.count {
            let Pair { s, y, rho } = &self.pairs[slot(a)];
            let beta = rho.clone() * y.dot(r); // 8
            let alpha = self.alpha[self.count - 1 - a].clone();
            r.axpy(&(alpha + -beta), s); // 9
        }
        d.scaled(&minus(g), r);
        let blind = self.gamma.is_some() && self.count == 0;
        Ok(if blind { Proposal::Scaled(cautious(g)) } else { Proposal::Unit })
    }

    fn learn(&mut self, s: &V, y: &V, _: V::Real) {
        let [sy_value, yy] = {
            let Dot { value, magnitude } = s.dot_magnitude(y);
            let yy = y.dot(y);
            let [value, magnitude, yy] = V::wait_for([&value, &magnitude, &yy]);
            let floor = V::Real::of(Dot::<V::Scalar>::ROUNDINGS) * V::Real::EPSILON * magnitude;
            if self.window == 0 || value.is_nan() || value <= floor || !yy.is_finite() {
                return; // no curvature
            }
            [value, yy]
        };
        let rho = s.scalar(sy_value.recip());
        let slot = (self.oldest + self.count) % self.window;
        if slot < self.pairs.len() {
            let pair = &mut self.pairs[slot];
            pair.s.copy(s);
            pair.y.copy(y);
            pair.rho = rho;
        } else {
            let (Ok(mut own_s), Ok(mut own_y)) = (s.like(), y.like()) else { return };
            own_s.copy(s);
            own_y.copy(y);
            self.pairs.push(Pair { s: own_s, y: own_y, rho });
        }
        if self.count == self.window {
            self.oldest = (self.oldest + 1) % self.window;
        } else {
            self.count += 1;
        }
        self.gamma = self.gamma.map(|_| sy_value / yy); // (7.20)
    }

    fn forget(&mut self) {
        (self.oldest, self.count) = (0, 0);
        self.gamma = self.gamma.map(|_| num_traits::one());
    }

    fn retreat(&mut self) -> bool {
        let had = self.count > 0;
        <Self as Direction<V, F>>::forget(self);
        had
    }
}

impl<V: Vector, P: Preconditioner<V>> Preconditioned<V> for Lbfgs<V, P> {
    type Inverse = P;

    fn inverse_mut(&mut self) -> &mut P {
        &mut self.initial
    }
}
