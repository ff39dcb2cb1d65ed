//! An elimination order with small fill: approximate minimum degree in a quotient graph.
//!
//! The node with the fewest neighbours in the graph of the remaining matrix is eliminated next; its
//! neighbours become a clique. Cliques are not stored as edges but as *elements*: the list L_e of nodes that
//! the elimination of e connected.
//!
//! | symbol | name here |
//! |---|---|
//! | A_i, nodes connected to i by an entry of A | `variables[i]` |
//! | E_i, elements that i belongs to | `elements[i]` |
//! | L_e, nodes of an element | `members[e]` |
//! | \|i\|, the number of nodes that i represents | `weight[i]`, 0 once it is eliminated or merged |
//! | d_i, approximate degree | `degree[i]` |
//!
//! *Reference* Amestoy, Davis and Duff 1996, "An approximate minimum degree ordering algorithm", algorithm 2.

use std::collections::BTreeSet;

use coarsen_sparse::Graph;

/// Nodes with more than this many times √n neighbours are eliminated last.
const DENSE: f64 = 10.0;

/// The nodes in elimination order. *Cost* slightly more than m log n operations for m edges and n nodes.
pub(super) fn minimum_degree(graph: &Graph) -> Vec<u32> {
    let n = graph.nodes();
    let most = 16.max((DENSE * (n as f64).sqrt()) as usize);
    let dense: Vec<u32> = (0..n as u32).filter(|&i| graph.degree(i as usize) > most).collect();
    let mut quotient = Quotient::new(graph, |i| graph.degree(i as usize) > most);
    let mut order = Vec::with_capacity(n);
    while let Some((_, p)) = quotient.queue.pop_first() {
        quotient.eliminate(p);
        order.push(p);
    }
    expand(&order, &quotient.merged).into_iter().chain(dense).collect()
}

/// Each node of `order`, followed by the nodes that were merged into it.
fn expand(order: &[u32], merged: &[Vec<u32>]) -> Vec<u32> {
    let (mut all, mut stack) = (Vec::with_capacity(merged.len()), Vec::new());
    for &p in order {
        stack.push(p);
        while let Some(i) = stack.pop() {
            all.push(i);
            stack.extend(&merged[i as usize]);
        }
    }
    all
}

/// The quotient graph of the remaining matrix.
struct Quotient {
    variables: Vec<Vec<u32>>,
    elements: Vec<Vec<u32>>,
    members: Vec<Vec<u32>>,
    weight: Vec<u32>,
    /// The weight of all nodes of an element; 0 once it is part of another element.
    size: Vec<u32>,
    degree: Vec<u32>,
    /// Nodes sorted by degree.
    queue: BTreeSet<(u32, u32)>,
    merged: Vec<Vec<u32>>,
    left: u32,
    /// The last step that visited each node.
    visited: Vec<u32>,
    /// The last step that visited each element.
    counted: Vec<u32>,
    /// |L_e \ L_p| of the elements counted in the step that eliminates p.
    outside: Vec<u32>,
    step: u32,
}

impl Quotient {
    fn new(graph: &Graph, dense: impl Fn(u32) -> bool) -> Self {
        let n = graph.nodes();
        let kept = |i: usize| !dense(i as u32);
        let of = |i: usize| graph.neighbours(i).iter().copied().filter(|&j| !dense(j)).collect();
        let variables: Vec<Vec<u32>> = (0..n).map(|i| if kept(i) { of(i) } else { Vec::new() }).collect();
        let degree: Vec<u32> = variables.iter().map(|v| v.len() as u32).collect();
        let queue: BTreeSet<_> = (0..n).filter(|&i| kept(i)).map(|i| (degree[i], i as u32)).collect();
        Self {
            variables,
            elements: vec![Vec::new(); n],
            members: vec![Vec::new(); n],
            weight: (0..n).map(|i| u32::from(kept(i))).collect(),
            size: vec![0; n],
            degree,
            left: queue.len() as u32,
            queue,
            merged: vec![Vec::new(); n],
            visited: vec![0; n],
            counted: vec![0; n],
            outside: vec![0; n],
            step: 0,
        }
    }

