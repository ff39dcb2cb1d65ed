//! Preconditioners that are updated during a descent to the current Hessian, for any objective that
//! implements [`SystemAt`](coarsen_sparse::SystemAt).
//!
//! | file | type | contents |
//! |---|---|---|
//! | `cached_preconditioner` | [`CachedPreconditioner`] | a preconditioner of the system at x |
//! | | [`refreshed`] | a direction whose preconditioner is a cached preconditioner |
//! | `host_objective` | [`HostObjective`] | an objective and a cached preconditioner, for Newton's method |
//! | `driver` | [`Driver`] | the drivers of a time step on a grid, by name |
//! | `stepper` | [`TimeStepper`] | a driver with its vectors, kept between the time steps |
//! | `backend_objective` | [`BackendObjective`] | `HostObjective` with vectors and products on any backend |
//! | `backend_newton` | [`BackendNewton`] | Newton's method on the host whose linear systems are solved on any backend |

mod backend_newton;
mod backend_objective;
mod cached_preconditioner;
mod driver;
mod host_objective;
mod stepper;

pub use backend_newton::BackendNewton;
pub use backend_objective::BackendObjective;
pub use cached_preconditioner::{Built, CachedPreconditioner, refreshed};
pub use driver::{Driver, Needs, UnknownDriver};
pub use host_objective::HostObjective;
pub use stepper::{TimeStepper, Unfit};
