//! Krylov methods and factors on the CPU, for [`Auto::solve`](crate::Auto::solve).

use std::cell::Cell;
use std::rc::Rc;

use coarsen_backend::{Cpu, Setup, SetupError};
use coarsen_core::{Iteration, LinearOperator, Outcome, Preconditioner, Real, Stop};
use coarsen_direct::{Analysis, Direct, Engine, Factor};
use coarsen_krylov::{BiCgStab, Cg, FlexibleCg, Gmres, Krylov, Minres};
use coarsen_multigrid::{Coarsening, Multigrid, NarrowHierarchy};
use coarsen_relax::{BlockJacobi, Ic0, Ilu0, Jacobi};
use coarsen_sparse::{Bsr, System};

use crate::course::End;
use crate::drive::{Factored, Step, Steps};
use crate::{AutoError, Kind, Meter, Method, attainable, is_floor};

/// A preconditioner of vectors in f64, and the operator complexity if it is a hierarchy.
type Built = (Box<dyn Preconditioner<Vec<f64>>>, f64);

/// A system and the best x so far.
pub(crate) struct Work<'a> {
    system: System<'a, f64>,
    b: &'a Vec<f64>,
    tolerance: f64,
    /// Whether a component of the graph has constants in its kernel.
    floats: bool,
    /// The number of remaining iterations.
    left: usize,
    /// Preconditioners built earlier, for later turns.
    kept: Vec<(Kind, bool, Built)>,
    /// The ordering of the matrix, from the estimate of the factor.
    pub(crate) ordered: Rc<Cell<Option<Analysis>>>,
    pub(crate) x: Vec<f64>,
    /// ‖b − A x‖ / ‖b‖ of `x`.
    pub(crate) residual: f64,
    /// The total number of iterations.
    pub(crate) iterations: usize,
    /// How the last attempt ended.
    pub(crate) outcome: Outcome,
}

impl<'a> Work<'a> {
    /// Returns the state for a system without contact, b and a guess, all of the same size.
    pub(crate) fn new(
        system: System<'a, f64>,
        b: &'a Vec<f64>,
        x: Vec<f64>,
        (tolerance, max_iterations): (f64, usize),
        floats: bool,
    ) -> Self {
        let residual = relative_residual(system.matrix, b, &x);
        let (kept, ordered, outcome) = (Vec::new(), Rc::default(), Outcome::Stopped);
        let (left, iterations) = (max_iterations, 0);
        Self { system, b, tolerance, floats, left, kept, ordered, x, residual, iterations, outcome }
    }

