//! New values on an unchanged structure, in two phases.
//!
//! 1. *Prepare*: level by level, new prolongations (unless kept), Galerkin products and data of smoothers are
//!    computed in a workspace. The diagonal of every level must be positive, and all values must be
//!    representable in the storage precision of the backend. The coarsest matrix is factored last. An error in
//!    this phase leaves the old hierarchy bitwise unchanged.
//! 2. *Commit*: new and old data are swapped, and smoothers and transfers are updated. In this phase only a
//!    device can fail.
//!
//! A rebuild, and new prolongations, use the positions and the near-kernel of the last build if the system of the update
//! has none and the nodes are as many.
//!
//! The first update allocates the workspace, which is kept. With `Keep::Transfers`, later updates allocate
//! in two cases only: the symmetry of a matrix changes, or row sums of a scalar matrix start or cease to
//! bound its spectrum.

use coarsen_backend::{Backend, DenseBlocks, Merged, Reused, SetupError, SmootherFacts, Update, check_range};
use coarsen_core::{Error, Real};
use coarsen_sparse::{Bsr, Pattern, System};
use std::mem;

use super::method::{Method, State, Step};
use super::{Hierarchy, Host, Level, Seconds, checked, give_diagonal, term, timed};
use crate::{Grid, Keep};

/// The workspace of a level.
pub(super) struct PreparedLevel<T: Real> {
    coarse: Option<Step<T>>,
    /// `None` before the first update, and after an error.
    matrix: Option<Bsr<T>>,
    /// The inverses of the diagonal blocks, if the smoother does not provide them.
    inverses: Option<DenseBlocks<T>>,
}

coarsen_backend::inherent_update!(Hierarchy<T: Real, B: Backend>);

impl<T: Real, B: Backend> Update<T> for Hierarchy<T, B> {
    fn update_from(&mut self, system: System<'_, T>) -> Result<Reused, SetupError> {
        system.check()?;
        self.with_whole(&system, |hierarchy, finest| hierarchy.update_levels(system, finest))
    }

    /// Keeps every prolongation if the pattern is different but the nodes are the same, as after a change of
    /// contact. For the same pattern, this is the same as `update`.
    fn patch_from(&mut self, system: System<'_, T>, touched: &[u32]) -> Result<Reused, SetupError> {
        system.check()?;
        let nodes = system.matrix.pattern().rows();
        if let Some(&i) = touched.iter().find(|&&i| i as usize >= nodes) {
            let (what, found) = ("touched block rows", i as usize + 1);
            return Err(Error::Shape { what, expected: nodes, found }.into());
        }
        self.with_whole(&system, |hierarchy, finest| {
            if hierarchy.parameters.keep == Keep::Nothing
                || !hierarchy.has_nodes_of(finest)
                || Pattern::same(finest.pattern(), &hierarchy.pattern)
            {
                return hierarchy.update_levels(system, finest);
            }
            finest.check_finite()?;
            hierarchy.reshape(system, finest)?;
            // The parts are one transfer and one product per level, and the coarsest solve.
            let levels = hierarchy.levels.len();
            Ok(Reused::Rest { redone: levels + 1, of: 2 * levels + 1 })
        })
    }
}

impl<T: Real, B: Backend> Hierarchy<T, B> {
    /// Calls `f` with the finest matrix, which has the contact of the system.
    fn with_whole(
        &mut self,
        system: &System<'_, T>,
        f: impl FnOnce(&mut Self, &Bsr<T>) -> Result<Reused, SetupError>,
    ) -> Result<Reused, SetupError> {
        let pattern = self.pattern.clone();
        Merged::update(self, |hierarchy| &mut hierarchy.merged, system, &pattern, f)
    }

    /// Returns the state of the first step if a build for `system` may use it: the elastic pattern is the same.
    fn kept_state(&self, system: &System<'_, T>) -> Option<&State> {
        let keep = self.parameters.keep != Keep::Nothing;
        let first =
            self.levels.first().filter(|_| keep && Pattern::same(system.matrix.pattern(), &self.elastic));
        first.map(|level| &level.host.coarse.state)
    }

