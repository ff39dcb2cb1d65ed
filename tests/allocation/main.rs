//! From the second call on, solves by factors, updates and descents do not allocate, with one thread and with several
//! threads. Nor do the numeric phases of the crates below the facade.

#[path = "../common/mod.rs"]
mod common;
#[path = "../counting/mod.rs"]
mod counting;

mod constraints;
mod contact;
mod direct;
mod optimize;
mod problems;
mod solvers;
mod sparse;

use std::process::Command;

/// The parts, the longest first. `cargo test --test allocation contact` runs one.
const PARTS: [(&str, fn()); 9] = [
    ("one", || solvers::with_threads(1)),
    ("two", || solvers::with_threads(2)),
    ("outside", || solvers::from_outside(|name| !common::has_loops_of_another(name))),
    ("constraints", constraints::run),
    ("contact", contact::run),
    ("direct", direct::run),
    ("optimize", optimize::run),
    ("problems", problems::run),
    ("sparse", sparse::run),
];

/// The parts that `cargo test -- --ignored long_` of `.ci/full` runs.
const LONG: [(&str, fn()); 2] = [
    ("long_two", solvers::long_with_two_threads),
    ("long_outside", || solvers::from_outside(common::has_loops_of_another)),
];

fn main() {
    let is_given = |word: &str| std::env::args().skip(1).any(|given| given == word);
    if let Some((_, part)) = PARTS.iter().chain(&LONG).find(|(name, _)| is_given(name)) {
        return part();
    }
    let parts: &[(&str, fn())] = if is_given("long_") { &LONG } else { &PARTS };
    // Bytes are counted over all threads of a process, so the parts that run at once are processes.
    let start = |name| Command::new(std::env::current_exe().unwrap()).arg(name).spawn().unwrap();
    let running: Vec<_> = parts.iter().map(|&(name, _)| (name, start(name))).collect();
    for (name, mut part) in running {
        assert!(part.wait().unwrap().success(), "part \"{name}\" failed; its own message says why");
    }
}
