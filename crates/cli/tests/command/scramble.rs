//! A problem of the gallery whose nodes are shuffled and scaled, in a file.

use coarsen::matrix_market::{self, Symmetry};
use coarsen::problems::{Options, Problem, scrambled};

use crate::common::Folder;

/// The scrambled matrix of a problem, in a file without a right-hand side.
pub(crate) fn file(folder: &Folder, spec: &str) -> String {
    let a = scrambled(&Problem::parse(spec, &Options::default()).unwrap().matrix, 11).unwrap();
    let path = folder.path("scrambled.mtx");
    matrix_market::write(&path, &a, Symmetry::Detect).unwrap();
    path.display().to_string()
}
