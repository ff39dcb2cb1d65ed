//! Every option that `--help` lists changes what the program prints or draws, or is refused.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A folder that is deleted after the test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("heat-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        for (name, z) in [("a.obj", 0.3), ("b.obj", 0.6)] {
            let text = format!("v 0 0 0\nv 1 0 0\nv 1 1 {z}\nv 0 1 0\nv 2 1 0\nf 1 2 3 4\nf 2 5 3\n");
            std::fs::write(folder.join(name), text).unwrap();
        }
        Self(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn heat(folder: &Path, words: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_heat"))
        .args(words.split_whitespace())
        .current_dir(folder)
        .output()
        .unwrap()
}

/// What a run prints and draws.
fn traces(words: &str) -> Vec<String> {
    let folder = Folder::new();
    let output = heat(&folder.0, words);
    let mut all = vec![format!("{:?}", output.status.code())];
    all.extend([output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap()));
    let mut hasher = DefaultHasher::new();
    std::fs::read(folder.0.join("heat.png")).ok().hash(&mut hasher);
    all.push(hasher.finish().to_string());
    all
}

#[test]
fn options_have_an_effect() {
    let help = String::from_utf8(heat(Path::new("."), "--help").stdout).unwrap();
    let listed = help.lines().filter_map(|line| line.trim_start().strip_prefix("--")?.split(' ').next());
    let listed: BTreeSet<&str> = listed.collect();
    let cases = [
        ("steady", "--grid 12 --steps 5", "--steady"),
        ("mesh", "--mesh a.obj --steps 1", "--mesh b.obj --steps 1"),
        ("grid", "--grid 12 --steps 1", "--grid 13 --steps 1"),
        ("steps", "--grid 12 --steps 1", "--grid 12 --steps 2"),
        ("dt", "--grid 12 --steps 1", "--dt 0.01"),
        ("beta", "--grid 12 --steps 1", "--beta 0.1"),
        ("azimuth", "--mesh a.obj --steps 1", "--azimuth 10"),
        ("out", "--grid 12 --steps 1", "--out no/such/folder"),
        ("backend", "--grid 12 --steps 1", "--backend opencl:99"),
    ];
    // The bits do not depend on the number of threads.
    let tested: BTreeSet<&str> = cases.iter().map(|case| case.0).chain(["threads"]).collect();
    assert_eq!(listed, tested);
    let mut runs = BTreeMap::new();
    for (option, run, change) in cases {
        let first = run.split(' ').next();
        let changed = match first == change.split(' ').next() {
            true => change.to_owned(),
            false => format!("{run} {change}"),
        };
        let base = runs.entry(run).or_insert_with(|| traces(run));
        assert_ne!(*base, traces(&changed), "--{option}");
    }
}

/// Options that a run would ignore.
#[test]
fn idle_options_are_refused() {
    for (words, option) in [
        ("--mesh a.obj --grid 12", "--grid"),
        ("--steady --dt 0.1", "--dt"),
        ("--grid 12 --azimuth 10", "--azimuth"),
        ("--threads many", "--threads"),
    ] {
        let folder = Folder::new();
        let output = heat(&folder.0, words);
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && told.contains(option), "{words}: {told}");
    }
}
