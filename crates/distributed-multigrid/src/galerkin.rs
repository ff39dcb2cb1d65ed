//! PᵀAP and Pᵀ across ranks.
//!
//! | symbol | here | |
//! |---|---|---|
//! | A_i | [`Transfer::own_rows`] | own rows of A, square with empty rows of ghosts |
//! | P | `p` | own rows of P and those of ghosts, which were fetched |
//! | C = Σᵢ PᵢᵀA_iP | | contributions of this rank to coarse rows of any rank, which are sent to their owners |
//! | S | `sizes` | pᵀ diag(A) p of every column p of P |

use std::ops::Range;
use std::sync::Arc;

use coarsen_distributed::{Communicator, DistError, Entries, GlobalRows, Partition, agree};
use coarsen_multigrid::hold_free;
use coarsen_sparse::{Bsr, GalerkinPlan, Pattern, SparseError};

use crate::extended::{Extended, pack_row, unpack_row};

/// The prolongation on the own nodes and ghosts of a rank.
pub(crate) struct Transfer<C: Communicator> {
    coarse_on: Arc<Partition<C>>,
    /// The global numbers of own nodes and ghosts, and where the own ones lie among them.
    nodes: Vec<u64>,
    own: Range<usize>,
    /// The global coarse nodes that are the columns of `p`.
    columns: Vec<u64>,
    p: Bsr<f64>,
    /// The coarse scalar unknowns of this rank without a basis function, sorted.
    dead: Vec<u32>,
}

impl<C: Communicator> Transfer<C> {
    /// Fetches the rows of P of ghosts. All ranks call it.
    pub(crate) fn new(
        on: &Partition<C>,
        coarse_on: &Arc<Partition<C>>,
        local: &Extended,
        p: &GlobalRows<f64>,
        dead: Vec<u32>,
    ) -> Result<Self, DistError> {
        let ghosts = local.fetch(on, |k, to| pack_row(p.row(k), to))?;
        let (columns, p) = agree(on.comm(), with_ghosts(local, p, &ghosts).map_err(DistError::from))?;
        let (nodes, own, coarse_on) = (local.nodes.clone(), local.own.clone(), coarse_on.clone());
        Ok(Self { coarse_on, nodes, own, columns, p, dead })
    }

    /// The own rows of PᵀAP, with a regular diagonal block for every node. All ranks call it.
    pub(crate) fn product(&self, rows: &GlobalRows<f64>) -> Result<GlobalRows<f64>, DistError> {
        let contributions = || -> Result<(Bsr<f64>, Bsr<f64>), SparseError> {
            let a = self.own_rows(rows)?;
            let c = GalerkinPlan::new(&a, &self.p)?.build(&a, &self.p)?;
            Ok((a, c))
        };
        let (a, c) = agree(self.coarse_on.comm(), contributions().map_err(DistError::from))?;
        let k = self.p.block().1;
        let mut entries = Entries::new(&self.coarse_on, self.coarse_on.layout().rows(), k);
        for i in 0..c.pattern().rows() {
            for (j, block) in c.row(i) {
                entries.add(self.columns[i], self.columns[j], block)?;
            }
        }
        let matrix = entries.finish()?;
        let sizes = self.sizes(&a)?;
        with_diagonal(matrix, &self.dead, &sizes)
    }

    /// The own rows of A as a square matrix of own nodes and ghosts.
    fn own_rows(&self, rows: &GlobalRows<f64>) -> Result<Bsr<f64>, SparseError> {
        let (mut offsets, mut indices) = (vec![0; self.own.start + 1], Vec::new());
        for k in 0..rows.count() {
            indices.extend(
                rows.row(k).filter_map(|(j, _)| self.nodes.binary_search(&j).ok()).map(|at| at as u32),
            );
            offsets.push(indices.len());
        }
        offsets.resize(self.nodes.len() + 1, indices.len());
        let pattern = Pattern::new(self.nodes.len(), offsets, indices)?;
        Bsr::new(Arc::new(pattern), rows.block(), rows.values().to_vec()) // every column is among the nodes
    }

