//! The numeric phase (§6, Algorithm 1): matrices of the levels, restricted to domains and inverted, one
//! domain after the other.
//!
//! The blocks inside domain d of level l, in the rows of its nodes, form the matrix that is inverted. All
//! blocks of these rows form row d of A_(l+1) = C A_(l) Cᵀ, which no other domain writes. So all domains of a
//! level are computed in parallel, and then those of the next level.
//!
//! Each matrix is scaled to a unit diagonal before it is inverted, so that its pivots measure its distance
//! from a singular matrix in any units. A matrix with too small a pivot or too large an inverse is inverted in `f64`,
//! then with a fraction of its diagonal added, and finally replaced by its diagonal blocks.

use coarsen_backend::SetupError;
use coarsen_core::parallel::tree;
use coarsen_core::{Cancel, Real, compiled, simd};

use crate::backend::Packed;
use crate::dense::{add, block_diagonal, raise, trusted, write};
use crate::domain_contacts::Buckets;
use crate::domains::NONE;
use crate::eliminate::Workspace;
use crate::options::{Arithmetic, Repair, Storage};
use crate::packed::{SIDE, entry, side};
use crate::plan::Plan;
use crate::source::Source;
use crate::tasks::{Targets, TaskWorkspace, Tasks};

/// The shifts, as multiples of the smallest trusted pivot; each is a fraction of the diagonal.
const SHIFTS: [f64; 4] = [10.0, 100.0, 1e3, 1e4];

/// A diagonal entry of a coarse matrix is round-off if it is below this multiple of EPSILON times the sum of
/// its terms. Its body is then free.
const ROUND_OFF: f64 = 64.0;

/// The size of a cache line in bytes.
const LINE: usize = 64;

/// The input of the numeric phase of one level.
pub(crate) struct Stage<'a, T> {
    pub(crate) plan: &'a Plan,
    pub(crate) level: usize,
    /// The matrix of the level, including contact on the finest level.
    pub(crate) source: Source<'a, T>,
    /// For every unknown of the level, the sum of its diagonal entries on the finest level; empty if this is
    /// the finest level.
    pub(crate) sizes: &'a [T],
    /// The contact blocks inside the domains of coarse levels.
    pub(crate) contact: Option<Buckets<'a, T>>,
    pub(crate) arithmetic: Arithmetic,
    pub(crate) cancel: Option<&'a Cancel>,
}

/// The output for the next level.
pub(crate) struct Next<'a, T> {
    /// The values of A_(l+1).
    pub(crate) values: &'a mut [T],
    /// The sums of diagonal entries for each unknown of A_(l+1).
    pub(crate) sizes: &'a mut [T],
}

compiled!(
    RUN: Run<T> =
        fn(
            &Stage<'_, T>, &[u32], &mut Packed, &mut [Option<Repair>], Option<Next<'_, T>>, &mut [TaskWorkspace<T>]
        ) -> Result<(), SetupError>,
    (|stage, which, packed, repairs, next, workspaces| stage.either(which, packed, repairs, next, workspaces))
);

