//! What is done about a system: the third layer.

pub(crate) mod candidates;
pub(crate) mod choose;
pub(crate) mod decide;
pub(crate) mod places;
