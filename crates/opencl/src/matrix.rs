//! Block sparse rows on a device.

use std::fmt;

use coarsen_core::{Dot, Error, LinearOperator, Real, Vector};
use coarsen_sparse::Bsr;

use crate::memory::{Buffer, bytes, bytes_of_indices};
use crate::program::{INDEX, Kernel, real};
use crate::queue::{Arg, Items};
use crate::{DeviceScalar, DeviceVector, OpenCl};

/// A sparse matrix of dense blocks in device memory, made by [`OpenCl::matrix`] from a [`Bsr`].
///
/// One item computes one scalar row and sums in `T`, whatever the block size. Fit for checking that a method runs on a
/// device; a product that should be fast needs kernels that read neighbouring values with neighbouring items.
///
/// *Memory* (r c s + 4) bytes a block and 4 a block row, s = bytes of T.
///
/// ```
/// use coarsen_core::{LinearOperator, Vector};
/// use coarsen_opencl::OpenCl;
/// use coarsen_sparse::Bsr;
/// let Ok(on) = OpenCl::<f32>::default_device() else { return Ok(()) }; // no OpenCL here
/// let (a, x) = (on.matrix(&Bsr::<f64>::identity(1, 2).unwrap())?, on.vector(&[3.0, 4.0])?);
/// let mut y = x.like()?;
/// a.apply(&x, &mut y);
/// assert_eq!(y.norm(), 5.0);
/// # Ok::<(), coarsen_core::Error>(())
/// ```
pub struct DeviceMatrix<T: Real> {
    on: OpenCl<T>,
    shape: (usize, usize),
    block: (usize, usize),
    offsets: Buffer,
    columns: Buffer,
    values: Buffer,
}

impl<T: Real> DeviceMatrix<T> {
    pub(crate) fn new<U: Real>(on: &OpenCl<T>, host: &Bsr<U>) -> Result<Self, Error> {
        let pattern = host.pattern();
        if u32::try_from(pattern.len()).is_err() {
            let (what, count, limit) = ("blocks of a device matrix", pattern.len(), u32::MAX as usize);
            return Err(Error::TooLarge { what, count, limit });
        }
        let offsets: Vec<u32> = pattern.offsets().iter().map(|&o| o as u32).collect();
        let values: Vec<T> = host.values().iter().map(|v| v.to()).collect();
        let mut queue = on.queue();
        let mut upload = |entry, bytes: &[u8]| queue.allocate(entry, bytes.len(), Some(bytes));
        let offsets = upload(INDEX, bytes_of_indices(&offsets))?;
        let columns = upload(INDEX, bytes_of_indices(pattern.indices()))?;
        let values = upload(real::<T>(), bytes(&values))?;
        Ok(Self { on: on.clone(), shape: host.shape(), block: host.block(), offsets, columns, values })
    }

    /// Rows and columns of a block.
    pub fn block(&self) -> (usize, usize) {
        self.block
    }

    /// What all kernels of a product begin with.
    fn args(&self) -> [Arg<'_, T>; 6] {
        let (rows, columns) = (Arg::Index(self.block.0 as u32), Arg::Index(self.block.1 as u32));
        let [offsets, indices, values] = [&self.offsets, &self.columns, &self.values].map(Arg::Memory);
        [Arg::Length(self.shape.0), rows, columns, offsets, indices, values]
    }

    fn assert_fits(&self, x: &DeviceVector<T>, y: &DeviceVector<T>) {
        let ((m, n), x_size, y_size) = (self.shape, x.size(), y.size());
        assert!(x_size == n && y_size == m, "apply: a {m} x {n} matrix met x of {x_size} and y of {y_size}");
        self.on.assert_same(&x.on);
        self.on.assert_same(&y.on);
    }
}

impl<T: Real> LinearOperator<DeviceVector<T>> for DeviceMatrix<T> {
    fn shape(&self) -> (usize, usize) {
        self.shape
    }

    fn apply(&self, x: &DeviceVector<T>, y: &mut DeviceVector<T>) {
        self.assert_fits(x, y);
        let [n, rows, columns, offsets, indices, values] = self.args();
        let [x, y] = [x, y].map(|v| Arg::Memory(&v.memory));
        let args = [n, rows, columns, offsets, indices, values, x, y];
        self.on.queue().launch(Kernel::Multiply, Items::Entries(self.shape.0), &args);
    }

    fn apply_dot(&self, x: &DeviceVector<T>, y: &mut DeviceVector<T>) -> Dot<DeviceScalar<T>> {
        self.assert_fits(x, y);
        assert_eq!(x.size(), y.size(), "apply_dot needs a square matrix");
        let [value, magnitude] = DeviceScalar::results(&self.on);
        let [n, rows, columns, offsets, indices, values] = self.args();
        let [x, y] = [x, y].map(|v| Arg::Memory(&v.memory));
        let args = [n, rows, columns, offsets, indices, values, x, y, Arg::Partial];
        self.on.queue().reduce(Kernel::MultiplyDot, self.shape.0, &args, &[value.slot, magnitude.slot]);
        Dot { value, magnitude }
    }

    fn residual(&self, b: &DeviceVector<T>, x: &DeviceVector<T>, r: &mut DeviceVector<T>) {
        self.assert_fits(x, r);
        assert_eq!(b.size(), r.size(), "residual: b and r differ in length");
        self.on.assert_same(&b.on);
        let [n, rows, columns, offsets, indices, values] = self.args();
        let [b, x, r] = [b, x, r].map(|v| Arg::Memory(&v.memory));
        let args = [n, rows, columns, offsets, indices, values, b, x, r];
        self.on.queue().launch(Kernel::Residual, Items::Entries(self.shape.0), &args);
    }
}

impl<T: Real> fmt::Debug for DeviceMatrix<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ((m, n), (r, c)) = (self.shape, self.block);
        write!(f, "{m} x {n} in blocks of {r} x {c} of {:?}", self.on)
    }
}
