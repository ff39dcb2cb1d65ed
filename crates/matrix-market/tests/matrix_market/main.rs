//! Matrix Market files: properties, damaged files, and real files.

mod breaks;
mod cases;
mod damage;
mod files;
mod laws;
mod pieces;
mod real_data;
