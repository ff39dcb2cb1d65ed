//! Prolongations, stored as full blocks, weights, or identities.
//!
//! | symbol | what |
//! |---|---|
//! | P | the prolongation, in block rows (fine nodes) and block columns (coarse nodes) |
//! | b x k | the size of a block of P |
//! | w | a row of m weights |
//! | I_d | the identity of d unknowns |
//! | ⊗ | the Kronecker product: if w is 1 x m, w ⊗ I_d is d x (m d) |

use std::borrow::Cow;
use std::sync::Arc;

use coarsen_core::Real;

use crate::{Bsr, Pattern, SparseError, TransposePlan};

/// A prolongation P, stored in the most compact form.
///
/// *Use* [`Blocks`](Self::Blocks) if the entries of a block are independent, as in smoothed aggregation. Use
/// [`Weights`](Self::Weights) if all unknowns of a node are interpolated with the same weights, as on grids
/// and in skinning. Use [`Identities`](Self::Identities) if a coarse node represents a set of fine nodes.
/// *Memory* per block 4 bytes for its column, and b k numbers, m numbers or no numbers, respectively.
///
/// ```
/// use coarsen_sparse::{Prolongation, assembly};
/// let w = assembly::from_triplets(2, 1, &[(0, 0, 0.5), (1, 0, 1.0)])?;
/// let p = Prolongation::weights(w, 3)?; // the first node gets half of each of its three unknowns
/// assert_eq!((p.shape(), p.block(), p.values()), ((6, 3), (3, 3), &[0.5, 1.0][..]));
/// assert_eq!(p.to_matrix()?.get(1, 1), 0.5);
/// # Ok::<(), coarsen_sparse::SparseError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Prolongation<T> {
    /// Full blocks of b x k.
    Blocks(Bsr<T>),
    /// Blocks w ⊗ I_d; created by [`weights`](Self::weights).
    Weights(Weights<T>),
    /// Blocks I_d; created by [`identities`](Self::identities).
    Identities(Identities),
}

/// Weights stored in rows of m; each weight applies to all d unknowns of a node. [`Prolongation::block`] is (d, m d).
#[derive(Clone, Debug, PartialEq)]
pub struct Weights<T> {
    rows: Bsr<T>,
    copies: usize,
}

/// The pattern of a prolongation with blocks I_d.
#[derive(Clone, Debug, PartialEq)]
pub struct Identities {
    pattern: Arc<Pattern>,
    size: usize,
}

impl<T> From<Bsr<T>> for Prolongation<T> {
    fn from(p: Bsr<T>) -> Self {
        Self::Blocks(p)
    }
}

impl<T: Real> Prolongation<T> {
    /// Blocks w ⊗ I_d with d = `copies`. `rows` has blocks of 1 x m. For d = 1 the result has full blocks.
    ///
    /// # Errors
    /// [`SparseError::Shape`] if blocks have more than one row or if `copies` = 0.
    pub fn weights(rows: Bsr<T>, copies: usize) -> Result<Self, SparseError> {
        if rows.block().0 != 1 {
            let (what, found) = ("rows of a block of weights", rows.block().0);
            return Err(SparseError::Shape { what, expected: 1, found });
        }
        at_least_one("unknowns of a node that weights act on", copies)?;
        Ok(if copies == 1 { Self::Blocks(rows) } else { Self::Weights(Weights { rows, copies }) })
    }

    /// Blocks I_d with d = `size`, one for each entry of the pattern.
    ///
    /// # Errors
    /// [`SparseError::Shape`] for `size` = 0.
    pub fn identities(pattern: Arc<Pattern>, size: usize) -> Result<Self, SparseError> {
        at_least_one("unknowns of a node of an identity", size)?;
        Ok(Self::Identities(Identities { pattern, size }))
    }

    /// The numbers of fine and coarse unknowns.
    pub fn shape(&self) -> (usize, usize) {
        let (b, k) = self.block();
        (self.pattern().rows() * b, self.pattern().columns() * k)
    }

    /// b and k, the numbers of unknowns of a fine and of a coarse node.
    pub fn block(&self) -> (usize, usize) {
        match self {
            Self::Blocks(p) => p.block(),
            Self::Weights(w) => (w.copies, w.copies * w.rows.block().1),
            Self::Identities(of) => (of.size, of.size),
        }
    }

    /// The coupled pairs of fine and coarse nodes.
    pub fn pattern(&self) -> &Arc<Pattern> {
        match self {
            Self::Blocks(p) => p.pattern(),
            Self::Weights(w) => w.rows.pattern(),
            Self::Identities(of) => &of.pattern,
        }
    }

    /// The stored numbers: entries of blocks, weights, or none.
    pub fn values(&self) -> &[T] {
        match self {
            Self::Blocks(p) => p.values(),
            Self::Weights(w) => w.rows.values(),
            Self::Identities(_) => &[],
        }
    }

    /// Mutable access to the stored numbers.
    pub fn values_mut(&mut self) -> &mut [T] {
        match self {
            Self::Blocks(p) => p.values_mut(),
            Self::Weights(w) => w.rows.values_mut(),
            Self::Identities(_) => &mut [],
        }
    }

