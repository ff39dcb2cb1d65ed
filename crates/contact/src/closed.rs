//! A closed surface, and what is inside of it, by winding numbers.
//!
//! > w(x) = Σ ± 1 over the triangles that a ray from x crosses
//!
//! A ray along z crosses the triangles whose projection contains (x, y); a triangle counts +1 if it faces the
//! direction of the ray. Inside w = 1, and also where a surface crosses itself w > 0. Triangles are listed by the
//! square of the x-y plane that their projection reaches. *Reference* Jacobson, Kavan & Sorkine-Hornung 2013,
//! "Robust inside-outside segmentation using generalized winding numbers", ACM TOG 32(4).

use std::collections::BTreeMap;

use coarsen_mesh::Mesh;
use coarsen_mesh::vector::{cross, dot, sub};

use crate::ContactError;

/// The surface of a solid: closed, with triangles that face outwards.
///
/// *Use* to fill a solid, and for the signed distances [`SdfGrid`](crate::SdfGrid) and [`SmoothSdf`](crate::SmoothSdf).
/// *Cost* of a point: the triangles of a square, some of them on average.
///
/// ```
/// use coarsen_contact::{ClosedSurface, ContactError, SmoothSdf};
/// use coarsen_mesh::Mesh;
/// let bar = Mesh::bar([2, 1, 1], 1.0);
/// let surface = Mesh { triangles: bar.surface(), tetrahedra: Vec::new(), ..bar };
/// let solid = ClosedSurface::new(surface.clone())?;
/// assert_eq!((solid.winding([0.4, 0.5, 0.6]), solid.winding([0.4, 0.5, 1.1])), (1, 0));
/// SmoothSdf::new(&surface.positions, &surface.triangles, 0.2, |x| solid.winding(x) > 0)?;
/// let open = Mesh { triangles: surface.triangles[1..].to_vec(), ..surface };
/// assert!(matches!(ClosedSurface::new(open), Err(ContactError::Open { count: 1, .. })));
/// # Ok::<(), ContactError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ClosedSurface {
    mesh: Mesh,
    low: [f64; 2],
    /// The number of squares on each axis, and their side.
    squares: [usize; 2],
    side: f64,
    /// The triangles of each square.
    lists: Vec<Vec<u32>>,
}

/// The least volume of a solid, relative to the area of its surface times its diagonal: below, a computed volume is
/// rounding.
const LEAST: f64 = 1e-13;

/// The mean number of triangles for each square.
const SHARE: f64 = 0.5;

impl ClosedSurface {
    /// Returns the surface of the triangles of a mesh.
    ///
    /// # Errors
    /// [`ContactError::Open`], [`ContactError::Inverted`] and [`ContactError::Flat`].
    pub fn new(mesh: Mesh) -> Result<Self, ContactError> {
        if let Some((edge, count)) = open_edge(&mesh.triangles) {
            return Err(ContactError::Open { edge, count });
        }
        let [low, high] = mesh.bounds();
        let at = |v: u32| sub(mesh.positions[v as usize], low);
        let (mut volume, mut area) = (0.0, 0.0);
        for corners in mesh.triangles.iter().map(|t| t.map(at)) {
            let normal = cross(sub(corners[1], corners[0]), sub(corners[2], corners[0]));
            volume += dot(corners[0], cross(corners[1], corners[2])) / 6.0;
            area += 0.5 * dot(normal, normal).sqrt();
        }
        let size = area * dot(sub(high, low), sub(high, low)).sqrt();
        if !(volume.is_finite() && volume.abs() > LEAST * size) {
            return Err(ContactError::Flat { volume });
        }
        if volume < 0.0 {
            return Err(ContactError::Inverted { volume });
        }
        let area = (high[0] - low[0]) * (high[1] - low[1]);
        let side = (SHARE * area / mesh.triangles.len() as f64).sqrt();
        let squares = [0, 1].map(|k| ((high[k] - low[k]) / side) as usize + 1);
        let mut surface = Self { mesh, low: [low[0], low[1]], squares, side, lists: Vec::new() };
        let mut lists = vec![Vec::new(); squares[0] * squares[1]];
        for (t, triangle) in surface.mesh.triangles.iter().enumerate() {
            let corners = triangle.map(|v| surface.mesh.positions[v as usize]);
            let ends = [0, 1].map(|k| {
                let low = corners.iter().fold(f64::INFINITY, |m, p| m.min(p[k]));
                let high = corners.iter().fold(f64::NEG_INFINITY, |m, p| m.max(p[k]));
                surface.square(k, low)..=surface.square(k, high)
            });
            for j in ends[1].clone() {
                ends[0].clone().for_each(|i| lists[i + squares[0] * j].push(t as u32));
            }
        }
        surface.lists = lists;
        Ok(surface)
    }

    /// Its mesh.
    pub fn mesh(&self) -> &Mesh {
        &self.mesh
    }

    fn square(&self, axis: usize, x: f64) -> usize {
        (((x - self.low[axis]) / self.side) as usize).min(self.squares[axis] - 1)
    }

    /// w(x); above 0 inside.
    pub fn winding(&self, x: [f64; 3]) -> i32 {
        if (0..2).any(|k| x[k] < self.low[k] || x[k] > self.low[k] + self.side * self.squares[k] as f64) {
            return 0;
        }
        let list = &self.lists[self.square(0, x[0]) + self.squares[0] * self.square(1, x[1])];
        let mut winding = 0;
        for &t in list {
            let [a, b, c] = self.mesh.triangles[t as usize].map(|v| sub(self.mesh.positions[v as usize], x));
            let turns = [(a, b), (b, c), (c, a)].map(|(p, q)| left(p, q));
            if turns.iter().any(|turn| *turn != turns[0]) {
                continue;
            }
            let normal = cross(sub(b, a), sub(c, a));
            if dot(a, normal) * normal[2] > 0.0 {
                winding += if normal[2] > 0.0 { 1 } else { -1 };
            }
        }
        winding
    }
}

/// Returns the first edge that has more triangles on one side than on the other, and by how many; `None` for a closed surface.
pub fn open_edge(triangles: &[[u32; 3]]) -> Option<([u32; 2], u32)> {
    let mut sides: BTreeMap<[u32; 2], i64> = BTreeMap::new();
    for &[a, b, c] in triangles {
        for [a, b] in [[a, b], [b, c], [c, a]] {
            *sides.entry([a.min(b), a.max(b)]).or_default() += if a < b { 1 } else { -1 };
        }
    }
    sides.into_iter().find(|(_, count)| *count != 0).map(|(edge, count)| (edge, count.unsigned_abs() as u32))
}

/// Whether the origin is on the left of the edge from p to q in the x-y plane. An edge gives the opposite
/// answer in the opposite direction, also if the origin is on it, so that a ray through an edge or a vertex
/// counts once.
fn left(p: [f64; 3], q: [f64; 3]) -> bool {
    let swap = (p[0], p[1]) > (q[0], q[1]);
    let (p, q) = if swap { (q, p) } else { (p, q) };
    (p[0] * q[1] - p[1] * q[0] > 0.0) != swap
}
