//! The numeric phase of a setup, on the device.

use coarsen_backend::{NumericBackend, SetupError};
use coarsen_core::{Error, Real};
use coarsen_sparse::Bsr;

use crate::diagonal::Inversion;
use crate::galerkin::DeviceGalerkin;
use crate::{DeviceBackend, DeviceBlocks, DeviceMatrix};

impl<V: Real, S: Real> NumericBackend for DeviceBackend<V, S> {
    type Galerkin = DeviceGalerkin<V>;

    fn galerkin(
        &self,
        matrices: [&DeviceMatrix<V, S>; 3],
        without_basis: &[u32],
    ) -> Result<DeviceGalerkin<V>, Error> {
        DeviceGalerkin::new(self, matrices, without_basis)
    }

    fn product(
        &self,
        plan: &DeviceGalerkin<V>,
        a: &DeviceMatrix<V, S>,
        p: &DeviceMatrix<V, S>,
        coarse: &mut DeviceMatrix<V, S>,
    ) -> Result<(), Error> {
        plan.run(a, p, coarse)
    }

    fn add(
        &self,
        plan: &DeviceGalerkin<V>,
        d: &DeviceMatrix<V, S>,
        coarse: &mut DeviceMatrix<V, S>,
    ) -> Result<(), Error> {
        plan.add(d, coarse)
    }

    fn copy_values(&self, from: &DeviceMatrix<V, S>, to: &mut DeviceMatrix<V, S>) -> Result<(), Error> {
        to.copy_values(from)
    }

    fn read_values<T: Real>(&self, from: &DeviceMatrix<V, S>, to: &mut Bsr<T>) -> Result<(), Error> {
        from.read_values(to)
    }

    /// Synchronises once; twice for a matrix of scalars.
    fn invert_diagonal(
        &self,
        a: &DeviceMatrix<V, S>,
        d: &mut DeviceBlocks<V, S>,
        method: &'static str,
    ) -> Result<Option<f64>, SetupError> {
        let mut inversion = match d.inversion.take() {
            Some(inversion) => inversion,
            None => Inversion::new(a.backend())?,
        };
        let operand = a.operand();
        let done = inversion.run(&operand, d).map_err(SetupError::from);
        let checked = done.and_then(|()| inversion.check(d, method));
        let bound = match d.size {
            1 if checked.is_ok() => Some(inversion.row_sum(&operand, d)?),
            _ => None,
        };
        d.inversion = Some(inversion);
        checked.map(|()| bound)
    }
}
