//! Operations on slots, which wait until a kernel or the host needs a slot, and are then one launch.

use coarsen_core::Real;

use super::{Queue, SUMS};
use crate::program::{Entry, Kernel};
use crate::queue::{Arg, Items};

/// The largest number of operations of a launch.
const OPERATIONS: usize = 12;

/// The number of reductions whose totals can wait at once.
pub(super) const REDUCTIONS: usize = 4;

/// The bits of a slot in a word.
const SLOT: u32 = 28;
const MASK: u32 = (1 << SLOT) - 1;

/// An operation on slots, by its code in `coarsen_scalars`. The codes before are totals of reductions.
#[derive(Clone, Copy)]
pub(crate) enum Operation {
    Neg = REDUCTIONS as isize,
    Add,
    Mul,
    Div,
    Over,
    Min,
}

/// The operations that wait.
#[derive(Default)]
pub(super) struct Waiting {
    /// Two words for each operation, see `coarsen_scalars`.
    words: Vec<u64>,
    /// The number of reductions among them.
    reductions: usize,
    /// Slots that have lost their last user meanwhile.
    freed: Vec<u32>,
}

impl Waiting {
    /// Returns the number of the buffer for the partial sums of the next reduction.
    pub(super) fn reductions(&self) -> usize {
        self.reductions
    }

    /// Whether a kernel with these arguments may read a slot whose operation waits. None writes a slot that a waiting
    /// operation reads, since results have slots of their own.
    pub(super) fn is_needed<T>(&self, args: &[Arg<'_, T>]) -> bool {
        let waits = |slot: u32| self.words.iter().step_by(2).any(|word| (word >> SLOT) as u32 & MASK == slot);
        args.iter().any(|arg| matches!(arg, Arg::Slots))
            && args.iter().any(|arg| matches!(arg, Arg::Index(slot) if waits(*slot)))
    }

    fn push(&mut self, code: usize, out: u32, [a, b, c]: [u32; 3]) {
        let [code, out, a, b, c] = [code as u64, out.into(), a.into(), b.into(), c.into()];
        self.words.extend([code << (2 * SLOT) | out << SLOT | a, b << u32::BITS | c]);
    }
}

impl<T: Real> Queue<T> {
    /// Runs `kernel`, which writes the partial sums of its groups to the last of `args`; their totals become the slots `out`.
    pub(crate) fn reduce(&mut self, kernel: impl Into<Entry>, n: usize, args: &[Arg<'_, T>], out: &[u32]) {
        self.flush_if_full(out.len());
        let groups = self.groups(n);
        self.launch(kernel, Items::Groups(groups), args);
        for (k, &out) in out.iter().enumerate() {
            let first = (k * groups) as u32;
            self.waiting.push(self.waiting.reductions, out, [0, groups as u32, first]);
        }
        self.waiting.reductions += 1;
    }

    /// Returns a new slot with the result of an operation on slots.
    pub(crate) fn compute(&mut self, operation: Operation, operands: [u32; 3]) -> u32 {
        self.flush_if_full(1);
        let out = self.take();
        self.waiting.push(operation as usize, out, operands);
        out
    }

    /// Removes a user of a slot. A slot without users is reused, but not before what waits has been enqueued.
    pub(crate) fn release(&mut self, slot: u32) {
        if self.slots.release(slot) {
            self.waiting.freed.push(slot);
            if self.waiting.words.is_empty() {
                self.reuse();
            }
        }
    }

    /// Enqueues what waits.
    pub(super) fn enqueue_scalars(&mut self) {
        if self.waiting.words.is_empty() {
            return;
        }
        let mut args = [Arg::Word(0); REDUCTIONS + 2 + 2 * OPERATIONS];
        args[0] = Arg::Slots;
        args[1..=REDUCTIONS].iter_mut().enumerate().for_each(|(k, arg)| *arg = Arg::Partials(k));
        args[REDUCTIONS + 1] = Arg::Index(self.waiting.words.len() as u32 / 2);
        args[REDUCTIONS + 2..]
            .iter_mut()
            .zip(&self.waiting.words)
            .for_each(|(arg, word)| *arg = Arg::Word(*word));
        self.waiting.words.clear();
        self.launch(Kernel::Scalars, Items::Groups(1), &args);
        self.waiting.reductions = 0;
        self.reuse();
    }

    /// Enqueues what waits if `more` operations, or a reduction, do not fit beside it.
    fn flush_if_full(&mut self, more: usize) {
        debug_assert!(more <= SUMS);
        if self.waiting.words.len() / 2 + more > OPERATIONS || self.waiting.reductions == REDUCTIONS {
            self.enqueue_scalars();
        }
    }

    fn reuse(&mut self) {
        self.waiting.freed.drain(..).for_each(|slot| self.slots.free(slot));
    }
}
