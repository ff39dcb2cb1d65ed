//! The vector of a device.

use std::fmt;

use coarsen_backend::Backend;
use coarsen_core::{Dot, Error, Real, Vector};

use crate::driver::Type;
use crate::memory::Buffer;
use crate::program::Kernel;
use crate::queue::{Arg, Items, SUMS};
use crate::{DeviceBackend, DeviceScalar};

/// The number of inner products per pass.
const DOTS: usize = 4;

/// The number of inner products that are computed with their magnitudes in one pass.
const PAIRS: usize = SUMS / 2;

/// A vector in device memory, made by [`Backend::vector`](coarsen_backend::Backend::vector).
///
/// Operations enqueue kernels and return at once. Entry-wise operations give the same bits as `Vec<T>`. Sums
/// are computed in another order than on the host. The backend keeps the first failure; see the documentation
/// of this crate.
pub struct DeviceVector<T: Real> {
    pub(crate) backend: DeviceBackend<T>,
    pub(crate) memory: Buffer,
    pub(crate) n: usize,
}

impl<V: Real, S> DeviceBackend<V, S> {
    /// Returns a vector of n zeros.
    ///
    /// # Errors
    /// [`Error::Memory`] if there is not enough, [`Error::Device`] if the backend has failed.
    pub fn zeros(&self, n: usize) -> Result<DeviceVector<V>, Error> {
        let memory = self.queue().allocate(Type::of::<V>(), n * size_of::<V>(), None)?;
        let mut zeros = DeviceVector { backend: self.plain(), memory, n };
        zeros.fill(V::zero());
        self.queue().state()?;
        Ok(zeros)
    }
}

impl<T: Real> DeviceVector<T> {
    /// Returns the backend of the vector.
    pub fn backend(&self) -> &DeviceBackend<T> {
        &self.backend
    }

    fn assert_meets(&self, operation: &str, others: &[&Self]) {
        for other in others {
            assert_eq!(self.n, other.n, "{operation}: lengths differ");
            self.backend.assert_same(&other.backend);
        }
    }

    fn factor(&self, a: &DeviceScalar<T>) -> Arg<'_, T> {
        self.backend.assert_same(a.backend());
        Arg::Index(a.slot())
    }
}

impl<T: Real> Vector for DeviceVector<T> {
    type Real = T;
    type Scalar = DeviceScalar<T>;

    fn size(&self) -> usize {
        self.n
    }

    fn local_size(&self) -> usize {
        self.n
    }

    fn like(&self) -> Result<Self, Error> {
        self.backend.zeros(self.n)
    }

    /// Takes a new buffer if this one is too small, or at another backend. The buffer never becomes smaller.
    fn renew_like(&mut self, other: &Self) -> Result<(), Error> {
        let (backend, n) = (&other.backend, other.n);
        if !backend.is_same(&self.backend) || self.memory.check(0, n * size_of::<T>()).is_err() {
            *self = backend.zeros(n)?;
            return Ok(());
        }
        self.n = n;
        self.fill(T::zero());
        backend.queue().state()
    }

    fn same_layout(&self, other: &Self) -> bool {
        self.n == other.n && self.backend.is_same(&other.backend)
    }

    fn scalar(&self, v: T) -> DeviceScalar<T> {
        DeviceScalar::known(&self.backend, v)
    }

    fn fill(&mut self, v: T) {
        let args = [Arg::Length(self.n), Arg::Memory(&self.memory), Arg::Number(v)];
        self.backend.queue().launch(Kernel::Fill, Items::Packs(self.n), &args);
    }

    fn first_not_finite(&self) -> Option<usize> {
        let mut here = vec![T::zero(); self.n];
        self.backend.read(self, &mut here).ok()?;
        here.first_not_finite()
    }

    fn copy(&mut self, x: &Self) {
        self.assert_meets("copy", &[x]);
        self.backend.queue().copy(&x.memory, &self.memory, self.n * size_of::<T>());
    }

    fn axpby(&mut self, a: &DeviceScalar<T>, x: &Self, b: &DeviceScalar<T>) {
        self.assert_meets("axpby", &[x]);
        let (a, b) = (self.factor(a), self.factor(b));
        let args = [Arg::Length(self.n), Arg::Slots, a, Arg::Memory(&x.memory), b, Arg::Memory(&self.memory)];
        self.backend.queue().launch(Kernel::Axpby, Items::Packs(self.n), &args);
    }

    fn hadamard(&mut self, a: &DeviceScalar<T>, d: &Self, x: &Self, b: &DeviceScalar<T>) {
        self.assert_meets("hadamard", &[d, x]);
        let (a, b) = (self.factor(a), self.factor(b));
        let [d, x, y] = [d, x, self].map(|v| Arg::Memory(&v.memory));
        self.backend.queue().launch(
            Kernel::Hadamard,
            Items::Packs(self.n),
            &[Arg::Length(self.n), Arg::Slots, a, d, x, b, y],
        );
    }

