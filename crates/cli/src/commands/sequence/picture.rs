//! Two plots over the steps: iterations, with a mark for the action before each solve, and seconds of setup
//! and solve.

use std::path::Path;

use plotters::prelude::*;

use super::table::{Row, Table};
use crate::arguments::name;
use crate::error::Failure;
use crate::report::drawing::{self, Canvas, Drawn, FAINT, INK};

/// Width and height in pixels.
const SIZE: (u32, u32) = (900, 620);

/// The actions and their colours, from the palette of Okabe & Ito.
const ACTIONS: [(&str, RGBColor); 4] = [
    ("build", RGBColor(213, 94, 0)),
    ("update", RGBColor(230, 159, 0)),
    ("patch", RGBColor(0, 114, 178)),
    ("keep", RGBColor(0, 158, 115)),
];

/// The parts of the time and their colours.
const PARTS: [(&str, RGBColor); 2] = [("setup", RGBColor(213, 94, 0)), ("solve", RGBColor(86, 180, 233))];

/// Draws a table.
pub(super) fn write(file: &Path, table: &Table) -> Result<(), Failure> {
    drawing::write(file, SIZE, |canvas| {
        let title = format!("{} with {}, update {}", table.source, name(table.precond), name(table.update));
        let canvas = canvas.titled(&title, ("sans-serif", 18).into_font().color(&INK))?;
        let [above, below] = &canvas.split_evenly((2, 1))[..] else { return Ok(()) };
        iterations(above, &table.rows)?;
        seconds(below, &table.rows)
    })
}

fn iterations(area: &Canvas<'_>, rows: &[Row]) -> Drawn {
    let mut chart = axes(area, "iterations", rows, &|row| row.solved.iterations as f64, 1.0)?;
    let point = |row: &Row| (row.step as f64, row.solved.iterations as f64);
    chart.draw_series(LineSeries::new(rows.iter().map(point), INK.stroke_width(1)))?;
    for (action, colour) in ACTIONS {
        let mut of_action =
            rows.iter().filter(|row| row.solved.action.name() == action).map(point).peekable();
        if of_action.peek().is_none() {
            continue;
        }
        chart
            .draw_series(of_action.map(|point| Circle::new(point, 5, colour.filled())))?
            .label(action)
            .legend(move |(x, y)| Circle::new((x + 8, y), 5, colour.filled()));
    }
    legend(&mut chart)
}

fn seconds(area: &Canvas<'_>, rows: &[Row]) -> Drawn {
    let mut chart =
        axes(area, "seconds", rows, &|row| row.solved.setup_seconds + row.solved.solve_seconds, 1e-9)?;
    for (k, (part, colour)) in PARTS.into_iter().enumerate() {
        let bar = |row: &Row| {
            let (x, setup) = (row.step as f64, row.solved.setup_seconds);
            let (low, high) = if k == 0 { (0.0, setup) } else { (setup, setup + row.solved.solve_seconds) };
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

/// Axes for a number of each step, of at least `least`.
fn axes<'a>(
    area: &Canvas<'a>,
    what: &str,
    rows: &[Row],
    number: &dyn Fn(&Row) -> f64,
    least: f64,
) -> Result<Chart<'a>, Box<dyn std::error::Error + Send + Sync>> {
    let most = rows.iter().map(number).fold(least, f64::max);
    let mut chart = ChartBuilder::on(area)
        .margin(10)
        .x_label_area_size(36)
        .y_label_area_size(60)
        .build_cartesian_2d(-0.6..rows.len() as f64 - 0.4, 0.0..1.15 * most)?;
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
    Ok(chart)
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
