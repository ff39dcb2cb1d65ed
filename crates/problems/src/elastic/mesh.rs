//! Tetrahedral meshes: regular bars, and those of files.

use crate::BodyError;
use crate::elastic::mat3::determinant;
use crate::mesh::Mesh;

/// Nodes and tetrahedra.
#[derive(Clone, Debug, PartialEq)]
pub struct TetMesh {
    /// Positions in metres.
    pub nodes: Vec<[f64; 3]>,
    /// Four nodes each, of positive volume.
    pub tets: Vec<[u32; 4]>,
}

/// The six paths from corner 000 to corner 111 of a cube along its edges: Kuhn's subdivision, the same in every cell.
const PATHS: [[usize; 2]; 6] = [[0, 1], [0, 2], [1, 0], [1, 2], [2, 0], [2, 1]];

impl TetMesh {
    /// A box of cells of side h, each cut into six tetrahedra around a diagonal; x slowest, from the origin.
    ///
    /// ```
    /// let bar = coarsen_problems::TetMesh::bar([4, 1, 1], 0.5);
    /// assert_eq!((bar.nodes.len(), bar.tets.len()), (20, 24));
    /// ```
    pub fn bar([nx, ny, nz]: [usize; 3], h: f64) -> Self {
        let number = |[x, y, z]: [usize; 3]| ((x * (ny + 1) + y) * (nz + 1) + z) as u32;
        let cells = |[nx, ny, nz]: [usize; 3]| {
            (0..nx).flat_map(move |x| (0..ny).flat_map(move |y| (0..nz).map(move |z| [x, y, z])))
        };
        let nodes = cells([nx + 1, ny + 1, nz + 1]).map(|p| p.map(|c| c as f64 * h)).collect();
        let mut tets = Vec::with_capacity(6 * nx * ny * nz);
        for cell in cells([nx, ny, nz]) {
            for path in PATHS {
                let mut at = cell;
                let mut corner = |axis: usize| {
                    at[axis] += 1;
                    number(at)
                };
                let (b, c) = (corner(path[0]), corner(path[1]));
                let d = corner(3 - path[0] - path[1]);
                let a = number(cell);
                let even = (path[1] + 3 - path[0]) % 3 == 1; // an even path turns right
                tets.push(if even { [a, b, c, d] } else { [a, c, b, d] });
            }
        }
        Self { nodes, tets }
    }

    /// The tetrahedra of a file that [`coarsen_mesh::read`] knows, scaled so that the longest side of the bounding box is `side`
    /// metres; tetrahedra of negative volume are turned.
    ///
    /// # Errors
    /// [`BodyError::Problem`] says what is wrong with the file.
    pub fn read(file: &str, side: f64) -> Result<Self, BodyError> {
        let Mesh { positions: nodes, elements: mut tets } = Mesh::<4>::read(file, side)?;
        for tet in &mut tets {
            let [a, b, c, d] = tet.map(|i| nodes[i as usize]);
            let edge = |p: [f64; 3]| -> [f64; 3] { std::array::from_fn(|k| p[k] - a[k]) };
            if determinant(&[edge(b), edge(c), edge(d)]) < 0.0 {
                tet.swap(2, 3);
            }
        }
        Ok(Self { nodes, tets })
    }

    /// Smallest and largest coordinate along an axis.
    pub fn extent(&self, axis: usize) -> [f64; 2] {
        let start = [f64::INFINITY, f64::NEG_INFINITY];
        self.nodes.iter().fold(start, |[low, high], p| [low.min(p[axis]), high.max(p[axis])])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn volumes(mesh: &TetMesh) -> Vec<f64> {
        let edge = |a: u32, b: u32| -> [f64; 3] {
            std::array::from_fn(|k| mesh.nodes[b as usize][k] - mesh.nodes[a as usize][k])
        };
        mesh.tets
            .iter()
            .map(|&[a, b, c, d]| determinant(&[edge(a, b), edge(a, c), edge(a, d)]) / 6.0)
            .collect()
    }

    #[test]
    fn a_bar_is_filled_once() {
        let volumes = volumes(&TetMesh::bar([3, 2, 1], 0.5));
        assert!(volumes.iter().all(|v| (v - 0.125 / 6.0).abs() < 1e-15));
        assert!((volumes.iter().sum::<f64>() - 0.75).abs() < 1e-14);
    }

    #[test]
    fn no_file_is_no_mesh() {
        assert!(matches!(TetMesh::read("/no/such/file", 1.0), Err(BodyError::Problem(_))));
    }
}
