//! Matrices, against plain loops.

mod block_tilings;
mod formulas;
mod matrices;
