//! `--precond sa`, `--precond rs` and their options.

use crate::common::{Folder, coarsen, ends, fails, solve, solves};

#[test]
fn the_report_tells_of_the_levels() {
    let folder = Folder::new();
    let (done, report) = solves(&folder, "--problem poisson2d:40 --method cg --precond sa");
    assert!(report["levels"].as_u64().unwrap() >= 2, "{}", report["levels"]);
    assert!((1.0..3.0).contains(&report["operator_complexity"].as_f64().unwrap()));
    for word in ["smoothed aggregation", "level", "unknowns", "1600", "operator complexity"] {
        assert!(done.out.contains(word), "{word}: {}", done.out);
    }
    let quiet = coarsen("solve --problem poisson2d:40 --method cg --precond sa --quiet");
    assert_eq!((quiet.code, quiet.out.as_str()), (0, ""));
}

#[test]
fn every_option_solves_and_does_something() {
    let folder = Folder::new();
    let iterations = |words: &str| {
        let (_, report) =
            ends(&folder, &format!("--problem anisotropic2d:40 --precond sa {words}"), 0, "converged");
        (report["method"].clone(), report["levels"].as_u64().unwrap(), report["history"].clone())
    };
    let plain = iterations("");
    assert_eq!(iterations("--sa-levels 1").1, 1);
    assert!(iterations("--sa-coarse-size 20").1 > plain.1);
    for words in [
        "--sa-smoother gs",
        "--sa-smoother chebyshev",
        "--sa-smoother spai0",
        "--sa-spread 2",
        "--sa-theta 0.1",
        "--sa-cycle w --sa-coarse-size 20",
        "--sa-cycle f --sa-coarse-size 20",
        "--sa-modes found:3",
    ] {
        assert_ne!(iterations(words).2, plain.2, "{words}");
    }
    for words in ["--sa-modes constants", "--sa-smoother jacobi", "--sa-spread 1"] {
        assert_eq!(iterations(words).2, plain.2, "{words} is the default here");
    }
    for words in ["--precision mixed", "--precision f32 --tol 1e-4", "--method fcg", "--method minres"] {
        iterations(words);
    }
}

#[test]
fn a_k_cycle_goes_under_a_flexible_method() {
    let folder = Folder::new();
    let (done, report) =
        solve(&folder, "--problem poisson2d:40 --precond sa --sa-cycle k --sa-coarse-size 20");
    assert_eq!((done.code, report["method"].as_str()), (0, Some("fcg")), "{}", done.err);
    fails("solve --problem poisson2d:40 --precond sa --sa-cycle k --method cg", 2, "fcg");
}

#[test]
fn options_that_would_be_ignored_are_refused() {
    for words in [
        "--precond ic0 --sa-theta 0.3",
        "--precond sa --sa-theta 1",
        "--precond sa --sa-modes found:0",
        "--precond sa --sa-levels 0",
    ] {
        fails(&format!("solve --problem poisson2d:10 --method cg {words}"), 2, "--sa-");
    }
}

#[test]
fn ruge_stueben_solves_with_each_interpolation() {
    let folder = Folder::new();
    let solved = |words: &str| {
        let (done, report) =
            ends(&folder, &format!("--problem anisotropic2d:60 --precond rs {words}"), 0, "converged");
        assert!(report["levels"].as_u64().unwrap() > 1, "{words}: {}", done.out);
        report["history"].clone()
    };
    let [direct, classical, modified] =
        ["direct", "classical", "modified"].map(|name| solved(&format!("--rs-interpolation {name}")));
    assert_eq!(solved(""), direct);
    assert!(classical != direct && modified != direct && modified != classical);
    let done = coarsen("solve --problem elasticity3d:8 --precond rs");
    let told = done.out + &done.err;
    assert!(done.code != 0 && told.contains("--block-size 1"), "{} {told}", done.code);
}
