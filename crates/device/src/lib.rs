//! Vectors, matrices and preconditioners on a device: the same Krylov methods, another place.
//!
//! [`OnDevice`] is the place: a device, a queue that keeps its order, and the compiled kernels. Operations
//! enqueue work and return; a [`DeviceScalar`] is a slot of device memory whose arithmetic is enqueued too,
//! so the host waits only where a number is looked at ([`OnDevice::counters`] counts those waits).
//!
//! An API of devices, such as OpenCL, is a crate that implements [`Api`] and [`Driver`]: buffers, transfers,
//! compilation, launches. Everything else is here, and knows no API. A list of its [`Device`]s is all that a
//! user needs.
//!
//! Operations without a `Result` cannot report a failing driver at once. The queue keeps the first failure
//! and does nothing more: numbers read afterwards are NaN, which ends every solve, and `sync`, `like` and the
//! methods of [`OnDevice`] return that failure as [`Error::Device`](coarsen_core::Error::Device). A failed
//! place stays failed; make a new one.
//!
//! Matrices, blocks and row sets come by [`Backend`](coarsen_backend::Backend): every method that is generic
//! over a backend is set up on the host and applied here.
//!
//! | file | what |
//! |---|---|
//! | [`driver`](Driver) | what another API must write |
//! | [`device`](Device) | what a machine has |
//! | [`place`](OnDevice) | the place; `backend` is the way to it and back |
//! | `queue` | launches, waits, the first failure, transfers |
//! | `memory`, `slots` | buffers; which scalars live |
//! | `program` | kernels by name, compiled and checked |
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
//! | [`conformance`] | what every driver is tested for |
//! | [`error`](DeviceError) | why there is no place |

mod assembly;
mod backend;
mod blocks;
pub mod conformance;
mod device;
mod diagonal;
mod driver;
mod error;
mod galerkin;
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
pub use device::Device;
pub use diagonal::DeviceJacobi;
pub use driver::{Access, Api, Argument, Built, Driver, Kernel, Object, Type};
pub use error::DeviceError;
pub use galerkin::DeviceGalerkin;
pub use matrix::{BlockRows, DeviceMatrix, DeviceSymmetric, Format, Operand};
pub use place::OnDevice;
pub use queue::Counters;
pub use rows::DeviceRows;
pub use scalar::DeviceScalar;
pub use schwarz::{By, DeviceSchwarz, DeviceSubdomains};
pub use sum::{DeviceContacts, DeviceSum};
pub use vector::DeviceVector;
