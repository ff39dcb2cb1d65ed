//! Checks of values, before anything is changed.

use std::ops::Range;

use coarsen_backend::{DenseBlocks, SetupError};
use coarsen_core::parallel::{self, tree};
use coarsen_core::small_dense::Scratch;
use coarsen_core::{Real, largest};
use coarsen_sparse::{Contacts, SparseError};

use crate::options::Storage;
use crate::source::Source;

/// The name of this method in errors.
pub(crate) const METHOD: &str = "multilevel additive schwarz";

/// The diagonal entries whose inverses `f32` can store with a safe margin.
const SINGLE: Range<f64> = 1e-30..1e30;

/// The number of nodes per leaf of a parallel loop.
const NODES: usize = 1024;

/// The results of a check, and its scratch memory, which the next check reuses.
#[derive(Clone, Debug, Default)]
pub(crate) struct Checked<T> {
    /// The inverses of the diagonal blocks of nodes in no domain.
    pub(crate) left_out: Vec<f64>,
    /// `left_out` of the values in use: a patch starts from it, whatever was refused or cancelled in between.
    used: Vec<f64>,
    block: Vec<T>,
    block_f64: Vec<f64>,
}

impl<T> Checked<T> {
    /// Takes over the values that were checked last; the caller uses them from now on.
    pub(crate) fn accept(&mut self) {
        self.used.clone_from(&self.left_out);
    }
}

/// Checks that values are finite, diagonal entries positive, and diagonal blocks of nodes in no domain
/// invertible; errors name `method`.
pub(crate) fn check<T: Real>(
    method: &'static str,
    source: Source<'_, T>,
    contact: Option<&Contacts<T>>,
    left_out: &[u32],
    storage: Storage,
    checked: &mut Checked<T>,
) -> Result<(), SetupError> {
    // Values of a row are in the cache when its diagonal is read.
    let leaf = |rows: Range<usize>| {
        let (offsets, area) = (source.pattern().offsets(), source.block().pow(2));
        let values = &source.matrix.values()[offsets[rows.start] * area..offsets[rows.end] * area];
        let whole = !largest(values).is_nan();
        (whole, rows.into_iter().try_for_each(|i| diagonal(method, source, i, storage)))
    };
    let worth = parallel::worth(4 * source.matrix.pattern().len());
    let both =
        |left: (bool, Result<(), SetupError>), right: (bool, _)| (left.0 && right.0, left.1.and(right.1));
    let (whole, diagonals) = tree(0..source.nodes(), NODES, worth, &leaf, &both);
    if !whole {
        source.matrix.check_finite()?;
    }
    finite(contact)?;
    diagonals?;
    inverses(source, left_out, checked)
}

/// Checks that values are finite, and the diagonal blocks of nodes in no domain. *Use* on a coarse level, where diagonal
/// entries of other nodes may be round-off.
pub(crate) fn check_left_out<T: Real>(
    source: Source<'_, T>,
    left_out: &[u32],
    storage: Storage,
    checked: &mut Checked<T>,
) -> Result<(), SetupError> {
    source.matrix.check_finite()?;
    left_out.iter().try_for_each(|&i| diagonal(METHOD, source, i as usize, storage))?;
    inverses(source, left_out, checked)
}

/// Computes the inverses of the diagonal blocks of nodes in no domain.
fn inverses<T: Real>(
    source: Source<'_, T>,
    left_out: &[u32],
    checked: &mut Checked<T>,
) -> Result<(), SetupError> {
    let area = source.block().pow(2);
    checked.left_out.resize(left_out.len() * area, 0.0);
    checked.block.resize(area, T::zero());
    checked.block_f64.resize(area, 0.0);
    (0..left_out.len()).try_for_each(|at| alone(source, left_out, at, checked))
}

/// Checks some rows only; the caller ensures that all other rows have the values in use.
pub(crate) fn check_rows<T: Real>(
    source: Source<'_, T>,
    rows: &[u32],
    left_out: &[u32],
    storage: Storage,
    checked: &mut Checked<T>,
) -> Result<(), SetupError> {
    checked.left_out.copy_from_slice(&checked.used);
    for &i in rows {
        let i = i as usize;
        for (j, values) in source.row(i) {
            entries(source.block(), [i, j], values)?;
        }
        diagonal(METHOD, source, i, storage)?;
        if let Ok(at) = left_out.binary_search(&(i as u32)) {
            alone(source, left_out, at, checked)?;
        }
    }
    Ok(())
}

/// Computes the inverse of the diagonal block of a node in no domain.
fn alone<T: Real>(
    source: Source<'_, T>,
    left_out: &[u32],
    at: usize,
    checked: &mut Checked<T>,
) -> Result<(), SetupError> {
    let (b, i) = (source.block(), left_out[at] as usize);
    let Checked { left_out: inverses, block, block_f64, .. } = checked;
    let inverse = &mut inverses[at * b * b..(at + 1) * b * b];
    block.fill(T::zero());
    source.diagonal(i, block);
    block_f64.iter_mut().zip(&*block).for_each(|(w, v)| *w = v.as_f64());
    if !DenseBlocks::invert_one(block_f64, inverse, b) {
        return Err(SetupError::SingularBlock { node: i, first_row: i * b });
    }
    for k in 0..b * b {
        inverse[k] = inverse[(k / b).max(k % b) * b + (k / b).min(k % b)]; // symmetric to the last bit
    }
    Ok(())
}

fn finite<T: Real>(contact: Option<&Contacts<T>>) -> Result<(), SetupError> {
    if let Some(c) = contact {
        for (&(i, j), values) in c.places().iter().zip(c.values().chunks_exact(c.block().pow(2))) {
            entries(c.block(), [i as usize, j as usize], values)?;
        }
    }
    Ok(())
}

/// Checks that the values of a block are finite.
fn entries<T: Real>(b: usize, [i, j]: [usize; 2], values: &[T]) -> Result<(), SetupError> {
    match values.iter().position(|v| !v.is_finite()) {
        Some(at) => Err(SparseError::NotFinite { row: i * b + at / b, column: j * b + at % b }.into()),
        None => Ok(()),
    }
}

/// Checks that the diagonal of node i is stored and positive, and that storage can hold its inverse.
fn diagonal<T: Real>(
    method: &'static str,
    source: Source<'_, T>,
    i: usize,
    storage: Storage,
) -> Result<(), SetupError> {
    let b = source.block();
    let mut memory = Scratch::<T, 36>::new(b * b);
    let block = memory.values();
    if !source.diagonal(i, block) {
        return Err(SetupError::ZeroDiagonal { row: i * b, method });
    }
    for (k, d) in block.iter().step_by(b + 1).map(|d| d.as_f64()).enumerate() {
        let row = i * b + k;
        if d == 0.0 {
            return Err(SetupError::ZeroDiagonal { row, method });
        }
        if d < 0.0 {
            return Err(SetupError::NotPositive { method, row, diagonal: d });
        }
        if storage == Storage::Single && !SINGLE.contains(&d) {
            return Err(SetupError::DiagonalRange { method, row, diagonal: d, storage: f32::NAME });
        }
    }
    Ok(())
}
