//! Similar systems that follow each other, as in an animation.
//!
//! | rule | when |
//! |---|---|
//! | a diagnosis and all trials of [`Auto`] | the first system, every [`TRIED`]-th after it, another number of unknowns, and the system after a solve that did not converge or was ended by another method than it began with |
//! | the strongest preconditioner of the plan begins, as an experiment | the system after one with all trials whose trial ended it, for more than twice the work of the setup that begins now |
//! | the method that ended the last solve begins, without a trial and without a diagnosis | all other systems; systems whose guess is the solution are not counted. After an experiment it is the one of both methods that took less work |
//! | a diagnosis, and what follows from it, from the best x | a system that ends above the tolerance without one, unless rounding is the cause |
//! | a diagnosis, and the method that ended the last solve begins | a system whose block size differs, whose number of entries differs by more than a fifth, or whose predecessor floats or had a single method |

use coarsen_core::Outcome;
use coarsen_sparse::System;

use crate::seen::Seen;
use crate::{Auto, AutoError, Kind, Last, Method, Solved};

/// How many systems are solved between two that are solved with all trials.
const TRIED: usize = 8;

/// An experiment begins if the trial took this multiple of the work of the setup.
const EXPERIMENT: f64 = 2.0;

/// Solves systems that follow each other, each like [`Auto::solve`] but without trials whose result is known.
///
/// The method that ended the last solve begins, if its setup costs at most twice the least price of a factor. It is
/// watched as in a single solve, so a wrong method costs at most three times a sparse factor, if one is possible. Every
/// eighth system is solved with all trials again, so that systems that have become easier or harder are noticed; trials then
/// cost an eighth of what they cost in single solves. A system that is not solved without a diagnosis is solved again with
/// one, so it may take twice the bound and twice `max_iterations`. A trial that ends a solve may be dearer than a stronger
/// preconditioner, since forecasts are of single solves: the next system compares them by their work. A system that is
/// solved without a diagnosis is checked for NaN, and its true residual decides as ever. *Use*
/// for the systems of an animation whose pattern changes. *Not* if the pattern stays: a preconditioner that is updated
/// has no setup to pay. *Memory* as for [`Auto`]; between two solves only the choice and its reasons are kept.
///
/// ```
/// use coarsen_auto::{Auto, Sequence};
/// let mut sequence = Sequence::new(Auto { tolerance: 1e-6, ..Auto::default() });
/// for step in 1..4 {
///     let problem = coarsen_problems::cloth(24, 0.01 * f64::from(step))?;
///     let (b, mut x) = (problem.right_hand_side(1), vec![0.0; problem.matrix.shape().0]);
///     let solved = sequence.solve(problem.system(), &b, &mut x)?.converged()?;
///     println!("{solved}");
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Sequence {
    /// The tolerance and the limits of each solve.
    pub auto: Auto,
    /// What ended the last solve, the number of its unknowns, and what was seen of their matrix.
    last: Option<(Last, usize, Seen)>,
    /// The systems since the last one with all trials.
    since: usize,
    /// The trial that ended the last solve, and its work, if the next system is an experiment.
    rival: Option<(Last, f64)>,
}

impl Sequence {
    /// Returns a sequence that knows nothing yet.
    pub fn new(auto: Auto) -> Self {
        Self { auto, last: None, since: 0, rival: None }
    }

