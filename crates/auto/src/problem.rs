//! A system to solve, what builds its preconditioners, and what a solve leaves.

use std::ops::ControlFlow;

use coarsen_backend::{Prepared, SetupError};
use coarsen_core::{Error, LinearOperator, Outcome, Real, Stop, Vector};
use coarsen_direct::Factor;
use coarsen_krylov::{BiCgStab, Cg, FlexibleCg, Gmres, Krylov, Minres};
use coarsen_sparse::{Bsr, NearKernel, System};

use crate::ending::Ending;
use crate::run::{Last, Run};
use crate::{Candidate, Kind, Method};

/// Builds vectors, operators and preconditioners at one backend.
///
/// [`Host`](crate::Host) is the one of the CPU. A program with another backend, or with other options of its preconditioners,
/// implements it.
pub trait Builder {
    /// The vectors of the backend.
    type Vector: Vector;

    /// Copies numbers into a vector of the backend.
    ///
    /// # Errors
    /// Failures of the device.
    fn vector(&self, values: &[<Self::Vector as Vector>::Real]) -> Result<Self::Vector, Error>;

    /// Copies a vector of the backend into host memory.
    ///
    /// # Errors
    /// Failures of the device.
    fn read(&self, vector: &Self::Vector, into: &mut [<Self::Vector as Vector>::Real]) -> Result<(), Error>;

    /// The matrix as an operator on these vectors.
    ///
    /// # Errors
    /// Failures of the device.
    fn operator<'a>(&self, a: &'a Bsr<f64>) -> Result<Box<dyn LinearOperator<Self::Vector> + 'a>, Error>;

    /// Builds a preconditioner; `single` asks for storage in f32.
    ///
    /// # Errors
    /// Those of the preconditioner.
    fn build(
        &self,
        kind: Kind,
        single: bool,
        system: System<'_, f64>,
    ) -> Result<Built<Self::Vector>, SetupError>;
}

/// A preconditioner, and its levels if it is a hierarchy.
pub struct Built<V: Vector> {
    /// The preconditioner.
    pub preconditioner: Box<dyn Prepared<V, f64>>,
    /// Its levels.
    pub levels: Option<Levels>,
}

/// The levels of a preconditioner.
#[derive(Clone, Debug, PartialEq)]
pub struct Levels {
    /// Their number.
    pub count: usize,
    /// The entries of the matrices of all levels, divided by the entries of A.
    pub operator_complexity: f64,
    /// A table, one line for each level.
    pub table: String,
}

/// A system and what a solve may do with it.
#[derive(Clone, Copy)]
pub struct Problem<'a> {
    /// A as preconditioners see it, without contact, and what is known of it.
    pub system: System<'a, f64>,
    /// A as it is multiplied and factored.
    pub operator: &'a Bsr<f64>,
    /// b.
    pub b: &'a [f64],
    /// Vectors that A maps to zero.
    pub null_space: Option<&'a NearKernel>,
    /// Whether a component of the graph has constants in its kernel.
    pub unconstrained: bool,
    /// The tolerance for the relative residual.
    pub tolerance: f64,
    /// The maximal number of iterations of all methods together.
    pub max_iterations: usize,
    /// Whether preconditioners are first tried in f32.
    pub single: bool,
}

/// An attempt that was made.
#[derive(Clone, Debug, PartialEq)]
pub struct Tried {
    /// The method.
    pub of: Last,
    /// Whether the preconditioner was stored in f32.
    pub single: bool,
    /// The seconds of its setup; 0 if the preconditioner was kept from an earlier attempt.
    pub setup_seconds: f64,
    /// The seconds of its iterations.
    pub solve_seconds: f64,
    /// The number of its iterations, or of refinements by a factor.
    pub iterations: usize,
    /// How it ended.
    pub ending: Ending,
    /// An estimate of the condition number of M⁻¹A from below.
    pub condition: Option<f64>,
    /// The levels of the preconditioner.
    pub levels: Option<Levels>,
}

/// A function that is called at every iteration of all methods, with the number of iterations so far and the relative
/// residual. `Break` ends the solve.
pub type Observer<'a> = dyn FnMut(usize, f64) -> ControlFlow<()> + 'a;

/// What a solve leaves besides x.
pub struct Outcomes<V: Vector> {
    /// The record of the run; `None` if the guess was a solution.
    pub run: Option<Run>,
    /// All attempts in order.
    pub tried: Vec<Tried>,
    /// How the solve ended.
    pub ending: Ending,
    /// ‖b − A x‖ / ‖b‖ of the returned x.
    pub residual: f64,
    /// The number of iterations of all methods.
    pub iterations: usize,
    /// The seconds of the ordering for a factor.
    pub ordering_seconds: f64,
    /// What solved the system.
    pub solver: Option<Kept<V>>,
}

impl<V: Vector> Outcomes<V> {
    /// Nothing was tried.
    pub(crate) fn refused(ending: Ending, residual: f64) -> Self {
        let (run, tried, solver) = (None, Vec::new(), None);
        Self { run, tried, ending, residual, iterations: 0, ordering_seconds: 0.0, solver }
    }
}

/// What solved a system.
pub enum Kept<V: Vector> {
    /// A method with a preconditioner.
    Preconditioner(Candidate, bool, Built<V>),
    /// A factor.
    Factor(Box<Factor>),
}

impl Tried {
    pub(crate) fn new(of: Last, single: bool) -> Self {
        Self {
            of,
            single,
            setup_seconds: 0.0,
            solve_seconds: 0.0,
            iterations: 0,
            ending: Ending::Method(Outcome::Stopped),
            condition: None,
            levels: None,
        }
    }
}

/// −A.
pub fn negated(a: &Bsr<f64>) -> Bsr<f64> {
    let mut negative = a.clone();
    negative.values_mut().iter_mut().for_each(|v| *v = -*v);
    negative
}

/// Numbers in the precision of a backend.
pub(crate) fn numbers<V: Real>(x: &[f64]) -> Vec<V> {
    x.iter().map(|v| V::of(*v)).collect()
}

/// A Krylov method by name; [`Method::Direct`] is none, and gives conjugate gradients.
pub fn krylov<V: Vector>(method: Method, stop: Stop<V::Real>) -> Box<dyn Krylov<V>> {
    match method {
        Method::Cg | Method::Direct => Box::new(Cg::new(stop)),
        Method::FlexibleCg => Box::new(FlexibleCg::new(stop)),
        Method::Minres => Box::new(Minres::new(stop)),
        Method::Gmres => Box::new(Gmres::new(stop)),
        Method::BiCgStab => Box::new(BiCgStab::new(stop)),
    }
}

/// Returns ‖b − A x‖ / ‖b‖, or ‖A x‖ if b = 0; NaN if x is not finite.
pub fn relative_residual(a: &Bsr<f64>, b: &[f64], x: &[f64]) -> f64 {
    if x.iter().any(|x| !x.is_finite()) {
        return f64::NAN;
    }
    let (b, x) = (b.to_vec(), x.to_vec());
    let mut r = b.clone();
    if x.iter().any(|x| *x != 0.0) {
        a.residual(&b, &x, &mut r);
    }
    let size = norm(&b);
    norm(&r) / if size > 0.0 { size } else { 1.0 }
}

/// ‖v‖₂, without overflow or underflow of the squares; NaN if v is not finite.
fn norm(v: &[f64]) -> f64 {
    let largest = v.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
    if v.iter().any(|v| !v.is_finite()) {
        return f64::NAN;
    }
    if largest == 0.0 { 0.0 } else { largest * v.iter().map(|v| (v / largest).powi(2)).sum::<f64>().sqrt() }
}
