//! An independent test for intersection: every edge against every triangle.
//!
//! It shares no code with the detection of contacts. Its only short cut is a grid of cells: edges and triangles whose
//! bounds are apart are not compared. Triangles that do not move have a grid of their own, since those of an obstacle can
//! be much larger than those of cloth.

use std::fmt;
use std::ops::Range;

use coarsen_core::parallel;
use coarsen_mesh::vector::{cross, dot, sub};

/// The number of edges per task of a parallel loop.
const LEAF: usize = 256;

/// The number of scalar operations per edge, used to decide whether threads pay off.
const WORK: usize = 200;

/// A segment is in the plane of a triangle if it leaves it by no more than this, in units of its length.
const FLAT: f64 = 1e-12;

/// Cells are longer than triangles by this share, for round-off.
const ROUND: f64 = 1e-9;

/// An edge that crosses a triangle. `Display` names the nodes of both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crossing {
    /// The ends of the edge.
    pub edge: [u32; 2],
    /// The corners of the triangle.
    pub triangle: [u32; 3],
}

/// For messages: `edge 3, 4 crosses triangle 0, 1, 2`.
impl fmt::Display for Crossing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([p, q], [a, b, c]) = (self.edge, self.triangle);
        write!(f, "edge {p}, {q} crosses triangle {a}, {b}, {c}")
    }
}

/// The test whether a surface of triangles crosses itself.
///
/// *Use* it to check the results of a simulation: it shares no code with the detection of contacts.
/// [`ClothContact::new`](crate::ClothContact::new) makes it for positions at rest. *Cost* of [`find`](Self::find): grids
/// of all triangles, and an exact predicate for each edge and triangle whose bounds overlap, in parallel. A grid has
/// cells as large as its largest triangle.
///
/// ```
/// use coarsen_contact::Crossings;
/// let test = Crossings::new(vec![[0, 1, 2], [3, 4, 5]], vec![false; 6]);
/// let mut x = vec![[0.0, 0.0, 0.0], [3.0, 0.0, 0.0], [0.0, 3.0, 0.0], [1.0, 1.0, -1.0], [1.0, 1.0, 2.0], [1.0, 2.0, 5.0]];
/// assert_eq!(test.find(&x)[0].to_string(), "edge 3, 4 crosses triangle 0, 1, 2");
/// x[3][2] = 0.1;
/// assert!(test.find(&x).is_empty());
/// ```
pub struct Crossings {
    edges: Vec<[u32; 2]>,
    triangles: Vec<[u32; 3]>,
    /// Whether a node does not move: edges and triangles of such nodes alone are not compared.
    still: Vec<bool>,
}

impl Crossings {
    /// The test for a surface of triangles; `still` has an entry for each node, true for those that do not move. Where an
    /// edge and a triangle have only such nodes, they may cross.
    pub fn new(triangles: Vec<[u32; 3]>, still: Vec<bool>) -> Self {
        let sides = |&[a, b, c]: &[u32; 3]| [[a, b], [b, c], [c, a]].map(|[a, b]| [a.min(b), a.max(b)]);
        let mut edges: Vec<[u32; 2]> = triangles.iter().flat_map(sides).collect();
        edges.sort_unstable();
        edges.dedup();
        Self { edges, triangles, still }
    }

    /// All triangles.
    pub fn triangles(&self) -> &[[u32; 3]] {
        &self.triangles
    }

    /// All edges, sorted.
    pub fn edges(&self) -> &[[u32; 2]] {
        &self.edges
    }

    /// All crossings at these positions of all nodes, by edge. An edge and a triangle with a common node do not cross, and
    /// neither do parts with a position that is not finite. *Panics* for a node without a position.
    pub fn find(&self, at: &[[f64; 3]]) -> Vec<Crossing> {
        let stays = |nodes: &[u32]| nodes.iter().all(|&v| self.still[v as usize]);
        let (still, cloth) = self.triangles.iter().partition::<Vec<_>, _>(|t| stays(&t[..]));
        let grids = [cloth, still].map(|own| Grid::new(own, at));
        let leaf = |range: Range<usize>| {
            let mut found = Vec::new();
            for edge in &self.edges[range] {
                let (own, still) = (around(edge, at), stays(edge));
                for triangle in grids.iter().flat_map(|grid| grid.near(own)) {
                    if still && stays(triangle) || triangle.iter().any(|v| edge.contains(v)) {
                        continue;
                    }
                    if crosses(edge.map(|v| at[v as usize]), triangle.map(|v| at[v as usize])) {
                        found.push(Crossing { edge: *edge, triangle: *triangle });
                    }
                }
            }
            found
        };
        let both = |mut a: Vec<Crossing>, b: Vec<Crossing>| {
            a.extend(b);
            a
        };
        let count = self.edges.len();
        parallel::tree(0..count, LEAF, parallel::worth(count * WORK), &leaf, &both)
    }
}

/// The smallest and the largest coordinates of a part.
type Bounds = [[f64; 3]; 2];

