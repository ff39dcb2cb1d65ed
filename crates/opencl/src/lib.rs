//! Vectors and matrices on an OpenCL device: the same Krylov methods, another place.
//!
//! [`OpenCl`] is the place: a device, a queue that keeps its order, and the compiled kernels. Operations enqueue work and
//! return; a [`DeviceScalar`] is a slot of device memory whose arithmetic is enqueued too, so the host waits only where
//! a number is looked at ([`OpenCl::counters`] counts those waits). The crate builds and links without OpenCL
//! installed; [`devices`] then says what is missing.
//!
//! Operations without a `Result` cannot report a failing driver at once. The queue keeps the first failure and does
//! nothing more: numbers read afterwards are NaN, which ends every solve, and `sync`, `like` and the methods of
//! [`OpenCl`] return that failure as [`Error::Device`](coarsen_core::Error::Device). A failed place stays failed; make
//! a new one.
//!
//! Matrices, blocks and row sets come by [`Backend`](coarsen_backend::Backend): every method that is generic over a backend is set up
//! on the host and applied here.
//!
//! | file | what |
//! |---|---|
//! | [`devices`] | what this machine has |
//! | [`place`](OpenCl) | the place; `backend` is the way to it and back |
//! | `queue` | launches, waits, the first failure, transfers |
//! | `memory`, `slots` | buffers; which scalars live |
//! | `handle` | objects of the driver, released |
//! | `program` | kernels by name, compiled, checked and kept on disk |
//! | `tune` | the size of work groups |
//! | [`scalar`](DeviceScalar) | promised numbers |
//! | [`vector`](DeviceVector) | the vector |
//! | [`matrix`](DeviceMatrix) | block sparse rows, in one of the layouts of [`Format`]; [one triangle](DeviceSymmetric) of a symmetric matrix |
//! | [`sum`](DeviceSum) | a matrix plus contact |
//! | [`diagonal`](DeviceJacobi) | block Jacobi, inverted there |
//! | [`galerkin`](DeviceGalerkin), `numeric` | coarse matrices, and what follows from a matrix where it is |
//! | [`assembly`](DeviceStream), `sort` | matrices made from streams of blocks |
//! | [`blocks`](DeviceBlocks) | dense blocks along a diagonal |
//! | [`rows`](DeviceRows) | rows that are relaxed at once |
//! | [`schwarz`](DeviceSchwarz) | multilevel domains |
//! | [`error`](OpenClError) | why there is no place |

mod assembly;
mod backend;
mod blocks;
mod devices;
mod diagonal;
mod error;
mod galerkin;
mod handle;
mod matrix;
mod memory;
mod numeric;
mod place;
mod program;
mod queue;
mod rows;
mod scalar;
mod schwarz;
mod slots;
mod sort;
mod sum;
mod tune;
mod vector;

pub use assembly::{DeviceEll, DeviceStream};
pub use blocks::DeviceBlocks;
pub use coarsen_opencl_loader::Absent;
pub use devices::{Device, devices};
pub use diagonal::DeviceJacobi;
pub use error::OpenClError;
pub use galerkin::DeviceGalerkin;
pub use matrix::{BlockRows, DeviceMatrix, DeviceSymmetric, Format, Operand};
pub use place::{Counters, OpenCl};
pub use rows::DeviceRows;
pub use scalar::DeviceScalar;
pub use schwarz::{By, DeviceSchwarz, DeviceSubdomains};
pub use sum::{DeviceContacts, DeviceSum};
pub use vector::DeviceVector;
