//! Every method against its promises, on small dense systems.

mod cg;
mod common;
