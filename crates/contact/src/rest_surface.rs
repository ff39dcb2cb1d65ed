//! The surface triangle through which a vertex leaves.
//!
//! | symbol | here | |
//! |---|---|---|
//! | X | `x` | the position of the vertex in the body at rest |
//! | d | `distance` | distance of X to the surface at rest |
//!
//! At rest a box around X grows until it certainly contains the nearest triangle, so that the search succeeds
//! at any depth. The triangles within 3/2 d of X are candidates. The result is the candidate that is nearest
//! at the current positions. So the depth is a continuous function of the positions, unless strains change
//! the ratio of two distances by a factor of 3/2. If the result were the triangle nearest at rest, the depth
//! in a strained body would jump where two triangles are equally near at rest.

use coarsen_mesh::vector::{dot, sub};

use crate::aabb::mean_extent;
use crate::triangle::{EQUAL, combine, nearest, normal};
use crate::{Aabb, Contact, ContactError, SpatialHash};

/// Candidates are within this multiple of the distance d at rest.
const REACH: f64 = 1.5;

/// The side of a cell, as a multiple of the mean extent of triangles. With 1, the search between two armadillos took 1.4 times
/// as long at depths up to 2% of their height, and twice as long at depths up to 12%.
const CELL_SIDE: f64 = 2.0;

/// Half the side of the first box, in cells. Most vertices inside a body are near the surface.
const FIRST: f64 = 0.15;

/// The surface of one body, in a hash of its triangles at rest.
///
/// *Cost* of a search: two queries of the boxes of triangles within about twice the distance.
pub(crate) struct RestSurface {
    triangles: Vec<[u32; 3]>,
    hash: SpatialHash,
    /// An upper bound of the distance of any triangle from a point of the body.
    size: f64,
}

/// A triangle and its nearest point to a given point.
#[derive(Clone, Copy)]
struct NearestPoint {
    triangle: [u32; 3],
    weights: [f64; 3],
    /// The square of the distance.
    distance: f64,
}

impl RestSurface {
    pub(crate) fn new(triangles: Vec<[u32; 3]>, rest: &[[f64; 3]]) -> Result<Self, ContactError> {
        let corners = |t: &[u32; 3]| t.map(|v| rest[v as usize]);
        let cell = CELL_SIDE * mean_extent(triangles.iter().map(|t| Aabb::of(corners(t))));
        let mut hash = SpatialHash::default();
        hash.rebuild(triangles.len(), Some(cell).filter(|cell| *cell > 0.0), |i| {
            Aabb::of(corners(&triangles[i]))
        })?;
        let all = Aabb::of(triangles.iter().flat_map(corners));
        Ok(Self { triangles, hash, size: 2.0 * all.extent() })
    }

    /// Returns the contact, at the positions `at`, of a vertex whose position in the body at rest is x.
    ///
    /// `None` where the vertex is a corner of the triangle nearest at rest (an inverted element, no
    /// collision) and where it is in front of all candidates. The first rule makes E jump if the vertex is
    /// pushed so far that another triangle is the nearest one: the path of the vertex is not known, and at the
    /// same x a vertex that came in through the other side is in contact.
    pub(crate) fn leave(
        &self,
        vertex: u32,
        x: [f64; 3],
        rest: &[[f64; 3]],
        at: &[[f64; 3]],
    ) -> Option<Contact> {
        let first = self.nearest(x, rest)?;
        if first.triangle.contains(&vertex) {
            return None;
        }
        let place = at[vertex as usize];
        let reach = REACH * REACH * first.distance;
        let mut best: Option<(NearestPoint, [f64; 3])> = None;
        self.hash.query(&Aabb::of([x]).grown(REACH * first.distance.sqrt()), |i| {
            let triangle = self.triangles[i as usize];
            let far = best.is_some_and(|(best, _)| is_farther(triangle, place, at, best.distance));
            if far || triangle.contains(&vertex) || self.hash.get(i).square_distance(x) > reach {
                return;
            }
            let near = NearestPoint::new(triangle, place, at);
            if best.is_some_and(|(best, _)| near.distance >= best.distance) {
                return;
            }
            if let Some(normal) = near.outward(place, at) {
                best = Some((near, normal));
            }
        });
        best.map(|(NearestPoint { triangle, weights, .. }, normal)| Contact {
            vertex,
            face: triangle,
            weights,
            normal,
        })
    }

    /// Returns the triangle nearest to x at rest; `None` if there are no triangles.
    fn nearest(&self, x: [f64; 3], rest: &[[f64; 3]]) -> Option<NearestPoint> {
        let mut radius = FIRST * self.hash.cell();
        loop {
            let mut best: Option<NearestPoint> = None;
            self.hash.query(&Aabb::of([x]).grown(radius), |i| {
                if best.is_some_and(|best| self.hash.get(i).square_distance(x) >= best.distance) {
                    return;
                }
                let near = NearestPoint::new(self.triangles[i as usize], x, rest);
                if best.is_none_or(|best| near.distance < best.distance) {
                    best = Some(near);
                }
            });
            let all = radius > self.size || radius.is_nan();
            match best {
                Some(best) if all || best.distance <= radius * radius => return Some(best),
                None if all => return None,
                // Nearer triangles may lie outside of the box. A box with the size of this distance contains
                // them.
                Some(best) => radius = best.distance.sqrt() * (1.0 + EQUAL),
                None => radius *= 2.0,
            }
        }
    }
}

/// Whether a triangle is certainly farther from x than the root of `square`. The test uses corner a and the
/// longest edge there.
fn is_farther(triangle: [u32; 3], x: [f64; 3], at: &[[f64; 3]], square: f64) -> bool {
    let [a, b, c] = triangle.map(|v| at[v as usize]);
    let [to_x, to_b, to_c] = [sub(x, a), sub(b, a), sub(c, a)].map(|v| dot(v, v));
    to_x > 2.0 * (1.0 + EQUAL) * (square + to_b.max(to_c)) // (p + q)² ≤ 2 (p² + q²)
}

impl NearestPoint {
    fn new(triangle: [u32; 3], x: [f64; 3], at: &[[f64; 3]]) -> Self {
        let corners = triangle.map(|v| at[v as usize]);
        let weights = nearest(x, corners);
        let away = sub(x, combine(&weights, &corners));
        Self { triangle, weights, distance: dot(away, away) }
    }

    /// Returns the direction from x to the nearest point if x is behind the triangle, otherwise `None`. This
    /// is the normal of the triangle unless the nearest point is on an edge or a corner. At a concave edge it
    /// turns continuously from one normal to the other, so that the distance has a continuous gradient.
    fn outward(&self, x: [f64; 3], at: &[[f64; 3]]) -> Option<[f64; 3]> {
        let corners = self.triangle.map(|v| at[v as usize]);
        let normal = normal(corners)?;
        let depth = -dot(sub(x, corners[0]), normal);
        if depth <= 0.0 {
            return None;
        }
        if depth * depth >= self.distance * (1.0 - EQUAL) {
            return Some(normal);
        }
        let out = sub(combine(&self.weights, &corners), x);
        Some(out.map(|v| v / self.distance.sqrt()))
    }
}
