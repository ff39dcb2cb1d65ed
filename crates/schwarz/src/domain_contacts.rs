//! Contact on coarse levels (§6.3): the contact blocks inside each domain.
//!
//! Contact is not added to the matrices of the levels, because new pairs would change their patterns. A level
//! needs only the blocks with both ends in one domain. They are sorted by domain.

use coarsen_core::Real;
use coarsen_sparse::{Buckets as Sorted, Contacts};

use crate::domains::NONE;
use crate::plan::Plan;

/// The contact blocks inside the domains of a level; the memory is reused.
#[derive(Clone, Debug, Default)]
pub(crate) struct DomainContacts {
    starts: Vec<usize>,
    /// For each block, its number and the indices of its ends in the domain.
    blocks: Vec<[u32; 3]>,
    scratch: Vec<[u32; 4]>,
}

impl DomainContacts {
    /// Sorts contact blocks into the domains of a coarse level; with `which`, only into these domains, given
    /// in increasing order.
    pub(crate) fn sort<T: Real>(
        &mut self,
        plan: &Plan,
        level: usize,
        contacts: &Contacts<T>,
        which: Option<&[u32]>,
    ) {
        let (maps, domains) = (plan.maps(level), &plan.domain_levels[level].domains);
        self.scratch.clear();
        let mut buckets = Sorted::reuse(std::mem::take(&mut self.starts), domains.count());
        for (k, &(i, j)) in contacts.places().iter().enumerate() {
            let (s, t) = (maps[i as usize], maps[j as usize]);
            if s == NONE || t == NONE {
                continue;
            }
            let ([d, a], [e, c]) = (domains.at(s as usize), domains.at(t as usize));
            if d == e && d != NONE && which.is_none_or(|which| which.binary_search(&d).is_ok()) {
                self.scratch.push([d, k as u32, a, c]);
                buckets.count(d as usize);
            }
        }
        self.blocks.clear();
        self.blocks.resize(buckets.sum_up(), [0; 3]);
        for &[d, k, a, c] in &self.scratch {
            self.blocks[buckets.place(d as usize)] = [k, a, c];
        }
        self.starts = buckets.into_starts();
    }
}

/// The contact blocks by domain.
#[derive(Clone, Copy)]
pub(crate) struct Buckets<'a, T> {
    pub(crate) contacts: &'a Contacts<T>,
    pub(crate) touching: &'a DomainContacts,
}

impl<'a, T: Real> Buckets<'a, T> {
    /// Returns the blocks inside domain d: the indices of their ends, and their values.
    pub(crate) fn of(&self, d: usize) -> impl Iterator<Item = (usize, usize, &'a [T])> + use<'a, T> {
        let range = self.touching.starts[d]..self.touching.starts[d + 1];
        let area = self.contacts.block().pow(2);
        let values = self.contacts.values();
        self.touching.blocks[range].iter().map(move |&[k, a, c]| {
            (a as usize, c as usize, &values[k as usize * area..(k as usize + 1) * area])
        })
    }
}
