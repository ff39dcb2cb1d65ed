//! Block-diagonal inverses on the host.

mod invert;
mod relax;

use coarsen_core::parallel::{self, Groups, each, tree};
use coarsen_core::{Error, Preconditioner, PreconditionerKind, Real, compiled};
use coarsen_sparse::{Bsr, COLUMNS, SparseError};

use crate::SetupError;
use crate::cpu::columns_of;
use invert::{Fault, Scratch, invert, invert_positive};
pub(crate) use relax::Step;

/// Dense b x b matrices D_k, one per node, row-major. Block Jacobi, Gauss-Seidel and incomplete
/// factorisations multiply by them.
///
/// *Memory* b² values per node.
///
/// ```
/// use coarsen_backend::DenseBlocks;
/// use coarsen_sparse::assembly;
/// let a = assembly::from_triplets(2, 2, &[(0, 0, 2.0), (1, 0, 1.0), (1, 1, 4.0)])?;
/// assert_eq!(DenseBlocks::inverse_diagonal(&a, "jacobi")?.values(), [0.5, 0.25]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct DenseBlocks<T> {
    size: usize,
    values: Vec<T>,
}

compiled!(APPLY: Apply<V, S> where S <= V = fn(&DenseBlocks<S>, V, &[V], V, &mut [V]), apply);

