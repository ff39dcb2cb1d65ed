//! Sweeps over half of a matrix, and products with it: passes over all chunks.

use std::mem;

use coarsen_core::parallel::{self, Shared, items};
use coarsen_core::simd;
use coarsen_core::{LinearOperator, Real, compiled};

use super::kernel::{Pass, Task};
use super::layout::Chunk;
use super::matrix::HalfMatrix;
use super::product::Product;
use crate::SweepDirection;
use crate::cpu::columns_of;

impl<V: Real, S: Real> HalfMatrix<V, S> {
    /// Runs one sweep x_i ← x_i + ω D_i⁻¹ (b − A x)_i from the given x.
    pub(super) fn sweep(&mut self, direction: SweepDirection, omega: V, b: &[V], x: &mut [V]) {
        let mut kept = self.take_workspace(b.len());
        let workspace = &mut kept[..b.len()];
        let pass = match direction {
            SweepDirection::Forward => {
                self.pass(direction, Pass::Upper, omega, b, x, workspace);
                Pass::Forward
            }
            SweepDirection::Backward => {
                if self.layout.once {
                    // The second set, which is swept first, gives to rows of the first.
                    parallel::map(b, workspace, |&b| b);
                }
                Pass::Backward
            }
        };
        self.pass(direction, pass, omega, b, x, workspace);
        self.workspace = kept;
    }

    /// Runs one forward sweep from x = 0. The old x is not read.
    pub(super) fn sweep_from_zero(&mut self, omega: V, b: &[V], x: &mut [V]) {
        let mut workspace = self.take_workspace(b.len());
        self.pass(SweepDirection::Forward, Pass::Alone, omega, b, x, &mut workspace[..b.len()]);
        self.workspace = workspace;
    }

    /// Runs one forward sweep from x = 0, and computes r = b − A x.
    pub(super) fn sweep_from_zero_residual(&self, omega: V, b: &[V], x: &mut [V], r: &mut [V]) {
        self.pass(SweepDirection::Forward, Pass::Start, omega, b, x, r);
        if !self.layout.once {
            self.pass(SweepDirection::Forward, Pass::Later, omega, b, x, r);
        }
    }

    /// Takes the workspace, of n or more entries. It never shrinks.
    fn take_workspace(&mut self, n: usize) -> Vec<V> {
        let mut workspace = mem::take(&mut self.workspace);
        if workspace.len() < n {
            workspace.resize(n, V::zero());
        }
        workspace
    }

    /// Runs a pass over all chunks, set after set in the direction of the sweep. Writes x and r.
    fn pass(&self, direction: SweepDirection, pass: Pass, omega: V, b: &[V], x: &mut [V], r: &mut [V]) {
        PASS.of::<PassOver<V, S>>()(self, direction, pass, omega, b, x, r);
    }
}

compiled!(
    PASS: PassOver<V, S> where S <= V =
        fn(&HalfMatrix<V, S>, SweepDirection, Pass, V, &[V], &mut [V], &mut [V]), pass_over_chunks
);

fn pass_over_chunks<V: Real, S: Real>(
    half: &HalfMatrix<V, S>,
    direction: SweepDirection,
    pass: Pass,
    omega: V,
    b: &[V],
    x: &mut [V],
    r: &mut [V],
) {
    let columns = columns_of(b, half.unknowns);
    let n = half.unknowns * columns;
    assert!(b.len() == n && x.len() == n && r.len() == n, "sweep: vectors of another length than {n}");
    let parallel = parallel::worth(columns * (half.inner.len() + half.outer.len()));
    let (x, r) = (Shared::new(x), Shared::new(r));
    let set = |set: &Vec<Chunk>| {
        // Chunks of one set write their own rows of x and r, and rows of r that are coupled to no other chunk
        // of the set. All other rows that they read belong to other sets.
        items(set, parallel, &|chunk| simd::run(Task { of: half, chunk, pass, columns, omega, b, x, r }));
    };
    match direction {
        SweepDirection::Forward => half.layout.sets.iter().for_each(set),
        SweepDirection::Backward => half.layout.sets.iter().rev().for_each(set),
    }
}

impl<V: Real, S: Real> LinearOperator<Vec<V>> for HalfMatrix<V, S> {
    fn shape(&self) -> (usize, usize) {
        (self.unknowns, self.unknowns)
    }

    fn apply(&self, x: &Vec<V>, y: &mut Vec<V>) {
        let n = self.unknowns * columns_of(x, self.unknowns);
        assert!(x.len() == n && y.len() == n, "product: vectors of another length than {n}");
        PRODUCT.of::<ProductOver<V, S>>()(self, None, x, y);
    }

    fn residual(&self, b: &Vec<V>, x: &Vec<V>, r: &mut Vec<V>) {
        let n = self.unknowns * columns_of(x, self.unknowns);
        assert!(b.len() == n && x.len() == n && r.len() == n, "residual: vectors of another length than {n}");
        PRODUCT.of::<ProductOver<V, S>>()(self, Some(b), x, r);
    }
}

compiled!(
    PRODUCT: ProductOver<V, S> where S <= V =
        fn(&HalfMatrix<V, S>, Option<&[V]>, &[V], &mut [V]), product_over_chunks
);

/// Computes y = A x, or b − A x.
fn product_over_chunks<V: Real, S: Real>(half: &HalfMatrix<V, S>, b: Option<&[V]>, x: &[V], y: &mut [V]) {
    let columns = columns_of(x, half.unknowns);
    let parallel = parallel::worth(columns * (half.inner.len() + half.outer.len()));
    let y = Shared::new(y);
    let task = |chunk: &Chunk| simd::run(Product { of: half, chunk, columns, b, x, y });
    half.layout.sets.iter().for_each(|set| items(set, parallel, &task));
}
