//! `compare`: the table, the report, the picture, the time limit.

use crate::common::{Folder, coarsen, fails, json, prints, seconds, succeeds};

#[test]
fn every_method_is_in_the_table_and_one_is_the_choice() {
    let folder = Folder::new();
    let (report, plot) = (folder.path("r.json"), folder.path("p.svg"));
    let done = succeeds(&format!(
        "compare --problem elasticity3d:5 --report {} --plot {}",
        report.display(),
        plot.display()
    ));
    let table = json(&report).unwrap();
    let rows = table["rows"].as_array().unwrap();
    for precond in ["none", "jacobi", "block-jacobi", "gs", "ssor", "ic0", "chebyshev", "mas", "as", "sa"] {
        let row = rows.iter().find(|row| row["precond"] == precond && row["method"] == "cg");
        let row = row.unwrap_or_else(|| panic!("{precond}"));
        assert_eq!(row["outcome"], "converged", "{precond}");
        assert!(row["memory_bytes"].as_u64().unwrap() > 540 * 8, "{precond}");
        assert_eq!(row["history"].as_array().unwrap().len(), row["times"].as_array().unwrap().len());
        assert!(precond == "none" || done.out.contains(precond), "{precond}: {}", done.out);
    }
    assert!(rows.iter().any(|row| row["method"] == "direct"));
    assert_eq!(rows.iter().filter(|row| row["auto"] == true).count(), 1);
    assert!(rows.is_sorted_by_key(|row| row["total_seconds"].as_f64().unwrap()));
    let picture = std::fs::read_to_string(plot).unwrap();
    for word in ["<svg", "iteration", "seconds", "cg + sa", "(auto)"] {
        assert!(picture.contains(word), "{word}");
    }
}

/// Smoothed aggregation fails in f32 and is repeated in f64.
#[test]
fn a_row_holds_the_seconds_of_its_retries() {
    let folder = Folder::new();
    let report = folder.path("r.json");
    let done = succeeds(&format!("compare {} --report {}", folder.spoilt_by_rounding(), report.display()));
    let table = json(&report).unwrap();
    let rows = table["rows"].as_array().unwrap();
    for row in rows {
        let total = row["total_seconds"].as_f64().unwrap();
        assert!((total - seconds(row)).abs() <= 1e-9, "{row}");
    }
    let converged: Vec<_> = rows.iter().filter(|row| row["outcome"] == "converged").collect();
    assert!(converged.is_sorted_by_key(|row| seconds(row)));
    let row = converged.iter().find(|row| row["precond"] == "sa").unwrap();
    let [tried] = &row["attempts"].as_array().unwrap()[..] else { panic!("{row}") };
    assert_eq!((tried["precond"].as_str(), tried["precision"].as_str()), (Some("sa"), Some("mixed")));
    let (before, last) = (tried["iterations"].as_u64().unwrap(), row["iterations"].as_u64().unwrap());
    assert!(before > 0 && last > 0 && seconds(row) > tried["solve_seconds"].as_f64().unwrap());
    assert_eq!(row["history"].as_array().unwrap().len() as u64, 1 + before + last);
    assert!(done.out.contains("cg + sa: before it, cg with sa, stored in f32: "), "{}", done.out);
}

#[test]
fn slow_ones_end_at_the_limit() {
    let folder = Folder::new();
    let report = folder.path("r.json");
    let done = coarsen(&format!(
        "compare --problem poisson2d:60 --tol 1e-8 --limit 1e-4 --report {}",
        report.display()
    ));
    let table = json(&report).unwrap();
    let slow = table["rows"].as_array().unwrap().iter().find(|row| row["precond"] == "jacobi").unwrap();
    assert_eq!(slow["outcome"], "time_limit", "{} {}", done.out, done.err);
    assert!(done.out.contains("time limit") && done.out.contains("--time-limit"), "{}", done.out);
    assert_eq!(table["auto_outcome"], "time_limit", "auto has the time that each method has: {}", done.out);
}

#[test]
fn unsymmetric_and_indefinite_matrices_have_their_methods() {
    let folder = Folder::new();
    let unsymmetric = folder.matrix("u.mtx", 2, &[(1, 1, 2.0), (1, 2, 1.0), (2, 2, 2.0)]);
    let indefinite = folder.matrix("i.mtx", 2, &[(1, 1, 1.0), (1, 2, 2.0), (2, 1, 2.0), (2, 2, 1.0)]);
    let zero = folder.matrix("z.mtx", 2, &[(1, 2, 1.0), (2, 1, 3.0), (2, 2, 1.0)]);
    let negative = folder.matrix("n.mtx", 2, &[(1, 1, -2.0), (1, 2, 1.0), (2, 1, 1.0), (2, 2, -2.0)]);
    for (file, has, lacks) in [
        (&unsymmetric, "gmres + ilu0", "cg +"),
        (&unsymmetric, "gmres + sa", "cg +"),
        (&negative, "cg + sa", "minres"),
        (&negative, "cg + ic0", "failed"),
        (&indefinite, "minres + jacobi", "cg +"),
        (&zero, "gmres", "ilu0"),
    ] {
        let done = prints(&format!("compare {file} --block-size 1"), has);
        assert!(!done.out.contains(lacks), "{file}: {}", done.out);
    }
}

/// An option must belong to a row of the table; otherwise it is an error.
#[test]
fn options_of_methods_that_do_not_run_are_refused() {
    let folder = Folder::new();
    let indefinite = folder.matrix("i.mtx", 2, &[(1, 1, 1.0), (1, 2, 2.0), (2, 1, 2.0), (2, 2, 1.0)]);
    let unsymmetric = folder.matrix("u.mtx", 2, &[(1, 1, 2.0), (1, 2, 1.0), (2, 2, 2.0)]);
    for (file, why) in [(&indefinite, "not positive definite"), (&unsymmetric, "not symmetric")] {
        let done = fails(&format!("compare {file} --mas-domain 16"), 2, "--mas-domain");
        assert!(done.err.contains(why), "{}", done.err);
        prints(&format!("compare {file} --block-size 1 --as-overlap 2"), "+ ras");
    }
    for (words, row) in [
        ("--as-domain 8", "cg + as"),
        ("--mas-domain 8", "cg + mas"),
        ("--sa-cycle k", "fcg + sa"),
        ("--rs-theta 0.5", "cg + rs"),
    ] {
        prints(&format!("compare --problem poisson2d:12 {words}"), row);
    }
    fails("compare --problem elasticity3d:4 --rs-theta 0.5", 2, "one unknown for each node");
    // The option has an effect.
    let iterations = |words: &str| {
        let report = folder.path("r.json");
        succeeds(&format!("compare --problem poisson2d:30 {words} --quiet --report {}", report.display()));
        let table = json(&report).unwrap();
        let rows = table["rows"].as_array().unwrap();
        rows.iter().find(|row| row["precond"] == "as").unwrap()["iterations"].as_u64().unwrap()
    };
    assert!(iterations("--as-domain 64") < iterations("--as-domain 4"));
}

/// A right-hand side of zeros ends every method before its first iteration.
#[test]
fn a_zero_right_hand_side_is_drawn() {
    let folder = Folder::new();
    let (b, plot) = (folder.vector("b.mtx", &[0.0; 9]), folder.path("p.svg"));
    succeeds(&format!("compare --problem poisson2d:3 --rhs {b} --plot {}", plot.display()));
    assert!(std::fs::read_to_string(plot).unwrap().contains("<svg"));
}
