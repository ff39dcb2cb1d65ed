//! Multilevel domains on any backend.

use std::sync::Arc;

use coarsen_backend::SetupError;
use coarsen_core::{Error, Real};
#[cfg(feature = "opencl")]
use coarsen_opencl::DeviceVector;
use coarsen_schwarz::{Change, Changed, Coarse, Domains, Inverses, Plan, SchwarzBackend, Top};

use super::any_backend::AnyBackend;
use super::operand::Operand;
use super::vector::AnyVector;

/// Multilevel domains of an [`AnyBackend`].
enum AnyDomains<V: Real> {
    Cpu(Box<dyn Domains<Vec<V>>>),
    #[cfg(feature = "opencl")]
    OpenCl(Box<dyn Domains<DeviceVector<V>>>),
}

impl<V: Real, S: Real> SchwarzBackend for AnyBackend<V, S> {
    fn domains(&self, plan: &Arc<Plan>, inverses: Inverses) -> Result<Box<dyn Domains<AnyVector<V>>>, Error> {
        Ok(Box::new(on!(self, on, AnyDomains as wrap => wrap(on.domains(plan, inverses)?))))
    }

    fn coarse(&self, asked: Coarse) -> Coarse {
        on!(self, on => on.coarse(asked))
    }
}

impl<V: Real> Domains<AnyVector<V>> for AnyDomains<V> {
    fn apply(&mut self, r: &AnyVector<V>, top: &mut Top<'_, V>, z: &mut AnyVector<V>) {
        on!(self, domains => domains.apply(r.on(), top, z.on_mut()))
    }

    fn restrict(&mut self, r: &AnyVector<V>, sums: &mut [V]) {
        on!(self, domains => domains.restrict(r.on(), sums))
    }

    fn prolong(&mut self, corrections: &[V], z: &mut AnyVector<V>) {
        on!(self, domains => domains.prolong(corrections, z.on_mut()))
    }

    fn edit(&mut self, changed: Changed<'_>, change: Change<'_>) -> Result<(), SetupError> {
        on!(self, domains => domains.edit(changed, change))
    }
}
