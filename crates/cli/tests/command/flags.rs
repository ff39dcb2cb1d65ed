//! Every option that `--help` lists has an effect on what a command prints or writes, or is refused.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::common::{Folder, central, coarsen, command, ended, ring};
use crate::flags_of_help::{self, Case};

/// The options of a command, by its help.
fn listed(command: &str) -> BTreeSet<String> {
    flags_of_help::listed(coarsen(&format!("{command} --help")).out.as_bytes())
}

/// Checks the cases of a command.
fn check(command: &str, words: &str, cases: &[Case]) {
    flags_of_help::check(command, &listed(command), words, cases, traces);
}

/// What a run prints and writes in an empty folder, without times and bytes, in alphabetical order: rows of a comparison
/// are ordered by time.
fn traces(words: &str) -> Vec<String> {
    let folder = Folder::new();
    files(&folder);
    if words.contains("central.mtx") {
        folder.matrix("central.mtx", 50 * 50, &central(50, [40.0, 25.0])); // which auto factorises
    }
    let before: BTreeSet<_> = names(&folder);
    let mut run = command(words);
    let run = run.current_dir(folder.path("")).env_remove("COARSEN_BACKEND").env_remove("COARSEN_DATA");
    let done = ended(run);
    let mut all = vec![format!("code {}", done.code)];
    all.extend(names(&folder).difference(&before).map(|name| format!("file {name}")));
    let measured = |word: &&str| {
        let number = word.trim_matches([',', ';', '*', '(', ')']);
        number.contains('.') && number.parse::<f64>().is_ok() && !number.contains('e')
    };
    for text in [&done.out, &done.err] {
        // Whether a run takes so long that it tells its progress depends on the machine.
        let is_progress = |line: &&str| {
            let seconds = line.split_once(" s: ").and_then(|(seconds, _)| seconds.parse::<f64>().ok());
            seconds.is_some() && !words.contains("--progress")
        };
        for line in text.lines().filter(|line| !is_progress(line)) {
            let line = line.split(" MiB peak").next().unwrap();
            let line = match line.split_once(" peak memory") {
                Some(_) => line.rsplit_once(',').map_or(line, |(front, _)| front),
                None => line,
            };
            let line = line
                .rsplit_once(", ")
                .filter(|_| line.starts_with("solve  "))
                .map_or(line, |(front, _)| front);
            let words: Vec<&str> = line.split_whitespace().filter(|word| !measured(word)).collect();
            all.push(words.join(" ").replace('*', ""));
        }
    }
    // The history of a residual tells of every change of the solve.
    if let Ok(text) = std::fs::read_to_string(folder.path("r.json")) {
        let report: serde_json::Value = serde_json::from_str(&text).unwrap();
        all.extend(["history", "threads", "precision"].map(|field| report[field].to_string()));
        let rows = report["rows"].as_array().into_iter().flatten();
        all.extend(rows.map(|row| format!("{} {} {}", row["method"], row["precond"], row["history"])));
    }
    for name in names(&folder).difference(&before).filter(|name| name.ends_with(".png")) {
        let mut hasher = DefaultHasher::new();
        std::fs::read(folder.path(name)).unwrap().hash(&mut hasher);
        all.push(format!("{name} {:x}", hasher.finish()));
    }
    all.sort();
    all
}

fn names(folder: &Folder) -> BTreeSet<String> {
    let list = |folder: std::path::PathBuf| std::fs::read_dir(folder).into_iter().flatten();
    let of = |entry: std::fs::DirEntry| {
        let name = entry.file_name().into_string().unwrap();
        let inside = list(entry.path()).map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let inside: Vec<_> = inside.map(|file| format!("{name}/{file}")).collect();
        std::iter::once(name).chain(inside)
    };
    list(folder.path("")).flat_map(|entry| of(entry.unwrap())).collect()
}

