//! The options of preconditioners, and the starting guess.

use crate::jobs::{command, number_before};
use crate::listed::Folder;

/// Each option of `sa` and `mas` changes the levels or the iterations.
pub(crate) fn parameters() {
    let solve = |words: &str| {
        let (code, text) = command(2, &format!("solve --problem cloth:20 --dt 0.01 --precond {words}"));
        assert_eq!(code, Some(0), "{words}: {text}");
        let of_level = |line: &str| line.starts_with(' ') && line.contains("rank");
        let levels: String = text.lines().filter(|line| of_level(line)).collect();
        (levels, number_before(&text, "iteration"))
    };
    let plain = ["sa", "mas"].map(solve);
    let options = "sa --sa-theta 0.9, sa --sa-spread 2, sa --sa-levels 1, sa --sa-gather 100, mas --mas-domain 8, \
                   mas --mas-levels 1, mas --mas-coupling 0.9, mas --mas-gather 30";
    for words in options.split(", ") {
        assert_ne!(solve(words), plain[usize::from(words.starts_with("mas"))], "{words}");
    }
    // Precisions are seen in the last digits of the residuals.
    let folder = Folder::new();
    let file = folder.0.join("r.json");
    let histories = ["f32", "mixed", "f64"].map(|precision| {
        solve(&format!("mas --mas-precision {precision} --report {}", file.display()));
        let report: serde_json::Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        assert_eq!(report["mas_precision"], precision);
        report["history"].clone()
    });
    let [single, mixed, double] = &histories;
    assert!(single != mixed && mixed != double && single != double, "{histories:?}");
    for (words, option) in [("sa --mas-levels 2", "--mas-levels"), ("jacobi --sa-theta 0.3", "--sa-theta")] {
        let (code, text) = command(2, &format!("solve --problem cloth:20 --precond {words}"));
        assert!(code == Some(2) && text.contains(&format!("{option} is an option of")), "{text}");
    }
    let (code, text) = command(2, "solve --problem poisson2d:100 --precond sa --sa-theta 1");
    assert!(code == Some(2) && text.contains("expected 0 or more and less than 1"), "{text}");
}

/// From its own solution a solve ends at once; a file of another system is refused.
pub(crate) fn starting_guess() {
    let folder = Folder::new();
    let file = folder.0.join("x.mtx");
    let words = |more: &str| format!("solve --problem cloth:20 --partition morton {more} {}", file.display());
    let (code, text) = command(2, &words("--out"));
    assert!(code == Some(0) && number_before(&text, "iterations") > 5, "{text}");
    let (code, text) = command(3, &words("--x0"));
    assert!(code == Some(0) && number_before(&text, "iteration") <= 1, "{text}");
    std::fs::write(&file, "%%MatrixMarket matrix array real general\n2 1\n1\n2\n").unwrap();
    let (code, text) = command(3, &words("--x0"));
    assert!(code == Some(3) && text.contains("expected 1200 rows"), "{text}");
}
