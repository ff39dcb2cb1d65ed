//! The boundary, unused vertices and bounding box of a mesh.

use std::collections::HashMap;

use super::Mesh;
use super::vector::{cross, dot, sub};

/// The face opposite to each corner of a positively oriented tetrahedron, counter-clockwise if seen from
/// outside.
const FACES: [[usize; 3]; 4] = [[1, 2, 3], [0, 3, 2], [0, 1, 3], [0, 2, 1]];

impl Mesh {
    /// The boundary triangles: all triangles of a surface mesh, or the faces that belong to only one
    /// tetrahedron.
    ///
    /// Faces of tetrahedra are oriented outwards, whatever the orientation of the tetrahedron. *Cost* a hash
    /// table of all faces.
    pub fn surface(&self) -> Vec<[u32; 3]> {
        if self.tetrahedra.is_empty() {
            return self.triangles.clone();
        }
        let face = |t: &[u32; 4], f: [usize; 3]| f.map(|k| t[k]);
        let key = |mut f: [u32; 3]| {
            f.sort_unstable();
            f
        };
        let mut uses = HashMap::new();
        for t in &self.tetrahedra {
            FACES.iter().for_each(|&f| *uses.entry(key(face(t, f))).or_insert(0_u32) += 1);
        }
        let mut outer = Vec::new();
        for t in &self.tetrahedra {
            let [a, b, c, d] = t.map(|v| self.positions[v as usize]);
            let positive = dot(cross(sub(b, a), sub(c, a)), sub(d, a)) > 0.0;
            for f in FACES.map(|f| face(t, f)) {
                if uses[&key(f)] == 1 {
                    outer.push(if positive { f } else { [f[0], f[2], f[1]] });
                }
            }
        }
        outer
    }

    /// Removes vertices that no element uses; their rows in a stiffness matrix would be empty.
    pub fn without_unused(mut self) -> Self {
        let mut used = vec![false; self.positions.len()];
        self.triangles
            .iter()
            .flatten()
            .chain(self.tetrahedra.iter().flatten())
            .for_each(|&v| used[v as usize] = true);
        let mut new = vec![0_u32; used.len()];
        for (next, old) in (0..used.len()).filter(|&v| used[v]).enumerate() {
            new[old] = next as u32;
        }
        let mut keep = used.iter();
        self.positions.retain(|_| keep.next() == Some(&true));
        self.triangles.iter_mut().flatten().for_each(|v| *v = new[*v as usize]);
        self.tetrahedra.iter_mut().flatten().for_each(|v| *v = new[*v as usize]);
        self
    }

    /// The smallest and largest coordinate along each axis; zeros for a mesh without vertices.
    pub fn bounds(&self) -> [[f64; 3]; 2] {
        let Some(&first) = self.positions.first() else { return [[0.0; 3]; 2] };
        self.positions.iter().fold([first, first], |[low, high], x| {
            let pick = |a: [f64; 3], f: fn(f64, f64) -> f64| [0, 1, 2].map(|k| f(a[k], x[k]));
            [pick(low, f64::min), pick(high, f64::max)]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two tetrahedra with a common face and opposite orientations.
    fn pair() -> Mesh {
        let positions =
            vec![[9.0; 3], [0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 1.0, 1.0]];
        Mesh { positions, triangles: Vec::new(), tetrahedra: vec![[1, 2, 3, 4], [2, 3, 4, 5]] }
    }

    /// The volume enclosed by the boundary (by the divergence theorem) equals the volume of the tetrahedra,
    /// so all faces point outwards.
    #[test]
    fn the_surface_encloses_the_volume() {
        let mesh = pair();
        let outer = mesh.surface();
        assert_eq!(outer.len(), 6);
        let at = |v: u32| mesh.positions[v as usize];
        let volume: f64 = outer.iter().map(|t| dot(at(t[0]), cross(at(t[1]), at(t[2]))) / 6.0).sum();
        assert!((volume - (1.0 / 6.0 + 1.0 / 3.0)).abs() < 1e-15, "{volume}");
    }

    #[test]
    fn unused_vertices_go() {
        let mesh = pair().without_unused();
        assert_eq!((mesh.positions.len(), mesh.tetrahedra[1]), (5, [1, 2, 3, 4]));
        assert_eq!(mesh.bounds(), [[0.0; 3], [1.0; 3]]);
    }
}
