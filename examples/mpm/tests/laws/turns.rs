//! `auto`: three drivers take turns.

use clap::Parser;
use coarsen::follow::Driver;
use coarsen::optimize::DescentOutcome;
use coarsen::prelude::*;
use examples_common::Failure;
use examples_common::files::{read_state, write};
use mpm::energy::{Increment, Memory};
use mpm::options::Options;
use mpm::particles::Particle;
use mpm::scene::Setting;
use mpm::solver::{Minimizer, Solved, Solver};
use mpm::state::State;
use mpm::step::Stepper;
use mpm::tries::{Counts, DRIVERS, Spent, Tries};

use super::{DX, Folder, bodies, cloud};

/// The work of many steps by the rule of `auto` relative to that of the best driver, and the number of turns of each driver.
fn run(steps: usize, work: impl Fn(usize, usize) -> f64) -> (f64, [usize; 3]) {
    let (mut tries, mut spent, mut least, mut turns) = (Tries::default(), 0.0, 0.0, [0; 3]);
    for step in 0..steps {
        let turn = tries.next();
        let mut runs = Spent::default();
        for (driver, is_limited) in tries.order(turn) {
            let own = work(driver, step);
            let limit = tries.limit(driver, &runs).filter(|_| is_limited);
            let end = limit.unwrap_or(f64::INFINITY);
            spent += own.min(end);
            if own <= end {
                runs.solve(driver, own);
                break;
            }
            runs.stop(driver, end);
        }
        tries.learn(&runs);
        least += (0..3).map(|k| work(k, step)).fold(f64::INFINITY, f64::min);
        turns[turn] += 1;
    }
    (spent / least, turns)
}

/// Each driver gets a turn, the best one nearly all, and turns cost at most a tenth.
#[test]
fn the_driver_with_the_least_work_takes_most_steps() {
    for works in [[1.0_f64, 1.1, 1.2], [2.0, 1.0, 9.0], [3.0, 50.0, 1.0], [1.0, 1.9, 400.0]] {
        let best = (0..3).min_by(|&a, &b| works[a].total_cmp(&works[b])).unwrap();
        let (share, turns) = run(400, |turn, _| works[turn]);
        assert!(share < 1.1, "{works:?}: {share}");
        assert!(turns.iter().all(|&count| count > 0) && turns[best] > 320, "{works:?}: {turns:?}");
    }
    // Another driver is best from the middle on.
    let (share, turns) = run(400, |turn, step| if (turn == 0) == (step < 200) { 1.0 } else { 2.0 });
    assert!(share < 1.15 && turns[0] > 150 && turns[1] + turns[2] > 150, "{share} {turns:?}");
    // The least work of one driver becomes the most at once; steps of all become dearer.
    let (share, turns) =
        run(400, |turn, step| if turn == 1 { if step < 20 { 0.9 } else { 1000.0 } } else { 1.0 });
    assert!(share < 1.15 && turns[1] < 40, "{share} {turns:?}");
    let (share, turns) =
        run(400, |turn, step| [1.0, 1.1, 1.2][turn] * if step % 100 < 50 { 1.0 } else { 20.0 });
    assert!(share < 1.15 && turns[0] > 320, "{share} {turns:?}");
    // A driver becomes faster by itself, and another one after all steps were hard: it is found after some of its turns.
    let (share, turns) = run(400, |turn, step| [1.0, if step < 100 { 16.0 } else { 0.5 }, 2.0][turn]);
    assert!(share < 1.25 && turns[1] > 200, "{share} {turns:?}");
    let (share, turns) =
        run(1600, |turn, step| if step < 200 { [20.0, 30.0, 10.0] } else { [1.0, 1.5, 2.0] }[turn]);
    assert!(share < 1.25 && turns[0] > 800, "{share} {turns:?}");
}

