//! The speed-up of smoothed aggregation over block Jacobi against the number of vertices, beside the paper's.

use std::path::Path;

use plotters::prelude::*;

use crate::Outcome;
use crate::colours::COLOURS;
use crate::paper::{SCENES, speed_ups};
use crate::rows::Row;
use crate::table::{Group, groups};

const FILE: &str = "book/src/methods/cloth_table.svg";

/// Draws solid lines with dots for the measurements and thin lines for the paper, for cotton on the regular tessellation.
pub(crate) fn draw(rows: &[Row]) -> Outcome<()> {
    let groups = groups(rows);
    let line = |scene: &str, value: &dyn Fn(&Group<'_>) -> Option<f64>| -> Vec<(f64, f64)> {
        let mut points: Vec<(f64, f64)> = groups
            .iter()
            .filter(|g| g.case.scene == scene && g.case.is_plain())
            .filter_map(|g| Some((g.case.vertices as f64, value(g)?)))
            .collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        points
    };
    let lines = SCENES.map(|scene| line(scene, &|group| group.ratio("block-jacobi", "sa", 0)));
    let Some(last) = lines.iter().flatten().map(|p| p.0).reduce(f64::max) else { return Ok(()) };
    let most = lines.iter().flatten().map(|p| p.1).fold(1.0, f64::max);
    let least = lines.iter().flatten().map(|p| p.1).fold(0.35, f64::min);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(FILE);
    let canvas = SVGBackend::new(&path, (820, 460)).into_drawing_area();
    canvas.fill(&WHITE)?;
    let title = "speed-up of smoothed aggregation over block Jacobi; thin: Table 1 of the paper";
    let mut chart = ChartBuilder::on(&canvas)
        .caption(title, ("sans-serif", 16))
        .margin(14)
        .x_label_area_size(42)
        .y_label_area_size(52)
        .build_cartesian_2d((800.0..2.4 * last).log_scale(), (0.8 * least..1.3 * most).log_scale())?;
    chart
        .configure_mesh()
        .x_desc("vertices")
        .y_desc("speed-up")
        .x_label_formatter(&|x| {
            let digit = x / 10_f64.powf(x.log10().floor());
            if [1.0, 2.0, 5.0].iter().any(|d| (digit - d).abs() < 1e-6) {
                format!("{x:.0}")
            } else {
                String::new()
            }
        })
        .y_label_formatter(&|y| format!("{y:.1}"))
        .light_line_style(WHITE)
        .draw()?;
    for (k, (scene, points)) in SCENES.iter().zip(&lines).enumerate() {
        let colour = COLOURS[k % COLOURS.len()];
        let paper =
            line(scene, &|group| group.ratio("block-jacobi", "sa", 0).and(Some(speed_ups(group.case)?[0])));
        chart.draw_series(LineSeries::new(paper, colour.stroke_width(1)))?;
        chart.draw_series(LineSeries::new(points.iter().copied(), colour.stroke_width(3)))?;
        chart.draw_series(points.iter().map(|&p| Circle::new(p, 3, colour.filled())))?;
        if let Some(end) = points.last() {
            let text = ("sans-serif", 13).into_font().color(&colour);
            chart.draw_series(std::iter::once(Text::new(*scene, (1.15 * end.0, 1.08 * end.1), text)))?;
        }
    }
    canvas.present()?;
    println!("drawn: {FILE}");
    Ok(())
}
