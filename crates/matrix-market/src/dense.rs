//! Dense matrices for right-hand sides, coordinates and near-kernels.

use coarsen_sparse::SparseError;

/// A dense matrix stored by columns, as in array files. A column is a right-hand side, a coordinate axis or a
/// near-kernel vector. A complex matrix has the real and the imaginary part of each row in two rows, one after the other.
/// *Memory* 8 bytes per entry.
///
/// ```
/// use coarsen_matrix_market::Dense;
/// let xy = Dense::new(3, 2, vec![0.0, 1.0, 2.0, 5.0, 6.0, 7.0])?; // three nodes, two axes
/// assert_eq!((xy.get(1, 0), xy.column(1)), (1.0, &[5.0, 6.0, 7.0][..]));
/// # Ok::<(), coarsen_sparse::SparseError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Dense {
    rows: usize,
    columns: usize,
    values: Vec<f64>,
    pub(super) is_complex: bool,
}

impl Dense {
    /// A matrix from its values, column by column.
    ///
    /// # Errors
    /// [`SparseError::Length`] unless there are rows · columns values.
    pub fn new(rows: usize, columns: usize, values: Vec<f64>) -> Result<Self, SparseError> {
        let (expected, found) = (rows.saturating_mul(columns), values.len());
        if expected != found {
            return Err(SparseError::Length { what: "dense values", expected, found });
        }
        Ok(Self::from_parts(rows, columns, values))
    }

    /// A complex matrix from its values, column by column; `rows` counts real and imaginary parts, which alternate.
    ///
    /// # Errors
    /// [`SparseError::Length`] unless there are rows · columns values and an even number of rows.
    pub fn complex(rows: usize, columns: usize, values: Vec<f64>) -> Result<Self, SparseError> {
        let rows = rows.next_multiple_of(2);
        Ok(Self { is_complex: true, ..Self::new(rows, columns, values)? })
    }

    /// As [`new`](Self::new), for values whose number has been checked.
    pub(super) fn from_parts(rows: usize, columns: usize, values: Vec<f64>) -> Self {
        debug_assert_eq!(rows * columns, values.len());
        Self { rows, columns, values, is_complex: false }
    }

    /// The zero matrix.
    pub(super) fn zeros(rows: usize, columns: usize) -> Self {
        Self::from_parts(rows, columns, vec![0.0; rows * columns])
    }

    /// Whether rows are the real and the imaginary parts of complex numbers in turn.
    pub fn is_complex(&self) -> bool {
        self.is_complex
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// All values, column by column.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Column j.
    pub fn column(&self, j: usize) -> &[f64] {
        &self.values[j * self.rows..(j + 1) * self.rows]
    }

    /// The value at (i, j).
    pub fn get(&self, i: usize, j: usize) -> f64 {
        self.column(j)[i]
    }

    /// Mutable access to the entry (i, j).
    pub(super) fn at(&mut self, i: usize, j: usize) -> &mut f64 {
        &mut self.values[j * self.rows + i]
    }

    /// The values, column by column.
    pub fn into_values(self) -> Vec<f64> {
        self.values
    }
}
