//! Twenty steps with a preconditioner that is rebuilt in every step, compared with a preconditioner that is
//! kept, patched or updated by a [`RebuildPolicy`].

use std::time::Instant;

use coarsen::Step;
use coarsen::{Action, RebuildPolicy};
use coarsen_core::{Stop, parallel};
use coarsen_krylov::Cg;
use coarsen_problems::{Options, Sequence};

use crate::{Outcome, build};

const STEPS: usize = 20;

/// The relative residual of every solve (Li et al. 2020, §3.2.2).
const TOLERANCE: f64 = 1e-2;

/// The totals of a run: iterations, seconds of setups and of solves, and the decisions of the policy.
struct Sums {
    iterations: usize,
    setup: f64,
    solve: f64,
    log: RebuildPolicy,
}

pub(crate) fn sequence(words: &[String]) -> Outcome<()> {
    let methods = match words.first().map(String::as_str) {
        Some(method) => vec![method],
        None => vec!["tamstorf", "mas", "mas-sa"],
    };
    let spec = words.get(1).map_or("cloth-contact:300", String::as_str);
    println!("sequence: {spec}, {STEPS} steps to {TOLERANCE:.0e}, two threads");
    println!("method    policy      setup s   solve s     total  iterations  build  update  patch  keep");
    for method in methods {
        let mut totals = Vec::new();
        for policy in [false, true] {
            let sums = parallel::threads(2, || run(method, spec, policy))??;
            let total = sums.setup + sums.solve;
            let [b, u, p, k] = [Action::Build, Action::Update, Action::Patch, Action::Keep]
                .map(|action| if policy { sums.log.count(action) } else { 0 });
            println!(
                "{method:8}  {:9} {:>9.3} {:>9.3} {total:>9.3} {:>11} {b:>6} {u:>7} {p:>6} {k:>5}",
                if policy { "policy" } else { "build" },
                sums.setup,
                sums.solve,
                sums.iterations
            );
            totals.push((total, sums.setup, sums.iterations as f64));
        }
        let (built, kept) = (totals[0], totals[1]);
        println!(
            "        policy to build: total {:.2}, setup {:.2}, iterations {:.2}; setup is {:.0} % of building",
            kept.0 / built.0,
            kept.1 / built.1,
            kept.2 / built.2,
            100.0 * built.1 / built.0
        );
    }
    Ok(())
}

/// Runs all steps with one method.
fn run(method: &str, spec: &str, policy: bool) -> Outcome<Sums> {
    let mut s = Sequence::parse(spec, STEPS, &Options::default())?;
    let b = s.right_hand_side(1);
    let mut sums = Sums { iterations: 0, setup: 0.0, solve: 0.0, log: RebuildPolicy::default() };
    let mut cg = Cg::new(Stop { max_iterations: 20_000, ..Stop::relative(TOLERANCE) });
    let parameters = method.to_owned();
    let mut step = Step::new(s.system(), move |system| build(&parameters, system))?;
    loop {
        let begun = Instant::now();
        let _ = step.update_as(|decided| if policy { decided } else { Action::Build })?;
        sums.setup += begun.elapsed().as_secs_f64();
        let (mut x, begun) = (vec![0.0; b.len()], Instant::now());
        let report = step.solve(&mut cg, &b, &mut x)?.converged()?;
        sums.solve += begun.elapsed().as_secs_f64();
        sums.iterations += report.iterations;
        if !s.advance()? {
            break;
        }
        step.set(s.system())?;
    }
    sums.log = step.policy;
    Ok(sums)
}
