//! The body of a file. Batches of lines are parsed in order, or as pieces on several threads with the same
//! result.
//!
//! A piece is first parsed independently of the text before it. If it contains an error, more entries than
//! remain, or the wrong triangle, it is parsed again in order, after everything before it. So errors do not
//! depend on the number of threads.

use coarsen_core::parallel;
use rayon::prelude::*;

use super::record::Record;
use super::text::is_comment;
use crate::Problem;
use crate::header::{Header, Structure};

/// The number of bytes per piece. Parsing takes half a millisecond, and a piece fits the second-level cache.
const PIECE: usize = 1 << 16;

/// The approximate size of the shortest entry in bytes, used to estimate the number of entries in a piece.
const SHORTEST: usize = 16;

/// The triangle stored in a symmetric file.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Triangle {
    Lower,
    Upper,
}

/// The records read so far, and the state on which the next record depends.
pub(super) struct Body<'a, R> {
    header: &'a Header,
    records: Vec<R>,
    triangle: Option<Triangle>,
    /// The number of lines read, including those before the body.
    lines: usize,
}

impl<'a, R: Record> Body<'a, R> {
    /// An empty body that starts after `lines` lines.
    pub(super) fn new(header: &'a Header, lines: usize) -> Self {
        Self { header, records: Vec::new(), triangle: None, lines }
    }

    /// Parses a batch of whole lines.
    ///
    /// # Errors
    /// The line, numbered from 1, and the problem.
    pub(super) fn take(&mut self, text: &[u8]) -> Result<(), (usize, Problem)> {
        if !parallel::worth(text.len()) {
            return self.parse(text);
        }
        let alone = |piece: &&[u8]| {
            let records = Vec::with_capacity(piece.len() / SHORTEST);
            let mut body = Self { header: self.header, records, triangle: self.triangle, lines: 0 };
            body.parse(piece).map(|()| body).ok()
        };
        let pieces = cut(text);
        let bodies: Vec<Option<Self>> = pieces.par_iter().map(alone).collect();
        for (piece, body) in pieces.iter().zip(bodies) {
            match body {
                Some(body) if self.continues_with(&body) => {
                    self.records.extend_from_slice(&body.records);
                    self.triangle = self.triangle.or(body.triangle);
                    self.lines += body.lines;
                }
                _ => self.parse(piece)?,
            }
        }
        Ok(())
    }

    /// Returns the records if their number equals the declared number.
    pub(super) fn finish(self) -> Result<Vec<R>, (usize, Problem)> {
        let (expected, found) = (self.header.entries, self.records.len());
        if found < expected {
            return Err((self.lines, Problem::TooFew { expected, found }));
        }
        Ok(self.records)
    }

    /// The records, whatever their number.
    pub(super) fn into_records(self) -> Vec<R> {
        self.records
    }

    /// Whether the triangle that is stored lies below the diagonal, if it is known.
    pub(super) fn is_lower(&self) -> Option<bool> {
        self.triangle.map(|triangle| triangle == Triangle::Lower)
    }

    /// The number of lines read.
    pub(super) fn lines(&self) -> usize {
        self.lines
    }

    /// Whether a piece that was parsed independently is valid after the records read so far.
    fn continues_with(&self, next: &Self) -> bool {
        self.records.len() + next.records.len() <= self.header.entries
            && (self.triangle.is_none() || next.triangle.is_none() || self.triangle == next.triangle)
    }

    /// Parses lines in order.
    fn parse(&mut self, mut text: &[u8]) -> Result<(), (usize, Problem)> {
        let header = self.header;
        while !text.is_empty() {
            let line = text;
            match R::take(&mut text, header) {
                Some(record) => self.push(record).map_err(|problem| (self.lines + 1, problem))?,
                None => {
                    let end = line.iter().position(|&byte| byte == b'\n').map_or(line.len(), |end| end + 1);
                    let (line, rest) = line.split_at(end);
                    if !is_comment(line) {
                        return Err((self.lines + 1, R::blame(line, header)));
                    }
                    text = rest;
                }
            }
            self.lines += 1;
        }
        Ok(())
    }

    #[inline]
    fn push(&mut self, record: R) -> Result<(), Problem> {
        if self.records.len() == self.header.entries {
            let &Header { structure, entries: expected, .. } = self.header;
            if structure != Structure::General && record.place().is_none() {
                return Err(Problem::WholeArray { structure: structure.name(), expected });
            }
            return Err(Problem::TooMany { expected });
        }
        if self.header.structure != Structure::General
            && let Some((row, column)) = record.place()
            && row != column
        {
            let triangle = if row > column { Triangle::Lower } else { Triangle::Upper };
            if *self.triangle.get_or_insert(triangle) != triangle {
                let (row, column) = (row as usize + 1, column as usize + 1);
                return Err(Problem::Triangles { structure: self.header.structure.name(), row, column });
            }
        }
        self.records.push(record);
        Ok(())
    }
}

/// Divides lines into pieces of about [`PIECE`] bytes.
fn cut(mut text: &[u8]) -> Vec<&[u8]> {
    let mut pieces = Vec::with_capacity(text.len() / PIECE + 1);
    while text.len() > PIECE {
        let end =
            text[PIECE..].iter().position(|&byte| byte == b'\n').map_or(text.len(), |end| PIECE + end + 1);
        let (piece, rest) = text.split_at(end);
        pieces.push(piece);
        text = rest;
    }
    pieces.push(text);
    pieces
}
