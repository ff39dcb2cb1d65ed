//! Errors of streams that end early and of words that are not values.

use std::io::{self, Read};

use coarsen_matrix_market::{Problem, Source};

/// A stream whose reads fail after some bytes.
struct Broken(&'static [u8], io::ErrorKind);

impl Read for Broken {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        match self.0.read(to)? {
            0 => Err(self.1.into()),
            read => Ok(read),
        }
    }
}

#[test]
fn read_errors_keep_their_cause() {
    let head = b"%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1.0\n";
    for kind in [io::ErrorKind::UnexpectedEof, io::ErrorKind::InvalidData, io::ErrorKind::ConnectionReset] {
        let error = Source::new(Broken(head, kind)).system().unwrap_err();
        assert_eq!(error.problem, Problem::Read { kind });
    }
}

#[test]
fn a_word_that_is_no_value_is_told_as_such() {
    let file = |word: &str| format!("%%MatrixMarket matrix array real general\n2 1\n1.0\n{word}\n");
    let problem = |word: &str| Source::new(io::Cursor::new(file(word))).vector().unwrap_err().problem;
    assert!(matches!(problem("abc"), Problem::Value { found } if found == "abc"));
    assert!(matches!(problem("nan"), Problem::NotFinite { .. }));
    assert!(matches!(problem("1 2"), Problem::Words { expected: "value", .. }));
}
