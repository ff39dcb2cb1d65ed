//! Animations, written as GIF.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use color_quant::NeuQuant;

use super::{Picture, PictureError};

/// The maximum number of pixels from which the palette is computed.
const LEARNT: usize = 100_000;

/// Pictures of the same size, shown one after the other in a loop.
///
/// All frames share one palette of 256 colours, computed from all of them, so that colours do not flicker.
/// The background keeps its exact colour; the other 255 colours are approximations.
/// *Reference* Dekker 1994, "Kohonen neural networks for optimal colour quantization", Network 5(3).
#[derive(Clone, Debug, PartialEq)]
pub struct Animation {
    /// The pictures.
    pub frames: Vec<Picture>,
    /// The time per picture in hundredths of a second.
    pub delay: u16,
}

impl Animation {
    /// Writes a GIF file.
    ///
    /// # Errors
    /// [`PictureError`] if there are no frames, if frames differ in size or have sides above 65535, or if the
    /// file cannot be written.
    pub fn write_gif(&self, path: impl AsRef<Path>) -> Result<(), PictureError> {
        let path = path.as_ref();
        let first = self.frames.first().ok_or(PictureError::Frame { frame: 0 })?;
        if let Some(frame) = self.frames.iter().position(|f| f.size() != first.size()) {
            return Err(PictureError::Frame { frame });
        }
        let (width, height) = first.sides(u32::from(u16::MAX))?;
        let (width, height) = (width as u16, height as u16);
        let background = first.pixel(0, 0);
        let quantiser = self.palette(background);
        let palette = [quantiser.color_map_rgb(), background.to_vec()].concat();
        let last = (palette.len() / 3 - 1) as u8;
        let mut known = HashMap::from([(background, last)]);

        let fail = |error| match error {
            gif::EncodingError::Io(error) => PictureError::write(path)(error),
            other => PictureError::write(path)(std::io::Error::other(other)),
        };
        let file = File::create(path).map_err(PictureError::write(path))?;
        let mut encoder = gif::Encoder::new(BufWriter::new(file), width, height, &palette).map_err(fail)?;
        encoder.set_repeat(gif::Repeat::Infinite).map_err(fail)?;
        for picture in &self.frames {
            let index = |&[r, g, b]: &[u8; 3]| {
                *known.entry([r, g, b]).or_insert_with(|| quantiser.index_of(&[r, g, b, 255]) as u8)
            };
            let buffer: Vec<u8> = picture.pixels().iter().map(index).collect();
            let frame = gif::Frame {
                width,
                height,
                delay: self.delay,
                buffer: Cow::Owned(buffer),
                ..Default::default()
            };
            encoder.write_frame(&frame).map_err(fail)?;
        }
        Ok(())
    }

    /// A palette of 255 colours for all pixels except the background, computed from evenly distributed pixels
    /// of all frames.
    fn palette(&self, background: [u8; 3]) -> NeuQuant {
        let drawn = || self.frames.iter().flat_map(|f| f.pixels()).filter(|p| **p != background);
        let step = drawn().count().div_ceil(LEARNT).max(1);
        let mut learnt: Vec<u8> = drawn().step_by(step).flat_map(|&[r, g, b]| [r, g, b, 255]).collect();
        if learnt.is_empty() {
            learnt = [background[0], background[1], background[2], 255].to_vec();
        }
        NeuQuant::new(1, 255, &learnt)
    }
}
