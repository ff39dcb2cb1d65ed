//! Gauss-Seidel over half of a matrix.

use coarsen_core::{Class, LinearOperator, Preconditioner, Real};
use coarsen_sparse::Bsr;

use super::kernel::BLOCKS;
use super::matrix::HalfMatrix;
use crate::cpu::Cpu;
use crate::cpu::backend::rows_of_chunk;
use crate::range::{largest_storable, within};
use crate::row_sets::Colouring;
use crate::{
    DenseBlocks, RowSets, SetupError, Smoother, SmootherFacts, SweepDirection, check_blocks, check_storable,
};

/// The tolerance of the symmetry to round-off that sweeps over half of a matrix require, in units of EPSILON.
pub const SYMMETRY_ROUND_OFF: f64 = 1024.0;

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
    class: Class,
    /// Whether new values are known to be symmetric.
    symmetric: bool,
    /// The largest value of the matrix of the last [`prepare`](Smoother::prepare), if it is symmetric to round-off.
    largest: Option<T>,
    /// The chunks of this place, and the memory to make them; `None` if the caller has chosen others.
    order: Option<(RowSets, Colouring)>,
}

impl<T: Real, V: Real, S: Real> HalfGaussSeidel<T, V, S> {
    /// Returns the smoother in the order of `sets`, or in that of the place. `None` if sweeps over whole rows are
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
        let order = sets.is_none().then(|| (RowSets::nothing(), Colouring::default()));
        let (half, inverses) = (HalfMatrix::default(), DenseBlocks::new(1, Vec::new())?);
        let (omega, class, largest) = (V::of(omega), Class::Variable, None);
        let mut made = Self { half, omega, class, symmetric, inverses, largest, order };
        Ok(made.renew(sets, a)?.then_some(made))
    }

    /// Takes another matrix, and returns whether half storage pays.
    fn renew(&mut self, sets: Option<&RowSets>, a: &Bsr<T>) -> Result<bool, SetupError> {
        if !BLOCKS.contains(&a.block().0) {
            return Ok(false);
        }
        let sets = match (sets, &mut self.order) {
            (Some(sets), _) => sets,
            (None, Some((sets, room))) => {
                sets.chunk_again(a.pattern(), rows_of_chunk(a.pattern().rows()), room);
                sets
            }
            (None, None) => return Ok(false),
        };
        // Positions never belong to another matrix than the values: without a layout, no pass visits a row.
        self.half.layout.clear();
        self.inverses.invert_another(a, "gauss-seidel")?;
        if !self.half.layout.renew(sets) {
            return Ok(false);
        }
        if let Err(error) = self.half.renew(a, &self.inverses) {
            self.half.layout.clear();
            return Err(error.into());
        }
        (self.class, self.largest) = (self.inverses.class(), None);
        Ok(true)
    }
}

impl<T: Real, V: Real, S: Real> Preconditioner<Vec<V>> for HalfGaussSeidel<T, V, S> {
    /// Applies one symmetric pair of sweeps.
    fn apply(&mut self, r: &Vec<V>, z: &mut Vec<V>) {
        self.pre_smooth(r, z);
        self.post_smooth(r, z);
    }

    fn class(&self) -> Class {
        self.class
    }

    fn size(&self) -> Option<usize> {
        Some(self.half.unknowns)
    }
}

impl<T: Real, V: Real, S: Real> Smoother<T, Cpu<V, S>> for HalfGaussSeidel<T, V, S> {
    fn operator(&self) -> &dyn LinearOperator<Vec<V>> {
        &self.half
    }

    fn pre_smooth(&mut self, b: &Vec<V>, x: &mut Vec<V>) {
        self.half.sweep_from_zero(self.omega, b, x);
    }

    fn pre_smooth_residual(&mut self, b: &Vec<V>, x: &mut Vec<V>, r: &mut Vec<V>) {
        self.half.sweep_from_zero_residual(self.omega, b, x, r);
    }

    fn smooth(&mut self, b: &Vec<V>, x: &mut Vec<V>) {
        self.half.sweep(SweepDirection::Forward, self.omega, b, x);
    }

    fn post_smooth(&mut self, b: &Vec<V>, x: &mut Vec<V>) {
        self.half.sweep(SweepDirection::Backward, self.omega, b, x);
    }

    fn facts(&self) -> SmootherFacts<'_, T> {
        let (inverses, largest) = (Some(&self.inverses), self.largest);
        SmootherFacts { inverses, largest, ..SmootherFacts::default() }
    }

    fn prepare(&mut self, a: &Bsr<T>) -> Result<(), SetupError> {
        if self.symmetric {
            self.largest = Some(largest_storable::<T, S>("the matrix", a)?);
            self.inverses.invert_diagonal(a, "gauss-seidel")?;
            return Ok(check_blocks::<T, S>("the inverse of the diagonal", &self.inverses)?);
        }
        // For a symmetric A one pass checks symmetry, finite values and their range, and reads the diagonal.
        let tolerance = T::EPSILON * T::of(SYMMETRY_ROUND_OFF);
        self.largest =
            a.symmetric_diagonal(tolerance, self.inverses.values_mut()).filter(|most| !most.is_nan());
        if let Some(largest) = self.largest {
            within::<T, S>("the matrix", largest)?;
            self.inverses.invert_all("gauss-seidel")?;
        } else {
            check_storable::<T, S>("the matrix", a)?;
            self.inverses.invert_diagonal(a, "gauss-seidel")?;
        }
        Ok(check_blocks::<T, S>("the inverse of the diagonal", &self.inverses)?)
    }

    fn commit(&mut self, a: &Bsr<T>) -> Result<(), SetupError> {
        self.class = self.inverses.class();
        Ok(self.half.set_values(a, &self.inverses)?)
    }

    fn rebuild(&mut self, a: &Bsr<T>) -> Result<bool, SetupError> {
        self.renew(None, a)
    }

    fn rebuilds(&self) -> bool {
        true
    }

    fn release(&mut self) {
        self.half.layout.pattern = None;
        if let Some((sets, _)) = &mut self.order {
            sets.release();
        }
    }

    fn bytes(&self) -> usize {
        self.half.bytes() + size_of_val(self.inverses.values())
    }
}
