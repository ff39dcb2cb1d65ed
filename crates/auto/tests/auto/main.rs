//! The choice of a method: what it costs at most, and what it takes on known systems.

mod bound;
mod gallery;
