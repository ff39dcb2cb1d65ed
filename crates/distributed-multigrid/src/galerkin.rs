//! PᵀAP and Pᵀ across ranks.
//!
//! | symbol | here | |
//! |---|---|---|
//! | A_i | `local.own_rows()` | own rows of A, square with empty rows of ghosts |
//! | P | `p` | own rows of P; those of ghosts are fetched |
//! | C = Σᵢ PᵢᵀA_iP | | contributions of this rank to coarse rows of any rank, which are sent to their owners |

use std::sync::Arc;

use coarsen_distributed::{Communicator, DistError, Entries, GlobalRows, Partition, agree};
use coarsen_sparse::{Bsr, GalerkinPlan, Pattern, SparseError};

use crate::extended::{Extended, pack_row, unpack_row};

/// The own rows of PᵀAP and of Pᵀ.
pub(crate) struct Coarse {
    pub(crate) matrix: GlobalRows<f64>,
    pub(crate) transposed: GlobalRows<f64>,
}

/// All ranks call it.
pub(crate) fn product<C: Communicator>(
    on: &Partition<C>,
    coarse_on: &Arc<Partition<C>>,
    local: &Extended,
    p: &GlobalRows<f64>,
) -> Result<Coarse, DistError> {
    let ghosts = local.fetch(on, |k, to| pack_row(p.row(k), to))?;
    let product = contributions(local, p, &ghosts).map_err(DistError::from);
    let (columns, c) = agree(on.comm(), product)?;
    let (b, k) = p.block();
    let mut entries = Entries::new(coarse_on, coarse_on.layout().rows(), k);
    for i in 0..c.pattern().rows() {
        for (j, block) in c.row(i) {
            entries.add(columns[i], columns[j], block)?;
        }
    }
    let mut transposed = Entries::new(coarse_on, on.layout().rows(), b);
    let mut block = vec![0.0; b * k];
    for i in 0..p.count() {
        for (j, from) in p.row(i) {
            (0..b * k).for_each(|at| block[at % k * b + at / k] = from[at]);
            transposed.add(j, p.first() + i as u64, &block)?;
        }
    }
    Ok(Coarse { matrix: entries.finish()?, transposed: transposed.finish()? })
}

/// C, and the global coarse nodes of its rows and columns.
fn contributions(
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
    let (a, p) = (local.own_rows()?, Bsr::new(Arc::new(pattern), p.block(), values)?);
    let c = GalerkinPlan::new(&a, &p)?.build(&a, &p)?;
    Ok((columns, c))
}

/// Gives a diagonal entry to dead unknowns, whose rows and columns are zero: the largest of their node, or 1 if all
/// its unknowns are dead.
pub(crate) fn with_diagonal(matrix: GlobalRows<f64>, dead: &[u32]) -> Result<GlobalRows<f64>, DistError> {
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
