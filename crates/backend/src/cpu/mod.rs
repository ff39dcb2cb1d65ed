//! The CPU as a place.

mod blocks;
mod half;
mod matrix;
mod sweep;
mod weights;

use std::marker::PhantomData;
use std::sync::Arc;

use coarsen_core::{Error, Real};
use coarsen_sparse::{Bsr, Pattern, Prolongation, TransposePlan};

use crate::{
    Backend, DenseBlocks, MatrixTransfer, RowSets, SetupError, Sweeps, Transfer, check_blocks, check_range,
};
use half::HalfSweeps;
use weights::WeightTransfer;

pub use blocks::CpuBlocks;
pub use matrix::CpuMatrix;

/// The CPU: vectors are `Vec<V>`, matrices and blocks are stored in `S`, sums are made in `V`.
///
/// Storing a preconditioner in `f32` under `f64` vectors halves its traffic; the accuracy of a solve is that of the
/// system matrix and the vectors, not of the preconditioner.
///
/// ```
/// use coarsen_backend::{Backend, Cpu};
/// assert_eq!(Cpu::new().vector(&[1.0, 2.0])?, [1.0, 2.0]);
/// # Ok::<(), coarsen_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Cpu<V = f64, S = V>(PhantomData<(V, S)>);

impl Cpu<f64, f64> {
    /// `f64` throughout.
    pub fn new() -> Self {
        Self(PhantomData)
    }
}

impl Cpu<f64, f32> {
    /// `f64` vectors and sums over `f32` storage.
    pub fn mixed() -> Self {
        Self(PhantomData)
    }
}

impl Cpu<f32, f32> {
    /// `f32` throughout.
    pub fn single() -> Self {
        Self(PhantomData)
    }
}

impl Default for Cpu<f64, f64> {
    fn default() -> Self {
        Self::new()
    }
}

impl<V, S> Clone for Cpu<V, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<V, S> Copy for Cpu<V, S> {}

/// Nodes that a relaxation cuts into chunks at least: smaller systems are one chunk, which is the natural order itself.
const CUT: usize = 8192;

/// Nodes of four chunks, two for each of two colours, where there are enough of them.
const FOUR: usize = 16384;

/// The most chunks: more would only shorten the natural order inside them.
const CHUNKS: usize = 32;

impl<V: Real, S: Real> Backend for Cpu<V, S> {
    type Real = V;
    type Stored = S;
    type Vector = Vec<V>;
    type Matrix = CpuMatrix<V, S>;
    type Blocks = CpuBlocks<V, S>;
    type Rows = RowSets;

    fn name(&self) -> &'static str {
        "cpu"
    }

    fn vector(&self, host: &[V]) -> Result<Vec<V>, Error> {
        Ok(host.to_vec())
    }

    fn matrix<T: Real>(&self, host: &Bsr<T>) -> Result<CpuMatrix<V, S>, Error> {
        check_range::<T, S>("the matrix", host.values())?;
        Ok(CpuMatrix::new(host.to()))
    }

    fn blocks<T: Real>(&self, host: &DenseBlocks<T>) -> Result<CpuBlocks<V, S>, Error> {
        check_blocks::<T, S>("the inverse of the diagonal", host)?;
        Ok(CpuBlocks::new(host.to()))
    }

    fn rows(&self, sets: &RowSets) -> Result<RowSets, Error> {
        Ok(sets.clone())
    }

    fn transfer<T: Real>(
        &self,
        p: &Prolongation<T>,
        transpose: &TransposePlan,
    ) -> Result<Box<dyn Transfer<T, Self>>, SetupError> {
        Ok(match WeightTransfer::<S>::new(p, transpose)? {
            Some(weights) => Box::new(weights),
            None => Box::new(MatrixTransfer::new(self, p, transpose)?),
        })
    }

    /// Four chunks from 8192 nodes on, then as many times four, up to 32, as leave 4096 nodes or more in each: slabs take two
    /// colours as a rule, and halves of even length keep two threads busy.
    fn relaxation_order(&self, pattern: &Arc<Pattern>) -> RowSets {
        let n = pattern.rows();
        let count = if n < CUT { 1 } else { (4 * (n / FOUR).max(1)).min(CHUNKS) };
        RowSets::chunked(pattern, n.div_ceil(count))
    }

    /// Where most couplings are inside chunks.
    fn half_sweeps<T: Real>(
        &self,
        a: &Bsr<T>,
        d: &DenseBlocks<T>,
    ) -> Result<Option<Box<dyn Sweeps<T, Self>>>, Error> {
        if !HalfSweeps::<V, S>::takes(a.block()) {
            return Ok(None);
        }
        let half = HalfSweeps::<V, S>::new(&self.relaxation_order(a.pattern()), a, d)?;
        Ok(half.map(|half| Box::new(half) as Box<dyn Sweeps<T, Self>>))
    }

    fn read(&self, v: &Vec<V>, host: &mut [V]) -> Result<(), Error> {
        same_length("host slice", v.len(), host.len())?;
        host.copy_from_slice(v);
        Ok(())
    }

    fn write(&self, host: &[V], v: &mut Vec<V>) -> Result<(), Error> {
        same_length("host slice", v.len(), host.len())?;
        v.copy_from_slice(host);
        Ok(())
    }
}

pub(crate) fn same_length(what: &'static str, expected: usize, found: usize) -> Result<(), Error> {
    if expected == found { Ok(()) } else { Err(Error::Shape { what, expected, found }) }
}
