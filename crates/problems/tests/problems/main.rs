//! The gallery: laws of its systems, and the numbers of other libraries.

mod laws;
mod peers;
