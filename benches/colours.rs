//! The colours of lines.

use plotters::style::RGBColor;

/// Readable on white and inverted, on a dark page; most are from the palette of Okabe & Ito.
pub(crate) const COLOURS: [RGBColor; 8] = [
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(230, 159, 0),
    RGBColor(0, 114, 178),
    RGBColor(170, 0, 60),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(0, 0, 0),
];
