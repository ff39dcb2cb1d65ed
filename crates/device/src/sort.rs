//! Prefix sums and a stable radix sort, by the kernels of `kernels/sort.cl`.
//!
//! A module that uses these kernels lists them before its own kernels.

use coarsen_core::{Error, Real};

use crate::OnDevice;
use crate::driver::Type;
use crate::memory::Buffer;
use crate::program::Entry;
use crate::queue::{Arg, Items, Queue};

/// The kernels, in the order of [`NAMES`].
#[derive(Clone, Copy)]
enum Step {
    Sums,
    Group,
    Entries,
    Start,
    Count,
    Move,
}

/// The first kernels of every module that sorts.
pub(crate) const NAMES: [&str; 6] = [
    "coarsen_scan_sums",
    "coarsen_scan_group",
    "coarsen_scan_entries",
    "coarsen_sort_start",
    "coarsen_sort_count",
    "coarsen_sort_move",
];

/// Returns [`NAMES`], then the names of the module's own kernels; `ALL` is the number of all names.
pub(crate) const fn followed_by<const ALL: usize>(own: &[&'static str]) -> [&'static str; ALL] {
    assert!(ALL == NAMES.len() + own.len());
    let (mut all, mut i) = ([""; ALL], 0);
    while i < ALL {
        all[i] = if i < NAMES.len() { NAMES[i] } else { own[i - NAMES.len()] };
        i += 1;
    }
    all
}

/// The number of entries per item of a scan: a build option.
pub(crate) const CHUNK: usize = 32;

/// The number of bits of a digit.
const DIGIT: usize = 6;
/// The number of keys per item.
const SORTED: usize = 64;

/// Keys to be sorted, and the buffers of the sort.
pub(crate) struct Sorting {
    module: usize,
    count: usize,
    /// The number of bits of a key.
    bits: usize,
    pub(crate) keys: Buffer,
    orders: [Buffer; 2],
    digits: Buffer,
    sums: Buffer,
}

impl Sorting {
    /// Compiles the kernels and allocates buffers for `count` keys of `bits` bits, and for scans of up to
    /// `longest` entries.
    pub(crate) fn new<V: Real>(
        on: &OnDevice<V>,
        module: usize,
        count: usize,
        bits: usize,
        longest: usize,
    ) -> Result<Self, Error> {
        let digits = (1 << DIGIT) * count.div_ceil(SORTED);
        let mut queue = on.queue();
        let keys = queue.allocate(Type::Length, 8 * count, None)?;
        let mut list = |count: usize| queue.allocate(Type::Index, 4 * count, None);
        Ok(Self {
            module,
            count,
            bits,
            keys,
            orders: [list(count)?, list(count)?],
            digits: list(digits + 1)?,
            sums: list(digits.max(longest).div_ceil(CHUNK) + 1)?,
        })
    }

    fn launch<V: Real>(&self, queue: &mut Queue<V>, step: Step, items: Items, args: &[Arg<'_, V>]) {
        queue.launch(Entry { module: self.module, kernel: step as usize }, items, args);
    }

    /// Replaces each of `count` entries by the sum of the entries before it, and writes the total after the
    /// last entry.
    pub(crate) fn scan<V: Real>(&self, queue: &mut Queue<V>, list: &Buffer, count: usize) {
        let chunks = count.div_ceil(CHUNK);
        let [list, sums] = [list, &self.sums].map(Arg::Memory);
        let [count, groups] = [count, chunks].map(Arg::Count);
        self.launch(queue, Step::Sums, Items::Entries(chunks), &[count, list, sums]);
        self.launch(queue, Step::Group, Items::Shaped(1, 64), &[groups, sums]);
        self.launch(queue, Step::Entries, Items::Entries(chunks), &[count, sums, list]);
    }

    /// Sets the order 0, 1, 2, ...
    pub(crate) fn as_numbered<V: Real>(&self, queue: &mut Queue<V>) -> &Buffer {
        let args = [Arg::Count(self.count), Arg::Memory(&self.orders[0])];
        self.launch(queue, Step::Start, Items::Entries(self.count), &args);
        &self.orders[0]
    }

    /// Sorts the keys, lowest digit first.
    pub(crate) fn sort<V: Real>(&self, queue: &mut Queue<V>) {
        let items = self.count.div_ceil(SORTED);
        let [n, there] = [self.count, items].map(Arg::Count);
        self.as_numbered(queue);
        for (pass, shift) in (0..self.bits).step_by(DIGIT).enumerate() {
            let (from, to) = (&self.orders[pass % 2], &self.orders[(pass + 1) % 2]);
            let [from, keys, digits, to] = [from, &self.keys, &self.digits, to].map(Arg::Memory);
            let shift = Arg::Count(shift);
            let all = Items::Entries(items);
            self.launch(queue, Step::Count, all, &[n, there, shift, from, keys, digits]);
            self.scan(queue, &self.digits, (1 << DIGIT) * items);
            self.launch(queue, Step::Move, all, &[n, there, shift, from, keys, digits, to]);
        }
    }

    /// Returns the order computed by [`sort`](Self::sort).
    pub(crate) fn order(&self) -> &Buffer {
        &self.orders[self.bits.div_ceil(DIGIT) % 2]
    }
}
