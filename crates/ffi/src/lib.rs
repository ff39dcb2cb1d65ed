//! The C and C++ interface of [`coarsen`]: `include/coarsen.h`, which cbindgen writes from this crate, and `include/coarsen/eigen.hpp`.
//!
//! | module | contents |
//! |---|---|
//! | [`status`] | what a call returns: a code, and a message for the thread that called |
//! | [`matrix`] | matrices from arrays of compressed rows or blocks, with coordinates and a near-kernel |
//! | [`solver`] | solvers that choose a method and keep it, for matrices and for functions; options and reports |
//! | [`preconditioner`] | preconditioners by name, for solvers of functions and for Krylov methods of the caller |
//! | [`threads`] | the pool of threads |
//!
//! No panic reaches C: [`status::call`] is the outermost frame of each function. Every function is unsafe to call: pointers must be
//! null, or valid for what the documentation says, and handles must be live. Null pointers, unaligned arrays, wrong lengths, and
//! simultaneous calls on one solver or preconditioner are errors.

#![allow(non_camel_case_types)] // the names of C
#![allow(clippy::missing_safety_doc)] // it is the same for all functions, above

pub mod matrix;
pub mod preconditioner;
pub mod solver;
pub mod status;
pub mod threads;
