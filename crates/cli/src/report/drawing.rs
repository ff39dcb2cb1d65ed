//! What pictures have in common.

use std::ops::Range;
use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;

use crate::error::Failure;

pub(crate) const INK: RGBColor = RGBColor(60, 60, 60);
pub(crate) const FAINT: RGBColor = RGBColor(225, 225, 225);

pub(crate) type Canvas<'a> = DrawingArea<SVGBackend<'a>, Shift>;
pub(crate) type Drawn = Result<(), Box<dyn std::error::Error + Send + Sync>>;

/// Writes an SVG file of a width and height in pixels.
pub(crate) fn write(
    file: &Path,
    size: (u32, u32),
    draw: impl FnOnce(&Canvas<'_>) -> Drawn,
) -> Result<(), Failure> {
    let canvas = SVGBackend::new(file, size).into_drawing_area();
    let drawn = canvas.fill(&WHITE).map_err(Into::into).and_then(|()| draw(&canvas));
    let written = drawn.and_then(|()| Ok(canvas.present()?));
    written.map_err(std::io::Error::other).map_err(Failure::write(file))
}

/// The powers of ten around positive numbers, at least one decade below 10.
pub(crate) fn decades(values: impl Iterator<Item = f64>) -> Range<f64> {
    let (low, high) = values.fold((1.0_f64, 1.0_f64), |(low, high), v| (low.min(v), high.max(v)));
    let power = |exponent: f64| 10.0_f64.powf(exponent.clamp(-300.0, 300.0));
    power(low.log10().floor())..power(high.log10().ceil()).max(10.0)
}
