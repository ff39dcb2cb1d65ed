//! Block Jacobi on the rows of each rank, on its device.

use std::sync::Arc;

use coarsen_backend::SetupError;
use coarsen_core::{LinearOperator, Preconditioner, PreconditionerKind, Real, Vector};
use coarsen_device::DeviceJacobi;
use coarsen_distributed::{Communicator, DistError, Layout, Partition, agree};

use super::{DistDeviceMatrix, DistDeviceVector};

/// Block Jacobi with the diagonal blocks of the matrix, inverted on the device of each rank. No rank needs data of another.
///
/// *Cost* b² products per block row and application, no message. *Reference* Saad 2003, §4.1.1; used by Li et al. 2020,
/// §3.2.
pub struct DistDeviceJacobi<C: Communicator, T: Real = f64> {
    partition: Arc<Partition<C>>,
    own: DeviceJacobi<T>,
}

impl<C: Communicator, T: Real> DistDeviceJacobi<C, T> {
    /// ω D⁻¹ of a square matrix with square blocks. All ranks call it.
    ///
    /// # Errors
    /// On every rank: [`SetupError::NotSquare`] unless rows and columns are divided in the same way, the errors of
    /// [`DeviceJacobi::new`] with global rows, and errors of communication.
    pub fn new(a: &DistDeviceMatrix<C, T>, omega: f64) -> Result<Self, DistError> {
        let (partition, size) = (a.rows().clone(), a.rows().layout().block());
        let first = partition.first() as usize * size;
        let own = check_square(a)
            .and_then(|()| DeviceJacobi::new(a.own(), omega))
            .map_err(|error| DistError::of_rows(error, first, size));
        let own = agree(partition.comm(), own)?;
        Ok(Self { partition, own })
    }
}

fn check_square<C: Communicator, T: Real>(a: &DistDeviceMatrix<C, T>) -> Result<(), SetupError> {
    if a.rows().is_same(a.columns()) {
        return Ok(());
    }
    let ((rows, columns), layouts) = (a.shape(), [a.rows(), a.columns()].map(|partition| partition.layout()));
    let [block_rows, block_columns] = layouts.map(Layout::block);
    Err(SetupError::NotSquare { rows, columns, block_rows, block_columns })
}

impl<C: Communicator, T: Real> Preconditioner<DistDeviceVector<C, T>> for DistDeviceJacobi<C, T> {
    fn apply(&mut self, r: &DistDeviceVector<C, T>, z: &mut DistDeviceVector<C, T>) {
        assert!(
            r.partition().is_same(&self.partition) && z.same_layout(r),
            "apply: vectors of other layouts"
        );
        self.own.apply(r.own(), z.own_mut());
    }

    fn kind(&self) -> PreconditionerKind {
        self.own.kind()
    }

    fn size(&self) -> Option<usize> {
        Some(self.partition.layout().unknowns())
    }
}