/// The files that options name.
fn files(folder: &Folder) {
    let n = 240;
    let chain = |skew: f64| -> Vec<(usize, usize, f64)> {
        let beside = (1..n).flat_map(|i| [(i, i + 1, -1.0 - skew), (i + 1, i, -1.0)]);
        (1..=n).map(|i| (i, i, 2.0 + 1.0 / (i % 7 + 1) as f64)).chain(beside).collect()
    };
    folder.matrix("a.mtx", n, &chain(0.0));
    folder.matrix("almost.mtx", n, &chain(1e-7));
    folder.matrix("contact.mtx", n, &[(1, 1, 50.0), (9, 9, 50.0), (1, 9, -50.0), (9, 1, -50.0)]);
    folder.matrix("ring.mtx", n, &ring(n, 2.0, [-1.0; 2]));
    folder.vector("v.mtx", &(0..n).map(|i| f64::from(i as u32 % 5) - 2.0).collect::<Vec<_>>());
    folder.vector("xyz.mtx", &(0..n / 2).map(|i| i as f64).collect::<Vec<_>>());
    folder.file("minres.toml", "method = \"minres\"\n");
    folder.file("blocks.toml", "block-size = 4\n");
    folder.file(
        "body.mesh",
        "MeshVersionFormatted 2\nDimension 3\nVertices 5\n0 0 0 0\n1 0 0 0\n0 1 0 0\n0 0 1 0\n1 1 1 0\n\
         Tetrahedra 2\n1 2 3 4 0\n2 3 4 5 0\nEnd\n",
    );
}

/// For each option: a run, and words that change it. `@` is the command with the words that all its runs have.
const SYSTEM: [Case; 34] = [
    ("problem", "@ --problem poisson2d:12", "@ --problem poisson2d:13"),
    ("dt", "@ --problem cloth:8", "--dt 0.05"),
    ("jump", "@ --problem elasticity3d:5", "--jump 1000"),
    ("share", "@ --problem pinned:8", "--share 0.6"),
    ("contact", "@ a.mtx", "--contact contact.mtx"),
    ("coordinates", "@ a.mtx", "--coordinates xyz.mtx"),
    ("block-size", "@ a.mtx", "--block-size 4"),
    ("null-space", "@ ring.mtx", "--null-space constants"),
    ("near-kernel", "@ a.mtx --precond sa --sa-coarse-size 9", "--near-kernel v.mtx"),
    ("memory", "@ central.mtx", "--memory 0"),
    ("symmetrize", "@ almost.mtx --method cg", "--symmetrize"),
    ("sa-theta", "@ --problem anisotropic2d:40 --precond sa --sa-coarse-size 30", "--sa-theta 0.01"),
    ("sa-cycle", "@ --problem elasticity3d:6 --precond sa --sa-coarse-size 30", "--sa-cycle w"),
    ("sa-smoother", "@ --problem elasticity3d:6 --precond sa --sa-coarse-size 30", "--sa-smoother chebyshev"),
    ("sa-spread", "@ --problem elasticity3d:6 --precond sa --sa-coarse-size 30", "--sa-spread 2"),
    ("sa-levels", "@ --problem elasticity3d:6 --precond sa --sa-coarse-size 30", "--sa-levels 1"),
    ("sa-coarse-size", "@ --problem elasticity3d:6 --precond sa", "--sa-coarse-size 30"),
    ("sa-modes", "@ --problem elasticity3d:6 --precond sa --sa-coarse-size 30", "--sa-modes constants"),
    ("rs-theta", "@ --problem anisotropic2d:40 --precond rs", "--rs-theta 0"),
    ("rs-interpolation", "@ --problem anisotropic2d:40 --precond rs", "--rs-interpolation classical"),
    ("mas-domain", "@ --problem elasticity3d:6 --precond mas", "--mas-domain 4"),
    ("mas-levels", "@ --problem elasticity3d:6 --precond mas --mas-coarse domains", "--mas-levels 1"),
    ("mas-exact", "@ --problem elasticity3d:6 --precond mas", "--mas-exact 0"),
    ("mas-coarse", "@ --problem elasticity3d:6 --precond mas", "--mas-coarse domains"),
    ("mas-hybrid", "@ --problem elasticity3d:6 --precond mas", "--mas-hybrid"),
    ("mas-modes", "@ --problem elasticity3d:6 --precond mas", "--mas-modes rigid"),
    ("mas-weights", "@ --problem elasticity3d:6 --precond mas", "--mas-weights energy"),
    ("mas-order", "@ --problem elasticity3d:6 --precond mas --mas-domain 4", "--mas-order natural"),
    ("mas-coupling", "@ --problem elasticity3d:6 --precond mas --mas-domain 4", "--mas-coupling adjacency"),
    ("mas-precision", "@ --problem elasticity3d:6 --precond mas", "--mas-precision f64"),
    ("as-domain", "@ --problem elasticity3d:6 --precond as", "--as-domain 4"),
    ("as-overlap", "@ --problem elasticity3d:6 --precond as", "--as-overlap 3"),
    ("as-inner", "@ --problem elasticity3d:6 --precond as", "--as-inner sweeps"),
    (
        "skinning-control-points",
        "@ --problem elasticity3d:8 --precond skinning",
        "--skinning-control-points 60,6",
    ),
];

