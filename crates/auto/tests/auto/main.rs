//! The choice of a method: its work on known systems, and how solves end.

mod gallery;
mod solve;
