//! The table of frames: one line of the file `frames.csv` per frame, and a summary.

use std::fmt;
use std::str::FromStr;

use examples_run::files::{Record, columns, statistics};

/// The results of a frame.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// The number of the frame; 0 is the start.
    pub frame: usize,
    /// The number of time steps of the frame.
    pub steps: usize,
    /// The number of those that converged.
    pub converged: usize,
    /// The number of iterations of the descents in all steps.
    pub outer: usize,
    /// The number of iterations of the linear solves on the grid itself: of CG in Newton's method, and of the CG that is
    /// the initial inverse Hessian of `lbfgs-h`. 0 for the other kinds of L-BFGS, whose coarsest solves do not count.
    pub inner: usize,
    /// The number of times that a preconditioner was built or updated.
    pub rebuilds: usize,
    /// The number of applications of the preconditioner: cycles of a hierarchy.
    pub cycles: usize,
    /// The number of particles at the end.
    pub particles: usize,
    /// The largest number of nodes of a step.
    pub nodes: usize,
    /// The seconds for building and updating preconditioners.
    pub setup: f64,
    /// The seconds of the descents without those.
    pub solve: f64,
    /// The other seconds: transfers, grid, pattern, plasticity.
    pub transfer: f64,
    /// The largest norm of the gradient at the end of a step, relative to the characteristic impulses.
    pub norm: f64,
    /// Kinetic, elastic and gravitational energy, J.
    pub energy: f64,
    /// Kinetic energy, J.
    pub kinetic: f64,
    /// Elastic energy, J.
    pub elastic: f64,
    /// The work of colliders since the start, with the energy of emitted particles, J.
    pub work: f64,
    /// Momentum, kg m/s.
    pub momentum: [f64; 3],
    /// Angular momentum about the origin, kg m²/s.
    pub angular: [f64; 3],
}

impl Record for Row {
    const HEADER: &'static str = "frame,steps,converged,outer,inner,rebuilds,cycles,particles,nodes,setup_s,solve_s,\
                                  transfer_s,norm,energy,kinetic,elastic,work,momentum_x,momentum_y,momentum_z,\
                                  angular_x,angular_y,angular_z";

    fn frame(&self) -> usize {
        self.frame
    }

    fn note(&self) -> String {
        format!("{} steps, {} + {} iterations, norm {:.1e}", self.steps, self.outer, self.inner, self.norm)
    }
}

/// The line of the file, which is read back without rounding.
impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { frame, steps, converged, outer, inner, rebuilds, cycles, particles, nodes, .. } = self;
        let Self { setup, solve, transfer, norm, energy, kinetic, elastic, work, .. } = self;
        write!(f, "{frame},{steps},{converged},{outer},{inner},{rebuilds},{cycles},{particles},{nodes}")?;
        let numbers = [setup, solve, transfer, norm, energy, kinetic, elastic, work].into_iter();
        let mut all = numbers.chain(&self.momentum).chain(&self.angular);
        all.try_for_each(|number| write!(f, ",{number:e}"))
    }
}

impl FromStr for Row {
    type Err = ();

    fn from_str(line: &str) -> Result<Self, ()> {
        let fields: Vec<&str> = line.split(',').collect();
        let (counts, numbers) = fields.split_at_checked(9).ok_or(())?;
        let counts: Option<Vec<usize>> = counts.iter().map(|text| text.parse().ok()).collect();
        let finite = |text: &&str| text.parse().ok().filter(|number: &f64| number.is_finite());
        let numbers: Option<Vec<f64>> = numbers.iter().map(finite).collect();
        let [frame, steps, converged, outer, inner, rebuilds, cycles, particles, nodes] =
            counts.ok_or(())?.try_into().map_err(drop)?;
        let [setup, solve, transfer, norm, energy, kinetic, elastic, work, px, py, pz, lx, ly, lz] =
            numbers.ok_or(())?.try_into().map_err(drop)?;
        let (momentum, angular) = ([px, py, pz], [lx, ly, lz]);
        let row = Self { frame, steps, converged, outer, inner, rebuilds, cycles, ..Self::default() };
        let row = Self { particles, nodes, setup, solve, transfer, norm, ..row };
        Ok(Self { energy, kinetic, elastic, work, momentum, angular, ..row })
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

/// The table at the end of a run, of all rows; the start is no frame of it.
pub struct Summary<'a>(pub &'a [Row]);

impl fmt::Display for Summary<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = self.0.get(1..).unwrap_or_default();
        columns(f)?;
        let per_step = |row: &Row, count: usize| count as f64 / row.steps.max(1) as f64;
        let lines: [(&str, &dyn Fn(&Row) -> f64); 9] = [
            ("steps", &|row| row.steps as f64),
            ("outer per step", &|row| per_step(row, row.outer)),
            ("inner per step", &|row| per_step(row, row.inner)),
            ("rebuilds per step", &|row| per_step(row, row.rebuilds)),
            ("cycles per step", &|row| per_step(row, row.cycles)),
            ("setup, s", &|row| row.setup),
            ("solve, s", &|row| row.solve),
            ("transfer, s", &|row| row.transfer),
            ("energy less work, J", &|row| row.energy - row.work),
        ];
        for (name, of) in lines {
            statistics(f, name, rows.iter().map(of))?;
        }
        let sum = |of: &dyn Fn(&Row) -> usize| rows.iter().map(of).fold(0, usize::saturating_add);
        writeln!(f, "{} of {} steps converged", sum(&|row| row.converged), sum(&|row| row.steps))?;
        if let Some((count, frame, rise)) = rises(self.0) {
            let has_converged = |row: &Row| row.frame == frame && row.converged == row.steps;
            let cure = match rows.iter().any(has_converged) {
                true => "if no material yields there, a smaller --tolerance leaves less",
                false => "steps there did not converge: take more --iterations, or a smaller --dt",
            };
            writeln!(
                f,
                "energy rises beyond the work of the colliders in {count} of {} frames, most in frame {frame}, by {rise:.2e} J; \
                 {cure}",
                rows.len()
            )?;
        }
        Ok(())
    }
}
