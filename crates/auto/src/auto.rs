//! The entry points: choose and solve.

use std::fmt;

use coarsen_core::{Outcome, Stop, power_of_two};
use coarsen_diagnose::{Diagnosis, diagnose};
use coarsen_sparse::{Bsr, SparseError, System};

use crate::choose::{Choice, MEMORY, Reason, Wish};
use crate::course::{Course, End, Last};
use crate::cpu::{DIRECT, Work};
use crate::drive::{Terms, drive};
use crate::seen::Seen;
use crate::{Costs, Kind, Method, NoFactor, attainable, is_solid};

/// Solves a system by the method with the cheapest forecast, and limits the cost of wrong forecasts.
///
/// *Use* for a system that is solved once, or to find a solver for many similar systems. For systems that follow
/// each other use [`Sequence`](crate::Sequence); if their pattern is the same, a solver that is kept and updated is
/// cheaper. *Cost*, in the units of
/// [`Costs`]: at most three times the cost of all methods tried, and at most three times the cost of a sparse
/// factor, if a factor is possible ([`Rental`](crate::Rental)). *Memory*: one hierarchy, or one factor of up
/// to `memory` bytes.
///
/// ```
/// use coarsen_auto::{Auto, Method};
/// let a = coarsen_sparse::assembly::from_triplets(2, 2, &[(0, 0, 2.0), (0, 1, 1.0), (1, 0, 1.0), (1, 1, 2.0)])?;
/// let auto = Auto::default();
/// assert_eq!(auto.choose(&a)?.method, Method::Direct);
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
    /// ([`Wish::memory`](crate::Wish::memory)). The default is [`MEMORY`] and does not depend on the free
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
    /// No preconditioner could be set up.
    #[error(transparent)]
    Setup(#[from] coarsen_backend::SetupError),
    /// The list of preconditioners is empty.
    #[error("no preconditioner is suitable for this matrix")]
    NothingFits,
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
    /// The outcome.
    pub outcome: Outcome,
    /// ‖b − A x‖ / ‖b‖ of the returned x.
    pub true_residual: f64,
    /// The requested tolerance.
    pub tolerance: f64,
    /// The smallest residual that f64 allows at this x, if the solve ended because this residual is above the
    /// tolerance.
    pub floor: Option<f64>,
    /// The number of iterations of all methods.
    pub iterations: usize,
    /// The method that ended the solve.
    pub method: Method,
    /// The preconditioner of this method.
    pub kind: Kind,
    /// The choice and its reasons. In a [`Sequence`](crate::Sequence) it may be that of an earlier matrix.
    pub choice: Choice,
    /// The record of the run, if several methods were tried.
    pub course: Option<Course>,
}

impl Solved {
    /// Returns the report itself if the tolerance was reached.
    ///
    /// # Errors
    /// [`AutoError::NotConverged`] for every other outcome.
    pub fn converged(self) -> Result<Self, AutoError> {
        match self.outcome {
            Outcome::Converged => Ok(self),
            _ => Err(AutoError::NotConverged(Box::new(self))),
        }
    }

    /// The reason why the cost had no bound: no factor was possible, or its size was not known in advance.
    /// `None` if the cost had a bound.
    pub fn unbounded(&self) -> Option<NoFactor> {
        match &self.course {
            Some(course) => course.unbounded,
            None if self.method == Method::Direct || self.iterations == 0 => None,
            None if matches!(self.choice.why, Reason::Floats { .. }) => Some(NoFactor::Unwanted),
            None => Some(NoFactor::Unknown),
        }
    }
}

impl fmt::Display for Solved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { outcome, true_residual, tolerance, method, kind, iterations, .. } = self;
        write!(f, "{method}")?;
        if *method != Method::Direct {
            write!(f, " with {kind}")?;
        }
        write!(
            f,
            ": {outcome} after {iterations} iterations, true relative residual {true_residual:.2e} (asked {tolerance:.0e})"
        )?;
        match self.floor {
            Some(floor) => write!(f, "; {}", Floor { floor, tolerance: *tolerance })?,
            None if *outcome != Outcome::Converged => write!(f, "; {}", outcome.advice())?,
            None => (),
        }
        match self.unbounded() {
            Some(why) => write!(f, "; no factor: {why}, so the cost had no bound"),
            None => Ok(()),
        }
    }
}

/// The message that the tolerance cannot be reached in f64.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Floor {
    /// The smallest residual that f64 allows.
    pub floor: f64,
    /// The requested tolerance.
    pub tolerance: f64,
}

