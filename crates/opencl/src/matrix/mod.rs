//! Block sparse rows on a device.

mod format;
mod relax;

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use coarsen_backend::check_range;
use coarsen_core::{Dot, Error, LinearOperator, Real, Vector};
use coarsen_sparse::{Bsr, Pattern};

use crate::blocks::slice_of;
use crate::memory::{Buffer, bytes, bytes_of_indices};
use crate::program::{Entry, INDEX, Module, real};
use crate::queue::{Arg, Items};
use crate::{DeviceScalar, DeviceVector, OpenCl};

pub use format::Format;
use format::Layout;

/// A sparse matrix of dense blocks in device memory, stored in `S`, applied to vectors of `V`.
///
/// Made by [`Backend::matrix`](coarsen_backend::Backend::matrix), or in a layout of one's own by [`DeviceMatrix::new`]. One
/// item computes one block row; the size of the blocks is a constant of the kernels, which are compiled for it at its
/// first matrix.
/// *Memory* (r c s + 4) bytes a slot, s = bytes of `S`; 4 or 8 bytes a block row.
///
/// ```
/// use coarsen_backend::Backend;
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
pub struct DeviceMatrix<V: Real, S: Real = V> {
    on: OpenCl<V>,
    shape: (usize, usize),
    block: (usize, usize),
    pattern: Arc<Pattern>,
    format: Format,
    layout: Layout,
    /// The number of its kernels.
    module: usize,
    offsets: Buffer,
    lengths: Buffer,
    columns: Buffer,
    values: Buffer,
    of: PhantomData<S>,
}

/// The kernels of a matrix, in the order of their names; those of rectangular blocks end before `MultiplyDot`.
#[derive(Clone, Copy)]
enum Product {
    Multiply,
    MultiplyAdd,
    Residual,
    MultiplyDot,
    RelaxInto,
    Relax,
}

const NAMES: [&str; 6] = [
    "coarsen_multiply",
    "coarsen_multiply_add",
    "coarsen_residual",
    "coarsen_multiply_dot",
    "coarsen_relax_into",
    "coarsen_relax",
];

impl<V: Real, S: Real> DeviceMatrix<V, S> {
    /// A copy of a host matrix in the layout asked for.
    ///
    /// # Errors
    /// [`Error::Range`] for values that `S` cannot hold, [`Error::TooLarge`] from 2³² slots on, [`Error::Memory`] before anything is
    /// allocated where it does not fit, [`Error::Build`] and [`Error::Device`] of the driver.
    pub fn new<T: Real>(on: &OpenCl<V, S>, host: &Bsr<T>, format: Format) -> Result<Self, Error> {
        check_range::<T, S>("the matrix", host.values())?;
        let (pattern, block) = (host.pattern(), host.block());
        let slots = Layout::slots(pattern, format);
        if u32::try_from(slots.max(pattern.rows())).is_err() {
            let (what, limit) = ("slots of a device matrix", u32::MAX as usize);
            return Err(Error::TooLarge { what, count: slots, limit });
        }
        let mut queue = on.queue();
        let (slot, row) = (block.0 * block.1 * size_of::<S>() + 4, 8);
        queue.check_room((slots * slot + pattern.rows() * row) as u64)?;
        let (rows, cols, slice) = (block.0, block.1, format.slice());
        let options = format!(
            "-D STORED={} -D ROWS={rows} -D COLS={cols} -D SLICE={slice} -D DSLICE={}",
            real::<S>(),
            slice_of(rows, queue.slice())
        );
        let kernels = if rows == cols { &NAMES[..] } else { &NAMES[..Product::MultiplyDot as usize] };
        let module = queue.module(&Module { sources: &coarsen_kernels::MATRIX, kernels, options })?;
        let layout = Layout::new(pattern, format);
        let mut values = vec![S::zero(); slots * rows * cols];
        layout.arrange(host, &mut values);
        let mut upload = |entry, bytes: &[u8]| queue.allocate(entry, bytes.len(), Some(bytes));
        let offsets = upload(INDEX, bytes_of_indices(&layout.offsets))?;
        let lengths = upload(INDEX, bytes_of_indices(&layout.lengths(pattern)))?;
        let columns = upload(INDEX, bytes_of_indices(&layout.columns(pattern)))?;
        let values = upload(real::<S>(), bytes(&values))?;
        let (on, shape, pattern, of) = (on.plain(), host.shape(), pattern.clone(), PhantomData);
        Ok(Self { on, shape, block, pattern, format, layout, module, offsets, lengths, columns, values, of })
    }

