//! Expansion of stored entries to the whole matrix: mirrors triangles, sums duplicates and adds zeros.

use coarsen_sparse::{Bsr, SparseError, assembly};

use super::Dense;
use super::header::{Header, Structure};

/// The sparse matrix of coordinate entries. Duplicates are summed in the order of the file, in both
/// triangles, so a symmetric file gives an exactly symmetric matrix.
pub(super) fn to_sparse(header: &Header, mut entries: Vec<(u32, u32, f64)>) -> Result<Bsr<f64>, SparseError> {
    entries.shrink_to_fit(); // while growing, a list can reserve twice the necessary capacity
    match header.structure.mirror() {
        Some(sign) => assembly::from_half(header.rows, &entries, sign),
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
            *dense.at(j, i) += sign * v;
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
    let Some(sign) = structure.mirror() else {
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

impl Structure {
    /// The factor of mirrored entries; `None` if entries are not mirrored.
    pub(super) fn mirror(self) -> Option<f64> {
        match self {
            Self::General => None,
            Self::Symmetric => Some(1.0),
            Self::Skew => Some(-1.0),
        }
    }
}
