//! Permutations and permuted matrices: P A Pᵀ, P A Qᵀ and P x.

use std::sync::Arc;

use coarsen_core::Real;
use coarsen_core::parallel::{self, Groups, LEAF, each};

use crate::rows::BlockRows;
use crate::{Bsr, Pattern, SparseError, fits};

/// A list that is not a permutation.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "position {position} contains {index}, which lies outside 0..{length} or occurs twice; a permutation \
     contains each number once"
)]
pub struct NotAPermutation {
    /// The position in the list.
    pub position: usize,
    /// The number found at this position.
    pub index: u32,
    /// The length of the list.
    pub length: usize,
}

coarsen_core::debug_as_display!(NotAPermutation);

/// A permutation of 0..n and its inverse, checked at construction.
///
/// The permutation is the matrix P with (P x)\[new\] = x\[old\]. It is constructed from the list of old
/// numbers in their new order, for example in Morton order, by colour, or by domain. The numbers refer to
/// nodes: vectors are permuted in groups of b scalars.
///
/// *Memory* 8 bytes per number.
///
/// ```
/// use coarsen_sparse::Permutation;
/// let p = Permutation::new(vec![2, 0, 1])?; // old number 2 becomes new number 0
/// let mut y = [0.0; 3];
/// p.apply(1, &[10.0, 11.0, 12.0], &mut y);
/// assert_eq!(y, [12.0, 10.0, 11.0]);
/// assert_eq!((p.to_old(0), p.inverse().to_old(2)), (2, 0));
/// # Ok::<(), coarsen_sparse::NotAPermutation>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permutation {
    old: Vec<u32>,
    new: Vec<u32>,
}

impl Permutation {
    /// The permutation that moves old number `order[k]` to position k.
    ///
    /// # Errors
    /// [`NotAPermutation`] for the first entry that is out of range or repeated.
    pub fn new(order: Vec<u32>) -> Result<Self, NotAPermutation> {
        let length = order.len();
        let mut new = vec![u32::MAX; length];
        for (position, &index) in order.iter().enumerate() {
            match new.get_mut(index as usize) {
                Some(place) if *place == u32::MAX => *place = position as u32,
                _ => return Err(NotAPermutation { position, index, length }),
            }
        }
        Ok(Self { old: order, new })
    }

    /// The identity permutation.
    ///
    /// # Errors
    /// [`SparseError::TooLarge`] for more than 2³² − 1 numbers.
    pub fn identity(n: usize) -> Result<Self, SparseError> {
        let limit = u32::MAX as usize;
        if n > limit {
            return Err(SparseError::TooLarge { what: "numbers to permute", count: n, limit });
        }
        let old: Vec<u32> = (0..n as u32).collect();
        Ok(Self { new: old.clone(), old })
    }

    /// The inverse permutation P⁻¹ = Pᵀ.
    pub fn inverse(&self) -> Self {
        Self { old: self.new.clone(), new: self.old.clone() }
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.old.len()
    }

    /// Whether the permutation is empty.
    pub fn is_empty(&self) -> bool {
        self.old.is_empty()
    }

    /// The old numbers in their new order.
    pub fn order(&self) -> &[u32] {
        &self.old
    }

    /// The old number of the new number `new`.
    pub fn to_old(&self, new: usize) -> usize {
        self.old[new] as usize
    }

    /// y = P x: from the old numbering to the new one, in groups of `b` entries.
    ///
    /// *Panics* if x or y does not have `b · len()` entries.
    pub fn apply<X: Copy + Send + Sync>(&self, b: usize, x: &[X], y: &mut [X]) {
        gather(&self.old, b, x, y);
    }

    /// y = Pᵀ x: from the new numbering to the old one, in groups of `b` entries.
    ///
    /// *Panics* if x or y does not have `b · len()` entries.
    pub fn apply_inverse<X: Copy + Send + Sync>(&self, b: usize, x: &[X], y: &mut [X]) {
        gather(&self.new, b, x, y);
    }
}

/// Group k of y is group `from[k]` of x.
fn gather<X: Copy + Send + Sync>(from: &[u32], b: usize, x: &[X], y: &mut [X]) {
    let n = from.len() * b;
    assert!(
        b > 0 && x.len() == n && y.len() == n,
        "a permutation of {} groups of {b}, but x has {} entries and y has {}",
        from.len(),
        x.len(),
        y.len()
    );
    let body = |(from, y): (&[u32], Groups<&mut [X]>)| {
        for (&k, y) in from.iter().zip(y.0.chunks_exact_mut(b)) {
            y.copy_from_slice(&x[k as usize * b..][..b]);
        }
    };
    each((from, Groups(y, b)), LEAF, parallel::worth(n), &body);
}

