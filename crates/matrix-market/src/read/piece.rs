//! One of several pieces of a file, for processes of which none holds the whole matrix.
//!
//! The body is cut into pieces of equally many bytes. A line belongs to the piece in which its first byte lies.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use super::body::Body;
use super::text::Text;
use super::{Opened, Source};
use crate::header::{Field, Format, Header};
use crate::{Problem, ReadError};

/// The entries of a piece of a coordinate file. Those of a symmetric file are mirrored.
pub struct Piece {
    /// The number of rows and columns of the matrix.
    pub size: usize,
    /// Row, column and value of each entry, from 0, in the order of the file.
    pub entries: Vec<(u32, u32, f64)>,
    /// The number of entries of the whole file, as its size line declares it.
    pub declared: usize,
    /// The number of entries stored in this piece.
    pub stored: usize,
    /// Whether entries off the diagonal lie below it; `None` for a general file, or if there are none.
    pub lower: Option<bool>,
    file: std::path::PathBuf,
    header: Header,
}

impl Piece {
    /// Checks the numbers of all pieces together: their `stored` entries, and whether any piece has entries below
    /// the diagonal, and any above it, for a symmetric file.
    ///
    /// # Errors
    /// [`Problem::TooFew`], [`Problem::TooMany`] or [`Problem::Triangles`], at the size line.
    pub fn check_all(&self, stored: usize, below: bool, above: bool) -> Result<(), ReadError> {
        let expected = self.declared;
        let problem = match stored.cmp(&expected) {
            std::cmp::Ordering::Less => Problem::TooFew { expected, found: stored },
            std::cmp::Ordering::Greater => Problem::TooMany { expected },
            std::cmp::Ordering::Equal if below && above => {
                let here = self.entries.iter().find(|(i, j, _)| i != j).map_or((0, 0), |&(i, j, _)| (i, j));
                let (row, column) = (here.0 as usize + 1, here.1 as usize + 1);
                Problem::Triangles { structure: self.header.structure.name(), row, column }
            }
            std::cmp::Ordering::Equal => return Ok(()),
        };
        Err(ReadError { file: self.file.clone(), line: Some(self.header.line), problem })
    }
}

/// Reads piece `part` of `parts` of the square matrix in a coordinate file that is not compressed.
///
/// *Memory* 24 bytes per entry of the piece. *Cost* each process reads the header and its piece.
///
/// # Errors
/// As [`read_system`](crate::read_system), and [`Problem::NoPieces`] for an array, a complex or a compressed file.
pub fn read_piece(path: impl AsRef<Path>, part: usize, parts: usize) -> Result<Piece, ReadError> {
    let file = path.as_ref().to_path_buf();
    let source = Source::open(&file)?;
    let compressed = source.text.is_compressed();
    let (header, _) = source.header(Header::check_system)?;
    let fail = |line, problem| ReadError { file: file.clone(), line, problem };
    if compressed || header.format == Format::Array || header.field == Field::Complex {
        return Err(fail(Some(header.line), Problem::NoPieces));
    }
    let failed = |error: io::Error| fail(None, Problem::Read { kind: error.kind() });
    let (first, range) = lines_of(&file, &header, part, parts).map_err(failed)?;
    let mut open = File::open(&file).map_err(failed)?;
    open.seek(SeekFrom::Start(range.0)).map_err(failed)?;
    let text = Text::new(open.take(range.1 - range.0));
    let opened = Opened { file: file.clone(), text, batch: Vec::new() };
    let body: Body<'_, (u32, u32, f64)> = opened.body(&header, 0).map_err(|mut error| {
        // Lines are counted within the piece. Only now is it worth counting those before it.
        let before = lines_between(&file, first, range.0).unwrap_or_default();
        error.line = error.line.map(|line| header.line + before + line);
        error
    })?;
    let lower = body.is_lower();
    let mut entries = body.into_records();
    let stored = entries.len();
    if let Some([sign, _]) = header.structure.mirror() {
        for k in 0..stored {
            let (i, j, v) = entries[k];
            if i != j {
                entries.push((j, i, sign * v));
            }
        }
    }
    Ok(Piece { size: header.rows, entries, declared: header.entries, stored, lower, file, header })
}

/// Where the body begins, and where the lines of the piece begin and end, in bytes.
fn lines_of(file: &Path, header: &Header, part: usize, parts: usize) -> io::Result<(u64, (u64, u64))> {
    let mut reader = BufReader::new(File::open(file)?);
    let (mut first, mut line) = (0, Vec::new());
    for _ in 0..header.line {
        line.clear();
        first += reader.read_until(b'\n', &mut line)? as u64;
    }
    let length = reader.seek(SeekFrom::End(0))?.max(first);
    let mut start = |part: usize| -> io::Result<u64> {
        let at = first + ((length - first) as u128 * part as u128 / parts.max(1) as u128) as u64;
        if at == first {
            return Ok(at);
        }
        reader.seek(SeekFrom::Start(at - 1))?;
        line.clear();
        Ok(at - 1 + reader.read_until(b'\n', &mut line)? as u64)
    };
    Ok((first, (start(part)?, start(part + 1)?)))
}

fn lines_between(file: &Path, from: u64, to: u64) -> io::Result<usize> {
    let mut open = File::open(file)?;
    open.seek(SeekFrom::Start(from))?;
    let mut count = 0;
    for byte in BufReader::new(open.take(to - from)).bytes() {
        count += usize::from(byte? == b'\n');
    }
    Ok(count)
}
