//! Matrix Market files: properties, damaged files, and real files.

mod breaks;
mod cases;
mod damage;
#[path = "../../../../tests/common/data.rs"]
mod data;
mod files;
mod laws;
mod pieces;
mod real_data;
