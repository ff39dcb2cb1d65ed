//! The own nodes and the ghosts of a rank as one square matrix.
//!
//! | symbol | here | |
//! |---|---|---|
//! | nodes | `nodes` | global numbers of own nodes and ghosts, increasing |
//! | own nodes | `own` | where they lie among `nodes` |
//! | A | `a` | complete own rows; of the rows of ghosts, the columns in `nodes` |

use std::iter;
use std::ops::Range;
use std::sync::Arc;

use coarsen_distributed::{CommError, Communicator, DistError, GlobalRows, Partition, agree, pack, unpack};
use coarsen_sparse::{Bsr, Pattern, SparseError};

/// The square matrix of own nodes and ghosts.
pub(crate) struct Extended {
    pub(crate) nodes: Vec<u64>,
    pub(crate) own: Range<usize>,
    pub(crate) a: Bsr<f64>,
}

/// Rows with global columns, as they are sent: the number of columns, the columns, the values.
pub(crate) fn pack_row<'a>(row: impl Iterator<Item = (u64, &'a [f64])>, to: &mut Vec<u8>) {
    let (columns, blocks): (Vec<u64>, Vec<&[f64]>) = row.unzip();
    pack([columns.len() as u64], to);
    pack(columns, to);
    blocks.iter().for_each(|block| pack(block.iter().copied(), to));
}

/// The columns and the values of [`pack_row`].
pub(crate) fn unpack_row(row: &[u8]) -> (Vec<u64>, Vec<f64>) {
    let count = unpack::<u64>(row).next().unwrap_or_default() as usize;
    let (head, body) = row.split_at((8 + 8 * count).min(row.len()));
    (unpack::<u64>(head).skip(1).collect(), unpack(body).collect())
}

impl Extended {
    /// Fetches the rows of the ghosts. All ranks call it.
    pub(crate) fn new<C: Communicator>(
        partition: &Partition<C>,
        rows: &GlobalRows<f64>,
    ) -> Result<Self, DistError> {
        let range = partition.layout().range(partition.rank());
        let mut ghosts: Vec<u64> = rows.columns().iter().copied().filter(|j| !range.contains(j)).collect();
        ghosts.sort_unstable();
        ghosts.dedup();
        let before = ghosts.partition_point(|&node| node < range.start);
        let (own, mut nodes) = (before..before + partition.count(), ghosts.clone());
        nodes.splice(before..before, range.clone());
        let reply = |row: u64, to: &mut Vec<u8>| pack_row(rows.row((row - range.start) as usize), to);
        let of_ghosts: Vec<_> = partition.fetch(&ghosts, reply)?.iter().map(|row| unpack_row(row)).collect();
        let a = agree(
            partition.comm(),
            merge((&nodes, &own), rows, &of_ghosts, before).map_err(DistError::from),
        )?;
        Ok(Self { nodes, own, a })
    }

    /// The own rows of A, square with empty rows of ghosts.
    pub(crate) fn into_own_rows(self) -> Result<Bsr<f64>, SparseError> {
        let Self { nodes, own, a } = self;
        let (pattern, block, values) = trim(a, &own)?.into_parts();
        let (offsets, last) = (pattern.offsets(), pattern.len());
        let before = iter::repeat_n(0, own.start);
        let after = iter::repeat_n(last, nodes.len() - own.end);
        let offsets = before.chain(offsets.iter().copied()).chain(after).collect();
        let pattern = Pattern::new(nodes.len(), offsets, pattern.indices().to_vec())?;
        Bsr::new(Arc::new(pattern), block, values)
    }

    /// Data of the ghosts, in the order of `nodes`; `reply` packs those of own node k.
    pub(crate) fn fetch<C: Communicator>(
        &self,
        partition: &Partition<C>,
        mut reply: impl FnMut(usize, &mut Vec<u8>),
    ) -> Result<Vec<Vec<u8>>, CommError> {
        let first = partition.first();
        let others = [&self.nodes[..self.own.start], &self.nodes[self.own.end..]].concat();
        partition.fetch(&others, |row, to| reply((row - first) as usize, to))
    }

    /// The indices of the ghosts among `nodes`.
    pub(crate) fn ghosts(&self) -> impl Iterator<Item = usize> + use<> {
        (0..self.own.start).chain(self.own.end..self.nodes.len())
    }
}

/// The index of a node among `nodes`, of which the own ones are consecutive.
fn place(nodes: &[u64], own: &Range<usize>, node: u64) -> Option<usize> {
    match nodes.get(own.start) {
        Some(first) if (*first..first + own.len() as u64).contains(&node) => {
            Some(own.start + (node - first) as usize)
        }
        _ => nodes.binary_search(&node).ok(),
    }
}

/// The own rows between those of the ghosts before and after them, as from [`unpack_row`]. All columns of own rows are
/// among `columns`; others of ghosts are left out. The columns `own` are consecutive.
pub(crate) fn merge(
    (columns, own): (&[u64], &Range<usize>),
    rows: &GlobalRows<f64>,
    ghosts: &[(Vec<u64>, Vec<f64>)],
    before: usize,
) -> Result<Bsr<f64>, SparseError> {
    let size = rows.block().0 * rows.block().1;
    let most = rows.columns().len() + ghosts.iter().map(|(columns, _)| columns.len()).sum::<usize>();
    let mut offsets = Vec::with_capacity(rows.count() + ghosts.len() + 1);
    let (mut indices, mut values) = (Vec::with_capacity(most), Vec::with_capacity(most * size));
    offsets.push(0);
    let local = |column| place(columns, own, column).map(|at| at as u32);
    let add = |ghosts: &[(Vec<u64>, Vec<f64>)],
               offsets: &mut Vec<usize>,
               indices: &mut Vec<u32>,
               values: &mut Vec<f64>| {
        for (columns, blocks) in ghosts {
            for (&column, block) in columns.iter().zip(blocks.chunks_exact(size)) {
                let Some(at) = local(column) else { continue };
                indices.push(at);
                values.extend_from_slice(block);
            }
            offsets.push(indices.len());
        }
    };
    let (first, last) = ghosts.split_at(before);
    add(first, &mut offsets, &mut indices, &mut values);
    let start = indices.len();
    indices.extend(rows.columns().iter().filter_map(|&column| local(column)));
    values.extend_from_slice(rows.values());
    offsets.extend(rows.offsets()[1..].iter().map(|offset| start + offset));
    add(last, &mut offsets, &mut indices, &mut values);
    Bsr::new(Arc::new(Pattern::new(columns.len(), offsets, indices)?), rows.block(), values)
}

/// The `own` rows of a matrix alone.
pub(crate) fn trim(a: Bsr<f64>, own: &Range<usize>) -> Result<Bsr<f64>, SparseError> {
    let (pattern, block, mut values) = a.into_parts();
    let bounds = &pattern.offsets()[own.start..=own.end];
    let entries = bounds[0]..bounds[own.len()];
    let offsets = bounds.iter().map(|offset| offset - entries.start).collect();
    let indices = pattern.indices()[entries.clone()].to_vec();
    let size = block.0 * block.1;
    values.truncate(entries.end * size);
    values.drain(..entries.start * size);
    Bsr::new(Arc::new(Pattern::new(pattern.columns(), offsets, indices)?), block, values)
}
