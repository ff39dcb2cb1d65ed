//! Plots relative errors against time, as SVG.

use std::path::Path;

use plotters::prelude::*;

use crate::Outcome;

const COLOURS: [RGBColor; 9] = [
    RGBColor(0, 0, 0),
    RGBColor(90, 90, 90),
    RGBColor(160, 160, 160),
    RGBColor(213, 94, 0),
    RGBColor(230, 159, 0),
    RGBColor(0, 158, 115),
    RGBColor(0, 114, 178),
    RGBColor(86, 180, 233),
    RGBColor(204, 121, 167),
];

/// The name of a curve, and its points: seconds and relative error.
pub(crate) type Curve = (String, Vec<(f64, f64)>);

/// Draws curves to a file of this workspace.
pub(crate) fn write(file: &str, title: &str, last: f64, curves: &[Curve]) -> Outcome<()> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file);
    let lowest = curves.iter().flat_map(|c| &c.1).filter(|p| p.0 <= last).fold(1.0, |m: f64, p| m.min(p.1));
    let floor = 10_f64.powf(lowest.log10().floor()).max(1e-6);
    let canvas = SVGBackend::new(&path, (640, 420)).into_drawing_area();
    canvas.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&canvas)
        .caption(title, ("sans-serif", 18))
        .margin(14)
        .x_label_area_size(44)
        .y_label_area_size(64)
        .build_cartesian_2d(0.0..last, (floor..1.0).log_scale())?;
    chart
        .configure_mesh()
        .x_desc("seconds")
        .y_desc("relative error of the objective, (9)")
        .y_label_formatter(&|y| format!("{y:.0e}"))
        .light_line_style(WHITE)
        .draw()?;
    for ((name, points), colour) in curves.iter().zip(COLOURS) {
        let inside = points.iter().filter(|p| p.0 <= last).map(|&(s, e)| (s, e.clamp(floor, 1.0)));
        chart
            .draw_series(LineSeries::new(inside, colour.stroke_width(2)))?
            .label(name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 20, y)], colour.stroke_width(3)));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::LowerLeft)
        .background_style(WHITE)
        .draw()?;
    canvas.present()?;
    Ok(())
}
