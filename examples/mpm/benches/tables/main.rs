//! What do the parts of HOT do for a time step of the material point method? (Wang et al. 2020)
//!
//! ```text
//! cargo bench -p mpm --bench tables -- TABLE.. [KEY=VALUE..]
//! ```
//!
//! | TABLE | question |
//! |---|---|
//! | `solvers` | Fig. 15 and beyond: nine drivers and `auto` on all scenes |
//! | `geometric` | Fig. 19: coarse matrices from particles against node embedding inside Newton's CG |
//! | `newton` | the same with other levels, smoothers and coarsest solves |
//! | `sweeps` | Table 3: Gauss-Seidel against block Jacobi as preconditioners of Newton's CG |
//! | `kernels` | §4.2: linear against quadratic embedding, and coarse matrices from particles: blocks, iterations, time |
//! | `levels` | 1 to 5 levels |
//! | `window` | 0 to 16 pairs of L-BFGS |
//! | `coarsest` | Fig. 9: the solver of the coarsest level |
//! | `smoothers` | Fig. 9: the smoother |
//! | `bar` | Fig. 20: five methods on a bar whose middle has 1e5 to 1e10 Pa; draws `mpm_bar.svg` |
//! | `full` | Table 2: all solvers on the hardest steps of whole runs; needs `runs`; draws `mpm_full.svg` |
//! | `frames` | Fig. 11 and 1: a step after each state of a run by three solvers; needs `runs`; draws `mpm_frames.svg` |
//! | `curves` | Fig. 17: the norm of the gradient in a step of the wheel; draws `mpm_curves.svg` |
//! | `transfers` | on an OpenCL device: what a step moves there and back; needs `--features opencl` |
//! | `stretched` | Fig. 18: the first step of the stretched box, five seeds and norms; draws `mpm_stretched.png` |
//! | `spy` | Fig. 8: entries of fine and coarse matrices; draws `mpm_spy.png` |
//!
//! Without a TABLE all are made, without `full`, `frames` and `transfers`. Pictures are drawn in `book/src/methods`, that of `full`
//! only if neither scenes nor methods are chosen.
//!
//! | KEY | VALUE | default |
//! |---|---|---|
//! | `scenes` | names of scenes of the example `mpm`, `armacat:1e6` with a modulus | those of each table |
//! | `particles` | the number of particles | `8000`; for `full` and `stretched` those of the scene |
//! | `frames` | the number of frames before the step that is solved; for `bar` that of those that are solved | `12`; `4` |
//! | `runs` | a folder with the folders of runs: for `full`, and for tables of methods in place of `frames` | |
//! | `methods` | for `full`: names of solvers | all |
//! | `most` | with `runs`: the most states of a scene, the hardest first | all |
//! | `threads` | the number of threads | `2` |
//! | `states` | a folder with the states before the steps, which are not computed again | in the same folder |
//! | `results` | the file with a row for each method | in the folder for temporary files of the build |
//!
//! The folder of a run, by `mpm --states 8`, is named as its scene, `armacat_1e6` with a modulus.
//!
//! A scene is animated by HOT, and every method solves the next time step to the tolerance of the paper. `full` takes
//! states of whole runs instead, and stops methods at ten times the time of HOT; a state at which HOT does not converge is
//! left out. The row of `auto` is the step by the driver that it chose, with the share of the turns of the others. Seconds
//! are those of the descent with its assemblies and setups. Rows are appended to the results, and rows that are there are
//! not measured again. The scene `armacat` needs `COARSEN_DATA`.
//!
//! | file | what |
//! |---|---|
//! | `stage` | a scene with its particles |
//! | `moment` | the state before a step |
//! | `method` | the methods, and how one solves the step |
//! | `rows` | rows of the results |
//! | `full`, `bars`, `frames` | whole runs |
//! | `compare` | the tables of methods on scenes |
//! | `bar` | the bar |
//! | `curves` | the wheel |
//! | `plot` | curves in two panels |
//! | `spy` | pictures of matrices |
//! | `stretched` | norms of nodes |
//! | `transfers` | counts of a place |

mod bar;
mod bars;
mod compare;
mod curves;
mod frames;
mod full;
mod method;
mod moment;
mod plot;
mod rows;
mod spy;
mod stage;
mod stretched;
mod transfers;

use std::path::{Path, PathBuf};

use coarsen_core::parallel;

use rows::Results;

/// The result of a benchmark, which ends at the first error.
type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// The tables that are not of methods on scenes.
const FIGURES: [&str; 4] = ["bar", "curves", "spy", "stretched"];

/// The table of whole runs.
const FULL: &str = "full";

/// The table of each frame of a run.
const FRAMES: &str = "frames";

/// The table of a device.
const TRANSFERS: &str = "transfers";

/// The particles of all other tables.
const PARTICLES: usize = 8000;

/// What is measured.
struct Asked {
    tables: Vec<String>,
    scenes: Option<Vec<String>>,
    particles: Option<usize>,
    frames: Option<usize>,
    states: PathBuf,
    runs: Option<PathBuf>,
    methods: Option<Vec<String>>,
    /// The most states of a scene.
    most: usize,
    threads: usize,
    results: PathBuf,
}

impl Asked {
    fn particles(&self) -> usize {
        self.particles.unwrap_or(PARTICLES)
    }
}

fn main() -> Outcome<()> {
    let asked = asked()?;
    let mut results = Results::read(&asked.results)?;
    parallel::threads(asked.threads, || {
        asked.tables.iter().try_for_each(|table| match table.as_str() {
            "bar" => bar::run(&asked, &mut results),
            "curves" => curves::run(&asked),
            "spy" => spy::run(&asked),
            "stretched" => stretched::run(&asked),
            FULL => full::run(&asked, &mut results),
            FRAMES => frames::run(&asked, &mut results),
            TRANSFERS => transfers::run(&asked),
            table => compare::run(table, &asked, &mut results),
        })
    })?
}

/// Reads the arguments.
fn asked() -> Outcome<Asked> {
    let mut asked = Asked {
        tables: Vec::new(),
        scenes: None,
        particles: None,
        frames: None,
        states: Path::new(env!("CARGO_TARGET_TMPDIR")).join("mpm_states"),
        runs: None,
        methods: None,
        most: usize::MAX,
        threads: 2,
        results: Path::new(env!("CARGO_TARGET_TMPDIR")).join("mpm.csv"),
    };
    for word in std::env::args().skip(1).filter(|word| !word.starts_with("--")) {
        match word.split_once('=') {
            Some(("scenes", text)) => asked.scenes = Some(text.split(',').map(str::to_owned).collect()),
            Some(("particles", text)) => asked.particles = Some(text.parse()?),
            Some(("frames", text)) => asked.frames = Some(text.parse()?),
            Some(("most", text)) => asked.most = text.parse()?,
            Some(("states", text)) => asked.states = text.into(),
            Some(("runs", text)) => asked.runs = Some(text.into()),
            Some(("methods", text)) => asked.methods = Some(text.split(',').map(str::to_owned).collect()),
            Some(("threads", text)) => asked.threads = text.parse()?,
            Some(("results", text)) => asked.results = text.into(),
            None if [FULL, FRAMES, TRANSFERS].contains(&word.as_str())
                || FIGURES.contains(&word.as_str())
                || compare::names().any(|name| name == word) =>
            {
                asked.tables.push(word);
            }
            _ => return Err(format!("`{word}` is no argument of this bench; see its first lines").into()),
        }
    }
    if asked.tables.is_empty() {
        asked.tables = compare::names().chain(FIGURES).map(str::to_owned).collect();
    }
    Ok(asked)
}
