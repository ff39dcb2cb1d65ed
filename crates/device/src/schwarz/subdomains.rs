//! Multilevel domains whose inverses are computed on a device, and optionally their structure too.

use std::fmt;
use std::sync::Arc;

use coarsen_backend::{Matrix, Merged, Reused, Setup, SetupError, Update};
use coarsen_core::{Error, Preconditioner, PreconditionerKind, Real, Vector};
use coarsen_schwarz::{Plan, Repair};
use coarsen_sparse::{Bsr, Contacts, Pattern, System};

use crate::error::same_length;
use crate::schwarz::apply::Application;
use crate::schwarz::numbers::Numbers;
use crate::schwarz::parameters::DeviceSchwarz;
use crate::schwarz::structure::{Lacking, Structure};
use crate::schwarz::{DeviceSystem, Touched};
use crate::{DeviceBackend, DeviceContacts, DeviceMatrix, DeviceVector};

const EARLIER_POSITIONS: &str = "positions of an earlier build, because the last build had none";

/// The preconditioner that [`DeviceSchwarz`] builds. `Display` names its size, and positions kept from an earlier build.
///
/// An update from the host that must build again (another pattern, too many contacts) keeps the positions of the build where the
/// system has none and the nodes are as many.
pub struct DeviceSubdomains<V: Real, S: Real = V> {
    pub(super) parameters: DeviceSchwarz,
    pub(super) backend: DeviceBackend<V, S>,
    pub(super) pattern: Arc<Pattern>,
    /// The positions of the build; empty if there were none.
    pub(super) positions: Arc<[[f64; 3]]>,
    /// Whether they are those of an earlier build, because the last one had none.
    pub(super) earlier: bool,
    /// The device copy of a host matrix.
    pub(super) matrix: DeviceMatrix<V, S>,
    /// The contact part beside the matrix; `None` if contact is merged into the matrix.
    pub(super) beside: Option<Beside<V, S>>,
    pub(super) application: Application<V>,
    pub(super) numbers: Numbers,
    pub(super) levels: Levels,
    /// The steps since the structure was chosen.
    pub(super) steps: usize,
    pub(super) merged: Merged,
}

/// The device copy of a contact part of the host, and an empty set.
pub(super) struct Beside<V: Real, S: Real> {
    pub(super) own: DeviceContacts<V, S>,
    pub(super) none: DeviceContacts<V, S>,
}

/// What [`DeviceSubdomains::patch_or_restructure_on_device`] has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Renewed {
    /// The inverses of the domains of touched rows.
    Inverses,
    /// Order, domains, levels and all inverses.
    Structure,
}

/// The structure, held by the host or by the device.
pub(super) enum Levels {
    Host(Plan),
    Device(Box<Structure>),
}

impl<V: Real, S: Real> DeviceSubdomains<V, S> {
    /// Returns the number of nodes of every level. Synchronises once if the device chose the levels.
    ///
    /// # Errors
    /// [`Error::Device`] if the backend has failed.
    pub fn nodes(&self) -> Result<Vec<usize>, Error> {
        match &self.levels {
            Levels::Host(plan) => Ok((0..plan.levels()).map(|level| plan.nodes(level)).collect()),
            Levels::Device(structure) => {
                let nodes = structure.nodes(&self.backend.plain())?;
                Ok(nodes.into_iter().take_while(|count| *count > 0).collect())
            }
        }
    }

    /// Returns the number of values of all inverses, including unused capacity.
    pub fn values(&self) -> usize {
        self.application.lists.values
    }

