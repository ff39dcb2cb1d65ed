//! Frames for ParaView: VTK's unstructured grids in XML, `.vtu`, with binary data behind the text, and the list of all
//! frames with their times, `.pvd`.
//!
//! *Reference* Kitware 2023, "VTK XML File Formats".

use std::fmt::Write as _;
use std::path::Path;

use coarsen::mesh::vector::{cross, dot};
use examples_render::name;

use super::{OutputError, failed, require};

/// A 3x3 matrix, row by row.
type Matrix = [[f64; 3]; 3];

/// Points, cells of any kind, and their values.
#[derive(Clone, Debug, Default)]
pub struct Grid {
    /// Positions, three numbers for each point.
    pub points: Vec<f64>,
    /// The points of each cell: 1 is a vertex, 3 a triangle, 4 a tetrahedron.
    pub cells: Vec<Vec<u32>>,
    /// Values of points: the name, the numbers for each point, and the numbers.
    pub point_data: Vec<(&'static str, usize, Vec<f64>)>,
    /// Values of cells.
    pub cell_data: Vec<(&'static str, usize, Vec<f64>)>,
}

impl Grid {
    /// Writes a frame.
    pub fn write(&self, folder: &Path, frame: usize) -> Result<(), OutputError> {
        let path = folder.join(name(frame, "vtu"));
        std::fs::write(&path, self.bytes()).map_err(failed(&path))
    }

    /// The bytes of a file.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let (points, cells) = (self.points.len() / 3, self.cells.len());
        let (mut text, mut data) = (String::new(), Vec::new());
        let mut array = |text: &mut String, name: &str, kind: &str, numbers: usize, bytes: Vec<u8>| {
            let _ = writeln!(
                text,
                "<DataArray type=\"{kind}\" Name=\"{name}\" NumberOfComponents=\"{numbers}\" format=\"appended\" \
                 offset=\"{}\"/>",
                data.len()
            );
            data.extend((bytes.len() as u64).to_le_bytes());
            data.extend(bytes);
        };
        let floats = |values: &[f64]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
        text += "<?xml version=\"1.0\"?>\n<VTKFile type=\"UnstructuredGrid\" version=\"1.0\" byte_order=\"LittleEndian\" \
                 header_type=\"UInt64\">\n<UnstructuredGrid>\n";
        let _ = writeln!(text, "<Piece NumberOfPoints=\"{points}\" NumberOfCells=\"{cells}\">\n<Points>");
        array(&mut text, "points", "Float64", 3, floats(&self.points));
        text += "</Points>\n<Cells>\n";
        let corners = self.cells.iter().flatten().flat_map(|v| i64::from(*v).to_le_bytes()).collect();
        array(&mut text, "connectivity", "Int64", 1, corners);
        let mut end = 0;
        let ends = self.cells.iter().flat_map(|cell| {
            end += cell.len() as i64;
            end.to_le_bytes()
        });
        array(&mut text, "offsets", "Int64", 1, ends.collect());
        // VTK_VERTEX, VTK_TRIANGLE, VTK_TETRA.
        let kinds = self.cells.iter().map(|cell| match cell.len() {
            1 => 1,
            3 => 5,
            _ => 10,
        });
        array(&mut text, "types", "UInt8", 1, kinds.collect());
        text += "</Cells>\n";
        for (tag, of) in [("PointData", &self.point_data), ("CellData", &self.cell_data)] {
            let _ = writeln!(text, "<{tag}>");
            of.iter().for_each(|(name, numbers, values)| {
                array(&mut text, name, "Float64", *numbers, floats(values))
            });
            let _ = writeln!(text, "</{tag}>");
        }
        text += "</Piece>\n</UnstructuredGrid>\n<AppendedData encoding=\"raw\">\n_";
        [text.as_bytes(), &data, b"\n</AppendedData>\n</VTKFile>\n"].concat()
    }
}

/// Writes the list of the frames up to this one, `frames.pvd`; `delay` is the time between two frames in s.
///
/// # Errors
/// [`OutputError::Write`], and [`OutputError::Cache`] if the frame before this one is in another format.
pub fn list_frames(folder: &Path, frame: usize, delay: f64) -> Result<(), OutputError> {
    if let Some(before) = frame.checked_sub(1) {
        require(folder.join(name(before, "vtu")), frame)?;
    }
    let mut text =
        "<?xml version=\"1.0\"?>\n<VTKFile type=\"Collection\" version=\"0.1\">\n<Collection>\n".to_owned();
    for k in 0..=frame {
        let _ = writeln!(text, "<DataSet timestep=\"{}\" file=\"{}\"/>", k as f64 * delay, name(k, "vtu"));
    }
    text += "</Collection>\n</VTKFile>\n";
    let path = folder.join("frames.pvd");
    std::fs::write(&path, text).map_err(failed(&path))
}

/// The deformation gradient that maps three sides of a tetrahedron at rest to those now.
pub(super) fn gradient(now: [[f64; 3]; 3], [a, b, c]: [[f64; 3]; 3]) -> Matrix {
    let volume = dot(a, cross(b, c));
    let reciprocal = [cross(b, c), cross(c, a), cross(a, b)];
    [0, 1, 2].map(|i| [0, 1, 2].map(|j| (0..3).map(|k| now[k][i] * reciprocal[k][j] / volume).sum()))
}

/// The Cauchy stress σ = P Fᵀ / det F of the first Piola-Kirchhoff stress P at the deformation gradient F; zero where F is
/// singular.
pub fn cauchy(p: &Matrix, f: &Matrix) -> Matrix {
    let j = dot(f[0], cross(f[1], f[2]));
    let entry = |a: usize, b: usize| (0..3).map(|k| p[a][k] * f[b][k]).sum::<f64>();
    let over = if j == 0.0 { 0.0 } else { 1.0 / j };
    [0, 1, 2].map(|a| [0, 1, 2].map(|b| over * entry(a, b)))
}

/// The von Mises stress √(3/2 s : s), with the deviator s of a stress.
pub fn von_mises(stress: &Matrix) -> f64 {
    let mean = (stress[0][0] + stress[1][1] + stress[2][2]) / 3.0;
    let square = |a: usize, b: usize| (stress[a][b] - if a == b { mean } else { 0.0 }).powi(2);
    (1.5 * (0..9).map(|k| square(k / 3, k % 3)).sum::<f64>()).sqrt()
}
