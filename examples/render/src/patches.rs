//! Triangles of obstacles, to be drawn.

use std::f64::consts::PI;

use coarsen_mesh::vector::{cross, dot, sub};

use examples_scene::Shape;
use examples_scene::shape::unit;

use crate::Solid as Painted;

/// The number of segments around a ball or a capsule, and from one pole to the other.
const SEGMENTS: [usize; 2] = [32, 16];

/// The number of tiles along a side of the drawn part of a plane.
const TILES: usize = 32;

/// The size of the drawn part, in units of the diagonal of the view.
const REACH: f64 = 3.0;

/// Triangles of one colour.
#[derive(Clone, Debug, Default)]
pub struct Patch {
    /// The vertices.
    pub positions: Vec<[f64; 3]>,
    /// The corners of each triangle.
    pub triangles: Vec<[u32; 3]>,
}

impl Patch {
    /// The triangles with a colour, to be drawn.
    pub fn solid(&self, colour: [u8; 3]) -> Painted<'_> {
        Painted { positions: &self.positions, triangles: &self.triangles, colour }
    }

    /// The triangles of a shape; `None` for a plane.
    pub fn of(shape: &Shape) -> Option<Self> {
        Some(match *shape {
            Shape::Plane { .. } => return None,
            Shape::Sphere { centre, radius } => capsule(centre, centre, radius),
            Shape::Capsule { from, to, radius } => capsule(from, to, radius),
            Shape::Box { low, high } => Self::cuboid(low, high),
            Shape::Torus { centre, axis, radii } => Self::torus(centre, axis, radii),
            Shape::Cylinder { from, to, radius } => Self::cylinder(from, to, radius),
        })
    }

    /// A box along the axes.
    fn cuboid(low: [f64; 3], high: [f64; 3]) -> Self {
        let mut patch = Self::default();
        let corner = |c: usize| std::array::from_fn(|k| [low[k], high[k]][c >> k & 1]);
        for face in [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]] {
            patch.quad(face.map(corner));
        }
        patch
    }

    /// A cylinder with flat ends.
    fn cylinder(from: [f64; 3], to: [f64; 3], radius: f64) -> Self {
        let [s, t] = across(unit(sub(to, from)));
        let mut patch = Self::default();
        let rim = |end: [f64; 3], k: usize| -> [f64; 3] {
            let (y, x) = (2.0 * PI * k as f64 / SEGMENTS[0] as f64).sin_cos();
            std::array::from_fn(|i| end[i] + radius * (x * s[i] + y * t[i]))
        };
        for k in 0..SEGMENTS[0] {
            let [a, b, c, d] = [rim(from, k), rim(from, k + 1), rim(to, k + 1), rim(to, k)];
            patch.quad([a, b, c, d]);
            patch.quad([from, b, a, from]);
            patch.quad([to, d, c, to]);
        }
        patch
    }

    /// A ring around an axis, with the radii of the ring and of its tube.
    fn torus(centre: [f64; 3], axis: [f64; 3], [ring, tube]: [f64; 2]) -> Self {
        let axis = unit(axis);
        let [s, t] = across(axis);
        let [around, section] = SEGMENTS;
        let mut patch = Self::default();
        for (i, j) in (0..around * section).map(|k| (k / section, k % section)) {
            let (y, x) = (2.0 * PI * i as f64 / around as f64).sin_cos();
            let (up, out) = (2.0 * PI * j as f64 / section as f64).sin_cos();
            patch.positions.push(
                [0, 1, 2]
                    .map(|k| centre[k] + (ring + tube * out) * (x * s[k] + y * t[k]) + tube * up * axis[k]),
            );
            let number = |i: usize, j: usize| (i % around * section + j % section) as u32;
            let [a, b] = [number(i, j), number(i, j + 1)];
            let [c, d] = [number(i + 1, j), number(i + 1, j + 1)];
            patch.triangles.extend([[a, c, b], [b, c, d]]);
        }
        patch
    }

    /// Adds the two triangles of a quadrilateral.
    pub(crate) fn quad(&mut self, corners: [[f64; 3]; 4]) {
        let first = self.positions.len() as u32;
        self.positions.extend(corners);
        self.triangles.extend([[0, 1, 2], [0, 2, 3]].map(|t| t.map(|v| first + v)));
    }
}