const SOLVE: [Case; 21] = [
    (
        "skinning-sampling",
        "@ --problem elasticity3d:10 --jump 1e4 --precond skinning",
        "--skinning-sampling stiffness",
    ),
    ("rhs", "@ a.mtx --method cg", "--rhs ones"),
    ("x0", "@ a.mtx --method cg", "--x0 v.mtx"),
    ("threads", "@ a.mtx", "solve --threads 1 --report r.json a.mtx"),
    ("tol", "@ a.mtx --method cg", "--tol 1e-3"),
    ("atol", "@ a.mtx --method cg", "--atol 0.1"),
    ("max-iterations", "@ a.mtx --method cg --precond none", "--max-iterations 2"),
    ("time-limit", "@ a.mtx --method cg --precond none", "--time-limit 1e-9"),
    ("options", "@ a.mtx", "--options minres.toml"),
    ("progress", "@ --problem elasticity3d:14 --method cg", "--progress 1e-4"),
    ("method", "@ a.mtx", "--method minres"),
    ("precond", "@ a.mtx --method cg", "--precond jacobi"),
    ("backend", "@ a.mtx", "--backend opencl:99"),
    ("precision", "@ a.mtx --method cg --precond jacobi --tol 1e-4", "--precision f32"),
    (
        "steps",
        "@ --problem stack:5 --steps 2",
        "solve --threads 2 --report r.json --problem stack:5 --steps 3",
    ),
    ("update", "@ --problem stack:5 --steps 3", "--update build"),
    ("out", "@ a.mtx", "--out x.mtx"),
    ("report", "solve a.mtx", "--report r.json"),
    ("plot", "@ a.mtx", "--plot p.svg"),
    ("dump", "@ a.mtx", "--dump d"),
    ("quiet", "@ a.mtx", "--quiet"),
];

#[test]
fn options_of_solve_have_an_effect() {
    check("solve", "solve --threads 2 --report r.json", &[&SYSTEM[..], &SOLVE].concat());
}

