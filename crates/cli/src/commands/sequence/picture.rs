//! Two plots over the steps: iterations, with a mark for the action before each solve, and seconds of setup
//! and solve.

use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;

use super::table::{Row, Table};
use crate::arguments::name;
use crate::error::Failure;

/// Width and height in pixels.
const SIZE: (u32, u32) = (900, 620);

const INK: RGBColor = RGBColor(60, 60, 60);
const FAINT: RGBColor = RGBColor(225, 225, 225);

/// The actions and their colours, from the palette of Okabe & Ito.
const ACTIONS: [(&str, RGBColor); 4] = [
    ("build", RGBColor(213, 94, 0)),
    ("update", RGBColor(230, 159, 0)),
    ("patch", RGBColor(0, 114, 178)),
    ("keep", RGBColor(0, 158, 115)),
];

/// The parts of the time and their colours.
const PARTS: [(&str, RGBColor); 2] = [("setup", RGBColor(213, 94, 0)), ("solve", RGBColor(86, 180, 233))];

type Drawn = Result<(), Box<dyn std::error::Error + Send + Sync>>;
type Canvas<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Draws a table.
pub(super) fn write(file: &Path, table: &Table) -> Result<(), Failure> {
    draw(file, table).map_err(std::io::Error::other).map_err(Failure::write(file))
}

fn draw(file: &Path, table: &Table) -> Drawn {
    let canvas = SVGBackend::new(file, SIZE).into_drawing_area();
    canvas.fill(&WHITE)?;
    let title = format!("{} with {}, policy {}", table.source, name(table.precond), name(table.update));
    let canvas = canvas.titled(&title, ("sans-serif", 18).into_font().color(&INK))?;
    let [above, below] = &canvas.split_evenly((2, 1))[..] else { return Ok(()) };
    iterations(above, &table.rows)?;
    seconds(below, &table.rows)?;
    canvas.present()?;
    Ok(())
}

fn iterations(area: &Canvas<'_>, rows: &[Row]) -> Drawn {
    let most = rows.iter().map(|row| row.iterations).max().unwrap_or(0).max(1) as f64;
    let mut chart = ChartBuilder::on(area)
        .margin(10)
        .x_label_area_size(36)
        .y_label_area_size(60)
        .build_cartesian_2d(-0.6..rows.len() as f64 - 0.4, 0.0..1.15 * most)?;
    axes(&mut chart, "iterations")?;
    let points = || rows.iter().map(|row| (row.step as f64, row.iterations as f64));
    chart.draw_series(LineSeries::new(points(), INK.stroke_width(1)))?;
    for (action, colour) in ACTIONS {
        let of_action: Vec<(f64, f64)> = rows
            .iter()
            .zip(points())
            .filter(|(row, _)| row.action == action)
            .map(|(_, point)| point)
            .collect();
        if of_action.is_empty() {
            continue;
        }
        chart
            .draw_series(of_action.into_iter().map(|point| Circle::new(point, 5, colour.filled())))?
            .label(action)
            .legend(move |(x, y)| Circle::new((x + 8, y), 5, colour.filled()));
    }
    legend(&mut chart)
}

fn seconds(area: &Canvas<'_>, rows: &[Row]) -> Drawn {
    let most = rows.iter().map(|row| row.setup_seconds + row.solve_seconds).fold(1e-9, f64::max);
    let mut chart = ChartBuilder::on(area)
        .margin(10)
        .x_label_area_size(36)
        .y_label_area_size(60)
        .build_cartesian_2d(-0.6..rows.len() as f64 - 0.4, 0.0..1.15 * most)?;
    axes(&mut chart, "seconds")?;
    for (k, (part, colour)) in PARTS.into_iter().enumerate() {
        let bar = |row: &Row| {
            let (x, setup) = (row.step as f64, row.setup_seconds);
            let (low, high) = if k == 0 { (0.0, setup) } else { (setup, setup + row.solve_seconds) };
            Rectangle::new([(x - 0.38, low), (x + 0.38, high)], colour.filled())
        };
        chart
            .draw_series(rows.iter().map(bar))?
            .label(part)
            .legend(move |(x, y)| Rectangle::new([(x, y - 5), (x + 16, y + 5)], colour.filled()));
    }
    legend(&mut chart)
}

type Chart<'a> = ChartContext<
    'a,
    SVGBackend<'a>,
    Cartesian2d<plotters::coord::types::RangedCoordf64, plotters::coord::types::RangedCoordf64>,
>;

fn axes(chart: &mut Chart<'_>, what: &str) -> Drawn {
    chart
        .configure_mesh()
        .x_desc("step")
        .y_desc(what)
        .x_label_formatter(&|x| format!("{x:.0}"))
        .axis_style(INK)
        .label_style(("sans-serif", 13).into_font().color(&INK))
        .light_line_style(WHITE)
        .bold_line_style(FAINT)
        .draw()?;
    Ok(())
}

fn legend(chart: &mut Chart<'_>) -> Drawn {
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE.mix(0.85))
        .label_font(("sans-serif", 13).into_font().color(&INK))
        .draw()?;
    Ok(())
}
