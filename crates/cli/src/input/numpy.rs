//! Files of NumPy and SciPy: arrays (`.npy`), and sparse matrices as `scipy.sparse.save_npz` writes them (`.npz`).
//!
//! *Reference* NumPy Enhancement Proposal 1, "A simple file format for NumPy arrays", 2007.

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufReader, Cursor, Read, Write};
use std::path::Path;

use coarsen::matrix_market::{self, Dense, Problem, ReadError, WriteError};
use coarsen::sparse::{Bsr, SparseError, assembly};
use zip::write::SimpleFileOptions;
use zip::{ZipArchive, ZipWriter};

use crate::error::Failure;

/// The first bytes of an array.
const MAGIC: &[u8] = b"\x93NUMPY";

/// The largest header of an array.
const LONGEST: usize = 1 << 16;

/// Whether the name of a file is that of an array or a sparse matrix of NumPy.
pub(crate) fn is_numpy(path: &Path) -> bool {
    path.extension().is_some_and(|kind| ["npy", "npz"].iter().any(|own| kind.eq_ignore_ascii_case(own)))
}

/// Why a matrix is not that of a system.
pub(crate) fn refusal(path: &Path, matrix: &Bsr<f64>) -> Option<Failure> {
    let (rows, columns) = matrix.shape();
    let problem = Problem::Rectangular { rows, columns };
    (rows != columns).then(|| ReadError { file: path.into(), line: None, problem }.into())
}

/// A sparse matrix, or the nonzeros of a two-dimensional array, and whether it is complex; a complex entry a + ib is the block
/// [a −b; b a].
pub(crate) fn matrix(path: &Path) -> Result<(bool, Bsr<f64>), Failure> {
    let fault = |problem: String| Failure::input(path, problem);
    let is_array = path.extension().is_some_and(|kind| kind.eq_ignore_ascii_case("npy"));
    let read = if is_array { of_array(path) } else { of_archive(path) };
    let (is_complex, matrix) = read.map_err(fault)?;
    matrix.check_finite().map_err(|error| fault(error.to_string()))?;
    Ok((is_complex, matrix))
}

/// A vector, or the columns of a two-dimensional array.
pub(crate) fn dense(path: &Path) -> Result<Dense, Failure> {
    let fault = |problem: String| Failure::input(path, problem);
    let array = open(path).and_then(|file| Array::read(&mut BufReader::new(file))).map_err(fault)?;
    let (rows, columns) = match array.shape[..] {
        [rows] => (rows, 1),
        [rows, columns] => (rows, columns),
        _ => return Err(fault(format!("has {} dimensions, expected 1 or 2", array.shape.len()))),
    };
    let parts = array.parts();
    let values = array.numbers().map_err(fault)?;
    if let Some(at) = values.iter().position(|v| !v.is_finite()) {
        let at = at / parts;
        let problem =
            format!("the value at ({}, {}) is not finite", at / columns.max(1), at % columns.max(1));
        return Err(fault(problem));
    }
    // By columns, with the parts of a number one after the other.
    let at = |j: usize, i: usize| (i * columns + j) * parts;
    let by_columns = (0..columns).flat_map(|j| (0..rows).flat_map(move |i| at(j, i)..at(j, i) + parts));
    let values = by_columns.map(|k| values[k]).collect();
    let made = if parts == 2 {
        Dense::complex(2 * rows, columns, values)
    } else {
        Dense::new(rows, columns, values)
    };
    made.map_err(|error| fault(error.to_string()))
}

/// Writes a dense matrix; one column becomes a vector.
pub(crate) fn write_dense(path: &Path, a: &Dense) -> Result<(), Failure> {
    let (kind, parts) = if a.is_complex() { ("<c16", 2) } else { ("<f8", 1) };
    if let Some(at) = a.values().iter().position(|v| !v.is_finite()) {
        let (row, column) = (at % a.rows() / parts + 1, at / a.rows() + 1);
        return Err(WriteError::NotFinite { file: path.into(), row, column }.into());
    }
    let rows = a.rows() / parts;
    let shape = if a.columns() == 1 { format!("({rows},)") } else { format!("({rows}, {})", a.columns()) };
    let mut bytes = header(kind, true, &shape);
    a.values().iter().for_each(|v| bytes.extend(v.to_le_bytes()));
    Ok(matrix_market::replace(path, |out| out.write_all(&bytes))?)
}

