//! The choice of `auto` without options. `crates/auto/tests` compares its work with the work of the best
//! method.

use coarsen::matrix_market::{Symmetry, write};

use crate::common::{Folder, ends, ring, solve};
use crate::curl::curl;
use crate::scramble;

#[test]
fn scrambled_problems_are_solved_without_a_word() {
    let folder = Folder::new();
    for spec in [
        "poisson2d:30",
        "poisson3d:9",
        "anisotropic2d:25",
        "jump3d:8",
        "elasticity3d:5",
        "cloth:12",
        "graph:600",
    ] {
        let a = scramble::file(&folder, spec);
        for words in ["", "--precond sa"] {
            println!("{spec} {words}");
            let (_, report) = ends(&folder, &format!("{a} {words}"), 0, "converged");
            assert!(report["choice"].as_array().unwrap().iter().all(|line| line.as_str().unwrap().len() > 6));
        }
    }
}

#[test]
fn scales_do_not_hide_the_near_kernel() {
    let folder = Folder::new();
    let plain =
        solve(&folder, "--problem poisson2d:60 --method cg --precond sa").1["iterations"].as_u64().unwrap();
    let a = scramble::file(&folder, "poisson2d:60");
    let scrambled =
        solve(&folder, &format!("{a} --method cg --precond sa")).1["iterations"].as_u64().unwrap();
    // Another scaling changes the norm, so the tolerance is reached a few iterations earlier or later.
    assert!(scrambled <= 2 * plain + 4, "{scrambled} {plain}");
}

/// Coarse levels of smoothed aggregation do not represent the kernel of the curl.
#[test]
fn a_curl_is_solved_without_a_hierarchy() {
    let folder = Folder::new();
    let file = folder.path("curl.mtx");
    write(&file, &curl(1, 12, 1e-2), Symmetry::Detect).unwrap();
    let (done, report) = solve(&folder, &format!("{} --memory 0", file.display()));
    assert_eq!((done.code, report["precond"].as_str()), (0, Some("jacobi")), "{}", done.out);
    assert_eq!(report["attempts"].as_array().map(Vec::len), Some(0), "{}", done.out);
}

/// Without a factor the cost of a wrong forecast has no bound, and the report states this.
#[test]
fn the_report_states_a_missing_cost_bound() {
    const N: usize = 20_100;
    let folder = Folder::new();
    let file = folder.path("curl.mtx");
    write(&file, &curl(1, 8, 1e-10), Symmetry::Detect).unwrap();
    let hard = file.display().to_string();
    let unsymmetric = folder.matrix("ring.mtx", N, &ring(N, 2.5, [-1.5, -0.5]));
    let told = |words: &str| {
        let (done, report) = solve(&folder, words);
        let notes: Vec<String> = serde_json::from_value(report["notes"].clone()).unwrap();
        let told: Vec<String> =
            notes.into_iter().filter(|note| note.contains("the cost has no bound")).collect();
        assert!(told.iter().all(|note| done.out.contains(note)), "{words}: {}", done.out);
        told
    };
    for (words, why) in [
        (format!("{hard} --memory 0"), "the limit is 0 MiB"),
        (format!("{hard} --method cg"), "an option or the system excludes it"),
        (format!("{hard} --precision mixed"), "an option or the system excludes it"),
        (format!("{unsymmetric} --method gmres"), "an option or the system excludes it"),
    ] {
        let told = told(&words);
        assert!(matches!(&told[..], [note] if note.contains(why)), "{words}: {told:?}");
    }
    // No note if a factor is possible, or if the options leave no choice to `auto`.
    for words in
        [hard.as_str(), "--problem poisson2d:10", "--problem poisson2d:30 --precond jacobi", &unsymmetric]
    {
        assert_eq!(told(words), [""; 0], "{words}");
    }
}
