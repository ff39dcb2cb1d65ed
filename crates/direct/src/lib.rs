//! Sparse and dense direct solves by faer.