    /// Computes new inverses from a matrix of the backend with the pattern and layout of the build, and its contact part,
    /// if [`DeviceSchwarz::contacts`] is not 0. Does not transfer data or synchronise.
    ///
    /// Values are not checked. A domain matrix that cannot be inverted is replaced by its diagonal blocks and
    /// listed by [`repairs`](Self::repairs). A node that had no couplings when the structure was chosen (a
    /// constraint) is solved alone until the structure is chosen again; [`check`](Self::check) reports it if
    /// the matrix couples it now. Contact that couples such a node is not reported: its diagonal blocks are in the
    /// inverse of the node, and its couplings are in no domain until then.
    ///
    /// # Errors
    /// [`Error::Pattern`] for another pattern or layout, [`Error::Capacity`] for a contact set with a capacity above
    /// `contacts`, [`Error::Device`] if the backend has failed.
    pub fn update_on_device<'a>(&mut self, a: impl Into<DeviceSystem<'a, V, S>>) -> Result<(), Error> {
        let a = a.into();
        self.check_same(a)?;
        self.compute(Some(a), None)
    }

    /// Computes new inverses as [`update_on_device`](Self::update_on_device) does, but on every level only
    /// for the domains that contain one of the block rows `touched`.
    ///
    /// # Errors
    /// The errors of [`update_on_device`](Self::update_on_device), and [`Error::Shape`] for a row that does
    /// not exist, for a list longer than the number of rows, or for another number of rows with marks.
    pub fn patch_on_device<'a>(
        &mut self,
        a: impl Into<DeviceSystem<'a, V, S>>,
        touched: Touched<'_, V>,
    ) -> Result<(), Error> {
        let a = a.into();
        self.check_same(a)?;
        match touched {
            Touched::Rows(rows) => self.check_rows(rows)?,
            Touched::Marked(marks) => {
                same_length("touched block rows", self.pattern.rows(), marks.rows)?;
                self.backend.assert_same(&marks.backend);
            }
        }
        self.compute(Some(a), Some(touched))
    }

    /// Patches rows, and in every [`renew`](DeviceSchwarz::renew)-th call chooses the structure again instead, if the
    /// device chooses it.
    ///
    /// Every row with new values must be touched, also if only values of the matrix have changed: between two choices of
    /// the structure, the inverses of domains without a touched row stay those of an older matrix.
    /// [`DeviceTouched`](crate::DeviceTouched) marks rows of contact sets only. If other rows have changed, use
    /// [`update_on_device`](Self::update_on_device), and [`restructure_on_device`](Self::restructure_on_device) now and then.
    ///
    /// After [`Renewed::Structure`], [`check`](Self::check) tells whether the capacity of all levels sufficed. A level
    /// that did not fit is left out with all coarser levels, until the next choice or build.
    ///
    /// # Errors
    /// Those of [`patch_on_device`](Self::patch_on_device) and of
    /// [`restructure_on_device`](Self::restructure_on_device).
    pub fn patch_or_restructure_on_device<'a>(
        &mut self,
        a: impl Into<DeviceSystem<'a, V, S>>,
        positions: &DeviceVector<V>,
        touched: Touched<'_, V>,
    ) -> Result<Renewed, Error> {
        let a = a.into();
        let chooses = matches!(self.levels, Levels::Device(_)) && self.parameters.renew > 0;
        if chooses && self.steps + 1 >= self.parameters.renew {
            self.restructure_on_device(a, positions)?;
            return Ok(Renewed::Structure);
        }
        self.patch_on_device(a, touched)?;
        self.steps += 1;
        Ok(Renewed::Inverses)
    }

    /// Computes order, domains and levels along the curve through `positions`, three numbers per node, and
    /// all inverses. Does not transfer data or synchronise.
    ///
    /// If the capacity of a level is exceeded, this level and all coarser levels are left out, and
    /// [`check`](Self::check) then returns an error. If the host chose the structure, the structure is kept,
    /// as in [`update_on_device`](Self::update_on_device).
    ///
    /// # Errors
    /// The errors of [`update_on_device`](Self::update_on_device), and [`Error::Shape`] for another number of
    /// positions.
    pub fn restructure_on_device<'a>(
        &mut self,
        a: impl Into<DeviceSystem<'a, V, S>>,
        positions: &DeviceVector<V>,
    ) -> Result<(), Error> {
        let a = a.into();
        self.check_same(a)?;
        same_length("positions", 3 * self.pattern.rows(), positions.size())?;
        self.backend.assert_same(positions.backend());
        self.structure(Some(a), Some(positions))?;
        self.earlier = false;
        Ok(())
    }

    /// Returns the domains whose matrices were not positive definite up to round-off: (level, domain,
    /// repair). Synchronises once.
    ///
    /// Nodes in no domain come last; their `level` is the number of levels.
    ///
    /// # Errors
    /// [`Error::Device`] if the backend has failed.
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

    /// Checks that the structure is valid for the values and positions of the last update. Synchronises twice.
    ///
    /// # Errors
    /// [`Error::Capacity`] if the capacity of a level is exceeded after
    /// [`restructure_on_device`](Self::restructure_on_device), or after a call of
    /// [`patch_or_restructure_on_device`](Self::patch_or_restructure_on_device) that chose the structure. This level and all coarser levels are
    /// left out; a new build allocates enough. [`SetupError::Released`] with a node that the matrix couples now,
    /// but not when the structure was chosen. M is then positive definite, but no domain includes these couplings.
    /// Couplings by contact are not checked. [`Error::Device`] if the backend has failed.
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

    /// Returns a level whose capacity is exceeded, if there is one.
    pub(super) fn lacking(&self) -> Result<Option<Lacking>, Error> {
        match &self.levels {
            Levels::Host(_) => Ok(None),
            Levels::Device(structure) => structure.lacking(&self.backend.plain()),
        }
    }

    /// Computes the inverses from `a`, or from the system uploaded last if there is no `a`. Computes the
    /// structure too, if the device chooses it.
    pub(super) fn structure(
        &mut self,
        a: Option<DeviceSystem<'_, V, S>>,
        positions: Option<&DeviceVector<V>>,
    ) -> Result<(), Error> {
        self.steps = 0;
        if let Levels::Device(structure) = &self.levels {
            let (matrix, contact) = self.parts(a);
            structure.build(matrix, contact, positions, &self.application.lists, &self.numbers.gathered)?;
            self.locate();
        }
        self.compute(a, None)
    }

    /// The matrix and the contact part of a system, or of the system uploaded last.
    fn parts<'a>(
        &'a self,
        a: Option<DeviceSystem<'a, V, S>>,
    ) -> (&'a DeviceMatrix<V, S>, Option<&'a DeviceContacts<V, S>>) {
        match a {
            Some(a) => (a.matrix, self.beside.as_ref().map(|beside| a.contact.unwrap_or(&beside.none))),
            None => (&self.matrix, self.beside.as_ref().map(|beside| &beside.own)),
        }
    }

    /// Computes the inverses of touched domains.
    pub(super) fn compute(
        &self,
        a: Option<DeviceSystem<'_, V, S>>,
        touched: Option<Touched<'_, V>>,
    ) -> Result<(), Error> {
        let (matrix, contact) = self.parts(a);
        self.numbers.find_released(&self.application, matrix)?;
        self.numbers.compute(&self.application, matrix, contact, touched)
    }

    /// Finds the domain of every node, where contacts may meet.
    pub(super) fn locate(&self) {
        if let Some(meeting) = &self.numbers.meeting {
            meeting.locate(&mut self.application.backend.queue(), &self.application.lists);
        }
    }

    fn check_same(&self, a: DeviceSystem<'_, V, S>) -> Result<(), Error> {
        self.backend.assert_same(a.matrix.backend());
        if !Pattern::same(a.matrix.pattern(), &self.pattern) || a.matrix.format() != self.matrix.format() {
            return Err(Error::Pattern { what: "device matrix" });
        }
        match a.contact.map_or(0, DeviceContacts::capacity) {
            count if count > self.parameters.contacts => {
                let (what, capacity) = ("contact blocks of multilevel domains", self.parameters.contacts);
                Err(Error::Capacity { what, count, capacity })
            }
            _ => Ok(()),
        }
    }

    fn check_rows(&self, touched: &[u32]) -> Result<(), Error> {
        let rows = self.pattern.rows();
        let found = touched.iter().map(|&i| i as usize + 1).chain([touched.len()]).max().unwrap_or(0);
        if found <= rows {
            return Ok(());
        }
        Err(Error::Shape { what: "touched block rows", expected: rows, found })
    }

    /// Builds again, with the positions of the last build if the system has none and the nodes are as many.
    fn rebuild<T: Real>(
        &mut self,
        parameters: DeviceSchwarz,
        system: System<'_, T>,
    ) -> Result<Reused, SetupError> {
        let complete = system.with_kept(&self.positions, None);
        let mut built = parameters.build_from(complete, &self.backend)?;
        built.earlier = system.positions.is_none() && complete.positions.is_some();
        *self = built;
        Ok(Reused::Nothing)
    }

    /// Uploads the values of a host matrix and updates the inverses.
    fn update_or_patch<T: Real>(
        &mut self,
        system: System<'_, T>,
        touched: Option<&[u32]>,
    ) -> Result<Reused, SetupError> {
        system.check()?;
        if self.beside.is_some() {
            return self.upload(system, system.matrix, touched);
        }
        let pattern = self.pattern.clone();
        Merged::update(
            self,
            |domains| &mut domains.merged,
            &system,
            &pattern,
            |domains, whole| domains.upload(system, whole, touched),
        )
    }

    /// As [`update_or_patch`](Self::update_or_patch); `whole` is the matrix, with contact unless it is kept beside.
    fn upload<T: Real>(
        &mut self,
        system: System<'_, T>,
        whole: &Bsr<T>,
        touched: Option<&[u32]>,
    ) -> Result<Reused, SetupError> {
        let contact = system.contact.filter(|_| self.beside.is_some());
        let parted = System { contact, matrix: whole, ..system };
        let (serves, left_out) = match &self.levels {
            Levels::Host(plan) => (plan.serves(&self.pattern, parted), plan.left_out()),
            Levels::Device(_) => (Pattern::same(whole.pattern(), &self.pattern), &[][..]),
        };
        let needed = contact.map_or(0, Contacts::len);
        if !serves || whole.block() != self.matrix.block() || needed > self.parameters.contacts {
            // The capacity for twice the contacts, if it is too small.
            let contacts = self.parameters.contacts;
            let contacts = if needed > contacts { 2 * needed } else { contacts };
            return self.rebuild(DeviceSchwarz { contacts, ..self.parameters }, parted);
        }
        self.parameters.schwarz.check(left_out, parted)?;
        touched.map_or(Ok(()), |rows| self.check_rows(rows))?;
        SetupError::unless_cancelled(system.cancel)?;
        self.matrix.set_values(whole)?;
        self.numbers.find_released(&self.application, &self.matrix)?;
        // For a structure from the host, `Plan::serves` has already checked this. No inverse has changed yet: a rebuild may
        // fail.
        if matches!(self.levels, Levels::Device(_)) && self.numbers.released(&self.application)?.is_some() {
            return self.rebuild(self.parameters, parted);
        }
        if let Some(beside) = &mut self.beside {
            match contact {
                Some(contact) => beside.own.replace(contact)?,
                None => beside.own.replace(&Contacts::<T>::new(whole.pattern().rows(), whole.block().0)?)?,
            }
        }
        let (matrix, contact) = self.parts(None);
        self.numbers.compute(&self.application, matrix, contact, touched.map(Touched::Rows))?;
        Ok(Reused::Structure)
    }
}

