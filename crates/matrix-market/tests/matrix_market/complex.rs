//! Complex files, which become real matrices of twice the size.

use std::io::Cursor;

use coarsen_matrix_market::{Dense, Problem, ReadError, Source, read_dense, read_vector, write_dense};
use coarsen_sparse::Bsr;

fn source(kind: &str, body: &str) -> Source {
    Source::new(Cursor::new(format!("%%MatrixMarket matrix {kind}\n{body}")))
}

/// The blocks [a −b; b a] of a matrix of complex numbers.
fn is(a: &Bsr<f64>, expected: &[&[[f64; 2]]]) {
    assert_eq!((a.block(), a.shape()), ((2, 2), (2 * expected.len(), 2 * expected[0].len())));
    for (i, row) in expected.iter().enumerate() {
        for (j, [re, im]) in row.iter().enumerate() {
            let block = [(0, 0), (0, 1), (1, 0), (1, 1)].map(|(k, l)| a.get(2 * i + k, 2 * j + l));
            assert_eq!(block, [*re, -im, *im, *re], "({i}, {j})");
        }
    }
}

#[test]
fn entries_become_blocks() {
    let zero = [0.0; 2];
    let body = "2 2 3\n1 1 1 2\n1 2 3.5 -4\n1 1 1 1\n";
    let a = source("coordinate complex general", body).matrix().unwrap();
    is(&a, &[&[[2.0, 3.0], [3.5, -4.0]], &[zero, zero]]);
    let body = "2 2 2\n1 1 1 0\n2 1 3 4\n";
    for (structure, mirrored) in [("symmetric", [3.0, 4.0]), ("hermitian", [3.0, -4.0])] {
        let a = source(&format!("coordinate complex {structure}"), body).system().unwrap();
        is(&a, &[&[[1.0, 0.0], mirrored], &[[3.0, 4.0], zero]]);
    }
    let a = source("coordinate complex skew-symmetric", "2 2 1\n2 1 3 4\n").matrix().unwrap();
    is(&a, &[&[zero, [-3.0, -4.0]], &[[3.0, 4.0], zero]]);
    let a = source("array complex hermitian", "2 2\n1 0\n3 4\n5 0\n").matrix().unwrap();
    is(&a, &[&[[1.0, 0.0], [3.0, -4.0]], &[[3.0, 4.0], [5.0, 0.0]]]);
}

#[test]
fn vectors_alternate_real_and_imaginary_parts() {
    let x = source("array complex general", "2 1\n1 2\n3 4e0\n").vector().unwrap();
    assert_eq!(x, [1.0, 2.0, 3.0, 4.0]);
    let x = source("coordinate complex general", "1 3 1\n1 2 5 6\n").vector().unwrap();
    assert_eq!(x, [0.0, 0.0, 5.0, 6.0, 0.0, 0.0]);
    let two = source("array complex general", "1 2\n1 2\n3 4\n").dense().unwrap();
    assert_eq!((two.is_complex(), two.rows(), two.columns(), two.column(1)), (true, 2, 2, &[3.0, 4.0][..]));
}

#[test]
fn written_vectors_come_back() {
    let path = std::env::temp_dir().join(format!("complex-{}.mtx", std::process::id()));
    let a = Dense::complex(4, 2, (0..8).map(|k| f64::from(k) / 3.0).collect()).unwrap();
    write_dense(&path, &a).unwrap();
    assert!(
        std::fs::read_to_string(&path)
            .unwrap()
            .starts_with("%%MatrixMarket matrix array complex general\n2 2\n")
    );
    assert_eq!(read_dense(&path).unwrap(), a);
    write_dense(&path, &Dense::complex(2, 1, vec![1.0, -1.0]).unwrap()).unwrap();
    assert_eq!(read_vector(&path).unwrap(), [1.0, -1.0]);
    std::fs::remove_file(&path).unwrap();
    assert!(Dense::complex(3, 1, vec![0.0; 3]).is_err());
}

#[test]
fn faults_have_their_line() {
    let fault = |kind: &str, body: &str| -> ReadError { source(kind, body).matrix().unwrap_err() };
    for (kind, body, line, problem) in [
        ("coordinate complex general", "1 1 1\n1 1 1\n", 3, "expected `row column real imaginary`"),
        ("coordinate complex general", "1 1 1\n1 1 1 2 3\n", 3, "expected `row column real imaginary`"),
        ("coordinate complex general", "1 1 1\n1 1 1 nan\n", 3, "`nan` is not finite"),
        ("coordinate complex general", "1 1 1\n1 2 1 0\n", 3, "the column index"),
        ("coordinate complex hermitian", "1 1 1\n1 1 1 2\n", 3, "diagonal of a hermitian matrix is real"),
        (
            "coordinate complex skew-symmetric",
            "1 1 1\n1 1 0 2\n",
            3,
            "diagonal of a skew-symmetric matrix is zero",
        ),
        ("coordinate complex hermitian", "2 2 2\n1 2 1 2\n2 1 1 -2\n", 4, "a different triangle"),
        ("array complex general", "1 1\n1\n", 3, "expected `real imaginary`"),
        ("array complex general", "1 1\n1 1\n1 1\n", 4, "but more follow"),
    ] {
        let error = fault(kind, body);
        assert_eq!(error.line, Some(line), "{kind} {body}: {error}");
        assert!(error.to_string().contains(problem), "{kind} {body}: {error}");
    }
    assert!(matches!(
        fault("coordinate complex general", "2 2 1\n1 1 1 1\n1 1 1 1\n").problem,
        Problem::TooMany { .. }
    ));
}
