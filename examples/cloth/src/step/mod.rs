//! A frame: time steps of implicit Euler.
//!
//! > minimise f(x) = ½ (x − y)ᵀ M (x − y) / h² + E(x),    y = x_n + h v_n + h² g    (1)
//!
//! by Newton's method, from x_n + h v_n or as far on this way as contact allows, or from x_n where f is lower
//! there. Cloth buckles: near a saddle of f, directions are too short, so the line search may lengthen them. Newton
//! uses the exact Hessian, and where that is indefinite, or with `--fixed`, the projected one. The first iteration is
//! the linearised step of Baraff & Witkin 1998. Then v_{n+1} = (x_{n+1} − x_n) / h. Contact of triangles bounds every
//! step of the descent, so that no pair of triangles crosses in any iterate, whether the descent converges or not.
//! If a pair of triangles bounds the last step of a descent to less than half of its direction, the descent begins again,
//! up to ten times, since the pair bounds all of the cloth.
//! Solids bound steps too, by barriers of vertices and edges; those that move take with them what they would meet.
//! Energies are computed on the host, and linear systems are solved at the place.
//!
//! | file | what |
//! |---|---|
//! | `mod` | the frame and the step |
//! | `build` | the solver for the steps |
//! | `begin` | what (1) holds fixed, and where its descent begins |
//! | `faults` | steps that cannot be resolved |

mod begin;
mod build;
mod faults;

use std::time::Instant;

use coarsen::Waits;
use coarsen::elastic::{ImplicitEuler, Potential};
use coarsen::follow::NewtonAt;
use coarsen::prelude::*;
use coarsen::schwarz::Place;
use coarsen::sparse::{OwnedSystem, SystemAt};
use examples_common::Failure;
use examples_common::solver::Clock;

use crate::pace::Pace;
use crate::rows::Row;
use crate::solved::Solved;
use crate::state::State;
use crate::supported::Supported;
use crate::world::{Fixed, Forces};

use faults::At;
#[cfg(test)]
pub(crate) use faults::{Blocked, Undetected};

/// A descent begins again if contact bounds its last step to less than this share of the direction.
const CUT: f64 = 0.5;

/// A scene and the solver for its steps.
pub(crate) struct Stepper<B: Place<Real = f64>> {
    on: B,
    f: ImplicitEuler<Forces>,
    rule: NewtonAt<B, Cg<B::Vector>>,
    descent: Descent<Vec<f64>, MoreThuente<f64>>,
    /// How often the descent of a step may begin again.
    more: usize,
    clock: Clock,
    pace: Pace,
    pub(crate) fixed: Fixed,
    /// Obstacles as constraints.
    pub(crate) supported: Option<Supported>,
}

impl<B: Place<Real = f64> + Waits> Stepper<B> {
    /// Computes one time step.
    fn step(&mut self, state: &mut State, at: At, row: &mut Row) -> Result<(), Failure> {
        self.begin(state, at)?; // y, the air and friction of (1)
        let mut next = self.predict(state, at)?; // x_n + h v_n, as far as contact allows
        let solved = self.minimize(state, &mut next, at)?; // (1)
        state.work += self.work(state, &next);
        let h = self.f.step();
        for ((v, x), next) in state.v.iter_mut().zip(&state.x).zip(&next) {
            *v = (next - x) / h; // v_{n+1}
        }
        state.x = next;
        row.steps += 1;
        row.converged += usize::from(solved.converged);
        row.outer += solved.outer;
        row.inner += solved.inner;
        Ok(())
    }

