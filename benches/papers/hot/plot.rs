//! Curves in two panels side by side, and bars in groups, as SVG. Ordinates are logarithmic.
//!
//! Bars are times relative to HOT, up from 1 or down, in two panels as Fig. 15 of the paper: means over the steps, and the
//! largest ratio of a step.

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

pub(crate) struct Panel {
    pub(crate) x: Axis,
    /// The name of the ordinate.
    pub(crate) y: &'static str,
    pub(crate) curves: Vec<Curve>,
}

/// Draws two panels to a file of the book.
pub(crate) fn draw(file: &str, [left, right]: [Panel; 2]) -> Outcome<()> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../book/src/methods").join(file);
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

/// The methods that are drawn where they were measured, and their colours.
const SHOWN: [(&str, RGBColor); 5] = [
    ("lbfgs-h", RGBColor(230, 159, 0)),
    ("pn-pcg", RGBColor(0, 114, 178)),
    ("pn-mf", RGBColor(86, 180, 233)),
    ("pn-mgpcg", RGBColor(0, 158, 115)),
    ("lbfgs-mas", RGBColor(213, 94, 0)),
];

/// Whether all methods that are drawn are among these.
pub(crate) fn are_among(methods: &[String]) -> bool {
    SHOWN.iter().all(|(shown, _)| methods.iter().any(|method| method == shown))
}

/// The bars of a scene.
pub(crate) struct Group {
    pub(crate) name: String,
    pub(crate) bars: Vec<Bar>,
}

/// The times of a method relative to HOT, at most 10.
pub(crate) struct Bar {
    pub(crate) method: String,
    /// Over the steps.
    pub(crate) mean: f64,
    /// Of the step with the largest.
    pub(crate) most: f64,
}

/// Draws groups to a file of the book.
pub(crate) fn bars(file: &str, groups: &[Group]) -> Outcome<()> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../book/src/methods").join(file);
    let area = SVGBackend::new(&path, (1080, 760)).into_drawing_area();
    area.fill(&WHITE)?;
    let (above, below) = area.split_vertically(380);
    bar_panel(&above, "time relative to HOT, mean", groups, |bar| bar.mean)?;
    bar_panel(&below, "time relative to HOT, largest of a step", groups, |bar| bar.most)?;
    area.present()?;
    Ok(())
}

fn bar_panel(
    area: &DrawingArea<SVGBackend<'_>, Shift>,
    name: &str,
    groups: &[Group],
    of: impl Fn(&Bar) -> f64,
) -> Outcome<()> {
    let low = groups.iter().flat_map(|group| &group.bars).map(&of).fold(0.5, f64::min) * 0.9;
    let count = groups.len() as f64;
    let mut chart = ChartBuilder::on(area)
        .margin(14)
        .x_label_area_size(34)
        .y_label_area_size(64)
        .build_cartesian_2d(0.0..count, (low..30.0).log_scale())?;
    let middle = |x: f64| groups.get(x as usize).filter(|_| x.fract() > 0.4 && x.fract() < 0.6);
    chart
        .configure_mesh()
        .disable_x_mesh()
        .y_desc(name)
        .x_labels(2 * groups.len() + 1)
        .x_label_formatter(&|x| middle(*x).map_or(String::new(), |group| group.name.clone()))
        .y_label_formatter(&|y| format!("{y}"))
        .light_line_style(WHITE)
        .draw()?;
    let width = 0.9 / SHOWN.len() as f64;
    for (k, (method, colour)) in SHOWN.into_iter().enumerate() {
        let bar = |(place, group): (usize, &Group)| {
            let bar = group.bars.iter().find(|bar| bar.method == method)?;
            let left = place as f64 + 0.05 + k as f64 * width;
            Some(Rectangle::new([(left, 1.0), (left + 0.85 * width, of(bar))], colour.filled()))
        };
        let bars: Vec<_> = groups.iter().enumerate().filter_map(bar).collect();
        if bars.is_empty() {
            continue; // no entry in the legend
        }
        chart
            .draw_series(bars)?
            .label(method)
            .legend(move |(x, y)| Rectangle::new([(x, y - 4), (x + 14, y + 4)], colour.filled()));
    }
    chart.draw_series(LineSeries::new([(0.0, 1.0), (count, 1.0)], BLACK.stroke_width(1)))?;
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .background_style(WHITE.mix(0.8))
        .draw()?;
    Ok(())
}
