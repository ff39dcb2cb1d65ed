//! Output: report, solution, picture, dump and text.

use std::path::Path;
use std::time::Instant;

use serde_json::Value;

use crate::common::{
    Done, Folder, coarsen, command, ended, ends, fails, fed, iterations, json, ring, seconds, solve, solves,
    succeeds,
};

#[test]
fn the_report_holds_what_was_promised() {
    let folder = Folder::new();
    let (_, report) = solves(&folder, "--problem elasticity3d:5 --method cg --precond ic0 --threads 2");
    for (field, value) in [
        ("n", "540"),
        ("block_size", "3"),
        ("method", "\"cg\""),
        ("precond", "\"ic0\""),
        ("backend", "\"cpu\""),
        ("precision", "\"mixed\""),
        ("threads", "2"),
        ("outcome", "\"converged\""),
        ("levels", "1"),
        ("operator_complexity", "1.0"),
    ] {
        assert_eq!(report[field].to_string(), value, "{field}");
    }
    for field in ["nnz", "setup_seconds", "solve_seconds", "true_relative_residual", "condition_estimate"] {
        assert!(report[field].as_f64().is_some_and(|v| v > 0.0), "{field}: {}", report[field]);
    }
    let history = report["history"].as_array().unwrap();
    assert_eq!(history.len() as u64, report["iterations"].as_u64().unwrap() + 1);
    assert_eq!(history[0].as_f64(), Some(1.0));
    let memory = &report["peak_memory_bytes"];
    assert_eq!(cfg!(target_os = "linux"), memory.as_u64().is_some_and(|bytes| bytes > 1 << 20), "{memory}");
}

#[test]
fn people_get_a_few_lines_and_quiet_ones_none() {
    let done = coarsen("solve --problem poisson2d:10");
    for word in ["100 unknowns", "direct: symmetric", "setup", "converged", "asked 1e-8"] {
        assert!(done.out.contains(word), "{word}: {}", done.out);
    }
    assert!(done.err.is_empty(), "bars belong on a terminal: {}", done.err);
    let done = coarsen("solve --problem poisson2d:10 --quiet");
    assert_eq!((done.code, done.out.as_str(), done.err.as_str()), (0, "", ""));
}

#[test]
fn a_report_and_a_solution_are_written_on_failure() {
    let folder = Folder::new();
    let (x, plot) = (folder.path("x.mtx"), folder.path("h.svg"));
    let words = format!(
        "--problem poisson2d:20 --method cg --precond none --max-iterations 5 --out {} --plot {}",
        x.display(),
        plot.display()
    );
    let (done, report) = solve(&folder, &words);
    assert_eq!((done.code, report["iterations"].as_u64()), (4, Some(5)));
    assert_eq!(coarsen::matrix_market::read_vector(x).unwrap().len(), 400);
    let picture = std::fs::read_to_string(plot).unwrap();
    assert!(picture.starts_with("<svg") && picture.contains("polyline") && picture.contains("iteration"));
}

/// Runs the command line of a dump again, which ends with a code; returns the report.
fn repeated(dump: &Path, code: i32) -> Value {
    let options = json(&dump.join("options.json")).unwrap();
    let again: Vec<String> = serde_json::from_value(options["again"].clone()).unwrap();
    let more = ["--report", "second.json", "--quiet"];
    assert_eq!(ended(command("").args(&again).args(more).current_dir(dump)).code, code);
    json(&dump.join("second.json")).unwrap()
}

#[test]
fn a_dump_makes_the_run_again() {
    let folder = Folder::new();
    let dump = folder.path("dump");
    let words =
        format!("--problem elasticity3d:3 --method minres --max-iterations 4 --dump {}", dump.display());
    let (done, first) = solve(&folder, &words);
    assert_eq!(done.code, 4);
    let options = json(&dump.join("options.json")).unwrap();
    assert_eq!(options["versions"]["coarsen"].as_str(), Some(env!("CARGO_PKG_VERSION")));
    let second = repeated(&dump, 4);
    for field in ["n", "block_size", "iterations", "outcome", "history"] {
        assert_eq!(first[field], second[field], "{field}");
    }
    assert_eq!(json(&dump.join("report.json")).unwrap()["outcome"], first["outcome"]);
}

