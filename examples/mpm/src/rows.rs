//! The table of frames: one line of the file `frames.csv` per frame, and a summary.

use std::fmt::Write as _;

use examples_run::files::Record;

examples_run::record! {
    /// The results of a frame.
    pub struct Row {
        /// The number of the frame; 0 is the start.
        pub frame: usize = "frame",
        /// The number of time steps of the frame.
        pub steps: usize = "steps",
        /// The number of those that converged.
        pub converged: usize = "converged",
        /// The number of iterations of the descents in all steps.
        pub outer: usize = "outer",
        /// The number of iterations of the linear solves on the grid itself: of CG in Newton's method, and of the CG that is
        /// the initial inverse Hessian of `lbfgs-h`. 0 for the other kinds of L-BFGS, whose coarsest solves do not count.
        pub inner: usize = "inner",
        /// The number of times that a preconditioner was built or updated.
        pub rebuilds: usize = "rebuilds",
        /// The number of applications of the preconditioner: cycles of a hierarchy.
        pub cycles: usize = "cycles",
        /// The number of particles at the end.
        pub particles: usize = "particles",
        /// The largest number of nodes of a step.
        pub nodes: usize = "nodes",
        /// The seconds for building and updating preconditioners.
        pub setup: f64 = "setup_s",
        /// The seconds of the descents without those.
        pub solve: f64 = "solve_s",
        /// The other seconds: transfers, grid, pattern, plasticity.
        pub transfer: f64 = "transfer_s",
        /// The largest norm of the gradient at the end of a step, relative to the characteristic impulses.
        pub norm: f64 = "norm",
        /// Kinetic, elastic and gravitational energy, J.
        pub energy: f64 = "energy",
        /// Kinetic energy, J.
        pub kinetic: f64 = "kinetic",
        /// Elastic energy, J.
        pub elastic: f64 = "elastic",
        /// The work of colliders since the start, with the energy of emitted particles, J.
        pub work: f64 = "work",
        /// Momentum, kg m/s.
        pub momentum: [f64; 3] = "momentum_x" "momentum_y" "momentum_z",
        /// Angular momentum about the origin, kg m²/s.
        pub angular: [f64; 3] = "angular_x" "angular_y" "angular_z",
    }
}

impl Row {
    fn per_step(&self, count: usize) -> f64 {
        count as f64 / self.steps.max(1) as f64
    }
}

impl Record for Row {
    const SUMMARY: &'static [(&'static str, fn(&Self) -> Option<f64>)] = &[
        ("steps", |row| Some(row.steps as f64)),
        ("outer per step", |row| Some(row.per_step(row.outer))),
        ("inner per step", |row| Some(row.per_step(row.inner))),
        ("rebuilds per step", |row| Some(row.per_step(row.rebuilds))),
        ("cycles per step", |row| Some(row.per_step(row.cycles))),
        ("setup, s", |row| Some(row.setup)),
        ("solve, s", |row| Some(row.solve)),
        ("transfer, s", |row| Some(row.transfer)),
        ("energy less work, J", |row| Some(row.energy - row.work)),
    ];

    fn frame(&self) -> usize {
        self.frame
    }

    fn note(&self) -> String {
        format!("{} steps, {} + {} iterations, norm {:.1e}", self.steps, self.outer, self.inner, self.norm)
    }

    fn ending(rows: &[Self]) -> String {
        let frames = rows.get(1..).unwrap_or_default();
        let sum = |of: fn(&Self) -> usize| frames.iter().map(of).fold(0, usize::saturating_add);
        let mut text = format!("{} of {} steps converged\n", sum(|row| row.converged), sum(|row| row.steps));
        if let Some((count, frame, rise)) = rises(rows) {
            let has_converged = |row: &Self| row.frame == frame && row.converged == row.steps;
            let cure = match frames.iter().any(has_converged) {
                true => "if no material yields there, a smaller --tolerance leaves less",
                false => "steps there did not converge: take more --iterations, or a smaller --dt",
            };
            let _ = writeln!(
                text,
                "energy rises beyond the work of the colliders in {count} of {} frames, most in frame {frame}, by {rise:.2e} J; \
                 {cure}",
                frames.len()
            );
        }
        text
    }
}

/// A rise of energy counts from this share of what moves, is strained or is worked in a frame.
const RISE: f64 = 1e-5;

/// The round-off of an energy, relative to it.
const ROUND_OFF: f64 = 1e-12;

/// The number of frames whose energy rises beyond the work of the colliders, and the frame and rise in J of the largest.
///
/// Near a stable state exact steps of implicit Euler lose energy. A step may end with forces left over that move bodies on, most
/// where the stiffness varies much, since the norm of the tolerance is relative to it. Large plastic strains may raise it too.
pub fn rises(rows: &[Row]) -> Option<(usize, usize, f64)> {
    let rises = rows.windows(2).filter_map(|pair| {
        let [before, after] = [&pair[0], &pair[1]];
        let (gained, worked) = (after.energy - before.energy, after.work - before.work);
        // Gravitational energy depends on where the origin is, and so does its round-off.
        let least =
            RISE * (after.kinetic + after.elastic.abs() + worked.abs()) + ROUND_OFF * after.energy.abs();
        (gained - worked > least).then_some((after.frame, gained - worked))
    });
    rises.fold(None, |most, (frame, rise)| match most {
        Some((count, at, largest)) if largest >= rise => Some((count + 1, at, largest)),
        _ => Some((most.map_or(0, |(count, ..)| count) + 1, frame, rise)),
    })
}
