//! The input of a run: the second layer.

pub(crate) mod analysis;
pub(crate) mod numpy;
pub(crate) mod ready;
pub(crate) mod renumber;
pub(crate) mod system;
