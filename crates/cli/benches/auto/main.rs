//! What `auto` takes, beside the best row of `compare`: every symmetric positive definite matrix of the data folder, scrambled problems of the gallery, and 20
//! hard systems from a seed.
//!
//! ```text
//! cargo bench -p coarsen-cli --bench auto -- SEED LIMIT
//! ```
//!
//! The seed of the hard systems is 1 unless it is given. A row of `compare` that takes longer than LIMIT seconds (20) is cut, which changes nothing where the
//! best is quicker. Results are kept in `target/tmp/auto-SEED`, a file a system: a run that was cut short goes on where it ended.
//!
//! *Output* a row a system: unknowns, what `auto` ended with and its seconds, the best row and its seconds, and their ratio less 20 ms; then the
//! geometric mean.

mod hard;
#[path = "../../tests/command/scramble.rs"]
mod scramble;
mod solid;

/// Where files go.
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

use coarsen::sparse::matrix_market::{self, Symmetry};
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

/// Seconds that do not count: those of a process of small systems.
const SMALL: f64 = 0.02;

fn main() {
    let mut words = std::env::args().skip(1).filter(|word| word != "--bench");
    let seed: u64 = words.next().map_or(1, |word| word.parse().expect("a seed"));
    let limit: f64 = words.next().map_or(20.0, |word| word.parse().expect("seconds"));
    let folder = Folder(Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("auto-{seed}")));
    std::fs::create_dir_all(&folder.0).expect("a folder for the results");
    println!("| system | n | auto | s | best | s | ratio |\n|---|---|---|---|---|---|---|");
    let mut ratios = Vec::new();
    let mut note = |name: &str, file: &dyn Fn() -> String, memory: Option<u32>| {
        if let Some(ratio) = row(&folder, name, file, memory, limit) {
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
            matrix_market::write(&path, &(hard.make)(seed), Symmetry::Detect).expect("room for a matrix");
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

/// A row of the table; `None` for a system that is not symmetric and possibly definite, or that nothing solves.
fn row(
    folder: &Folder,
    name: &str,
    file: &dyn Fn() -> String,
    memory: Option<u32>,
    limit: f64,
) -> Option<f64> {
    let report = folder.path(&format!("{name}.json"));
    if !report.exists() {
        let memory = memory.map(|mib| ["--memory".to_owned(), mib.to_string()]);
        let done = Command::new(env!("CARGO_BIN_EXE_coarsen"))
            .args(["compare", &file(), "--limit", &limit.to_string(), "--quiet", "--report"])
            .arg(&report)
            .args(memory.iter().flatten())
            .output()
            .expect("the command");
        if !report.exists() {
            println!("| {name} | {} |", String::from_utf8_lossy(&done.stderr).trim());
            return None;
        }
    }
    let table: Value = serde_json::from_slice(&std::fs::read(&report).expect("a report")).expect("JSON");
    let rows = table["rows"].as_array().expect("rows");
    let seconds = |row: &Value| row["total_seconds"].as_f64().unwrap_or(f64::INFINITY);
    let label = |row: &Value| format!("{} {}", row["method"], row["precond"]).replace('"', "");
    // Gradients need a matrix that may be definite: elsewhere nothing is bounded.
    rows.iter().find(|row| row["method"] == "cg")?;
    let (n, auto) = (&table["n"], table["auto_seconds"].as_f64().unwrap_or(f64::INFINITY));
    let word = |line: &Value| line.as_str().and_then(|line| line.split(':').next()).unwrap_or("?").to_owned();
    let took = format!("{} {}", word(&table["choice"][0]), word(&table["choice"][1]));
    let Some(best) = rows
        .iter()
        .filter(|row| row["outcome"] == "converged")
        .min_by(|p, q| seconds(p).total_cmp(&seconds(q)))
    else {
        println!("| {name} | {n} | {took}: {} | {auto:.3} | nothing converges | | |", table["auto_outcome"]);
        return None;
    };
    let ratio = ((auto - SMALL) / seconds(best)).max(auto.min(seconds(best)) / seconds(best));
    println!(
        "| {name} | {n} | {took}: {} | {auto:.3} | {} | {:.3} | {ratio:.2} |",
        table["auto_outcome"],
        label(best),
        seconds(best)
    );
    Some(ratio)
}
