//! Tests of backends: conformance of the CPU, inverses of blocks, row sets, sweeps over half of a matrix.

mod cpu;
mod dense_blocks;
mod half;
mod row_sets;
