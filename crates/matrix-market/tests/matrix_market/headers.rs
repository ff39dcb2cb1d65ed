//! The banner and the size line.

use std::io::Cursor;

use coarsen_matrix_market::{Problem, Source};

const GENERAL: &str = "%%MatrixMarket matrix coordinate real general";
const SYMMETRIC: &str = "%%MatrixMarket matrix coordinate real symmetric";

fn source(text: String) -> Source {
    Source::new(Cursor::new(text))
}

/// The problem of a file without entries.
fn problem(banner: &str, sizes: &str) -> Problem {
    source(format!("{banner}\n{sizes}\n")).matrix().unwrap_err().problem
}

#[test]
fn banners_in_any_case() {
    let banner = "%%matrixmarket MATRIX Coordinate Real SYMMETRIC\r\n 3\t3  4 \r\n";
    let a = source(format!("{banner}1 1 2.5\n2 1 7\n2 2 1\n3 3 1\n")).matrix().unwrap();
    assert_eq!((a.shape(), a.nnz(), a.get(0, 0), a.get(0, 1)), ((3, 3), 5, 2.5, 7.0));
    let banner = "%%MatrixMarket matrix array integer skew-symmetric\n4 4\n";
    let a = source(format!("{banner}1\n2\n3\n4\n5\n6\n")).dense().unwrap();
    assert_eq!((a.rows(), a.columns(), a.get(3, 2), a.get(2, 3)), (4, 4, 6.0, -6.0));
    let float = source(format!("{banner}1.5\n2\n3\n4\n5\n6\n")).dense().unwrap_err().problem;
    assert!(matches!(float, Problem::NotInteger { .. }), "{float}");
    let few = source(format!("{banner}1\n")).dense().unwrap_err().problem;
    assert_eq!(few, Problem::TooFew { expected: 6, found: 1 });
}

#[test]
fn wrong_words_are_named() {
    let banner = |text: &str| problem(&format!("%%MatrixMarket {text}"), "");
    assert!(matches!(banner("wrong"), Problem::Banner { .. }));
    assert!(matches!(banner("matrix coordinate real general x"), Problem::Banner { .. }));
    assert!(matches!(banner("vector coordinate real general"), Problem::Word { what: "object", .. }));
    assert!(matches!(banner("matrix sparse real general"), Problem::Word { what: "format", .. }));
    assert!(matches!(banner("matrix array float general"), Problem::Word { what: "field", .. }));
    assert!(matches!(banner("matrix array real spd"), Problem::Word { what: "symmetry", .. }));
    assert_eq!(banner("matrix array pattern general"), Problem::PatternArray);
    assert_eq!(banner("matrix array real Hermitian"), Problem::Hermitian);
    assert!(matches!(banner("matrix array complex general"), Problem::NoSize { .. }));
}

#[test]
fn sizes_are_checked() {
    for line in ["2 2", "2 2 2 2", "2 -2 2", "2 2.0 2", "a b c", "2 2 99999999999999999999"] {
        assert!(matches!(problem(GENERAL, line), Problem::Size { .. }), "{line}");
    }
    assert!(matches!(problem(GENERAL, "4294967296 1 1"), Problem::TooLarge { what: "rows", .. }));
    assert!(matches!(problem(GENERAL, "1 1 4294967296"), Problem::TooLarge { what: "entries", .. }));
    assert!(matches!(problem(GENERAL, "0 1 1"), Problem::NoPlaces { .. }));
    assert_eq!(source(format!("{GENERAL}\n0 0 0\n")).matrix().unwrap().shape(), (0, 0));
    assert!(matches!(problem(SYMMETRIC, "4 3 4"), Problem::SymmetricRectangle { .. }));
}

/// Sizes are judged before an entry is read: `TooFew` is the problem of a file whose sizes are accepted.
#[test]
fn declared_sizes_need_entries() {
    let file = |banner: &str, line: &str| source(format!("{banner}\n{line}\n"));
    let system = |banner, line| file(banner, line).system().unwrap_err().problem;
    assert!(matches!(system(GENERAL, "3 4 9"), Problem::Rectangular { .. }));
    assert!(matches!(system(GENERAL, "5 5 4"), Problem::EmptyRows { filled: 4, .. }));
    assert_eq!(system(GENERAL, "5 5 5"), Problem::TooFew { expected: 5, found: 0 });
    assert!(matches!(system(SYMMETRIC, "5 5 2"), Problem::EmptyRows { filled: 4, .. }));
    assert_eq!(system(SYMMETRIC, "5 5 3"), Problem::TooFew { expected: 3, found: 0 });
    assert!(matches!(problem(GENERAL, "1 4000000000 5"), Problem::Hollow { .. }));
    let dense = file(GENERAL, "100000 100000 5").dense().unwrap_err().problem;
    assert!(matches!(dense, Problem::Hollow { .. }), "{dense}");
    assert_eq!(problem(GENERAL, "100000 100000 5"), Problem::TooFew { expected: 5, found: 0 });
}
