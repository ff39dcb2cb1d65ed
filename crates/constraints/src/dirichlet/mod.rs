//! Prescribed values of unknowns, imposed on a system or eliminated from it.
//!
//! | symbol | here |
//! |---|---|
//! | S | the diagonal matrix that is 0 on fixed and 1 on free unknowns |
//! | g | the prescribed values, 0 on free unknowns |
//!
//! Imposing gives (S A S + I − S) x = S (b − A g) + g, which is symmetric if A is: Tamstorf et al. 2015, eq.
//! (7), with x = y + g. Eliminating keeps only the rows and columns of free unknowns.

use std::borrow::Borrow;
use std::sync::Arc;

use coarsen_core::parallel::{self, LEAF, each};
use coarsen_core::{Error, LinearOperator, Real};
use coarsen_sparse::{BlockRows, Bsr, Pattern, SparseError, Zeros};

/// Invalid prescribed values.
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DirichletError {
    /// An unknown outside the system.
    #[error(
        "unknown {unknown} is fixed, but there are {size} unknowns; they are scalars: node · block size \
         + component"
    )]
    Unknown {
        /// The index of the unknown.
        unknown: usize,
        /// The number of unknowns.
        size: usize,
    },
    /// Two different values for one unknown.
    #[error(
        "unknown {unknown} is fixed to {first} and to {second}; its node may lie on two boundaries; fix \
         it to one value"
    )]
    Contradiction {
        /// The index of the unknown.
        unknown: usize,
        /// The first value.
        first: f64,
        /// The second value.
        second: f64,
    },
    /// A value that is NaN or infinite.
    #[error("unknown {unknown} is fixed to a value that is not finite; check the code that computed it")]
    NotFinite {
        /// The unknown.
        unknown: usize,
    },
    /// A fixed unknown without a stored diagonal entry.
    #[error(
        "unknown {unknown} is fixed, but its diagonal is not stored; store a zero there, or eliminate \
         the unknown"
    )]
    NoDiagonal {
        /// The unknown.
        unknown: usize,
    },
    /// A matrix or vector of the wrong size.
    #[error(transparent)]
    Fit(#[from] Error),
    /// A matrix that cannot be constructed.
    #[error(transparent)]
    Matrix(#[from] SparseError),
}

coarsen_core::debug_as_display!(DirichletError);

/// Fixed unknowns and their values.
///
/// ```
/// use coarsen_constraints::Dirichlet;
/// use coarsen_sparse::assembly;
/// let mut a = assembly::from_triplets(2, 2, &[(0, 0, 2.0), (0, 1, -1.0), (1, 0, -1.0), (1, 1, 2.0)])?;
/// let mut b = [0.0, 0.0];
/// Dirichlet::new(2, [(1, 4.0)])?.impose(&mut a, &mut b)?;
/// assert_eq!((a.values(), b), (&[2.0, 0.0, 0.0, 1.0][..], [4.0, 4.0])); // 2 x = 4, and y = 4
/// # Ok::<(), coarsen_constraints::DirichletError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Dirichlet {
    fixed: Vec<bool>,
    given: Vec<f64>, // g
}

impl Dirichlet {
    /// Fixes some of `size` scalar unknowns to the values of a slice or an iterator. An unknown may occur twice if the values are equal.
    ///
    /// # Errors
    /// [`DirichletError`] for the first unknown that is out of range, has a value that is not finite, or has
    /// two different values.
    pub fn new(
        size: usize,
        values: impl IntoIterator<Item: Borrow<(usize, f64)>>,
    ) -> Result<Self, DirichletError> {
        let (mut fixed, mut given) = (vec![false; size], vec![0.0; size]);
        for (unknown, second) in values.into_iter().map(|value| *value.borrow()) {
            if unknown >= size {
                return Err(DirichletError::Unknown { unknown, size });
            }
            if !second.is_finite() {
                return Err(DirichletError::NotFinite { unknown });
            }
            let first = given[unknown];
            if fixed[unknown] && first != second {
                return Err(DirichletError::Contradiction { unknown, first, second });
            }
            (fixed[unknown], given[unknown]) = (true, second);
        }
        Ok(Self { fixed, given })
    }

    /// The number of scalar unknowns, fixed and free.
    pub fn size(&self) -> usize {
        self.fixed.len()
    }