/// Writes a matrix as SciPy's `save_npz` does: in rows, or in blocks if it has some.
pub(crate) fn write_matrix(path: &Path, a: &Bsr<f64>) -> Result<(), Failure> {
    a.check_finite()?;
    let ((rows, columns), (r, c), pattern) = (a.shape(), a.block(), a.pattern());
    let integers =
        |values: &mut dyn Iterator<Item = i64>| values.flat_map(i64::to_le_bytes).collect::<Vec<u8>>();
    let count: i64 = a.values().len() as i64 / (r * c) as i64;
    let mut end = 0;
    let ends = (0..pattern.rows()).map(|i| {
        end += pattern.row(i).len() as i64;
        end
    });
    let indptr = integers(&mut std::iter::once(0).chain(ends));
    let indices = integers(&mut (0..pattern.rows()).flat_map(|i| pattern.row(i)).map(|&j| i64::from(j)));
    let data: Vec<u8> = a.values().iter().flat_map(|v| v.to_le_bytes()).collect();
    let (format, shape) = match (r, c) {
        (1, 1) => (&b"csr"[..], format!("({count},)")),
        _ => (&b"bsr"[..], format!("({count}, {r}, {c})")),
    };
    let arrays = [
        ("indices", header("<i8", false, &format!("({count},)")), indices),
        ("indptr", header("<i8", false, &format!("({},)", pattern.rows() + 1)), indptr),
        ("format", header("|S3", false, "()"), format.to_vec()),
        ("shape", header("<i8", false, "(2,)"), integers(&mut [rows as i64, columns as i64].into_iter())),
        ("data", header("<f8", false, &shape), data),
    ];
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().large_file(count > 1 << 26);
    let done = arrays.into_iter().try_for_each(|(name, header, bytes)| {
        archive.start_file(format!("{name}.npy"), options)?;
        archive.write_all(&header)?;
        Ok(archive.write_all(&bytes)?)
    });
    let done = done.and_then(|()| archive.finish());
    let bytes = done.map_err(|error: zip::result::ZipError| Failure::write(path)(error.into()))?;
    Ok(matrix_market::replace(path, |out| out.write_all(bytes.get_ref()))?)
}

/// The header of an array, whose length is a multiple of 64.
fn header(kind: &str, fortran: bool, shape: &str) -> Vec<u8> {
    let fortran = if fortran { "True" } else { "False" };
    let mut text = format!("{{'descr': '{kind}', 'fortran_order': {fortran}, 'shape': {shape}, }}");
    let length = (MAGIC.len() + 4 + text.len() + 1).next_multiple_of(64) - MAGIC.len() - 4;
    text.extend(std::iter::repeat_n(' ', length - text.len() - 1));
    text.push('\n');
    [MAGIC, &[1, 0], &(length as u16).to_le_bytes(), text.as_bytes()].concat()
}

/// An array as it was read, its bytes in the order of its shape.
struct Array {
    /// The letter of the type, and the bytes of a value.
    kind: (u8, usize),
    big_endian: bool,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

impl Array {
    fn read(from: &mut impl Read) -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("cannot be read ({})", error.kind());
        let mut start = [0; 8];
        from.read_exact(&mut start).map_err(failed)?;
        if !start.starts_with(MAGIC) {
            return Err("is not an array of NumPy; write it with numpy.save".to_owned());
        }
        let mut length = [0; 4];
        from.read_exact(&mut length[..if start[6] == 1 { 2 } else { 4 }]).map_err(failed)?;
        let length = u32::from_le_bytes(length) as usize;
        if length > LONGEST {
            return Err(format!("has a header of {length} bytes; the file is damaged"));
        }
        let mut text = vec![0; length];
        from.read_exact(&mut text).map_err(failed)?;
        let text = String::from_utf8_lossy(&text).into_owned();
        let after = |key: &str| Some(text.split_once(&format!("'{key}':"))?.1.trim_start());
        let parsed = || {
            let descr = after("descr")?.strip_prefix('\'')?.split_once('\'')?.0;
            let (order, rest) = (descr.chars().next()?, descr.get(1..)?);
            let kind = (*rest.as_bytes().first()?, rest.get(1..)?.parse::<usize>().ok()?);
            let fortran = after("fortran_order")?.starts_with("True");
            let (shape, _) = after("shape")?.strip_prefix('(')?.split_once(')')?;
            let sizes = shape.split(',').map(str::trim).filter(|size| !size.is_empty());
            // Twice a size, the number of parts of complex values, fits.
            let size = |text: &str| usize::try_from(text.parse::<isize>().ok()?).ok();
            let shape = sizes.map(size).collect::<Option<Vec<usize>>>()?;
            Some((order == '>', kind, fortran, shape))
        };
        let Some((big_endian, kind, fortran, shape)) = parsed() else {
            return Err(format!(
                "has the header `{}`, which is not of numbers; save an array of floats",
                text.trim_end()
            ));
        };
        // A text is stored in UCS-4.
        let size = if kind.0 == b'U' { kind.1.checked_mul(4) } else { Some(kind.1) };
        let count = shape.iter().try_fold(1_usize, |all, n| all.checked_mul(*n));
        let expected = count.zip(size).and_then(|(count, size)| count.checked_mul(size));
        let mut bytes = Vec::new();
        let most = expected.map_or(0, |expected| (expected as u64).saturating_add(1));
        from.take(most).read_to_end(&mut bytes).map_err(failed)?;
        if expected != Some(bytes.len()) {
            return Err(format!(
                "has {} bytes of data, its shape {shape:?} another number; it is damaged",
                bytes.len()
            ));
        }
        if fortran && shape.len() > 1 {
            bytes = in_rows(&bytes, &shape);
        }
        Ok(Self { kind, big_endian, shape, bytes })
    }

