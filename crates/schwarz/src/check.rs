//! All that can be wrong with values, found before anything is changed.

use std::ops::Range;

use coarsen_backend::{DenseBlocks, SetupError};
use coarsen_core::parallel::{self, tree};
use coarsen_core::{Error, Real};
use coarsen_sparse::Contacts;

use crate::schwarz::Storage;
use crate::source::Source;

/// What errors call this method.
pub(crate) const METHOD: &str = "multilevel additive schwarz";

/// Diagonal entries whose inverses `f32` holds with room to spare.
const SINGLE: Range<f64> = 1e-30..1e30;

/// Nodes per leaf.
const NODES: usize = 1024;

/// What a check computes on its way; kept from one time to the next.
#[derive(Clone, Debug)]
pub(crate) struct Checked<T> {
    /// The inverses of the diagonal blocks of nodes in no domain.
    pub(crate) left_out: Vec<f64>,
    block: Vec<T>,
    wide: Vec<f64>,
}

impl<T> Default for Checked<T> {
    fn default() -> Self {
        Self { left_out: Vec::new(), block: Vec::new(), wide: Vec::new() }
    }
}

/// Finite values, positive diagonals, and diagonal blocks that can be inverted where they stand alone.
pub(crate) fn check<T: Real>(
    source: Source<'_, T>,
    contact: Option<&Contacts<T>>,
    left_out: &[u32],
    storage: Storage,
    checked: &mut Checked<T>,
) -> Result<(), SetupError> {
    finite(source, contact)?;
    let leaf = |range: Range<usize>| range.into_iter().try_for_each(|i| diagonal(source, i, storage));
    let worth = parallel::worth(4 * source.matrix.pattern().len());
    tree(0..source.nodes(), NODES, worth, &leaf, &|left: Result<(), SetupError>, right| left.and(right))?;
    let b = source.block();
    let Checked { left_out: inverses, block, wide } = checked;
    inverses.resize(left_out.len() * b * b, 0.0);
    block.resize(b * b, T::zero());
    wide.resize(b * b, 0.0);
    for (&i, inverse) in left_out.iter().zip(inverses.chunks_exact_mut(b * b)) {
        block.fill(T::zero());
        source.diagonal(i as usize, block);
        wide.iter_mut().zip(&*block).for_each(|(w, v)| *w = v.wide());
        if !DenseBlocks::invert_one(wide, inverse, b) {
            return Err(SetupError::SingularBlock { node: i as usize, first_row: i as usize * b });
        }
        for k in 0..b * b {
            inverse[k] = inverse[(k / b).max(k % b) * b + (k / b).min(k % b)]; // symmetric to the bit
        }
    }
    Ok(())
}

/// Every value is finite.
fn finite<T: Real>(source: Source<'_, T>, contact: Option<&Contacts<T>>) -> Result<(), SetupError> {
    let values = source.matrix.values();
    // A sum of zeros, or NaN where a value is not finite: a loop without a branch.
    let leaf = |values: &[T]| values.iter().fold(T::zero(), |s, &v| s + v * T::zero()).is_zero();
    if !tree(values, parallel::LEAF, parallel::worth(values.len()), &leaf, &|a, b| a && b) {
        source.matrix.check_finite()?;
    }
    match contact.and_then(|c| c.values().iter().position(|v| !v.is_finite())) {
        Some(index) => Err(Error::NotFinite { what: "contact values", index }.into()),
        None => Ok(()),
    }
}

/// The diagonal of node i is stored, positive, and in the range of what its inverse is stored in.
fn diagonal<T: Real>(source: Source<'_, T>, i: usize, storage: Storage) -> Result<(), SetupError> {
    let b = source.block();
    let (mut stack, mut heap) = ([T::zero(); 36], Vec::new());
    let block = match stack.get_mut(..b * b) {
        Some(block) => block,
        None => {
            heap.resize(b * b, T::zero());
            &mut heap[..]
        }
    };
    if !source.diagonal(i, block) {
        return Err(SetupError::ZeroDiagonal { row: i * b, method: METHOD });
    }
    for (k, d) in block.iter().step_by(b + 1).map(|d| d.wide()).enumerate() {
        let row = i * b + k;
        if d == 0.0 {
            return Err(SetupError::ZeroDiagonal { row, method: METHOD });
        }
        if d < 0.0 {
            return Err(SetupError::NotPositive { method: METHOD, row, diagonal: d });
        }
        if storage == Storage::Single && !SINGLE.contains(&d) {
            return Err(Error::Range { what: "the diagonal", value: d, storage: f32::NAME }.into());
        }
    }
    Ok(())
}
