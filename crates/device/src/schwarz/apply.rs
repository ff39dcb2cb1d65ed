//! z = M⁻¹ r (§7) on a device.

use coarsen_core::{Error, Real, Vector};
use coarsen_schwarz::Top;

use crate::driver::Type;
use crate::memory::{Buffer, bytes};
use crate::queue::{Arg, Items};
use crate::schwarz::kernels::{self, Apply, Form};
use crate::schwarz::lists::Lists;
use crate::{DeviceBackend, DeviceVector};

/// The levels, the inverses, and two vectors of the coarse levels.
///
/// All memory is allocated at the build, so that an application needs none.
pub(crate) struct Application<T: Real> {
    pub(crate) backend: DeviceBackend<T>,
    pub(crate) lists: Lists,
    pub(crate) block: usize,
    pub(crate) form: Form,
    module: usize,
    /// The inverses of all levels, one after the other.
    pub(crate) packed: Buffer,
    /// The weight of every domain, which is the weight of its level.
    pub(crate) weights: Buffer,
    pub(crate) left_out: LeftOut,
    /// The residual and the correction of all coarse levels. The first has an entry for each domain of the finest
    /// level, also without coarse levels: between applications it holds what `restrict` and `prolong` carry.
    coarse: [Buffer; 2],
    /// The residual and the correction of the level that the host solves as one system.
    top: [Vec<T>; 2],
}

/// The nodes in no domain.
pub(crate) struct LeftOut {
    pub(crate) count: usize,
    pub(crate) nodes: Buffer,
    pub(crate) inverses: Buffer,
}

impl<T: Real> Application<T> {
    /// Allocates buffers for inverses of type `stored`.
    pub(crate) fn new(
        backend: &DeviceBackend<T>,
        lists: Lists,
        (stored, size): (Type, usize),
        block: usize,
        left_out: &[u32],
    ) -> Result<Self, Error> {
        let form = Form::of(backend.device());
        let needed = kernels::application(lists.tiles, size_of::<T>());
        form.check(backend.device(), lists.tiles, needed, kernels::SMALLER)?;
        let mut queue = backend.queue();
        let module = queue.module(&kernels::apply(form, stored, [block, lists.tiles]))?;
        let ones = vec![T::one(); lists.domains[0] + lists.domains[1]];
        let weights = queue.allocate(Type::of::<T>(), size_of_val(&ones[..]), Some(bytes(&ones)))?;
        let mut allocate = |entry, bytes| queue.allocate(entry, bytes, None);
        let packed = allocate(stored, size * lists.values)?;
        let vector = |nodes: usize| nodes * block * size_of::<T>();
        let residual = allocate(Type::of::<T>(), vector(lists.coarse().max(lists.domains[0])))?;
        let coarse = [residual, allocate(Type::of::<T>(), vector(lists.coarse()))?];
        let inverses = allocate(Type::of::<T>(), left_out.len() * block * block * size_of::<T>())?;
        let left_out = LeftOut { count: left_out.len(), nodes: queue.list(left_out)?, inverses };
        drop(queue);
        let top = [0, 1].map(|_| vec![T::zero(); lists.top * block]);
        let backend = backend.clone();
        Ok(Self { backend, lists, block, form, module, packed, weights, left_out, coarse, top })
    }

    /// Returns the number of scalar unknowns of the finest level.
    pub(crate) fn size(&self) -> usize {
        self.lists.fine * self.block
    }

    /// Computes z = M⁻¹ r. If the plan has a level that is solved as one system, `solve` solves it, as in
    /// [`SchwarzBackend::apply_domains`](coarsen_schwarz::SchwarzBackend::apply_domains).
    pub(crate) fn run(&mut self, r: &DeviceVector<T>, solve: &mut Top<'_, T>, z: &mut DeviceVector<T>) {
        let n = self.size();
        assert!(
            r.size() == n && z.size() == n,
            "apply: {n} rows met r of {} and z of {}",
            r.size(),
            z.size()
        );
        self.backend.assert_same(&r.backend);
        self.backend.assert_same(&z.backend);
        self.residuals(r);
        self.solve_top(solve);
        self.domains(r, z);
    }

