//! Multilevel domains on a device, with inverses computed on the host.

use std::iter::repeat_n;
use std::ops::Range;
use std::sync::Arc;

use coarsen_core::{Error, Real};
use coarsen_schwarz::{Changed, Inverses, Packed, Plan, SchwarzBackend, Top};

use crate::driver::Type;
use crate::memory::convert;
use crate::schwarz::apply::Application;
use crate::schwarz::lists::Lists;
use crate::{DeviceBackend, DeviceVector};

/// Inverses of the domains of all levels in device memory, computed on the host.
///
/// An application enqueues one kernel per coarse level for the restriction, one for the domains of all coarse
/// levels, one for the domains of the finest level, and one for nodes in no domain. It does not allocate or
/// synchronise, and every run gives the same bits. If the coarsest level is solved as one system, the host solves
/// it, with two synchronisations per application. So [`Coarse::Auto`](coarsen_schwarz::Coarse::Auto) selects domains on a
/// device.
///
/// *Memory* on the device the inverses, the lists of the [`Plan`] and two vectors of the coarse levels, without coarse
/// levels an entry for each domain and unknown of a node; on the host a copy of the inverses.
/// An upload copies only the level weights and the inverses that changed.
pub struct DeviceDomains<T: Real> {
    application: Application<T>,
    plan: Arc<Plan>,
    host: Inverses,
    /// The level weights as last uploaded.
    weights: Vec<f64>,
    /// The inverses of nodes in no domain as last uploaded.
    left_out: Vec<f64>,
    /// The contiguous ranges of values to be uploaded.
    runs: Vec<Range<usize>>,
}

impl<T: Real> DeviceDomains<T> {
    fn new(backend: &DeviceBackend<T>, plan: &Arc<Plan>, inverses: Inverses) -> Result<Self, Error> {
        let lists = Lists::new(backend, plan, &plan.numbering()?)?;
        let stored = match inverses.packed.first() {
            Some(Packed::Double(_)) => (Type::of::<f64>(), size_of::<f64>()),
            _ => (Type::of::<f32>(), size_of::<f32>()),
        };
        let application = Application::new(backend, lists, stored, plan.block(), plan.left_out())?;
        let (plan, weights) = (plan.clone(), vec![1.0; inverses.weights.len()]);
        let (left_out, runs) = (Vec::new(), Vec::new());
        let mut domains = Self { application, plan, host: inverses, weights, left_out, runs };
        domains.upload(Changed::All)?;
        Ok(domains)
    }

    fn upload(&mut self, changed: Changed<'_>) -> Result<(), Error> {
        let Self { application, plan, host, weights, left_out, runs } = self;
        let mut queue = application.backend.queue();
        if *weights != host.weights {
            let domains = &application.lists.level_domains;
            queue.put(&application.weights, domains.iter().sum(), |to: &mut [T]| {
                let each = host.weights.iter().zip(domains).flat_map(|(&w, &n)| repeat_n(T::from_f64(w), n));
                to.iter_mut().zip(each).for_each(|(to, w)| *to = w);
            })?;
            weights.clone_from(&host.weights);
        }
        if *left_out != host.left_out {
            let there = &application.left_out.inverses;
            queue.put(there, host.left_out.len(), |to: &mut [T]| convert(&host.left_out, to))?;
            left_out.clone_from(&host.left_out);
        }
        let mut first = 0;
        for (level, packed) in host.packed.iter().enumerate() {
            runs.clear();
            match changed {
                Changed::All => runs.push(0..packed.count()),
                Changed::Domains(which) => which[level].iter().for_each(|&d| {
                    let run = plan.offsets(level)[d as usize]..plan.offsets(level)[d as usize + 1];
                    match runs.last_mut().filter(|last| last.end == run.start) {
                        Some(last) => last.end = run.end,
                        None => runs.push(run),
                    }
                }),
                Changed::Weights => (),
            }
            runs.retain(|run| !run.is_empty());
            match packed {
                Packed::Single(values) => queue.write_runs(&application.packed, first, values, runs)?,
                Packed::Double(values) => queue.write_runs(&application.packed, first, values, runs)?,
            }
            first += packed.count();
        }
        Ok(())
    }
}

impl<V: Real, S: Real> SchwarzBackend for DeviceBackend<V, S> {
    type Domains = DeviceDomains<V>;

    fn domains(&self, plan: &Arc<Plan>, inverses: Inverses) -> Result<DeviceDomains<V>, Error> {
        DeviceDomains::new(&self.plain(), plan, inverses)
    }

    fn inverses<'a>(&self, domains: &'a mut DeviceDomains<V>) -> &'a mut Inverses {
        &mut domains.host
    }

    /// Synchronises once for each level with changed inverses, once for changed weights, and once for changed
    /// inverses of nodes in no domain.
    fn upload(&self, domains: &mut DeviceDomains<V>, changed: Changed<'_>) -> Result<(), Error> {
        domains.upload(changed)
    }

    fn apply_domains(
        &self,
        domains: &mut DeviceDomains<V>,
        r: &DeviceVector<V>,
        top: &mut Top<'_, V>,
        z: &mut DeviceVector<V>,
    ) {
        domains.application.run(r, top, z);
    }

    fn restrict(&self, domains: &mut DeviceDomains<V>, r: &DeviceVector<V>, sums: &mut [V]) {
        domains.application.restrict(r, sums);
    }

    fn prolong(&self, domains: &mut DeviceDomains<V>, corrections: &[V], z: &mut DeviceVector<V>) {
        domains.application.prolong(corrections, z);
    }
}
