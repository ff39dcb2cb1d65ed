//! The program of the tutorial "From an energy to a simulation": a bar swings down from a wall, is released,
//! and falls to the ground. `cargo run -p coarsen-book --bin simulation`

// ANCHOR: head
use std::error::Error;
use std::sync::Arc;

use coarsen::contact::{Obstacle, Plane};
use coarsen::descent::{CachedPreconditioner, HostObjective};
use coarsen::elastic::{
    Attachments, ImplicitEuler, Lame, Plus, StableNeoHookean, Tetrahedra,
};
use coarsen::mesh::Mesh;
use coarsen::prelude::*;

/// The acceleration of gravity, m/s².
const GRAVITY: [f64; 3] = [0.0, -9.81, 0.0];

/// The length of the edges of the mesh, m.
const EDGE: f64 = 1.0 / 16.0;

/// The time at which the wall releases the bar, s.
const RELEASE: f64 = 0.3;

fn main() -> Result<(), Box<dyn Error>> {
    run(24, 1.0 / 60.0, 6e4, |_| 1e5).map(drop)
}

/// Computes `frames` steps of `h` seconds, with contact of stiffness `k` in N/m
/// and Young's modulus in Pa by element. Returns a line of results for each.
fn run(
    frames: usize,
    h: f64,
    k: f64,
    young: impl Fn(usize) -> f64,
) -> Result<Vec<String>, Box<dyn Error>> {
    // ANCHOR_END: head
    // ANCHOR: body
    let mut mesh = Mesh::bar([16, 4, 4], EDGE);
    mesh.positions.iter_mut().for_each(|p| p[1] += 0.4); // above the ground
    let (rest, n) = (mesh.positions.clone(), mesh.positions.len());
    let material = |element| Lame::new(young(element), 0.4);
    let body =
        Tetrahedra::new(StableNeoHookean, &mesh, &vec![false; n], material)?;
    let masses = body.masses(1000.0); // density in kg/m³
    // ANCHOR_END: body

    // ANCHOR: pins
    let wall: Vec<usize> = (0..n).filter(|&i| rest[i][0] == 0.0).collect();
    let mut pins = Attachments::new(n)?;
    for &i in &wall {
        pins.attach(i, rest[i], 4e5)?; // N/m
    }
    // ANCHOR_END: pins

    // ANCHOR: ground
    let ground =
        Obstacle::new(n, Plane::through([0.0; 3], [0.0, 1.0, 0.0])?, k)?;
    // ANCHOR_END: ground

    // ANCHOR: step
    let forces = Plus::new(Plus::new(body, pins)?, ground)?;
    let mut step = ImplicitEuler::new(forces, &masses, h)?; // h is 1/60 s
    let mut x = rest.as_flattened().to_vec();
    let mut v = vec![0.0; x.len()];
    // ANCHOR_END: step

    // ANCHOR: driver
    let rest: Arc<[[f64; 3]]> = rest.into();
    let inverse = CachedPreconditioner::build(&mut step, &x, move |system| {
        let mut options = skinning();
        options.coarsening.rest = Some(rest.clone());
        let hierarchy = options.build_from(system, &Cpu::new())?;
        println!("built {} levels", hierarchy.levels());
        Ok(Box::new(hierarchy))
    })?;
    let mut f = HostObjective::new(step, inverse).projecting_on_demand();
    let mut newton = Newton::inexact();
    let weight = 9.81 * masses.norm();
    let stop = Stop { max_iterations: 20, ..Stop::absolute(1e-3 * weight) };
    let mut descent = Descent::new(Backtracking::default(), stop);
    descent.refresh = Refresh::AtStart;
    // ANCHOR_END: driver

    // ANCHOR: frames
    let mut lines = Vec::new();
    for frame in 1..=frames {
        if frame == (RELEASE / h).round() as usize + 1 {
            wall.iter().for_each(|&i| {
                _ = f.objective.potential.first.second.release(i)
            });
        }
        let before = x.clone();
        f.objective.begin(&before, &v, GRAVITY)?;
        (0..x.len()).for_each(|k| x[k] += h * v[k]);
        newton.forget();
        let report = descent.minimize(&mut f, &mut newton, &mut x)?;
        let report = report
            .converged()
            .map_err(|error| format!("frame {frame}: {error}"))?;
        (0..x.len()).for_each(|k| v[k] = (x[k] - before[k]) / h);

        let touching = f.objective.potential.second.penetration(&x);
        if touching.deepest > 0.5 * EDGE {
            let cure = "take a smaller step or stiffer contact";
            return Err(format!("frame {frame}: {touching}; {cure}").into());
        }
        let (newton, cg) = (report.iterations, report.inner);
        let counts = format!("frame {frame:2}: {newton} Newton, {cg:2} CG");
        let tip = x[x.len() - 2];
        lines.push(format!("{counts}, tip at {tip:.3} m, {touching}"));
        println!("{}", lines[frame - 1]);
    }
    Ok(lines)
}
// ANCHOR_END: frames

