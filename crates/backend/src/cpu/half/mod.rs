//! Sweeps over half of a symmetric matrix.
//!
//! A = L + D + Lᵀ. A row of L that is in the cache serves twice: L_i x takes what rows before it give to row i, and L_iᵀ x_i is what it gives to them. So a forward
//! sweep from x = 0 and its residual read half of A once, and so does a backward sweep.
//!
//! | symbol | here |
//! |---|---|
//! | L inside chunks, between chunks | `inner`, `outer` |
//! | D, D⁻¹ | `diagonal`, `inverses` |
//! | ω | `omega` |
//! | r, t | residual; b less what rows done before give, `room` |
//!
//! | file | |
//! |---|---|
//! | `layout` | which couplings are kept, and where |
//! | `kernel` | the rows of a chunk: passes of a sweep |
//! | `product` | the same for products |
//! | `couplings` | what the couplings of a row take and give |

mod couplings;
mod kernel;
mod layout;
mod product;

use std::mem;

use coarsen_core::parallel::{self, Shared, items};
use coarsen_core::simd;
use coarsen_core::{Compiled, Error, LinearOperator, Real};
use coarsen_sparse::{Bsr, Pattern};

use super::{Cpu, same_length};
use crate::{DenseBlocks, RowSets, Sweep, Sweeps, check_blocks, check_range};
use kernel::{Pass, Task};
use layout::{Chunk, Layout};

/// A symmetric matrix of which one half is stored.
///
/// *Cost* of memory half of A, the other half of couplings between chunks, 2 b² values a node and a vector. A sweep reads that half; one forward from an x that is not 0
/// reads it twice, and the residual after a forward sweep from zero costs nothing more.
/// *Reference* Eisenstat 1981, "Efficient implementation of a class of preconditioned conjugate gradient methods", for the same saving in SSOR.
pub(super) struct HalfSweeps<V, S> {
    layout: Layout,
    block: usize,
    inner: Vec<S>,
    outer: Vec<S>,
    diagonal: Vec<S>,
    inverses: Vec<S>,
    room: Vec<V>,
    unknowns: usize,
}

impl<V: Real, S: Real> HalfSweeps<V, S> {
    /// Whether blocks of this size have kernels.
    pub(super) fn takes(block: (usize, usize)) -> bool {
        kernel::BLOCKS.contains(&block.0)
    }

    /// The halves of A in the order of `sets`; `None` where a whole matrix is better: blocks without a kernel, orders with many couplings between chunks.
    pub(super) fn new<T: Real>(
        sets: &RowSets,
        a: &Bsr<T>,
        d: &DenseBlocks<T>,
    ) -> Result<Option<Self>, Error> {
        let (block, nodes) = (a.block().0, a.pattern().rows());
        if a.shape().0 != a.shape().1 || a.block().1 != block {
            let (rows, columns) = a.shape();
            return Err(Error::NotSquare { rows, columns });
        }
        same_length("block size", block, d.size())?;
        same_length("dense blocks", nodes, d.count())?;
        let Some(layout) = Layout::new(sets) else { return Ok(None) };
        let zeros = |blocks: usize| vec![S::zero(); blocks * block * block];
        let mut half = Self {
            inner: zeros(layout.inner_columns.len()),
            outer: zeros(layout.outer_columns.len()),
            diagonal: zeros(nodes),
            inverses: zeros(nodes),
            room: vec![V::zero(); a.shape().0],
            unknowns: a.shape().0,
            layout,
            block,
        };
        check_range::<T, S>("the matrix", a.values())?;
        check_blocks::<T, S>("the inverse of the diagonal", d)?;
        half.write(a, d);
        Ok(Some(half))
    }

    fn check(&self, b: &[V], x: &[V]) {
        let n = self.unknowns;
        assert!(b.len() == n && x.len() == n, "sweep: {n} rows met b of {} and x of {}", b.len(), x.len());
    }

    fn write<T: Real>(&mut self, a: &Bsr<T>, d: &DenseBlocks<T>) {
        self.layout.fill(a, [&mut self.inner, &mut self.outer, &mut self.diagonal]);
        layout::copy_symmetric(d, &mut self.inverses);
    }

    /// A pass over all chunks, set after set in the direction of the sweep, x and r being written.
    fn run(&self, direction: Sweep, pass: Pass, omega: V, b: &[V], x: &mut [V], r: &mut [V]) {
        RUN.of::<Run<V, S>>()(self, direction, pass, omega, b, x, r);
    }

