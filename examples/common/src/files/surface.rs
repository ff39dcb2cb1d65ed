//! Surfaces of bodies, for other programs.

use std::fmt::Write as _;
use std::path::Path;

use clap::ValueEnum;

use super::{OutputError, failed, name};

/// The format of surfaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// VTK legacy, binary, with the number of the body of each triangle.
    Vtk,
    /// Wavefront OBJ, one group for each body.
    Obj,
    /// No surfaces.
    None,
}

/// The surface of all bodies, with the nodes that belong to it.
pub struct Surface {
    nodes: Vec<u32>,
    /// The triangles of each body, as indices into `nodes`.
    bodies: Vec<Vec<[u32; 3]>>,
}

impl Surface {
    /// Returns the surface of bodies, given by the triangles of each.
    pub fn new(bodies: &[Vec<[u32; 3]>]) -> Self {
        let mut nodes: Vec<u32> = bodies.iter().flat_map(|body| body.as_flattened()).copied().collect();
        nodes.sort_unstable();
        nodes.dedup();
        let number = |v: u32| nodes.partition_point(|&node| node < v) as u32;
        let triangles = |body: &Vec<[u32; 3]>| body.iter().map(|t| t.map(number)).collect();
        Self { bodies: bodies.iter().map(triangles).collect(), nodes }
    }

    /// Writes the surface of a frame with positions x.
    ///
    /// # Errors
    /// [`OutputError::Write`]
    pub fn write(&self, folder: &Path, frame: usize, format: Format, x: &[f64]) -> Result<(), OutputError> {
        let (extension, bytes) = match format {
            Format::Vtk => ("vtk", self.vtk(x)),
            Format::Obj => ("obj", self.obj(x)),
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
        let count: usize = self.bodies.iter().map(Vec::len).sum();
        let mut bytes = b"# vtk DataFile Version 3.0\nsoft bodies\nBINARY\nDATASET POLYDATA\n".to_vec();
        bytes.extend(format!("POINTS {} double\n", self.nodes.len()).bytes());
        self.points(x).flatten().for_each(|v| bytes.extend(v.to_be_bytes()));
        bytes.extend(format!("\nPOLYGONS {count} {}\n", 4 * count).bytes());
        for [a, b, c] in self.bodies.iter().flatten() {
            [3, *a, *b, *c].iter().for_each(|v| bytes.extend(v.to_be_bytes()));
        }
        bytes.extend(format!("\nCELL_DATA {count}\nSCALARS body int 1\nLOOKUP_TABLE default\n").bytes());
        for (body, triangles) in self.bodies.iter().enumerate() {
            triangles.iter().for_each(|_| bytes.extend((body as u32).to_be_bytes()));
        }
        bytes.push(b'\n');
        bytes
    }

    fn obj(&self, x: &[f64]) -> Vec<u8> {
        let mut text = String::new();
        for p in self.points(x) {
            let _ = writeln!(text, "v {} {} {}", p[0], p[1], p[2]);
        }
        for (body, triangles) in self.bodies.iter().enumerate() {
            let _ = writeln!(text, "g body{body}");
            for t in triangles {
                let _ = writeln!(text, "f {} {} {}", t[0] + 1, t[1] + 1, t[2] + 1);
            }
        }
        text.into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coarsen_mesh::{Format as Kind, parse};

    /// Two triangles of different bodies; node 2 is inside.
    #[test]
    fn surfaces_come_back() {
        let body = |first: u32| vec![[first, first + 1, first + 3]];
        let surface = Surface::new(&[body(0), body(3)]);
        let x: Vec<f64> = (0..21).map(|k| f64::from(k) / 3.0).collect();
        for (kind, bytes) in [(Kind::Vtk, surface.vtk(&x)), (Kind::Obj, surface.obj(&x))] {
            let mesh = parse(kind, &bytes).unwrap();
            let at = [0, 1, 3, 4, 6].map(|node: usize| [x[3 * node], x[3 * node + 1], x[3 * node + 2]]);
            assert_eq!(mesh.positions, at);
            assert_eq!(mesh.triangles, [[0, 1, 2], [2, 3, 4]]);
        }
    }
}