#[test]
fn a_dump_of_bad_input_keeps_the_file() {
    let folder = Folder::new();
    let (a, dump) = (folder.file("bad.mtx", "%%MatrixMarket matrix\n"), folder.path("dump"));
    assert_eq!(coarsen(&format!("solve {a} --dump {}", dump.display())).code, 3);
    assert_eq!(std::fs::read(dump.join("bad.mtx")).unwrap(), std::fs::read(a).unwrap());
    let error = json(&dump.join("options.json")).unwrap()["error"].to_string();
    assert!(error.contains("bad.mtx:1"), "{error}");
}

#[test]
fn the_standard_input_is_a_file() {
    let text = "%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 4\n2 1 1\n2 2 3\n";
    let done = fed("solve - --rhs ones", text.as_bytes());
    assert!(done.code == 0 && done.out.contains("<stdin>: 2 unknowns"), "{}{}", done.out, done.err);
    let done = fed("info -", text.as_bytes());
    assert!(done.code == 0 && done.out.contains("2 x 2"), "{}", done.out);
    let done = fed("solve -", &text.as_bytes()[..60]);
    assert!(done.code == 3 && done.err.contains("<stdin>:"), "{}", done.err);
}

#[test]
fn info_tells_what_solve_would_do() {
    let folder = Folder::new();
    let a = folder.matrix("a.mtx", 2, &[(1, 1, 1.0), (1, 2, 5.0), (2, 1, 5.0), (2, 2, 1.0)]);
    let done = succeeds(&format!("info {a}"));
    for word in ["indefinite", "block size", "MiB", "direct:", "solve would use"] {
        assert!(done.out.contains(word), "{word}: {}", done.out);
    }
    let wide =
        folder.file("wide.mtx", "%%MatrixMarket matrix coordinate real general\n2 3 2\n1 1 1\n2 3 1\n");
    let Done { out, .. } = fails(&format!("info {wide}"), 3, "wide.mtx:2: ");
    assert!(out.contains("2 rows and 3 columns") && !out.contains("solve would use"), "{out}");
}

/// `info` prints the choice of `solve`; a run may add to it, or end with another preconditioner.
#[test]
fn info_and_solve_decide_alike() {
    let folder = Folder::new();
    for spec in ["elasticity3d:4", "poisson3d:14", "jump3d:16", "graph:2000", "cloth:20"] {
        let out = folder.path("p");
        assert_eq!(coarsen(&format!("generate {spec} --out {}", out.display())).code, 0, "{spec}");
        let a = out.join("A.mtx").display().to_string();
        let told = coarsen(&format!("info {a}")).out;
        let method = told.split("solve would use\n").nth(1).and_then(|told| told.lines().next());
        let (_, seen) = method.and_then(|line| line.split_once(": ")).unwrap_or_else(|| panic!("{told}"));
        let (_, report) = solve(&folder, &a);
        let done = report["choice"][0].as_str().unwrap();
        assert!(done.contains(seen), "{spec}: {seen}, {done}");
    }
}

