//! Preconditioners that follow an objective under any driver of descent: bodies, cloth, whatever has a [`SystemAt`].
//!
//! | file | type | what |
//! |---|---|---|
//! | `follower` | [`Follower`] | a preconditioner of the system at x |
//! | | [`following`] | a direction around a follower |
//! | `here` | [`Hosted`] | an objective and a follower, for Newton's method |
//! | `placed` | [`Placed`] | the same, its vectors and products at any place |

mod follower;
mod here;
mod placed;

use coarsen_optimize::DescentError;
use coarsen_sparse::SystemAt;

pub use follower::{Built, Follower, following};
pub use here::Hosted;
pub use placed::Placed;

/// What a preconditioner can follow under vectors of type V: it knows who has the system, and x on the host.
///
/// Whatever has [`SystemAt`] is followed under `Vec<f64>`.
pub trait Follows<V> {
    /// Who has the system.
    type Host: SystemAt;

    /// The same, and x as it takes it.
    ///
    /// # Errors
    /// Those of the place where x is.
    fn host_at<'a>(&'a mut self, x: &'a V) -> Result<(&'a mut Self::Host, &'a [f64]), DescentError>;
}

impl<F: SystemAt> Follows<Vec<f64>> for F {
    type Host = F;

    fn host_at<'a>(&'a mut self, x: &'a Vec<f64>) -> Result<(&'a mut F, &'a [f64]), DescentError> {
        Ok((self, x))
    }
}