    /// The number of bytes of values and pattern. Values that a clone [shares](Bsr::shared) do not count.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Blocks(p) => p.bytes(),
            Self::Weights(w) => w.rows.bytes(),
            Self::Identities(of) => size_of_val(of.pattern.offsets()) + size_of_val(of.pattern.indices()),
        }
    }

    /// P, if it is stored as full blocks.
    pub fn matrix(&self) -> Option<&Bsr<T>> {
        match self {
            Self::Blocks(p) => Some(p),
            _ => None,
        }
    }

    /// P as full blocks; copied if it is stored in another form.
    ///
    /// # Errors
    /// [`SparseError::TooLarge`] if there are too many blocks to count.
    pub fn to_matrix(&self) -> Result<Cow<'_, Bsr<T>>, SparseError> {
        if let Self::Blocks(p) = self {
            return Ok(Cow::Borrowed(p));
        }
        let ((b, k), p) = (self.block(), ProlongationRef::from(self));
        let mut whole = Bsr::zeros(self.pattern().clone(), (b, k))?;
        for (at, block) in whole.values_mut().chunks_exact_mut(b * k).enumerate() {
            for (m, &w) in p.row_of_weights(at).iter().enumerate() {
                (0..b).for_each(|e| block[e * k + m * b + e] = w);
            }
        }
        Ok(Cow::Owned(whole))
    }

    /// sᵢ = Σⱼ dⱼ Pⱼᵢ² = (Pᵀ D P)ᵢᵢ for a diagonal matrix D. `transpose` lists the fine rows of each column.
    ///
    /// The values for the block columns from `first` on are written to `sizes`. *Cost* one pass over P.
    pub fn squared_columns(&self, d: &[T], transpose: &TransposePlan, first: usize, sizes: &mut [T]) {
        let ((b, k), restriction, view) = (self.block(), transpose.pattern(), ProlongationRef::from(self));
        for (j, sizes) in (first..).zip(sizes.chunks_exact_mut(k)) {
            sizes.fill(T::zero());
            let range = restriction.range(j);
            if let (Self::Blocks(p), (1, 1)) = (self, (b, k)) {
                let entries = restriction.indices()[range.clone()].iter().zip(&transpose.source()[range]);
                sizes[0] = entries.fold(T::zero(), |sum, (&i, &at)| {
                    let v = p.values()[at as usize];
                    sum + d[i as usize] * v * v
                });
                continue;
            }
            for (&i, &at) in restriction.indices()[range.clone()].iter().zip(&transpose.source()[range]) {
                let (d, at) = (&d[i as usize * b..(i as usize + 1) * b], at as usize);
                match self {
                    Self::Blocks(p) => {
                        for (&d, row) in d.iter().zip(p.value(at).chunks_exact(k)) {
                            sizes.iter_mut().zip(row).for_each(|(s, &v)| *s += d * v * v);
                        }
                    }
                    _ => {
                        let weights = view.row_of_weights(at).iter();
                        for (&w, sizes) in weights.zip(sizes.chunks_exact_mut(b)) {
                            sizes.iter_mut().zip(d).for_each(|(s, &d)| *s += d * w * w);
                        }
                    }
                }
            }
        }
    }
}

fn at_least_one(what: &'static str, found: usize) -> Result<(), SparseError> {
    if found == 0 { Err(SparseError::Shape { what, expected: 1, found }) } else { Ok(()) }
}

/// A borrowed prolongation for products, from a [`Prolongation`] or a matrix.
#[derive(Clone, Copy, Debug)]
pub struct ProlongationRef<'a, T> {
    pub(crate) pattern: &'a Arc<Pattern>,
    pub(crate) block: (usize, usize),
    pub(crate) form: Form<'a, T>,
}

/// The storage of the blocks.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Form<'a, T> {
    Blocks(&'a Bsr<T>),
    /// Rows of m weights, for blocks w ⊗ I_d.
    Weights(&'a [T], usize),
    Identities(T),
}

impl<'a, T: Real> From<&'a Bsr<T>> for ProlongationRef<'a, T> {
    fn from(p: &'a Bsr<T>) -> Self {
        Self { pattern: p.pattern(), block: p.block(), form: Form::Blocks(p) }
    }
}

impl<'a, T: Real> From<&'a Prolongation<T>> for ProlongationRef<'a, T> {
    fn from(p: &'a Prolongation<T>) -> Self {
        let form = match p {
            Prolongation::Blocks(p) => Form::Blocks(p),
            Prolongation::Weights(w) => Form::Weights(w.rows.values(), w.rows.block().1),
            Prolongation::Identities(_) => Form::Identities(T::one()),
        };
        Self { pattern: p.pattern(), block: p.block(), form }
    }
}

impl<T: Real> ProlongationRef<'_, T> {
    /// The weights of entry `at`: the number 1 for an identity, an empty slice for a full block.
    #[inline(always)]
    pub(crate) fn row_of_weights(&self, at: usize) -> &[T] {
        match &self.form {
            Form::Blocks(_) => &[],
            Form::Weights(w, m) => &w[at * m..(at + 1) * m],
            Form::Identities(one) => std::slice::from_ref(one),
        }
    }
}
