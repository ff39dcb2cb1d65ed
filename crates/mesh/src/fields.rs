//! Words, numbers and bytes of a file, with their locations.

use std::str::FromStr;

use super::{Location, Problem, repeated};

/// The maximum length of a quotation in a message, in characters.
const QUOTED: usize = 40;

/// A problem and its location; [`ReadError`](super::ReadError) adds the file.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) location: Option<Location>,
    pub(super) problem: Problem,
}

/// The encoding of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    /// Text separated by blanks.
    Text,
    /// Bytes in little-endian order.
    Little,
    /// Bytes in big-endian order.
    Big,
}

/// A position in the bytes of a file.
///
/// Lists grow as they are read, so a wrong count in the file allocates no memory.
pub(super) struct Fields<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Whether `#` starts a comment.
    comments: bool,
    /// The last byte of a line: CR in a file whose first line ends in CR alone.
    line_end: u8,
    /// The first entry of a list that does not end with its line; see [`entry`](Self::entry).
    uneven: Option<Fault>,
    pub(super) encoding: Encoding,
}

impl<'a> Fields<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        let end = bytes.iter().position(|byte| matches!(byte, b'\r' | b'\n'));
        let cr = end.is_some_and(|end| bytes[end] == b'\r' && bytes.get(end + 1) != Some(&b'\n'));
        let line_end = if cr { b'\r' } else { b'\n' };
        Self { bytes, at: 0, comments: false, line_end, uneven: None, encoding: Encoding::Text }
    }

    /// As `new`, but skips comments from `#` to the end of the line.
    pub(super) fn with_comments(bytes: &'a [u8]) -> Self {
        Self { comments: true, ..Self::new(bytes) }
    }

    /// A problem at the current position.
    pub(super) fn fault(&self, problem: Problem) -> Fault {
        self.fault_at(self.at, problem)
    }

    /// A problem at an earlier position, from [`position`](Self::position).
    #[cold]
    pub(super) fn fault_at(&self, at: usize, problem: Problem) -> Fault {
        let line = || 1 + self.bytes[..at].iter().filter(|&&byte| byte == self.line_end).count();
        let location =
            if self.encoding == Encoding::Text { Location::Line(line()) } else { Location::Byte(at) };
        Fault { location: Some(location), problem }
    }

    /// The position of the next byte.
    pub(super) fn position(&self) -> usize {
        self.at
    }

    /// The rest of the line, without its end; `None` at the end of the file.
    pub(super) fn line(&mut self) -> Option<&'a [u8]> {
        let rest = &self.bytes[self.at..];
        if rest.is_empty() {
            return None;
        }
        let end = rest.iter().position(|&byte| byte == self.line_end).unwrap_or(rest.len());
        self.at += (end + 1).min(rest.len());
        Some(&rest[..end])
    }

    /// Skips blanks, line ends and comments.
    fn skip_blanks(&mut self) {
        while let Some(&byte) = self.bytes.get(self.at) {
            if byte.is_ascii_whitespace() {
                self.at += 1;
            } else if self.comments && byte == b'#' {
                self.line();
            } else {
                break;
            }
        }
    }

    /// The next word; `None` at the end of the file.
    pub(super) fn word(&mut self) -> Option<&'a [u8]> {
        self.skip_blanks();
        let rest = &self.bytes[self.at..];
        let end = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
        self.at += end;
        (end > 0).then(|| &rest[..end])
    }

    /// The next word, without consuming it.
    pub(super) fn peek(&mut self) -> Option<&'a [u8]> {
        self.skip_blanks();
        let before = self.at;
        let word = self.word();
        self.at = before;
        word
    }

    /// The next word; an error at the end of the file.
    pub(super) fn expect(&mut self, what: &'static str) -> Result<&'a [u8], Fault> {
        match self.word() {
            Some(word) => Ok(word),
            None => Err(self.fault(Problem::End { what })),
        }
    }

    /// The next word, which must be `expected`, ignoring case.
    pub(super) fn keyword(&mut self, expected: &'static str) -> Result<(), Fault> {
        let word = self.expect(expected)?;
        if word.eq_ignore_ascii_case(expected.as_bytes()) {
            return Ok(());
        }
        Err(self.fault(Problem::Word { expected, found: quote(word) }))
    }

    /// A number given as text in any encoding, such as a size in a header.
    pub(super) fn text<T: FromStr>(&mut self, what: &'static str) -> Result<T, Fault> {
        let word = self.expect(what)?;
        number(word).ok_or_else(|| self.fault(Problem::Number { what, found: quote(word) }))
    }

    /// The next N bytes.
    fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], Fault> {
        let Some(bytes) = self.bytes[self.at..].first_chunk::<N>() else {
            return Err(self.fault(Problem::End { what }));
        };
        self.at += N;
        let mut bytes = *bytes;
        if self.encoding == Encoding::Big {
            bytes.reverse();
        }
        Ok(bytes)
    }

    /// Skips the line end before binary data.
    pub(super) fn end_line(&mut self) -> Result<(), Fault> {
        match self.line() {
            Some(rest) if rest.trim_ascii().is_empty() => Ok(()),
            Some(rest) => Err(self.fault(Problem::Word { expected: "a line end", found: quote(rest) })),
            None => Err(self.fault(Problem::End { what: "binary data" })),
        }
    }

    /// Skips the line end before data in a binary file.
    pub(super) fn begin_data(&mut self) -> Result<(), Fault> {
        if self.encoding == Encoding::Text { Ok(()) } else { self.end_line() }
    }

    /// A signed integer of 1, 2, 4 or 8 bytes, or as text.
    pub(super) fn signed(&mut self, bytes: usize, what: &'static str) -> Result<i64, Fault> {
        if self.encoding == Encoding::Text {
            return self.text(what);
        }
        Ok(match bytes {
            1 => i8::from_le_bytes(self.array(what)?).into(),
            2 => i16::from_le_bytes(self.array(what)?).into(),
            4 => i32::from_le_bytes(self.array(what)?).into(),
            _ => i64::from_le_bytes(self.array(what)?),
        })
    }

    /// An unsigned integer of 1, 2, 4 or 8 bytes, or as text. Numbers from 2⁶³ on are errors, since they are
    /// not plausible counts.
    pub(super) fn unsigned(&mut self, bytes: usize, what: &'static str) -> Result<i64, Fault> {
        if self.encoding == Encoding::Text {
            return self.text(what);
        }
        let value = match bytes {
            1 => u8::from_le_bytes(self.array(what)?).into(),
            2 => u16::from_le_bytes(self.array(what)?).into(),
            4 => u32::from_le_bytes(self.array(what)?).into(),
            _ => u64::from_le_bytes(self.array(what)?),
        };
        i64::try_from(value).map_err(|_| self.fault(Problem::Number { what, found: value.to_string() }))
    }

    /// A floating-point number of 4 or 8 bytes, or as text.
    pub(super) fn float(&mut self, bytes: usize, what: &'static str) -> Result<f64, Fault> {
        if self.encoding == Encoding::Text {
            return self.text(what);
        }
        Ok(match bytes {
            4 => f32::from_le_bytes(self.array(what)?).into(),
            _ => f64::from_le_bytes(self.array(what)?),
        })
    }

    /// A coordinate: a finite number of 4 or 8 bytes, or as text.
    pub(super) fn coordinate(&mut self, bytes: usize) -> Result<f64, Fault> {
        let x = self.float(bytes, "coordinate")?;
        if x.is_finite() { Ok(x) } else { Err(self.fault(Problem::NotFinite)) }
    }

    /// Three coordinates.
    pub(super) fn point(&mut self, bytes: usize) -> Result<[f64; 3], Fault> {
        Ok([self.coordinate(bytes)?, self.coordinate(bytes)?, self.coordinate(bytes)?])
    }

    /// Converts a number to a count; a negative number is an error.
    pub(super) fn count(&self, value: i64, what: &'static str) -> Result<usize, Fault> {
        usize::try_from(value).map_err(|_| self.fault(Problem::Number { what, found: value.to_string() }))
    }

    /// The corner with number `index` in a numbering that starts at `base`.
    pub(super) fn corner(&self, index: i64, base: i64, vertices: usize) -> Result<u32, Fault> {
        let corner = index.checked_sub(base).and_then(|i| u32::try_from(i).ok());
        match corner.filter(|&c| (c as usize) < vertices) {
            Some(corner) => Ok(corner),
            None => Err(self.fault(Problem::Index { index, vertices })),
        }
    }

    /// Adds a tetrahedron; errors are reported at the current position, with the number that `in_file` gives a corner.
    pub(super) fn tetrahedron(
        &self,
        corners: [u32; 4],
        in_file: impl Fn(usize) -> i64,
        tetrahedra: &mut Vec<[u32; 4]>,
    ) -> Result<(), Fault> {
        if let Some(k) = repeated(&corners) {
            return Err(self.fault(Problem::Repeated { corner: in_file(k) }));
        }
        tetrahedra.push(corners);
        Ok(())
    }

    /// Reads an entry of a list. In a text file it should be a line of its own. Entries that are not are read all the
    /// same, but [`explain`](Self::explain) names the first of them if the file cannot be read to its end: from there
    /// on, words stand for other values than their writer meant.
    pub(super) fn entry<R>(&mut self, read: impl FnOnce(&mut Self) -> Result<R, Fault>) -> Result<R, Fault> {
        if self.encoding != Encoding::Text || self.uneven.is_some() {
            return read(self);
        }
        self.skip_blanks();
        let begin = self.at;
        let value = read(self);
        let words = self.bytes[begin..self.at].trim_ascii_end();
        let amount = if words.contains(&self.line_end) {
            "fewer"
        } else if value.is_ok() && !self.ends_line() {
            "more"
        } else {
            return value;
        };
        let rest = &self.bytes[begin..];
        let end = rest.iter().position(|&byte| byte == self.line_end).unwrap_or(rest.len());
        let found = quote(&rest[..end]);
        self.uneven = Some(self.fault_at(begin, Problem::Values { amount, found }));
        value
    }

    /// Whether the rest of the line has only blanks and a comment.
    fn ends_line(&self) -> bool {
        let next = self.bytes[self.at..].iter().find(|&&b| b == self.line_end || !b.is_ascii_whitespace());
        next.is_none_or(|&byte| byte == self.line_end || self.comments && byte == b'#')
    }

    /// What was read of a file. Of an error, and of words that are left over, the first uneven [`entry`](Self::entry) is
    /// the cause.
    pub(super) fn explain<R>(&mut self, result: Result<R, Fault>) -> Result<R, Fault> {
        match self.uneven.take() {
            Some(fault) if result.is_err() || self.peek().is_some() => Err(fault),
            _ => result,
        }
    }

    /// Skips bytes of a binary file.
    pub(super) fn skip(&mut self, bytes: usize, what: &'static str) -> Result<(), Fault> {
        if bytes > self.bytes.len() - self.at {
            return Err(self.fault(Problem::End { what }));
        }
        self.at += bytes;
        Ok(())
    }

    /// Moves to the end of the next occurrence of `mark`.
    pub(super) fn skip_behind(&mut self, mark: &[u8], what: &'static str) -> Result<(), Fault> {
        match self.bytes[self.at..].windows(mark.len().max(1)).position(|window| window == mark) {
            Some(found) => {
                self.at += found + mark.len();
                Ok(())
            }
            None => Err(self.fault(Problem::End { what })),
        }
    }
}

/// Parses a word as a number.
pub(super) fn number<T: FromStr>(word: &[u8]) -> Option<T> {
    std::str::from_utf8(word).ok()?.parse().ok()
}

/// A quotation for a message, shortened and with escaped control characters.
#[cold]
pub(super) fn quote(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(4 * QUOTED)]);
    text.trim().chars().take(QUOTED).flat_map(char::escape_debug).collect()
}
