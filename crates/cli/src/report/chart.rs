//! The picture of `compare`: residuals of all methods over iterations and over time.

use std::path::Path;

use plotters::prelude::*;

use super::drawing::{self, Canvas, Drawn, FAINT, INK, decades};
use super::table::{Row, Table};
use crate::arguments::{Method, Precond};
use crate::error::Failure;

/// The width and height in pixels.
const SIZE: (u32, u32) = (1200, 520);

/// The part of the width for the names.
const NAMES: u32 = 260;

/// The smallest residual shown, as a fraction of the tolerance; smaller residuals do not matter for the
/// comparison.
const BELOW: f64 = 1e-2;

/// The colour of a method, the same in every picture. Colour-blind people can distinguish the palette of
/// Okabe & Ito. Its yellow is hard to see on white and is left out; brown and grey are added.
fn colour(row: &Row) -> RGBColor {
    match row.numbers.precond {
        Precond::Sa => RGBColor(213, 94, 0),
        Precond::Rs => RGBColor(110, 140, 0),
        Precond::Skinning => RGBColor(100, 60, 160),
        Precond::Mas => RGBColor(170, 0, 60),
        Precond::As | Precond::Ras => RGBColor(120, 90, 20),
        Precond::Ic0 | Precond::Ilu0 => RGBColor(0, 114, 178),
        Precond::Chebyshev => RGBColor(0, 158, 115),
        Precond::BlockJacobi => RGBColor(86, 180, 233),
        Precond::Jacobi | Precond::L1Jacobi => RGBColor(204, 121, 167),
        Precond::Gs => RGBColor(230, 159, 0),
        Precond::Ssor => RGBColor(130, 90, 40),
        Precond::None | Precond::Auto if row.numbers.method == Method::Direct => RGBColor(0, 0, 0),
        Precond::None | Precond::Auto => RGBColor(150, 150, 150),
    }
}

/// Draws a table.
pub(crate) fn write(file: &Path, table: &Table) -> Result<(), Failure> {
    drawing::write(file, SIZE, |canvas| {
        let title = format!("{}, {} unknowns", table.source, table.n);
        let canvas = canvas.titled(&title, ("sans-serif", 20).into_font().color(&INK))?;
        let (panels, names) = canvas.split_horizontally(SIZE.0 - NAMES);
        let [left, right] = &panels.split_evenly((1, 2))[..] else { return Ok(()) };
        // Iteration 0 cannot be shown on a logarithmic axis.
        panel(left, table, "iterations + 1", &|k, _| k as f64 + 1.0)?;
        panel(right, table, "seconds, setup included", &|_, seconds| seconds.max(1e-6))?;
        legend(&names, table)
    })
}

/// Relative residuals over `across`, a function of the iteration and its time.
fn panel(area: &Canvas<'_>, table: &Table, what: &str, across: &dyn Fn(usize, f64) -> f64) -> Drawn {
    let least = BELOW * table.tolerance;
    let line = |row: &Row| -> Vec<(f64, f64)> {
        let points = row
            .numbers
            .history
            .iter()
            .zip(&row.times)
            .enumerate()
            .map(|(k, (&r, &time))| (across(k, time), r));
        points.filter(|(_, r)| *r > 0.0 && r.is_finite()).map(|(x, r)| (x, r.max(least))).collect()
    };
    let all: Vec<(f64, f64)> = table.rows.iter().flat_map(line).collect();
    let places = all.iter().map(|p| p.0).chain([1.0]).take(all.len().max(1));
    let (first, last) = places.fold((f64::INFINITY, 0.0_f64), |(low, high), x| (low.min(x), high.max(x)));
    let heights = decades(all.iter().map(|p| p.1).chain([table.tolerance.max(1e-16)])).log_scale();
    let mut chart = ChartBuilder::on(area)
        .margin(14)
        .x_label_area_size(46)
        .y_label_area_size(62)
        .build_cartesian_2d((first..(1.2 * last).max(2.0 * first)).log_scale(), heights)?;
    chart
        .configure_mesh()
        .x_desc(what)
        .y_desc("relative residual")
        .x_label_formatter(&|x| short(*x))
        .y_label_formatter(&|y| format!("{y:.0e}"))
        .axis_style(INK)
        .label_style(("sans-serif", 13).into_font().color(&INK))
        .light_line_style(WHITE)
        .bold_line_style(FAINT)
        .draw()?;
    if table.tolerance > 0.0 {
        let ends = [(first, table.tolerance), (1.2 * last, table.tolerance)];
        chart.draw_series(DashedLineSeries::new(ends, 4, 4, INK.stroke_width(1)))?;
    }
    // The fastest method comes first in the table and is drawn last, on top.
    for row in table.rows.iter().rev() {
        let (points, colour) = (line(row), colour(row));
        let end = points.last().copied();
        chart.draw_series(LineSeries::new(points, colour.stroke_width(2)))?;
        if let Some(end) = end {
            let dot = if row.numbers.converged() { colour.filled() } else { colour.stroke_width(2) };
            chart.draw_series([Circle::new(end, 4, dot)])?;
        }
    }
    Ok(())
}

/// The names of the methods in the order of the table, with iterations and seconds.
fn legend(area: &Canvas<'_>, table: &Table) -> Drawn {
    let font = ("sans-serif", 14).into_font().color(&INK);
    let small = ("sans-serif", 12).into_font().color(&RGBColor(120, 120, 120));
    for (k, row) in table.rows.iter().enumerate() {
        let (y, colour) = (24 + 40 * k as i32, colour(row));
        area.draw(&PathElement::new([(8, y), (34, y)], colour.stroke_width(3)))?;
        let mark = if row.auto { "  (auto)" } else { "" };
        area.draw(&Text::new(format!("{}{mark}", row.label()), (42, y - 8), font.clone()))?;
        let took = match row.numbers.converged() {
            true => {
                let steps = if row.numbers.method == Method::Direct { "refinements" } else { "iterations" };
                format!("{} {steps}, {} s", row.numbers.iterations, short(row.total_seconds))
            }
            false => row.numbers.outcome.replace('_', " "),
        };
        area.draw(&Text::new(took, (42, y + 9), small.clone()))?;
    }
    Ok(())
}

/// Two digits, without an exponent for numbers of moderate size.
fn short(v: f64) -> String {
    if v >= 10.0 || v == 0.0 {
        format!("{v:.0}")
    } else {
        let decimals = (1.0 - v.log10().floor()).clamp(0.0, 6.0) as usize;
        format!("{v:.decimals$}").trim_end_matches('0').trim_end_matches('.').to_owned()
    }
}
