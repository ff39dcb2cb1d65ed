//! How solves end: exit code, outcome, cause.

use coarsen::auto::attainable;
use coarsen::matrix_market::{Symmetry, read_system, read_vector, write};

use crate::common::{Folder, chain, coarsen, ends, iterations, ring, solve};
use crate::curl::curl;

/// ‖b − A x‖ / ‖b‖ of files.
fn residual(a: &str, b: &str, x: &str) -> f64 {
    crate::common::residual(&read_system(a).unwrap(), &read_vector(b).unwrap(), &read_vector(x).unwrap())
}

#[test]
fn every_method_and_preconditioner_solves_a_definite_system() {
    let folder = Folder::new();
    let a = folder.matrix("a.mtx", 60, &chain(60, 2.1));
    let b = folder.vector("b.mtx", &(0..60).map(|i| f64::from(i % 7) - 2.0).collect::<Vec<_>>());
    let x = folder.path("x.mtx").display().to_string();
    let mut words = vec!["--method direct".to_owned(), String::new()];
    for method in ["cg", "fcg", "minres", "gmres", "bicgstab"] {
        for precond in
            ["auto", "none", "jacobi", "block-jacobi", "gs", "ssor", "ic0", "ilu0", "chebyshev", "sa"]
        {
            words.push(format!("--method {method} --precond {precond}"));
        }
    }
    words.push("--block-size 3 --method cg".into());
    words.push("--precision mixed".into());
    words.push("--precision f32 --tol 1e-5".into());
    for words in words {
        let (_, report) = ends(&folder, &format!("{a} --rhs {b} --out {x} {words}"), 0, "converged");
        let (told, true_one) = (report["true_relative_residual"].as_f64().unwrap(), residual(&a, &b, &x));
        let allowed = report["tolerance"].as_f64().unwrap();
        assert!(
            true_one <= 1.0001 * allowed && (told - true_one).abs() <= 1e-3 * allowed,
            "{words}: {told} {true_one}"
        );
    }
}

#[test]
fn the_bits_do_not_depend_on_threads() {
    let folder = Folder::new();
    let solution = |threads: usize| {
        let x = folder.path("x.mtx");
        let words =
            format!("solve --problem poisson3d:36 --method cg --threads {threads} --out {}", x.display());
        assert_eq!(coarsen(&words).code, 0);
        std::fs::read(x).unwrap()
    };
    assert_eq!(solution(1), solution(3));
}

#[test]
fn a_right_hand_side_of_zeros_gives_zero() {
    let folder = Folder::new();
    let a = folder.matrix("a.mtx", 5, &chain(5, 2.0));
    let (b, x0) = (folder.vector("b.mtx", &[0.0; 5]), folder.vector("x0.mtx", &[1.0; 5]));
    let x = folder.path("x.mtx");
    for method in ["cg", "gmres", "direct"] {
        let words = format!("{a} --rhs {b} --x0 {x0} --method {method} --out {}", x.display());
        let (done, report) = solve(&folder, &words);
        assert_eq!((done.code, report["iterations"].as_u64()), (0, Some(0)), "{method}");
        assert_eq!(read_vector(&x).unwrap(), [0.0; 5]);
    }
}

#[test]
fn an_exact_starting_guess_stays() {
    let folder = Folder::new();
    let a = folder.matrix("a.mtx", 2, &[(1, 1, 2.0), (2, 2, 4.0), (1, 2, 1.0), (2, 1, 1.0)]);
    let (b, x0) = (folder.vector("b.mtx", &[3.0, 5.0]), folder.vector("x0.mtx", &[1.0, 1.0]));
    let x = folder.path("x.mtx");
    let words = format!("{a} --rhs {b} --x0 {x0} --method cg --max-iterations 0 --out {}", x.display());
    let (done, report) = solve(&folder, &words);
    assert_eq!((done.code, report["iterations"].as_u64()), (0, Some(0)), "{}", done.err);
    assert_eq!(read_vector(&x).unwrap(), [1.0, 1.0]);
}

