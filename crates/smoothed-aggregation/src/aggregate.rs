//! Aggregates of strongly connected nodes.
//!
//! Pass 1 is Algorithm 1 of Tamstorf 2015; its step numbers are given at line ends. Nodes whose neighbours
//! all lie in the same chunk are visited first, with chunks in parallel. Nodes with neighbours in other
//! chunks follow, most of them in parallel too. Pass 2 is the alternative to Algorithm 2 in the same paper:
//! each left-over node joins the aggregate to which it is most strongly connected. Pass 3 merges aggregates of
//! one or two nodes into a neighbouring aggregate, because they cannot represent the rotations of a rigid body.
//! Chunks depend only on the pattern, so the aggregates are the same for any number of threads. A high-degree node is an
//! aggregate before pass 2; other nodes join it only by strong couplings, or if they have no other neighbours.
//!
//! Until aggregates are numbered, they are identified by their root, the node from which they grew.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use coarsen_core::parallel::{self, each, tree};
use coarsen_sparse::Pattern;
use rayon::prelude::*;

use super::high_degree::HighDegree;

const NONE: u32 = u32::MAX;

/// The number of nodes per task, and per chunk of pass 1 unless couplings are long.
const PART: usize = 8192;

/// The number of rows from which the length of couplings is estimated.
const SAMPLES: usize = 1024;

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
    let mut root = grow_all(a, &apart, twice);
    high_degree().for_each(|node| root[node] = node as u32);
    // Pass 2 reads only the result of pass 1, so that chains do not grow in one direction.
    let mut of = vec![0_u32; n];
    let join = |(nodes, of): (Range<usize>, &mut [u32])| {
        let mut left_over = false;
        for (i, of) in nodes.zip(of) {
            *of = root[i];
            if root[i] == NONE && !decoupled[i] {
                *of = strongest(a, i, |j, strong| strong && root[j] != NONE).map_or(NONE, |j| root[j]);
                left_over |= *of == NONE;
            }
        }
        left_over
    };
    if tree((0..n, &mut of[..]), PART, a.worth(), &join, &|left, right| left | right) {
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
    }
    let (mut roots, may_be_small) = count_roots(a, &of, &apart, SMALLEST);
    if may_be_small {
        let mut sizes = vec![0_u32; n];
        of.iter().filter(|&&g| g != NONE).for_each(|&g| sizes[g as usize] += 1);
        dissolve_small(a, &mut of, &mut sizes);
        (roots, _) = count_roots(a, &of, &apart, 0);
    }
    number(of, root, &roots)
}

/// Pass 1: the root of each node, [`NONE`] for nodes that are left over.
///
/// Chunks are visited in parallel, then those between their middles, which contain the nodes around their ends, and then, in
/// order, nodes with neighbours in two chunks of both kinds.
fn grow_all(a: &Couplings<'_>, apart: &[bool], twice: bool) -> Vec<u32> {
    let (n, chunk) = (apart.len(), chunk_length(a, apart));
    let (mut root, mut border) = (vec![0_u32; n], vec![false; n]);
    let is_border = |i: usize, chunk: &Range<usize>| {
        a.of(i).any(|(j, _, strong)| strong && !apart[j] && !chunk.contains(&j))
    };
    each_chunk(a, (0, chunk), &mut root, &mut border, &|first, root, border| {
        root.fill(NONE); // 2
        let chunk = first..first + root.len();
        for i in chunk.clone().filter(|&i| !apart[i]) {
            border[i - first] = chunk.len() < n && is_border(i, &chunk);
            if !border[i - first] {
                grow(a, apart, twice, i, first, root);
            }
        }
    });
    if n > chunk {
        let middle = chunk / 2;
        each_chunk(a, (middle, chunk), &mut root[middle..], &mut border[middle..], &|first, root, border| {
            let chunk = first..first + root.len();
            for i in chunk.clone() {
                if border[i - first] && !is_border(i, &chunk) {
                    border[i - first] = false;
                    grow(a, apart, twice, i, first, root);
                }
            }
        });
        for i in (0..n).filter(|&i| border[i]) {
            grow(a, apart, twice, i, 0, &mut root);
        }
    }
    root
}

