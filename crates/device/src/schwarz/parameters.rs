//! The parameters of domains whose inverses are computed on the device, and the build.

use coarsen_backend::{Backend, Merged, Setup, SetupError};
use coarsen_core::{Error, Real};
use coarsen_schwarz::{Coarse, Schwarz, Storage, Weights};
use coarsen_sparse::System;

use crate::driver::Type;
use crate::schwarz::apply::Application;
use crate::schwarz::couplings::Gathered;
use crate::schwarz::lists::Lists;
use crate::schwarz::meeting::Meeting;
use crate::schwarz::numbers::Numbers;
use crate::schwarz::structure::{Lacking, MOST, Structure, capacities};
use crate::schwarz::subdomains::{Beside, DeviceSubdomains, Levels};
use crate::{DeviceBackend, DeviceContacts, DeviceMatrix};

/// [`Schwarz`] computed on the device: the inverses and, with [`StructureSource::Device`], also order, domains and levels.
///
/// *Use* if the matrix is assembled on the device, or if the device is faster than the host. *Not* on other
/// backends, where [`Schwarz`] works. The coarsest level is always divided into domains. With `contacts` of 0, contact
/// is merged into the matrix, so a new pair changes the pattern and needs a new build. Otherwise contact stays beside
/// the matrix: pairs come and go by updates and patches, and with [`StructureSource::Device`] the structure is renewed every `renew`
/// steps. *Precision* that of the parameters: a device with `f64` refuses domains whose elimination in `f64` does not fit its local
/// memory with [`Error::Parameter`], unless they store and eliminate in `f32`; no domain is then computed again in
/// `f64`. At 48 KiB domains of 96 unknowns fit in `f64`, and of 144 in `f32`. A device without `f64` computes in `f32`.
/// *Reference* Wu, Wang, Wang 2022, §4.2, §5 and §6.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeviceSchwarz {
    /// Domains, levels and precisions. `coarse` and `refresh` are ignored; `order` and `coupling` are used
    /// only with [`StructureSource::Host`]. `weights` other than [`Weights::Ones`] give [`Error::Parameter`], because the
    /// elimination writes unweighted inverses.
    pub schwarz: Schwarz,
    /// Whether the host or the device chooses order, domains and levels.
    pub structure: StructureSource,
    /// The largest number of contact blocks beside the matrix; 0 to merge contact into the matrix.
    ///
    /// A block couples an ordered pair of nodes, or a node with itself: a contact of two nodes has 4 blocks, one of
    /// four nodes 16; blocks at the same place count once. *Memory* b² s + 4 bytes per block for b unknowns per node
    /// and values of s bytes, 16 more if the device chooses the structure, and 36 bytes per block and level. A build
    /// from more blocks fails with [`Error::Capacity`], and so does an update on the device from a set with a larger capacity.
    /// An update from the host with more blocks builds again, for up to twice these blocks.
    pub contacts: usize,
    /// The number of steps after which [`DeviceSubdomains::patch_or_restructure_on_device`] chooses the structure again, with
    /// [`StructureSource::Device`]: 10 by default (§5.3); 0 for never.
    pub renew: usize,
}

/// Chooses whether the host or the device computes order, domains and levels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum StructureSource {
    /// The host, as [`Schwarz`] does: full domains whose nodes are strongly coupled.
    #[default]
    Host,
    /// The device, as in Wu, Wang, Wang 2022 (§5): consecutive nodes along a Morton curve form domains of at
    /// most 32 nodes, which are split into connected parts. This can be repeated in every time step without a
    /// synchronisation ([`DeviceSubdomains::restructure_on_device`]).
    Device,
}

impl Default for DeviceSchwarz {
    fn default() -> Self {
        Self { schwarz: Schwarz::multilevel(), structure: StructureSource::Host, contacts: 0, renew: 10 }
    }
}

coarsen_backend::inherent_build!(DeviceSchwarz);

impl<T: Real, V: Real, S: Real> Setup<T, DeviceBackend<V, S>> for DeviceSchwarz {
    type Built = DeviceSubdomains<V, S>;

    fn build_from(
        &self,
        system: System<'_, T>,
        backend: &DeviceBackend<V, S>,
    ) -> Result<DeviceSubdomains<V, S>, SetupError> {
        system.check()?;
        if self.schwarz.weights != Weights::Ones {
            let range = "Weights::Ones (0) if a device computes inverses; Schwarz supports Weights::Energy (1) on every backend";
            return Err(Error::Parameter { name: "Schwarz::weights", value: 1.0, range }.into());
        }
        if self.contacts > 0 {
            return self.build_beside(system, backend);
        }
        let whole = system.whole()?;
        self.build_beside(System { contact: None, matrix: &whole, ..system }, backend)
    }
}

/// Returns the type in which inverses are stored, and its size in bytes.
pub(super) fn stored(storage: Storage) -> (Type, usize) {
    match storage {
        Storage::Single => (Type::Single, size_of::<f32>()),
        _ => (Type::Double, size_of::<f64>()),
    }
}

impl DeviceSchwarz {
    /// Builds domains of a matrix and of the contact part beside it.
    fn build_beside<T: Real, V: Real, S: Real>(
        &self,
        system: System<'_, T>,
        backend: &DeviceBackend<V, S>,
    ) -> Result<DeviceSubdomains<V, S>, SetupError> {
        match self.structure {
            StructureSource::Host => self.by_host(system, backend),
            StructureSource::Device => self.by_device(system, backend),
        }
    }

