//! Properties of reading and writing: round trips, errors, and independence of the number of threads.

use std::fs;
use std::io::Cursor;
use std::path::PathBuf;

use coarsen_core::parallel;
use coarsen_matrix_market::{
    self as matrix_market, Dense, Problem, ReadError, Source, Symmetry, WriteError, read, read_dense,
    read_vector,
};
use coarsen_sparse::{Bsr, assembly};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// The number of cases. The cases are the same in every run.
pub(crate) fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        rng_seed: RngSeed::Fixed(5935),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// A temporary file for each test, removed at the end.
struct Temporary(PathBuf);

impl Temporary {
    fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("coarsen-{}-{name}", std::process::id())))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn matrix(text: &str) -> Result<Bsr<f64>, ReadError> {
    Source::new(Cursor::new(text.to_owned())).matrix()
}

fn system(text: &str) -> Result<Bsr<f64>, ReadError> {
    Source::new(Cursor::new(text.to_owned())).system()
}

/// The line and the problem of an invalid text.
fn wrong(text: &str) -> (usize, Problem) {
    let error = matrix(text).unwrap_err();
    (error.line.unwrap(), error.problem)
}

/// A general coordinate file with the given lines after its banner.
fn general(lines: &str) -> String {
    format!("%%MatrixMarket matrix coordinate real general\n{lines}")
}

fn finite() -> impl Strategy<Value = f64> {
    // A sum of entries does not preserve −0, so −0 is left out.
    any::<u64>()
        .prop_map(f64::from_bits)
        .prop_filter("a number", |v| v.is_finite() && (*v != 0.0 || v.is_sign_positive()))
}

/// Random matrices of up to 20 x 20 blocks, some of them symmetric.
fn matrices() -> impl Strategy<Value = Bsr<f64>> {
    let size = (0..=20_usize, 0..=20_usize, 1..=3_usize, any::<bool>());
    size.prop_flat_map(|(n, m, b, symmetric)| {
        let (rows, columns) = if symmetric { (n * b, n * b) } else { (n * b, m * b) };
        let places = if rows * columns == 0 { 0..=0 } else { 0..=60 };
        let entry = (0..rows.max(1) as u32, 0..columns.max(1) as u32, finite());
        prop::collection::vec(entry, places).prop_map(move |mut entries| {
            entries.sort_by_key(|&(i, j, _)| (i, j));
            entries.dedup_by_key(|&mut (i, j, _)| (i, j));
            if symmetric {
                entries.retain(|&(i, j, _)| i >= j);
                let mirrored: Vec<_> =
                    entries.iter().filter(|(i, j, _)| i != j).map(|&(i, j, v)| (j, i, v)).collect();
                entries.extend(mirrored);
            }
            assembly::from_triplets_blocked(rows, columns, (b, b), &entries).unwrap()
        })
    })
}

fn stored(a: &Bsr<f64>) -> Vec<(usize, usize, u64)> {
    let (r, c) = a.block();
    let mut all: Vec<_> = (0..a.pattern().rows())
        .flat_map(|i| {
            a.row(i).flat_map(move |(j, block)| {
                block.iter().enumerate().map(move |(k, v)| (i * r + k / c, j * c + k % c, v.to_bits()))
            })
        })
        .collect();
    all.sort_unstable();
    all
}

proptest! {
    #![proptest_config(cases(128))]

    #[test]
    fn written_matrices_come_back(a in matrices(), detect: bool, gz: bool) {
        let file = Temporary::new(if gz { "matrix.mtx.gz" } else { "matrix.mtx" });
        let symmetry = if detect { Symmetry::Detect } else { Symmetry::General };
        matrix_market::write(&file.0, &a, symmetry).unwrap();
        let b = read(&file.0).unwrap();
        prop_assert_eq!(b.shape(), a.shape());
        prop_assert_eq!(b.block(), (1, 1));
        prop_assert_eq!(stored(&b), stored(&a));
    }

    #[test]
    fn written_arrays_come_back(rows in 0..20_usize, columns in 0..4_usize, seed in prop::collection::vec(finite(), 80)) {
        let file = Temporary::new("dense.mtx");
        let dense = Dense::new(rows, columns, seed[..rows * columns].to_vec()).unwrap();
        matrix_market::write_dense(&file.0, &dense).unwrap();
        prop_assert_eq!(read_dense(&file.0).unwrap(), dense.clone());
        matrix_market::write_vector(&file.0, dense.values()).unwrap();
        prop_assert_eq!(read_vector(&file.0).unwrap(), dense.values());
    }
}

