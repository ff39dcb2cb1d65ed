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
    ("outside", solvers::from_outside),
    ("constraints", constraints::run),
    ("contact", contact::run),
    ("direct", direct::run),
    ("optimize", optimize::run),
    ("problems", problems::run),
    ("sparse", sparse::run),
];

fn main() {
    if let Some((_, part)) = PARTS.iter().find(|(name, _)| std::env::args().any(|word| word == *name)) {
        return part();
    }
    // Bytes are counted over all threads of a process, so the parts that run at once are processes.
    let start = |name| Command::new(std::env::current_exe().unwrap()).arg(name).spawn().unwrap();
    let running: Vec<_> = PARTS.iter().map(|&(name, _)| (name, start(name))).collect();
    for (name, mut part) in running {
        assert!(part.wait().unwrap().success(), "part \"{name}\" failed; its own message says why");
    }
}
