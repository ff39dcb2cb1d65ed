//! What the command line says: the first layer.

pub(crate) mod aggregation;
mod command;
pub(crate) mod domains;
mod names;
pub(crate) mod overlap;

pub(crate) use command::{
    Arguments, Command, Compare, Devices, Generate, Given, Info, NullSpace, Rhs, Solve, Source, Spy, Wanted,
    svg, tolerance,
};
pub(crate) use names::{Follow, Method, Precision, Precond, Reorder, name};