#[test]
fn every_legal_spelling_is_read_alike() {
    let plain = matrix(&general("3 3 2\n1 2 1.5\n3 3 -2e1\n")).unwrap();
    for text in [
        general("3 3 2\n1 2 1.5\n3 3 -2e1"),
        general("3 3 2\r\n1 2 1.5\r\n3 3 -2E+01\r\n"),
        general("% c\n\n 3\t3 2 \n%\n  1  2\t+1.5 \n\n % c\n3 3 -2.0D1\n\n% end\n"),
        general("3 3 3\n1 2 1\n3 3 -20\n1 2 0.5\n"),
        general("3 3 2\n3 3 -20.0\n1 2 15d-1\n").to_uppercase(),
    ] {
        assert_eq!(matrix(&text).unwrap(), plain, "{text}");
    }
}

#[test]
fn triangles_are_mirrored() {
    let banner = |kind: &str| format!("%%MatrixMarket matrix {kind}\n");
    let dense = |text: String| {
        let dense = Source::new(Cursor::new(text)).dense().unwrap();
        let (rows, columns) = (dense.rows(), dense.columns());
        (0..rows).map(|i| (0..columns).map(|j| dense.get(i, j)).collect()).collect::<Vec<Vec<f64>>>()
    };
    let lower = banner("coordinate real symmetric") + "2 2 2\n1 1 3\n2 1 4\n";
    let upper = banner("coordinate real symmetric") + "2 2 2\n1 1 3\n1 2 4\n";
    let array = banner("array real symmetric") + "2 2\n3\n4\n0\n";
    for text in [&lower, &upper, &array] {
        assert_eq!(dense(text.clone()), [[3.0, 4.0], [4.0, 0.0]]);
        let a = matrix(text).unwrap();
        assert_eq!((a.nnz(), a.get(0, 1), a.get(1, 0)), (3, 4.0, 4.0));
    }
    let skew = banner("coordinate integer skew-symmetric") + "3 3 2\n2 1 4\n3 3 0\n";
    assert_eq!(dense(skew), [[0.0, -4.0, 0.0], [4.0, 0.0, 0.0], [0.0, 0.0, 0.0]]);
    let skew = banner("array real skew-symmetric") + "3 3\n1\n2\n3\n";
    assert_eq!(dense(skew), [[0.0, -1.0, -2.0], [1.0, 0.0, -3.0], [2.0, 3.0, 0.0]]);
    let general = banner("array real general") + "2 3\n1\n2\n3\n4\n5\n6\n";
    assert_eq!(dense(general), [[1.0, 3.0, 5.0], [2.0, 4.0, 6.0]]);
}

