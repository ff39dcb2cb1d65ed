//! Compares the time of `auto` with the best row of `compare`. The systems are every symmetric positive
//! definite matrix of the data folder, scrambled problems of the gallery, and 20 hard systems from a seed.
//!
//! ```text
//! cargo bench -p coarsen-cli --bench auto -- SEED
//! ```
//!
//! The default seed of the hard systems is 1. `auto` solves first; methods of `compare` are stopped at 1.2
//! times its time, since a slower method is not the best. Results are stored in `target/tmp/auto-SEED`, with
//! files for each system, so that an interrupted run can continue.
//!
//! *Output* one row for each system: unknowns, the last method of `auto` and its seconds, the best row and
//! its seconds, and their ratio after subtracting 20 ms; then the geometric mean.

#[path = "../../tests/command/curl.rs"]
mod curl;
mod hard;
#[path = "../../tests/command/scramble.rs"]
mod scramble;
mod solid;

/// The folder of the results.
mod common {
    use std::path::{Path, PathBuf};

    pub(crate) struct Folder(pub(crate) PathBuf);

    impl Folder {
        pub(crate) fn path(&self, name: &str) -> PathBuf {
            Path::new(&self.0).join(name)
        }
    }
}

use std::path::Path;
use std::process::Command;

use coarsen::matrix_market::{self, Symmetry};
use common::Folder;
use serde_json::Value;

/// Problems of the gallery at three sizes.
const GALLERY: [(&str, [usize; 3]); 7] = [
    ("cloth", [31, 101, 201]),
    ("elasticity3d", [8, 16, 24]),
    ("graph", [2000, 20_000, 100_000]),
    ("jump3d", [16, 32, 48]),
    ("anisotropic2d", [50, 150, 400]),
    ("poisson2d", [60, 200, 500]),
    ("poisson3d", [20, 40, 64]),
];

/// The seconds that are subtracted from the time of `auto`: the overhead of a process.
const SMALL: f64 = 0.02;

fn main() {
    let mut words = std::env::args().skip(1).filter(|word| word != "--bench");
    let seed: u64 = words.next().map_or(1, |word| word.parse().expect("a seed"));
    let folder = Folder(Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("auto-{seed}")));
    std::fs::create_dir_all(&folder.0).expect("a folder for the results");
    println!("| system | n | auto | s | best | s | ratio |\n|---|---|---|---|---|---|---|");
    let mut ratios = Vec::new();
    let mut note = |name: &str, file: &dyn Fn() -> String, memory: Option<u32>| {
        if let Some(ratio) = row(&folder, name, file, memory) {
            ratios.push(ratio);
        }
    };
    for (name, path) in real() {
        note(&name, &|| path.clone(), None);
    }
    for (name, sizes) in GALLERY {
        for size in sizes {
            let spec = format!("{name}:{size}");
            note(&spec, &|| scramble::file(&folder, &spec), None);
        }
    }
    for hard in &hard::ALL {
        let file = || {
            let path = folder.path("hard.mtx");
            matrix_market::write(&path, &(hard.make)(seed), Symmetry::Detect)
                .expect("disk space for a matrix");
            path.display().to_string()
        };
        note(hard.name, &file, hard.memory);
    }
    let mean = (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp();
    let worst = ratios.iter().copied().fold(0.0, f64::max);
    let over = ratios.iter().filter(|&&ratio| ratio > 2.0).count();
    println!("{} systems, geometric mean {mean:.2}, worst {worst:.2}, {over} above 2", ratios.len());
}

/// The matrices of the data folder.
fn real() -> Vec<(String, String)> {
    let Some(data) = std::env::var_os("COARSEN_DATA") else {
        println!("no COARSEN_DATA: no real matrices");
        return Vec::new();
    };
    let entries = std::fs::read_dir(Path::new(&data).join("matrices")).expect("the data folder");
    let mut files: Vec<(String, String)> = entries
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let name = path.file_name()?.to_str()?.strip_suffix(".mtx.gz")?.to_owned();
            let beside = ["_b", "_rbms", "_nullspace", "_vertices"];
            (!beside.iter().any(|end| name.ends_with(end))).then(|| (name, path.display().to_string()))
        })
        .collect();
    files.sort();
    files
}

