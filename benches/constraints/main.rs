//! Do preconditioners remain effective with constraints?
//!
//! Fig. 8 of Tamstorf, Jones, McCormick 2015 on systems of the gallery. Each method solves the prefiltered
//! system (PPCG). It also solves with the constraints only inside the iteration, as in Baraff & Witkin 1998:
//! the preconditioner is built from A, and every vector is projected.
//!
//! ```text
//! cargo bench -p coarsen-benches --bench constraints -- FIGURE
//! ```
//!
//! | FIGURE | what | file |
//! |---|---|---|
//! | `share` | iterations with 0, 1, 10 and 30 % of the nodes constrained, six kinds of constraints | `share` |
//! | `growth` | time against the number of vertices for a sheet on a table (Fig. 8), plotted to `book/src/methods/constraints_growth.svg` | `growth` |
//! | `cost` | time of prefiltering, compared with a product with A | `cost` |
//! | `parts` | convergence rates, shares of filtering and setup, memory (Fig. 5, 6, §12) | `parts` |

mod cost;
mod growth;
#[path = "../../tests/common/inside.rs"]
mod inside;
mod kinds;
mod parts;
mod share;

use std::time::Instant;

use coarsen::backend::Prepared;
use coarsen::constraints::Constraints;
use coarsen::prelude::*;
use coarsen::problems::Problem;

/// An error ends the bench.
type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// The relative residual at which solves stop.
const TOLERANCE: f64 = 1e-5;

/// The preconditioners compared.
const METHODS: [&str; 3] = ["tamstorf", "mas", "block-jacobi"];

fn main() -> Outcome<()> {
    let names = |word: &String| !word.starts_with("--") && !word.contains('=');
    let asked: Vec<String> = std::env::args().skip(1).filter(names).collect();
    let figures: [(&str, fn() -> Outcome<()>); 4] =
        [("share", share::share), ("growth", growth::growth), ("cost", cost::cost), ("parts", parts::parts)];
    for (name, figure) in figures {
        if asked.is_empty() || asked.iter().any(|word| word == name) {
            threads(0, figure)??;
            println!();
        }
    }
    Ok(())
}

fn build(method: &str, system: System<'_, f64>) -> Outcome<Box<dyn Prepared<Vec<f64>, f64>>> {
    let backend = Cpu::new();
    Ok(match method {
        "tamstorf" => Box::new(tamstorf().build_from(system, &backend)?),
        "mas" => Box::new(Schwarz::multilevel().build_from(system, &backend)?),
        "mas-sa" => Box::new(OverDomains::multiplicative().build_from(system, &backend)?),
        _ => Box::new(BlockJacobi::default().build_from(system, &backend)?),
    })
}

/// The number of iterations, and the seconds for filtering, setup and solve.
#[derive(Clone, Copy, Debug)]
struct Run {
    iterations: usize,
    seconds: f64,
    converged: bool,
}

/// Solves the prefiltered system with a random right-hand side.
fn prefiltered(method: &str, p: &Problem, constraints: &Constraints) -> Outcome<Run> {
    let (b, begun) = (p.right_hand_side(1), Instant::now());
    let mut filtered = prefilter(p.system(), constraints)?;
    let mut m = build(method, filtered.system(Some(&p.positions)))?;
    let mut x = vec![0.0; b.len()];
    let report = filtered.solve(&b, &mut x, |a, c, y| Cg::new(stop()).solve(a, &mut m, c, y))??;
    Ok(Run::of(&report, begun))
}

/// Solves with constraints only inside the iteration.
fn inside(method: &str, p: &Problem, constraints: &Constraints) -> Outcome<Run> {
    let (b, begun) = (p.right_hand_side(1), Instant::now());
    let m = build(method, p.system())?;
    let mut x = vec![0.0; b.len()];
    let report = inside::solve(&p.matrix, m, constraints, &b, &mut x, stop())?;
    Ok(Run::of(&report, begun))
}

fn stop() -> Stop<f64> {
    Stop { max_iterations: 20_000, ..Stop::relative(TOLERANCE) }
}

impl Run {
    fn of(report: &Report<f64>, begun: Instant) -> Self {
        let (iterations, seconds) = (report.iterations, begun.elapsed().as_secs_f64());
        Self { iterations, seconds, converged: report.outcome == coarsen::Outcome::Converged }
    }

    /// The number of iterations, with a mark if the method did not converge.
    fn count(&self) -> String {
        format!("{}{}", self.iterations, if self.converged { "" } else { "!" })
    }
}
