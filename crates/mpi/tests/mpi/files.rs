//! Matrices in files, which ranks read by pieces.

use std::fmt::Write;

use coarsen_matrix_market as matrix_market;

use crate::jobs::command;

/// The unknowns of the system, in blocks of 2.
const N: usize = 40;

/// Entries that a file has three times are summed in the order of the file, wherever pieces end: reproducible products
/// find the same bits on any number of ranks.
pub(crate) fn repeated_entries() {
    let folder = std::env::temp_dir().join(format!("coarsen-mpi-repeated-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let [matrix, out] = ["A.mtx", "x.mtx"].map(|name| folder.join(name));
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
    std::fs::remove_dir_all(folder).unwrap();
}