/// A sequence of systems takes fewer options, and refuses the others.
#[test]
fn options_of_sequences_have_an_effect() {
    const SEQUENCE: &str =
        "solve --threads 2 --report r.json --steps 2 --update build --problem cloth-contact:9";
    const SA: &str = "@ --precond sa --sa-coarse-size 30";
    let cases = [
        (
            "problem",
            "@ --precond mas",
            "solve --threads 2 --report r.json --steps 2 --update build --problem cloth-contact:10 --precond mas",
        ),
        ("dt", "@ --precond mas", "--dt 0.05"),
        ("rhs", "@ --precond mas", "--rhs ones"),
        ("sa-theta", SA, "--sa-theta 0.3"),
        ("sa-cycle", SA, "--sa-cycle w"),
        ("sa-smoother", SA, "--sa-smoother chebyshev"),
        ("sa-spread", SA, "--sa-spread 2"),
        ("sa-levels", SA, "--sa-levels 1"),
        ("sa-coarse-size", "@ --precond sa", "--sa-coarse-size 30"),
        ("sa-modes", SA, "--sa-modes found:6"),
        ("mas-domain", "@ --precond mas", "--mas-domain 4"),
        ("mas-levels", "@ --precond mas --mas-coarse domains --mas-domain 4", "--mas-levels 1"),
        ("mas-exact", "@ --precond mas", "--mas-exact 0"),
        ("mas-coarse", "@ --precond mas --mas-domain 4", "--mas-coarse sa"),
        ("mas-hybrid", "@ --precond mas", "--mas-hybrid"),
        ("mas-modes", "@ --precond mas", "--mas-modes rigid"),
        ("mas-weights", "@ --precond mas", "--mas-weights energy"),
        ("mas-order", "@ --precond mas --mas-domain 4", "--mas-order natural"),
        ("mas-coupling", "@ --precond mas --mas-domain 4", "--mas-coupling adjacency"),
        ("mas-precision", "@ --precond mas", "--mas-precision f64"),
        ("as-domain", "@ --precond as", "--as-domain 4"),
        ("as-overlap", "@ --precond as", "--as-overlap 3"),
        ("as-inner", "@ --precond as", "--as-inner sweeps"),
        ("skinning-control-points", "@ --precond skinning", "--skinning-control-points 20,6"),
        (
            "skinning-sampling",
            "@ --precond skinning --skinning-control-points 20,6",
            "--skinning-sampling stiffness",
        ),
        (
            "threads",
            "@ --precond mas",
            "solve --threads 1 --report r.json --steps 2 --update build --problem cloth-contact:9 --precond mas",
        ),
        ("tol", "@ --precond mas", "--tol 1e-3"),
        ("atol", "@ --precond mas", "--atol 0.1"),
        ("max-iterations", "@ --precond mas", "--max-iterations 2"),
        (
            "precond",
            "@ --precond mas",
            "solve --threads 2 --report r.json --steps 2 --update build --problem cloth-contact:9 --precond jacobi",
        ),
        ("precision", "@ --precond ic0", "--precision mixed"),
        (
            "steps",
            "@ --precond mas",
            "solve --threads 2 --report r.json --steps 3 --update build --problem cloth-contact:9 --precond mas",
        ),
        (
            "update",
            "@ --precond mas",
            "solve --threads 2 --report r.json --steps 2 --update update --problem cloth-contact:9 --precond mas",
        ),
        (
            "report",
            "@ --precond mas",
            "solve --threads 2 --steps 2 --update build --problem cloth-contact:9 --precond mas",
        ),
        ("plot", "@ --precond mas", "--plot p.svg"),
        (
            "progress",
            "solve --threads 2 --report r.json --steps 2 --update build --problem cloth-contact:30 --precond mas",
            "--progress 1e-4",
        ),
        ("quiet", "@ --precond mas", "--quiet"),
    ];
    let mut listed = listed("solve");
    // Any error would count as an effect, so the message of each refusal is checked.
    for (option, change) in [
        ("jump", "--jump 1000"),
        ("share", "--share 0.6"),
        ("contact", "--contact contact.mtx"),
        ("coordinates", "--coordinates xyz.mtx"),
        ("x0", "--x0 v.mtx"),
        ("rs-theta", "--rs-theta 0.5"),
        ("rs-interpolation", "--rs-interpolation modified"),
        ("block-size", "--block-size 3"),
        ("near-kernel", "--near-kernel v.mtx"),
        ("null-space", "--null-space constants"),
        ("memory", "--memory 64"),
        ("symmetrize", "--symmetrize"),
        ("options", "--options minres.toml"),
        ("method", "--method minres"),
        ("backend", "--backend opencl:99"),
        ("time-limit", "--time-limit 9"),
        ("out", "--out x.mtx"),
        ("dump", "--dump d"),
    ] {
        assert!(listed.remove(option), "--{option}");
        let told = traces(&format!("{SEQUENCE} --precond mas {change}"));
        let named = match option {
            "options" => "--method".to_owned(), // of the file
            "jump" | "share" => format!("takes no option `{option}`"),
            _ => format!("--{option}"),
        };
        let refused = told.iter().any(|line| line.starts_with("error: ") && line.contains(&named));
        assert!(refused && told.contains(&"code 2".to_owned()), "{change}: {told:#?}");
    }
    flags_of_help::check("a sequence", &listed, SEQUENCE, &cases, traces);
}

/// Preconditioners with options of their own, whose names begin with that of the preconditioner.
const FAMILIES: [&str; 5] = ["sa", "rs", "mas", "as", "skinning"];

