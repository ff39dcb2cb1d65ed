//! The rows of this rank.

use std::path::Path;

use coarsen_distributed::{Communicator, GlobalRows, Layout};
use coarsen_matrix_market as matrix_market;
use coarsen_problems::{Options, Problem, random_vector};
use coarsen_sparse::{Bsr, Zeros, detect_block_size};

use crate::arguments::{Product, Solve};
use crate::failure::{Failure, together};

/// The problem of `solve` without arguments.
const DEFAULT_PROBLEM: &str = "elasticity3d:31";

/// The part of this rank of a system.
pub(crate) struct Input {
    /// The file or the problem.
    pub(crate) source: String,
    pub(crate) layout: Layout,
    /// The number of stored entries of all ranks.
    pub(crate) nnz: u64,
    pub(crate) rows: GlobalRows<f64>,
    pub(crate) b: Vec<f64>,
}

impl Input {
    /// Reads or generates the system; every rank keeps its own rows.
    pub(crate) fn load<C: Communicator>(comm: &C, options: &Solve) -> Result<Self, Failure> {
        let (source, a) = together(comm, whole(options))?;
        let layout = layout(options, a.pattern().rows() as u64, a.block().0, comm.size())?;
        let own = layout.range(comm.rank());
        let rows = GlobalRows::of(&a, own.clone())?;
        let b = together(comm, right_hand_side(&options.rhs, a.shape().0))?;
        let unknowns = own.start as usize * layout.block()..own.end as usize * layout.block();
        Ok(Self { source, nnz: a.nnz() as u64, rows, b: b[unknowns].to_vec(), layout })
    }
}

/// The matrix of the command line in its blocks.
fn whole(options: &Solve) -> Result<(String, Bsr<f64>), Failure> {
    let Some(file) = &options.matrix else {
        let name = options.problem.as_deref().unwrap_or(DEFAULT_PROBLEM);
        let given = Options { dt: options.dt, jump: options.jump, share: None };
        let problem = Problem::parse(name, &given)?;
        if problem.constraints.is_some() {
            return Err(Failure::Constraints { name: problem.name });
        }
        return Ok((problem.name, problem.matrix));
    };
    let a = matrix_market::read_system(file)?;
    let size = match options.block_size {
        Some(size) => size as usize,
        None => detect_block_size(a.pattern()),
    };
    let n = a.shape().0;
    let a = a.reblock((size, size), Zeros::Keep).map_err(|_| Failure::BlockSize { size, n })?;
    Ok((file.display().to_string(), a))
}

fn layout(options: &Solve, rows: u64, block: usize, ranks: usize) -> Result<Layout, Failure> {
    Ok(match options.product {
        Product::Reproducible => Layout::reproducible(rows, block, ranks, options.leaf as usize)?,
        _ => Layout::even(rows, block, ranks)?,
    })
}

fn right_hand_side(text: &str, n: usize) -> Result<Vec<f64>, Failure> {
    match (text, text.strip_prefix("random:")) {
        ("ones", _) => Ok(vec![1.0; n]),
        (_, Some(seed)) => {
            Ok(random_vector(n, seed.parse().map_err(|_| Failure::Rhs { text: text.to_owned() })?))
        }
        (file, None) => {
            let b = matrix_market::read_vector(file)?;
            let (expected, found) = (n, b.len());
            if expected == found {
                Ok(b)
            } else {
                Err(Failure::Rows { file: Path::new(file).into(), expected, found })
            }
        }
    }
}
