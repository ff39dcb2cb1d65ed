//! A matrix on the CPU: products by [`Bsr`], relaxation in place over coloured chunks.

use std::marker::PhantomData;
use std::ops::Range;

use coarsen_core::parallel::{self, Groups, each};
use coarsen_core::{Dot, Error, LinearOperator, Real};
use coarsen_sparse::{Bsr, Pattern};

use super::{Cpu, CpuBlocks, same_length};
use crate::{Matrix, RowSets, Sweep, check_range};

/// Scalar rows per leaf, as in the product.
const ROWS: usize = 1024;

/// A matrix on the CPU, stored in `S`, applied to `Vec<V>`.
#[derive(Clone, Debug)]
pub struct CpuMatrix<V, S> {
    a: Bsr<S>,
    of: PhantomData<V>,
}

impl<V: Real, S: Real> CpuMatrix<V, S> {
    pub(super) fn new(a: Bsr<S>) -> Self {
        Self { a, of: PhantomData }
    }

    /// The matrix itself.
    pub fn host(&self) -> &Bsr<S> {
        &self.a
    }

    fn assert_square(&self, d: &CpuBlocks<V, S>, b: &[V], x: &[V], method: &str) {
        let (n, size) = (self.a.shape().0, self.a.block().0);
        assert!(self.a.shape() == (n, n) && self.a.block() == (size, size), "{method}: A is not square");
        assert!(b.len() == n && x.len() == n, "{method}: {n} rows met b of {} and x of {}", b.len(), x.len());
        assert!(d.host().size() == size && d.host().count() * size == n, "{method}: D does not fit A");
    }
}

impl<V: Real, S: Real> LinearOperator<Vec<V>> for CpuMatrix<V, S> {
    fn shape(&self) -> (usize, usize) {
        self.a.shape()
    }
    fn apply(&self, x: &Vec<V>, y: &mut Vec<V>) {
        self.a.apply(x, y);
    }
    fn apply_dot(&self, x: &Vec<V>, y: &mut Vec<V>) -> Dot<V> {
        self.a.apply_dot(x, y)
    }
    fn residual(&self, b: &Vec<V>, x: &Vec<V>, r: &mut Vec<V>) {
        self.a.residual(b, x, r);
    }
}

impl<V: Real, S: Real> Matrix<Cpu<V, S>> for CpuMatrix<V, S> {
    fn apply_add(&self, a: V, x: &Vec<V>, b: V, y: &mut Vec<V>) {
        self.a.apply_add(a, x, b, y);
    }

    fn relax(&self, rows: &RowSets, sweep: Sweep, d: &CpuBlocks<V, S>, omega: V, b: &Vec<V>, x: &mut Vec<V>) {
        self.assert_square(d, b, x, "relax");
        assert!(Pattern::same(rows.pattern(), self.a.pattern()), "relax: row sets of another pattern");
        let step = Step { a: &self.a, d: d.host().values(), omega, b, sweep };
        let parallel = parallel::worth(self.a.nnz());
        let x = Shared(x.as_mut_ptr());
        let run = |set: &Vec<Range<usize>>| chunks(set, parallel, &|chunk| step.chunk(chunk, x));
        match sweep {
            Sweep::Forward => rows.sets().iter().for_each(run),
            Sweep::Backward => rows.sets().iter().rev().for_each(run),
        }
    }

    fn relax_into(
        &self,
        d: &CpuBlocks<V, S>,
        omega: V,
        beta: V,
        b: &Vec<V>,
        x: &Vec<V>,
        s: &mut Vec<V>,
        y: &mut Vec<V>,
    ) {
        let (n, size) = (self.a.shape().0, self.a.block().0);
        self.assert_square(d, b, x, "relax_into");
        assert!(
            s.len() == n && y.len() == n,
            "relax_into: {n} rows met s of {} and y of {}",
            s.len(),
            y.len()
        );
        let pieces = (0..self.a.pattern().rows(), Groups(&mut s[..], size), Groups(&mut y[..], size));
        let body = |(rows, s, y): (Range<usize>, Groups<&mut [V]>, Groups<&mut [V]>)| {
            let first = rows.start;
            self.a.row_products(rows, x, |k, ax| {
                let (i, size) = (first + k, ax.len());
                let d = &d.host().values()[i * size * size..(i + 1) * size * size];
                let (b, x) = (&b[i * size..(i + 1) * size], &x[i * size..(i + 1) * size]);
                let (s, y) = (&mut s.0[k * size..(k + 1) * size], &mut y.0[k * size..(k + 1) * size]);
                for r in 0..size {
                    let mut step = V::zero();
                    for c in 0..size {
                        step += d[r * size + c].to::<V>() * (b[c] - ax[c]);
                    }
                    s[r] = if beta == V::zero() { omega * step } else { omega * step + beta * s[r] };
                    y[r] = x[r] + s[r];
                }
            });
        };
        each(pieces, (ROWS / size).max(1), parallel::worth(self.a.nnz()), &body);
    }

