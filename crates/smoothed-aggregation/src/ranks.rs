//! One step on the rows of one of several ranks: aggregates do not cross ranks, but P does.
//!
//! The caller provides a square matrix of the own nodes and the nodes of other ranks to which they couple (ghosts).
//! Rows of ghosts may lack couplings. Between the two halves of the step, the caller exchanges Q: a ghost
//! gets the aggregate and the rows of Q of its owner. Then (I − ω D⁻¹A) P̂ is complete in the own rows.
//! Step numbers at line ends are those of Algorithm 3 of Tamstorf 2015.

use std::ops::Range;

use coarsen_backend::SetupError;
use coarsen_core::Real;
use coarsen_sparse::{Bsr, NearKernel};

use super::connection::Aggregates;
use super::high_degree::HighDegree;
use super::parameters::SmoothedAggregation;
use super::parts::Parts;
use super::share::{Exchange, Share};
use super::smooth::{RowPattern, Tentative, smooth};
use super::tentative::{Basis, Held, tentative};
use coarsen_multigrid::Grid;

/// The aggregates of the own nodes of a rank, and their bases.
pub struct RankAggregates<T: Real> {
    parameters: SmoothedAggregation,
    /// The aggregate of each node; `u32::MAX` for nodes without one, and at first for ghosts.
    of: Vec<u32>,
    count: usize,
    spreading: Vec<bool>,
    filtered: bool,
    modes: NearKernel,
    vectors: usize,
    held: Vec<bool>,
    high_degree: HighDegree,
    basis: Basis<T>,
}

/// The node of another rank: its index in the matrix, the column of its aggregate, and its rows of Q.
pub struct GhostNode<T> {
    /// The index of the node.
    pub node: usize,
    /// The column of its aggregate in the local P.
    pub column: u32,
    /// Its rows of Q, b x κ.
    pub rows: Vec<T>,
}

impl SmoothedAggregation {
    /// The aggregates of the `own` nodes of a grid, and their bases. All ranks call it, with the same parameters. The grid needs
    /// a near-kernel, a radius and the inverses of the diagonal blocks, so that all ranks use the same. `filtered` says
    /// whether weak couplings were left out on the finer level; it is true on the finest.
    ///
    /// # Errors
    /// As for a single rank, [`SetupError`] with the row or node at fault. The other ranks then return `None`: every rank
    /// leaves at the same exchange.
    pub fn aggregate_rank<T: Real>(
        &self,
        fine: &Grid<'_, T>,
        own: Range<usize>,
        filtered: bool,
        ranks: Exchange<'_>,
    ) -> Result<Option<RankAggregates<T>>, SetupError> {
        let share = Share::of_rank(own, ranks);
        // With finite values, a known radius and agreed parameters, nothing below fails before the next `agree`.
        let checked = || {
            self.validate()?;
            fine.a.check_finite()?;
            Parts::new(self, fine, false) // 2, 3
        };
        let Some(parts) = share.agree(checked())? else { return Ok(None) };
        let high_degree = HighDegree::find(fine.a.pattern(), &share);
        let found = Aggregates::find(self, fine, filtered, &high_degree, &share)?; // 5, 6
        let Aggregates { decoupled, of, count, spreading } = found;
        let small = self.small(&of, count, &share);
        let kernel = share.agree(self.kernel(fine, &decoupled, &parts, small, &share))?; // 4
        let Some((modes, vectors)) = kernel else { return Ok(None) };
        let (modes, mut held) = (modes.into_owned(), decoupled.held(fine.inherits()).to_vec());
        if !fine.inherits() {
            share.of_owners(&mut held);
        }
        let rows = Held { modes: &modes, vectors, rows: &held };
        let basis = tentative::<T>(rows, fine.a.block().0, &of, count); // 7, 11
        let filtered = share.any(!spreading.is_empty());
        let parameters = *self;
        Ok(Some(RankAggregates {
            parameters,
            of,
            count,
            spreading,
            filtered,
            modes,
            vectors,
            held,
            high_degree,
            basis,
        }))
    }
}

impl<T: Real> RankAggregates<T> {
    /// The number of aggregates of this rank.
    pub fn count(&self) -> usize {
        self.count
    }

    /// κ, the number of near-kernel vectors, which is the number of unknowns of a coarse node.
    pub fn vectors(&self) -> usize {
        self.vectors
    }

    /// Whether weak couplings are left out on any rank.
    pub fn is_filtered(&self) -> bool {
        self.filtered
    }

    /// The aggregate of an own node and its rows of Q; `None` for a node that only relaxation solves.
    pub fn node(&self, node: usize) -> Option<(u32, &[T])> {
        Some(self.of[node]).filter(|&g| g != u32::MAX).zip(self.basis.rows(node))
    }

    /// The coarse scalar unknowns of this rank without a basis function, sorted.
    pub fn without_basis(&self) -> &[u32] {
        &self.basis.without_basis
    }

    /// The near-kernel of the coarse nodes of this rank.
    ///
    /// # Errors
    /// None for a valid near-kernel of the grid.
    pub fn near_kernel(&self) -> Result<NearKernel, SetupError> {
        self.basis.near_kernel()
    }

    /// The rows of P, of which only those of own nodes are complete. Own aggregates are the columns from `first`, and
    /// `ghosts` have their columns. `fine` is the grid of the first half.
    ///
    /// # Errors
    /// [`SetupError`] with the row or node at fault.
    pub fn smooth(
        mut self,
        fine: &Grid<'_, T>,
        first: u32,
        columns: usize,
        ghosts: &[GhostNode<T>],
    ) -> Result<Bsr<T>, SetupError> {
        self.of.iter_mut().filter(|g| **g != u32::MAX).for_each(|g| *g += first);
        for ghost in ghosts {
            self.of[ghost.node] = ghost.column;
            self.basis.set_rows(ghost.node, &ghost.rows);
        }
        let parts = Parts::new(&self.parameters, fine, !self.spreading.is_empty())?; // 2, 3
        let held = Held { modes: &self.modes, vectors: self.vectors, rows: &self.held };
        let filter = self.parameters.filter(&self.spreading, held, fine.a.block().0);
        let reach =
            if parts.omega == 0.0 { RowPattern::Own } else { RowPattern::Pruned(self.parameters.prune) };
        let tentative = Tentative {
            basis: &self.basis,
            aggregates: &self.of,
            count: columns,
            high_degree: &self.high_degree,
        };
        Ok(smooth(fine.a, &parts, tentative, reach, filter.as_ref())?.0) // 8, 9
    }
}
