//! The order of elimination: P A Pᵀ, and the rows that can be processed in parallel.

use std::ops::Range;
use std::sync::Arc;

use coarsen_backend::{RowSets, SetupError};
use coarsen_core::{Error, Real, parallel};
use coarsen_sparse::{Bsr, Pattern, Permutation, PermutePlan};

/// The rows that one task processes in order.
pub(super) struct Chunk {
    /// The block rows of P A Pᵀ.
    pub(super) rows: Range<usize>,
    /// The block row of A of the first row; the other rows follow it.
    first: usize,
}

impl Chunk {
    /// Returns the block row of A for row i of P A Pᵀ, a row of this chunk.
    #[inline(always)]
    pub(super) fn old(&self, i: usize) -> usize {
        i - self.rows.start + self.first
    }
}

/// The rows, renumbered in the order of the row sets. Each stage is one set, and each chunk is contiguous in
/// the new numbering.
pub(super) struct Order {
    of: Arc<Pattern>,
    pattern: Arc<Pattern>,
    diagonal: Vec<usize>,
    stages: Vec<Vec<Chunk>>,
    renumbering: Option<(Permutation, PermutePlan)>,
}

impl Order {
    /// Returns the order of the row sets. Every diagonal block must exist; `method` names the caller.
    ///
    /// # Errors
    /// [`SetupError::ZeroDiagonal`] with the first row without a diagonal block.
    pub(super) fn new(sets: &RowSets, block: usize, method: &'static str) -> Result<Self, SetupError> {
        let of = sets.pattern();
        let mut start = 0;
        let mut renumber = |chunk: &Range<usize>| {
            let rows = start..start + chunk.len();
            start = rows.end;
            Chunk { rows, first: chunk.start }
        };
        let stages = sets.sets().iter().map(|set| set.iter().map(&mut renumber).collect()).collect();
        let order: Vec<u32> = sets.order().map(|i| i as u32).collect();
        let natural = order.iter().enumerate().all(|(k, &i)| k == i as usize);
        let renumbering = if natural {
            None
        } else {
            let p = Permutation::new(order).map_err(|_| Error::Shape {
                what: "row sets (every row once)",
                expected: of.rows(),
                found: sets.order().count(),
            })?;
            let plan = PermutePlan::new(of, &p, &p)?;
            Some((p, plan))
        };
        let pattern = renumbering.as_ref().map_or(of, |(_, plan)| plan.pattern()).clone();
        let mut order = Self { of: of.clone(), pattern, diagonal: Vec::new(), stages, renumbering };
        order.diagonal = (0..order.pattern.rows())
            .map(|i| {
                let missing = SetupError::ZeroDiagonal { row: order.old(i) * block, method };
                order.pattern.find(i, i).ok_or(missing)
            })
            .collect::<Result<_, _>>()?;
        Ok(order)
    }

    /// Returns the pattern of A.
    pub(super) fn of(&self) -> &Arc<Pattern> {
        &self.of
    }

    /// Returns the pattern of P A Pᵀ.
    pub(super) fn pattern(&self) -> &Arc<Pattern> {
        &self.pattern
    }

    /// Returns the position of the diagonal block of each row.
    pub(super) fn diagonal(&self) -> &[usize] {
        &self.diagonal
    }

    /// Returns the stages in order; chunks of one stage do not depend on each other.
    pub(super) fn stages(&self) -> &[Vec<Chunk>] {
        &self.stages
    }

    pub(super) fn is_natural(&self) -> bool {
        self.renumbering.is_none()
    }

    /// Returns the block row of A for row i of P A Pᵀ.
    pub(super) fn old(&self, i: usize) -> usize {
        self.renumbering.as_ref().map_or(i, |(p, _)| p.to_old(i))
    }

    /// Writes the values of P A Pᵀ.
    pub(super) fn gather<T: Real>(&self, a: &Bsr<T>, to: &mut Bsr<T>) -> Result<(), SetupError> {
        match &self.renumbering {
            None => parallel::map(a.values(), to.values_mut(), |v| *v),
            Some((_, plan)) => plan.update(a, to)?,
        }
        Ok(())
    }
}