    /// S of the coarse nodes of this rank.
    fn sizes(&self, a: &Bsr<f64>) -> Result<Vec<f64>, DistError> {
        let (b, k) = self.p.block();
        let mut here = vec![0.0; self.columns.len() * k];
        for i in self.own.clone() {
            let Some(at) = a.pattern().find(i, i) else { continue };
            for (j, block) in self.p.row(i) {
                for (at_p, p) in block.iter().enumerate() {
                    let r = at_p / k;
                    here[j * k + at_p % k] += p * p * a.value(at)[r * b + r];
                }
            }
        }
        let mut entries = Entries::new(&self.coarse_on, 1, 1);
        for (&node, sizes) in self.columns.iter().zip(here.chunks_exact(k)) {
            entries.add(node, 0, sizes)?;
        }
        let (rows, mut sizes) = (entries.finish()?, vec![0.0; self.coarse_on.count() * k]);
        for (row, to) in sizes.chunks_exact_mut(k).enumerate() {
            rows.row(row).for_each(|(_, of_node)| to.copy_from_slice(of_node));
        }
        Ok(sizes)
    }
}

/// The own rows of Pᵀ. All ranks call it.
pub(crate) fn transpose<C: Communicator>(
    on: &Partition<C>,
    coarse_on: &Arc<Partition<C>>,
    p: &GlobalRows<f64>,
) -> Result<GlobalRows<f64>, DistError> {
    let (b, k) = p.block();
    let mut transposed = Entries::new(coarse_on, on.layout().rows(), b);
    let mut block = vec![0.0; b * k];
    for i in 0..p.count() {
        for (j, from) in p.row(i) {
            (0..b * k).for_each(|at| block[at % k * b + at / k] = from[at]);
            transposed.add(j, p.first() + i as u64, &block)?;
        }
    }
    transposed.finish()
}

/// P of own nodes and ghosts, and the global coarse nodes of its columns.
fn with_ghosts(
    local: &Extended,
    p: &GlobalRows<f64>,
    ghosts: &[Vec<u8>],
) -> Result<(Vec<u64>, Bsr<f64>), SparseError> {
    let size = p.block().0 * p.block().1;
    let ghosts: Vec<(Vec<u64>, Vec<f64>)> = ghosts.iter().map(|row| unpack_row(row)).collect();
    let mut columns: Vec<u64> = p.columns().to_vec();
    ghosts.iter().for_each(|(row, _)| columns.extend_from_slice(row));
    columns.sort_unstable();
    columns.dedup();
    let (mut offsets, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    let mut ghosts = ghosts.iter();
    for k in 0..local.nodes.len() {
        let mut add = |column: u64, block: &[f64]| {
            if let Ok(at) = columns.binary_search(&column) {
                indices.push(at as u32);
                values.extend_from_slice(block);
            }
        };
        if local.own.contains(&k) {
            p.row(k - local.own.start).for_each(|(column, block)| add(column, block));
        } else if let Some((row, blocks)) = ghosts.next() {
            row.iter().zip(blocks.chunks_exact(size)).for_each(|(&column, block)| add(column, block));
        }
        offsets.push(indices.len());
    }
    let pattern = Pattern::new(columns.len(), offsets, indices)?;
    let p = Bsr::new(Arc::new(pattern), p.block(), values)?;
    Ok((columns, p))
}

/// Makes the diagonal blocks regular. Dead unknowns, whose rows and columns are zero, get the largest diagonal entry of
/// their node, or 1 if all its unknowns are dead. Free motions of a node get a stiffness.
fn with_diagonal(matrix: GlobalRows<f64>, dead: &[u32], sizes: &[f64]) -> Result<GlobalRows<f64>, DistError> {
    let (k, first) = (matrix.block().1, matrix.first());
    let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in 0..matrix.count() {
        for (column, block) in matrix.row(row) {
            columns.push(column);
            values.extend_from_slice(block);
            if column != first + row as u64 {
                continue;
            }
            let at = values.len() - k * k;
            let block = &mut values[at..];
            hold_free(block, &sizes[row * k..(row + 1) * k]);
            let largest = block.iter().step_by(k + 1).fold(0.0_f64, |m, &d| m.max(d));
            let of_row = dead.partition_point(|&unknown| (unknown as usize) < row * k)
                ..dead.partition_point(|&unknown| (unknown as usize) < (row + 1) * k);
            for &unknown in &dead[of_row] {
                block[(unknown as usize - row * k) * (k + 1)] = if largest > 0.0 { largest } else { 1.0 };
            }
        }
        offsets.push(columns.len());
    }
    GlobalRows::new(first, matrix.block(), offsets, columns, values)
}