    /// Solves the next system A x = b, starting with the guess x.
    ///
    /// # Errors
    /// Those of [`Auto::solve`]. The next system is then solved with all trials.
    pub fn solve<'a>(
        &mut self,
        system: impl Into<System<'a, f64>>,
        b: &[f64],
        x: &mut [f64],
    ) -> Result<Solved, AutoError> {
        let (n, known, rival) = (b.len(), self.last.take(), self.rival.take());
        let same = known.as_ref().filter(|(_, size, _)| *size == n && self.since + 1 < TRIED);
        let before = same.map(|(last, _, seen)| (*last, seen.clone()));
        let first = before.as_ref().map(|(last, _)| *last);
        let (solved, seen, served) = self.auto.solve_like(before, system.into(), b, x)?;
        // After a diagnosis of its own, a system may have had trials.
        let (first, rival) = if served { (first, rival) } else { (None, None) };
        let ended = match (solved.method, solved.kind) {
            (Method::Direct, _) => Last::Factor,
            (_, kind) => Last::Iterations(kind),
        };
        if ended == Last::Iterations(Kind::Identity) {
            // A guess that is the solution says nothing about methods.
            self.last = known.filter(|_| solved.outcome == Outcome::Converged && solved.iterations == 0);
            self.rival = rival.filter(|_| self.last.is_some());
            return Ok(solved);
        }
        self.since = first.map_or(0, |_| self.since + 1);
        let holds = solved.outcome == Outcome::Converged && first.is_none_or(|first| first == ended);
        let mut next = ended;
        if let (true, Some(plan), Some(course)) = (holds, &solved.choice.plan, &solved.course) {
            let (work, strongest) = (course.ledger.spent(), plan.kinds[0]);
            if first.is_none() {
                let dear = EXPERIMENT * plan.costs.setup(strongest) < work;
                if ended == Last::Iterations(plan.trial) && course.events.is_empty() && dear {
                    (self.rival, next) = (Some((ended, work)), Last::Iterations(strongest));
                }
            } else if let Some((trial, _)) = rival.filter(|(_, least)| *least < work) {
                next = trial;
            }
        }
        self.last = holds.then_some((next, n, seen));
        Ok(solved)
    }
}

#[cfg(test)]
mod tests {
    use coarsen_problems::{cloth, poisson2d, random_vector};

    use super::*;
    use crate::Event;

    fn next(sequence: &mut Sequence, n: usize) -> Solved {
        let p = cloth(n, 0.1).unwrap();
        let (b, mut x) = (p.right_hand_side(1), vec![0.0; p.matrix.shape().0]);
        let solved = sequence.solve(p.system(), &b, &mut x).unwrap();
        assert_eq!(solved.outcome, Outcome::Converged, "{solved}");
        solved
    }

    /// Whether a trial was given up before the method that ended the solve.
    fn tried(solved: &Solved) -> bool {
        let events = &solved.course.as_ref().unwrap().events;
        events.iter().any(|event| matches!(event, Event::GivenUp { .. }))
    }

    /// A sheet whose single solve gives up block Jacobi.
    #[test]
    fn the_method_that_ended_a_solve_begins_the_next() {
        let mut sequence = Sequence::new(Auto { tolerance: 1e-9, ..Auto::default() });
        let single = next(&mut sequence, 70);
        assert!(tried(&single) && single.kind == Kind::SmoothedAggregation, "{single}");
        for k in 1..TRIED {
            let solved = next(&mut sequence, 70);
            assert!(!tried(&solved) && solved.kind == single.kind, "{k}: {solved}");
            assert!(solved.iterations < single.iterations, "{k}: {solved}, {single}");
        }
        assert!(
            tried(&next(&mut sequence, 70)),
            "the eighth system after the first is solved with all trials"
        );
        assert!(tried(&next(&mut sequence, 71)), "another number of unknowns");
    }

