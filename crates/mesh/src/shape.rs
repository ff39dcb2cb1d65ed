//! Generated bars, and meshes with another size, orientation or resolution.

use std::collections::HashMap;

use super::Mesh;
use super::vector::{cross, dot, sub};

/// The six edge paths from corner 000 to corner 111 of a cube (Kuhn's subdivision), the same in every cell.
const PATHS: [[usize; 2]; 6] = [[0, 1], [0, 2], [1, 0], [1, 2], [2, 0], [2, 1]];

/// All cells of a box; x varies slowest.
fn cells([nx, ny, nz]: [usize; 3]) -> impl Iterator<Item = [usize; 3]> {
    (0..nx).flat_map(move |x| (0..ny).flat_map(move |y| (0..nz).map(move |z| [x, y, z])))
}

impl Mesh {
    /// A box of cubic cells of side h with a corner at the origin, each cell divided into six tetrahedra
    /// around a diagonal; x varies slowest.
    ///
    /// ```
    /// let bar = coarsen_mesh::Mesh::bar([4, 1, 1], 0.5);
    /// assert_eq!((bar.positions.len(), bar.tetrahedra.len()), (20, 24));
    /// ```
    pub fn bar(cells: [usize; 3], h: f64) -> Self {
        Self::cubes(cells, h, |_| true)
    }

    /// The cells of a box for which `keep` is true, with all nodes of the box.
    pub(crate) fn cubes([nx, ny, nz]: [usize; 3], h: f64, keep: impl Fn([usize; 3]) -> bool) -> Self {
        let number = |[x, y, z]: [usize; 3]| ((x * (ny + 1) + y) * (nz + 1) + z) as u32;
        let positions = cells([nx + 1, ny + 1, nz + 1]).map(|p| p.map(|c| c as f64 * h)).collect();
        let mut tetrahedra = Vec::with_capacity(6 * nx * ny * nz);
        for cell in cells([nx, ny, nz]).filter(|&cell| keep(cell)) {
            for path in PATHS {
                let mut at = cell;
                let mut corner = |axis: usize| {
                    at[axis] += 1;
                    number(at)
                };
                let (b, c) = (corner(path[0]), corner(path[1]));
                let d = corner(3 - path[0] - path[1]);
                let a = number(cell);
                let even = (path[1] + 3 - path[0]) % 3 == 1; // an even path is right-handed
                tetrahedra.push(if even { [a, b, c, d] } else { [a, c, b, d] });
            }
        }
        Self { positions, tetrahedra, ..Self::default() }
    }

    /// Orients every tetrahedron to positive volume by swapping corners 2 and 3 if necessary.
    pub fn oriented(mut self) -> Self {
        for t in &mut self.tetrahedra {
            let [a, b, c, d] = t.map(|i| self.positions[i as usize]);
            if dot(sub(b, a), cross(sub(c, a), sub(d, a))) < 0.0 {
                t.swap(2, 3);
            }
        }
        self
    }

    /// Scales the mesh so that the longest side of its bounding box is `side`.
    pub fn scaled(mut self, side: f64) -> Self {
        let [low, high] = self.bounds();
        let scale = side / sub(high, low).into_iter().fold(f64::MIN_POSITIVE, f64::max);
        self.positions.as_flattened_mut().iter_mut().for_each(|x| *x *= scale);
        self
    }

    /// Divides every triangle into four triangles at the midpoints of its edges. Tetrahedra, groups and numbers are dropped.
    pub fn divided(mut self) -> Self {
        let mut middles: HashMap<[u32; 2], u32> = HashMap::new();
        let mut finer = Vec::with_capacity(4 * self.triangles.len());
        for &[a, b, c] in &self.triangles {
            let mut middle = |i: u32, j: u32| {
                *middles.entry([i.min(j), i.max(j)]).or_insert_with(|| {
                    let (p, q) = (self.positions[i as usize], self.positions[j as usize]);
                    self.positions.push(std::array::from_fn(|k| 0.5 * (p[k] + q[k])));
                    self.positions.len() as u32 - 1
                })
            };
            let [d, e, f] = [middle(a, b), middle(b, c), middle(c, a)];
            finer.extend([[a, d, f], [d, b, e], [f, e, c], [d, e, f]]);
        }
        Self { positions: self.positions, triangles: finer, ..Self::default() }
    }
}
