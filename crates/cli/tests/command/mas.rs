//! `--precond mas` and its options.

use crate::common::{Folder, coarsen, solve};

#[test]
fn the_report_tells_of_the_levels() {
    let folder = Folder::new();
    let (done, report) = solve(&folder, "--problem cloth:25 --dt 0.01 --method cg --precond mas");
    assert_eq!(done.code, 0, "{}", done.err);
    assert!(report["levels"].as_u64().unwrap() >= 2, "{}", report["levels"]);
    for word in ["multilevel additive schwarz", "domains of 32 nodes", "left out", "solved by a factor"] {
        assert!(done.out.contains(word), "{word}: {}", done.out);
    }
}

#[test]
fn every_option_solves_and_does_something() {
    let folder = Folder::new();
    let history = |words: &str| {
        let (done, report) = solve(&folder, &format!("--problem cloth:30 --dt 0.01 --precond mas {words}"));
        assert_eq!((done.code, report["outcome"].as_str()), (0, Some("converged")), "{words}: {}", done.err);
        report["history"].clone()
    };
    let plain = history("");
    for words in [
        "--mas-domain 16",
        "--mas-levels 1 --mas-coarse domains",
        "--mas-coarse domains",
        "--mas-coarse sa",
        "--mas-hybrid",
        "--mas-exact 0",
        "--mas-order natural",
        "--mas-coupling 0",
        "--mas-coupling adjacency",
        "--mas-precision f64",
    ] {
        assert_ne!(history(words), plain, "{words}");
    }
    for words in ["--mas-coarse auto", "--mas-domain 32", "--mas-levels 8", "--mas-precision mixed"] {
        assert_eq!(history(words), plain, "{words} is the default");
    }
    assert_eq!(history("--mas-coarse domains"), history("--mas-exact 0"));
    for words in ["--precision f64", "--precision mixed", "--method fcg", "--precision f32 --tol 1e-4"] {
        history(words);
    }
}

#[test]
fn options_that_say_two_things_are_refused() {
    for words in [
        "--precond mas --mas-hybrid --mas-coarse sa",
        "--precond mas --mas-exact 100 --mas-coarse domains",
        "--precond mas --mas-domain 1",
        "--precond mas --mas-coupling weak",
        "--precond sa --mas-hybrid",
        "--precond jacobi --mas-domain 16",
    ] {
        let done = coarsen(&format!("solve --problem cloth:10 --dt 0.01 {words}"));
        assert_eq!(done.code, 2, "{words}: {}", done.err);
        assert!(done.err.contains("--mas-"), "{words}: {}", done.err);
    }
}
