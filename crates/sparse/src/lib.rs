//! Sparse block matrices in host memory, the data structures of every setup phase.
//!
//! A matrix is an `Arc<`[`Pattern`]`>` and an array of dense blocks ([`Bsr`]). With 1x1 blocks it is a CSR
//! matrix. Column indices are `u32`, row offsets `usize`. A pattern is checked once, at construction.
//!
//! | topic | where | what |
//! |---|---|---|
//! | storage | [`Pattern`], [`Bsr`], [`System`], [`OwnedSystem`] | the sparsity pattern; the matrix, its products and its symmetry; the matrix with geometry and contact |
//! | assembly | [`assembly`], [`reblock`](block_sizes), [`BlockRows`] | triplets and block streams, conversion between block sizes, parallel loops over block rows |
//! | algebra | [`transpose`](TransposePlan), [`product`](multiply), [`Prolongation`] | Aᵀ; A B and Pᵀ A P; P as full blocks, weights or identities |
//! | numbering | [`Permutation`], [`morton`], [`Graph`] | permutations; space-filling curve, breadth-first levels, Cuthill-McKee |
//! | sets of nodes | [`Classes`], [`coloring`], [`partition`], [`Buckets`], [`union_find`] | colours, parts of equal size, connected components; counting sort; sets that are joined |
//! | contact | [`Contacts`], [`Stencil`], [`Sum`] | a small set of blocks that changes between steps, alone or added to a matrix |
//! | setup | [`Strength`], [`NearKernel`] | strength of connection, near-kernel vectors |
//! | errors | [`SparseError`] | invalid matrices and operands that do not fit |

pub mod assembly;
mod bsr;
mod buckets;
mod classes;
pub mod coloring;
mod contacts;
mod error;
mod fits;
mod graph;
#[cfg(any(feature = "sprs", feature = "nalgebra-sparse", feature = "faer"))]
pub mod interop;
pub mod morton;
mod near_kernel;
mod owned;
pub mod partition;
mod pattern;
mod permute;
mod product;
mod prolongation;
mod reblock;
mod rows;
mod strength;
mod sum;
mod system;
mod transpose;
pub mod union_find;

pub use bsr::{Bsr, COLUMNS, row_product};
pub use buckets::{Buckets, by_bucket};
pub use classes::Classes;
pub use contacts::{Contacts, Stencil, differing_rows};
pub use error::SparseError;
pub use graph::{Graph, Levels};
pub use near_kernel::{ByComponent, NearKernel, Quality};
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
pub use transpose::TransposePlan;
