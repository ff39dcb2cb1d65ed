//! Vectors, kernels and the types that all solvers share.

mod kernels;
mod vocabulary;
