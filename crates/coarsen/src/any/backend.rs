//! The operations of a backend, on the CPU or a device.

use std::marker::PhantomData;
use std::sync::Arc;

use coarsen_backend::{
    Backend, Cpu, DenseBlocks, MatrixTransfer, RowSets, SetupError, Smoother, Transfer, Transfers,
};
use coarsen_core::{Error, Real};
#[cfg(feature = "opencl")]
use coarsen_opencl::OpenCl;
use coarsen_sparse::{Bsr, Pattern, Prolongation, TransposePlan};

use super::any_backend::AnyBackend;
use super::matrix::{AnyBlocks, AnyMatrix, AnyRows};
use super::operand::Operand;
use super::smoother::CpuSmoother;
use super::transfer::HostTransfer;
use super::vector::AnyVector;

impl<V: Real, S: Real> Backend for AnyBackend<V, S> {
    type Real = V;
    type Stored = S;
    type Vector = AnyVector<V>;
    type Matrix = AnyMatrix<V, S>;
    type Blocks = AnyBlocks<V, S>;
    type Rows = AnyRows<V>;

    fn name(&self) -> &'static str {
        dispatch!(self, backend => backend.name())
    }

    fn is_remote(&self) -> bool {
        dispatch!(self, backend => backend.is_remote())
    }

    fn transfers(&self) -> Transfers {
        dispatch!(self, backend => backend.transfers())
    }

    fn vector(&self, host: &[V]) -> Result<AnyVector<V>, Error> {
        dispatch!(self, backend, AnyVector as wrap => backend.vector(host).map(wrap))
    }

    fn matrix<T: Real>(&self, host: &Bsr<T>) -> Result<AnyMatrix<V, S>, Error> {
        dispatch!(self, backend, AnyMatrix as wrap => backend.matrix(host).map(wrap))
    }

    fn blocks<T: Real>(&self, host: &DenseBlocks<T>) -> Result<AnyBlocks<V, S>, Error> {
        match self {
            Self::Cpu(backend) => backend.blocks(host).map(|d| AnyBlocks::Cpu(d, PhantomData)),
            #[cfg(feature = "opencl")]
            Self::OpenCl(backend) => backend.blocks(host).map(AnyBlocks::OpenCl),
        }
    }

    fn apply_blocks(d: &AnyBlocks<V, S>, a: V, r: &AnyVector<V>, b: V, z: &mut AnyVector<V>) {
        match d {
            AnyBlocks::Cpu(d, _) => Cpu::<V, S>::apply_blocks(d, a, r.inner(), b, z.inner_mut()),
            #[cfg(feature = "opencl")]
            AnyBlocks::OpenCl(d) => OpenCl::<V, S>::apply_blocks(d, a, r.inner(), b, z.inner_mut()),
        }
    }

    fn set_blocks<T: Real>(d: &mut AnyBlocks<V, S>, host: &DenseBlocks<T>) -> Result<(), Error> {
        match d {
            AnyBlocks::Cpu(d, _) => Cpu::<V, S>::set_blocks(d, host),
            #[cfg(feature = "opencl")]
            AnyBlocks::OpenCl(d) => OpenCl::<V, S>::set_blocks(d, host),
        }
    }

    fn rows(&self, sets: &RowSets) -> Result<AnyRows<V>, Error> {
        match self {
            Self::Cpu(backend) => backend.rows(sets).map(|rows| AnyRows::Cpu(rows, PhantomData)),
            #[cfg(feature = "opencl")]
            Self::OpenCl(backend) => backend.rows(sets).map(AnyRows::OpenCl),
        }
    }

    fn relaxation_order(&self, pattern: &Arc<Pattern>) -> RowSets {
        dispatch!(self, backend => backend.relaxation_order(pattern))
    }

    fn gauss_seidel<T: Real>(
        &self,
        a: &Bsr<T>,
        omega: f64,
        symmetric: bool,
    ) -> Result<Option<Box<dyn Smoother<Self, T>>>, SetupError> {
        match self {
            Self::Cpu(backend) => {
                let own = backend.gauss_seidel(a, omega, symmetric)?;
                Ok(own.map(|own| Box::new(CpuSmoother(own)) as Box<dyn Smoother<Self, T>>))
            }
            #[cfg(feature = "opencl")]
            Self::OpenCl(_) => Ok(None),
        }
    }

    fn transfer<T: Real>(
        &self,
        p: &Prolongation<T>,
        transpose: &TransposePlan,
    ) -> Result<Box<dyn Transfer<T, Self>>, SetupError> {
        Ok(match self {
            Self::Cpu(backend) if p.matrix().is_none() => {
                Box::new(HostTransfer(backend.transfer(p, transpose)?))
            }
            _ => Box::new(MatrixTransfer::new(self, p, transpose)?),
        })
    }

    fn read(&self, v: &AnyVector<V>, host: &mut [V]) -> Result<(), Error> {
        dispatch!(self, backend => backend.read(v.inner(), host))
    }

    fn write(&self, host: &[V], v: &mut AnyVector<V>) -> Result<(), Error> {
        dispatch!(self, backend => backend.write(host, v.inner_mut()))
    }
}
