//! Soft bodies under any driver: a preconditioner that follows the Hessian.
//!
//! | file | type | what |
//! |---|---|---|
//! | `follower` | [`Follower`] | a preconditioner of the Hessian of a body |
//! | | [`following`] | a direction around a follower |
//! | `here` | [`Elastic`] | a body and a follower, for Newton's method |
//! | `placed` | [`Placed`] | the same, its vectors and products at any place |

mod follower;
mod here;
mod placed;

use coarsen_optimize::DescentError;
use coarsen_problems::{ImplicitEuler, Potential};

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

impl<P: Potential> HasBody<Vec<f64>> for ImplicitEuler<P> {
    type Potential = P;

    fn body_at<'a>(
        &'a mut self,
        x: &'a Vec<f64>,
    ) -> Result<(&'a mut ImplicitEuler<P>, &'a [f64]), DescentError> {
        Ok((self, x))
    }
}