fn around(nodes: &[u32], at: &[[f64; 3]]) -> Bounds {
    nodes.iter().map(|&v| at[v as usize]).fold(
        [[f64::INFINITY; 3], [f64::NEG_INFINITY; 3]],
        |[low, high], x| {
            [std::array::from_fn(|k| low[k].min(x[k])), std::array::from_fn(|k| high[k].max(x[k]))]
        },
    )
}

/// Triangles by the cell of their lowest corner, in the plane of two axes along which they are spread most.
struct Grid<'a> {
    axes: [usize; 2],
    low: [f64; 2],
    /// The sides of a cell, none shorter than a triangle.
    cell: [f64; 2],
    counts: [usize; 2],
    /// The first triangle of each cell, and the number of triangles.
    first: Vec<usize>,
    triangles: Vec<(Bounds, &'a [u32; 3])>,
}

impl<'a> Grid<'a> {
    fn new(triangles: Vec<&'a [u32; 3]>, at: &[[f64; 3]]) -> Self {
        let own: Vec<Bounds> = triangles.iter().map(|t| around(&t[..], at)).collect();
        let over = |of: &dyn Fn(&Bounds) -> f64| own.iter().map(of).fold(f64::NEG_INFINITY, f64::max);
        let low: [f64; 3] = std::array::from_fn(|k| -over(&|b| -b[0][k]));
        let side: [f64; 3] = std::array::from_fn(|k| over(&|b| b[1][k] - b[0][k]));
        let extent: [f64; 3] = std::array::from_fn(|k| over(&|b| b[1][k]) - low[k]);
        let most = (triangles.len() as f64).sqrt().ceil();
        // One cell along a flat side, and along one that is not finite.
        let count = |k: usize| match extent[k] / ((1.0 + ROUND) * side[k]) {
            sides if sides.is_nan() => 1,
            sides => (sides.min(most) as usize).max(1),
        };
        let mut axes = [0, 1, 2];
        axes.sort_by_key(|&k| std::cmp::Reverse(count(k)));
        let axes = [axes[0], axes[1]];
        let (low, counts) = (axes.map(|k| low[k]), axes.map(count));
        let cell = [0, 1].map(|k| extent[axes[k]] / counts[k] as f64);
        let mut grid = Self { axes, low, cell, counts, first: Vec::new(), triangles: Vec::new() };
        let mut numbered: Vec<(usize, Bounds, &[u32; 3])> =
            own.iter().zip(triangles).map(|(b, t)| (grid.number(b[0]), *b, t)).collect();
        numbered.sort_by_key(|(number, ..)| *number);
        let cells = counts[0] * counts[1];
        grid.first = (0..=cells).map(|c| numbered.partition_point(|(number, ..)| *number < c)).collect();
        grid.triangles = numbered.into_iter().map(|(_, b, t)| (b, t)).collect();
        grid
    }

    /// The cell of a coordinate along one of the axes; those outside are in the cell at the end.
    fn along(&self, k: usize, x: f64) -> usize {
        (((x - self.low[k]) / self.cell[k]) as usize).min(self.counts[k] - 1)
    }

    fn number(&self, x: [f64; 3]) -> usize {
        self.along(0, x[self.axes[0]]) * self.counts[1] + self.along(1, x[self.axes[1]])
    }

    /// The triangles whose bounds overlap these.
    fn near(&self, [low, high]: Bounds) -> impl Iterator<Item = &'a [u32; 3]> {
        // The lowest corner of a triangle is at most the length of a cell before its points.
        let cells =
            |k: usize| self.along(k, low[self.axes[k]]).saturating_sub(1)..=self.along(k, high[self.axes[k]]);
        let row = move |i: usize| i * self.counts[1];
        let columns = cells(1);
        let own = cells(0).flat_map(move |i| {
            &self.triangles[self.first[row(i) + columns.start()]..self.first[row(i) + columns.end() + 1]]
        });
        own.filter(move |(b, _)| (0..3).all(|k| b[0][k] <= high[k] && b[1][k] >= low[k])).map(|(_, t)| *t)
    }
}

/// Whether the segment from p to q crosses the triangle: its ends are on different sides of the plane, and its
/// line passes all sides of the triangle on the same side.
fn crosses([p, q]: [[f64; 3]; 2], [a, b, c]: [[f64; 3]; 3]) -> bool {
    let volume =
        |a: [f64; 3], b: [f64; 3], c: [f64; 3], d: [f64; 3]| dot(cross(sub(b, a), sub(c, a)), sub(d, a));
    let [near, far] = [p, q].map(|end| volume(a, b, c, end));
    let size = |a: [f64; 3], b: [f64; 3]| sub(a, b).iter().map(|x| x.abs()).sum::<f64>();
    if (near > 0.0) == (far > 0.0) || (near - far).abs() <= FLAT * size(a, b) * size(a, c) * size(p, q) {
        return false;
    }
    let around = [(a, b), (b, c), (c, a)].map(|(a, b)| volume(p, q, a, b) > 0.0);
    around[0] == around[1] && around[1] == around[2]
}
