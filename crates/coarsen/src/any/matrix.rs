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
        dispatch!(self, a => a.shape())
    }

    fn apply(&self, x: &AnyVector<V>, y: &mut AnyVector<V>) {
        dispatch!(self, a => a.apply(x.inner(), y.inner_mut()))
    }

    fn apply_dot(&self, x: &AnyVector<V>, y: &mut AnyVector<V>) -> Dot<AnyScalar<V>> {
        dispatch!(self, a, AnyScalar as wrap => dot(a.apply_dot(x.inner(), y.inner_mut()), wrap))
    }

    fn residual(&self, b: &AnyVector<V>, x: &AnyVector<V>, r: &mut AnyVector<V>) {
        dispatch!(self, a => a.residual(b.inner(), x.inner(), r.inner_mut()))
    }
}

impl<V: Real, S: Real> Matrix<AnyBackend<V, S>> for AnyMatrix<V, S> {
    fn apply_add(&self, a: V, x: &AnyVector<V>, b: V, y: &mut AnyVector<V>) {
        dispatch!(self, matrix => Matrix::apply_add(matrix, a, x.inner(), b, y.inner_mut()))
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
        dispatch!(self, a => a.relax(rows.inner(), sweep, d.inner(), omega, b.inner(), x.inner_mut()))
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
        dispatch!(self, a => {
            a.relax_into(d.inner(), omega, beta, b.inner(), x.inner(), s.inner_mut(), y.inner_mut());
        })
    }

    fn set_values<T: Real>(&mut self, host: &Bsr<T>) -> Result<(), Error> {
        match self {
            Self::Cpu(a) => Matrix::<Cpu<V, S>>::set_values(a, host),
            #[cfg(feature = "opencl")]
            Self::OpenCl(a) => Matrix::<OpenCl<V, S>>::set_values(a, host),
        }
    }
}
