//! Facts about the matrix that the command needs before the setup, as `coarsen` finds them: the unknowns of a node, and
//! properties that exclude a method.

use coarsen_diagnose::{Definiteness, diagnose};
use coarsen_distributed::{CommError, Communicator, GlobalRows, Partition, pack, unpack};
use coarsen_matrix_market::Piece;
use coarsen_sparse::{Bsr, NearKernel, Pattern, SparseError, assembly, detect_block_size};

use crate::arguments::{Method, Solve, name};
use crate::division::Order;
use crate::failure::{Failure, together};

/// The runs of consecutive rows whose pattern shows the block size of a large matrix, and the rows of a run: those that
/// [`detect_block_size`] reads.
const RUNS: usize = 16;
const RUN: usize = 480;

/// The number of unknowns of a node that the pattern shows. All ranks call it. *Cost* rank 0 receives the places of the
/// entries in the sample of rows.
pub(crate) fn block_size<C: Communicator>(comm: &C, piece: &Piece) -> Result<usize, Failure> {
    let n = piece.size;
    let mut sampled = vec![n <= 2 * RUNS * RUN; n];
    for run in 0..RUNS {
        let start = run * n.saturating_sub(RUN) / (RUNS - 1);
        sampled[start..n.min(start + RUN)].fill(true);
    }
    let mut own = Vec::new();
    let places = piece.entries.iter().filter(|(i, ..)| sampled[*i as usize]);
    pack(places.flat_map(|&(i, j, _)| [i, j]), &mut own);
    let all = comm.gather(0, &own)?;
    let found = all.map(|all| pattern(n, &all).map(|pattern| detect_block_size(&pattern) as u64)).transpose();
    let mut size = Vec::new();
    pack(together(comm, found.map_err(Failure::Sparse))?, &mut size);
    comm.broadcast(0, &mut size)?;
    Ok(unpack::<u64>(&size).next().unwrap_or(1) as usize)
}

/// The pattern of places (row, column), of which some may be given twice.
fn pattern(n: usize, places: &[Vec<u8>]) -> Result<Pattern, SparseError> {
    let places = places.iter().flat_map(|part| unpack::<u32>(part)).collect::<Vec<_>>();
    let mut places = places.as_chunks::<2>().0.to_vec();
    places.sort_unstable();
    places.dedup();
    let offsets = (0..=n).map(|i| places.partition_point(|place| (place[0] as usize) < i)).collect();
    Pattern::new(n, offsets, places.iter().map(|place| place[1]).collect())
}

/// Refuses values that huge diagonal entries prescribe, which would hide the residuals of all other rows, and a method that needs a
/// symmetric, or a positive definite matrix, if this one is not: as `coarsen` does, each rank reads its rows and those of other ranks
/// to which they couple. All ranks call it. *Cost* a copy of these rows, and a pass over them.
pub(crate) fn check<C: Communicator>(
    options: &Solve,
    partition: &Partition<C>,
    rows: &GlobalRows<f64>,
    order: &Order,
) -> Result<(), Failure> {
    let own = partition.layout().range(partition.rank());
    let (nodes, around) = around(partition, rows)?;
    let checked = around.map_err(Failure::Sparse).and_then(|a| {
        let Some(values) = diagnose(&a).values else { return Ok(()) }; // not finite: the setup says where
        let method = name(options.method);
        let b = a.block().0;
        let given = |i: usize| order.old(nodes[i / b]) * b + i % b + 1;
        if let Some(&i) = values.prescribed.iter().find(|&&i| own.contains(&nodes[i / b])) {
            return Err(Failure::Unsuitable(format!(
                "row {} prescribes a value by a diagonal entry above 1e15 times its other entries (rows are counted from 1), \
                 which hides the residuals of all other rows; eliminate such rows and columns, or use `coarsen solve`, which does",
                given(i)
            )));
        }
        if matches!(options.method, Method::Gmres | Method::Bicgstab) {
            return Ok(());
        }
        if let Some((i, j, here, there)) = values.symmetry.worst.filter(|_| !values.symmetry.holds()) {
            let [row, column] = [i, j].map(given);
            let cure = match values.symmetry.triangle {
                Some(_) => {
                    "only one triangle is stored: write `symmetric` in place of `general` in the first line"
                }
                None => "use --method gmres or bicgstab, or eliminate boundary rows and columns alike",
            };
            return Err(Failure::Unsuitable(format!(
                "--method {method} needs a symmetric matrix, but row {row}, column {column} holds {here:.17e}, and row \
                 {column}, column {row} holds {there:.17e} (rows are counted from 1); {cure}"
            )));
        }
        match &values.definiteness {
            Definiteness::Indefinite(witness) if options.method != Method::Minres => {
                let mut why = witness.clone();
                why.renumber(given);
                Err(Failure::Unsuitable(format!(
                    "--method {method} needs a positive definite matrix, but {why} (rows are counted from 1); use --method \
                     minres or gmres, or correct the assembly"
                )))
            }
            _ => Ok(()),
        }
    });
    together(partition.comm(), checked)
}

