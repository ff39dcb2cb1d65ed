//! Problems with constraints.

use crate::common::{Folder, fails, prints, solves};

#[test]
fn every_preconditioner_respects_the_constraints() {
    let folder = Folder::new();
    let x = folder.path("x.mtx");
    let mut all: Vec<String> = Vec::new();
    for precond in ["none", "jacobi", "block-jacobi", "gs", "ssor", "ic0", "chebyshev", "sa", "mas", "auto"] {
        let words =
            format!("--problem pinned:21 --share 0.3 --precond {precond} --tol 1e-10 --out {}", x.display());
        let (done, report) = solves(&folder, &words);
        assert!(done.out.contains("120 of 441 nodes filtered by 240 constraints"), "{precond}: {}", done.out);
        assert!(report["notes"][0].as_str().is_some_and(|note| note.starts_with("120 of 441")), "{report}");
        all.push(std::fs::read_to_string(&x).unwrap());
    }
    let numbers = |text: &str| -> Vec<f64> {
        text.lines()
            .filter(|line| !line.starts_with('%'))
            .skip(1)
            .map(|line| line.trim().parse().unwrap())
            .collect()
    };
    let first = numbers(&all[0]);
    let size = first.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
    for other in &all[1..] {
        assert!(first.iter().zip(numbers(other)).all(|(a, b)| (a - b).abs() < 1e-6 * size));
    }
    // Fixed points have prescribed values of about a millimetre.
    let given = first.chunks_exact(3).filter(|x| x.iter().all(|v| *v != 0.0 && v.abs() < 2e-3)).count();
    assert!(given >= 40, "{given}");
}

#[test]
fn comparisons_and_files_are_of_the_filtered_system() {
    prints("compare --problem pinned:12 --limit 5", "of 144 nodes filtered");
    for (words, option) in [("cloth:12 --share 0.1", "share"), ("pinned:12 --jump 2", "jump")] {
        fails(&format!("solve --problem {words}"), 2, option);
    }
    fails("solve --problem pinned:12 --share 1.5", 2, "between 0 and 1");
}

/// The extreme cases: no vertex, and all free vertices, have constraints.
#[test]
fn none_and_all_vertices_may_be_constrained() {
    for precond in ["jacobi", "ic0", "sa", "mas"] {
        for (share, filtered) in [("0", "0 of 144 nodes"), ("1", "120 of 144 nodes")] {
            prints(
                &format!("solve --problem pinned:12 --share {share} --precond {precond} --tol 1e-8"),
                filtered,
            );
        }
    }
}
