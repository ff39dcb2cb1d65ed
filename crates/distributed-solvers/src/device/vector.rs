//! Vectors whose entries are divided among ranks, each of which keeps its share on a device.
//!
//! Entry-wise operations enqueue kernels and return. A reduction sums on the device, synchronises for one number per
//! sum, and adds the numbers of all ranks; several sums share the synchronisation and the messages.

use std::sync::Arc;

use coarsen_backend::Backend;
use coarsen_core::{Dot, Error, Real, Vector};
use coarsen_device::{DeviceBackend, DeviceScalar, DeviceVector};
use coarsen_distributed::{Communicator, DistError, Partition, agree, pack, unpack};

use super::{fail, of_device};

/// The share of one rank of a distributed vector, in the memory of a device.
///
/// If the ranks cannot communicate or a device has failed, sums are NaN on all ranks, so that every method ends, and
/// [`Vector::sync`] returns the error. Sums depend on the number of ranks by round-off.
///
/// ```
/// use coarsen_core::Vector;
/// use coarsen_distributed::{Layout, Partition, SelfComm};
/// use coarsen_distributed_solvers::DistDeviceVector;
/// let Ok(device) = coarsen_opencl::default_device::<f64>() else { return Ok(()) }; // no OpenCL here
/// let partition = Partition::new(SelfComm, Layout::even(2, 1, 1)?)?;
/// let x = DistDeviceVector::new(&partition, &device, &[3.0, 4.0])?;
/// assert_eq!((x.size(), x.norm()), (2, 5.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct DistDeviceVector<C: Communicator, T: Real = f64> {
    partition: Arc<Partition<C>>,
    own: DeviceVector<T>,
}

impl<C: Communicator, T: Real> DistDeviceVector<C, T> {
    /// A vector from the entries of this rank, which are copied to its device. All ranks call it.
    ///
    /// # Errors
    /// On every rank: [`DistError::Length`] if the number of entries is not that of a rank, errors of a device, and
    /// errors of communication.
    pub fn new(
        partition: &Arc<Partition<C>>,
        device: &DeviceBackend<T>,
        own: &[T],
    ) -> Result<Self, DistError> {
        let (expected, found) = (partition.count() * partition.layout().block(), own.len());
        let there = match found == expected {
            true => device.vector(own).map_err(of_device),
            false => Err(DistError::Length { what: "the entries of this rank", expected, found }),
        };
        Ok(Self { partition: partition.clone(), own: agree(partition.comm(), there)? })
    }

    /// The division of the rows among ranks.
    pub fn partition(&self) -> &Arc<Partition<C>> {
        &self.partition
    }

    /// The entries of this rank.
    pub fn own(&self) -> &DeviceVector<T> {
        &self.own
    }

    /// Mutable access to the entries of this rank.
    pub fn own_mut(&mut self) -> &mut DeviceVector<T> {
        &mut self.own
    }

    /// The entries of this rank, on the host. Synchronises once.
    ///
    /// # Errors
    /// The error of the device.
    pub fn read(&self) -> Result<Vec<T>, Error> {
        let mut host = vec![T::zero(); self.own.size()];
        self.own.backend().read(&self.own, &mut host)?;
        Ok(host)
    }

    fn assert_fits(&self, others: &[&Self]) {
        assert!(others.iter().all(|other| self.same_layout(other)), "vectors of other layouts");
    }

    fn slot(&self, v: T) -> DeviceScalar<T> {
        self.own.scalar(v)
    }

    /// The sums over all ranks of numbers on the device. Synchronises once.
    fn over_ranks<const N: usize>(&self, sums: [&DeviceScalar<T>; N]) -> [T; N] {
        let mut all = DeviceVector::wait_for(sums).map(|sum| sum.as_f64());
        if all.iter().any(|sum| sum.is_nan())
            && let Err(error) = self.own.sync()
        {
            fail(self.partition.comm(), &error);
        }
        match self.partition.comm().all_reduce(&mut all) {
            Ok(()) => all.map(T::from_f64),
            Err(_) => [T::nan(); N],
        }
    }
}