    /// Updates all levels to new values of the finest matrix. Another pattern causes a build.
    fn update_levels(&mut self, system: System<'_, T>, finest: &Bsr<T>) -> Result<Reused, SetupError> {
        let same = finest.block().0 == self.block && Pattern::same(finest.pattern(), &self.pattern);
        if self.parameters.keep == Keep::Nothing || !same {
            finest.check_finite()?;
            let method = match Pattern::same(system.matrix.pattern(), &self.elastic) {
                true => self.method.copy(),
                false => self.method.changed(None),
            };
            let once = match self.kept_state(&system) {
                Some(first) => method.changed(Some(first)),
                None => method.copy(),
            };
            let complete = self.given.complete(system);
            let parts = [complete.positions.is_some(), complete.near_kernel.is_some()];
            let mut built = Self::build_whole(self.parameters, once, (complete, finest), &self.backend)?;
            built.given = mem::take(&mut self.given);
            built.given.set(&system, parts);
            *self = built;
            self.method = method;
            return Ok(if same { Reused::Rest { redone: 1, of: 1 } } else { Reused::Nothing });
        }
        let (last, mut seconds) = (self.levels.len(), Seconds::default());
        if last == 0 {
            finest.check_finite()?; // otherwise the smoother checks it
        }
        let system = self.given.complete(system);
        let (mut grid, mut above) = (Grid::finest(&system, finest), None);
        for (l, level) in self.levels.iter_mut().enumerate() {
            SetupError::unless_cancelled(system.cancel)?;
            let here = |cause: SetupError| cause.on_level(l);
            let method = (&*self.method, self.parameters.keep, &self.backend);
            let (next, coarse) = level.prepare(method, (&grid, above), &mut seconds).map_err(here)?;
            (grid, above) = (Grid { cancel: system.cancel, ..next }, Some(coarse));
        }
        SetupError::unless_cancelled(system.cancel)?; // later steps cannot be undone
        timed(&mut seconds.bottom, || {
            term::add(&*self.method, &grid, above, &mut self.with_term.next)?;
            self.bottom.update(&Grid { a: self.with_term.next.as_ref().unwrap_or(grid.a), ..grid })
        })
        .map_err(|cause| cause.on_level(last))?;

        self.with_term.commit();
        let mut a: &Bsr<T> = finest;
        for level in &mut self.levels {
            level.with_term.commit();
            let with_term = level.with_term.now.as_ref().unwrap_or(a);
            timed(&mut seconds.smoothers, || level.smoother.commit(with_term, &self.backend))?;
            level.commit()?;
            a = &level.host.matrix;
        }
        self.seconds = seconds;
        Ok(Reused::Structure)
    }
}

impl<T: Real, B: Backend> Level<T, B> {
    /// Computes the new level in the workspace. Returns the next coarser grid and the step to it.
    fn prepare<'a>(
        &'a mut self,
        (method, keep, backend): (&dyn Method<T, B>, Keep, &B),
        (fine, above): (&Grid<'_, T>, Option<&Step<T>>),
        seconds: &mut Seconds,
    ) -> Result<(Grid<'a, T>, &'a Step<T>), SetupError> {
        timed(&mut seconds.smoothers, || {
            term::add(method, fine, above, &mut self.with_term.next)?;
            let grid = Grid { a: self.with_term.next.as_ref().unwrap_or(fine.a), ..*fine };
            self.smoother.prepare(method, &grid, backend)
        })?;
        SetupError::unless_cancelled(fine.cancel)?;
        let SmootherFacts { radius, inverses, sets, largest } = self.smoother.facts();
        let fine = &Grid { radius, sets, inverses, largest, ..*fine };
        let with_term = self.with_term.next.as_ref().unwrap_or(fine.a);
        let above = above.map(|above| &above.state);
        let (a, coarse) = self.host.prepare(method, keep, (fine, above, with_term), seconds)?;
        check_range::<T, B::Stored>("the prolongation", coarse.prolongation.values())?;
        Ok((Grid::below(&**coarse, a, fine.depth + 1), coarse))
    }