    /// Turns p, which was removed from the queue, into an element.
    fn eliminate(&mut self, p: u32) {
        self.step += 1;
        self.left -= self.weight[p as usize];
        let mut joined = self.join(p);
        let size = joined.iter().map(|&i| self.weight[i as usize]).sum();
        self.count_outside(&joined);
        for &i in &joined {
            self.renew(i, p, size);
        }
        self.merge(&joined);
        joined.retain(|&i| self.weight[i as usize] > 0);
        self.size[p as usize] = size;
        self.members[p as usize] = joined;
    }

    /// Returns L_p = (A_p ∪ ⋃ L_e over e in E_p) \ {p}; the elements of p become part of p.
    fn join(&mut self, p: u32) -> Vec<u32> {
        let mut near = std::mem::take(&mut self.variables[p as usize]);
        for e in std::mem::take(&mut self.elements[p as usize]) {
            near.append(&mut self.members[e as usize]);
            self.size[e as usize] = 0;
        }
        self.weight[p as usize] = 0;
        let (weight, visited, step) = (&self.weight, &mut self.visited, self.step);
        near.retain(|&i| weight[i as usize] > 0 && std::mem::replace(&mut visited[i as usize], step) != step);
        near
    }

    /// Computes |L_e \ L_p| for every element that a node of L_p belongs to.
    fn count_outside(&mut self, joined: &[u32]) {
        for &i in joined {
            for &e in &self.elements[i as usize] {
                let e = e as usize;
                if std::mem::replace(&mut self.counted[e], self.step) != self.step {
                    self.outside[e] = self.size[e];
                }
                self.outside[e] = self.outside[e].saturating_sub(self.weight[i as usize]);
            }
        }
    }

    /// Removes from A_i the nodes of L_p and from E_i the elements inside p, adds p to E_i, and updates the
    /// bound d_i.
    fn renew(&mut self, i: u32, p: u32, size: u32) {
        let at = i as usize;
        let (weight, visited, step) = (&self.weight, &self.visited, self.step);
        self.variables[at].retain(|&j| weight[j as usize] > 0 && visited[j as usize] != step);
        let (sizes, outside) = (&self.size, &self.outside);
        self.elements[at].retain(|&e| sizes[e as usize] > 0 && outside[e as usize] > 0);
        let near: u32 = self.variables[at].iter().map(|&j| weight[j as usize]).sum();
        let far: u32 = self.elements[at].iter().map(|&e| outside[e as usize]).fold(0, u32::saturating_add);
        let inside = size - weight[at];
        let bound = near.saturating_add(inside).saturating_add(far);
        let grown = self.degree[at].saturating_add(inside);
        let degree = bound.min(grown).min(self.left - weight[at]);
        self.elements[at].push(p);
        self.queue.remove(&(self.degree[at], i));
        self.queue.insert((degree, i));
        self.degree[at] = degree;
    }

    /// Merges nodes of L_p with the same neighbours and the same elements. Neighbours are sorted by number
    /// and elements by step, so that equal sets are equal lists.
    fn merge(&mut self, joined: &[u32]) {
        let sum = |list: &[u32]| list.iter().fold(0_u64, |s, &v| s + u64::from(v));
        let key = |i: u32| sum(&self.variables[i as usize]) + sum(&self.elements[i as usize]);
        let mut keyed: Vec<(u64, u32)> = joined.iter().map(|&i| (key(i), i)).collect();
        keyed.sort_unstable();
        for alike in keyed.chunk_by(|a, b| a.0 == b.0) {
            for (k, &(_, i)) in alike.iter().enumerate() {
                for &(_, j) in &alike[k + 1..] {
                    let (i, j) = (i as usize, j as usize);
                    let same = self.weight[i] > 0
                        && self.weight[j] > 0
                        && self.variables[i] == self.variables[j]
                        && self.elements[i] == self.elements[j];
                    if same {
                        self.absorb(i, j);
                    }
                }
            }
        }
    }

    /// Merges j into i.
    fn absorb(&mut self, i: usize, j: usize) {
        self.queue.remove(&(self.degree[j], j as u32));
        self.queue.remove(&(self.degree[i], i as u32));
        self.degree[i] = self.degree[i].saturating_sub(self.weight[j]);
        self.queue.insert((self.degree[i], i as u32));
        self.weight[i] += self.weight[j];
        self.weight[j] = 0;
        self.merged[i].push(j as u32);
        self.variables[j] = Vec::new();
        self.elements[j] = Vec::new();
    }
}