    /// Whether unknown i is fixed.
    pub fn is_fixed(&self, i: usize) -> bool {
        self.fixed[i]
    }

    /// The fixed unknowns, in increasing order.
    pub fn fixed(&self) -> impl Iterator<Item = usize> {
        (0..self.size()).filter(|&i| self.fixed[i])
    }

    /// A ← S A S + I − S and b ← S (b − A g) + g, in place. The pattern does not change. Fixed rows and
    /// columns become those of the identity.
    ///
    /// *Use* if the size of the system must not change, or if values change between steps. If the other
    /// eigenvalues of A are far from 1, use a coarsening that detects identity rows, or
    /// [eliminate](Self::eliminate) them.
    /// *Cost* one product with A, one pass over A, and one vector.
    ///
    /// # Errors
    /// [`DirichletError::NoDiagonal`], or [`DirichletError::Fit`] if a size is wrong. On error, nothing is
    /// written.
    pub fn impose<T: Real>(&self, a: &mut Bsr<T>, b: &mut [T]) -> Result<(), DirichletError> {
        self.check_fits(a, b.len())?;
        self.check_diagonal(a)?;
        self.lift_checked(a, b);
        self.clear(a);
        Ok(())
    }

    /// A ← S A S + I − S, without a right-hand side.
    ///
    /// # Errors
    /// As [`impose`](Self::impose).
    pub fn impose_matrix<T: Real>(&self, a: &mut Bsr<T>) -> Result<(), DirichletError> {
        self.check_fits(a, self.size())?;
        self.check_diagonal(a)?;
        self.clear(a);
        Ok(())
    }

    /// A ← S A S + I − S, after all checks.
    fn clear<T: Real>(&self, a: &mut Bsr<T>) {
        let (pattern, b) = (a.pattern().clone(), a.block().0);
        let clear = |i: usize, row: &mut [T]| {
            for (&j, block) in pattern.row(i).iter().zip(row.chunks_exact_mut(b * b)) {
                for (e, v) in block.iter_mut().enumerate() {
                    let (row, column) = (i * b + e / b, j as usize * b + e % b);
                    if self.fixed[row] || self.fixed[column] {
                        *v = if row == column { T::one() } else { T::zero() };
                    }
                }
            }
        };
        BlockRows::new(pattern.offsets(), b * b, a.values_mut()).for_each(pattern.len() * b * b, clear);
    }

    /// b ← S (b − A g) + g. The matrix must be the original A; it does not change.
    ///
    /// # Errors
    /// [`DirichletError::Fit`] if a size is wrong.
    pub fn lift<T: Real>(&self, a: &Bsr<T>, b: &mut [T]) -> Result<(), DirichletError> {
        self.check_fits(a, b.len())?;
        self.lift_checked(a, b);
        Ok(())
    }

    /// b ← S (b − A g) + g, after all checks.
    fn lift_checked<T: Real>(&self, a: &Bsr<T>, b: &mut [T]) {
        let mut product = vec![0.0; self.size()];
        a.apply(&self.given, &mut product);
        let leaf = |(b, product, (fixed, given)): (&mut [T], &[f64], (&[bool], &[f64]))| {
            for (i, b) in b.iter_mut().enumerate() {
                *b = T::from_f64(if fixed[i] { given[i] } else { b.as_f64() - product[i] });
            }
        };
        let pieces = (b, &product[..], (&self.fixed[..], &self.given[..]));
        each(pieces, LEAF, parallel::worth(self.size()), &leaf);
    }

    /// The system of the free unknowns, in their old order.
    ///
    /// The block size is kept if all unknowns of a node are fixed or all are free. Otherwise the reduced
    /// matrix has 1x1 blocks. *Use* if the set of fixed unknowns does not change, since the reduced system is
    /// smaller and better conditioned. *Cost* a copy of the matrix.
    ///
    /// # Errors
    /// [`DirichletError::Fit`] if a size is wrong.
    pub fn eliminate<T: Real>(&self, a: &Bsr<T>, b: &[T]) -> Result<Eliminated<T>, DirichletError> {
        self.check_fits(a, b.len())?;
        let mut lifted = b.to_vec();
        self.lift_checked(a, &mut lifted);
        let free: Vec<u32> = (0..self.size()).filter(|&i| !self.fixed[i]).map(|i| i as u32).collect();
        let size = a.block().0;
        let whole = |node: &[bool]| node.iter().all(|f| *f == node[0]);
        let matrix = if self.fixed.chunks_exact(size).all(whole) {
            self.free_blocks(a)?
        } else {
            self.free_blocks(&a.reblock((1, 1), Zeros::Keep)?)?
        };
        let rhs = free.iter().map(|&i| lifted[i as usize]).collect();
        Ok(Eliminated { matrix, rhs, free, given: self.given.clone() })
    }

