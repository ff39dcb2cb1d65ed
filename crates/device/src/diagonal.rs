//! Block Jacobi with blocks inverted on the device.

use coarsen_backend::{DenseBlocks, SetupError};
use coarsen_core::{Error, Preconditioner, PreconditionerKind, Real};

use crate::driver::Type;
use crate::error::same_length;
use crate::matrix::Operand;
use crate::memory::Buffer;
use crate::program::{Module, kernels};
use crate::queue::{Arg, Items};
use crate::{DeviceBackend, DeviceBlocks, DeviceVector};

/// The fault number that means no fault.
const SOUND: u32 = u32::MAX;

/// The number of kinds of faults.
const FAULTS: u32 = 2;

/// The largest number of rows for which all fault numbers are below [`SOUND`].
const MOST: usize = (SOUND / FAULTS) as usize;

/// z = ω D⁻¹ r, where D is the block diagonal of a matrix of a backend, inverted on the device. The matrix may
/// have a contact part.
///
/// *Use* for a matrix that changes on the device: [`update_on_device`](Self::update_on_device) does not synchronise.
/// A singular block is replaced by the unit matrix until the next update, and [`check`](Self::check) returns
/// its row. *Cost* b² values of memory per node. An update reads the diagonal blocks and writes their
/// inverses, by elimination with scaled partial pivoting as on the host, in `f64` if the device has it.
pub struct DeviceJacobi<V: Real, S: Real = V> {
    blocks: DeviceBlocks<V, S>,
    inversion: Inversion,
    omega: V,
}

impl<V: Real, S: Real> DeviceJacobi<V, S> {
    /// Returns block Jacobi of a matrix; the inverses are checked.
    ///
    /// # Errors
    /// [`Error::Parameter`] for an ω that is not finite and positive, [`Error::TooLarge`] from 2³¹ block rows
    /// on, [`Error::Memory`] if D does not fit, [`Error::Build`] of the driver, and the errors of
    /// [`check`](Self::check).
    pub fn new<'a>(a: impl Into<Operand<'a, V, S>>, omega: f64) -> Result<Self, SetupError> {
        if !(omega > 0.0 && omega.is_finite()) {
            let (name, range) = ("DeviceJacobi::omega", "above 0 and finite");
            return Err(Error::Parameter { name, value: omega, range }.into());
        }
        let operand = a.into();
        let size = operand.block.0;
        let zeros = DenseBlocks::new(size, vec![S::zero(); operand.rows * size * size])?;
        let blocks = DeviceBlocks::new(&operand.backend.stored::<S>(), &zeros)?;
        let inversion = Inversion::new(operand.backend)?;
        let mut built = Self { blocks, inversion, omega: V::from_f64(omega) };
        built.inversion.run(&operand, &built.blocks)?;
        built.check()?;
        Ok(built)
    }

    /// Computes the inverses for another matrix of the same size. Does not synchronise.
    ///
    /// *Cost* the kernels for `a` are compiled unless the backend has compiled them before. Other kernels than
    /// before are needed if `a` has another layout than the previous matrix, or only one of them has a
    /// contact part.
    ///
    /// # Errors
    /// [`Error::Shape`] for another size, [`Error::Build`] of the driver, [`Error::Device`] if the backend has
    /// failed.
    pub fn update_on_device<'a>(&mut self, a: impl Into<Operand<'a, V, S>>) -> Result<(), Error> {
        self.inversion.run(&a.into(), &self.blocks)
    }

    /// Checks that every diagonal block of the last update has an inverse with a positive diagonal. Waits
    /// once.
    ///
    /// # Errors
    /// [`SetupError::ZeroDiagonal`], [`SetupError::SingularBlock`] or [`SetupError::NotPositive`] for the
    /// first block that fails; [`Error::Device`] if the backend has failed.
    pub fn check(&self) -> Result<(), SetupError> {
        self.inversion.check(&self.blocks, "block-jacobi")
    }
}

impl<V: Real, S: Real> Preconditioner<DeviceVector<V>> for DeviceJacobi<V, S> {
    fn apply(&mut self, r: &DeviceVector<V>, z: &mut DeviceVector<V>) {
        self.blocks.apply(self.omega, r, V::zero(), z);
    }

    fn kind(&self) -> PreconditionerKind {
        PreconditionerKind::Symmetric
    }

    fn size(&self) -> Option<usize> {
        Some(self.blocks.count * self.blocks.size)
    }
}

/// Inverts diagonal blocks and records faults.
pub(crate) struct Inversion {
    /// The first fault of every group.
    faults: Buffer,
    /// The largest row sum of every group.
    bounds: Buffer,
    groups: usize,
    /// The number of the module with the kernels of the last run.
    module: usize,
}

kernels! {
    Step { Invert = "coarsen_diagonal", RowSums = "coarsen_row_sums" }
}

