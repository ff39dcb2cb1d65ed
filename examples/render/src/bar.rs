//! The colour bar beside a picture: colours, ticks at round numbers, a title.

use crate::drawing::Drawing;
use crate::raster::Frame;
use crate::text::length;
use crate::{Picture, colour};

/// The colour of letters and ticks.
const INK: [u8; 3] = [40, 40, 48];

/// The maximum number of ticks.
const TICKS: f64 = 6.0;

/// Draws the colour bar for `range` into a frame.
pub(crate) fn draw(picture: &mut Picture, drawing: &Drawing, range: [f64; 2], frame: Frame) {
    let size = drawing.letters();
    let (left, right) = (frame.left, frame.left + 1.1 * size);
    let (top, bottom) = (frame.top + 2.2 * size, frame.top + frame.height);
    for y in top as usize..bottom as usize {
        let t = (bottom - y as f64 - 0.5) / (bottom - top);
        let shade = colour::bytes(drawing.colours.at(t));
        (left as usize..right as usize).for_each(|x| picture.blend(x, y, shade, 1.0));
    }
    let high = drawing.width as f64 - 0.6 * size;
    let start = left.min(high - length(&drawing.title, 0.85 * size));
    picture.text([start, frame.top + size], 0.85 * size, &drawing.title, INK);
    for (value, label) in ticks(range) {
        let y = bottom - (value - range[0]) / (range[1] - range[0]) * (bottom - top);
        picture.line([right, y], [right + 0.4 * size, y], 1.2, INK);
        picture.text([right + 0.9 * size, y + 0.4 * size], 0.85 * size, &label, INK);
    }
}

/// Round numbers within a range, with their labels.
fn ticks([low, high]: [f64; 2]) -> Vec<(f64, String)> {
    let span = high - low;
    if !(span > 0.0 && span.is_finite()) {
        return Vec::new();
    }
    let decade = 10.0_f64.powf((span / TICKS).log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|s| s * decade).into_iter().find(|s| span / s <= TICKS);
    let step = step.unwrap_or(10.0 * decade);
    let slack = 1e-9 * span;
    let first = ((low - slack) / step).ceil();
    let count = ((high + slack) / step).floor() - first;
    let largest = low.abs().max(high.abs());
    let plain = (1e-3..1e6).contains(&largest) && step >= 1e-4;
    let digits = (-step.log10().floor()).max(0.0) as usize;
    (0..=count.clamp(0.0, 20.0) as u32)
        .map(|k| {
            let value = (first + f64::from(k)) * step;
            let value = if value.abs() < slack { 0.0 } else { value };
            (value, if plain { format!("{value:.digits$}") } else { format!("{value:.1e}") })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round() {
        let labels = |range| ticks(range).into_iter().map(|t| t.1).collect::<Vec<_>>();
        assert_eq!(labels([0.0, 1.0]), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(labels([-3.0, 97.0]), ["0", "20", "40", "60", "80"]);
        assert_eq!(labels([0.013, 0.017]), ["0.013", "0.014", "0.015", "0.016", "0.017"]);
        assert_eq!(labels([0.0, 2e7]), ["0.0e0", "5.0e6", "1.0e7", "1.5e7", "2.0e7"]);
        assert!(labels([1.0, 1.0]).is_empty() && labels([f64::NAN, 1.0]).is_empty());
    }
}
