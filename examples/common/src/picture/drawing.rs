//! What a picture of values looks like.

use super::raster::{self, Frame, Surface};
use super::{Camera, Colours, Picture, PictureError, Projection, bar};

/// How values on a mesh become a picture. A plain struct: change what differs from the default.
///
/// ```
/// use examples_common::picture::{Camera, Drawing};
/// let drawing = Drawing { width: 160, height: 120, title: "height".into(), ..Drawing::default() };
/// let corners = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
/// let picture = drawing.mesh(&corners, &[[0, 1, 2]], &[0.0, 0.5, 1.0])?;
/// assert_eq!(picture.size(), (160, 120));
/// # Ok::<(), examples_common::picture::PictureError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Drawing {
    /// Pixels across.
    pub width: usize,
    /// Pixels down.
    pub height: usize,
    /// Samples along each side of a pixel, 1 to 8; time and memory grow with the square.
    pub samples: usize,
    /// Where a mesh is seen from; [`field`](Self::field) looks straight down.
    pub camera: Camera,
    /// The scale of colours.
    pub colours: Colours,
    /// Values at the ends of the scale; none takes the smallest and the largest value.
    pub range: Option<[f64; 2]>,
    /// From 0, flat colours, to 1, all the light and shade of the lamp.
    pub shading: f64,
    /// Steps between isolines from one end of the scale to the other; 0 for none.
    pub isolines: usize,
    /// How dark the edges of triangles are, from 0 to 1.
    pub edges: f64,
    /// What is behind the mesh.
    pub background: [u8; 3],
    /// The name of the values, above the scale.
    pub title: String,
}

impl Default for Drawing {
    fn default() -> Self {
        Self {
            width: 800,
            height: 640,
            samples: 3,
            camera: Camera::default(),
            colours: Colours::default(),
            range: None,
            shading: 0.8,
            isolines: 0,
            edges: 0.0,
            background: [250, 250, 252],
            title: String::new(),
        }
    }
}

impl Drawing {
    /// A picture of triangles coloured by one value at each vertex, filling the frame, with a scale beside it.
    ///
    /// Both sides of a triangle are drawn. *Cost* the samples it covers, for each triangle.
    ///
    /// # Errors
    /// [`PictureError`] for other counts, values or positions that are not finite, triangles of missing vertices, or an empty
    /// picture.
    pub fn mesh(
        &self,
        positions: &[[f64; 3]],
        triangles: &[[u32; 3]],
        values: &[f64],
    ) -> Result<Picture, PictureError> {
        if values.len() != positions.len() {
            return Err(PictureError::Values { expected: positions.len(), found: values.len() });
        }
        if self.width == 0 || self.height == 0 {
            return Err(PictureError::Size { width: self.width, height: self.height, limit: u32::MAX });
        }
        let finite = |v: usize| values[v].is_finite() && positions[v].iter().all(|x| x.is_finite());
        if let Some(index) = (0..values.len()).find(|&v| !finite(v)) {
            return Err(PictureError::NotFinite { index });
        }
        let inside = |t: &[u32; 3]| t.iter().all(|&v| (v as usize) < values.len());
        if let Some(triangle) = triangles.iter().position(|t| !inside(t)) {
            return Err(PictureError::Corner { triangle });
        }
        let range = self.range.unwrap_or_else(|| {
            let ends = [f64::INFINITY, f64::NEG_INFINITY];
            let [low, high] = values.iter().fold(ends, |[low, high], &v| [low.min(v), high.max(v)]);
            if low < high { [low, high] } else { [low - 0.5, low + 0.5] }
        });
        let scaled: Vec<f64> = values.iter().map(|v| (v - range[0]) / (range[1] - range[0])).collect();

        let letter = self.letters();
        let margin = 1.6 * letter;
        let beside = 7.5 * letter; // the scale
        let frame = Frame {
            left: margin,
            top: margin,
            width: (self.width as f64 - 2.0 * margin - beside).max(1.0),
            height: (self.height as f64 - margin - 2.6 * letter).max(1.0), // a caption below
        };
        let camera = self.camera.fit(positions, frame.width / frame.height);
        let surface = Surface { positions, triangles, values: &scaled };
        let mut picture = raster::draw(&surface, self, &camera, frame);
        let scale = Frame { left: frame.left + frame.width + 1.8 * letter, width: beside, ..frame };
        bar::draw(&mut picture, self, range, scale);
        Ok(picture)
    }

    /// A picture of values on a grid of columns x rows points with equal distances, the first row at the bottom.
    ///
    /// # Errors
    /// As [`mesh`](Self::mesh).
    pub fn field(&self, columns: usize, rows: usize, values: &[f64]) -> Result<Picture, PictureError> {
        let expected = columns.saturating_mul(rows);
        if values.len() != expected {
            return Err(PictureError::Values { expected, found: values.len() });
        }
        let positions: Vec<[f64; 3]> =
            (0..expected).map(|k| [(k % columns) as f64, (k / columns) as f64, 0.0]).collect();
        let mut triangles = Vec::new();
        for j in 1..rows {
            for i in 1..columns {
                let d = (j * columns + i) as u32;
                let [a, b, c] = [d - columns as u32 - 1, d - columns as u32, d - 1];
                triangles.extend([[a, b, d], [a, d, c]]);
            }
        }
        self.flat().mesh(&positions, &triangles, values)
    }

    /// The same drawing of a plane z = 0, seen from above and without shade.
    pub fn flat(&self) -> Self {
        let projection = Projection::Orthographic;
        let camera = Camera { azimuth: -90.0, elevation: 90.0, up: 2, projection };
        Self { camera, shading: 0.0, ..self.clone() }
    }

    /// Writes a line at the lower left corner of a picture of this drawing.
    pub fn caption(&self, picture: &mut Picture, text: &str) {
        let size = self.letters();
        picture.text([1.6 * size, self.height as f64 - 0.8 * size], 0.9 * size, text, [70, 70, 80]);
    }

    /// The height of letters in pixels.
    pub(super) fn letters(&self) -> f64 {
        (self.height as f64 / 42.0).clamp(7.0, 40.0)
    }
}
