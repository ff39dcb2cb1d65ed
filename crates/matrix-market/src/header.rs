//! The banner and the size line.
//!
//! ```text
//! %%MatrixMarket matrix coordinate real symmetric      object, format, field, symmetry; case does not matter
//! % comments and blank lines
//! rows columns entries                                 of an array: rows columns
//! ```
//! *Reference* Boisvert, Pozo, Remington 1996, "The Matrix Market exchange formats: initial design", NISTIR
//! 5935.

use super::Problem;
use super::number::whole;
use super::read::text::{is_comment, quote, words};

/// A sparse matrix may have this many rows or columns in addition to [`HOLLOW`] times its entries. Assembly
/// uses about 80 bytes per row.
const FREE_ROWS: usize = 1 << 20;

/// A dense matrix may have this many entries in addition to [`HOLLOW`] times the stored entries. Each takes 8
/// bytes.
const FREE_PLACES: usize = 1 << 24;

/// If a matrix has more rows, columns or dense entries than this number times its stored entries, the size
/// line is considered damaged. So beyond the first 100 MB, memory grows with the entries that are read, not
/// with the declared sizes.
const HOLLOW: usize = 16;

/// The format word of the banner.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Format {
    Coordinate,
    Array,
}

/// The field word of the banner: the type of values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Field {
    Real,
    Integer,
    Complex,
    Pattern,
}

/// The symmetry word of the banner: the part of the matrix that is stored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Structure {
    General,
    Symmetric,
    Skew,
    Hermitian,
}

/// The content of the banner and the size line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    pub(super) format: Format,
    pub(super) field: Field,
    pub(super) structure: Structure,
    pub(super) rows: usize,
    pub(super) columns: usize,
    /// The number of entries in the body.
    pub(super) entries: usize,
    /// The line number of the size line.
    pub(super) line: usize,
}

/// The format, the field and the symmetry from the banner.
#[derive(Clone, Copy)]
pub(super) struct Banner {
    format: Format,
    field: Field,
    structure: Structure,
}

impl Banner {
    /// Parses the first line.
    pub(super) fn parse(line: &[u8]) -> Result<Self, Problem> {
        check_encoding(line)?;
        let lower = line.to_ascii_lowercase();
        // Other programs write one percent sign, a blank behind the signs, or a byte order mark.
        let marked = lower.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&lower);
        let signs = marked.iter().take_while(|&&byte| byte == b'%').count();
        let all: Vec<&[u8]> = words(&marked[signs..]).take(6).collect();
        let (1.., &[b"matrixmarket", object, format, field, symmetry]) = (signs, &all[..]) else {
            return Err(Problem::Banner { found: quote(line) });
        };
        let unknown = |what, found, expected| Problem::Word { what, found: quote(found), expected };
        if object != b"matrix" {
            return Err(unknown("object", object, "matrix"));
        }
        let format = match format {
            b"coordinate" => Format::Coordinate,
            b"array" => Format::Array,
            _ => return Err(unknown("format", format, "coordinate or array")),
        };
        let field = match field {
            b"real" | b"double" => Field::Real,
            b"integer" | b"unsigned-integer" => Field::Integer,
            b"pattern" if format == Format::Array => return Err(Problem::PatternArray),
            b"pattern" => Field::Pattern,
            b"complex" => Field::Complex,
            _ => return Err(unknown("field", field, "real, integer, complex or pattern")),
        };
        let structure = match symmetry {
            b"general" => Structure::General,
            b"symmetric" => Structure::Symmetric,
            b"skew-symmetric" => Structure::Skew,
            b"hermitian" if field == Field::Complex => Structure::Hermitian,
            b"hermitian" => return Err(Problem::Hermitian),
            _ => {
                return Err(unknown("symmetry", symmetry, "general, symmetric, skew-symmetric or hermitian"));
            }
        };
        Ok(Self { format, field, structure })
    }

    /// The expected content of the size line, for messages.
    pub(super) fn sizes(&self) -> &'static str {
        match self.format {
            Format::Coordinate => "rows columns entries",
            Format::Array => "rows columns",
        }
    }

    /// Parses the size line; `None` for a comment or a blank line.
    pub(super) fn size_line(&self, text: &[u8], line: usize) -> Result<Option<Header>, Problem> {
        if is_comment(text) {
            return Ok(None);
        }
        let malformed = || Problem::Size { expected: self.sizes(), found: quote(text) };
        let mut numbers = Vec::new();
        for word in words(text) {
            match whole(word) {
                Some((n, [])) if numbers.len() < 3 => numbers.push(n),
                _ => return Err(malformed()),
            }
        }
        let (rows, columns, entries) = match (self.format, &numbers[..]) {
            (Format::Coordinate, &[rows, columns, entries]) => (rows, columns, Some(entries)),
            (Format::Array, &[rows, columns]) => (rows, columns, None),
            _ => return Err(malformed()),
        };
        let rows = checked("rows", rows)?;
        let columns = checked("columns", columns)?;
        if self.structure != Structure::General && rows != columns {
            return Err(Problem::SymmetricRectangle { rows, columns });
        }
        let entries = match entries {
            Some(entries) => checked("entries", entries)?,
            None => self.structure.places(rows, columns),
        };
        if entries > 0 && (rows == 0 || columns == 0) {
            return Err(Problem::NoPlaces { rows, columns, entries });
        }
        let Self { format, field, structure } = *self;
        Ok(Some(Header { format, field, structure, rows, columns, entries, line }))
    }
}