/// The best driver keeps its steps after a hard one that it solves itself, also if that happens again and again, and after one in
/// which all are stopped. After one in which it is stopped and another one is not, it is back at its next turn.
#[test]
fn single_hard_steps_count_half() {
    let usual = [3.0, 3.5, 1.0];
    let (share, turns) = run(400, |turn, step| match (turn, step % 10) {
        (2, 9) => 4.0,
        _ => usual[turn],
    });
    assert!(share < 1.25 && turns[2] > 360, "{share} {turns:?}");
    for (hard, most) in [([20.0, 22.0, 24.0], 1.15), ([10.0, 10.0, 30.0], 1.35)] {
        let (share, turns) = run(400, |turn, step| if step == 50 { hard[turn] } else { usual[turn] });
        assert!(share < most && turns[2] > 350, "{hard:?}: {share} {turns:?}");
    }
}

/// The expected work is the mean of that of the last step and of what was expected before; that of a driver that was stopped is
/// at least that of the driver that solved the step, and each step counts once.
#[test]
fn half_of_what_is_expected_is_the_last_step() {
    let mut tries = Tries { steps: 4, ..Tries::default() };
    let mut step = |ends: &[(usize, f64, bool)]| {
        let mut runs = Spent::default();
        for &(driver, work, is_stopped) in ends {
            if is_stopped { runs.stop(driver, work) } else { runs.solve(driver, work) }
        }
        tries.learn(&runs);
        tries
    };
    assert_eq!(step(&[(1, 8.0, false)]), Tries { steps: 5, last: [0, 5, 0], work: [0.0, 8.0, 0.0] });
    assert_eq!(step(&[(1, 2.0, false)]), Tries { steps: 6, last: [0, 6, 0], work: [0.0, 5.0, 0.0] });
    let stopped = [(1, 6.0, true), (0, 9.0, false)];
    assert_eq!(step(&stopped), Tries { steps: 7, last: [7, 7, 0], work: [9.0, 7.0, 0.0] });
    // A run without a limit after one that was stopped; what another one spent beyond that counts.
    let again = [(0, 5.0, true), (1, 20.0, true), (0, 11.0, false)];
    assert_eq!(step(&again), Tries { steps: 8, last: [8, 8, 0], work: [10.0, 13.5, 0.0] });
}

/// A turn of a driver that is not the best ends at twice the least work of the others, any other run at three times, where what a
/// driver has spent in the step counts, and more coarsest iterations are more work.
#[test]
fn a_step_ends_at_a_multiple_of_the_least_work_of_the_others() {
    let size = Counts { particles: 8000, blocks: 100_000, ..Counts::default() };
    let least = Counts { iterations: 9, values: 9, gradients: 9, ..size }.work(0);
    let limits = |last: [u64; 3], works: [f64; 3], spent: [f64; 3]| {
        let tries = Tries { steps: 3, last, work: works.map(|work| work * least) };
        let mut step = Spent::default();
        (0..3).filter(|&k| spent[k] > 0.0).for_each(|k| step.stop(k, spent[k] * least));
        [0, 1, 2].map(|k| tries.limit(k, &step).map(|limit| limit / least))
    };
    assert_eq!(limits([0; 3], [0.0; 3], [0.0; 3]), [None; 3]);
    assert_eq!(limits([1, 0, 0], [1.0, 0.0, 0.0], [0.0; 3]), [None, Some(2.0), Some(2.0)]);
    let (last, works) = ([1, 2, 3], [1.0, 0.5, 2.0]);
    assert_eq!(limits(last, works, [0.0; 3]), [Some(1.0), Some(3.0), Some(1.0)]);
    assert_eq!(limits(last, works, [0.0, 3.0, 0.0]), [Some(6.0), Some(3.0), Some(3.0)]);
    assert_eq!(limits(last, works, [4.0, 3.0, 0.0]), [Some(6.0), Some(6.0), Some(9.0)]);
    for (driver, name) in DRIVERS.into_iter().enumerate() {
        let most = size.most_coarsest(driver, 3.0 * least);
        if name == Driver::LbfgsMas {
            assert_eq!(most, usize::MAX, "it has no coarsest solve");
            continue;
        }
        let ends = [most, most + 1].map(|coarsest| Counts { coarsest, ..size }.work(driver));
        assert!(most > 0 && ends[0] <= 3.0 * least && ends[1] >= 3.0 * least, "{ends:?} {least}");
    }
    assert_eq!(size.most_coarsest(1, 0.0), 0);
}

