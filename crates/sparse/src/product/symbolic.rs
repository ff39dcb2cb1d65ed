//! The columns of one row of a product, and the target of each block product.
//!
//! An open-addressing table at most half full, as large as the row needs, numbers the columns in the order they appear;
//! sorting the distinct columns turns numbers into places. Its size does not depend on the matrix, so every task has its
//! own.

use crate::Pattern;

/// No column: a pattern has at most 2³² − 1 columns, so none is numbered so.
const EMPTY: u32 = u32::MAX;

/// 2⁶⁴ / golden ratio: multiplicative hashing (Knuth 1998, vol. 3, §6.4).
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Scratch of the symbolic phase, and its result for the row planned last.
#[derive(Default)]
pub(super) struct RowProducts {
    table: Vec<(u32, u32)>,    // (column, number)
    distinct: Vec<(u32, u32)>, // (column, number), sorted
    place: Vec<u32>,           // of a number
    targets: Vec<u32>,
}

impl RowProducts {
    /// Plans the row of C that belongs to a row of the left pattern.
    pub(super) fn plan(&mut self, row: &[u32], right: &Pattern) {
        self.distinct.clear();
        self.targets.clear();
        let products: usize = row.iter().map(|&k| right.row(k as usize).len()).sum();
        let slots = (2 * products.min(right.columns()).max(1)).next_power_of_two();
        self.table.clear();
        self.table.resize(slots, (EMPTY, 0));
        let shift = 64 - slots.trailing_zeros();
        for &k in row {
            for &j in right.row(k as usize) {
                let mut slot = (u64::from(j).wrapping_mul(GOLDEN) >> shift) as usize;
                while self.table[slot].0 != j && self.table[slot].0 != EMPTY {
                    slot = (slot + 1) % slots;
                }
                if self.table[slot].0 == EMPTY {
                    let entry = (j, self.distinct.len() as u32);
                    self.table[slot] = entry;
                    self.distinct.push(entry);
                }
                self.targets.push(self.table[slot].1);
            }
        }
        self.distinct.sort_unstable();
        self.place.resize(self.distinct.len(), 0);
        for (place, &(_, number)) in self.distinct.iter().enumerate() {
            self.place[number as usize] = place as u32;
        }
        self.targets.iter_mut().for_each(|t| *t = self.place[*t as usize]);
    }

    /// The columns of the row, increasing.
    pub(super) fn columns(&self) -> impl ExactSizeIterator<Item = u32> {
        self.distinct.iter().map(|d| d.0)
    }

    /// Which block of the row each product is added to, in the order of the products.
    pub(super) fn targets(&self) -> &[u32] {
        &self.targets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_find_their_places() {
        let right = Pattern::new(100, vec![0, 3, 3, 5], vec![7, 40, 99, 0, 40]).unwrap();
        let mut products = RowProducts::default();
        products.plan(&[0, 1, 2], &right);
        assert_eq!(products.columns().collect::<Vec<_>>(), [0, 7, 40, 99]);
        assert_eq!(products.targets(), [1, 2, 3, 0, 2]);
        products.plan(&[1], &right);
        assert!(products.columns().len() == 0 && products.targets().is_empty());
        products.plan(&[2], &right);
        assert_eq!(products.targets(), [0, 1]);
    }
}
