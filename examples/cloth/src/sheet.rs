//! Sheets: generated tessellations of the unit square, and meshes from files.

use std::path::Path;

use clap::ValueEnum;
use coarsen::mesh::vector::{cross, dot, sub};
use coarsen::mesh::{Mesh, read_triangles};
use coarsen_core::SplitMix64;
use examples_common::stage::unit;

use crate::fault::SheetFault;

/// The largest shift of a vertex of an irregular tessellation, in units of the spacing.
const SHIFT: f64 = 0.3;

/// How the unit square is divided into triangles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Tessellation {
    /// A grid of squares whose diagonals alternate.
    Regular,
    /// A grid whose vertices are shifted at random; each cell is cut along its shorter diagonal.
    Irregular,
}

/// A flat sheet of cloth.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sheet {
    /// (u, v) of each vertex at rest, in m.
    pub(crate) rest: Vec<[f64; 2]>,
    /// The corners of each triangle.
    pub(crate) triangles: Vec<[u32; 3]>,
}

impl Sheet {
    /// The unit square with n x n vertices, u varying fastest. With `cut`, the quarter with u and v above
    /// 1/2 is missing.
    pub(crate) fn square(n: usize, tessellation: Tessellation, cut: bool) -> Self {
        let mut random = SplitMix64::new(1);
        let half = (n - 1) / 2;
        let at = |k: usize| k as f64 / (n - 1) as f64;
        let irregular = tessellation == Tessellation::Irregular;
        let mut shifted = |k: usize| {
            let shift = SHIFT * random.number();
            let fixed = k == 0 || k == n - 1 || cut && k == half;
            if irregular && !fixed { (k as f64 + shift) / (n - 1) as f64 } else { at(k) }
        };
        let rest: Vec<_> = (0..n * n).map(|v| [shifted(v % n), shifted(v / n)]).collect();
        let length = |a: u32, b: u32| {
            let [p, q] = [a, b].map(|v| rest[v as usize]);
            (p[0] - q[0]).hypot(p[1] - q[1])
        };
        let mut triangles = Vec::new();
        for (i, j) in (0..(n - 1) * (n - 1)).map(|c| (c % (n - 1), c / (n - 1))) {
            if cut && i >= half && j >= half {
                continue;
            }
            let [a, b, c, d] =
                [(i, j), (i + 1, j), (i, j + 1), (i + 1, j + 1)].map(|(i, j)| (j * n + i) as u32);
            let along = if irregular { length(b, c) < length(a, d) } else { (i + j).is_multiple_of(2) };
            triangles.extend(if along { [[a, c, b], [b, c, d]] } else { [[a, d, b], [a, c, d]] });
        }
        Self { rest, triangles }.without_unused()
    }

    /// Reads a sheet from a file and scales its longest side to 1.
    ///
    /// # Errors
    /// [`SheetFault`], which names the element that is not valid.
    pub(crate) fn read(file: &Path) -> Result<Self, SheetFault> {
        let mesh = read_triangles(file)?.scaled(1.0);
        let normal: [f64; 3] = mesh.triangles.iter().fold([0.0; 3], |sum, t| {
            let n = normal(&mesh, t);
            [0, 1, 2].map(|k| sum[k] + n[k])
        });
        if dot(normal, normal) == 0.0 {
            return Err(SheetFault::Closed);
        }
        // u is the axis that is least parallel to the normal.
        let normal = unit(normal);
        let least = (1..3).fold(0, |m, k| if normal[k].abs() < normal[m].abs() { k } else { m });
        let along: [f64; 3] = std::array::from_fn(|k| f64::from(k == least) - normal[least] * normal[k]);
        let s = unit(along);
        let t = cross(s, normal);
        let [low, high] = mesh.bounds();
        let middle: [f64; 3] = std::array::from_fn(|k| 0.5 * (low[k] + high[k]));
        let (mut rest, mut off) = (Vec::new(), None);
        for (vertex, p) in mesh.positions.iter().enumerate() {
            let d = sub(*p, middle);
            rest.push([dot(d, s) + 0.5, dot(d, t) + 0.5]);
            let distance = dot(d, normal);
            if distance.abs() > FLAT {
                off = off.or(Some(SheetFault::Curved { vertex, distance }));
            }
        }
        match off {
            Some(fault) => Err(fault),
            None => Self { rest, triangles: mesh.triangles }.checked(),
        }
    }

    /// Checks that the sheet is a manifold without degenerate triangles and without loose vertices.
    ///
    /// # Errors
    /// [`SheetFault`] for the first triangle, edge or vertex that is not valid.
    pub(crate) fn checked(self) -> Result<Self, SheetFault> {
        let at = |v: u32| self.rest[v as usize];
        for (triangle, &[a, b, c]) in self.triangles.iter().enumerate() {
            let ([p, q], [r, s]) = (less(at(b), at(a)), less(at(c), at(a)));
            let (area, longest) = (0.5 * (p * s - q * r).abs(), p.hypot(q).max(r.hypot(s)));
            if area.is_nan() || area <= 1e-6 * longest * longest {
                return Err(SheetFault::Degenerate { triangle, area });
            }
        }
        let sides = edges_with_triangles(&self.triangles);
        for same in sides.chunk_by(|a, b| a.0 == b.0) {
            if let [(ends, first), _, (_, third), ..] = same {
                return Err(SheetFault::Manifold { ends: *ends, triangles: [*first, *third] });
            }
        }
        let mut used = vec![false; self.rest.len()];
        self.triangles.as_flattened().iter().for_each(|&v| used[v as usize] = true);
        match used.iter().position(|used| !used) {
            Some(vertex) => Err(SheetFault::Loose { vertex }),
            None => Ok(self),
        }
    }

