//! Surfaces of bodies, for other programs.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::Path;

use clap::ValueEnum;

use examples_render::name;

use super::{OutputError, failed};

/// The format of surfaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// VTK legacy, binary, with the number of the body of each triangle.
    Vtk,
    /// Wavefront OBJ, with a group and a material for each body, and its texture coordinates.
    Obj,
    /// No surfaces.
    None,
}

/// A body of a surface: a group and a material of its own.
#[derive(Clone, Debug, Default)]
pub struct Group {
    /// Its name, without spaces.
    pub name: String,
    /// The colour of its material.
    pub colour: [u8; 3],
    /// Its triangles, as indices of nodes of the scene.
    pub triangles: Vec<[u32; 3]>,
    /// The texture coordinates of the corners of each triangle.
    pub texture: Option<Vec<[[f64; 2]; 3]>>,
}

/// The surface of all bodies, with the nodes that belong to it.
pub struct Surface {
    nodes: Vec<u32>,
    /// The bodies, with triangles as indices into `nodes`.
    groups: Vec<Group>,
}

/// The file of the materials of OBJ frames.
const MATERIALS: &str = "frames.mtl";

impl Surface {
    /// Returns the surface of bodies.
    pub fn new(mut groups: Vec<Group>) -> Self {
        let corners = groups.iter().flat_map(|group| group.triangles.as_flattened());
        let mut nodes: Vec<u32> = corners.copied().collect();
        nodes.sort_unstable();
        nodes.dedup();
        let number = |v: &mut u32| *v = nodes.partition_point(|node| node < v) as u32;
        groups.iter_mut().for_each(|group| group.triangles.as_flattened_mut().iter_mut().for_each(number));
        Self { groups, nodes }
    }

    /// Writes the surface of a frame with positions x.
    ///
    /// # Errors
    /// [`OutputError::Write`]
    pub fn write(&self, folder: &Path, frame: usize, format: Format, x: &[f64]) -> Result<(), OutputError> {
        let (extension, bytes) = match format {
            Format::Vtk => ("vtk", self.vtk(x)),
            Format::Obj => {
                let path = folder.join(MATERIALS);
                std::fs::write(&path, self.mtl()).map_err(failed(&path))?;
                ("obj", self.obj(x))
            }
            Format::None => return Ok(()),
        };
        let path = folder.join(name(frame, extension));
        std::fs::write(&path, bytes).map_err(failed(&path))
    }

    fn points<'a>(&'a self, x: &'a [f64]) -> impl Iterator<Item = &'a [f64]> {
        self.nodes.iter().map(|&node| &x[3 * node as usize..3 * node as usize + 3])
    }

    /// VTK legacy: Schroeder, Martin & Lorensen 2006, "VTK File Formats". Numbers are big-endian.
    fn vtk(&self, x: &[f64]) -> Vec<u8> {
        let count: usize = self.groups.iter().map(|group| group.triangles.len()).sum();
        let mut bytes = b"# vtk DataFile Version 3.0\nsoft bodies\nBINARY\nDATASET POLYDATA\n".to_vec();
        bytes.extend(format!("POINTS {} double\n", self.nodes.len()).bytes());
        self.points(x).flatten().for_each(|v| bytes.extend(v.to_be_bytes()));
        bytes.extend(format!("\nPOLYGONS {count} {}\n", 4 * count).bytes());
        for [a, b, c] in self.groups.iter().flat_map(|group| &group.triangles) {
            [3, *a, *b, *c].iter().for_each(|v| bytes.extend(v.to_be_bytes()));
        }
        bytes.extend(format!("\nCELL_DATA {count}\nSCALARS body int 1\nLOOKUP_TABLE default\n").bytes());
        for (body, group) in self.groups.iter().enumerate() {
            group.triangles.iter().for_each(|_| bytes.extend((body as u32).to_be_bytes()));
        }
        bytes.push(b'\n');
        bytes
    }

