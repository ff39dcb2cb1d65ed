//! Several right-hand sides in one file, tolerances and time limits.

use coarsen::matrix_market::{Dense, read_dense, read_system, write_dense};
use coarsen::problems::random_vector;

use crate::common::{Folder, chain, coarsen, ends, fails, json, residual, solve, solves};

/// A problem in files, with k right-hand sides. Returns the words of both.
fn files(folder: &Folder, spec: &str, k: usize) -> (String, usize) {
    let out = folder.path("p");
    assert_eq!(coarsen(&format!("generate {spec} --out {}", out.display())).code, 0, "{spec}");
    let n = read_system(out.join("A.mtx")).unwrap().shape().0;
    let columns = (0..k).flat_map(|seed| random_vector(n, seed as u64)).collect();
    write_dense(folder.path("b.mtx"), &Dense::new(n, k, columns).unwrap()).unwrap();
    (format!("{} --rhs {}", out.join("A.mtx").display(), folder.path("b.mtx").display()), n)
}

/// ‖b − A x‖ / ‖b‖ of each column.
fn residuals(folder: &Folder) -> Vec<f64> {
    let a = read_system(folder.path("p").join("A.mtx")).unwrap();
    let [b, x] = ["b.mtx", "x.mtx"].map(|name| read_dense(folder.path(name)).unwrap());
    assert_eq!((b.rows(), b.columns()), (x.rows(), x.columns()));
    (0..b.columns()).map(|j| residual(&a, b.column(j), x.column(j))).collect()
}

#[test]
fn all_columns_are_solved_with_one_setup() {
    let folder = Folder::new();
    for (spec, words) in [
        ("poisson2d:60", ""),
        ("poisson2d:60", "--method direct"),
        ("poisson2d:60", "--method cg --precond sa --precision f64"),
        ("poisson2d:60", "--method gmres --precond ilu0"),
        ("poisson2d:60", "--method cg --precond ic0 --precision f32 --tol 1e-4"),
        ("elasticity3d:6", "--method cg --precond mas --mas-domain 16"),
        ("elasticity3d:4", ""),
    ] {
        let (system, n) = files(&folder, spec, 4);
        let x = folder.path("x.mtx").display().to_string();
        let (done, report) = ends(&folder, &format!("{system} {words} --out {x}"), 0, "converged");
        let columns = report["right_hand_sides"].as_array().unwrap();
        let tolerance = report["tolerance"].as_f64().unwrap();
        let residuals = residuals(&folder);
        assert_eq!((columns.len(), residuals.len()), (4, 4), "{words}");
        for (column, residual) in columns.iter().zip(residuals) {
            let told = column["true_relative_residual"].as_f64().unwrap();
            assert!(
                residual <= 1.001 * tolerance && (told - residual).abs() <= 1e-3 * tolerance,
                "{words}: {column}"
            );
        }
        let sum = |field: &str| columns.iter().map(|column| column[field].as_f64().unwrap()).sum::<f64>();
        assert_eq!(report["iterations"].as_f64(), Some(sum("iterations")), "{words}");
        let of = |k: usize| columns[k]["setup_seconds"].as_f64().unwrap();
        assert!((1..4).all(|k| of(k) < of(0)), "{words}: the setup of the first is kept: {columns:?}");
        let text = " for 4 right-hand sides";
        assert!(done.out.contains(text) && done.out.contains("4: converged, "), "{words}: {}", done.out);
        // The first column is solved as if it were alone.
        let all = read_dense(&x).unwrap();
        let single = Dense::new(n, 1, random_vector(n, 0)).unwrap();
        write_dense(folder.path("b.mtx"), &single).unwrap();
        assert_eq!(coarsen(&format!("solve {system} {words} --out {x}")).code, 0);
        assert_eq!(read_dense(&x).unwrap().values(), all.column(0), "{words}");
    }
}

/// Constraints are projected out of each column, and a dump has them all.
#[test]
fn columns_pass_constraints_and_dumps() {
    let folder = Folder::new();
    let n = 3 * 8 * 8;
    let columns = (0..2).flat_map(|seed| random_vector(n, seed)).collect();
    write_dense(folder.path("b.mtx"), &Dense::new(n, 2, columns).unwrap()).unwrap();
    let b = folder.path("b.mtx").display().to_string();
    let dump = folder.path("dump").display().to_string();
    let words = format!("--problem pinned:8 --rhs {b} --method cg --dump {dump}");
    let (_, first) = solves(&folder, &words);
    let (_, second) = solves(&folder, &format!("--options {dump}"));
    let iterations = |report: &serde_json::Value| report["right_hand_sides"][1]["iterations"].as_u64();
    assert!(iterations(&first).is_some() && iterations(&first) == iterations(&second));
}

#[test]
fn guesses_belong_to_columns() {
    let folder = Folder::new();
    let (system, n) = files(&folder, "poisson2d:12", 3);
    let guess = |k: usize| {
        let columns = (0..k).flat_map(|seed| random_vector(n, 10 + seed as u64)).collect();
        write_dense(folder.path("x0.mtx"), &Dense::new(n, k, columns).unwrap()).unwrap();
        folder.path("x0.mtx").display().to_string()
    };
    for k in [1, 3] {
        let words = format!("{system} --x0 {} --method cg --max-iterations 1", guess(k));
        let (done, _) = ends(&folder, &words, 4, "iteration_limit");
        assert!(done.out.contains("3: iteration limit, 1 iteration"), "{}", done.out);
    }
    fails(&format!("solve {system} --x0 {}", guess(2)), 3, "2 columns, but --rhs has 3");
    fails(&format!("compare {system}"), 2, "--rhs has 3 columns");
    assert_eq!(coarsen(&format!("info {system}")).code, 0);
}

