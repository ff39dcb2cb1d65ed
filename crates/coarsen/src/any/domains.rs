//! Multilevel domains on any backend.

use std::sync::Arc;

use coarsen_core::{Error, Real};
#[cfg(feature = "opencl")]
use coarsen_opencl::DeviceDomains;
use coarsen_schwarz::{Changed, CpuDomains, Inverses, Plan, SchwarzBackend, Top};

use super::any_backend::AnyBackend;
use super::operand::{Operand, operand};
use super::vector::AnyVector;

/// Multilevel domains of an [`AnyBackend`].
#[allow(clippy::large_enum_variant)] // one for each preconditioner
#[non_exhaustive]
pub enum AnyDomains<V: Real> {
    /// On the CPU.
    Cpu(CpuDomains<V>),
    /// On a device.
    #[cfg(feature = "opencl")]
    OpenCl(DeviceDomains<V>),
}

operand!(AnyDomains<V>, CpuDomains<V>, DeviceDomains<V>);

impl<V: Real, S: Real> SchwarzBackend for AnyBackend<V, S> {
    type Domains = AnyDomains<V>;

    fn domains(&self, plan: &Arc<Plan>, inverses: Inverses) -> Result<AnyDomains<V>, Error> {
        dispatch!(self, backend, AnyDomains as wrap => backend.domains(plan, inverses).map(wrap))
    }

    fn inverses<'a>(&self, domains: &'a mut AnyDomains<V>) -> &'a mut Inverses {
        dispatch!(self, backend => backend.inverses(domains.inner_mut()))
    }

    fn upload(&self, domains: &mut AnyDomains<V>, changed: Changed<'_>) -> Result<(), Error> {
        dispatch!(self, backend => backend.upload(domains.inner_mut(), changed))
    }

    fn apply_domains(
        &self,
        domains: &mut AnyDomains<V>,
        r: &AnyVector<V>,
        top: &mut Top<'_, V>,
        z: &mut AnyVector<V>,
    ) {
        dispatch!(self, backend => backend.apply_domains(domains.inner_mut(), r.inner(), top, z.inner_mut()))
    }

    fn restrict(&self, domains: &mut AnyDomains<V>, r: &AnyVector<V>, sums: &mut [V]) {
        dispatch!(self, backend => backend.restrict(domains.inner_mut(), r.inner(), sums))
    }

    fn prolong(&self, domains: &mut AnyDomains<V>, corrections: &[V], z: &mut AnyVector<V>) {
        dispatch!(self, backend => backend.prolong(domains.inner_mut(), corrections, z.inner_mut()))
    }
}
