//! Conversions to and from other sparse matrix libraries, each behind a feature of its name.
//!
//! Ours are compressed rows with `u32` columns and `usize` offsets, in blocks. What can be borrowed is borrowed, what can
//! be moved is moved; an index type that differs costs one pass over the indices. Blocks are written out as scalars on the
//! way out (stored zeros stay), and every import is checked and comes back in 1x1 blocks:
//! [`Bsr::reblock`](coarsen_sparse::Bsr::reblock) makes larger ones.
//!
//! | module | feature | borrowed | moved | copied |
//! |---|---|---|---|---|
//! | `sprs` | `sprs` | `view`: all of a CSR matrix | `into_csr`, `from_csr` with `u32` and `usize` | CSC: the transpose |
//! | `nalgebra_sparse` | `nalgebra-sparse` | nothing | values, offsets | columns (`usize`) |
//! | `faer` | `faer` | `view`: columns and values | values, offsets | `view`: offsets as `u32`; `into_*`: columns |
//!
//! Compressed columns of A are compressed rows of Aᵀ: CSC conversions transpose, so an unsymmetric matrix stays itself.
//! Dense vectors need no copy: a `Vec<T>` or slice becomes `DVector::from_vec(v)`, `ColRef::from_slice(&v)`, and back by
//! `Vec::from(dvector.data)`, `col.try_as_col_major()?.as_slice()`.

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
