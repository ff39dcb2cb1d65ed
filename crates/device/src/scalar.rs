//! Scalars in slots of device memory.

use std::fmt;
use std::ops::{Add, Div, Mul, Neg};

use coarsen_core::{Real, Scalar};

use crate::OnDevice;
use crate::queue::Operation;
use crate::slots::{MINUS_ONE, ONE, ZERO};

/// A scalar in a slot of device memory.
///
/// Arithmetic writes a new slot, without a wait: operations are collected, together with the totals of reductions, until a
/// kernel needs one of the slots, and are then one launch. Slots are reference-counted and reused, so a running
/// recurrence allocates nothing. Reading a scalar waits for the
/// device; [`Vector::wait_for`](coarsen_core::Vector::wait_for) reads several scalars with one wait. After a
/// failure of the backend every scalar reads as NaN.
pub struct DeviceScalar<T: Real> {
    pub(crate) on: OnDevice<T>,
    pub(crate) slot: u32,
    /// The number, if it comes from the host.
    number: Option<T>,
}

impl<T: Real> DeviceScalar<T> {
    /// Returns a scalar with a number from the host. The constants 0, 1 and −1 are always in their slots and
    /// need no launch.
    pub(crate) fn known(on: &OnDevice<T>, v: T) -> Self {
        let constant = [(T::zero(), ZERO), (T::one(), ONE), (-T::one(), MINUS_ONE)];
        let mut queue = on.queue();
        let slot =
            match constant.iter().find(|(c, _)| *c == v && c.is_sign_positive() == v.is_sign_positive()) {
                Some(&(_, slot)) => {
                    queue.retain(slot);
                    slot
                }
                None => {
                    let slot = queue.take();
                    queue.set(slot, v);
                    slot
                }
            };
        drop(queue);
        Self { on: on.clone(), slot, number: Some(v) }
    }

    /// Returns N new slots for the results of a reduction.
    pub(crate) fn results<const N: usize>(on: &OnDevice<T>) -> [Self; N] {
        std::array::from_fn(|_| Self { on: on.clone(), slot: on.queue().take(), number: None })
    }

    /// Returns the numbers; waits once, unless all of them come from the host. They are NaN after a failure.
    pub(crate) fn read_all<const N: usize>(s: [&Self; N]) -> [T; N] {
        let Some(first) = s.first() else { return [T::nan(); N] };
        s.iter().for_each(|s| first.on.assert_same(&s.on));
        let mut queue = first.on.queue();
        if queue.state().is_ok() && s.iter().all(|s| s.number.is_some()) {
            return s.map(|s| s.number.unwrap_or_else(T::nan));
        }
        queue.read_slots(s.map(|s| s.slot))
    }

    /// Returns a new slot with the result of an operation on at most three operands.
    fn computed(operation: Operation, operands: &[&Self]) -> Self {
        let on = operands[0].on.clone();
        operands.iter().for_each(|s| on.assert_same(&s.on));
        let slots = std::array::from_fn(|k| operands.get(k).map_or(0, |s| s.slot));
        let slot = on.queue().compute(operation, slots);
        Self { on, slot, number: None }
    }
}

impl<T: Real> Scalar for DeviceScalar<T> {
    type Real = T;

    fn read(&self) -> T {
        let [v] = Self::read_all([self]);
        v
    }

    fn known(&self) -> Option<T> {
        self.number
    }

    fn min(&self, other: &Self) -> Self {
        Self::computed(Operation::Min, &[self, other])
    }

    fn over(&self, den: &Self, floor: &Self) -> Self {
        Self::computed(Operation::Over, &[self, den, floor])
    }
}

impl<T: Real> Neg for DeviceScalar<T> {
    type Output = Self;
    fn neg(self) -> Self {
        Self::computed(Operation::Neg, &[&self])
    }
}

impl<T: Real> Add for DeviceScalar<T> {
    type Output = Self;
    fn add(self, b: Self) -> Self {
        Self::computed(Operation::Add, &[&self, &b])
    }
}

impl<T: Real> Mul for DeviceScalar<T> {
    type Output = Self;
    fn mul(self, b: Self) -> Self {
        Self::computed(Operation::Mul, &[&self, &b])
    }
}

impl<T: Real> Div for DeviceScalar<T> {
    type Output = Self;
    fn div(self, b: Self) -> Self {
        Self::computed(Operation::Div, &[&self, &b])
    }
}

impl<T: Real> Clone for DeviceScalar<T> {
    fn clone(&self) -> Self {
        self.on.queue().retain(self.slot);
        Self { on: self.on.clone(), slot: self.slot, number: self.number }
    }
}

impl<T: Real> Drop for DeviceScalar<T> {
    fn drop(&mut self) {
        self.on.queue().release(self.slot);
    }
}

impl<T: Real> fmt::Debug for DeviceScalar<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "slot {} of {:?}", self.slot, self.on)
    }
}