/// First the drivers that had a step, each with a limit, that of the turn before the others; then all without one, `hot` first.
#[test]
fn hot_is_the_first_without_a_limit() {
    let order = |last, work, first| {
        let (limited, free): (Vec<_>, Vec<_>) =
            Tries { steps: 9, last, work }.order(first).into_iter().partition(|(_, is_limited)| *is_limited);
        [limited, free].map(|part| part.into_iter().map(|(driver, _)| driver).collect::<Vec<_>>())
    };
    assert_eq!(order([0; 3], [0.0; 3], 0), [vec![0], vec![0, 1, 2]]);
    assert_eq!(order([1, 0, 0], [1.0, 0.0, 0.0], 1), [vec![1, 0], vec![0, 1, 2]]);
    assert_eq!(order([1, 2, 3], [1.0, 2.0, 3.0], 1), [vec![1, 0, 2], vec![0, 1, 2]]);
    assert_eq!(order([1, 2, 3], [2.0, 1.0, 3.0], 2), [vec![2, 1, 0], vec![0, 1, 2]]);
    assert_eq!(order([1, 2, 3], [1.0, 3.0, 2.0], 0), [vec![0, 2, 1], vec![0, 2, 1]]);
    assert_eq!(order([1, 0, 3], [1.0, 0.0, 2.0], 0), [vec![0, 2], vec![0, 2, 1]]);
}

/// A continued run, and one with other threads, takes the same turns.
#[test]
fn turns_are_a_part_of_the_state() {
    let with =
        |frames| ["--scene", "stretched", "--particles", "3000", "--solver", "auto", "--frames", frames];
    let [whole, parts, other] = ["turns", "turns-parts", "turns-threads"].map(Folder::new);
    let rows = whole.run(&with("5")).unwrap();
    parts.run(&with("2")).unwrap();
    parts.run(&[&with("5")[..], &["--resume"]].concat()).unwrap();
    assert!(whole.bytes("checkpoint.bin") == parts.bytes("checkpoint.bin"));
    threads(7, || other.run(&with("5")).unwrap()).unwrap();
    assert!(whole.bytes("checkpoint.bin") == other.bytes("checkpoint.bin"));
    let state: State = read_state(&whole.0.join("checkpoint.bin")).unwrap();
    let Tries { steps, last, work } = state.tries;
    assert_eq!(steps as usize, rows.iter().map(|row| row.steps).sum::<usize>());
    assert!(last.iter().all(|last| *last > 0) && work.iter().all(|w| *w > 0.0), "{last:?} {work:?}");
    assert!(rows.iter().all(|row| row.converged == row.steps));
}

/// A turn that is cut is completed by `hot`.
#[test]
fn cut_turns_are_completed() {
    let with =
        |frames| ["--scene", "stretched", "--particles", "3000", "--solver", "auto", "--frames", frames];
    let folder = Folder::new("turns-cut");
    folder.run(&with("1")).unwrap();
    let (file, bytes) = (folder.0.join("checkpoint.bin"), folder.bytes("checkpoint.bin"));
    let run = u64::from_le_bytes(bytes[32..40].try_into().unwrap());
    let mut state: State = read_state(&file).unwrap();
    state.tries = Tries { steps: 1, last: [1, 0, 0], work: [1.0, 0.0, 0.0] };
    write(&file, run, &state).unwrap();
    let rows = folder.run(&[&with("2")[..], &["--resume"]].concat()).unwrap();
    let state: State = read_state(&file).unwrap();
    assert!(rows[2].converged == rows[2].steps && rows[2].norm <= 1e-7, "{:?}", rows[2]);
    assert!(
        rows[2].rebuilds > rows[2].steps && state.tries.last.iter().all(|last| *last >= 2),
        "{:?} {:?}",
        rows[2],
        state.tries
    );
}

