//! What do the parts of HOT do for a time step of the material point method? (Wang et al. 2020)
//!
//! ```text
//! cargo bench -p coarsen-benches --bench hot -- TABLE.. [KEY=VALUE..]
//! ```
//!
//! | TABLE | question |
//! |---|---|
//! | `solvers` | Fig. 15 and beyond: nine drivers on all scenes |
//! | `geometric` | Fig. 19: coarse matrices from particles against node embedding inside Newton's CG |
//! | `newton` | the same with other levels, smoothers and coarsest solves |
//! | `sweeps` | Table 3: Gauss-Seidel against block Jacobi as preconditioners of Newton's CG |
//! | `kernels` | §4.2: linear against quadratic embedding, and coarse matrices from particles: blocks, iterations, time |
//! | `levels` | 1 to 5 levels |
//! | `window` | 0 to 16 pairs of L-BFGS |
//! | `coarsest` | Fig. 9: the solver of the coarsest level |
//! | `smoothers` | Fig. 9: the smoother |
//! | `bar` | Fig. 20: five methods on a bar whose middle has 1e5 to 1e10 Pa; draws `mpm_bar.svg` |
//! | `states` | Table 2: whole runs by HOT, and the states before their hardest frames; needs `runs`, where they are kept |
//! | `full` | Table 2: all drivers on the hardest steps of whole runs; needs `runs`; draws `mpm_full.svg` |
//! | `frames` | Fig. 11 and 1: a step after each state of a run by three drivers; needs `runs`; draws `mpm_frames.svg` |
//! | `curves` | Fig. 17: the norm of the gradient in a step of the wheel; draws `mpm_curves.svg` |
//! | `transfers` | on an OpenCL device: what a step moves there and back; needs `--features opencl` |
//! | `stretched` | Fig. 18: the first step of the stretched box, five seeds and norms; draws `mpm_stretched.png` |
//! | `spy` | Fig. 8: entries of fine and coarse matrices; draws `mpm_spy.png` |
//!
//! `--help` prints these lines. Without a TABLE all are made, without `states`, `full`, `frames` and `transfers`. Pictures are drawn
//! in `book/src/methods`, that of `full` only if no scenes are chosen and the methods that it shows are measured.
//!
//! | KEY | VALUE | default |
//! |---|---|---|
//! | `scenes` | names of scenes of the example `mpm`, `armacat:1e6` with a modulus | those of each table |
//! | `particles` | the number of particles | `8000`; for `states`, `full`, `frames` and `stretched` those of the scene |
//! | `frames` | the number of frames before the step that is solved; for `bar` and `states` that of those that are solved | `12`; `4`, those of the scene |
//! | `runs` | a folder with the folders of runs: for `states`, `full` and `frames`, and for tables of methods in place of `frames` | |
//! | `methods` | for `full`: names of drivers | all |
//! | `most` | with `runs`: the most states of a scene, the hardest first | all; `8` |
//! | `threads` | the number of threads | `2` |
//! | `states` | a folder with the states before the steps, which are not computed again | in the same folder |
//! | `results` | the file with a row for each method | in the folder for temporary files of the build |
//!
//! A scene is animated by HOT, and every method solves the next time step to the tolerance of the paper. `full` takes
//! states of whole runs instead, and stops methods at ten times the time of HOT; a state at which HOT does not converge is
//! left out. Seconds are those of the descent with its assemblies and setups. Rows are appended to the results, and rows
//! that are there are not measured again. The scene `armacat` needs `COARSEN_DATA`.
//!
//! | file | what |
//! |---|---|
//! | `asked` | the arguments |
//! | `stage` | a scene with its particles |
//! | `moment` | the state before a step |
//! | `method` | the methods, and how one solves the step |
//! | `products` | `pn-mf` and `gast`: products with the Hessian that are not assembled |
//! | `quadrature` | `lbfgs-gmg` and `pn-gmg-pcg`: the Hessian from particles on coarser grids |
//! | `rows` | rows of the results |
//! | `states`, `full`, `frames` | whole runs |
//! | `compare` | the tables of methods on scenes |
//! | `bar` | the bar |
//! | `curves` | the wheel |
//! | `plot` | curves in two panels; bars |
//! | `spy` | pictures of matrices |
//! | `stretched` | norms of nodes |
//! | `transfers` | counts of a backend |

mod asked;
mod bar;
mod compare;
mod curves;
mod frames;
mod full;
mod method;
mod moment;
mod plot;
mod products;
mod quadrature;
mod rows;
mod spy;
mod stage;
mod states;
mod stretched;
mod transfers;

use std::path::Path;
use std::process::ExitCode;

use coarsen_core::parallel;

use asked::Asked;
use rows::Results;

/// The result of a benchmark, which ends at the first error.
type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// The tables that are not of methods on scenes.
const FIGURES: [&str; 4] = ["bar", "curves", "spy", "stretched"];

/// The table of whole runs.
const FULL: &str = "full";

/// The runs.
const STATES: &str = "states";

/// The table of each frame of a run.
const FRAMES: &str = "frames";

/// The table of a device.
const TRANSFERS: &str = "transfers";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Outcome<()> {
    let rest = [STATES, FULL, FRAMES, TRANSFERS]; // only by name
    let whole: Vec<&str> = compare::names().chain(FIGURES).collect();
    let known: Vec<&str> = whole.iter().copied().chain(rest).collect();
    let words = std::env::args().skip(1);
    let Some(mut asked) = Asked::parse(words, &known, Path::new(env!("CARGO_TARGET_TMPDIR")))? else {
        let lines = include_str!("main.rs").lines().map_while(|line| line.strip_prefix("//!"));
        lines.for_each(|line| println!("{}", line.strip_prefix(' ').unwrap_or(line)));
        return Ok(());
    };
    if asked.tables.is_empty() {
        asked.tables = whole.into_iter().map(str::to_owned).collect();
    }
    let mut results = Results::read(&asked.results)?;
    parallel::threads(asked.threads, || {
        asked.tables.iter().try_for_each(|table| match table.as_str() {
            "bar" => bar::run(&asked, &mut results),
            "curves" => curves::run(&asked),
            "spy" => spy::run(&asked),
            "stretched" => stretched::run(&asked),
            STATES => states::run(&asked),
            FULL => full::run(&asked, &mut results),
            FRAMES => frames::run(&asked, &mut results),
            TRANSFERS => transfers::run(&asked),
            table => compare::run(table, &asked, &mut results),
        })
    })?
}