    fn set_values<T: Real>(&mut self, host: &Bsr<T>) -> Result<(), Error> {
        if !Pattern::same(self.a.pattern(), host.pattern()) {
            return Err(Error::Pattern { what: "the matrix given to set_values" });
        }
        same_length("matrix values", self.a.nnz(), host.nnz())?;
        check_range::<T, S>("the matrix", host.values())?;
        self.a.values_mut().iter_mut().zip(host.values()).for_each(|(s, v)| *s = v.to());
        Ok(())
    }
}

/// Runs `f` on every chunk, on several threads when `parallel`.
fn chunks(set: &[Range<usize>], parallel: bool, f: &(impl Fn(Range<usize>) + Sync)) {
    match set {
        [] => (),
        [chunk] => f(chunk.clone()),
        _ => {
            let (left, right) = set.split_at(set.len() / 2);
            if parallel {
                rayon::join(|| chunks(left, true, f), || chunks(right, true, f));
            } else {
                chunks(left, false, f);
                chunks(right, false, f);
            }
        }
    }
}

/// The vector that chunks of one set relax at once; each writes only its own rows and reads no other row of the set.
#[derive(Clone, Copy)]
struct Shared<V>(*mut V);

// SAFETY: the pointer is used only by `Step::chunk`, whose accesses are disjoint as its own SAFETY comment shows.
unsafe impl<V: Send> Send for Shared<V> {}
// SAFETY: as above.
unsafe impl<V: Send> Sync for Shared<V> {}

/// What one sweep needs.
struct Step<'a, V, S> {
    a: &'a Bsr<S>,
    d: &'a [S],
    omega: V,
    b: &'a [V],
    sweep: Sweep,
}

impl<V: Real, S: Real> Step<'_, V, S> {
    fn chunk(&self, rows: Range<usize>, x: Shared<V>) {
        match self.a.block().0 {
            1 => self.rows::<1>(rows, x),
            2 => self.rows::<2>(rows, x),
            3 => self.rows::<3>(rows, x),
            6 => self.rows::<6>(rows, x),
            _ => self.rows_any(rows, x),
        }
    }

    /// x_i += ω D_i (b − A x)_i for the rows of a chunk, in the order of the sweep.
    fn rows<const B: usize>(&self, rows: Range<usize>, x: Shared<V>) {
        self.ordered(rows, |i| {
            let mut r: [V; B] = std::array::from_fn(|c| self.b[i * B + c]);
            for (j, block) in self.a.row(i) {
                // SAFETY: j is below the number of block rows (Pattern::new; A is square) and x has as many blocks of B
                // (both asserted by `relax`). Row j belongs to this chunk, which this call alone writes, or to another
                // set, which nobody writes now: chunks of one set are not coupled (RowSets::chunked, for this very
                // pattern, asserted by `relax`).
                let x: [V; B] = std::array::from_fn(|c| unsafe { *x.0.add(j * B + c) });
                for k in 0..B {
                    for c in 0..B {
                        r[k] -= block[k * B + c].to::<V>() * x[c];
                    }
                }
            }
            let d = &self.d[i * B * B..(i + 1) * B * B];
            for k in 0..B {
                let step = (0..B).fold(V::zero(), |s, c| s + d[k * B + c].to::<V>() * r[c]);
                // SAFETY: i is a row of this chunk, see above.
                unsafe { *x.0.add(i * B + k) += self.omega * step };
            }
        });
    }

    /// The same for any block size; the residual of a row is on the stack for blocks up to 12.
    fn rows_any(&self, rows: Range<usize>, x: Shared<V>) {
        let size = self.a.block().0;
        let (mut stack, mut heap) = ([V::zero(); 12], Vec::new());
        let r = match stack.get_mut(..size) {
            Some(r) => r,
            None => {
                heap.resize(size, V::zero());
                &mut heap[..]
            }
        };
        self.ordered(rows, |i| {
            r.copy_from_slice(&self.b[i * size..(i + 1) * size]);
            for (j, block) in self.a.row(i) {
                for (r, row) in r.iter_mut().zip(block.chunks_exact(size)) {
                    for (c, v) in row.iter().enumerate() {
                        // SAFETY: as in `rows`.
                        *r -= v.to::<V>() * unsafe { *x.0.add(j * size + c) };
                    }
                }
            }
            for (k, row) in self.d[i * size * size..(i + 1) * size * size].chunks_exact(size).enumerate() {
                let step = row.iter().zip(&*r).fold(V::zero(), |s, (d, &r)| s + d.to::<V>() * r);
                // SAFETY: as in `rows`.
                unsafe { *x.0.add(i * size + k) += self.omega * step };
            }
        });
    }

    #[inline(always)]
    fn ordered(&self, rows: Range<usize>, f: impl FnMut(usize)) {
        match self.sweep {
            Sweep::Forward => rows.for_each(f),
            Sweep::Backward => rows.rev().for_each(f),
        }
    }
}