/// A row of the table; `None` if the matrix cannot be symmetric positive definite or no method solves the
/// system.
fn row(folder: &Folder, name: &str, file: &dyn Fn() -> String, memory: Option<u32>) -> Option<f64> {
    let reports = ["solve", "compare"].map(|command| folder.path(&format!("{name}.{command}.json")));
    let matrix = if reports.iter().all(|report| report.exists()) { String::new() } else { file() };
    let memory: Vec<String> = memory.map_or(Vec::new(), |mib| vec!["--memory".to_owned(), mib.to_string()]);
    let solved = report(&reports[0], &|report| run("solve", &matrix, &memory, report))?;
    let auto = seconds_of_auto(&solved);
    // The bound holds only for matrices that may be positive definite.
    let definite = solved["choice"][0].as_str().is_some_and(|why| why.contains("definite"));
    if !definite || solved["choice"][0].as_str().is_some_and(|why| why.contains("indefinite")) {
        return None;
    }
    let limit = ["--limit".to_owned(), format!("{:.3}", 1.2 * auto + 0.1)];
    let words = [&memory[..], &limit].concat();
    let table = report(&reports[1], &|report| run("compare", &matrix, &words, report))?;
    let rows = table["rows"].as_array().expect("rows");
    let seconds = |row: &Value| row["total_seconds"].as_f64().unwrap_or(f64::INFINITY);
    let label = |row: &Value| format!("{} {}", row["method"], row["precond"]).replace('"', "");
    let took = format!("{}: {}", label(&solved), solved["outcome"]).replace('"', "");
    let n = &solved["n"];
    let converged = rows.iter().filter(|row| row["outcome"] == "converged");
    let Some(best) = converged.min_by(|p, q| seconds(p).total_cmp(&seconds(q))) else {
        println!("| {name} | {n} | {took} | {auto:.3} | nothing else converges | | |");
        return (solved["outcome"] == "converged").then_some(1.0);
    };
    let least = seconds(best);
    let ratio = ((auto - SMALL) / least).max(auto.min(least) / least);
    println!("| {name} | {n} | {took} | {auto:.3} | {} | {least:.3} | {ratio:.2} |", label(best));
    Some(ratio)
}

/// The seconds of setups and iterations of all attempts, and of the analysis steps that not every row of
/// `compare` takes.
fn seconds_of_auto(solved: &Value) -> f64 {
    const OWN: [&str; 4] = ["forecasts", "ordering for a factor", "range of f32", "f32 copy"];
    let number = |value: &Value| value.as_f64().unwrap_or(0.0);
    let part = |value: &Value| number(&value["setup_seconds"]) + number(&value["solve_seconds"]);
    let shared = |step: &&Value| !OWN.iter().any(|own| step["step"] == *own);
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let steps: f64 =
        list(&solved["analysis"]).iter().filter(shared).map(|step| number(&step["seconds"])).sum();
    part(solved) + list(&solved["attempts"]).iter().map(part).sum::<f64>() - steps
}

/// Reads the stored report, or makes a new report; `None` if the command writes no report.
fn report(path: &Path, make: &dyn Fn(&Path)) -> Option<Value> {
    if !path.exists() {
        make(path);
    }
    let text = std::fs::read(path).ok()?;
    Some(serde_json::from_slice(&text).expect("a report is JSON"))
}

fn run(command: &str, matrix: &str, words: &[String], report: &Path) {
    let done = Command::new(env!("CARGO_BIN_EXE_coarsen"))
        .args([command, matrix, "--quiet", "--report"])
        .arg(report)
        .args(words)
        .output()
        .expect("the command runs");
    if !report.exists() {
        println!("| {matrix} | {} |", String::from_utf8_lossy(&done.stderr).trim());
    }
}
