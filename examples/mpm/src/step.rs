//! A time step of the implicit material point method, and the steps of a frame: Wang et al. 2020 (HOT), §3.1.
//!
//! | part of [`Stepper::step`] | | |
//! |---|---|---|
//! | Δt = min(largest Δt, 0.6 Δx / v_max) | §7.1 | `Stepper::length` |
//! | 1. particles to grid: m_i, v_i | §3.1 | [`Nodes::from_particles`] |
//! | 2. forces: E(Δv) with ∇E and ∇²E; what colliders prescribe | eq. 1 | [`Increment`], [`Constraints`] |
//! | 3. the implicit solve: Δv with ‖ĝ‖ ≤ ε √n | §4, §5 | [`Minimizer`] |
//! | 4. grid to particles: v_p, C_p and F_p = (I + Δt ∇v) F_pⁿ, plastic flow, x_p | §3.1 | [`Nodes::to_particles`] |
//!
//! The steps of a frame have the same length where v_max allows it.

use std::time::Instant;

use coarsen::optimize::DescentOutcome;
use coarsen::schwarz::SchwarzBackend;
use examples_run::Failure;

use crate::collider::Obstacle;
use crate::constraints::Constraints;
use crate::energy::{Given, Increment, Memory};
use crate::fault::StepError;
use crate::grid::{Grid, Nodes};
use crate::particles::{Body, IDENTITY, Particle, Totals, mul};
use crate::rows::Row;
use crate::scene::{SHORTEST, Setting};
use crate::seed::emit;
use crate::solver::Minimizer;
use crate::state::State;

/// A time step before its solve.
pub struct Begun {
    /// The grid.
    pub grid: Grid,
    /// Its nodes.
    pub nodes: Nodes,
    /// What colliders prescribe.
    pub constraints: Constraints,
    /// Δt, s.
    pub dt: f64,
}

impl Begun {
    /// What the step does not change; `particles` are those of the state with which it began.
    pub fn given<'a>(
        &'a self,
        particles: &'a [Particle],
        bodies: &'a [Body],
        gravity: [f64; 3],
    ) -> Given<'a> {
        let Self { grid, nodes, constraints, dt } = self;
        Given { grid, nodes, particles, bodies, constraints, dt: *dt, gravity }
    }

    /// Ends the step with these velocities of its nodes: G2P, plastic flow, advection, and the time, `end` at most.
    pub fn advance(&self, velocities: &[[f64; 3]], bodies: &[Body], state: &mut State, end: f64) {
        let Self { grid, nodes, dt, .. } = self;
        nodes.to_particles(grid, velocities, &mut state.particles, |p, gradient| {
            let growth =
                std::array::from_fn(|i| std::array::from_fn(|j| IDENTITY[i][j] + dt * gradient[i][j]));
            let body = &bodies[p.body as usize];
            p.f = body.plasticity.project(body.lame, mul(&growth, &p.f)); // F = (I + Δt ∇v) Fⁿ
            (0..3).for_each(|k| p.x[k] += dt * p.v[k]);
        });
        let is_last = end - state.time <= dt * (1.0 + 1e-9);
        state.time = if is_last { end } else { state.time + dt };
    }
}

/// A scene and the method for its steps. The solver and the memory of a step are kept from step to step.
pub struct Stepper<'a, B: SchwarzBackend<Real = f64>> {
    /// The scene.
    pub setting: &'a Setting,
    /// Its colliders.
    pub obstacles: &'a [Obstacle],
    /// The bodies.
    pub bodies: &'a [Body],
    /// The spacing of the grid.
    pub dx: f64,
    /// The largest step.
    pub largest: f64,
    /// The solver.
    pub minimizer: Minimizer<B>,
    /// The memory of the last step.
    pub memory: Memory,
}

