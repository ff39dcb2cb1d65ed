//! The rows of this rank: of a problem of the gallery, or of a file that is read by pieces.
//!
//! | source | this rank holds |
//! |---|---|
//! | a file | its piece of the entries, then its rows; coordinates, near-kernel and a right-hand side in a file as a whole; rank 0 also all rigid-body motions, while it checks their order |
//! | the gallery | its rows; while they are generated, positions and the mesh as a whole |

use std::path::Path;
use std::sync::Arc;

use coarsen_distributed::{Communicator, DistError, Entries, GlobalRows, Layout, Partition, agree};
use coarsen_matrix_market::{self as matrix_market, Piece, read_piece};
use coarsen_problems::{Options, Parts, random_rows};
use coarsen_sparse::{Bsr, NearKernel};

use crate::arguments::{Division, Solve};
use crate::division::{Order, divide};
use crate::failure::{Failure, check_rows, together};
use crate::matrix;

/// The problem of `solve` without arguments.
const DEFAULT_PROBLEM: &str = "elasticity3d:31";

/// The maximum number of unknowns of a node that coordinates may imply, as in `coarsen`.
const MOST: usize = 12;

/// The number of unknowns up to which rank 0 checks the order of coordinates: their motions take 48 bytes for each.
const CHECKED: usize = 10_000_000;

/// The part of this rank of a system.
pub(crate) struct Input {
    /// The file or the problem.
    pub(crate) source: String,
    pub(crate) layout: Layout,
    pub(crate) order: Order,
    /// The number of stored entries of all ranks.
    pub(crate) nnz: u64,
    pub(crate) rows: GlobalRows<f64>,
    pub(crate) b: Vec<f64>,
    /// The starting guess.
    pub(crate) x0: Vec<f64>,
    pub(crate) near_kernel: Option<NearKernel>,
    /// What rank 0 found out about the order of near-kernel or coordinates.
    pub(crate) warnings: Vec<String>,
}

impl Input {
    /// Reads or generates the system. All ranks call it.
    pub(crate) fn load<C: Communicator>(comm: &C, options: &Solve) -> Result<Self, Failure> {
        match &options.matrix {
            Some(file) => Self::of_file(comm, options, file),
            None => Self::of_gallery(comm, options),
        }
    }

    fn of_gallery<C: Communicator>(comm: &C, options: &Solve) -> Result<Self, Failure> {
        let parts = together(comm, parts(options))?;
        let (nodes, block) = (parts.nodes() as u64, parts.block());
        let positions = (options.partition != Division::Even).then(|| parts.positions());
        let (order, layout) = together(comm, divide(options, nodes, block, comm.size(), positions))?;
        let own = layout.range(comm.rank());
        let nodes = order.old_numbers(own.clone());
        let part = together(comm, parts.part(&nodes).map_err(Failure::Problem))?;
        let source = parts.name();
        drop(parts);
        let rows = together(comm, renumbered(part.matrix, own.start, &order).map_err(Failure::Dist))?;
        let b = together(comm, right_hand_side(&options.rhs, &nodes, block, layout.unknowns()))?;
        let x0 = together(comm, starting_guess(options, &nodes, block, layout.unknowns()))?;
        let mut nnz = [(rows.columns().len() * block * block) as f64];
        comm.all_reduce(&mut nnz)?;
        let (near_kernel, warnings) = (Some(part.near_kernel), Vec::new());
        Ok(Self { source, nnz: nnz[0] as u64, rows, b, x0, near_kernel, warnings, layout, order })
    }

