//! Matrix Market files: headers, numbers, properties, damaged files, and real files.

mod batches;
mod breaks;
mod cases;
mod complex;
mod damage;
#[path = "../../../../tests/common/data.rs"]
mod data;
mod files;
mod headers;
mod invariants;
mod numbers;
mod pieces;
mod real_data;
