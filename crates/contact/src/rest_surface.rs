//! The triangle of a surface at rest that is nearest to a point.
//!
//! A box around the point grows until it holds the nearest triangle for certain.

use coarsen_mesh::vector::{cross, dot, sub};

use crate::triangle::{combine, nearest};
use crate::{Aabb, ContactError, SpatialHash};

/// Squared distances that differ by less than this share are equal.
const EQUAL: f64 = 1e-9;

/// The surface of one body at rest.
///
/// *Cost* of a query: the boxes of triangles within about twice the distance of the point.
pub(crate) struct RestSurface {
    triangles: Vec<[u32; 3]>,
    hash: SpatialHash,
    /// No triangle is farther from a point of the body.
    reach: f64,
}

/// The best triangle so far.
struct Best {
    triangle: u32,
    /// The squares of the distances to the triangle and to its plane.
    distance: f64,
    level: f64,
}

impl RestSurface {
    pub(crate) fn new(triangles: Vec<[u32; 3]>, rest: &[[f64; 3]]) -> Result<Self, ContactError> {
        let corners = |t: &[u32; 3]| t.map(|v| rest[v as usize]);
        let mut hash = SpatialHash::default();
        hash.rebuild(triangles.len(), None, |i| Aabb::of(corners(&triangles[i])))?;
        let all = Aabb::of(triangles.iter().flat_map(corners));
        Ok(Self { triangles, hash, reach: 2.0 * all.extent() })
    }

    /// The corners of the triangle nearest to x, a point of the body; `None` without triangles.
    ///
    /// Where an edge or corner is nearest, it is the triangle whose plane is farthest from x, so that the
    /// distance to that plane is continuous in x there.
    pub(crate) fn nearest(&self, x: [f64; 3], rest: &[[f64; 3]]) -> Option<[u32; 3]> {
        let mut radius = self.hash.cell();
        loop {
            let mut best: Option<Best> = None;
            self.hash.query(&Aabb::of([x]).grown(radius), |triangle| {
                let found = self.measure(triangle, x, rest);
                if best.as_ref().is_none_or(|best| found.replaces(best)) {
                    best = Some(found);
                }
            });
            let all = radius > self.reach || radius.is_nan();
            match best {
                Some(best) if all || best.distance <= radius * radius => {
                    return Some(self.triangles[best.triangle as usize]);
                }
                None if all => return None,
                // Triangles nearer than this one may lie outside of the box; a box of its distance holds them.
                Some(best) => radius = best.distance.sqrt() * (1.0 + EQUAL),
                None => radius *= 2.0,
            }
        }
    }

    fn measure(&self, triangle: u32, x: [f64; 3], rest: &[[f64; 3]]) -> Best {
        let corners @ [a, b, c] = self.triangles[triangle as usize].map(|v| rest[v as usize]);
        let away = sub(x, combine(&nearest(x, corners), &corners));
        let normal = cross(sub(b, a), sub(c, a));
        let level = dot(sub(x, a), normal).powi(2) / dot(normal, normal);
        Best { triangle, distance: dot(away, away), level }
    }
}

impl Best {
    fn replaces(&self, best: &Self) -> bool {
        let nearer = self.distance < best.distance * (1.0 - EQUAL);
        let equal = self.distance <= best.distance * (1.0 + EQUAL);
        nearer || equal && self.level > best.level
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coarsen_mesh::Mesh;

    /// In a box of 4 x 2 x 2 the nearest face is known.
    #[test]
    fn the_nearest_face_of_a_box_is_found_at_any_depth() {
        let mesh = Mesh::bar([8, 4, 4], 0.5);
        let rest = &mesh.positions;
        let surface = RestSurface::new(mesh.surface(), rest).unwrap();
        for (x, axis, side) in [
            ([2.0, 0.1, 1.0], 1, 0.0),
            ([2.1, 1.0, 1.3], 2, 2.0),
            ([3.6, 1.0, 1.1], 0, 4.0),
            ([2.0, 1.01, 1.0], 1, 2.0),
            ([1.9, 0.3, 0.29], 2, 0.0),
            ([0.0, 0.3, 0.29], 0, 0.0),
        ] {
            let found = surface.nearest(x, rest).unwrap();
            assert!(found.iter().all(|&v| rest[v as usize][axis] == side), "{x:?}: {found:?}");
        }
        assert_eq!(RestSurface::new(Vec::new(), rest).unwrap().nearest([0.0; 3], rest), None);
    }

    /// All triangles, against the hash.
    #[test]
    fn no_triangle_is_nearer() {
        let mut mesh = Mesh::bar([6, 3, 2], 0.5);
        mesh.positions.iter_mut().for_each(|p| p[1] += 0.3 * (2.0 * p[0]).sin());
        let (rest, triangles) = (&mesh.positions, mesh.surface());
        let surface = RestSurface::new(triangles.clone(), rest).unwrap();
        let distance = |x: [f64; 3], t: &[u32; 3]| {
            let corners = t.map(|v| rest[v as usize]);
            let away = sub(x, combine(&nearest(x, corners), &corners));
            dot(away, away).sqrt()
        };
        for t in &mesh.tetrahedra {
            let x = combine(&[0.1, 0.2, 0.3, 0.4], &t.map(|v| rest[v as usize]));
            let found = distance(x, &surface.nearest(x, rest).unwrap());
            let least = triangles.iter().map(|t| distance(x, t)).fold(f64::INFINITY, f64::min);
            assert!((found - least).abs() < 1e-8 * least, "{found} {least}");
        }
    }
}
