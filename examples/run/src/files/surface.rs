//! Surfaces of bodies, for other programs.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::Path;

use clap::ValueEnum;
use coarsen::elastic::Lame;
use coarsen::mesh::vector::{cross, dot, sub};
use examples_render::name;

use super::vtu::gradient;
use super::{Grid, OutputError, cache, cauchy, failed, gltf, list_frames, require, von_mises};

/// The format of surfaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// VTK legacy, binary, with the number of the body of each triangle.
    Vtk,
    /// Wavefront OBJ, with normals, texture coordinates, and a group and a material for each body.
    Obj,
    /// For Blender: `surface.obj`, and the positions of all frames for the modifier Mesh Cache, `surface.pc2`.
    Pc2,
    /// For Blender and others: an animation `surface.glb`, written at the end from `surface.pc2`.
    Gltf,
    /// For ParaView: `frames.pvd` and a `.vtu` for each frame, with displacement, velocity, stress and von Mises stress.
    Pvd,
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
    /// What is inside, if it is solid.
    pub solid: Option<Solid>,
}

/// The inside of a body.
#[derive(Clone, Debug)]
pub struct Solid {
    /// Its tetrahedra, as indices of nodes of the scene.
    pub tetrahedra: Vec<[u32; 4]>,
    /// Its moduli.
    pub lame: Lame,
    /// The first Piola-Kirchhoff stress in Pa at a deformation gradient, if the material has one.
    pub stress: Option<fn(Lame, &[[f64; 3]; 3]) -> [[f64; 3]; 3]>,
}

/// A frame that is written: three numbers for each node of the scene.
#[derive(Clone, Copy, Debug)]
pub struct Moment<'a> {
    /// Its number.
    pub frame: usize,
    /// The time between two frames, s.
    pub delay: f64,
    /// Positions, m.
    pub x: &'a [f64],
    /// Velocities, m/s.
    pub v: &'a [f64],
}

/// The surface of all bodies, with the nodes that belong to it.
pub struct Surface {
    nodes: Vec<u32>,
    /// The bodies, with triangles as indices into `nodes`.
    groups: Vec<Group>,
    /// The positions of all nodes of the scene at rest.
    rest: Vec<[f64; 3]>,
}

/// The file of the materials of OBJ files.
const MATERIALS: &str = "frames.mtl";

/// The name of the files that have all frames.
const ALL: &str = "surface";

impl Surface {
    /// Returns the surface of bodies; `rest` has the positions of all nodes of the scene at the start, where bodies are
    /// without stress.
    pub fn new(mut groups: Vec<Group>, rest: Vec<[f64; 3]>) -> Self {
        let corners = groups.iter().flat_map(|group| group.triangles.as_flattened());
        let mut nodes: Vec<u32> = corners.copied().collect();
        nodes.sort_unstable();
        nodes.dedup();
        let number = |v: &mut u32| *v = nodes.partition_point(|node| node < v) as u32;
        groups.iter_mut().for_each(|group| group.triangles.as_flattened_mut().iter_mut().for_each(number));
        Self { groups, nodes, rest }
    }

    /// Writes a frame.
    ///
    /// # Errors
    /// [`OutputError::Write`], and [`OutputError::Cache`] if a file lacks frames before this one.
    pub fn write(&self, folder: &Path, format: Format, at: &Moment<'_>) -> Result<(), OutputError> {
        let &Moment { frame, delay, x, .. } = at;
        let bytes = match format {
            Format::Vtk => self.vtk(x),
            Format::Obj => self.obj(x),
            Format::Pc2 | Format::Gltf => {
                if format == Format::Pc2 && frame > 0 {
                    require(folder.join(ALL).with_extension("obj"), frame)?;
                }
                let path = folder.join(ALL).with_extension("pc2");
                let points: Vec<f64> = self.points(x).flatten().copied().collect();
                cache::write(&path, frame, &points).map_err(|error| match error.kind() {
                    std::io::ErrorKind::InvalidData | std::io::ErrorKind::NotFound if frame > 0 => {
                        OutputError::Cache { file: path.clone(), frame }
                    }
                    _ => failed(&path)(error),
                })?;
                if format == Format::Gltf || frame > 0 {
                    return Ok(());
                }
                self.obj(x)
            }
            Format::Pvd => {
                self.grid(at).write(folder, frame)?;
                return list_frames(folder, frame, delay);
            }
            Format::None => return Ok(()),
        };
        let path = match format {
            Format::Vtk => folder.join(name(frame, "vtk")),
            Format::Pc2 => folder.join(ALL).with_extension("obj"),
            _ => folder.join(name(frame, "obj")),
        };
        if format != Format::Vtk {
            let path = folder.join(MATERIALS);
            std::fs::write(&path, self.mtl()).map_err(failed(&path))?;
        }
        std::fs::write(&path, bytes).map_err(failed(&path))
    }

