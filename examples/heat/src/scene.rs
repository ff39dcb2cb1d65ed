//! The bodies: a plate of three materials, or a mesh from a file, with prescribed temperatures and drawing
//! settings.

use std::path::Path;

use coarsen::mesh::{Mesh, ReadError, read};
use examples_render::{Camera, Colours, Drawing, Picture, PictureError, Projection};

/// The temperature of the hot side.
pub(crate) const HOT: f64 = 100.0;

/// The temperature of the cold side, and the initial temperature.
pub(crate) const COLD: f64 = 0.0;

/// The fraction of a body, from either end, with a prescribed temperature.
const HELD: f64 = 0.03;

/// The number of isolines between cold and hot.
const ISOLINES: usize = 20;

/// A body with materials and prescribed temperatures.
pub(crate) struct Scene {
    /// Vertices and elements.
    pub(crate) mesh: Mesh,
    /// k at 0 degrees for each element.
    pub(crate) conductivity: Vec<f64>,
    /// Vertices with a prescribed temperature, and its value.
    pub(crate) given: Vec<(usize, f64)>,
    /// A length of the body, which sets the time scale.
    pub(crate) length: f64,
    /// The triangles to draw.
    surface: Vec<[u32; 3]>,
    /// The drawing settings.
    drawing: Drawing,
}

impl Scene {
    /// The unit square, divided into cells x cells squares of two triangles each; hot on the left, cold on
    /// the right.
    pub(crate) fn plate(cells: usize) -> Self {
        let mesh = square(cells);
        let given = (0..mesh.positions.len()).filter_map(|v| match mesh.positions[v][0] {
            0.0 => Some((v, HOT)),
            1.0 => Some((v, COLD)),
            _ => None,
        });
        let given = given.collect();
        let centre = |t: &[u32; 3]| {
            [0, 1].map(|k| t.iter().map(|&v| mesh.positions[v as usize][k]).sum::<f64>() / 3.0)
        };
        let conductivity = mesh.triangles.iter().map(|t| material(centre(t))).collect();
        let drawing = Drawing { title: "temperature".into(), ..Drawing::default() }.flat();
        Self::new(mesh, conductivity, given, Drawing { height: 680, ..drawing })
    }

    /// A mesh from a file with one material, of its tetrahedra alone if it has any: hot at one end of its longest side, cold at the other. The
    /// camera is `azimuth` degrees around y.
    pub(crate) fn read(file: &Path, azimuth: f64) -> Result<Self, ReadError> {
        let mut mesh = read(file)?;
        if !mesh.tetrahedra.is_empty() {
            mesh.triangles.clear(); // only tetrahedra conduct
        }
        let mesh = mesh.without_unused();
        let [low, high] = mesh.bounds();
        let size = |k: usize| high[k] - low[k];
        let axis = (1..3).fold(0, |best, k| if size(k) > size(best) { k } else { best });
        let place = |v: usize| (mesh.positions[v][axis] - low[axis]) / size(axis);
        let held = (0..mesh.positions.len()).filter_map(|v| match place(v) {
            t if t >= 1.0 - HELD => Some((v, HOT)),
            t if t <= HELD => Some((v, COLD)),
            _ => None,
        });
        let given = held.collect();
        let surface = mesh.tetrahedra.is_empty();
        let elements = if surface { mesh.triangles.len() } else { mesh.tetrahedra.len() };
        let projection = Projection::Perspective(25.0);
        let camera = Camera { azimuth, elevation: 18.0, up: 1, projection };
        let drawing = Drawing { title: "temperature".into(), camera, ..Drawing::default() };
        Ok(Self::new(mesh, vec![1.0; elements], given, drawing))
    }

    fn new(mesh: Mesh, conductivity: Vec<f64>, given: Vec<(usize, f64)>, drawing: Drawing) -> Self {
        let [low, high] = mesh.bounds();
        let length = (0..3).map(|k| high[k] - low[k]).fold(0.0, f64::max);
        let drawing =
            Drawing { range: Some([COLD, HOT]), isolines: ISOLINES, colours: Colours::Plasma, ..drawing };
        Self { surface: mesh.surface(), mesh, conductivity, given, length, drawing }
    }

    /// Draws temperatures; smaller for an animation.
    pub(crate) fn picture(&self, u: &[f64], caption: &str, film: bool) -> Result<Picture, PictureError> {
        let mut drawing = self.drawing.clone();
        if film {
            (drawing.width, drawing.height, drawing.samples) = (drawing.width / 2, drawing.height / 2, 2);
        }
        let mut picture = drawing.mesh(&self.mesh.positions, &self.surface, u)?;
        drawing.caption(&mut picture, caption);
        Ok(picture)
    }
}

/// The unit square, divided into cells x cells squares along one diagonal: no angle is obtuse, and the
/// triangulation is Delaunay.
pub(crate) fn square(cells: usize) -> Mesh {
    let n = cells + 1;
    let at = |i: usize| i as f64 / cells as f64;
    let positions = (0..n * n).map(|v| [at(v % n), at(v / n), 0.0]).collect();
    let mut triangles = Vec::with_capacity(2 * cells * cells);
    for k in 0..cells * cells {
        let a = (k / cells * n + k % cells) as u32;
        let [b, c, d] = [a + 1, a + n as u32 + 1, a + n as u32];
        triangles.extend([[a, b, c], [a, c, d]]);
    }
    Mesh { positions, triangles, ..Mesh::default() }
}

/// The conductivity: steel with two discs of insulation and a bar of copper between them.
fn material([x, y]: [f64; 2]) -> f64 {
    let disc = |cx: f64, cy: f64, r: f64| (x - cx).hypot(y - cy) < r;
    let along = 0.8 * (x - 0.5) + 0.6 * (y - 0.5);
    let across = 0.8 * (y - 0.5) - 0.6 * (x - 0.5);
    if disc(0.28, 0.72, 0.15) || disc(0.72, 0.28, 0.15) {
        0.02
    } else if along.abs() < 0.34 && across.abs() < 0.05 {
        20.0
    } else {
        1.0
    }
}
