//! Matrices in files, which ranks read by pieces, and the files that the command writes.

use std::fmt::Write;
use std::process::Command;

use coarsen_matrix_market as matrix_market;

use crate::jobs::command;
use crate::listed::Folder;

/// The unknowns of the system, in blocks of 2.
const N: usize = 40;

/// Entries that a file has three times are summed in the order of the file, wherever pieces end: reproducible products
/// find the same bits on any number of ranks.
pub(crate) fn repeated_entries() {
    let folder = Folder::new();
    let [matrix, out] = ["A.mtx", "x.mtx"].map(|name| folder.0.join(name));
    // 0.1 + 0.2 + 0.3 depends on the order, and so do the sums of these.
    let entries = (0..3).flat_map(|time| (0..N).map(move |i| (time, i)));
    let mut text = String::new();
    let mut count = 0;
    for (time, i) in entries {
        let share = 0.1 * (time + 1) as f64 + 0.01 * i as f64;
        let _ = writeln!(text, "{0} {0} {share}", i + 1);
        count += 1;
        for j in [i + 1, i + 5].into_iter().filter(|&j| j < N) {
            let _ = writeln!(text, "{} {} {}", j + 1, i + 1, -0.1 * share);
            count += 1;
        }
    }
    let head = format!("%%MatrixMarket matrix coordinate real symmetric\n{N} {N} {count}\n");
    std::fs::write(&matrix, head + &text).unwrap();
    let words = format!(
        "solve {} --block-size 2 --product reproducible --leaf 4 --precond jacobi --rhs ones --out {}",
        matrix.display(),
        out.display()
    );
    let solutions = [1, 2, 3].map(|ranks| {
        let (code, text) = command(ranks, &words);
        assert_eq!(code, Some(0), "{text}");
        matrix_market::read_vector(&out).unwrap()
    });
    for (x, ranks) in solutions.iter().zip([1, 2, 3]) {
        assert!(x.iter().zip(&solutions[0]).all(|(x, y)| x.to_bits() == y.to_bits()), "{ranks} ranks");
    }
}

/// An output that would replace an input or another output is refused before the solve, and so are folders; `-` is the
/// standard output, which then has the data alone.
pub(crate) fn outputs() {
    let folder = Folder::new();
    let matrix = folder.0.join("A.mtx");
    let text = "%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 4\n2 2 4\n";
    let vector = "%%MatrixMarket matrix array real general\n2 1\n1\n1\n";
    std::fs::write(&matrix, text).unwrap();
    for name in ["v.mtx", "parts.txt"] {
        std::fs::write(folder.0.join(name), vector).unwrap();
    }
    let run = |words: &str| {
        let placed = |word: &str| match word.contains('.') {
            true => folder.0.join(word).display().to_string(),
            false => word.to_owned(),
        };
        let words: Vec<String> = words.split_whitespace().map(placed).collect();
        command(2, &format!("solve --deadline 30 {} {}", matrix.display(), words.join(" ")))
    };
    for (words, why) in [
        ("--out A.mtx", "the matrix and --out are both the same file"),
        ("--report A.mtx", "the matrix and --report are both"),
        ("--out x.mtx --report x.mtx", "--out and --report are both"),
        ("--rhs v.mtx --out v.mtx", "--rhs and --out are both"),
        ("--x0 v.mtx --out v.mtx", "--x0 and --out are both"),
        ("--coordinates v.mtx --report v.mtx", "--coordinates and --report are both"),
        ("--near-kernel v.mtx --report v.mtx", "--near-kernel and --report are both"),
        ("--parts parts.txt --out parts.txt", "--parts and --out are both"),
        ("--out - --report -", "are both the standard output"),
        ("--rhs -", "--rhs is the standard input"),
        ("--out none.folder/x.mtx", "cannot be written"),
        ("--report .", "cannot be written"),
    ] {
        let (code, told) = run(words);
        assert!(code == Some(2) && told.matches(why).count() == 1, "{words}: {told}");
        assert!(!told.contains("iteration"), "{words}: {told}");
        assert!(!folder.0.join("x.mtx").exists(), "{words}");
    }
    assert_eq!(std::fs::read_to_string(&matrix).unwrap(), text);
    // Without mpirun, which would take the standard output of the ranks.
    let alone = |words: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_coarsen-mpi"));
        command.arg("solve").arg(&matrix).args(words.split_whitespace()).current_dir(&folder.0);
        command
    };
    let [x, json] = ["--rhs ones --out -", "--report -"].map(|words| {
        let done = alone(words).output().unwrap();
        assert!(
            done.status.success() && String::from_utf8_lossy(&done.stderr).contains("outcome"),
            "{words}"
        );
        String::from_utf8(done.stdout).unwrap()
    });
    assert_eq!(x, "%%MatrixMarket matrix array real general\n2 1\n2.5e-1\n2.5e-1\n");
    assert!(serde_json::from_str::<serde_json::Value>(&json).is_ok(), "{json}");
    assert!(!folder.0.join("-").exists());
    #[cfg(target_os = "linux")]
    for words in ["", "--report -", "--out -"] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let done = alone(words).stdout(full).output().unwrap();
        let told = String::from_utf8_lossy(&done.stderr);
        assert!(
            done.status.code() == Some(2) && told.contains("<stdout>: cannot be written"),
            "{words}: {told}"
        );
    }
}
