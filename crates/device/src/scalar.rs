//! Scalars in slots of device memory.

use std::fmt;
use std::ops::{Add, Div, Mul, Neg};
use std::sync::{Arc, OnceLock};

use coarsen_core::{Real, Scalar};

use crate::DeviceBackend;
use crate::queue::Operation;
use crate::slots::CONSTANTS;

/// A scalar in a slot of device memory.
///
/// Arithmetic writes a new slot, without synchronisation: operations are collected, together with the totals of
/// reductions, until a kernel needs one of the slots, and are then one launch. A number from the host takes a slot when
/// an operation first needs it there. Slots are reused, so a running recurrence allocates no device memory. Reading a
/// scalar synchronises with the device; [`Vector::wait_for`](coarsen_core::Vector::wait_for) reads several scalars with
/// one synchronisation. After a failure of the backend every scalar reads as NaN.
#[derive(Clone)]
pub struct DeviceScalar<T: Real>(Arc<Slot<T>>);

/// A slot, freed with its last user.
struct Slot<T: Real> {
    backend: DeviceBackend<T>,
    number: OnceLock<u32>,
    /// The value, if it comes from the host.
    value: Option<T>,
}

impl<T: Real> DeviceScalar<T> {
    /// Returns a scalar with a number from the host. Constants have slots of their own.
    pub(crate) fn known(backend: &DeviceBackend<T>, v: T) -> Self {
        let same = |c: &f64| *c == v.as_f64() && c.is_sign_positive() == v.is_sign_positive();
        let constant = CONSTANTS.iter().position(same).map(|slot| OnceLock::from(slot as u32));
        Self(Arc::new(Slot {
            backend: backend.clone(),
            number: constant.unwrap_or_default(),
            value: Some(v),
        }))
    }

    fn at(backend: &DeviceBackend<T>, slot: u32) -> Self {
        Self(Arc::new(Slot { backend: backend.clone(), number: slot.into(), value: None }))
    }

    /// Returns N new slots for the results of a reduction.
    pub(crate) fn results<const N: usize>(backend: &DeviceBackend<T>) -> [Self; N] {
        std::array::from_fn(|_| Self::at(backend, backend.queue().take()))
    }

    pub(crate) fn backend(&self) -> &DeviceBackend<T> {
        &self.0.backend
    }

    /// Returns the slot. Locks the queue if a number from the host is not in a slot yet.
    pub(crate) fn slot(&self) -> u32 {
        let set = || self.backend().queue().set(self.0.value.unwrap_or_else(T::nan));
        *self.0.number.get_or_init(set)
    }

    /// Returns the numbers; synchronises once, unless all of them come from the host. They are NaN after a failure.
    pub(crate) fn read_all<const N: usize>(s: [&Self; N]) -> [T; N] {
        let Some(first) = s.first() else { return [T::nan(); N] };
        s.iter().for_each(|s| first.backend().assert_same(s.backend()));
        if first.backend().queue().state().is_ok() && s.iter().all(|s| s.0.value.is_some()) {
            return s.map(|s| s.0.value.unwrap_or_else(T::nan));
        }
        let slots = s.map(Self::slot);
        first.backend().queue().read_slots(slots)
    }

    /// Returns a new slot with the result of an operation on at most three operands.
    fn computed(operation: Operation, operands: &[&Self]) -> Self {
        let backend = operands[0].backend();
        operands.iter().for_each(|s| backend.assert_same(s.backend()));
        let slots = std::array::from_fn(|k| operands.get(k).map_or(0, |s| s.slot()));
        let slot = backend.queue().compute(operation, slots);
        Self::at(backend, slot)
    }
}

impl<T: Real> Drop for Slot<T> {
    fn drop(&mut self) {
        if let Some(&slot) = self.number.get() {
            self.backend.queue().release(slot);
        }
    }
}

impl<T: Real> Scalar for DeviceScalar<T> {
    type Real = T;

    fn read(&self) -> T {
        let [v] = Self::read_all([self]);
        v
    }

    fn known(&self) -> Option<T> {
        self.0.value
    }

    fn min(&self, other: &Self) -> Self {
        Self::computed(Operation::Min, &[self, other])
    }

    fn over(&self, den: &Self, bound: &Self) -> Self {
        Self::computed(Operation::Over, &[self, den, bound])
    }
}

impl<T: Real> Neg for DeviceScalar<T> {
    type Output = Self;
    fn neg(self) -> Self {
        Self::computed(Operation::Neg, &[&self])
    }
}

macro_rules! operations {
    ($($operation:ident $method:ident,)*) => {$(
        impl<T: Real> $operation for DeviceScalar<T> {
            type Output = Self;
            fn $method(self, b: Self) -> Self {
                Self::computed(Operation::$operation, &[&self, &b])
            }
        }
    )*};
}

operations! {
    Add add,
    Mul mul,
    Div div,
}

impl<T: Real> fmt::Debug for DeviceScalar<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a scalar of {:?}", self.backend())
    }
}
