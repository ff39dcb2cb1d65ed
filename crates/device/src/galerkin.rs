//! Pᵀ A P where A and P are.
//!
//! Patterns belong to the host, and so do the lists that follow from them: which blocks of A and P each block of Q = A P is the sum of, and which of
//! P and Q each block of A_c. They travel once. A refresh is two launches, an item a row of a block, and a third where unknowns have no basis
//! function; they gather in the order of the lists: no atomic operation, no search, the same bits at every run.

use std::sync::Arc;

use coarsen_core::{Error, Real};
use coarsen_sparse::{Pattern, TransposePlan};

use crate::driver::Type;
use crate::error::same_length;
use crate::memory::Buffer;
use crate::program::{Entry, Module};
use crate::queue::{Arg, Items, Queue};
use crate::{DeviceMatrix, Format, OnDevice};

/// The kernels, in the order of their names.
#[derive(Clone, Copy)]
enum Step {
    Right,
    Left,
    Dead,
}

const NAMES: [&str; 3] = ["coarsen_galerkin_right", "coarsen_galerkin_left", "coarsen_galerkin_dead"];

/// A_c = Pᵀ A P for one pattern of each, in device memory: what [`GalerkinPlan`](coarsen_sparse::GalerkinPlan) is on the host.
///
/// Made by [`NumericPlace::galerkin`](coarsen_backend::NumericPlace::galerkin).
/// *Memory* 8 bytes a block product, and A P in the precision of vectors.
/// *Cost* as on the host; every product reads two slots more.
pub struct DeviceGalerkin<V: Real> {
    on: OnDevice<V>,
    module: usize,
    /// Patterns and layouts of A, P and A_c.
    of: [(Arc<Pattern>, Format); 3],
    right: List,
    left: List,
    slots: Buffer,
    /// Unknowns without a basis function, by node.
    dead: List,
    dead_slots: Buffer,
    /// Rows and columns of a block of P.
    block: (usize, usize),
    /// A P.
    q: Buffer,
}

/// Some numbers for each of `count` things.
struct List {
    count: usize,
    starts: Buffer,
    entries: Buffer,
}

/// The same on the host.
#[derive(Default)]
struct HostList {
    starts: Vec<u32>,
    entries: Vec<u32>,
}

impl HostList {
    fn new() -> Self {
        Self { starts: vec![0], entries: Vec::new() }
    }

    /// What comes next is another thing's; `entries` numbers make one entry.
    fn close(&mut self, numbers: usize) {
        self.starts.push((self.entries.len() / numbers) as u32);
    }

    fn upload<V: Real>(&self, queue: &mut Queue<V>) -> Result<List, Error> {
        let count = self.starts.len() - 1;
        Ok(List { count, starts: queue.list(&self.starts)?, entries: queue.list(&self.entries)? })
    }
}

/// Products by row of their result: column, and the two factors.
type Products = Vec<(u32, [u32; 2])>;

/// Lists of a row's products, one a column, in increasing columns; products of a column in the order they came in.
fn by_column(products: &mut Products, list: &mut HostList, mut each: impl FnMut(u32)) {
    products.sort_by_key(|product| product.0);
    for column in products.chunk_by(|a, b| a.0 == b.0) {
        column.iter().for_each(|(_, factors)| list.entries.extend(factors));
        list.close(2);
        each(column[0].0);
    }
    products.clear();
}

