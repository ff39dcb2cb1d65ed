//! A folder from which a run can be repeated, by `--options`: matrix, right-hand sides, options, versions.
//!
//! It is written before the solve, so that it exists even if the solve fails. Reading the numbers back gives
//! the same bits.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use coarsen::BackendChoice;
use coarsen::matrix_market::{self, Dense, Symmetry, is_same_file};
use coarsen::sparse::{NearKernel, SparseError};
use serde::Serialize;

use super::json::{Versions, write_json};
use crate::arguments::files::{Named, check_files};
use crate::arguments::options::{DUMPED as OPTIONS, FILES};
use crate::arguments::{Given, NullSpace, Solve};
use crate::decision::backends::Backends;
use crate::error::Failure;
use crate::input::system::Input;

/// `options.json`.
#[derive(Serialize)]
struct Options<'a> {
    /// The command line of the run.
    command: Vec<String>,
    /// The command line that repeats the run from this folder; `None` if a file could not be read.
    again: Option<Vec<String>>,
    options: &'a Solve,
    threads: usize,
    versions: Versions,
    /// The error in the input.
    error: Option<String>,
}

/// Writes the folder: the system as it was read or, if that failed, copies of the named files.
pub(crate) fn write(
    folder: &Path,
    options: &Solve,
    (threads, backends): (usize, &Backends),
    loaded: &Result<Input, Failure>,
) -> Result<(), Failure> {
    fs::create_dir_all(folder).map_err(Failure::write(folder))?;
    let described = Options {
        command: std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect(),
        again: loaded.as_ref().ok().map(|input| again(options, (threads, backends), input)),
        options,
        threads,
        versions: Versions::current(),
        error: loaded.as_ref().err().map(ToString::to_string),
    };
    write_json(&folder.join(OPTIONS), &described)?; // first, so that a dump that is cut off can be repeated
    match loaded {
        Ok(input) => system(folder, input),
        Err(_) => copies(folder, &options.given),
    }
}

/// Rejects a folder in which files would be replaced, before anything is read: a folder with an input file or a link to
/// one, or one that is not empty and was not written by an earlier dump.
pub(crate) fn check(folder: &Path, given: &Given, outputs: &[Named<'_>]) -> Result<(), Failure> {
    let own = FILES.map(|name| folder.join(name));
    check_files(&own.each_ref().map(|file| ("--dump", file.as_path())), outputs)?;
    let Ok(entries) = fs::read_dir(folder) else { return Ok(()) }; // to be created
    let present = entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<PathBuf>, _>>();
    let present = present.map_err(Failure::write(folder))?;
    let is_present = |file: &Path| present.iter().any(|present| is_same_file(present, file));
    if let Some((_, file)) = given.inputs().into_iter().find(|(_, file)| is_present(file)) {
        let (folder, file) = (folder.display(), file.display());
        return Err(Failure::usage(format!(
            "{folder}: --dump could replace {file}, which is an input; give another folder"
        )));
    }
    let text = fs::read_to_string(folder.join(OPTIONS)).unwrap_or_default();
    let earlier = serde_json::from_str::<serde_json::Value>(&text)
        .is_ok_and(|options| options.get("again").is_some() && options.get("versions").is_some());
    if earlier || present.is_empty() {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "{}: --dump could replace files there that are not from an earlier --dump; give a new or empty folder",
        folder.display()
    )))
}

/// The vectors of a near-kernel or null space, one column per vector.
pub(crate) fn columns(vectors: &NearKernel) -> Result<Dense, SparseError> {
    let columns = (0..vectors.vectors()).flat_map(|j| vectors.column(j)).collect();
    Dense::new(vectors.size(), vectors.vectors(), columns)
}

/// Points, one row per point.
pub(crate) fn points(points: &[[f64; 3]]) -> Result<Dense, SparseError> {
    let axes = (0..3).flat_map(|axis| points.iter().map(move |p| p[axis])).collect();
    Dense::new(points.len(), 3, axes)
}