/// A driver that does not solve a step is not the best afterwards.
#[test]
fn failed_turns_are_no_little_work() {
    let mut tries = Tries { steps: 1, ..Tries::default() };
    let fail = |tries: &mut Tries, driver, work| {
        let mut runs = Spent::default();
        runs.fail(driver, tries.of_failure(driver, work));
        tries.learn(&runs);
    };
    fail(&mut tries, 0, 1.0);
    assert_eq!((tries.next(), tries.work[0]), (1, 16.0));
    let mut runs = Spent::default();
    runs.solve(1, 5.0);
    tries.learn(&runs);
    fail(&mut tries, 2, 1e-3);
    assert_eq!((tries.best(), tries.work[2]), (1, 80.0));
    fail(&mut tries, 1, 1e-3);
    assert_eq!((tries.best(), tries.work[1]), (0, 0.5 * (5.0 + 16.0 * 16.0)));
    // What it spent counts if that is more, and another driver may need more than the failure seemed to cost.
    let mut tries = Tries { steps: 3, last: [1, 2, 3], work: [1.3, 1.0, 1.2] };
    assert_eq!([1.0, 30.0].map(|work| tries.of_failure(1, work)), [19.2, 30.0]);
    let mut runs = Spent::default();
    runs.fail(1, tries.of_failure(1, 1.0));
    runs.solve(0, 20.0);
    tries.learn(&runs);
    assert_eq!((tries.best(), tries.work), (2, [10.65, 160.5, 1.2]));
}

/// The first step of bodies by a solver, and what `auto` knows then.
fn first_step(particles: &[Particle], solver: &str, tries: Tries) -> (Result<Solved, Failure>, Tries) {
    first_iterations(particles, solver, tries, "1000")
}

/// [`first_step`] with at most this number of iterations.
fn first_iterations(
    particles: &[Particle],
    solver: &str,
    tries: Tries,
    most: &str,
) -> (Result<Solved, Failure>, Tries) {
    let (setting, bodies, obstacles) = (Setting::default(), bodies(), &[][..]);
    let method = Options::parse_from(["mpm", "--solver", solver, "--iterations", most]).method;
    let mut minimizer = Minimizer::new(&method, Cpu::<f64>::new());
    minimizer.tries = tries;
    let (dx, largest, memory) = (DX, 0.01, Memory::default());
    let mut stepper =
        Stepper { setting: &setting, obstacles, bodies: &bodies, dx, largest, memory, minimizer };
    let mut state = State { particles: particles.to_vec(), ..State::default() };
    let begun = stepper.begin(&mut state, 0.01).unwrap().unwrap();
    let f = Increment::new(begun.given(&state.particles, &bodies, setting.gravity)).unwrap();
    let solved = stepper.minimizer.solve(f, obstacles, 0.0).map(|(solved, _)| solved);
    (solved, stepper.minimizer.tries)
}

/// A turn that ends in an error is completed by another driver, and the error is kept: so far from the origin the places
/// of nodes leave the table of node embedding, but not the grid, and `hot` fails.
#[test]
fn a_turn_with_an_error_is_completed() {
    let far = DX * f64::from((1 << 20) - 13);
    let mut particles = cloud(200, 0.1, 1);
    for x in particles.iter_mut().map(|p| &mut p.x) {
        (0..3).for_each(|k| x[k] *= 1.5);
        x[0] += far;
    }
    let solve = |solver: &str| first_step(&particles, solver, Tries::default());
    let alone = solve("hot").0.unwrap_err().to_string();
    let (solved, tries) = solve("auto");
    let solved = solved.unwrap();
    assert!(matches!(solved.outcome, DescentOutcome::Converged(_)), "{:?}", solved.outcome);
    let [(Driver::Hot, error)] = &solved.failures[..] else { panic!("{:?}", solved.failures) };
    assert_eq!(error.to_string(), alone);
    assert_eq!((tries.last, &solved.z), ([1, 1, 0], &solve("lbfgs-h").0.unwrap().z));
    // Limits stop the two others, `hot` is the first without one and fails, and one of the others runs again.
    let known = Tries { steps: 3, last: [1, 2, 3], work: [1.0, 1e-9, 1e-6] };
    let (solved, tries) = first_step(&particles, "auto", known);
    let solved = solved.unwrap();
    assert!(matches!(solved.outcome, DescentOutcome::Converged(_)), "{:?}", solved.outcome);
    assert!(tries.last == [4; 3] && solved.failures.len() == 1, "{tries:?} {:?}", solved.failures);
    assert!(solved.z == solve("lbfgs-h").0.unwrap().z || solved.z == solve("lbfgs-mas").0.unwrap().z);
}

