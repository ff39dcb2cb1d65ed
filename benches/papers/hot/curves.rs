//! Fig. 17: the norm of the gradient in a step of the wheel against iterations and time, for five methods.

use crate::bar::DRIVERS;
use crate::method::{Solved, solve};
use crate::moment::Moment;
use crate::plot::{Axis, Curve, Panel, draw};
use crate::{Asked, Outcome};

/// The frames before the step.
const FRAMES: usize = 12;

/// Solves the step, prints the table, and draws the picture.
pub(crate) fn run(asked: &Asked) -> Outcome<()> {
    let (particles, frames) = (asked.particles(), asked.frames.unwrap_or(FRAMES));
    let scene = asked.scenes.as_ref().and_then(|scenes| scenes.first()).map_or("wheel", |scene| scene);
    println!("\n`curves`: a step of {scene} after {frames} frames, {particles} particles\n");
    println!("| method | iterations | of CG | norm at the end | s |");
    println!("|---|---:|---:|---:|---:|");
    let moment = Moment::new(scene, particles, frames, &asked.states)?;
    let mut curves = [Vec::new(), Vec::new()];
    for driver in DRIVERS {
        let Solved { row, trace, .. } = solve(driver, moment.step(), None)?;
        let [seconds, norm] = trace.last().copied().unwrap_or_default();
        println!("| {driver} | {} | {} | {norm:.1e} | {seconds:.2} |", row.outer, row.inner);
        let by_count = trace.iter().zip(0..).map(|(&[_, norm], k)| [f64::from(k), norm]).collect();
        curves[0].push(Curve { name: driver.name(), points: by_count });
        curves[1].push(Curve { name: driver.name(), points: trace });
    }
    let [left, right] = curves;
    let y = "norm of the gradient, eq. 9";
    draw(
        "mpm_curves.svg",
        [
            Panel { x: Axis { name: "iterations of the descent", log: false }, y, curves: left },
            Panel { x: Axis { name: "seconds", log: false }, y, curves: right },
        ],
    )
}
