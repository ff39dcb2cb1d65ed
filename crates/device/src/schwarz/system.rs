//! A matrix of a backend, with or without a contact part beside it.

use coarsen_core::Real;

use crate::{DeviceContacts, DeviceMatrix, DeviceSum};

/// A matrix in device memory, and contact blocks beside it, if any. [`DeviceSubdomains`](crate::DeviceSubdomains) takes
/// a `&DeviceMatrix` or a `&DeviceSum` where it asks for one.
#[derive(Clone, Copy, Debug)]
pub struct DeviceSystem<'a, V: Real, S: Real = V> {
    pub(crate) matrix: &'a DeviceMatrix<V, S>,
    pub(crate) contact: Option<&'a DeviceContacts<V, S>>,
}

impl<'a, V: Real, S: Real> From<&'a DeviceMatrix<V, S>> for DeviceSystem<'a, V, S> {
    fn from(matrix: &'a DeviceMatrix<V, S>) -> Self {
        Self { matrix, contact: None }
    }
}

impl<'a, V: Real, S: Real> From<&DeviceSum<'a, V, S>> for DeviceSystem<'a, V, S> {
    fn from(sum: &DeviceSum<'a, V, S>) -> Self {
        Self { matrix: sum.elastic(), contact: Some(sum.contact()) }
    }
}
