//! Every option that `--help` lists changes what the command prints or writes, or is refused.

use serde_json::Value;

use crate::jobs::command;
use crate::listed::{Case, Folder, check, listed};

/// A row of nodes, vectors of its unknowns, coordinates of pairs of them, and the rank of each node.
fn files(folder: &Folder) {
    let n = 60;
    let write = |name: &str, text: String| std::fs::write(folder.0.join(name), text).unwrap();
    let array = |columns: usize, values: &mut dyn Iterator<Item = f64>| {
        let values: Vec<String> = values.map(|v| format!("{v:e}\n")).collect();
        format!(
            "%%MatrixMarket matrix array real general\n{} {columns}\n{}",
            values.len() / columns,
            values.concat()
        )
    };
    let inside = (1..=n).map(|i| format!("{i} {i} {}\n", 2.0 + 1.0 / f64::from(i % 7 + 1)));
    let beside = (2..=n).map(|i| format!("{i} {} -1\n", i - 1));
    let entries: Vec<String> = inside.chain(beside).collect();
    let head = format!("%%MatrixMarket matrix coordinate real symmetric\n{n} {n} {}\n", entries.len());
    write("a.mtx", head + &entries.concat());
    write("v.mtx", array(1, &mut (0..n).map(|i| f64::from(i % 5) - 2.0)));
    write("xyz.mtx", array(3, &mut (0..3 * n / 2).map(f64::from)));
    write("parts.txt", (0..n).map(|i| format!("{}\n", i32::from(i < 20))).collect());
}

/// What a run on two ranks prints and writes, without times: of a report, what the solve has done.
fn traces(words: &str) -> Vec<String> {
    let folder = Folder::new();
    files(&folder);
    let is_file = |word: &str| [".mtx", ".txt", ".json"].iter().any(|end| word.ends_with(end));
    let placed =
        |word: &str| if is_file(word) { folder.0.join(word).display().to_string() } else { word.to_owned() };
    let words: Vec<String> = words.split_whitespace().map(placed).collect();
    let (code, text) = command(2, &words.join(" "));
    let mut all = vec![format!("code {code:?}")];
    all.extend(text.lines().filter(|line| line.starts_with("error")).map(str::to_owned));
    all.push(format!("{} lines", text.lines().count()));
    let written = std::fs::read_dir(&folder.0).unwrap().map(|entry| entry.unwrap().file_name());
    all.extend(written.map(|name| format!("file {}", name.display())));
    if let Ok(text) = std::fs::read_to_string(folder.0.join("r.json")) {
        let report: Value = serde_json::from_str(&text).unwrap();
        all.extend(["n", "block_size", "history", "outcome"].map(|field| report[field].to_string()));
        // Between two ranks all orders are one; the best is chosen after a measurement.
        all.push(format!("measured: {}", !report["schedule"]["measured"].is_null()));
        for (list, fields) in [
            ("ranks", ["rows", "halo", "bytes", "messages"]),
            ("stages", ["stage", "bytes", "messages", "calls"]),
        ] {
            let lines = report[list].as_array().unwrap().iter();
            all.extend(lines.map(|line| fields.map(|field| line[field].to_string()).join(" ")));
        }
    }
    all.sort();
    all
}

pub(crate) fn all() {
    let sa = "@ --problem elasticity3d:6 --precond sa --sa-gather 100";
    let mas = "@ --problem elasticity3d:6 --precond mas --mas-gather 100";
    let cases: [Case; 32] = [
        ("problem", "@ --problem poisson2d:12", "@ --problem poisson2d:13"),
        ("dt", "@ --problem cloth:8", "--dt 0.05"),
        ("jump", "@ --problem elasticity3d:5", "--jump 1000"),
        ("rhs", "@ a.mtx", "--rhs ones"),
        ("block-size", "@ a.mtx", "--block-size 4"),
        ("x0", "@ a.mtx", "--x0 v.mtx"),
        ("coordinates", "@ a.mtx", "--coordinates xyz.mtx"),
        ("near-kernel", "@ a.mtx --precond sa --sa-gather 4", "--near-kernel v.mtx"),
        ("partition", "@ --problem graph:300", "--partition morton"),
        ("parts", "@ a.mtx", "--parts parts.txt"),
        ("method", "@ a.mtx", "--method minres"),
        ("precond", "@ a.mtx", "--precond none"),
        ("sa-theta", "@ --problem anisotropic2d:30 --precond sa --sa-gather 50", "--sa-theta 0.01"),
        ("sa-spread", sa, "--sa-spread 2"),
        ("sa-levels", sa, "--sa-levels 1"),
        ("sa-gather", sa, "@ --problem elasticity3d:6 --precond sa"),
        ("mas-domain", mas, "--mas-domain 4"),
        ("mas-levels", mas, "--mas-levels 1"),
        ("mas-coupling", mas, "--mas-coupling 0.9"),
        ("mas-precision", mas, "--mas-precision f64"),
        ("mas-gather", "@ --problem elasticity3d:6 --precond mas --mas-domain 4", "--mas-gather 1"),
        ("backend", "@ a.mtx", "--backend opencl --device 99"),
        ("device", "@ a.mtx", "--device 0"),
        ("product", "@ a.mtx", "--product blocking"),
        ("schedule", "@ a.mtx --product pipelined", "--schedule best"),
        ("leaf", "@ a.mtx --product reproducible", "--leaf 4"),
        ("deadline", "@ a.mtx", "--deadline 1e-6"),
        ("tol", "@ a.mtx", "--tol 1e-3"),
        ("max-iterations", "@ a.mtx", "--max-iterations 2"),
        ("out", "@ a.mtx", "--out x.mtx"),
        ("report", "solve a.mtx", "--report r.json"),
        ("quiet", "@ a.mtx", "--quiet"),
    ];
    let (_, help) = command(1, "solve --help");
    let mut listed = listed(help.as_bytes());
    assert!(listed.remove("threads")); // the bits do not depend on their number
    check("coarsen-mpi", &listed, "solve --report r.json", &cases, traces);
}