    /// The matrix A.
    pub(crate) fn matrix(&self) -> &'a Bsr<f64> {
        self.system.matrix
    }

    /// Stores x if it is better than the stored x, and returns how the attempt ended.
    fn take(&mut self, x: Vec<f64>, said: Outcome, narrow: bool) -> End {
        let residual = relative_residual(self.system.matrix, self.b, &x);
        // Conjugate gradients reduce the error in the A-norm in every iteration, even if the residual grows.
        let closer = said == Outcome::Stopped && residual.is_finite();
        if closer || residual <= self.residual || !self.residual.is_finite() {
            (self.x, self.residual) = (x, residual);
        }
        self.outcome = if self.residual <= self.tolerance { Outcome::Converged } else { said };
        let trouble =
            !matches!(self.outcome, Outcome::Converged | Outcome::Stopped | Outcome::IterationLimit);
        if trouble && self.floats && !narrow {
            self.outcome = Outcome::Inconsistent;
        }
        match self.outcome {
            Outcome::Converged => End::Converged,
            Outcome::Stopped => End::Stopped,
            Outcome::IterationLimit if self.at_floor() => End::Floor,
            Outcome::IterationLimit => End::Limit,
            _ if narrow => End::Rounding,
            Outcome::Inconsistent => End::Singular,
            Outcome::IndefiniteOperator => End::Indefinite,
            _ if self.at_floor() => End::Floor,
            _ => End::Broken,
        }
    }

    /// Whether the residual is near the floor of f64.
    fn at_floor(&self) -> bool {
        is_floor(attainable(self.system.matrix, self.b, &self.x), self.tolerance, self.residual)
    }

    fn build(&self, step: Step) -> Result<Built, SetupError> {
        match (step.kind, step.narrow) {
            (Kind::SmoothedAggregation, true) => {
                self.narrow(|system| Multigrid::smoothed_aggregation().build_narrow(system))
            }
            (Kind::Skinning, true) => self.narrow(|system| Multigrid::skinning().build_narrow(system)),
            (Kind::SmoothedAggregation, false) => hierarchy(Multigrid::smoothed_aggregation(), self.system),
            (Kind::Skinning, false) => hierarchy(Multigrid::skinning(), self.system),
            (kind, true) => Ok((one_level(kind, self.system, &Cpu::mixed())?, 1.0)),
            (kind, false) => Ok((one_level(kind, self.system, &Cpu::new())?, 1.0)),
        }
    }

    fn narrow<C: Coarsening<f32> + 'static>(
        &self,
        build: impl FnOnce(System<'_, f32>) -> Result<NarrowHierarchy<C>, SetupError>,
    ) -> Result<Built, SetupError> {
        let System { positions, near_kernel, links, .. } = self.system;
        let matrix = self.system.matrix.to::<f32>();
        let built = build(System { positions, near_kernel, links, ..System::from(&matrix) })?;
        let complexity = built.get().operator_complexity();
        Ok((Box::new(built), complexity))
    }

    /// Runs a method without a meter, with the first preconditioner that can be set up. After a breakdown or
    /// stagnation, continues with the next preconditioner.
    pub(crate) fn unwatched(&mut self, method: Method, kinds: &[Kind]) -> Result<(Kind, End), AutoError> {
        let (mut failed, mut ended) = (None, None);
        for &kind in kinds {
            match self.build(Step { method, kind, narrow: false }) {
                Ok((mut m, _)) => {
                    let mut x = self.x.clone();
                    let mut method = krylov(method, self.stop());
                    let report = method.solve(self.system.matrix, &mut m, self.b, &mut x)?;
                    self.iterations += report.iterations;
                    self.left = self.left.saturating_sub(report.iterations);
                    let end = self.take(x, report.outcome, false);
                    ended = Some((kind, end));
                    if end != End::Broken {
                        break;
                    }
                }
                Err(error) => failed = Some(error),
            }
        }
        ended.ok_or_else(|| failed.map_or(AutoError::NothingFits, AutoError::Setup))
    }

    fn stop(&self) -> Stop<f64> {
        Stop { max_iterations: self.left, ..Stop::relative(self.tolerance) }
    }

    /// Solves by a factor, from the best x so far.
    pub(crate) fn solve_by(&mut self, factor: &mut Factor) -> End {
        let mut x = self.x.clone();
        match factor.solve_from(self.b, &mut x) {
            Ok(_) => self.take(x, Outcome::Stagnated, false),
            Err(_) => {
                self.outcome = Outcome::Breakdown;
                End::Broken
            }
        }
    }
}

/// Options that accept a factor of any accuracy, because the residual is checked here.
pub(crate) const DIRECT: Direct = Direct {
    method: coarsen_direct::Method::Auto,
    refinements: 3,
    accept: f64::INFINITY,
    trial: 1e-3,
    engine: Engine::Fastest,
};

impl Steps for Work<'_> {
    type Error = AutoError;

    fn iterate(&mut self, step: Step, meter: &mut Meter<'_>) -> Result<End, AutoError> {
        let at = self.kept.iter().position(|(kind, narrow, _)| (*kind, *narrow) == (step.kind, step.narrow));
        let mut kept = match at {
            Some(at) => self.kept.swap_remove(at),
            None => match self.build(step) {
                Ok(built) => (step.kind, step.narrow, built),
                Err(_) => return Ok(if step.narrow { End::Rounding } else { End::Broken }),
            },
        };
        let (m, complexity) = &mut kept.2;
        meter.built(*complexity);
        let mut x = self.x.clone();
        let mut method = krylov(step.method, self.stop());
        let mut watch = |it: &Iteration<'_, Vec<f64>>| meter.look(it);
        let report = method.solve_with(self.system.matrix, m, self.b, &mut x, &mut watch);
        self.kept.push(kept);
        let Ok(report) = report else {
            return Ok(if step.narrow { End::Rounding } else { End::Broken });
        };
        self.iterations += report.iterations;
        self.left = self.left.saturating_sub(report.iterations);
        Ok(self.take(x, report.outcome, step.narrow))
    }

    fn factor(&mut self) -> Result<Factored, AutoError> {
        let matrix = self.system.matrix;
        let built = match self.ordered.take() {
            Some(analysis) => analysis.factor(matrix),
            None => DIRECT.factor(matrix),
        };
        Ok(match built {
            Ok(mut factor) => {
                let twice = factor.fallback().is_some();
                Factored { end: self.solve_by(&mut factor), twice }
            }
            Err(_) => {
                self.outcome = Outcome::Breakdown;
                Factored { end: End::Broken, twice: false }
            }
        })
    }
}

