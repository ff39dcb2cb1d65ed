//! Products with the matrices of a device, all by their block rows.

use coarsen_core::{Dot, LinearOperator, Real};

use crate::{DeviceEll, DeviceMatrix, DeviceScalar, DeviceSum, DeviceSymmetric, DeviceVector, Operand};

/// Implements products for a type by its block rows.
macro_rules! operators {
    ($($operator:ty),*) => {$(
        impl<V: Real, S: Real> LinearOperator<DeviceVector<V>> for $operator {
            fn shape(&self) -> (usize, usize) {
                self.operand().shape
            }

            fn apply(&self, x: &DeviceVector<V>, y: &mut DeviceVector<V>) {
                self.operand().apply(x, y);
            }

            fn apply_dot(&self, x: &DeviceVector<V>, y: &mut DeviceVector<V>) -> Dot<DeviceScalar<V>> {
                self.operand().apply_dot(x, y)
            }

            fn residual(&self, b: &DeviceVector<V>, x: &DeviceVector<V>, r: &mut DeviceVector<V>) {
                self.operand().residual(b, x, r);
            }
        }
    )*};
}

operators!(DeviceMatrix<V, S>, DeviceSymmetric<V, S>, DeviceSum<'_, V, S>, DeviceEll<V, S>);

impl<'a, V: Real, S: Real> From<&'a DeviceMatrix<V, S>> for Operand<'a, V, S> {
    fn from(a: &'a DeviceMatrix<V, S>) -> Self {
        a.operand()
    }
}

impl<'a, V: Real, S: Real> From<&'a DeviceSum<'_, V, S>> for Operand<'a, V, S> {
    fn from(a: &'a DeviceSum<'_, V, S>) -> Self {
        a.operand()
    }
}

impl<'a, V: Real, S: Real> From<&'a DeviceEll<V, S>> for Operand<'a, V, S> {
    fn from(a: &'a DeviceEll<V, S>) -> Self {
        a.operand()
    }
}
