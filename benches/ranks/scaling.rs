//! Strong and weak scaling on simulated ranks: real arithmetic and messages, and the clock of the model of `model`.

use std::path::Path;

use coarsen_core::{Stop, Vector};
use coarsen_distributed::simulation::{Machine, SimComm, Topology};
use coarsen_distributed_solvers::DistSchwarz;
use coarsen_krylov::Cg;
use coarsen_problems::random_vector;
use plotters::prelude::*;

use crate::Outcome;
use crate::model::{MACHINE, Work};
use crate::solvers::{Method, Sheet, build, sheet};

/// The numbers of simulated ranks.
const RANKS: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];

/// The iterations that are timed; tamstorf takes fewer.
const TIMED: usize = 40;

/// Short chunks, so that 64 ranks have several each, and little on rank 0.
const DOMAINS: (usize, usize) = (256, 5000);

/// The most iterations of a solve.
const MOST: usize = 5000;

/// Seconds on the simulated clock.
#[derive(Clone, Copy, Debug)]
struct Cost {
    /// Of an iteration.
    iteration: f64,
    /// The number of iterations that the clock has measured.
    iterations: usize,
    /// In each iteration, by which rank 0 computes longer than the rank with the least work: the gathered level. 0
    /// for block Jacobi, which has none.
    root: f64,
}

/// A method on n ranks: a solve to 1e-6 that must converge, or the first iterations of one.
fn simulate(sheet: &Sheet, method: Method, ranks: usize, whole: bool) -> Outcome<Cost> {
    let [alpha, beta, per_scalar] = MACHINE;
    let machine = Machine { alpha, beta, per_scalar, topology: Topology::switch(ranks)? };
    let domains = DistSchwarz { chunk: DOMAINS.0, gather_below: DOMAINS.1, ..DistSchwarz::default() };
    let b = random_vector(sheet.a.shape().0, 1);
    let all = SimComm::run(&machine, |comm| -> Outcome<(usize, f64, f64)> {
        let (a, mut m) = build(sheet, comm.clone(), method, &domains)?;
        let b = a.rows().part_of(&b)?;
        let mut x = b.like()?;
        let most = if whole { MOST } else { TIMED };
        let mut cg = Cg::new(Stop { max_iterations: most, ..Stop::relative(1e-6) });
        comm.restart()?;
        let report = cg.solve(&a, &mut m, &b, &mut x)?;
        let iterations = if whole { report.converged()?.iterations } else { report.iterations };
        Ok((iterations, comm.clock(), comm.computing()))
    });
    let (mut last, mut iterations, mut computing) = (0.0_f64, 0, Vec::new());
    for rank in all {
        let (count, clock, computed) = rank??;
        (iterations, last) = (count, last.max(clock));
        computing.push(computed);
    }
    let least = computing.iter().copied().fold(f64::INFINITY, f64::min);
    let gathers = method != Method::Jacobi;
    let root = if gathers { (computing[0] - least) / iterations as f64 } else { 0.0 };
    Ok(Cost { iteration: last / iterations as f64, iterations, root })
}

pub(crate) fn run(asked: &[String]) -> Outcome<()> {
    let large = asked.first().map_or(Ok(241), |side| side.parse::<usize>())?;
    let [alpha, beta, gamma] = MACHINE;
    println!("alpha {alpha:e} s per message, beta {beta:e} s per byte, {gamma:e} s per stored scalar");
    println!("MAS: chunks of {} nodes, {} unknowns gathered; CG to 1e-6", DOMAINS.0, DOMAINS.1);
    let strong = table("strong", &|_| large)?;
    let weak = table("weak", &|ranks| (56.0 * (ranks as f64).sqrt()).round() as usize)?;
    draw("strong", &format!("cloth:{large}: speed-up of a solve over one simulated rank"), &strong)?;
    draw("weak", "3136 nodes per rank: efficiency of an iteration, simulated", &weak)
}

