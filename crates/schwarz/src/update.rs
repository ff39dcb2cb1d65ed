//! Updates of domains: new values of all rows, or of some rows.

use coarsen_backend::{Reused, Setup, SetupError, Update};
use coarsen_core::Real;
use coarsen_sparse::System;

use crate::backend::SchwarzBackend;
use crate::check;
use crate::source::Source;
use crate::subdomains::Subdomains;

impl<T: Real, B: SchwarzBackend> Subdomains<T, B> {
    /// Builds again, with the positions of the last build if the system has none and the nodes are as many.
    fn rebuild(&mut self, system: System<'_, T>) -> Result<(), SetupError> {
        let whole = system.with_kept(&self.positions, None);
        let mut built = self.parameters.build_from(whole, &self.backend)?;
        built.earlier = system.positions.is_none() && whole.positions.is_some();
        *self = built;
        Ok(())
    }

    /// Updates the values, or builds again if the coarsest level can no longer be factored. A build then
    /// divides this level into domains. Returns whether values were updated.
    ///
    /// # Errors
    /// Errors with a position are found before anything changes. The build that then follows a failed factor finds no
    /// error in the same values and cannot be cancelled; only the backend can fail.
    fn recompute_or_rebuild(
        &mut self,
        system: System<'_, T>,
        which: Option<&[Vec<u32>]>,
    ) -> Result<bool, SetupError> {
        if self.top.is_some() {
            system.check_positions()?;
        }
        match self.recompute(system, which) {
            Err(SetupError::Coarsest { .. }) => {
                self.rebuild(System { cancel: None, ..system })?;
                Ok(false)
            }
            done => done.map(|()| true),
        }
    }
}

coarsen_backend::inherent_update!(Subdomains<T: Real, B: SchwarzBackend>);

impl<T: Real, B: SchwarzBackend> Update<T> for Subdomains<T, B> {
    fn update_from(&mut self, system: System<'_, T>) -> Result<Reused, SetupError> {
        system.check()?;
        if !self.serves(&system) {
            self.rebuild(system)?;
            return Ok(Reused::Nothing);
        }
        if self.parameters.refresh.is_some_and(|every| self.updates + 1 >= every.get()) {
            self.rebuild(system)?;
            return Ok(Reused::Rest { redone: 1, of: 1 });
        }
        self.check(&system)?;
        if !self.recompute_or_rebuild(system, None)? {
            return Ok(Reused::Nothing);
        }
        self.weigh(system)?;
        Ok(Reused::Structure)
    }

    fn patch_from(&mut self, system: System<'_, T>, touched: &[u32]) -> Result<Reused, SetupError> {
        system.check()?;
        let serves = self.serves(&system) && !self.incomplete;
        if !serves || self.parameters.refresh.is_some_and(|every| self.updates + 1 >= every.get()) {
            return self.update_from(system);
        }
        let mut which = std::mem::take(&mut self.touched);
        let patched = self.patch_touched(system, touched, &mut which);
        self.touched = which;
        patched
    }
}

impl<T: Real, B: SchwarzBackend> Subdomains<T, B> {
    /// Recomputes the domains of touched rows, which are listed in `which`.
    fn patch_touched(
        &mut self,
        system: System<'_, T>,
        touched: &[u32],
        which: &mut Vec<Vec<u32>>,
    ) -> Result<Reused, SetupError> {
        self.plan.touched(touched, which)?;
        let redone = which.iter().map(Vec::len).sum();
        let Self { parameters, plan, numbers, .. } = &mut *self;
        let source = Source::of(&system, &mut numbers.starts);
        check::check_rows(source, touched, plan.left_out(), parameters.storage, &mut numbers.checked)?;
        if !self.recompute_or_rebuild(system, Some(which))? {
            return Ok(Reused::Nothing);
        }
        let of = self.plan.domain_levels.iter().map(|domain_level| domain_level.domains.count()).sum();
        Ok(Reused::Rest { redone, of })
    }
}
