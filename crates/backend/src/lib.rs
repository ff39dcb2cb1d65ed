//! Where a solve runs, and how what is built on the host gets there.
//!
//! A backend is a value: [`Cpu::new()`](Cpu::new), a device. Setup works on host matrices ([`Setup`]) and
//! moves its results through [`Backend::matrix`], [`Backend::blocks`] and [`Backend::rows`]; application uses
//! only what the traits here offer, so one text of a method serves every backend. `conformance!` is the suite
//! that a backend must pass.
//!
//! | file | what |
//! |---|---|
//! | [`backend`](Backend) | the contract: vectors, [`Matrix`], [`Blocks`], row sets, [`NumericPlace`] |
//! | [`smoother`](Smoother) | smoothers of a level: steps from zero and from a guess, update in two phases |
//! | [`setup`](Setup) | recipes and built objects: build, update |
//! | [`dense_blocks`](DenseBlocks) | block-diagonal inverses on the host |
//! | [`transfer`](Transfer) | between two levels of a hierarchy |
//! | [`row_sets`](RowSets) | rows that may be relaxed at once: coloured chunks |
//! | [`cpu`](Cpu) | the CPU: f64, f32, or f64 over f32 storage |
//! | [`componentwise`](Componentwise) | a method of scalars for A = a ⊗ I |
//! | [`hosted`](Hosted) | a method of the host at any place |
//! | [`range`](check_range) | whether values survive being stored |
//! | [`reference`](Reference) | plain loops, the oracle |
//! | [`conformance`](mod@conformance) | the laws of a backend, as a macro |
//! | [`error`](SetupError) | why a setup failed |

mod backend;
mod componentwise;
pub mod conformance;
mod cpu;
mod dense_blocks;
mod error;
mod hosted;
mod range;
mod reference;
mod row_sets;
mod setup;
mod smoother;
mod transfer;

pub use backend::{Backend, Blocks, Matrix, NumericPlace, SweepDirection};
pub use componentwise::{Components, Componentwise};
pub use cpu::{Cpu, CpuBlocks, CpuMatrix};
pub use dense_blocks::DenseBlocks;
pub use error::SetupError;
pub use hosted::Hosted;
pub use range::{check_blocks, check_range, check_storable};
pub use reference::{Reference, ReferenceBlocks, ReferenceMatrix};
pub use row_sets::RowSets;
pub use setup::{Prepared, Reused, Setup, Update, UpdateExt};
pub use smoother::{Smoother, SmootherFacts};
pub use transfer::{MatrixTransfer, Transfer};
