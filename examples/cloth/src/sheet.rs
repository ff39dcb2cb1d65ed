//! Sheets: generated tessellations of the unit square, and meshes from files.

use std::borrow::Cow;
use std::path::Path;

use clap::ValueEnum;
use coarsen::mesh::vector::{cross, dot, sub};
use coarsen::mesh::{Mesh, read_texture, read_triangles};
use coarsen_contact::{ContactError, Topology};
use coarsen_core::SplitMix64;
use examples_scene::fields;
use examples_scene::shape::{cells, quad, unit};

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

/// One or more sheets of cloth.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Sheet {
    /// (u, v, w) of each vertex at rest, in m; w is the same within a flat sheet.
    pub(crate) rest: Vec<[f64; 3]>,
    /// The corners of each triangle.
    pub(crate) triangles: Vec<[u32; 3]>,
    /// Whether the cloth is curved at rest, with the shape that it has in space.
    pub(crate) curved: bool,
    /// The number of sheets, all alike.
    pub(crate) layers: usize,
    /// (u, v) of the corners of each triangle at rest in m, if the cloth is sewn from flat pieces.
    pub(crate) pattern: Option<Vec<[[f64; 2]; 3]>>,
    /// The texture coordinates of the corners of each triangle in the file, if all have some.
    pub(crate) painted: Option<Vec<[[f64; 2]; 3]>>,
    /// Pairs of edges that are sewn together: the ends of one, and the ends on which they come to lie.
    pub(crate) seams: Vec<[[u32; 2]; 2]>,
    /// How many triangles without area were left out.
    pub(crate) dropped: usize,
    /// Where the file of a flat sheet has it: its middle, and the directions of u and v.
    pub(crate) place: Option<([f64; 3], [[f64; 3]; 2])>,
}

fields!(Sheet { rest, triangles, curved, layers, pattern, seams } without painted, dropped, place);

