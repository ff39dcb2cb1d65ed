//! Iterations and time against the number of contacts: Wu et al. 2022, Fig. 21.

use std::path::Path;
use std::time::Instant;

use coarsen_core::{Stop, parallel};
use coarsen_krylov::Cg;
use coarsen_problems::{Options, Sequence};
use plotters::prelude::*;

use crate::{Outcome, build};

/// The preconditioners compared. As in the paper, block Jacobi has one block per node.
const METHODS: [&str; 4] = ["block-jacobi", "ic0", "tamstorf", "mas"];

/// The colours of the methods, as in the figures of the command.
const COLOURS: [RGBColor; METHODS.len()] =
    [RGBColor(204, 121, 167), RGBColor(0, 114, 178), RGBColor(213, 94, 0), RGBColor(170, 0, 60)];

const STEPS: usize = 6;

/// The relative residual at which solves stop, as in §8.3 of the paper.
const TOLERANCE: f64 = 5e-4;

/// The numbers of pairs and iterations, and the seconds including setup.
type Point = (f64, f64, f64);

pub(crate) fn count(words: &[String]) -> Outcome<()> {
    let spec = words.first().map_or("cloth-contact:150", String::as_str);
    println!("count: {spec}, to {TOLERANCE:.0e}, two threads; iterations, setup + solve in seconds");
    println!("   pairs {}", METHODS.map(|m| format!("{m:>22}")).concat());
    let mut lines: [Vec<Point>; METHODS.len()] = Default::default();
    let mut s = Sequence::parse(spec, STEPS, &Options::default())?;
    let b = s.right_hand_side(1);
    loop {
        print!("{:>8} ", s.pairs());
        for (method, line) in METHODS.iter().zip(&mut lines) {
            let (its, setup, solve) = parallel::threads(2, || -> Outcome<_> {
                let begun = Instant::now();
                let mut m = build(method, s.system())?;
                let setup = begun.elapsed().as_secs_f64();
                let (mut x, begun) = (vec![0.0; b.len()], Instant::now());
                let mut cg = Cg::new(Stop { max_iterations: 20_000, ..Stop::relative(TOLERANCE) });
                let report = cg.solve(&s.sum(), &mut m, &b, &mut x)?.converged()?;
                Ok((report.iterations, setup, begun.elapsed().as_secs_f64()))
            })??;
            print!("{its:>7} {setup:6.3}+{solve:7.3}");
            line.push((s.pairs() as f64, its as f64, setup + solve));
        }
        println!();
        if !s.advance()? {
            break;
        }
    }
    draw("book/src/methods/contact_count.svg", s.name(), &lines)
}

/// Draws iterations on the left and time on the right.
fn draw(file: &str, name: &str, lines: &[Vec<Point>]) -> Outcome<()> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file);
    let canvas = SVGBackend::new(&path, (960, 420)).into_drawing_area();
    canvas.fill(&WHITE)?;
    let canvas = canvas.titled(&format!("{name}, to {TOLERANCE:.0e}"), ("sans-serif", 17))?;
    let parts: [(&str, fn(&Point) -> f64); 2] =
        [("iterations", |p| p.1), ("seconds, setup included", |p| p.2)];
    for (area, (what, part)) in canvas.split_evenly((1, 2)).iter().zip(parts) {
        let all = || lines.iter().flatten();
        let most = all().map(|p| p.0).fold(1.0, f64::max);
        let (low, high) =
            all().map(part).fold((f64::INFINITY, 0.0_f64), |(low, high), v| (low.min(v), high.max(v)));
        let mut chart = ChartBuilder::on(area)
            .margin(12)
            .x_label_area_size(40)
            .y_label_area_size(62)
            .build_cartesian_2d(0.0..1.4 * most, (0.8 * low..1.4 * high).log_scale())?;
        chart
            .configure_mesh()
            .x_desc("contact pairs")
            .y_desc(what)
            .x_labels(5)
            .x_label_formatter(&|x| format!("{x:.0}"))
            .y_label_formatter(&|y| if *y < 1.0 { format!("{y:.1}") } else { format!("{y:.0}") })
            .light_line_style(WHITE)
            .draw()?;
        for ((method, colour), line) in METHODS.iter().zip(COLOURS).zip(lines) {
            let points = || line.iter().map(|p| (p.0, part(p)));
            chart.draw_series(LineSeries::new(points(), colour.stroke_width(2)))?;
            chart.draw_series(points().map(|p| Circle::new(p, 3, colour.filled())))?;
            if let Some((x, y)) = points().next_back() {
                let style = ("sans-serif", 13).into_font().color(&colour);
                chart.draw_series([Text::new(*method, (x + 0.03 * most, 1.04 * y), style)])?;
            }
        }
    }
    canvas.present()?;
    println!("drawn: {file}");
    Ok(())
}
