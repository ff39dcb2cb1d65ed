//! The tables of the command and its report as JSON.

use std::path::PathBuf;

use serde_json::Value;

use crate::jobs::command;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("coarsen-mpi-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What the command prints, and its report.
fn solve(ranks: usize, words: &str, folder: &Folder) -> (String, Value) {
    let file = folder.0.join("report.json");
    let (code, text) = command(ranks, &format!("solve {words} --report {}", file.display()));
    assert_eq!(code, Some(0), "{text}");
    let report = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    (text, report)
}

fn total(list: &Value, field: &str) -> f64 {
    list.as_array().unwrap().iter().map(|one| one[field].as_f64().unwrap()).sum()
}

/// The tables have the messages of all ranks, also those of stages that rank 0 does not have: of three ranks the first
/// has no neighbour, and so no halo.
pub(crate) fn stages() {
    let folder = Folder::new("stages");
    let n = 30;
    let mut entries: Vec<_> = (1..=n).map(|i| format!("{i} {i} 4")).collect();
    entries.extend((n / 3 + 2..=n).map(|i| format!("{i} {} -1", i - 1)));
    let head = format!("%%MatrixMarket matrix coordinate real symmetric\n{n} {n} {}\n", entries.len());
    let matrix = folder.0.join("A.mtx");
    std::fs::write(&matrix, head + &entries.join("\n") + "\n").unwrap();
    let (text, report) = solve(3, &format!("{} --precond jacobi", matrix.display()), &folder);
    assert_eq!(report["ranks"][0]["halo"], 0, "rank 0 has no neighbour: {text}");
    let stages: Vec<_> =
        report["stages"].as_array().unwrap().iter().map(|one| one["stage"].as_str()).collect();
    assert!(stages.contains(&Some("a halo exchange")) && stages.is_sorted(), "{stages:?}");
    assert!(text.contains("\na halo exchange "), "{text}");
    for field in ["messages", "bytes"] {
        assert_eq!(total(&report["stages"], field), total(&report["ranks"], field), "{field}: {text}");
    }
}
