//! Bookkeeping of slots by number; their memory belongs to the queue.

/// The number of slots at the start; it doubles when all slots are taken.
const START: usize = 256;

/// The constants that are always in the first slots.
pub(crate) const CONSTANTS: [f64; 3] = [0.0, 1.0, -1.0];

/// The number of slots, and a stack of free slots, with the lowest slot on top at the start.
pub(crate) struct Slots {
    count: usize,
    free: Vec<u32>,
}

impl Slots {
    /// Returns slots that are all free, except the slots of the constants.
    pub(crate) fn new() -> Self {
        Self { count: START, free: (CONSTANTS.len() as u32..START as u32).rev().collect() }
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    pub(crate) fn double(&mut self) {
        self.free.extend((self.count as u32..2 * self.count as u32).rev());
        self.count *= 2;
    }

    pub(crate) fn all_taken(&self) -> bool {
        self.free.is_empty()
    }

    /// Returns a slot; the first one if all are taken.
    pub(crate) fn take(&mut self) -> u32 {
        self.free.pop().unwrap_or(0)
    }

    /// Makes a slot free, unless it has a constant.
    pub(crate) fn free(&mut self, slot: u32) {
        if slot as usize >= CONSTANTS.len() {
            self.free.push(slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn freed_slots_are_taken_again() {
        let mut slots = Slots::new();
        let (a, b) = (slots.take(), slots.take());
        assert!(a != b && [a, b].iter().all(|&slot| slot as usize >= CONSTANTS.len()));
        slots.free(a);
        slots.free(0);
        assert_eq!(slots.take(), a);
        assert_ne!(slots.take(), 0);
    }

    #[test]
    fn doubling_keeps_taken_slots() {
        let mut slots = Slots::new();
        let mut taken: Vec<u32> = (3..START).map(|_| slots.take()).collect();
        assert!(slots.all_taken());
        assert_eq!(slots.take(), 0);
        slots.double();
        taken.extend((0..START).map(|_| slots.take()));
        taken.sort_unstable();
        assert!(taken.iter().copied().eq(3..2 * START as u32) && slots.count() == 2 * START);
    }
}
