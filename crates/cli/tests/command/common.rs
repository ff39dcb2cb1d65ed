//! Runs the binary, with a separate folder for each test.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

/// A folder that is deleted after the test.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("coarsen-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Writes a file and returns its path.
    pub(crate) fn file(&self, name: &str, text: &str) -> String {
        std::fs::write(self.path(name), text).unwrap();
        self.path(name).display().to_string()
    }

    /// Writes a coordinate file; indices count from 1.
    pub(crate) fn matrix(&self, name: &str, n: usize, entries: &[(usize, usize, f64)]) -> String {
        let mut text = format!("%%MatrixMarket matrix coordinate real general\n{n} {n} {}\n", entries.len());
        entries.iter().for_each(|(i, j, v)| text += &format!("{i} {j} {v:e}\n"));
        self.file(name, &text)
    }

    /// Writes an array file with one column.
    pub(crate) fn vector(&self, name: &str, values: &[f64]) -> String {
        let mut text = format!("%%MatrixMarket matrix array real general\n{} 1\n", values.len());
        values.iter().for_each(|v| text += &format!("{v:e}\n"));
        self.file(name, &text)
    }

    /// Writes a ring of springs, which is nearly singular, and indefinite after rounding to f32, and a load.
    /// Returns both as arguments of the command.
    pub(crate) fn spoilt_by_rounding(&self) -> String {
        const N: usize = 2000;
        const STEP: f64 = f32::EPSILON as f64;
        let mut entries = Vec::new();
        for i in 0..N {
            // Every second spring is rounded up, and the diagonal down.
            let (next, spring) = ((i + 1) % N, if i % 2 == 0 { 1.0 } else { 1.0 + 0.6 * STEP });
            entries.push((i + 1, i + 1, 2.0 + 0.6 * STEP + 1e-9));
            entries.extend([(i + 1, next + 1, -spring), (next + 1, i + 1, -spring)]);
        }
        let load: Vec<f64> = (0..N).map(|i| if 2 * i < N { 1.0 } else { -1.0 }).collect();
        format!("{} --rhs {}", self.matrix("ring.mtx", N, &entries), self.vector("load.mtx", &load))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// How the command ended.
pub(crate) struct Done {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Runs `coarsen` with words separated by spaces.
pub(crate) fn coarsen(words: &str) -> Done {
    fed(words, b"")
}

/// Runs `coarsen` with `input` on the standard input.
pub(crate) fn fed(words: &str, input: &[u8]) -> Done {
    let mut child = Command::new(env!("CARGO_BIN_EXE_coarsen"))
        .args(words.split_whitespace())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let _ = child.stdin.take().unwrap().write_all(input); // the command may end before it has read everything
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Done { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
}

/// Solves with a report in the folder, and returns both.
pub(crate) fn solve(folder: &Folder, words: &str) -> (Done, Value) {
    let report = folder.path("report.json");
    let done = coarsen(&format!("solve {words} --report {}", report.display()));
    let report = json(&report).unwrap_or_else(|| panic!("{words}: no report; {}", done.err));
    (done, report)
}

/// The number of iterations of all attempts.
pub(crate) fn iterations(report: &Value) -> u64 {
    let of = |part: &Value| part["iterations"].as_u64().unwrap();
    of(report) + report["attempts"].as_array().unwrap().iter().map(of).sum::<u64>()
}

/// The seconds of setup and solve of all attempts, of a report or a row.
pub(crate) fn seconds(report: &Value) -> f64 {
    let of = |part: &Value| part["setup_seconds"].as_f64().unwrap() + part["solve_seconds"].as_f64().unwrap();
    of(report) + report["attempts"].as_array().unwrap().iter().map(of).sum::<f64>()
}

pub(crate) fn json(file: &Path) -> Option<Value> {
    serde_json::from_str(&std::fs::read_to_string(file).ok()?).ok()
}
