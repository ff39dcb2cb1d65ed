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
//! | `kernel` | the rows of a chunk |

mod kernel;
mod layout;

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
        let task = |chunk: &Chunk| simd::run(kernel::Product { of: self, chunk, b, x, y });
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
mod tests {
    use super::*;
    use crate::conformance::noise;
    use crate::{Backend, Matrix};
    use coarsen_core::parallel::threads;
    use coarsen_sparse::assembly::from_blocks;

    /// A symmetric band of n nodes in b x b blocks; some rows lack neighbours.
    fn band(n: usize, b: usize) -> Bsr<f64> {
        let coupled = |i: usize, j: usize| i == j || [1, 2, 9].contains(&i.abs_diff(j)) && (i + j) % 11 != 3;
        let places: Vec<(u32, u32)> = (0..n)
            .flat_map(|i| (0..n).filter(move |&j| coupled(i, j)).map(move |j| (i as u32, j as u32)))
            .collect();
        let mut values = Vec::new();
        for &(i, j) in &places {
            let block = noise(b * b, u64::from(i.min(j)) * 1000 + u64::from(i.max(j)));
            let entry = |r: usize, c: usize| match i.cmp(&j) {
                std::cmp::Ordering::Less => block[r * b + c],
                std::cmp::Ordering::Greater => block[c * b + r],
                std::cmp::Ordering::Equal => {
                    block[r.min(c) * b + r.max(c)] + if r == c { 8.0 * b as f64 } else { 0.0 }
                }
            };
            values.extend((0..b * b).map(|e| entry(e / b, e % b)));
        }
        from_blocks(b * n, b * n, (b, b), &places, &values).unwrap()
    }

    fn same(found: &[f64], expected: &[f64], what: &str) {
        let gap = found.iter().zip(expected).map(|(f, e)| (f - e).abs()).fold(0.0, f64::max);
        let size = expected.iter().fold(1.0_f64, |m, v| m.max(v.abs()));
        assert!(gap < 1e-12 * size, "{what}: {gap:e}");
    }

    /// Every pass equals that over whole rows in the same order.
    #[test]
    fn halves_do_what_whole_rows_do() {
        for (b, n) in kernel::BLOCKS.into_iter().flat_map(|b| [0, 1, 30, 200].map(|n| (b, n))) {
            let a = band(n, b);
            let d = DenseBlocks::inverse_diagonal(&a, "test").unwrap();
            for chunk in [25, 60, 1000] {
                let sets = RowSets::chunked(a.pattern(), chunk);
                let on = Cpu::<f64>::new();
                let mut half = HalfSweeps::<f64, f64>::new(&sets, &a, &d).unwrap().unwrap();
                let (whole, blocks) = (on.matrix(&a).unwrap(), on.blocks(&d).unwrap());
                let [rhs, start] = [1, 2].map(|seed| noise(n * b, seed));
                let (mut y, mut expected) = (start.clone(), start.clone());
                half.apply(&rhs, &mut y);
                whole.apply(&rhs, &mut expected);
                same(&y, &expected, "product");
                half.residual(&rhs, &start, &mut y);
                whole.residual(&rhs, &start, &mut expected);
                same(&y, &expected, "residual");
                for omega in [1.0, 0.7] {
                    let (mut x, mut r, mut alone) = (start.clone(), start.clone(), start.clone());
                    Sweeps::<f64, _>::start_residual(&mut half, omega, &rhs, &mut x, &mut r);
                    Sweeps::<f64, _>::start(&mut half, omega, &rhs, &mut alone);
                    let mut expected = vec![0.0; n * b];
                    whole.relax(&sets, Sweep::Forward, &blocks, omega, &rhs, &mut expected);
                    same(&x, &expected, "start");
                    assert_eq!(x, alone);
                    let mut left = expected.clone();
                    whole.residual(&rhs, &expected, &mut left);
                    same(&r, &left, "residual of the start");
                    for direction in [Sweep::Backward, Sweep::Forward] {
                        let (mut x, mut expected) = (start.clone(), start.clone());
                        Sweeps::<f64, _>::sweep(&mut half, direction, omega, &rhs, &mut x);
                        whole.relax(&sets, direction, &blocks, omega, &rhs, &mut expected);
                        same(&x, &expected, "sweep");
                    }
                }
            }
        }
    }

    /// What D⁻¹ loses in storage costs a sweep accuracy, not its residual or its fixed point.
    #[test]
    fn stiff_blocks_in_f32_keep_residuals_and_solutions() {
        let mut a = band(200, 3);
        for i in (0..200).step_by(7) {
            let k = a.pattern().find(i, i).unwrap();
            for (e, v) in a.values_mut()[9 * k..9 * (k + 1)].iter_mut().enumerate() {
                *v += 1e5 * [0.6, 0.8, 0.0][e / 3] * [0.6, 0.8, 0.0][e % 3];
            }
        }
        let d = DenseBlocks::inverse_diagonal(&a, "test").unwrap();
        let sets = RowSets::chunked(a.pattern(), 60);
        let mut half = HalfSweeps::<f64, f32>::new(&sets, &a, &d).unwrap().unwrap();
        let whole = Cpu::mixed().matrix(&a).unwrap();
        let b = noise(600, 1);
        let (mut x, mut r, mut expected) = (b.clone(), b.clone(), b.clone());
        Sweeps::<f64, _>::start_residual(&mut half, 1.0, &b, &mut x, &mut r);
        whole.residual(&b, &x, &mut expected);
        same(&r, &expected, "residual of the start");
        let mut image = b.clone();
        whole.apply(&b, &mut image);
        for direction in [Sweep::Forward, Sweep::Backward] {
            let mut x = b.clone();
            Sweeps::<f64, _>::sweep(&mut half, direction, 1.0, &image, &mut x);
            same(&x, &b, "a solution");
        }
    }

    #[test]
    fn bits_do_not_depend_on_threads() {
        let a = band(4000, 3);
        let d = DenseBlocks::inverse_diagonal(&a, "test").unwrap();
        let sets = RowSets::chunked(a.pattern(), 250);
        let rhs = noise(a.shape().0, 1);
        let run = || {
            let mut half = HalfSweeps::<f64, f32>::new(&sets, &a, &d).unwrap().unwrap();
            let (mut x, mut r) = (rhs.clone(), rhs.clone());
            Sweeps::<f64, _>::start_residual(&mut half, 1.0, &rhs, &mut x, &mut r);
            Sweeps::<f64, _>::sweep(&mut half, Sweep::Backward, 1.0, &rhs, &mut x);
            (x, r)
        };
        let one = threads(1, run).unwrap();
        assert_eq!(one, threads(2, run).unwrap());
        assert_eq!(one, threads(7, run).unwrap());
    }

    #[test]
    fn far_couplings_are_left_to_whole_rows() {
        let a = crate::conformance::ring(1000, 3);
        let d = DenseBlocks::inverse_diagonal(&a, "test").unwrap();
        let pays = |sets: &RowSets| HalfSweeps::<f64, f64>::new(sets, &a, &d).unwrap().is_some();
        assert!(!pays(&RowSets::chunked(a.pattern(), 30)));
        assert!(pays(&RowSets::natural(a.pattern())));
    }
}
