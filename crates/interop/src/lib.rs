//! Conversions to and from other sparse matrix libraries, each behind a feature with the name of the library.
//!
//! [`Bsr`](coarsen_sparse::Bsr) stores compressed rows in blocks, with `u32` columns and `usize` offsets.
//! Arrays are borrowed or moved if possible; a different index type costs one pass over the indices. Exports
//! convert blocks to scalars and keep stored zeros. Imports are checked and have 1x1 blocks;
//! [`Bsr::reblock`](coarsen_sparse::Bsr::reblock) converts them to larger blocks.
//!
//! | module | feature | borrowed | moved | copied |
//! |---|---|---|---|---|
//! | `sprs` | `sprs` | `view`: all of a CSR matrix | `into_csr`, `from_csr` with `u32` and `usize` | CSC: the transpose |
//! | `nalgebra_sparse` | `nalgebra-sparse` | nothing | values, offsets | columns (`usize`) |
//! | `faer` | `faer` | `view`: columns and values | values, offsets | `view`: offsets as `u32`; `into_*`: columns |
//!
//! Compressed columns of A are compressed rows of Aᵀ, so CSC conversions transpose, also for unsymmetric
//! matrices. Dense vectors need no copy: convert a `Vec<T>` or slice with `DVector::from_vec(v)` or
//! `ColRef::from_slice(&v)`, and back with `Vec::from(dvector.data)` or `col.try_as_col_major()?.as_slice()`.

#[cfg(any(feature = "sprs", feature = "nalgebra-sparse", feature = "faer"))]
mod compressed;
mod error;
#[cfg(feature = "faer")]
pub mod faer;
#[cfg(feature = "nalgebra-sparse")]
pub mod nalgebra_sparse;
#[cfg(feature = "sprs")]
pub mod sprs;

pub use error::InteropError;
