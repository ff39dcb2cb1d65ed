//! Fig. 20: a bar with soft ends and a middle of 1e5 to 1e10 Pa is twisted. Iterations and time of five methods.

use coarsen::descent::Driver;

use crate::plot::{Axis, Curve, Panel, draw};
use crate::rows::{Results, Row};
use crate::stage::Stage;
use crate::{Asked, Outcome};

/// The five methods of the paper.
pub(crate) const DRIVERS: [Driver; 5] =
    [Driver::Hot, Driver::LbfgsH, Driver::PnPcg, Driver::PnMf, Driver::PnMgpcg];

/// The moduli of the middle, Pa.
const MODULI: [f64; 6] = [1e5, 1e6, 1e7, 1e8, 1e9, 1e10];

/// The frames of each run.
const FRAMES: usize = 4;

/// Measures the missing rows, prints the table, and draws the picture.
pub(crate) fn run(asked: &Asked, results: &mut Results) -> Outcome<()> {
    let (particles, frames) = (asked.particles(), asked.frames.unwrap_or(FRAMES));
    println!("\n`bar`: iterations per step (of CG) and seconds of {frames} frames, {particles} particles\n");
    println!("| Pa | {} |", DRIVERS.map(Driver::name).join(" | "));
    println!("|---|{}", "---:|".repeat(DRIVERS.len()));
    let mut curves = DRIVERS.map(|driver| [0; 2].map(|_| Curve { name: driver.name(), points: Vec::new() }));
    for young in MODULI {
        let mut line = format!("| {young:.0e} |");
        for (driver, curve) in DRIVERS.into_iter().zip(&mut curves) {
            let scene = format!("bar:{young:e}");
            let key = Row::key(("bar", asked.threads), &scene, [particles, frames], driver.name());
            let row = results.get(key, || animate(&scene, particles, frames, driver))?;
            let fell_short = if row.converged { "" } else { "*" };
            line += &format!(" {:.1}{fell_short} ({:.0}), {:.2} s |", row.outer, row.inner, row.seconds);
            curve[0].points.push([young, row.outer.max(1e-3)]);
            curve[1].points.push([young, row.seconds.max(1e-3)]);
        }
        println!("{line}");
    }
    let [left, right] = [0, 1].map(|k| curves.iter().map(|both| both[k].clone()).collect());
    let young = || Axis { name: "Young's modulus of the middle, Pa", log: true };
    draw(
        "mpm_bar.svg",
        [
            Panel { x: young(), y: "iterations of the descent per step", curves: left },
            Panel { x: young(), y: "seconds of descents", curves: right },
        ],
    )
}

/// The mean of the steps of some frames.
fn animate(scene: &str, particles: usize, frames: usize, driver: Driver) -> Outcome<Row> {
    let mut stage = Stage::new(scene, Some(particles))?;
    let (mut sum, mut steps) = (Row { converged: true, ..Row::default() }, 0.0);
    for _ in 0..frames {
        let (row, count) = stage.animate(driver)?;
        steps += count as f64;
        sum.nodes = sum.nodes.max(row.nodes);
        sum.converged &= row.converged;
        sum.outer += row.outer;
        sum.inner += row.inner;
        sum.seconds += row.seconds;
    }
    Ok(Row { outer: sum.outer / f64::max(steps, 1.0), inner: sum.inner / f64::max(steps, 1.0), ..sum })
}
