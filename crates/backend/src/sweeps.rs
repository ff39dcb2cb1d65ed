//! Gauss-Seidel sweeps at a place.

use coarsen_core::{Error, LinearOperator, Real, Vector};
use coarsen_sparse::Bsr;
use num_traits::zero;

use crate::cpu::same_length;
use crate::{Backend, Blocks, DenseBlocks, Matrix, Sweep};

/// A, stored so that sweeps over it are cheap, with the inverses of its diagonal blocks.
///
/// *Cost* of a sweep and of a residual, a pass over what is stored of A. *Panics* on vectors of another length.
///
/// A sweep is x_i ← x_i + ω D_i⁻¹ (b − A x)_i, row after row in the order that suits the place; forward and backward sweeps are adjoint where A is symmetric.
pub trait Sweeps<T: Real, B: Backend>: Send {
    /// A.
    fn operator(&self) -> &dyn LinearOperator<B::Vector>;

    /// One sweep from the x given.
    fn sweep(&mut self, direction: Sweep, omega: B::Real, b: &B::Vector, x: &mut B::Vector);

    /// One forward sweep from x = 0, whatever x held.
    fn start(&mut self, omega: B::Real, b: &B::Vector, x: &mut B::Vector) {
        x.fill(zero());
        self.sweep(Sweep::Forward, omega, b, x);
    }

    /// The same, and r = b − A x.
    fn start_residual(&mut self, omega: B::Real, b: &B::Vector, x: &mut B::Vector, r: &mut B::Vector) {
        self.start(omega, b, x);
        self.operator().residual(b, x, r);
    }

    /// A and D⁻¹ where they are stored whole.
    fn parts(&self) -> Option<(&B::Matrix, &B::Blocks)> {
        None
    }

    /// The same, to be written.
    fn parts_mut(&mut self) -> Option<(&mut B::Matrix, &mut B::Blocks)> {
        None
    }

    /// New values for the same pattern; the caller has asked [`check_range`](crate::check_range) for `a` and [`check_blocks`](crate::check_blocks) for `d`.
    ///
    /// # Errors
    /// [`Error::Pattern`] and [`Error::Shape`] for those of another matrix; the old ones then stay.
    fn set_values(&mut self, a: &Bsr<T>, d: &DenseBlocks<T>) -> Result<(), Error>;

    /// Bytes of the numbers it holds at the place.
    fn bytes(&self) -> usize;
}

/// Sweeps over whole rows of a matrix of any place, symmetric or not.
///
/// *Cost* a pass over A a sweep, and one for the residual.
pub struct RowSweeps<B: Backend> {
    a: B::Matrix,
    d: B::Blocks,
    rows: B::Rows,
    bytes: usize,
}

impl<B: Backend> RowSweeps<B> {
    /// Copies A and D⁻¹ to the place; rows in the order that suits it.
    ///
    /// # Errors
    /// Those of the place.
    pub fn new<T: Real>(on: &B, a: &Bsr<T>, d: &DenseBlocks<T>) -> Result<Self, Error> {
        let bytes = (a.values().len() + d.values().len()) * size_of::<B::Stored>();
        let rows = on.rows(&on.relaxation_order(a.pattern()))?;
        Ok(Self { a: on.matrix(a)?, d: on.blocks(d)?, rows, bytes })
    }
}

impl<T: Real, B: Backend> Sweeps<T, B> for RowSweeps<B> {
    fn operator(&self) -> &dyn LinearOperator<B::Vector> {
        &self.a
    }

    fn sweep(&mut self, direction: Sweep, omega: B::Real, b: &B::Vector, x: &mut B::Vector) {
        self.a.relax(&self.rows, direction, &self.d, omega, b, x);
    }

    fn parts(&self) -> Option<(&B::Matrix, &B::Blocks)> {
        Some((&self.a, &self.d))
    }

    fn parts_mut(&mut self) -> Option<(&mut B::Matrix, &mut B::Blocks)> {
        Some((&mut self.a, &mut self.d))
    }

    fn set_values(&mut self, a: &Bsr<T>, d: &DenseBlocks<T>) -> Result<(), Error> {
        same_length("block size", a.block().0, d.size())?;
        same_length("dense blocks", self.d.count(), d.count())?;
        self.a.set_values(a)?;
        self.d.set_values(d)
    }

    fn bytes(&self) -> usize {
        self.bytes
    }
}