/// A line for each method: a value for each number of ranks.
type Lines = Vec<(&'static str, Vec<(f64, f64)>)>;

fn table(kind: &str, side: &dyn Fn(usize) -> usize) -> Outcome<Lines> {
    println!("\n{kind} scaling");
    let strong = kind == "strong";
    println!(
        "{:<13} {:>6} {:>9} {:>13} {:>11} {:>11} {:>11} {:>12}",
        "", "ranks", "nodes", "ms/iteration", "iterations", "solve ms", "speed-up", "efficiency"
    );
    let mut lines = Lines::new();
    for method in Method::ALL {
        let (mut points, mut first, mut known) = (Vec::new(), None, None::<usize>);
        for ranks in RANKS {
            let sheet = sheet(side(ranks))?;
            let nodes = sheet.a.pattern().rows();
            let cost = simulate(&sheet, method, ranks, false)?;
            // Block Jacobi and MAS are the same operator at any number of ranks.
            let iterations = match known.filter(|_| strong && method != Method::Tamstorf) {
                Some(known) => Some(known),
                // Thousands; only the time of an iteration is compared.
                None if !strong && method == Method::Jacobi => None,
                None => {
                    let simulated = if method == Method::Tamstorf { ranks } else { 1 };
                    Some(simulate(&sheet, method, simulated, true)?.iterations)
                }
            };
            known = iterations;
            let solve = iterations.map(|iterations| cost.iteration * iterations as f64);
            let (of_one, solve_of_one) = *first.get_or_insert((cost.iteration, solve));
            // Systems of weak scaling differ, so that their solves have no speed-up.
            let gain = solve_of_one.zip(solve).filter(|_| strong).map(|(one, all)| one / all);
            let efficiency = gain.map_or(of_one / cost.iteration, |gain| gain / ranks as f64);
            let number = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.2}"));
            println!(
                "{:<13} {ranks:>6} {nodes:>9} {:>13.4} {:>11} {:>11} {:>11} {efficiency:>12.2}",
                method.name(),
                1e3 * cost.iteration,
                iterations.map_or("-".to_owned(), |iterations| iterations.to_string()),
                number(solve.map(|seconds| 1e3 * seconds)),
                number(gain),
            );
            points.push((ranks as f64, gain.unwrap_or(efficiency)));
            if ranks == 64 {
                by_model(kind, method, nodes as f64, &cost, of_one);
            }
        }
        lines.push((method.name(), points));
    }
    Ok(lines)
}

/// The cost model at 64 ranks beside the simulation, and at 1024.
fn by_model(kind: &str, method: Method, nodes: f64, cost: &Cost, of_one: f64) {
    let [_, _, gamma] = MACHINE;
    let (one, scale) = (of_one / gamma, if kind == "strong" { 1.0 } else { 64.0 });
    let work = Work {
        scalars: scale * one - cost.root / gamma,
        halos: if method == Method::Tamstorf { 9.0 } else { 1.0 },
        sums: 2.0,
        root: cost.root / gamma,
        gathered: 8.0 * DOMAINS.1 as f64,
    };
    let grow = if kind == "strong" { 1.0 } else { 16.0 };
    let larger = Work { scalars: grow * work.scalars, ..work };
    println!(
        "{:<13} model: {:.4} ms on 64 ranks, {:.4} ms on 1024",
        method.name(),
        1e3 * work.seconds(nodes, 64),
        1e3 * larger.seconds(grow * nodes, 1024)
    );
}

fn draw(kind: &str, title: &str, lines: &Lines) -> Outcome<()> {
    let file = format!("book/src/methods/ranks_{kind}.svg");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(&file);
    let canvas = SVGBackend::new(&path, (620, 400)).into_drawing_area();
    canvas.fill(&WHITE)?;
    let top = if kind == "strong" { 64.0 } else { 1.1 };
    let mut builder = ChartBuilder::on(&canvas);
    builder.caption(title, ("sans-serif", 16)).margin(14).x_label_area_size(42).y_label_area_size(54);
    let colours = [RGBColor(0, 114, 178), RGBColor(213, 94, 0), RGBColor(0, 158, 115)];
    let log2 = |points: &[(f64, f64)], of: fn(f64) -> f64| -> Vec<(f64, f64)> {
        points.iter().map(|&(p, v)| (p.log2(), of(v))).collect()
    };
    let value: fn(f64) -> f64 = if kind == "strong" { f64::log2 } else { |v| v };
    let (low, high) = if kind == "strong" { (-0.2, f64::log2(top)) } else { (0.0, top) };
    let mut chart = builder.build_cartesian_2d(0.0..6.0, low..high)?;
    let power = |v: &f64| format!("{:.0}", v.exp2());
    let plain = |v: &f64| format!("{v:.1}");
    let label: &dyn Fn(&f64) -> String = if kind == "strong" { &power } else { &plain };
    chart
        .configure_mesh()
        .x_desc("ranks")
        .y_desc(if kind == "strong" { "speed-up" } else { "efficiency" })
        .x_labels(7)
        .y_labels(7)
        .x_label_formatter(&power)
        .y_label_formatter(label)
        .light_line_style(WHITE)
        .draw()?;
    for ((name, points), colour) in lines.iter().zip(colours) {
        let points = log2(points, value);
        let line = chart.draw_series(LineSeries::new(points.clone(), colour.stroke_width(2)))?;
        line.label(*name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 20, y)], colour.stroke_width(3)));
        chart.draw_series(points.iter().map(|&p| Circle::new(p, 3, colour.filled())))?;
    }
    let position =
        if kind == "strong" { SeriesLabelPosition::UpperLeft } else { SeriesLabelPosition::LowerLeft };
    chart.configure_series_labels().position(position).background_style(WHITE).border_style(BLACK).draw()?;
    canvas.present()?;
    println!("drawn: {file}");
    Ok(())
}
