//! The seconds of each step on this rank, as the stages of PETSc's `-log_view`.
//!
//! | step | what is timed |
//! |---|---|
//! | reading | until this rank has its rows, and has checked them |
//! | setup of the matrix | its storage on its backend, its lists of messages, the vectors |
//! | setup of the preconditioner | |
//! | products | A x and b − A x, with x·y where a method asks for both at once |
//! | preconditioner | z = M⁻¹ r, with r·z where a method asks for both at once |
//! | sums and vectors | the rest of the solve |
//!
//! A wait for other ranks belongs to the step in which it occurs. A call for a device may return before its kernels
//! have run; the step that waits for them then has their time.

use std::cell::Cell;
use std::time::{Duration, Instant};

use coarsen_core::{Dot, LinearOperator, Preconditioner, PreconditionerKind, Vector};

/// The names of the steps, in their order.
pub(crate) const STEPS: [&str; 6] = [
    "reading",
    "setup of the matrix",
    "setup of the preconditioner",
    "products",
    "preconditioner",
    "sums and vectors",
];

/// The calls of a step, and the time in all of them.
#[derive(Clone, Copy, Default)]
pub(crate) struct Spent {
    pub(crate) calls: u64,
    pub(crate) time: Duration,
}

impl Spent {
    /// One call, which began at `begun` and ends now.
    pub(crate) fn since(begun: Instant) -> Self {
        Self { calls: 1, time: begun.elapsed() }
    }

    fn and(self, other: Self) -> Self {
        Self { calls: self.calls + other.calls, time: self.time + other.time }
    }
}

/// The times of this rank.
pub(crate) struct Times {
    pub(crate) read: Spent,
    pub(crate) setup: Setup,
    pub(crate) solve: Duration,
    pub(crate) products: Spent,
    pub(crate) preconditioner: Spent,
}

/// The times of the setup.
pub(crate) struct Setup {
    pub(crate) matrix: Spent,
    pub(crate) preconditioner: Spent,
    /// With the wait for the last rank.
    pub(crate) all: Duration,
}

impl Times {
    /// The steps, as [`STEPS`] names them. What is left of the solve is no call.
    pub(crate) fn steps(&self) -> [Spent; 6] {
        let (products, preconditioner) = (self.products, self.preconditioner);
        let rest = self.solve.saturating_sub(products.time + preconditioner.time);
        let rest = Spent { calls: 0, time: rest };
        [self.read, self.setup.matrix, self.setup.preconditioner, products, preconditioner, rest]
    }
}

/// An operator, and the time of its products.
pub(crate) struct TimedOperator<'a, V> {
    of: &'a dyn LinearOperator<V>,
    spent: Cell<Spent>,
}

impl<'a, V: Vector> TimedOperator<'a, V> {
    pub(crate) fn new(of: &'a dyn LinearOperator<V>) -> Self {
        Self { of, spent: Cell::default() }
    }

    pub(crate) fn spent(&self) -> Spent {
        self.spent.get()
    }

    fn timed<R>(&self, product: impl FnOnce(&dyn LinearOperator<V>) -> R) -> R {
        let begun = Instant::now();
        let result = product(self.of);
        self.spent.set(self.spent.get().and(Spent::since(begun)));
        result
    }
}

/// Methods that multiply several vectors at once are not among those of the command, so `apply_many` is the default.
impl<V: Vector> LinearOperator<V> for TimedOperator<'_, V> {
    fn shape(&self) -> (usize, usize) {
        self.of.shape()
    }

    fn apply(&self, x: &V, y: &mut V) {
        self.timed(|a| a.apply(x, y));
    }

    fn apply_dot(&self, x: &V, y: &mut V) -> Dot<V::Scalar> {
        self.timed(|a| a.apply_dot(x, y))
    }

    fn residual(&self, b: &V, x: &V, r: &mut V) {
        self.timed(|a| a.residual(b, x, r));
    }
}

/// A preconditioner, and the time of its applications.
pub(crate) struct TimedPreconditioner<'a, V> {
    of: &'a mut dyn Preconditioner<V>,
    spent: Spent,
}

impl<'a, V: Vector> TimedPreconditioner<'a, V> {
    pub(crate) fn new(of: &'a mut dyn Preconditioner<V>) -> Self {
        Self { of, spent: Spent::default() }
    }

    pub(crate) fn spent(&self) -> Spent {
        self.spent
    }
}

impl<V: Vector> Preconditioner<V> for TimedPreconditioner<'_, V> {
    fn apply(&mut self, r: &V, z: &mut V) {
        let begun = Instant::now();
        self.of.apply(r, z);
        self.spent = self.spent.and(Spent::since(begun));
    }

    fn apply_dot(&mut self, r: &V, z: &mut V) -> Dot<V::Scalar> {
        let begun = Instant::now();
        let dot = self.of.apply_dot(r, z);
        self.spent = self.spent.and(Spent::since(begun));
        dot
    }

    fn kind(&self) -> PreconditionerKind {
        self.of.kind()
    }

    fn size(&self) -> Option<usize> {
        self.of.size()
    }
}