impl Floor {
    /// The largest floor of a system that is not ill-conditioned.
    const ORDINARY: f64 = 1e-12;
}

impl fmt::Display for Floor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { floor, tolerance } = *self;
        write!(
            f,
            "the tolerance {tolerance:.0e} cannot be reached in f64: with A, x and b of this size, rounding alone gives a relative residual of about {floor:.0e}"
        )?;
        let looser = 4.0 * floor;
        match floor > Self::ORDINARY {
            true => write!(
                f,
                "; A is so ill-conditioned that x is much larger than b; loosen the tolerance to {looser:.0e}, or scale, constrain or \
                 regularise the system"
            ),
            false => write!(f, "; loosen the tolerance to {looser:.0e}"),
        }
    }
}

impl Auto {
    /// Returns the first choice of [`solve`](Self::solve) and its reasons, without a setup.
    ///
    /// *Cost*: a diagnosis of the matrix, and breadth-first searches in its graph.
    ///
    /// # Errors
    /// [`AutoError::System`] and [`AutoError::Contact`] if sizes do not match.
    pub fn choose<'a>(&self, system: impl Into<System<'a, f64>>) -> Result<Choice, AutoError> {
        let system = system.into();
        system.check()?;
        let a = system.whole()?;
        Ok(self.choice(system, &a, &diagnose(&a)))
    }

    fn choice(&self, system: System<'_, f64>, a: &Bsr<f64>, diagnosis: &Diagnosis) -> Choice {
        let positions = system.positions.filter(|_| system.near_kernel.is_none());
        let solid = positions.is_some_and(|positions| is_solid(a, positions));
        let wish = Wish { solid, memory: self.memory, ..Wish::default() };
        Choice::new(wish, a.shape().0, diagnosis, |factor| Costs::of(a, factor))
    }

    /// Solves A x = b, starting with the guess x.
    ///
    /// For every outcome, x is the best x so far, and [`Solved::true_residual`] is computed from it.
    ///
    /// # Errors
    /// [`AutoError::System`] for shapes that do not match and for NaN in b, before x is changed;
    /// [`AutoError::Setup`] if no preconditioner could be set up.
    pub fn solve<'a>(
        &self,
        system: impl Into<System<'a, f64>>,
        b: &[f64],
        x: &mut [f64],
    ) -> Result<Solved, AutoError> {
        Ok(self.solve_like(None, system.into(), b, x)?.0)
    }

    /// Solves A x = b, and begins with the method that `before` names if several may be tried.
    ///
    /// If A is like the matrix of `before`, its diagnosis serves. A solve that then ends above the tolerance, but not at
    /// the floor of f64, goes on from its x with a diagnosis of A and the whole limit on iterations. The result says
    /// what is known of A for the next system, and whether the diagnosis of `before` served.
    pub(crate) fn solve_like(
        &self,
        before: Option<(Last, Seen)>,
        system: System<'_, f64>,
        b: &[f64],
        x: &mut [f64],
    ) -> Result<(Solved, Seen, bool), AutoError> {
        system.check()?;
        Stop::relative(self.tolerance).validate()?;
        let n = system.matrix.shape().0;
        for (what, found) in [("b", b.len()), ("x", x.len())] {
            if found != n {
                return Err(coarsen_core::Error::Shape { what, expected: n, found }.into());
            }
        }
        for (what, v) in [("b", b), ("x", &*x)] {
            if let Some(index) = v.iter().position(|v| !v.is_finite()) {
                return Err(coarsen_core::Error::NotFinite { what, index }.into());
            }
        }
        let whole = system.whole()?;
        whole.check_finite()?;
        let part = System { matrix: &whole, contact: None, ..system };
        let (mut first, seen) = before.unzip();
        let mut spent = 0;
        if let Some(seen) = seen.filter(|seen| seen.serves(&whole)) {
            let solved = self.solve_by(&seen, first, part, b, x)?;
            if solved.outcome == Outcome::Converged || solved.floor.is_some() {
                return Ok((solved, seen, true));
            }
            (first, spent) = (None, solved.iterations);
        }
        let diagnosis = diagnose(&whole);
        let seen = Seen::new(self.choice(system, &whole, &diagnosis), &diagnosis, &whole);
        let mut solved = self.solve_by(&seen, first, part, b, x)?;
        solved.iterations += spent;
        Ok((solved, seen, false))
    }

    /// Solves A x = b by a choice that is made.
    fn solve_by(
        &self,
        seen: &Seen,
        first: Option<Last>,
        system: System<'_, f64>,
        b: &[f64],
        x: &mut [f64],
    ) -> Result<Solved, AutoError> {
        let scale = power_of_two(b.iter().fold(0.0, |m: f64, v| m.max(v.abs())));
        let scaled = |v: &[f64]| v.iter().map(|v| v / scale).collect::<Vec<f64>>();
        let (b, mut guess) = (scaled(b), scaled(x));
        // Start from zeros if they are the solution, or if the scaled guess overflows.
        if b.iter().all(|v| *v == 0.0) || guess.iter().any(|v| !v.is_finite()) {
            guess.fill(0.0);
        }
        let mut work = Work::new(system, &b, guess, (self.tolerance, self.max_iterations), seen.floats);
        let choice = seen.beginning_with(first, self.memory);
        let (last, end, course) = self.run(&choice, &mut work)?;
        x.iter_mut().zip(&work.x).for_each(|(x, v)| *x = v * scale);
        let (method, kind) = match last {
            Last::Factor => (Method::Direct, Kind::Identity),
            Last::Iterations(kind) => (choice.method, kind),
        };
        let floor = (end == End::Floor).then(|| attainable(system.matrix, &b, &work.x));
        let (true_residual, iterations) = (work.residual, work.iterations);
        let outcome = if end == End::Converged { Outcome::Converged } else { work.outcome };
        let tolerance = self.tolerance;
        Ok(Solved { outcome, true_residual, tolerance, floor, iterations, method, kind, choice, course })
    }

    fn run(&self, choice: &Choice, work: &mut Work<'_>) -> Result<(Last, End, Option<Course>), AutoError> {
        if work.residual <= self.tolerance {
            return Ok((Last::Iterations(Kind::Identity), End::Converged, None));
        }
        let Some(plan) = &choice.plan else {
            if choice.method == Method::Direct {
                let end = crate::Steps::factor(work)?.end;
                return Ok((Last::Factor, end, None));
            }
            let (kind, end) = work.unwatched(choice.method, &choice.preconds)?;
            return Ok((Last::Iterations(kind), end, None));
        };
        let terms = Terms { tolerance: self.tolerance, max_iterations: self.max_iterations, narrow: true };
        let matrix = work.matrix();
        let ordered = work.ordered.clone();
        let mut order = || {
            let analysis = DIRECT.analyse(matrix).map_err(|_| NoFactor::Failed)?;
            let figures = analysis.figures();
            ordered.set(Some(analysis));
            Ok(figures)
        };
        let course = drive(plan, terms, work, &mut order)?;
        Ok((course.last, course.end, Some(course)))
    }
}

