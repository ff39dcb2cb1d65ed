//! The candidates that are near at some positions, as elements of four nodes.
//!
//! | step | kernels |
//! |---|---|
//! | candidates that are near are counted, summed up and gathered into the list of elements | `touches.cl` |
//! | corners are sorted by node, so that nodes add forces in the order of pairs | `sort.cl` |
//! | energies, forces and Hessians of elements | `elements.cl` |

use coarsen_core::{Error, Real};
use coarsen_elastic::ElementKernel;

use super::search::Search;
use super::surface::{Step, Surface};
use crate::queue::{Arg, Items};
use crate::sort::Sorting;
use crate::{DeviceElements, DeviceStream, DeviceVector};

/// The corners of an element.
const CORNERS: usize = 4;

/// The blocks of an element.
pub(super) const BLOCKS: usize = CORNERS * CORNERS;

/// The numbers of a pair for contact, and for friction.
pub(super) const CONTACT: usize = 3;
pub(super) const FRICTION: usize = 14;

/// The elements of pairs that are near.
pub(super) struct Touches<V: Real> {
    /// The largest number of elements.
    pub(super) capacity: usize,
    /// The numbers of an element.
    numbers: usize,
    sorting: Sorting,
    pub(super) elements: DeviceElements<V>,
}

impl<V: Real> Touches<V> {
    /// Allocates `capacity` elements, at least one: one without a number, then elements without an energy.
    pub(super) fn new(
        surface: &Surface<V>,
        (kernel, numbers): (&ElementKernel, usize),
        capacity: usize,
    ) -> Result<Self, Error> {
        let backend = &surface.backend;
        let mut data = vec![0.0; numbers * capacity];
        data[..numbers].fill(f64::NAN);
        let blank = ElementKernel { elements: vec![0; CORNERS * capacity], data, ..kernel.clone() };
        let elements = DeviceElements::new(backend, &blank)?.in_one_group();
        let bits = (usize::BITS - surface.free.leading_zeros()) as usize;
        let sorting = Sorting::new(backend, CORNERS * capacity, bits, CORNERS * capacity)?;
        Ok(Self { capacity, numbers, sorting, elements })
    }

    /// Lists the pairs that are near at x; their blocks are those of the stream from `first` on. Does not synchronise.
    pub(super) fn list(
        &self,
        surface: &Surface<V>,
        search: &Search,
        x: &DeviceVector<V>,
        (stream, first): (&DeviceStream<V>, usize),
    ) {
        let [free, candidates, capacity] = [surface.free, search.pairs, self.capacity].map(Arg::Count);
        let half = Arg::Number(V::from_f64(0.5) * surface.thickness);
        let [x, held, boxes, starts, pairs] =
            [&x.memory, &surface.held, &search.boxes, &search.starts, &search.found].map(Arg::Memory);
        let [missing, outside, status, rest] =
            [&surface.missing, &surface.outside, &surface.status, &surface.rest].map(Arg::Memory);
        let [before, elements, data, blocks, keys] =
            [&search.before, &self.elements.elements, &self.elements.data, stream.list(), &self.sorting.keys]
                .map(Arg::Memory);
        let (own, thickness) = (surface.args(), Arg::Number(surface.thickness));
        let [numbers, first] = [self.numbers, first].map(Arg::Count);
        let mut queue = surface.backend.queue();
        queue.fill_list(&surface.outside, 2, 0);
        let args = [free, x, boxes, half, outside];
        queue.launch(surface.step(Step::Inside), Items::Entries(surface.free), &args);
        let args = [&[candidates][..], &own, &[x, held, starts, pairs, thickness, missing, before]].concat();
        queue.launch(surface.step(Step::Near), Items::Entries(search.pairs), &args);
        search.sorting.scan(&mut queue, &search.before, search.pairs);
        let tail = [rest, candidates, pairs, before, missing, outside, status, elements, data, blocks, keys];
        let args = [&[capacity, numbers, first][..], &own, &tail].concat();
        queue.launch(surface.step(Step::Touches), Items::Entries(self.capacity), &args);
    }

    /// Finds the corners at each node, for the gradient.
    pub(super) fn sort(&self, surface: &Surface<V>) {
        let entries = CORNERS * self.capacity;
        let [order, keys, starts] =
            [self.sorting.order(), &self.sorting.keys, &self.elements.starts].map(Arg::Memory);
        let [count, free] = [entries, surface.free].map(Arg::Count);
        let mut queue = surface.backend.queue();
        self.sorting.sort(&mut queue);
        let args = [count, free, order, keys, starts];
        queue.launch(surface.step(Step::Around), Items::Entries(surface.free + 1), &args);
        queue.copy(self.sorting.order(), &self.elements.around, 4 * entries);
    }
}
