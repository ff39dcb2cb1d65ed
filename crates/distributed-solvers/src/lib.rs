//! Solvers and contact on matrices whose rows are divided among ranks.
//!
//! | folder | what | paper |
//! |---|---|---|
//! | [`smoothed_aggregation`](DistMultigrid) | a hierarchy whose levels are divided | Tamstorf 2015 |
//! | [`schwarz`](DistSchwarz) | domains, with the same bits at any number of ranks | Wu 2022 |
//! | [`contact`](RankSearch) | contact detection divided equally among ranks, and the rows of contact for their owners | Li 2020, §3.2, §4 |
//! | `device` | vectors, matrices and block Jacobi in the memory of a device in each rank (feature `device`) | Li 2020, §3.1 |

mod contact;
#[cfg(feature = "device")]
mod device;
mod schwarz;
mod smoothed_aggregation;

pub use contact::{
    Own, ROUNDS, RankSearch, Resolved, add_contact_gradient, contact_hessian_rows, contact_rows,
    own_triangles, resolve_impacts, share_moved,
};
#[cfg(feature = "device")]
pub use device::{DeviceRedistribution, DistDeviceJacobi, DistDeviceMatrix, DistDeviceVector, RankDevice};
pub use schwarz::{DistSchwarz, DistSubdomains};
pub use smoothed_aggregation::{DistHierarchy, DistMultigrid};
