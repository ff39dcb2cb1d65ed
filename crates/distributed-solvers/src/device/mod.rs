//! Vectors and matrices over ranks, in the memory of a device in each rank.
//!
//! Each rank has a device, or a share of one, and keeps its rows and its entries there. A product sends the entries at
//! its border, and nothing else travels; reductions bring one number per sum to the host, which the ranks add. Krylov
//! methods run on these vectors unchanged. The API of the device is that of `coarsen-device`, such as OpenCL.
//!
//! | file | what |
//! |---|---|
//! | [`vector`](DistDeviceVector) | the share of a rank of a vector |
//! | [`matrix`](DistDeviceMatrix) | the rows of a rank; a product whose transfers run beside its kernels |
//! | [`jacobi`](DistDeviceJacobi) | block Jacobi |
//! | [`rank_device`](RankDevice) | a device of a rank as a backend, for preconditioners that are generic over it: multilevel Schwarz, smoothed aggregation |
//! | [`redistribution`](DeviceRedistribution) | vectors between two divisions of the same rows |
//!
//! *Use* if the rows of a rank are many: a kernel on fewer than some 10⁴ rows takes as long as its launch.
//! *Reference* Li et al. 2020, "P-Cloth", ACM TOG 39(6), §3.1: each rank is a GPU there.

mod jacobi;
mod matrix;
mod rank_device;
mod redistribution;
mod vector;

use std::fmt::Display;

use coarsen_core::Error;
use coarsen_distributed::{CommError, Communicator, DistError};

pub use jacobi::DistDeviceJacobi;
pub use matrix::DistDeviceMatrix;
pub use rank_device::RankDevice;
pub use redistribution::DeviceRedistribution;
pub use vector::DistDeviceVector;

/// Tells all ranks that the device of this rank fails, since they wait for its messages; unless the group has stopped.
fn fail(comm: &impl Communicator, error: &dyn Display) {
    if comm.failure().is_none() {
        comm.fail(failed(comm, error));
    }
}

/// The value, or the error with which the group stops.
fn or_fail<R>(comm: &impl Communicator, done: Result<R, Error>) -> Result<R, CommError> {
    done.map_err(|error| {
        fail(comm, &error);
        comm.failure().unwrap_or_else(|| failed(comm, &error))
    })
}

fn failed(comm: &impl Communicator, error: &dyn Display) -> CommError {
    CommError::Transport { rank: comm.rank(), stage: "the commands of a device", reason: error.to_string() }
}

/// The error of a device as one of a distributed object.
fn of_device(error: Error) -> DistError {
    DistError::Setup(error.into())
}
