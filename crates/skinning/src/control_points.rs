//! The control points of all levels: farthest points of the elastic graph (§4.1).
//!
//! | symbol | what |
//! |---|---|
//! | Ω_0 | all nodes |
//! | Ω_l | the control points of level l: the first k_l of all control points in their order, so that Ω_(l+1) ⊂ Ω_l |
//! | d(i) | the geodesic distance of node i to the nearest control point |

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use coarsen_backend::SetupError;
use coarsen_core::Cancel;
use coarsen_sparse::Pattern;

use super::frame::Frame;
use super::lengths::between;

/// The control points of all levels, and the control point that controls each node.
#[derive(Clone, Debug, PartialEq)]
pub struct ControlPoints {
    /// The nodes that are control points, in the order of their choice.
    pub order: Vec<u32>,
    /// For each level, from fine to coarse, the control point that controls each node of the next finer level. The
    /// number of a control point is its position in `order`.
    pub controls: Vec<Vec<u32>>,
    /// The distances of all nodes on each level. An update after a cut starts from them.
    pub(super) fields: Vec<Field>,
    /// The unit of the distances.
    pub(super) frame: Frame,
}

/// The edges of a graph and their lengths.
pub(super) struct Lengths<'a> {
    pub(super) pattern: &'a Pattern,
    /// The lengths in the order of the pattern; empty if they are computed from `x` when they are needed.
    pub(super) lengths: &'a [f64],
    pub(super) x: &'a [[f64; 3]],
}

/// The nearest control point of each node, and the distance to it.
#[derive(Clone, Debug)]
pub(super) struct Field {
    pub(super) distance: Vec<f64>,
    pub(super) nearest: Vec<u32>,
    /// The nodes whose neighbours may need an update, nearest first. Empty between updates.
    pub(super) front: BinaryHeap<Reverse<(Far, u32)>>,
}

impl PartialEq for Field {
    fn eq(&self, other: &Self) -> bool {
        self.distance == other.distance && self.nearest == other.nearest
    }
}

/// A nonnegative distance with a total order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Far(pub(super) f64);

impl PartialEq for Far {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Far {}

impl PartialOrd for Far {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Far {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl Lengths<'_> {
    /// The length of edge `at` of the pattern, which starts at node i.
    #[inline]
    pub(super) fn length(&self, i: usize, at: usize) -> f64 {
        let known = self.lengths.get(at).copied();
        known.unwrap_or_else(|| between(&self.x[i], &self.x[self.pattern.indices()[at] as usize]))
    }

    /// Whether a node has no edge to another node, as a fixed node. Such a node needs no control point, because
    /// smoothers solve it alone.
    pub(super) fn alone(&self, i: usize) -> bool {
        self.pattern.row(i).iter().all(|&j| j as usize == i)
    }
}

impl ControlPoints {
    /// Chooses the control points, first those of `given`. `counts` is the number of control points of each level, from
    /// fine to coarse.
    ///
    /// A count is at most the number of nodes at different positions, and at least the number of components
    /// of the graph, because each component gets a control point. Nodes without edges get none. The same graph gives
    /// the same control points. *Cost*: one update of distances per control point. Each doubling of the number of
    /// control points takes about n log n steps.
    ///
    /// # Errors
    /// [`SetupError::Cancelled`] once `cancel` is set.
    pub(super) fn sample(
        graph: &Lengths<'_>,
        counts: &[usize],
        given: &[u32],
        cancel: Option<&Cancel>,
    ) -> Result<Self, SetupError> {
        let nodes = graph.pattern.rows();
        let mut field = Field::new(nodes);
        field.leave_alone(graph, 0..nodes as u32);
        let mut farthest: BinaryHeap<(Far, Reverse<u32>)> =
            (0..nodes as u32).map(|i| (Far(f64::INFINITY), Reverse(i))).collect();
        let (mut order, mut fields, mut reached) = (Vec::<u32>::new(), Vec::new(), Vec::new());
        let mut given = given.iter().copied();
        for &count in counts.iter().rev() {
            while order.len() < count || field.unreached(&mut farthest) {
                let next = given.next().or_else(|| field.farthest(&mut farthest));
                let Some(next) = next else { break };
                if field.distance[next as usize] > 0.0 {
                    field.add(graph, next, order.len() as u32, cancel)?;
                    order.push(next);
                }
            }
            fields.push(field.clone());
            reached.push(order.len());
        }
        fields.reverse();
        reached.reverse();
        Ok(Self::from_fields(order, fields, &reached))
    }

