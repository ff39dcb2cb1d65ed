//! Preconditioned gradient descent with Chebyshev acceleration.
//!
//! | symbol | here | |
//! |---|---|---|
//! | q_k | | the k-th iterate |
//! | P | `inverse` | preconditioner, as P⁻¹ |
//! | α | `tau` | step along −P⁻¹ g |
//! | ω | `omega` | weight of the last step |
//! | ρ | `radius` | estimate of the spectral radius of the plain iteration |
//!
//! The update of the paper, q_{k+1} = ω (q_k − α P⁻¹ g − q_{k−1}) + q_{k−1}, is written here as a step d = −ω
//! α P⁻¹ g + (ω − 1)(q_k − q_{k−1}) from q_k.

use coarsen_core::{Preconditioner, Real, Vector};
use num_traits::Float;

use crate::direction::{fits, vectors};
use crate::line_search::within;
use crate::{DescentError, Direction, Proposal};

/// Accelerated gradient descent: a preconditioned gradient step plus a multiple of the last step.
///
/// The weights ω₁ = 1, ω₂ = 2 / (2 − ρ²), ω_{k+1} = 4 / (4 − ρ² ω_k) are those of the Chebyshev
/// semi-iteration. For ρ near 1 the method is gradient descent with heavy-ball momentum. The step length α
/// adapts to the line search. It shrinks after every shortened step, including steps that a bound of the
/// objective shortens, and otherwise grows slowly. α is kept when P changes. *Deviation*: the authors test
/// the energy in every eighth iteration and return to a copy if it has risen. Here every step has a line
/// search. The acceleration restarts (O'Donoghue & Candès 2015, §3.2) if the direction does not descend,
/// after a shortened step, and after a failure. So a ρ that is too large costs little. *Use* on devices where
/// reductions are expensive; otherwise use [`Lbfgs`](crate::Lbfgs), which needs no ρ. *Cost* of an iteration:
/// 1 apply of P⁻¹, 1 reduction, 3 passes. *Memory*: 2 vectors. *Reference* Wang & Yang 2016, "Descent methods
/// for elastic body simulation on the GPU", ACM TOG 35(6), §4; Wang 2015.
///
/// ```
/// use coarsen_core::{Identity, Stop};
/// use coarsen_optimize::{AcceleratedGradient, Backtracking, Descent, Rosenbrock};
/// let mut x = vec![-1.2_f64, 1.0];
/// let mut descent = Descent::new(Backtracking::default(), Stop::absolute(1e-6));
/// descent.minimize(&mut Rosenbrock, &mut AcceleratedGradient::new(0.99, Identity), &mut x)?.converged()?;
/// assert!((x[0] - 1.0).abs() < 1e-4);
/// # Ok::<(), coarsen_optimize::DescentError>(())
/// ```
pub struct AcceleratedGradient<V: Vector, P> {
    /// The preconditioner, applied as P⁻¹.
    pub inverse: P,
    /// ρ, in [0, 1).
    pub radius: V::Real,
    tau: V::Real,
    omega: Omega<V::Real>,
    kept: Vec<V>,
}

/// The position in the sequence of weights.
#[derive(Clone, Copy)]
enum Omega<T> {
    /// The next weight is ω₁ = 1, and the last step is not used.
    First,
    /// The weight ω of the last iteration.
    After(T),
}

/// The growth factor of α after a step that was not shortened.
const GROWTH: f64 = 1.05;

/// The momentum is kept only if (g, d) is below this multiple of −α (g, P⁻¹ g).
const DESCENT: f64 = 1e-2;

impl<V: Vector, P: Preconditioner<V>> AcceleratedGradient<V, P> {
    /// Returns the method with ρ = `radius`, in [0, 1). The authors tune ρ by hand, between 0.99 and 0.9999.
    pub fn new(radius: V::Real, inverse: P) -> Self {
        Self { inverse, radius, tau: num_traits::one(), omega: Omega::First, kept: Vec::new() }
    }

    /// Drops the momentum; call this function when the objective changes. α is kept, since the next step of a
    /// simulation has the same scale.
    pub fn forget(&mut self) {
        self.omega = Omega::First;
    }
}

impl<V: Vector, F: ?Sized, P: Preconditioner<V>> Direction<V, F> for AcceleratedGradient<V, P> {
    fn prepare(&mut self, x: &V) -> Result<(), DescentError> {
        fits(&self.inverse, x)?;
        let (radius, one) = (self.radius, V::Real::from_f64(1.0));
        let range = "0 or more, and below 1";
        within(
            "AcceleratedGradient::radius",
            radius,
            radius >= V::Real::from_f64(0.0) && radius < one,
            range,
        )?;
        vectors::<V, 2>(&mut self.kept, x)?;
        Ok(())
    }

    fn propose(&mut self, _: &mut F, x: &V, g: &V, d: &mut V) -> Result<Proposal<V::Real>, DescentError> {
        let [z, s] = vectors(&mut self.kept, x)?;
        self.inverse.apply(g, z);
        let dots = g.dots([z, s]);
        let [gz, gs] = V::wait_for([&dots[0], &dots[1]]);
        let (one, square) = (V::Real::from_f64(1.0), self.radius * self.radius);
        let mut omega = match self.omega {
            Omega::First => one,
            Omega::After(omega) if omega == one => V::Real::from_f64(2.0) / (V::Real::from_f64(2.0) - square),
            Omega::After(omega) => V::Real::from_f64(4.0) / (V::Real::from_f64(4.0) - square * omega),
        };
        let slope = (omega - one) * gs - omega * self.tau * gz;
        if slope.is_nan() || slope > -V::Real::from_f64(DESCENT) * self.tau * gz {
            omega = one;
        }
        d.scaled(&g.scalar(-omega * self.tau), z);
        if omega != one {
            d.axpy(&g.scalar(omega - one), s);
        }
        self.omega = Omega::After(omega);
        Ok(Proposal::Unit)
    }

    fn learn(&mut self, s: &V, _: &V, alpha: V::Real) {
        let one = V::Real::from_f64(1.0);
        if alpha < one {
            self.tau *= alpha.max(V::Real::from_f64(0.1));
            self.omega = Omega::First;
        } else {
            self.tau *= V::Real::from_f64(GROWTH);
        }
        if let [_, kept] = &mut self.kept[..] {
            kept.copy(s);
        }
    }

    /// A step of another direction restarts the acceleration and does not change α.
    fn learn_from_other(&mut self, _: &V, _: &V) {
        self.omega = Omega::First;
    }

    fn forget(&mut self) {
        self.forget();
    }

    fn fall_back(&mut self) -> bool {
        let accelerated = matches!(self.omega, Omega::After(omega) if omega != V::Real::from_f64(1.0));
        self.omega = Omega::First;
        accelerated
    }
}
