//! Pᵀ A P in the memory of the device.
//!
//! The host computes the lists of block products from the patterns (see [`GalerkinLists`]) and uploads them
//! once. An update of the values is two launches with one item per row of a block, and a third launch if some
//! unknowns have no basis function. The kernels sum in the order of the lists. So they need no atomic
//! operation and no search, and every run gives the same bits.

use std::sync::Arc;

use coarsen_core::{Error, Real};
use coarsen_sparse::{GalerkinLists, Pattern, ProductList, SparseError};

use crate::driver::Type;
use crate::error::same_length;
use crate::memory::Buffer;
use crate::program::{Module, kernels};
use crate::queue::{Arg, Items, Queue};
use crate::{DeviceBackend, DeviceMatrix, Format};

kernels! {
    Step {
        Right = "coarsen_galerkin_right",
        Left = "coarsen_galerkin_left",
        WithoutBasis = "coarsen_galerkin_without_basis",
        Add = "coarsen_galerkin_add",
    }
}

/// A_c = Pᵀ A P for fixed patterns, in device memory: the counterpart of
/// [`GalerkinPlan`](coarsen_sparse::GalerkinPlan).
///
/// Made by [`NumericBackend::galerkin`](coarsen_backend::NumericBackend::galerkin). *Memory* 8 bytes per block
/// product, and the values of A P in the precision of vectors. *Cost* as on the host; in addition the two
/// slot numbers of every block product are read.
pub struct DeviceGalerkin<V: Real> {
    backend: DeviceBackend<V>,
    module: usize,
    /// The patterns and layouts of A, P and A_c.
    of: [(Arc<Pattern>, Format); 3],
    right: List,
    left: List,
    slots: Buffer,
    /// The unknowns without a basis function, grouped by node.
    without_basis: List,
    slots_without_basis: Buffer,
    /// The numbers of rows and columns of a block of P.
    block: (usize, usize),
    /// The values of A P.
    q: Buffer,
}

/// A list of numbers for each of `count` items.
struct List {
    count: usize,
    starts: Buffer,
    entries: Buffer,
}

impl List {
    /// Uploads a list; `entries` has the numbers of all items, item after item.
    fn new<V: Real>(queue: &mut Queue<V>, starts: &[u32], entries: &[u32]) -> Result<Self, Error> {
        let count = starts.len() - 1;
        Ok(Self { count, starts: queue.list(starts)?, entries: queue.list(entries)? })
    }

    /// Uploads block products, with block numbers replaced by the slots of the two factors.
    fn of<V: Real>(
        queue: &mut Queue<V>,
        products: &ProductList,
        slots: [&dyn Fn(u32) -> u32; 2],
    ) -> Result<Self, Error> {
        let [left, right] = slots;
        let entries: Vec<u32> = products.factors.iter().flat_map(|&[l, r]| [left(l), right(r)]).collect();
        Self::new(queue, &products.starts, &entries)
    }
}