/// The triangles of a cylinder with round ends; a ball if both ends are the same.
fn capsule(from: [f64; 3], to: [f64; 3], radius: f64) -> Patch {
    let along = sub(to, from);
    let axis = if dot(along, along) > 0.0 { unit(along) } else { [0.0, 1.0, 0.0] };
    let [s, t] = across(axis);
    let [around, rings] = SEGMENTS;
    let mut patch = Patch::default();
    // Two rings at the equator, one for each end of the axis; one for a ball, whose normals are then smooth there.
    let twice = usize::from(from != to);
    for ring in 0..=rings + twice {
        let (end, k) = if ring <= rings / 2 { (from, ring) } else { (to, ring - twice) };
        let (sin, cos) = (PI * k as f64 / rings as f64).sin_cos();
        for segment in 0..around {
            let (y, x) = (2.0 * PI * segment as f64 / around as f64).sin_cos();
            let point = |k: usize| end[k] + radius * (sin * (x * s[k] + y * t[k]) - cos * axis[k]);
            patch.positions.push([0, 1, 2].map(point));
        }
    }
    let number = |ring: usize, segment: usize| (ring * around + segment % around) as u32;
    for (ring, segment) in (0..rings + twice).flat_map(|ring| (0..around).map(move |segment| (ring, segment)))
    {
        let [a, b] = [number(ring, segment), number(ring, segment + 1)];
        let [c, d] = [number(ring + 1, segment), number(ring + 1, segment + 1)];
        patch.triangles.extend([[a, c, b], [b, c, d]]);
    }
    patch
}

/// The tiles of a plane around a view, in two colours like a chessboard.
pub(crate) fn tiles(point: [f64; 3], normal: [f64; 3], view: [[f64; 3]; 2]) -> [Patch; 2] {
    let normal = unit(normal);
    let [s, t] = across(normal);
    let [low, high] = view;
    let middle: [f64; 3] = std::array::from_fn(|k| 0.5 * (low[k] + high[k]));
    let depth = dot(sub(middle, point), normal);
    let centre: [f64; 3] = std::array::from_fn(|k| middle[k] - depth * normal[k]);
    let size = REACH * dot(sub(high, low), sub(high, low)).sqrt() / TILES as f64;
    let mut patches = [Patch::default(), Patch::default()];
    let corner = |i: usize, j: usize| -> [f64; 3] {
        let [a, b] = [i, j].map(|i| size * (i as f64 - 0.5 * TILES as f64));
        std::array::from_fn(|k| centre[k] + a * s[k] + b * t[k])
    };
    for (i, j) in (0..TILES * TILES).map(|tile| (tile / TILES, tile % TILES)) {
        let corners = [(i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)].map(|(i, j)| corner(i, j));
        patches[(i + j) % 2].quad(corners);
    }
    patches
}

/// Two unit vectors that are orthogonal to a unit vector and to each other. For a coordinate axis they are
/// along the other two axes.
pub(crate) fn across(axis: [f64; 3]) -> [[f64; 3]; 2] {
    let least = (1..3).fold(0, |m, k| if axis[k].abs() < axis[m].abs() { k } else { m });
    let s = unit(cross(axis, std::array::from_fn(|k| f64::from(k == least))));
    [s, cross(axis, s)]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The triangles of a capsule enclose its volume, up to the discretisation error of 32 segments.
    #[test]
    fn capsules_are_closed() {
        let solid = Shape::Capsule { from: [1.0, 0.0, 0.0], to: [1.0, 2.0, 2.0], radius: 0.5 };
        let Patch { positions, triangles } = Patch::of(&solid).unwrap();
        let at = |v: u32| positions[v as usize];
        let volume: f64 = triangles.iter().map(|t| dot(at(t[0]), cross(at(t[1]), at(t[2]))) / 6.0).sum();
        let expected = PI * 0.25 * (8.0_f64.sqrt() + 4.0 / 3.0 * 0.5);
        assert!((0.97..1.0).contains(&(volume.abs() / expected)), "{volume} of {expected}");
    }

    #[test]
    fn tiles_lie_in_their_plane() {
        let view = [[-1.0; 3], [1.0, 2.0, 3.0]];
        let patches = tiles([0.0, -2.0, 0.0], [0.0, 3.0, 0.0], view);
        let points = || patches.iter().flat_map(|patch| &patch.positions);
        assert_eq!(points().count(), 4 * TILES * TILES);
        assert!(points().all(|p| (p[1] + 2.0).abs() < 1e-12));
        assert!(points().any(|p| p[0] > 1.0) && points().any(|p| p[2] < -1.0));
    }
}
