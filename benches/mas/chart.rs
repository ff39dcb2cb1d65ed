//! Line plots with logarithmic axes, as SVG.

use std::path::Path;

use plotters::prelude::*;

use crate::Outcome;
use crate::colours::COLOURS;

/// The name of a line and its points.
pub(crate) type Line = (&'static str, Vec<(f64, f64)>);

/// The size of a label as a fraction of the axes: 100 of 600 pixels horizontally, 15 of 330 vertically.
const NAME: (f64, f64) = (0.17, 0.045);

/// Draws lines to a file of this workspace.
pub(crate) fn chart(file: &str, title: &str, axes: [&str; 2], lines: &[Line]) -> Outcome<()> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file);
    let ends = |part: fn(&(f64, f64)) -> f64| {
        let all = lines.iter().flat_map(|line| line.1.iter().map(part));
        all.fold((f64::INFINITY, 0.0_f64), |(low, high), v| (low.min(v), high.max(v)))
    };
    let (x, y) = (ends(|p| p.0), ends(|p| p.1));
    let canvas = SVGBackend::new(&path, (760, 460)).into_drawing_area();
    canvas.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&canvas)
        .caption(title, ("sans-serif", 16))
        .margin(14)
        .x_label_area_size(42)
        .y_label_area_size(62)
        .build_cartesian_2d((x.0..2.2 * x.1).log_scale(), (0.4 * y.0..1.2 * y.1).log_scale())?;
    chart
        .configure_mesh()
        .x_desc(axes[0])
        .y_desc(axes[1])
        .x_labels(4)
        .x_label_formatter(&|x| if *x < 0.95 { format!("{x:.2}") } else { format!("{x:.0}") })
        .y_label_formatter(&|y| if *y < 0.01 { format!("{y:.0e}") } else { y.to_string() })
        .light_line_style(WHITE)
        .draw()?;
    let at = names(lines, x, y);
    for (k, ((name, points), at)) in lines.iter().zip(at).enumerate() {
        let colour = COLOURS[k % COLOURS.len()];
        chart.draw_series(LineSeries::new(points.iter().copied(), colour.stroke_width(2)))?;
        if points.len() < 10 {
            chart.draw_series(points.iter().map(|&p| Circle::new(p, 3, colour.filled())))?;
        }
        if let Some(at) = at {
            let style = ("sans-serif", 13).into_font().color(&colour);
            chart.draw_series(std::iter::once(Text::new(*name, at, style)))?;
        }
    }
    canvas.present()?;
    println!("drawn: {file}");
    Ok(())
}

/// The position of each line's label: next to its end, and above labels that it would overlap. `x` and `y`
/// are the ranges of the data.
fn names(lines: &[Line], x: (f64, f64), y: (f64, f64)) -> Vec<Option<(f64, f64)>> {
    let (wide, high) = ((x.1 / x.0).powf(NAME.0), (y.1 / y.0).powf(NAME.1));
    let mut order: Vec<usize> = (0..lines.len()).filter(|&k| !lines[k].1.is_empty()).collect();
    let end = |k: usize| lines[k].1[lines[k].1.len() - 1];
    order.sort_by(|&a, &b| end(a).1.total_cmp(&end(b).1));
    let mut at = vec![None; lines.len()];
    let mut placed = Vec::<(f64, f64)>::new();
    for k in order {
        let mut here = (1.06 * end(k).0, 1.05 * end(k).1);
        // From the lowest label upwards, so that only labels at or below can overlap.
        for there in &placed {
            let beside = here.0 < there.0 * wide && there.0 < here.0 * wide;
            if beside && here.1 < there.1 * high && there.1 < here.1 * high {
                here.1 = there.1 * high;
            }
        }
        placed.push(here);
        placed.sort_by(|a, b| a.1.total_cmp(&b.1));
        at[k] = Some(here);
    }
    at
}
