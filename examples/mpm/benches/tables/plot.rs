//! Curves in two panels side by side, as SVG. Ordinates are logarithmic.

use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;

use crate::Outcome;

const COLOURS: [RGBColor; 5] = [
    RGBColor(213, 94, 0),
    RGBColor(230, 159, 0),
    RGBColor(0, 114, 178),
    RGBColor(86, 180, 233),
    RGBColor(0, 158, 115),
];

/// A curve.
#[derive(Clone, Debug)]
pub(crate) struct Curve {
    pub(crate) name: &'static str,
    /// Abscissas and ordinates; the latter are positive.
    pub(crate) points: Vec<[f64; 2]>,
}

/// The abscissa of a panel.
pub(crate) struct Axis {
    pub(crate) name: &'static str,
    pub(crate) log: bool,
}

/// A panel.
pub(crate) struct Panel {
    pub(crate) x: Axis,
    /// The name of the ordinate.
    pub(crate) y: &'static str,
    pub(crate) curves: Vec<Curve>,
}

/// Draws two panels to a file of the book.
pub(crate) fn draw(file: &str, [left, right]: [Panel; 2]) -> Outcome<()> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../book/src/methods").join(file);
    let canvas = SVGBackend::new(&path, (880, 360)).into_drawing_area();
    canvas.fill(&WHITE)?;
    let halves = canvas.split_horizontally(440);
    panel(&halves.0, &left)?;
    panel(&halves.1, &right)?;
    canvas.present()?;
    Ok(())
}

/// A plotter knows the scale of an axis at compile time; here abscissas are scaled before.
fn panel(area: &DrawingArea<SVGBackend<'_>, Shift>, Panel { x, y, curves }: &Panel) -> Outcome<()> {
    let scaled = |v: f64| if x.log { v.log10() } else { v };
    let all = || curves.iter().flat_map(|curve| &curve.points);
    let ends = |k: usize, of: &dyn Fn(f64) -> f64| {
        let values = || all().map(|point| of(point[k]));
        [values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max)]
    };
    let ([first, last], [low, high]) = (ends(0, &scaled), ends(1, &|v| v));
    let above = high * (high / low).powf(0.8).max(2.0); // room for the names
    let mut chart = ChartBuilder::on(area)
        .margin(14)
        .x_label_area_size(44)
        .y_label_area_size(64)
        .build_cartesian_2d(first..last.max(first + 1e-9), (0.7 * low..above).log_scale())?;
    chart
        .configure_mesh()
        .x_desc(x.name)
        .y_desc(*y)
        .x_labels(7)
        .x_label_formatter(&|v| {
            if x.log { format!("1e{v:.0}") } else { format!("{}", (1e6 * v).round() / 1e6) }
        })
        .y_label_formatter(&|v| if *v < 0.01 { format!("{v:.0e}") } else { format!("{v}") })
        .light_line_style(WHITE)
        .draw()?;
    for (curve, colour) in curves.iter().zip(COLOURS) {
        let points = curve.points.iter().map(|&[x, y]| (scaled(x), y));
        chart
            .draw_series(LineSeries::new(points, colour.stroke_width(2)))?
            .label(curve.name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 20, y)], colour.stroke_width(3)));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .background_style(WHITE)
        .draw()?;
    Ok(())
}