    /// Writes what is made of all frames; `delay` is the time between two of them in s.
    ///
    /// # Errors
    /// [`OutputError::Write`], [`OutputError::Cache`] if the point cache cannot be read, and [`OutputError::Large`].
    pub fn finish(&self, folder: &Path, format: Format, delay: f64) -> Result<(), OutputError> {
        if format != Format::Gltf {
            return Ok(());
        }
        let file = folder.join(ALL).with_extension("pc2");
        let frames = cache::read(&file).map_err(|_| OutputError::Cache { file: file.clone(), frame: 0 })?;
        let path = folder.join(ALL).with_extension("glb");
        let bytes = gltf::animation(&self.groups, &frames, delay);
        let bytes = bytes.ok_or_else(|| OutputError::Large { file: path.clone() })?;
        std::fs::write(&path, bytes).map_err(failed(&path))
    }

    /// A frame for ParaView: all nodes; the tetrahedra of solid bodies, and the triangles of others.
    fn grid(&self, at: &Moment<'_>) -> Grid {
        let Self { groups, nodes, rest } = self;
        let position = |x: &[f64], v: u32| -> [f64; 3] { std::array::from_fn(|k| x[3 * v as usize + k]) };
        let mut grid = Grid { points: at.x.to_vec(), ..Grid::default() };
        let (mut body, mut stresses, mut mises) = (Vec::new(), Vec::new(), Vec::new());
        for (k, group) in groups.iter().enumerate() {
            let before = grid.cells.len();
            match &group.solid {
                Some(Solid { tetrahedra, lame, stress }) => {
                    for t in tetrahedra {
                        grid.cells.push(t.to_vec());
                        let sides = |of: &dyn Fn(u32) -> [f64; 3]| {
                            let [a, b, c, d] = t.map(of);
                            [b, c, d].map(|corner| sub(corner, a))
                        };
                        let f = gradient(sides(&|v| position(at.x, v)), sides(&|v| rest[v as usize]));
                        let stress = stress.map_or([[f64::NAN; 3]; 3], |law| cauchy(&law(*lame, &f), &f));
                        mises.push(von_mises(&stress));
                        stresses.extend(stress.into_iter().flatten());
                    }
                }
                None => {
                    for t in &group.triangles {
                        grid.cells.push(t.map(|v| nodes[v as usize]).to_vec());
                        mises.push(f64::NAN);
                        stresses.extend([f64::NAN; 9]);
                    }
                }
            }
            body.resize(body.len() + grid.cells.len() - before, k as f64);
        }
        let displacement = at.x.iter().zip(rest.as_flattened()).map(|(x, start)| x - start).collect();
        grid.point_data = vec![("displacement", 3, displacement), ("velocity", 3, at.v.to_vec())];
        grid.cell_data = vec![("body", 1, body)];
        if mises.iter().any(|v| !v.is_nan()) {
            grid.cell_data.extend([("stress", 9, stresses), ("von_mises", 1, mises)]);
        }
        grid
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

    /// Wavefront OBJ. Equal texture coordinates of a body are written once. Normals have the numbers of their vertices.
    fn obj(&self, x: &[f64]) -> Vec<u8> {
        let mut text = format!("mtllib {MATERIALS}\n");
        for p in self.points(x) {
            let _ = writeln!(text, "v {} {} {}", p[0], p[1], p[2]);
        }
        let points: Vec<f64> = self.points(x).flatten().copied().collect();
        let triangles: Vec<[u32; 3]> =
            self.groups.iter().flat_map(|group| &group.triangles).copied().collect();
        for n in normals(&triangles, &points) {
            let _ = writeln!(text, "vn {:.6} {:.6} {:.6}", n[0], n[1], n[2]);
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
                    let _ = write!(text, " {}/", v + 1);
                    if let Some(texture) = texture {
                        let _ = write!(text, "{}", numbers[&texture[k][corner].map(f64::to_bits)]);
                    }
                    let _ = write!(text, "/{}", v + 1);
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

/// The unit normals of nodes: the means of those of the triangles around them, weighted by area; zero where there are none.
pub(super) fn normals(triangles: &[[u32; 3]], points: &[f64]) -> Vec<[f64; 3]> {
    let mut sums = vec![[0.0; 3]; points.len() / 3];
    for t in triangles {
        let [a, b, c] = t.map(|v| std::array::from_fn(|k| points[3 * v as usize + k]));
        let n = cross(sub(b, a), sub(c, a));
        t.iter().for_each(|&v| sums[v as usize].iter_mut().zip(n).for_each(|(sum, n)| *sum += n));
    }
    let unit = |n: [f64; 3]| {
        let length = dot(n, n).sqrt();
        if length > 0.0 { n.map(|v| v / length) } else { n }
    };
    sums.into_iter().map(unit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::Folder;
    use coarsen_mesh::{Format as Kind, parse, parse_texture};

    fn group(name: &str, triangles: &[[u32; 3]], texture: Option<Vec<[[f64; 2]; 3]>>) -> Group {
        let (name, colour) = (name.to_owned(), [255, 0, 51]);
        Group { name, colour, triangles: triangles.to_vec(), texture, solid: None }
    }

    /// Two triangles of different bodies; node 2 is inside.
    #[test]
    fn surfaces_come_back() {
        let surface =
            Surface::new(vec![group("a", &[[0, 1, 3]], None), group("b", &[[3, 4, 6]], None)], vec![]);
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
        let surface = Surface::new(vec![cloth, group("obstacle", &[[6, 7, 8]], None), other], vec![]);
        let text = String::from_utf8(surface.obj(&[0.5; 27])).unwrap();
        assert!(text.starts_with("mtllib frames.mtl\n"), "{text}");
        for name in ["cloth", "obstacle", "cap"] {
            assert!(text.contains(&format!("\ng {name}\nusemtl {name}\nf ")), "{text}");
            assert!(surface.mtl().contains(&format!("newmtl {name}\nKd 1.0000 0.0000 0.2000\n")));
        }
        assert!(text.contains("usemtl obstacle\nf 7//7 8//8 9//9\n"), "{text}");
        assert_eq!(text.matches("\nvt ").count(), 6); // (0.1, 0) of the cloth and of the cap once each
        let textured = text.replace("f 7//7 8//8 9//9\n", "");
        assert_eq!(parse_texture(textured.as_bytes()).unwrap(), [&cut[..], &[[[0.1, 0.0]; 3]]].concat());
    }

    /// Two triangles at a right angle, of which the second is four times as large.
    #[test]
    fn normals_are_weighted_by_area() {
        let points = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 4.0, 9.0, 9.0, 9.0];
        let found = normals(&[[0, 1, 2], [0, 2, 3]], &points);
        assert_eq!((found[1], found[3], found[4]), ([0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0; 3]));
        let expected = [4.0, 0.0, 1.0].map(|v: f64| v / 17.0_f64.sqrt());
        assert!(found[0].iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-15), "{:?}", found[0]);
    }

    /// A cube whose lower half is solid, and a sheet above it.
    fn scene() -> (Surface, Vec<f64>) {
        use coarsen::elastic::{Density, StableNeoHookean};
        let mesh = coarsen_mesh::Mesh::bar([1, 1, 1], 0.5);
        let mut rest = mesh.positions.clone();
        let first = rest.len() as u32;
        rest.extend([[0.0, 0.0, 1.0], [1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]);
        let law = |lame: Lame, f: &[[f64; 3]; 3]| StableNeoHookean.stress(lame, f);
        let (lame, stress) = (Lame::new(1e5, 0.3), Some(law as fn(Lame, &[[f64; 3]; 3]) -> [[f64; 3]; 3]));
        let solid = Solid { tetrahedra: mesh.tetrahedra.clone(), lame, stress };
        let body = Group { solid: Some(solid), ..group("body", &mesh.surface(), None) };
        let seam = vec![[[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]];
        let sheet = group("sheet", &[[first, first + 1, first + 2]], Some(seam));
        let x = rest.as_flattened().to_vec();
        (Surface::new(vec![body, sheet], rest), x)
    }

    /// A shear by γ of a body with the shear modulus μ has the stress μ γ, and the von Mises stress √3 μ γ, to first order.
    #[test]
    fn grids_have_displacement_velocity_and_stress() {
        let (surface, start) = scene();
        let shear = 1e-5;
        let mut x = start.clone();
        (0..x.len() / 3).for_each(|i| x[3 * i] += shear * x[3 * i + 1]);
        let v: Vec<f64> = (0..x.len()).map(|k| k as f64).collect();
        let grid = surface.grid(&Moment { frame: 3, delay: 0.1, x: &x, v: &v });
        assert_eq!((grid.points.len(), grid.cells.len()), (x.len(), 6 + 1));
        let [("displacement", 3, moved), ("velocity", 3, speed)] = &grid.point_data[..] else {
            panic!("{grid:?}")
        };
        assert_eq!(*speed, v);
        assert!((moved[3 * 7] - shear * start[3 * 7 + 1]).abs() < 1e-15);
        let [("body", 1, body), ("stress", 9, stress), ("von_mises", 1, mises)] = &grid.cell_data[..] else {
            panic!("{grid:?}")
        };
        assert_eq!((body[0], body[6], mises[6].is_nan()), (0.0, 1.0, true));
        let mu = 1e5 / (2.0 * 1.3);
        for t in 0..6 {
            assert!((stress[9 * t + 1] / (mu * shear) - 1.0).abs() < 1e-3, "{}", stress[9 * t + 1]);
            assert!((mises[t] / (3.0_f64.sqrt() * mu * shear) - 1.0).abs() < 1e-3, "{}", mises[t]);
        }
        let text = String::from_utf8_lossy(&grid.bytes()).into_owned();
        for word in ["NumberOfPoints=\"11\" NumberOfCells=\"7\"", "Name=\"von_mises\"", "</VTKFile>"] {
            assert!(text.contains(word), "{word}");
        }
    }

    /// The cache has the positions of all frames, also after a frame is written again; a hole in it is an error.
    #[test]
    fn caches_and_animations_have_all_frames() {
        let of_test = Folder::new("surface");
        let folder = &of_test.0;
        let (surface, start) = scene();
        let at = |frame: usize| start.iter().map(|x| x + frame as f64).collect::<Vec<_>>();
        let write = |frame: usize| {
            let x = at(frame);
            surface.write(folder, Format::Gltf, &Moment { frame, delay: 0.5, x: &x, v: &x })
        };
        for frame in [0, 1, 2, 1, 2] {
            write(frame).unwrap();
        }
        assert!(write(4).unwrap_err().to_string().contains("frames before frame 4"));
        let frames = cache::read(&folder.join("surface.pc2")).unwrap();
        assert_eq!((frames.len(), frames[0].len()), (3, surface.nodes.len()));
        assert_eq!(frames[2][0], frames[0][0].map(|v| v + 2.0));
        surface.finish(folder, Format::Gltf, 0.5).unwrap();
        let bytes = std::fs::read(folder.join("surface.glb")).unwrap();
        assert_eq!((&bytes[..4], bytes.len() % 4), (&b"glTF"[..], 0));
        let length = u32::from_le_bytes([12, 13, 14, 15].map(|k| bytes[k])) as usize;
        let root: serde_json::Value = serde_json::from_slice(&bytes[20..20 + length]).unwrap();
        assert_eq!(root["meshes"].as_array().unwrap().len(), 2);
        assert_eq!(root["materials"][1]["name"], "sheet");
        assert_eq!(root["meshes"][0]["primitives"][0]["targets"].as_array().unwrap().len(), 2);
        let input = root["animations"][0]["samplers"][0]["input"].as_u64().unwrap() as usize;
        assert_eq!(root["accessors"][input]["max"][0], 1.0);
        let data = &bytes[20 + length + 8..];
        assert_eq!(root["buffers"][0]["byteLength"], data.len());
        for accessor in root["accessors"].as_array().unwrap() {
            let view = &root["bufferViews"][accessor["bufferView"].as_u64().unwrap() as usize];
            let end = view["byteOffset"].as_u64().unwrap() + view["byteLength"].as_u64().unwrap();
            assert!(end <= data.len() as u64, "{accessor}");
        }
        // The morph target of frame 2 moves every vertex by 2.
        let target = root["meshes"][1]["primitives"][0]["targets"][1]["POSITION"].as_u64().unwrap() as usize;
        assert_eq!(root["accessors"][target]["min"], serde_json::json!([2.0, 2.0, 2.0]));
        std::fs::remove_file(folder.join("surface.pc2")).unwrap();
        assert!(write(1).is_err());
    }
}
