//! Matrices, blocks and row sets on any backend.

use std::marker::PhantomData;

use coarsen_backend::{Blocks, Cpu, CpuBlocks, CpuMatrix, DenseBlocks, Matrix, RowSets, SweepDirection};
use coarsen_core::{Dot, Error, LinearOperator, Real};
#[cfg(feature = "opencl")]
use coarsen_opencl::{DeviceBlocks, DeviceMatrix, DeviceRows, OpenCl};
use coarsen_sparse::Bsr;

use super::any_backend::AnyBackend;
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
    Cpu(CpuBlocks<V, S>),
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

/// The message of a panic for operands on different backends.
#[cfg(feature = "opencl")]
const MEET: &str = "operands live on different backends";

impl<V: Real, S: Real> LinearOperator<AnyVector<V>> for AnyMatrix<V, S> {
    fn shape(&self) -> (usize, usize) {
        match self {
            Self::Cpu(a) => a.shape(),
            #[cfg(feature = "opencl")]
            Self::OpenCl(a) => a.shape(),
        }
    }

    fn apply(&self, x: &AnyVector<V>, y: &mut AnyVector<V>) {
        match self {
            Self::Cpu(a) => a.apply(x.cpu(), y.cpu_mut()),
            #[cfg(feature = "opencl")]
            Self::OpenCl(a) => a.apply(x.device(), y.device_mut()),
        }
    }

    fn apply_dot(&self, x: &AnyVector<V>, y: &mut AnyVector<V>) -> Dot<AnyScalar<V>> {
        match self {
            Self::Cpu(a) => dot(a.apply_dot(x.cpu(), y.cpu_mut()), AnyScalar::Cpu),
            #[cfg(feature = "opencl")]
            Self::OpenCl(a) => dot(a.apply_dot(x.device(), y.device_mut()), AnyScalar::OpenCl),
        }
    }

    fn residual(&self, b: &AnyVector<V>, x: &AnyVector<V>, r: &mut AnyVector<V>) {
        match self {
            Self::Cpu(a) => a.residual(b.cpu(), x.cpu(), r.cpu_mut()),
            #[cfg(feature = "opencl")]
            Self::OpenCl(a) => a.residual(b.device(), x.device(), r.device_mut()),
        }
    }
}

impl<V: Real, S: Real> Matrix<AnyBackend<V, S>> for AnyMatrix<V, S> {
    fn apply_add(&self, a: V, x: &AnyVector<V>, b: V, y: &mut AnyVector<V>) {
        match self {
            Self::Cpu(matrix) => Matrix::<Cpu<V, S>>::apply_add(matrix, a, x.cpu(), b, y.cpu_mut()),
            #[cfg(feature = "opencl")]
            Self::OpenCl(matrix) => matrix.apply_add(a, x.device(), b, y.device_mut()),
        }
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
        match (self, rows, d) {
            (Self::Cpu(a), AnyRows::Cpu(rows, _), AnyBlocks::Cpu(d)) => {
                a.relax(rows, sweep, d, omega, b.cpu(), x.cpu_mut());
            }
            #[cfg(feature = "opencl")]
            (Self::OpenCl(a), AnyRows::OpenCl(rows), AnyBlocks::OpenCl(d)) => {
                a.relax(rows, sweep, d, omega, b.device(), x.device_mut());
            }
            #[cfg(feature = "opencl")]
            _ => panic!("{MEET}"),
        }
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
        match (self, d) {
            (Self::Cpu(a), AnyBlocks::Cpu(d)) => {
                a.relax_into(d, omega, beta, b.cpu(), x.cpu(), s.cpu_mut(), y.cpu_mut());
            }
            #[cfg(feature = "opencl")]
            (Self::OpenCl(a), AnyBlocks::OpenCl(d)) => {
                a.relax_into(d, omega, beta, b.device(), x.device(), s.device_mut(), y.device_mut());
            }
            #[cfg(feature = "opencl")]
            _ => panic!("{MEET}"),
        }
    }

    fn set_values<T: Real>(&mut self, host: &Bsr<T>) -> Result<(), Error> {
        match self {
            Self::Cpu(a) => Matrix::<Cpu<V, S>>::set_values(a, host),
            #[cfg(feature = "opencl")]
            Self::OpenCl(a) => Matrix::<OpenCl<V, S>>::set_values(a, host),
        }
    }
}

impl<V: Real, S: Real> Blocks<AnyBackend<V, S>> for AnyBlocks<V, S> {
    fn count(&self) -> usize {
        match self {
            Self::Cpu(d) => d.count(),
            #[cfg(feature = "opencl")]
            Self::OpenCl(d) => d.count(),
        }
    }

    fn apply(&self, a: V, r: &AnyVector<V>, b: V, z: &mut AnyVector<V>) {
        match self {
            Self::Cpu(d) => d.apply(a, r.cpu(), b, z.cpu_mut()),
            #[cfg(feature = "opencl")]
            Self::OpenCl(d) => d.apply(a, r.device(), b, z.device_mut()),
        }
    }

    fn set_values<T: Real>(&mut self, host: &DenseBlocks<T>) -> Result<(), Error> {
        match self {
            Self::Cpu(d) => d.set_values(host),
            #[cfg(feature = "opencl")]
            Self::OpenCl(d) => d.set_values(host),
        }
    }
}