    /// The trial ends the first solve, for more than the setup of smoothed aggregation. The second system finds that the
    /// hierarchy takes less work, and the third begins with it, or with the trial if that took less.
    #[test]
    fn a_trial_that_is_dear_is_compared_by_the_next_system() {
        let auto = Auto { tolerance: 1e-5, ..Auto::default() };
        let p = cloth(70, 0.003).unwrap();
        let solve = |sequence: &mut Sequence| {
            let (b, mut x) = (p.right_hand_side(1), vec![0.0; p.matrix.shape().0]);
            let solved = sequence.solve(p.system(), &b, &mut x).unwrap();
            (solved.kind, solved.course.unwrap().ledger.spent())
        };
        let mut sequence = Sequence::new(auto);
        let first = solve(&mut sequence);
        let mut other = sequence.clone();
        let second = solve(&mut sequence);
        assert_eq!([first.0, second.0], [Kind::BlockJacobi, Kind::SmoothedAggregation]);
        assert!(second.1 < first.1, "{first:?} {second:?}");
        for _ in 2..TRIED {
            assert_eq!(solve(&mut sequence), second);
        }
        assert_eq!(solve(&mut sequence), first, "all trials again");
        other.rival.as_mut().unwrap().1 = 0.9 * second.1;
        assert_eq!([solve(&mut other), solve(&mut other), solve(&mut other)], [second, first, first]);
    }

    /// A system in between that is not like those before, and no factor of it is allowed: its diagnosis is made.
    #[test]
    fn a_system_of_another_kind_is_diagnosed() {
        let mut sequence = Sequence::new(Auto { tolerance: 1e-9, memory: 0, ..Auto::default() });
        let p = cloth(30, 0.1).unwrap();
        let (b, n) = (p.right_hand_side(1), p.matrix.shape().0);
        let mut unlike = p.matrix.clone();
        unlike.values_mut().iter_mut().for_each(|v| *v = -*v);
        for _ in 0..2 {
            // The first follows nothing, the second one that is definite.
            let solved = sequence.solve(&unlike, &b, &mut vec![0.0; n]).unwrap();
            assert_eq!(solved.outcome, Outcome::Converged, "{solved}");
            assert_eq!(solved.choice.plan, None, "{solved}");
            assert!(next(&mut sequence, 30).choice.plan.is_some());
        }
        let mut wild = p.matrix.clone();
        wild.values_mut()[7] = f64::NAN;
        let error = sequence.solve(&wild, &b, &mut vec![0.0; n]).unwrap_err();
        assert!(error.to_string().contains("row"), "{error}");
    }

    /// A tolerance below round-off: the factor that found this is not computed again.
    #[test]
    fn a_solve_that_ends_at_the_floor_is_not_repeated() {
        let mut sequence = Sequence::new(Auto { tolerance: 1e-9, ..Auto::default() });
        let _ = next(&mut sequence, 30);
        sequence.auto.tolerance = 1e-17;
        let p = cloth(30, 0.1).unwrap();
        let (b, mut x) = (p.right_hand_side(1), vec![0.0; p.matrix.shape().0]);
        let alone = sequence.auto.solve(p.system(), &b, &mut vec![0.0; b.len()]).unwrap();
        let solved = sequence.solve(p.system(), &b, &mut x).unwrap();
        assert!(alone.floor.is_some() && solved.floor.is_some(), "{alone} {solved}");
        assert!(solved.iterations <= alone.iterations, "{solved} {alone}");
    }

    #[test]
    fn a_system_that_is_solved_already_changes_nothing() {
        let mut sequence = Sequence::new(Auto { tolerance: 1e-9, ..Auto::default() });
        assert!(tried(&next(&mut sequence, 70)));
        let p = cloth(70, 0.1).unwrap();
        let n = p.matrix.shape().0;
        let solved = sequence.solve(p.system(), &vec![0.0; n], &mut vec![0.0; n]).unwrap();
        assert_eq!((solved.outcome, solved.iterations), (Outcome::Converged, 0));
        assert!(!tried(&next(&mut sequence, 70)));
    }