/// Returns the kernels for the blocks of `a` and for their inverses `d`.
fn module<V: Real, S: Real>(a: &Operand<'_, V, S>, d: &DeviceBlocks<V, S>) -> Module {
    let (size, tiny) = (d.size, S::EPSILON.as_f64() * d.size as f64);
    let options = format!(
        "-D STORED={} -D SIZE={size} -D SLICE={} -D DSLICE={} -D TINY={tiny:e}{}",
        Type::of::<S>(),
        a.slice(),
        d.slice,
        if a.has_contact() { " -D CONTACT" } else { "" }
    );
    Module { sources: &coarsen_kernels::DIAGONAL, kernels: Step::NAMES, options }
}

impl Inversion {
    pub(crate) fn new<V: Real>(backend: &DeviceBackend<V>) -> Result<Self, Error> {
        let mut queue = backend.queue();
        let groups = queue.program.groups(usize::MAX);
        let faults = queue.allocate(Type::Index, 4 * groups, None)?;
        let bounds = queue.allocate(Type::of::<V>(), size_of::<V>() * groups, None)?;
        Ok(Self { faults, bounds, groups: 0, module: 0 })
    }

    /// Writes the inverses of the diagonal blocks to `d`.
    pub(crate) fn run<V: Real, S: Real>(
        &mut self,
        a: &Operand<'_, V, S>,
        d: &DeviceBlocks<V, S>,
    ) -> Result<(), Error> {
        let ((rows, columns), size) = (a.block, d.size);
        same_length("rows of a diagonal block", size, rows)?;
        same_length("columns of a diagonal block", size, columns)?;
        same_length("block rows of a diagonal", d.count, a.rows)?;
        if a.rows > MOST {
            return Err(Error::TooLarge { what: "block rows of a diagonal", count: a.rows, limit: MOST });
        }
        d.backend.assert_same(a.backend);
        let mut queue = a.backend.queue();
        self.module = queue.module(&module(a, d))?;
        let entry = Step::Invert.of(self.module);
        self.groups = if a.rows == 0 { 0 } else { queue.program.groups(a.work()) };
        for range in a.ranges {
            let (args, count) = a.args(range, &[Arg::Memory(&d.values), Arg::Memory(&self.faults)]);
            queue.launch(entry, Items::Groups(self.groups), &args[..count]);
        }
        queue.state()
    }

    /// Returns the largest Σⱼ |aᵢⱼ dᵢ| over all rows of a matrix of scalars, for the D of the last
    /// [`run`](Self::run). Synchronises once.
    pub(crate) fn row_sum<V: Real, S: Real>(
        &self,
        a: &Operand<'_, V, S>,
        d: &DeviceBlocks<V, S>,
    ) -> Result<f64, Error> {
        let mut queue = a.backend.queue();
        let entry = Step::RowSums.of(self.module);
        for range in a.ranges {
            let (args, count) = a.args(range, &[Arg::Memory(&d.values), Arg::Memory(&self.bounds)]);
            queue.launch(entry, Items::Groups(self.groups), &args[..count]);
        }
        let mut bounds = vec![V::zero(); self.groups];
        queue.read(&self.bounds, &mut bounds)?;
        let larger = |most: f64, bound: f64| if bound.is_nan() || bound > most { bound } else { most };
        Ok(bounds.into_iter().map(Real::as_f64).fold(0.0, larger))
    }

    /// Returns the first fault of the last run as an error. Synchronises once.
    pub(crate) fn check<V: Real, S: Real>(
        &self,
        d: &DeviceBlocks<V, S>,
        method: &'static str,
    ) -> Result<(), SetupError> {
        let mut faults = vec![SOUND; self.groups];
        d.backend.queue().read_list(&self.faults, &mut faults)?;
        let Some(fault) = faults.into_iter().filter(|fault| *fault != SOUND).min() else { return Ok(()) };
        let node = (fault / FAULTS) as usize;
        let row = node * d.size;
        Err(match (fault % FAULTS, d.size) {
            (0, 1) => SetupError::ZeroDiagonal { row, method },
            (0, _) => SetupError::SingularBlock { node, first_row: row },
            _ => SetupError::NotPositive { method, row, diagonal: smallest(d, node)? },
        })
    }
}

/// Returns the smallest diagonal entry of the block whose inverse is block `node`.
fn smallest<V: Real, S: Real>(d: &DeviceBlocks<V, S>, node: usize) -> Result<f64, Error> {
    let area = d.size * d.size;
    let mut all = vec![S::zero(); d.count.next_multiple_of(d.slice) * area];
    d.backend.queue().read(&d.values, &mut all)?;
    let first = node / d.slice * d.slice * area + node % d.slice;
    let inverse: Vec<S> = (0..area).map(|e| all[first + e * d.slice]).collect();
    let mut block = vec![S::zero(); area];
    DenseBlocks::invert_one(&inverse, &mut block, d.size);
    Ok(block.iter().step_by(d.size + 1).map(|v| v.as_f64()).fold(f64::INFINITY, f64::min))
}