impl<T: Real> Stage<'_, T> {
    /// Computes the inverses of the domains `which`, given in increasing order, and their rows of the matrix
    /// of the next level, if there is one.
    ///
    /// # Errors
    /// [`SetupError::Cancelled`] once the flag is set: some domains are then left as they were.
    pub(crate) fn run(
        &self,
        which: &[u32],
        packed: &mut Packed,
        repairs: &mut [Option<Repair>],
        next: Option<Next<'_, T>>,
        workspaces: &mut [TaskWorkspace<T>],
    ) -> Result<(), SetupError> {
        RUN.of::<Run<T>>()(self, which, packed, repairs, next, workspaces)
    }

    fn either(
        &self,
        which: &[u32],
        packed: &mut Packed,
        repairs: &mut [Option<Repair>],
        next: Option<Next<'_, T>>,
        workspaces: &mut [TaskWorkspace<T>],
    ) -> Result<(), SetupError> {
        let next = next.unwrap_or(Next { values: &mut [], sizes: &mut [] });
        match packed {
            Packed::Single(packed) => self.all(which, packed, repairs, next, workspaces),
            Packed::Double(packed) => self.all(which, packed, repairs, next, workspaces),
        }
    }

    fn all<S: Real>(
        &self,
        which: &[u32],
        packed: &mut [S],
        repairs: &mut [Option<Repair>],
        next: Next<'_, T>,
        workspaces: &mut [TaskWorkspace<T>],
    ) -> Result<(), SetupError> {
        let (domain_level, block) = (&self.plan.domain_levels[self.level], self.source.block());
        let targets = Targets {
            which,
            base: 0,
            domain_level,
            area: block * block,
            block,
            packed,
            repairs,
            coarse: next.values,
            sizes: next.sizes,
        };
        let share = which.len() as f64 / domain_level.domains.count().max(1) as f64;
        let worth = share > 0.01 && self.plan.worth(self.level);
        let leaf = |tasks: Tasks<'_, T, S>| self.leaf(tasks);
        tree(Tasks { targets, workspaces }, 1, worth, &leaf, &Result::and)
    }

    fn leaf<S: Real>(&self, tasks: Tasks<'_, T, S>) -> Result<(), SetupError> {
        let Targets { which, base, domain_level, area, block, packed, repairs, coarse, sizes } =
            tasks.targets;
        let Some(workspace) = tasks.workspaces.first_mut() else { return Ok(()) };
        let (first_value, first_block) = (domain_level.offsets[base], domain_level.coarse.offsets()[base]);
        for (at, &d) in which.iter().enumerate() {
            SetupError::unless_cancelled(self.cancel)?;
            if let Some(&next) = which.get(at + 1) {
                self.prefetch(next as usize);
            }
            let d = d as usize;
            self.scales(d, workspace);
            let out =
                &mut packed[domain_level.offsets[d] - first_value..domain_level.offsets[d + 1] - first_value];
            repairs[d - base] = self.domain(d, workspace, out);
            if !coarse.is_empty() {
                let row = domain_level.coarse.range(d);
                let row = (row.start - first_block) * area..(row.end - first_block) * area;
                self.coarse_row(d, &mut coarse[row]);
                let sums = &mut sizes[(d - base) * block..(d - base + 1) * block];
                self.coarse_sizes(d, &workspace.sums, sums);
            }
        }
        Ok(())
    }

    /// Prefetches the rows of the nodes of domain d.
    fn prefetch(&self, d: usize) {
        let (pattern, area) = (self.source.pattern(), self.source.block().pow(2));
        for &i in self.plan.domain_levels[self.level].domains.nodes(d) {
            let range = pattern.range(i as usize);
            let row = &self.source.matrix.values()[range.start * area..range.end * area];
            row.iter().step_by(LINE / size_of::<T>()).for_each(|v| simd::prefetch(v));
        }
    }

    /// Computes 1 / √a_kk for every unknown of domain d, or 0 if its diagonal is round-off, and the sums of a_kk over the
    /// nodes.
    fn scales(&self, d: usize, workspace: &mut TaskWorkspace<T>) {
        let TaskWorkspace { scale, diagonal, sums, .. } = workspace;
        let b = self.source.block();
        let domains = &self.plan.domain_levels[self.level].domains;
        scale.fill(0.0);
        sums.fill(T::zero());
        for (a, &i) in domains.nodes(d).iter().enumerate() {
            diagonal.fill(T::zero());
            self.source.diagonal(i as usize, diagonal);
            for k in 0..b {
                scale[a * b + k] = diagonal[k * (b + 1)].as_f64();
                sums[k] += diagonal[k * (b + 1)];
            }
        }
        if let Some(contact) = &self.contact {
            for (a, _, block) in contact.of(d).filter(|(a, c, _)| a == c) {
                (0..b).for_each(|k| scale[a * b + k] += block[k * (b + 1)].as_f64());
            }
        }
        for (a, &i) in domains.nodes(d).iter().enumerate() {
            for k in 0..b {
                let size = self.sizes.get(i as usize * b + k).map_or(0.0, |s| s.as_f64());
                let s = &mut scale[a * b + k];
                *s = if *s > ROUND_OFF * T::EPSILON.as_f64() * size { s.sqrt().recip() } else { 0.0 };
            }
        }
    }

    /// Writes the inverse of domain d to `out`.
    fn domain<S: Real>(&self, d: usize, workspace: &mut TaskWorkspace<T>, out: &mut [S]) -> Option<Repair> {
        let TaskWorkspace { single, double, scale, .. } = workspace;
        let trust = Storage::of::<S>().least_pivot();
        let n = side(self.plan.domain_levels[self.level].domains.nodes(d).len() * self.source.block());
        if self.arithmetic == Arithmetic::Single && S::NAME == f32::NAME {
            self.assemble(d, scale, 0.0, single);
            let least = single.invert(n);
            if let Some(trace) = trusted(least, single.values(), n, Arithmetic::LEAST_PIVOT_SINGLE) {
                write(single.values(), scale, n, raise::<f32, S>(trace, n), out);
                return None;
            }
        }
        for shift in [0.0].into_iter().chain(SHIFTS.map(|s| s * trust)) {
            self.assemble(d, scale, shift, double);
            let least = double.invert(n);
            if let Some(trace) = trusted(least, double.values(), n, trust) {
                write(double.values(), scale, n, raise::<f64, S>(trace, n), out);
                return (shift > 0.0).then_some(Repair::Shifted);
            }
        }
        self.assemble(d, scale, 0.0, double);
        block_diagonal(double, self.source.block(), n);
        write(double.values(), scale, n, 0.0, out);
        Some(Repair::BlockDiagonal)
    }

    /// Computes S (A_d + shift diag(A_d)) S with S = diag(`scale`). If a scale is 0, the row is that of the
    /// unit matrix.
    fn assemble<E: Real>(&self, d: usize, scale: &[f64], shift: f64, w: &mut Workspace<E>) {
        let (domains, b) = (&self.plan.domain_levels[self.level].domains, self.source.block());
        let nodes = domains.nodes(d);
        let n = side(nodes.len() * b);
        w.clear(n);
        let values = w.values_mut();
        for (a, &i) in nodes.iter().enumerate() {
            for (j, block) in self.source.elastic(i as usize) {
                let [e, c] = domains.at(j);
                if e as usize == d && c as usize <= a {
                    add(values, n, [a, c as usize], block, scale);
                }
            }
            for (j, block) in self.source.contact(i as usize) {
                let [e, c] = domains.at(j);
                if e as usize == d && c as usize <= a {
                    add(values, n, [a, c as usize], block, scale);
                }
            }
        }
        if let Some(contact) = &self.contact {
            for (a, c, block) in contact.of(d).filter(|(a, c, _)| c <= a) {
                add(values, n, [a, c], block, scale);
            }
        }
        w.mirror(n);
        let values = w.values_mut();
        for (k, &s) in scale[..n * SIDE].iter().enumerate() {
            let diagonal = &mut values[entry(n, k, k)];
            *diagonal = if s == 0.0 { E::one() } else { *diagonal + E::from_f64(shift) };
        }
    }

    /// Computes row d of C A Cᵀ, without contact.
    fn coarse_row(&self, d: usize, row: &mut [T]) {
        let domain_level = &self.plan.domain_levels[self.level];
        let (columns, area) = (domain_level.coarse.row(d), row.len() / domain_level.coarse.row(d).len());
        row.fill(T::zero());
        let mut at = 0;
        for &i in domain_level.domains.nodes(d) {
            let i = i as usize;
            for (&j, k) in self.source.pattern().row(i).iter().zip(self.source.pattern().range(i)) {
                let e = domain_level.domains.of(j as usize);
                if e == NONE {
                    continue;
                }
                if columns[at] != e {
                    at = columns.binary_search(&e).expect("the coarse pattern holds every coupling");
                }
                let sum = &mut row[at * area..(at + 1) * area];
                sum.iter_mut().zip(self.source.matrix.value(k)).for_each(|(s, &v)| *s += v);
            }
        }
    }

    /// Computes the sums of diagonal entries of the finest level for the unknowns of supernode d. `here` are those of the
    /// entries of this level.
    fn coarse_sizes(&self, d: usize, here: &[T], sums: &mut [T]) {
        if self.sizes.is_empty() {
            return sums.copy_from_slice(here);
        }
        let b = sums.len();
        sums.fill(T::zero());
        for &i in self.plan.domain_levels[self.level].domains.nodes(d) {
            sums.iter_mut().zip(&self.sizes[i as usize * b..]).for_each(|(s, &v)| *s += v);
        }
    }
}
