//! Gauss-Seidel over half of a matrix.

use coarsen_core::{LinearOperator, PreconditionerKind, Real};
use coarsen_sparse::Bsr;

use super::kernel::BLOCKS;
use super::layout::Layout;
use super::matrix::HalfMatrix;
use crate::cpu::Cpu;
use crate::cpu::backend::{CUT_BLOCKS, rows_of_chunk};
use crate::dense_blocks::square_block;
use crate::range::{largest_storable, within};
use crate::{
    DenseBlocks, Reused, RowSets, SetupError, Smoother, SmootherFacts, SweepDirection, check_blocks,
};

/// Gauss-Seidel that stores half of a symmetric A: one forward sweep before the coarse correction, one
/// backward sweep after it.
///
/// *Cost* a forward sweep from zero and its residual read half of A once, and so does a backward sweep. A
/// forward sweep from another x reads this half twice. *Memory* as for `HalfMatrix`, and b² values per node
/// on the host.
pub(in crate::cpu) struct HalfGaussSeidel<T, V, S> {
    half: HalfMatrix<V, S>,
    omega: V,
    inverses: DenseBlocks<T>,
    kind: PreconditionerKind,
    /// Whether new values are known to be symmetric.
    symmetric: bool,
    /// The largest value of the matrix of the build or of the last [`prepare`](Smoother::prepare), if it is symmetric to
    /// round-off.
    largest: Option<T>,
}

impl<T: Real, V: Real, S: Real> HalfGaussSeidel<T, V, S> {
    /// Returns the smoother in the order of `sets`, or in that of the backend. `None` if sweeps over whole rows are
    /// better: for blocks without a kernel, and for orders with many couplings between chunks that are stored
    /// twice.
    ///
    /// # Errors
    /// See [`Backend::gauss_seidel`](crate::Backend::gauss_seidel).
    pub(in crate::cpu) fn new(
        sets: Option<&RowSets>,
        a: &Bsr<T>,
        omega: f64,
        symmetric: bool,
    ) -> Result<Option<Self>, SetupError> {
        let b = square_block(a)?;
        if !BLOCKS.contains(&b) {
            return Ok(None);
        }
        let mut inverses = DenseBlocks::new(b, vec![T::zero(); a.shape().0 * b])?;
        let largest = inspect::<T, S>(a, symmetric, &mut inverses)?;
        // Blocks that are stored on one side only may be zero.
        let differs = || a.asymmetric_pair(Bsr::<T>::symmetry_round_off()).is_some();
        if largest.is_none() && sets.is_none() && differs() {
            return Ok(None);
        }
        let layout = match sets {
            Some(sets) => Layout::new(sets),
            None => {
                let rows = rows_of_chunk(a.pattern().rows(), CUT_BLOCKS);
                Layout::new(&RowSets::chunked(a.pattern(), rows))
            }
        };
        let Some(layout) = layout else { return Ok(None) };
        let half = HalfMatrix::new(layout, a, &inverses)?;
        let kind = inverses.kind();
        Ok(Some(Self { half, omega: V::from_f64(omega), inverses, kind, symmetric, largest }))
    }
}

impl<T: Real, V: Real, S: Real> Smoother<Cpu<V, S>, T> for HalfGaussSeidel<T, V, S> {
    fn operator(&self) -> Option<&dyn LinearOperator<Vec<V>>> {
        Some(&self.half)
    }

    fn kind(&self) -> PreconditionerKind {
        self.kind
    }

    fn interleaves(&self) -> bool {
        true
    }

    fn pre_smooth(&mut self, _: &dyn LinearOperator<Vec<V>>, b: &Vec<V>, x: &mut Vec<V>) {
        self.half.sweep_from_zero(self.omega, b, x);
    }

    fn pre_smooth_residual(
        &mut self,
        _: &dyn LinearOperator<Vec<V>>,
        b: &Vec<V>,
        x: &mut Vec<V>,
        r: &mut Vec<V>,
    ) {
        self.half.sweep_from_zero_residual(self.omega, b, x, r);
    }

    fn smooth(&mut self, _: &dyn LinearOperator<Vec<V>>, b: &Vec<V>, x: &mut Vec<V>) {
        self.half.sweep(SweepDirection::Forward, self.omega, b, x);
    }

    fn post_smooth(&mut self, _: &dyn LinearOperator<Vec<V>>, b: &Vec<V>, x: &mut Vec<V>) {
        self.half.sweep(SweepDirection::Backward, self.omega, b, x);
    }

    fn facts(&self) -> SmootherFacts<'_, T> {
        let (inverses, largest) = (Some(&self.inverses), self.largest);
        SmootherFacts { inverses, largest, ..SmootherFacts::default() }
    }

    fn prepare(&mut self, a: &Bsr<T>) -> Result<Reused, SetupError> {
        self.largest = inspect::<T, S>(a, self.symmetric, &mut self.inverses)?;
        Ok(Reused::Structure)
    }

    fn commit(&mut self, a: &Bsr<T>) -> Result<(), SetupError> {
        self.kind = self.inverses.kind();
        Ok(self.half.set_values(a, &self.inverses)?)
    }

    fn bytes(&self) -> usize {
        self.half.bytes() + size_of_val(self.inverses.values())
    }
}

/// Checks that A is finite and storage can hold it, and computes D⁻¹. Returns the largest value if A is symmetric to
/// round-off: known to be, or found in the one pass that checks it, finite values and their range, and reads the diagonal.
fn inspect<T: Real, S: Real>(
    a: &Bsr<T>,
    symmetric: bool,
    inverses: &mut DenseBlocks<T>,
) -> Result<Option<T>, SetupError> {
    let found = match symmetric {
        true => None,
        false => a.symmetric_diagonal(Bsr::<T>::symmetry_round_off(), inverses.values_mut()),
    };
    let mut largest = found.filter(|most| !most.is_nan());
    if let Some(largest) = largest {
        within::<T, S>("the matrix", largest)?;
        inverses.invert_all("gauss-seidel")?;
    } else {
        let all = largest_storable::<T, S>("the matrix", a)?;
        largest = symmetric.then_some(all);
        inverses.invert_diagonal(a, "gauss-seidel")?;
    }
    check_blocks::<T, S>("the inverse of the diagonal", inverses)?;
    Ok(largest)
}
