//! Iterations against the fraction of constrained nodes.

use crate::kinds::{KINDS, constrained};
use crate::{METHODS, Outcome, inside, prefiltered};

const SIDE: usize = 101;
const STEP: f64 = 0.01;
const SHARES: [f64; 4] = [0.0, 0.01, 0.1, 0.3];

pub(crate) fn share() -> Outcome<()> {
    println!(
        "share: cloth:{SIDE} at {STEP} s, to {:.0e}; iterations (and times those without constraints)",
        crate::TOLERANCE
    );
    println!(
        "{:22} {:13} {:9}         0 %           1 %          10 %          30 %",
        "constraints", "precond", "filtered"
    );
    for kind in KINDS {
        let systems: Vec<_> =
            SHARES.iter().map(|&share| constrained(kind, SIDE, STEP, share)).collect::<Outcome<_>>()?;
        for method in METHODS.into_iter().chain(["mas-sa"]) {
            for (name, run) in [("before", prefiltered as fn(&_, &_, &_) -> _), ("inside", inside)] {
                let mut line = format!("{kind:22} {method:13} {name:9}");
                let mut first = None;
                for (p, c) in &systems {
                    let run = run(method, p, c)?;
                    let first = *first.get_or_insert(run.iterations as f64);
                    line += &format!(" {:>6} ({:4.2})", run.count(), run.iterations as f64 / first);
                }
                println!("{line}");
            }
        }
    }
    Ok(())
}
