//! How much faster is smoothed aggregation on systems of simulated cloth than block Jacobi and a sparse factor?
//! (Tamstorf, Jones & McCormick 2015, Table 1)
//!
//! ```text
//! cargo bench -p coarsen-benches --bench cloth_table -- [WHAT] [KEY=VALUE..]
//! ```
//!
//! | KEY | VALUE | default |
//! |---|---|---|
//! | `scenes` | names of the example `cloth` | the five of the paper |
//! | `sizes` | numbers of vertices | `961,1681,3721,6561,10201` |
//! | `methods` | `block-jacobi`, `sa`, `sa-f32` (the hierarchy in f32 that `auto` takes), `tamstorf`, `mas`, `skinning`, `cholesky`, `auto` | all |
//! | `tessellation` | `regular` or `irregular` | `regular` |
//! | `stiffness` | factor of all stiffnesses | `1` |
//! | `newton` | the most iterations of Newton's method in a step of an animation; 1 is the paper's step; more where contact cuts it short | `1` |
//! | `systems` | how many systems of an animation are solved; more than its frames divide its steps into more frames | `8` |
//! | `results` | the file with a row for each scene, size and method | in the folder for temporary files of the build |
//!
//! `cargo run --release -p cloth` animates each scene with the solver that its `auto` chooses, and writes eight linear
//! systems spread over the animation. All methods solve these, to 1e-5 in two norms: that of the preconditioner,
//! √(rᵀM⁻¹r), as in the paper (§11), and the true residual ‖r‖₂. Setup is included, and nothing is reused from system to
//! system. `auto` solves the systems as a sequence to ‖r‖ alone, with the attempts that it makes. Rows are appended to
//! the results, and rows that are there are not measured again; an animation continues from its last frame. The table gives
//! means over the systems; a solve that does not converge is named in it, and the row has no speed-up. WHAT `table` prints
//! the table and draws `book/src/methods/cloth_table.svg` without measuring. WHAT `walk` animates a skirt on a body that
//! walks, of each size, and prints the time of each of twelve systems by each method (Fig. 9); `scenes`, `systems` and
//! `results` have no effect.
//!
//! | file | what |
//! |---|---|
//! | `main` | arguments, animations, and which rows are missing |
//! | `rows` | rows of the results |
//! | `solve` | the time of one method on one system |
//! | `table` | speed-ups beside those of the paper |
//! | `paper` | the numbers of Table 1 |
//! | `chart` | the picture |
//! | `walk` | the time of a solve over an animation |

mod chart;
#[path = "../colours.rs"]
mod colours;
mod paper;
mod rows;
mod solve;
mod table;
mod walk;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::Command;

use coarsen_core::parallel;

use paper::SCENES;
use rows::{Case, Results, Row};

/// The result of a benchmark, which ends at the first error.
type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

const METHODS: [&str; 8] =
    ["block-jacobi", "sa", "sa-f32", "tamstorf", "mas", "skinning", "cholesky", "auto"];

/// The number of systems of an animation.
const SYSTEMS: usize = 8;

/// The folder for animations and results.
const FOLDER: &str = env!("CARGO_TARGET_TMPDIR");

/// What the bench does.
#[derive(Clone, Copy, PartialEq)]
enum What {
    /// Measures missing rows and prints all.
    Rows,
    /// Prints and draws.
    Table,
    /// The time over an animation.
    Walk,
}

/// What is measured.
struct Asked {
    scenes: Vec<String>,
    sizes: Vec<usize>,
    methods: Vec<String>,
    tessellation: String,
    stiffness: String,
    newton: String,
    systems: usize,
    results: PathBuf,
    what: What,
}

fn main() -> Outcome<()> {
    let asked = asked()?;
    if asked.what == What::Walk {
        return walk::walk(&asked);
    }
    let mut results = Results::read(&asked.results)?;
    if asked.what == What::Rows {
        for size in &asked.sizes {
            for scene in &asked.scenes {
                measure(&asked.case(scene, *size, asked.systems), &asked.methods, &mut results)?;
            }
        }
    }
    table::print(&results.rows);
    table::print_auto(&results.rows);
    if asked.what == What::Rows { Ok(()) } else { chart::draw(&results.rows) }
}