#[test]
fn errors_name_the_line_and_the_cause() {
    let found = |text: &str| text.to_owned();
    let index = |what, text, limit| Problem::Index { what, found: found(text), limit };
    let words = |text| Problem::Words { expected: "row column value", found: found(text) };
    for (lines, line, problem) in [
        ("3 3 1\n0 1 1\n", 3, Problem::ZeroIndex { what: "row" }),
        ("3 3 1\n1 0 1\n", 3, Problem::ZeroIndex { what: "column" }),
        ("3 3 1\n-1 1 1\n", 3, index("row", "-1", 3)),
        ("3 3 1\n1 4 1\n", 3, index("column", "4", 3)),
        ("3 3 1\n1.0 1 1\n", 3, index("row", "1.0", 3)),
        ("3 3 1\n1 99999999999999999999999 1\n", 3, index("column", "99999999999999999999999", 3)),
        ("3 3 2\n1 1 1\n%\n1 1\n", 5, words("1 1")),
        ("3 3 2\n1 1 1\n1 1 1 1\n", 4, words("1 1 1 1")),
        ("3 3 2\n1 1 1\n1 1 1 % no comment here\n", 4, words("1 1 1 % no comment here")),
        ("3 3 1\n1 1 1,5\n", 3, Problem::Value { found: found("1,5") }),
        ("3 3 1\n1 1 0x1\n", 3, Problem::Value { found: found("0x1") }),
        ("3 3 1\n1 1 NaN\n", 3, Problem::NotFinite { found: found("NaN") }),
        ("3 3 1\n1 1 -Infinity\n", 3, Problem::NotFinite { found: found("-Infinity") }),
        ("3 3 1\n1 1 -1.#IND\n", 3, Problem::NotFinite { found: found("-1.#IND") }),
        ("3 3 1\n1 1 1e309\n", 3, Problem::NotFinite { found: found("1e309") }),
        ("3 3 2\n1 1 1\n", 3, Problem::TooFew { expected: 2, found: 1 }),
        ("3 3 1\n1 1 1\n2 2 2\n", 4, Problem::TooMany { expected: 1 }),
        ("3 3 1\n\u{1}\u{2}\n", 3, words("\\u{1}\\u{2}")),
        ("", 1, Problem::NoSize { expected: "rows columns entries" }),
    ] {
        assert_eq!(wrong(&general(lines)), (line, problem), "{lines}");
    }
    assert_eq!(wrong(""), (1, Problem::Empty));
    assert!(matches!(wrong("1 1 1\n"), (1, Problem::Banner { .. })));
    let symmetric = "%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n1 1 1\n2 1 1\n1 2 1\n";
    assert_eq!(wrong(symmetric), (5, Problem::Triangles { structure: "symmetric", row: 1, column: 2 }));
    let skew = "%%MatrixMarket matrix coordinate real skew-symmetric\n3 3 1\n2 2 5\n";
    assert_eq!(wrong(skew), (3, Problem::SkewDiagonal { row: 2, value: 5.0 }));
    let integer = "%%MatrixMarket matrix coordinate integer general\n3 3 1\n2 2 5.5\n";
    assert_eq!(wrong(integer), (3, Problem::NotInteger { found: found("5.5") }));
    let array = "%%MatrixMarket matrix array real general\n2 1\n1\n2 3\n";
    assert_eq!(wrong(array), (4, Problem::Words { expected: "value", found: found("2 3") }));
    let overflow = general("3 3 2\n2 1 1e308\n2 1 1e308\n");
    let infinite = Problem::Overflow { row: 2, column: 1 };
    assert_eq!(wrong(&overflow), (2, infinite.clone()));
    assert_eq!(Source::new(Cursor::new(overflow)).dense().unwrap_err().problem, infinite);
    let error = read("no/such/file.mtx").unwrap_err();
    assert!(error.line.is_none() && matches!(error.problem, Problem::Open { .. }));
    assert!(matches!(read(".").unwrap_err().problem, Problem::Open { .. } | Problem::Read { .. }));
}

#[test]
fn declared_sizes_allocate_nothing() {
    // Each of these sizes would need gigabytes if memory were allocated for it.
    let rows = u32::MAX;
    assert!(matches!(
        system(&general(&format!("{rows} {rows} 1\n1 1 1\n"))).unwrap_err().problem,
        Problem::EmptyRows { .. }
    ));
    assert!(matches!(wrong(&general(&format!("{rows} 1 1\n1 1 1\n"))).1, Problem::Hollow { .. }));
    assert!(matches!(wrong(&general(&format!("1 {rows} 1\n1 1 1\n"))).1, Problem::Hollow { .. }));
    assert!(matches!(
        wrong(&general(&format!("{rows} {rows} {rows}\n1 1 1\n"))).1,
        Problem::TooFew { found: 1, .. }
    ));
    let array = format!("%%MatrixMarket matrix array real general\n{rows} {rows}\n1\n");
    assert!(matches!(wrong(&array).1, Problem::TooFew { found: 1, .. }));
    let dense = Source::new(Cursor::new(general("999999 999999 1\n1 1 1\n"))).dense();
    assert!(matches!(dense.unwrap_err().problem, Problem::Hollow { .. }));
}

#[test]
fn systems_are_square_and_have_no_empty_row() {
    assert!(matches!(system(&general("2 3 3\n")).unwrap_err().problem, Problem::Rectangular { .. }));
    let error = system(&general("%\n3 3 2\n1 1 1\n2 2 2\n")).unwrap_err();
    assert_eq!((error.line, error.problem), (Some(3), Problem::EmptyRows { rows: 3, entries: 2, filled: 2 }));
    let symmetric = "%%MatrixMarket matrix coordinate real symmetric\n2 2 1\n2 1 5\n";
    assert_eq!(system(symmetric).unwrap().nnz(), 2);
}

/// A symmetric file of 2 MB with comments and the given last entries.
fn large(end: &str) -> String {
    let n = 20_000;
    let mut text = format!("%%MatrixMarket matrix coordinate real symmetric\n{n} {n} {}\n", 5 * n - 10);
    for j in 1..=n {
        if j % 1000 == 0 {
            text += "% a comment\n\n";
        }
        for i in (j..j + 5).filter(|i| *i <= n) {
            text += &format!("{i} {j} {:e}\n", f64::from(i * j).sin());
        }
    }
    text + end
}

