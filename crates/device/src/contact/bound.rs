//! The bound of a step: additive conservative advancement of all candidates.

use coarsen_core::{Error, Real};

use super::search::Search;
use super::surface::{Step, Surface};
use crate::driver::Type;
use crate::memory::Buffer;
use crate::queue::{Arg, Items};
use crate::{DeviceScalar, DeviceVector};

/// The bound of each candidate, and the time until which candidates serve.
pub(super) struct Bound {
    each: Buffer,
    last: Buffer,
}

impl Bound {
    pub(super) fn new<V: Real>(surface: &Surface<V>, pairs: usize) -> Result<Self, Error> {
        let mut queue = surface.backend.queue();
        let mut real = |count: usize| queue.allocate(Type::of::<V>(), count * size_of::<V>(), None);
        Ok(Self { each: real(pairs)?, last: real(1)? })
    }

    /// The largest step from x along d, up to `longest`, among the candidates of a search along d whose boxes have this `slack`.
    pub(super) fn of<V: Real>(
        &self,
        surface: &Surface<V>,
        search: &Search,
        [x, d]: [&DeviceVector<V>; 2],
        [slack, longest]: [V; 2],
    ) -> DeviceScalar<V> {
        let [bound] = DeviceScalar::results(&surface.backend);
        let [x, held, d, starts, pairs] =
            [&x.memory, &surface.held, &d.memory, &search.starts, &search.found].map(Arg::Memory);
        let [last, missing, each] = [&self.last, &surface.missing, &self.each].map(Arg::Memory);
        let [count, free] = [search.pairs, surface.free].map(Arg::Count);
        let (kept, clear) = (Arg::Number(surface.min_distance), Arg::Number(surface.thickness));
        let mut queue = surface.backend.queue();
        let args = [free, d, Arg::Number(slack), Arg::Number(longest), last];
        queue.launch(surface.step(Step::Last), Items::Shaped(1, 64), &args);
        let tail = [x, held, d, starts, pairs, kept, clear, last, missing, each];
        let args = [&[count][..], &surface.args(), &tail].concat();
        queue.launch(surface.step(Step::Bounds), Items::Entries(search.pairs), &args);
        let (args, out) = ([count, each, last, missing, Arg::Partial], [bound.slot()]);
        queue.reduce(surface.step(Step::Least), 1, &args, &out); // one group
        drop(queue);
        bound
    }
}
