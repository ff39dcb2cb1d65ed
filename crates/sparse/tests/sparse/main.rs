//! Matrices compared with plain loops.

mod block_tilings;
mod formulas;
mod matrices;
