//! The parameters and the entry points.

use std::ops::ControlFlow;

use coarsen_backend::{Cpu, Prepared, SetupError};
use coarsen_core::{Error, Stop, parallel};
use coarsen_diagnose::diagnose;
use coarsen_sparse::{Bsr, System};

use crate::{Builder, Method, Observer, Parameters, Plan, Precond, Problem, Solved};

/// The default memory limit of a factor: 4 GiB.
pub const MEMORY: usize = 4 << 30;

/// The preconditioner or the factor that a solve leaves for the next system.
type Kept = Box<dyn Prepared<Vec<f64>, f64> + Send>;

/// Solves a system by the method with the lowest forecast, and limits the cost of wrong forecasts.
///
/// *Use* for a system that is solved once. For systems that follow each other `coarsen::Solver` keeps what it chose. *Cost*, in
/// the units of [`Costs`](crate::Costs): at most three times the cost of all methods tried, and at most three times the
/// cost of a sparse factor, if a factor is possible. If A is symmetric only to single precision, preconditioners are built of
/// (A + Aᵀ) / 2 and A is multiplied as it is, also if `method` prescribes conjugate gradients; the command asks for
/// `--symmetrize` there. A null space is given by [`Problem`] and [`Plan::solve`]. *Memory*: the preconditioners that were tried,
/// and a factor of up to `memory` bytes. *Reference* for the bound: Karlin, Manasse, Rudolph & Sleator 1988, "Competitive snoopy
/// caching", Algorithmica 3.
///
/// ```
/// use coarsen_auto::{Auto, Method};
/// let a = coarsen_sparse::assembly::from_triplets(2, 2, &[(0, 0, 2.0), (0, 1, 1.0), (1, 0, 1.0), (1, 1, 2.0)])?;
/// let auto = Auto::default();
/// assert_eq!(auto.plan(&a)?.begins().0, Method::Direct);
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
    /// A residual norm ‖b − A x‖ that is small enough whatever ‖b‖ is, in the unit of b; 0 by default.
    pub absolute: f64,
    /// The maximal number of iterations of all methods together; 5000 by default.
    pub max_iterations: usize,
    /// The memory limit in bytes for a factor, if iterations are an alternative. The default is [`MEMORY`] and does not
    /// depend on the free memory.
    pub memory: usize,
    /// The method, if it is prescribed.
    pub method: Option<Method>,
    /// The preconditioner, if it is prescribed; there is then no factor, unless the method is [`Method::Direct`].
    pub precond: Option<Precond>,
    /// Whether a factor is excluded.
    pub iterate: bool,
    /// Whether preconditioners are first tried in f32; the default.
    pub single: bool,
    /// Whether the hierarchies of the options are variable preconditioners (a K-cycle), so that conjugate gradients must be flexible.
    pub varies: bool,
}

impl Default for Auto {
    fn default() -> Self {
        Self {
            tolerance: 1e-8,
            absolute: 0.0,
            max_iterations: 5000,
            memory: MEMORY,
            method: None,
            precond: None,
            iterate: false,
            single: true,
            varies: false,
        }
    }
}

impl Auto {
    /// Returns the methods that [`solve`](Self::solve) may use, with their expected costs, without a setup.
    ///
    /// *Cost*: a diagnosis of the matrix, and breadth-first searches in its graph.
    ///
    /// # Errors
    /// [`SetupError::Core`] and [`SetupError::Matrix`] for shapes that do not match and for NaN in A.
    pub fn plan<'a>(&self, system: impl Into<System<'a, f64>>) -> Result<Plan, SetupError> {
        let system = system.into();
        system.check()?;
        Ok(self.analyse(system)?.1)
    }

    fn analyse<'a>(&self, system: System<'a, f64>) -> Result<(Problem<'a>, Plan), SetupError> {
        parallel::enter(system.matrix.nnz(), || {
            let whole = system.whole()?;
            let diagnosis = diagnose::<f64>(&whole);
            if diagnosis.values.is_none() {
                whole.check_finite()?;
            }
            let problem = Problem::new(whole, &diagnosis, true);
            let preconditioned = System { matrix: problem.preconditioned(), contact: None, ..system };
            let plan = Plan::new(*self, preconditioned, problem.diagnosis().unwrap_or(&diagnosis));
            Ok((problem, plan))
        })
    }

    /// Solves A x = b, starting with the guess x; both have one number for each scalar unknown.
    ///
    /// For every ending, x is the best x so far, and [`Solved::true_residual`] is computed from it.
    ///
    /// # Errors
    /// [`SetupError::Core`] and [`SetupError::Matrix`] for shapes that do not match and for NaN in A or b, before x is changed.
    pub fn solve<'a>(
        &self,
        system: impl Into<System<'a, f64>>,
        b: &[f64],
        x: &mut [f64],
    ) -> Result<Solved, SetupError> {
        let system = system.into();
        parallel::enter(system.matrix.nnz(), || {
            Ok(self.solve_and_keep(system, b, x, &mut |_, _| ControlFlow::Continue(()))?.0)
        })
    }

    /// [`solve`](Self::solve) that also returns the preconditioner or the factor of the last attempt. It is that of −A if the report
    /// says so; `None` if another matrix was solved in place of A.
    ///
    /// # Errors
    /// As [`solve`](Self::solve).
    pub fn solve_and_keep<'a>(
        &self,
        system: impl Into<System<'a, f64>>,
        b: &[f64],
        x: &mut [f64],
        observer: &mut Observer<'_>,
    ) -> Result<(Solved, Option<Kept>), SetupError> {
        let system = system.into();
        self.check(system, b, x)?;
        let (problem, plan) = self.analyse(system)?;
        let build = |precond, in_f32, a: &Bsr<f64>| {
            let (system, parameters) = (System { matrix: a, contact: None, ..system }, Parameters::default());
            match in_f32 {
                true => parameters.build(precond, system, &Cpu::mixed()),
                false => parameters.build(precond, system, &Cpu::new()),
            }
        };
        let builder = Builder { backend: &Cpu::new(), operator: &|a| Ok(Box::new(a)), build: &build };
        let (solved, built, factor) = plan.solve(&problem, None, &builder, b, x, observer)?;
        // The next system may need another adaptation.
        let kept = factor.map(|factor| Box::new(factor) as Kept).or(built);
        Ok((solved, kept.filter(|_| problem.is_given())))
    }

    /// Checks sizes, the tolerance, and that b and x are finite.
    ///
    /// # Errors
    /// [`Error::Parameter`], [`Error::Shape`] and [`Error::NotFinite`].
    pub fn check(&self, system: System<'_, f64>, b: &[f64], x: &[f64]) -> Result<(), Error> {
        system.check()?;
        Stop { absolute: self.absolute, ..Stop::relative(self.tolerance) }.validate()?;
        let n = system.matrix.shape().0;
        for (what, v) in [("b", b), ("x", x)] {
            if v.len() != n {
                return Err(Error::Shape { what, expected: n, found: v.len() });
            }
            if let Some(index) = parallel::position(v, |v| !v.is_finite()) {
                return Err(Error::NotFinite { what, index });
            }
        }
        Ok(())
    }
}
