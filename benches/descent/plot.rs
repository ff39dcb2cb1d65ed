//! Plots relative errors against time, as SVG.

use std::path::Path;

use plotters::prelude::*;

use crate::curves::Curve;

const COLOURS: [RGBColor; 4] =
    [RGBColor(0, 114, 178), RGBColor(86, 180, 233), RGBColor(213, 94, 0), RGBColor(0, 158, 115)];

/// Draws curves to a file of this workspace.
pub(crate) fn write(
    file: &str,
    title: &str,
    floor: f64,
    curves: &[Curve],
) -> Result<(), Box<dyn std::error::Error>> {
    let last = curves.iter().flat_map(|c| c.points.iter().map(|p| p.0)).fold(0.1, f64::max);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file);
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
        .x_desc("seconds, assembly and setup included")
        .y_desc("relative error of the energy")
        .y_label_formatter(&|y| format!("{y:.0e}"))
        .light_line_style(WHITE)
        .draw()?;
    for (curve, colour) in curves.iter().zip(COLOURS) {
        let points = curve.points.iter().map(|&(s, e)| (s, e.max(floor)));
        let line = chart.draw_series(LineSeries::new(points, colour.stroke_width(2)))?;
        line.label(curve.name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 20, y)], colour.stroke_width(3)));
    }
    chart.configure_series_labels().background_style(WHITE).draw()?;
    canvas.present()?;
    Ok(())
}
