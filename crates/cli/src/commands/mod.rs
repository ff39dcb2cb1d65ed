//! The commands. Each uses the layers from the arguments to the report.

pub(crate) mod compare;
pub(crate) mod devices;
pub(crate) mod generate;
pub(crate) mod info;
pub(crate) mod manual;
pub(crate) mod minimize;
pub(crate) mod sequence;
pub(crate) mod solve;
pub(crate) mod spy;