#[test]
fn the_limit_reached_exactly_at_convergence_is_convergence() {
    let folder = Folder::new();
    let words =
        |limit: u64| format!("--problem poisson2d:12 --method cg --precond none --max-iterations {limit}");
    let needed = solve(&folder, &words(5000)).1["iterations"].as_u64().unwrap();
    let (done, report) = solve(&folder, &words(needed));
    assert_eq!((done.code, report["iterations"].as_u64()), (0, Some(needed)));
    let (done, report) = ends(&folder, &words(needed - 1), 4, "iteration_limit");
    assert!(done.err.contains("preconditioner"), "{}", done.err);
    assert!(report["advice"].as_str().unwrap().contains("--max-iterations"));
}

#[test]
fn tolerances_below_the_precision_stagnate() {
    let folder = Folder::new();
    for (words, outcome) in [
        ("--tol 0", "not_attainable"),
        ("--tol 1e-18", "not_attainable"),
        ("--precision f32 --tol 1e-9", "stagnated"),
    ] {
        let (_, report) = ends(&folder, &format!("--problem poisson2d:20 --method cg {words}"), 4, outcome);
        assert!(report["true_relative_residual"].as_f64().unwrap() < 1e-5, "the best x is kept");
    }
    ends(&folder, "--problem poisson2d:20 --method direct --tol 1e-18", 4, "not_attainable");
}

/// A solve that is refused returns the guess, with its residual.
#[test]
fn refused_solves_report_the_true_residual() {
    let folder = Folder::new();
    let a = folder.matrix("a.mtx", 2, &[(1, 1, 2.0), (1, 2, 1.0), (2, 2, 2.0)]);
    let (b, x0) = (folder.vector("b.mtx", &[3.0, 2.0]), folder.vector("x0.mtx", &[1.0, 0.5]));
    let x = folder.path("x.mtx").display().to_string();
    let (_, report) =
        ends(&folder, &format!("{a} --rhs {b} --x0 {x0} --method cg --out {x}"), 4, "unsymmetric_matrix");
    assert_eq!(read_vector(&x).unwrap(), [1.0, 0.5]);
    let told = report["true_relative_residual"].as_f64().unwrap();
    assert!((told - residual(&a, &b, &x)).abs() < 1e-12 && told < 0.5, "{told}");
}

#[test]
fn methods_refuse_matrices_that_are_not_theirs() {
    let folder = Folder::new();
    let unsymmetric = folder.matrix("u.mtx", 2, &[(1, 1, 2.0), (1, 2, 1.0), (2, 2, 2.0)]);
    let indefinite = folder.matrix("i.mtx", 2, &[(1, 1, 1.0), (1, 2, 2.0), (2, 1, 2.0), (2, 2, 1.0)]);
    let negative =
        folder.matrix("n.mtx", 4, &chain(4, 2.5).iter().map(|e| (e.0, e.1, -e.2)).collect::<Vec<_>>());
    let hidden = folder.matrix("h.mtx", 40, &chain(40, 1.9)); // no 2x2 minor shows that it is indefinite
    for (file, words, outcome) in [
        (&unsymmetric, "--method cg", "unsymmetric_matrix"),
        (&unsymmetric, "--method minres", "unsymmetric_matrix"),
        (&indefinite, "--method cg", "indefinite_operator"),
        (&indefinite, "--method fcg", "indefinite_operator"),
        (&hidden, "--method cg --precond none", "indefinite_operator"),
        (&unsymmetric, "--method gmres --precond ic0", "setup_failed"),
    ] {
        let (done, report) = ends(&folder, &format!("{file} {words}"), 4, outcome);
        let advice = report["advice"].as_str().unwrap();
        assert!(done.err.contains(advice) && advice.len() > 20, "{advice}");
    }
    for file in [&unsymmetric, &indefinite, &negative, &hidden] {
        for words in ["", "--method gmres", "--method direct"] {
            assert_eq!(solve(&folder, &format!("{file} {words}")).0.code, 0, "{file} {words}");
        }
    }
    assert_eq!(solve(&folder, &format!("{negative} --method cg")).0.code, 0, "-A x = -b is solved");
}

#[test]
fn zero_diagonals_are_named_by_what_divides_by_them() {
    let folder = Folder::new();
    let a = folder.matrix("a.mtx", 2, &[(1, 2, 1.0), (2, 1, 3.0), (2, 2, 1.0)]);
    for precond in ["jacobi", "gs", "ilu0"] {
        let words = format!("{a} --block-size 1 --method gmres --precond {precond}");
        let (done, _) = ends(&folder, &words, 4, "setup_failed");
        assert!(done.err.contains("row 1 "), "{}", done.err);
    }
    for words in ["", "--method gmres", "--method direct"] {
        assert_eq!(solve(&folder, &format!("{a} {words}")).0.code, 0, "{words}");
    }
}

