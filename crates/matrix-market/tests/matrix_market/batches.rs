//! Text is read in batches of whole lines, and gzip streams are decompressed.

use std::io::{Cursor, repeat};

use coarsen_matrix_market::{Problem, ReadError, Source};

use crate::cases::gzip;

/// The number of bytes read at a time, and the longest line.
const BATCH: usize = 1 << 20;

/// A valid file with comments, an array, and a file with a wrong entry; two have no newline at the end.
const FILES: [&str; 3] = [
    "%%MatrixMarket matrix coordinate real symmetric\n% c\n\n3 3 4\n1 1 2.5\n2 1 -1e-3\n%\n3 3 1\n2 2 7",
    "%%MatrixMarket matrix array real general\n2 2\n1\n2\n\n3\n4",
    "%%MatrixMarket matrix coordinate pattern general\n2 2 2\n1 1\n2 3\n",
];

/// A result, where lines are counted without those of the padding.
fn without<R>(lines: usize, read: Result<R, ReadError>) -> Result<R, (usize, Problem)> {
    read.map_err(|error| (error.line.unwrap() - lines, error.problem))
}

/// Comments behind the banner move the end of the first batch to every byte of the file.
#[test]
fn batches_change_neither_values_nor_lines() {
    for file in FILES {
        let plain = || Source::new(file.as_bytes());
        let (matrix, dense) = (without(0, plain().matrix()), without(0, plain().dense()));
        let (banner, rest) = file.split_at(file.find('\n').unwrap() + 1);
        for before in 0..rest.len() + 2 {
            let mut text = banner.to_owned();
            let (padding, mut lines) = (BATCH - banner.len() - before, 0);
            while text.len() < banner.len() + padding {
                let length = (banner.len() + padding - text.len()).min(1 << 17);
                text.extend(std::iter::repeat_n('%', length - 1).chain(['\n']));
                lines += 1;
            }
            text += rest;
            let padded = || Source::new(Cursor::new(text.clone()));
            assert_eq!(without(lines, padded().matrix()), matrix, "{before}");
            assert_eq!(without(lines, padded().dense()), dense, "{before}");
        }
    }
}

#[test]
fn a_line_without_end_is_refused() {
    let error = Source::new(repeat(b'x')).matrix().unwrap_err();
    assert_eq!((error.line, error.problem), (Some(1), Problem::LongLine { limit: BATCH }));
}

#[test]
fn gzip_is_seen_by_its_first_bytes() {
    let read = |bytes: &[u8]| Source::new(Cursor::new(bytes.to_vec())).matrix();
    let (expected, gz) = (read(FILES[0].as_bytes()), gzip(FILES[0]));
    assert_eq!(read(&gz), expected);
    let (one, two) = FILES[0].split_at(90);
    assert_eq!(read(&[gzip(one), gzip(two)].concat()), expected);
    for cut in 2..gz.len() {
        let cut = read(&gz[..cut]).unwrap_err().problem;
        assert!(matches!(cut, Problem::Gzip { .. }), "{cut}");
    }
}

#[test]
fn quotations_are_short_and_printable() {
    let quoted = |line: &[u8]| {
        let file = [b"%%MatrixMarket matrix coordinate real general\n2 2 1\n", line, b"\n"].concat();
        match Source::new(Cursor::new(file)).matrix().unwrap_err().problem {
            Problem::Words { found, .. } => found,
            other => panic!("{other}"),
        }
    };
    assert_eq!(quoted(b" 1 2\r"), "1 2");
    assert_eq!(quoted(b"\0\xff"), "\\0\u{fffd}");
    assert_eq!(quoted(&[b'x'; 200]), format!("{}…", "x".repeat(60)));
}

#[test]
fn a_matrix_that_is_no_system_is_read_with_the_refusal() {
    let wide = "%%MatrixMarket matrix coordinate real general\n2 3 2\n1 1 1\n2 3 1\n";
    let (matrix, refusal) = Source::new(wide.as_bytes()).matrix_and_refusal().unwrap();
    assert_eq!(matrix.shape(), (2, 3));
    assert_eq!(refusal, Source::new(wide.as_bytes()).system().err());
    let (_, refusal) = Source::new(FILES[0].as_bytes()).matrix_and_refusal().unwrap();
    assert_eq!(refusal, None);
}
