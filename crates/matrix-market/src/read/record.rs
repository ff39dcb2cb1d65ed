//! A line of the body: an entry `row column value` of a coordinate file, or a value of an array.
//!
//! [`Record::take`] is the hot path and only detects that a line is invalid. [`Record::blame`] parses this
//! line again to describe the problem.

use crate::Problem;
use crate::header::{Field, Header, Structure};
use crate::number::{real, whole};
use crate::read::text::{is_blank, quote, words};

/// The content of one line of the body.
pub(crate) trait Record: Copy + Send {
    /// Parses and consumes one line of `text`, including the line end; `None` if the line is not exactly one
    /// record.
    fn take(text: &mut &[u8], header: &Header) -> Option<Self>;

    /// Describes the problem of a line that [`take`](Self::take) rejected.
    fn blame(line: &[u8], header: &Header) -> Problem;

    /// Row and column, numbered from 0; `None` for values of an array.
    fn place(&self) -> Option<(u32, u32)>;
}

/// A value: a real number, or the real and the imaginary part of a complex one.
pub(crate) trait Value: Copy + Send {
    /// The line of an entry and of a value, for messages.
    const LINES: [&'static str; 2];

    /// The value of an entry of a `pattern` file.
    const ONE: Self;

    /// The value at the start of `text`, and the remaining text.
    fn parse(text: &[u8], field: Field) -> Option<(Self, &[u8])>;

    /// The value of whole words, or a description of their problem; `None` if their number is wrong.
    fn blame(words: &[&[u8]], field: Field) -> Option<Result<Self, Problem>>;

    /// What a structure forbids on the diagonal, if it is not zero.
    fn forbidden(self, structure: Structure) -> f64;
}

impl Value for f64 {
    const LINES: [&'static str; 2] = ["row column value", "value"];
    const ONE: Self = 1.0;

    #[inline]
    fn parse(text: &[u8], field: Field) -> Option<(Self, &[u8])> {
        value(text, field)
    }

    fn blame(words: &[&[u8]], field: Field) -> Option<Result<Self, Problem>> {
        if let &[word] = words { Some(blame_value(word, field)) } else { None }
    }

    #[inline]
    fn forbidden(self, structure: Structure) -> f64 {
        if structure == Structure::Skew { self } else { 0.0 }
    }
}

impl Value for [f64; 2] {
    const LINES: [&'static str; 2] = ["row column real imaginary", "real imaginary"];
    const ONE: Self = [1.0, 0.0];

    #[inline]
    fn parse(text: &[u8], _: Field) -> Option<(Self, &[u8])> {
        let (real, rest) = value(text, Field::Real)?;
        let (imaginary, rest) = value(blanks(rest)?, Field::Real)?;
        Some(([real, imaginary], rest))
    }

    fn blame(words: &[&[u8]], _: Field) -> Option<Result<Self, Problem>> {
        let &[real, imaginary] = words else { return None };
        let [real, imaginary] = [real, imaginary].map(|word| blame_value(word, Field::Real));
        Some(real.and_then(|real| Ok([real, imaginary?])))
    }

    #[inline]
    fn forbidden(self, structure: Structure) -> f64 {
        match structure {
            Structure::Skew if self[0] != 0.0 => self[0],
            Structure::Skew | Structure::Hermitian => self[1],
            _ => 0.0,
        }
    }
}

/// Row and column, numbered from 0, and the value.
impl<V: Value> Record for (u32, u32, V) {
    #[inline]
    fn take(text: &mut &[u8], header: &Header) -> Option<Self> {
        let (row, rest) = whole(after_blanks(text))?;
        let (column, rest) = whole(blanks(rest)?)?;
        let (row, column) = (row.wrapping_sub(1), column.wrapping_sub(1));
        if row >= header.rows as u64 || column >= header.columns as u64 {
            return None;
        }
        let (value, rest) = match header.field {
            Field::Pattern => (V::ONE, rest),
            field => V::parse(blanks(rest)?, field)?,
        };
        if row == column && value.forbidden(header.structure) != 0.0 {
            return None;
        }
        *text = line_end(rest)?;
        Some((row as u32, column as u32, value)) // below `rows` and `columns`, which are below 2³²
    }

