//! The choice of a method: the bound of its cost, and its work on known systems.

mod bound;
mod gallery;
