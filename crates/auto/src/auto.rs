//! The entry points.

use std::ops::ControlFlow;

use coarsen_backend::{Cpu, Prepared, SetupError};
use coarsen_core::{Error, Stop};
use coarsen_diagnose::diagnose;
use coarsen_sparse::{Bsr, System};

use crate::{Auto, Builder, Observer, Parameters, Plan, Problem, Solved};

/// The preconditioner or the factor that a solve leaves for the next system.
type Kept = Box<dyn Prepared<Vec<f64>, f64> + Send>;

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
        let whole = system.whole()?;
        let diagnosis = diagnose::<f64>(&whole);
        if diagnosis.values.is_none() {
            whole.check_finite()?;
        }
        let problem = Problem::new(whole, &diagnosis, true);
        let preconditioned = System { matrix: problem.preconditioned(), contact: None, ..system };
        let plan = Plan::new(*self, preconditioned, problem.diagnosis().unwrap_or(&diagnosis));
        Ok((problem, plan))
    }

    /// Solves A x = b, starting with the guess x.
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
        Ok(self.solve_and_keep(system, b, x, &mut |_, _| ControlFlow::Continue(()))?.0)
    }

    /// Solves A x = b as [`solve`](Self::solve) does, and also returns the preconditioner or the factor of the last attempt. It is
    /// that of −A if the report says so; `None` if another matrix was solved in place of A.
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
            if let Some(index) = v.iter().position(|v| !v.is_finite()) {
                return Err(Error::NotFinite { what, index });
            }
        }
        Ok(())
    }
}
