//! Vertices, edges and triangles of a surface.

use std::sync::OnceLock;

use coarsen_elastic::BodyError;
use coarsen_mesh::vector::{cross, dot, sub};

use super::blocks::Blocks;
use crate::{ContactError, Pair};

/// The smallest ratio of twice the area of a triangle to the square of its longest edge.
const FLAT: f64 = 1e-9;

/// The vertices, edges and triangles of a surface, and which nodes are held.
pub struct Topology {
    /// The nodes of all triangles, in increasing order.
    pub(super) vertices: Vec<u32>,
    /// All edges, sorted.
    pub(super) edges: Vec<[u32; 2]>,
    pub(super) triangles: Vec<[u32; 3]>,
    held: Vec<bool>,
    /// Of vertices, edges and triangles.
    blocks: OnceLock<[Blocks; 3]>,
}

impl Topology {
    /// Returns the parts of a surface of triangles; `held` and `positions` have one entry per node.
    ///
    /// # Errors
    /// [`ContactError`] for lists of different lengths, corners that do not exist and triangles without area;
    /// [`ContactError::Double`] names two triangles with the same corners in any order.
    pub fn new(triangles: &[[u32; 3]], held: &[bool], positions: &[[f64; 3]]) -> Result<Self, ContactError> {
        let nodes = positions.len();
        if held.len() != nodes {
            return Err(BodyError::Length { what: "held nodes", expected: nodes, found: held.len() }.into());
        }
        for (index, t) in triangles.iter().enumerate() {
            if let Some(&node) = t.iter().find(|&&node| node as usize >= nodes) {
                return Err(BodyError::Node { what: "triangle", index, node: node as usize, nodes }.into());
            }
            let [a, b, c] = t.map(|v| positions[v as usize]);
            let edges = [sub(b, a), sub(c, b), sub(a, c)];
            let longest = edges.iter().map(|e| dot(*e, *e)).fold(0.0, f64::max);
            let n = cross(edges[0], edges[1]);
            let twice = dot(n, n).sqrt();
            if twice.is_nan() || twice <= FLAT * longest {
                return Err(BodyError::Degenerate { what: "triangle", index, measure: 0.5 * twice }.into());
            }
        }
        check_double(triangles)?;
        let mut vertices = triangles.as_flattened().to_vec();
        vertices.sort_unstable();
        vertices.dedup();
        let sides = |&[a, b, c]: &[u32; 3]| [[a, b], [b, c], [c, a]].map(|[a, b]| [a.min(b), a.max(b)]);
        let mut edges: Vec<[u32; 2]> = triangles.iter().flat_map(sides).collect();
        edges.sort_unstable();
        edges.dedup();
        Ok(Self {
            vertices,
            edges,
            triangles: triangles.to_vec(),
            held: held.to_vec(),
            blocks: OnceLock::new(),
        })
    }

    /// The number of nodes, those without a triangle included.
    pub fn nodes(&self) -> usize {
        self.held.len()
    }

    /// The number of triangles.
    pub fn triangles(&self) -> usize {
        self.triangles.len()
    }

    /// The number of queries of a search: vertices among triangles, and edges among edges.
    pub fn queries(&self) -> usize {
        self.vertices.len() + self.edges.len()
    }

    /// The blocks of vertices, edges and triangles; computed when they are first asked for.
    pub(super) fn blocks(&self) -> &[Blocks; 3] {
        let new = || {
            let vertices = self.vertices.as_chunks::<1>().0;
            [Blocks::new(vertices), Blocks::new(&self.edges), Blocks::new(&self.triangles)]
        };
        self.blocks.get_or_init(new)
    }

    /// The pair of vertex i and triangle j of the lists, unless it has a common node or is held as a whole.
    #[inline]
    pub(super) fn vertex_face(&self, i: usize, j: u32) -> Option<Pair> {
        let (vertex, face) = (self.vertices[i], self.triangles[j as usize]);
        let apart = !face.contains(&vertex);
        let pair = Pair::VertexFace { vertex, face };
        (apart && self.moves(&pair)).then_some(pair)
    }

    /// The pair of edges i and j > i of the list, unless it has a common node or is held as a whole.
    #[inline]
    pub(super) fn edge_edge(&self, i: usize, j: u32) -> Option<Pair> {
        let edges = [self.edges[i], self.edges[j as usize]];
        let apart = i < j as usize && !edges[0].iter().any(|end| edges[1].contains(end));
        let pair = Pair::EdgeEdge { edges };
        (apart && self.moves(&pair)).then_some(pair)
    }

    fn moves(&self, pair: &Pair) -> bool {
        pair.nodes().iter().any(|&node| !self.held[node as usize])
    }
}

/// Checks that no two triangles have the same corners; of several such pairs, the one with the first second triangle is
/// named.
fn check_double(triangles: &[[u32; 3]]) -> Result<(), ContactError> {
    let sorted = |(index, t): (usize, &[u32; 3])| {
        let mut corners = *t;
        corners.sort_unstable();
        (corners, index)
    };
    let mut all: Vec<([u32; 3], usize)> = triangles.iter().enumerate().map(sorted).collect();
    all.sort_unstable();
    let double = all.windows(2).filter(|pair| pair[0].0 == pair[1].0).min_by_key(|pair| pair[1].1);
    match double {
        Some(pair) => {
            let numbers = [pair[0].1, pair[1].1];
            Err(ContactError::Double { triangles: numbers, corners: triangles[numbers[1]] })
        }
        None => Ok(()),
    }
}