    /// Computes the residuals of the coarse levels, finest first.
    fn residuals(&self, r: &DeviceVector<T>) {
        self.lists.levels.iter().for_each(|&level| self.sum(level, &self.lists.children, r));
    }

    /// Sums entries of r, or of coarse levels, over the positions of each item of a list.
    fn sum(&self, [first, last]: [usize; 2], positions: &Buffer, r: &DeviceVector<T>) {
        let [order, positions, r, coarse] =
            [&self.lists.order, positions, &r.memory, &self.coarse[0]].map(Arg::Memory);
        let items = Items::Entries((last - first) * self.block);
        let [first, last, fine] = [first, last, self.lists.fine].map(Arg::Count);
        let args = [first, last, fine, order, positions, r, coarse];
        self.backend.queue().launch(Apply::Restrict.of(self.module), items, &args);
    }

    /// Sums r over the domains of the finest level. Synchronises once.
    pub(crate) fn restrict(&self, r: &DeviceVector<T>, sums: &mut [T]) {
        self.backend.assert_same(&r.backend);
        self.sum([0, self.lists.domains[0]], &self.lists.ranges, r);
        let mut queue = self.backend.queue();
        // The queue keeps the failure, and numbers read later are NaN.
        if queue.read(&self.coarse[0], sums).is_err() {
            sums.fill(T::nan());
        }
    }

    /// Adds a correction for each domain of the finest level to z at its nodes. Waits for the transfer.
    pub(crate) fn prolong(&self, corrections: &[T], z: &DeviceVector<T>) {
        self.backend.assert_same(&z.backend);
        let [order, ranges, there, z] =
            [&self.lists.order, &self.lists.ranges, &self.coarse[0], &z.memory].map(Arg::Memory);
        let args = [Arg::Count(self.lists.domains[0]), order, ranges, there, z];
        let mut queue = self.backend.queue();
        let _kept = queue.write(&self.coarse[0], corrections);
        queue.launch(Apply::Prolong.of(self.module), Items::Entries(corrections.len()), &args);
    }

    /// Solves the level that is solved as one system, on the host.
    fn solve_top(&mut self, solve: &mut Top<'_, T>) {
        if self.lists.top > 0 {
            let [r, z] = &mut self.top;
            // The queue keeps the failure, and numbers read later are NaN.
            if self.backend.queue().read(&self.coarse[0], r).is_err() {
                r.fill(T::nan());
            }
            solve(r, z);
            let _kept = self.backend.queue().write(&self.coarse[1], z);
        }
    }

    /// Applies the domains of the coarse levels, then the domains of the finest level, then the nodes in no
    /// domain.
    fn domains(&self, r: &DeviceVector<T>, z: &mut DeviceVector<T>) {
        let (lists, left_out) = (&self.lists, &self.left_out);
        let [fine_domains, coarse_domains] = lists.domains;
        let [order, ranges, offsets, parent, packed, weights] =
            [&lists.order, &lists.ranges, &lists.offsets, &lists.parent, &self.packed, &self.weights]
                .map(Arg::Memory);
        let [residual, correction, r, z] =
            [&self.coarse[0], &self.coarse[1], &r.memory, &z.memory].map(Arg::Memory);
        let fine = lists.fine;
        let mut queue = self.backend.queue();
        let mut launch = |[first, count, start]: [usize; 3], [r, coarser, z]: [Arg<'_, T>; 3]| {
            let [first, domains, fine, start] = [first, count, fine, start].map(Arg::Count);
            let args =
                [first, domains, fine, order, ranges, offsets, parent, packed, weights, start, r, coarser, z];
            queue.launch(Apply::Domains.of(self.module), self.form.items(count), &args);
        };
        launch([fine_domains, coarse_domains, fine], [residual, residual, correction]);
        launch([0, fine_domains, 0], [r, correction, z]);
        let alone = Arg::Count(left_out.count);
        let args = [alone, Arg::Memory(&left_out.nodes), Arg::Memory(&left_out.inverses), r, z];
        queue.launch(Apply::LeftOut.of(self.module), Items::Entries(left_out.count), &args);
    }
}
