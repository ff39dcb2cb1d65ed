//! Fig. 8: entries of the matrices of a hierarchy: the finest, the fifth by node embedding, and the fifth from
//! particles.

use std::path::Path;

use coarsen::backend::Cpu;
use coarsen::prelude::*;
use coarsen::sparse::SystemAt;
use examples_render::Picture;

use crate::method::Hot;
use crate::moment::Moment;
use crate::quadrature::Rediscretised;
use crate::{Asked, Outcome};

const SCENE: &str = "armacat:1e9";

/// The number of levels, as in the figure.
const LEVELS: usize = 5;

/// The side of a picture of a matrix and the space around it, in pixels.
const SIDE: usize = 300;
const SPACE: usize = 12;

/// Draws the matrices and prints their blocks.
pub(crate) fn run(asked: &Asked) -> Outcome<()> {
    let frames = asked.frames.unwrap_or(0);
    let scene = asked.scenes.as_ref().and_then(|scenes| scenes.first()).map_or(SCENE, |scene| scene);
    let moment = Moment::new(scene, asked.particles(), frames, &asked.states)?;
    let mut f = moment.objective()?;
    let z = vec![0.0; f.size()];
    let embedding = Hot { levels: LEVELS, ..Hot::default() }.parameters(&f);
    let embedded = embedding.build_from(f.system_at(&z)?.system(), &Cpu::new())?;
    let mut same = moment.objective()?;
    let (mut coarser, parameters) = Rediscretised::new(&mut same, LEVELS, moment.step())?;
    let quadrature = parameters.build_from(coarser.system_at(&z)?.system(), &Cpu::new())?;
    println!(
        "\n`spy`: {scene} after {frames} frames, {} particles: nodes, blocks a row\n",
        asked.particles()
    );
    println!("| level | by node embedding | from particles |");
    println!("|---:|---|---|");
    let cell = |a: Option<&Bsr<f64>>| {
        a.map_or(String::new(), |a| {
            let (rows, blocks) = (a.pattern().rows(), a.pattern().len());
            format!("{rows}, {:.1}", blocks as f64 / rows.max(1) as f64)
        })
    };
    let finest = f.system_at(&z)?.matrix.clone();
    println!("| 0 | {} | the same |", cell(Some(&finest)));
    for level in 1..LEVELS {
        println!("| {level} | {} | {} |", cell(embedded.matrix(level)), cell(quadrature.matrix(level)));
    }
    let last = LEVELS - 1;
    let shown = [Some(&finest), embedded.matrix(last), quadrature.matrix(last)];
    let width = shown.len() * (SIDE + SPACE) + SPACE;
    let mut picture = Picture::new(width, SIDE + 2 * SPACE, [255; 3]);
    for (k, a) in shown.into_iter().enumerate() {
        let a = a.ok_or("the hierarchy has fewer than five levels; take more particles")?;
        draw(&mut picture, a, [SPACE + k * (SIDE + SPACE), SPACE]);
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../book/src/methods/mpm_spy.png");
    Ok(picture.write_png(file)?)
}

/// Draws the pattern of a matrix: a pixel is darker where a larger share of its entries is not zero.
fn draw(picture: &mut Picture, a: &Bsr<f64>, [left, top]: [usize; 2]) {
    let pattern = a.pattern();
    let n = pattern.rows();
    let mut counts = vec![0_usize; SIDE * SIDE];
    let pixel = |k: usize| k * SIDE / n;
    for i in 0..n {
        // A row or a column covers more than one pixel if the matrix is small.
        for y in pixel(i)..pixel(i + 1).max(pixel(i) + 1) {
            for &j in pattern.row(i) {
                let j = j as usize;
                (pixel(j)..pixel(j + 1).max(pixel(j) + 1)).for_each(|x| counts[y * SIDE + x] += 1);
            }
        }
    }
    let full = (n as f64 / SIDE as f64).max(1.0).powi(2);
    for (at, count) in counts.into_iter().enumerate().filter(|(_, count)| *count > 0) {
        let share = (count as f64 / full).sqrt().clamp(0.15, 1.0);
        picture.blend(left + at % SIDE, top + at / SIDE, [20, 40, 90], share);
    }
    let edge = |x: usize, y: usize| [(left + x) as f64, (top + y) as f64];
    let corners = [edge(0, 0), edge(SIDE, 0), edge(SIDE, SIDE), edge(0, SIDE)];
    (0..4).for_each(|k| picture.line(corners[k], corners[(k + 1) % 4], 1.0, [120; 3]));
}
