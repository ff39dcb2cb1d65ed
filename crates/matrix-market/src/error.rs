//! What is wrong with a file, on which line, and what to do about it.

use std::fmt;
use std::io::ErrorKind;
use std::path::PathBuf;

use coarsen_sparse::SparseError;

/// A Matrix Market file that cannot be read: `file:line: what is wrong, what was expected, and the cure`.
///
/// ```
/// use coarsen_matrix_market::{Problem, Source};
/// let error = Source::new("%%MatrixMarket matrix array real general\n1 1\nx\n".as_bytes()).matrix().unwrap_err();
/// assert_eq!((error.line, &error.problem), (Some(3), &Problem::Value { found: "x".into() }));
/// ```
#[derive(Clone, PartialEq)]
pub struct ReadError {
    /// The path as given, or `<stdin>`, or `<stream>`.
    pub file: PathBuf,
    /// The line, counted from 1; none where the file could not be opened.
    pub line: Option<usize>,
    /// What is wrong there.
    pub problem: Problem,
}

/// The same sentence as [`Display`](std::fmt::Display): what `main` prints of an error.
impl std::fmt::Debug for ReadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.file.display();
        match self.line {
            Some(line) => write!(f, "{file}:{line}: {}", self.problem),
            None => write!(f, "{file}: {}", self.problem),
        }
    }
}

impl std::error::Error for ReadError {}

