//! Vectors, matrices and preconditioners in the memory of a device, for the same Krylov methods as on the
//! host.
//!
//! [`DeviceBackend`] is the backend: a device, an in-order queue, and the compiled kernels. Operations enqueue kernels
//! and return. A [`DeviceScalar`] is a slot of device memory, and its arithmetic is enqueued too. The host
//! synchronises only for reads of scalars, transfers and `sync`; [`DeviceBackend::counters`] counts these synchronisations.
//!
//! A crate for a device API, such as OpenCL, implements [`Driver`] (buffers, transfers, compilation, launches) and opens it
//! ([`Open`]). Everything else is in this crate and does not depend on an API. A user needs only a list of [`Device`]s.
//!
//! Operations without a `Result` cannot report a driver error directly. The queue keeps the first failure and
//! launches nothing more. Numbers read afterwards are NaN, which ends every solve. `sync`, `like` and the
//! methods of [`DeviceBackend`] return this failure as [`Error::Device`](coarsen_core::Error::Device). A failed
//! backend cannot be used again; make a new one.
//!
//! A method that is generic over a [`Backend`](coarsen_backend::Backend) is set up on the host and applied on the device.
//!
//! | file | what |
//! |---|---|
//! | [`driver`](Driver) | the traits that an API implements |
//! | [`device`](Device) | the properties of a device |
//! | [`device_backend`](DeviceBackend) | the backend; `backend` implements [`Backend`](coarsen_backend::Backend) for it |
//! | `queue` | launches, synchronisations, the first failure, transfers |
//! | `memory`, `slots` | buffers; the slots of scalars |
//! | `program` | kernels by name, compiled and checked |
//! | `tune` | the size of work groups |
//! | [`scalar`](DeviceScalar) | scalars in device memory |
//! | [`vector`](DeviceVector) | the vector |
//! | [`matrix`](DeviceMatrix) | block sparse rows, in one of the layouts of [`Format`]; [one triangle](DeviceSymmetric) of a symmetric matrix |
//! | [`sum`](DeviceSum) | a matrix plus contact |
//! | [`diagonal`](DeviceJacobi) | block Jacobi, inverted on the device |
//! | [`galerkin`](DeviceGalerkin), `numeric` | coarse matrices and diagonals, computed on the device |
//! | [`filter`](DeviceFilter) | constraints of single nodes filtered out of a matrix |
//! | [`assembly`](DeviceStream), `sort` | matrices made from streams of blocks |
//! | [`elements`](DeviceElements), [`implicit_euler`](DeviceImplicitEuler) | energies of elements, and a time step with them as an objective |
//! | [`contact`](DeviceClothContact) | contact of triangles: detection, energy, bound of a step |
//! | [`border`](DeviceBorder) | the halo: vector entries that other ranks need, and those received from them |
//! | [`blocks`](DeviceBlocks) | dense blocks along a diagonal |
//! | [`rows`](DeviceRows) | rows that are relaxed at the same time |
//! | [`schwarz`](DeviceSchwarz) | multilevel domains |
//! | [`conformance`] | tests that every driver passes |
//! | [`error`](DeviceError) | errors of the creation of a backend |

mod assembly;
mod backend;
mod blocks;
mod border;
pub mod conformance;
mod contact;
mod device;
mod device_backend;
mod diagonal;
mod driver;
mod elements;
mod error;
mod filter;
mod galerkin;
mod implicit_euler;
mod matrix;
mod memory;
mod numeric;
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
pub use border::DeviceBorder;
pub use contact::DeviceClothContact;
pub use device::Device;
pub use device_backend::DeviceBackend;
pub use diagonal::DeviceJacobi;
pub use driver::{Access, Argument, Built, Driver, Kernel, Object, Open, Recorded, Staging, Type};
pub use elements::DeviceElements;
pub use error::DeviceError;
pub use filter::DeviceFilter;
pub use galerkin::DeviceGalerkin;
pub use implicit_euler::DeviceImplicitEuler;
pub use matrix::{DeviceMatrix, DeviceSymmetric, Format, Operand};
pub use queue::Counters;
pub use rows::DeviceRows;
pub use scalar::DeviceScalar;
pub use schwarz::{
    DeviceDomains, DeviceSchwarz, DeviceSubdomains, DeviceSystem, DeviceTouched, Renewed, StructureSource,
    Touched,
};
pub use sum::{DeviceContacts, DeviceSum};
pub use vector::DeviceVector;
