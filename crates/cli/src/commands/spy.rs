//! `coarsen spy`: a picture of the sparsity pattern of a matrix.
//!
//! A pixel represents a rectangle of entries; the more nonzeros it contains, the darker it is. A small matrix
//! is drawn with several pixels for each entry.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::process::ExitCode;

use coarsen::sparse::{Bsr, Graph, Permutation, morton, partition};

use crate::arguments::files::check_files;
use crate::arguments::{Reorder, Spy};
use crate::console::{count, say};
use crate::error::Failure;
use crate::input::system::{Input, check_extent};

/// The maximum number of pixels along a side, frame included.
const SIDE: usize = 1200;

/// The width of the frame in pixels.
const FRAME: usize = 8;

/// The maximum number of pixels for an entry of a small matrix.
const ZOOM: usize = 24;

/// The number of nodes of a part for `--reorder parts`.
const PART: usize = 500;

/// The colour of an empty pixel.
const PAPER: [u8; 3] = [255, 255, 255];

/// The colour of the frame.
const EDGE: [u8; 3] = [200, 200, 200];

/// The colour of the fullest pixel.
const INK: [u8; 3] = [8, 29, 88];

/// The darkness of a pixel with a single entry: visible, and much lighter than a full pixel.
const LEAST: f64 = 0.3;