fn hierarchy<C: Coarsening<f64> + 'static>(
    recipe: Multigrid<C>,
    system: System<'_, f64>,
) -> Result<Built, SetupError> {
    let built = recipe.build_from(system, &Cpu::new())?;
    let complexity = built.operator_complexity();
    Ok((Box::new(built), complexity))
}

fn one_level<S: Real>(
    kind: Kind,
    system: System<'_, f64>,
    on: &Cpu<f64, S>,
) -> Result<Box<dyn Preconditioner<Vec<f64>>>, SetupError> {
    Ok(match kind {
        Kind::Identity | Kind::SmoothedAggregation | Kind::Skinning => Box::new(coarsen_core::Identity),
        Kind::Jacobi => Box::new(Jacobi::default().build_from(system, on)?),
        Kind::BlockJacobi => Box::new(BlockJacobi::default().build_from(system, on)?),
        Kind::Ic0 => Box::new(Ic0::default().build_from(system, on)?),
        Kind::Ilu0 => Box::new(Ilu0.build_from(system, on)?),
    })
}

fn krylov(method: Method, stop: Stop<f64>) -> Box<dyn Krylov<Vec<f64>>> {
    match method {
        Method::Cg | Method::Direct => Box::new(Cg::new(stop)),
        Method::FlexibleCg => Box::new(FlexibleCg::new(stop)),
        Method::Minres => Box::new(Minres::new(stop)),
        Method::Gmres => Box::new(Gmres::new(stop)),
        Method::BiCgStab => Box::new(BiCgStab::new(stop)),
    }
}

/// Returns ‖b − A x‖ / ‖b‖, or ‖A x‖ if b = 0; NaN if x is not finite.
fn relative_residual(a: &Bsr<f64>, b: &Vec<f64>, x: &Vec<f64>) -> f64 {
    let mut r = b.clone();
    if x.iter().any(|x| *x != 0.0) {
        a.residual(b, x, &mut r);
    }
    let norm = |v: &[f64]| v.iter().map(|v| v * v).sum::<f64>().sqrt();
    let size = norm(b);
    norm(&r) / if size > 0.0 { size } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use coarsen_sparse::assembly::from_triplets;

    use super::*;

    #[test]
    fn iterations_that_are_spent_at_the_floor_end_there() {
        let a = from_triplets(1, 1, &[(0, 0, 1e-9)]).unwrap();
        let one = vec![1.0];
        for (off, end) in [(1e-14, End::Floor), (1e-3, End::Limit)] {
            let mut work = Work::new((&a).into(), &one, vec![0.0], (1e-16, 10), false);
            assert_eq!(work.take(vec![1e9 * (1.0 + off)], Outcome::IterationLimit, false), end);
        }
    }

    #[test]
    fn the_next_preconditioner_follows_one_that_breaks_down() {
        // For a lower bidiagonal matrix restarted GMRES stagnates, but ILU(0) is exact.
        let n = 400_u32;
        let entries: Vec<_> = (0..n)
            .flat_map(|i| [(i, i, 0.97), (i, i.saturating_sub(1), if i > 0 { 1.0 } else { 0.0 })])
            .collect();
        let a = from_triplets(n as usize, n as usize, &entries).unwrap();
        let mut b = vec![0.0; n as usize];
        b[0] = 1.0;
        let mut work = Work::new((&a).into(), &b, vec![0.0; n as usize], (1e-10, 5000), false);
        let (kind, end) = work.unwatched(Method::Gmres, &[Kind::Identity, Kind::Ilu0]).unwrap();
        assert_eq!((kind, end), (Kind::Ilu0, End::Converged), "after {} iterations", work.iterations);
    }
}