    /// The number of parts of a value: 2 if it is complex.
    fn parts(&self) -> usize {
        if self.kind.0 == b'c' { 2 } else { 1 }
    }

    /// The numbers, those of complex values in two parts.
    fn numbers(&self) -> Result<Vec<f64>, String> {
        let (kind, whole) = self.kind;
        let size = if whole % self.parts() == 0 { whole / self.parts() } else { 0 };
        let mut bytes = Cow::Borrowed(&self.bytes[..]);
        if self.big_endian {
            bytes.to_mut().chunks_mut(size.max(1)).for_each(<[u8]>::reverse);
        }
        macro_rules! of {
            ($t:ty) => {
                bytes.as_chunks().0.iter().map(|bytes| <$t>::from_le_bytes(*bytes) as f64).collect()
            };
        }
        Ok(match (kind, size) {
            (b'f' | b'c', 8) => of!(f64),
            (b'f' | b'c', 4) => of!(f32),
            (b'i', 8) => of!(i64),
            (b'i', 4) => of!(i32),
            (b'i', 2) => of!(i16),
            (b'i', 1) => of!(i8),
            (b'u', 8) => of!(u64),
            (b'u', 4) => of!(u32),
            (b'u', 2) => of!(u16),
            (b'u' | b'b', 1) => of!(u8),
            _ => {
                let kind = char::from(kind);
                return Err(format!("has values of the type {kind}{whole}; convert them with astype(float)"));
            }
        })
    }

    /// The indices.
    fn indices(&self) -> Result<Vec<u32>, String> {
        let index = |v: f64| (v >= 0.0 && v <= f64::from(u32::MAX) && v.fract() == 0.0).then_some(v as u32);
        let all: Option<Vec<u32>> = self.numbers()?.into_iter().map(index).collect();
        all.ok_or_else(|| "has indices that are negative, too large or fractions; it is damaged".to_owned())
    }

    /// The text of a string.
    fn text(&self) -> String {
        self.bytes.iter().filter(|byte| **byte != 0).map(|byte| char::from(*byte)).collect()
    }
}

/// The bytes of an array in the order of C, from that of Fortran.
fn in_rows(bytes: &[u8], shape: &[usize]) -> Vec<u8> {
    if bytes.is_empty() {
        return Vec::new();
    }
    let count: usize = shape.iter().product();
    let size = bytes.len() / count;
    let mut rows = Vec::with_capacity(bytes.len());
    for k in 0..count {
        // The last index changes fastest in `k`, the first one in `bytes`.
        let (mut rest, mut at, mut stride) = (k, 0, count);
        for n in shape.iter().rev() {
            stride /= n;
            at += rest % n * stride;
            rest /= n;
        }
        rows.extend_from_slice(&bytes[at * size..(at + 1) * size]);
    }
    rows
}

fn open(path: &Path) -> Result<File, String> {
    File::open(path)
        .map_err(|error| format!("cannot be opened ({}); check the path and its permissions", error.kind()))
}

/// The nonzeros of a two-dimensional array.
fn of_array(path: &Path) -> Result<(bool, Bsr<f64>), String> {
    let array = Array::read(&mut BufReader::new(open(path)?))?;
    let &[rows, columns] = &array.shape[..] else {
        return Err(format!("has {} dimensions, but a matrix has 2", array.shape.len()));
    };
    let (parts, values) = (array.parts(), array.numbers()?);
    let all = values.chunks(parts).enumerate().filter(|(_, v)| v.iter().any(|v| *v != 0.0));
    let (places, kept): (Vec<_>, Vec<_>) =
        all.map(|(k, v)| (((k / columns) as u32, (k % columns) as u32), v)).unzip();
    assembled((rows, columns), (1, 1), parts, &places, &kept.concat())
}