    /// Minimises (1) from `next`, under what obstacles hold where they are constraints.
    fn minimize(&mut self, state: &State, next: &mut Vec<f64>, at: At) -> Result<Solved, Failure> {
        let Self { f, rule, descent, fixed, supported, more, .. } = self;
        let h = f.step();
        if let Some(supported) = supported {
            let obstacles = fixed.obstructions(at.end(h), h)?;
            let solved = supported.minimize(f, &obstacles, &state.x, next)?;
            at.check(&solved, next, &mut f.potential)?;
            return Ok(solved);
        }
        rule.newton.forget();
        let mut descend = |f: &mut ImplicitEuler<Forces>, next: &mut Vec<f64>| {
            descent.minimize(f, rule, next, &mut ()).map_err(|fault| at.unsolved(fault))
        };
        let mut solved = Solved::from(&descend(f, next)?);
        at.check(&solved, next, &mut f.potential)?;
        for _ in 0..*more {
            let share = f.potential.first.second.blocking().map_or(1.0, |(share, _)| share);
            if share >= CUT || !solved.limited {
                break;
            }
            solved = solved.then(&descend(f, next)?);
        }
        at.check_finite(&solved, next, &mut f.potential)?;
        Ok(solved)
    }

    /// The work on the cloth from x_n to `next`, J: that of friction, and that of obstacles that are constraints.
    fn work(&mut self, state: &State, next: &Vec<f64>) -> f64 {
        let Self { f, supported, .. } = self;
        let obstacles = supported.as_ref().map_or(0.0, |supported| supported.work(f, &state.x, next));
        let mut friction = vec![0.0; next.len()];
        f.potential.second.second.add_gradient(next, &mut friction);
        let work = |((f, x), next): ((&f64, &f64), &f64)| f * (x - next);
        obstacles + friction.iter().zip(&state.x).zip(next).map(work).sum::<f64>()
    }

    /// Computes the next frame.
    ///
    /// # Errors
    /// An error if new positions are not finite, if contacts cannot be detected, or if the place fails. The state,
    /// held vertices, solids and what obstacles hold are then those before the frame.
    pub(crate) fn frame(&mut self, state: &mut State) -> Result<Row, Failure> {
        let (start, frame, pace) = (Instant::now(), state.frame + 1, self.pace);
        let waits = self.on.waits();
        let (mut next, mut row) = (State { frame, ..state.clone() }, Row::default());
        let states = self.supported.as_ref().map(|supported| supported.states.clone());
        let begun = state.begun;
        for step in pace.last(state.frame) + 1..=pace.last(frame) {
            if let Err(failure) = self.step(&mut next, At { frame, step, begun }, &mut row) {
                self.supported
                    .iter_mut()
                    .zip(states)
                    .for_each(|(supported, states)| supported.states = states);
                self.fixed.move_to(&mut self.f.potential, pace.time(begun, state.frame))?;
                return Err(failure);
            }
        }
        let seconds = start.elapsed().as_secs_f64();
        let setup = self.clock.take().as_secs_f64();
        next.time = pace.time(begun, frame);
        let now = self.fixed.row(&mut self.f.potential, &next)?;
        *state = next;
        let Row { steps, converged, outer, inner, .. } = row;
        let waits = self.on.waits() - waits;
        Ok(Row { steps, converged, outer, inner, waits, setup, solve: (seconds - setup).max(0.0), ..now })
    }

    /// The linearised step after a state, as Baraff & Witkin 1998: the positive definite Hessian of (1) at x_n, and
    /// −∇f(x_n), with the air and with the friction of this step, before held vertices move.
    ///
    /// # Errors
    /// Errors of the potentials and of the assembly.
    pub(crate) fn system(&mut self, state: &State) -> Result<(&OwnedSystem<f64>, Vec<f64>), Failure> {
        let step = self.pace.last(state.frame) + 1;
        self.begin(&mut state.clone(), At { frame: state.frame + 1, step, begun: state.begun })?;
        let f = &mut self.f;
        let mut rhs = vec![0.0; state.x.len()];
        f.gradient(&state.x, &mut rhs);
        rhs.iter_mut().for_each(|g| *g = -*g);
        f.project(true);
        Ok((f.system_at(&state.x)?, rhs))
    }
}
