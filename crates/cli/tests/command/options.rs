//! Options from a file, and runs that are repeated from a dump.

use crate::common::{Folder, chain, coarsen, fails, json, prints, solve};

#[test]
fn files_give_options_and_the_command_line_wins() {
    let folder = Folder::new();
    folder.matrix("a.mtx", 40, &chain(40, 2.0));
    folder.vector("b.mtx", &[1.0; 40]);
    let file = folder.file(
        "run.toml",
        "matrix = \"a.mtx\"\nrhs = \"b.mtx\"\nmethod = \"cg\"\nprecond = \"jacobi\"\ntol = 1e-6\nmax_iterations = 90\nsymmetrize = false\nquiet = true\n",
    );
    let (done, report) = solve(&folder, &format!("--options {file}"));
    assert_eq!((done.code, done.out.as_str()), (0, ""), "{}", done.err);
    for (field, value) in
        [("method", "\"cg\""), ("precond", "\"jacobi\""), ("tolerance", "1e-6"), ("max_iterations", "90")]
    {
        assert_eq!(report[field].to_string(), value, "{field}");
    }
    let source = report["source"].as_str().unwrap();
    assert!(source.ends_with("a.mtx") && source.len() > 5, "names are relative to the file: {source}");
    let (done, report) =
        solve(&folder, &format!("--options={file} --precond=ic0 --problem poisson2d:6 --rhs ones"));
    assert_eq!(
        (done.code, &report["precond"], report["n"].as_u64()),
        (0, &"ic0".into(), Some(36)),
        "{}",
        done.err
    );
    assert_eq!(report["method"], "cg");
    // A list is separated by commas, as on the command line.
    let list = folder.file(
        "list.toml",
        "problem = \"elasticity3d:8\"\nprecond = \"skinning\"\nskinning-control-points = [60, 6]\n",
    );
    let (done, report) = solve(&folder, &format!("--options {list}"));
    assert_eq!((done.code, report["levels"].as_u64()), (0, Some(3)), "{}", done.err);
    let limits = folder.file("limits.toml", "limit = 5\nbackend = [\"cpu\"]\n");
    prints(&format!("compare --problem poisson2d:8 --options {limits}"), "at most 5 s");
}

#[test]
fn faults_of_a_file_are_named() {
    let folder = Folder::new();
    for (text, told) in [
        ("tolerance = 1", "`tolerance` is not an option of `coarsen solve`"),
        ("options = \"other.toml\"", "`options` is not an option"),
        ("quiet = 3", "`quiet` is true or false"),
        ("tol = true", "`tol` is a text or a number"),
        ("tol = 1e-6\ntol = 2", "duplicate"),
        ("tol = -1", "invalid value '-1' for '--tol"),
        ("tol 1", "run.toml"),
    ] {
        let file = folder.file("run.toml", text);
        let done = coarsen(&format!("solve --options {file}"));
        assert!([2, 3].contains(&done.code) && done.err.contains(told), "{text}: {} {}", done.code, done.err);
    }
    let none = folder.path("none.toml").display().to_string();
    fails(&format!("solve --options {none}"), 3, "none.toml: cannot be read");
    fails("solve --options", 2, "--options");
    // No output replaces the file.
    let file = folder.file("run.toml", "tol = 1e-6");
    fails(&format!("solve --options {file} --report {file}"), 2, "the same file");
}

#[test]
fn dumps_are_repeated_and_changed() {
    let folder = Folder::new();
    let dump = folder.path("dump").display().to_string();
    let words = format!(
        "--problem elasticity3d:3 --method minres --max-iterations 4 --symmetrize --atol 1e-9 --dump {dump}"
    );
    let (done, first) = solve(&folder, &words);
    assert_eq!(done.code, 4);
    for at in [dump.clone(), format!("{dump}/options.json")] {
        let (done, second) = solve(&folder, &format!("--options {at}"));
        assert_eq!(done.code, 4, "{}", done.err);
        for field in ["n", "block_size", "iterations", "outcome", "history", "tolerance"] {
            assert_eq!(first[field], second[field], "{field}");
        }
    }
    let (done, other) = solve(&folder, &format!("--options {dump} --method cg --max-iterations 500"));
    assert_eq!((done.code, &other["method"]), (0, &"cg".into()), "{}", done.err);
    // No output replaces a file of the dump.
    let file = format!("{dump}/options.json");
    let before = std::fs::read(&file).unwrap();
    fails(&format!("solve --options {dump} --report {file}"), 2, "the same file");
    assert_eq!(std::fs::read(&file).unwrap(), before);
    // Options of `solve` alone are left out.
    let report = folder.path("table.json");
    let done =
        coarsen(&format!("compare --options {dump} --max-iterations 300 --report {}", report.display()));
    assert_eq!((done.code, &json(&report).unwrap()["n"]), (0, &first["n"]), "{}", done.err);
    let domains = folder.path("domains").display().to_string();
    let words = format!("--problem elasticity3d:3 --precond mas --mas-domain 16 --dump {domains}");
    assert_eq!(solve(&folder, &words).0.code, 0);
    for dump in [&dump, &domains] {
        prints(&format!("info --options {dump}"), "solve would use");
    }
    let bad = folder.file("bad.mtx", "%%MatrixMarket matrix\n");
    let second = folder.path("second").display().to_string();
    assert_eq!(coarsen(&format!("solve {bad} --dump {second}")).code, 3);
    fails(&format!("solve --options {second}"), 3, "nothing can be repeated");
}

/// No output replaces a file of a dump that is read, also one that another option stands in for.
#[test]
fn outputs_never_replace_files_of_a_dump() {
    let folder = Folder::new();
    let [dump, run] = ["dump", "run.toml"].map(|name| folder.path(name).display().to_string());
    assert_eq!(coarsen(&format!("solve --problem poisson2d:4 --dump {dump}")).code, 0);
    std::fs::write(&run, "tol = 1e-6\n").unwrap();
    #[cfg(unix)]
    std::fs::hard_link(format!("{dump}/b.mtx"), folder.path("link.mtx")).unwrap();
    #[cfg(not(unix))]
    std::fs::write(folder.path("link.mtx"), "").unwrap();
    let link =
        if cfg!(unix) { folder.path("link.mtx").display().to_string() } else { format!("{dump}/b.mtx") };
    let contents = || {
        ["A.mtx", "b.mtx", "coordinates.mtx", "report.json"]
            .map(|name| std::fs::read(folder.path("dump").join(name)).unwrap())
    };
    let before = contents();
    for words in [
        format!("solve --options {dump} --rhs ones --out {dump}/b.mtx"),
        format!("solve --options {dump} --rhs ones --out {link}"),
        format!("solve --options {dump}/options.json --rhs ones --report {dump}/b.mtx"),
        format!("solve --options {dump} --problem poisson2d:4 --rhs ones --out {dump}/A.mtx"),
        format!("solve --options {dump} --coordinates {dump}/coordinates.mtx --out {dump}/coordinates.mtx"),
        format!("solve --options {dump} --report {dump}/report.json"),
        format!("compare --options {dump} --rhs ones --report {dump}/b.mtx"),
        format!("solve --options {run} --problem stack:3 --steps 2 --report {run}"),
    ] {
        fails(&words, 2, "the same file");
    }
    assert!(before == contents());
    assert_eq!(std::fs::read_to_string(run).unwrap(), "tol = 1e-6\n");
    // A new name in the folder replaces nothing.
    assert_eq!(coarsen(&format!("solve --options {dump} --out {dump}/x.mtx")).code, 0);
}
