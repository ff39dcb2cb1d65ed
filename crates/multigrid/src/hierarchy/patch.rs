//! New couplings with unchanged transfers, for changes of contact.
//!
//! When two nodes begin to touch, the patterns of A and of every PᵀAP change, but the nodes stay the same.
//! The expensive results of the setup (strength, aggregates, smoothed P) are kept. Galerkin products,
//! smoothers and the coarse factor are recomputed. Aggregates ignore the new couplings, so the number of
//! iterations grows slowly as contact moves. A policy decides when to build again.
//!
//! All results are computed before the hierarchy changes, so after an error it is bitwise unchanged.

use coarsen_backend::{Backend, SetupError};
use coarsen_core::Real;
use coarsen_sparse::{Bsr, System};

use super::method::State;
use super::term::WithTerm;
use super::{Hierarchy, Level, Seconds, solver, timed};
use crate::Grid;

impl<T: Real, B: Backend> Hierarchy<T, B> {
    /// Whether `a` has the number of nodes and the block size of this hierarchy; the pattern may differ.
    pub(super) fn has_nodes_of(&self, a: &Bsr<T>) -> bool {
        a.block().0 == self.block && a.pattern().rows() == self.pattern.rows()
    }

    /// Rebuilds all levels for another pattern on the same nodes, with the existing prolongations.
    pub(super) fn reshape(&mut self, system: System<'_, T>, finest: &Bsr<T>) -> Result<(), SetupError> {
        let Self { parameters, method, backend, .. } = self;
        let method = &**method;
        let system = self.given.complete(system);
        let mut seconds = Seconds::default();
        let mut levels: Vec<Level<T, B>> = Vec::with_capacity(self.levels.len());
        for (depth, old) in self.levels.iter().enumerate() {
            SetupError::unless_cancelled(system.cancel)?;
            let grid = match levels.last().map(|level| &level.host) {
                Some(host) => Grid { cancel: system.cancel, ..host.grid(depth) },
                None => Grid::finest(&system, finest),
            };
            let grid = (grid, levels.last().map(|level| &level.host.coarse));
            let coarsen = |grid: &Grid<'_, T>, above: Option<&State>, seconds: &mut Seconds| {
                let mut coarse = old.host.coarse.clone();
                if old.host.own {
                    let mut new = coarse.clone();
                    timed(&mut seconds.products, || method.refresh(grid, above, &mut new))?;
                    coarse.matrix = new.matrix.take();
                }
                Ok(Some(coarse))
            };
            let level = Level::build((&*parameters, method), grid, backend, &mut seconds, coarsen);
            levels.extend(level.map_err(|cause| cause.on_level(depth))?);
        }
        SetupError::unless_cancelled(system.cancel)?;
        let (bottom, with_term) =
            timed(&mut seconds.bottom, || solver((parameters, method), &levels, (&system, finest), backend))
                .map_err(|cause| cause.on_level(levels.len()))?;
        let pattern = finest.pattern().clone();
        (self.levels, self.bottom, self.with_term) = (levels, bottom, WithTerm::new(with_term));
        self.elastic = system.matrix.pattern().clone();
        (self.pattern, self.seconds) = (pattern, seconds);
        Ok(())
    }
}
