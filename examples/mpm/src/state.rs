//! The state that a run passes from frame to frame.

use examples_common::files::{Reader, Saved, Writer};

use crate::particles::Particle;
use crate::tries::Tries;

/// The state after a frame.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// The number of the frame; 0 is the start.
    pub frame: usize,
    /// The time, s.
    pub time: f64,
    /// Emitters have emitted until this time; −∞ at the start.
    pub emitted: f64,
    /// The work of colliders and emitters since the start, J.
    pub work: f64,
    /// The particles.
    pub particles: Vec<Particle>,
    /// The nodes with friction in the last step, and μ times the normal force on them, N.
    pub pressures: Vec<([i32; 3], f64)>,
    /// What `auto` knows of its drivers.
    pub tries: Tries,
}

/// The numbers of a particle without its body.
const NUMBERS: usize = 24;

impl Saved for State {
    const MAGIC: &'static [u8; 24] = b"coarsen mpm particles 02";

    fn frame(&self) -> usize {
        self.frame
    }

    fn save(&self, to: &mut Writer) {
        to.number(self.frame as u64);
        to.floats([&self.time, &self.emitted, &self.work]);
        to.number(self.particles.len() as u64);
        for Particle { x, v, c, f, body } in &self.particles {
            to.number(u64::from(*body));
            to.floats(x.iter().chain(v).chain(c.as_flattened()).chain(f.as_flattened()));
        }
        to.number(self.pressures.len() as u64);
        for (place, force) in &self.pressures {
            place.iter().for_each(|&k| to.number(i64::from(k) as u64));
            to.floats([force]);
        }
        // Runs without turns end here, as all runs did before there were any.
        if self.tries != Tries::default() {
            let Tries { steps, last, work } = &self.tries;
            to.number(*steps);
            last.iter().for_each(|&last| to.number(last));
            to.floats(work);
        }
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, &'static str> {
        let frame = from.number()? as usize;
        let (time, emitted, work) = (from.float()?, from.float()?, from.float()?);
        if !time.is_finite() || !work.is_finite() {
            return Err("its time or work is not finite");
        }
        let count = from.number()? as usize;
        let mut particles = Vec::new();
        for _ in 0..count {
            let body =
                u32::try_from(from.number()?).map_err(|_| "a particle has a body that does not exist")?;
            let numbers = from.floats(NUMBERS)?;
            if numbers.iter().any(|v| !v.is_finite()) {
                return Err("a number of a particle is not finite");
            }
            let triple = |k: usize| [numbers[k], numbers[k + 1], numbers[k + 2]];
            let matrix = |k: usize| [triple(k), triple(k + 3), triple(k + 6)];
            particles.push(Particle { x: triple(0), v: triple(3), c: matrix(6), f: matrix(15), body });
        }
        let mut pressures = Vec::new();
        for _ in 0..from.number()? {
            let mut place = [0; 3];
            for k in &mut place {
                let number = from.number()? as i64;
                *k = i32::try_from(number).map_err(|_| "a node with friction is too far away")?;
            }
            let force = from.float()?;
            if !(force >= 0.0 && force.is_finite()) {
                return Err("a normal force is negative or not finite");
            }
            pressures.push((place, force));
        }
        let mut tries = Tries::default();
        if !from.is_empty() {
            tries.steps = from.number()?;
            for last in &mut tries.last {
                *last = from.number()?;
            }
            let work = from.floats(tries.work.len())?;
            tries.work.copy_from_slice(&work);
            let turned = tries.last.iter().zip(&tries.work);
            if turned.into_iter().any(|(&last, &w)| last > tries.steps || !(w >= 0.0 && w.is_finite())) {
                return Err("the work of a driver is negative or not finite, or its last turn is not over");
            }
        }
        Ok(Self { frame, time, emitted, work, particles, pressures, tries })
    }
}
