//! What do schedules cost on a topology, how do methods scale over ranks, and what do two ranks cost beside two threads?
//!
//! ```text
//! cargo bench -p coarsen-benches --bench ranks -- FIGURE
//! ```
//!
//! | FIGURE | what | file |
//! |---|---|---|
//! | `schedules` | the time of each schedule on each topology, the best one, and the model of Fig. 5 of Li et al. 2020 | `schedules` |
//! | `drawn` | draws schedules and the pipeline to `book/src/methods/schedules.svg` and `book/src/methods/pipeline.svg` | `drawn` |
//! | `scaling` | strong and weak scaling on 1 to 64 simulated ranks, 1024 by the cost model, drawn to `book/src/methods/ranks_*.svg` | `scaling` |
//! | `domains` | iterations of multilevel additive Schwarz by chunk and by the size of the gathered level | `domains` |
//! | `cloth` | detection and assembly of folded cloth on 1 to 8 simulated ranks | `cloth`, `clock` |
//! | `shared` | the time per iteration of two ranks as threads beside two threads without ranks | `shared` |
//! | `reductions` | an iteration of `Cg`, `SingleReductionCg` and `PipelinedCg` on 1 to 64 simulated ranks, 1024 by a model | `reductions` |
//! | `matrix_free` | products and solves of cloth with and without assembly on 1 and 2 ranks | `matrix_free`, `elements` |

mod clock;
mod cloth;
mod domains;
mod drawn;
mod elements;
mod matrix_free;
mod model;
mod reductions;
mod scaling;
mod schedules;
mod shared;
mod solvers;
mod svg;

/// The result of a benchmark, which ends at the first error.
type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

fn main() -> Outcome<()> {
    let asked: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let figures: [(&str, fn(&[String]) -> Outcome<()>); 8] = [
        ("schedules", schedules::run),
        ("drawn", drawn::run),
        ("scaling", scaling::run),
        ("domains", domains::run),
        ("cloth", cloth::run),
        ("shared", shared::run),
        ("reductions", reductions::run),
        ("matrix_free", matrix_free::run),
    ];
    for (name, figure) in figures {
        if asked.is_empty() || asked[0] == name {
            figure(asked.get(1..).unwrap_or_default())?;
            println!();
        }
    }
    Ok(())
}
