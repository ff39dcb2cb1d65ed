//! Writing: complete files or none, with numbers that are read back with the same bits.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use coarsen_sparse::Bsr;
use flate2::Compression;
use flate2::write::GzEncoder;

use super::{Dense, WriteError};

/// Whether a file may contain only one triangle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Symmetry {
    /// Only the lower triangle, if the matrix equals its transpose exactly, including stored zeros; otherwise
    /// the whole matrix.
    #[default]
    Detect,
    /// The whole matrix.
    General,
}

/// Writes a matrix as `coordinate real`; compressed with gzip if the path ends in `.gz`.
///
/// All stored scalars are written, including zeros, as the shortest decimals that are read back as the same
/// number; only −0 becomes 0. The file is written under a temporary name and renamed, so a partial file never
/// appears. *Cost* about 0.2 µs per scalar, several times as much with gzip.
///
/// ```
/// use coarsen_matrix_market::{self as matrix_market, Symmetry};
/// use coarsen_sparse::Bsr;
/// let path = std::env::temp_dir().join(format!("identity-{}.mtx", std::process::id()));
/// matrix_market::write(&path, &Bsr::identity(2, 1)?, Symmetry::Detect)?;
/// let text = std::fs::read_to_string(&path)?;
/// assert_eq!(text, "%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 1e0\n2 2 1e0\n");
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`WriteError::File`], or [`WriteError::NotFinite`] for the first value that is NaN or infinite.
pub fn write(path: impl AsRef<Path>, a: &Bsr<f64>, symmetry: Symmetry) -> Result<(), WriteError> {
    let path = path.as_ref();
    if let Some((row, column, _)) = scalars(a).find(|(_, _, v)| !v.is_finite()) {
        return Err(WriteError::NotFinite { file: path.into(), row: row + 1, column: column + 1 });
    }
    let symmetric = symmetry == Symmetry::Detect && is_symmetric(a);
    // The upper triangle row by row is the lower triangle column by column.
    let stored = || scalars(a).filter(|&(i, j, _)| !symmetric || j >= i);
    let (rows, columns) = a.shape();
    replace(path, |out| {
        writeln!(
            out,
            "%%MatrixMarket matrix coordinate real {}",
            if symmetric { "symmetric" } else { "general" }
        )?;
        writeln!(out, "{rows} {columns} {}", stored().count())?;
        stored().try_for_each(|(i, j, v)| {
            let (i, j) = if symmetric { (j, i) } else { (i, j) };
            writeln!(out, "{} {} {v:e}", i + 1, j + 1)
        })
    })
}

/// Writes a dense matrix as `array real general`, or `complex`; otherwise as [`write`](fn@write).
///
/// # Errors
/// As [`write`](fn@write).
pub fn write_dense(path: impl AsRef<Path>, a: &Dense) -> Result<(), WriteError> {
    write_array(path.as_ref(), (a.rows(), a.columns()), a.values(), a.is_complex())
}

/// Writes a vector as an array with one column; otherwise as [`write`](fn@write).
///
/// # Errors
/// As [`write`](fn@write).
pub fn write_vector(path: impl AsRef<Path>, x: &[f64]) -> Result<(), WriteError> {
    write_array(path.as_ref(), (x.len(), 1), x, false)
}

/// Writes a dense matrix to the standard output, called `<stdout>` in messages.
///
/// # Errors
/// As [`write`](fn@write).
pub fn print_dense(a: &Dense) -> Result<(), WriteError> {
    let file = Path::new("<stdout>");
    check_finite(file, a.rows(), a.values(), a.is_complex())?;
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    let written =
        array(&mut out, (a.rows(), a.columns()), a.values(), a.is_complex()).and_then(|()| out.flush());
    written.map_err(|error| WriteError::File { file: file.into(), kind: error.kind() })
}

fn write_array(
    path: &Path,
    size: (usize, usize),
    values: &[f64],
    is_complex: bool,
) -> Result<(), WriteError> {
    check_finite(path, size.0, values, is_complex)?;
    replace(path, |out| array(out, size, values, is_complex))
}

fn check_finite(path: &Path, rows: usize, values: &[f64], is_complex: bool) -> Result<(), WriteError> {
    let Some(at) = values.iter().position(|v| !v.is_finite()) else { return Ok(()) };
    let parts = if is_complex { 2 } else { 1 };
    let (row, column) = (at % rows / parts + 1, at / rows + 1);
    Err(WriteError::NotFinite { file: path.into(), row, column })
}

fn array(
    out: &mut dyn Write,
    (rows, columns): (usize, usize),
    values: &[f64],
    is_complex: bool,
) -> io::Result<()> {
    let (field, lines) = if is_complex { ("complex", rows / 2) } else { ("real", rows) };
    writeln!(out, "%%MatrixMarket matrix array {field} general\n{lines} {columns}")?;
    match is_complex {
        true => values.as_chunks().0.iter().try_for_each(|[a, b]| writeln!(out, "{a:e} {b:e}")),
        false => values.iter().try_for_each(|v| writeln!(out, "{v:e}")),
    }
}

/// All stored scalars as (row, column, value), row by row.
fn scalars(a: &Bsr<f64>) -> impl Iterator<Item = (usize, usize, f64)> {
    let (r, c) = a.block();
    (0..a.shape().0).flat_map(move |i| {
        a.row(i / r).flat_map(move |(block, values)| {
            let row = &values[i % r * c..(i % r + 1) * c];
            row.iter().enumerate().map(move |(k, &v)| (i, block * c + k, v))
        })
    })
}

/// Whether every stored block has a stored transposed block with the same bits.
fn is_symmetric(a: &Bsr<f64>) -> bool {
    let (r, c) = a.block();
    r == c && a.pattern().is_symmetric() && a.asymmetric_pair(0.0).is_none()
}

/// Writes a file of any format under a temporary name and renames it, so that a partial file never appears; compressed with
/// gzip if the path ends in `.gz`. A device or a pipe is written directly.
///
/// # Errors
/// [`WriteError::File`], also for an error of `fill`.
pub fn replace(
    path: impl AsRef<Path>,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), WriteError> {
    let path = path.as_ref();
    let is_device = fs::metadata(path).is_ok_and(|at| !at.is_file() && !at.is_dir());
    let result = if is_device {
        File::options().write(true).open(path).and_then(|file| compressed(path, file, fill))
    } else {
        // Resolves symbolic links, so that a link is kept.
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        let beside = beside(&target);
        let written = File::create_new(&beside)
            .and_then(|file| compressed(path, file, fill))
            .and_then(|()| fs::rename(&beside, &target));
        if written.is_err() {
            // The first error is reported. The temporary file may not exist, so an error of its removal is
            // ignored.
            let _ = fs::remove_file(&beside);
        }
        written
    };
    result.map_err(|error| WriteError::File { file: path.to_path_buf(), kind: error.kind() })
}

/// A unique temporary name in the same folder.
fn beside(path: &Path) -> PathBuf {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}-{}.part", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed)));
    path.with_file_name(name)
}

/// Writes a file; compressed with gzip if its extension is `gz`.
fn compressed(
    path: &Path,
    file: File,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, file);
    if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gz")) {
        let mut gzip = BufWriter::with_capacity(1 << 16, GzEncoder::new(out, Compression::default()));
        fill(&mut gzip)?;
        out = gzip.into_inner().map_err(io::IntoInnerError::into_error)?.finish()?;
    } else {
        fill(&mut out)?;
    }
    out.flush()
}
