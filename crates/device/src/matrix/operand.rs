//! Block rows as arguments of launches: the rows of a matrix, alone or with a contact part.

use std::marker::PhantomData;

use coarsen_core::{Dot, Error, Real, Vector};
use coarsen_sparse::Pattern;

use super::format::Layout;
use crate::blocks::slice_of;
use crate::driver::Type;
use crate::memory::{Buffer, bytes};
use crate::program::{Module, kernels};
use crate::queue::{Arg, Items, Queue};
use crate::{DeviceBackend, DeviceBlocks, DeviceScalar, DeviceVector};

kernels! {
    /// The kernels of block rows. Only the kernels before `RelaxInto` exist for rectangular blocks, and `MultiplyDot` does
    /// not exist for several items a row.
    Product {
        Multiply = "coarsen_multiply",
        MultiplyAdd = "coarsen_multiply_add",
        Residual = "coarsen_residual",
        RelaxInto = "coarsen_relax_into",
        Relax = "coarsen_relax",
        MultiplyDot = "coarsen_multiply_dot",
    }
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Parts {
    /// The blocks of a matrix.
    Whole,
    /// The blocks of a matrix and contact blocks.
    WithContact,
    /// The upper triangle and its mirror image.
    Half,
}

/// Returns the number of the module with the kernels for block rows stored in `S` in a number of `ranges`, in slices of
/// `slice` rows, each row by `items_per_row` items.
pub(crate) fn module<V: Real, S: Real>(
    queue: &mut Queue<V>,
    (rows, cols): (usize, usize),
    (slice, items_per_row): (usize, usize),
    ranges: usize,
    parts: Parts,
) -> Result<usize, Error> {
    let options = format!(
        "-D STORED={} -D ROWS={rows} -D COLS={cols} -D SLICE={slice} -D ITEMS_PER_ROW={items_per_row} -D DSLICE={}{}{}",
        Type::of::<S>(),
        slice_of(rows, queue.program.slice),
        match parts {
            Parts::Whole => "",
            Parts::WithContact => " -D CONTACT",
            Parts::Half => " -D HALF",
        },
        if ranges > 1 { " -D RANGES" } else { "" }
    );
    let kernels = match (rows == cols, items_per_row) {
        (false, _) => &Product::NAMES[..Product::RelaxInto as usize],
        (true, 1) => Product::NAMES,
        (true, _) => &Product::NAMES[..Product::MultiplyDot as usize],
    };
    queue.module(&Module { sources: &coarsen_kernels::MATRIX, kernels, options })
}

/// Consecutive block rows in device memory, each list in one buffer.
pub(crate) struct RowRange {
    pub(crate) layout: Layout,
    pub(crate) offsets: Buffer,
    pub(crate) lengths: Buffer,
    pub(crate) columns: Buffer,
    pub(crate) values: Buffer,
}

impl RowRange {
    /// Uploads rows, whose slots have the given columns and values.
    pub(super) fn new<V: Real, S: Real>(
        queue: &mut Queue<V>,
        pattern: &Pattern,
        layout: Layout,
        columns: &[u32],
        values: &[S],
    ) -> Result<Self, Error> {
        Ok(Self {
            offsets: queue.list(&layout.offsets)?,
            lengths: queue.list(&layout.lengths(pattern))?,
            columns: queue.list(columns)?,
            values: queue.allocate(Type::of::<S>(), size_of_val(values), Some(bytes(values)))?,
            layout,
        })
    }

    /// Returns the first arguments of all kernels. The first one is left out for products of one range.
    pub(crate) fn args<V>(&self) -> [Arg<'_, V>; 7] {
        let rows = &self.layout.rows;
        let [offsets, lengths, columns, values] =
            [&self.offsets, &self.lengths, &self.columns, &self.values].map(Arg::Memory);
        let width = Arg::Index(self.layout.width as u32);
        [Arg::Length(rows.start), Arg::Length(rows.len()), width, offsets, lengths, columns, values]
    }
}

/// The block rows of an operator of a backend, stored in `S`, as arguments of launches: of a [`DeviceMatrix`](crate::DeviceMatrix),
/// a [`DeviceSum`](crate::DeviceSum) or a [`DeviceEll`](crate::DeviceEll), with which [`DeviceJacobi`](crate::DeviceJacobi)
/// works. Only this crate can make operands.
///
/// ```compile_fail,E0277
/// use coarsen_device::{DeviceMatrix, Operand};
/// fn as_f32(a: &DeviceMatrix<f64>) -> Operand<'_, f64, f32> {
///     a.into() // rows of f64 are no rows of f32
/// }
/// ```
pub struct Operand<'a, V: Real, S: Real = V> {
    pub(crate) backend: &'a DeviceBackend<V>,
    pub(crate) module: usize,
    /// The rows: one range, or several of a matrix that one buffer does not hold.
    pub(crate) ranges: &'a [RowRange],
    /// The number of block rows.
    pub(crate) rows: usize,
    /// The numbers of scalar rows and columns.
    pub(crate) shape: (usize, usize),
    pub(crate) block: (usize, usize),
    /// The number of items per row.
    items_per_row: usize,
    contact: Option<[Arg<'a, V>; 3]>,
    of: PhantomData<S>,
}

impl<'a, V: Real, S: Real> Operand<'a, V, S> {
    /// Returns the rows of `ranges`, each computed by `items_per_row` items, with the kernels of `module`.
    pub(crate) fn new(
        backend: &'a DeviceBackend<V>,
        module: usize,
        ranges: &'a [RowRange],
        (rows, columns): (usize, usize),
        block: (usize, usize),
        items_per_row: usize,
    ) -> Self {
        let shape = (rows * block.0, columns * block.1);
        Self { backend, module, ranges, rows, shape, block, items_per_row, contact: None, of: PhantomData }
    }

    /// Adds a contact part, computed by the kernels of `module`.
    pub(crate) fn with(self, module: usize, contact: [Arg<'a, V>; 3]) -> Self {
        Self { module, contact: Some(contact), ..self }
    }

    /// The number of rows in a slice.
    pub(crate) fn slice(&self) -> usize {
        self.ranges[0].layout.slice
    }

    /// Returns the number of values of a matrix with the same rows and one block per row. The number of
    /// groups of a reduction depends on this number, as it depends on the length of a vector.
    pub(crate) fn work(&self) -> usize {
        self.rows * self.block.0 * self.block.1
    }

    pub(crate) fn has_contact(&self) -> bool {
        self.contact.is_some()
    }

    /// Returns the arguments of a range of rows, followed by `more`, and their number.
    pub(crate) fn args<'b>(&'b self, range: &'b RowRange, more: &[Arg<'b, V>]) -> ([Arg<'b, V>; 18], usize) {
        let contact = self.contact.as_ref().map_or(&[][..], |contact| &contact[..]);
        let (mut all, mut count) = ([Arg::Slots; 18], 0);
        for args in [&range.args()[..], contact, more] {
            all[count..][..args.len()].copy_from_slice(args);
            count += args.len();
        }
        (all, count)
    }

    /// Enqueues a product of a range of rows with one item, or several, for each of `count` block rows or chunks of
    /// them.
    pub(super) fn launch(
        &self,
        queue: &mut Queue<V>,
        product: Product,
        range: &RowRange,
        count: usize,
        more: &[Arg<'_, V>],
    ) {
        let items = if self.items_per_row > 1 {
            Items::Shaped(count, self.items_per_row)
        } else {
            Items::Entries(count)
        };
        let first = usize::from(self.ranges.len() == 1);
        let (args, count) = self.args(range, more);
        queue.launch(product.of(self.module), items, &args[first..count]);
    }

    fn by_rows(&self, product: Product, more: &[Arg<'_, V>]) {
        let mut queue = self.backend.queue();
        for range in self.ranges {
            self.launch(&mut queue, product, range, range.layout.rows.len(), more);
        }
    }

    pub(super) fn assert_fits(&self, x: &DeviceVector<V>, y: &DeviceVector<V>) {
        let ((m, n), x_size, y_size) = (self.shape, x.size(), y.size());
        assert!(x_size == n && y_size == m, "apply: a {m} x {n} matrix met x of {x_size} and y of {y_size}");
        self.backend.assert_same(&x.backend);
        self.backend.assert_same(&y.backend);
    }

    pub(super) fn assert_square(&self, d: &DeviceBlocks<V, S>, vectors: &[&DeviceVector<V>], method: &str) {
        let (n, size) = (self.shape.0, self.block.0);
        assert!(self.shape == (n, n) && self.block == (size, size), "{method}: A is not square");
        for v in vectors {
            assert!(v.n == n, "{method}: {n} rows met a vector of {}", v.n);
            self.backend.assert_same(&v.backend);
        }
        d.assert_fits(self.backend, n, size, method);
    }

    /// Computes y = A x.
    pub(crate) fn apply(&self, x: &DeviceVector<V>, y: &mut DeviceVector<V>) {
        self.assert_fits(x, y);
        self.by_rows(Product::Multiply, &[x, y].map(|v| Arg::Memory(&v.memory)));
    }

    /// Computes y = A x, x·y and the sum of |x y|, in one pass; with several items a row, for several ranges of rows, or if blocks are not
    /// square, in two.
    pub(crate) fn apply_dot(&self, x: &DeviceVector<V>, y: &mut DeviceVector<V>) -> Dot<DeviceScalar<V>> {
        self.assert_fits(x, y);
        assert!(self.shape.0 == self.shape.1, "apply_dot needs a square matrix");
        let ([range], 1, true) = (self.ranges, self.items_per_row, self.block.0 == self.block.1) else {
            self.apply(x, y);
            return x.dot_magnitude(y);
        };
        let [value, magnitude] = DeviceScalar::results(self.backend);
        let more = [Arg::Memory(&x.memory), Arg::Memory(&y.memory), Arg::Partial];
        let out = [value.slot(), magnitude.slot()];
        let (args, count) = self.args(range, &more);
        self.backend.queue().reduce(Product::MultiplyDot.of(self.module), self.work(), &args[1..count], &out);
        Dot { value, magnitude }
    }

    /// Computes r = b − A x.
    pub(crate) fn residual(&self, b: &DeviceVector<V>, x: &DeviceVector<V>, r: &mut DeviceVector<V>) {
        self.assert_fits(x, r);
        assert_eq!(b.size(), r.size(), "residual: b and r differ in length");
        self.backend.assert_same(&b.backend);
        self.by_rows(Product::Residual, &[b, x, r].map(|v| Arg::Memory(&v.memory)));
    }

    /// Computes y = a A x + b y.
    pub(crate) fn apply_add(&self, a: V, x: &DeviceVector<V>, b: V, y: &mut DeviceVector<V>) {
        self.assert_fits(x, y);
        let [x, y] = [x, y].map(|v| Arg::Memory(&v.memory));
        self.by_rows(Product::MultiplyAdd, &[Arg::Number(a), x, Arg::Number(b), y]);
    }

    /// Computes s = β s + ω D (b − A x), y = x + s.
    #[allow(clippy::too_many_arguments)] // the letters of the formula
    pub(crate) fn relax_into(
        &self,
        d: &DeviceBlocks<V, S>,
        [omega, beta]: [V; 2],
        b: &DeviceVector<V>,
        x: &DeviceVector<V>,
        s: &mut DeviceVector<V>,
        y: &mut DeviceVector<V>,
    ) {
        self.assert_square(d, &[b, x, s, y], "relax_into");
        let [d, b, x, s, y] = [&d.values, &b.memory, &x.memory, &s.memory, &y.memory].map(Arg::Memory);
        self.by_rows(Product::RelaxInto, &[d, Arg::Number(omega), Arg::Number(beta), b, x, s, y]);
    }
}
