//! Sparse block matrices on the host: what every setup phase works on.
//!
//! A matrix is an `Arc<`[`Pattern`]`>` and values in dense blocks ([`Bsr`]); a 1x1 block makes it a CSR matrix. Columns are
//! `u32`, row offsets `usize`, and every pattern is checked once, when it is made.
//!
//! | topic | where | what |
//! |---|---|---|
//! | storage | [`Pattern`], [`Bsr`], [`System`], [`OwnedSystem`] | where blocks are; the matrix, its products, its symmetry; what is known beside it |
//! | making | [`assembly`], [`reblock`](block_sizes), [`BlockRows`] | triplets and block streams, other block sizes, rows to be filled |
//! | algebra | [`transpose`](TransposePlan), [`product`](multiply), [`Prolongation`] | Aᵀ, built or applied; A B and Pᵀ A P; P in whole blocks, weights or identities |
//! | numbering | [`Permutation`], [`morton`], [`Graph`] | renumbering; space-filling curve, levels, Cuthill-McKee |
//! | classes | [`Classes`], [`coloring`], [`partition`] | colours, parts of equal size, components |
//! | contact | [`Contacts`], [`Stencil`], [`Sum`] | a small dynamic set of blocks, made of contacts, alone or added to a matrix |
//! | setup | [`Strength`], [`NearKernel`] | couplings to follow, slow vectors |
//! | trouble | [`SparseError`] | what is no matrix |

// `random.rs` serves the tests of other crates too, which know this one by its name.
#[cfg(test)]
extern crate self as coarsen_sparse;

pub mod assembly;
mod bsr;
mod classes;
pub mod coloring;
mod contacts;
mod error;
mod fits;
mod graph;
pub mod morton;
mod near_kernel;
mod owned;
pub mod partition;
mod pattern;
mod permute;
mod product;
mod prolongation;
#[cfg(test)]
mod random;
mod reblock;
mod rows;
mod strength;
mod sum;
mod system;
mod transpose;

pub use bsr::{Bsr, row_product};
pub use classes::{Classes, Members};
pub use contacts::{Contacts, Stencil};
pub use error::SparseError;
pub use graph::{Graph, Levels};
pub use near_kernel::{NearKernel, Quality};
pub use owned::{OwnedSystem, SystemAt};
pub use pattern::Pattern;
pub use permute::{NotAPermutation, Permutation, PermutePlan};
pub use product::{GalerkinLists, GalerkinPlan, ProductList, multiply};
pub use prolongation::{Identities, Prolongation, ProlongationRef, Weights};
pub use reblock::{Blocking, Zeros, block_sizes, detect_block_size};
pub use rows::BlockRows;
pub use strength::Strength;
pub use sum::Sum;
pub use system::System;
pub use transpose::{Adjoint, TransposePlan};