/// `coarsen spy`.
pub(crate) fn run(options: &Spy) -> Result<ExitCode, Failure> {
    check_files(&options.source.inputs(), &[("--out", &options.out)])?;
    if options.source.coordinates.is_some() && options.reorder != Reorder::Morton {
        return Err(Failure::no_effect("--coordinates", "only --reorder morton needs them"));
    }
    let (input, _) = Input::inspected(&options.source)?;
    let picture = match order(options, &input)? {
        None => Picture::of(&input.matrix),
        Some(order) => Picture::of(&input.matrix.permute(&order)?),
    };
    picture.write(&options.out)?;
    let (rows, columns) = input.matrix.shape();
    say(&format!(
        "{}: {rows} x {columns}, {}, at most {} in a pixel\n",
        input.source,
        count(input.matrix.nnz(), "entry"),
        picture.most()
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// The requested order of block rows; `None` for the given order.
fn order(options: &Spy, input: &Input) -> Result<Option<Permutation>, Failure> {
    let a = &input.matrix;
    let order = match options.reorder {
        Reorder::Natural => return Ok(None),
        Reorder::Morton => {
            let why = "--reorder morton needs coordinates; give --coordinates FILE, or use --reorder rcm";
            let points = input.positions.as_ref().ok_or_else(|| Failure::usage(why))?;
            check_extent(&options.source, points)?;
            let nodes = morton::order(points)?;
            // A matrix from a file may have several scalar rows for each point.
            let each = a.pattern().rows().checked_div(nodes.len()).unwrap_or(1) as u32;
            nodes.iter().flat_map(|&node| node * each..(node + 1) * each).collect()
        }
        Reorder::Rcm => Graph::of(a.pattern())?.reverse_cuthill_mckee(),
        Reorder::Parts => {
            let parts = a.pattern().rows().div_ceil(PART).max(1);
            partition::graph_growing(&Graph::of(a.pattern())?, parts)?.members().1
        }
    };
    Ok(Some(Permutation::new(order).expect("an order contains each row once")))
}

/// The number of entries in each pixel.
struct Picture {
    width: usize,
    height: usize,
    /// The width of an entry in pixels; 1 if a pixel represents several entries.
    zoom: usize,
    counts: Vec<u32>,
}

impl Picture {
    fn of(a: &Bsr<f64>) -> Self {
        let ((rows, columns), (r, c)) = (a.shape(), a.block());
        let (inside, longest) = (SIDE - 2 * FRAME, rows.max(columns).max(1));
        let zoom = (inside / longest).clamp(1, ZOOM);
        // Both axes have the same scale.
        let cells = longest.min(inside);
        let along = |n: usize| (n * cells).div_ceil(longest).max(1);
        let (width, height) = (along(columns), along(rows));
        let mut counts = vec![0; width * height];
        for i in 0..a.pattern().rows() {
            for (j, block) in a.row(i) {
                for (e, _) in block.iter().enumerate().filter(|(_, v)| **v != 0.0) {
                    let (row, column) = (i * r + e / c, j * c + e % c);
                    counts[row * cells / longest * width + column * cells / longest] += 1;
                }
            }
        }
        Self { width, height, zoom, counts }
    }

    /// The largest number of entries in a pixel.
    fn most(&self) -> u32 {
        self.counts.iter().copied().max().unwrap_or(0)
    }

    /// The colour of a pixel with `count` entries, on a logarithmic scale.
    fn shade(count: u32, most: u32) -> [u8; 3] {
        if count == 0 {
            return PAPER;
        }
        let share = if most > 1 { f64::from(count).ln() / f64::from(most).ln() } else { 1.0 };
        let dark = LEAST + (1.0 - LEAST) * share;
        [0, 1, 2].map(|k| (f64::from(PAPER[k]) + dark * (f64::from(INK[k]) - f64::from(PAPER[k]))) as u8)
    }

    /// Width, height, and RGB row after row, framed.
    fn pixels(&self) -> (usize, usize, Vec<u8>) {
        let most = self.most();
        let (inner_width, inner_height) = (self.width * self.zoom, self.height * self.zoom);
        let (width, height) = (inner_width + 2 * FRAME, inner_height + 2 * FRAME);
        let mut pixels = Vec::with_capacity(3 * width * height);
        for y in 0..height {
            for x in 0..width {
                let outside =
                    x < FRAME - 1 || y < FRAME - 1 || x > inner_width + FRAME || y > inner_height + FRAME;
                let edge = x < FRAME || y < FRAME || x >= inner_width + FRAME || y >= inner_height + FRAME;
                pixels.extend(match (outside, edge) {
                    (true, _) => PAPER,
                    (_, true) => EDGE,
                    _ => {
                        let (row, column) = ((y - FRAME) / self.zoom, (x - FRAME) / self.zoom);
                        Self::shade(self.counts[row * self.width + column], most)
                    }
                });
            }
        }
        (width, height, pixels)
    }

    fn write(&self, file: &Path) -> Result<(), Failure> {
        let (width, height, pixels) = self.pixels();
        let out = File::create(file).map_err(Failure::write(file))?;
        let mut encoder = png::Encoder::new(BufWriter::new(out), width as u32, height as u32);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        let written = encoder.write_header().and_then(|mut writer| {
            writer.write_image_data(&pixels)?;
            writer.finish()
        });
        written.map_err(std::io::Error::other).map_err(Failure::write(file))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coarsen::sparse::assembly::from_triplets;

    #[test]
    fn entries_are_where_they_belong() {
        let a = from_triplets(2, 3, &[(0, 0, 1.0), (1, 2, 1.0), (0, 1, 0.0)]).unwrap();
        let picture = Picture::of(&a);
        assert_eq!((picture.width, picture.height, picture.zoom), (3, 2, ZOOM));
        assert_eq!(picture.counts, [1, 0, 0, 0, 0, 1]);
        let (width, height, pixels) = picture.pixels();
        assert_eq!((width, height), (3 * ZOOM + 2 * FRAME, 2 * ZOOM + 2 * FRAME));
        let at = |x: usize, y: usize| &pixels[3 * (y * width + x)..][..3];
        assert_eq!((at(0, 0), at(FRAME - 1, FRAME)), (&PAPER[..], &EDGE[..]));
        assert_eq!((at(FRAME, FRAME), at(FRAME + ZOOM, FRAME)), (&INK[..], &PAPER[..]));
    }

    #[test]
    fn large_matrices_are_counted() {
        let n = 4 * SIDE;
        let a = coarsen::sparse::Bsr::<f64>::identity(n, 1).unwrap();
        let picture = Picture::of(&a);
        assert!(picture.width == picture.height && picture.width <= SIDE && picture.zoom == 1);
        assert_eq!(picture.counts.iter().sum::<u32>() as usize, n);
        assert!((0..picture.width).all(|k| picture.counts[k * (picture.width + 1)] > 0));
        assert!(picture.pixels().0 <= SIDE);
    }

    #[test]
    fn more_is_darker() {
        let shades: Vec<u8> = [0, 1, 2, 9].map(|count| Picture::shade(count, 9)[0]).into();
        assert!(shades.is_sorted_by(|a, b| a > b), "{shades:?}");
        assert_eq!(Picture::shade(9, 9), INK);
    }
}
