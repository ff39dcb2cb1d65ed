//! Control points after a cut: only the region around the cut is sampled again.
//!
//! | symbol | what |
//! |---|---|
//! | Ω_l, d(i) | the control points of level l, the distance of node i to them, as in `control_points` |
//! | support of i | a neighbour j of the same control point with d(i) = d(j) + ℓ_ij: the last step of a shortest path |
//! | region | the touched nodes without a support, and the nodes whose supports are all in the region |
//!
//! A node that keeps a support keeps its distance. Lengths by stiffness change with the values of A; then no edge fits
//! the old distances, and all nodes behind the cut are in the region. So removed edges change distances only in the
//! region, which is found from the touched nodes in the order of distances, as in Ramalingam & Reps 1996, "On the
//! computational complexity of dynamic graph problems". This holds on each level.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use coarsen_backend::SetupError;
use coarsen_core::Cancel;

use super::control_points::{ControlPoints, Far, Field, Lengths};

/// A cut through a body whose control points are known, for [`Skinning::cut`](super::Skinning::cut).
#[derive(Clone, Debug, PartialEq)]
pub struct Cut {
    /// The control points before the cut: [`Controlled::control_points`](super::Controlled::control_points) of the old
    /// hierarchy. Old nodes keep the rest positions that they had in it.
    pub control_points: Arc<ControlPoints>,
    /// The nodes that lost an edge and the new nodes. New nodes have higher numbers than old nodes.
    pub touched: Vec<u32>,
}

impl ControlPoints {
    /// Returns the control points for the `graph` after a cut. Old control points are kept. New control points are
    /// added if the largest distance of a level would grow, or if a component has no control point.
    ///
    /// *Cost* of a level: Dijkstra's algorithm in the region, and copies of the distances of all nodes.
    ///
    /// # Errors
    /// [`SetupError::Cancelled`] once `cancel` is set.
    pub(super) fn after_cut(
        &self,
        graph: &Lengths<'_>,
        touched: &[u32],
        cancel: Option<&Cancel>,
    ) -> Result<Self, SetupError> {
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
            let mut candidates = field.forget(graph, touched, &order, cancel)?;
            for &node in &added {
                field.add(graph, node, place[node as usize], cancel)?;
            }
            while let Some((_, node)) = field.tighten(&mut candidates).filter(|(d, _)| *d > bound) {
                field.add(graph, node, order.len() as u32, cancel)?;
                append(node, &mut order, &mut place);
            }
            fields.push(field);
            counts.push(order.len());
        }
        fields.reverse();
        counts.reverse();
        Ok(Self { frame: self.frame, ..Self::from_fields(order, fields, &counts) })
    }
}

impl Field {
    /// Returns the distances with the control points renumbered by `number`. The new nodes are appended without a
    /// distance.
    fn renumbered(&self, nodes: usize, number: impl Fn(u32) -> u32) -> Self {
        let mut field = Self::new(nodes);
        field.distance[..self.distance.len()].copy_from_slice(&self.distance);
        field.nearest.iter_mut().zip(&self.nearest).for_each(|(to, &from)| *to = number(from));
        field
    }

    /// Computes the distances in the region again, from the nodes around it. Returns the region; the farthest node is
    /// then searched there.
    fn forget(
        &mut self,
        graph: &Lengths<'_>,
        touched: &[u32],
        control_points: &[u32],
        cancel: Option<&Cancel>,
    ) -> Result<BinaryHeap<(Far, Reverse<u32>)>, SetupError> {
        let region = self.region(graph, touched, control_points);
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
        // Edges of touched nodes may have other lengths.
        for &i in touched.iter().filter(|&&i| self.distance[i as usize].is_finite()) {
            self.front.push(Reverse((Far(self.distance[i as usize]), i)));
        }
        self.spread(graph, cancel)?;
        self.leave_alone(graph, region.iter().copied());
        Ok(region.into_iter().map(|i| (Far(f64::INFINITY), Reverse(i))).collect())
    }

    /// Returns the touched nodes that have no support, and the nodes whose supports are all in this list.
    ///
    /// A support is strictly nearer to the control point, so that nodes at one point do not support each other in a
    /// ring.
    fn region(&self, graph: &Lengths<'_>, touched: &[u32], control_points: &[u32]) -> Vec<u32> {
        let (mut inside, mut region) = (vec![false; self.distance.len()], Vec::new());
        let mut next: BinaryHeap<Reverse<(Far, u32)>> =
            touched.iter().map(|&i| Reverse((Far(self.distance[i as usize]), i))).collect();
        while let Some(Reverse((Far(d), i))) = next.pop() {
            let at = i as usize;
            // A node at the point of a control point is none itself, and may have lost it.
            if inside[at] || control_points.get(self.nearest[at] as usize) == Some(&i) {
                continue;
            }
            let edges = || graph.pattern.range(at).map(|edge| (graph.pattern.indices()[edge] as usize, edge));
            let supports = |j: usize, edge: usize| {
                self.nearest[j] == self.nearest[at]
                    && self.distance[j] < d
                    && self.distance[j] + graph.length(at, edge) == d
            };
            if d.is_finite() && edges().any(|(j, edge)| !inside[j] && supports(j, edge)) {
                continue;
            }
            inside[at] = true;
            region.push(i);
            // All that this node may have supported: lengths of today need not be those of the distances. A node at
            // the same point has the same distance.
            let follows = |j: usize| self.nearest[j] == self.nearest[at] && self.distance[j] >= d;
            edges()
                .filter(|&(j, _)| !inside[j] && d.is_finite() && follows(j))
                .for_each(|(j, _)| next.push(Reverse((Far(self.distance[j]), j as u32))));
        }
        region
    }
}