    /// Replaces the values in use by the prepared values.
    fn commit(&mut self) -> Result<(), SetupError> {
        let host = &mut self.host;
        let Some(next) = &mut host.next else { return Ok(()) };
        next.matrix.iter_mut().for_each(|matrix| mem::swap(&mut host.matrix, matrix));
        if let Some(coarse) = next.coarse.take() {
            host.coarse = coarse;
            self.transfer.set_values(&host.coarse.prolongation, host.galerkin.transpose())?;
        }
        Ok(())
    }
}

impl<T: Real> Host<T> {
    /// Returns the size of the workspace in bytes.
    pub(super) fn workspace_bytes(&self) -> usize {
        let inverses = |next: &PreparedLevel<T>| next.inverses.as_ref().map_or(0, |d| d.values().len());
        let matrix = |next: &PreparedLevel<T>| next.matrix.as_ref().map_or(0, |a| a.values().len());
        let values = |next: &PreparedLevel<T>| matrix(next) + inverses(next);
        self.next.as_ref().map_or(0, values) * size_of::<T>()
    }

    /// Computes the next coarser matrix and the step to it.
    fn prepare<B: Backend>(
        &mut self,
        method: &dyn Method<T, B>,
        keep: Keep,
        (fine, above, with_term): (&Grid<'_, T>, Option<&State>, &Bsr<T>),
        seconds: &mut Seconds,
    ) -> Result<(&Bsr<T>, &Step<T>), SetupError> {
        let next = match &mut self.next {
            Some(next) => next,
            none => none.insert(PreparedLevel { coarse: None, matrix: None, inverses: None }),
        };
        timed(&mut seconds.smoothers, || match (fine.inverses, &mut next.inverses) {
            (Some(known), _) => known.check_positive(with_term, "multigrid"),
            (None, none) => {
                let (nodes, b) = (fine.a.pattern().rows(), fine.a.block().0);
                let inverses = match none {
                    Some(inverses) => inverses,
                    none => none.insert(DenseBlocks::new(b, vec![T::zero(); nodes * b * b])?),
                };
                inverses.invert_diagonal(with_term, "multigrid")?;
                inverses.check_positive(with_term, "multigrid")
            }
        })?;
        let mut own = None;
        if keep == Keep::Aggregates || self.own {
            let mut coarse = self.coarse.clone();
            timed(&mut seconds.coarsening, || method.refresh(fine, above, &mut coarse))?;
            own = coarse.matrix.take();
            next.coarse = Some(coarse).filter(|_| keep == Keep::Aggregates);
        }
        SetupError::unless_cancelled(fine.cancel)?;
        let coarse = next.coarse.as_mut().unwrap_or(&mut self.coarse);
        let matrix = timed(&mut seconds.products, || {
            if self.own {
                let what = "the coarse matrix of a method, for new values,";
                let fits = |own: &Bsr<T>| Pattern::same(own.pattern(), self.matrix.pattern());
                let own = own.filter(fits).ok_or(Error::Pattern { what })?;
                let mut matrix = checked(own, &coarse.prolongation)?;
                give_diagonal(&mut matrix, &coarse.without_basis);
                return Ok(matrix.shared());
            }
            let into = match next.matrix.take() {
                Some(matrix) => matrix,
                None => Bsr::zeros(self.matrix.pattern().clone(), self.matrix.block())?.shared(),
            };
            let mut matrix = method.product(fine.a, coarse, &mut self.galerkin, Some(into))?;
            give_diagonal(&mut matrix, &coarse.without_basis);
            if !coarse.has_term {
                let (p, transpose) = (&coarse.prolongation, self.galerkin.transpose());
                // A level with a term has larger values than A, so its bound holds too.
                let largest = fine.largest.filter(|_| keep == Keep::Transfers && p.block().1 > 1);
                if !largest.is_some_and(|largest| self.rigid_modes.is_regular(&matrix, largest, p, transpose))
                {
                    self.rigid_modes.regularise(&mut matrix, (fine.a, fine.inverses), p, transpose);
                }
            }
            Ok::<_, SetupError>(matrix)
        })?;
        Ok((next.matrix.insert(matrix), coarse))
    }
}