/// The larger of both tolerances holds, also where values are prescribed by huge diagonal entries.
#[test]
fn absolute_tolerances_are_in_the_unit_of_b() {
    let folder = Folder::new();
    let n = 50;
    let mut chain = chain(n, 2.1);
    chain[0].2 = 1e30;
    let a = folder.matrix("a.mtx", n, &chain);
    let mut load = vec![100.0; n];
    load[0] = 1e30;
    let b = folder.vector("b.mtx", &load);
    let run = |words: &str| solve(&folder, &format!("{a} --rhs {b} --method cg --precond none {words}")).1;
    let (tight, loose) = (run(""), run("--atol 1"));
    let size = (49.0 * 100.0_f64.powi(2) + 2.0 * 100.0 + 1.0).sqrt(); // of the free rows, with the prescribed value
    let tolerance = loose["tolerance"].as_f64().unwrap();
    assert!((tolerance * size - 1.0).abs() < 1e-9, "{tolerance}");
    assert!(loose["true_relative_residual"].as_f64().unwrap() <= tolerance);
    assert!(loose["iterations"].as_u64() < tight["iterations"].as_u64());
    assert_eq!(run("--atol 1e-12")["history"], tight["history"]);
    let (_, report) = solve(&folder, &format!("{a} --rhs {b} --atol 1e6 --method cg"));
    assert_eq!((report["outcome"].as_str(), report["iterations"].as_u64()), (Some("converged"), Some(0)));
}

#[test]
fn time_limits_end_setups_iterations_and_factors() {
    let folder = Folder::new();
    for (words, outcome) in [
        ("--problem poisson2d:300 --method cg --precond none --tol 1e-14 --time-limit 0.05", "time_limit"),
        ("--problem elasticity3d:30 --method cg --precond sa --time-limit 0.01", "time_limit"),
        ("--problem poisson3d:30 --method direct --time-limit 1e-6", "left_out"),
    ] {
        let (done, _) = ends(&folder, words, 4, outcome);
        assert!(done.err.contains("--time-limit"), "{words}: {}", done.err);
    }
    fails("solve --problem stack:4 --steps 2 --time-limit 9", 2, "--time-limit");
    assert_eq!(coarsen("solve --problem poisson2d:20 --method direct --time-limit 60").code, 0);
}

/// A sequence and a comparison tell which step or method runs.
#[test]
fn progress_is_told_in_lines() {
    for (words, expected) in [
        ("solve --problem elasticity3d:8 --method cg --precond jacobi", "iteration "),
        ("solve --problem stack:16 --steps 3 --precond mas", "step (2 of 3): "),
        ("compare --problem elasticity3d:6", " of 13): "), // a quick method may end between two lines
    ] {
        let done = coarsen(&format!("{words} --progress 1e-4"));
        assert!(done.code == 0 && done.err.contains(expected), "{words}: {}", done.err);
        let quiet = coarsen(&format!("{words} --progress 1e-4 --quiet"));
        assert_eq!((quiet.code, quiet.err.as_str()), (0, ""), "{words}");
    }
}

#[test]
fn reports_have_levels_steps_and_the_machine() {
    let folder = Folder::new();
    let (_, report) = solve(&folder, "--problem elasticity3d:8 --method cg --precond sa --sa-coarse-size 30");
    let levels = report["hierarchy"]["levels"].as_array().unwrap();
    assert_eq!(levels.len() as u64, report["levels"].as_u64().unwrap());
    assert_eq!(levels[0]["unknowns"], report["n"]);
    let entries: u64 = levels.iter().map(|level| level["nonzeros"].as_u64().unwrap()).sum();
    let complexity = entries as f64 / levels[0]["nonzeros"].as_f64().unwrap();
    assert!((complexity - report["operator_complexity"].as_f64().unwrap()).abs() < 1e-12);
    let steps = report["hierarchy"]["steps"].as_array().unwrap();
    let names: Vec<_> = steps.iter().map(|step| step["step"].as_str().unwrap()).collect();
    assert_eq!(names, ["coarsening", "products", "smoothers", "coarse solve"]);
    let seconds: f64 = steps.iter().map(|step| step["seconds"].as_f64().unwrap()).sum();
    assert!(seconds > 0.0 && seconds <= report["setup_seconds"].as_f64().unwrap());
    let versions = &report["versions"];
    let commit = &versions["commit"];
    assert!(commit.is_null() || commit.as_str().unwrap().len() == 12, "{commit}");
    let name = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    assert_eq!(
        name.contains("model name"),
        versions["processor"].as_str().is_some_and(|found| name.contains(found))
    );
    let (_, report) = solve(&folder, "--problem poisson2d:20 --method cg --precond jacobi");
    assert!(report["hierarchy"].is_null() && json(&folder.path("report.json")).is_some());
}