    /// Runs one pass per four vectors in `with`.
    fn dots<const N: usize>(&self, with: [&Self; N]) -> [DeviceScalar<T>; N] {
        self.assert_meets("dots", &with);
        let results = DeviceScalar::results(&self.backend);
        for (with, results) in with.chunks(DOTS).zip(results.chunks(DOTS)) {
            let mut out = [0; DOTS];
            out.iter_mut().zip(results).for_each(|(out, s)| *out = s.slot());
            let count = Arg::Index(with.len() as u32);
            let [y0, y1, y2, y3] = std::array::from_fn(|k| Arg::Memory(&with.get(k).unwrap_or(&self).memory));
            let args = [Arg::Length(self.n), count, Arg::Memory(&self.memory), y0, y1, y2, y3, Arg::Partial];
            self.backend.queue().reduce(Kernel::Dots, self.n, &args, &out[..with.len()]);
        }
        results
    }

    fn dot_magnitude(&self, y: &Self) -> Dot<DeviceScalar<T>> {
        let [dot] = Self::dot_magnitudes([(self, y)]);
        dot
    }

    /// Runs one pass per three pairs.
    fn dot_magnitudes<const N: usize>(pairs: [(&Self, &Self); N]) -> [Dot<DeviceScalar<T>>; N] {
        let Some(&(first, _)) = pairs.first() else {
            return std::array::from_fn(|_| unreachable!("no pairs"));
        };
        pairs.iter().for_each(|(x, y)| first.assert_meets("dot_magnitudes", &[x, y]));
        let sums: [Dot<_>; N] = std::array::from_fn(|_| {
            let [value, magnitude] = DeviceScalar::results(&first.backend);
            Dot { value, magnitude }
        });
        for (pairs, sums) in pairs.chunks(PAIRS).zip(sums.chunks(PAIRS)) {
            let mut out = [0; SUMS];
            out.iter_mut()
                .zip(sums.iter().flat_map(|d| [&d.value, &d.magnitude]))
                .for_each(|(out, s)| *out = s.slot());
            let there = |k: usize| pairs.get(k).unwrap_or(&pairs[0]);
            let [x0, x1, x2] = [0, 1, 2].map(|k| Arg::Memory(&there(k).0.memory));
            let [y0, y1, y2] = [0, 1, 2].map(|k| Arg::Memory(&there(k).1.memory));
            let count = Arg::Count(pairs.len());
            let args = [Arg::Length(first.n), count, x0, y0, x1, y1, x2, y2, Arg::Partial];
            first.backend.queue().reduce(Kernel::DotMagnitudes, first.n, &args, &out[..2 * pairs.len()]);
        }
        sums
    }

    fn wait_for<const N: usize>(s: [&DeviceScalar<T>; N]) -> [T; N] {
        DeviceScalar::read_all(s)
    }

    fn sync(&self) -> Result<(), Error> {
        self.backend.sync()
    }

    fn pipelined_update(
        x: &mut Self,
        r: &mut Self,
        [p, s]: [&mut Self; 2],
        [u, w]: [&Self; 2],
        [a, b, c]: [&DeviceScalar<T>; 3],
    ) {
        x.assert_meets("pipelined_update", &[r, p, s, u, w]);
        let ([a, b, c], n) = ([a, b, c].map(|f| x.factor(f)), x.n);
        let [u, w, p, s, x_there, r] = [u, w, p, s, x, r].map(|v| Arg::Memory(&v.memory));
        let args = [Arg::Length(n), Arg::Slots, a, b, c, u, w, p, s, x_there, r];
        x.backend.queue().launch(Kernel::PipelinedUpdate, Items::Entries(n), &args);
    }

    fn cg_update(x: &mut Self, r: &mut Self, a: &DeviceScalar<T>, p: &Self, q: &Self) -> DeviceScalar<T> {
        x.assert_meets("cg_update", &[r, p, q]);
        let [rr] = DeviceScalar::results(&x.backend);
        let a = x.factor(a);
        let n = x.n;
        let [p, q, x, r] = [p, q, x, r].map(|v| Arg::Memory(&v.memory));
        let args = [Arg::Length(n), Arg::Slots, a, p, q, x, r, Arg::Partial];
        rr.backend().queue().reduce(Kernel::CgUpdate, n, &args, &[rr.slot()]);
        rr
    }
}

impl<T: Real> fmt::Debug for DeviceVector<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} entries of {:?}", self.n, self.backend)
    }
}