    /// No factor is possible, and smoothed aggregation takes the first turn though skinning is the first of the plan.
    #[test]
    fn turns_begin_with_what_ended_the_last_solve() {
        let p = coarsen_problems::elasticity3d(8, 1.0).unwrap();
        let mut plan = Auto::default().choose(&p.matrix).unwrap().plan.unwrap();
        plan.kinds = vec![Kind::Skinning, Kind::SmoothedAggregation, Kind::Ic0];
        plan.price = crate::Price::None(crate::NoFactor::Unwanted);
        plan.first = Some(Last::Iterations(Kind::SmoothedAggregation));
        let mut begun = Begun(Vec::new());
        let terms = crate::Terms { tolerance: 1e-8, max_iterations: 100, narrow: false };
        let never = &mut || Err(crate::NoFactor::Unwanted);
        crate::drive(&plan, terms, &mut begun, never).unwrap();
        assert_eq!(begun.0, [Kind::SmoothedAggregation]);
        // The trial is compared with what follows it, and a preconditioner that the plan does not have is not known.
        plan.kinds.push(plan.trial);
        for kind in [plan.trial, Kind::Ilu0] {
            plan.first = Some(Last::Iterations(kind));
            begun.0.clear();
            crate::drive(&plan, terms, &mut begun, never).unwrap();
            assert_eq!(begun.0, [plan.trial]);
        }
        // A factor that turns out to be impossible leaves the trial to begin.
        let (ordering, least, promise) = (1.0, 1.0, 1.0);
        plan.price = crate::Price::Unknown { ordering, least, promise, cheap: true };
        plan.first = Some(Last::Factor);
        begun.0.clear();
        crate::drive(&plan, terms, &mut begun, never).unwrap();
        assert_eq!(begun.0, [plan.trial]);
    }

    #[test]
    fn a_trial_that_ended_a_solve_is_given_up_as_ever() {
        let p = cloth(70, 0.1).unwrap();
        let (b, mut x) = (p.right_hand_side(1), vec![0.0; p.matrix.shape().0]);
        let auto = Auto { tolerance: 1e-9, ..Auto::default() };
        let (_, seen, _) = auto.solve_like(None, p.system(), &b, &mut x).unwrap();
        let before = Some((Last::Iterations(Kind::BlockJacobi), seen));
        x.fill(0.0);
        assert!(tried(&auto.solve_like(before, p.system(), &b, &mut x).unwrap().0));
    }

    /// Records the preconditioners, each of which solves the system.
    struct Begun(Vec<Kind>);

    impl crate::Steps for Begun {
        type Error = std::convert::Infallible;

        fn iterate(
            &mut self,
            step: crate::Step,
            _: &mut crate::Meter<'_>,
        ) -> Result<crate::End, Self::Error> {
            self.0.push(step.kind);
            Ok(crate::End::Converged)
        }

        fn factor(&mut self) -> Result<crate::Factored, Self::Error> {
            Ok(crate::Factored { end: crate::End::Broken, twice: false })
        }
    }

    #[test]
    fn a_solve_that_fails_is_forgotten() {
        let mut sequence = Sequence::new(Auto { tolerance: 1e-9, ..Auto::default() });
        assert!(tried(&next(&mut sequence, 70)));
        let p = cloth(70, 0.1).unwrap();
        let mut b = p.right_hand_side(1);
        b[3] = f64::NAN;
        assert!(sequence.solve(p.system(), &b, &mut vec![0.0; b.len()]).is_err());
        assert!(tried(&next(&mut sequence, 70)));
    }

    /// A factor that ended a solve begins the next.
    #[test]
    fn a_factor_begins_too() {
        let a = poisson2d(25).unwrap().matrix;
        let mut sequence = Sequence::new(Auto { max_iterations: 20, ..Auto::default() });
        let iterations = [1, 2].map(|seed| {
            let (b, mut x) = (random_vector(625, seed), vec![0.0; 625]);
            let solved = sequence.solve(&a, &b, &mut x).unwrap();
            assert_eq!((solved.outcome, solved.method), (Outcome::Converged, Method::Direct), "{solved}");
            solved.iterations
        });
        assert!(iterations[0] > 0 && iterations[1] == 0, "{iterations:?}");
    }
}
