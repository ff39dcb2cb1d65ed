//! Steps that cannot be resolved, each with its frame, its step and what blocks it.

use coarsen::optimize::{DescentError, DescentOutcome};
use coarsen_contact::{ContactError, Pair};
use examples_common::Failure;

use crate::solved::Solved;
use crate::world::Forces;

/// A step that leads to NaN.
#[derive(Debug, thiserror::Error)]
#[error("frame {frame}, step {step}: no finite energy ({advice}); take a smaller --dt")]
pub(crate) struct NotFinite {
    frame: usize,
    step: usize,
    advice: &'static str,
}

/// A step that is not possible: the forces press a pair together that is at its smallest distance.
#[derive(Debug, thiserror::Error)]
#[error(
    "frame {frame}, step {step}: {pair} block every step; the last frame on disk is good: take a smaller --dt or a \
     larger --thickness"
)]
pub(crate) struct Blocked {
    frame: usize,
    step: usize,
    pair: Pair,
}

/// A step whose linear system cannot be assembled or preconditioned.
#[derive(Debug, thiserror::Error)]
#[error("frame {frame}, step {step}: {source}; the last frame on disk is good: take a smaller --dt")]
pub(crate) struct Unsolved {
    frame: usize,
    step: usize,
    source: DescentError,
}

/// A step at which contacts cannot be detected.
#[derive(Debug, thiserror::Error)]
#[error(
    "frame {frame}, step {step}: contact cannot be resolved: {source}; the last frame on disk is good: take a smaller \
     --dt"
)]
pub(crate) struct Undetected {
    pub(crate) frame: usize,
    pub(crate) step: usize,
    source: ContactError,
}

/// A step is blocked if it does not converge and contact leaves less than this share of the last direction.
const BLOCKED: f64 = 1e-6;

/// The place of a step: the number of its frame, and its own.
#[derive(Clone, Copy)]
pub(crate) struct At {
    pub(crate) frame: usize,
    pub(crate) step: usize,
    /// The time at which the run begins, s.
    pub(crate) begun: f64,
}

impl At {
    /// The time at the start of the step, s.
    pub(super) fn start(self, h: f64) -> f64 {
        self.begun + (self.step - 1) as f64 * h
    }

    /// The time at its end, s.
    pub(super) fn end(self, h: f64) -> f64 {
        self.begun + ((self.step - 1) as f64 * h + h)
    }

    pub(super) fn undetected(self, source: ContactError) -> Undetected {
        let Self { frame, step, .. } = self;
        Undetected { frame, step, source }
    }

    pub(super) fn unsolved(self, source: DescentError) -> Unsolved {
        let Self { frame, step, .. } = self;
        Unsolved { frame, step, source }
    }

    /// NaN, or the fault of a search that led to it.
    pub(super) fn not_finite(self, fault: Option<ContactError>) -> Failure {
        let Self { frame, step, .. } = self;
        let advice = DescentOutcome::NotFinite.advice();
        fault
            .map_or_else(|| NotFinite { frame, step, advice }.into(), |source| self.undetected(source).into())
    }

    /// Whether a solve has led to positions that a step may take.
    ///
    /// # Errors
    /// [`NotFinite`], [`Blocked`] and [`Undetected`].
    pub(super) fn check(self, solved: &Solved, next: &[f64], forces: &mut Forces) -> Result<(), Failure> {
        self.check_finite(solved, next, forces)?;
        let (Self { frame, step, .. }, contact) = (self, &mut forces.first.second);
        if let Some((share, pair)) = contact.blocking().filter(|_| !solved.converged)
            && share < BLOCKED
        {
            return Err(Blocked { frame, step, pair }.into());
        }
        match contact.take_fault().filter(|_| solved.stuck) {
            Some(source) => Err(self.undetected(source).into()),
            None => Ok(()),
        }
    }

    /// Whether a solve has led to finite positions. Enough after a further descent, since the one before it has led to
    /// positions that the step may take: a further one that is stuck ends the step there, and what stopped it is dropped.
    ///
    /// # Errors
    /// [`NotFinite`], and [`Undetected`] if that is the cause.
    pub(super) fn check_finite(
        self,
        solved: &Solved,
        next: &[f64],
        forces: &mut Forces,
    ) -> Result<(), Failure> {
        let fault = forces.first.second.take_fault();
        if solved.finite && next.iter().all(|x| x.is_finite()) { Ok(()) } else { Err(self.not_finite(fault)) }
    }
}
