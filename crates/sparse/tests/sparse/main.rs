//! Matrices, graphs and plans compared with plain loops.
//!
//! Three files of `src` are compiled here again: no public function shows what their tests check, such as the
//! refusal of 2³² blocks. They are small and contain no kernels.

mod assembly;
mod block_tilings;
mod bsr;
mod buckets;
mod classes;
mod contacts;
mod elements;
mod galerkin;
mod graph;
mod matrices;
mod morton;
mod near_kernel;
mod partition;
mod pattern;
mod permute;
mod product;
mod prolongation;
mod random;
mod reblock;
mod rows;
mod small_matrices;
mod strength;
mod sum;
mod symmetry;
mod system;
mod transpose;

#[path = "../../src/strength/block.rs"]
mod small;

// The files of `src` name this crate as they name the library.
use coarsen_sparse::*;

/// Fails unless `run` has the same result with 1, 2 and 7 threads.
#[track_caller]
fn same_bits<R: PartialEq + Send>(run: impl Fn() -> R + Sync) {
    let [one, two, seven] = [1, 2, 7].map(|n| coarsen_core::parallel::threads(n, &run).unwrap());
    assert!(one == two, "2 threads");
    assert!(one == seven, "7 threads");
}
