//! Multilevel domains on any backend.

use std::sync::Arc;

use coarsen_core::{Error, Real};
#[cfg(feature = "opencl")]
use coarsen_opencl::DeviceVector;
use coarsen_schwarz::{Changed, Coarse, Domains, Inverses, Plan, SchwarzBackend, Top};

use super::any_backend::AnyBackend;
use super::vector::AnyVector;

/// Multilevel domains of an [`AnyBackend`].
enum AnyDomains<V: Real> {
    Cpu(Box<dyn Domains<Vec<V>>>),
    #[cfg(feature = "opencl")]
    OpenCl(Box<dyn Domains<DeviceVector<V>>>),
}

impl<V: Real, S: Real> SchwarzBackend for AnyBackend<V, S> {
    fn domains(&self, plan: &Arc<Plan>, inverses: Inverses) -> Result<Box<dyn Domains<AnyVector<V>>>, Error> {
        Ok(Box::new(match self {
            Self::Cpu(on) => AnyDomains::Cpu(on.domains(plan, inverses)?),
            #[cfg(feature = "opencl")]
            Self::OpenCl(on) => AnyDomains::OpenCl(on.domains(plan, inverses)?),
        }))
    }

    fn coarse(&self, asked: Coarse) -> Coarse {
        match self {
            Self::Cpu(on) => on.coarse(asked),
            #[cfg(feature = "opencl")]
            Self::OpenCl(on) => on.coarse(asked),
        }
    }
}

impl<V: Real> Domains<AnyVector<V>> for AnyDomains<V> {
    fn apply(&mut self, r: &AnyVector<V>, top: &mut Top<'_, V>, z: &mut AnyVector<V>) {
        match self {
            Self::Cpu(domains) => domains.apply(r.cpu(), top, z.cpu_mut()),
            #[cfg(feature = "opencl")]
            Self::OpenCl(domains) => domains.apply(r.device(), top, z.device_mut()),
        }
    }

    fn restrict(&mut self, r: &AnyVector<V>, sums: &mut [V]) {
        match self {
            Self::Cpu(domains) => domains.restrict(r.cpu(), sums),
            #[cfg(feature = "opencl")]
            Self::OpenCl(domains) => domains.restrict(r.device(), sums),
        }
    }

    fn prolong(&mut self, corrections: &[V], z: &mut AnyVector<V>) {
        match self {
            Self::Cpu(domains) => domains.prolong(corrections, z.cpu_mut()),
            #[cfg(feature = "opencl")]
            Self::OpenCl(domains) => domains.prolong(corrections, z.device_mut()),
        }
    }

    fn edit(&mut self, changed: Changed<'_>, change: &mut dyn FnMut(&mut Inverses)) -> Result<(), Error> {
        match self {
            Self::Cpu(domains) => domains.edit(changed, change),
            #[cfg(feature = "opencl")]
            Self::OpenCl(domains) => domains.edit(changed, change),
        }
    }
}
