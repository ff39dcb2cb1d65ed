//! The book as code: `cargo test -p coarsen-book` runs every Rust listing of the chapters and of `README.md`.
//!
//! There is one module for each chapter, in the order of `book/src/SUMMARY.md`. `tests/book.rs` of the
//! workspace fails if a chapter is missing here. `cargo run -p coarsen-book` draws the figures.

#[doc = include_str!("../../../README.md")]
pub mod readme {}

#[doc = include_str!("../../../book/src/introduction.md")]
pub mod introduction {}

#[doc = include_str!("../../../book/src/performance.md")]
pub mod performance {}

#[doc = include_str!("../../../book/src/tutorials/first.md")]
pub mod first {}

#[doc = include_str!("../../../book/src/tutorials/program.md")]
pub mod program {}

#[doc = include_str!("../../../book/src/tutorials/settings.md")]
pub mod settings {}

#[doc = include_str!("../../../book/src/tutorials/heat.md")]
pub mod heat {}

#[doc = include_str!("../../../book/src/tutorials/solids.md")]
pub mod solids {}

#[doc = include_str!("../../../book/src/tutorials/energy.md")]
pub mod energy {}

#[doc = include_str!("../../../book/src/tutorials/simulation.md")]
pub mod simulation {}

#[doc = include_str!("../../../book/src/tutorials/jelly.md")]
pub mod jelly {}

#[doc = include_str!("../../../book/src/tutorials/cloth.md")]
pub mod cloth {}

#[doc = include_str!("../../../book/src/tutorials/softbody.md")]
pub mod softbody {}

#[doc = include_str!("../../../book/src/tutorials/python.md")]
pub mod python {}

#[doc = include_str!("../../../book/src/tutorials/gpu.md")]
pub mod gpu {}

#[doc = include_str!("../../../book/src/tutorials/ranks.md")]
pub mod ranks {}

#[doc = include_str!("../../../book/src/methods/choosing.md")]
pub mod choosing {}

#[doc = include_str!("../../../book/src/guides/words.md")]
pub mod words {}

#[doc = include_str!("../../../book/src/guides/command.md")]
pub mod command {}

#[doc = include_str!("../../../book/src/guides/report.md")]
pub mod report {}

#[doc = include_str!("../../../book/src/guides/export.md")]
pub mod export {}

#[doc = include_str!("../../../book/src/guides/troubleshooting.md")]
pub mod troubleshooting {}

#[doc = include_str!("../../../book/src/guides/scenes.md")]
pub mod scenes {}

#[doc = include_str!("../../../book/src/guides/threads.md")]
pub mod threads {}

#[doc = include_str!("../../../book/src/guides/c_and_cpp.md")]
pub mod c_and_cpp {}

#[doc = include_str!("../../../book/src/guides/coming_from.md")]
pub mod coming_from {}

#[doc = include_str!("../../../book/src/methods/smoothed_aggregation.md")]
pub mod smoothed_aggregation {}

#[doc = include_str!("../../../book/src/methods/multilevel_additive_schwarz.md")]
pub mod multilevel_additive_schwarz {}

#[doc = include_str!("../../../book/src/methods/skinning.md")]
pub mod skinning {}
#[doc = include_str!("../../../book/src/methods/node_embedding.md")]
pub mod node_embedding {}

#[doc = include_str!("../../../book/src/methods/krylov.md")]
pub mod krylov {}

#[doc = include_str!("../../../book/src/methods/relaxation.md")]
pub mod relaxation {}

#[doc = include_str!("../../../book/src/methods/pipelined_spmv.md")]
pub mod pipelined_spmv {}

#[doc = include_str!("../../../book/src/methods/descent.md")]
pub mod descent {}

#[doc = include_str!("../../../book/src/methods/constraints_and_contact.md")]
pub mod constraints_and_contact {}

#[doc = include_str!("../../../book/src/methods/cloth_contact.md")]
pub mod cloth_contact {}

#[doc = include_str!("../../../book/src/design/index.md")]
pub mod design {}

#[doc = include_str!("../../../book/src/design/decisions.md")]
pub mod decisions {}

#[doc = include_str!("../../../book/src/design/decisions/core.md")]
pub mod decisions_core {}

#[doc = include_str!("../../../book/src/design/decisions/storage.md")]
pub mod decisions_storage {}

#[doc = include_str!("../../../book/src/design/decisions/smoothed_aggregation.md")]
pub mod decisions_smoothed_aggregation {}

#[doc = include_str!("../../../book/src/design/decisions/hierarchies.md")]
pub mod decisions_hierarchies {}

#[doc = include_str!("../../../book/src/design/decisions/schwarz.md")]
pub mod decisions_schwarz {}

#[doc = include_str!("../../../book/src/design/decisions/krylov.md")]
pub mod decisions_krylov {}

#[doc = include_str!("../../../book/src/design/decisions/constraints_and_contact.md")]
pub mod decisions_constraints_and_contact {}

#[doc = include_str!("../../../book/src/design/decisions/descent.md")]
pub mod decisions_descent {}

#[doc = include_str!("../../../book/src/design/decisions/mpm.md")]
pub mod decisions_mpm {}

#[doc = include_str!("../../../book/src/design/decisions/devices.md")]
pub mod decisions_devices {}

#[doc = include_str!("../../../book/src/design/decisions/ranks.md")]
pub mod decisions_ranks {}

#[doc = include_str!("../../../book/src/design/decisions/command.md")]
pub mod decisions_command {}

#[doc = include_str!("../../../book/src/design/decisions/builds.md")]
pub mod decisions_builds {}

#[doc = include_str!("../../../book/src/design/bus.md")]
pub mod bus {}

#[doc = include_str!("../../../book/src/design/mutants.md")]
pub mod mutants {}

#[doc = include_str!("../../../book/src/design/dependencies.md")]
pub mod dependencies {}

#[doc = include_str!("../../../book/src/contributing.md")]
pub mod contributing {}