#[test]
fn options_of_preconditioners_are_refused_beside_others() {
    for (option, run, change) in SYSTEM.iter().chain(&SOLVE) {
        let Some((family, _)) = option.split_once('-') else { continue };
        if !FAMILIES.contains(&family) {
            continue;
        }
        let other = run
            .replace(&format!("--precond {family}"), "--precond jacobi")
            .replace("--sa-coarse-size 30", "");
        let other = ["--mas-coarse domains", "--mas-domain 4"]
            .iter()
            .fold(other, |words, own| words.replace(own, ""));
        for command in ["solve --method cg", "info"] {
            if command == "info" && ["sa", "skinning"].contains(&family) {
                continue; // `auto` may choose it
            }
            let other = match command {
                "info" => other.replace("--precond jacobi", ""),
                _ => other.clone(),
            };
            let told = traces(&format!("{} {change}", other.replace('@', command)));
            let refused =
                told.iter().any(|line| line.contains(&format!("--{option} is an option of --precond")));
            assert!(refused && told.contains(&"code 2".to_owned()), "--{option}: {told:#?}");
        }
    }
}

/// Tests one option of each preconditioner; `options_of_solve_have_an_effect` tests all.
#[test]
fn options_of_compare_have_an_effect() {
    const FIRST: [&str; 5] =
        ["sa-cycle", "rs-interpolation", "mas-domain", "as-domain", "skinning-control-points"];
    let is_other = |case: &Case| {
        let is_of_one = case.0.split_once('-').is_some_and(|(family, _)| FAMILIES.contains(&family));
        is_of_one && !FIRST.contains(&case.0)
    };
    let (others, cases): (Vec<Case>, Vec<Case>) = cases_of_compare().into_iter().partition(is_other);
    let mut listed = listed("compare");
    others.iter().for_each(|(option, ..)| assert!(listed.remove(*option), "--{option}"));
    flags_of_help::check("compare", &listed, COMPARE, &cases, traces);
}

#[test]
#[ignore = "20 s: run by .ci/full"]
fn long_options_of_compare_have_an_effect() {
    check("compare", COMPARE, &cases_of_compare());
}

const COMPARE: &str = "compare --threads 2 --report r.json";

fn cases_of_compare() -> Vec<Case> {
    let own = [
        ("skinning-sampling", "@ --problem elasticity3d:10 --jump 1e4", "--skinning-sampling stiffness"),
        ("rhs", "@ a.mtx", "--rhs ones"),
        ("x0", "@ a.mtx", "--x0 v.mtx"),
        ("threads", "@ a.mtx", "compare --threads 1 --report r.json a.mtx"),
        ("tol", "@ a.mtx", "--tol 1e-3"),
        ("atol", "@ a.mtx", "--atol 0.1"),
        ("max-iterations", "@ a.mtx", "--max-iterations 2"),
        ("options", "@ a.mtx", "--options blocks.toml"),
        ("progress", "@ --problem elasticity3d:6", "--progress 1e-4"),
        ("backend", "@ a.mtx", "--backend opencl:99"),
        ("time-limit", "@ a.mtx", "--time-limit 1e-9"),
        ("report", "compare a.mtx", "--report r.json"),
        ("plot", "@ a.mtx", "--plot p.svg"),
        ("quiet", "@ a.mtx", "--quiet"),
    ];
    let smaller = without_precond(&SYSTEM)
        .into_iter()
        .map(|(option, run, change)| {
            (option, run.replace("elasticity3d:6", "elasticity3d:4").leak() as &str, change)
        })
        .collect::<Vec<_>>();
    [&smaller[..], &own].concat()
}

/// The same cases, for commands without `--precond` and `--method`.
fn without_precond(cases: &[Case]) -> Vec<Case> {
    let words = |run: &str| {
        let words: Vec<&str> = run.split_whitespace().collect();
        let at = words.iter().position(|word| ["--precond", "--method"].contains(word));
        let kept = words.iter().enumerate().filter(|(k, _)| at.is_none_or(|at| *k != at && *k != at + 1));
        kept.map(|(_, word)| *word).collect::<Vec<_>>().join(" ").leak() as &str
    };
    cases.iter().map(|&(option, run, change)| (option, words(run), change)).collect()
}

