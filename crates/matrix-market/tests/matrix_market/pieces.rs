//! Files read by pieces.

use std::path::PathBuf;

use coarsen_matrix_market::{Problem, read_piece, read_system};
use coarsen_sparse::assembly;

fn file(name: &str, text: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("coarsen-pieces-{}-{name}", std::process::id()));
    std::fs::write(&path, text).unwrap();
    path
}

/// A symmetric chain with comments, blank lines and lines of different lengths.
fn chain(n: usize, last: &str) -> String {
    let mut text =
        format!("%%MatrixMarket matrix coordinate real symmetric\n% a chain\n{n} {n} {}\n", 2 * n - 1);
    for i in 1..=n {
        text += &format!("{i} {i} {}\n", 2.0 + i as f64 / 3.0);
        if i > 1 {
            text += &format!("  {i}\t{} -1\n\n% between\n", i - 1);
        }
    }
    text + last
}

/// All pieces together are the file, whatever their number.
#[test]
fn pieces_are_the_file() {
    let path = file("chain", &chain(40, ""));
    let whole = read_system(&path).unwrap();
    for parts in [1, 2, 3, 7, 50, 1000] {
        let pieces: Vec<_> = (0..parts).map(|part| read_piece(&path, part, parts).unwrap()).collect();
        let entries: Vec<_> = pieces.iter().flat_map(|piece| piece.entries.iter().copied()).collect();
        assert_eq!(assembly::from_triplets(40, 40, &entries).unwrap(), whole, "{parts} pieces");
        let stored = pieces.iter().map(|piece| piece.stored).sum();
        assert_eq!((stored, pieces[0].size, pieces[0].declared), (79, 40, 79));
        assert!(pieces.iter().all(|piece| piece.lower != Some(false)));
        assert_eq!(pieces[0].check_all(stored, true, false), Ok(()));
        let few = Problem::TooFew { expected: 79, found: 78 };
        assert_eq!(pieces[0].check_all(78, true, false).unwrap_err().problem, few);
        let many = Problem::TooMany { expected: 79 };
        assert_eq!(pieces[0].check_all(80, true, false).unwrap_err().problem, many);
        assert!(matches!(
            pieces[0].check_all(79, true, true).unwrap_err().problem,
            Problem::Triangles { .. }
        ));
    }
    std::fs::remove_file(path).unwrap();
}

/// An error names its line in the file, whichever piece finds it.
#[test]
fn errors_name_lines_of_the_file() {
    let text = chain(40, "3 x 1\n");
    let path = file("damaged", &text);
    let line = text.lines().count();
    for parts in [1, 2, 5] {
        let error = read_piece(&path, parts - 1, parts).err().unwrap();
        assert_eq!(error.line, Some(line), "{parts} pieces: {error}");
    }
    std::fs::remove_file(path).unwrap();
    let array = file("array", "%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n");
    assert_eq!(read_piece(&array, 0, 2).err().unwrap().problem, Problem::NoPieces);
    std::fs::remove_file(array).unwrap();
}
