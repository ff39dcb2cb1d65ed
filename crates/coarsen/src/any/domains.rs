//! Multilevel domains of whatever place.

use std::sync::Arc;

use coarsen_backend::Cpu;
use coarsen_core::{Error, Real};
#[cfg(feature = "opencl")]
use coarsen_opencl::{DeviceDomains, OpenCl};
use coarsen_schwarz::{Changed, Coarse, CpuDomains, Domains, Inverses, Place, Plan, Top};

use super::{AnyBackend, AnyVector};

/// Multilevel domains of an [`AnyBackend`].
#[non_exhaustive]
#[cfg_attr(
    feature = "opencl",
    allow(
        clippy::large_enum_variant,
        reason = "there is one a preconditioner, and its inverses are on the heap"
    )
)]
pub enum AnyDomains<V: Real = f64> {
    /// On the CPU.
    Cpu(CpuDomains<V>),
    /// On a device, with inverses from the host.
    #[cfg(feature = "opencl")]
    OpenCl(DeviceDomains<V>),
}

impl<V: Real, S: Real> Place for AnyBackend<V, S> {
    type Domains = AnyDomains<V>;

    fn domains(&self, plan: &Arc<Plan>, inverses: Inverses) -> Result<AnyDomains<V>, Error> {
        match self {
            Self::Cpu(on) => on.domains(plan, inverses).map(AnyDomains::Cpu),
            #[cfg(feature = "opencl")]
            Self::OpenCl(on) => on.domains(plan, inverses).map(AnyDomains::OpenCl),
        }
    }

    fn coarse(&self, asked: Coarse) -> Coarse {
        match self {
            Self::Cpu(on) => on.coarse(asked),
            #[cfg(feature = "opencl")]
            Self::OpenCl(on) => on.coarse(asked),
        }
    }
}

impl<V: Real, S: Real> Domains<AnyBackend<V, S>> for AnyDomains<V> {
    fn apply(&mut self, r: &AnyVector<V>, top: &mut Top<'_, V>, z: &mut AnyVector<V>) {
        match self {
            Self::Cpu(domains) => Domains::<Cpu<V, S>>::apply(domains, r.cpu(), top, z.cpu_mut()),
            #[cfg(feature = "opencl")]
            Self::OpenCl(domains) => {
                Domains::<OpenCl<V, S>>::apply(domains, r.device(), top, z.device_mut());
            }
        }
    }

    fn edit(&mut self, changed: Changed<'_>, change: &mut dyn FnMut(&mut Inverses)) -> Result<(), Error> {
        match self {
            Self::Cpu(domains) => Domains::<Cpu<V, S>>::edit(domains, changed, change),
            #[cfg(feature = "opencl")]
            Self::OpenCl(domains) => Domains::<OpenCl<V, S>>::edit(domains, changed, change),
        }
    }
}
