//! Constraints of single nodes, filtered out of a matrix in device memory.
//!
//! | symbol | here | |
//! |---|---|---|
//! | W | `basis` | orthonormal directions that constraints of a node leave no freedom |
//! | S | I − W Wᵀ | the projector onto vectors without a part in these directions |
//! | σ | `scales` | a number for each constrained node |
//!
//! > S A S + σ (I − S)    (7)
//!
//! As [`Filtered`](coarsen_constraints::Filtered), for constraints that tie no nodes together: S acts on each node alone,
//! so that (7) has the pattern of A. *Reference* Tamstorf, Jones & McCormick 2015, §8.

use std::ops::Add;

use coarsen_constraints::{ConstraintError, Projector};
use coarsen_core::{Error, Real};

use crate::driver::Type;
use crate::error::same_length;
use crate::memory::Buffer;
use crate::program::{Module, NONE, kernels};
use crate::queue::{Arg, Items};
use crate::{DeviceBackend, DeviceContacts, DeviceMatrix, DeviceScalar, DeviceVector};

kernels! {
    Step {
        Trace = "coarsen_filter_trace",
        Scales = "coarsen_filter_scales",
        Matrix = "coarsen_filter_matrix",
        Contact = "coarsen_filter_contact",
        Vector = "coarsen_filter_vector",
    }
}

/// Filters for points, lines and planes at single nodes, in device memory.
///
/// A step uploads only its constraints ([`replace`](Self::replace)): the values of A stay on the device, and
/// [`matrix`](Self::matrix) and [`contact`](Self::contact) write the filtered values beside them. For C x = d solve (7) with
/// the right-hand side S (b − A z), where z is the shortest vector with C z = d, and add z to S times the solution;
/// [`project`](Self::project) computes S. *Use* where constraints change more often than A, or A is assembled on the
/// device. *Not* for constraints that tie nodes together: filter those on the host. *Cost* a pass over A, a search of its
/// pattern for each constrained node, and three synchronisations for `replace`; none otherwise. *Memory* (b² + 1) values and 8 bytes
/// for each node.
pub struct DeviceFilter<V: Real> {
    backend: DeviceBackend<V>,
    nodes: usize,
    block: usize,
    /// The number of constrained nodes.
    count: usize,
    /// The number of each node among the constrained ones, and the constrained nodes.
    groups: Buffer,
    list: Buffer,
    basis: Buffer,
    scales: Buffer,
    /// Host memory for uploads; the second list remains that of the constrained nodes.
    staging: [Vec<u32>; 2],
    rows: Vec<V>,
}

impl<V: Real> DeviceFilter<V> {
    /// Returns the filter without constraints for `nodes` nodes with `block` unknowns each.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a block size of 0, [`Error::TooLarge`] from 2³² nodes on, [`Error::Memory`] if it does not
    /// fit, [`Error::Device`] if the backend has failed.
    pub fn new<S>(backend: &DeviceBackend<V, S>, nodes: usize, block: usize) -> Result<Self, Error> {
        if block == 0 {
            return Err(Error::Parameter { name: "DeviceFilter::block", value: 0.0, range: "1 or more" });
        }
        if nodes >= NONE as usize {
            let (what, limit) = ("nodes of a filter", NONE as usize - 1);
            return Err(Error::TooLarge { what, count: nodes, limit });
        }
        let entries = nodes.saturating_mul(block.saturating_mul(block));
        backend.check_memory((entries.saturating_add(nodes) * size_of::<V>() + 8 * nodes) as u64)?;
        let mut queue = backend.queue();
        let groups = queue.list(&vec![NONE; nodes])?;
        let list = queue.allocate(Type::Index, 4 * nodes, None)?;
        let basis = queue.allocate(Type::of::<V>(), size_of::<V>() * entries, None)?;
        let scales = queue.allocate(Type::of::<V>(), size_of::<V>() * nodes, None)?;
        drop(queue);
        let (backend, staging, rows) = (backend.plain(), [Vec::new(), Vec::new()], Vec::new());
        Ok(Self { backend, nodes, block, count: 0, groups, list, basis, scales, staging, rows })
    }

    /// Replaces the constraints, and uploads their nodes and directions: one synchronisation for each of three lists.
    ///
    /// # Errors
    /// The old constraints are kept after [`ConstraintError::Tied`] for constraints that tie nodes together and
    /// [`Error::Shape`] for another number of nodes or unknowns. [`Error::Device`] if the backend has failed.
    pub fn replace(&mut self, constraints: &Projector) -> Result<(), ConstraintError> {
        let (b, [groups, list], rows) = (self.block, &mut self.staging, &mut self.rows);
        same_length("unknowns of the constraints", self.nodes * b, constraints.size())?;
        same_length("unknowns of a node of the constraints", b, constraints.block())?;
        let by_node = constraints.by_node()?;
        groups.clear();
        groups.resize(self.nodes, NONE);
        list.clear();
        rows.clear();
        for (node, basis) in by_node {
            groups[node as usize] = list.len() as u32;
            list.push(node);
            rows.extend(basis.iter().map(|q| V::from_f64(*q)));
            rows.resize(list.len() * b * b, V::zero());
        }
        let mut queue = self.backend.queue();
        queue.write_list(&self.groups, groups)?;
        queue.write_list(&self.list, list)?;
        queue.write(&self.basis, rows)?;
        self.count = list.len();
        Ok(())
    }

    /// The number of constrained nodes.
    pub fn constrained(&self) -> usize {
        self.count
    }

