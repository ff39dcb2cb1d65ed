//! What a multigrid method has to say: how a grid becomes a coarser one.

use coarsen_backend::{DenseBlocks, SetupError};
use coarsen_core::Real;
use coarsen_sparse::{Bsr, NearKernel, Pattern};

/// One level as a coarsening sees it: matrix, near-kernel, geometry.
#[derive(Clone, Copy, Debug)]
pub struct Grid<'a, T> {
    /// The matrix of this level, square in square blocks.
    pub a: &'a Bsr<T>,
    /// Vectors v with A v small, where they are known.
    pub near_kernel: Option<&'a NearKernel>,
    /// One point a node, where they are known.
    pub positions: Option<&'a [[f64; 3]]>,
    /// A bound of ρ(D⁻¹A), D the block diagonal of A, where the smoother has found one.
    pub radius: Option<f64>,
    /// The set of each node, `u32::MAX` for nodes in none, where the smoother solves sets of nodes exactly: what it leaves to a coarser grid
    /// are errors that are smooth across them.
    pub sets: Option<&'a [u32]>,
    /// The inverses of the diagonal blocks, where the smoother has them.
    pub inverses: Option<&'a DenseBlocks<T>>,
    /// Which nodes are neighbours, where not all whose rows meet are.
    pub links: Option<&'a Pattern>,
    /// Whether the step to this grid left weak couplings out; false on the finest.
    pub filtered: bool,
    /// How many levels lie above; 0 is the finest.
    pub depth: usize,
}

impl<T> Grid<'_, T> {
    /// Whether the near-kernel comes from the grid above.
    pub(crate) fn inherits(&self) -> bool {
        self.depth > 0 && self.near_kernel.is_some()
    }
}

/// The step from a grid to the next coarser one.
#[derive(Clone, Debug)]
pub struct Coarse<T> {
    /// P: from coarse to fine unknowns, in blocks of b x k.
    pub prolongation: Bsr<T>,
    /// The near-kernel in coarse coordinates.
    pub near_kernel: Option<NearKernel>,
    /// One point a coarse node.
    pub positions: Option<Vec<[f64; 3]>>,
    /// Coarse scalar unknowns without a basis function, sorted: their columns of P are zero, and the hierarchy gives them a
    /// diagonal entry of the size of their node's.
    pub dead: Vec<u32>,
    /// The aggregate of each fine node, `u32::MAX` for nodes that relaxation alone solves.
    pub aggregates: Vec<u32>,
    /// Which stored couplings of the fine matrix spread the columns of P; empty where all do.
    pub spreading: Vec<bool>,
    /// Which coarse nodes are neighbours, where the finer grid says so of its own.
    pub links: Option<Pattern>,
}

/// The one thing a multigrid method has to say.
///
/// The hierarchy does the rest: Galerkin products, smoothers, cycles, reuse. *Implement* [`coarsen`](Self::coarsen); `refresh` only where keeping
/// the structure of P is possible.
pub trait Coarsening<T: Real>: Clone + Send {
    /// The next coarser grid, or `None` when this one cannot be coarsened further.
    ///
    /// # Errors
    /// [`SetupError`] names the row or node that stands in the way.
    fn coarsen(&self, fine: &Grid<'_, T>) -> Result<Option<Coarse<T>>, SetupError>;

    /// New values of P for a grid with other values, on the aggregates and the pattern that `coarse` has.
    ///
    /// # Errors
    /// As [`coarsen`](Self::coarsen); `coarse` stays as it is then.
    fn refresh(&self, fine: &Grid<'_, T>, coarse: &mut Coarse<T>) -> Result<(), SetupError>;

    /// What tables call it.
    fn name(&self) -> &'static str;
}
