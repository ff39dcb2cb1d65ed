//! The inverse diagonal on a device.

use coarsen_core::{Preconditioner, Real, Vector};
use coarsen_sparse::Bsr;

use crate::{DeviceScalar, DeviceVector, OpenCl, OpenClError};

/// Jacobi's preconditioner on a device: z = D⁻¹ r with D the diagonal of A.
///
/// *Cost* 3 vector passes and one launch an application; one vector of memory.
/// *Use* where nothing stronger is on the device; it only undoes the scaling of A.
/// *Reference* Saad 2003, §10.2, equation (10.11) without relaxation.
///
/// ```
/// use coarsen_core::{Preconditioner, Vector};
/// use coarsen_opencl::{DeviceJacobi, OpenCl};
/// use coarsen_sparse::assembly;
/// let Ok(on) = OpenCl::<f32>::default_device() else { return Ok(()) }; // no OpenCL here
/// let a = assembly::from_triplets(2, 2, &[(0, 0, 2.0), (1, 1, 4.0)]).unwrap();
/// let (mut m, r) = (DeviceJacobi::new(&on, &a)?, on.vector(&[6.0, 16.0])?);
/// let mut z = r.like()?;
/// m.apply(&r, &mut z);
/// assert_eq!(z.norm(), 5.0);
/// # Ok::<(), coarsen_opencl::OpenClError>(())
/// ```
pub struct DeviceJacobi<T: Real> {
    inverse: DeviceVector<T>,
    one: DeviceScalar<T>,
    zero: DeviceScalar<T>,
}

impl<T: Real> DeviceJacobi<T> {
    /// Inverts the diagonal of `a` on the host and moves it.
    ///
    /// # Errors
    /// [`OpenClError::ZeroDiagonal`] names the first row without a diagonal entry; otherwise those of
    /// [`OpenCl::vector`].
    pub fn new<U: Real>(on: &OpenCl<T>, a: &Bsr<U>) -> Result<Self, OpenClError> {
        let diagonal = a.diagonal();
        if let Some(row) = diagonal.iter().position(|d| d.is_zero()) {
            return Err(OpenClError::ZeroDiagonal { row });
        }
        let inverse: Vec<T> = diagonal.iter().map(|&d| (U::one() / d).to()).collect();
        let inverse = on.vector(&inverse)?;
        let (one, zero) = (inverse.scalar(T::one()), inverse.scalar(T::zero()));
        Ok(Self { inverse, one, zero })
    }
}

impl<T: Real> Preconditioner<DeviceVector<T>> for DeviceJacobi<T> {
    fn apply(&mut self, r: &DeviceVector<T>, z: &mut DeviceVector<T>) {
        z.hadamard(&self.one, &self.inverse, r, &self.zero);
    }

    fn size(&self) -> Option<usize> {
        Some(self.inverse.size())
    }
}
