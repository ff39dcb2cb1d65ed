//! `coarsen generate`: a problem of the gallery as files.

use std::fs;
use std::process::ExitCode;

use coarsen::matrix_market::{self, Dense, Symmetry};
use coarsen::problems::{Options, Problem};

use crate::arguments::files::check_folder;
use crate::arguments::{FileFormat, Generate};
use crate::console::{count, say};
use crate::error::Failure;
use crate::input::numpy;
use crate::report::dump;

/// The seed of b, the default of `solve`.
const SEED: u64 = 1;

pub(crate) fn run(options: &Generate) -> Result<ExitCode, Failure> {
    check_folder("--out", &options.out)?;
    let Generate { dt, jump, share, .. } = *options;
    let mut problem = Problem::parse(&options.problem, &Options { dt, jump, share })?;
    let mut b = problem.right_hand_side(SEED);
    let filter = problem.prefilter()?;
    if let Some(filter) = &filter {
        filter.right_hand_side(&problem.right_hand_side(SEED), &mut b)?;
        (problem.matrix, problem.near_kernel) = (filter.matrix().clone(), filter.near_kernel().clone());
    }
    let folder = &options.out;
    fs::create_dir_all(folder).map_err(Failure::write(folder))?;
    let arrays = [
        ("b", Dense::new(b.len(), 1, b)?),
        ("coordinates", dump::points(&problem.positions)?),
        ("near_kernel", dump::columns(&problem.near_kernel)?),
    ];
    match options.format {
        FileFormat::Mtx => matrix_market::write(folder.join("A.mtx"), &problem.matrix, Symmetry::Detect)?,
        FileFormat::Npz => numpy::write_matrix(&folder.join("A.npz"), &problem.matrix)?,
    }
    for (name, array) in arrays {
        match options.format {
            FileFormat::Mtx => matrix_market::write_dense(folder.join(name).with_extension("mtx"), &array)?,
            FileFormat::Npz => numpy::write_dense(&folder.join(name).with_extension("npy"), &array)?,
        }
    }
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