/// A warning if one of the matrix and the near-kernel is ordered by component and the other by node, as `coarsen` gives it.
/// `vectors` has all unknowns in the order of the file. *Cost* a copy of the rows of this rank, which stand for all.
pub(crate) fn by_component(
    rows: &GlobalRows<f64>,
    order: &Order,
    vectors: &NearKernel,
) -> Result<Option<String>, Failure> {
    if rows.count() == 0 {
        return Ok(None);
    }
    let place = |k: usize, j: u64| (k as u32, order.old(j) as u32);
    let places: Vec<_> = (0..rows.count()).flat_map(|k| rows.row(k).map(move |(j, _)| place(k, j))).collect();
    let nodes = vectors.size() / rows.block().1;
    let own = assembly::from_blocks((rows.count(), nodes), rows.block(), &places, rows.values())?;
    Ok(vectors.by_component(&own).map_err(Failure::Core)?.map(|found| found.to_string()))
}

/// The square matrix of the nodes of this rank and those of other ranks to which they couple, and their numbers.
fn around<C: Communicator>(
    partition: &Partition<C>,
    rows: &GlobalRows<f64>,
) -> Result<(Vec<u64>, Result<Bsr<f64>, SparseError>), CommError> {
    let (own, b) = (partition.layout().range(partition.rank()), rows.block().0);
    let mut ghosts: Vec<u64> = rows.columns().iter().copied().filter(|j| !own.contains(j)).collect();
    ghosts.sort_unstable();
    ghosts.dedup();
    let told = partition.fetch(&ghosts, |row, to| {
        for (j, block) in rows.row((row - own.start) as usize) {
            pack([j], to);
            pack(block.iter().copied(), to);
        }
    })?;
    let mut nodes: Vec<u64> = own.clone().chain(ghosts.iter().copied()).collect();
    nodes.sort_unstable();
    let at = |node: u64| nodes.binary_search(&node).ok().map(|k| k as u32);
    let (mut places, mut values) = (Vec::new(), Vec::new());
    for (k, i) in own.clone().enumerate() {
        for (j, block) in rows.row(k) {
            places.extend(at(i).zip(at(j)));
            values.extend_from_slice(block);
        }
    }
    for (&i, row) in ghosts.iter().zip(&told) {
        for entry in row.chunks_exact(8 + 8 * b * b) {
            let (j, block) = entry.split_at(8);
            if let Some(place) = at(i).zip(unpack(j).next().and_then(at)) {
                places.push(place);
                values.extend(unpack::<f64>(block));
            }
        }
    }
    let n = nodes.len();
    let a = assembly::from_blocks((n, n), (b, b), &places, &values);
    Ok((nodes, a))
}
