//! Systems after public bug reports, and systems of client libraries, with the right results (`COARSEN_DATA`, folder `cases`).

use std::path::{Path, PathBuf};

use coarsen::{LinearOperator, matrix_market};

use crate::common::{Folder, coarsen, ends, iterations, solve, solves, succeeds};

/// The folder of the cases; `None` with a printed reason without data.
fn cases() -> Option<PathBuf> {
    Some(crate::data::data()?.join("cases"))
}

/// Words with the path of a case in place of its name.
fn with_paths(cases: &Path, words: &str) -> String {
    let path = |word: &str| match word.contains(".mtx") {
        true => cases.join(word).display().to_string(),
        false => word.to_owned(),
    };
    words.split_whitespace().map(path).collect::<Vec<_>>().join(" ")
}

/// The relative residual of a solution, from the files alone. A diagonal entry above 1e29 prescribes the value 0.01, which
/// must be exact; the residual is that of the other rows, relative to their right-hand side with these values.
fn residual(matrix: &Path, rhs: Option<&Path>, x: &Path) -> f64 {
    let vector = |file: &Path| matrix_market::read_vector(file).unwrap();
    let (a, x) = (matrix_market::read(matrix).unwrap(), vector(x));
    let diagonal = a.diagonal();
    let b = rhs.map_or_else(|| vec![1.0; x.len()], vector);
    let prescribed = |i: usize| diagonal[i] > 1e29;
    for i in (0..x.len()).filter(|&i| prescribed(i)) {
        assert!((x[i] - 0.01).abs() < 1e-15, "{}: x of row {i} is {}", matrix.display(), x[i]);
    }
    let free = |x: Vec<f64>| {
        let mut r = b.clone();
        a.residual(&b, &x, &mut r);
        (0..r.len()).filter(|&i| !prescribed(i)).map(|i| r[i] * r[i]).sum::<f64>().sqrt()
    };
    let start = (0..x.len()).map(|i| if prescribed(i) { x[i] } else { 0.0 }).collect();
    free(x) / free(start)
}

/// Every system that scipy solves is solved by `auto`, within a number of iterations of all attempts.
#[test]
fn systems_of_clients_are_solved() {
    let (Some(cases), folder) = (cases(), Folder::new()) else { return };
    for (name, most) in [
        ("skfem-ex18-stokes-21969", 500),
        ("skfem-ex05-constraint-20881", 250),
        ("skfem-ex42-periodic-21170", 60),
        ("skfem-ex32-enclosed-stokes-1854", 250),
        ("skfem-ex37-mixed-13608", 350),
        ("fipy-cahnhilliard-coupled-20808", 350),
        ("fipy-convtri-40000", 40),
    ] {
        let (out, [matrix, rhs]) =
            (folder.path("x.mtx"), [".mtx.gz", ".b.mtx.gz"].map(|end| format!("clients/{name}{end}")));
        let words = format!("{matrix} --rhs {rhs} --out {}", out.display());
        let (_, report) = solves(&folder, &with_paths(&cases, &words));
        assert!(report["true_relative_residual"].as_f64().unwrap() <= 1e-8, "{name}");
        let relative = residual(&cases.join(matrix), Some(&cases.join(rhs)), &out);
        assert!(relative <= 1.001e-8, "{name}: {relative:e} from the files");
        assert!(iterations(&report) <= most, "{name}: {} iterations", iterations(&report));
    }
}

#[test]
fn bug_reports_have_the_right_results() {
    let (Some(cases), folder) = (cases(), Folder::new()) else { return };
    let tells =
        |words: &str, code: i32, outcome: &str| ends(&folder, &with_paths(&cases, words), code, outcome);
    let neumann = "01-neumann.mtx --rhs 01-neumann_bad_b.mtx --null-space constants";
    let (done, _) = tells(neumann, 4, "inconsistent");
    assert!(done.err.contains("1.0e-6") && !done.err.contains("give the null space"), "{}", done.err);
    let unsymmetric = "02-neumann-unsym.mtx --rhs 02-neumann-unsym_b.mtx";
    tells(unsymmetric, 0, "converged");
    tells(&format!("{unsymmetric} --null-space constants"), 0, "converged");
    let (done, _) = tells(&format!("{unsymmetric} --null-space constants --method gmres"), 0, "converged");
    assert!(done.err.is_empty());
    let stokes = "05-stokes.mtx --rhs 05-stokes_b.mtx";
    tells(stokes, 0, "converged");
    tells(&format!("{stokes} --null-space 05-stokes_kernel.mtx"), 0, "converged");
    for (words, expected) in [("", 288), ("--null-space 05-stokes_kernel.mtx", 287)] {
        let (_, report) = tells(&format!("{stokes} --method minres --precond none {words}"), 0, "converged");
        assert!(iterations(&report).abs_diff(expected) <= 2, "{words}: {} iterations", iterations(&report));
    }
    let (done, _) = tells("06-upper-only.mtx", 0, "converged");
    assert!(done.out.contains("only one triangle is stored"), "{}", done.out);
    let info = coarsen(&format!("info {}", cases.join("06-upper-only.mtx").display()));
    assert!(info.out.contains("only one triangle is stored"), "{}", info.out);
    for words in ["", "--method cg --precond ic0", "--quiet"] {
        let prescribed = format!("08-tgv1e30.mtx.gz --rhs 08-tgv1e30_b.mtx {words}");
        let (_, report) = tells(&prescribed, 0, "converged");
        assert!(report["true_relative_residual"].as_f64().unwrap() <= 1e-8, "of the free rows");
    }
    tells("11-reservoir.mtx --method gmres --precond sa --block-size 3", 0, "converged");
    // BiCGStab makes no progress until the limit.
    for method in ["gmres", "bicgstab"] {
        let words = format!("12-central.mtx --method {method} --precond ilu0 --max-iterations 500");
        let (done, _) = tells(&words, 4, "unstable_preconditioner");
        assert!(done.err.contains("the incomplete factor is unstable"), "{}", done.err);
        assert!(!done.err.contains("--max-iterations"), "{}", done.err);
    }
    tells("12-central.mtx", 0, "converged");
    tells("16-almost-sym.mtx", 0, "converged");
    let (done, _) = tells("16-almost-sym.mtx --method cg", 4, "unsymmetric_matrix");
    assert!(done.err.contains("--symmetrize") && done.err.contains("a difference of"), "{}", done.err);
    tells("16-almost-sym.mtx --method cg --symmetrize", 0, "converged");
    // `auto` iterates as often as CG: without a factor, which is the default at this size, and with a preconditioner.
    for words in ["--memory 0", "--precond ic0", "--precond sa"] {
        let (_, auto) = tells(&format!("16-almost-sym.mtx {words}"), 0, "converged");
        let precond = auto["precond"].as_str().unwrap();
        let words = format!("16-almost-sym.mtx --method cg --symmetrize --precond {precond}");
        let (_, cg) = tells(&words, 0, "converged");
        let [auto, cg] = [&auto, &cg].map(iterations);
        assert!(auto.abs_diff(cg) <= 1, "{precond}: {auto} iterations of auto, {cg} of cg");
    }
    for words in [
        "17-elastic.mtx --near-kernel 17-nk_by_component.mtx",
        "17-by-component.mtx --coordinates 17-xyz.mtx",
    ] {
        let (done, _) = tells(words, 0, "converged");
        assert!(done.out.contains("ordered by component"), "{words}: {}", done.out);
        assert!(done.out.contains("|A v| is"), "the size of A v: {words}: {}", done.out);
    }
    let (done, _) = tells("17-elastic.mtx", 0, "converged");
    assert!(!done.out.contains("ordered by component"));
}