impl<V: Real> DeviceGalerkin<V> {
    /// The plan for the patterns, layouts and block sizes of A, P and A_c; `dead` are scalar unknowns of A_c without a basis function, sorted.
    ///
    /// # Errors
    /// [`Error::Shape`] and [`Error::Pattern`] where they do not belong together, [`Error::TooLarge`] where `u32` cannot number products,
    /// [`Error::Memory`], [`Error::Build`] and [`Error::Device`].
    pub(crate) fn new<S: Real>(
        on: &OnDevice<V, S>,
        [a, p, coarse]: [&DeviceMatrix<V, S>; 3],
        dead: &[u32],
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
        if let Some(found) = dead.iter().map(|&unknown| unknown as usize + 1).find(|&end| end > unknowns) {
            let what = "Galerkin product, unknowns without a basis function";
            return Err(Error::Shape { what, expected: unknowns, found });
        }
        let (mut products, mut right, mut left) = (Products::new(), HostList::new(), HostList::new());
        // The columns of Q, row by row.
        let (mut columns, mut offsets) = (Vec::new(), vec![0]);
        for i in 0..a.pattern().rows() {
            for (m, &j) in a.pattern().row(i).iter().enumerate() {
                let slots = pattern.row(j as usize).iter().enumerate();
                let from = a.slot(i, m) as u32;
                products.extend(slots.map(|(l, &c)| (c, [from, p.slot(j as usize, l) as u32])));
            }
            by_column(&mut products, &mut right, |column| columns.push(column));
            offsets.push(columns.len());
        }
        let transpose = TransposePlan::new(pattern).map_err(|_| Error::Pattern { what: "P" })?;
        let (restriction, source) = (transpose.pattern(), transpose.source());
        let mut slots = Vec::new();
        for row in 0..restriction.rows() {
            for at in restriction.range(row) {
                let fine = restriction.indices()[at] as usize;
                let from = p.slot(fine, source[at] - pattern.range(fine).start) as u32;
                let blocks = offsets[fine]..offsets[fine + 1];
                products.extend(blocks.map(|block| (columns[block], [from, block as u32])));
            }
            let (mut found, first) = (0, slots.len());
            by_column(&mut products, &mut left, |column| {
                if coarse.pattern().row(row).get(slots.len() - first) == Some(&column) {
                    found += 1;
                }
                slots.push(coarse.slot(row, slots.len() - first) as u32);
            });
            if found != coarse.pattern().row(row).len() || found != slots.len() - first {
                return Err(Error::Pattern { what: "the coarse matrix of a Galerkin product" });
            }
        }
        let (limit, most) = (u32::MAX as usize, right.entries.len().max(left.entries.len()) / 2);
        if most > limit {
            return Err(Error::TooLarge { what: "products of a Galerkin product", count: most, limit });
        }
        let (mut unknowns, mut dead_slots) = (HostList::new(), Vec::new());
        for node in dead.chunk_by(|x, y| *x as usize / k == *y as usize / k) {
            let row = node[0] as usize / k;
            let at = coarse.pattern().find(row, row).map(|at| at - coarse.pattern().range(row).start);
            if let Some(at) = at {
                unknowns.entries.extend(node.iter().map(|unknown| unknown % k as u32));
                unknowns.close(1);
                dead_slots.push(coarse.slot(row, at) as u32);
            }
        }
        let options = format!(
            "-D STORED={} -D B={b} -D K={k} -D ASLICE={} -D PSLICE={} -D CSLICE={}",
            Type::of::<S>(),
            a.slice(),
            p.slice(),
            coarse.slice()
        );
        let module =
            on.queue().module(&Module { sources: &coarsen_kernels::GALERKIN, kernels: &NAMES, options })?;
        let bytes = columns.len() * b * k * size_of::<V>();
        on.check_room((bytes + 4 * (right.entries.len() + left.entries.len())) as u64)?;
        let mut queue = on.queue();
        Ok(Self {
            on: on.plain(),
            module,
            of: [a, p, coarse].map(|m| (m.pattern().clone(), m.format())),
            right: right.upload(&mut queue)?,
            left: left.upload(&mut queue)?,
            slots: queue.list(&slots)?,
            dead: unknowns.upload(&mut queue)?,
            dead_slots: queue.list(&dead_slots)?,
            block: (b, k),
            q: queue.allocate(Type::of::<V>(), bytes, None)?,
        })
    }

    /// New values of the coarse matrix. No wait.
    ///
    /// # Errors
    /// [`Error::Pattern`] unless all are what it was made for, [`Error::Device`] when the place has failed.
    pub(crate) fn run<S: Real>(
        &self,
        a: &DeviceMatrix<V, S>,
        p: &DeviceMatrix<V, S>,
        coarse: &DeviceMatrix<V, S>,
    ) -> Result<(), Error> {
        let Self { right, left, dead, .. } = self;
        for ((pattern, format), m) in self.of.iter().zip([a, p, coarse]) {
            self.on.assert_same(m.on());
            if !Pattern::same(pattern, m.pattern()) || *format != m.format() {
                return Err(Error::Pattern { what: "a matrix given to a Galerkin product" });
            }
        }
        let [a, p, coarse, q] = [a.values(), p.values(), coarse.values(), &self.q].map(Arg::Memory);
        let [slots, dead_slots] = [&self.slots, &self.dead_slots].map(Arg::Memory);
        let mut queue = self.on.queue();
        let mut launch = |step: Step, list: &List, rows: usize, more: &[Arg<'_, V>]| {
            let mut all = [Arg::Length(list.count); 8];
            all[1..3].copy_from_slice(&[&list.starts, &list.entries].map(Arg::Memory));
            all[3..3 + more.len()].copy_from_slice(more);
            let entry = Entry { module: self.module, kernel: step as usize };
            queue.launch(entry, Items::Entries(list.count * rows), &all[..3 + more.len()]);
        };
        launch(Step::Right, right, self.block.0, &[a, p, q]);
        launch(Step::Left, left, self.block.1, &[slots, p, q, coarse]);
        launch(Step::Dead, dead, 1, &[dead_slots, coarse]);
        queue.state()
    }
}