/// `info` repeats words under what `solve` would use; this is no effect, so the trace is without them. It builds no hierarchy, so
/// that options of those that `auto` may take, and threads, are only repeated.
#[test]
fn options_of_info_have_an_effect() {
    let own = [
        ("skinning-sampling", "@ --problem elasticity3d:8", "--skinning-sampling stiffness"),
        // Vectors are only checked.
        ("near-kernel", "@ a.mtx", "--near-kernel xyz.mtx"),
        ("rhs", "@ a.mtx", "--rhs xyz.mtx"),
        ("x0", "@ a.mtx", "--x0 xyz.mtx"),
        ("threads", "@ --problem elasticity3d:8", "--threads 1"),
        ("tol", "@ --problem poisson2d:90", "--tol 1e-1"),
        ("atol", "@ a.mtx", "--atol 0.1"),
        ("max-iterations", "@ a.mtx", "--max-iterations 2"),
        ("options", "@ a.mtx", "--options blocks.toml"),
    ];
    let system = without_precond(&SYSTEM).into_iter().filter(|case| case.0 != "near-kernel");
    let system = system.map(|(option, run, change)| match option.split_once('-') {
        Some(("mas", _)) => (option, "@ --problem elasticity3d:6", change),
        _ => (option, run, change),
    });
    let is_repeated =
        |case: &Case| ["sa-", "skinning-", "threads"].iter().any(|kind| case.0.starts_with(kind));
    let (repeated, others): (Vec<_>, Vec<_>) = system.chain(own).partition(is_repeated);
    let mut listed = listed("info");
    for (option, run, words) in repeated {
        assert!(listed.remove(option), "--{option}");
        let done = coarsen(&format!("{} {words}", run.replace('@', "info")));
        let line = if option == "threads" { "1 thread" } else { words };
        assert!(done.code == 0 && done.out.lines().any(|told| told.trim() == line), "{words}: {}", done.out);
    }
    let without_words = |words: &str| -> Vec<String> {
        let told = traces(words).into_iter();
        told.filter(|line| !(line.starts_with("--") || line.ends_with("thread") || line.ends_with("threads")))
            .collect()
    };
    flags_of_help::check("info", &listed, "info", &others, without_words);
}

#[test]
fn options_of_other_commands_have_an_effect() {
    let source = without_precond(&SYSTEM[..5]);
    let spy = [
        ("coordinates", "@ a.mtx --reorder morton", "--coordinates xyz.mtx"),
        ("reorder", "@ --problem graph:300", "--reorder rcm"),
        ("out", "spy a.mtx --out p.png", "spy a.mtx --out q.png"),
    ];
    check("spy", "spy --out p.png", &[&source[..], &spy].concat());
    let generate = [
        ("dt", "@ cloth:8", "--dt 0.05"),
        ("jump", "@ elasticity3d:5", "--jump 1000"),
        ("share", "@ pinned:8", "--share 0.6"),
        ("format", "@ cloth:4", "--format npz"),
        ("out", "generate cloth:4 --out p", "generate cloth:4 --out q"),
    ];
    check("generate", "generate --out p", &generate);
    if traces("devices").contains(&"code 0".to_owned()) {
        check("devices", "devices", &[("tune", "@", "--tune")]);
    } else {
        println!("skipped: `devices --tune` needs an OpenCL device");
        assert_eq!(listed("devices"), BTreeSet::from(["tune".to_owned()]));
    }
    let minimize = [
        ("problem", "@", "minimize --quiet --problem bar-twist:3"),
        ("mesh", "minimize --problem armadillo-stretch", "--mesh body.mesh"),
        ("direction", "@", "--direction gradient"),
        ("precond", "@", "--precond jacobi"),
        ("backend", "@", "--backend opencl:99"),
        ("refresh", "@ --direction ncg", "--refresh 1"),
        ("tol", "@", "--tol 1e-1"),
        ("max-iterations", "@", "--max-iterations 2"),
        ("threads", "@", "minimize --problem bar-twist:2 --threads 1"),
        ("plot", "@", "--plot p.svg"),
        ("quiet", "@", "--quiet"),
    ];
    check("minimize", "minimize --problem bar-twist:2 --threads 2", &minimize);
}
