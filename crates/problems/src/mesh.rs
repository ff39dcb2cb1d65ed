//! Triangles and tetrahedra from files: Wavefront OBJ, and Gmsh MSH 2 and 4.1 as text; plain or gzip-ed.
//!
//! As much of the formats as meshes for simulation use; what a file holds beside vertices, triangles and tetrahedra is passed over.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use flate2::read::MultiGzDecoder;

use crate::ProblemError;

/// Vertices with elements of K corners between them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Mesh<const K: usize> {
    pub(crate) positions: Vec<[f64; 3]>,
    pub(crate) elements: Vec<[u32; K]>,
}

/// Gmsh element types: triangles and tetrahedra of four corners, by their number of corners.
const GMSH: [(usize, usize); 2] = [(3, 2), (4, 4)];

impl<const K: usize> Mesh<K> {
    /// Reads a file, drops vertices that no element uses, and makes the longest side of the bounding box `side` metres.
    ///
    /// # Errors
    /// [`ProblemError::Mesh`] says what is wrong.
    pub(crate) fn read(file: &str, side: f64) -> Result<Self, ProblemError> {
        let wrong = |what| ProblemError::Mesh { file: file.to_owned(), what };
        let text = text(Path::new(file)).ok_or_else(|| wrong("cannot be read as text"))?;
        let mesh =
            if text.trim_start().starts_with("$MeshFormat") { Self::msh(&text) } else { Self::obj(&text) };
        let mesh = mesh.ok_or_else(|| wrong("is neither OBJ nor MSH 2 or 4.1 as text, or is damaged"))?;
        let vertices = mesh.positions.len() as u32;
        let bad = |e: &[u32; K]| e.iter().enumerate().any(|(k, &i)| i >= vertices || e[..k].contains(&i));
        if mesh.elements.is_empty() {
            return Err(wrong("holds no elements of the kind that this problem is made of"));
        }
        if mesh.elements.iter().any(bad) || mesh.positions.as_flattened().iter().any(|x| !x.is_finite()) {
            return Err(wrong(
                "has a corner that does not exist, a degenerate element, or a position that is not finite",
            ));
        }
        Ok(mesh.used().scaled(side))
    }

    fn obj(text: &str) -> Option<Self> {
        let mut mesh = Self { positions: Vec::new(), elements: Vec::new() };
        for line in text.lines() {
            let mut words = line.split_whitespace();
            match words.next() {
                Some("v") => mesh.positions.push(point(&mut words)?),
                Some("f") => {
                    let corner = |word: &str| word.split('/').next()?.parse::<u32>().ok()?.checked_sub(1);
                    let corners: Vec<u32> = words.map(corner).collect::<Option<_>>()?;
                    if K == 3 {
                        let fan = (2..corners.len())
                            .map(|k| std::array::from_fn(|c| corners[if c == 0 { 0 } else { k - 2 + c }]));
                        mesh.elements.extend(fan);
                    }
                }
                _ => (),
            }
        }
        Some(mesh)
    }

