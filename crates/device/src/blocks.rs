//! Dense blocks along a diagonal, on a device.

use std::marker::PhantomData;

use coarsen_backend::{DenseBlocks, check_blocks};
use coarsen_core::{Error, Real};

use crate::diagonal::Inversion;
use crate::driver::Type;
use crate::error::same_length;
use crate::memory::{Buffer, bytes, convert};
use crate::program::{Entry, Module};
use crate::queue::{Arg, Items};
use crate::{DeviceBackend, DeviceVector};

/// Blocks with at least this many rows are multiplied by a group of items, smaller blocks by one item.
const LARGE: usize = 33;

/// Blocks D_k in device memory, stored in `S`, applied to vectors of `V`.
///
/// Blocks below 33 x 33 are stored in slices, entry by entry, if the items of the device run in lockstep.
/// Larger blocks are stored row by row.
pub struct DeviceBlocks<V: Real, S: Real = V> {
    pub(crate) backend: DeviceBackend<V>,
    pub(crate) size: usize,
    pub(crate) count: usize,
    pub(crate) slice: usize,
    pub(crate) values: Buffer,
    kernel: Entry,
    /// The faults of the last inversion, if the blocks were inverted on the device.
    pub(crate) inversion: Option<Inversion>,
    of: PhantomData<S>,
}

/// Returns the number of blocks of `size` x `size` in a slice.
pub(crate) fn slice_of(size: usize, slice: usize) -> usize {
    if size < LARGE { slice } else { 1 }
}

impl<V: Real, S: Real> DeviceBlocks<V, S> {
    pub(crate) fn new<T: Real>(backend: &DeviceBackend<V, S>, host: &DenseBlocks<T>) -> Result<Self, Error> {
        check_blocks::<T, S>("the inverse of the diagonal", host)?;
        let (size, count) = (host.size(), host.count());
        let mut queue = backend.queue();
        let slice = slice_of(size, queue.program.slice);
        let stored = format!("-D STORED={}", Type::of::<S>());
        let module = if size < LARGE {
            let options = format!("{stored} -D SIZE={size} -D DSLICE={slice}");
            Module { sources: &coarsen_kernels::BLOCKS, kernels: &["coarsen_blocks"], options }
        } else {
            Module { sources: &coarsen_kernels::DENSE, kernels: &["coarsen_dense"], options: stored }
        };
        let kernel = Entry { module: queue.module(&module)?, kernel: 0 };
        let mut values = vec![S::zero(); count.next_multiple_of(slice) * size * size];
        arrange(host, slice, &mut values);
        let values = queue.allocate(Type::of::<S>(), size_of_val(&values[..]), Some(bytes(&values)))?;
        Ok(Self {
            backend: backend.plain(),
            size,
            count,
            slice,
            values,
            kernel,
            inversion: None,
            of: PhantomData,
        })
    }

    pub(crate) fn apply(&self, a: V, r: &DeviceVector<V>, b: V, z: &mut DeviceVector<V>) {
        let n = self.count * self.size;
        assert!(r.n == n && z.n == n, "blocks: {n} rows met r of {} and z of {}", r.n, z.n);
        [&r.backend, &z.backend].iter().for_each(|backend| self.backend.assert_same(backend));
        let d = Arg::Memory(&self.values);
        let (a, r, b, z) = (Arg::Number(a), Arg::Memory(&r.memory), Arg::Number(b), Arg::Memory(&z.memory));
        let mut queue = self.backend.queue();
        if self.size < LARGE {
            let args = [Arg::Length(self.count), d, a, r, b, z];
            queue.launch(self.kernel, Items::Entries(self.count), &args);
        } else {
            let args = [Arg::Length(n), Arg::Index(self.size as u32), d, a, r, b, z];
            queue.launch(self.kernel, Items::Groups(n), &args);
        }
    }

    pub(crate) fn set_values<T: Real>(&mut self, host: &DenseBlocks<T>) -> Result<(), Error> {
        same_length("block size", self.size, host.size())?;
        same_length("dense blocks", self.count, host.count())?;
        check_blocks::<T, S>("the inverse of the diagonal", host)?;
        let length = self.count.next_multiple_of(self.slice) * self.size * self.size;
        self.backend.queue().put(&self.values, length, |to: &mut [S]| arrange(host, self.slice, to))
    }

    pub(crate) fn assert_fits(&self, backend: &DeviceBackend<V>, rows: usize, size: usize, method: &str) {
        self.backend.assert_same(backend);
        assert!(self.size == size && self.count * size == rows, "{method}: D does not fit A");
    }
}

/// Writes blocks to their slices, entry by entry.
fn arrange<T: Real, S: Real>(host: &DenseBlocks<T>, slice: usize, to: &mut [S]) {
    if slice == 1 {
        return convert(host.values(), to);
    }
    let area = host.size().pow(2);
    for k in 0..host.count() {
        let first = k / slice * slice * area + k % slice;
        host.block(k).iter().enumerate().for_each(|(e, v)| to[first + e * slice] = v.to());
    }
}
