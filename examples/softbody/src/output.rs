//! Files of a run: the table of frames, surfaces, pictures.

use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use clap::ValueEnum;

use crate::rows::Row;
use crate::scene::Shape;

/// The format of surfaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// VTK legacy, binary, with the number of the body of each triangle.
    Vtk,
    /// Wavefront OBJ, one group for each body.
    Obj,
    /// No surfaces.
    None,
}

/// A file of an earlier run that cannot be used, or a file that cannot be written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OutputError {
    /// A file or folder that cannot be written.
    #[error(
        "{}: cannot be written ({kind}); check the folder, its permissions and the free space",
        file.display()
    )]
    Write {
        /// The file.
        file: PathBuf,
        /// The error of the operating system.
        kind: ErrorKind,
    },
    /// A picture of another width.
    #[error(
        "{}: the picture has {} x {} pixels, but this run draws {} x {}, and an animation needs one size; \
         continue with --width {}, or with --width 0",
        file.display(), found.0, found.1, expected.0, expected.1, found.0
    )]
    Width {
        /// The file.
        file: PathBuf,
        /// Its width and height.
        found: (usize, usize),
        /// Those of this run.
        expected: (usize, usize),
    },
    /// A table of frames that ends before the checkpoint.
    #[error(
        "{}: line {line} is missing or is not that of its frame, so the run cannot continue; nothing was changed",
        file.display()
    )]
    Table {
        /// The file.
        file: PathBuf,
        /// The number of the line, from 1; frame 0 is in line 2.
        line: usize,
    },
}

/// The name of the file of a frame.
pub(crate) fn name(frame: usize, extension: &str) -> String {
    format!("frame_{frame:04}.{extension}")
}

/// The table of frames, and its file, to which each frame adds a line.
pub(crate) struct Table {
    path: PathBuf,
    file: File,
    /// The rows of the start and of all frames so far.
    pub(crate) rows: Vec<Row>,
}

impl Table {
    /// Reads the rows of the start and of the first `frames` frames from the folder of an earlier run.
    ///
    /// # Errors
    /// [`OutputError::Table`] if a frame is missing; nothing is changed.
    pub(crate) fn read(folder: &Path, frames: usize) -> Result<Vec<Row>, OutputError> {
        let file = folder.join("frames.csv");
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        let mut lines = text.lines();
        if lines.next() != Some(Row::HEADER) {
            return Err(OutputError::Table { file, line: 1 });
        }
        let row = |frame: usize| {
            let row = lines.next().and_then(|line| line.parse().ok()).filter(|row: &Row| row.frame == frame);
            row.ok_or_else(|| OutputError::Table { file: file.clone(), line: frame + 2 })
        };
        (0..=frames).map(row).collect()
    }

    /// Writes a new file with these rows; creates the folder if necessary.
    ///
    /// # Errors
    /// [`OutputError::Write`]
    pub(crate) fn create(folder: &Path, rows: Vec<Row>) -> Result<Self, OutputError> {
        let path = folder.join("frames.csv");
        let beside = folder.join("frames.part");
        let mut text = format!("{}\n", Row::HEADER);
        rows.iter().for_each(|row| _ = writeln!(text, "{row}"));
        let open = || {
            std::fs::create_dir_all(folder)?;
            std::fs::write(&beside, text)?;
            std::fs::rename(&beside, &path)?;
            OpenOptions::new().append(true).open(&path)
        };
        let file = open().map_err(failed(&path))?;
        Ok(Self { path, file, rows })
    }

    /// Adds a row.
    ///
    /// # Errors
    /// [`OutputError::Write`]
    pub(crate) fn push(&mut self, row: Row) -> Result<(), OutputError> {
        writeln!(self.file, "{row}").map_err(failed(&self.path))?;
        self.rows.push(row);
        Ok(())
    }
}

/// The surface of all bodies, with the nodes that belong to it.
pub(crate) struct Surface {
    nodes: Vec<u32>,
    /// The triangles of each body, as indices into `nodes`.
    bodies: Vec<Vec<[u32; 3]>>,
}

impl Surface {
    /// Returns the surface of bodies.
    pub(crate) fn new(shapes: &[Shape]) -> Self {
        let mut nodes: Vec<u32> =
            shapes.iter().flat_map(|shape| shape.triangles.as_flattened()).copied().collect();
        nodes.sort_unstable();
        nodes.dedup();
        let number = |v: u32| nodes.partition_point(|&node| node < v) as u32;
        let triangles = |shape: &Shape| shape.triangles.iter().map(|t| t.map(number)).collect();
        Self { bodies: shapes.iter().map(triangles).collect(), nodes }
    }

    /// Writes the surface of a frame with positions x.
    ///
    /// # Errors
    /// [`OutputError::Write`]
    pub(crate) fn write(
        &self,
        folder: &Path,
        frame: usize,
        format: Format,
        x: &[f64],
    ) -> Result<(), OutputError> {
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

/// Adds the file name to an error.
pub(crate) fn failed(file: &Path) -> impl Fn(io::Error) -> OutputError {
    |error| OutputError::Write { file: file.into(), kind: error.kind() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coarsen::mesh::{Format as Kind, parse};

    /// Two triangles of different bodies; node 2 is inside.
    #[test]
    fn surfaces_come_back() {
        let shape = |first: u32| Shape { nodes: 0..7, triangles: vec![[first, first + 1, first + 3]] };
        let surface = Surface::new(&[shape(0), shape(3)]);
        let x: Vec<f64> = (0..21).map(|k| f64::from(k) / 3.0).collect();
        for (kind, bytes) in [(Kind::Vtk, surface.vtk(&x)), (Kind::Obj, surface.obj(&x))] {
            let mesh = parse(kind, &bytes).unwrap();
            let at = [0, 1, 3, 4, 6].map(|node: usize| [x[3 * node], x[3 * node + 1], x[3 * node + 2]]);
            assert_eq!(mesh.positions, at);
            assert_eq!(mesh.triangles, [[0, 1, 2], [2, 3, 4]]);
        }
    }
}
