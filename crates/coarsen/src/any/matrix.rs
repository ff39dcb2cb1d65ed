//! Matrices, blocks and row sets on any backend.

use std::marker::PhantomData;

use coarsen_backend::{Cpu, CpuMatrix, DenseBlocks, Matrix, RowSets, SweepDirection};
use coarsen_core::{Dot, Error, LinearOperator, Real};
#[cfg(feature = "opencl")]
use coarsen_opencl::{DeviceBlocks, DeviceMatrix, DeviceRows, OpenCl};
use coarsen_sparse::Bsr;

use super::any_backend::AnyBackend;
use super::operand::{Operand, operand};
use super::vector::{AnyScalar, AnyVector, dot};

/// A matrix of an [`AnyBackend`].
#[non_exhaustive]
#[cfg_attr(
    feature = "opencl",
    allow(clippy::large_enum_variant, reason = "matrices are few, and their values are on the heap")
)]
pub enum AnyMatrix<V: Real = f64, S: Real = V> {
    /// On the CPU.
    Cpu(CpuMatrix<V, S>),
    /// On a device.
    #[cfg(feature = "opencl")]
    OpenCl(DeviceMatrix<V, S>),
}

/// Dense blocks of an [`AnyBackend`].
#[non_exhaustive]
pub enum AnyBlocks<V: Real = f64, S: Real = V> {
    /// On the CPU.
    Cpu(DenseBlocks<S>, PhantomData<fn() -> V>),
    /// On a device.
    #[cfg(feature = "opencl")]
    OpenCl(DeviceBlocks<V, S>),
}

/// Row sets of an [`AnyBackend`].
#[non_exhaustive]
pub enum AnyRows<V: Real = f64> {
    /// On the CPU.
    Cpu(RowSets, PhantomData<fn() -> V>),
    /// On a device.
    #[cfg(feature = "opencl")]
    OpenCl(DeviceRows<V>),
}

operand!(AnyBlocks<V, S>, DenseBlocks<S>, DeviceBlocks<V, S>);
operand!(AnyRows<V>, RowSets, DeviceRows<V>);

impl<V: Real, S: Real> LinearOperator<AnyVector<V>> for AnyMatrix<V, S> {
    fn shape(&self) -> (usize, usize) {
        on!(self, a => a.shape())
    }

    fn apply(&self, x: &AnyVector<V>, y: &mut AnyVector<V>) {
        on!(self, a => a.apply(x.on(), y.on_mut()))
    }

    fn apply_dot(&self, x: &AnyVector<V>, y: &mut AnyVector<V>) -> Dot<AnyScalar<V>> {
        on!(self, a, AnyScalar as wrap => dot(a.apply_dot(x.on(), y.on_mut()), wrap))
    }

    fn residual(&self, b: &AnyVector<V>, x: &AnyVector<V>, r: &mut AnyVector<V>) {
        on!(self, a => a.residual(b.on(), x.on(), r.on_mut()))
    }
}

impl<V: Real, S: Real> Matrix<AnyBackend<V, S>> for AnyMatrix<V, S> {
    fn apply_add(&self, a: V, x: &AnyVector<V>, b: V, y: &mut AnyVector<V>) {
        on!(self, matrix => Matrix::apply_add(matrix, a, x.on(), b, y.on_mut()))
    }

    fn relax(
        &self,
        rows: &AnyRows<V>,
        sweep: SweepDirection,
        d: &AnyBlocks<V, S>,
        omega: V,
        b: &AnyVector<V>,
        x: &mut AnyVector<V>,
    ) {
        on!(self, a => a.relax(rows.on(), sweep, d.on(), omega, b.on(), x.on_mut()))
    }

    fn relax_into(
        &self,
        d: &AnyBlocks<V, S>,
        omega: V,
        beta: V,
        b: &AnyVector<V>,
        x: &AnyVector<V>,
        s: &mut AnyVector<V>,
        y: &mut AnyVector<V>,
    ) {
        on!(self, a => a.relax_into(d.on(), omega, beta, b.on(), x.on(), s.on_mut(), y.on_mut()))
    }

    fn set_values<T: Real>(&mut self, host: &Bsr<T>) -> Result<(), Error> {
        match self {
            Self::Cpu(a) => Matrix::<Cpu<V, S>>::set_values(a, host),
            #[cfg(feature = "opencl")]
            Self::OpenCl(a) => Matrix::<OpenCl<V, S>>::set_values(a, host),
        }
    }
}
