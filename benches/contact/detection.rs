//! Detection of contact beside a solve: a sheet that is folded over itself in part.

use coarsen::auto::Auto;
use coarsen::elastic::{Bending, Fabric, ImplicitEuler, Membrane, Nodes, Plus, Potential};
use coarsen_contact::ClothContact;
use coarsen_core::parallel;
use coarsen_sparse::SystemAt;

use crate::{Outcome, fastest};

/// The number of calls of which the fastest counts.
const CALLS: usize = 5;

/// The thickness, as a share of the length of an edge.
const THICKNESS: f64 = 0.25;

/// The time step in seconds.
const STEP: f64 = 2e-3;

/// The tolerance of the solve.
const TOLERANCE: f64 = 1e-5;

/// A square sheet of which a strip is folded over: two layers with a gap of `gap`, and a round fold between.
fn folded(side: usize, share: f64, gap: f64) -> (Vec<[f64; 2]>, Vec<[f64; 3]>, Vec<[u32; 3]>) {
    let pattern: Vec<[f64; 2]> =
        (0..side * side).map(|i| [i % side, i / side].map(|k| k as f64 / (side - 1) as f64)).collect();
    let place = |&[u, v]: &[f64; 2]| {
        // The fold is half a circle of the circumference of the gap.
        let (radius, begin) = (0.5 * gap, 1.0 - share);
        let angle = ((u - begin) / radius).clamp(0.0, std::f64::consts::PI);
        let back = (u - begin - std::f64::consts::PI * radius).max(0.0);
        // The layers are shifted against each other, so that no edges are parallel and above each other.
        let x = u.min(begin) + radius * angle.sin() - back;
        [x, radius * (1.0 - angle.cos()), v + 0.3 * back / (side - 1) as f64]
    };
    let positions = pattern.iter().map(place).collect();
    let mut triangles = Vec::new();
    for (i, j) in (0..(side - 1) * (side - 1)).map(|c| (c % (side - 1), c / (side - 1))) {
        let [a, b, c, d] =
            [(i, j), (i + 1, j), (i, j + 1), (i + 1, j + 1)].map(|(i, j)| (j * side + i) as u32);
        triangles.extend([[a, c, b], [b, c, d]]);
    }
    (pattern, positions, triangles)
}

pub(crate) fn detection(words: &[String]) -> Outcome<()> {
    let side: usize = words.first().map_or(Ok(317), |word| word.parse())?;
    let share: f64 = words.get(1).map_or(Ok(0.03), |word| word.parse())?;
    let edge = 1.0 / (side - 1) as f64;
    let thickness = THICKNESS * edge;
    let (pattern, positions, triangles) = folded(side, share, 0.8 * thickness);
    let held = vec![false; positions.len()];
    let cotton = Fabric { stretch: 5e3, coupling: 0.0, shear: 1e3 };
    let contact = || ClothContact::new(&triangles, &held, &positions, thickness, 0.06 * cotton.stretch);
    let mut first = contact()?;
    let x = Nodes::new(&held, &positions)?.gather(&positions);
    let pairs = first.detect(&x)?.len();
    println!(
        "detection: {} vertices, {pairs} pairs nearer than the thickness, fastest of {CALLS}",
        positions.len()
    );

    let flat: Vec<[f64; 3]> = pattern.iter().map(|&[u, v]| [u, v, 0.0]).collect();
    let membrane = Membrane::new(cotton, &triangles, &pattern, &held, &positions)?;
    let masses = membrane.masses(0.2);
    let bending = Bending::new(3.0 * 5e-5, &triangles, &flat, &held, &positions)?;
    let mut f = ImplicitEuler::new(Plus::new(Plus::new(bending, membrane)?, contact()?)?, &masses, STEP)?;
    f.project(true);
    let system = f.system_at(&x)?.system();
    let b: Vec<f64> = (0..x.len()).map(|k| if k % 3 == 1 { -9.81 * masses[k / 3] } else { 0.0 }).collect();

    println!(
        "| threads | boxes and distances, ms | distances, ms | continuous, ms | all, ms | solve by auto, ms |"
    );
    println!("|---|---|---|---|---|---|");
    let mut all = [0.0; 2];
    for threads in [1, 2] {
        let times = parallel::threads(threads, || -> Outcome<[f64; 4]> {
            let mut contact = contact()?;
            // A corner moves beyond the slack of the candidates, and back: pairs stay, but are searched again. (A
            // motion of all nodes alike needs no search.)
            let mut far = x.clone();
            far[..3].iter_mut().for_each(|x| *x -= 2.0 * thickness);
            let near: Vec<f64> = x.iter().map(|x| x + 1e-4 * thickness).collect();
            let down: Vec<f64> = positions
                .iter()
                .flat_map(|p| [0.0, if p[1] > 0.4 * thickness { -2.0 } else { 2.0 } * thickness, 0.0])
                .collect();
            // The pairs along one displacement serve for displacements that are near, and for the way back.
            let less: Vec<f64> =
                (0..down.len()).map(|k| if k == 2 { -4.0 * thickness } else { down[k] }).collect();
            let mut faults = 0;
            let mut alternate = |one: &[f64], other: &[f64]| {
                let mut back = false;
                fastest(2 * CALLS, || {
                    back = !back;
                    faults += usize::from(contact.detect(if back { one } else { other }).is_err());
                })
            };
            let search = alternate(&far, &x);
            let distances = alternate(&near, &x);
            let mut other = false;
            let continuous = fastest(2 * CALLS, || {
                other = !other;
                let bound = contact.max_step(&x, if other { &less } else { &down });
                faults += usize::from(!(bound > 0.0 && bound < 1.0));
            });
            let mut y = vec![0.0; x.len()];
            let solve = fastest(2, || {
                y.fill(0.0);
                let solved = Auto { tolerance: TOLERANCE, ..Auto::default() }.solve(system, &b, &mut y);
                faults += usize::from(!solved.is_ok_and(|solved| solved.converged().is_ok()));
            });
            if faults > 0 {
                return Err(format!("{faults} calls failed").into());
            }
            Ok([search, distances, continuous, solve])
        })??;
        let [search, distances, continuous, solve] = times.map(|s| 1e3 * s);
        all[threads - 1] = search + continuous;
        println!(
            "| {threads} | {search:.1} | {distances:.1} | {continuous:.1} | {:.1} | {solve:.0} |",
            search + continuous
        );
    }
    println!("two threads: {:.2} times one", all[0] / all[1]);
    Ok(())
}
