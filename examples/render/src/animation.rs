//! Animations, written as GIF.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use color_quant::NeuQuant;

use crate::{Picture, PictureError};

/// The least time for which the last picture is shown, in hundredths of a second.
const HELD: u16 = 150;

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
    /// The time per picture in hundredths of a second; the last one is shown for at least 1.5 s.
    pub delay: u16,
}

impl Animation {
    /// Writes a GIF file.
    ///
    /// # Errors
    /// [`PictureError`] if there are no frames, if frames differ in size or have sides above 65535, or if the
    /// file cannot be written.
    pub fn write_gif(&self, path: impl AsRef<Path>) -> Result<(), PictureError> {
        let frame = |k: usize| Ok(Cow::Borrowed(&self.frames[k]));
        write(self.frames.len(), frame, self.delay, path.as_ref())
    }
}

/// Writes a GIF file of pictures in PNG files of [`Picture::write_png`]; see [`Animation`].
///
/// Only one picture is in memory at a time. *Cost* each file is read three times: to count colours, to choose
/// the palette, and to write the frame.
///
/// # Errors
/// [`PictureError`] as for [`Animation::write_gif`], and for files that cannot be read.
pub fn gif_of_files(
    files: &[impl AsRef<Path>],
    delay: u16,
    path: impl AsRef<Path>,
) -> Result<(), PictureError> {
    write(files.len(), |k| Picture::read_png(&files[k]).map(Cow::Owned), delay, path.as_ref())
}

/// Writes the frames 0 to `count` − 1, each of which is made when it is needed.
fn write<'a>(
    count: usize,
    frame: impl Fn(usize) -> Result<Cow<'a, Picture>, PictureError>,
    delay: u16,
    path: &Path,
) -> Result<(), PictureError> {
    if count == 0 {
        return Err(PictureError::Frame { frame: 0 });
    }
    let first = frame(0)?;
    let (size, (width, height)) = (first.size(), first.sides(u32::from(u16::MAX))?);
    let (width, height) = (width as u16, height as u16);
    let background = first.pixel(0, 0);
    drop(first);
    let quantiser = palette(count, &frame, size, background)?;
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
    for k in 0..count {
        let delay = if k + 1 == count { delay.max(HELD) } else { delay };
        let picture = frame(k)?;
        let index = |&[r, g, b]: &[u8; 3]| {
            *known.entry([r, g, b]).or_insert_with(|| quantiser.index_of(&[r, g, b, 255]) as u8)
        };
        let buffer: Vec<u8> = picture.pixels().iter().map(index).collect();
        let frame = gif::Frame { width, height, delay, buffer: Cow::Owned(buffer), ..Default::default() };
        encoder.write_frame(&frame).map_err(fail)?;
    }
    Ok(())
}

/// A palette of 255 colours for all pixels except the background, computed from evenly distributed pixels of
/// all frames, which must have one size.
fn palette<'a>(
    count: usize,
    frame: &impl Fn(usize) -> Result<Cow<'a, Picture>, PictureError>,
    size: (usize, usize),
    background: [u8; 3],
) -> Result<NeuQuant, PictureError> {
    let mut drawn = 0;
    for k in 0..count {
        let picture = frame(k)?;
        if picture.size() != size {
            return Err(PictureError::Frame { frame: k });
        }
        drawn += picture.pixels().iter().filter(|p| **p != background).count();
    }
    let step = drawn.div_ceil(LEARNT).max(1);
    let (mut learnt, mut index) = (Vec::new(), 0_usize);
    for k in 0..count {
        for &[r, g, b] in frame(k)?.pixels().iter().filter(|p| **p != background) {
            if index.is_multiple_of(step) {
                learnt.extend([r, g, b, 255]);
            }
            index += 1;
        }
    }
    if learnt.is_empty() {
        learnt = [background[0], background[1], background[2], 255].to_vec();
    }
    Ok(NeuQuant::new(1, 255, &learnt))
}