impl<B: SchwarzBackend<Real = f64>> Stepper<'_, B> {
    /// Computes the next frame.
    ///
    /// # Errors
    /// [`StepError`] and the errors of solvers; the state is then that before the frame.
    pub fn frame(&mut self, state: &mut State) -> Result<Row, Failure> {
        let mut next = state.clone();
        next.frame += 1;
        let end = next.frame as f64 / self.setting.rate;
        let mut row = Row::default();
        while next.time < end {
            self.step(&mut next, end, &mut row)?;
        }
        let Row { frame, particles, energy, kinetic, elastic, work, momentum, angular, .. } = self.row(&next);
        *state = next;
        Ok(Row { frame, particles, energy, kinetic, elastic, work, momentum, angular, ..row })
    }

    /// The row of a state, with its energies and its momentum alone.
    pub fn row(&self, state: &State) -> Row {
        let totals = Totals::of(&state.particles, self.bodies, self.dx, self.setting.gravity);
        Row {
            frame: state.frame,
            particles: state.particles.len(),
            energy: totals.energy(),
            kinetic: totals.kinetic,
            elastic: totals.elastic,
            work: state.work,
            momentum: totals.momentum,
            angular: totals.angular,
            ..Row::default()
        }
    }

    /// Begins a time step up to `end` at most: emits particles, sorts them, and finds the grid, its nodes and what
    /// colliders prescribe. `None` without particles.
    ///
    /// # Errors
    /// [`StepError`] for particles that are too far away, too fast or not finite, and for emitters.
    pub fn begin(&self, state: &mut State, end: f64) -> Result<Option<Begun>, StepError> {
        self.emit(state)?;
        if let Some(particle) = state.particles.iter().position(|p| !p.moves_finitely()) {
            let why = "has a velocity or a deformation that is not finite; the step before overflowed: take a smaller --dt";
            return Err(StepError::Particle { particle, why: why.into() });
        }
        let dt = self.length(state, end)?;
        if state.particles.is_empty() {
            return Ok(None);
        }
        let grid = Grid::around(&mut state.particles, self.dx)?;
        let nodes = Nodes::from_particles(&grid, &state.particles, self.bodies);
        let mut constraints =
            Constraints::new(&nodes, self.obstacles, [state.time, dt], self.setting.gravity);
        constraints.press(&nodes, self.dx, dt, &state.pressures);
        Ok(Some(Begun { grid, nodes, constraints, dt }))
    }

    /// Computes one time step, up to `end` at most, and adds its counts and times to a row.
    ///
    /// # Errors
    /// [`StepError`] and the errors of solvers.
    pub fn step(&mut self, state: &mut State, end: f64, row: &mut Row) -> Result<(), Failure> {
        let start = Instant::now();
        // 1. Particles to grid.
        let Some(begun) = self.begin(state, end)? else {
            state.time = end;
            return Ok(());
        };
        let (dt, bodies) = (begun.dt, self.bodies);
        // 2. The incremental potential.
        let given = begun.given(&state.particles, bodies, self.setting.gravity);
        let mut f = Increment::in_memory(given, std::mem::take(&mut self.memory))?;
        // 3. The implicit solve.
        let solving = Instant::now();
        let solved = self.minimizer.solve(&mut f)?;
        let (seconds, setup) = (solving.elapsed().as_secs_f64(), solved.setup.as_secs_f64());
        for (driver, error) in &solved.failures {
            eprintln!("t = {:.4} s: {driver} failed, and the step went on without it: {error}", state.time);
        }
        if solved.outcome == DescentOutcome::NotFinite || solved.z.iter().any(|z| !z.is_finite()) {
            let advice = DescentOutcome::NotFinite.advice();
            return Err(StepError::Energy { time: state.time, dt, advice }.into());
        }
        state.work += f.work(&solved.z);
        state.pressures = f.pressures(&solved.z);
        let velocities = Increment::velocities_of(&given, &solved.z);
        self.memory = f.into_memory();
        // 4. Grid to particles.
        begun.advance(&velocities, bodies, state, end);
        row.steps += 1;
        row.converged += usize::from(matches!(solved.outcome, DescentOutcome::Converged(_)));
        row.outer += solved.iterations[0];
        row.inner += solved.iterations[1];
        row.rebuilds += solved.rebuilds;
        row.cycles += solved.cycles;
        row.nodes = row.nodes.max(begun.nodes.len());
        row.norm = row.norm.max(solved.norm);
        row.setup += setup;
        row.solve += (seconds - setup).max(0.0);
        row.transfer += start.elapsed().as_secs_f64() - seconds;
        Ok(())
    }

    /// Adds the particles that emitters have emitted until now; their energy counts as work.
    fn emit(&self, state: &mut State) -> Result<(), StepError> {
        let first = state.particles.len();
        for (k, emitter) in self.setting.emitter.iter().enumerate() {
            let body = self.setting.body.len() + k;
            emit(emitter, body, self.dx, [state.emitted, state.time], &mut state.particles)?;
        }
        state.emitted = state.time;
        let new = &state.particles[first..];
        state.work += Totals::of(new, self.bodies, self.dx, self.setting.gravity).energy();
        Ok(())
    }

    /// Δt: the rest of the frame in equal steps, none longer than the largest and than v_max allows.
    ///
    /// # Errors
    /// [`StepError::Particle`] if v_max allows steps below [`SHORTEST`] only: a frame would not end.
    fn length(&self, state: &State, end: f64) -> Result<f64, StepError> {
        let square = |p: &Particle| p.v.iter().map(|v| v * v).sum::<f64>();
        let fastest = state.particles.iter().map(square).fold(0.0, f64::max).sqrt();
        let allowed = self.setting.cfl * self.dx / fastest.max(f64::MIN_POSITIVE);
        if allowed * self.setting.rate < SHORTEST {
            let speeds = state.particles.iter().map(|p| p.v[0].hypot(p.v[1]).hypot(p.v[2])); // no square overflows
            let fastest = speeds.enumerate().max_by(|a, b| a.1.total_cmp(&b.1));
            let (particle, speed) = fastest.unwrap_or_default();
            let why = format!(
                "moves at {speed:.3e} m/s at t = {:.4} s, too fast for a million steps in a frame; check the velocities of \
                 the scene, or take a larger --dx or cfl",
                state.time
            );
            return Err(StepError::Particle { particle, why });
        }
        let rest = end - state.time;
        Ok(rest / (rest / self.largest.min(allowed) * (1.0 - 1e-9)).ceil().max(1.0))
    }
}