    fn of_file<C: Communicator>(comm: &C, options: &Solve, file: &Path) -> Result<Self, Failure> {
        let piece = together(comm, read_piece(file, comm.rank(), comm.size()).map_err(Failure::Read))?;
        let (below, above) = (piece.lower == Some(true), piece.lower == Some(false));
        let mut counts = [piece.stored as f64, f64::from(u8::from(below)), f64::from(u8::from(above))];
        comm.all_reduce(&mut counts)?;
        let checked = piece.check_all(counts[0] as usize, counts[1] > 0.0, counts[2] > 0.0);
        together(comm, checked.map_err(Failure::Read))?;
        let n = piece.size;
        let positions = together(comm, options.coordinates.as_deref().map(points).transpose())?;
        let size = match (options.block_size, &positions) {
            (None, None) => matrix::block_size(comm, &piece)?,
            _ => block_size(options, n, positions.as_deref())?,
        };
        let nodes = n / size;
        let divided = divide(options, nodes as u64, size, comm.size(), positions.as_deref());
        let (order, layout) = together(comm, divided)?;
        let partition = Partition::new(comm.clone(), layout.clone())?;
        let rows = assemble(&partition, piece, &order)?;
        let mut nnz = [(rows.columns().len() * size * size) as f64];
        comm.all_reduce(&mut nnz)?;
        let own = layout.range(comm.rank());
        let numbers = order.old_numbers(own.clone());
        let b = together(comm, right_hand_side(&options.rhs, &numbers, size, n))?;
        let x0 = together(comm, starting_guess(options, &numbers, size, n))?;
        let given = options.near_kernel.as_deref().map(|file| vectors(file, n)).transpose();
        let given = together(comm, given)?;
        let kernel = match (&given, &positions) {
            (Some(vectors), _) => kernel(vectors, size, &order, own).map(Some),
            (None, Some(x)) if size == 2 || size == 3 => rigid(x, size, &order, own).map(Some),
            (None, _) => Ok(None),
        };
        let near_kernel = together(comm, kernel)?;
        let all = match (given, &positions) {
            _ if comm.rank() > 0 => Ok(None),
            (Some(vectors), _) => Ok(Some(vectors)),
            (None, Some(x)) if near_kernel.is_some() && n <= CHECKED => {
                NearKernel::rigid_body_modes(x, size).map(Some).map_err(Failure::Core)
            }
            (None, _) => Ok(None),
        };
        let found = all.and_then(|all| match all.filter(|vectors| vectors.size() == n) {
            Some(vectors) => matrix::by_component(&rows, &order, &vectors),
            None => Ok(None),
        });
        let warnings = together(comm, found)?.into_iter().collect();
        let source = file.display().to_string();
        Ok(Self { source, nnz: nnz[0] as u64, rows, b, x0, near_kernel, warnings, layout, order })
    }
}

fn parts(options: &Solve) -> Result<Parts, Failure> {
    let name = options.problem.as_deref().unwrap_or(DEFAULT_PROBLEM);
    let parts = Parts::parse(name, &Options { dt: options.dt, jump: options.jump, share: None })?;
    match parts.is_constrained() {
        false => Ok(parts),
        true => Err(Failure::Usage(format!(
            "the problem {} has constraints, which coarsen-mpi does not impose; use coarsen solve",
            parts.name()
        ))),
    }
}

/// The block rows of this rank, from row `first` on, with the columns of an order.
fn renumbered(a: Bsr<f64>, first: u64, order: &Order) -> Result<GlobalRows<f64>, DistError> {
    let count = a.pattern().len();
    let (mut columns, mut values) = (Vec::with_capacity(count), Vec::with_capacity(a.values().len()));
    for k in 0..a.pattern().rows() {
        for (column, block) in order.row(&a, k) {
            columns.push(column);
            values.extend_from_slice(block);
        }
    }
    GlobalRows::new(first, a.block(), a.pattern().offsets().to_vec(), columns, values)
}

/// Sends the entries of a piece to the owners of their rows, in blocks.
///
/// An entry that the file has several times is added as often, in the order of the file. A sum over the entries of a
/// piece would depend on where pieces end, and so on the number of ranks.
fn assemble<C: Communicator>(
    partition: &Arc<Partition<C>>,
    piece: Piece,
    order: &Order,
) -> Result<GlobalRows<f64>, DistError> {
    let size = partition.layout().block();
    let place = |i: u32| (order.of(u64::from(i) / size as u64), i as usize % size);
    let mut scalars: Vec<_> = piece.entries.into_iter().map(|(i, j, v)| (place(i), place(j), v)).collect();
    scalars.sort_by_key(|&((i, _), (j, _), _)| (i, j)); // stable: the order of the file within a block
    let mut entries = Entries::new(partition, partition.layout().rows(), size);
    let mut added = Ok(());
    let mut blocks = Vec::new(); // the k-th block has the k-th value of each entry
    let mut times = vec![0; size * size];
    for group in scalars.chunk_by(|a, b| (a.0.0, a.1.0) == (b.0.0, b.1.0)) {
        blocks.clear();
        times.fill(0);
        for &((_, r), (_, c), v) in group {
            let at = r * size + c;
            let first = times[at] * size * size;
            times[at] += 1;
            blocks.resize(blocks.len().max(first + size * size), 0.0);
            blocks[first + at] += v; // 0 + v: a -0 would keep its sign only on some numbers of ranks
        }
        for block in blocks.chunks_exact(size * size) {
            added = added.and_then(|()| entries.add(group[0].0.0, group[0].1.0, block));
        }
    }
    agree(partition.comm(), added)?;
    entries.finish()
}

