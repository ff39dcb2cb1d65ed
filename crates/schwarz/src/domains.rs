//! Domains: small connected sets of nodes that cover a level without overlap (§5.1), and the supernodes of
//! the next level (§5.2).
//!
//! A domain starts with the first free node of the order. In each step the free node with the largest
//! fraction of its couplings in the domain is added (among equal nodes the first in the order). Growth ends
//! when the domain is full or no coupled node is free. Nearly surrounded nodes are added first, so that few
//! pockets remain. A domain is connected, so a supernode needs no splitting, and disjoint bodies are never in
//! one domain (Fig. 6).
//!
//! Deviation: Wu et al. cut the order after every M nodes and split each piece into its connected parts. This
//! gives supernodes of half the size if the curve jumps. Growth gives full domains. A pocket that remains
//! between full domains is joined with a neighbour, and the union is divided again.
//!
//! A high-degree node is a node with very many couplings, such as a common reference or a rigid body. Each division of its
//! domain reads all of them, and mostly fails, because the neighbours of the high-degree node are not coupled to each other.
//! So the domain of a high-degree node is divided a few times only. Pockets beside it then join another neighbour, or share
//! domains: all nodes of such a domain are coupled to the domain of the high-degree node, but not to each other.

use std::collections::BTreeMap;

use coarsen_backend::SetupError;
use coarsen_core::Cancel;

use crate::links::Links;

/// The domain of nodes in no domain.
pub(crate) const NONE: u32 = u32::MAX;

/// The nodes of each domain, and the domain of each node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Domains {
    /// The nodes, domain by domain.
    order: Vec<u32>,
    /// The start of each domain in `order`, and the end of the last domain.
    starts: Vec<u32>,
    /// The domain of each node and its index in the domain; `NONE` for nodes in no domain.
    at: Vec<[u32; 2]>,
}

impl Domains {
    /// Grows domains of up to `most` nodes over the nodes that are `free`.
    ///
    /// # Errors
    /// [`SetupError::Cancelled`] once `cancel` is set.
    pub(crate) fn grow(
        links: &Links,
        order: &[u32],
        free: &[bool],
        most: usize,
        cancel: Option<&Cancel>,
    ) -> Result<Self, SetupError> {
        let mut growth = Growth::new(links, order, free, most);
        for &seed in order {
            growth.domain(seed, cancel)?;
        }
        growth.join_pockets(cancel)?;
        Ok(growth.finish())
    }

    /// Returns domains of consecutive nodes; `starts` has the first node of each domain, and the number of
    /// nodes at the end.
    pub(crate) fn stretches(starts: &[u32]) -> Self {
        let at =
            starts.windows(2).enumerate().flat_map(|(d, s)| (0..s[1] - s[0]).map(move |k| [d as u32, k]));
        Self { order: (0..starts[starts.len() - 1]).collect(), starts: starts.to_vec(), at: at.collect() }
    }

    pub(crate) fn count(&self) -> usize {
        self.starts.len() - 1
    }

    /// Returns the number of nodes, including nodes in no domain.
    pub(crate) fn size(&self) -> usize {
        self.at.len()
    }

    #[inline]
    pub(crate) fn nodes(&self, d: usize) -> &[u32] {
        &self.order[self.starts[d] as usize..self.starts[d + 1] as usize]
    }

    /// Returns the domain of node i, or `NONE`.
    #[inline]
    pub(crate) fn of(&self, i: usize) -> u32 {
        self.at[i][0]
    }

    /// Returns the domain of node i, or `NONE`, and its index in the domain.
    #[inline]
    pub(crate) fn at(&self, i: usize) -> [u32; 2] {
        self.at[i]
    }

    /// Returns the number of nodes of the largest domain.
    pub(crate) fn largest(&self) -> usize {
        (0..self.count()).map(|d| self.nodes(d).len()).max().unwrap_or(0)
    }

    pub(crate) fn bytes(&self) -> usize {
        4 * (self.order.len() + self.starts.len()) + 8 * self.at.len()
    }
}

