//! `minimize`: every method with every preconditioner, and invalid bodies.

use crate::common::{Folder, coarsen};

#[test]
fn every_direction_goes_with_every_preconditioner() {
    for direction in ["newton", "lbfgs", "ncg", "agd"] {
        for precond in ["none", "jacobi", "block-jacobi", "sa", "mas", "skinning"] {
            let done = coarsen(&format!(
                "minimize --problem bar-twist:2 --direction {direction} --precond {precond} --tol 1e-3"
            ));
            assert!(done.code == 0, "{direction} {precond}: {}{}", done.out, done.err);
            assert!(done.out.contains("converged"), "{}", done.out);
        }
    }
    let done = coarsen("minimize --problem bar-twist:2 --direction gradient --precond sa --tol 1e-3");
    assert!(done.code == 0, "{}{}", done.out, done.err);
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
        let refused = coarsen(&format!("{command} --plot history.png"));
        assert!(refused.code == 2 && refused.err.contains(".svg"), "{command}: {}", refused.err);
    }
}

#[test]
fn ends_and_errors_have_their_codes() {
    let spent =
        coarsen("minimize --problem bar-twist:2 --direction gradient --precond none --max-iterations 3");
    assert!(spent.code == 4 && spent.err.contains("--max-iterations"), "{}", spent.err);
    let unknown = coarsen("minimize --problem bar-twist:many");
    assert!(unknown.code == 2 && unknown.err.contains("whole number"), "{}", unknown.err);
    let none = coarsen("minimize --problem bar-twist:0");
    assert!(none.code == 2 && none.err.contains("at least 1"), "{}", none.err);
    let mesh = coarsen("minimize --problem armadillo-stretch --mesh /no/such.msh");
    assert!(mesh.code == 3 && mesh.err.contains("/no/such.msh"), "{}", mesh.err);
    let unused = coarsen("minimize --problem bar-twist:2 --mesh /no/such.msh");
    assert!(unused.code == 2 && unused.err.contains("leave --mesh out"), "{}", unused.err);
}
