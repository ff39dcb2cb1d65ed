//! Multilevel domains on any backend.

use std::sync::Arc;

use coarsen_backend::Cpu;
use coarsen_core::{Error, Real};
#[cfg(feature = "opencl")]
use coarsen_opencl::OpenCl;
use coarsen_schwarz::{Changed, Inverses, Plan, SchwarzBackend, Top};

use super::any_backend::AnyBackend;
use super::operand::{Operand, operand};
use super::vector::AnyVector;

/// Multilevel domains of a backend.
type Domains<B> = <B as SchwarzBackend>::Domains;

/// Multilevel domains of an [`AnyBackend`].
pub enum AnyDomains<V: Real, S: Real> {
    /// On the CPU.
    Cpu(Domains<Cpu<V, S>>),
    /// On a device.
    #[cfg(feature = "opencl")]
    OpenCl(Domains<OpenCl<V, S>>),
}

operand!(AnyDomains<V, S>, Domains<Cpu<V, S>>, Domains<OpenCl<V, S>>);

impl<V: Real, S: Real> SchwarzBackend for AnyBackend<V, S> {
    type Domains = AnyDomains<V, S>;

    fn domains(&self, plan: &Arc<Plan>, inverses: Inverses) -> Result<AnyDomains<V, S>, Error> {
        on!(self, on, AnyDomains as wrap => on.domains(plan, inverses).map(wrap))
    }

    fn inverses<'a>(&self, domains: &'a mut AnyDomains<V, S>) -> &'a mut Inverses {
        on!(self, on => on.inverses(domains.on_mut()))
    }

    fn upload(&self, domains: &mut AnyDomains<V, S>, changed: Changed<'_>) -> Result<(), Error> {
        on!(self, on => on.upload(domains.on_mut(), changed))
    }

    fn apply_domains(
        &self,
        domains: &mut AnyDomains<V, S>,
        r: &AnyVector<V>,
        top: &mut Top<'_, V>,
        z: &mut AnyVector<V>,
    ) {
        on!(self, on => on.apply_domains(domains.on_mut(), r.on(), top, z.on_mut()))
    }

    fn restrict(&self, domains: &mut AnyDomains<V, S>, r: &AnyVector<V>, sums: &mut [V]) {
        on!(self, on => on.restrict(domains.on_mut(), r.on(), sums))
    }

    fn prolong(&self, domains: &mut AnyDomains<V, S>, corrections: &[V], z: &mut AnyVector<V>) {
        on!(self, on => on.prolong(domains.on_mut(), corrections, z.on_mut()))
    }
}
