//! The hierarchy as a preconditioner: one cycle for one vector, or for the interleaved columns of several. Every matrix
//! is then read once for all of them.

use std::mem;

use coarsen_backend::Backend;
use coarsen_core::{Error, Preconditioner, PreconditionerKind, Real, Vector};
use num_traits::zero;

use super::Hierarchy;
use super::cycle::cycle;
use super::vectors::{Interleaved, LevelVectors};
use crate::Cycle;

/// The smallest number of columns for which a cycle over interleaved columns takes less time than a cycle for each.
const LEAST: usize = 3;

impl<T: Real, B: Backend> Preconditioner<B::Vector> for Hierarchy<T, B> {
    fn apply(&mut self, r: &B::Vector, z: &mut B::Vector) {
        let n = self.unknowns();
        assert!(
            r.size() == n && z.size() == n,
            "apply: {n} rows met r of {} and z of {}",
            r.size(),
            z.size()
        );
        cycle(&mut self.levels, &mut *self.bottom, self.parameters.cycle, r, z, true);
    }

    /// One cycle for each eight vectors, which a backend may [interleave](Backend::COLUMNS), unless a smoother, the
    /// coarsest solve or a K-cycle needs single vectors. *Memory* the vectors of all levels for eight columns.
    fn apply_many(&mut self, r: &[B::Vector], z: &mut [B::Vector]) {
        assert_eq!(r.len(), z.len(), "apply_many: vectors");
        for (r, z) in r.chunks(B::COLUMNS).zip(z.chunks_mut(B::COLUMNS)) {
            let done = self.apply_interleaved(r.len(), |b| B::interleave(r, b), |x| B::separate(x, z));
            if !done {
                r.iter().zip(z).for_each(|(r, z)| self.apply(r, z));
            }
        }
    }

    fn kind(&self) -> PreconditionerKind {
        match self.parameters.cycle {
            Cycle::K if self.levels.len() > 1 => PreconditionerKind::Variable,
            _ if self.bottom.kind() == PreconditionerKind::Variable => PreconditionerKind::Variable,
            // The kind of the finest level is used. PᵀAP is symmetric if A is, but the factor of the
            // coarsest level may detect round-off.
            _ => self.levels.first().map_or(self.bottom.kind(), |level| level.smoother.kind()),
        }
    }

    fn size(&self) -> Option<usize> {
        Some(self.unknowns())
    }
}

impl<T: Real, B: Backend> Hierarchy<T, B> {
    /// Applies one cycle to `count` columns that `pack` interleaves, and calls `unpack` with the result. Returns
    /// `false`, and calls neither, if single vectors are needed, or if they are few.
    pub(crate) fn apply_interleaved(
        &mut self,
        count: usize,
        pack: impl FnOnce(&mut B::Vector),
        unpack: impl FnOnce(&B::Vector),
    ) -> bool {
        // The scalars of a K-cycle belong to one column.
        let fits = count >= LEAST && B::COLUMNS > 1 && self.parameters.cycle != Cycle::K;
        if !fits || !self.bottom.interleaves() || !self.levels.iter().all(|of| of.smoother.interleaves()) {
            return false;
        }
        let kept = self.interleaved.take().filter(|kept| self.is_like(kept));
        let Ok(mut with) = kept.map_or_else(|| self.interleaved_vectors(), Ok) else { return false };
        pack(&mut with.b);
        self.swap_vectors(&mut with);
        let kind = self.parameters.cycle;
        cycle(&mut self.levels, &mut *self.bottom, kind, &with.b, &mut with.x, true);
        self.swap_vectors(&mut with);
        unpack(&with.x);
        self.interleaved = Some(with);
        true
    }

    fn swap_vectors(&mut self, with: &mut Interleaved<B::Vector>) {
        for (level, other) in self.levels.iter_mut().zip(&mut with.levels) {
            mem::swap(&mut level.vectors, other);
        }
    }

    /// Returns the number of unknowns of the finest level.
    fn unknowns(&self) -> usize {
        self.levels.first().map_or(self.bottom.size(), |level| level.host.unknowns)
    }

    /// Whether vectors are those of the levels, which updates may change.
    fn is_like(&self, kept: &Interleaved<B::Vector>) -> bool {
        let fits = |one: &B::Vector, all: &B::Vector| one.size() * B::COLUMNS == all.size();
        kept.b.size() == self.unknowns() * B::COLUMNS
            && kept.levels.len() == self.levels.len()
            && self.levels.iter().zip(&kept.levels).all(|(level, kept)| {
                let one = &level.vectors;
                fits(&one.residual, &kept.residual) && fits(&one.coarse_b, &kept.coarse_b)
            })
    }

    fn interleaved_vectors(&self) -> Result<Interleaved<B::Vector>, Error> {
        let like = |n: usize| self.backend.vector(&vec![zero(); n * B::COLUMNS]);
        let mut levels = Vec::with_capacity(self.levels.len());
        for level in &self.levels {
            let one = &level.vectors;
            let coarse_b = like(one.coarse_b.size())?;
            levels.push(LevelVectors {
                residual: like(one.residual.size())?,
                coarse_x: coarse_b.like()?,
                coarse_whole: None, // only of coarsest solves that do not interleave
                coarse_b,
                krylov: None,
            });
        }
        let b = like(self.unknowns())?;
        Ok(Interleaved { x: b.like()?, b, levels })
    }
}
