//! `coarsen generate`: a problem of the gallery as Matrix Market files.

use std::fs;
use std::process::ExitCode;

use coarsen::matrix_market::{self, Symmetry};
use coarsen::problems::Options;

use crate::arguments::Generate;
use crate::arguments::files::check_folder;
use crate::console::{count, say};
use crate::error::Failure;
use crate::input::system::problem;
use crate::report::dump;

/// The seed of b, the default of `solve`.
const SEED: u64 = 1;

pub(crate) fn run(options: &Generate) -> Result<ExitCode, Failure> {
    check_folder("--out", &options.out)?;
    let Generate { dt, jump, share, .. } = *options;
    let mut problem = problem(&options.problem, Options { dt, jump, share })?;
    let mut b = problem.right_hand_side(SEED);
    let filter = problem.prefilter()?;
    if let Some(filter) = &filter {
        filter.right_hand_side(&problem.right_hand_side(SEED), &mut b)?;
        (problem.matrix, problem.near_kernel) = (filter.matrix().clone(), filter.near_kernel().clone());
    }
    let folder = &options.out;
    fs::create_dir_all(folder).map_err(Failure::write(folder))?;
    matrix_market::write(folder.join("A.mtx"), &problem.matrix, Symmetry::Detect)?;
    matrix_market::write_vector(folder.join("b.mtx"), &b)?;
    dump::write_points(&folder.join("coordinates.mtx"), &problem.positions)?;
    dump::write_columns(&folder.join("near_kernel.mtx"), &problem.near_kernel)?;
    say(&format!(
        "{}: {}, {}, {}, {} in {}\n",
        problem.name,
        count(problem.matrix.shape().0, "unknown"),
        count(problem.matrix.nnz(), "entry"),
        count(problem.positions.len(), "point"),
        count(problem.near_kernel.vectors(), "near-kernel vector"),
        folder.display()
    ))?;
    if let Some(filter) = &filter {
        say(&format!("constraints projected out: {}\n", filter.density()))?;
    }
    Ok(ExitCode::SUCCESS)
}
