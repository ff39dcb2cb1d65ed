//! The state that a run passes from frame to frame.

use examples_run::files::{Reader, Saved, Writer};

use crate::particles::Particle;

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
}

/// A body that no scene has.
const NO_BODY: u32 = u32::MAX;

/// The numbers of a particle without its body.
const NUMBERS: usize = 24;

impl Saved for State {
    const MAGIC: &'static [u8; 24] = b"coarsen mpm particles 03";

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
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, &'static str> {
        let frame = from.number()? as usize;
        let (time, emitted, work) = (from.float()?, from.float()?, from.float()?);
        let count = from.number()? as usize;
        let mut particles = Vec::new();
        for _ in 0..count {
            let body = u32::try_from(from.number()?).unwrap_or(NO_BODY);
            let numbers = from.floats(NUMBERS)?;
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
            pressures.push((place, from.float()?));
        }
        Ok(Self { frame, time, emitted, work, particles, pressures })
    }

    fn check(&self) -> Result<(), String> {
        let Self { time, emitted, work, particles, pressures, .. } = self;
        if !time.is_finite() || !work.is_finite() {
            return Err(format!(
                "its time is {time} s and the work of its colliders {work} J, but both must be finite"
            ));
        }
        if emitted.is_nan() || emitted > time {
            return Err(format!("its emitters have emitted until {emitted} s, but its time is {time} s"));
        }
        for (number, Particle { x, v, c, f, body }) in particles.iter().enumerate() {
            let rows: [(&str, &[f64]); 4] =
                [("position", x), ("velocity", v), ("C", c.as_flattened()), ("F", f.as_flattened())];
            if let Some((what, _)) = rows.iter().find(|(_, row)| row.iter().any(|v| !v.is_finite())) {
                return Err(format!("the {what} of particle {number} (from 0) is not finite"));
            }
            if *body == NO_BODY {
                return Err(format!("particle {number} (from 0) has a body that does not exist"));
            }
        }
        let good = |w: f64| w >= 0.0 && w.is_finite();
        match pressures.iter().find(|(_, force)| !good(*force)) {
            Some((place, force)) => Err(format!(
                "the normal force at node {place:?} is {force} N, but must be 0 or more and finite"
            )),
            None => Ok(()),
        }
    }
}
