//! Scalars of distributed vectors: numbers, or sums over all ranks that are still under way.

use std::ops::{Add, Div, Mul, Neg};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use coarsen_core::{Real, Scalar};

use crate::Communicator;

/// How far several sums are that were started together.
enum State<S> {
    UnderWay(S),
    Done(Vec<f64>),
    /// The ranks cannot communicate.
    Failed,
}

/// Sums that were started together, and the memory of their numbers.
pub(crate) struct Pending<C: Communicator> {
    comm: C,
    state: Mutex<State<C::Sum>>,
}

impl<C: Communicator> Pending<C> {
    /// No sums yet.
    pub(crate) fn new(comm: C) -> Self {
        Self { comm, state: Mutex::new(State::Done(Vec::new())) }
    }

    /// No code panics while it holds the lock and leaves the state invalid.
    fn state(&self) -> MutexGuard<'_, State<C::Sum>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the sums of the numbers that `fill` writes.
    pub(crate) fn start(&self, count: usize, fill: impl FnOnce(&mut [f64])) {
        self.finish();
        let mut state = self.state();
        let mut values = match std::mem::replace(&mut *state, State::Failed) {
            State::Done(values) => values,
            _ => Vec::new(),
        };
        values.clear();
        if values.capacity() < count {
            // Sums under way hold buffers that other messages would use otherwise.
            values.reserve_exact(count.next_power_of_two());
            self.comm.recycle(Vec::with_capacity(64.max(8 * values.capacity())));
        }
        values.resize(count, 0.0);
        fill(&mut values);
        if let Ok(sum) = self.comm.start_sum(values) {
            *state = State::UnderWay(sum);
        }
    }

    /// Lets the sums go on, without a wait. Returns whether they are still to be read.
    pub(crate) fn advance(&self) -> bool {
        let mut state = self.state();
        if let State::UnderWay(sum) = &mut *state
            && self.comm.advance_sum(sum).is_err()
        {
            *state = State::Failed;
        }
        matches!(*state, State::UnderWay(_))
    }

    fn finish(&self) {
        let mut state = self.state();
        if matches!(*state, State::UnderWay(_))
            && let State::UnderWay(sum) = std::mem::replace(&mut *state, State::Failed)
            && let Ok(values) = self.comm.finish_sum(sum)
        {
            *state = State::Done(values);
        }
    }

    /// Sum `at`; waits for it. NaN if the ranks cannot communicate.
    pub(crate) fn read(&self, at: usize) -> f64 {
        self.finish();
        match &*self.state() {
            State::Done(values) => values[at],
            _ => f64::NAN,
        }
    }
}

impl<C: Communicator> std::fmt::Debug for Pending<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pending").finish_non_exhaustive()
    }
}

impl<C: Communicator> Drop for Pending<C> {
    /// Other ranks may wait for a message that is part of this sum.
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.finish();
        }
    }
}

/// A number, or a sum over all ranks that is under way until it is read.
///
/// Arithmetic reads, as do vector operations that take it as a factor. Messages of the sum go on between the chunks of
/// products with a matrix on the same [`Partition`](crate::Partition) object; a preconditioner without such products carries
/// none. *Reads, clones and drops are collective*: all ranks do them in the same order, also relative to other communication,
/// or they wait for each other until the deadline.
///
/// ```
/// use coarsen_core::{Scalar, Vector};
/// use coarsen_distributed::{Layout, Partition, SelfComm};
/// let partition = Partition::new(SelfComm, Layout::even(2, 1, 1)?)?;
/// let x = partition.vector(vec![3.0, 4.0])?;
/// let square = x.dot(&x); // ranks compute on
/// assert_eq!(square.read(), 25.0);
/// # Ok::<(), coarsen_distributed::DistError>(())
/// ```
pub struct DistScalar<C: Communicator, T = f64>(Value<C, T>);

enum Value<C: Communicator, T> {
    Known(T),
    Sum(Arc<Pending<C>>, usize),
}

impl<C: Communicator, T: Real> DistScalar<C, T> {
    /// Number `at` of sums under way.
    pub(crate) fn sum(of: &Arc<Pending<C>>, at: usize) -> Self {
        Self(Value::Sum(of.clone(), at))
    }
}

impl<C: Communicator, T> From<T> for DistScalar<C, T> {
    fn from(v: T) -> Self {
        Self(Value::Known(v))
    }
}

impl<C: Communicator, T: Real> std::fmt::Debug for DistScalar<C, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            Value::Known(v) => v.as_f64().fmt(f),
            Value::Sum(..) => f.write_str("a sum under way"),
        }
    }
}

impl<C: Communicator, T: Real> Clone for DistScalar<C, T> {
    fn clone(&self) -> Self {
        match &self.0 {
            Value::Known(v) => (*v).into(),
            Value::Sum(of, at) => Self::sum(of, *at),
        }
    }
}

impl<C: Communicator, T: Real> Scalar for DistScalar<C, T> {
    type Real = T;

    fn read(&self) -> T {
        match &self.0 {
            Value::Known(v) => *v,
            Value::Sum(of, at) => T::from_f64(of.read(*at)),
        }
    }

    /// The number of a factor. A sum is under way on all ranks until they read it, even where it has arrived.
    fn known(&self) -> Option<T> {
        match &self.0 {
            Value::Known(v) => Some(*v),
            Value::Sum(..) => None,
        }
    }

    fn min(&self, other: &Self) -> Self {
        Scalar::min(&self.read(), &other.read()).into()
    }

    fn over(&self, den: &Self, bound: &Self) -> Self {
        self.read().over(&den.read(), &bound.read()).into()
    }
}

impl<C: Communicator, T: Real> Neg for DistScalar<C, T> {
    type Output = Self;
    fn neg(self) -> Self {
        (-self.read()).into()
    }
}

impl<C: Communicator, T: Real> Add for DistScalar<C, T> {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        (self.read() + other.read()).into()
    }
}

impl<C: Communicator, T: Real> Mul for DistScalar<C, T> {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        (self.read() * other.read()).into()
    }
}

impl<C: Communicator, T: Real> Div for DistScalar<C, T> {
    type Output = Self;
    fn div(self, other: Self) -> Self {
        (self.read() / other.read()).into()
    }
}
