//! Expansion of stored entries to the whole matrix: mirrors triangles, sums duplicates and adds zeros. A complex entry
//! a + ib becomes the real block [a −b; b a].

use coarsen_sparse::{Bsr, SparseError, assembly};

use super::Dense;
use super::header::{Header, Structure};

/// The sparse matrix of coordinate entries. Duplicates are summed in the order of the file, in both
/// triangles, so a symmetric file gives an exactly symmetric matrix.
pub(super) fn to_sparse(header: &Header, mut entries: Vec<(u32, u32, f64)>) -> Result<Bsr<f64>, SparseError> {
    entries.shrink_to_fit(); // while growing, a list can reserve twice the necessary capacity
    match header.structure.mirror() {
        Some([sign, _]) => assembly::from_half(header.rows, &entries, sign),
        None => assembly::from_triplets(header.rows, header.columns, &entries),
    }
}

/// The dense matrix of coordinate entries. Duplicates are summed.
///
/// # Errors
/// [`SparseError::NotFinite`] if duplicates sum to infinity.
pub(super) fn scatter(header: &Header, entries: &[(u32, u32, f64)]) -> Result<Dense, SparseError> {
    let mut dense = Dense::zeros(header.rows, header.columns);
    for &(i, j, v) in entries {
        let (i, j) = (i as usize, j as usize);
        *dense.at(i, j) += v;
        if let Some(sign) = header.structure.mirror()
            && i != j
        {
            *dense.at(j, i) += sign[0] * v;
        }
    }
    match dense.values().iter().position(|v| !v.is_finite()) {
        Some(at) => Err(SparseError::NotFinite { row: at % header.rows, column: at / header.rows }),
        None => Ok(dense),
    }
}

/// The dense matrix of an array file. The file stores all values or the lower triangle, column by column.
pub(super) fn to_dense(header: &Header, values: Vec<f64>) -> Dense {
    let (n, structure) = (header.rows, header.structure);
    let Some([sign, _]) = structure.mirror() else {
        return Dense::from_parts(n, header.columns, values);
    };
    let mut dense = Dense::zeros(n, n);
    let mut next = values.into_iter();
    for j in 0..n {
        let first = if structure == Structure::Skew { j + 1 } else { j };
        for (i, v) in (first..n).zip(next.by_ref()) {
            *dense.at(j, i) = sign * v;
            *dense.at(i, j) = v;
        }
    }
    dense
}

/// The sparse matrix of the nonzero entries of a dense matrix.
pub(super) fn nonzeros(dense: &Dense) -> Result<Bsr<f64>, SparseError> {
    let mut entries = Vec::new();
    for j in 0..dense.columns() {
        for (i, &v) in dense.column(j).iter().enumerate() {
            if v != 0.0 {
                entries.push((i as u32, j as u32, v));
            }
        }
    }
    assembly::from_triplets(dense.rows(), dense.columns(), &entries)
}

/// The entries of a complex file, both triangles.
fn mirrored(header: &Header, mut entries: Vec<(u32, u32, [f64; 2])>) -> Vec<(u32, u32, [f64; 2])> {
    if let Some([real, imaginary]) = header.structure.mirror() {
        for k in 0..entries.len() {
            let (i, j, [a, b]) = entries[k];
            if i != j {
                entries.push((j, i, [real * a, imaginary * b]));
            }
        }
    }
    entries
}

/// The real matrix of complex coordinate entries, in 2x2 blocks. Duplicates are summed.
pub(super) fn to_blocks(
    header: &Header,
    entries: Vec<(u32, u32, [f64; 2])>,
) -> Result<Bsr<f64>, SparseError> {
    let entries = mirrored(header, entries);
    let places: Vec<(u32, u32)> = entries.iter().map(|e| (e.0, e.1)).collect();
    let blocks: Vec<[[f64; 2]; 2]> = entries.iter().map(|&(_, _, [a, b])| [[a, -b], [b, a]]).collect();
    drop(entries);
    assembly::from_square_blocks((header.rows, header.columns), &places, &blocks)
}

/// The complex dense matrix of coordinate entries, with real and imaginary parts in turn. Duplicates are summed.
///
/// # Errors
/// [`SparseError::NotFinite`] if duplicates sum to infinity.
pub(super) fn scatter_complex(
    header: &Header,
    entries: Vec<(u32, u32, [f64; 2])>,
) -> Result<Dense, SparseError> {
    let mut dense = Dense::zeros(2 * header.rows, header.columns);
    dense.is_complex = true;
    for (i, j, parts) in mirrored(header, entries) {
        for (k, part) in parts.into_iter().enumerate() {
            *dense.at(2 * i as usize + k, j as usize) += part;
        }
    }
    match dense.values().iter().position(|v| !v.is_finite()) {
        Some(at) => Err(SparseError::NotFinite { row: at / 2 % header.rows, column: at / 2 / header.rows }),
        None => Ok(dense),
    }
}

/// The places of the values of an array file: all, or the lower triangle, column by column.
pub(super) fn placed(header: &Header, values: Vec<[f64; 2]>) -> Vec<(u32, u32, [f64; 2])> {
    let (n, structure) = (header.rows as u32, header.structure);
    let first = move |j: u32| match structure {
        Structure::General => 0,
        Structure::Skew => j + 1,
        Structure::Symmetric | Structure::Hermitian => j,
    };
    let places = (0..header.columns as u32).flat_map(|j| (first(j)..n).map(move |i| (i, j)));
    places.zip(values).map(|((i, j), v)| (i, j, v)).collect()
}

impl Structure {
    /// The factors of the real and the imaginary parts of mirrored entries; `None` if entries are not mirrored.
    pub(super) fn mirror(self) -> Option<[f64; 2]> {
        match self {
            Self::General => None,
            Self::Symmetric => Some([1.0, 1.0]),
            Self::Skew => Some([-1.0, -1.0]),
            Self::Hermitian => Some([1.0, -1.0]),
        }
    }
}