/// Reads the arguments.
fn asked() -> Outcome<Asked> {
    let all = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let mut asked = Asked {
        scenes: all(&SCENES),
        sizes: vec![961, 1681, 3721, 6561, 10_201],
        methods: all(&METHODS),
        tessellation: "regular".to_owned(),
        stiffness: "1".to_owned(),
        newton: "1".to_owned(),
        systems: SYSTEMS,
        results: Path::new(FOLDER).join("cloth_table.csv"),
        what: What::Rows,
    };
    for word in std::env::args().skip(1).filter(|word| !word.starts_with("--")) {
        let list = |text: &str| text.split(',').map(str::to_owned).collect();
        match word.split_once('=') {
            None if word == "table" => asked.what = What::Table,
            None if word == "walk" => asked.what = What::Walk,
            Some(("scenes", text)) => asked.scenes = list(text),
            Some(("methods", text)) => asked.methods = list(text),
            Some(("sizes", text)) => {
                asked.sizes = text.split(',').map(str::parse).collect::<Result<_, _>>()?;
            }
            Some(("tessellation", text)) => asked.tessellation = text.to_owned(),
            Some(("stiffness", text)) => asked.stiffness = text.to_owned(),
            Some(("newton", text)) => asked.newton = text.to_owned(),
            Some(("systems", text)) => asked.systems = text.parse::<NonZeroUsize>()?.get(),
            Some(("results", text)) => asked.results = text.into(),
            _ => return Err(format!("`{word}` is no argument of this bench; see its first lines").into()),
        }
    }
    Ok(asked)
}

impl Asked {
    fn case(&self, scene: &str, vertices: usize, systems: usize) -> Case {
        let Self { tessellation, stiffness, newton, .. } = self;
        let [tessellation, stiffness, newton] = [tessellation, stiffness, newton].map(String::clone);
        Case { scene: scene.to_owned(), tessellation, stiffness, newton, systems, vertices }
    }
}

/// Measures the missing rows of an animation.
fn measure(case: &Case, methods: &[String], results: &mut Results) -> Outcome<()> {
    let missing: Vec<&String> = methods.iter().filter(|method| !results.has(case, method)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let folder = Path::new(FOLDER).join(case.folder());
    let files = animate(case, &folder)?;
    for method in missing {
        let frames = || -> Outcome<Row> {
            let mut row = Row { case: case.clone(), method: method.clone(), ..Row::default() };
            let mut solver = None;
            for frame in &files {
                row.add(&solve::time(method, &solve::read(&folder, *frame)?, &mut solver)?);
            }
            Ok(row)
        };
        let row = parallel::threads(2, frames)??;
        println!("{row}");
        results.push(row)?;
    }
    if methods.iter().all(|method| results.has(case, method)) {
        std::fs::remove_dir_all(&folder)?;
    }
    Ok(())
}

/// Animates a scene unless that is done, and returns the frames whose systems are in the folder.
fn animate(case: &Case, folder: &Path) -> Outcome<Vec<usize>> {
    let Case { scene, systems, .. } = case;
    let (usual, steps) = (paper::frames(scene), paper::steps(scene));
    let each = (steps / systems).max(1);
    let frames = if *systems > usual { steps.div_ceil(each) } else { usual };
    if !folder.join("summary.txt").exists() {
        let [vertices, frames, count] = [case.vertices, frames, *systems].map(|number| number.to_string());
        let mut run = Command::new(env!("CARGO"));
        run.args(["run", "--release", "-p", "cloth", "--", "--scene", scene, "--vertices", &vertices]);
        run.args(["--tessellation", &case.tessellation, "--stiffness", &case.stiffness]);
        run.args(["--air", "0"]); // the paper has none
        run.args(["--frames", &frames, "--systems", &count, "--width", "0", "--checkpoint", "1", "--out"]);
        run.arg(folder);
        run.args(["--dt", &paper::step(scene).to_string(), "--iterations", &case.newton, "--format", "none"]);
        if *systems > usual {
            run.args(["--frame-steps", &each.to_string()]);
        }
        if folder.join("checkpoint.bin").exists() {
            run.arg("--resume");
        }
        if !run.status()?.success() {
            return Err(format!("the animation {case} failed").into());
        }
    }
    Ok((1..=frames).filter(|frame| folder.join(format!("system_{frame:04}.mtx")).exists()).collect())
}
