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
        on!(self, on, AnyDomains as wrap => on.domains(plan, inverses).map(wrap))
    }

    fn inverses<'a>(&self, domains: &'a mut AnyDomains<V>) -> &'a mut Inverses {
        on!(self, on => on.inverses(domains.on_mut()))
    }

    fn upload(&self, domains: &mut AnyDomains<V>, changed: Changed<'_>) -> Result<(), Error> {
        on!(self, on => on.upload(domains.on_mut(), changed))
    }

    fn apply_domains(
        &self,
        domains: &mut AnyDomains<V>,
        r: &AnyVector<V>,
        top: &mut Top<'_, V>,
        z: &mut AnyVector<V>,
    ) {
        on!(self, on => on.apply_domains(domains.on_mut(), r.on(), top, z.on_mut()))
    }

    fn restrict(&self, domains: &mut AnyDomains<V>, r: &AnyVector<V>, sums: &mut [V]) {
        on!(self, on => on.restrict(domains.on_mut(), r.on(), sums))
    }

    fn prolong(&self, domains: &mut AnyDomains<V>, corrections: &[V], z: &mut AnyVector<V>) {
        on!(self, on => on.prolong(domains.on_mut(), corrections, z.on_mut()))
    }
}