/// After a turn that is cut, `hot` solves the step from its start, with the bits of `hot` alone.
#[test]
fn a_cut_turn_leaves_no_trace_in_the_step() {
    let mut particles = cloud(200, 0.1, 1);
    particles.iter_mut().flat_map(|p| &mut p.x).for_each(|x| *x *= 1.5);
    let after = |work| Tries { steps: 1, last: [1, 0, 0], work: [work, 0.0, 0.0] };
    // The work of a turn of `lbfgs-h` that is not cut.
    let whole = first_step(&particles, "auto", after(1e18)).1.work[1];
    let alone = first_step(&particles, "hot", Tries::default()).0.unwrap();
    let (solved, tries) = first_step(&particles, "auto", after(whole / 2.5));
    let solved = solved.unwrap();
    assert!(matches!(solved.outcome, DescentOutcome::Converged(_)), "{:?}", solved.outcome);
    assert!(tries.last == [2, 2, 0] && solved.iterations[0] > alone.iterations[0], "{tries:?}");
    assert_eq!(solved.z, alone.z);
    // `hot` may be cut itself.
    let tries = Tries { steps: 3, last: [1, 2, 3], work: [1.0, 1e3, 1e3] };
    let (solved, tries) = first_step(&particles, "auto", tries);
    let solved = solved.unwrap();
    assert!(matches!(solved.outcome, DescentOutcome::Converged(_)), "{:?}", solved.outcome);
    assert!(tries.last == [4; 3] && solved.failures.is_empty(), "{tries:?}");
}

/// The limit holds for iterations and coarsest solves together: a turn of `lbfgs-h` is cut below its whole work, also where each
/// of the two is less than the limit.
#[test]
fn coarsest_solves_count_in_a_turn() {
    let mut particles = cloud(200, 0.1, 1);
    particles.iter_mut().flat_map(|p| &mut p.x).for_each(|x| *x *= 1.5);
    let counts = first_step(&particles, "lbfgs-h", Tries::default()).0.unwrap().counts;
    let (whole, descent) = (counts.work(1), Counts { coarsest: 0, ..counts }.work(1));
    let size = Counts { iterations: 0, values: 0, gradients: 0, coarsest: 0, ..counts };
    let limit = 0.5 * (whole + descent.max(size.work(1) + whole - descent));
    // The coarsest solves alone stay within their own limit.
    assert!(size.most_coarsest(1, limit) >= counts.coarsest, "{counts:?} {limit}");
    let after = |work| Tries { steps: 1, last: [1, 0, 0], work: [work / 2.0, 0.0, 0.0] };
    let [cut, not] = [limit, 1.01 * whole].map(|limit| first_step(&particles, "auto", after(limit)).1);
    assert_eq!([cut.last, not.last], [[2, 2, 0], [1, 2, 0]]);
}