#[test]
fn threads_change_neither_bits_nor_errors() {
    let on = |threads, text: &str| parallel::threads(threads, || matrix(text)).unwrap();
    let text = large("");
    let one = on(1, &text).unwrap();
    assert_eq!(one.nnz(), 20_000 + 2 * (80_000 - 10));
    let middle = text[text.len() / 2..].find('\n').unwrap() + text.len() / 2 + 1;
    let inserted = |line: &str| format!("{}{line}\n{}", &text[..middle], &text[middle..]);
    for damaged in [
        text.clone(),
        large("1 1 1\n"),
        inserted("1 1 x"),
        inserted("7 9 1"),
        inserted("9 7 1"),
        inserted("7 9 1") + "x",
        text[..middle].to_owned(),
    ] {
        let one = on(1, &damaged);
        for threads in [2, 7] {
            assert_eq!(on(threads, &damaged), one);
        }
    }
}

#[test]
fn writing_leaves_all_or_nothing() {
    let file = Temporary::new("whole.mtx");
    let mut a = Bsr::identity(3, 1).unwrap();
    matrix_market::write(&file.0, &a, Symmetry::Detect).unwrap();
    let before = fs::read(&file.0).unwrap();
    a.values_mut()[1] = f64::NAN;
    let error = matrix_market::write(&file.0, &a, Symmetry::Detect).unwrap_err();
    assert_eq!(error, WriteError::NotFinite { file: file.0.clone(), row: 2, column: 2 });
    let x = Dense::complex(4, 1, vec![0.0, 0.0, 0.0, f64::INFINITY]).unwrap();
    let error = matrix_market::write_dense(&file.0, &x).unwrap_err();
    assert_eq!(error, WriteError::NotFinite { file: file.0.clone(), row: 2, column: 1 });
    assert_eq!(fs::read(&file.0).unwrap(), before);
    let error = matrix_market::write_vector("no/such/folder/x.mtx", &[1.0]).unwrap_err();
    assert!(matches!(error, WriteError::File { .. }));
    let error = matrix_market::write_vector(std::env::temp_dir(), &[1.0]).unwrap_err();
    assert!(matches!(error, WriteError::File { .. }));
    let left = |entry: fs::DirEntry| {
        entry.file_name().to_string_lossy().contains(&format!("whole.mtx.{}", std::process::id()))
    };
    assert!(!fs::read_dir(std::env::temp_dir()).unwrap().flatten().any(left));
}

/// The text of a written matrix.
fn written(name: &str, a: &Bsr<f64>) -> String {
    let file = Temporary::new(name);
    matrix_market::write(&file.0, a, Symmetry::Detect).unwrap();
    fs::read_to_string(&file.0).unwrap()
}

#[test]
fn symmetry_is_of_blocks_and_values() {
    let is_symmetric =
        |a: &Bsr<f64>| written("symmetry.mtx", a).lines().next().unwrap().ends_with("symmetric");
    let entries = [(0, 0, 1.0), (0, 1, 2.0), (1, 0, 2.0), (0, 3, 4.0), (3, 0, 4.0)];
    let mut a = assembly::from_triplets_blocked(4, 4, (2, 2), &entries).unwrap();
    assert!(is_symmetric(&a));
    *a.values_mut().last_mut().unwrap() = f64::MIN_POSITIVE;
    assert!(!is_symmetric(&a));
    let a = assembly::from_triplets_blocked(4, 4, (2, 2), &[(0, 3, 0.0)]).unwrap();
    assert!(!is_symmetric(&a), "a stored zero without a stored transposed entry");
    let a = assembly::from_triplets_blocked(6, 6, (2, 3), &[(0, 0, 1.0)]).unwrap();
    assert!(!is_symmetric(&a));
}

#[test]
fn scalars_of_blocks_are_written_row_by_row() {
    let a = assembly::from_triplets_blocked(2, 4, (2, 2), &[(1, 2, 7.0)]).unwrap();
    let banner = "%%MatrixMarket matrix coordinate real general\n";
    assert_eq!(written("rows.mtx", &a), format!("{banner}2 4 4\n1 3 0e0\n1 4 0e0\n2 3 7e0\n2 4 0e0\n"));
}
