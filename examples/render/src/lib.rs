//! Pictures of values on meshes, and of scenes, drawn without a screen.
//!
//! A small rasteriser on the CPU computes the pixels of a [`Picture`]. Every run gives the same bytes, in a terminal, a test or
//! on a machine without a display. The light is fixed in the world, and shadows on the ground are those of this light.
//!
//! | file | what |
//! |---|---|
//! | `drawing` | [`Drawing`]: the settings of a picture; [`Drawing::mesh`] draws it |
//! | `solids` | [`Solid`]: surfaces of one colour; [`Drawing::solids`] draws them, and balls |
//! | `raster` | rasterisation of triangles and [`Balls`] with depth test; shading, isolines |
//! | `camera` | direction of view and projection |
//! | `colour` | colour maps |
//! | `bar` | the colour bar |
//! | `text` | a bitmap font |
//! | `stage` | [`Stage`]: obstacles, the ground, bodies and their shadows |
//! | `patches` | [`Patch`]: triangles of shapes |
//! | `animation` | animations as GIF |
//! | `error` | errors of drawing and writing |
//!
//! Everything is computed on one thread in a fixed order, so the same input gives the same bytes.

mod animation;
mod bar;
mod camera;
mod colour;
mod drawing;
mod error;
mod patches;
mod raster;
mod solids;
mod stage;
mod text;

use std::fs::File;
use std::io::{BufReader, BufWriter, ErrorKind};
use std::path::Path;

pub use animation::{Animation, gif_of_files};
pub use camera::{Camera, Projection};
pub use colour::Colours;
pub use drawing::Drawing;
pub use error::PictureError;
pub use patches::Patch;
pub use raster::Balls;
pub use solids::Solid;
pub use stage::{BODIES, OBSTACLE, Stage};

/// The name of the file of a frame.
pub fn name(frame: usize, extension: &str) -> String {
    format!("frame_{frame:04}.{extension}")
}

/// A rectangle of pixels, row by row from the top left; each pixel is red, green and blue in sRGB.
///
/// ```
/// use examples_render::Picture;
/// let mut picture = Picture::new(4, 2, [255; 3]);
/// picture.blend(3, 1, [0, 0, 0], 1.0);
/// assert_eq!((picture.pixel(3, 1), picture.pixel(2, 1)), ([0; 3], [255; 3]));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    width: usize,
    height: usize,
    pixels: Vec<[u8; 3]>,
}

impl Picture {
    /// A picture with one colour.
    pub fn new(width: usize, height: usize, colour: [u8; 3]) -> Self {
        Self { width, height, pixels: vec![colour; width * height] }
    }

    /// The width and height in pixels.
    pub fn size(&self) -> (usize, usize) {
        (self.width, self.height)
    }

    /// All pixels, row by row from the top left.
    pub fn pixels(&self) -> &[[u8; 3]] {
        &self.pixels
    }

    /// The pixel in column x of row y. *Panics* outside the picture.
    pub fn pixel(&self, x: usize, y: usize) -> [u8; 3] {
        assert!(x < self.width && y < self.height, "pixel ({x}, {y}) of {} x {}", self.width, self.height);
        self.pixels[y * self.width + x]
    }

    /// Blends a colour into a pixel; `share` is the covered fraction. Does nothing outside the picture.
    pub fn blend(&mut self, x: usize, y: usize, colour: [u8; 3], share: f64) {
        if x >= self.width || y >= self.height {
            return;
        }
        let share = share.clamp(0.0, 1.0);
        for (old, new) in self.pixels[y * self.width + x].iter_mut().zip(colour) {
            *old = (f64::from(*old) * (1.0 - share) + f64::from(new) * share).round() as u8;
        }
    }

    /// Draws a line with round ends, `thickness` pixels wide.
    ///
    /// The centre of pixel (x, y) is (x + ½, y + ½). The covered fraction of a pixel is computed from the
    /// distance of its centre to the line.
    pub fn line(&mut self, from: [f64; 2], to: [f64; 2], thickness: f64, colour: [u8; 3]) {
        let reach = 0.5 * thickness + 1.0;
        let ends = |k: usize, limit: usize| {
            let low = (from[k].min(to[k]) - reach).floor().clamp(0.0, limit as f64);
            let high = (from[k].max(to[k]) + reach).ceil().clamp(0.0, limit as f64);
            low as usize..high as usize
        };
        let d = [to[0] - from[0], to[1] - from[1]];
        let length2 = (d[0] * d[0] + d[1] * d[1]).max(f64::MIN_POSITIVE);
        for y in ends(1, self.height) {
            for x in ends(0, self.width) {
                let p = [x as f64 + 0.5 - from[0], y as f64 + 0.5 - from[1]];
                let t = ((p[0] * d[0] + p[1] * d[1]) / length2).clamp(0.0, 1.0);
                let away = (p[0] - t * d[0]).hypot(p[1] - t * d[1]);
                self.blend(x, y, colour, 0.5 * thickness + 0.5 - away);
            }
        }
    }

    /// Writes a line of text with letters of about `size` pixels, from the left end of its baseline.
    ///
    /// The characters of ASCII and the sign for degrees are supported; others are drawn as a box.
    pub fn text(&mut self, at: [f64; 2], size: f64, text: &str, colour: [u8; 3]) {
        self::text::write(self, at, size, text, colour);
    }

    /// Writes a PNG file.
    ///
    /// # Errors
    /// [`PictureError`] if the picture is empty or the file cannot be written.
    pub fn write_png(&self, path: impl AsRef<Path>) -> Result<(), PictureError> {
        let path = path.as_ref();
        let (width, height) = self.sides(u32::MAX)?;
        let file = File::create(path).map_err(PictureError::write(path))?;
        let mut encoder = png::Encoder::new(BufWriter::new(file), width, height);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        let written = encoder.write_header().and_then(|mut writer| {
            writer.write_image_data(self.pixels.as_flattened())?;
            writer.finish()
        });
        written.map_err(|error| PictureError::write(path)(error.into()))
    }

    /// Reads a PNG file that [`write_png`](Self::write_png) wrote.
    ///
    /// # Errors
    /// [`PictureError::Read`] if the file cannot be read, is damaged, or has another kind of pixels.
    pub fn read_png(path: impl AsRef<Path>) -> Result<Self, PictureError> {
        let path = path.as_ref();
        let fail = |kind| PictureError::Read { file: path.into(), kind };
        let damaged = |_| fail(ErrorKind::InvalidData);
        let file = File::open(path).map_err(|error| fail(error.kind()))?;
        let mut reader = png::Decoder::new(BufReader::new(file)).read_info().map_err(damaged)?;
        let &png::Info { width, height, color_type, bit_depth, .. } = reader.info();
        if (color_type, bit_depth) != (png::ColorType::Rgb, png::BitDepth::Eight) {
            return Err(fail(ErrorKind::InvalidData));
        }
        let (width, height) = (width as usize, height as usize);
        let mut pixels = vec![[0; 3]; width * height];
        reader.next_frame(pixels.as_flattened_mut()).map_err(damaged)?;
        Ok(Self { width, height, pixels })
    }

    /// The width and height as integers of a format with sides up to `limit`.
    fn sides(&self, limit: u32) -> Result<(u32, u32), PictureError> {
        let side = |n: usize| u32::try_from(n).ok().filter(|n| (1..=limit).contains(n));
        match (side(self.width), side(self.height)) {
            (Some(width), Some(height)) => Ok((width, height)),
            _ => Err(PictureError::Size { width: self.width, height: self.height, limit }),
        }
    }
}