/// Checks that the first line is text whose lines end in LF: zeros are every other byte of UTF-16.
fn check_encoding(line: &[u8]) -> Result<(), Problem> {
    let wide = matches!(line, [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [0, b'%', ..] | [b'%', 0, ..]);
    if wide {
        return Err(Problem::Encoding { found: "UTF-16", cure: "save it as ASCII or UTF-8" });
    }
    if line.trim_ascii_end().contains(&b'\r') {
        return Err(Problem::Encoding {
            found: "text whose lines end in CR alone",
            cure: "convert them to LF",
        });
    }
    Ok(())
}

/// Checks that a size is within the range of `u32` indices.
fn checked(what: &'static str, count: u64) -> Result<usize, Problem> {
    let limit = u64::from(u32::MAX);
    if count > limit {
        return Err(Problem::TooLarge { what, count, limit });
    }
    Ok(count as usize)
}

impl Structure {
    /// The word in the banner.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::General => "general",
            Self::Symmetric => "symmetric",
            Self::Skew => "skew-symmetric",
            Self::Hermitian => "hermitian",
        }
    }

    /// The number of values in an array with this structure. Both sizes are below 2³², so the product does
    /// not overflow.
    fn places(self, rows: usize, columns: usize) -> usize {
        match self {
            Self::General => rows * columns,
            Self::Symmetric | Self::Hermitian => (rows + 1) * rows / 2,
            Self::Skew => rows * rows.saturating_sub(1) / 2,
        }
    }
}

impl Header {
    /// Checks that the matrix can be a system to solve, before memory is allocated.
    pub(super) fn check_system(&self) -> Result<(), Problem> {
        let &Self { rows, columns, entries, .. } = self;
        if rows != columns {
            return Err(Problem::Rectangular { rows, columns });
        }
        // An off-diagonal entry of a symmetric file fills two rows.
        let filled = if self.structure == Structure::General { entries } else { entries.saturating_mul(2) };
        if filled < rows {
            return Err(Problem::EmptyRows { rows, entries, filled });
        }
        Ok(())
    }

    /// Checks that a sparse matrix of the declared sizes has enough declared entries.
    pub(super) fn check_sparse(&self) -> Result<(), Problem> {
        self.check_extent(self.rows.max(self.columns), FREE_ROWS)
    }

    /// Checks that a dense matrix of the declared sizes has enough declared entries.
    pub(super) fn check_dense(&self) -> Result<(), Problem> {
        self.check_extent(self.rows.saturating_mul(self.columns), FREE_PLACES)
    }

    /// Checks that the matrix is a vector: one column or one row.
    pub(super) fn check_vector(&self) -> Result<(), Problem> {
        let &Self { rows, columns, .. } = self;
        if rows != 1 && columns != 1 {
            return Err(Problem::NotVector { rows, columns });
        }
        self.check_dense()
    }

    fn check_extent(&self, extent: usize, free: usize) -> Result<(), Problem> {
        let &Self { rows, columns, entries, .. } = self;
        if extent > entries.saturating_mul(HOLLOW).saturating_add(free) {
            return Err(Problem::Hollow { rows, columns, entries });
        }
        Ok(())
    }
}