    /// Returns the control points of levels whose distances are known; `counts` is the number of control points of each
    /// level.
    pub(super) fn from_fields(order: Vec<u32>, fields: Vec<Field>, counts: &[usize]) -> Self {
        let of = |(level, field): (usize, &Field)| match level {
            0 => field.nearest.clone(),
            _ => order[..counts[level - 1]].iter().map(|&i| field.nearest[i as usize]).collect(),
        };
        let controls = fields.iter().enumerate().map(of).collect();
        Self { order, controls, fields, frame: Frame::AS_GIVEN }
    }

    /// Returns the number of control points of a level; level 0 is the level below the finest.
    pub fn count(&self, level: usize) -> usize {
        self.controls[level].iter().max().map_or(0, |&last| last as usize + 1)
    }

    /// The number of nodes of the graph.
    pub(super) fn nodes(&self) -> usize {
        self.fields.first().map_or(0, |field| field.distance.len())
    }

    /// Returns the size of all lists in bytes.
    pub(super) fn bytes(&self) -> usize {
        let fields = self.fields.iter().map(|f| size_of_val(&f.distance[..]) + size_of_val(&f.nearest[..]));
        let controls = self.controls.iter().map(|c| size_of_val(&c[..]));
        size_of_val(&self.order[..]) + fields.sum::<usize>() + controls.sum::<usize>()
    }
}

impl Field {
    pub(super) fn new(nodes: usize) -> Self {
        Self {
            distance: vec![f64::INFINITY; nodes],
            nearest: vec![u32::MAX; nodes],
            front: BinaryHeap::new(),
        }
    }

    /// Takes nodes without edges that no control point reaches out of the search. They are counted to control point 0,
    /// with weight 0.
    pub(super) fn leave_alone(&mut self, graph: &Lengths<'_>, nodes: impl IntoIterator<Item = u32>) {
        for i in nodes.into_iter().map(|i| i as usize) {
            if self.distance[i] == f64::INFINITY && graph.alone(i) {
                (self.distance[i], self.nearest[i]) = (0.0, 0);
            }
        }
    }

    /// Updates the distances around a new control point by Dijkstra's algorithm. The search stops at nodes that are
    /// nearer to another control point.
    ///
    /// # Errors
    /// As [`spread`](Self::spread).
    pub(super) fn add(
        &mut self,
        graph: &Lengths<'_>,
        node: u32,
        control_point: u32,
        cancel: Option<&Cancel>,
    ) -> Result<(), SetupError> {
        self.reach(node, 0.0, control_point);
        self.spread(graph, cancel)
    }

    /// Updates neighbours until no distance becomes shorter.
    ///
    /// # Errors
    /// [`SetupError::Cancelled`] once `cancel` is set; the distances are then not complete.
    pub(super) fn spread(&mut self, graph: &Lengths<'_>, cancel: Option<&Cancel>) -> Result<(), SetupError> {
        while let Some(Reverse((Far(d), i))) = self.front.pop() {
            SetupError::unless_cancelled(cancel)?;
            let i = i as usize;
            if d > self.distance[i] {
                continue;
            }
            let control_point = self.nearest[i];
            for at in graph.pattern.range(i) {
                self.reach(graph.pattern.indices()[at], d + graph.length(i, at), control_point);
            }
        }
        Ok(())
    }

    /// Stores a distance if it is shorter than the stored distance, or equal to it and `control_point` is the
    /// earlier control point.
    pub(super) fn reach(&mut self, node: u32, d: f64, control_point: u32) {
        let i = node as usize;
        if d < self.distance[i] || (d == self.distance[i] && control_point < self.nearest[i]) {
            (self.distance[i], self.nearest[i]) = (d, control_point);
            self.front.push(Reverse((Far(d), node)));
        }
    }

    /// Returns the node farthest from all control points, or `None` if all distances are 0. Of several such nodes it
    /// is the first. `candidates` contains an upper bound of each distance.
    fn farthest(&self, candidates: &mut BinaryHeap<(Far, Reverse<u32>)>) -> Option<u32> {
        self.tighten(candidates).filter(|(d, _)| *d > 0.0).map(|(_, node)| node)
    }

    /// Whether a component has no control point.
    fn unreached(&self, candidates: &mut BinaryHeap<(Far, Reverse<u32>)>) -> bool {
        self.tighten(candidates).is_some_and(|(d, _)| d == f64::INFINITY)
    }

    /// Returns the largest distance and its node. Distances only decrease, so a bound is updated only when it
    /// is the largest bound.
    pub(super) fn tighten(&self, candidates: &mut BinaryHeap<(Far, Reverse<u32>)>) -> Option<(f64, u32)> {
        while let Some(mut top) = candidates.peek_mut() {
            let (Far(bound), Reverse(node)) = *top;
            let d = self.distance[node as usize];
            if d == bound {
                return Some((d, node));
            }
            *top = (Far(d), Reverse(node));
        }
        None
    }
}
