//! Time against the number of vertices for filtering, setup and solve (Fig. 8), for a sheet with 30 % of its
//! vertices on a table.

use std::path::Path;

use plotters::prelude::*;

use crate::kinds::constrained;
use crate::{METHODS, Outcome, inside, prefiltered};

const SIDES: [usize; 3] = [51, 101, 201];
/// The colours of the methods, as in the figures of the command.
const COLOURS: [RGBColor; METHODS.len()] =
    [RGBColor(213, 94, 0), RGBColor(170, 0, 60), RGBColor(204, 121, 167)];
const FILE: &str = "book/src/methods/constraints_growth.svg";

/// The name of a line and its points.
type Line = (String, Vec<(f64, f64)>);

pub(crate) fn growth() -> Outcome<()> {
    println!("growth: cloth at 10 ms, 30 % of it on a table; seconds in all (iterations)");
    let mut lines: Vec<Line> = Vec::new();
    for method in METHODS {
        for (name, run) in [("prefiltered", prefiltered as fn(&_, &_, &_) -> _), ("filter inside", inside)] {
            let mut points = Vec::new();
            print!("{method:13} {name:14}");
            for side in SIDES {
                let (p, c) = constrained("a table", side, 0.01, 0.3)?;
                let runs: Vec<_> = (0..2).map(|_| run(method, &p, &c)).collect::<Outcome<_>>()?;
                let best = runs.iter().map(|r| r.seconds).fold(f64::INFINITY, f64::min);
                print!(" {:6}: {best:7.3} ({})", side * side, runs[0].count());
                points.push(((side * side) as f64, best));
            }
            println!();
            lines.push((format!("{method}, {name}"), points));
        }
    }
    draw(&lines)
}

/// Draws the lines. Colours distinguish methods; lines without prefiltering are thin.
fn draw(lines: &[Line]) -> Outcome<()> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(FILE);
    let all = || lines.iter().flat_map(|line| line.1.iter().map(|p| p.1));
    let (low, high) = all().fold((f64::INFINITY, 0.0_f64), |(l, h), v| (l.min(v), h.max(v)));
    let canvas = SVGBackend::new(&path, (820, 460)).into_drawing_area();
    canvas.fill(&WHITE)?;
    let (first, last) = ((SIDES[0] * SIDES[0]) as f64, (SIDES[2] * SIDES[2]) as f64);
    let mut chart = ChartBuilder::on(&canvas)
        .caption("cloth at 10 ms, 30 % on a table, to 1e-5, filtering and setup included", ("sans-serif", 16))
        .margin(14)
        .x_label_area_size(42)
        .y_label_area_size(62)
        .build_cartesian_2d((first..6.0 * last).log_scale(), (0.8 * low..1.2 * high).log_scale())?;
    chart
        .configure_mesh()
        .x_desc("vertices")
        .y_desc("seconds")
        .x_labels(4)
        .x_label_formatter(&|x| format!("{x:.0}"))
        .light_line_style(WHITE)
        .draw()?;
    let mut heights: Vec<(f64, usize)> =
        lines.iter().enumerate().filter_map(|(k, line)| Some((line.1.last()?.1, k))).collect();
    heights.sort_by(|a, b| a.0.total_cmp(&b.0));
    // Separates the labels of lines that end at nearly the same value.
    let mut above = 0.0_f64;
    let mut at = vec![0.0; lines.len()];
    for (height, k) in heights {
        above = height.max(1.16 * above);
        at[k] = above;
    }
    for (k, (name, points)) in lines.iter().enumerate() {
        let colour = COLOURS[k / 2];
        let style = colour.stroke_width(if k % 2 == 0 { 3 } else { 1 });
        chart.draw_series(LineSeries::new(points.iter().copied(), style))?;
        chart.draw_series(points.iter().map(|&p| Circle::new(p, 3, colour.filled())))?;
        let text = ("sans-serif", 13).into_font().color(&colour);
        chart.draw_series(std::iter::once(Text::new(name.clone(), (1.1 * last, 1.05 * at[k]), text)))?;
    }
    canvas.present()?;
    println!("drawn: {FILE}");
    Ok(())
}
