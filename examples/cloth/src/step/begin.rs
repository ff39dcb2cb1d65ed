//! The start of a step: what (1) holds fixed, and where its descent begins.

use coarsen::Waits;
use coarsen::elastic::Potential;
use coarsen::prelude::*;
use coarsen::schwarz::Place;
use examples_common::Failure;

use crate::solids::Crushed;
use crate::state::State;
use crate::world::{Forces, GRAVITY};

use super::Stepper;
use super::faults::At;

impl<B: Place<Real = f64> + Waits> Stepper<B> {
    /// Sets up (1) for a step: the air changes v, and friction takes the pairs and the moving solids at its start.
    pub(super) fn begin(&mut self, state: &mut State, at: At) -> Result<(), Failure> {
        let Self { f, fixed, .. } = self;
        let h = f.step();
        state.work += fixed.air.push(&fixed.nodes, &fixed.masses, &state.x, h, 0, &mut state.v);
        if fixed.motion.moves() {
            let before = at.start(h);
            let frictions = f.potential.second.second.first.parts_mut();
            let now = fixed.shapes(before, true)?.into_iter().zip(fixed.spins(before));
            frictions.iter_mut().zip(now).for_each(|(part, (shape, spin))| part.set_motion(shape, spin));
        }
        let forces = &mut f.potential;
        let undetected = |source| at.undetected(source);
        forces.second.second.second.grip(&mut forces.first.second, &state.x).map_err(undetected)?;
        f.begin(&state.x, &state.v, GRAVITY)?;
        Ok(())
    }

    /// Moves held vertices and solids to the end of a step, and returns where the descent of (1) begins: at
    /// x_n + h v_n or as far on this way as contact allows, or at x_n where f is lower there or where nothing can go
    /// along with what moves.
    ///
    /// # Errors
    /// [`Undetected`](super::faults::Undetected) if contact cannot be detected, [`Crushed`] for a vertex that solids meet
    /// wherever it goes, and [`NotFinite`](super::faults::NotFinite) for positions that are not finite.
    pub(super) fn predict(&mut self, state: &State, at: At) -> Result<Vec<f64>, Failure> {
        let Self { f, fixed, .. } = self;
        let (h, moves) = (f.step(), fixed.motion.moves());
        let mut forward: Vec<f64> = state.v.iter().map(|v| h * v).collect();
        if moves {
            // Free nodes go along, or stay if that leaves no way; what solids would meet goes with them.
            let (start, end, forces) = (at.start(h), at.end(h), &mut f.potential);
            let held = fixed.motion.held(&fixed.positions, end);
            let make_way = |forces: &Forces, forward: &mut [f64]| {
                let solids = forces.second.first.parts();
                let met = fixed.make_way(solids, &state.x, forward, [start, end]);
                met.map_err(|met| Crushed::new(at.frame, at.step, met))
            };
            let free = make_way(forces, &mut forward).is_ok();
            if !free || forces.first.second.carry(&state.x, &forward, &held).is_err() {
                forward.fill(0.0);
                make_way(forces, &mut forward)?;
                let undetected = |source| at.undetected(source);
                forces.first.second.carry(&state.x, &forward, &held).map_err(undetected)?;
            }
            fixed.follow(forces, &held, end)?;
        }
        let bound = if moves { 1.0 } else { f.potential.max_step(&state.x, &forward) };
        let fault = f.potential.first.second.take_fault(); // only a fault during the descent counts after this
        if bound.is_nan() {
            return Err(at.not_finite(fault));
        }
        let share = bound.clamp(0.0, 1.0);
        let mut next: Vec<f64> = state.x.iter().zip(&forward).map(|(x, d)| x + share * d).collect();
        if !moves && f.value(&next) > f.value(&state.x) {
            next.copy_from_slice(&state.x);
        }
        Ok(next)
    }
}
