//! What is done about a system: the third layer.

pub(crate) mod choose;
