//! Files that other programs write and that differ from the format. They are read, or the error names the cure.

use std::io::{Cursor, Write};

use coarsen_matrix_market::{Problem, Source, read_system};
use coarsen_sparse::Bsr;
use flate2::Compression;
use flate2::write::GzEncoder;

fn case(name: &str) -> Option<Bsr<f64>> {
    let file = crate::data::data()?.join("cases").join(name);
    Some(read_system(file).unwrap_or_else(|error| panic!("{error}")))
}

const BODY: &str = "4 4 7\n1 1 4\n2 1 -1\n2 2 4\n3 2 -1\n3 3 4\n4 3 -1\n4 4 4\n";
const BANNER: &str = "%%MatrixMarket matrix coordinate real symmetric\n";

fn matrix(bytes: impl Into<Vec<u8>>) -> Result<Bsr<f64>, Problem> {
    Source::new(Cursor::new(bytes.into())).system().map_err(|error| error.problem)
}

/// tridiag(-1, 4, -1).
fn expected() -> Bsr<f64> {
    matrix(format!("{BANNER}{BODY}")).unwrap()
}

#[test]
fn banner_may_have_other_marks() {
    for mark in
        ["%MatrixMarket", "%% MatrixMarket", "% matrixmarket", "%%%MatrixMarket", "\u{feff}%%MatrixMarket"]
    {
        let text = format!("{}{BODY}", BANNER.replace("%%MatrixMarket", mark));
        assert_eq!(matrix(text), Ok(expected()), "{mark}");
    }
    for mark in ["MatrixMarket", "%%", "% %MatrixMarket", "%%Matrix Market", "%%MatrixMarket matrix"] {
        let text = format!("{}{BODY}", BANNER.replace("%%MatrixMarket", mark));
        assert!(matches!(matrix(text), Err(Problem::Banner { .. })), "{mark}");
    }
    for name in ["banner-one-percent.mtx", "bom.mtx"] {
        let Some(read) = case(name) else { return };
        assert_eq!(read, expected(), "{name}");
    }
}

pub(crate) fn gzip(text: &str) -> Vec<u8> {
    let mut gz = GzEncoder::new(Vec::new(), Compression::fast());
    gz.write_all(text.as_bytes()).unwrap();
    gz.finish().unwrap()
}

#[test]
fn zeros_may_follow_gzip() {
    let text = format!("{BANNER}{BODY}");
    let (first, second) = text.split_at(70);
    for zeros in [1, 511, 100_000] {
        let padded = |gz: Vec<u8>| [gz, vec![0; zeros]].concat();
        assert_eq!(matrix(padded(gzip(&text))), Ok(expected()), "{zeros}");
        // Blocks of zeros between streams, too.
        assert_eq!(matrix([padded(gzip(first)), padded(gzip(second))].concat()), Ok(expected()), "{zeros}");
    }
    let other = [gzip(&text), b"zip".to_vec()].concat();
    assert!(matches!(matrix(other), Err(Problem::Gzip { .. })));
    let Some(read) = case("gz-trailing-junk.mtx.gz") else { return };
    assert_eq!(read, expected());
}

#[test]
fn whole_symmetric_array_names_the_cure() {
    for structure in ["symmetric", "skew-symmetric"] {
        let text = format!("%%MatrixMarket matrix array real {structure}\n2 2\n0\n-1\n1\n0\n");
        let error = Source::new(Cursor::new(text)).dense().unwrap_err();
        let cure = "declare the file `general`";
        assert!(error.to_string().contains(cure), "{error}");
    }
}

#[test]
fn other_encodings_name_the_cure() {
    let text = format!("{BANNER}{BODY}");
    let wide: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    for text in [[vec![0xff, 0xfe], wide.clone()].concat(), wide] {
        let problem = matrix(text).unwrap_err();
        assert!(problem.to_string().contains("UTF-16") && problem.to_string().contains("UTF-8"), "{problem}");
    }
    let problem = matrix(text.replace('\n', "\r")).unwrap_err();
    assert!(problem.to_string().contains("CR"), "{problem}");
}
