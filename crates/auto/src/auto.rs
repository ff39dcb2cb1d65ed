//! The entry points: plan and solve.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

use coarsen_core::Stop;
use coarsen_diagnose::{Diagnosis, diagnose};
use coarsen_sparse::{Bsr, SparseError, System};

use crate::adapt::Adapted;
use crate::ending::Ending;
use crate::host::Host;
use crate::plan::{MEMORY, Options, Plan};
use crate::problem::{Kept, Problem, Tried};
use crate::run::{Last, Run};
use crate::solve::solve_by_plan;
use crate::{Costs, NoFactor, is_solid};

/// Solves a system by the method with the lowest forecast, and limits the cost of wrong forecasts.
///
/// *Use* for a system that is solved once. For systems that follow each other `coarsen::Solver` keeps what it chose. *Cost*, in
/// the units of [`Costs`]: at most three times the cost of all methods tried, and at most three times the cost of a sparse
/// factor, if a factor is possible ([`drive`](crate::drive())). *Memory*: the preconditioners that were tried, and a factor
/// of up to `memory` bytes.
///
/// ```
/// use coarsen_auto::{Auto, Last};
/// let a = coarsen_sparse::assembly::from_triplets(2, 2, &[(0, 0, 2.0), (0, 1, 1.0), (1, 0, 1.0), (1, 1, 2.0)])?;
/// let auto = Auto::default();
/// assert_eq!(auto.plan(&a)?.begins(), Last::Factor);
/// let mut x = [0.0; 2];
/// let solved = auto.solve(&a, &[3.0, 3.0], &mut x)?.converged()?;
/// assert!((x[0] - 1.0).abs() < 1e-12);
/// println!("{solved}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Auto {
    /// The tolerance for the relative residual ‖b − A x‖ / ‖b‖; 1e-8 by default.
    pub tolerance: f64,
    /// The maximal number of iterations of all methods together; 5000 by default.
    pub max_iterations: usize,
    /// The memory limit in bytes for a factor, if iterations are an alternative
    /// ([`Options::memory`](crate::Options::memory)). The default is [`MEMORY`] and does not depend on the free
    /// memory.
    pub memory: usize,
}

impl Default for Auto {
    fn default() -> Self {
        Self { tolerance: 1e-8, max_iterations: 5000, memory: MEMORY }
    }
}

/// The reason why a system cannot be solved.
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum AutoError {
    /// Sizes in the system do not match, or a parameter is out of range.
    #[error(transparent)]
    System(#[from] coarsen_core::Error),
    /// The elastic part and contact cannot be merged.
    #[error(transparent)]
    Contact(#[from] SparseError),
    /// The solve ended above the tolerance.
    #[error("{0}")]
    NotConverged(Box<Solved>),
}

/// The same text as [`Display`](std::fmt::Display), so that an error returned from `main` prints as a
/// sentence.
impl std::fmt::Debug for AutoError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

/// The report of a solve.
#[derive(Clone, Debug, PartialEq)]
#[must_use = "a solve can end without convergence: call .converged()?"]
pub struct Solved {
    /// How the solve ended, with the cause.
    pub ending: Ending,
    /// ‖b − A x‖ / ‖b‖ of the returned x.
    pub true_residual: f64,
    /// The requested tolerance.
    pub tolerance: f64,
    /// The number of iterations of all methods.
    pub iterations: usize,
    /// The method that ended the solve; `None` if the guess was a solution.
    pub method: Option<Last>,
    /// The methods that were possible.
    pub plan: Arc<Plan>,
    /// The record of the run; `None` if the guess was a solution, or the method was kept from an earlier system.
    pub run: Option<Run>,
    /// All attempts in order.
    pub tried: Vec<Tried>,
}

impl Solved {
    /// Returns the report itself if the tolerance was reached.
    ///
    /// # Errors
    /// [`AutoError::NotConverged`] for every other ending.
    pub fn converged(self) -> Result<Self, AutoError> {
        if self.ending.converged() { Ok(self) } else { Err(AutoError::NotConverged(Box::new(self))) }
    }

    /// The reason why the cost had no bound; `None` if it had one.
    pub fn unbounded(&self) -> Option<NoFactor> {
        self.run.as_ref()?.unbounded
    }
}

impl fmt::Display for Solved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { ending, true_residual, tolerance, iterations, .. } = self;
        match self.method {
            Some(last) => write!(f, "{last}")?,
            None => f.write_str("the guess")?,
        }
        let name = ending.name().replace('_', " ");
        write!(
            f,
            ": {name} after {iterations} iterations, true relative residual {true_residual:.2e} (asked {tolerance:.0e})"
        )?;
        if !ending.converged() {
            write!(f, "; {ending}")?;
        }
        match self.unbounded() {
            Some(why) => write!(f, "; no factor: {why}, so the cost had no bound"),
            None => Ok(()),
        }
    }
}

