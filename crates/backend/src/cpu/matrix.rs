//! A matrix on the CPU: products by [`Bsr`], relaxation in one pass.

use std::marker::PhantomData;
use std::ops::Range;

use coarsen_core::parallel::{self, Groups, each};
use coarsen_core::simd::{self, Kernel, Set};
use coarsen_core::{Compiled, Dot, Error, LinearOperator, Real};
use coarsen_sparse::{Bsr, Pattern};

use super::sweep::RowSweep;
use super::{Cpu, CpuBlocks};
use crate::range::same_length;
use crate::{Matrix, RowSets, SweepDirection, check_range};

/// The number of scalar rows per leaf, as in the product.
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

    /// Returns the stored matrix.
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
    fn apply_many(&self, x: &[Vec<V>], y: &mut [Vec<V>]) {
        self.a.apply_many(x, y);
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

    fn relax(
        &self,
        rows: &RowSets,
        sweep: SweepDirection,
        d: &CpuBlocks<V, S>,
        omega: V,
        b: &Vec<V>,
        x: &mut Vec<V>,
    ) {
        self.assert_square(d, b, x, "relax");
        assert!(Pattern::same(rows.pattern(), self.a.pattern()), "relax: row sets of another pattern");
        RowSweep { a: &self.a, d: d.host().values(), omega, b, sweep }.run(rows, x);
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
        let n = self.a.shape().0;
        self.assert_square(d, b, x, "relax_into");
        assert!(
            s.len() == n && y.len() == n,
            "relax_into: {n} rows met s of {} and y of {}",
            s.len(),
            y.len()
        );
        RELAX_INTO.of::<RelaxInto<V, S>>()(&self.a, d.host().values(), [omega, beta], [b, x], [s, y]);
    }

    fn set_values<T: Real>(&mut self, host: &Bsr<T>) -> Result<(), Error> {
        if !Pattern::same(self.a.pattern(), host.pattern()) {
            return Err(Error::Pattern { what: "the matrix given to set_values" });
        }
        same_length("matrix values", self.a.nnz(), host.nnz())?;
        check_range::<T, S>("the matrix", host.values())?;
        parallel::map(host.values(), self.a.values_mut(), |v| v.to());
        Ok(())
    }
}

type RelaxInto<V, S> = fn(&Bsr<S>, &[S], [V; 2], [&[V]; 2], [&mut [V]; 2]);

static RELAX_INTO: Compiled<3> = Compiled([
    &(relax_into as RelaxInto<f32, f32>),
    &(relax_into as RelaxInto<f64, f32>),
    &(relax_into as RelaxInto<f64, f64>),
]);

/// Computes s = ω D (b − A x) + β s and y = x + s.
fn relax_into<V: Real, S: Real>(
    a: &Bsr<S>,
    d: &[S],
    [omega, beta]: [V; 2],
    [b, x]: [&[V]; 2],
    [s, y]: [&mut [V]; 2],
) {
    let size = a.block().0;
    let pieces = (0..a.pattern().rows(), Groups(s, size), Groups(y, size));
    let body = |(rows, s, y): (Range<usize>, Groups<&mut [V]>, Groups<&mut [V]>)| {
        let first = rows.start * size;
        a.row_products(rows, x, &mut |at, ax| {
            let (here, all) = (at..at + ax.len(), first + at..first + at + ax.len());
            simd::run(Step {
                d: &d[all.start * size..all.end * size],
                size,
                omega,
                beta,
                ax,
                b: &b[all.clone()],
                x: &x[all],
                s: &mut s.0[here.clone()],
                y: &mut y.0[here],
            });
        });
    };
    each(pieces, (ROWS / size).max(1), parallel::worth_product(a.nnz()), &body);
}

/// A step of relaxation for a few rows, with A x already computed.
struct Step<'a, V, S> {
    d: &'a [S],
    size: usize,
    omega: V,
    beta: V,
    ax: &'a [V],
    b: &'a [V],
    x: &'a [V],
    s: &'a mut [V],
    y: &'a mut [V],
}

impl<V: Real, S: Real> Kernel<V> for Step<'_, V, S> {
    type Output = ();

    #[inline(always)]
    fn run<I: Set<V>>(self, set: I) {
        match self.size {
            1 => self.blocks::<I, 1>(set),
            2 => self.blocks::<I, 2>(set),
            3 => self.blocks::<I, 3>(set),
            6 => self.blocks::<I, 6>(set),
            _ => self.blocks::<I, 0>(set),
        }
    }
}

impl<V: Real, S: Real> Step<'_, V, S> {
    /// Computes blocks of size `B`, or of any size if `B` is 0.
    #[inline(always)]
    fn blocks<I: Set<V>, const B: usize>(self, set: I) {
        let Self { d, omega, beta, ax, b, x, s, y, .. } = self;
        let (size, n) = (if B == 0 { self.size } else { B }, ax.len());
        // Slices of equal length, so that the compiler removes the bounds checks.
        let (d, b, x, s, y) = (&d[..n * size], &b[..n], &x[..n], &mut s[..n], &mut y[..n]);
        for i in (0..n).step_by(size) {
            for r in i..i + size {
                let mut step = V::zero();
                for c in 0..size {
                    step = set.mul_add(d[r * size + c].to(), b[i + c] - ax[i + c], step);
                }
                s[r] = if beta == V::zero() { omega * step } else { omega * step + beta * s[r] };
                y[r] = x[r] + s[r];
            }
        }
    }
}
