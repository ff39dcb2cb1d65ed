//! Triangles or tetrahedra that a problem is assembled on: from a file, without what it does not use, at a size.

use std::collections::HashMap;

use coarsen_mesh::ReadError;

use crate::ProblemError;

/// Vertices with elements of K corners between them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Mesh<const K: usize> {
    pub(crate) positions: Vec<[f64; 3]>,
    pub(crate) elements: Vec<[u32; K]>,
}

impl Mesh<3> {
    /// The triangles of a file, without vertices that they do not use; the longest side of the bounding box is `side` metres.
    ///
    /// # Errors
    /// [`ProblemError::Mesh`] says what is wrong.
    pub(crate) fn read(file: &str, side: f64) -> Result<Self, ProblemError> {
        let mesh = coarsen_mesh::read(file)?;
        mesh.check_triangles().map_err(|problem| ReadError::of_whole(file, problem))?;
        Ok(Self { positions: mesh.positions, elements: mesh.triangles }.used().scaled(side))
    }
}

impl Mesh<4> {
    /// The tetrahedra of a file, likewise; each has a volume.
    ///
    /// # Errors
    /// [`ProblemError::Mesh`] says what is wrong.
    pub(crate) fn read(file: &str, side: f64) -> Result<Self, ProblemError> {
        let mesh = coarsen_mesh::read(file)?;
        mesh.check_tetrahedra().map_err(|problem| ReadError::of_whole(file, problem))?;
        Ok(Self { positions: mesh.positions, elements: mesh.tetrahedra }.used().scaled(side))
    }
}

impl<const K: usize> Mesh<K> {
    /// Without vertices that no element uses.
    fn used(self) -> Self {
        let mut name = vec![u32::MAX; self.positions.len()];
        self.elements.as_flattened().iter().for_each(|&i| name[i as usize] = 0);
        let mut positions = Vec::new();
        for (i, name) in name.iter_mut().enumerate().filter(|(_, name)| **name == 0) {
            *name = positions.len() as u32;
            positions.push(self.positions[i]);
        }
        let elements = self.elements.iter().map(|e| e.map(|i| name[i as usize])).collect();
        Self { positions, elements }
    }

    /// With a bounding box whose longest side is `side`.
    fn scaled(mut self, side: f64) -> Self {
        let extent = |axis: usize| {
            let ends = self.positions.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), p| {
                (low.min(p[axis]), high.max(p[axis]))
            });
            ends.1 - ends.0
        };
        let scale = side / (0..3).map(extent).fold(f64::MIN_POSITIVE, f64::max);
        self.positions.as_flattened_mut().iter_mut().for_each(|x| *x *= scale);
        self
    }
}

impl Mesh<3> {
    /// Every triangle divided into four by the middles of its edges.
    pub(crate) fn divided(mut self) -> Self {
        let mut middles: HashMap<[u32; 2], u32> = HashMap::new();
        let mut finer = Vec::with_capacity(4 * self.elements.len());
        for &[a, b, c] in &self.elements {
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
        Self { positions: self.positions, elements: finer }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_element_uses_goes_and_triangles_are_divided() {
        let positions = vec![[0.0; 3], [2.0, 0.0, 0.0], [9.0; 3], [2.0, 2.0, 0.0], [0.0, 2.0, 0.0]];
        let mesh = Mesh { positions, elements: vec![[0, 1, 3], [0, 3, 4]] }.used().scaled(1.0);
        assert_eq!((mesh.positions.len(), mesh.positions[2]), (4, [1.0, 1.0, 0.0]));
        assert_eq!((mesh.clone().divided().elements.len(), mesh.divided().positions.len()), (8, 9));
    }

    #[test]
    fn what_is_wrong_is_said() {
        let error = Mesh::<3>::read("/nowhere/shirt.obj", 1.0).unwrap_err().to_string();
        assert!(error.contains("/nowhere/shirt.obj") && error.contains("cannot be read"), "{error}");
    }
}
