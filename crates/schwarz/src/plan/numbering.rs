//! The nodes of all levels in one numbering, and the couplings inside domains: lists for devices.

use coarsen_core::Error;
use coarsen_sparse::Pattern;

use super::Plan;
use crate::domains::NONE;
use crate::packed::AREA;

/// The levels of a [`Plan`] as lists over one numbering of all nodes.
///
/// Nodes are numbered in this order: the finest level, the level solved as one system (if any), and the
/// coarse levels from finer to coarser. A *position* is an index into `order`, which lists the members of the
/// domains, domain by domain and level by level. The kernels in `kernels/schwarz/lists.cl` read the same
/// lists. *Cost* one pass over the nodes of all levels; about 4 numbers of 4 bytes per node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Numbering {
    /// For each level with domains, and for the level solved as one system, the number of its first node.
    pub first: Vec<usize>,
    /// For each coarse level from finer to coarser, its first node and its end node, counted from the first
    /// coarse node.
    pub levels: Vec<[usize; 2]>,
    /// The node at each position.
    pub order: Vec<u32>,
    /// The first position of each domain, and the position after its last.
    pub ranges: Vec<u32>,
    /// The start of the packed inverse of each domain, in tiles of 64 values.
    pub offsets: Vec<u32>,
    /// The node of the next level that contains each node; `u32::MAX` if there is none.
    pub parent: Vec<u32>,
    /// For each coarse node, the range of positions of the nodes in its domain: the first, and the position
    /// after the last.
    pub children: Vec<u32>,
    /// The number of unknowns of the largest domain.
    pub largest: usize,
}

/// The blocks of a matrix from which the domains of all levels are assembled.
///
/// Block numbers are indices in the pattern, row by row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Couplings {
    /// The diagonal block of each node; `u32::MAX` if it is not stored.
    pub own: Vec<u32>,
    /// The start of the couplings of each position in `inner`, and the end of the last couplings.
    pub starts: Vec<u32>,
    /// For each coupling, its block and the earlier of its two positions in the domain.
    pub inner: Vec<[u32; 2]>,
    /// 1 for every node in no domain, otherwise 0.
    pub alone: Vec<u32>,
}

impl Plan {
    /// Returns the levels as lists over one numbering of all nodes.
    ///
    /// # Errors
    /// [`Error::TooLarge`] if there are more nodes, or more tiles of all inverses, than `u32` can number.
    pub fn numbering(&self) -> Result<Numbering, Error> {
        let (fine, top, last) = (self.nodes(0), self.top_nodes(), self.levels());
        let mut first = vec![0];
        let mut next = fine + top;
        for level in 1..last {
            first.push(next);
            next += self.nodes(level);
        }
        first.push(fine);
        let tiles_of = |level: usize| self.domain_levels[level].values() / AREA;
        let most = next.max((0..last).map(tiles_of).sum());
        if most >= NONE as usize {
            return Err(Error::TooLarge { what: "nodes of all levels", count: most, limit: NONE as usize });
        }
        let mut lists = Numbering {
            levels: (1..last).map(|l| [first[l] - fine, first[l] - fine + self.nodes(l)]).collect(),
            order: Vec::new(),
            ranges: Vec::new(),
            offsets: Vec::new(),
            parent: vec![NONE; next],
            children: vec![0; 2 * (next - fine)],
            largest: 0,
            first,
        };
        if top > 0 {
            lists.levels.push([0, top]);
        }
        for level in 0..last {
            let before: usize = (0..level).map(tiles_of).sum();
            for d in 0..self.domains(level) {
                let (begin, members) = (lists.order.len() as u32, self.members(level, d));
                lists.order.extend(members.iter().map(|&i| i + lists.first[level] as u32));
                let end = lists.order.len() as u32;
                lists.ranges.extend([begin, end]);
                lists.offsets.push((before + self.offsets(level)[d] / AREA) as u32);
                lists.largest = lists.largest.max(members.len() * self.block());
                if level + 1 < last || top > 0 {
                    let above = lists.first[level + 1] + d;
                    lists.children[2 * (above - fine)..][..2].copy_from_slice(&[begin, end]);
                    members.iter().for_each(|&i| {
                        lists.parent[lists.first[level] + i as usize] = above as u32;
                    });
                }
            }
        }
        Ok(lists)
    }

    /// Returns the blocks of a matrix from which the domains of all levels are assembled. `pattern` is a
    /// pattern of the plan's nodes, and `numbering` the numbering of the plan.
    ///
    /// Nodes i and j of the finest level belong to different nodes up to the level on which one domain
    /// contains both, and to the same node on all coarser levels. So block (i, j), i ≠ j, is part of an
    /// off-diagonal block (s, t) of a domain on at most one level. It is listed at the later of the two
    /// positions. The lower triangles of all domains are thus gathered without coarse matrices. *Cost* two
    /// passes over the blocks, each with a walk through the levels.
    pub fn couplings(&self, numbering: &Numbering, pattern: &Pattern) -> Couplings {
        let mut position = vec![NONE; numbering.parent.len()];
        numbering.order.iter().enumerate().for_each(|(p, &i)| position[i as usize] = p as u32);
        let own = (0..pattern.rows()).map(|i| pattern.find(i, i).map_or(NONE, |k| k as u32)).collect();
        // Returns the position at which a block is gathered, and the other position.
        let place = |i: usize, j: usize| {
            let (mut s, mut t) = (i, j);
            for level in 0..self.levels() {
                let first = numbering.first[level];
                let (d, e) = (self.domain_of(level, s)?, self.domain_of(level, t)?);
                if d == e {
                    let (p, q) = (position[first + s], position[first + t]);
                    return (q < p).then_some((p as usize, q));
                }
                (s, t) = (d, e);
            }
            None
        };
        let blocks = |found: &mut dyn FnMut(usize, u32, usize)| {
            for i in 0..pattern.rows() {
                for k in pattern.range(i) {
                    let j = pattern.indices()[k] as usize;
                    if let Some((p, q)) = (j != i).then(|| place(i, j)).flatten() {
                        found(p, q, k);
                    }
                }
            }
        };
        let mut starts = vec![0; numbering.order.len() + 1];
        blocks(&mut |p, _, _| starts[p + 1] += 1);
        (1..starts.len()).for_each(|p| starts[p] += starts[p - 1]);
        let mut next = starts.clone();
        let mut inner = vec![[0; 2]; starts[starts.len() - 1] as usize];
        blocks(&mut |p, q, block| {
            inner[next[p] as usize] = [block as u32, q];
            next[p] += 1;
        });
        let mut alone = vec![0; pattern.rows()];
        self.left_out().iter().for_each(|&i| alone[i as usize] = 1);
        Couplings { own, starts, inner, alone }
    }
}
