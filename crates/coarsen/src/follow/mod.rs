//! Soft bodies under any driver: a preconditioner that follows the Hessian.
//!
//! | file | type | what |
//! |---|---|---|
//! | `follower` | [`Follower`] | a preconditioner of the Hessian of a body |
//! | | [`following`] | a direction around a follower |
//! | `here` | [`Elastic`] | a body and a follower, for Newton's method |
//! | `placed` | [`Placed`] | the same, its vectors and products at any place |
//! | | [`characteristic_norm`] | forces measured by the stiffness around them |

mod follower;
mod here;
mod placed;

use coarsen_core::Error;
use coarsen_elastic::{ImplicitEuler, Potential};
use coarsen_optimize::{DescentError, ScaledNorm};

pub use follower::{Built, Follower, following};
pub use here::Elastic;
pub use placed::Placed;

/// What has a body whose Hessian a preconditioner can follow, under vectors of type V.
pub trait HasBody<V> {
    /// Its energy.
    type Potential: Potential;

    /// The body, and x as the body takes it.
    ///
    /// # Errors
    /// Those of the place where x is.
    fn body_at<'a>(
        &'a mut self,
        x: &'a V,
    ) -> Result<(&'a mut ImplicitEuler<Self::Potential>, &'a [f64]), DescentError>;
}

/// The node-wise characteristic norm of Wang et al. 2020 (HOT), Eq. 9: every force is measured by the stiffness around its node, so that `tolerance` is a
/// strain per node, in stiff and in soft parts alike (1e-7 in their §7.1).
///
/// It takes the place of the tolerance of the gradient: give [`Descent`](coarsen_optimize::Descent) one of 0 beside it.
///
/// ```
/// use coarsen::follow::characteristic_norm;
/// use coarsen::prelude::*;
/// use coarsen::problems::Scene;
/// let Scene { mut body, start: mut x } = Scene::bar_step(2, [1e5, 1e8], 1.0 / 30.0)?; // the middle is a thousand times stiffer
/// let mut norm = characteristic_norm(&body, 1e-5)?;
/// let mut descent = Descent::new(Backtracking::default(), Stop::relative(0.0));
/// let m = BlockJacobi::default().build(body.hessian(&x), &Cpu::new())?;
/// descent.minimize(&mut body, &mut Lbfgs::new(8, m), &mut x, &mut norm)?.converged()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Error::Parameter`] for a tolerance below 0 or NaN.
pub fn characteristic_norm<P: Potential>(
    body: &ImplicitEuler<P>,
    tolerance: f64,
) -> Result<ScaledNorm<Vec<f64>>, Error> {
    let forces = body.characteristic();
    let weights = forces.iter().flat_map(|c| [1.0 / c; 3]).collect();
    ScaledNorm::new(weights, tolerance * (forces.len() as f64).sqrt())
}

impl<P: Potential> HasBody<Vec<f64>> for ImplicitEuler<P> {
    type Potential = P;

    fn body_at<'a>(
        &'a mut self,
        x: &'a Vec<f64>,
    ) -> Result<(&'a mut ImplicitEuler<P>, &'a [f64]), DescentError> {
        Ok((self, x))
    }
}
