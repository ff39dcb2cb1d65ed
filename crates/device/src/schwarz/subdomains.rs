//! Multilevel domains whose inverses are computed on a device, and optionally their structure too.

use std::sync::Arc;

use coarsen_backend::{Matrix, Reused, Setup, SetupError, Update};
use coarsen_core::{Class, Error, Preconditioner, Real, Vector};
use coarsen_schwarz::{Plan, Repair};
use coarsen_sparse::{Pattern, System};

use crate::error::same_length;
use crate::schwarz::apply::Application;
use crate::schwarz::numbers::Numbers;
use crate::schwarz::recipe::DeviceSchwarz;
use crate::schwarz::structure::{Lacking, Structure};
use crate::{DeviceMatrix, DeviceVector, OnDevice};

/// The preconditioner that [`DeviceSchwarz`] builds.
pub struct DeviceSubdomains<V: Real, S: Real = V> {
    pub(super) recipe: DeviceSchwarz,
    pub(super) on: OnDevice<V, S>,
    pub(super) pattern: Arc<Pattern>,
    /// The device copy of a host matrix.
    pub(super) matrix: DeviceMatrix<V, S>,
    pub(super) application: Application<V>,
    pub(super) numbers: Numbers,
    pub(super) levels: Levels,
}

/// The structure, held by the host or by the device.
pub(super) enum Levels {
    Host(Plan),
    Device(Box<Structure>),
}

impl<V: Real, S: Real> DeviceSubdomains<V, S> {
    /// Returns the number of nodes of every level. Waits once if the device chose the levels.
    ///
    /// # Errors
    /// [`Error::Device`] if the place has failed.
    pub fn nodes(&self) -> Result<Vec<usize>, Error> {
        match &self.levels {
            Levels::Host(plan) => Ok((0..plan.levels()).map(|level| plan.nodes(level)).collect()),
            Levels::Device(structure) => {
                let nodes = structure.nodes(&self.on.plain())?;
                Ok(nodes.into_iter().take_while(|count| *count > 0).collect())
            }
        }
    }

    /// Returns the number of values of all inverses, including unused room.
    pub fn values(&self) -> usize {
        self.application.lists.values
    }

    /// Computes new inverses from a matrix of the place with the pattern and layout of the build. Does not
    /// transfer data or wait.
    ///
    /// Values are not checked. A domain matrix that cannot be inverted is replaced by its diagonal blocks and
    /// listed by [`repairs`](Self::repairs). A node that had no couplings when the structure was chosen (a
    /// constraint) is solved alone until the structure is chosen again; [`check`](Self::check) reports it if
    /// it has couplings now.
    ///
    /// # Errors
    /// [`Error::Pattern`] for another pattern or layout, [`Error::Device`] if the place has failed.
    pub fn update_on_device(&mut self, a: &DeviceMatrix<V, S>) -> Result<(), Error> {
        self.check_same(a)?;
        self.numbers.compute(&self.application, a, None)
    }

    /// Computes new inverses as [`update_on_device`](Self::update_on_device) does, but on every level only
    /// for the domains that contain one of the block rows `touched`. The list is uploaded.
    ///
    /// # Errors
    /// The errors of [`update_on_device`](Self::update_on_device), and [`Error::Shape`] for a row that does
    /// not exist, or for a list longer than the number of rows.
    pub fn patch_on_device(&mut self, a: &DeviceMatrix<V, S>, touched: &[u32]) -> Result<(), Error> {
        self.check_same(a)?;
        self.check_rows(touched)?;
        self.numbers.compute(&self.application, a, Some(touched))
    }

    /// Computes order, domains and levels along the curve through `positions`, three numbers per node, and
    /// all inverses. Does not transfer data or wait.
    ///
    /// If a level has no room for its nodes, this level and all coarser levels are left out, and
    /// [`check`](Self::check) then returns an error. If the host chose the structure, the structure is kept,
    /// as in [`update_on_device`](Self::update_on_device).
    ///
    /// # Errors
    /// The errors of [`update_on_device`](Self::update_on_device), and [`Error::Shape`] for another number of
    /// positions.
    pub fn restructure_on_device(
        &mut self,
        a: &DeviceMatrix<V, S>,
        positions: &DeviceVector<V>,
    ) -> Result<(), Error> {
        self.check_same(a)?;
        same_length("positions", 3 * self.pattern.rows(), positions.size())?;
        self.on.assert_same(positions.on());
        self.structure(Some(a), Some(positions))
    }

    /// Returns the domains whose matrices were not positive definite up to round-off: (level, domain,
    /// repair). Waits once.
    ///
    /// Nodes in no domain come last; their `level` is the number of levels.
    ///
    /// # Errors
    /// [`Error::Device`] if the place has failed.
    pub fn repairs(&self) -> Result<Vec<(usize, usize, Repair)>, Error> {
        let mut codes = self.numbers.repairs(&self.application)?.into_iter();
        let alone = self.application.left_out.count;
        let counts = self.application.lists.level_domains.iter().copied().chain([alone]);
        let mut found = Vec::new();
        for (level, count) in counts.enumerate() {
            let of_level = codes.by_ref().take(count).enumerate();
            found.extend(of_level.filter_map(|(d, repair)| repair.map(|r| (level, d, r))));
        }
        Ok(found)
    }