    /// Rows and columns of a block.
    pub fn block(&self) -> (usize, usize) {
        self.block
    }

    /// How its rows lie in memory.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Which blocks it stores.
    pub fn pattern(&self) -> &Arc<Pattern> {
        &self.pattern
    }

    /// The slot of the k-th block of row i.
    pub(crate) fn slot(&self, i: usize, k: usize) -> usize {
        self.layout.first(i) + k * self.layout.slice
    }

    /// Where it lives.
    pub(crate) fn on(&self) -> &OpenCl<V> {
        &self.on
    }

    /// Rows of a slice.
    pub(crate) fn slice(&self) -> usize {
        self.layout.slice
    }

    /// The values in their slots.
    pub(crate) fn values(&self) -> &Buffer {
        &self.values
    }

    fn kernel(&self, product: Product) -> Entry {
        Entry { module: self.module, kernel: product as usize }
    }

    /// One item a block row.
    fn items(&self) -> Items {
        Items::Entries(self.pattern.rows())
    }

    /// What all kernels begin with.
    pub(crate) fn args(&self) -> [Arg<'_, V>; 6] {
        let [offsets, lengths, columns, values] =
            [&self.offsets, &self.lengths, &self.columns, &self.values].map(Arg::Memory);
        let width = Arg::Index(self.layout.width as u32);
        [Arg::Length(self.pattern.rows()), width, offsets, lengths, columns, values]
    }

    fn assert_fits(&self, x: &DeviceVector<V>, y: &DeviceVector<V>) {
        let ((m, n), x_size, y_size) = (self.shape, x.size(), y.size());
        assert!(x_size == n && y_size == m, "apply: a {m} x {n} matrix met x of {x_size} and y of {y_size}");
        self.on.assert_same(&x.on);
        self.on.assert_same(&y.on);
    }
}

impl<V: Real, S: Real> LinearOperator<DeviceVector<V>> for DeviceMatrix<V, S> {
    fn shape(&self) -> (usize, usize) {
        self.shape
    }

    fn apply(&self, x: &DeviceVector<V>, y: &mut DeviceVector<V>) {
        self.assert_fits(x, y);
        let [n, width, offsets, lengths, columns, values] = self.args();
        let [x, y] = [x, y].map(|v| Arg::Memory(&v.memory));
        let args = [n, width, offsets, lengths, columns, values, x, y];
        self.on.queue().launch(self.kernel(Product::Multiply), self.items(), &args);
    }

    fn apply_dot(&self, x: &DeviceVector<V>, y: &mut DeviceVector<V>) -> Dot<DeviceScalar<V>> {
        self.assert_fits(x, y);
        assert!(self.shape.0 == self.shape.1, "apply_dot needs a square matrix");
        if self.block.0 != self.block.1 {
            self.apply(x, y);
            return x.dot_magnitude(y);
        }
        let [value, magnitude] = DeviceScalar::results(&self.on);
        let [n, width, offsets, lengths, columns, values] = self.args();
        let [x, y] = [x, y].map(|v| Arg::Memory(&v.memory));
        let args = [n, width, offsets, lengths, columns, values, x, y, Arg::Partial];
        let out = [value.slot, magnitude.slot];
        self.on.queue().reduce(self.kernel(Product::MultiplyDot), self.pattern.rows(), &args, &out);
        Dot { value, magnitude }
    }

    fn residual(&self, b: &DeviceVector<V>, x: &DeviceVector<V>, r: &mut DeviceVector<V>) {
        self.assert_fits(x, r);
        assert_eq!(b.size(), r.size(), "residual: b and r differ in length");
        self.on.assert_same(&b.on);
        let [n, width, offsets, lengths, columns, values] = self.args();
        let [b, x, r] = [b, x, r].map(|v| Arg::Memory(&v.memory));
        let args = [n, width, offsets, lengths, columns, values, b, x, r];
        self.on.queue().launch(self.kernel(Product::Residual), self.items(), &args);
    }
}

impl<V: Real, S: Real> fmt::Debug for DeviceMatrix<V, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ((m, n), (r, c)) = (self.shape, self.block);
        write!(f, "{m} x {n} in blocks of {r} x {c} ({:?}) of {:?}", self.format, self.on)
    }
}