#[cfg(test)]
mod tests {
    use coarsen_sparse::assembly::from_triplets;

    use super::*;
    use crate::Event;

    fn residual(a: &Bsr<f64>, b: &Vec<f64>, x: &Vec<f64>) -> f64 {
        let mut r = vec![0.0; b.len()];
        coarsen_core::LinearOperator::residual(a, b, x, &mut r);
        let norm = |v: &[f64]| v.iter().map(|v| v * v).sum::<f64>().sqrt();
        norm(&r) / norm(b)
    }

    #[test]
    fn a_factor_follows_where_iterations_are_spent() {
        let a = coarsen_problems::poisson2d(25).unwrap().matrix;
        let (b, mut x) = (coarsen_problems::random_vector(625, 1), vec![0.0; 625]);
        let solved = Auto { max_iterations: 20, ..Auto::default() }.solve(&a, &b, &mut x).unwrap();
        assert_eq!((solved.outcome, solved.method), (Outcome::Converged, Method::Direct), "{solved}");
        assert!(residual(&a, &b, &x) <= 1e-8);
    }

    #[test]
    fn tolerances_that_are_none_are_refused() {
        let a = coarsen_problems::poisson2d(3).unwrap().matrix;
        for tolerance in [f64::NAN, -1.0] {
            let mut x = vec![0.0; 9];
            let refused = Auto { tolerance, ..Auto::default() }.solve(&a, &[1.0; 9], &mut x);
            assert!(matches!(refused, Err(AutoError::System(_))), "{tolerance}");
        }
    }

    #[test]
    fn a_guess_beyond_the_range_of_b_counts_as_zeros() {
        let a = coarsen_problems::poisson2d(20).unwrap().matrix;
        let (b, mut x) = (vec![1e-300; 400], vec![1e20; 400]);
        let solved = Auto::default().solve(&a, &b, &mut x).unwrap();
        assert_eq!(solved.outcome, Outcome::Converged, "{solved}");
        assert!(x.iter().all(|v| v.is_finite() && *v > 0.0));
    }