/// The state while domains grow.
struct Growth<'a> {
    links: &'a Links,
    /// The rank of each node in the order.
    rank: Vec<u32>,
    most: usize,
    /// The domain of each node; `NONE` while the node is free, `NONE - 1` if it needs no domain.
    of: Vec<u32>,
    lists: Vec<Vec<u32>>,
    /// The sum of the couplings of a node to the growing set.
    coupling: Vec<f32>,
    /// The sum of all couplings of a node.
    whole: Vec<f32>,
    frontier: Vec<u32>,
    /// The couplings of a domain to each other domain, or 0.
    sums: Vec<f32>,
    /// The number of divisions of the domain of each high-degree node.
    divisions: BTreeMap<u32, usize>,
}

/// The divisions of a domain are counted if a node has more couplings than this multiple of `most`, which are
/// more than elements give.
const LONG: usize = 16;

/// The largest number of divisions of the domain of a high-degree node.
const DIVISIONS: usize = 8;

const NEEDS_NONE: u32 = NONE - 1;

impl<'a> Growth<'a> {
    fn new(links: &'a Links, order: &[u32], free: &[bool], most: usize) -> Self {
        let mut rank = vec![0; order.len()];
        order.iter().enumerate().for_each(|(k, &i)| rank[i as usize] = k as u32);
        let of = free.iter().map(|&free| if free { NONE } else { NEEDS_NONE }).collect();
        let coupling = vec![0.0; order.len()];
        let whole = (0..order.len()).map(|i| links.row(i).map(|link| link.1).sum()).collect();
        let (lists, frontier, sums, divisions) = (Vec::new(), Vec::new(), Vec::new(), BTreeMap::new());
        Self { links, rank, most, of, lists, coupling, whole, frontier, sums, divisions }
    }

    /// Grows a domain from `seed`, unless `seed` is already in a domain.
    fn domain(&mut self, seed: u32, cancel: Option<&Cancel>) -> Result<(), SetupError> {
        if self.of[seed as usize] == NONE {
            SetupError::unless_cancelled(cancel)?;
            let name = self.lists.len() as u32;
            let list = self.set(seed, NONE, name, self.most);
            self.lists.push(list);
        }
        Ok(())
    }

    /// Moves up to `most` connected nodes from domain `from` to domain `to`, beginning with `seed`.
    fn set(&mut self, seed: u32, from: u32, to: u32, most: usize) -> Vec<u32> {
        let mut list = Vec::new();
        let mut next = Some(seed);
        while let Some(i) = next {
            self.of[i as usize] = to;
            list.push(i);
            for (j, w) in self.links.row(i as usize) {
                if w > 0.0 && self.of[j as usize] == from {
                    if self.coupling[j as usize] == 0.0 {
                        self.frontier.push(j);
                    }
                    self.coupling[j as usize] += w;
                }
            }
            next = if list.len() < most { self.strongest() } else { None };
        }
        self.frontier.drain(..).for_each(|j| self.coupling[j as usize] = 0.0);
        list
    }

