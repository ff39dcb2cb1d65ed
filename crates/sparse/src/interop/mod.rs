//! Conversions to and from other sparse matrix libraries, each behind a feature with the name of the library.
//!
//! [`Bsr`](crate::Bsr) stores compressed rows in blocks, with `u32` columns and `usize` offsets.
//! Arrays are borrowed or moved if possible; another index type costs one pass over the indices. An exported
//! matrix has scalar entries instead of blocks and keeps stored zeros. An imported matrix is checked and has
//! 1x1 blocks; [`Bsr::reblock`](crate::Bsr::reblock) converts it to larger blocks.
//!
//! | module | feature | borrowed | moved | copied |
//! |---|---|---|---|---|
//! | `sprs` | `sprs` | `view`: all of a CSR matrix | `into_csr`, `from_csr` with `u32` and `usize` | CSC: the transpose |
//! | `nalgebra_sparse` | `nalgebra-sparse` | nothing | values, offsets | columns (`usize`) |
//! | `faer` | `faer` | `view`: columns and values | values, offsets | `view`: offsets as `u32`; `into_*`: columns |
//!
//! Compressed columns of A are compressed rows of Aᵀ. CSC conversions therefore transpose the matrix. Dense
//! vectors need no copy. Convert a `Vec<T>` or a slice with `DVector::from_vec(v)` or
//! `ColRef::from_slice(&v)`, and back with `Vec::from(dvector.data)` or `col.try_as_col_major()?.as_slice()`.

mod compressed;
mod error;
#[cfg(feature = "faer")]
pub mod faer;
#[cfg(feature = "nalgebra-sparse")]
pub mod nalgebra_sparse;
#[cfg(feature = "sprs")]
pub mod sprs;

pub use error::InteropError;
