//! Overlapping domains: their nodes, and the matrix restricted to each.
//!
//! A node has one *place* in each domain that contains it. Places are numbered domain by domain. The
//! restrictions R_d A R_dᵀ together are one block-diagonal matrix over places, whose blocks are copies of
//! blocks of A.

use coarsen_backend::SetupError;
use coarsen_core::parallel::{self, Groups, each};
use coarsen_core::{Cancel, Real};
use coarsen_sparse::{Bsr, Graph, Pattern, SparseError, by_bucket, coloring};

use crate::domains::{Domains, NONE};
use crate::links::Links;

/// The domains with their overlap.
#[derive(Clone, Debug)]
pub(crate) struct Cover {
    /// The node of each place, domain by domain.
    pub(crate) nodes: Vec<u32>,
    /// The first place of each domain, and the end of the last domain.
    pub(crate) starts: Vec<u32>,
    /// The places of each node, in the order of domains.
    pub(crate) places: Vec<u32>,
    /// For each node, the start of its places in `places`; then the end of the last node.
    pub(crate) of_node: Vec<usize>,
    /// The place of each node in its own domain, the one that contains it without the overlap.
    pub(crate) own: Vec<u32>,
}

impl Cover {
    /// Grows domains of up to `most` nodes along `links`, and extends each by `layers` layers of neighbours
    /// in the pattern. Nodes that are not `coupled` form separate domains of up to `most` nodes.
    ///
    /// # Errors
    /// [`SetupError::Cancelled`] once `cancel` is set, and [`SparseError::TooLarge`].
    pub(crate) fn grow(
        links: &Links,
        coupled: &[bool],
        pattern: &Pattern,
        order: &[u32],
        [most, layers]: [usize; 2],
        cancel: Option<&Cancel>,
    ) -> Result<Self, SetupError> {
        let n = order.len();
        let domains = Domains::grow(links, order, coupled, most, cancel)?;
        let apart: Vec<u32> = order.iter().copied().filter(|&i| !coupled[i as usize]).collect();
        let (mut nodes, mut starts, mut own) = (Vec::with_capacity(n), vec![0], vec![0; n]);
        let (mut home, mut seen) = (vec![NONE; n], vec![NONE; n]);
        let grown = (0..domains.count()).map(|d| domains.nodes(d));
        for (d, members) in grown.chain(apart.chunks(most)).enumerate() {
            SetupError::unless_cancelled(cancel)?;
            let first = nodes.len();
            nodes.extend_from_slice(members);
            for &i in members {
                (home[i as usize], seen[i as usize]) = (d as u32, d as u32);
            }
            let mut layer = first;
            for _ in 0..layers {
                let end = nodes.len();
                if end == layer {
                    break; // the last layer had no further neighbours
                }
                for at in layer..end {
                    for &j in pattern.row(nodes[at] as usize) {
                        if std::mem::replace(&mut seen[j as usize], d as u32) != d as u32 {
                            nodes.push(j);
                        }
                    }
                }
                layer = end;
            }
            nodes[first..].sort_unstable();
            for (k, &i) in nodes[first..].iter().enumerate() {
                if home[i as usize] == d as u32 {
                    own[i as usize] = (first + k) as u32;
                }
            }
            starts.push(bounded("places of nodes in domains", nodes.len())?);
        }
        let mut cover = Self { nodes, starts, places: Vec::new(), of_node: Vec::new(), own };
        cover.find_places(n);
        Ok(cover)
    }

    fn find_places(&mut self, n: usize) {
        (self.of_node, self.places) = by_bucket(n, self.nodes.iter().map(|&i| Some(i as usize)));
    }

    /// Returns the number of domains.
    pub(crate) fn count(&self) -> usize {
        self.starts.len() - 1
    }

    /// Returns the number of nodes of the largest domain, including its overlap.
    pub(crate) fn largest(&self) -> usize {
        self.starts.windows(2).map(|s| (s[1] - s[0]) as usize).max().unwrap_or(0)
    }

    /// Returns the pattern of all restrictions, and the block of A that each of its blocks copies.
    ///
    /// # Errors
    /// As [`grow`](Self::grow).
    pub(crate) fn restrict(
        &self,
        pattern: &Pattern,
        cancel: Option<&Cancel>,
    ) -> Result<(Pattern, Vec<u32>), SetupError> {
        bounded("blocks of the matrix", pattern.len())?;
        let (mut offsets, mut indices, mut from) = (vec![0], Vec::new(), Vec::new());
        let mut at = vec![NONE; pattern.rows()];
        let mut row: Vec<(u32, u32)> = Vec::new();
        for places in self.starts.windows(2).map(|s| s[0]..s[1]) {
            SetupError::unless_cancelled(cancel)?;
            places.clone().for_each(|place| at[self.nodes[place as usize] as usize] = place);
            for place in places.clone() {
                let i = self.nodes[place as usize] as usize;
                row.clear();
                for (&j, k) in pattern.row(i).iter().zip(pattern.range(i)) {
                    let there = at[j as usize];
                    if there != NONE {
                        row.push((there, k as u32));
                    }
                }
                row.sort_unstable();
                indices.extend(row.iter().map(|entry| entry.0));
                from.extend(row.iter().map(|entry| entry.1));
                offsets.push(indices.len());
            }
            places.for_each(|place| at[self.nodes[place as usize] as usize] = NONE);
        }
        Ok((Pattern::new(self.nodes.len(), offsets, indices)?, from))
    }

    /// Sorts the places of each domain by colour; places of the same colour are not coupled.
    pub(crate) fn colour(&mut self, pattern: &Pattern, cancel: Option<&Cancel>) -> Result<(), SetupError> {
        let (restricted, _) = self.restrict(pattern, cancel)?;
        let classes = coloring::greedy(&Graph::of(&restricted)?);
        let mut moved = vec![0; self.nodes.len()];
        let nodes = self.nodes.clone();
        for places in self.starts.windows(2).map(|s| s[0]..s[1]) {
            let mut sorted: Vec<u32> = places.clone().collect();
            sorted.sort_by_key(|&place| (classes.of()[place as usize], place));
            for (to, &from) in places.zip(&sorted) {
                self.nodes[to as usize] = nodes[from as usize];
                moved[from as usize] = to;
            }
        }
        self.own.iter_mut().for_each(|place| *place = moved[*place as usize]);
        self.find_places(self.of_node.len() - 1);
        Ok(())
    }

    pub(crate) fn bytes(&self) -> usize {
        let numbers = self.nodes.len() + self.starts.len() + self.places.len() + self.own.len();
        4 * numbers + size_of_val(&self.of_node[..])
    }
}

/// Converts a count to a 32-bit index.
fn bounded(what: &'static str, count: usize) -> Result<u32, SparseError> {
    u32::try_from(count).map_err(|_| SparseError::TooLarge { what, count, limit: u32::MAX as usize })
}

/// Copies the blocks `from` of A into the restrictions.
pub(crate) fn copy<T: Real, S: Real>(a: &Bsr<T>, from: &[u32], to: &mut Bsr<S>) {
    let area = a.block().0.pow(2);
    let leaf = |(from, to): (&[u32], Groups<&mut [S]>)| {
        for (&k, to) in from.iter().zip(to.0.chunks_exact_mut(area)) {
            to.iter_mut().zip(a.value(k as usize)).for_each(|(to, v)| *to = S::from_f64(v.as_f64()));
        }
    };
    each((from, Groups(to.values_mut(), area)), 4096, parallel::worth(area * from.len()), &leaf);
}
