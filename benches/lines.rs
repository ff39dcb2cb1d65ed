//! Plots relative errors against time, as SVG.

use std::path::Path;

use plotters::prelude::*;

/// The name of a line, and its points: seconds and relative error.
pub(crate) type Line = (String, Vec<(f64, f64)>);

/// Draws lines in these colours, 0xRRGGBB, to a file of this workspace: from 0 to `last` seconds, and from `lowest` to 1.
pub(crate) fn write(
    file: &str,
    [title, x, y]: [&str; 3],
    [last, lowest]: [f64; 2],
    lines: &[Line],
    colours: &[u32],
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file);
    let canvas = SVGBackend::new(&path, (640, 420)).into_drawing_area();
    canvas.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&canvas)
        .caption(title, ("sans-serif", 18))
        .margin(14)
        .x_label_area_size(44)
        .y_label_area_size(64)
        .build_cartesian_2d(0.0..last, (lowest..1.0).log_scale())?;
    chart
        .configure_mesh()
        .x_desc(x)
        .y_desc(y)
        .y_label_formatter(&|y| format!("{y:.0e}"))
        .light_line_style(WHITE)
        .draw()?;
    for ((name, points), colour) in lines.iter().zip(colours) {
        let colour = RGBColor((colour >> 16) as u8, (colour >> 8) as u8, *colour as u8);
        let inside = points.iter().filter(|p| p.0 <= last).map(|&(s, e)| (s, e.clamp(lowest, 1.0)));
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