/// If no driver converges, the step is that of the driver with the smallest gradient.
#[test]
fn a_step_that_none_solves_is_the_best_one() {
    let mut particles = cloud(200, 0.1, 1);
    particles.iter_mut().flat_map(|p| &mut p.x).for_each(|x| *x *= 1.5);
    let alone =
        DRIVERS.map(|driver| first_iterations(&particles, driver.name(), Tries::default(), "2").0.unwrap());
    let best = (0..DRIVERS.len()).min_by(|&a, &b| alone[a].norm.total_cmp(&alone[b].norm)).unwrap();
    let sum = alone.iter().map(|solved| solved.iterations[0]).sum::<usize>();
    // Each driver is the first one once; without limits all of them run.
    for turn in 0..3 {
        let mut tries = Tries { steps: 2, ..Tries::default() };
        (0..3).filter(|k| *k != turn).for_each(|k| (tries.last[k], tries.work[k]) = (1, 1e18));
        let solved = first_iterations(&particles, "auto", tries, "2").0.unwrap();
        assert_eq!(solved.outcome, DescentOutcome::IterationLimit, "{turn}");
        assert!(solved.z == alone[best].z && solved.norm == alone[best].norm, "{turn}: {}", solved.norm);
        assert_eq!(solved.iterations[0], sum, "{turn}");
    }
}

/// Drivers that all fail, step after step, keep works that a checkpoint can hold, and waits between turns.
#[test]
fn failures_of_all_drivers_stay_finite() {
    let mut tries = Tries::default();
    for _ in 0..2000 {
        let (driver, mut runs) = (tries.next(), Spent::default());
        runs.fail(driver, tries.of_failure(driver, 1e6));
        tries.learn(&runs);
    }
    assert!(tries.work.iter().all(|w| w.is_finite() && *w > 0.0), "{tries:?}");
    assert!((0..DRIVERS.len()).all(|driver| tries.wait(driver) >= 24), "{tries:?}");
}

/// Drivers take turns on more than 1000 unknowns only, and only then is a turn counted.
#[test]
fn few_unknowns_have_no_turns() {
    let (setting, bodies) = (Setting::default(), bodies());
    for (scale, expected) in [(0.2, false), (1.5, true)] {
        let mut particles = cloud(200, 0.1, 1);
        particles.iter_mut().flat_map(|p| &mut p.x).for_each(|x| *x *= scale);
        let method = Options::parse_from(["mpm", "--solver", "auto"]).method;
        let minimizer = Minimizer::new(&method, Cpu::<f64>::new());
        let (obstacles, dx, largest, memory) = (&[][..], DX, 0.01, Memory::default());
        let mut stepper =
            Stepper { setting: &setting, obstacles, bodies: &bodies, dx, largest, memory, minimizer };
        let mut state = State { particles, ..State::default() };
        let begun = stepper.begin(&mut state, 0.01).unwrap().unwrap();
        let f = Increment::new(begun.given(&state.particles, &bodies, setting.gravity)).unwrap();
        assert_eq!((f.size() > 1000, method.solver.takes_turns(&f)), (expected, expected), "{}", f.size());
        assert!(!Solver::Driver(DRIVERS[0]).takes_turns(&f));
        let (solved, _) = stepper.minimizer.solve(f, obstacles, 0.0).unwrap();
        assert!(matches!(solved.outcome, DescentOutcome::Converged(_)), "{:?}", solved.outcome);
        assert_eq!(stepper.minimizer.tries.steps, u64::from(expected));
    }
}

/// A descent that ended with this outcome and norm.
fn ended(outcome: DescentOutcome, norm: f64) -> Solved {
    let (z, failures, trace) = Default::default();
    let (iterations, rebuilds, cycles, setup) = Default::default();
    let counts = Counts::default();
    Solved { z, outcome, iterations, rebuilds, cycles, norm, setup, counts, failures, trace }
}

#[test]
fn a_result_that_is_not_finite_is_worse_than_any_other() {
    let (far, near) = (ended(DescentOutcome::Stagnated, 2.0), ended(DescentOutcome::Stopped, 1.0));
    assert!(near.is_as_good_as(&far) && !far.is_as_good_as(&near));
    assert!(near.is_as_good_as(&near), "the first of two that are equal is kept");
    // The norm that is told is that of an iterate before.
    let lost = ended(DescentOutcome::NotFinite, 1e-3);
    assert!(far.is_as_good_as(&lost) && !lost.is_as_good_as(&far));
    let unknown = ended(DescentOutcome::IterationLimit, f64::NAN);
    assert!(far.is_as_good_as(&unknown) && !unknown.is_as_good_as(&far));
}
