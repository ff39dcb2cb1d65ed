//! Scalars in slots of device memory.

use std::fmt;
use std::ops::{Add, Div, Mul, Neg};

use coarsen_core::{Real, Scalar};

use crate::OnDevice;
use crate::program::Kernel;
use crate::queue::{Arg, Items};
use crate::slots::{MINUS_ONE, ONE, ZERO};

/// A scalar in a slot of device memory.
///
/// Arithmetic enqueues a kernel of one item that writes a new slot, without a wait. Slots are
/// reference-counted and reused, so a running recurrence allocates nothing. Reading a scalar waits for the
/// device; [`Vector::wait_for`](coarsen_core::Vector::wait_for) reads several scalars with one wait. After a
/// failure of the backend every scalar reads as NaN.
pub struct DeviceScalar<T: Real> {
    pub(crate) on: OnDevice<T>,
    pub(crate) slot: u32,
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
        Self { on: on.clone(), slot }
    }

    /// Returns N new slots for the results of a reduction.
    pub(crate) fn results<const N: usize>(on: &OnDevice<T>) -> [Self; N] {
        std::array::from_fn(|_| Self { on: on.clone(), slot: on.queue().take() })
    }

    /// Returns a new slot with the result of `kernel` for at most three operands.
    fn computed(kernel: Kernel, operands: &[&Self]) -> Self {
        let on = operands[0].on.clone();
        operands.iter().for_each(|s| on.assert_same(&s.on));
        let slot = {
            let mut queue = on.queue();
            let slot = queue.take();
            let mut args = [Arg::Slots, Arg::Index(slot), Arg::Index(0), Arg::Index(0), Arg::Index(0)];
            args[2..].iter_mut().zip(operands).for_each(|(arg, s)| *arg = Arg::Index(s.slot));
            queue.launch(kernel, Items::One, &args[..2 + operands.len()]);
            slot
        };
        Self { on, slot }
    }
}

impl<T: Real> Scalar for DeviceScalar<T> {
    type Real = T;

    fn read(&self) -> T {
        let [v] = self.on.queue().read_slots([self.slot]);
        v
    }

    fn over(&self, den: &Self, floor: &Self) -> Self {
        Self::computed(Kernel::Over, &[self, den, floor])
    }
}

impl<T: Real> Neg for DeviceScalar<T> {
    type Output = Self;
    fn neg(self) -> Self {
        Self::computed(Kernel::Neg, &[&self])
    }
}

impl<T: Real> Add for DeviceScalar<T> {
    type Output = Self;
    fn add(self, b: Self) -> Self {
        Self::computed(Kernel::Add, &[&self, &b])
    }
}

impl<T: Real> Mul for DeviceScalar<T> {
    type Output = Self;
    fn mul(self, b: Self) -> Self {
        Self::computed(Kernel::Mul, &[&self, &b])
    }
}

impl<T: Real> Div for DeviceScalar<T> {
    type Output = Self;
    fn div(self, b: Self) -> Self {
        Self::computed(Kernel::Div, &[&self, &b])
    }
}

impl<T: Real> Clone for DeviceScalar<T> {
    fn clone(&self) -> Self {
        self.on.queue().retain(self.slot);
        Self { on: self.on.clone(), slot: self.slot }
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