#[test]
fn singular_systems_take_their_null_space() {
    let folder = Folder::new();
    let a = folder.matrix("a.mtx", 30, &ring(30, 2.0, [-1.0; 2]));
    let balanced: Vec<f64> = (0..30).map(|i| if i % 3 == 0 { 2.0 } else { -1.0 }).collect();
    let (fits, ones) = (folder.vector("fits.mtx", &balanced), folder.vector("ones.mtx", &[1.0; 30]));
    let wrong = folder.vector("wrong.mtx", &balanced);
    for space in ["constants", &ones] {
        assert_eq!(solve(&folder, &format!("{a} --rhs {fits} --null-space {space}")).0.code, 0, "{space}");
    }
    for (words, outcome) in [
        ("--rhs random:1 --null-space constants".to_owned(), "inconsistent"),
        (format!("--rhs {fits} --null-space {wrong}"), "wrong_null_space"),
        ("--rhs random:1 --method direct".to_owned(), "singular_matrix"),
    ] {
        ends(&folder, &format!("{a} {words}"), 4, outcome);
    }
    let (done, _) = ends(&folder, &format!("{a} --rhs random:1"), 4, "singular_matrix");
    assert!(done.err.contains("--null-space constants"), "{}", done.err);
}

#[test]
fn tiny_and_huge_right_hand_sides_are_solved() {
    let folder = Folder::new();
    let a = folder.matrix("a.mtx", 20, &chain(20, 2.5));
    for scale in [1e-300, 1e-30, 1e30, 1e300] {
        let b = folder.vector("b.mtx", &[scale; 20]);
        for words in ["--method cg", "--method direct", "--method cg --precision f32 --tol 1e-5"] {
            println!("{scale:e} {words}");
            ends(&folder, &format!("{a} --rhs {b} {words}"), 0, "converged");
        }
    }
}

/// A curl-curl matrix with a tiny mass term. x is ten orders of magnitude larger than b, so the round-off of
/// the residual is above the tolerance. The text names the residual that was reached, and not its bound, which is larger.
#[test]
fn an_unattainable_tolerance_is_reported_early() {
    let folder = Folder::new();
    let a = curl(1, 11, 1e-10);
    let n = a.shape().0;
    assert!((4000..6000).contains(&n));
    let (file, x) = (folder.path("a.mtx"), folder.path("x.mtx"));
    write(&file, &a, Symmetry::Detect).unwrap();
    let words = format!("{} --rhs ones --out {}", file.display(), x.display());
    let (done, report) = ends(&folder, &words, 4, "not_attainable");
    let bound = attainable(&a, &vec![1.0; n], &read_vector(x).unwrap());
    let reached = report["true_relative_residual"].as_f64().unwrap();
    assert!(reached < bound && !done.err.contains(&format!("{bound:.0e}")), "{bound:e}: {}", done.err);
    for word in [
        "the tolerance 1e-8 is not reached in f64",
        &format!("{reached:.1e} was reached"),
        "ill-conditioned",
        "loosen",
    ] {
        assert!(done.err.contains(word), "{word}: {}", done.err);
    }
    let (all, limit) = (iterations(&report), report["max_iterations"].as_u64().unwrap());
    assert!(4 * all < limit && bound > 1e-7, "{all} iterations of {limit}, bound {bound:e}");
}

/// x₀ / ‖b‖ overflows although both are finite; the solve then begins with zeros.
#[test]
fn a_guess_far_above_the_right_hand_side_is_a_number() {
    let folder = Folder::new();
    let (b, x0) = (folder.vector("b.mtx", &[1e-300; 9]), folder.vector("x0.mtx", &[1e20; 9]));
    let words = format!("--problem poisson2d:3 --rhs {b} --x0 {x0} --method cg --precond none");
    let (done, report) = solve(&folder, &words);
    assert_eq!((done.code, &report["outcome"]), (0, &"converged".into()), "{}", done.err);
}
