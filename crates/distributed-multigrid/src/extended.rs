//! The own nodes and the ghosts of a rank as one square matrix.
//!
//! | symbol | here | |
//! |---|---|---|
//! | nodes | `nodes` | global numbers of own nodes and ghosts, increasing |
//! | own nodes | `own` | where they lie among `nodes` |
//! | A | `a` | complete own rows; of the rows of ghosts, the columns in `nodes` |

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
    pub(crate) fn new<C: Communicator>(on: &Partition<C>, rows: &GlobalRows<f64>) -> Result<Self, DistError> {
        let range = on.layout().range(on.rank());
        let mut nodes: Vec<u64> = rows.columns().iter().copied().chain(range.clone()).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let before = nodes.partition_point(|&node| node < range.start);
        let own = before..before + on.count();
        let reply = |row: u64, to: &mut Vec<u8>| pack_row(rows.row((row - range.start) as usize), to);
        let ghosts = on.fetch(&others(&nodes, &own), reply)?;
        let a = agree(on.comm(), merge(&nodes, &own, rows, &ghosts).map_err(DistError::from))?;
        Ok(Self { nodes, own, a })
    }

    /// Data of the ghosts, in the order of `nodes`; `reply` packs those of own node k.
    pub(crate) fn fetch<C: Communicator>(
        &self,
        on: &Partition<C>,
        mut reply: impl FnMut(usize, &mut Vec<u8>),
    ) -> Result<Vec<Vec<u8>>, CommError> {
        let first = on.first();
        on.fetch(&others(&self.nodes, &self.own), |row, to| reply((row - first) as usize, to))
    }

    /// The indices of the ghosts among `nodes`.
    pub(crate) fn ghosts(&self) -> impl Iterator<Item = usize> + use<> {
        (0..self.own.start).chain(self.own.end..self.nodes.len())
    }
}

fn others(nodes: &[u64], own: &Range<usize>) -> Vec<u64> {
    [&nodes[..own.start], &nodes[own.end..]].concat()
}

fn merge(
    nodes: &[u64],
    own: &Range<usize>,
    rows: &GlobalRows<f64>,
    ghosts: &[Vec<u8>],
) -> Result<Bsr<f64>, SparseError> {
    let size = rows.block().0 * rows.block().1;
    let (mut offsets, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    let mut ghosts = ghosts.iter();
    for k in 0..nodes.len() {
        let mut add = |column: u64, block: &[f64]| {
            if let Ok(at) = nodes.binary_search(&column) {
                indices.push(at as u32);
                values.extend_from_slice(block);
            }
        };
        if own.contains(&k) {
            rows.row(k - own.start).for_each(|(column, block)| add(column, block));
        } else if let Some(row) = ghosts.next() {
            let (columns, blocks) = unpack_row(row);
            columns.iter().zip(blocks.chunks_exact(size)).for_each(|(&column, block)| add(column, block));
        }
        offsets.push(indices.len());
    }
    Bsr::new(Arc::new(Pattern::new(nodes.len(), offsets, indices)?), rows.block(), values)
}
