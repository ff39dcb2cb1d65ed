//! Bookkeeping of slots by number; their memory belongs to the queue.

/// The number of slots at the start; it doubles when all slots are taken.
const START: usize = 256;

/// The slot of the constant 0.
pub(crate) const ZERO: u32 = 0;
/// The slot of the constant 1.
pub(crate) const ONE: u32 = 1;
/// The slot of the constant −1.
pub(crate) const MINUS_ONE: u32 = 2;

/// The number of users of each slot, and a stack of free slots, with the lowest slot on top at the start.
pub(crate) struct Slots {
    users: Vec<u32>,
    free: Vec<u32>,
}

impl Slots {
    /// Returns slots that are all free, except the slots of the constants, which always have a user.
    pub(crate) fn new() -> Self {
        let mut users = vec![0; START];
        users[..=MINUS_ONE as usize].fill(1);
        Self { users, free: (MINUS_ONE + 1..START as u32).rev().collect() }
    }

    pub(crate) fn count(&self) -> usize {
        self.users.len()
    }

    /// Doubles the number of slots.
    pub(crate) fn double(&mut self) {
        let (old, new) = (self.users.len(), 2 * self.users.len());
        self.users.resize(new, 0);
        self.free.extend((old as u32..new as u32).rev());
    }

    pub(crate) fn all_taken(&self) -> bool {
        self.free.is_empty()
    }

    /// Returns a slot with one user; [`ZERO`] if all are taken.
    pub(crate) fn take(&mut self) -> u32 {
        let slot = self.free.pop().unwrap_or(ZERO);
        self.retain(slot);
        slot
    }

    /// Adds a user of a slot.
    pub(crate) fn retain(&mut self, slot: u32) {
        self.users[slot as usize] += 1;
    }

    /// Removes a user of a slot. Returns whether it was the last one; [`free`](Self::free) makes the slot free then.
    pub(crate) fn release(&mut self, slot: u32) -> bool {
        self.users[slot as usize] -= 1;
        self.users[slot as usize] == 0
    }

    /// Makes a slot without users free.
    pub(crate) fn free(&mut self, slot: u32) {
        self.free.push(slot);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_return_with_their_last_user() {
        let mut slots = Slots::new();
        let a = slots.take();
        slots.retain(a);
        assert!(!slots.release(a));
        let b = slots.take();
        assert!(a != b && ![a, b].iter().any(|s| [ZERO, ONE, MINUS_ONE].contains(s)));
        assert!(slots.release(a));
        slots.free(a);
        assert_eq!(slots.take(), a);
    }

    #[test]
    fn doubling_keeps_what_is_taken() {
        let mut slots = Slots::new();
        let mut taken: Vec<u32> = (3..START).map(|_| slots.take()).collect();
        assert!(slots.all_taken());
        assert_eq!(slots.take(), ZERO);
        slots.double();
        taken.extend((0..START).map(|_| slots.take()));
        taken.sort_unstable();
        assert!(taken.iter().copied().eq(3..2 * START as u32) && slots.count() == 2 * START);
    }
}