/// Returns the number of nodes per chunk. All nodes are one chunk if strong couplings reach over half of a part, as in a cube whose
/// planes have thousands of nodes: aggregates of many chunks would fit together badly, which costs iterations.
fn chunk_length(a: &Couplings<'_>, apart: &[bool]) -> usize {
    let n = apart.len();
    let (mut lengths, mut rows) = (0, 0);
    for i in (0..n).step_by(n.div_ceil(SAMPLES).max(1)).filter(|&i| !apart[i]) {
        let strong = || a.of(i).filter(|&(j, _, strong)| strong && !apart[j]).map(|(j, ..)| j);
        let first = strong().min().map_or(i, |first| first.min(i));
        lengths += strong().max().map_or(i, |last| last.max(i)) - first;
        rows += 1;
    }
    if 2 * lengths > PART * rows { n.max(1) } else { PART }
}

/// Calls `f` for each chunk of so many nodes from node `first` on, with its first node, its roots and its flags.
fn each_chunk(
    a: &Couplings<'_>,
    (first, length): (usize, usize),
    root: &mut [u32],
    border: &mut [bool],
    f: &(impl Fn(usize, &mut [u32], &mut [bool]) + Sync),
) {
    let chunk =
        |(at, (root, border)): (usize, (&mut [u32], &mut [bool]))| f(first + at * length, root, border);
    if a.worth() {
        let chunks = root.par_chunks_mut(length).zip(border.par_chunks_mut(length));
        chunks.enumerate().for_each(chunk);
    } else {
        let chunks = root.chunks_mut(length).zip(border.chunks_mut(length));
        chunks.enumerate().for_each(chunk);
    }
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

/// Returns the number of roots in each part of the nodes, and whether an aggregate may have fewer than `smallest` nodes: one
/// whose root has few strong neighbours, since pass 1 gives it all of them.
fn count_roots(a: &Couplings<'_>, of: &[u32], apart: &[bool], smallest: usize) -> (Vec<u32>, bool) {
    let has_few = |i: usize| {
        let strong = a.of(i).filter(|&(j, _, strong)| strong && !apart[j]);
        !a.high_degree.contains(i) && strong.count() + 1 < smallest
    };
    let count = |nodes: Range<usize>| {
        let (mut roots, mut few) = (0, false);
        for i in nodes.filter(|&i| of[i] as usize == i) {
            roots += 1;
            few = few || (smallest > 0 && has_few(i));
        }
        (vec![roots], few)
    };
    let append = |(mut roots, few): (Vec<u32>, bool), (later, or): (Vec<u32>, bool)| {
        roots.extend(later);
        (roots, few || or)
    };
    tree(0..of.len(), PART, a.worth(), &count, &append)
}

/// Replaces roots by numbers, in the memory `numbers`; `roots` are the numbers of roots in each part.
fn number(mut of: Vec<u32>, mut numbers: Vec<u32>, roots: &[u32]) -> (Vec<u32>, usize) {
    let mut count = 0;
    let before = |&roots: &u32| {
        count += roots;
        count - roots
    };
    let firsts: Vec<u32> = roots.iter().map(before).collect();
    let worth = parallel::worth(of.len());
    each((0..of.len(), &mut numbers[..]), PART, worth, &|(nodes, numbers): (Range<usize>, &mut [u32])| {
        let first = firsts[nodes.start / PART];
        let roots = nodes.zip(numbers).filter(|(i, _)| of[*i] as usize == *i);
        (first..).zip(roots).for_each(|(next, (_, number))| *number = next);
    });
    each(&mut of[..], PART, worth, &|of: &mut [u32]| {
        of.iter_mut().filter(|g| **g != NONE).for_each(|g| *g = numbers[*g as usize]);
    });
    (of, count as usize)
}