compiled!(
    INVERT: Invert<T> =
        fn(&mut DenseBlocks<T>, &Bsr<T>, &'static str) -> Result<(), SetupError>, DenseBlocks::invert_plain
);

compiled!(
    INVERT_ALL: InvertAll<T> =
        fn(&mut DenseBlocks<T>, &'static str) -> Result<(), SetupError>, DenseBlocks::invert_all_plain
);

compiled!(
    INVERT_L1: InvertL1<T> =
        fn(&mut DenseBlocks<T>, &Bsr<T>, &'static str) -> Result<(), SetupError>, DenseBlocks::invert_l1
);

impl<T: Real> DenseBlocks<T> {
    /// Returns blocks of `size` x `size` from their values, block after block.
    ///
    /// # Errors
    /// [`SparseError::Length`] if the values are not whole blocks.
    pub fn new(size: usize, values: Vec<T>) -> Result<Self, SparseError> {
        let area = size * size;
        if area == 0 || !values.len().is_multiple_of(area) {
            let expected = values.len().next_multiple_of(area.max(1));
            return Err(SparseError::Length { what: "dense blocks", expected, found: values.len() });
        }
        Ok(Self { size, values })
    }

    /// Returns the inverses of the diagonal blocks of A, computed in parallel.
    ///
    /// The method is Gauss-Jordan elimination with scaled partial pivoting, in the precision of A: each row
    /// is scaled so that its largest entry is 1 (Golub & Van Loan 2013, §3.5.2). A block counts as singular
    /// if a scaled pivot is at most b · EPSILON. For well-conditioned symmetric positive definite blocks of 3 x 3 it is
    /// L D Lᵀ without pivots, which is as accurate. Because of the scaling, soft or constrained unknowns next to
    /// stiff ones are accepted. `method` names the caller in messages.
    ///
    /// # Errors
    /// [`SetupError::ZeroDiagonal`] (1 x 1 blocks, or a missing block), [`SetupError::SingularBlock`],
    /// [`SetupError::NotSquare`], and [`SparseError::NotFinite`], each with the position.
    pub fn inverse_diagonal(a: &Bsr<T>, method: &'static str) -> Result<Self, SetupError> {
        let b = square_block(a)?;
        let mut inverses = Self { size: b, values: vec![T::zero(); a.shape().0 * b] };
        inverses.invert_diagonal(a, method)?;
        Ok(inverses)
    }

    /// Overwrites these blocks with the result of [`inverse_diagonal`](Self::inverse_diagonal). Does not
    /// allocate for blocks up to 12 x 12.
    ///
    /// # Errors
    /// The errors of [`inverse_diagonal`](Self::inverse_diagonal), and [`SparseError::Length`] if A has
    /// another number or size of diagonal blocks. After an error some blocks may already be overwritten, so
    /// an update copies blocks to a backend only after success.
    pub fn invert_diagonal(&mut self, a: &Bsr<T>, method: &'static str) -> Result<(), SetupError> {
        INVERT.of::<Invert<T>>()(self, a, method)
    }

    /// Computes the inverses of Aᵢᵢ + diag(sᵢ), where sᵢ is, for each scalar row, the sum of absolute values
    /// outside the diagonal block.
    ///
    /// l1 relaxation divides by M = blockdiag(A) + diag(s), which satisfies xᵀMx ≥ xᵀAx for symmetric A, so
    /// the stationary iteration converges (Baker, Falgout, Kolev, Yang 2011, §5).
    ///
    /// # Errors
    /// The errors of [`invert_diagonal`](Self::invert_diagonal), [`SparseError::NotFinite`] for an entry
    /// anywhere in A, and [`Error::Range`] if sums of finite entries overflow.
    pub fn invert_l1_diagonal(&mut self, a: &Bsr<T>, method: &'static str) -> Result<(), SetupError> {
        INVERT_L1.of::<InvertL1<T>>()(self, a, method)
    }

    /// Replaces these blocks by their inverses, which have the bits of
    /// [`invert_diagonal`](Self::invert_diagonal) if the blocks are the diagonal blocks of A.
    ///
    /// # Errors
    /// Those of [`invert_diagonal`](Self::invert_diagonal) for such blocks. Some blocks are then inverses and others
    /// are not: set all of them again.
    pub(crate) fn invert_all(&mut self, method: &'static str) -> Result<(), SetupError> {
        INVERT_ALL.of::<InvertAll<T>>()(self, method)
    }

    fn invert_all_plain(&mut self, method: &'static str) -> Result<(), SetupError> {
        let b = self.size;
        let parallel = parallel::worth(self.values.len() * b);
        let pieces = (0..self.count(), Groups(&mut self.values[..], b * b));
        let leaf = |(rows, d): (std::ops::Range<usize>, Groups<&mut [T]>)| {
            let mut scratch = Scratch::new(b * b);
            rows.zip(d.0.chunks_exact_mut(b * b))
                .try_for_each(|(i, d)| invert_node(scratch.copy(d), d, i, method))
        };
        tree(pieces, 1024, parallel, &leaf, &|left: Result<(), SetupError>, right| left.and(right))
    }

    fn invert_plain(&mut self, a: &Bsr<T>, method: &'static str) -> Result<(), SetupError> {
        self.invert_adjusted(a, method, &|_, _| ())
    }

    fn invert_l1(&mut self, a: &Bsr<T>, method: &'static str) -> Result<(), SetupError> {
        let b = self.size;
        self.invert_adjusted(a, method, &|i, d| {
            for (_, block) in a.row(i).filter(|(j, _)| *j != i) {
                for (r, row) in block.chunks_exact(b).enumerate() {
                    d[r * b + r] += row.iter().map(|v| v.abs()).sum::<T>();
                }
            }
        })
        .map_err(|fault| match fault {
            SetupError::Matrix(SparseError::NotFinite { .. }) => match a.check_finite() {
                Err(entry) => entry.into(), // a row sum does not tell which entry is not finite
                Ok(()) => {
                    let value = f64::INFINITY;
                    Error::Range { what: "the sum of absolute values of a row", value, storage: T::NAME }
                        .into()
                }
            },
            other => other,
        })
    }

    /// Inverts the diagonal blocks after `adjust(i, block)` has changed them.
    fn invert_adjusted(
        &mut self,
        a: &Bsr<T>,
        method: &'static str,
        adjust: &(impl Fn(usize, &mut [T]) + Sync),
    ) -> Result<(), SetupError> {
        let b = square_block(a)?;
        let (pattern, expected) = (a.pattern(), a.shape().0 * b);
        if b != self.size || self.values.len() != expected {
            return Err(
                SparseError::Length { what: "dense blocks", expected, found: self.values.len() }.into()
            );
        }
        let parallel = parallel::worth(self.values.len() * b);
        let leaf = |(rows, d): (std::ops::Range<usize>, Groups<&mut [T]>)| {
            let mut scratch = Scratch::new(b * b);
            for (i, d) in rows.zip(d.0.chunks_exact_mut(b * b)) {
                let Some(k) = pattern.find(i, i) else {
                    return Err(SetupError::ZeroDiagonal { row: i * b, method });
                };
                if b == 1 {
                    let mut w = [a.values()[k]]; // without a copy of unknown length
                    adjust(i, &mut w);
                    invert_node(&mut w, d, i, method)?;
                    continue;
                }
                let w = scratch.copy(a.value(k));
                adjust(i, w);
                invert_node(w, d, i, method)?;
            }
            Ok(())
        };
        let pieces = (0..pattern.rows(), Groups(&mut self.values[..], b * b));
        tree(pieces, 1024, parallel, &leaf, &|left: Result<(), SetupError>, right| left.and(right))
    }

    /// Writes to `d` the inverse of `a`, one row-major block of `size` x `size`. Returns `false` if `a` is
    /// singular to round-off or not finite.
    pub fn invert_one(a: &[T], d: &mut [T], size: usize) -> bool {
        match size {
            1 => invert(&mut [a[0]], d, 1).is_ok(),
            3 => {
                let mut w = [T::zero(); 9];
                w.copy_from_slice(&a[..9]);
                invert_positive(&w, d).is_some() || invert(&mut w, d, 3).is_ok()
            }
            _ => invert(Scratch::new(size * size).copy(&a[..size * size]), d, size).is_ok(),
        }
    }

    /// Computes z_k = D_k r_k on the host in parallel, for setup phases. *Panics* on a wrong length.
    pub fn multiply(&self, r: &[T], z: &mut [T]) {
        assert_eq!(r.len(), self.count() * self.size, "blocks: rows of r");
        self.apply_add(T::one(), r, T::zero(), z);
    }

    /// Computes z_k = a D_k r_k + b z_k, for S not wider than V; with b = 0 the old z is not read. r and z may
    /// interleave eight columns. *Panics* on a wrong length.
    pub(crate) fn apply_add<V: Real>(&self, a: V, r: &[V], b: V, z: &mut [V]) {
        let n = self.count() * self.size;
        let n = n * columns_of(r, n);
        assert!(r.len() == n && z.len() == n, "blocks: {n} rows met r of {} and z of {}", r.len(), z.len());
        APPLY.of::<Apply<V, T>>()(self, a, r, b, z);
    }

    /// Returns the kind of a block-diagonal preconditioner with these inverses: symmetric if all diagonal
    /// entries are positive, as in every inverse of a positive definite block.
    pub fn kind(&self) -> PreconditionerKind {
        let area = self.size * self.size;
        let positive = |d: Groups<&[T]>| match area {
            1 => d.0.iter().fold(true, |all, v| all & (*v > T::zero())), // without a branch per number
            _ => d.0.chunks_exact(area).all(|d| d.iter().step_by(self.size + 1).all(|v| *v > T::zero())),
        };
        let (blocks, worth) = (Groups(&self.values[..], area), parallel::worth(self.values.len()));
        let positive = tree(blocks, 1024, worth, &positive, &|left, right| left && right);
        if positive { PreconditionerKind::Symmetric } else { PreconditionerKind::Linear }
    }

    /// Returns an error if these inverses of the diagonal blocks of `a` cannot belong to a positive definite
    /// matrix. `method` names the caller.
    ///
    /// # Errors
    /// [`SetupError::NotPositive`] for the first block whose inverse has a diagonal entry that is not
    /// positive.
    pub fn check_positive(&self, a: &Bsr<T>, method: &'static str) -> Result<(), SetupError> {
        let b = self.size;
        if self.kind() == PreconditionerKind::Symmetric {
            return Ok(());
        }
        let bad = |block: &[T]| block.iter().step_by(b + 1).any(|v| *v <= T::zero() || v.is_nan());
        let Some(node) = self.values.chunks_exact(b * b).position(bad) else { return Ok(()) };
        let row = node * b;
        let diagonal = (row..row + b).map(|i| a.get(i, i).as_f64()).fold(f64::INFINITY, f64::min);
        Err(SetupError::NotPositive { method, row, diagonal })
    }

    /// Returns the number of rows of a block, which is also the number of columns.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Returns the number of blocks.
    pub fn count(&self) -> usize {
        self.values.len() / (self.size * self.size)
    }

    /// Returns all values, block after block, row-major.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// Returns the values of block k.
    #[inline]
    pub fn block(&self, k: usize) -> &[T] {
        let area = self.size * self.size;
        &self.values[k * area..(k + 1) * area]
    }

    /// Returns all values, mutable.
    pub fn values_mut(&mut self) -> &mut [T] {
        &mut self.values
    }

    /// Returns the same blocks in another precision.
    pub fn to<U: Real>(&self) -> DenseBlocks<U> {
        let mut values = vec![U::zero(); self.values.len()];
        parallel::map(&self.values, &mut values, |v| v.to());
        DenseBlocks { size: self.size, values }
    }
}

/// Computes d = w⁻¹ for the block of node i.
#[inline(always)]
fn invert_node<T: Real>(w: &mut [T], d: &mut [T], i: usize, method: &'static str) -> Result<(), SetupError> {
    let inverted = match w.len() {
        1 => invert(w, d, 1),
        9 => invert_positive(w, d).map_or_else(|| invert(w, d, 3), Ok),
        36 => invert(w, d, 6),
        144 => invert(w, d, 12),
        area => invert(w, d, area.isqrt()),
    };
    inverted.map_err(|fault| match (fault, w.len().isqrt()) {
        (Fault::NotFinite(row, column), b) => {
            SparseError::NotFinite { row: i * b + row, column: i * b + column }.into()
        }
        (Fault::Singular, 1) => SetupError::ZeroDiagonal { row: i, method },
        (Fault::Singular, b) => SetupError::SingularBlock { node: i, first_row: i * b },
    })
}

/// Applies D to host vectors, for estimates of the spectrum of D⁻¹A in setup phases.
impl<T: Real> Preconditioner<Vec<T>> for &DenseBlocks<T> {
    fn apply(&mut self, r: &Vec<T>, z: &mut Vec<T>) {
        self.multiply(r, z);
    }

    fn kind(&self) -> PreconditionerKind {
        DenseBlocks::kind(self)
    }

    fn size(&self) -> Option<usize> {
        Some(self.count() * self.size)
    }
}

fn apply<V: Real, S: Real>(blocks: &DenseBlocks<S>, a: V, r: &[V], b: V, z: &mut [V]) {
    let (size, columns) = (blocks.size, columns_of(r, blocks.count() * blocks.size));
    let together = size * columns;
    let pieces = (Groups(&blocks.values[..], size * size), Groups(r, together), Groups(z, together));
    let leaf = |(d, r, z): (Groups<&[S]>, Groups<&[V]>, Groups<&mut [V]>)| match (columns, size) {
        (1, 1) => apply_blocks::<V, S, 1, 1>(d, a, r, b, z, size),
        (1, 2) => apply_blocks::<V, S, 2, 1>(d, a, r, b, z, size),
        (1, 3) => apply_blocks::<V, S, 3, 1>(d, a, r, b, z, size),
        (1, 6) => apply_blocks::<V, S, 6, 1>(d, a, r, b, z, size),
        (1, 12) => apply_blocks::<V, S, 12, 1>(d, a, r, b, z, size),
        (1, _) => apply_blocks::<V, S, 0, 1>(d, a, r, b, z, size),
        (_, 1) => apply_blocks::<V, S, 1, COLUMNS>(d, a, r, b, z, size),
        (_, 3) => apply_blocks::<V, S, 3, COLUMNS>(d, a, r, b, z, size),
        _ => apply_blocks::<V, S, 0, COLUMNS>(d, a, r, b, z, size),
    };
    each(pieces, 1024, parallel::worth(blocks.values.len() * columns), &leaf);
}

/// Computes z = a D r + b z for consecutive blocks of B x B, or of the given size if B is 0, and K interleaved columns.
#[inline(always)]
fn apply_blocks<V: Real, S: Real, const B: usize, const K: usize>(
    d: Groups<&[S]>,
    a: V,
    r: Groups<&[V]>,
    b: V,
    z: Groups<&mut [V]>,
    size: usize,
) {
    let size = if B == 0 { size } else { B };
    let (r, z) = (r.0.as_chunks::<K>().0, z.0.as_chunks_mut::<K>().0);
    let blocks = d.0.chunks_exact(size * size).zip(r.chunks_exact(size));
    for ((d, r), z) in blocks.zip(z.chunks_exact_mut(size)) {
        for (row, z) in d.chunks_exact(size).zip(z) {
            let mut sums = [V::zero(); K];
            for (d, r) in row.iter().zip(r) {
                for k in 0..K {
                    sums[k] += d.to::<V>() * r[k];
                }
            }
            for k in 0..K {
                z[k] = if b == V::zero() { a * sums[k] } else { a * sums[k] + b * z[k] };
            }
        }
    }
}

/// Returns the block size of a square matrix of square blocks.
///
/// # Errors
/// [`SetupError::NotSquare`] otherwise.
pub(crate) fn square_block<T: Real>(a: &Bsr<T>) -> Result<usize, SetupError> {
    let ((rows, columns), (block_rows, block_columns)) = (a.shape(), a.block());
    if rows != columns || block_rows != block_columns {
        return Err(SetupError::NotSquare { rows, columns, block_rows, block_columns });
    }
    Ok(block_rows)
}
