//! Sparse block matrices on the host: what every setup phase works on.
//!
//! A matrix is an `Arc<`[`Pattern`]`>` and values in dense blocks ([`Bsr`]); a 1x1 block makes it a CSR matrix. Columns are
//! `u32`, row offsets `usize`, and every pattern is checked once, when it is made.
//!
//! | file | what |
//! |---|---|
//! | [`pattern`](Pattern) | where the blocks are, with identity |
//! | [`bsr`](Bsr) | the matrix and its product with vectors |
//! | [`assembly`] | matrices from triplets and block streams, duplicates summed |
//! | [`system`](System) | a matrix with what is known beside its entries |
//! | [`near_kernel`](NearKernel) | constants and rigid-body modes, and whether they are right |
//! | [`transpose`](TransposePlan) | Aᵀ; [`adjoint`](Adjoint) applies it without a copy |
//! | [`permute`](Permutation) | renumbering of vectors and matrices |
//! | [`columns`](Bsr::apply_columns) | Y = A X for several right-hand sides at once |
//! | [`product`](ProductPlan) | C = A B; [`galerkin`](GalerkinPlan) is Pᵀ A P |
//! | [`contacts`](Contacts) | a small dynamic set of node-node blocks; [`sum`](Sum) adds it to a matrix |
//! | [`reblock`](block_sizes) | finding the block size, changing it |
//! | [`graph`](Graph) | which nodes are coupled; levels, components, (reverse) Cuthill-McKee |
//! | [`classes`](Classes) | a class for each node: colours, parts, components |
//! | [`coloring`] | nodes that one sweep may treat at once |
//! | [`partition`] | parts of equal size: by coordinates, by growing |
//! | [`morton`] | points along a space-filling curve |
//! | [`matrix_market`] | files: reading, writing, and what is wrong with them |
//! | `symmetry` | is a matrix symmetric? |
//! | [`strength`](Strength) | which couplings a coarsening should follow |
//! | [`dirichlet`](Dirichlet) | given values, imposed or eliminated |
//! | [`diagnose`](mod@diagnose) | what is wrong with a system, before anyone solves it |
//! | [`error`](SparseError) | what cannot be a matrix, and why |

mod adjoint;
pub mod assembly;
mod bsr;
mod classes;
pub mod coloring;
mod columns;
mod contacts;
pub mod diagnose;
mod dirichlet;
mod error;
mod fits;
mod galerkin;
mod graph;
pub mod matrix_market;
pub mod morton;
mod near_kernel;
pub mod partition;
mod pattern;
mod permute;
mod product;
#[cfg(test)]
mod random;
mod reblock;
mod rows;
mod strength;
mod sum;
mod symmetry;
mod system;
mod transpose;

pub use adjoint::Adjoint;
pub use bsr::Bsr;
pub use classes::{Classes, Members};
pub use contacts::Contacts;
pub use dirichlet::{Dirichlet, DirichletError, Eliminated};
pub use error::SparseError;
pub use galerkin::GalerkinPlan;
pub use graph::{Graph, Levels};
pub use near_kernel::{NearKernel, Quality};
pub use pattern::Pattern;
pub use permute::{NotAPermutation, Permutation, PermutePlan};
pub use product::{ProductPlan, multiply};
pub use reblock::{Blocking, Zeros, block_sizes, detect_block_size};
pub use strength::Strength;
pub use sum::Sum;
pub use system::System;
pub use transpose::TransposePlan;
