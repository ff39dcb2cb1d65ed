//! Handles after a cut: only the region around the cut is sampled again.
//!
//! | symbol | what |
//! |---|---|
//! | Ω_l, d(i) | the handles of level l, the distance of node i to them, as in `handles` |
//! | region | all nodes that are controlled by a handle of a touched node |
//!
//! A shortest path to a handle contains only nodes that this handle controls. So a removed edge changes
//! distances only in the region. This holds on each level.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use super::handles::{Far, Field, Handles, Lengths};

/// A cut through a body whose handles are known, for [`Skinning::cut`](super::Skinning::cut).
#[derive(Clone, Debug, PartialEq)]
pub struct Cut {
    /// The handles before the cut: [`Controlled::handles`](super::Controlled::handles) of the old hierarchy.
    /// Old nodes keep the rest positions that they had in it.
    pub handles: Arc<Handles>,
    /// The nodes that lost an edge and the new nodes. New nodes have higher numbers than old nodes.
    pub touched: Vec<u32>,
}

impl Handles {
    /// Returns the handles for the `graph` after a cut. Old handles are kept. New handles are added if the
    /// largest distance of a level would grow, or if a component has no handle.
    ///
    /// *Cost* of a level: Dijkstra's algorithm in the region, and a pass over all nodes.
    pub(super) fn after_cut(&self, graph: &Lengths<'_>, touched: &[u32]) -> Self {
        let nodes = graph.pattern.rows();
        let (mut order, mut place) = (Vec::<u32>::new(), vec![u32::MAX; nodes]);
        let append = |node: u32, order: &mut Vec<u32>, place: &mut Vec<u32>| {
            place[node as usize] = order.len() as u32;
            order.push(node);
        };
        let (mut fields, mut counts) = (Vec::new(), Vec::new());
        for level in (0..self.controls.len()).rev() {
            let old = &self.order[..self.count(level)];
            let mut known = vec![false; nodes];
            old.iter().for_each(|&i| known[i as usize] = true);
            let added: Vec<u32> = order.iter().copied().filter(|&i| !known[i as usize]).collect();
            for &node in old {
                if place[node as usize] == u32::MAX {
                    append(node, &mut order, &mut place);
                }
            }
            let bound = self.fields[level].distance.iter().copied().fold(0.0, f64::max);
            let mut field = self.fields[level].renumbered(nodes, |j| place[self.order[j as usize] as usize]);
            let mut candidates = field.forget(graph, touched, &order);
            added.iter().for_each(|&node| field.add(graph, node, place[node as usize]));
            while let Some((_, node)) = field.tighten(&mut candidates).filter(|(d, _)| *d > bound) {
                field.add(graph, node, order.len() as u32);
                append(node, &mut order, &mut place);
            }
            fields.push(field);
            counts.push(order.len());
        }
        fields.reverse();
        counts.reverse();
        Self { frame: self.frame, ..Self::from_fields(order, fields, &counts) }
    }
}

impl Field {
    /// Returns the distances with the handles renumbered by `number`. The new nodes are appended without a
    /// distance.
    fn renumbered(&self, nodes: usize, number: impl Fn(u32) -> u32) -> Self {
        let mut field = Self::new(nodes);
        field.distance[..self.distance.len()].copy_from_slice(&self.distance);
        field.nearest.iter_mut().zip(&self.nearest).for_each(|(to, &from)| *to = number(from));
        field
    }

    /// Computes the distances in the region again, from its handles and from the nodes around it. Returns the
    /// region; the farthest node is then searched there.
    fn forget(
        &mut self,
        graph: &Lengths<'_>,
        touched: &[u32],
        order: &[u32],
    ) -> BinaryHeap<(Far, Reverse<u32>)> {
        let mut lost = vec![false; order.len()];
        for &i in touched {
            if let Some(lost) = lost.get_mut(self.nearest[i as usize] as usize) {
                *lost = true;
            }
        }
        let inside = |nearest: u32| lost.get(nearest as usize).is_none_or(|&lost| lost);
        let region: Vec<u32> =
            (0..self.nearest.len() as u32).filter(|&i| inside(self.nearest[i as usize])).collect();
        for &i in &region {
            (self.distance[i as usize], self.nearest[i as usize]) = (f64::INFINITY, u32::MAX);
        }
        for &i in &region {
            for &j in graph.pattern.row(i as usize) {
                let d = self.distance[j as usize];
                if d.is_finite() {
                    self.front.push(Reverse((Far(d), j)));
                }
            }
        }
        for (j, &node) in order.iter().enumerate().filter(|(j, _)| lost[*j]) {
            self.reach(node, 0.0, j as u32);
        }
        self.spread(graph);
        self.leave_alone(graph, region.iter().copied());
        region.into_iter().map(|i| (Far(f64::INFINITY), Reverse(i))).collect()
    }
}