    fn run_here(&self, direction: Sweep, pass: Pass, omega: V, b: &[V], x: &mut [V], r: &mut [V]) {
        let n = self.unknowns;
        assert!(b.len() == n && x.len() == n && r.len() == n, "sweep: vectors of another length than {n}");
        let parallel = parallel::worth(self.inner.len() + self.outer.len());
        let (x, r) = (Shared::new(x), Shared::new(r));
        let set = |set: &Vec<Chunk>| {
            // Chunks of one set write their own rows of x and r, and read rows of other sets beside them.
            items(set, parallel, &|chunk| simd::run(Task { of: self, chunk, pass, omega, b, x, r }));
        };
        match direction {
            Sweep::Forward => self.layout.sets.iter().for_each(set),
            Sweep::Backward => self.layout.sets.iter().rev().for_each(set),
        }
    }
}

type Run<V, S> = fn(&HalfSweeps<V, S>, Sweep, Pass, V, &[V], &mut [V], &mut [V]);

static RUN: Compiled<3> = Compiled([
    &(HalfSweeps::run_here as Run<f32, f32>),
    &(HalfSweeps::run_here as Run<f64, f32>),
    &(HalfSweeps::run_here as Run<f64, f64>),
]);

type Product<V, S> = fn(&HalfSweeps<V, S>, Option<&[V]>, &[V], &mut [V]);

static PRODUCT: Compiled<3> = Compiled([
    &(HalfSweeps::product_here as Product<f32, f32>),
    &(HalfSweeps::product_here as Product<f64, f32>),
    &(HalfSweeps::product_here as Product<f64, f64>),
]);

impl<V: Real, S: Real> LinearOperator<Vec<V>> for HalfSweeps<V, S> {
    fn shape(&self) -> (usize, usize) {
        (self.unknowns, self.unknowns)
    }

    fn apply(&self, x: &Vec<V>, y: &mut Vec<V>) {
        let n = self.unknowns;
        assert!(x.len() == n && y.len() == n, "product: vectors of another length than {n}");
        self.product(None, x, y);
    }

    fn residual(&self, b: &Vec<V>, x: &Vec<V>, r: &mut Vec<V>) {
        let n = self.unknowns;
        assert!(b.len() == n && x.len() == n && r.len() == n, "residual: vectors of another length than {n}");
        self.product(Some(b), x, r);
    }
}

impl<V: Real, S: Real> HalfSweeps<V, S> {
    /// y = A x, or b − A x.
    fn product(&self, b: Option<&[V]>, x: &[V], y: &mut [V]) {
        PRODUCT.of::<Product<V, S>>()(self, b, x, y);
    }

    fn product_here(&self, b: Option<&[V]>, x: &[V], y: &mut [V]) {
        let parallel = parallel::worth(self.inner.len() + self.outer.len());
        let y = Shared::new(y);
        let task = |chunk: &Chunk| simd::run(product::Product { of: self, chunk, b, x, y });
        self.layout.sets.iter().for_each(|set| items(set, parallel, &task));
    }
}

impl<T: Real, V: Real, S: Real> Sweeps<T, Cpu<V, S>> for HalfSweeps<V, S> {
    fn operator(&self) -> &dyn LinearOperator<Vec<V>> {
        self
    }

    fn sweep(&mut self, direction: Sweep, omega: V, b: &Vec<V>, x: &mut Vec<V>) {
        self.check(b, x);
        let mut room = mem::take(&mut self.room);
        let pass = match direction {
            Sweep::Forward => {
                self.run(direction, Pass::Upper, omega, b, x, &mut room);
                Pass::Forward
            }
            Sweep::Backward => Pass::Backward,
        };
        self.run(direction, pass, omega, b, x, &mut room);
        self.room = room;
    }

    fn start(&mut self, omega: V, b: &Vec<V>, x: &mut Vec<V>) {
        self.check(b, x);
        let mut room = mem::take(&mut self.room);
        self.run(Sweep::Forward, Pass::Alone, omega, b, x, &mut room);
        self.room = room;
    }

    fn start_residual(&mut self, omega: V, b: &Vec<V>, x: &mut Vec<V>, r: &mut Vec<V>) {
        self.run(Sweep::Forward, Pass::Start, omega, b, x, r);
        self.run(Sweep::Forward, Pass::Later, omega, b, x, r);
    }

    fn set_values(&mut self, a: &Bsr<T>, d: &DenseBlocks<T>) -> Result<(), Error> {
        if !Pattern::same(a.pattern(), &self.layout.pattern) {
            return Err(Error::Pattern { what: "new values of a matrix that is swept" });
        }
        same_length("block size", self.block, a.block().0)?;
        same_length("block size", self.block, a.block().1)?;
        same_length("block size", self.block, d.size())?;
        same_length("dense blocks", a.pattern().rows(), d.count())?;
        self.write(a, d);
        Ok(())
    }

    fn bytes(&self) -> usize {
        let values = [&self.inner, &self.outer, &self.diagonal, &self.inverses];
        let values: usize = values.iter().map(|list| size_of_val(&list[..])).sum();
        values + size_of_val(&self.room[..]) + self.layout.bytes()
    }
}

#[cfg(test)]
mod tests;