    /// For each vertex, whether it is on the boundary.
    pub(crate) fn boundary(&self) -> Vec<bool> {
        let mut on = vec![false; self.rest.len()];
        for same in edges_with_triangles(&self.triangles).chunk_by(|a, b| a.0 == b.0) {
            if let [(ends, _)] = same {
                ends.iter().for_each(|&v| on[v as usize] = true);
            }
        }
        on
    }

    /// The lengths of the shortest and the longest edge at rest.
    pub(crate) fn edges(&self) -> [f64; 2] {
        let length = |([a, b], _): &([u32; 2], usize)| {
            let [p, q] = less(self.rest[*b as usize], self.rest[*a as usize]);
            p.hypot(q)
        };
        let ends = [f64::INFINITY, 0.0];
        let lengths = edges_with_triangles(&self.triangles);
        lengths.iter().map(length).fold(ends, |[low, high], l| [low.min(l), high.max(l)])
    }

    fn without_unused(self) -> Self {
        let positions = self.rest.iter().map(|&[u, v]| [u, v, 0.0]).collect();
        let mesh = Mesh { positions, triangles: self.triangles, tetrahedra: Vec::new() }.without_unused();
        Self { rest: mesh.positions.iter().map(|&[u, v, _]| [u, v]).collect(), triangles: mesh.triangles }
    }
}

/// The largest distance of a vertex of a file from the plane of the sheet, in units of its longest side.
const FLAT: f64 = 1e-3;

fn less(a: [f64; 2], b: [f64; 2]) -> [f64; 2] {
    [a[0] - b[0], a[1] - b[1]]
}

fn normal(mesh: &Mesh, t: &[u32; 3]) -> [f64; 3] {
    let [a, b, c] = t.map(|v| mesh.positions[v as usize]);
    cross(sub(b, a), sub(c, a))
}

/// Each side of each triangle, with the triangle, sorted by ends.
pub(crate) fn edges_with_triangles(triangles: &[[u32; 3]]) -> Vec<([u32; 2], usize)> {
    let mut sides: Vec<_> = triangles
        .iter()
        .enumerate()
        .flat_map(|(t, &[a, b, c])| [[a, b], [b, c], [c, a]].map(|[a, b]| ([a.min(b), a.max(b)], t)))
        .collect();
    sides.sort_unstable();
    sides
}

#[cfg(test)]
mod tests {
    use super::*;

    fn area(sheet: &Sheet) -> f64 {
        let half = |t: &[u32; 3]| {
            let [a, b, c] = t.map(|v| sheet.rest[v as usize]);
            let ([p, q], [r, s]) = (less(b, a), less(c, a));
            0.5 * (r * q - p * s) // all triangles have the same orientation
        };
        sheet.triangles.iter().map(half).sum()
    }

    #[test]
    fn sheets_cover_the_square_once() {
        for tessellation in [Tessellation::Regular, Tessellation::Irregular] {
            for (cut, expected, vertices) in [(false, 1.0, 121), (true, 0.75, 96)] {
                let sheet = Sheet::square(11, tessellation, cut).checked().unwrap();
                assert!((area(&sheet) - expected).abs() < 1e-12, "{tessellation:?} {}", area(&sheet));
                assert_eq!(sheet.rest.len(), vertices);
                assert_eq!(sheet.boundary().iter().filter(|on| **on).count(), 40);
            }
        }
        assert!(Sheet::square(11, Tessellation::Irregular, false).edges()[0] < 0.09);
        let [low, high] = Sheet::square(11, Tessellation::Regular, false).edges();
        assert!((low - 0.1).abs() < 1e-12 && (high - 0.02_f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn faults_are_named() {
        let rest = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.5, -1.0], [2.0, 0.0]];
        let of = |triangles: &[[u32; 3]]| {
            let used = triangles.as_flattened().iter().max().map_or(0, |v| *v as usize + 1);
            Sheet { rest: rest[..used].to_vec(), triangles: triangles.to_vec() }.checked()
        };
        assert!(of(&[[0, 1, 2], [1, 3, 2]]).is_ok());
        let fault = of(&[[0, 1, 2], [1, 0, 3], [0, 1, 4]]).unwrap_err();
        assert!(matches!(fault, SheetFault::Manifold { ends: [0, 1], .. }), "{fault}");
        let fault = of(&[[0, 1, 2], [0, 1, 5]]).unwrap_err();
        assert!(matches!(fault, SheetFault::Degenerate { triangle: 1, .. }), "{fault}");
        let fault = of(&[[0, 1, 3]]).unwrap_err();
        assert!(matches!(fault, SheetFault::Loose { vertex: 2 }), "{fault}");
    }
}
