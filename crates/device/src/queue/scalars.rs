//! Operations on slots, pending until a kernel or the host needs a slot, and then one launch.

use coarsen_core::Real;

use super::{Queue, SUMS};
use crate::driver::Type;
use crate::program::{Entry, Kernel};
use crate::queue::{Arg, Items};
use crate::slots::CONSTANTS;

/// The largest number of operations of a launch.
const OPERATIONS: usize = 12;

/// The number of reductions whose totals can be pending at once.
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
    Set,
}

#[derive(Default)]
pub(super) struct Pending {
    /// Two words for each operation, see `coarsen_scalars`.
    words: Vec<u64>,
    /// The number of reductions among them.
    reductions: usize,
    /// Slots without users, which operations above may still use.
    freed: Vec<u32>,
}

impl Pending {
    /// Returns the number of the buffer for the partial sums of the next reduction.
    pub(super) fn reductions(&self) -> usize {
        self.reductions
    }

    /// Whether a kernel with these arguments may read a slot whose operation is pending. None writes a slot that a pending
    /// operation reads, since results have slots of their own.
    pub(super) fn is_needed<T>(&self, args: &[Arg<'_, T>]) -> bool {
        let has = |slot: u32| self.words.iter().step_by(2).any(|word| (word >> SLOT) as u32 & MASK == slot);
        args.iter().any(|arg| matches!(arg, Arg::Slots))
            && args.iter().any(|arg| matches!(arg, Arg::Index(slot) if has(*slot)))
    }

    fn push(&mut self, code: usize, [out, a]: [u32; 2], second: u64) {
        let [code, out, a] = [code as u64, out.into(), a.into()];
        self.words.extend([code << (2 * SLOT) | out << SLOT | a, second]);
    }
}

impl<T: Real> Queue<T> {
    /// Runs `kernel`, which writes the partial sums of its groups to the last of `args`; their totals become the slots `out`.
    pub(crate) fn reduce(&mut self, kernel: impl Into<Entry>, n: usize, args: &[Arg<'_, T>], out: &[u32]) {
        self.flush_if_full(out.len());
        let groups = self.program.groups(n);
        self.launch(kernel, Items::Groups(groups), args);
        for (k, &out) in out.iter().enumerate() {
            let first = (k * groups) as u32;
            self.pending.push(self.pending.reductions, [out, 0], pair(groups as u32, first));
        }
        self.pending.reductions += 1;
    }

    /// Returns a new slot with the result of an operation on slots.
    pub(crate) fn compute(&mut self, operation: Operation, operands: [u32; 3]) -> u32 {
        let [a, b, c] = operands;
        self.push(operation, a, pair(b, c))
    }

    /// Returns a new slot with a number from the host.
    pub(crate) fn set(&mut self, v: T) -> u32 {
        let bits = match Type::of::<T>() {
            Type::Single => (v.as_f64() as f32).to_bits().into(),
            _ => v.as_f64().to_bits(),
        };
        self.push(Operation::Set, 0, bits)
    }

    fn push(&mut self, operation: Operation, a: u32, second: u64) -> u32 {
        self.flush_if_full(1);
        let out = self.take();
        self.pending.push(operation as usize, [out, a], second);
        out
    }

    /// Makes a slot without users free. It is reused, but not before pending operations have been enqueued.
    pub(crate) fn release(&mut self, slot: u32) {
        if (slot as usize) < CONSTANTS.len() {
            return;
        }
        self.pending.freed.push(slot);
        if self.pending.words.is_empty() {
            self.reuse();
        }
    }

    /// Enqueues what is pending.
    pub(super) fn enqueue_scalars(&mut self) {
        if self.pending.words.is_empty() {
            return;
        }
        let mut args = [Arg::Word(0); REDUCTIONS + 2 + 2 * OPERATIONS];
        args[0] = Arg::Slots;
        args[1..=REDUCTIONS].iter_mut().enumerate().for_each(|(k, arg)| *arg = Arg::Partials(k));
        args[REDUCTIONS + 1] = Arg::Index(self.pending.words.len() as u32 / 2);
        args[REDUCTIONS + 2..]
            .iter_mut()
            .zip(&self.pending.words)
            .for_each(|(arg, word)| *arg = Arg::Word(*word));
        self.pending.words.clear();
        self.launch(Kernel::Scalars, Items::Groups(1), &args);
        self.pending.reductions = 0;
        self.reuse();
    }

    /// Enqueues what is pending if `more` operations, or a reduction, do not fit beside it.
    fn flush_if_full(&mut self, more: usize) {
        debug_assert!(more <= SUMS);
        if self.pending.words.len() / 2 + more > OPERATIONS || self.pending.reductions == REDUCTIONS {
            self.enqueue_scalars();
        }
    }

    fn reuse(&mut self) {
        self.pending.freed.drain(..).for_each(|slot| self.slots.free(slot));
    }
}

/// Two halves of a word.
fn pair(b: u32, c: u32) -> u64 {
    u64::from(b) << u32::BITS | u64::from(c)
}