impl<V: Real> DeviceGalerkin<V> {
    /// Returns the plan for the patterns, layouts and block sizes of A, P and A_c. `without_basis` lists the scalar
    /// unknowns of A_c without a basis function, sorted.
    ///
    /// # Errors
    /// [`Error::Shape`] and [`Error::Pattern`] if the matrices do not match, [`Error::TooLarge`] if there are
    /// more products than `u32` can number, [`Error::Allocation`] if a matrix takes several buffers, or a list more than one;
    /// [`Error::Memory`], [`Error::Build`] and [`Error::Device`].
    pub(crate) fn new<S: Real>(
        backend: &DeviceBackend<V, S>,
        [a, p, coarse]: [&DeviceMatrix<V, S>; 3],
        without_basis: &[u32],
    ) -> Result<Self, Error> {
        let ((b, k), pattern) = (p.block(), p.pattern());
        for (what, expected, found) in [
            ("Galerkin product, block rows of P", a.pattern().rows(), pattern.rows()),
            ("Galerkin product, block columns of A", pattern.rows(), a.pattern().columns()),
            ("Galerkin product, block rows of the coarse matrix", pattern.columns(), coarse.pattern().rows()),
            ("Galerkin product, rows of a block of A", b, a.block().0),
            ("Galerkin product, columns of a block of A", b, a.block().1),
            ("Galerkin product, rows of a coarse block", k, coarse.block().0),
            ("Galerkin product, columns of a coarse block", k, coarse.block().1),
        ] {
            same_length(what, expected, found)?;
        }
        let unknowns = coarse.pattern().rows() * k;
        if let Some(found) =
            without_basis.iter().map(|&unknown| unknown as usize + 1).find(|&end| end > unknowns)
        {
            let what = "Galerkin product, unknowns without a basis function";
            return Err(Error::Shape { what, expected: unknowns, found });
        }
        let lists = GalerkinLists::new(a.pattern(), pattern).map_err(|error| match error {
            SparseError::TooLarge { what, count, limit } => Error::TooLarge { what, count, limit },
            _ => Error::Pattern { what: "P" },
        })?;
        if lists.coarse != **coarse.pattern() {
            return Err(Error::Pattern { what: "the coarse matrix of a Galerkin product" });
        }
        let layout = &coarse.whole()?.layout;
        let (mut starts, mut unknowns, mut slots_without_basis) = (vec![0], Vec::new(), Vec::new());
        for node in without_basis.chunk_by(|x, y| *x as usize / k == *y as usize / k) {
            let row = node[0] as usize / k;
            let at = coarse.pattern().find(row, row).map(|at| at - coarse.pattern().range(row).start);
            if let Some(at) = at {
                unknowns.extend(node.iter().map(|unknown| unknown % k as u32));
                starts.push(unknowns.len() as u32);
                slots_without_basis.push(layout.slot(row, at) as u32);
            }
        }
        let options = format!(
            "-D STORED={} -D B={b} -D K={k} -D ASLICE={} -D PSLICE={} -D CSLICE={}",
            Type::of::<S>(),
            a.slice(),
            p.slice(),
            coarse.slice()
        );
        let module = backend.queue().module(&Module {
            sources: &coarsen_kernels::GALERKIN,
            kernels: Step::NAMES,
            options,
        })?;
        let bytes = lists.right.count() * b * k * size_of::<V>();
        backend.check_memory((bytes + 8 * (lists.right.factors.len() + lists.left.factors.len())) as u64)?;
        let (of_a, of_p) = (a.slots()?, p.slots()?);
        let [of_a, of_p] = [&of_a, &of_p].map(|slots| |block: u32| slots[block as usize]);
        let mut queue = backend.queue();
        Ok(Self {
            backend: backend.plain(),
            module,
            of: [a, p, coarse].map(|m| (m.pattern().clone(), m.format())),
            right: List::of(&mut queue, &lists.right, [&of_a, &of_p])?,
            left: List::of(&mut queue, &lists.left, [&of_p, &|block| block])?,
            slots: queue.list(&coarse.slots()?)?,
            without_basis: List::new(&mut queue, &starts, &unknowns)?,
            slots_without_basis: queue.list(&slots_without_basis)?,
            block: (b, k),
            q: queue.allocate(Type::of::<V>(), bytes, None)?,
        })
    }

    fn check<S: Real>(
        &self,
        m: &DeviceMatrix<V, S>,
        (pattern, format): &(Arc<Pattern>, Format),
    ) -> Result<(), Error> {
        self.backend.assert_same(m.backend());
        if Pattern::same(pattern, m.pattern()) && *format == m.format() {
            return Ok(());
        }
        Err(Error::Pattern { what: "a matrix given to a Galerkin product" })
    }

    /// Computes new values of the coarse matrix. Does not synchronise.
    ///
    /// # Errors
    /// [`Error::Pattern`] for a matrix of another pattern or layout, [`Error::Device`] if the backend has
    /// failed.
    pub(crate) fn run<S: Real>(
        &self,
        a: &DeviceMatrix<V, S>,
        p: &DeviceMatrix<V, S>,
        coarse: &DeviceMatrix<V, S>,
    ) -> Result<(), Error> {
        let Self { right, left, without_basis, .. } = self;
        [a, p, coarse].into_iter().zip(&self.of).try_for_each(|(m, known)| self.check(m, known))?;
        let [a, p, coarse] =
            [a.whole()?, p.whole()?, coarse.whole()?].map(|whole| Arg::Memory(&whole.values));
        let [q, slots, slots_without_basis] =
            [&self.q, &self.slots, &self.slots_without_basis].map(Arg::Memory);
        let mut queue = self.backend.queue();
        let mut launch = |step: Step, list: &List, rows: usize, more: &[Arg<'_, V>]| {
            let mut all = [Arg::Length(list.count); 8];
            all[1..3].copy_from_slice(&[&list.starts, &list.entries].map(Arg::Memory));
            all[3..3 + more.len()].copy_from_slice(more);
            queue.launch(step.of(self.module), Items::Entries(list.count * rows), &all[..3 + more.len()]);
        };
        launch(Step::Right, right, self.block.0, &[a, p, q]);
        launch(Step::Left, left, self.block.1, &[slots, p, q, coarse]);
        launch(Step::WithoutBasis, without_basis, 1, &[slots_without_basis, coarse]);
        queue.state()
    }

    /// Computes A_c ← A_c + D. Does not synchronise.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub(crate) fn add<S: Real>(
        &self,
        d: &DeviceMatrix<V, S>,
        coarse: &DeviceMatrix<V, S>,
    ) -> Result<(), Error> {
        [d, coarse].into_iter().try_for_each(|m| self.check(m, &self.of[2]))?;
        let stored = coarse.stored();
        let [d, coarse] = [d.whole()?, coarse.whole()?].map(|whole| Arg::Memory(&whole.values));
        let all = [Arg::Length(stored), d, coarse];
        let mut queue = self.backend.queue();
        queue.launch(Step::Add.of(self.module), Items::Entries(stored), &all);
        queue.state()
    }
}