/// A dump contains the backend, the memory limit and the contact matrix of a run.
#[test]
fn a_dump_keeps_contact_and_backend() {
    let folder = Folder::new();
    let a = folder.matrix("a.mtx", 30, &ring(30, 2.5, [-1.0; 2]));
    let pair = folder.matrix("pair.mtx", 30, &[(3, 3, 9.0), (3, 20, -9.0), (20, 3, -9.0), (20, 20, 9.0)]);
    let dump = folder.path("dump");
    let words =
        format!("{a} --contact {pair} --method cg --memory 7 --backend cpu --dump {}", dump.display());
    let (_, first) = solves(&folder, &words);
    let options = json(&dump.join("options.json")).unwrap();
    let again: Vec<String> = serde_json::from_value(options["again"].clone()).unwrap();
    let pairs: Vec<&[String]> = again.windows(2).collect();
    for expected in [["--backend", "cpu"], ["--memory", "7"]] {
        assert!(pairs.iter().any(|pair| *pair == expected), "{again:?}");
    }
    assert_eq!(repeated(&dump, 0)["history"], first["history"]);
    // If the contact matrix cannot be read, the file is copied.
    let torn = folder.file("torn.mtx", "%%MatrixMarket matrix\n");
    let dump = folder.path("second");
    assert_eq!(coarsen(&format!("solve {a} --contact {torn} --dump {}", dump.display())).code, 3);
    for name in ["a.mtx", "torn.mtx"] {
        assert_eq!(
            std::fs::read(dump.join(name)).unwrap(),
            std::fs::read(folder.path(name)).unwrap(),
            "{name}"
        );
    }
}

/// Earlier attempts are reported separately from the last attempt.
#[test]
fn attempts_before_the_last_are_reported_apart() {
    let folder = Folder::new();
    let spoilt = folder.spoilt_by_rounding();
    for words in [format!("{spoilt} --method cg --precond sa"), format!("{spoilt} --method cg")] {
        let begun = Instant::now();
        let (done, report) = solve(&folder, &words);
        let wall = begun.elapsed().as_secs_f64();
        assert_eq!((done.code, report["precond"].as_str()), (0, Some("sa")), "{words}: {}", done.err);
        let attempts = report["attempts"].as_array().unwrap();
        let [tried] = &attempts[..] else { panic!("{words}: {attempts:?}") };
        let tells = ["precond", "precision"].map(|field| tried[field].as_str());
        assert_eq!(tells, [Some("sa"), Some("mixed")], "{words}");
        assert!(tried["iterations"].as_u64() > Some(0), "{words}: {tried}");
        assert!(report["iterations"].as_u64() > Some(0), "{words}");
        // The history covers all attempts.
        assert_eq!(report["history"].as_array().unwrap().len() as u64, 1 + iterations(&report), "{words}");
        for told in ["; repeated in f64", "tried     cg with"] {
            assert!(done.out.contains(told), "{words}: {told}, {}", done.out);
        }
        let spent = report["read_seconds"].as_f64().unwrap() + seconds(&report);
        assert!(spent <= wall, "{words}: {spent} s in the report, {wall} on the clock");
    }
}

/// The steps of the analysis, and their seconds.
fn analysis(report: &Value) -> (Vec<&str>, f64) {
    let steps = report["analysis"].as_array().unwrap();
    let seconds = steps.iter().map(|step| step["seconds"].as_f64().unwrap());
    (steps.iter().map(|step| step["step"].as_str().unwrap()).collect(), seconds.sum())
}

#[test]
fn every_step_before_the_method_has_its_line() {
    let folder = Folder::new();
    let out = folder.path("c");
    assert_eq!(coarsen(&format!("generate cloth:20 --out {}", out.display())).code, 0);
    let file = |name: &str| out.join(name).display().to_string();
    let beside =
        format!("--coordinates {} --near-kernel {}", file("coordinates.mtx"), file("near_kernel.mtx"));
    let ring = folder.matrix("ring.mtx", 60, &ring(60, 2.0, [-1.0; 2]));
    let load: Vec<f64> = (0..60).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 }).collect();
    let (load, ones) = (folder.vector("load.mtx", &load), folder.vector("ones.mtx", &[1.0; 60]));
    let always = ["block size", "diagnosis", "order"];
    for (words, steps) in [
        (
            format!("{} {beside} --method cg --precond sa", file("A.mtx")),
            &["blocks", "positions", "near-kernel", "order of the near-kernel"][..],
        ),
        (format!("{ring} --rhs {load} --null-space constants"), &["null space"]),
        (format!("{ring} --rhs {load} --null-space {ones}"), &["null space"]),
        ("--problem poisson2d:45".to_owned(), &["forecasts"]),
    ] {
        let (done, report) = solves(&folder, &words);
        let (listed, seconds) = analysis(&report);
        for step in always.iter().chain(steps) {
            assert_eq!(
                listed.iter().filter(|listed| *listed == step).count(),
                1,
                "{words}: {step}, {listed:?}"
            );
            assert!(done.out.contains(step), "{words}: {step}, {}", done.out);
        }
        assert!(seconds <= report["setup_seconds"].as_f64().unwrap(), "{words}: steps are part of the setup");
    }
}

