//! The boundary, welded and unused vertices, and bounding box of a mesh.

use std::cmp::Ordering;
use std::collections::HashMap;

use super::vector::{cross, dot, sub};
use super::{Group, Mesh};

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
        let mut keep = used.iter();
        self.numbers.retain(|_| keep.next() == Some(&true));
        self.triangles.iter_mut().flatten().for_each(|v| *v = new[*v as usize]);
        self.tetrahedra.iter_mut().flatten().for_each(|v| *v = new[*v as usize]);
        self
    }

    /// Merges vertices with the same coordinates. Elements that have lost a corner by it are removed, and so are elements
    /// with the corners of an earlier one, in any order, and vertices that no element uses. An element that stays is in
    /// the groups of its doubles. Returns also the number that each triangle had before.
    ///
    /// *Use* for files that split vertices where texture coordinates or normals differ on both sides of a seam, and
    /// for files with double faces: contact would take the sides of a seam for parts that touch. *Do not use* where
    /// parts that only touch should come apart. *Cost*: sorts of vertices and elements.
    ///
    /// ```
    /// use coarsen_mesh::{Format, parse};
    /// // Two triangles at a seam, whose ends are there twice, and the first triangle again.
    /// let text = b"v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nf 1 2 3\nf 4 6 5\nf 3 2 1\n";
    /// let (mesh, kept) = parse(Format::Obj, text)?.welded();
    /// assert_eq!((mesh.positions.len(), mesh.triangles), (4, vec![[0, 1, 2], [1, 3, 2]]));
    /// assert_eq!(kept, [0, 1]);
    /// # Ok::<(), coarsen_mesh::ReadError>(())
    /// ```
    pub fn welded(mut self) -> (Self, Vec<u32>) {
        let key = |v: u32| self.positions[v as usize].map(|x| x + 0.0); // -0 is 0
        let order = |a: &u32, b: &u32| {
            let axes = key(*a).into_iter().zip(key(*b)).map(|(a, b)| a.total_cmp(&b));
            axes.fold(Ordering::Equal, Ordering::then).then(a.cmp(b))
        };
        let mut sorted: Vec<u32> = (0..self.positions.len() as u32).collect();
        sorted.sort_unstable_by(order);
        let mut new = vec![0_u32; sorted.len()];
        for same in sorted.chunk_by(|a, b| key(*a) == key(*b)) {
            same.iter().for_each(|v| new[*v as usize] = same[0]);
        }
        let [kept, first] = weld(&mut self.triangles, &new);
        let [kept_solid, first_solid] = weld(&mut self.tetrahedra, &new);
        for Group { dimension, elements, .. } in &mut self.groups {
            let (kept, first) = if *dimension == 2 { (&kept, &first) } else { (&kept_solid, &first_solid) };
            let found = elements.iter().filter_map(|&old| kept.binary_search(first.get(old as usize)?).ok());
            *elements = found.map(|new| new as u32).collect();
            elements.sort_unstable();
            elements.dedup();
        }
        (self.without_unused(), kept)
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

/// Gives corners their new numbers, and keeps the elements with distinct corners that no element before has. Returns their
/// old numbers, and for each old element the first with its corners.
fn weld<const N: usize>(elements: &mut Vec<[u32; N]>, new: &[u32]) -> [Vec<u32>; 2] {
    elements.iter_mut().flatten().for_each(|v| *v = new[*v as usize]);
    let corners = |index: &u32| {
        let mut corners = elements[*index as usize];
        corners.sort_unstable();
        corners
    };
    let mut kept: Vec<u32> = (0..elements.len() as u32).collect();
    let mut first = kept.clone();
    kept.retain(|index| corners(index).windows(2).all(|pair| pair[0] != pair[1]));
    kept.sort_by_key(corners);
    for same in kept.chunk_by(|a, b| corners(a) == corners(b)) {
        same.iter().for_each(|&index| first[index as usize] = same[0]);
    }
    kept.dedup_by_key(|index| corners(index));
    kept.sort_unstable();
    *elements = kept.iter().map(|index| elements[*index as usize]).collect();
    [kept, first]
}