impl<C: Communicator, T: Real> Vector for DistDeviceVector<C, T> {
    type Real = T;
    type Scalar = T;

    fn size(&self) -> usize {
        self.partition.layout().unknowns()
    }

    fn local_size(&self) -> usize {
        self.own.size()
    }

    fn like(&self) -> Result<Self, Error> {
        // The other ranks go on to the next message, which then has the error of this one.
        let own = self.own.like().inspect_err(|error| fail(self.partition.comm(), error))?;
        Ok(Self { partition: self.partition.clone(), own })
    }

    fn renew_like(&mut self, other: &Self) -> Result<(), Error> {
        self.own.renew_like(&other.own).inspect_err(|error| fail(other.partition.comm(), error))?;
        self.partition.clone_from(&other.partition);
        Ok(())
    }

    fn same_layout(&self, other: &Self) -> bool {
        self.partition.is_same(&other.partition) && self.own.same_layout(&other.own)
    }

    fn scalar(&self, v: T) -> T {
        v
    }

    fn fill(&mut self, v: T) {
        self.own.fill(v);
    }

    fn copy(&mut self, x: &Self) {
        self.assert_fits(&[x]);
        self.own.copy(&x.own);
    }

    fn axpby(&mut self, a: &T, x: &Self, b: &T) {
        self.assert_fits(&[x]);
        let (a, b) = (self.slot(*a), self.slot(*b));
        self.own.axpby(&a, &x.own, &b);
    }

    fn hadamard(&mut self, a: &T, d: &Self, x: &Self, b: &T) {
        self.assert_fits(&[d, x]);
        let (a, b) = (self.slot(*a), self.slot(*b));
        self.own.hadamard(&a, &d.own, &x.own, &b);
    }

    fn dots<const N: usize>(&self, with: [&Self; N]) -> [T; N] {
        self.assert_fits(&with);
        let sums = self.own.dots(with.map(|y| &y.own));
        self.over_ranks(sums.each_ref())
    }

    fn dot_magnitude(&self, y: &Self) -> Dot<T> {
        self.assert_fits(&[y]);
        let Dot { value, magnitude } = self.own.dot_magnitude(&y.own);
        let [value, magnitude] = self.over_ranks([&value, &magnitude]);
        Dot { value, magnitude }
    }

    fn wait_for<const N: usize>(s: [&T; N]) -> [T; N] {
        s.map(|s| *s)
    }

    fn sync(&self) -> Result<(), Error> {
        if let Some(error) = self.partition.comm().failure() {
            return Err(error.into());
        }
        self.own.sync()
    }

    /// One pass on the device, and one reduction.
    fn cg_update(x: &mut Self, r: &mut Self, a: &T, p: &Self, q: &Self) -> T {
        x.assert_fits(&[r, p, q]);
        let a = x.slot(*a);
        let rr = DeviceVector::cg_update(&mut x.own, &mut r.own, &a, &p.own, &q.own);
        let [rr] = r.over_ranks([&rr]);
        rr
    }

    fn pipelined_update(
        x: &mut Self,
        r: &mut Self,
        [p, s]: [&mut Self; 2],
        [u, w]: [&Self; 2],
        [a, b, c]: [&T; 3],
    ) {
        x.assert_fits(&[r, p, s, u, w]);
        let [a, b, c] = [a, b, c].map(|factor| x.slot(*factor));
        let (x, r) = (&mut x.own, &mut r.own);
        DeviceVector::pipelined_update(x, r, [&mut p.own, &mut s.own], [&u.own, &w.own], [&a, &b, &c]);
    }

    fn first_not_finite(&self) -> Option<usize> {
        let first = self.partition.first() * self.partition.layout().block() as u64;
        let mut own = Vec::new();
        pack(self.own.first_not_finite().map(|at| first + at as u64), &mut own);
        let all = self.partition.comm().all_gather(&own).ok()?;
        all.iter().find_map(|part| unpack::<u64>(part).next()).map(|at| at as usize)
    }
}