/// What is wrong in a file; `found` quotes it, shortened.
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The file could not be opened.
    #[error("cannot be opened ({kind}); check the path and its permissions")]
    Open {
        /// What the system said.
        kind: ErrorKind,
    },
    /// Reading failed half-way.
    #[error("reading failed ({kind}); check the disk, or the program at the other end of the pipe")]
    Read {
        /// What the system said.
        kind: ErrorKind,
    },
    /// The file starts like gzip but does not decompress.
    #[error("the gzip stream is damaged or cut short ({kind}); fetch or compress the file again")]
    Gzip {
        /// What the decompressor said.
        kind: ErrorKind,
    },
    /// Nothing there.
    #[error(
        "the file is empty, expected `%%MatrixMarket matrix ...`; the program that wrote it may have failed"
    )]
    Empty,
    /// The first line is not a banner.
    #[error(
        "expected a banner like `%%MatrixMarket matrix coordinate real general`, found `{found}`; \
         this is another format, or an archive to unpack first, or the banner was cut off"
    )]
    Banner {
        /// The first line.
        found: String,
    },
    /// A word of the banner that the format does not know.
    #[error("unknown {what} `{found}` in the banner, expected {expected}; correct the first line")]
    Word {
        /// Which of the four words.
        what: &'static str,
        /// The word.
        found: String,
        /// The words known.
        expected: &'static str,
    },
    /// Complex values.
    #[error(
        "the file holds complex values, but systems here are real; \
         write A + iB as the real system [A -B; B A] of twice the size"
    )]
    Complex,
    /// A hermitian matrix.
    #[error("hermitian matrices are complex, but systems here are real; declare a real one `symmetric`")]
    Hermitian,
    /// A dense matrix without values.
    #[error("an array has values at all places, so it cannot be `pattern`; declare it `real`")]
    PatternArray,
    /// The file ends before the sizes.
    #[error("the file ends before its size line `{expected}`; it was cut short")]
    NoSize {
        /// What the line must hold.
        expected: &'static str,
    },
    /// A size line that cannot be read.
    #[error("expected the size line `{expected}` in whole numbers, found `{found}`; comments start with %")]
    Size {
        /// What the line must hold.
        expected: &'static str,
        /// The line.
        found: String,
    },
    /// A size beyond what indices can name.
    #[error("{count} {what} exceed the limit {limit}; the size line is damaged, or the system must be split")]
    TooLarge {
        /// What is counted.
        what: &'static str,
        /// How many there are.
        count: u64,
        /// How many there may be.
        limit: u64,
    },
    /// A symmetric matrix that is not square.
    #[error("a {rows} x {columns} matrix cannot be symmetric; declare it `general`, or correct its sizes")]
    SymmetricRectangle {
        /// Rows declared.
        rows: usize,
        /// Columns declared.
        columns: usize,
    },
    /// Entries of a matrix without places.
    #[error("a {rows} x {columns} matrix cannot hold {entries} entries; correct the size line")]
    NoPlaces {
        /// Rows declared.
        rows: usize,
        /// Columns declared.
        columns: usize,
        /// Entries declared.
        entries: usize,
    },
    /// A system that is not square.
    #[error(
        "the matrix is {rows} x {columns}, but a system to solve must be square; \
         for least squares form the normal equations"
    )]
    Rectangular {
        /// Rows declared.
        rows: usize,
        /// Columns declared.
        columns: usize,
    },
    /// A square system that must be singular.
    #[error(
        "row without entries: {entries} entries fill at most {filled} of {rows} rows, so the system is singular; \
         the file is incomplete, or its sizes are wrong"
    )]
    EmptyRows {
        /// Rows declared.
        rows: usize,
        /// Entries declared.
        entries: usize,
        /// Rows that they can reach, the mirrored triangle included.
        filled: usize,
    },
    /// Far more rows, columns or places than entries.
    #[error(
        "{entries} entries in a {rows} x {columns} matrix leave nearly all of it empty; \
         the size line is damaged, or the index space must be compressed"
    )]
    Hollow {
        /// Rows declared.
        rows: usize,
        /// Columns declared.
        columns: usize,
        /// Entries declared.
        entries: usize,
    },
    /// A line without end.
    #[error("the line is longer than {limit} bytes; the file is binary, or its line ends are lost")]
    LongLine {
        /// Bytes allowed.
        limit: usize,
    },
    /// Too few or too many words on a line.
    #[error(
        "expected `{expected}`, found `{found}`; the line is cut, or the banner names another kind of file"
    )]
    Words {
        /// What the line must hold.
        expected: &'static str,
        /// The line.
        found: String,
    },
    /// An index 0.
    #[error(
        "the {what} index is 0, but indices start at 1; add 1 to all indices of a file that counts from 0"
    )]
    ZeroIndex {
        /// Row or column.
        what: &'static str,
    },
    /// An index that is no number, negative, or outside the matrix.
    #[error(
        "the {what} index must be a whole number from 1 to {limit}, found `{found}`; \
         the line is damaged, or the sizes are wrong"
    )]
    Index {
        /// Row or column.
        what: &'static str,
        /// The word.
        found: String,
        /// The number of rows or columns.
        limit: usize,
    },
    /// A value that is no number.
    #[error("expected a number, found `{found}`; write it like -1.5e-3")]
    Value {
        /// The word.
        found: String,
    },
    /// A fraction in an integer file.
    #[error("the banner says `integer`, but `{found}` is none; declare the file `real`")]
    NotInteger {
        /// The word.
        found: String,
    },
    /// NaN, infinity, or a number beyond the range of `f64`.
    #[error("the value `{found}` is not finite; look at the computation that wrote it")]
    NotFinite {
        /// The word.
        found: String,
    },
    /// A symmetric file that stores both triangles.
    #[error(
        "({row}, {column}) lies in the other triangle than the entries before, but a {structure} file stores one; \
         declare a matrix stored in full `general`"
    )]
    Triangles {
        /// What the banner says.
        structure: &'static str,
        /// The row, counted from 1.
        row: usize,
        /// The column, counted from 1.
        column: usize,
    },
    /// A skew-symmetric matrix with a diagonal.
    #[error(
        "({row}, {row}) is {value:e}, but the diagonal of a skew-symmetric matrix is zero; declare it `general`"
    )]
    SkewDiagonal {
        /// The row, counted from 1.
        row: usize,
        /// The value found.
        value: f64,
    },
    /// The file ends early.
    #[error("the file ends after {found} of {expected} entries; it was cut short, or its size line is wrong")]
    TooFew {
        /// Entries declared.
        expected: usize,
        /// Entries found.
        found: usize,
    },
    /// Another entry after the last.
    #[error("the size line declares {expected} entries, but more follow; correct the count, or remove them")]
    TooMany {
        /// Entries declared.
        expected: usize,
    },
    /// A matrix where a vector is needed.
    #[error("expected a vector (one column, or one row), found a {rows} x {columns} matrix")]
    NotVector {
        /// Rows declared.
        rows: usize,
        /// Columns declared.
        columns: usize,
    },
    /// Entries that cannot be assembled.
    #[error(transparent)]
    Matrix(#[from] SparseError),
}

/// The same sentence as [`Display`](std::fmt::Display): what `main` prints of an error.
impl std::fmt::Debug for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

/// A file that cannot be written. Nothing is left behind, and an older file of that name stays as it was.
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The system refused.
    #[error("{file}: cannot be written ({kind}); check the folder, its permissions and the space left")]
    File {
        /// The file to be made.
        file: PathBuf,
        /// What the system said.
        kind: ErrorKind,
    },
    /// NaN or infinity, which no reader would take back.
    #[error(
        "{file}: the value at row {row}, column {column} (from 1, as in the file) is not finite; look at what computed it"
    )]
    NotFinite {
        /// The file to be made.
        file: PathBuf,
        /// The row, counted from 1 as in the file.
        row: usize,
        /// The column, counted from 1 as in the file.
        column: usize,
    },
}

/// The same sentence as [`Display`](std::fmt::Display): what `main` prints of an error.
impl std::fmt::Debug for WriteError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}
