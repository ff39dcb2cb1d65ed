//! The gallery: properties of its systems, entries by hand, and agreement with the matrices of other libraries.

mod grids;
mod invariants;
mod names;
mod parts;
mod peers;
mod sequences;
mod sheets;
