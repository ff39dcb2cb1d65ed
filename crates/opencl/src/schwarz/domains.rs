//! Multilevel domains of a device: their application (§7), and their inverses from the host.

use std::sync::Arc;

use coarsen_core::{Error, Real, Vector, parallel};
use coarsen_schwarz::{Coarse, Domains, Inverses, Packed, Place, Plan, Top};

use crate::memory::Buffer;
use crate::program::{Entry, real};
use crate::queue::{Arg, Items};
use crate::schwarz::kernels::{self, Apply, Form};
use crate::schwarz::lists::{HostLists, Lists};
use crate::{DeviceVector, OpenCl};

/// Inverses of the domains of all levels in device memory.
///
/// An application enqueues a kernel a coarse level, one for the domains of all of them, and one for those of the finest: it allocates nothing and waits
/// for nothing, and gives the same bits every time. Where the plan has a level that is solved as one system, the host solves it and waits
/// for it, twice an application; [`Coarse::Auto`](coarsen_schwarz::Coarse::Auto) therefore stands for domains on a device.
///
/// *Memory* on the device the inverses, the lists of the [`Plan`], and two vectors of the coarse levels.
pub struct DeviceDomains<T: Real> {
    pub(crate) on: OpenCl<T>,
    pub(crate) lists: Lists,
    block: usize,
    form: Form,
    module: usize,
    /// Inverses of all levels, one after the other.
    pub(crate) packed: Buffer,
    left_out: LeftOut,
    /// Residual and correction of all coarse levels.
    coarse: [Buffer; 2],
    /// The same of the level that is solved as one system, on the host.
    top: [Vec<T>; 2],
    host: Inverses,
}

/// Nodes in no domain.
struct LeftOut {
    count: usize,
    nodes: Buffer,
    inverses: Buffer,
}

impl<T: Real> DeviceDomains<T> {
    /// Moves a plan and its inverses to a place.
    ///
    /// # Errors
    /// [`Error::Build`] when the compiler of the device refuses the kernels, [`Error::Device`] when memory is lacking,
    /// [`Error::TooLarge`] where `u32` cannot name all nodes.
    pub(crate) fn new(on: &OpenCl<T>, plan: &Arc<Plan>, inverses: Inverses) -> Result<Self, Error> {
        let lists = Lists::new(on, plan, &HostLists::of(plan)?)?;
        let (block, form) = (plan.block(), Form::of(on.device()));
        let stored = match inverses.packed.first() {
            Some(Packed::Double(_)) => real::<f64>(),
            _ => real::<f32>(),
        };
        let mut queue = on.queue();
        let module = queue.module(&kernels::apply(form, stored, [block, lists.tiles]))?;
        let mut room = |entry, bytes| queue.allocate(entry, bytes, None);
        let size = if stored == real::<f64>() { size_of::<f64>() } else { size_of::<f32>() };
        let packed = room(stored, size * plan.values())?;
        let vector = lists.coarse() * block * size_of::<T>();
        let coarse = [room(real::<T>(), vector)?, room(real::<T>(), vector)?];
        let count = plan.left_out().len();
        let left_out = LeftOut {
            count,
            nodes: crate::schwarz::upload(&mut queue, plan.left_out())?,
            inverses: queue.allocate(real::<T>(), count * block * block * size_of::<T>(), None)?,
        };
        drop(queue);
        let top = [0, 1].map(|_| vec![T::zero(); lists.top * block]);
        let on = on.clone();
        let domains = Self { on, lists, block, form, module, packed, left_out, coarse, top, host: inverses };
        domains.upload()?;
        Ok(domains)
    }

    /// z = M⁻¹ r; `solve` is called where the plan has a level that is solved as one system, as in [`Domains::apply`](coarsen_schwarz::Domains::apply).
    fn run(&mut self, r: &DeviceVector<T>, solve: &mut Top<'_, T>, z: &mut DeviceVector<T>) {
        let (lists, n) = (&self.lists, self.lists.fine * self.block);
        assert!(
            r.size() == n && z.size() == n,
            "apply: {n} rows met r of {} and z of {}",
            r.size(),
            z.size()
        );
        self.on.assert_same(&r.on);
        self.on.assert_same(&z.on);
        let [residual, correction] = &self.coarse;
        let mut queue = self.on.queue();
        let fine = Arg::Index(lists.fine as u32);
        for &[first, last] in &lists.levels {
            let (begin, end) = (Arg::Index(first as u32), Arg::Index(last as u32));
            let [order, children, r, coarse] =
                [&lists.order, &lists.children, &r.memory, residual].map(Arg::Memory);
            let items = Items::Entries((last - first) * self.block);
            let args = [begin, end, fine, order, children, r, coarse];
            queue.launch(self.kernel(Apply::Restrict), items, &args);
        }
        if lists.top > 0 {
            let [r, z] = &mut self.top;
            // A failure is kept by the queue; numbers are NaN then.
            if queue.read(residual, r).is_err() {
                r.fill(T::nan());
            }
            solve(r, z);
            let _kept = queue.write(correction, z);
        }
        let [fine_domains, coarse_domains] = lists.domains;
        let [order, ranges, offsets, parent, packed] =
            [&lists.order, &lists.ranges, &lists.offsets, &lists.parent, &self.packed].map(Arg::Memory);
        let count = |domains: usize| Arg::Index(domains as u32);
        let args = [
            count(fine_domains),
            count(coarse_domains),
            fine,
            order,
            ranges,
            offsets,
            parent,
            packed,
            Arg::Memory(residual),
            Arg::Memory(correction),
        ];
        let items = self.form.items(coarse_domains);
        queue.launch(self.kernel(Apply::Coarse), items, &args);
        let [r, coarse, z] = [&r.memory, correction, &z.memory].map(Arg::Memory);
        let args = [count(fine_domains), fine, order, ranges, offsets, parent, packed, r, coarse, z];
        let items = self.form.items(fine_domains);
        queue.launch(self.kernel(Apply::Fine), items, &args);
        let [nodes, inverses] = [&self.left_out.nodes, &self.left_out.inverses].map(Arg::Memory);
        let args = [count(self.left_out.count), nodes, inverses, r, z];
        let items = Items::Entries(self.left_out.count);
        queue.launch(self.kernel(Apply::LeftOut), items, &args);
    }

    fn kernel(&self, kernel: Apply) -> Entry {
        Entry { module: self.module, kernel: kernel as usize }
    }

    /// Changes the inverses on the host and moves them, all of them.
    pub(crate) fn change(&mut self, change: &mut dyn FnMut(&mut Inverses)) -> Result<(), Error> {
        change(&mut self.host);
        self.upload()
    }

    fn upload(&self) -> Result<(), Error> {
        let left_out: Vec<T> = self.host.left_out.iter().map(|&v| T::of(v)).collect();
        let mut queue = self.on.queue();
        queue.write(&self.left_out.inverses, &left_out)?;
        let Inverses { packed, weights, .. } = &self.host;
        let count = packed.iter().map(Packed::count).sum();
        if let Some(Packed::Double(_)) = packed.first() {
            queue.put(&self.packed, count, |to: &mut [f64]| gather(packed, weights, to))
        } else {
            queue.put(&self.packed, count, |to: &mut [f32]| gather(packed, weights, to))
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
            Packed::Single(values) => parallel::map(values, to, |v| S::of(f64::from(*v) * w)),
            Packed::Double(values) => parallel::map(values, to, |v| S::of(*v * w)),
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
        self.run(r, top, z);
    }

    fn edit(&mut self, change: &mut dyn FnMut(&mut Inverses)) -> Result<(), Error> {
        self.change(change)
    }
}
