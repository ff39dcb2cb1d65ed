//! A plot of a history over the iterations, with a logarithmic axis.

use std::path::Path;

use plotters::prelude::*;

use super::summary::Report;
use crate::error::Failure;

/// Width and height in pixels.
const SIZE: (u32, u32) = (800, 500);

/// A decreasing history.
pub(crate) struct Curve<'a> {
    pub(crate) title: String,
    /// The name of the quantity.
    pub(crate) what: &'a str,
    pub(crate) history: &'a [f64],
    pub(crate) tolerance: f64,
}

/// Draws the history of a report, with the tolerance as a line.
pub(crate) fn write(file: &Path, report: &Report) -> Result<(), Failure> {
    let (title, history, tolerance) = (report.title(), &report.history[..], report.tolerance);
    curve(file, &Curve { title, what: "relative residual", history, tolerance })
}

/// Draws a history, with the tolerance as a line.
pub(crate) fn curve(file: &Path, curve: &Curve<'_>) -> Result<(), Failure> {
    draw(file, curve).map_err(std::io::Error::other).map_err(Failure::write(file))
}

fn draw(file: &Path, report: &Curve<'_>) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    // Zeros and NaN cannot be shown on a logarithmic axis.
    let points: Vec<(f64, f64)> = report.history.iter().enumerate().map(|(k, &r)| (k as f64, r)).collect();
    let points: Vec<(f64, f64)> = points.into_iter().filter(|(_, r)| *r > 0.0 && r.is_finite()).collect();
    let shown = points.iter().map(|p| p.1).chain((report.tolerance > 0.0).then_some(report.tolerance));
    let (low, high) = shown.fold((1.0_f64, 1.0_f64), |(low, high), r| (low.min(r), high.max(r)));
    let decade = |r: f64, to: fn(f64) -> f64| 10.0_f64.powf(to(r.log10()).clamp(-300.0, 300.0));
    let (low, high) = (decade(low, f64::floor), decade(high, f64::ceil).max(10.0));
    let last = (report.history.len().max(2) - 1) as f64;

    let canvas = SVGBackend::new(file, SIZE).into_drawing_area();
    canvas.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&canvas)
        .caption(&report.title, ("sans-serif", 18))
        .margin(16)
        .x_label_area_size(44)
        .y_label_area_size(64)
        .build_cartesian_2d(0.0..last, (low..high).log_scale())?;
    chart
        .configure_mesh()
        .x_desc("iteration")
        .y_desc(report.what)
        .x_label_formatter(&|x| format!("{x:.0}"))
        .y_label_formatter(&|y| format!("{y:.0e}"))
        .light_line_style(WHITE)
        .draw()?;
    if report.tolerance > 0.0 {
        let line = [(0.0, report.tolerance), (last, report.tolerance)];
        chart.draw_series(LineSeries::new(line, RED.mix(0.6)))?;
    }
    chart.draw_series(LineSeries::new(points, BLUE.stroke_width(2)))?;
    canvas.present()?;
    Ok(())
}