/// The entries of `nodes` of the right-hand side, in this order; it has `n` entries in all.
fn right_hand_side(text: &str, nodes: &[u32], size: usize, n: usize) -> Result<Vec<f64>, Failure> {
    match (text, text.strip_prefix("random:")) {
        ("ones", _) => Ok(vec![1.0; nodes.len() * size]),
        (_, Some(seed)) => {
            let expected = "expected a file, `ones`, or `random:SEED` with a whole number";
            let seed = seed.parse().map_err(|_| Failure::Usage(format!("--rhs {text}: {expected}")))?;
            Ok(random_rows(nodes, size, seed))
        }
        (file, None) => vector(Path::new(file), nodes, size, n),
    }
}

/// The entries of `nodes` of the starting guess.
fn starting_guess(options: &Solve, nodes: &[u32], size: usize, n: usize) -> Result<Vec<f64>, Failure> {
    match &options.x0 {
        Some(file) => vector(file, nodes, size, n),
        None => Ok(vec![0.0; nodes.len() * size]),
    }
}

/// The entries of `nodes` of a vector of `n` numbers in a file.
fn vector(file: &Path, nodes: &[u32], size: usize, n: usize) -> Result<Vec<f64>, Failure> {
    let all = matrix_market::read_vector(file)?;
    check_rows(file, "one per unknown", n, all.len())?;
    Ok(nodes.iter().flat_map(|&i| all[i as usize * size..][..size].iter().copied()).collect())
}

/// One point for each node; missing axes are 0.
fn points(file: &Path) -> Result<Vec<[f64; 3]>, Failure> {
    let xyz = matrix_market::read_dense(file)?;
    let at = |i: usize, axis: usize| if axis < xyz.columns() { xyz.get(i, axis) } else { 0.0 };
    Ok((0..xyz.rows()).map(|i| [0, 1, 2].map(|axis| at(i, axis))).collect())
}

/// The unknowns of a node: the option, otherwise those for each of the coordinates.
fn block_size(options: &Solve, n: usize, positions: Option<&[[f64; 3]]>) -> Result<usize, Failure> {
    let (nodes, file) = (positions.map(<[_]>::len), options.coordinates.as_deref().unwrap_or(Path::new("")));
    let of_nodes = nodes.and_then(|nodes| n.checked_div(nodes)).unwrap_or(1);
    let size = options.block_size.map_or(of_nodes, |size| size as usize);
    match nodes {
        Some(nodes) if options.block_size.is_none() && !n.is_multiple_of(nodes) => {
            let what = "rows, one for each node, do not divide the";
            Err(Failure::input(file, format!("{nodes} {what} {n} unknowns")))
        }
        Some(nodes) if options.block_size.is_none() && size > MOST => Err(Failure::input(
            file,
            format!(
                "{nodes} rows, one for each node, give each node {size} of the {n} unknowns; the file seems to belong to \
                     another system; if {size} is right, give --block-size {size}"
            ),
        )),
        _ if !n.is_multiple_of(size) => Err(Failure::Usage(format!(
            "--block-size {size} does not divide the {n} unknowns; give the number of unknowns of a node"
        ))),
        Some(nodes) => {
            check_rows(file, "one per node of --block-size unknowns", n / size, nodes).map(|()| size)
        }
        None => Ok(size),
    }
}

/// The near-kernel of all unknowns, in the order of the file.
fn vectors(file: &Path, n: usize) -> Result<NearKernel, Failure> {
    let vectors = matrix_market::read_dense(file)?;
    check_rows(file, "one per unknown", n, vectors.rows())?;
    let k = vectors.columns();
    let rows: Vec<f64> =
        (0..n).flat_map(|i| (0..k).map(move |j| (i, j))).map(|(i, j)| vectors.get(i, j)).collect();
    NearKernel::from_rows(k, rows).map_err(Failure::Core)
}

/// The own rows of the near-kernel.
fn kernel(
    vectors: &NearKernel,
    size: usize,
    order: &Order,
    own: std::ops::Range<u64>,
) -> Result<NearKernel, Failure> {
    let k = vectors.vectors();
    NearKernel::from_rows(k, order.part(vectors.values(), size * k, own)).map_err(Failure::Core)
}

/// The own rows of the rigid-body motions.
fn rigid(
    positions: &[[f64; 3]],
    size: usize,
    order: &Order,
    own: std::ops::Range<u64>,
) -> Result<NearKernel, Failure> {
    NearKernel::rigid_body_modes_at(positions, size, &order.old_numbers(own)).map_err(Failure::Core)
}