impl Auto {
    /// Returns the methods that [`solve`](Self::solve) may use, with their expected costs, without a setup.
    ///
    /// *Cost*: a diagnosis of the matrix, and breadth-first searches in its graph.
    ///
    /// # Errors
    /// [`AutoError::System`] and [`AutoError::Contact`] if sizes do not match.
    pub fn plan<'a>(&self, system: impl Into<System<'a, f64>>) -> Result<Plan, AutoError> {
        let system = system.into();
        system.check()?;
        let given = system.whole()?;
        let diagnosis = diagnose(&given);
        let adapted = Adapted::new(given, &diagnosis, true);
        Ok(self.plan_for(system, adapted.preconditioned(), adapted.diagnosis().unwrap_or(&diagnosis)))
    }

    fn plan_for(&self, system: System<'_, f64>, a: &Bsr<f64>, diagnosis: &Diagnosis) -> Plan {
        let positions = system.positions.filter(|_| system.near_kernel.is_none());
        let options = Options {
            solid: positions.is_some_and(|positions| is_solid(a, positions)),
            near_kernel: system.positions.is_some() || system.near_kernel.is_some(),
            memory: self.memory,
            tolerance: self.tolerance,
            ..Options::default()
        };
        Plan::new(options, a.shape().0, diagnosis, |factor| Costs::of(a, factor))
    }

    /// Solves A x = b, starting with the guess x.
    ///
    /// For every ending, x is the best x so far, and [`Solved::true_residual`] is computed from it.
    ///
    /// # Errors
    /// [`AutoError::System`] for shapes that do not match and for NaN in A or b, before x is changed.
    pub fn solve<'a>(
        &self,
        system: impl Into<System<'a, f64>>,
        b: &[f64],
        x: &mut [f64],
    ) -> Result<Solved, AutoError> {
        Ok(self.solve_and_keep(system, b, x)?.0)
    }

    /// Solves A x = b as [`solve`](Self::solve) does, and also returns what solved it.
    ///
    /// # Errors
    /// As [`solve`](Self::solve).
    pub fn solve_and_keep<'a>(
        &self,
        system: impl Into<System<'a, f64>>,
        b: &[f64],
        x: &mut [f64],
    ) -> Result<(Solved, Option<Kept<Vec<f64>>>), AutoError> {
        let system = system.into();
        self.check(system, b, x)?;
        let whole = system.whole()?;
        whole.check_finite()?;
        let given = diagnose(&whole);
        let adapted = Adapted::new(whole, &given, true);
        let diagnosis = adapted.diagnosis().unwrap_or(&given);
        let plan = Arc::new(self.plan_for(system, adapted.preconditioned(), diagnosis));
        let c = adapted.right_hand_side(b);
        adapted.start(x);
        let problem = Problem {
            system: System { matrix: adapted.preconditioned(), contact: None, ..system },
            operator: adapted.matrix(),
            b: &c,
            null_space: None,
            unconstrained: diagnosis.values.as_ref().is_some_and(|values| values.floating > 0),
            tolerance: self.tolerance,
            max_iterations: self.max_iterations,
            single: true,
        };
        let done = solve_by_plan(&plan, problem, &Host, None, x, &mut |_, _| ControlFlow::Continue(()))?;
        adapted.set_prescribed(b, x);
        let solved = Solved {
            ending: done.ending,
            true_residual: done.residual,
            tolerance: self.tolerance,
            iterations: done.iterations,
            method: done.run.as_ref().map(|run| run.last),
            plan,
            run: done.run,
            tried: done.tried,
        };
        // The next system may need another adaptation.
        Ok((solved, done.solver.filter(|_| adapted.is_given())))
    }

    /// Checks sizes, the tolerance, and that b and x are finite.
    ///
    /// # Errors
    /// [`AutoError::System`]
    pub fn check(&self, system: System<'_, f64>, b: &[f64], x: &[f64]) -> Result<(), AutoError> {
        system.check()?;
        Stop::relative(self.tolerance).validate()?;
        let n = system.matrix.shape().0;
        for (what, found) in [("b", b.len()), ("x", x.len())] {
            if found != n {
                return Err(coarsen_core::Error::Shape { what, expected: n, found }.into());
            }
        }
        for (what, v) in [("b", b), ("x", x)] {
            if let Some(index) = v.iter().position(|v| !v.is_finite()) {
                return Err(coarsen_core::Error::NotFinite { what, index }.into());
            }
        }
        Ok(())
    }
}
