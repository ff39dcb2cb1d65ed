//! The near-kernel: vectors that the operator almost annihilates, such as constants and rigid-body modes.
//!
//! Multigrid must reproduce these vectors on every level (Vaněk, Mandel & Brezina 1996). Wrong vectors (a
//! wrong sign, another order of unknowns) increase the number of iterations without causing an error.
//! [`NearKernel::quality`] detects them, and [`NearKernel::by_component`] finds the order.

mod quality;

use std::borrow::Borrow;

use coarsen_core::Error;

pub use quality::{ByComponent, Quality};

use crate::system::check_points;

/// k vectors on n scalar unknowns, stored as n rows of k numbers.
///
/// The vectors need not be orthogonal or normalised. [`constrain`](Self::constrain) sets the rows of unknowns
/// fixed by boundary conditions to zero.
///
/// *Memory* 8 k bytes per unknown.
///
/// ```
/// use coarsen_sparse::NearKernel;
/// let b = NearKernel::rigid_body_modes(&[[0.0, 0.0, 0.0], [2.0, 0.0, 0.0]], 2)?;
/// assert_eq!((b.size(), b.vectors()), (4, 3));
/// assert_eq!(b.column(2), [0.0, -1.0, 0.0, 1.0]); // a rotation about the centroid
/// # Ok::<(), coarsen_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct NearKernel {
    vectors: usize,
    values: Vec<f64>,
}

impl NearKernel {
    /// `block` vectors, one for each unknown of a node. Each vector is 1 for that unknown at every node and 0
    /// elsewhere. `n` is the total number of unknowns.
    ///
    /// For `block` = 1 this is the near-kernel of diffusion. For elasticity these are the translations.
    ///
    /// # Errors
    /// [`Error::Shape`] unless `block` divides `n`, [`Error::Parameter`] for `block` = 0.
    pub fn constants(n: usize, block: usize) -> Result<Self, Error> {
        let mut constants = Self { vectors: 0, values: Vec::new() };
        constants.set_constants(n, block)?;
        Ok(constants)
    }

    /// [`constants`](Self::constants) written into existing memory, which grows if it is too small.
    ///
    /// # Errors
    /// As [`constants`](Self::constants). On error, nothing changes.
    pub fn set_constants(&mut self, n: usize, block: usize) -> Result<(), Error> {
        if block == 0 {
            return Err(Error::Parameter { name: "block", value: 0.0, range: "at least 1" });
        }
        if !n.is_multiple_of(block) {
            let expected = n.next_multiple_of(block);
            return Err(Error::Shape {
                what: "unknowns as a multiple of the block size",
                expected,
                found: n,
            });
        }
        self.vectors = block;
        self.values.clear();
        self.values.resize(n * block, 0.0);
        for (i, row) in self.values.chunks_exact_mut(block).enumerate() {
            row[i % block] = 1.0;
        }
        Ok(())
    }

    /// The rigid-body modes of a body whose unknowns are nodal displacements: 3 modes in 2D, 6 in 3D.
    ///
    /// With (x, y, z) relative to the centroid, the displacements at a node are, in order,
    ///
    /// | mode | 1 | 2 | 3 | 4 | 5 | 6 |
    /// |---|---|---|---|---|---|---|
    /// | `dimension` = 2 | (1, 0) | (0, 1) | (−y, x) | | | |
    /// | `dimension` = 3 | (1, 0, 0) | (0, 1, 0) | (0, 0, 1) | (−y, x, 0) | (0, −z, y) | (z, 0, −x) |
    ///
    /// Rotations about the centroid are orthogonal to translations. If all nodes lie on a line, some
    /// rotations are linearly dependent; for a single node they are zero. Methods that orthogonalise drop
    /// such vectors.
    /// *Use* for displacements in the order of the axes, with `dimension` unknowns per node. *Not* for shells
    /// with rotational unknowns.
    ///
    /// # Errors
    /// [`Error::Parameter`] unless `dimension` is 2 or 3, [`Error::NotFinite`] gives the index of the point.
    pub fn rigid_body_modes(positions: &[[f64; 3]], dimension: usize) -> Result<Self, Error> {
        let mut modes = Self { vectors: 0, values: Vec::new() };
        modes.set_rigid_body_modes(positions, dimension)?;
        Ok(modes)
    }

    /// [`rigid_body_modes`](Self::rigid_body_modes) written into existing memory, which grows if it is too
    /// small.
    ///
    /// # Errors
    /// As [`rigid_body_modes`](Self::rigid_body_modes). On error, nothing changes.
    pub fn set_rigid_body_modes(&mut self, positions: &[[f64; 3]], dimension: usize) -> Result<(), Error> {
        check_dimension(dimension)?;
        check_points(positions)?;
        self.write_rigid_body_modes(centroid(positions), dimension, positions.iter());
        Ok(())
    }

    /// The rows of some nodes of [`rigid_body_modes`](Self::rigid_body_modes), about the centroid of all positions.
    ///
    /// *Use* for the nodes of one process of several. The values have the same bits as those of all nodes.
    ///
    /// # Errors
    /// As [`rigid_body_modes`](Self::rigid_body_modes), and [`Error::Parameter`] for a node without a position.
    pub fn rigid_body_modes_at(
        positions: &[[f64; 3]],
        dimension: usize,
        nodes: &[u32],
    ) -> Result<Self, Error> {
        check_dimension(dimension)?;
        check_points(positions)?;
        if let Some(&node) = nodes.iter().find(|&&node| node as usize >= positions.len()) {
            return Err(Error::Parameter {
                name: "node",
                value: f64::from(node),
                range: "below the number of positions",
            });
        }
        let mut modes = Self { vectors: 0, values: Vec::new() };
        let at = nodes.iter().map(|&node| &positions[node as usize]);
        modes.write_rigid_body_modes(centroid(positions), dimension, at);
        Ok(modes)
    }

