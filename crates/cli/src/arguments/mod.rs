//! The command line: the first layer.

pub(crate) mod aggregation;
pub(crate) mod classical;
mod command;
pub(crate) mod domains;
pub(crate) mod families;
pub(crate) mod files;
pub(crate) mod minimize;
mod names;
pub(crate) mod options;
pub(crate) mod overlap;
pub(crate) mod skinning;
mod value;

pub(crate) use command::{
    Arguments, Command, Compare, Devices, Generate, Given, Info, Solve, Source, Spy, Talk,
};
pub(crate) use names::{FileFormat, Method, Precision, Precond, Reorder, UpdatePolicy, name};
pub(crate) use value::{NullSpace, Rhs, threads};