/// The right-hand sides, or the guesses if there are any.
fn sides(
    input: &Input,
    of: impl Fn((&[f64], Option<&[f64]>)) -> Option<Vec<f64>>,
) -> Result<Option<Dense>, SparseError> {
    let all: Option<Vec<Vec<f64>>> = input.sides().map(of).collect();
    all.map(|all| Dense::new(input.b.len(), all.len(), all.concat())).transpose()
}

fn system(folder: &Path, input: &Input) -> Result<(), Failure> {
    matrix_market::write(folder.join("A.mtx"), &input.matrix, Symmetry::Detect)?;
    for (name, array) in [
        ("b.mtx", sides(input, |(b, _)| Some(b.to_vec()))?),
        ("x0.mtx", sides(input, |(_, x0)| x0.map(<[f64]>::to_vec))?),
        ("coordinates.mtx", input.positions.as_deref().map(points).transpose()?),
        ("near_kernel.mtx", input.near_kernel.as_ref().map(columns).transpose()?),
        ("null_space.mtx", input.null_space.as_ref().map(columns).transpose()?),
    ] {
        if let Some(array) = array {
            matrix_market::write_dense(folder.join(name), &array)?;
        }
    }
    Ok(())
}

/// The arguments after `coarsen` that solve the dumped system in the same way.
fn again(options: &Solve, (threads, backends): (usize, &Backends), input: &Input) -> Vec<String> {
    let given = &options.given;
    // The coordinates imply the block size of the problem, so they are left out for a different block size.
    let nodes =
        input.positions.is_some() && (given.source.coordinates.is_some() || given.block_size.is_none());
    let mut words: Vec<String> = ["solve", "A.mtx", "--rhs", "b.mtx"].map(str::to_owned).into();
    let mut add = |option: &str, value: String| words.extend([option.to_owned(), value]);
    for (option, file, there) in [
        ("--x0", "x0.mtx", input.x0.is_some()),
        ("--coordinates", "coordinates.mtx", nodes),
        ("--near-kernel", "near_kernel.mtx", input.near_kernel.is_some()),
        ("--null-space", "null_space.mtx", input.null_space.is_some()),
    ] {
        if there {
            add(option, file.to_owned());
        }
    }
    if given.null_space == NullSpace::Constants {
        add("--null-space", "constants".to_owned());
    }
    if let Some(size) = given.block_size {
        add("--block-size", size.to_string());
    }
    add("--method", crate::arguments::name(options.method));
    add("--precond", crate::arguments::name(options.precond));
    add("--precision", crate::arguments::name(options.precision));
    // The choice of `auto` depends on the machine and its environment variables.
    let backend = match options.backend.0 {
        BackendChoice::Auto => backends.name().to_owned(),
        _ => options.backend.to_string(),
    };
    add("--backend", backend);
    add("--threads", threads.to_string());
    add("--memory", given.memory_mib.to_string());
    add("--tol", format!("{:e}", given.tol));
    add("--atol", format!("{:e}", given.atol));
    add("--max-iterations", given.max_iterations.to_string());
    if given.symmetrize {
        words.push("--symmetrize".to_owned());
    }
    for (option, value) in given.of_preconds.iter() {
        words.extend([option, value].into_iter().filter(|word| !word.is_empty()).map(str::to_owned)); // a flag has no value
    }
    words
}

/// Copies the named files unchanged, as far as they can be read. A name that is taken gets a number.
fn copies(folder: &Path, given: &Given) -> Result<(), Failure> {
    let mut taken = vec![OsString::from(OPTIONS)];
    for (_, file) in given.inputs().into_iter().filter(|(_, file)| file.is_file()) {
        let Some(name) = file.file_name() else { continue };
        let mut own = name.to_owned();
        for k in 2.. {
            if !taken.contains(&own) {
                break;
            }
            own = format!("{k}-").into();
            own.push(name);
        }
        fs::copy(file, folder.join(&own)).map_err(Failure::write(folder))?;
        taken.push(own);
    }
    Ok(())
}
