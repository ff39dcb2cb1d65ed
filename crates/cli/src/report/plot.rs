//! A plot of a history over the iterations, with a logarithmic axis.

use std::path::Path;

use plotters::prelude::*;

use super::drawing::{self, Canvas, Drawn, decades};
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
    let (title, history, tolerance) = (report.title(), &report.numbers.history[..], report.tolerance);
    curve(file, &Curve { title, what: "relative residual", history, tolerance })
}

/// Draws a history, with the tolerance as a line.
pub(crate) fn curve(file: &Path, curve: &Curve<'_>) -> Result<(), Failure> {
    drawing::write(file, SIZE, |canvas| draw(canvas, curve))
}

fn draw(canvas: &Canvas<'_>, Curve { title, what, history, tolerance }: &Curve<'_>) -> Drawn {
    // Zeros and NaN cannot be shown on a logarithmic axis.
    let points = history.iter().enumerate().map(|(k, &r)| (k as f64, r));
    let points: Vec<(f64, f64)> = points.filter(|(_, r)| *r > 0.0 && r.is_finite()).collect();
    let limit = (*tolerance > 0.0).then_some(*tolerance);
    let heights = decades(points.iter().map(|p| p.1).chain(limit));
    let last = (history.len().max(2) - 1) as f64;
    let mut chart = ChartBuilder::on(canvas)
        .caption(title, ("sans-serif", 18))
        .margin(16)
        .x_label_area_size(44)
        .y_label_area_size(64)
        .build_cartesian_2d(0.0..last, heights.log_scale())?;
    chart
        .configure_mesh()
        .x_desc("iteration")
        .y_desc(*what)
        .x_label_formatter(&|x| format!("{x:.0}"))
        .y_label_formatter(&|y| format!("{y:.0e}"))
        .light_line_style(WHITE)
        .draw()?;
    if let Some(limit) = limit {
        chart.draw_series(LineSeries::new([(0.0, limit), (last, limit)], RED.mix(0.6)))?;
    }
    chart.draw_series(LineSeries::new(points, BLUE.stroke_width(2)))?;
    Ok(())
}
