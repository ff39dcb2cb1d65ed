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
//! No function panics across the border: [`status::call`] is the outermost frame of each. Every function is unsafe to call: the
//! caller promises that pointers are null, or are valid for what the documentation says, and that handles are live. Null
//! pointers, unaligned arrays, lengths that do not fit, and calls at the same time at one solver or preconditioner are found and
//! refused.

#![allow(non_camel_case_types)] // the names of C
#![allow(clippy::missing_safety_doc)] // it is the same for all functions, above

pub mod matrix;
pub mod preconditioner;
pub mod solver;
pub mod status;
pub mod threads;
