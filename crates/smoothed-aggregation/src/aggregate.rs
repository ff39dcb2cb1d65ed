//! Aggregates of strongly connected nodes.
//!
//! Pass 1 is Algorithm 1 of Tamstorf 2015; its step numbers are given at line ends. Nodes whose neighbours
//! all lie in the same chunk are visited first, with chunks in parallel. Nodes with neighbours in other
//! chunks follow in order. Pass 2 is the alternative to Algorithm 2 in the same paper: each left-over node
//! joins the aggregate to which it is most strongly connected. Pass 3 merges aggregates of one or two nodes
//! into a neighbouring aggregate, because they cannot represent the rotations of a rigid body. Chunks depend
//! only on the number of nodes, so the aggregates are the same for any number of threads. A high-degree node is an
//! aggregate before pass 2; other nodes join it only by strong couplings, or if they have no other neighbours.
//!
//! Until aggregates are numbered, they are identified by their root, the node from which they grew.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use coarsen_core::parallel::{self, each};
use coarsen_sparse::Pattern;

use super::high_degree::HighDegree;

const NONE: u32 = u32::MAX;

/// The number of nodes per chunk.
const CHUNK: usize = 8192;

/// Aggregates with fewer nodes are merged into a neighbouring aggregate. Three nodes can represent six rigid-body modes.
const SMALLEST: usize = 3;

/// The input of aggregation: the weight and the strong flag of each stored block.
pub(super) struct Couplings<'a> {
    pub(super) pattern: &'a Pattern,
    pub(super) weights: &'a [f32],
    pub(super) strong: &'a [bool],
    pub(super) high_degree: &'a HighDegree,
}

impl Couplings<'_> {
    /// Returns the stored off-diagonal blocks of row i: the neighbour, the weight, and whether the coupling
    /// is strong.
    pub(super) fn of(&self, i: usize) -> impl Iterator<Item = (usize, f32, bool)> {
        let range = self.pattern.range(i);
        let stored = self.weights[range.clone()].iter().zip(&self.strong[range]).zip(self.pattern.row(i));
        stored.map(|((&weight, &strong), &j)| (j as usize, weight, strong)).filter(move |&(j, ..)| j != i)
    }

    /// Whether a node may join the aggregate with the given root by a coupling: that of a high-degree node only by a strong one.
    fn opens(&self, root: u32, strong: bool) -> bool {
        strong || !self.high_degree.contains(root as usize)
    }

    /// Whether a pass over all couplings is worth several threads.
    pub(super) fn worth(&self) -> bool {
        parallel::worth(4 * self.pattern.len())
    }
}

/// Returns the aggregate of each node, `u32::MAX` for decoupled nodes, and the number of aggregates. Aggregates
/// are numbered in the order of their roots. An aggregate with a neighbour has at least [`SMALLEST`] nodes, unless
/// it is that of a high-degree node or its only neighbours are high-degree nodes. If `twice`, aggregates contain second neighbours.
pub(super) fn aggregate(a: &Couplings<'_>, decoupled: &[bool], twice: bool) -> (Vec<u32>, usize) {
    let n = decoupled.len();
    let high_degree = || a.high_degree.rows().filter(|&i| !decoupled[i]);
    let mut apart = Cow::Borrowed(decoupled); // the nodes that pass 1 leaves out
    high_degree().for_each(|node| apart.to_mut()[node] = true);
    let mut root = vec![NONE; n]; // 2
    let mut border = vec![false; n];
    let pieces = (0..n, &mut root[..], &mut border[..]);
    each(pieces, CHUNK, a.worth(), &|(chunk, root, border): (Range<usize>, &mut [u32], &mut [bool])| {
        let first = chunk.start;
        for i in chunk.clone().filter(|&i| !apart[i]) {
            border[i - first] = a.of(i).any(|(j, _, strong)| strong && !apart[j] && !chunk.contains(&j));
            if !border[i - first] {
                grow(a, &apart, twice, i, first, root);
            }
        }
    });
    for i in (0..n).filter(|&i| border[i]) {
        grow(a, &apart, twice, i, 0, &mut root);
    }
    high_degree().for_each(|node| root[node] = node as u32);
    // Pass 2 reads only the result of pass 1, so that chains do not grow in one direction.
    let mut of = root.clone();
    each((0..n, &mut of[..]), CHUNK, a.worth(), &|(chunk, of): (Range<usize>, &mut [u32])| {
        for (i, of) in chunk.zip(of).filter(|(i, of)| **of == NONE && !decoupled[*i]) {
            *of = strongest(a, i, |j, strong| strong && root[j] != NONE).map_or(NONE, |j| root[j]);
        }
    });
    // A node whose strong neighbours are all decoupled joins an aggregate by any coupling, or becomes an
    // aggregate.
    for i in (0..n).filter(|&i| !decoupled[i]) {
        if of[i] == NONE {
            // A node with no neighbours but high-degree nodes has nothing else to join.
            let alone = a.of(i).all(|(j, ..)| decoupled[j] || a.high_degree.contains(j));
            let open = |j: usize, strong| of[j] != NONE && (alone || a.opens(of[j], strong));
            of[i] = strongest(a, i, open).map_or(i as u32, |j| of[j]);
        }
    }
    let mut sizes = vec![0_u32; n];
    of.iter().filter(|&&g| g != NONE).for_each(|&g| sizes[g as usize] += 1);
    dissolve_small(a, &mut of, &mut sizes);
    number(of, sizes)
}

