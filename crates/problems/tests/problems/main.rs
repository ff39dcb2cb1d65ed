//! The gallery: properties of its systems, and agreement with the matrices of other libraries.

mod laws;
mod parts;
mod peers;
