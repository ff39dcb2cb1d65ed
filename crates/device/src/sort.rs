//! Prefix sums and a stable radix sort, by the kernels of `kernels/sort.cl`.

use coarsen_core::{Error, Real};

use crate::DeviceBackend;
use crate::driver::Type;
use crate::memory::Buffer;
use crate::program::{Module, kernels};
use crate::queue::{Arg, Items, Queue};

kernels! {
    Step {
        Sums = "coarsen_scan_sums",
        Group = "coarsen_scan_group",
        Entries = "coarsen_scan_entries",
        Count = "coarsen_sort_count",
        Move = "coarsen_sort_move",
    }
}

/// The number of entries per item of a scan: a build option.
const CHUNK: usize = 32;

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
    /// 0, 1, 2, ...
    numbered: Buffer,
    orders: [Buffer; 2],
    digits: Buffer,
    sums: Buffer,
}

impl Sorting {
    /// Compiles the kernels and allocates buffers for `count` keys of `bits` bits, and for scans of up to
    /// `longest` entries.
    pub(crate) fn new<V: Real>(
        backend: &DeviceBackend<V>,
        count: usize,
        bits: usize,
        longest: usize,
    ) -> Result<Self, Error> {
        let digits = (1 << DIGIT) * count.div_ceil(SORTED);
        let options = format!("-D CHUNK={CHUNK}");
        let mut queue = backend.queue();
        let module =
            queue.module(&Module { sources: &coarsen_kernels::SORT, kernels: Step::NAMES, options })?;
        let keys = queue.allocate(Type::Length, 8 * count, None)?;
        let numbered: Vec<u32> = (0..count as u32).collect();
        let numbered = queue.list(&numbered)?;
        let mut list = |count: usize| queue.allocate(Type::Index, 4 * count, None);
        Ok(Self {
            module,
            count,
            bits,
            keys,
            numbered,
            orders: [list(count)?, list(count)?],
            digits: list(digits + 1)?,
            sums: list(digits.max(longest).div_ceil(CHUNK) + 1)?,
        })
    }

    fn launch<V: Real>(&self, queue: &mut Queue<V>, step: Step, items: Items, args: &[Arg<'_, V>]) {
        queue.launch(step.of(self.module), items, args);
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

    /// Returns the order after a number of passes; after none, 0, 1, 2, ...
    pub(crate) fn after(&self, passes: usize) -> &Buffer {
        if passes == 0 { &self.numbered } else { &self.orders[passes % 2] }
    }

    /// Sorts the keys, lowest digit first.
    pub(crate) fn sort<V: Real>(&self, queue: &mut Queue<V>) {
        let items = self.count.div_ceil(SORTED);
        let [n, there] = [self.count, items].map(Arg::Count);
        for (pass, shift) in (0..self.bits).step_by(DIGIT).enumerate() {
            let (from, to) = (self.after(pass), self.after(pass + 1));
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
        self.after(self.bits.div_ceil(DIGIT))
    }
}