/// A sparse matrix of SciPy.
fn of_archive(path: &Path) -> Result<(bool, Bsr<f64>), String> {
    let broken =
        |error: zip::result::ZipError| format!("is not an archive of scipy.sparse.save_npz ({error})");
    let mut archive = ZipArchive::new(BufReader::new(open(path)?)).map_err(broken)?;
    let mut array = |name: &str| {
        let mut file = archive
            .by_name(&format!("{name}.npy"))
            .map_err(|_| format!("holds no array `{name}`; write the matrix with scipy.sparse.save_npz"))?;
        Array::read(&mut file).map_err(|problem| format!("the array `{name}` {problem}"))
    };
    let format = array("format")?.text();
    let &[rows, columns] = &array("shape")?.indices()?[..] else {
        return Err("the array `shape` is not of two sizes".to_owned());
    };
    let data = array("data")?;
    let (parts, values) = (data.parts(), data.numbers()?);
    let (mut places, mut block) = (Vec::new(), (1, 1));
    match &*format {
        "coo" => {
            let [row, column] = [array("row")?.indices()?, array("col")?.indices()?];
            if row.len() != column.len() {
                return Err(format!("has {} rows for {} columns; it is damaged", row.len(), column.len()));
            }
            places.extend(row.into_iter().zip(column));
        }
        "csr" | "csc" | "bsr" => {
            let (ends, indices) = (array("indptr")?.indices()?, array("indices")?.indices()?);
            block = match &data.shape[..] {
                &[_, r, c] if format == "bsr" => (r, c),
                &[_] if format != "bsr" => (1, 1),
                shape => return Err(format!("has values of the shape {shape:?}; it is damaged")),
            };
            let lines = if format == "csc" { columns } else { rows } as usize;
            if lines.checked_div(block.0).map(|lines| lines + 1) != Some(ends.len()) {
                return Err(format!("has {} offsets for {rows} x {columns}; it is damaged", ends.len()));
            }
            for (i, ends) in ends.windows(2).enumerate() {
                let Some(row) = indices.get(ends[0] as usize..ends[1] as usize) else {
                    return Err("has offsets beyond its indices; it is damaged".to_owned());
                };
                places
                    .extend(row.iter().map(|&j| if format == "csc" { (j, i as u32) } else { (i as u32, j) }));
            }
        }
        other => return Err(format!("holds a matrix in the format `{other}`; convert it with tocsr()")),
    }
    let sizes = (rows as usize, columns as usize);
    assembled(sizes, block, parts, &places, &values)
}

/// A matrix of blocks of real numbers, or of complex ones in two parts.
fn assembled(
    (rows, columns): (usize, usize),
    (r, c): (usize, usize),
    parts: usize,
    places: &[(u32, u32)],
    values: &[f64],
) -> Result<(bool, Bsr<f64>), String> {
    let size = r.checked_mul(c).and_then(|size| size.checked_mul(parts)).unwrap_or(0);
    if size == 0 || places.len().checked_mul(size) != Some(values.len()) {
        return Err(format!("has {} values for {} places; it is damaged", values.len(), places.len()));
    }
    if rows % r != 0 || columns % c != 0 {
        return Err(format!("has {r} x {c} blocks, which do not tile {rows} x {columns}; it is damaged"));
    }
    let told = |error: SparseError| error.to_string();
    if parts == 1 {
        let made = assembly::from_blocks((rows / r, columns / c), (r, c), places, values);
        return Ok((false, made.map_err(told)?));
    }
    let (pairs, _) = values.as_chunks();
    if places.iter().any(|&(i, j)| i as usize >= rows / r || j as usize >= columns / c) {
        return Err(format!("has indices beyond {rows} x {columns}; it is damaged"));
    }
    let place = |k: usize| {
        let ((i, j), at) = (places[k / (r * c)], k % (r * c));
        (i * r as u32 + (at / c) as u32, j * c as u32 + (at % c) as u32)
    };
    let places: Vec<(u32, u32)> = (0..pairs.len()).map(place).collect();
    let blocks: Vec<[[f64; 2]; 2]> = pairs.iter().map(|&[a, b]| [[a, -b], [b, a]]).collect();
    Ok((true, assembly::from_square_blocks((rows, columns), &places, &blocks).map_err(told)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_replaced_as_a_whole() {
        let folder = std::env::temp_dir().join(format!("coarsen-numpy-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let [x, link] = ["x.npy", "link.npy"].map(|name| folder.join(name));
        let write = |v: f64| write_dense(&x, &Dense::complex(4, 1, vec![0.0, 0.0, 0.0, v]).unwrap());
        let read = |file: &Path| std::fs::read(file).unwrap();
        write(1.0).unwrap();
        std::fs::hard_link(&x, &link).unwrap();
        write(2.0).unwrap();
        assert_ne!(read(&x), read(&link), "the old file was overwritten");
        let before = read(&x);
        let refused = write(f64::NAN).unwrap_err().to_string();
        assert!(refused.contains("x.npy") && refused.contains("row 2, column 1"), "{refused}");
        assert_eq!((read(&x), std::fs::read_dir(&folder).unwrap().count()), (before, 2));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
