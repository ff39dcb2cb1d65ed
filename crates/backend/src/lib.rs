//! Backends: where solves run, with copies of the objects that were built on the host.
//!
//! A backend is a value, for example [`Cpu::new()`](Cpu::new) or a device. A setup works on host matrices
//! ([`Setup`]) and copies its results by [`Backend::matrix`], [`Backend::blocks`] and [`Backend::rows`].
//! Applications and sweeps use only the traits of this crate, so a method is written once for all backends.
//! [`conformance::check`] is the test that a backend must pass.
//!
//! | file | what |
//! |---|---|
//! | [`backend`](Backend) | the interface: vectors, [`Matrix`], blocks, row sets, [`NumericBackend`] |
//! | [`smoother`](Smoother) | smoothers of a level: steps from zero and from a guess, update in two phases |
//! | [`setup`](Setup) | parameters, and the objects that are built from them: build, update |
//! | [`reused`](Reused) | what an update keeps |
//! | [`merged`](Merged) | the memory in which updates merge contact into the matrix |
//! | [`dense_blocks`](DenseBlocks) | block-diagonal inverses on the host |
//! | [`transfer`](Transfer) | prolongation and restriction between two levels |
//! | [`transfers`](Transfers) | counters of the transfers between host and backend |
//! | [`row_sets`](RowSets) | rows that can be relaxed in parallel: coloured chunks |
//! | [`cpu`](Cpu) | the CPU: f64, f32, or f64 over f32 storage |
//! | [`componentwise`](Componentwise) | a scalar method for A = a ⊗ I |
//! | [`hosted`](Hosted) | a host method on any backend |
//! | [`range`](check_range) | checks that storage can hold values |
//! | [`reference`](Reference) | plain loops, for tests |
//! | [`conformance`] | the test of a backend |
//! | [`error`](SetupError) | the reasons why a setup failed |

mod backend;
mod componentwise;
pub mod conformance;
mod cpu;
mod dense_blocks;
mod error;
mod hosted;
mod merged;
mod range;
mod reference;
mod reused;
mod row_sets;
mod setup;
mod smoother;
mod transfer;
mod transfers;

pub use backend::{Backend, Matrix, NumericBackend, SweepDirection};
pub use componentwise::{Components, Componentwise};
pub use cpu::{Cpu, CpuMatrix, interleave, separate};
pub use dense_blocks::DenseBlocks;
pub use error::{MethodError, SetupError};
pub use hosted::Hosted;
pub use merged::Merged;
pub use range::{check_blocks, check_range, check_storable};
pub use reference::{Reference, ReferenceMatrix};
pub use reused::Reused;
pub use row_sets::RowSets;
pub use setup::{Prepared, Setup, Update};
pub use smoother::{Smoother, SmootherFacts, StoredBySmoother};
pub use transfer::{MatrixTransfer, Transfer};
pub use transfers::Transfers;
