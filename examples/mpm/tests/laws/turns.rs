//! `auto`: three drivers take turns.

use clap::Parser;
use coarsen::follow::Driver;
use coarsen::optimize::DescentOutcome;
use coarsen::prelude::*;
use examples_common::files::{read_state, write};
use mpm::energy::{Increment, Memory};
use mpm::options::Options;
use mpm::scene::Setting;
use mpm::solver::{Minimizer, Solver};
use mpm::state::State;
use mpm::step::Stepper;
use mpm::tries::{Counts, DRIVERS, Tries};

use super::{DX, Folder, bodies, cloud};

/// The work of many steps relative to that of the best driver, and the number of steps of each driver. A turn ends at three
/// times the least work.
fn run(steps: usize, work: impl Fn(usize, usize) -> f64) -> (f64, [usize; 3]) {
    let (mut tries, mut spent, mut least, mut turns) = (Tries::default(), 0.0, 0.0, [0; 3]);
    for step in 0..steps {
        let turn = tries.next();
        let (own, best) = (work(turn, step), work(tries.best(), step));
        let first = tries.last[tries.best()] == 0;
        // The step is completed by the best one.
        let (w, more) = if first || own <= 3.0 * best { (own, 0.0) } else { (3.0 * best, best) };
        tries.learn(turn, w);
        spent += w + more;
        least += (0..3).map(|k| work(k, step)).fold(f64::INFINITY, f64::min);
        turns[turn] += 1;
    }
    (spent / least, turns)
}

/// Each driver gets a turn, the best one nearly all, and turns cost at most an eighth.
#[test]
fn the_driver_with_the_least_work_takes_most_steps() {
    for works in [[1.0_f64, 1.1, 1.2], [2.0, 1.0, 9.0], [3.0, 50.0, 1.0], [1.0, 1.9, 400.0]] {
        let best = (0..3).min_by(|&a, &b| works[a].total_cmp(&works[b])).unwrap();
        let (share, turns) = run(400, |turn, _| works[turn]);
        assert!(share < 1.13, "{works:?}: {share}");
        assert!(turns.iter().all(|&count| count > 0) && turns[best] > 320, "{works:?}: {turns:?}");
    }
    // Another driver is best from the middle on.
    let (share, turns) = run(400, |turn, step| if (turn == 0) == (step < 200) { 1.0 } else { 2.0 });
    assert!(share < 1.15 && turns[0] > 150 && turns[1] + turns[2] > 150, "{share} {turns:?}");
}