    /// Checks that the structure is valid for the values and positions of the last update. Waits twice.
    ///
    /// # Errors
    /// [`Error::Capacity`] if a level has no room for its nodes after
    /// [`restructure_on_device`](Self::restructure_on_device). This level and all coarser levels are left
    /// out; a new build allocates enough room. [`SetupError::Released`] with a node that has couplings now,
    /// but had no couplings when the structure was chosen. M is then positive definite, but no domain
    /// includes these couplings. [`Error::Device`] if the place has failed.
    pub fn check(&self) -> Result<(), SetupError> {
        if let Some(Lacking { count, capacity, .. }) = self.lacking()? {
            let what = "nodes of a level whose structure a device chooses";
            return Err(Error::Capacity { what, count, capacity }.into());
        }
        match self.numbers.released(&self.application)? {
            Some(node) => Err(SetupError::Released { node, first_row: node * self.application.block }),
            None => Ok(()),
        }
    }

    /// Returns a level without room for its nodes, if there is one.
    pub(super) fn lacking(&self) -> Result<Option<Lacking>, Error> {
        match &self.levels {
            Levels::Host(_) => Ok(None),
            Levels::Device(structure) => structure.lacking(&self.on.plain()),
        }
    }

    /// Computes the inverses from `a`, or from the matrix uploaded last if there is no `a`. Computes the
    /// structure too, if the device chooses it.
    pub(super) fn structure(
        &mut self,
        a: Option<&DeviceMatrix<V, S>>,
        positions: Option<&DeviceVector<V>>,
    ) -> Result<(), Error> {
        let a = a.unwrap_or(&self.matrix);
        if let Levels::Device(structure) = &self.levels {
            structure.build(a, positions, &self.application.lists, &self.numbers.gathered)?;
        }
        self.numbers.compute(&self.application, a, None)
    }

    fn check_same(&self, a: &DeviceMatrix<V, S>) -> Result<(), Error> {
        self.on.assert_same(a.on());
        if Pattern::same(a.pattern(), &self.pattern) && a.format() == self.matrix.format() {
            return Ok(());
        }
        Err(Error::Pattern { what: "device matrix" })
    }

    fn check_rows(&self, touched: &[u32]) -> Result<(), Error> {
        let rows = self.pattern.rows();
        let found = touched.iter().map(|&i| i as usize + 1).chain([touched.len()]).max().unwrap_or(0);
        if found <= rows {
            return Ok(());
        }
        Err(Error::Shape { what: "touched block rows", expected: rows, found })
    }

    /// Uploads the values of a host matrix and updates the inverses.
    fn move_and_follow<T: Real>(
        &mut self,
        system: System<'_, T>,
        touched: Option<&[u32]>,
    ) -> Result<Reused, SetupError> {
        system.check()?;
        let whole = system.whole()?;
        let merged = System { contact: None, matrix: &whole, ..system };
        let (serves, left_out) = match &self.levels {
            Levels::Host(plan) => (plan.serves(&self.pattern, merged), plan.left_out()),
            Levels::Device(_) => (Pattern::same(whole.pattern(), &self.pattern), &[][..]),
        };
        if !serves || whole.block() != self.matrix.block() {
            *self = self.recipe.build_from(merged, &self.on)?;
            return Ok(Reused::Nothing);
        }
        self.recipe.recipe.check(left_out, merged)?;
        touched.map_or(Ok(()), |rows| self.check_rows(rows))?;
        self.matrix.set_values(&whole)?;
        self.numbers.compute(&self.application, &self.matrix, touched)?;
        // For a structure from the host, `Plan::serves` has already checked this.
        if matches!(self.levels, Levels::Device(_)) && self.numbers.released(&self.application)?.is_some() {
            *self = self.recipe.build_from(merged, &self.on)?;
            return Ok(Reused::Nothing);
        }
        Ok(Reused::Structure)
    }
}

impl<V: Real, S: Real> Preconditioner<DeviceVector<V>> for DeviceSubdomains<V, S> {
    fn apply(&mut self, r: &DeviceVector<V>, z: &mut DeviceVector<V>) {
        self.application.run(r, &mut |_, _| {}, z);
    }

    /// The inverses and their sum are symmetric to the last bit, and they are positive definite: in a domain
    /// that is not positive definite, the diagonal blocks are inverted.
    fn class(&self) -> Class {
        Class::Symmetric
    }

    fn size(&self) -> Option<usize> {
        Some(self.application.size())
    }
}

impl<T: Real, V: Real, S: Real> Update<T> for DeviceSubdomains<V, S> {
    fn update_from(&mut self, system: System<'_, T>) -> Result<Reused, SetupError> {
        self.move_and_follow(system, None)
    }

    fn patch_from(&mut self, system: System<'_, T>, touched: &[u32]) -> Result<Reused, SetupError> {
        self.move_and_follow(system, Some(touched))
    }
}
