//! What does contact cost in assembly, in updates between steps, and in solves?
//!
//! ```text
//! cargo bench -p coarsen-benches --bench contact -- FIGURE [PROBLEM]
//! ```
//!
//! | FIGURE | what | file |
//! |---|---|---|
//! | `assembly` | assembly of one step with 361K vertices and 100K contact pairs, compared with memory bandwidth | `assembly` |
//! | `sequence` | 20 steps of `cloth-contact:300` with `tamstorf`, MAS, and MAS as its smoother: rebuilt in every step, or updated by a policy | `sequence` |
//! | `detection` | search, distances and continuous detection of a folded sheet of 100K vertices with 50K pairs, on one and two threads, beside a solve by `auto`; two more words: vertices along a side, share of the sheet that is folded over | `detection` |
//! | `count` | iterations and time against the number of contacts (Wu et al. 2022, Fig. 21), plotted to `book/src/methods/contact_count.svg` | `count` |

mod assembly;
mod count;
mod detection;
mod sequence;

use coarsen::OverDomains;
use coarsen_smoothed_aggregation::tamstorf;
use std::time::Instant;

use coarsen_backend::{Cpu, Prepared, Setup, SetupError};
use coarsen_relax::{BlockJacobi, Ic0};
use coarsen_schwarz::Schwarz;
use coarsen_sparse::System;

/// The result of a benchmark, which ends at the first error.
type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// A preconditioner that can be updated.
type Built = Box<dyn Prepared<Vec<f64>, f64> + Send>;

fn main() -> Outcome<()> {
    let asked: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let figures: [(&str, fn(&[String]) -> Outcome<()>); 4] = [
        ("assembly", assembly::assembly),
        ("sequence", sequence::sequence),
        ("count", count::count),
        ("detection", detection::detection),
    ];
    for (name, figure) in figures {
        if asked.is_empty() || asked[0] == name {
            figure(asked.get(1..).unwrap_or_default())?;
            println!();
        }
    }
    Ok(())
}

fn build(method: &str, system: System<'_, f64>) -> Result<Built, SetupError> {
    let backend = Cpu::new();
    Ok(match method {
        "block-jacobi" => Box::new(BlockJacobi::default().build_from(system, &backend)?),
        "ic0" => Box::new(Ic0::default().build_from(system, &backend)?),
        "tamstorf" => Box::new(tamstorf().build_from(system, &backend)?),
        "mas-sa" => Box::new(OverDomains::multiplicative().build_from(system, &backend)?),
        _ => Box::new(Schwarz::multilevel().build_from(system, &backend)?),
    })
}

/// The time of a call in seconds.
fn timed(call: &mut impl FnMut()) -> f64 {
    let begun = Instant::now();
    call();
    begun.elapsed().as_secs_f64()
}

/// The minimum time of several calls in seconds.
fn fastest(calls: usize, mut call: impl FnMut()) -> f64 {
    (0..calls).map(|_| timed(&mut call)).fold(f64::INFINITY, f64::min)
}