/// The limit of a turn is three times the least work, and more iterations are more work.
#[test]
fn turns_end_at_three_times_the_least_work() {
    let size = Counts { particles: 8000, blocks: 100_000, ..Counts::default() };
    let counts = |iterations| Counts { iterations, values: iterations, gradients: iterations, ..size };
    let mut tries = Tries::default();
    assert_eq!(tries.most(tries.next(), &size), None);
    let least = counts(9).work(0);
    tries.learn(0, least);
    for turn in 1..DRIVERS.len() {
        let most = tries.most(turn, &size).unwrap();
        let ends = [most, most + 1].map(|iterations| counts(iterations).work(turn));
        assert!(ends[0] <= 3.0 * least && ends[1] >= 3.0 * least, "{ends:?} {least}");
        // Coarsest solves together are at most as much.
        let Some(coarsest) = tries.most_coarsest(turn, &size) else {
            assert_ne!(DRIVERS[turn], Driver::LbfgsH);
            continue;
        };
        let ends = [coarsest, coarsest + 1].map(|coarsest| Counts { coarsest, ..size }.work(turn));
        assert!(coarsest > 0 && ends[0] <= 3.0 * least && ends[1] >= 3.0 * least, "{ends:?} {least}");
    }
    assert_eq!(tries.most_coarsest(0, &size), None);
    assert_eq!(tries.most(0, &size), None);
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

/// A turn that is cut is completed by the best driver.
#[test]
fn cut_turns_are_completed() {
    let with =
        |frames| ["--scene", "stretched", "--particles", "3000", "--solver", "auto", "--frames", frames];
    let folder = Folder::new("turns-cut");
    folder.run(&with("1")).unwrap();
    let (file, bytes) = (folder.0.join("checkpoint.bin"), folder.bytes("checkpoint.bin"));
    let run = u64::from_le_bytes(bytes[24..32].try_into().unwrap());
    let mut state: State = read_state(&file).unwrap();
    state.tries = Tries { steps: 1, last: [1, 0, 0], work: [1.0, 0.0, 0.0] };
    write(&file, run, &state).unwrap();
    let rows = folder.run(&[&with("2")[..], &["--resume"]].concat()).unwrap();
    let state: State = read_state(&file).unwrap();
    assert!(rows[2].converged == rows[2].steps && rows[2].norm <= 1e-7, "{:?}", rows[2]);
    assert!(rows[2].rebuilds > rows[2].steps && state.tries.last[1] == 2, "{:?}", rows[2]);
}

/// A driver that does not solve a step is not the best afterwards.
#[test]
fn failed_turns_are_no_little_work() {
    let mut tries = Tries::default();
    tries.fail(0, 1.0);
    assert_eq!(tries.next(), 1);
    assert!(tries.others(0).eq([1, 2]));
    tries.learn(1, 5.0);
    tries.fail(2, 1e-3);
    assert_eq!((tries.best(), tries.work[2]), (1, 80.0));
    assert!(tries.others(2).eq([1, 0]) && tries.others(1).eq([2, 0]));
}

/// A turn that ends in an error is completed by another driver, and the error is kept: so far from the origin the places
/// of nodes leave the table of node embedding, but not the grid, and `hot` fails.
#[test]
fn a_turn_with_an_error_is_completed() {
    let (setting, bodies) = (Setting::default(), bodies());
    let far = DX * f64::from((1 << 20) - 13);
    let mut particles = cloud(200, 0.1, 1);
    for x in particles.iter_mut().map(|p| &mut p.x) {
        (0..3).for_each(|k| x[k] *= 1.5);
        x[0] += far;
    }
    let (obstacles, dx, largest) = (&[][..], DX, 0.01);
    let solve = |solver: &str| {
        let method = Options::parse_from(["mpm", "--solver", solver]).method;
        let (memory, minimizer) = (Memory::default(), Minimizer::new(&method, Cpu::<f64>::new()));
        let mut stepper =
            Stepper { setting: &setting, obstacles, bodies: &bodies, dx, largest, memory, minimizer };
        let mut state = State { particles: particles.clone(), ..State::default() };
        let begun = stepper.begin(&mut state, 0.01).unwrap().unwrap();
        let f = Increment::new(begun.given(&state.particles, &bodies, setting.gravity)).unwrap();
        let solved = stepper.minimizer.solve(f, obstacles, 0.0).map(|(solved, _)| solved);
        (solved, stepper.minimizer.tries)
    };
    let alone = solve("hot").0.unwrap_err().to_string();
    let (solved, tries) = solve("auto");
    let solved = solved.unwrap();
    assert!(matches!(solved.outcome, DescentOutcome::Converged(_)), "{:?}", solved.outcome);
    let [(Driver::Hot, error)] = &solved.failures[..] else { panic!("{:?}", solved.failures) };
    assert_eq!(error.to_string(), alone);
    assert_eq!((tries.last, solved.z), ([1, 0, 0], solve("lbfgs-h").0.unwrap().z));
}

/// Drivers that all fail, step after step, keep works that a checkpoint can hold, and waits between turns.
#[test]
fn failures_of_all_drivers_stay_finite() {
    let mut tries = Tries::default();
    for _ in 0..2000 {
        let driver = tries.next();
        tries.fail(driver, 1e6);
    }
    assert!(tries.work.iter().all(|w| w.is_finite() && *w > 0.0), "{tries:?}");
    assert!((0..DRIVERS.len()).all(|driver| tries.wait(driver) >= 16), "{tries:?}");
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
