//! `solve --steps`: sequences of systems, and updates of their preconditioners.

use crate::common::{Folder, coarsen, fails, json, prints, succeeds};

#[test]
fn every_preconditioner_works_with_every_update_policy() {
    work_with_update_policies(&["policy"], &[(5, "sa"), (10, "mas --mas-coarse sa")]);
}

#[test]
#[ignore = "4 s: run by .ci/full"]
fn long_every_preconditioner_works_with_every_update_policy() {
    work_with_update_policies(&["policy", "build", "update"], &[(20, "mas --mas-coarse sa")]);
}

/// Runs a sequence with every preconditioner and each policy, and stacks of these heights.
fn work_with_update_policies(policies: &[&str], stacks: &[(usize, &str)]) {
    prints("solve --problem cloth-contact:12 --steps 4 --tol 1e-4", "   0  build: "); // it has its own policy
    // A sequence that `auto` cannot solve ends with the cause.
    fails("solve --problem stack:6 --dt 1 --steps 2 --tol 1e-30", 4, "rounding prevents");
    for precond in ["block-jacobi", "gs", "ic0", "sa", "mas", "as"] {
        for &update in policies {
            let options = format!("--steps 4 --tol 1e-4 --precond {precond} --update {update}");
            let done = succeeds(&format!("solve --problem cloth-contact:12 {options}"));
            assert!(update == "policy" || done.out.contains(&format!("{update}: requested")), "{}", done.out);
        }
    }
    // With stiff springs the eigenvectors of the largest eigenvalues are concentrated on few nodes.
    for (n, precond) in stacks {
        succeeds(&format!("solve --problem stack:{n} --steps 6 --tol 1e-2 --precond {precond}"));
    }
}

/// The first step has no contact; in the last step of `stack` the sheets are coupled by contact alone.
#[test]
fn empty_sets_and_pairs_across_bodies_are_solved() {
    for precond in ["jacobi", "ic0", "sa", "mas"] {
        for (problem, pairs) in
            [("cloth-contact:12 --steps 1", "   0         0"), ("stack:6 --steps 2", "   1       108")]
        {
            prints(&format!("solve --problem {problem} --tol 1e-6 --precond {precond}"), pairs);
        }
    }
}

#[test]
fn steps_are_reported_and_drawn() {
    let folder = Folder::new();
    let (report, plot) = (folder.path("r.json"), folder.path("p.svg"));
    prints(
        &format!(
            "solve --problem cloth-contact:12 --steps 5 --tol 1e-4 --precond mas --report {} --plot {}",
            report.display(),
            plot.display()
        ),
        "build: the first",
    );
    let report = json(&report).unwrap();
    let rows = report["rows"].as_array().unwrap();
    let pairs: Vec<u64> = rows.iter().map(|row| row["pairs"].as_u64().unwrap()).collect();
    assert_eq!(pairs, [0, 108, 216, 324, 432]);
    assert!(rows.iter().all(|row| row["residual"].as_f64().unwrap() <= 1e-4));
    assert_eq!(rows[0]["action"], "build");
    assert!(rows.iter().all(|row| row["because"].as_str().is_some_and(|because| because.contains(": "))));
    assert!(std::fs::read_to_string(plot).unwrap().contains("iterations"));
}

/// Domains stagnate where the contact of the stack is stiff. `auto` solves every step, and keeps the factor that solved the first.
#[test]
fn auto_solves_where_domains_fail() {
    let folder = Folder::new();
    let report = folder.path("r.json");
    let solve = |words: &str| {
        let done = coarsen(&format!("solve --problem stack:6 --dt 1 {words} --report {}", report.display()));
        (done, json(&report).unwrap()["rows"].as_array().unwrap().clone())
    };
    let (done, rows) = solve("");
    assert!(done.code == 0, "{}{}", done.out, done.err);
    // A hierarchy of one level in f64 is a factor too.
    let method = rows[0]["precond"].as_str().unwrap();
    assert!(["a factor", "sa"].contains(&method) && rows[0]["action"] == "build", "{}", done.out);
    for row in &rows[1..] {
        assert_eq!(row["precond"], method, "{}", done.out);
        assert!(row["iterations"].as_u64().unwrap() <= 3, "{}", done.out);
    }

    // A preconditioner that the user chose stays; the reason after a failure has the count.
    let (done, rows) = solve("--precond mas");
    assert_eq!(done.code, 4, "{}", done.err);
    assert!(rows.iter().all(|row| row["precond"] == "mas"));
    let failed = rows.iter().position(|row| row["outcome"] != "converged").unwrap();
    let because = rows[failed + 1]["because"].as_str().unwrap();
    assert!(because.contains("iterations: stagnated") && !because.contains("not reported"), "{because}");

    // What was updated and does not suffice is built in the same step, within the same limit of iterations.
    let (done, rows) = solve("--precond mas --update update --max-iterations 400");
    let built = rows[1..].iter().find(|row| row["action"] == "build").expect("an update does not suffice");
    assert!(built["iterations"].as_u64().unwrap() <= 400, "{}", done.out);
}

/// Contact that grows by many pairs in each step: the preconditioner is built for it.
#[test]
fn contact_of_many_rows_is_built_for() {
    let done = succeeds("solve --problem cloth-contact:40 --steps 4 --precond sa");
    assert!(done.out.contains("build: more than 5 % of the rows changed"), "{}", done.out);
}

/// `options_of_sequences_have_an_effect` has the options that are refused with every value.
#[test]
fn options_that_a_sequence_ignores_are_refused() {
    for (words, cause) in [
        ("--problem stack:5 --null-space v.mtx", "--null-space"),
        ("--problem stack:5 --rhs b.mtx", "a file for --rhs"),
        ("--problem stack:5 --precond none", "--precond none"),
        ("--problem stack:5 --precision f32", "--precision f32"),
        ("--problem cloth-contact:12 --precond mas --as-overlap 2", "--as-overlap"),
        ("--problem cloth-contact:12 --precond sa --mas-domain 16", "--mas-domain"),
        ("--problem cloth-contact:12 --precond mas --sa-theta 0.3", "--sa-theta"),
        ("--problem cloth:9 --update build", "--update"),
        ("--problem stack:5 --update build", "--update with --precond auto"),
        ("--problem stack:5 --sa-theta 0.3", "--sa-theta"),
        ("--problem stack:5 --memory 100 --precond sa", "--memory"),
    ] {
        fails(&format!("solve {words}"), 2, cause);
    }
    fails(
        "solve --problem cloth-contact:12 --steps 3 --precond jacobi --max-iterations 2",
        4,
        "step 0: iteration_limit",
    );
}