    /// Removes the most strongly coupled node from the frontier.
    fn strongest(&mut self) -> Option<u32> {
        let share = |j: u32| self.coupling[j as usize] / self.whole[j as usize];
        let key = |j: u32| (share(j), std::cmp::Reverse(self.rank[j as usize]));
        let better = |&(_, &i): &(usize, &u32), &(_, &j): &(usize, &u32)| {
            let (a, b) = (key(i), key(j));
            a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))
        };
        let at = self.frontier.iter().enumerate().max_by(better)?.0;
        let i = self.frontier.swap_remove(at);
        self.coupling[i as usize] = 0.0;
        Some(i)
    }

    /// Joins every domain of at most half the maximal size with the neighbour to which it is most strongly
    /// coupled. A union that is too large is divided again.
    fn join_pockets(&mut self, cancel: Option<&Cancel>) -> Result<(), SetupError> {
        self.sums.resize(self.lists.len(), 0.0);
        // The last domain of pockets beside each domain.
        let mut shared = BTreeMap::new();
        for d in 0..self.lists.len() {
            if 2 * self.lists[d].len() > self.most || self.lists[d].is_empty() {
                continue;
            }
            SetupError::unless_cancelled(cancel)?;
            let Some(first) = self.neighbour(d, None) else { continue };
            let mut joined = self.affords(d, first).then_some(first);
            if joined.is_none() {
                joined = self.neighbour(d, Some(first)).filter(|&e| self.affords(d, e));
            }
            let Some(e) = joined else {
                self.share(d, shared.entry(first).or_insert(d));
                continue;
            };
            let (pocket, other) = (self.lists[d].clone(), self.lists[e].clone());
            if pocket.len() + other.len() <= self.most {
                pocket.iter().for_each(|&i| self.of[i as usize] = e as u32);
                self.lists[e].extend(pocket);
                self.lists[d].clear();
                continue;
            }
            // The pocket grows into its neighbour up to half the union. The remaining nodes must be
            // connected.
            other.iter().for_each(|&i| self.of[i as usize] = d as u32);
            let half = (pocket.len() + other.len()) / 2;
            let grown = self.set(pocket[0], d as u32, NONE, half);
            let rest = pocket.iter().chain(&other).copied().find(|&i| self.of[i as usize] == d as u32);
            let rest = rest.map_or(Vec::new(), |seed| self.set(seed, d as u32, e as u32, self.most));
            if grown.len() + rest.len() == pocket.len() + other.len() {
                grown.iter().for_each(|&i| self.of[i as usize] = d as u32);
                (self.lists[d], self.lists[e]) = (grown, rest);
            } else {
                pocket.iter().for_each(|&i| self.of[i as usize] = d as u32);
                other.iter().for_each(|&i| self.of[i as usize] = e as u32);
            }
        }
        Ok(())
    }

    /// Returns the domain with the strongest couplings to d, other than `except`.
    fn neighbour(&mut self, d: usize, except: Option<usize>) -> Option<usize> {
        let mut found = Vec::new();
        for &i in &self.lists[d] {
            for (j, w) in self.links.row(i as usize) {
                let e = self.of[j as usize];
                if w > 0.0 && e != d as u32 && e < NEEDS_NONE {
                    let sum = &mut self.sums[e as usize];
                    if *sum == 0.0 {
                        found.push(e as usize);
                    }
                    *sum += w;
                }
            }
        }
        let sums = &self.sums;
        let others = found.iter().copied().filter(|&e| Some(e) != except);
        let best = others.max_by(|&a, &b| sums[a].total_cmp(&sums[b]).then(b.cmp(&a)));
        found.iter().for_each(|&e| self.sums[e] = 0.0);
        best
    }

    /// Whether the union of two domains fits into one domain, or may be divided. A division is counted for the node
    /// that makes it expensive.
    fn affords(&mut self, d: usize, e: usize) -> bool {
        let nodes = || self.lists[d].iter().chain(&self.lists[e]);
        let couplings = |i: u32| self.links.columns(i as usize).len();
        let longest = nodes().copied().max_by_key(|&i| couplings(i));
        let Some(center) = longest.filter(|&i| couplings(i) > LONG * self.most) else { return true };
        if nodes().count() <= self.most {
            return true;
        }
        let divisions = self.divisions.entry(center).or_insert(0);
        *divisions += 1;
        *divisions <= DIVISIONS
    }

    /// Moves the nodes of d to the domain `to`, or makes d that domain if `to` would become too large.
    fn share(&mut self, d: usize, to: &mut usize) {
        if *to == d || self.lists[*to].len() + self.lists[d].len() > self.most {
            *to = d;
            return;
        }
        let nodes = std::mem::take(&mut self.lists[d]);
        nodes.iter().for_each(|&i| self.of[i as usize] = *to as u32);
        self.lists[*to].extend(nodes);
    }

    fn finish(self) -> Domains {
        let mut domains = Domains { order: Vec::new(), starts: vec![0], at: vec![[NONE, 0]; self.of.len()] };
        for list in self.lists.into_iter().filter(|list| !list.is_empty()) {
            let d = domains.count() as u32;
            list.iter().enumerate().for_each(|(k, &i)| domains.at[i as usize] = [d, k as u32]);
            domains.order.extend(list);
            domains.starts.push(domains.order.len() as u32);
        }
        domains
    }
}
