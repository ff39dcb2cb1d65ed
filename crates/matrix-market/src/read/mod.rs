//! Reading of a stream: header and records.

mod body;
mod piece;
mod record;
pub(super) mod text;

use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use coarsen_core::parallel;
use coarsen_sparse::Bsr;

use self::body::Body;
pub use self::piece::{Piece, read_piece};
use self::record::Record;
use self::text::Text;
use super::expand;
use super::header::{Banner, Field, Format, Header};
use super::{Dense, Problem, ReadError};

/// A Matrix Market stream: a file, the standard input, or any type that implements `Read`.
///
/// A stream with a gzip header is decompressed, whatever its name. Text is parsed in batches of one megabyte,
/// on the threads of the current pool; the result does not depend on their number. *Memory* 24 bytes per
/// stored entry of a coordinate file (32 if symmetric), in addition to the result. Declared sizes alone do
/// not use memory.
///
/// ```
/// use coarsen_matrix_market::Source;
/// let text = "%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 2\n2 1 -1\n2 2 2\n";
/// let a = Source::new(text.as_bytes()).system()?;
/// assert_eq!((a.nnz(), a.get(0, 1)), (4, -1.0));
/// # Ok::<(), coarsen_matrix_market::ReadError>(())
/// ```
pub struct Source {
    file: PathBuf,
    text: Text,
}

impl Source {
    /// Opens a file.
    ///
    /// # Errors
    /// [`Problem::Open`] if the file does not exist or cannot be read.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, ReadError> {
        let file = path.as_ref().to_path_buf();
        match File::open(&file) {
            Ok(open) => Ok(Self { file, text: Text::new(open) }),
            Err(error) => Err(ReadError { file, line: None, problem: Problem::Open { kind: error.kind() } }),
        }
    }

    /// The standard input, called `<stdin>` in messages.
    pub fn stdin() -> Self {
        Self { file: "<stdin>".into(), text: Text::new(io::stdin()) }
    }

    /// Any stream, called `<stream>` in messages.
    pub fn new(input: impl Read + Send + 'static) -> Self {
        Self { file: "<stream>".into(), text: Text::new(input) }
    }

    /// Reads a matrix with 1x1 blocks, or 2x2 blocks of a complex file, possibly rectangular; see [`read`](super::read).
    ///
    /// # Errors
    /// [`ReadError`] gives the file, the line, the problem and the remedy.
    pub fn matrix(self) -> Result<Bsr<f64>, ReadError> {
        self.sparse(Header::check_sparse)
    }

    /// Reads the matrix of a system to solve; see [`read_system`](super::read_system).
    ///
    /// # Errors
    /// As [`matrix`](Self::matrix), [`Problem::Rectangular`] and [`Problem::EmptyRows`].
    pub fn system(self) -> Result<Bsr<f64>, ReadError> {
        self.sparse(Header::check_system)
    }

    /// Reads a matrix like [`matrix`](Self::matrix), and also returns the error that [`system`](Self::system)
    /// would return.
    /// *Use* to inspect matrices that are not valid systems.
    ///
    /// # Errors
    /// As [`matrix`](Self::matrix).
    pub fn matrix_and_refusal(self) -> Result<(Bsr<f64>, Option<ReadError>), ReadError> {
        let (file, refusal) = (self.file.clone(), Cell::new(None));
        let matrix = self.sparse(|header| {
            let refused = header.check_system().err();
            refusal.set(refused.map(|problem| ReadError {
                file: file.clone(),
                line: Some(header.line),
                problem,
            }));
            header.check_sparse()
        })?;
        Ok((matrix, refusal.into_inner()))
    }

    /// Reads a dense matrix; see [`read_dense`](super::read_dense).
    ///
    /// # Errors
    /// As [`matrix`](Self::matrix).
    pub fn dense(self) -> Result<Dense, ReadError> {
        self.values(Header::check_dense)
    }

    /// Reads a vector; see [`read_vector`](super::read_vector).
    ///
    /// # Errors
    /// As [`matrix`](Self::matrix), and [`Problem::NotVector`].
    pub fn vector(self) -> Result<Vec<f64>, ReadError> {
        Ok(self.values(Header::check_vector)?.into_values())
    }

    fn sparse(self, check: impl Fn(&Header) -> Result<(), Problem>) -> Result<Bsr<f64>, ReadError> {
        let file = self.file.clone();
        let (header, open) = self.header(check)?;
        let matrix = match (header.format, header.field) {
            (Format::Coordinate, Field::Complex) => expand::to_blocks(&header, open.records(&header)?),
            (Format::Array, Field::Complex) => {
                let mut entries = expand::placed(&header, open.records(&header)?);
                entries.retain(|(_, _, v)| *v != [0.0; 2]);
                expand::to_blocks(&header, entries)
            }
            (Format::Coordinate, _) => expand::to_sparse(&header, open.records(&header)?),
            (Format::Array, _) => expand::nonzeros(&expand::to_dense(&header, open.records(&header)?)),
        };
        let finite = matrix.and_then(|a| a.check_finite().map(|()| a)); // duplicates may sum to infinity
        finite.map_err(|error| ReadError { file, line: Some(header.line), problem: error.into() })
    }

    fn values(self, check: impl Fn(&Header) -> Result<(), Problem>) -> Result<Dense, ReadError> {
        let file = self.file.clone();
        let (header, open) = self.header(check)?;
        let dense = match (header.format, header.field) {
            (Format::Coordinate, Field::Complex) => expand::scatter_complex(&header, open.records(&header)?),
            (Format::Array, Field::Complex) => {
                expand::scatter_complex(&header, expand::placed(&header, open.records(&header)?))
            }
            (Format::Coordinate, _) => expand::scatter(&header, &open.records::<(u32, u32, f64)>(&header)?),
            (Format::Array, _) => Ok(expand::to_dense(&header, open.records(&header)?)),
        };
        dense.map_err(|error| ReadError { file, line: Some(header.line), problem: error.into() })
    }

    /// Reads the stream up to the size line and runs `check` on the header.
    fn header(self, check: impl Fn(&Header) -> Result<(), Problem>) -> Result<(Header, Opened), ReadError> {
        let Self { file, mut text } = self;
        let fail = |line, problem| ReadError { file: file.clone(), line: Some(line), problem };
        let (mut batch, mut lines) = (Vec::new(), 0);
        let mut banner: Option<Banner> = None;
        loop {
            text.fill(&mut batch).map_err(|problem| fail(lines + 1, problem))?;
            if batch.is_empty() {
                let problem = match banner {
                    None => Problem::Empty,
                    Some(banner) => Problem::NoSize { expected: banner.sizes() },
                };
                return Err(fail(lines.max(1), problem));
            }
            let mut at = 0;
            for line in batch.split_inclusive(|&byte| byte == b'\n') {
                lines += 1;
                at += line.len();
                let Some(banner) = banner else {
                    banner = Some(Banner::parse(line).map_err(|problem| fail(lines, problem))?);
                    continue;
                };
                if let Some(header) = banner.size_line(line, lines).map_err(|problem| fail(lines, problem))? {
                    check(&header).map_err(|problem| fail(lines, problem))?;
                    batch.drain(..at);
                    return Ok((header, Opened { file, text, batch }));
                }
            }
        }
    }
}