    fn blame(line: &[u8], header: &Header) -> Problem {
        let all: Vec<&[u8]> = words(line).take(5).collect(); // a line can have a million words
        let expected = if header.field == Field::Pattern { "row column" } else { V::LINES[0] };
        let malformed = || Problem::Words { expected, found: quote(line) };
        let &[row, column, ref rest @ ..] = &all[..] else { return malformed() };
        let value = match header.field {
            Field::Pattern if rest.is_empty() => Ok(V::ONE),
            Field::Pattern => return malformed(),
            field => match V::blame(rest, field) {
                Some(value) => value,
                None => return malformed(),
            },
        };
        for (what, word, limit) in [("row", row, header.rows), ("column", column, header.columns)] {
            match whole(word) {
                Some((0, [])) => return Problem::ZeroIndex { what },
                Some((n, [])) if n <= limit as u64 => {}
                _ => return Problem::Index { what, found: quote(word), limit },
            }
        }
        match value {
            Err(problem) => problem,
            Ok(value) => {
                let row = whole(row).map_or(0, |(n, _)| n as usize);
                let value = value.forbidden(header.structure);
                match header.structure {
                    Structure::Hermitian => Problem::HermitianDiagonal { row, value },
                    _ => Problem::SkewDiagonal { row, value },
                }
            }
        }
    }

    #[inline]
    fn place(&self) -> Option<(u32, u32)> {
        Some((self.0, self.1))
    }
}

impl<V: Value> Record for V {
    #[inline]
    fn take(text: &mut &[u8], header: &Header) -> Option<Self> {
        let (value, rest) = V::parse(after_blanks(text), header.field)?;
        *text = line_end(rest)?;
        Some(value)
    }

    fn blame(line: &[u8], header: &Header) -> Problem {
        let all: Vec<&[u8]> = words(line).take(3).collect();
        match V::blame(&all, header.field) {
            Some(Err(problem)) => problem,
            Some(Ok(_)) => Problem::Value { found: quote(line) },
            None => Problem::Words { expected: V::LINES[1], found: quote(line) },
        }
    }

    #[inline]
    fn place(&self) -> Option<(u32, u32)> {
        None
    }
}

/// The finite value at the start of `text`, and the remaining text.
#[inline]
fn value(text: &[u8], field: Field) -> Option<(f64, &[u8])> {
    let (value, rest) = real(text)?;
    let word = &text[..text.len() - rest.len()];
    (value.is_finite() && (field == Field::Real || is_integer(word))).then_some((value, rest))
}

/// The value of a whole word, or a description of its problem.
fn blame_value(word: &[u8], field: Field) -> Result<f64, Problem> {
    let found = || quote(word);
    match real(word) {
        Some((value, [])) if !value.is_finite() => Err(Problem::NotFinite { found: found() }),
        Some((_, [])) if field == Field::Integer && !is_integer(word) => {
            Err(Problem::NotInteger { found: found() })
        }
        Some((value, [])) => Ok(value),
        _ => {
            // Spellings of NaN and infinity in other languages: nan, NaN(ind), inf, -Infinity, 1.#INF,
            // -1.#IND.
            let lower = word.to_ascii_lowercase();
            let named = ["nan", "inf", "#ind"]
                .iter()
                .any(|name| lower.windows(name.len()).any(|w| w == name.as_bytes()));
            Err(if named { Problem::NotFinite { found: found() } } else { Problem::Value { found: found() } })
        }
    }
}

/// Whether a number has no point and no exponent.
fn is_integer(word: &[u8]) -> bool {
    word.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-'))
}

/// The text after optional blanks.
#[inline]
fn after_blanks(mut text: &[u8]) -> &[u8] {
    while let [byte, rest @ ..] = text
        && is_blank(*byte)
    {
        text = rest;
    }
    text
}

/// The text after at least one blank.
#[inline]
fn blanks(text: &[u8]) -> Option<&[u8]> {
    match text {
        [byte, rest @ ..] if is_blank(*byte) => Some(after_blanks(rest)),
        _ => None,
    }
}

/// The text after the end of the line; `None` if anything but blanks comes before it.
#[inline]
fn line_end(text: &[u8]) -> Option<&[u8]> {
    match after_blanks(text) {
        [b'\n', rest @ ..] => Some(rest),
        _ => None,
    }
}
