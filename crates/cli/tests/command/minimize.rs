//! `minimize`: every method with every preconditioner, and invalid bodies.

use crate::common::{Folder, coarsen, fails, prints, succeeds};

#[test]
fn every_direction_goes_with_every_preconditioner() {
    for direction in ["newton", "lbfgs", "ncg", "agd"] {
        for precond in ["none", "jacobi", "block-jacobi", "sa", "mas", "skinning"] {
            let options = format!("--direction {direction} --precond {precond} --tol 1e-3");
            prints(&format!("minimize --problem bar-twist:2 {options}"), "converged");
        }
    }
    succeeds("minimize --problem bar-twist:2 --direction gradient --precond sa --tol 1e-3");
}

/// The number before a word of the report.
fn counted(text: &str, what: &str) -> i64 {
    let before = text.split(what).next().and_then(|text| text.split_whitespace().next_back());
    before.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("no {what} in {text}"))
}

/// Every method takes the same number of steps on a device as on the CPU, up to a few because of round-off.
#[test]
fn a_device_descends_as_the_cpu_does() {
    if !crate::backend::has_device() {
        return;
    }
    for (direction, precond) in [
        ("newton", "sa"),
        ("agd", "skinning"),
        ("lbfgs", "mas"),
        ("ncg", "block-jacobi"),
        ("agd", "jacobi"),
        ("lbfgs", "none"),
    ] {
        let words =
            format!("minimize --problem bar-twist:2 --direction {direction} --precond {precond} --tol 1e-3");
        let (here, there) = (coarsen(&words), coarsen(&format!("{words} --backend opencl")));
        assert_eq!((here.code, there.code), (0, 0), "{words}: {}{}", here.err, there.err);
        assert!(there.out.contains("vectors on opencl: "), "{}", there.out);
        let [k, l] = [&here, &there].map(|done| counted(&done.out, " iterations"));
        assert!((k - l).abs() <= 2 + k / 5, "{words}: {k} and {l}");
    }
}

#[test]
fn histories_are_drawn() {
    let folder = Folder::new();
    let out = folder.path("history.svg");
    let done = coarsen(&format!("minimize --problem bar-twist:2 --plot {} --quiet", out.display()));
    assert!(done.code == 0 && done.out.is_empty(), "{}{}", done.out, done.err);
    assert!(std::fs::read_to_string(&out).unwrap().contains("relative gradient"));
    for command in ["minimize", "solve", "compare"] {
        fails(&format!("{command} --plot history.png"), 2, ".svg");
    }
}

#[test]
fn ends_and_errors_have_their_codes() {
    fails(
        "minimize --problem bar-twist:2 --direction gradient --precond none --max-iterations 3",
        4,
        "--max-iterations",
    );
    fails("minimize --problem bar-twist:many", 2, "whole number");
    fails("minimize --problem bar-twist:0", 2, "at least 1");
    fails("minimize --problem armadillo-stretch --mesh /no/such.msh", 3, "/no/such.msh");
    fails("minimize --problem bar-twist:2 --mesh /no/such.msh", 2, "leave --mesh out");
}
