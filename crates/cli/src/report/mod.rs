//! Reports, tables and pictures: the fifth layer.

pub(crate) mod chart;
pub(crate) mod drawing;
pub(crate) mod dump;
pub(crate) mod json;
pub(crate) mod plot;
pub(crate) mod summary;
pub(crate) mod table;
