//! The operations of a backend, on the CPU.

use std::sync::Arc;

use coarsen_core::{Error, Real, parallel};
use coarsen_sparse::{Bsr, COLUMNS, Pattern, Prolongation, TransposePlan};

use super::half::HalfGaussSeidel;
use super::interleave::{interleave, separate};
use super::weights::WeightTransfer;
use super::{Cpu, CpuMatrix};
use crate::range::same_length;
use crate::{
    Backend, DenseBlocks, MatrixTransfer, RowSets, SetupError, Smoother, Transfer, check_blocks, check_range,
};

/// The smallest number of nodes that is divided into chunks. A smaller system is one chunk in natural order.
const CUT: usize = 8192;

/// The same for sweeps over half of a matrix, which has blocks: a node is more work than that of a scalar.
pub(super) const CUT_BLOCKS: usize = CUT / 2;

/// The number of nodes for every four chunks of a large system: two chunks of each of two colours.
const FOUR: usize = 16384;

/// The maximal number of chunks. With more and shorter chunks, less of the natural order would be kept.
const CHUNKS: usize = 32;

/// Returns the number of rows of a chunk for n rows, which are divided from `cut` rows on.
pub(super) fn rows_of_chunk(n: usize, cut: usize) -> usize {
    let count = if n < cut { 1 } else { (4 * (n / FOUR).max(1)).min(CHUNKS) };
    n.div_ceil(count)
}

impl<V: Real, S: Real> Backend for Cpu<V, S> {
    type Real = V;
    type Stored = S;
    type Vector = Vec<V>;
    type Matrix = CpuMatrix<V, S>;
    type Blocks = DenseBlocks<S>;
    type Rows = RowSets;

    const COLUMNS: usize = COLUMNS;

    fn interleave(columns: &[Vec<V>], to: &mut Vec<V>) {
        interleave(columns, [1.0; COLUMNS], to);
    }

    fn separate(from: &Vec<V>, columns: &mut [Vec<V>]) {
        separate(from, [1.0; COLUMNS], columns);
    }

    fn name(&self) -> &'static str {
        "cpu"
    }

    fn vector(&self, host: &[V]) -> Result<Vec<V>, Error> {
        let mut v = vec![V::zero(); host.len()];
        parallel::map(host, &mut v, |v| *v);
        Ok(v)
    }

    fn matrix<T: Real>(&self, host: &Bsr<T>) -> Result<CpuMatrix<V, S>, Error> {
        check_range::<T, S>("the matrix", host.values())?;
        Ok(CpuMatrix::new(host.to()))
    }

    fn blocks<T: Real>(&self, host: &DenseBlocks<T>) -> Result<DenseBlocks<S>, Error> {
        check_blocks::<T, S>("the inverse of the diagonal", host)?;
        Ok(host.to())
    }

    fn apply_blocks(d: &DenseBlocks<S>, a: V, r: &Vec<V>, b: V, z: &mut Vec<V>) {
        d.apply_add(a, r, b, z);
    }

    fn set_blocks<T: Real>(d: &mut DenseBlocks<S>, host: &DenseBlocks<T>) -> Result<(), Error> {
        same_length("block size", d.size(), host.size())?;
        same_length("dense blocks", d.count(), host.count())?;
        check_blocks::<T, S>("the inverse of the diagonal", host)?;
        parallel::map(host.values(), d.values_mut(), |v| v.to());
        Ok(())
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
            None => {
                let p = p.to_matrix()?;
                Box::new(MatrixTransfer::of(
                    self.matrix(&p)?,
                    CpuMatrix::new(transpose.build_as(&p)?),
                    p.nnz(),
                ))
            }
        })
    }

    /// Returns one chunk below 8192 nodes, otherwise a multiple of four chunks: at least 4 and at most 32,
    /// with at least 4096 nodes per chunk if there are more than 4. Slabs usually need two colours, and an
    /// even number of chunks per colour keeps two threads busy.
    fn relaxation_order(&self, pattern: &Arc<Pattern>) -> RowSets {
        RowSets::chunked(pattern, rows_of_chunk(pattern.rows(), CUT))
    }

    /// Returns Gauss-Seidel over half of A for blocks of 2, 3 or 6, with chunks from 4096 nodes on, if half storage pays
    /// ([`gauss_seidel_over`](Cpu::gauss_seidel_over)).
    fn gauss_seidel<T: Real>(
        &self,
        a: &Bsr<T>,
        omega: f64,
        symmetric: bool,
    ) -> Result<Option<Box<dyn Smoother<Self, T>>>, SetupError> {
        let half = HalfGaussSeidel::<T, V, S>::new(None, a, omega, symmetric)?;
        Ok(half.map(|half| Box::new(half) as Box<dyn Smoother<Self, T>>))
    }

    fn read(&self, v: &Vec<V>, host: &mut [V]) -> Result<(), Error> {
        same_length("host slice", v.len(), host.len())?;
        parallel::map(v, host, |v| *v);
        Ok(())
    }

    fn write(&self, host: &[V], v: &mut Vec<V>) -> Result<(), Error> {
        same_length("host slice", v.len(), host.len())?;
        v.copy_from_slice(host);
        Ok(())
    }
}

impl<V: Real, S: Real> Cpu<V, S> {
    /// Returns a Gauss-Seidel smoother that stores half of a symmetric A and sweeps in the order of `sets`;
    /// `None` if sweeps over whole rows are better.
    ///
    /// [`Backend::gauss_seidel`] uses the order of [`Backend::relaxation_order`], with at most 32 chunks; more
    /// chunks keep more threads busy. Half storage pays for blocks of 2, 3 and 6, at most four sets, a complete
    /// diagonal, and at least 60 % of the couplings inside chunks. With more than two couplings of a row
    /// between chunks of two sets on average, it also pays if no row of the first set is coupled to two chunks. The
    /// caller ensures that A is symmetric to round-off, and that ω is between 0 and 2. *Cost* two passes over the
    /// pattern and one over half of A.
    ///
    /// ```
    /// use coarsen_backend::{Cpu, RowSets};
    /// let a = coarsen_sparse::Bsr::<f64>::identity(6, 3)?;
    /// let sets = RowSets::chunked(a.pattern(), 2);
    /// let mut sweeps = Cpu::new().gauss_seidel_over(&sets, &a, 1.0)?.expect("blocks of 3");
    /// let (b, mut x) = (vec![2.0; 18], vec![0.0; 18]);
    /// sweeps.pre_smooth(&a, &b, &mut x);
    /// assert_eq!(x, b);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Pattern`] if the sets belong to another pattern, and the errors of [`Backend::gauss_seidel`].
    pub fn gauss_seidel_over<T: Real>(
        &self,
        sets: &RowSets,
        a: &Bsr<T>,
        omega: f64,
    ) -> Result<Option<Box<dyn Smoother<Self, T>>>, SetupError> {
        if !Pattern::same(sets.pattern(), a.pattern()) {
            return Err(Error::Pattern { what: "a matrix and the row sets of its sweeps" }.into());
        }
        let half = HalfGaussSeidel::<T, V, S>::new(Some(sets), a, omega, false)?;
        Ok(half.map(|half| Box::new(half) as Box<dyn Smoother<Self, T>>))
    }
}
