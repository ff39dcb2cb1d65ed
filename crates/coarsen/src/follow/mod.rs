//! Preconditioners that are updated during a descent to the current Hessian, for any objective that
//! implements [`SystemAt`].
//!
//! | file | type | contents |
//! |---|---|---|
//! | `follower` | [`Follower`] | a preconditioner of the system at x |
//! | | [`following`] | a direction whose preconditioner is a follower |
//! | `here` | [`Hosted`] | an objective and a follower, for Newton's method |
//! | `driver` | [`Driver`] | the drivers of a time step on a grid, by name |
//! | `stepper` | [`TimeStepper`] | a driver with its vectors, kept between the time steps |
//! | `placed` | [`Placed`] | `Hosted` with vectors and products on any backend |
//! | `newton_at` | [`NewtonAt`] | Newton's method on the host whose linear systems are solved on any backend |

mod driver;
mod follower;
mod here;
mod newton_at;
mod placed;
mod stepper;

use coarsen_optimize::DescentError;
use coarsen_sparse::SystemAt;

pub use driver::{Driver, Needs, UnknownDriver};
pub use follower::{Built, Follower, following};
pub use here::Hosted;
pub use newton_at::NewtonAt;
pub use placed::Placed;
pub use stepper::{TimeStepper, Unfit};

/// An objective from which a [`Follower`] gets the system and x on the host, for vectors of type V.
///
/// Implemented for `Vec<f64>` and every type with [`SystemAt`].
pub trait Follows<V> {
    /// The type that provides the system.
    type Host: SystemAt;

    /// Returns the provider of the system, and x on the host.
    ///
    /// # Errors
    /// The errors of the place of x.
    fn host_at<'a>(&'a mut self, x: &'a V) -> Result<(&'a mut Self::Host, &'a [f64]), DescentError>;
}

impl<F: SystemAt> Follows<Vec<f64>> for F {
    type Host = F;

    fn host_at<'a>(&'a mut self, x: &'a Vec<f64>) -> Result<(&'a mut F, &'a [f64]), DescentError> {
        Ok((self, x))
    }
}