/// Reading, setup, solve and attempts are parts of the time of the command, which is part of that of the process.
#[test]
fn the_seconds_of_the_lines_are_those_of_the_command() {
    let folder = Folder::new();
    let out = folder.path("c");
    assert_eq!(coarsen(&format!("generate cloth:60 --out {}", out.display())).code, 0);
    let a = out.join("A.mtx").display().to_string();
    let points = out.join("coordinates.mtx").display().to_string();
    for words in [
        format!("{a} --coordinates {points} --method cg --precond sa"),
        "--problem elasticity3d:12 --method cg".to_owned(),
        "--problem poisson2d:150".to_owned(),
    ] {
        let begun = Instant::now();
        let (done, report) = solve(&folder, &words);
        let wall = begun.elapsed().as_secs_f64();
        assert_eq!(done.code, 0, "{words}: {}", done.err);
        let [read, total] = ["read_seconds", "total_seconds"].map(|field| report[field].as_f64().unwrap());
        let lines = read + seconds(&report);
        assert!(0.0 < lines && lines <= total && total <= wall, "{words}: {lines} {total} {wall}");
        // The setup is the analysis, and then the preconditioner, of which a hierarchy has steps.
        let steps = report["hierarchy"]["steps"].as_array();
        let steps: f64 = steps.into_iter().flatten().map(|step| step["seconds"].as_f64().unwrap()).sum();
        assert!(steps > 0.0 || !words.contains("--precond sa"), "{words}");
        let (parts, setup) = (analysis(&report).1 + steps, report["setup_seconds"].as_f64().unwrap());
        assert!(0.0 < parts && parts <= setup, "{words}: {parts} {setup}");
    }
    // Without a preconditioner to build, the setup is the analysis, up to the rounding of a sum.
    let skew = folder.matrix("skew.mtx", 2, &[(1, 1, 2.0), (1, 2, 1.0), (2, 2, 2.0)]);
    let (_, report) = ends(&folder, &format!("{skew} --method cg --precond none"), 4, "unsymmetric_matrix");
    let (parts, setup) = (analysis(&report).1, report["setup_seconds"].as_f64().unwrap());
    assert!(0.0 < parts && (parts - setup).abs() <= 1e-12 * setup, "{parts} {setup}");
}

/// The name of an output is any that the system has.
#[cfg(target_os = "linux")]
#[test]
fn names_of_outputs_need_not_be_text() {
    use std::os::unix::ffi::OsStringExt;
    let folder = Folder::new();
    for (words, option, end) in [
        ("solve --problem poisson2d:4", "--out", "mtx"),
        ("solve --problem poisson2d:4 --method cg --precond jacobi", "--plot", "svg"),
        ("spy --problem poisson2d:4", "--out", "png"),
    ] {
        let file =
            folder.path("").join(std::ffi::OsString::from_vec([&b"\xff."[..], end.as_bytes()].concat()));
        let done = ended(command(words).arg(option).arg(&file));
        assert!(done.code == 0 && file.is_file(), "{words}: {}", done.err);
    }
}

