//! Multilevel domains of a device with inverses from the host.

use std::sync::Arc;

use coarsen_core::{Error, Real};
use coarsen_schwarz::{Coarse, Domains, Inverses, Packed, Place, Plan, Top};

use crate::memory::convert;
use crate::program::real;
use crate::schwarz::apply::Application;
use crate::schwarz::lists::{HostLists, Lists};
use crate::{DeviceVector, OpenCl};

/// Inverses of the domains of all levels in device memory, computed on the host.
///
/// An application enqueues a kernel a coarse level, one for the domains of all of them, and one for those of the finest: it allocates nothing and waits
/// for nothing, and gives the same bits every time. Where the plan has a level that is solved as one system, the host solves it and waits
/// for it, twice an application; [`Coarse::Auto`] therefore stands for domains on a device.
///
/// *Memory* on the device the inverses, the lists of the [`Plan`], and two vectors of the coarse levels; on the host the inverses once more.
pub struct DeviceDomains<T: Real> {
    application: Application<T>,
    host: Inverses,
}

impl<T: Real> DeviceDomains<T> {
    fn new(on: &OpenCl<T>, plan: &Plan, inverses: Inverses) -> Result<Self, Error> {
        let lists = Lists::new(on, plan, &HostLists::of(plan)?)?;
        let stored = match inverses.packed.first() {
            Some(Packed::Double(_)) => (real::<f64>(), size_of::<f64>()),
            _ => (real::<f32>(), size_of::<f32>()),
        };
        let application = Application::new(on, lists, stored, plan.block(), plan.left_out())?;
        let domains = Self { application, host: inverses };
        domains.upload()?;
        Ok(domains)
    }

    fn upload(&self) -> Result<(), Error> {
        let Application { on, packed: there, left_out, .. } = &self.application;
        let Inverses { packed, weights, left_out: blocks } = &self.host;
        let count = packed.iter().map(Packed::count).sum();
        let mut queue = on.queue();
        queue.put(&left_out.inverses, blocks.len(), |to: &mut [T]| convert(blocks, to))?;
        if let Some(Packed::Double(_)) = packed.first() {
            queue.put(there, count, |to: &mut [f64]| gather(packed, weights, to))
        } else {
            queue.put(there, count, |to: &mut [f32]| gather(packed, weights, to))
        }
    }
}

/// w_l A_d⁻¹ of all levels, one after the other.
fn gather<S: Real>(levels: &[Packed], weights: &[f64], to: &mut [S]) {
    let mut rest = to;
    for (level, &w) in levels.iter().zip(weights) {
        let (to, more) = rest.split_at_mut(level.count());
        rest = more;
        match level {
            Packed::Single(values) => {
                to.iter_mut().zip(values).for_each(|(to, v)| *to = S::of(f64::from(*v) * w));
            }
            Packed::Double(values) => to.iter_mut().zip(values).for_each(|(to, v)| *to = S::of(*v * w)),
        }
    }
}

impl<V: Real, S: Real> Place for OpenCl<V, S> {
    type Domains = DeviceDomains<V>;

    fn domains(&self, plan: &Arc<Plan>, inverses: Inverses) -> Result<DeviceDomains<V>, Error> {
        DeviceDomains::new(&self.plain(), plan, inverses)
    }

    /// Domains for `Auto`: a factor would be solved on the host.
    fn coarse(&self, asked: Coarse) -> Coarse {
        if asked == Coarse::Auto { Coarse::Domains } else { asked }
    }
}

impl<V: Real, S: Real> Domains<OpenCl<V, S>> for DeviceDomains<V> {
    fn apply(&mut self, r: &DeviceVector<V>, top: &mut Top<'_, V>, z: &mut DeviceVector<V>) {
        self.application.run(r, top, z);
    }

    /// Moves all inverses, whatever changed.
    fn edit(&mut self, change: &mut dyn FnMut(&mut Inverses)) -> Result<(), Error> {
        change(&mut self.host);
        self.upload()
    }
}