/// The residual is computed here, from the files alone.
#[test]
fn solutions_of_bug_reports_satisfy_their_files() {
    let (Some(cases), folder) = (cases(), Folder::new()) else { return };
    let out = folder.path("x.mtx");
    for (matrix, rhs, words) in [
        ("02-neumann-unsym.mtx", "02-neumann-unsym_b.mtx", ""),
        ("02-neumann-unsym.mtx", "02-neumann-unsym_b.mtx", "--null-space constants"),
        ("05-stokes.mtx", "05-stokes_b.mtx", ""),
        ("05-stokes.mtx", "05-stokes_b.mtx", "--null-space 05-stokes_kernel.mtx"),
        ("06-upper-only.mtx", "ones", ""),
        ("08-tgv1e30.mtx.gz", "08-tgv1e30_b.mtx", ""),
        ("08-tgv1e30.mtx.gz", "08-tgv1e30_b.mtx", "--method cg --precond ic0"),
        ("08-tgv1e30.mtx.gz", "08-tgv1e30_b.mtx", "--method gmres"),
        ("08-tgv1e30.mtx.gz", "08-tgv1e30_b.mtx", "--method direct"),
        ("11-reservoir.mtx", "ones", "--method gmres --precond sa --block-size 3"),
        ("12-central.mtx", "ones", ""),
        ("16-almost-sym.mtx", "ones", ""),
        ("16-almost-sym.mtx", "ones", "--method cg --symmetrize"),
        ("17-elastic.mtx", "ones", "--near-kernel 17-nk_by_component.mtx"),
        ("17-by-component.mtx", "ones", "--coordinates 17-xyz.mtx"),
    ] {
        let words = format!("{matrix} --rhs {rhs} {words} --out {}", out.display());
        solves(&folder, &with_paths(&cases, &words));
        let rhs = (rhs != "ones").then(|| cases.join(rhs));
        let relative = residual(&cases.join(matrix), rhs.as_deref(), &out);
        assert!(relative <= 1.001e-8, "{words}: {relative:e}");
    }
}

/// `info` names the method and the preconditioner that `solve` begins with, for the same input.
#[test]
fn info_names_the_choice_of_solve() {
    let folder = Folder::new();
    let given = ["--problem poisson2d:40", "--problem elasticity3d:10", "--problem cloth:20 --dt 0.01"];
    let of_files = [
        "17-elastic.mtx",
        "17-elastic.mtx --near-kernel 17-nk_by_component.mtx",
        "17-by-component.mtx --coordinates 17-xyz.mtx",
    ];
    let cases = cases();
    let of_files = cases.iter().flat_map(|cases| of_files.map(|words| with_paths(cases, words)));
    for words in given.into_iter().map(str::to_owned).chain(of_files) {
        let info = succeeds(&format!("info {words}"));
        let (_, report) = solve(&folder, &words);
        let mut told = info.out.lines().skip_while(|line| !line.contains("solve would use")).skip(1);
        let first = report["attempts"].get(0).unwrap_or(&report);
        for what in ["method", "precond"] {
            let (line, taken) = (told.next().unwrap(), first[what].as_str().unwrap());
            assert!(line.trim().starts_with(&format!("{taken}:")), "{words}: {line} / {taken}");
        }
        let mut lines: Vec<&str> = info.out.lines().filter(|line| line.len() > 10).collect();
        lines.sort_unstable();
        assert!(lines.windows(2).all(|pair| pair[0] != pair[1]), "a line twice: {}", info.out);
    }
}