/// Makes node i and its strong neighbours that are not `apart` an aggregate with root i, if there are such
/// neighbours and all of them are free. `root` starts at node `first`.
///
/// If `twice`, free neighbours of these neighbours within `root` join as well.
fn grow(a: &Couplings<'_>, apart: &[bool], twice: bool, i: usize, first: usize, root: &mut [u32]) {
    let neighbours = |i: usize| a.of(i).filter(|&(j, _, strong)| strong && !apart[j]).map(|(j, ..)| j); // 5
    if root[i - first] == NONE
        && neighbours(i).all(|j| root[j - first] == NONE)
        && neighbours(i).next().is_some()
    {
        root[i - first] = i as u32; // 6, 7
        neighbours(i).for_each(|j| root[j - first] = i as u32); // 7
        let within = first..first + root.len();
        for j in neighbours(i).filter(|_| twice) {
            for k in neighbours(j).filter(|k| within.contains(k)) {
                if root[k - first] == NONE {
                    root[k - first] = i as u32;
                }
            }
        }
    }
}

/// Returns the neighbour of i with the largest weight for which `eligible` returns true, given the neighbour
/// and its strong flag. Among equal weights this is the first neighbour.
fn strongest(a: &Couplings<'_>, i: usize, eligible: impl Fn(usize, bool) -> bool) -> Option<usize> {
    let mut best: Option<(usize, f32)> = None;
    for (j, weight, strong) in a.of(i) {
        if weight > best.map_or(0.0, |b| b.1) && eligible(j, strong) {
            best = Some((j, weight));
        }
    }
    best.map(|b| b.0)
}

/// Pass 3: an aggregate of fewer than [`SMALLEST`] nodes is merged into the aggregate at the other end of its
/// strongest outward coupling, unless it has a high-degree node.
///
/// `sizes[i]` is the number of nodes of the aggregate with root i.
fn dissolve_small(a: &Couplings<'_>, of: &mut [u32], sizes: &mut [u32]) {
    let small = |size: u32| (1..SMALLEST as u32).contains(&size);
    let mut members = BTreeMap::<u32, Vec<usize>>::new();
    for (i, &g) in of.iter().enumerate() {
        if g != NONE && small(sizes[g as usize]) && !a.high_degree.contains(g as usize) {
            members.entry(g).or_default().push(i);
        }
    }
    let roots: Vec<u32> = members.keys().copied().collect();
    for own in roots {
        let Some(nodes) = members.get(&own).filter(|nodes| nodes.len() < SMALLEST).cloned() else { continue };
        let mut best: Option<(u32, f32)> = None;
        for (j, weight, strong) in nodes.iter().flat_map(|&i| a.of(i)) {
            let open = of[j] != NONE && of[j] != own && a.opens(of[j], strong);
            if open && weight > best.map_or(0.0, |b| b.1) {
                best = Some((of[j], weight));
            }
        }
        if let Some((other, _)) = best {
            nodes.iter().for_each(|&i| of[i] = other);
            (sizes[own as usize], sizes[other as usize]) = (0, sizes[other as usize] + nodes.len() as u32);
            members.remove(&own);
            members.entry(other).and_modify(|m| m.extend(nodes));
        }
    }
}

/// Replaces roots by numbers; `sizes[i]` is the number of nodes of the aggregate with root i.
fn number(mut of: Vec<u32>, mut sizes: Vec<u32>) -> (Vec<u32>, usize) {
    let mut count = 0;
    for size in sizes.iter_mut().filter(|size| **size > 0) {
        *size = count; // now the number of the aggregate
        count += 1;
    }
    let (numbers, worth) = (&sizes[..], parallel::worth(of.len()));
    each(&mut of[..], CHUNK, worth, &|of: &mut [u32]| {
        of.iter_mut().filter(|g| **g != NONE).for_each(|g| *g = numbers[*g as usize]);
    });
    (of, count as usize)
}