#[cfg(test)]
#[path = "../../../../tests/common/outputs.rs"]
#[rustfmt::skip] // its lines are wider
mod outputs;

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str =
        include_str!("../../../../book/src/tutorials/simulation.md");

    /// The numbers of a line: frame, Newton, CG, height, contacts, depth.
    fn numbers(line: &str) -> Vec<f64> {
        let words = line.split([' ', ':']);
        words.filter_map(|word| word.parse().ok()).collect()
    }

    /// The smallest and largest number of iterations of conjugate gradients in six frames.
    fn cg(young: impl Fn(usize) -> f64) -> [usize; 2] {
        let lines = run(6, 1.0 / 60.0, 6e4, young).unwrap();
        let counts = lines.iter().map(|line| numbers(line)[2] as usize);
        [counts.clone().min().unwrap(), counts.max().unwrap()]
    }

    /// Round-off on another machine may change the numbers a little.
    #[test]
    fn frames_are_those_of_the_page() {
        let lines = run(24, 1.0 / 60.0, 6e4, |_| 1e5).unwrap();
        let said = PAGE.lines().filter(|line| {
            line.starts_with("frame ") && line.contains(" Newton, ")
        });
        let said: Vec<_> = said.map(numbers).collect();
        assert_eq!(said.len(), 5);
        for then in said {
            let line = &lines[then[0] as usize - 1];
            let depth = 1e-5 + 0.05 * then[5];
            let allowed = [0.0, 1.0, 5.0, 2e-3, 2.0, depth];
            let now = numbers(line);
            assert_eq!(now.len(), allowed.len(), "{line}");
            assert!(
                (0..6).all(|k| (now[k] - then[k]).abs() <= allowed[k]),
                "{line}, but {then:?} on the page"
            );
        }
    }

    /// Iterations against the contrast of Young's modulus: one large stiff part, and many small ones.
    #[test]
    fn contrasts_take_the_iterations_of_the_page() {
        let cell = |element: usize| element / 96; // along the bar
        let half = |element: usize| if cell(element) < 8 { 1e9 } else { 1e5 };
        let slabs =
            |element: usize| if cell(element) % 4 >= 2 { 1e7 } else { 1e5 };
        for (now, then) in [
            (cg(|_| 1e5), [10, 18]),
            (cg(half), [17, 31]),
            (cg(slabs), [74, 112]),
        ] {
            assert!(
                outputs::words(PAGE)
                    .contains(&format!("{} to {}", then[0], then[1]))
            );
            assert!(
                (0..2).all(|k| now[k].abs_diff(then[k]) <= 2 + then[k] / 5),
                "{now:?}, {then:?} on the page"
            );
        }
    }

    /// The numbers of a gradient vary with the round-off; causes and cures do not.
    #[test]
    fn failures_have_the_messages_of_the_page() {
        let refused = |mesh: &Mesh, poisson: f64| {
            let held = vec![false; mesh.positions.len()];
            let body = Tetrahedra::new(StableNeoHookean, mesh, &held, |_| {
                Lame::new(1e5, poisson)
            });
            body.err().expect("an error").to_string()
        };
        let bar = Mesh::bar([16, 4, 4], EDGE);
        let mut inverted = bar.clone();
        inverted.tetrahedra[7].swap(2, 3);
        let soft = run(24, 1.0 / 60.0, 600.0, |_| 1e5).unwrap_err().to_string();
        for message in [refused(&inverted, 0.4), refused(&bar, 0.5), soft] {
            assert!(outputs::words(PAGE).contains(&message), "{message}");
        }
        let long = run(1, 0.3, 6e4, |_| 1e5).unwrap_err().to_string();
        let hard = run(24, 1.0 / 60.0, 6e6, |_| 1e5).unwrap_err().to_string();
        for (message, frame) in [(long, "frame 1:"), (hard, "frame 23:")] {
            let (head, advice) = message.split_once("): ").expect("an advice");
            assert!(
                head.starts_with(frame) && head.contains("iteration limit"),
                "{message}"
            );
            assert!(outputs::words(PAGE).contains(advice), "{message}");
        }
    }

    #[test]
    fn options_of_softbody_are_on_the_page() {
        let page = include_str!("../../../../book/src/tutorials/softbody.md");
        let mut options = 0;
        let mut lines =
            include_str!("../../../../examples/softbody/src/options.rs")
                .lines();
        while let Some(line) = lines.next() {
            if line.trim_start().starts_with("#[arg(long") {
                let field = lines.next().and_then(|field| {
                    field
                        .split([' ', ':'])
                        .find(|word| !word.is_empty() && *word != "pub(crate)")
                });
                let option = format!(
                    "`--{}`",
                    field.expect("a field").replace('_', "-")
                );
                assert!(page.contains(&option), "{option}");
                options += 1;
            }
        }
        assert!(options > 15, "{options}");
    }
}
