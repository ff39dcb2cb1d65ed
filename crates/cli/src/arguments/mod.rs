//! The command line: the first layer.

pub(crate) mod aggregation;
mod command;
pub(crate) mod domains;
pub(crate) mod files;
pub(crate) mod minimize;
mod names;
pub(crate) mod overlap;
pub(crate) mod skinning;
mod value;

pub(crate) use command::{
    Arguments, Command, Compare, Devices, Generate, Given, Info, MAX_ITERATIONS, Solve, Source, Spy,
};
pub(crate) use names::{Method, Precision, Precond, Reorder, UpdatePolicy, name};
pub(crate) use value::{NullSpace, Rhs};
