//! A mesh filled with cubes.

use super::vector::{cross, dot, sub};
use super::{Mesh, Problem};

impl Mesh {
    /// The cubes whose centre lies in a tetrahedron of this mesh, divided like a [`bar`](Self::bar). `cells`
    /// cubes, at least 1, fill the longest side of the bounding box.
    ///
    /// *Use* for the same body at several resolutions. All elements have the same shape, and the surface has
    /// steps. Parts thinner than a cube may be lost. *Cost* a few operations for each cube of the box, and
    /// for each cube in the bounding box of each tetrahedron.
    ///
    /// ```
    /// let bar = coarsen_mesh::Mesh::bar([4, 1, 1], 1.0);
    /// let finer = bar.voxels(8)?;
    /// assert_eq!((finer.positions.len(), finer.tetrahedra.len()), (9 * 3 * 3, 6 * 8 * 2 * 2));
    /// # Ok::<(), coarsen_mesh::Problem>(())
    /// ```
    ///
    /// # Errors
    /// As [`check_tetrahedra`](Self::check_tetrahedra).
    pub fn voxels(&self, cells: usize) -> Result<Self, Problem> {
        self.check_tetrahedra()?;
        let [low, high] = self.bounds();
        let sides = sub(high, low);
        let edge = sides.iter().copied().fold(0.0, f64::max) / cells.max(1) as f64;
        let counts = sides.map(|side| ((side / edge - 1e-9).ceil() as usize).max(1));
        let centre =
            |c: [usize; 3]| -> [f64; 3] { std::array::from_fn(|k| low[k] + edge * (c[k] as f64 + 0.5)) };
        let place = |[i, j, k]: [usize; 3]| (i * counts[1] + j) * counts[2] + k;
        let mut filled = vec![false; counts.iter().product()];
        for corners in &self.tetrahedra {
            let x = corners.map(|c| self.positions[c as usize]);
            let first =
                |k: usize| x.iter().map(|x| (x[k] - low[k]) / edge - 0.5).fold(f64::INFINITY, f64::min);
            let last = |k: usize| x.iter().map(|x| (x[k] - low[k]) / edge - 0.5).fold(0.0, f64::max);
            let range =
                |k: usize| (first(k) - 1e-9).ceil().max(0.0) as usize..counts[k].min(last(k) as usize + 2);
            for i in range(0) {
                for j in range(1) {
                    for k in range(2) {
                        let cell = [i, j, k];
                        filled[place(cell)] |= inside(&x, centre(cell));
                    }
                }
            }
        }
        let mut mesh = Self::cubes(counts, edge, |cell| filled[place(cell)]).without_unused();
        mesh.positions.iter_mut().for_each(|x| (0..3).for_each(|k| x[k] += low[k]));
        Ok(mesh)
    }
}

/// Whether a point lies in a tetrahedron of either orientation or on its boundary.
fn inside(x: &[[f64; 3]; 4], p: [f64; 3]) -> bool {
    let volume =
        |a: [f64; 3], b: [f64; 3], c: [f64; 3], d: [f64; 3]| dot(cross(sub(b, a), sub(c, a)), sub(d, a));
    let [a, b, c, d] = *x;
    let whole = volume(a, b, c, d);
    let parts = [volume(p, b, c, d), volume(a, p, c, d), volume(a, b, p, d), volume(a, b, c, p)];
    parts.iter().all(|part| part * whole.signum() >= -1e-12 * whole.abs())
}
