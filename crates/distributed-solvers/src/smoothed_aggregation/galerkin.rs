//! PᵀAP across ranks.
//!
//! | symbol | here | |
//! |---|---|---|
//! | A_i | `a`, [`Extended::into_own_rows`] | own rows of A, square with empty rows of ghosts |
//! | P | `p` | own rows of P and those of ghosts, which were fetched |
//! | C = Σᵢ PᵢᵀA_iP | | contributions of this rank to coarse rows of any rank, which are sent to their owners |
//! | S | `sizes` | pᵀ diag(A) p of every column p of P |

use std::ops::Range;
use std::sync::Arc;

use coarsen_distributed::{Communicator, DistError, Entries, GlobalRows, Partition, agree};
use coarsen_multigrid::regularise_rigid_modes;
use coarsen_sparse::{Bsr, GalerkinPlan, Pattern, SparseError};

use super::extended::{Extended, merge, pack_row, unpack_row};
use super::owners::to_owners;

/// The prolongation on the own nodes and ghosts of a rank.
pub(crate) struct Transfer<C: Communicator> {
    coarse_partition: Arc<Partition<C>>,
    /// Where the own nodes lie among own nodes and ghosts.
    own: Range<usize>,
    /// The pattern of A_i.
    pattern: Arc<Pattern>,
    /// The global coarse nodes that are the columns of `p`.
    columns: Vec<u64>,
    p: Bsr<f64>,
    /// The coarse scalar unknowns of this rank without a basis function, sorted.
    without_basis: Vec<u32>,
}

impl<C: Communicator> Transfer<C> {
    /// Fetches the rows of P of ghosts. Also returns A_i. `columns` has the coarse nodes of the own rows of P, of which
    /// those of `own_columns` are consecutive. All ranks call it.
    pub(crate) fn new(
        (partition, coarse_partition): (&Partition<C>, &Arc<Partition<C>>),
        local: Extended,
        p: &GlobalRows<f64>,
        (mut columns, own_columns): (Vec<u64>, Range<usize>),
        without_basis: Vec<u32>,
    ) -> Result<(Self, Bsr<f64>), DistError> {
        let ghosts = local.fetch(partition, |k, to| pack_row(p.row(k), to))?;
        let ghosts: Vec<_> = ghosts.iter().map(|row| unpack_row(row)).collect();
        let first = columns.get(own_columns.start).copied();
        ghosts.iter().for_each(|row| columns.extend_from_slice(&row.0));
        columns.sort_unstable();
        columns.dedup();
        let start = first.map_or(0, |first| columns.partition_point(|&column| column < first));
        let own_columns = start..start + own_columns.len();
        let (own, coarse_partition) = (local.own.clone(), coarse_partition.clone());
        let matrices = || -> Result<(Bsr<f64>, Bsr<f64>), SparseError> {
            let p = merge((&columns, &own_columns), p, &ghosts, own.start)?;
            Ok((p, local.into_own_rows()?))
        };
        let (p, a) = agree(partition.comm(), matrices().map_err(DistError::from))?;
        Ok((Self { coarse_partition, own, pattern: a.pattern().clone(), columns, p, without_basis }, a))
    }

    /// The own rows of PᵀAP for new values of A. All ranks call it.
    pub(crate) fn product(&self, rows: &GlobalRows<f64>) -> Result<GlobalRows<f64>, DistError> {
        let a = Bsr::new(self.pattern.clone(), rows.block(), rows.values().to_vec());
        let a = agree(self.coarse_partition.comm(), a.map_err(DistError::from))?;
        self.coarse(&a)
    }

    /// The own rows of PᵀAP, with a regular diagonal block for every node. All ranks call it.
    pub(crate) fn coarse(&self, a: &Bsr<f64>) -> Result<GlobalRows<f64>, DistError> {
        let contributions = GalerkinPlan::new(a, &self.p).and_then(|mut plan| plan.build(a, &self.p));
        let c = agree(self.coarse_partition.comm(), contributions.map_err(DistError::from))?;
        let (width, columns) = (self.coarse_partition.layout().rows(), &self.columns);
        let mut matrix = to_owners(&self.coarse_partition, width, (columns, columns), c)?;
        let sizes = self.sizes(a)?;
        regularise(&mut matrix, &self.without_basis, &sizes);
        Ok(matrix)
    }

    /// S of the coarse nodes of this rank.
    fn sizes(&self, a: &Bsr<f64>) -> Result<Vec<f64>, DistError> {
        let (b, k) = self.p.block();
        let mut here = vec![0.0; self.columns.len() * k];
        for i in self.own.clone() {
            let Some(at) = a.pattern().find(i, i) else { continue };
            let diagonal = a.value(at).iter().step_by(b + 1);
            for (j, block) in self.p.row(i) {
                for (row, d) in block.chunks_exact(k).zip(diagonal.clone()) {
                    here[j * k..(j + 1) * k].iter_mut().zip(row).for_each(|(sum, p)| *sum += p * p * d);
                }
            }
        }
        let mut entries = Entries::new(&self.coarse_partition, 1, 1);
        for (&node, sizes) in self.columns.iter().zip(here.chunks_exact(k)) {
            entries.add(node, 0, sizes)?;
        }
        let (rows, mut sizes) = (entries.finish()?, vec![0.0; self.coarse_partition.count() * k]);
        for (row, to) in sizes.chunks_exact_mut(k).enumerate() {
            rows.row(row).for_each(|(_, of_node)| to.copy_from_slice(of_node));
        }
        Ok(sizes)
    }
}

/// Makes the diagonal blocks regular. Unknowns without a basis function, whose rows and columns are zero, get the
/// largest diagonal entry of their node, or 1 if none of its unknowns has a basis function. Rigid-body modes of a node
/// get a stiffness.
fn regularise(matrix: &mut GlobalRows<f64>, without_basis: &[u32], sizes: &[f64]) {
    let k = matrix.block().1;
    for row in 0..matrix.count() {
        let Some(block) = matrix.diagonal_block_mut(row) else { continue };
        regularise_rigid_modes(block, &sizes[row * k..(row + 1) * k]);
        let largest = block.iter().step_by(k + 1).fold(0.0_f64, |m, &d| m.max(d));
        let of_row = without_basis.partition_point(|&unknown| (unknown as usize) < row * k)
            ..without_basis.partition_point(|&unknown| (unknown as usize) < (row + 1) * k);
        for &unknown in &without_basis[of_row] {
            block[(unknown as usize - row * k) * (k + 1)] = if largest > 0.0 { largest } else { 1.0 };
        }
    }
}
