//! Elements of a mesh, as lists of their nodes.

use std::borrow::Cow;

use crate::by_rows::Nodes;

/// The elements at each node, each with the number of its corner at this node.
pub(crate) struct Incidence {
    starts: Vec<usize>,
    elements: Vec<(u32, u8)>,
}

impl Incidence {
    /// Returns the incidence of `nodes` nodes and elements of K corners, with elements in increasing order.
    pub(crate) fn new<const K: usize>(nodes: usize, corners: &[[u32; K]]) -> Self {
        let mut starts = vec![0; nodes + 1];
        corners.as_flattened().iter().for_each(|&i| starts[i as usize + 1] += 1);
        (0..nodes).for_each(|i| starts[i + 1] += starts[i]);
        let (mut next, mut elements) = (starts.clone(), vec![(0, 0); corners.len() * K]);
        for (e, corners) in corners.iter().enumerate() {
            for (a, &i) in corners.iter().enumerate() {
                elements[next[i as usize]] = (e as u32, a as u8);
                next[i as usize] += 1;
            }
        }
        Self { starts, elements }
    }

    /// The elements at node i, each with the number of its corner at this node.
    pub(crate) fn of(&self, i: usize) -> impl Iterator<Item = (usize, usize)> {
        self.elements[self.starts[i]..self.starts[i + 1]].iter().map(|&(e, a)| (e as usize, usize::from(a)))
    }
}

/// Marks `nodes` among all.
pub(crate) fn marked(nodes: Nodes<'_>) -> Vec<bool> {
    let mut marks = vec![false; nodes.of()];
    nodes.iter().for_each(|i| marks[i] = true);
    marks
}

/// Whether an element has a marked node.
pub(crate) fn touches<const K: usize>(marks: &[bool], corners: &[u32; K]) -> bool {
    corners.iter().any(|&i| marks[i as usize])
}

/// Returns the triangles that determine the block rows of some nodes, in the order of all: those at the nodes, and those
/// at their neighbours, since a hinge at a node may have one triangle beside it.
pub(crate) fn around<'a>(triangles: &'a [[u32; 3]], nodes: Nodes<'_>) -> Cow<'a, [[u32; 3]]> {
    if nodes.is_all() {
        return Cow::Borrowed(triangles);
    }
    let own = marked(nodes);
    let mut near = own.clone();
    let at = triangles.iter().filter(|t| touches(&own, t));
    at.flatten().for_each(|&i| near[i as usize] = true);
    Cow::Owned(triangles.iter().copied().filter(|t| touches(&near, t)).collect())
}
