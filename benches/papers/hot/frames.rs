//! Fig. 11, and the largest ratio of a frame in Fig. 1: the time of one step after each state of a run.

use coarsen::descent::Driver;

use crate::full::{CAP, HOT, Line, measure, text};
use crate::plot::{Axis, Curve, Panel, draw};
use crate::rows::Results;
use crate::states::folder;
use crate::{Asked, Outcome};

/// The methods of Fig. 11, HOT first.
const METHODS: [Driver; 3] = [Driver::Hot, Driver::PnPcg, Driver::PnMf];

/// The scene of Fig. 11.
const SCENE: &str = "faceless";

/// Measures the missing rows, prints the tables, and draws the picture of the scene of Fig. 11.
pub(crate) fn run(asked: &Asked, results: &mut Results) -> Outcome<()> {
    let runs = asked.runs.as_ref().ok_or("`frames` needs runs=DIR, with the folder of a run by `states`")?;
    let methods = METHODS.map(|driver| driver.name().to_owned());
    let scenes = asked.scenes.clone().unwrap_or_else(|| vec![SCENE.to_owned()]);
    for scene in scenes {
        let mut lines = measure(&scene, &folder(runs, &scene), &methods, asked, results)?;
        lines.iter_mut().for_each(sort);
        if lines.is_empty() {
            return Err(format!("{} has no states of {scene}", runs.display()).into());
        }
        print(&scene, &lines, asked.threads);
        if scene == SCENE {
            picture("mpm_frames.svg", &lines)?;
        }
    }
    Ok(())
}

/// Brings the states of a method into the order of their frames.
fn sort(line: &mut Line) {
    let mut both: Vec<_> = line.rows.drain(..).zip(line.ratios.drain(..)).collect();
    both.sort_by_key(|(row, _)| row.frame());
    (line.rows, line.ratios) = both.into_iter().unzip();
}

fn print(scene: &str, lines: &[Line], threads: usize) {
    let count = lines[0].rows.len();
    println!("\n`frames`: {scene}, a step after each of {count} frames, {threads} threads\n");
    println!("| method | s, sum | least | most | ratio to HOT, mean | least | most | frame of the most |");
    println!("|---|---:|---:|---:|---:|---:|---:|---:|");
    for line in lines {
        let seconds = || line.rows.iter().map(|row| row.seconds);
        let [low, high] = [seconds().fold(f64::INFINITY, f64::min), seconds().fold(0.0, f64::max)];
        let ([least, most], sum) = (line.ends(), seconds().sum::<f64>());
        let at = line.ratios.iter().position(|&ratio| ratio == most);
        let frame = at.map_or(0, |k| line.rows[k].frame());
        let capped = line.is_capped();
        // A time of a stopped solve is less than that of a whole one.
        let more = if capped { ">" } else { "" };
        let [mean, least, most] = [(line.ratio(), capped), (least, least >= CAP), (most, capped)]
            .map(|(v, capped)| text(v, capped));
        let Line { method, .. } = line;
        println!(
            "| {method} | {more}{sum:.1} | {low:.2} | {more}{high:.2} | {mean} | {least} | {most} | {frame} |"
        );
    }
}

/// Draws seconds, and ratios to HOT, against frames.
fn picture(file: &str, lines: &[Line]) -> Outcome<()> {
    let curve = |line: &Line, of: &dyn Fn(usize) -> f64| {
        let name = METHODS.iter().map(|driver| driver.name()).find(|name| *name == line.method);
        let points = line.rows.iter().enumerate().map(|(k, row)| [row.frame() as f64, of(k)]).collect();
        Curve { name: name.unwrap_or(HOT), points }
    };
    let seconds = lines.iter().map(|line| curve(line, &|k| line.rows[k].seconds)).collect();
    let ratios = lines.iter().map(|line| curve(line, &|k| line.ratios[k])).collect();
    let frames = || Axis { name: "frame before the step", log: false };
    draw(
        file,
        [
            Panel { x: frames(), y: "seconds of the step", curves: seconds },
            Panel { x: frames(), y: "time relative to HOT", curves: ratios },
        ],
    )
}