/// The waist and the hem of a skirt: radius and height, in m.
pub(crate) const WAIST: [f64; 2] = [0.14, 1.0];
const HEM: [f64; 2] = [0.3, 0.5];

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
        let rest: Vec<_> = (0..n * n).map(|v| [shifted(v % n), shifted(v / n), 0.0]).collect();
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
            triangles.extend(quad([a, b, c, d], along));
        }
        Self { rest, triangles, layers: 1, ..Self::default() }.without_unused()
    }

    /// A flat sheet, scaled about its middle, (1/2, 1/2).
    pub(crate) fn scaled(mut self, size: f64) -> Self {
        let scaled = |x: f64| 0.5 + size * (x - 0.5);
        if size != 1.0 {
            self.rest.iter_mut().for_each(|[u, v, _]| (*u, *v) = (scaled(*u), scaled(*v)));
        }
        self
    }

    /// A flat sheet and copies of it, a `gap` apart along −w.
    pub(crate) fn stacked(self, sheets: usize, gap: f64) -> Self {
        let count = self.rest.len() as u32;
        let layers = 0..sheets as u32;
        let place = |k: u32| self.rest.iter().map(move |&[u, v, w]| [u, v, w - gap * f64::from(k)]);
        let number = |k: u32| self.triangles.iter().map(move |t| t.map(|v| v + k * count));
        Self {
            rest: layers.clone().flat_map(place).collect(),
            triangles: layers.flat_map(number).collect(),
            layers: sheets,
            ..self
        }
    }

    /// `layers` strips of length 1 along u, each with n vertices along and a third across, a `gap` apart along w.
    pub(crate) fn strips(n: usize, layers: usize, gap: f64) -> Self {
        let (n, across) = (n.max(3), n.max(7) / 3);
        let count = n * across;
        let at = |v: usize| {
            let (i, j) = (v % n, v % count / n);
            let spacing = 1.0 / (n - 1) as f64;
            let side = 0.5 + spacing * (j as f64 - 0.5 * (across - 1) as f64);
            [spacing * i as f64, side, gap * (v / count) as f64]
        };
        let strip = |layer: usize| cells([n - 1, across - 1], |i, j| (layer * count + j * n + i) as u32);
        let triangles = (0..layers).flat_map(strip).collect();
        Self { rest: (0..layers * count).map(at).collect(), triangles, layers, ..Self::default() }
    }

    /// A skirt with about this number of vertices: a cone around the y axis, from the waist to the hem.
    pub(crate) fn skirt(vertices: usize) -> Self {
        let rings = ((vertices as f64 / 2.5).sqrt().round() as usize).max(4);
        let around = (vertices / rings).max(8);
        let at = |v: usize| {
            let down = (v / around) as f64 / (rings - 1) as f64;
            let [radius, y] = [0, 1].map(|k| WAIST[k] + down * (HEM[k] - WAIST[k]));
            let (sin, cos) = (std::f64::consts::TAU * (v % around) as f64 / around as f64).sin_cos();
            [radius * sin, y, radius * cos]
        };
        let triangles = cells([around, rings - 1], |k, ring| (ring * around + k % around) as u32);
        let rest = (0..rings * around).map(at).collect();
        Self { rest, triangles, curved: true, layers: 1, ..Self::default() }
    }

    /// Reads a garment from a file, which keeps its shape at rest. If it is `fitted`, it becomes as high as a skirt,
    /// with its top at the waist. Nothing is checked.
    pub(crate) fn garment(file: &Path, fitted: bool, weld: bool) -> Result<Self, SheetFault> {
        let (mesh, kept) = welded(read_triangles(file)?, weld);
        Ok(Self::garment_of(mesh, painted(file, &kept), fitted))
    }

    fn garment_of(mesh: Mesh, painted: Option<Vec<[[f64; 2]; 3]>>, fitted: bool) -> Self {
        let [low, high] = mesh.bounds();
        let scale = (WAIST[1] - HEM[1]) / (high[1] - low[1]);
        let middle = [0, 1, 2].map(|k| 0.5 * (low[k] + high[k]));
        let place = |p: &[f64; 3]| {
            [scale * (p[0] - middle[0]), WAIST[1] + scale * (p[1] - high[1]), scale * (p[2] - middle[2])]
        };
        let rest = if fitted { mesh.positions.iter().map(place).collect() } else { mesh.positions };
        Self { rest, triangles: mesh.triangles, curved: true, layers: 1, painted, ..Self::default() }
    }

    /// Sews the garment of a file, as [`garment`](Self::garment), from the pieces in its texture coordinates. Their unit is
    /// such that the pieces have the area of the garment in space. Nothing is checked.
    pub(crate) fn sewn(file: &Path, fitted: bool, weld: bool) -> Result<Self, SheetFault> {
        let (mesh, kept) = welded(read_triangles(file)?, weld);
        let texture = read_texture(file)?;
        let mut pattern: Vec<_> = kept.iter().map(|&t| texture[t as usize]).collect();
        let garment = Self::garment_of(mesh, Some(pattern.clone()), fitted);
        let flat: f64 = pattern.iter().map(cut_area).sum();
        let area: f64 = (0..garment.triangles.len()).map(|t| garment.area(t)).sum();
        let scale = (area / flat).sqrt();
        pattern.as_flattened_mut().iter_mut().for_each(|p| *p = p.map(|x| scale * x));
        Ok(Self { pattern: Some(pattern), ..garment })
    }

    /// Reads a sheet from a file and scales its longest side, if a size is given. Triangles are not checked.
    ///
    /// # Errors
    /// [`SheetFault::Read`], and [`SheetFault::Closed`] and [`SheetFault::Curved`] for a surface that is not flat.
    pub(crate) fn read(file: &Path, size: Option<f64>, weld: bool) -> Result<Self, SheetFault> {
        let (mut mesh, kept) = welded(read_triangles(file)?, weld);
        if let Some(size) = size {
            mesh = mesh.scaled(size);
        }
        let normal: [f64; 3] = mesh.triangles.iter().fold([0.0; 3], |sum, t| {
            let n = normal(&mesh.positions, t);
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
        let longest = sub(high, low).into_iter().fold(0.0, f64::max);
        let (mut rest, mut off) = (Vec::new(), None);
        for (vertex, p) in mesh.positions.iter().enumerate() {
            let d = sub(*p, middle);
            rest.push([dot(d, s) + 0.5, dot(d, t) + 0.5, 0.0]);
            let distance = dot(d, normal);
            if distance.abs() > FLAT * longest {
                off = off.or(Some(SheetFault::Curved { vertex, distance }));
            }
        }
        match off {
            Some(fault) => Err(fault),
            None => {
                let painted = painted(file, &kept);
                let place = Some((middle, [s, t]));
                Ok(Self { rest, triangles: mesh.triangles, layers: 1, painted, place, ..Self::default() })
            }
        }
    }

    /// Checks that the sheet is a manifold without degenerate triangles and without loose vertices.
    pub(crate) fn checked(self) -> Result<Self, SheetFault> {
        if self.pattern.is_some() {
            let ratio = |t: usize| self.area_in_space(t) / self.area(t);
            let mut odd = (0..self.triangles.len())
                .filter(|&t| !self.is_degenerate(t) && !(1.0 / STRAINED..=STRAINED).contains(&ratio(t)));
            if let Some(triangle) = odd.next() {
                return Err(SheetFault::Pattern { triangle, ratio: ratio(triangle), count: 1 + odd.count() });
            }
        }
        let mut degenerate = (0..self.triangles.len()).filter(|&t| self.is_degenerate(t));
        if let Some(triangle) = degenerate.next() {
            let (area, count) = (self.area(triangle), 1 + degenerate.count());
            return Err(SheetFault::Degenerate { triangle, area, count });
        }
        // In a flat sheet, a triangle with another orientation lies over its neighbour.
        let up = |t: &[u32; 3]| normal(&self.rest, t)[2] > 0.0;
        if !self.curved
            && let Some(triangle) = self.triangles.iter().position(|t| up(t) != up(&self.triangles[0]))
        {
            return Err(SheetFault::Inverted { triangle });
        }
        let free = vec![false; self.rest.len()];
        if let Err(ContactError::Double { triangles, .. }) = Topology::new(&self.triangles, &free, &self.rest)
        {
            return Err(SheetFault::Double { triangles });
        }
        for same in self.sides().chunk_by(|a, b| a.0 == b.0) {
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

    /// (u, v) of the corners of each triangle at rest: those of the pattern, or of the vertices.
    pub(crate) fn flat(&self) -> Cow<'_, [[[f64; 2]; 3]]> {
        let corners = |t: &[u32; 3]| t.map(|v| self.rest[v as usize]).map(|[u, v, _]| [u, v]);
        self.pattern.as_deref().map_or_else(|| self.triangles.iter().map(corners).collect(), Cow::Borrowed)
    }

    /// The texture coordinates of the corners of each triangle: those of the file, or (u, v) of a flat sheet.
    pub(crate) fn texture(&self) -> Option<Vec<[[f64; 2]; 3]>> {
        self.painted.clone().or_else(|| (!self.curved).then(|| self.flat().into_owned()))
    }

    /// Whether a triangle has no area, in space or in its pattern.
    fn is_degenerate(&self, triangle: usize) -> bool {
        let [a, b, c] = self.triangles[triangle];
        let longest = self.length([a, b]).max(self.length([a, c]));
        [self.area(triangle), self.area_in_space(triangle)]
            .iter()
            .any(|a| a.is_nan() || *a <= 1e-6 * longest * longest)
    }

    /// Leaves out the triangles without area, and counts them; not if all are so.
    pub(crate) fn without_degenerate(mut self) -> Self {
        let good: Vec<bool> = (0..self.triangles.len()).map(|t| !self.is_degenerate(t)).collect();
        if !good.contains(&true) {
            return self;
        }
        self.dropped = good.iter().filter(|good| !**good).count();
        let mut keep = good.iter();
        self.triangles.retain(|_| keep.next() == Some(&true));
        for corners in [&mut self.pattern, &mut self.painted].into_iter().flatten() {
            let mut keep = good.iter();
            corners.retain(|_| keep.next() == Some(&true));
        }
        self.without_unused()
    }

    /// The vertices of the boundary.
    #[cfg(test)]
    pub(crate) fn boundary(&self) -> Vec<u32> {
        examples_scene::Pick::Boundary.nodes(&self.rest, &self.rest, &self.triangles).unwrap()
    }

    /// The lengths and the ends of the shortest and of the longest edge at rest.
    pub(crate) fn edges(&self) -> [(f64, [u32; 2]); 2] {
        let start = [(f64::INFINITY, [0; 2]), (0.0, [0; 2])];
        self.sides().iter().map(|(ends, _)| (self.length(*ends), *ends)).fold(start, |[low, high], own| {
            [if own.0 < low.0 { own } else { low }, if own.0 > high.0 { own } else { high }]
        })
    }

    /// Each side of each triangle, with the triangle, sorted by ends.
    pub(crate) fn sides(&self) -> Vec<([u32; 2], usize)> {
        let of = |(t, &[a, b, c]): (usize, &[u32; 3])| {
            [[a, b], [b, c], [c, a]].map(|[a, b]| ([a.min(b), a.max(b)], t))
        };
        let mut sides: Vec<_> = self.triangles.iter().enumerate().flat_map(of).collect();
        sides.sort_unstable();
        sides
    }

    /// The distance of two vertices at rest.
    pub(crate) fn length(&self, ends: [u32; 2]) -> f64 {
        let [p, q] = ends.map(|v| self.rest[v as usize]);
        dot(sub(q, p), sub(q, p)).sqrt()
    }

    /// The area of a triangle at rest.
    pub(crate) fn area(&self, triangle: usize) -> f64 {
        match &self.pattern {
            Some(pattern) => cut_area(&pattern[triangle]),
            None => self.area_in_space(triangle),
        }
    }

    fn area_in_space(&self, triangle: usize) -> f64 {
        let n = normal(&self.rest, &self.triangles[triangle]);
        0.5 * dot(n, n).sqrt()
    }

    pub(crate) fn without_unused(self) -> Self {
        let mesh = Mesh { positions: self.rest, triangles: self.triangles, ..Mesh::default() };
        let Mesh { positions: rest, triangles, .. } = mesh.without_unused();
        Self { rest, triangles, ..self }
    }
}

/// The mesh of a file and the numbers of its triangles there, with vertices at the same place merged if `weld`.
pub(crate) fn welded(mesh: Mesh, weld: bool) -> (Mesh, Vec<u32>) {
    let all = 0..mesh.triangles.len() as u32;
    if weld { mesh.welded() } else { (mesh, all.collect()) }
}

/// The texture coordinates of the kept triangles of a file, if it has some.
pub(crate) fn painted(file: &Path, kept: &[u32]) -> Option<Vec<[[f64; 2]; 3]>> {
    let texture = read_texture(file).ok()?;
    kept.iter().map(|&t| texture.get(t as usize).copied()).collect()
}

/// The area of a triangle of a pattern.
fn cut_area([p, q, r]: &[[f64; 2]; 3]) -> f64 {
    0.5 * ((q[0] - p[0]) * (r[1] - p[1]) - (r[0] - p[0]) * (q[1] - p[1])).abs()
}

/// The most by which the areas of a triangle in space and in its pattern differ: cloth is not strained to four times its
/// length at the start, but texture coordinates that are no pattern have any scale.
const STRAINED: f64 = 16.0;

/// The largest distance of a vertex of a file from the plane of the sheet, in units of its longest side.
const FLAT: f64 = 1e-3;

fn normal(positions: &[[f64; 3]], t: &[u32; 3]) -> [f64; 3] {
    let [a, b, c] = t.map(|v| positions[v as usize]);
    cross(sub(b, a), sub(c, a))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All triangles have the same orientation.
    fn area(sheet: &Sheet) -> f64 {
        sheet.triangles.iter().map(|t| -0.5 * normal(&sheet.rest, t)[2]).sum()
    }

    #[test]
    fn sheets_cover_the_square_once() {
        for tessellation in [Tessellation::Regular, Tessellation::Irregular] {
            for (cut, expected, vertices) in [(false, 1.0, 121), (true, 0.75, 96)] {
                let sheet = Sheet::square(11, tessellation, cut).checked().unwrap();
                assert!((area(&sheet) - expected).abs() < 1e-12, "{tessellation:?} {}", area(&sheet));
                assert_eq!(sheet.rest.len(), vertices);
                assert_eq!(sheet.boundary().len(), 40);
            }
        }
        assert!(Sheet::square(11, Tessellation::Irregular, false).edges()[0].0 < 0.09);
        let [low, high] = Sheet::square(11, Tessellation::Regular, false).edges().map(|(length, _)| length);
        assert!((low - 0.1).abs() < 1e-12 && (high - 0.02_f64.sqrt()).abs() < 1e-12);
    }

    /// A skirt has the area of its cone, up to its corners; strips have theirs, and are apart.
    #[test]
    fn skirts_and_strips_have_their_area() {
        let skirt = Sheet::skirt(2500).checked().unwrap();
        let area = area_of(&skirt);
        let slant = (0.5_f64.powi(2) + 0.16_f64.powi(2)).sqrt();
        let cone = std::f64::consts::PI * (WAIST[0] + HEM[0]) * slant;
        assert!((0.99..1.0).contains(&(area / cone)), "{area} of {cone}");
        assert_eq!(skirt.boundary().len(), 2 * (skirt.rest.len() / 32));
        let strips = Sheet::strips(31, 3, 0.01).checked().unwrap();
        assert!((area_of(&strips) - 3.0 * 0.3).abs() < 1e-12, "{}", area_of(&strips));
        assert_eq!(strips.rest.len(), 3 * 31 * 10);
    }

    fn area_of(sheet: &Sheet) -> f64 {
        (0..sheet.triangles.len()).map(|t| sheet.area(t)).sum()
    }

    #[test]
    fn faults_are_named() {
        let flat = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.5, -1.0], [2.0, 0.0]];
        let rest = flat.map(|[u, v]| [u, v, 0.0]);
        let of = |triangles: &[[u32; 3]]| {
            let used = triangles.as_flattened().iter().max().map_or(0, |v| *v as usize + 1);
            Sheet {
                rest: rest[..used].to_vec(),
                triangles: triangles.to_vec(),
                layers: 1,
                ..Sheet::default()
            }
            .checked()
        };
        assert!(of(&[[0, 1, 2], [1, 3, 2]]).is_ok());
        let fault = of(&[[0, 1, 2], [1, 0, 4], [0, 1, 3]]).unwrap_err();
        assert!(matches!(fault, SheetFault::Manifold { ends: [0, 1], .. }), "{fault}");
        let fault = of(&[[0, 1, 2], [0, 1, 5]]).unwrap_err();
        assert!(matches!(fault, SheetFault::Degenerate { triangle: 1, .. }), "{fault}");
        let fault = of(&[[0, 1, 2], [2, 1, 0]]).unwrap_err();
        assert!(matches!(fault, SheetFault::Inverted { triangle: 1 }), "{fault}");
        let fault = of(&[[0, 1, 3]]).unwrap_err();
        assert!(matches!(fault, SheetFault::Loose { vertex: 2 }), "{fault}");
    }
}
