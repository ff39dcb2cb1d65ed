//! Errors of reading and writing, with the line, the problem and the remedy.

use std::fmt;
use std::io::ErrorKind;
use std::path::PathBuf;

use coarsen_sparse::SparseError;

/// An error in a Matrix Market file, printed as `file:line: the problem, what was expected, and the remedy`.
///
/// ```
/// use coarsen_matrix_market::{Problem, Source};
/// let error = Source::new("%%MatrixMarket matrix array real general\n1 1\nx\n".as_bytes()).matrix().unwrap_err();
/// assert_eq!((error.line, &error.problem), (Some(3), &Problem::Value { found: "x".into() }));
/// ```
#[derive(Clone, PartialEq)]
pub struct ReadError {
    /// The given path, `<stdin>` or `<stream>`.
    pub file: PathBuf,
    /// The line, numbered from 1; `None` if the file could not be opened.
    pub line: Option<usize>,
    /// The problem.
    pub problem: Problem,
}

coarsen_core::debug_as_display!(ReadError);

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

/// A problem in a file. `found` is a quotation from the file, shortened if necessary.
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The file could not be opened.
    #[error("cannot be opened ({kind}); check the path and its permissions")]
    Open {
        /// The error of the operating system.
        kind: ErrorKind,
    },
    /// Reading failed after the file was opened.
    #[error("reading failed ({kind}); check the disk, or the program that writes to the pipe")]
    Read {
        /// The error of the operating system.
        kind: ErrorKind,
    },
    /// The file has a gzip header but cannot be decompressed.
    #[error(
        "the gzip stream is damaged, cut short or followed by other bytes ({kind}); download or compress the file again"
    )]
    Gzip {
        /// The error of the decompressor.
        kind: ErrorKind,
    },
    /// The file is empty.
    #[error(
        "the file is empty, expected `%%MatrixMarket matrix ...`; the program that wrote it may have failed"
    )]
    Empty,
    /// The first line is not a banner.
    #[error(
        "expected a banner like `%%MatrixMarket matrix coordinate real general`, found `{found}`; \
         the file has another format, is an archive that must be unpacked, or lost its first line"
    )]
    Banner {
        /// The first line.
        found: String,
    },
    /// A text in another encoding, or with other line ends.
    #[error("the file is {found}, which is not supported; {cure}")]
    Encoding {
        /// The encoding or the line ends.
        found: &'static str,
        /// What to do.
        cure: &'static str,
    },
    /// An unknown word in the banner.
    #[error("unknown {what} `{found}` in the banner, expected {expected}; correct the first line")]
    Word {
        /// The meaning of the word: object, format, field or symmetry.
        what: &'static str,
        /// The word found.
        found: String,
        /// The words allowed.
        expected: &'static str,
    },
    /// A hermitian matrix without complex values.
    #[error("hermitian matrices are `complex`; declare a real matrix `symmetric`")]
    Hermitian,
    /// A dense matrix without values.
    #[error("an array has a value for every entry, so it cannot be `pattern`; declare it `real`")]
    PatternArray,
    /// The file ends before the size line.
    #[error("the file ends before its size line `{expected}`; it was cut short")]
    NoSize {
        /// The expected content of the line.
        expected: &'static str,
    },
    /// An invalid size line.
    #[error("expected the size line `{expected}` in whole numbers, found `{found}`; comments start with %")]
    Size {
        /// The expected content of the line.
        expected: &'static str,
        /// The line.
        found: String,
    },
    /// A size beyond the range of the index type.
    #[error("{count} {what} exceed the limit {limit}; the size line is damaged, or the system must be split")]
    TooLarge {
        /// The quantity.
        what: &'static str,
        /// The number found.
        count: u64,
        /// The largest number allowed.
        limit: u64,
    },
    /// A symmetric matrix that is not square.
    #[error("a {rows} x {columns} matrix cannot be symmetric; declare it `general`, or correct its sizes")]
    SymmetricRectangle {
        /// The declared number of rows.
        rows: usize,
        /// The declared number of columns.
        columns: usize,
    },
    /// Entries in a matrix without rows or columns.
    #[error("a {rows} x {columns} matrix cannot have {entries} entries; correct the size line")]
    NoPlaces {
        /// The declared number of rows.
        rows: usize,
        /// The declared number of columns.
        columns: usize,
        /// The declared number of entries.
        entries: usize,
    },
    /// A system that is not square.
    #[error(
        "the matrix is {rows} x {columns}, but a system to solve must be square; \
         for least squares, form the normal equations"
    )]
    Rectangular {
        /// The declared number of rows.
        rows: usize,
        /// The declared number of columns.
        columns: usize,
    },
    /// A square system with empty rows; it is singular.
    #[error(
        "some rows are empty: {entries} entries lie in at most {filled} of {rows} rows, so the system is singular; \
         the file is incomplete, or its sizes are wrong"
    )]
    EmptyRows {
        /// The declared number of rows.
        rows: usize,
        /// The declared number of entries.
        entries: usize,
        /// The largest number of rows that can contain an entry, including entries of the mirrored triangle.
        filled: usize,
    },
    /// A declared size that is far larger than the number of entries.
    #[error(
        "a {rows} x {columns} matrix with {entries} entries is nearly empty; \
         the size line is damaged, or unused rows and columns must be removed"
    )]
    Hollow {
        /// The declared number of rows.
        rows: usize,
        /// The declared number of columns.
        columns: usize,
        /// The declared number of entries.
        entries: usize,
    },
    /// A line that is too long.
    #[error("the line is longer than {limit} bytes; the file is binary, or has lost its line breaks")]
    LongLine {
        /// The limit in bytes.
        limit: usize,
    },
    /// The wrong number of words on a line.
    #[error(
        "expected `{expected}`, found `{found}`; the line is incomplete, or the banner does not match \
         the content"
    )]
    Words {
        /// The expected content of the line.
        expected: &'static str,
        /// The line.
        found: String,
    },
    /// An index that is 0.
    #[error("the {what} index is 0, but indices start at 1; if the file counts from 0, add 1 to all indices")]
    ZeroIndex {
        /// Row or column.
        what: &'static str,
    },
    /// An index that is negative, outside the matrix, or not a number.
    #[error(
        "the {what} index must be a whole number from 1 to {limit}, found `{found}`; \
         the line is damaged, or the sizes are wrong"
    )]
    Index {
        /// Row or column.
        what: &'static str,
        /// The word found.
        found: String,
        /// The number of rows or columns.
        limit: usize,
    },
    /// A value that is not a number.
    #[error("expected a number, found `{found}`; write it like -1.5e-3")]
    Value {
        /// The word found.
        found: String,
    },
    /// A fraction in an `integer` file.
    #[error("the banner declares `integer`, but `{found}` is not an integer; declare the file `real`")]
    NotInteger {
        /// The word found.
        found: String,
    },
    /// NaN, infinity, or a number beyond the range of `f64`.
    #[error("the value `{found}` is not finite; check the computation that wrote it")]
    NotFinite {
        /// The word found.
        found: String,
    },
    /// A symmetric file with entries in both triangles.
    #[error(
        "entry ({row}, {column}) lies in a different triangle than earlier entries, but a {structure} file stores only one; \
         if both triangles are stored, declare the file `general`"
    )]
    Triangles {
        /// The structure in the banner.
        structure: &'static str,
        /// The row, numbered from 1.
        row: usize,
        /// The column, numbered from 1.
        column: usize,
    },
    /// A skew-symmetric matrix with a nonzero diagonal entry.
    #[error(
        "entry ({row}, {row}) is {value:e}, but the diagonal of a skew-symmetric matrix is zero; declare \
         it `general`"
    )]
    SkewDiagonal {
        /// The row, numbered from 1.
        row: usize,
        /// The value found.
        value: f64,
    },
    /// A hermitian matrix with a diagonal entry that is not real.
    #[error(
        "the imaginary part of entry ({row}, {row}) is {value:e}, but the diagonal of a hermitian matrix is real; \
         declare it `general`"
    )]
    HermitianDiagonal {
        /// The row, numbered from 1.
        row: usize,
        /// The imaginary part found.
        value: f64,
    },
    /// The file ends before the last entry.
    #[error("the file ends after {found} of {expected} entries; it was cut short, or its size line is wrong")]
    TooFew {
        /// The declared number of entries.
        expected: usize,
        /// The number of entries found.
        found: usize,
    },
    /// A file that has no pieces.
    #[error(
        "an array, a complex or a compressed file cannot be read by pieces; decompress it (gunzip), or write it in real coordinate format"
    )]
    NoPieces,
    /// More entries than declared.
    #[error("the size line declares {expected} entries, but more follow; correct the count, or remove them")]
    TooMany {
        /// The declared number of entries.
        expected: usize,
    },
    /// More values in a symmetric array than one triangle has.
    #[error(
        "a {structure} array has one triangle, {expected} values, but more follow; if all values are stored, declare \
         the file `general`"
    )]
    WholeArray {
        /// The structure in the banner.
        structure: &'static str,
        /// The number of values in one triangle.
        expected: usize,
    },
    /// A matrix instead of a vector.
    #[error("expected a vector (one column, or one row), found a {rows} x {columns} matrix")]
    NotVector {
        /// The declared number of rows.
        rows: usize,
        /// The declared number of columns.
        columns: usize,
    },
    /// Duplicates whose sum is beyond the range of `f64`.
    #[error("the entries at ({row}, {column}) sum to infinity; scale the system")]
    Overflow {
        /// The row, numbered from 1.
        row: usize,
        /// The column, numbered from 1.
        column: usize,
    },
    /// Entries that cannot be assembled.
    #[error(transparent)]
    Matrix(SparseError),
}

/// Values of a file are finite, so only a sum of duplicates is not.
impl From<SparseError> for Problem {
    fn from(error: SparseError) -> Self {
        match error {
            SparseError::NotFinite { row, column } => Self::Overflow { row: row + 1, column: column + 1 },
            other => Self::Matrix(other),
        }
    }
}

coarsen_core::debug_as_display!(Problem);

/// A file that cannot be written. An existing file of the same name is unchanged, and no partial file
/// remains.
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The operating system reported an error.
    #[error("{file}: cannot be written ({kind}); check the folder, its permissions and the free space")]
    File {
        /// The file.
        file: PathBuf,
        /// The error of the operating system.
        kind: ErrorKind,
    },
    /// A value that is NaN or infinite and could not be read back.
    #[error(
        "{file}: the value at row {row}, column {column} (numbered from 1, as in the file) is not \
         finite; check the code that computed it"
    )]
    NotFinite {
        /// The file.
        file: PathBuf,
        /// The row, numbered from 1 as in the file.
        row: usize,
        /// The column, numbered from 1 as in the file.
        column: usize,
    },
}

coarsen_core::debug_as_display!(WriteError);