    /// For b = 0 the residual of a guess has no scale, so the guess is not a solution however small A is.
    #[test]
    fn nothing_to_solve_has_the_solution_zero() {
        for size in [1e-12, 1.0] {
            let a = from_triplets(2, 2, &[(0, 0, size), (1, 1, size)]).unwrap();
            let mut x = vec![1.0; 2];
            let solved = Auto::default().solve(&a, &[0.0; 2], &mut x).unwrap();
            assert_eq!((solved.outcome, solved.true_residual), (Outcome::Converged, 0.0), "{solved}");
            assert_eq!(x, [0.0; 2], "{size:e}");
        }
    }

    #[test]
    fn a_floor_says_what_is_wrong_where_something_is() {
        let text = |floor, tolerance| Floor { floor, tolerance }.to_string();
        let ordinary = text(2e-16, 0.0);
        assert!(
            ordinary.contains("loosen the tolerance to 8e-16") && !ordinary.contains("ill-conditioned"),
            "{ordinary}"
        );
        let ill = text(1e-6, 1e-8);
        assert!(ill.contains("ill-conditioned") && ill.contains("about 1e-6"), "{ill}");
    }

    /// A ring of n nodes whose rows sum to zero.
    fn ring(n: u32) -> Bsr<f64> {
        let entries: Vec<_> =
            (0..n).flat_map(|i| [(i, i, 2.0), (i, (i + 1) % n, -1.0), (i, (i + n - 1) % n, -1.0)]).collect();
        from_triplets(n as usize, n as usize, &entries).unwrap()
    }

    #[test]
    fn a_body_that_floats_is_called_singular_after_one_attempt_a_precision() {
        for n in [100, 2000] {
            let (mut b, mut x) = (vec![0.0; n as usize], vec![0.0; n as usize]);
            b[0] = 1.0;
            let solved = Auto::default().solve(&ring(n), &b, &mut x).unwrap();
            assert_eq!(solved.outcome, Outcome::Inconsistent, "{n}: {solved}");
            assert!(solved.to_string().contains("null space"), "{solved}");
            assert_eq!(solved.unbounded(), Some(NoFactor::Unwanted));
            let failed = |e: &&Event| matches!(e, Event::Failed { .. });
            let events = solved.course.map_or(0, |course| course.events.iter().filter(failed).count());
            assert_eq!(events, 0, "{n}");
        }
    }

    #[test]
    fn what_has_no_bound_says_so() {
        let a = coarsen_problems::poisson2d(30).unwrap().matrix;
        let (b, mut x) = (coarsen_problems::random_vector(900, 1), vec![0.0; 900]);
        let solved = Auto { memory: 0, max_iterations: 6, ..Auto::default() }.solve(&a, &b, &mut x).unwrap();
        assert!(matches!(solved.unbounded(), Some(NoFactor::TooLarge { .. })), "{solved}");
        assert!(solved.to_string().contains("the cost had no bound"), "{solved}");
        let solved = Auto::default().solve(&a, &b, &mut vec![0.0; 900]).unwrap().converged().unwrap();
        assert_eq!(solved.unbounded(), None);
    }

    #[test]
    fn iterations_that_are_spent_at_the_floor_are_told_so() {
        // A chain of springs that one weak spring holds: x is 4e13 times b. With b = 1 some processors leave no residual.
        let n = 400_u32;
        let entries: Vec<(u32, u32, f64)> = (0..n)
            .flat_map(|i| {
                let held = if i == 0 { 1e-11 } else { 0.0 };
                let links = if i == 0 || i == n - 1 { 1.0 } else { 2.0 };
                let mut row = vec![(i, i, links + held)];
                row.extend((i > 0).then(|| (i, i - 1, -1.0)));
                row.extend((i < n - 1).then(|| (i, i + 1, -1.0)));
                row
            })
            .collect();
        let b: Vec<f64> = (0..n).map(|i| 1.0 + 0.3 * f64::from(i).sin()).collect();
        let n = n as usize;
        let a = from_triplets(n, n, &entries).unwrap();
        for memory in [0, MEMORY] {
            let mut x = vec![0.0; n];
            let auto = Auto { memory, max_iterations: 3000, ..Auto::default() };
            let solved = auto.solve(&a, &b, &mut x).unwrap();
            assert!(solved.floor.is_some_and(|floor| floor > 1e-8), "{solved}");
            assert!(solved.to_string().contains("the tolerance 1e-8 cannot be reached"), "{solved}");
        }
    }
}