    /// Computes (7) from A, with σ as on the host. Does not synchronise.
    ///
    /// # Errors
    /// [`ConstraintError::NoDiagonal`] for a constrained node whose diagonal block is not stored, where σ would be. In
    /// [`ConstraintError::Fit`]: [`Error::Pattern`] and [`Error::Shape`] unless both matrices have the same pattern, block
    /// size and layout, and the size of the filter; [`Error::Build`] of the driver, [`Error::Device`] if the backend has failed.
    pub fn matrix<S: Real>(
        &self,
        a: &DeviceMatrix<V, S>,
        filtered: &mut DeviceMatrix<V, S>,
    ) -> Result<(), ConstraintError> {
        same_length("filter, block rows of the matrix", self.nodes, a.pattern().rows())?;
        same_length("filter, block columns of the matrix", self.nodes, a.pattern().columns())?;
        same_length("filter, rows of a block", self.block, a.block().0)?;
        same_length("filter, columns of a block", self.block, a.block().1)?;
        self.backend.assert_same(a.backend());
        filtered.check_alike(a)?;
        let stored = |node: usize| a.pattern().find(node, node).is_some();
        if let Some(node) = self.staging[1].iter().map(|&node| node as usize).find(|&node| !stored(node)) {
            return Err(ConstraintError::NoDiagonal { node });
        }
        filtered.not_assembled();
        let module = self.module::<S>(a.slice())?;
        let [groups, list, basis, scales] =
            [&self.groups, &self.list, &self.basis, &self.scales].map(Arg::Memory);
        if self.count > 0 {
            let traces = a.ranges().iter().map(|range| {
                let [trace] = DeviceScalar::results(&self.backend);
                let args = [&range.args()[..], &[Arg::Partial]].concat();
                let entries = self.nodes * self.block * self.block;
                self.backend.queue().reduce(Step::Trace.of(module), entries, &args, &[trace.slot()]);
                trace
            });
            if let Some(trace) = traces.reduce(Add::add) {
                let (rows, count) = (Arg::Length(self.nodes), Arg::Length(self.count));
                let more = [rows, count, Arg::Slots, Arg::Index(trace.slot()), list, basis, scales];
                let mut queue = self.backend.queue();
                for range in a.ranges() {
                    let args = [&range.args()[..], &more].concat();
                    queue.launch(Step::Scales.of(module), Items::Entries(self.count), &args);
                }
            }
        }
        let mut queue = self.backend.queue();
        for (range, to) in a.ranges().iter().zip(filtered.ranges()) {
            let args = [&range.args()[..], &[groups, basis, scales, Arg::Memory(&to.values)]].concat();
            queue.launch(Step::Matrix.of(module), Items::Entries(range.layout.rows.len()), &args);
        }
        Ok(queue.state()?)
    }

    /// Computes S C S for contact C; `filtered` gets the pairs of C. Does not synchronise. Blocks of nodes without freedom
    /// stay, with zeros.
    ///
    /// # Errors
    /// [`Error::Shape`] for another number of nodes or unknowns, [`Error::Capacity`] if `filtered` has a smaller capacity than C;
    /// [`Error::Build`] of the driver, [`Error::Device`] if the backend has failed.
    pub fn contact<S: Real>(
        &self,
        c: &DeviceContacts<V, S>,
        filtered: &mut DeviceContacts<V, S>,
    ) -> Result<(), Error> {
        for set in [c, filtered] {
            same_length("filter, nodes of a contact set", self.nodes, set.nodes())?;
            same_length("filter, unknowns of a contact block", self.block, set.block())?;
            self.backend.assert_same(&set.backend);
        }
        let (count, capacity) = (c.capacity(), filtered.capacity());
        if count > capacity {
            return Err(Error::Capacity { what: "contact blocks", count, capacity });
        }
        filtered.assembled = false;
        let module = self.module::<S>(1)?;
        let [starts, places, values] = c.args();
        let [groups, basis, to] = [&self.groups, &self.basis, &filtered.values].map(Arg::Memory);
        let mut queue = self.backend.queue();
        queue.copy(&c.starts, &filtered.starts, 4 * (self.nodes + 1));
        queue.copy(&c.places, &filtered.places, 4 * count);
        let args = [Arg::Length(self.nodes), starts, places, values, groups, basis, to];
        queue.launch(Step::Contact.of(module), Items::Entries(self.nodes), &args);
        queue.state()
    }

    /// x ← S x. Does not synchronise. *Panics* on a wrong length.
    ///
    /// # Errors
    /// [`Error::Build`] of the driver, [`Error::Device`] if the backend has failed.
    pub fn project(&self, x: &mut DeviceVector<V>) -> Result<(), Error> {
        assert_eq!(x.n, self.nodes * self.block, "project: a filter met a vector of another length");
        self.backend.assert_same(&x.backend);
        let module = self.module::<V>(1)?;
        let [list, basis, x] = [&self.list, &self.basis, &x.memory].map(Arg::Memory);
        let mut queue = self.backend.queue();
        queue.launch(
            Step::Vector.of(module),
            Items::Entries(self.count),
            &[Arg::Length(self.count), list, basis, x],
        );
        queue.state()
    }

    /// The kernels for values stored in `S`, in slices of `slice` rows, compiled if the backend does not have them yet.
    fn module<S: Real>(&self, slice: usize) -> Result<usize, Error> {
        let options = format!("-D STORED={} -D SIZE={} -D SLICE={slice}", Type::of::<S>(), self.block);
        self.backend.queue().module(&Module {
            sources: &coarsen_kernels::FILTER,
            kernels: Step::NAMES,
            options,
        })
    }
}
