//! The program of the tutorial "From an energy to a simulation": a bar swings down from a wall, is released,
//! and falls to the ground. `cargo run -p coarsen-book --bin simulation`

use std::error::Error;
use std::sync::Arc;

use coarsen::elastic::{Attachments, ImplicitEuler, Lame, Plus, StableNeoHookean, Tetrahedra};
use coarsen::follow::{Follower, Hosted};
use coarsen::mesh::Mesh;
use coarsen::prelude::*;
use coarsen_contact::{Obstacle, Plane};

/// The acceleration of gravity, m/s².
const GRAVITY: [f64; 3] = [0.0, -9.81, 0.0];

/// The length of the edges of the mesh, m.
const EDGE: f64 = 1.0 / 16.0;

/// The time at which the wall releases the bar, s.
const RELEASE: f64 = 0.3;

fn main() -> Result<(), Box<dyn Error>> {
    run(24, 1.0 / 60.0, 6e4, |_| 1e5).map(|_| ())
}

/// Computes `frames` steps of `h` seconds, with contact of stiffness `k` in N/m and Young's modulus in Pa by
/// element. Returns the iterations of Newton's method and of CG in each step; stops at the first failure.
fn run(
    frames: usize,
    h: f64,
    k: f64,
    young: impl Fn(usize) -> f64,
) -> Result<Vec<[usize; 2]>, Box<dyn Error>> {
    // ANCHOR: body
    let mut mesh = Mesh::bar([16, 4, 4], EDGE); // of a file: mesh::read_tetrahedra("bar.msh")?.oriented()
    mesh.positions.iter_mut().for_each(|p| p[1] += 0.4); // above the ground
    let (rest, n) = (mesh.positions.clone(), mesh.positions.len());
    let material = |element| Lame::new(young(element), 0.4); // Young's modulus in Pa, Poisson's ratio
    let body = Tetrahedra::new(StableNeoHookean, &mesh, &vec![false; n], material)?;
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
    let ground = Obstacle::new(n, Plane::through([0.0; 3], [0.0, 1.0, 0.0])?, k)?; // k is 6e4 N/m
    // ANCHOR_END: ground

    // ANCHOR: step
    let forces = Plus::new(Plus::new(body, pins)?, ground)?;
    let mut step = ImplicitEuler::new(forces, &masses, h)?; // h is 1/60 s
    let mut x = rest.as_flattened().to_vec();
    let mut v = vec![0.0; x.len()];
    // ANCHOR_END: step

    // ANCHOR: driver
    let rest: Arc<[[f64; 3]]> = rest.into();
    let inverse = Follower::build(&mut step, &x, move |system| {
        let mut recipe = Multigrid::skinning();
        recipe.coarsening.rest = Some(rest.clone());
        let hierarchy = recipe.build_from(system, &Cpu::new())?;
        println!("built {} levels", hierarchy.levels());
        Ok(Box::new(hierarchy))
    })?;
    let mut f = Hosted::new(step, inverse).projecting_on_demand();
    let mut newton = Newton::inexact();
    let weight = 9.81 * masses.norm();
    let stop = Stop { max_iterations: 20, ..Stop::absolute(1e-3 * weight) };
    let mut descent = Descent::new(Backtracking::default(), stop);
    descent.refresh = Refresh::AtStart;
    // ANCHOR_END: driver

    // ANCHOR: frames
    let mut iterations = Vec::new();
    for frame in 1..=frames {
        if frame == (RELEASE / h).round() as usize + 1 {
            wall.iter().for_each(|&i| _ = f.objective.potential.first.second.release(i));
        }
        let before = x.clone();
        f.objective.begin(&before, &v, GRAVITY)?;
        (0..x.len()).for_each(|k| x[k] += h * v[k]);
        newton.forget();
        let report = descent.minimize(&mut f, &mut newton, &mut x, &mut ())?;
        let report = report.converged().map_err(|error| format!("frame {frame}: {error}"))?;
        (0..x.len()).for_each(|k| v[k] = (x[k] - before[k]) / h);

        let touching = f.objective.potential.second.penetration(&x);
        if touching.deepest > 0.5 * EDGE {
            return Err(format!("frame {frame}: {touching}; take a smaller step or stiffer contact").into());
        }
        let (newton, cg, tip) = (report.iterations, report.inner, x[x.len() - 2]);
        println!("frame {frame:2}: {newton} Newton, {cg:2} CG, tip at {tip:.3} m, {touching}");
        iterations.push([newton, cg]);
    }
    // ANCHOR_END: frames
    Ok(iterations)
}

#[cfg(test)]
mod tests {
    use super::run;

    /// The figures of the page.
    #[test]
    fn steps_take_the_iterations_of_the_page() {
        let steps = run(24, 1.0 / 60.0, 6e4, |_| 1e5).unwrap();
        assert_eq!(steps.len(), 24);
        assert!(steps.iter().all(|[newton, cg]| *newton <= 10 && *cg <= 50), "{steps:?}");
        let stiff = run(6, 1.0 / 60.0, 6e4, |element| if element < 768 { 1e9 } else { 1e5 }).unwrap();
        assert!(stiff.iter().all(|[_, cg]| *cg <= 40), "{stiff:?}");
    }

    #[test]
    fn soft_contact_and_long_steps_are_told() {
        let soft = run(24, 1.0 / 60.0, 600.0, |_| 1e5).unwrap_err().to_string();
        assert!(soft.starts_with("frame 16") && soft.contains("take a smaller step"), "{soft}");
        let long = run(1, 0.3, 6e4, |_| 1e5).unwrap_err().to_string();
        assert!(long.contains("iteration limit"), "{long}");
    }
}
