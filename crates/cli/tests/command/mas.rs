//! `--precond mas` and its options.

use crate::common::{Folder, chain, coarsen, ends, fails, solve, solves};

#[test]
fn the_report_tells_of_the_levels() {
    let folder = Folder::new();
    let (done, report) = solves(&folder, "--problem cloth:25 --dt 0.01 --method cg --precond mas");
    assert!(report["levels"].as_u64().unwrap() >= 2, "{}", report["levels"]);
    for word in ["multilevel additive schwarz", "domains of 32 nodes", "left out", "solved by a factor"] {
        assert!(done.out.contains(word), "{word}: {}", done.out);
    }
}

#[test]
fn every_option_solves_and_does_something() {
    let folder = Folder::new();
    let history = |words: &str| {
        let (_, report) =
            ends(&folder, &format!("--problem cloth:30 --dt 0.01 --precond mas {words}"), 0, "converged");
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
        "--mas-order strong",
        "--mas-weights energy",
        "--mas-modes rigid",
        "--mas-coupling 0",
        "--mas-coupling adjacency",
        "--mas-precision f64",
        "--mas-precision f32",
    ] {
        assert_ne!(history(words), plain, "{words}");
    }
    for words in [
        "--mas-coarse auto",
        "--mas-domain 32",
        "--mas-levels 8",
        "--mas-precision mixed",
        "--mas-weights ones",
    ] {
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
        "--precond mas --mas-modes rigid --mas-hybrid",
        "--precond mas --mas-weights energy --mas-coarse sa",
        "--precond mas --mas-domain 1",
        "--precond mas --mas-coupling weak",
        "--precond sa --mas-hybrid",
        "--precond jacobi --mas-domain 16",
        "--mas-domain 16",
    ] {
        fails(&format!("solve --problem cloth:10 --dt 0.01 {words}"), 2, "--mas-");
    }
    fails("compare --problem cloth:10 --mas-weights energy --mas-coarse sa", 2, "--mas-weights");
}

/// One level with overlap: more overlap takes fewer iterations; restricted domains accept unsymmetric
/// matrices.
#[test]
fn one_level_takes_its_options() {
    let folder = Folder::new();
    let iterations = |words: &str| {
        let (_, report) = ends(&folder, &format!("--problem cloth:30 --dt 0.01 {words}"), 0, "converged");
        report["iterations"].as_u64().unwrap()
    };
    let [none, one, two] = [0, 1, 2].map(|k| {
        iterations(&format!("--method cg --precond as --as-domain 16 --as-overlap {k} --as-inner factors"))
    });
    assert!(two < one && one < none, "{none} {one} {two}");
    iterations("--method cg --precond as");
    iterations("--method cg --precond as --as-domain 200 --as-overlap 0");
    iterations("--method gmres --precond ras");
    fails("solve --problem cloth:10 --dt 0.01 --precond mas --as-overlap 2", 2, "--as-overlap");
    fails("solve --problem cloth:10 --dt 0.01 --as-domain 100", 2, "--as-domain");
}

/// A matrix with a contact matrix is the sum of both.
#[test]
fn contact_of_a_file_is_added() {
    let folder = Folder::new();
    let pair = [(1, 1, 9.0), (50, 50, 9.0), (1, 50, -9.0), (50, 1, -9.0)];
    let a = folder.matrix("a.mtx", 50, &chain(50, 2.0));
    let whole = folder.matrix("whole.mtx", 50, &[&chain(50, 2.0)[..], &pair].concat());
    let pair = folder.matrix("c.mtx", 50, &pair);
    let words = "--method cg --precond mas --mas-domain 8 --mas-coarse domains";
    let (_, apart) = solves(&folder, &format!("{a} --contact {pair} {words}"));
    let (_, together) = solve(&folder, &format!("{whole} {words}"));
    assert_eq!(apart["history"], together["history"]);
    let (_, alone) = solve(&folder, &format!("{a} {words}"));
    assert_ne!(apart["history"], alone["history"]);
    let small = folder.matrix("small.mtx", 2, &[(1, 1, 1.0)]);
    assert_eq!(coarsen(&format!("solve {a} --contact {small}")).code, 3);
}

/// With `--precision f64` the inverses of domains keep numbers outside the range of f32.
#[test]
fn inverses_follow_the_precision() {
    let folder = Folder::new();
    let at = |i: usize, j: usize| 12 * i + j + 1;
    let nodes = (0..12).flat_map(|i| (0..12).map(move |j| (i, j)));
    let mut entries: Vec<(usize, usize, f64)> =
        nodes.clone().map(|(i, j)| (at(i, j), at(i, j), 4e290)).collect();
    for (i, j) in nodes {
        let next = [(i + 1, j), (i, j + 1)].into_iter().filter(|&(i, j)| i < 12 && j < 12);
        for (k, l) in next {
            entries.extend([(at(i, j), at(k, l), -1e290), (at(k, l), at(i, j), -1e290)]);
        }
    }
    let a = folder.matrix("A.mtx", 144, &entries);
    for precond in ["mas --mas-coarse domains", "as"] {
        solves(&folder, &format!("{a} --method cg --precond {precond} --precision f64"));
    }
}

/// The limit of a domain counts unknowns, and so does the error.
#[test]
fn a_domain_that_is_too_large_is_told_in_unknowns() {
    let done =
        coarsen("solve --problem elasticity3d:5 --method cg --precond mas --mas-domain 1024 --mas-exact 0");
    assert!(done.code != 0 && (done.out + &done.err).contains("3072, but must be at most 1024"));
}