/// A stream whose header has been read.
struct Opened {
    file: PathBuf,
    text: Text,
    /// Text that was read beyond the size line.
    batch: Vec<u8>,
}

impl Opened {
    /// Reads all records.
    fn records<R: Record>(self, header: &Header) -> Result<Vec<R>, ReadError> {
        let file = self.file.clone();
        let finished = self.body(header, header.line)?.finish();
        finished.map_err(|(line, problem)| ReadError { file, line: Some(line), problem })
    }

    /// Reads the records that follow after `lines` lines. One batch is parsed while the next is read.
    fn body<R: Record>(mut self, header: &Header, lines: usize) -> Result<Body<'_, R>, ReadError> {
        let mut body = Body::new(header, lines);
        let mut ahead = Vec::new();
        if self.batch.is_empty() {
            let filled = self.text.fill(&mut self.batch);
            filled.map_err(|problem| ReadError {
                file: self.file.clone(),
                line: Some(lines + 1),
                problem,
            })?;
        }
        loop {
            let (text, batch) = (&mut self.text, &self.batch[..]);
            let (parsed, filled) = if parallel::worth(batch.len()) {
                parallel::join(|| body.take(batch), || text.fill(&mut ahead))
            } else {
                (body.take(batch), text.fill(&mut ahead))
            };
            if let Err((line, problem)) = parsed.and(filled.map_err(|problem| (body.lines() + 1, problem))) {
                return Err(ReadError { file: self.file, line: Some(line), problem });
            }
            std::mem::swap(&mut self.batch, &mut ahead);
            if self.batch.is_empty() {
                return Ok(body);
            }
        }
    }
}
