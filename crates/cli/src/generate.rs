//! `coarsen generate`: a problem of the gallery as Matrix Market files.

use std::fs;
use std::process::ExitCode;

use coarsen::sparse::matrix_market::{self, Symmetry};

use crate::args::Generate;
use crate::error::Failure;
use crate::input::problem;
use crate::{dump, say};

/// The seed of b, the one that `solve` takes unless told.
const SEED: u64 = 1;

pub(crate) fn run(options: &Generate) -> Result<ExitCode, Failure> {
    let problem = problem(&options.problem, options.dt, options.jump)?;
    let folder = &options.out;
    fs::create_dir_all(folder).map_err(Failure::write(folder))?;
    matrix_market::write(folder.join("A.mtx"), &problem.matrix, Symmetry::Detect)?;
    matrix_market::write_vector(folder.join("b.mtx"), &problem.right_hand_side(SEED))?;
    dump::write_points(&folder.join("coordinates.mtx"), &problem.positions)?;
    dump::write_columns(&folder.join("near_kernel.mtx"), &problem.near_kernel)?;
    say(&format!(
        "{}: {} unknowns, {} entries, {} points, {} near-kernel vectors in {}\n",
        problem.name,
        problem.matrix.shape().0,
        problem.matrix.nnz(),
        problem.positions.len(),
        problem.near_kernel.vectors(),
        folder.display()
    ));
    Ok(ExitCode::SUCCESS)
}