impl<V: Real, S: Real> fmt::Display for DeviceSubdomains<V, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (nodes, values) = (self.pattern.rows(), self.values());
        write!(f, "multilevel additive schwarz on a device, {nodes} nodes, {values} values of inverses")?;
        if self.earlier { write!(f, "; {EARLIER_POSITIONS}") } else { Ok(()) }
    }
}

impl<V: Real, S: Real> Preconditioner<DeviceVector<V>> for DeviceSubdomains<V, S> {
    fn apply(&mut self, r: &DeviceVector<V>, z: &mut DeviceVector<V>) {
        self.application.run(r, &mut |_, _| {}, z);
    }

    /// The inverses and their sum are symmetric to the last bit, and they are positive definite: in a domain
    /// that is not positive definite, the diagonal blocks are inverted.
    fn kind(&self) -> PreconditionerKind {
        PreconditionerKind::Symmetric
    }

    fn size(&self) -> Option<usize> {
        Some(self.application.size())
    }
}

coarsen_backend::inherent_update!(DeviceSubdomains<V: Real, S: Real>);

impl<T: Real, V: Real, S: Real> Update<T> for DeviceSubdomains<V, S> {
    fn update_from(&mut self, system: System<'_, T>) -> Result<Reused, SetupError> {
        self.update_or_patch(system, None)
    }

    fn patch_from(&mut self, system: System<'_, T>, touched: &[u32]) -> Result<Reused, SetupError> {
        self.update_or_patch(system, Some(touched))
    }
}