    /// Wavefront OBJ. Equal texture coordinates of a body are written once.
    fn obj(&self, x: &[f64]) -> Vec<u8> {
        let mut text = format!("mtllib {MATERIALS}\n");
        for p in self.points(x) {
            let _ = writeln!(text, "v {} {} {}", p[0], p[1], p[2]);
        }
        let mut before = 0;
        for Group { name, triangles, texture, .. } in &self.groups {
            let mut numbers: HashMap<[u64; 2], usize> = HashMap::new();
            for point in texture.iter().flatten().flatten() {
                let next = before + numbers.len() + 1;
                numbers.entry(point.map(f64::to_bits)).or_insert_with(|| {
                    let _ = writeln!(text, "vt {} {}", point[0], point[1]);
                    next
                });
            }
            let _ = writeln!(text, "g {name}\nusemtl {name}");
            for (k, t) in triangles.iter().enumerate() {
                text.push('f');
                for (corner, v) in t.iter().enumerate() {
                    let _ = write!(text, " {}", v + 1);
                    if let Some(texture) = texture {
                        let _ = write!(text, "/{}", numbers[&texture[k][corner].map(f64::to_bits)]);
                    }
                }
                text.push('\n');
            }
            before += numbers.len();
        }
        text.into_bytes()
    }

    /// The materials of [`obj`](Self::obj).
    fn mtl(&self) -> String {
        let mut text = String::new();
        for Group { name, colour, .. } in &self.groups {
            let [r, g, b] = colour.map(|c| f64::from(c) / 255.0);
            let _ = writeln!(text, "newmtl {name}\nKd {r:.4} {g:.4} {b:.4}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coarsen_mesh::{Format as Kind, parse, parse_texture};

    fn group(name: &str, triangles: &[[u32; 3]], texture: Option<Vec<[[f64; 2]; 3]>>) -> Group {
        Group { name: name.to_owned(), colour: [255, 0, 51], triangles: triangles.to_vec(), texture }
    }

    /// Two triangles of different bodies; node 2 is inside.
    #[test]
    fn surfaces_come_back() {
        let surface = Surface::new(vec![group("a", &[[0, 1, 3]], None), group("b", &[[3, 4, 6]], None)]);
        let x: Vec<f64> = (0..21).map(|k| f64::from(k) / 3.0).collect();
        for (kind, bytes) in [(Kind::Vtk, surface.vtk(&x)), (Kind::Obj, surface.obj(&x))] {
            let mesh = parse(kind, &bytes).unwrap();
            let at = [0, 1, 3, 4, 6].map(|node: usize| [x[3 * node], x[3 * node + 1], x[3 * node + 2]]);
            assert_eq!(mesh.positions, at);
            assert_eq!(mesh.triangles, [[0, 1, 2], [2, 3, 4]]);
        }
    }

    /// Each body has a group and a material, and keeps its texture coordinates, also where a vertex has two.
    #[test]
    fn bodies_keep_group_material_and_texture() {
        let cut = vec![[[0.0, 0.0], [0.1, 0.0], [0.0, 0.1]], [[0.7, 0.0], [0.1, 0.0], [1.0 / 3.0, 0.1]]];
        let cloth = group("cloth", &[[0, 1, 2], [2, 1, 3]], Some(cut.clone()));
        let other = group("cap", &[[3, 4, 5]], Some(vec![[[0.1, 0.0]; 3]]));
        let surface = Surface::new(vec![cloth, group("obstacle", &[[6, 7, 8]], None), other]);
        let text = String::from_utf8(surface.obj(&[0.5; 27])).unwrap();
        assert!(text.starts_with("mtllib frames.mtl\n"), "{text}");
        for name in ["cloth", "obstacle", "cap"] {
            assert!(text.contains(&format!("\ng {name}\nusemtl {name}\nf ")), "{text}");
            assert!(surface.mtl().contains(&format!("newmtl {name}\nKd 1.0000 0.0000 0.2000\n")));
        }
        assert!(text.contains("usemtl obstacle\nf 7 8 9\n"), "{text}");
        assert_eq!(text.matches("\nvt ").count(), 6); // (0.1, 0) of the cloth and of the cap once each
        let textured = text.replace("f 7 8 9\n", "");
        assert_eq!(parse_texture(textured.as_bytes()).unwrap(), [&cut[..], &[[[0.1, 0.0]; 3]]].concat());
    }
}
