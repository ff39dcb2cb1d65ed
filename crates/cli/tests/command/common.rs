//! Runs the binary, with a separate folder for each test.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use coarsen::LinearOperator;
use coarsen::sparse::Bsr;
use serde_json::Value;

pub(crate) use crate::flags_of_help::Folder;

impl Folder {
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

/// How the command ended.
pub(crate) struct Done {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Done {
    fn of(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
    }
}

/// `coarsen` with words separated by spaces.
pub(crate) fn command(words: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_coarsen"));
    command.args(words.split_whitespace());
    command
}

/// Runs a command.
pub(crate) fn ended(command: &mut Command) -> Done {
    Done::of(command.output().unwrap())
}

/// Runs `coarsen` with words separated by spaces.
pub(crate) fn coarsen(words: &str) -> Done {
    fed(words, b"")
}

/// Runs `coarsen` with `input` on the standard input.
pub(crate) fn fed(words: &str, input: &[u8]) -> Done {
    let piped = Stdio::piped;
    let mut child = command(words).stdin(piped()).stdout(piped()).stderr(piped()).spawn().unwrap();
    let _ = child.stdin.take().unwrap().write_all(input); // the command may end before it has read everything
    Done::of(child.wait_with_output().unwrap())
}

/// As [`coarsen`], which must succeed.
#[track_caller]
pub(crate) fn succeeds(words: &str) -> Done {
    let done = coarsen(words);
    assert_eq!(done.code, 0, "{words}: {}{}", done.out, done.err);
    done
}

/// As [`succeeds`], with the text `told` on the standard output.
#[track_caller]
pub(crate) fn prints(words: &str, told: &str) -> Done {
    let done = succeeds(words);
    assert!(done.out.contains(told), "{words}: {told}: {}", done.out);
    done
}

/// As [`coarsen`], which must end with `code` and an error that contains `told`.
#[track_caller]
pub(crate) fn fails(words: &str, code: i32, told: &str) -> Done {
    let done = coarsen(words);
    assert!(done.code == code && done.err.contains(told), "{words}: {told}: {} {}", done.code, done.err);
    done
}

/// As [`solve`], which must succeed.
#[track_caller]
pub(crate) fn solves(folder: &Folder, words: &str) -> (Done, Value) {
    let (done, report) = solve(folder, words);
    assert_eq!(done.code, 0, "{words}: {}", done.err);
    (done, report)
}

/// As [`solve`], which must end with `code` and `outcome`.
#[track_caller]
pub(crate) fn ends(folder: &Folder, words: &str, code: i32, outcome: &str) -> (Done, Value) {
    let (done, report) = solve(folder, words);
    assert_eq!((done.code, report["outcome"].as_str()), (code, Some(outcome)), "{words}: {}", done.err);
    (done, report)
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

/// Entries (row, column, value) of a matrix; indices count from 1.
pub(crate) type Entries = Vec<(usize, usize, f64)>;

/// The tridiagonal matrix with `d` on the diagonal and −1 off it.
pub(crate) fn chain(n: usize, d: f64) -> Entries {
    let beside = (1..n).flat_map(|i| [(i, i + 1, -1.0), (i + 1, i, -1.0)]);
    (1..=n).map(|i| (i, i, d)).chain(beside).collect()
}

/// A ring of `n` nodes with `d` on the diagonal, and the couplings to the next node and to the one before.
pub(crate) fn ring(n: usize, d: f64, [next, before]: [f64; 2]) -> Entries {
    (1..=n).flat_map(|i| [(i, i, d), (i, i % n + 1, next), (i % n + 1, i, before)]).collect()
}

/// Convection on a grid of n x n nodes by central differences, with a flow along both axes.
pub(crate) fn central(n: usize, [right, down]: [f64; 2]) -> Entries {
    let at = |i: usize, j: usize| i * n + j + 1;
    let mut entries = Vec::new();
    for (i, j) in (0..n * n).map(|row| (row / n, row % n)) {
        entries.push((at(i, j), at(i, j), 4.0));
        if j + 1 < n {
            entries.extend([(at(i, j), at(i, j + 1), right - 1.0), (at(i, j + 1), at(i, j), -right - 1.0)]);
        }
        if i + 1 < n {
            entries.extend([(at(i, j), at(i + 1, j), down - 1.0), (at(i + 1, j), at(i, j), -down - 1.0)]);
        }
    }
    entries
}

/// ‖b − A x‖ / ‖b‖ by plain loops.
pub(crate) fn residual(a: &Bsr<f64>, b: &[f64], x: &[f64]) -> f64 {
    let mut r = vec![0.0; b.len()];
    a.apply(&x.to_vec(), &mut r);
    let norm = |v: &mut dyn Iterator<Item = f64>| v.map(|v| v * v).sum::<f64>().sqrt();
    norm(&mut r.iter().zip(b).map(|(r, b)| b - r)) / norm(&mut b.iter().copied())
}