/// An error of a system that was reordered names the row of the file.
#[test]
fn rows_of_a_reordered_system_are_those_of_the_file() {
    const N: usize = 20_011;
    let folder = Folder::new();
    let at = |i: usize| i % N * 7919 % N + 1;
    let chain: Vec<(usize, usize, f64)> = (0..N)
        .flat_map(|i| {
            [
                (at(i), at(i), if i == 5 { 0.0 } else { 4.0 }),
                (at(i), at(i + 1), -1.5),
                (at(i + 1), at(i), -0.5),
            ]
        })
        .collect();
    let a = folder.matrix("a.mtx", N, &chain);
    let (done, report) = ends(&folder, &format!("{a} --method gmres --precond jacobi"), 4, "setup_failed");
    assert!(done.err.contains(&format!("row {} ", at(5))), "{}", done.err);
    assert!(report["attempts"].as_array().unwrap().is_empty(), "{}", done.out);
    assert!(analysis(&report).0.contains(&"permutation"), "{}", done.out);
}

/// `--dump` writes only to a folder of its own: what is there of others stays as it is.
#[test]
fn a_dump_replaces_no_file_of_others() {
    let folder = Folder::new();
    let a = folder.matrix("A.mtx", 2, &[(1, 1, 2.0), (2, 2, 2.0)]);
    let (long, here) = (folder.vector("long.mtx", &[1.0; 3]), folder.path(".").display().to_string());
    let state = || [&a, &long].map(|file| std::fs::read(file).unwrap());
    let before = state();
    for words in [format!("--rhs {long}"), format!("--contact {a}"), "--rhs ones".to_owned()] {
        fails(&format!("solve {a} {words} --dump {here}"), 2, "A.mtx, which is an input");
        assert_eq!(state(), before, "{words}");
    }
    // A folder that some other program wrote, here `generate`.
    let made = folder.path("made");
    assert_eq!(coarsen(&format!("generate poisson2d:3 --out {}", made.display())).code, 0);
    let b = std::fs::read(made.join("b.mtx")).unwrap();
    fails(&format!("solve {a} --rhs ones --dump {}", made.display()), 2, "earlier --dump");
    assert_eq!(std::fs::read(made.join("b.mtx")).unwrap(), b);
    // A folder of an earlier dump, twice.
    let dump = folder.path("dump");
    for _ in 0..2 {
        assert_eq!(coarsen(&format!("solve {a} --rhs ones --dump {}", dump.display())).code, 0);
    }
    // Inputs of equal names, of which the second cannot be used.
    let other = Folder::new();
    let short = other.vector("A.mtx", &[1.0; 3]);
    assert_eq!(coarsen(&format!("solve {a} --rhs {short} --dump {}", dump.display())).code, 3);
    let copies = ["A.mtx", "2-A.mtx"].map(|name| std::fs::read(dump.join(name)).unwrap());
    assert_eq!(copies, [&a, &short].map(|file| std::fs::read(file).unwrap()));
}

/// A link in the folder of a dump onto an input elsewhere: writing through it would replace the input.
#[cfg(unix)]
#[test]
fn a_dump_replaces_no_input_through_a_link() {
    let folder = Folder::new();
    let a = folder.matrix("A.mtx", 2, &[(1, 1, 2.0), (2, 2, 2.0)]);
    let bad = folder.file("bad.mtx", "%%MatrixMarket matrix\n");
    for (input, name) in [(&a, "A.mtx"), (&a, "options.json"), (&bad, "bad.mtx"), (&bad, "2-bad.mtx")] {
        for is_soft in [true, false] {
            let (dump, before) = (Folder::new(), std::fs::read(input).unwrap());
            let link = dump.path(name);
            let linked = if is_soft {
                std::os::unix::fs::symlink(input, &link)
            } else {
                std::fs::hard_link(input, &link)
            };
            linked.unwrap();
            fails(&format!("solve {input} --dump {}", dump.path("").display()), 2, "which is an input");
            assert_eq!(std::fs::read(input).unwrap(), before, "{name}");
        }
    }
}
