//! The settings of a picture.

use crate::raster::{self, Balls, Frame, Paint, Surface};
use crate::{Camera, Colours, Picture, PictureError, Projection, bar};

/// The settings for drawing values on a mesh. Change the fields that differ from the default.
///
/// ```
/// use examples_render::{Camera, Drawing};
/// let drawing = Drawing { width: 160, height: 120, title: "height".into(), ..Drawing::default() };
/// let corners = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
/// let picture = drawing.mesh(&corners, &[[0, 1, 2]], &[0.0, 0.5, 1.0])?;
/// assert_eq!(picture.size(), (160, 120));
/// # Ok::<(), examples_render::PictureError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Drawing {
    /// Width in pixels.
    pub width: usize,
    /// Height in pixels.
    pub height: usize,
    /// Samples along each side of a pixel, 1 to 8; time and memory increase with the square.
    pub samples: usize,
    /// The camera.
    pub camera: Camera,
    /// The colour map.
    pub colours: Colours,
    /// The values at the ends of the colour map; `None` uses the smallest and largest value.
    pub range: Option<[f64; 2]>,
    /// The strength of shading, from 0 (flat colours) to 1.
    pub shading: f64,
    /// The number of intervals between isolines over the range; 0 draws none.
    pub isolines: usize,
    /// The colour of the background.
    pub background: [u8; 3],
    /// The name of the values, above the colour bar.
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
            background: [250, 250, 252],
            title: String::new(),
        }
    }
}

impl Drawing {
    /// Draws triangles, coloured by one value per vertex, to fill the frame, with a colour bar beside them.
    ///
    /// Both sides of a triangle are drawn. *Cost* proportional to the number of samples that the triangles
    /// cover.
    ///
    /// # Errors
    /// [`PictureError`] for a wrong number of values, values or positions that are not finite, triangles with
    /// missing vertices, or an empty picture.
    pub fn mesh(
        &self,
        positions: &[[f64; 3]],
        triangles: &[[u32; 3]],
        values: &[f64],
    ) -> Result<Picture, PictureError> {
        if values.len() != positions.len() {
            return Err(PictureError::Values { expected: positions.len(), found: values.len() });
        }
        if let Some(index) = values.iter().position(|v| !v.is_finite()) {
            return Err(PictureError::NotFinite { index });
        }
        self.check(positions, triangles)?;
        let range = self.range.unwrap_or_else(|| {
            let ends = [f64::INFINITY, f64::NEG_INFINITY];
            let [low, high] = values.iter().fold(ends, |[low, high], &v| [low.min(v), high.max(v)]);
            if low < high { [low, high] } else { [low - 0.5, low + 0.5] }
        });
        let scaled: Vec<f64> = values.iter().map(|v| (v - range[0]) / (range[1] - range[0])).collect();

        let letter = self.letters();
        let margin = 1.6 * letter;
        let beside = 7.5 * letter; // space for the colour bar
        let frame = Frame {
            left: margin,
            top: margin,
            width: (self.width as f64 - 2.0 * margin - beside).max(1.0),
            height: (self.height as f64 - margin - 2.6 * letter).max(1.0), // space for the caption
        };
        let camera = self.camera.fit(positions, frame.width / frame.height);
        let surface = Surface { positions, triangles, paint: Paint::Values(&scaled) };
        let mut picture = raster::draw(&[surface], Balls::default(), self, &camera, frame);
        let scale = Frame { left: frame.left + frame.width + 1.8 * letter, width: beside, ..frame };
        bar::draw(&mut picture, self, range, scale);
        Ok(picture)
    }

    /// Returns an error for a picture without pixels, positions that are not finite and corners that do not
    /// exist.
    pub(crate) fn check(&self, positions: &[[f64; 3]], triangles: &[[u32; 3]]) -> Result<(), PictureError> {
        if self.width == 0 || self.height == 0 {
            return Err(PictureError::Size { width: self.width, height: self.height, limit: u32::MAX });
        }
        if let Some(index) = positions.iter().position(|x| x.iter().any(|x| !x.is_finite())) {
            return Err(PictureError::NotFinite { index });
        }
        let outside = |t: &[u32; 3]| t.iter().any(|&v| v as usize >= positions.len());
        match triangles.iter().position(outside) {
            Some(triangle) => Err(PictureError::Corner { triangle }),
            None => Ok(()),
        }
    }

    /// The same settings for the plane z = 0, seen from above and without shading.
    pub fn flat(&self) -> Self {
        let projection = Projection::Orthographic;
        let camera = Camera { azimuth: -90.0, elevation: 90.0, up: 2, projection };
        Self { camera, shading: 0.0, ..self.clone() }
    }

    /// Writes a line of text at the lower left corner of a picture with these settings.
    pub fn caption(&self, picture: &mut Picture, text: &str) {
        let size = self.letters();
        picture.text([1.6 * size, self.height as f64 - 0.8 * size], 0.9 * size, text, [70, 70, 80]);
    }

    /// The height of letters in pixels.
    pub(crate) fn letters(&self) -> f64 {
        (self.height as f64 / 42.0).clamp(7.0, 40.0)
    }
}
