//! The choice of a method: the bound of its cost, its work on known systems, and how solves end.

mod bound;
mod gallery;
mod solve;