    fn msh(text: &str) -> Option<Self> {
        let section = |name: &str| {
            let begin = text.find(&format!("${name}\n"))? + name.len() + 2;
            let end = begin + text[begin..].find("$End")?;
            Some(text[begin..end].split_whitespace())
        };
        let four = section("MeshFormat")?.next()?.starts_with('4');
        let kind = GMSH.iter().find(|(corners, _)| *corners == K)?.1;
        let mut mesh = Self { positions: Vec::new(), elements: Vec::new() };
        let mut names = HashMap::new();
        let mut words = section("Nodes")?;
        let blocks = number(&mut words)?;
        if four {
            words.nth(2)?;
            for _ in 0..blocks {
                words.nth(2)?;
                let count = number(&mut words)?;
                for _ in 0..count {
                    names.insert(number(&mut words)?, names.len() as u32);
                }
                for _ in 0..count {
                    mesh.positions.push(point(&mut words)?);
                }
            }
        } else {
            for _ in 0..blocks {
                names.insert(number(&mut words)?, names.len() as u32);
                mesh.positions.push(point(&mut words)?);
            }
        }
        let mut words = section("Elements")?;
        let blocks = number(&mut words)?;
        if four {
            words.nth(2)?;
            for _ in 0..blocks {
                words.nth(1)?;
                let (found, count) = (number(&mut words)?, number(&mut words)?);
                let corners =
                    GMSH.iter().find(|g| g.1 == found).map_or(if found == 1 { 2 } else { 1 }, |g| g.0);
                for _ in 0..count {
                    let list: Vec<usize> =
                        (0..=corners).map(|_| number(&mut words)).collect::<Option<_>>()?;
                    if found == kind {
                        mesh.push(&list[1..], &names)?;
                    }
                }
            }
        } else {
            for _ in 0..blocks {
                words.next()?;
                let (found, tags) = (number(&mut words)?, number(&mut words)?);
                let corners =
                    GMSH.iter().find(|g| g.1 == found).map_or(if found == 1 { 2 } else { 1 }, |g| g.0);
                let list: Vec<usize> =
                    (0..tags + corners).map(|_| number(&mut words)).collect::<Option<_>>()?;
                if found == kind {
                    mesh.push(&list[tags..], &names)?;
                }
            }
        }
        Some(mesh)
    }

    fn push(&mut self, corners: &[usize], names: &HashMap<usize, u32>) -> Option<()> {
        let corners: Vec<u32> = corners.iter().map(|c| names.get(c).copied()).collect::<Option<_>>()?;
        self.elements.push(corners.try_into().ok()?);
        Some(())
    }

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

fn number<'a>(words: &mut impl Iterator<Item = &'a str>) -> Option<usize> {
    words.next()?.parse().ok()
}

fn point<'a>(words: &mut impl Iterator<Item = &'a str>) -> Option<[f64; 3]> {
    let mut next = || words.next()?.parse().ok();
    Some([next()?, next()?, next()?])
}

fn text(path: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.read_to_end(&mut bytes).ok()?;
    if bytes.starts_with(&[0x1f, 0x8b]) {
        let mut plain = Vec::new();
        MultiGzDecoder::new(&bytes[..]).read_to_end(&mut plain).ok()?;
        bytes = plain;
    }
    String::from_utf8(bytes).ok().map(|text| text.replace('\r', ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polygons_become_fans() {
        let mesh = Mesh::<3>::obj("v 0 0 0\nv 2 0 0\nv 2 2 0\nv 0 2 0\nv 9 9 9\nf 1/1 2/2 3/3 4\n").unwrap();
        assert_eq!(mesh.elements, [[0, 1, 2], [0, 2, 3]]);
        let used = mesh.used().scaled(1.0);
        assert_eq!((used.positions.len(), used.positions[2]), (4, [1.0, 1.0, 0.0]));
        assert_eq!((used.clone().divided().elements.len(), used.divided().positions.len()), (8, 9));
    }

    #[test]
    fn both_versions_of_gmsh() {
        let two = "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n4\n7 0 0 0\n8 1 0 0\n9 0 1 0\n3 0 0 1\n$EndNodes\n$Elements\n2\n1 2 1 5 7 8 9\n2 4 2 1 1 7 8 9 3\n$EndElements\n";
        let four = "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Nodes\n1 4 3 9\n3 1 0 4\n7\n8\n9\n3\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n$EndNodes\n$Elements\n2 2 1 2\n2 1 2 1\n1 7 8 9\n3 1 4 1\n2 7 8 9 3\n$EndElements\n";
        let mesh = Mesh::<4>::msh(two).unwrap();
        assert_eq!(mesh.elements, [[0, 1, 2, 3]]);
        assert_eq!(Mesh::<4>::msh(four).unwrap(), mesh);
        assert_eq!(Mesh::<3>::msh(four).unwrap().elements, [[0, 1, 2]]);
        assert_eq!(Mesh::<4>::msh(&four[..four.len() - 30]), None);
    }

    #[test]
    fn what_is_wrong_is_said() {
        let error = Mesh::<3>::read("/nowhere/shirt.obj", 1.0).unwrap_err().to_string();
        assert!(error.contains("/nowhere/shirt.obj") && error.contains("cannot be read"), "{error}");
    }
}