    /// The rows and columns of free nodes of `a`.
    fn free_blocks<T: Real>(&self, a: &Bsr<T>) -> Result<Bsr<T>, SparseError> {
        let b = a.block().0;
        let mut new = vec![u32::MAX; a.pattern().rows()];
        let free: Vec<usize> = (0..new.len()).filter(|&i| !self.fixed[i * b]).collect();
        free.iter().enumerate().for_each(|(k, &i)| new[i] = k as u32);
        let (mut offsets, mut indices, mut values) = (vec![0], vec![], vec![]);
        for &i in &free {
            for (j, block) in a.row(i).filter(|&(j, _)| new[j] != u32::MAX) {
                indices.push(new[j]);
                values.extend_from_slice(block);
            }
            offsets.push(indices.len());
        }
        Bsr::new(Arc::new(Pattern::new(free.len(), offsets, indices)?), (b, b), values)
    }

    /// Checks that the matrix is square with square blocks and that the vector has the size of the matrix.
    fn check_fits<T: Real>(&self, a: &Bsr<T>, b: usize) -> Result<(), Error> {
        for (rows, columns) in [a.shape(), a.block()] {
            if rows != columns {
                return Err(Error::NotSquare { rows, columns });
            }
        }
        for (what, found) in [("matrix with fixed unknowns", a.shape().0), ("right-hand side", b)] {
            if found != self.size() {
                return Err(Error::Shape { what, expected: self.size(), found });
            }
        }
        Ok(())
    }

    /// Checks that every fixed unknown has a stored diagonal entry.
    fn check_diagonal<T: Real>(&self, a: &Bsr<T>) -> Result<(), DirichletError> {
        let b = a.block().0;
        match self.fixed().find(|i| a.pattern().find(i / b, i / b).is_none()) {
            Some(unknown) => Err(DirichletError::NoDiagonal { unknown }),
            None => Ok(()),
        }
    }
}

/// The reduced system of the free unknowns, and the map to the full system; created by
/// [`Dirichlet::eliminate`].
///
/// ```
/// use coarsen_constraints::Dirichlet;
/// use coarsen_sparse::assembly;
/// let a = assembly::from_triplets(2, 2, &[(0, 0, 2.0), (0, 1, -1.0), (1, 0, -1.0), (1, 1, 2.0)])?;
/// let small = Dirichlet::new(2, [(1, 4.0)])?.eliminate(&a, &[0.0, 0.0])?;
/// assert_eq!((small.matrix.values(), &small.rhs[..]), (&[2.0][..], &[4.0][..]));
/// assert_eq!(small.recover(&[2.0]), [2.0, 4.0]);
/// # Ok::<(), coarsen_constraints::DirichletError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Eliminated<T> {
    /// The free rows and columns of A.
    pub matrix: Bsr<T>,
    /// b − A g on the free rows.
    pub rhs: Vec<T>,
    free: Vec<u32>,
    given: Vec<f64>,
}

impl<T: Real> Eliminated<T> {
    /// The old number of each free unknown.
    pub fn free(&self) -> &[u32] {
        &self.free
    }

    /// The free entries of a vector of the full system, for example of a starting guess. *Panics* on a wrong
    /// length.
    pub fn restrict(&self, x: &[T]) -> Vec<T> {
        assert_eq!(x.len(), self.given.len(), "restrict: wrong length");
        self.free.iter().map(|&i| x[i as usize]).collect()
    }

    /// The full solution: `x` on free unknowns and the prescribed values elsewhere. *Panics* on a wrong
    /// length.
    pub fn recover(&self, x: &[T]) -> Vec<T> {
        assert_eq!(x.len(), self.free.len(), "recover: wrong length");
        let mut full: Vec<T> = self.given.iter().map(|&g| T::from_f64(g)).collect();
        self.free.iter().zip(x).for_each(|(&i, &x)| full[i as usize] = x);
        full
    }
}

#[cfg(test)]
mod tests;