    /// Returns the contact part of a system in device memory, if `contacts` is not 0.
    fn contact<T: Real, V: Real, S: Real>(
        &self,
        system: System<'_, T>,
        backend: &DeviceBackend<V, S>,
    ) -> Result<Option<Beside<V, S>>, Error> {
        if self.contacts == 0 {
            return Ok(None);
        }
        let (nodes, block) = (system.matrix.pattern().rows(), system.matrix.block().0);
        let mut own = DeviceContacts::new(backend, nodes, block, self.contacts)?;
        if let Some(contact) = system.contact {
            own.replace(contact)?;
        }
        Ok(Some(Beside { own, none: DeviceContacts::new(backend, nodes, block, 0)? }))
    }

    fn by_host<T: Real, V: Real, S: Real>(
        &self,
        system: System<'_, T>,
        backend: &DeviceBackend<V, S>,
    ) -> Result<DeviceSubdomains<V, S>, SetupError> {
        let schwarz = Schwarz { coarse: Coarse::Domains, ..self.schwarz };
        let plan = schwarz.plan(system)?;
        let inverses = plan.values() * stored(self.schwarz.storage).1;
        let nodes: usize = (0..plan.levels()).map(|level| plan.nodes(level)).sum();
        let bytes = system.matrix.block().0.pow(2) * size_of::<S>();
        let beside = self.beside(bytes, [plan.levels(), plan.nodes(0), nodes]);
        backend.check_memory(backend.matrix_bytes(system.matrix) + (inverses + beside) as u64)?;
        let matrix = backend.matrix(system.matrix)?;
        let (host, plain) = (plan.numbering()?, backend.plain());
        let gathered = Gathered::new(&matrix, &plan.couplings(&host, matrix.pattern()))?;
        let lists = Lists::new(&plain, &plan, &host)?;
        let left_out = plan.left_out().to_vec();
        let built = self.with(system, backend, matrix, lists, gathered, (&left_out, Levels::Host(plan)))?;
        built.locate();
        built.compute(None, None)?;
        Ok(built)
    }

    fn by_device<T: Real, V: Real, S: Real>(
        &self,
        system: System<'_, T>,
        backend: &DeviceBackend<V, S>,
    ) -> Result<DeviceSubdomains<V, S>, SetupError> {
        let Schwarz { domain, levels, .. } = self.schwarz;
        if domain > MOST {
            let (name, range) = ("Schwarz::domain", "at most 32 if a device chooses the domains");
            return Err(Error::Parameter { name, value: domain as f64, range }.into());
        }
        self.schwarz.check(&[], system)?;
        let nodes = system.matrix.pattern().rows();
        let mut needed = Vec::new();
        loop {
            let built = self.with_capacities(system, backend, capacities(nodes, domain, levels, &needed))?;
            // Each run enlarges the finest level that lacks capacity, each level at most
            // once.
            match built.lacking()? {
                Some(Lacking { level, count, .. }) => {
                    needed.resize(level, 0);
                    needed[level - 1] = count;
                }
                None => return Ok(built),
            }
        }
    }

    /// Builds domains that the device chooses, of up to `capacities[k]` nodes on level k.
    fn with_capacities<T: Real, V: Real, S: Real>(
        &self,
        system: System<'_, T>,
        backend: &DeviceBackend<V, S>,
        capacities: Vec<usize>,
    ) -> Result<DeviceSubdomains<V, S>, SetupError> {
        backend.check_memory(self.bytes_of(backend, system.matrix, &capacities))?;
        let (block, domain) = (system.matrix.block().0, self.schwarz.domain);
        let nodes = capacities[0];
        let (matrix, plain) = (backend.matrix(system.matrix)?, backend.plain());
        let lists = Lists::with_capacity(&plain, &capacities, domain, block)?;
        let positions = capacities.iter().sum();
        let gathered = Gathered::with_capacity(&plain, nodes, positions, matrix.pattern().len())?;
        let contacts = (self.contacts > 0).then_some(self.contacts);
        let structure = Structure::new(&plain, &matrix, capacities, domain, contacts)?;
        let mut built =
            self.with(system, backend, matrix, lists, gathered, (&[], Levels::Device(Box::new(structure))))?;
        let points = match system.positions {
            None => None,
            Some(points) => {
                let flat: Vec<V> = points.iter().flatten().map(|&c| V::from_f64(c)).collect();
                Some(backend.vector(&flat)?)
            }
        };
        built.structure(None, points.as_ref())?;
        Ok(built)
    }

    fn with<T: Real, V: Real, S: Real>(
        &self,
        system: System<'_, T>,
        backend: &DeviceBackend<V, S>,
        matrix: DeviceMatrix<V, S>,
        lists: Lists,
        gathered: Gathered,
        (left_out, levels): (&[u32], Levels),
    ) -> Result<DeviceSubdomains<V, S>, SetupError> {
        let stored = stored(self.schwarz.storage);
        let application =
            Application::new(&backend.plain(), lists, stored, system.matrix.block().0, left_out)?;
        let (arithmetic, slice) = (self.schwarz.arithmetic, matrix.slice());
        let beside = self.contact(system, backend)?;
        let lists = |_| Meeting::new(&backend.plain(), &application.lists, self.contacts);
        let meeting = beside.as_ref().map(lists).transpose()?;
        let numbers = Numbers::new::<V, S>(&application, gathered, arithmetic, stored.0, slice, meeting)?;
        let (pattern, steps) = (system.matrix.pattern().clone(), 0);
        let positions = system.positions.unwrap_or_default().into();
        Ok(DeviceSubdomains {
            parameters: *self,
            backend: backend.clone(),
            pattern,
            positions,
            earlier: false,
            matrix,
            beside,
            application,
            numbers,
            levels,
            steps,
            merged: Merged::default(),
        })
    }
}
