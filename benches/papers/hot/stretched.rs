//! Fig. 18: iterations of the first step of the stretched box with five seeds; how the norms of nodes fall in it, inside
//! the box; and the swing of the box.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::Path;

use coarsen::descent::{Driver, TimeStepper};
use coarsen::node_embedding::{NodeEmbedding, Nodes};
use coarsen::optimize::Iterate;
use examples_render::{Balls, Colours, Picture, Stage as Shown};
use mpm::particles::Particle;

use crate::moment::Moment;
use crate::stage::Stage;
use crate::{Asked, Outcome};

/// The iterations that are shown before the last one.
const SHOWN: [(Driver, [usize; 4]); 2] = [(Driver::Hot, [0, 3, 6, 12]), (Driver::LbfgsH, [0, 6, 25, 60])];

/// The number of pictures in a row, and their width in pixels.
const COLUMNS: usize = 5;
const WIDTH: usize = 190;

/// The norms of the ends of the colours, on a logarithmic scale.
const ENDS: [f64; 2] = [1e-9, 1e-3];

/// The colour of the box.
const BOX: [u8; 3] = [219, 116, 66];

/// The seeds of the stretches.
const SEEDS: [u64; 5] = [1, 2, 3, 4, 5];

/// Solves the steps, prints the iterations, and draws the picture.
pub(crate) fn run(asked: &Asked) -> Outcome<()> {
    count(asked)?;
    let stage = Stage::new("stretched", asked.particles)?;
    let particles = stage.state.particles.clone();
    let shown = Shown::new(&stage.setting.view, &[], Vec::new(), &[], WIDTH);
    let radius = 0.75 * stage.bodies[0].volume.cbrt();
    let height = shown.size().1;
    let mut picture = Picture::new(COLUMNS * WIDTH, 3 * height, [255; 3]);
    let mut add = |at: usize, centres: &[[f64; 3]], colours: &[[u8; 3]], text: &str| -> Outcome<()> {
        let balls = Balls { centres, radii: &vec![radius; centres.len()], colours };
        paste(&mut picture, &shown.balls(&[], balls, text)?, at);
        Ok(())
    };

    // The swing by HOT.
    let mut swing = Stage::new("stretched", asked.particles)?;
    for at in 0..COLUMNS {
        let centres: Vec<_> = swing.state.particles.iter().map(|p| p.x).collect();
        add(at, &centres, &vec![BOX; centres.len()], &format!("{:.2} s", swing.state.time))?;
        swing.animate(Driver::Hot)?;
    }

    // The half behind the middle, by the norm of the node next to a particle.
    let start = stage.state.clone();
    let moment = Moment::at(stage, start)?;
    let cut = middle(&particles);
    let behind: Vec<[f64; 3]> = particles.iter().map(|p| p.x).filter(|x| x[2] <= cut).collect();
    for (row, (driver, counts)) in SHOWN.into_iter().enumerate() {
        let norms = descend(&moment, driver)?;
        let last = norms.len() - 1;
        let dx = moment.stage.dx;
        for (column, count) in counts.into_iter().filter(|&k| k < last).chain([last]).enumerate() {
            let colours: Vec<[u8; 3]> =
                behind.iter().map(|x| colour(norms[count].get(&cell(x, dx)).copied())).collect();
            add((row + 1) * COLUMNS + column, &behind, &colours, &format!("{driver}, {count}"))?;
        }
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../book/src/methods/mpm_stretched.png");
    Ok(picture.write_png(file)?)
}

/// Prints the iterations of the first step with all seeds, and their medians.
fn count(asked: &Asked) -> Outcome<()> {
    let mut counts = SHOWN.map(|_| Vec::new());
    for seed in SEEDS {
        let stage = Stage::new(&format!("stretched:{seed}"), asked.particles)?;
        if seed == SEEDS[0] {
            let particles = stage.state.particles.len();
            println!("\n`stretched`: iterations of the first step, {particles} particles\n");
            println!("| seed | {} |", SHOWN.map(|(driver, _)| driver.name()).join(" | "));
            println!("|---|{}", "---:|".repeat(SHOWN.len()));
        }
        let start = stage.state.clone();
        let moment = Moment::at(stage, start)?;
        let mut line = format!("| {seed} |");
        for ((driver, _), counts) in SHOWN.into_iter().zip(&mut counts) {
            let count = descend(&moment, driver)?.len() - 1;
            line += &format!(" {count} |");
            counts.push(count);
        }
        println!("{line}");
    }
    let median = |mut counts: Vec<usize>| {
        counts.sort_unstable();
        counts[counts.len() / 2].to_string()
    };
    println!("| median | {} |", counts.map(median).join(" | "));
    Ok(())
}

/// The node next to a point.
fn cell(x: &[f64; 3], dx: f64) -> [i64; 3] {
    x.map(|x| (x / dx).round() as i64)
}

/// The middle of the particles along z.
fn middle(particles: &[Particle]) -> f64 {
    particles.iter().map(|p| p.x[2]).sum::<f64>() / particles.len().max(1) as f64
}

/// The norm ‖ĝ_i‖ of each free node (eq. 9) at the start and after each iteration.
fn descend(moment: &Moment, driver: Driver) -> Outcome<Vec<HashMap<[i64; 3], f64>>> {
    let mut f = moment.objective()?;
    let (weights, _) = f.weights()?;
    let (nodes, mut z) = (f.size() / 3, f.start());
    let places: Vec<[i64; 3]> = f.positions().iter().map(|x| cell(x, f.spacing())).collect();
    let embedding = NodeEmbedding::new(Nodes::OfSystem { spacing: f.spacing(), origin: [0.0; 3] });
    let mut norms = Vec::new();
    let mut keep = |it: &Iterate<'_, Vec<f64>>| {
        let scaled: Vec<f64> = it.g.iter().zip(&weights).map(|(g, w)| g * w).collect();
        let of = |g: &[f64]| (nodes as f64 * g.iter().map(|g| g * g).sum::<f64>()).sqrt();
        norms.push(places.iter().copied().zip(scaled.chunks(3).map(of)).collect());
        ControlFlow::Continue(())
    };
    TimeStepper::new(driver)
        .minimize(&mut f, &embedding, &mut z, Some(&weights), Some(&mut keep))?
        .converged()?;
    Ok(norms)
}

fn colour(norm: Option<f64>) -> [u8; 3] {
    let Some(norm) = norm else { return [200; 3] };
    let share = (norm / ENDS[0]).max(1.0).log10() / (ENDS[1] / ENDS[0]).log10();
    Colours::Viridis.at(share).map(|c| (255.0 * c) as u8)
}

/// Copies a picture to a place of a larger one, row by row.
fn paste(all: &mut Picture, part: &Picture, at: usize) {
    let (width, height) = part.size();
    let (left, top) = (at % COLUMNS * width, at / COLUMNS * height);
    for (x, y) in (0..width * height).map(|k| (k % width, k / width)) {
        all.blend(left + x, top + y, part.pixel(x, y), 1.0);
    }
}
