//! The occupied coarse nodes: a hash table from places to numbers.
//!
//! A place becomes a key of three fields of 21 bits. Keys are ordered as places are, with the last axis
//! fastest. The table has open addresses, and the numbers it gives depend only on the order of insertion.

/// The bits of a field.
const BITS: u32 = 21;

/// Marks an empty slot; no place has this key.
const EMPTY: u64 = u64::MAX;

/// A place is at least this, and fits a field after this is subtracted.
const LEAST: i32 = -(1 << 20);

/// The places that were inserted, in the order of insertion, and their hash table.
pub(super) struct Cells {
    keys: Vec<u64>,
    /// Pairs of a key and its number. At most half of them are in use.
    slots: Vec<(u64, u32)>,
}

impl Cells {
    /// Returns no places, with a capacity of at least about `count`.
    pub(super) fn new(count: usize) -> Self {
        Self { keys: Vec::new(), slots: vec![(EMPTY, 0); (2 * count).next_power_of_two().max(64)] }
    }

    /// Returns the number of a place, which is inserted if it is new.
    pub(super) fn insert(&mut self, place: [i32; 3]) -> u32 {
        let key = key(place);
        let slot = self.slot(key);
        if self.slots[slot].0 == key {
            return self.slots[slot].1;
        }
        let number = self.keys.len() as u32;
        self.slots[slot] = (key, number);
        self.keys.push(key);
        if 2 * self.keys.len() > self.slots.len() {
            self.grow();
        }
        number
    }

    /// Returns the places in order, and the rank of each number among them.
    pub(super) fn sorted(&self) -> (Vec<[i32; 3]>, Vec<u32>) {
        let mut order: Vec<u32> = (0..self.keys.len() as u32).collect();
        order.sort_unstable_by_key(|&number| self.keys[number as usize]);
        let mut rank = vec![0; order.len()];
        order.iter().zip(0..).for_each(|(&number, place)| rank[number as usize] = place);
        (order.iter().map(|&number| place(self.keys[number as usize])).collect(), rank)
    }

    /// Returns the slot of a key, or the empty slot where it belongs.
    fn slot(&self, key: u64) -> usize {
        let last = self.slots.len() - 1;
        let spread = key.wrapping_mul(0x9e37_79b9_7f4a_7c15); // Fibonacci hashing: 2⁶⁴ / the golden ratio
        let mut slot = (spread >> 32) as usize & last;
        while self.slots[slot].0 != key && self.slots[slot].0 != EMPTY {
            slot = (slot + 1) & last;
        }
        slot
    }

    fn grow(&mut self) {
        let slots = 2 * self.slots.len();
        self.slots.clear();
        self.slots.resize(slots, (EMPTY, 0));
        for number in 0..self.keys.len() {
            let slot = self.slot(self.keys[number]);
            self.slots[slot] = (self.keys[number], number as u32);
        }
    }
}

fn key(place: [i32; 3]) -> u64 {
    place.iter().fold(0, |key, &k| key << BITS | (k - LEAST) as u64)
}

fn place(key: u64) -> [i32; 3] {
    [2, 1, 0].map(|field| ((key >> (BITS * field)) & ((1 << BITS) - 1)) as i32 + LEAST)
}
