//! The choice of a method: the third layer.

pub(crate) mod backends;
pub(crate) mod candidates;
pub(crate) mod choose;
pub(crate) mod decide;