    fn write_rigid_body_modes<'a>(
        &mut self,
        centre: [f64; 3],
        dimension: usize,
        positions: impl ExactSizeIterator<Item = &'a [f64; 3]>,
    ) {
        let Self { vectors, values } = self;
        *vectors = 3 * (dimension - 1);
        values.clear();
        values.reserve(positions.len() * dimension * *vectors);
        for p in positions {
            let [x, y, z] = [p[0] - centre[0], p[1] - centre[1], p[2] - centre[2]];
            if dimension == 2 {
                values.extend([1.0, 0.0, -y]);
                values.extend([0.0, 1.0, x]);
            } else {
                values.extend([1.0, 0.0, 0.0, -y, 0.0, z]);
                values.extend([0.0, 1.0, 0.0, x, -z, 0.0]);
                values.extend([0.0, 0.0, 1.0, 0.0, y, -x]);
            }
        }
    }

    /// The near-kernel with the given vectors, one slice per vector.
    ///
    /// # Errors
    /// [`Error::Shape`] for vectors of different lengths, [`Error::NotFinite`] gives the index of the
    /// unknown.
    pub fn from_columns(columns: &[&[f64]]) -> Result<Self, Error> {
        let n = columns.first().map_or(0, |c| c.len());
        for column in columns {
            if column.len() != n {
                let found = column.len();
                return Err(Error::Shape { what: "near-kernel vector", expected: n, found });
            }
            if let Some(index) = column.iter().position(|v| !v.is_finite()) {
                return Err(Error::NotFinite { what: "near-kernel vector", index });
            }
        }
        let values = (0..n).flat_map(|i| columns.iter().map(move |c| c[i])).collect();
        Ok(Self { vectors: columns.len(), values })
    }

    /// The near-kernel with the given values, row by row.
    ///
    /// # Errors
    /// [`Error::Shape`] unless the length is a multiple of `vectors`, [`Error::NotFinite`] gives the index of
    /// the unknown.
    pub fn from_rows(vectors: usize, values: Vec<f64>) -> Result<Self, Error> {
        let expected = values.len().next_multiple_of(vectors.max(1)).min(vectors * values.len());
        if values.len() != expected {
            return Err(Error::Shape { what: "near-kernel rows", expected, found: values.len() });
        }
        if let Some(at) = values.iter().position(|v| !v.is_finite()) {
            return Err(Error::NotFinite { what: "near-kernel vector", index: at / vectors });
        }
        Ok(Self { vectors, values })
    }

    /// The number n of scalar unknowns; 0 without vectors.
    pub fn size(&self) -> usize {
        self.values.len().checked_div(self.vectors).unwrap_or(0)
    }

    /// The number k of vectors.
    pub fn vectors(&self) -> usize {
        self.vectors
    }

    /// All values, row by row.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Copies another near-kernel into existing memory, which grows if it is too small.
    pub fn set(&mut self, other: &Self) {
        self.vectors = other.vectors;
        self.values.clone_from(&other.values);
    }

    /// Mutable access to all values, row by row. The caller must keep them finite.
    pub fn values_mut(&mut self) -> &mut [f64] {
        &mut self.values
    }

    /// The k values of unknown `i`.
    pub fn row(&self, i: usize) -> &[f64] {
        &self.values[i * self.vectors..(i + 1) * self.vectors]
    }

    /// A copy of vector `j`.
    pub fn column(&self, j: usize) -> Vec<f64> {
        assert!(j < self.vectors, "column {j} of {} near-kernel vectors", self.vectors);
        self.values.iter().skip(j).step_by(self.vectors).copied().collect()
    }

    /// Sets the rows of fixed unknowns, a slice or an iterator, to zero. The error of a fixed unknown is zero, so a coarse correction
    /// must not change it.
    ///
    /// # Errors
    /// [`Error::Parameter`] for the first unknown that does not exist. On error, nothing changes.
    pub fn constrain(&mut self, unknowns: impl IntoIterator<Item: Borrow<usize>>) -> Result<(), Error> {
        let (n, unknowns) = (self.size(), unknowns.into_iter().map(|i| *i.borrow()).collect::<Vec<_>>());
        if let Some(&i) = unknowns.iter().find(|&&i| i >= n) {
            return Err(Error::Parameter { name: "unknown", value: i as f64, range: "below the size" });
        }
        for i in unknowns {
            self.values[i * self.vectors..(i + 1) * self.vectors].fill(0.0);
        }
        Ok(())
    }
}

fn check_dimension(dimension: usize) -> Result<(), Error> {
    if matches!(dimension, 2 | 3) {
        return Ok(());
    }
    Err(Error::Parameter { name: "dimension", value: dimension as f64, range: "2 or 3" })
}

fn centroid(positions: &[[f64; 3]]) -> [f64; 3] {
    let count = positions.len().max(1) as f64;
    [0, 1, 2].map(|a| positions.iter().map(|p| p[a] / count).sum::<f64>())
}