/// The symbolic phase of a permutation for one pattern of A. For each block of P A Qᵀ it stores the index of
/// its block in A.
///
/// *Use* if the values of A change but its pattern does not. For a single matrix use [`Bsr::permute`].
/// *Memory* 12 bytes per block. *Cost* of [`new`](Self::new): a sort within each row; of
/// [`update`](Self::update): one read and one write of the values, parallel, no allocation.
///
/// ```
/// use coarsen_sparse::{PermutePlan, Permutation, assembly};
/// let a = assembly::from_triplets(2, 2, &[(0, 0, 1.0), (1, 1, 2.0)])?;
/// let p = Permutation::new(vec![1, 0]).expect("a permutation");
/// assert_eq!(PermutePlan::new(a.pattern(), &p, &p)?.build(&a)?.diagonal(), [2.0, 1.0]);
/// # Ok::<(), coarsen_sparse::SparseError>(())
/// ```
#[derive(Clone, Debug)]
pub struct PermutePlan {
    of: Arc<Pattern>,
    pattern: Arc<Pattern>,
    source: Vec<usize>,
}

impl PermutePlan {
    /// The plan of P A Qᵀ for matrices with the pattern `of`. P permutes block rows and Q block columns.
    ///
    /// # Errors
    /// [`SparseError::Shape`] unless P has one entry per block row of A and Q has one per block column.
    pub fn new(of: &Arc<Pattern>, p: &Permutation, q: &Permutation) -> Result<Self, SparseError> {
        fits::sizes([
            ("permute, block rows against P", of.rows(), p.len()),
            ("permute, block columns against Q", of.columns(), q.len()),
        ])?;
        let mut offsets = Vec::with_capacity(of.rows() + 1);
        offsets.push(0);
        p.order().iter().for_each(|&i| offsets.push(offsets[offsets.len() - 1] + of.row(i as usize).len()));

        let mut places = vec![(0_u32, 0_usize); of.len()]; // (new column, block of A)
        BlockRows::new(&offsets, 1, &mut places).for_each(8 * of.len(), |i, row| {
            for (place, k) in row.iter_mut().zip(of.range(p.to_old(i))) {
                *place = (q.new[of.indices()[k] as usize], k);
            }
            row.sort_unstable();
        });
        let indices = places.iter().map(|p| p.0).collect();
        let source = places.iter().map(|p| p.1).collect();
        let pattern = Arc::new(Pattern::new(of.columns(), offsets, indices)?);
        Ok(Self { of: of.clone(), pattern, source })
    }

    /// The pattern of P A Qᵀ.
    pub fn pattern(&self) -> &Arc<Pattern> {
        &self.pattern
    }

    /// P A Qᵀ as a new matrix.
    ///
    /// # Errors
    /// [`SparseError::Pattern`] if A does not have the pattern of the plan.
    pub fn build<T: Real>(&self, a: &Bsr<T>) -> Result<Bsr<T>, SparseError> {
        let mut permuted = Bsr::zeros(self.pattern.clone(), a.block())?;
        self.update(a, &mut permuted)?;
        Ok(permuted)
    }

    /// Writes the values of P A Qᵀ into `permuted`, which was created by [`build`](Self::build).
    ///
    /// # Errors
    /// [`SparseError::Pattern`] if A or `permuted` does not have the pattern of the plan,
    /// [`SparseError::Shape`] if their block sizes differ. On error, nothing is written.
    pub fn update<T: Real>(&self, a: &Bsr<T>, permuted: &mut Bsr<T>) -> Result<(), SparseError> {
        fits::patterns([
            ("the matrix given to a PermutePlan", &self.of, a.pattern()),
            ("the target of a PermutePlan", &self.pattern, permuted.pattern()),
        ])?;
        let ((r, c), (rows, columns)) = (a.block(), permuted.block());
        fits::sizes([
            ("permute, rows of a target block", r, rows),
            ("permute, columns of a target block", c, columns),
        ])?;
        let size = r * c;
        BlockRows::new(self.pattern.offsets(), size, permuted.values_mut()).for_each(a.nnz(), |i, row| {
            for (&k, block) in self.source[self.pattern.range(i)].iter().zip(row.chunks_exact_mut(size)) {
                block.copy_from_slice(a.value(k));
            }
        });
        Ok(())
    }
}

impl<T: Real> Bsr<T> {
    /// P A Pᵀ: the same system with renumbered nodes.
    ///
    /// With b' = P b, the solution of (P A Pᵀ) x' = b' is x' = P x. *Cost* as [`PermutePlan`], which also
    /// computes P A Qᵀ.
    ///
    /// ```
    /// use coarsen_sparse::{Permutation, assembly};
    /// let a = assembly::from_triplets(2, 2, &[(0, 1, 3.0)])?;
    /// let p = Permutation::new(vec![1, 0]).expect("a permutation");
    /// assert_eq!(a.permute(&p)?.get(1, 0), 3.0);
    /// # Ok::<(), coarsen_sparse::SparseError>(())
    /// ```
    ///
    /// # Errors
    /// [`SparseError::Shape`] unless P has one entry per block row and per block column of A.
    pub fn permute(&self, p: &Permutation) -> Result<Self, SparseError> {
        PermutePlan::new(self.pattern(), p, p)?.build(self)
    }
}
