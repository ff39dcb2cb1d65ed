//! How time is divided: steps, and frames of several steps.

use crate::motion::RATE;

/// The time step, and how many are in a frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// The time step in s.
    pub(crate) h: f64,
    /// The steps of a frame; `None` if a frame is 1/24 s.
    pub(crate) steps: Option<usize>,
}

impl Pace {
    /// The number of the last step of a frame.
    pub(crate) fn last(&self, frame: usize) -> usize {
        let of_seconds = (frame as f64 / (RATE * self.h) * (1.0 + 1e-12)) as usize;
        self.steps.map_or(of_seconds, |steps| steps * frame)
    }

    /// The time between two frames in s.
    pub(crate) fn frame(&self) -> f64 {
        self.steps.map_or(1.0 / RATE, |steps| steps as f64 * self.h)
    }

    /// The time at a frame of a run that begins at the time `begun`, in s.
    pub(crate) fn time(&self, begun: f64, frame: usize) -> f64 {
        begun + self.last(frame) as f64 * self.h
    }
}
