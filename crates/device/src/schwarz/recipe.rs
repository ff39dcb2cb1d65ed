//! The recipe for domains whose inverses are computed on the device, and its build.

use coarsen_backend::{Backend, Setup, SetupError};
use coarsen_core::{Error, Real};
use coarsen_schwarz::{Coarse, Schwarz, Storage, Weights};
use coarsen_sparse::System;

use crate::driver::Type;
use crate::schwarz::apply::Application;
use crate::schwarz::couplings::Gathered;
use crate::schwarz::lists::Lists;
use crate::schwarz::numbers::Numbers;
use crate::schwarz::structure::{Lacking, MOST, Structure, rooms};
use crate::schwarz::subdomains::{DeviceSubdomains, Levels};
use crate::{DeviceMatrix, OnDevice};

/// [`Schwarz`] computed on the device: the inverses and, with [`By::Device`], also order, domains and levels.
///
/// *Use* if the matrix is assembled on the device, or if the device is faster than the host. *Not* on other
/// places, where [`Schwarz`] works. The coarsest level is always divided into domains. Contact is merged into
/// the matrix, so a new pair changes the pattern and needs a new build. *Reference* Wu, Wang, Wang 2022, §5
/// and §6.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeviceSchwarz {
    /// Domains, levels and precisions. `coarse` and `refresh` are ignored; `order` and `coupling` are used
    /// only with [`By::Host`]. `weights` other than [`Weights::Ones`] give [`Error::Parameter`], because the
    /// elimination writes unweighted inverses.
    pub recipe: Schwarz,
    /// Whether the host or the device chooses order, domains and levels.
    pub structure: By,
}

/// Chooses whether the host or the device computes order, domains and levels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum By {
    /// The host, as [`Schwarz`] does: full domains whose nodes are strongly coupled.
    #[default]
    Host,
    /// The device, as in Wu, Wang, Wang 2022 (§5): consecutive nodes along a Morton curve form domains of at
    /// most 32 nodes, which are split into connected parts. This can be repeated in every time step without a
    /// wait ([`DeviceSubdomains::restructure_on_device`]).
    Device,
}

impl Default for DeviceSchwarz {
    fn default() -> Self {
        Self { recipe: Schwarz::multilevel(), structure: By::Host }
    }
}

impl<T: Real, V: Real, S: Real> Setup<T, OnDevice<V, S>> for DeviceSchwarz {
    type Built = DeviceSubdomains<V, S>;

    fn build_from(
        &self,
        system: System<'_, T>,
        on: &OnDevice<V, S>,
    ) -> Result<DeviceSubdomains<V, S>, SetupError> {
        system.check()?;
        if self.recipe.weights != Weights::Ones {
            let range = "Weights::Ones (0) if a device computes inverses; Schwarz supports Weights::Energy (1) at every place";
            return Err(Error::Parameter { name: "Schwarz::weights", value: 1.0, range }.into());
        }
        let whole = system.whole()?;
        let merged = System { contact: None, matrix: &whole, ..system };
        match self.structure {
            By::Host => self.by_host(merged, on),
            By::Device => self.by_device(merged, on),
        }
    }
}

impl DeviceSchwarz {
    /// Returns the type in which inverses are stored, and its size in bytes.
    fn stored(&self) -> (Type, usize) {
        match self.recipe.storage {
            Storage::Single => (Type::of::<f32>(), size_of::<f32>()),
            Storage::Double => (Type::of::<f64>(), size_of::<f64>()),
        }
    }

    fn by_host<T: Real, V: Real, S: Real>(
        &self,
        system: System<'_, T>,
        on: &OnDevice<V, S>,
    ) -> Result<DeviceSubdomains<V, S>, SetupError> {
        let recipe = Schwarz { coarse: Coarse::Domains, ..self.recipe };
        let plan = recipe.plan(system)?;
        let inverses = plan.values() * self.stored().1;
        on.check_room(on.matrix_bytes(system.matrix) + inverses as u64)?;
        let matrix = on.matrix(system.matrix)?;
        let (host, place) = (plan.numbering()?, on.plain());
        let gathered = Gathered::new(&matrix, &plan.couplings(&host, matrix.pattern()))?;
        let lists = Lists::new(&place, &plan, &host)?;
        let left_out = plan.left_out().to_vec();
        let built = self.with(system, on, matrix, lists, gathered, (&left_out, Levels::Host(plan)))?;
        built.numbers.compute(&built.application, &built.matrix, None)?;
        Ok(built)
    }

    fn by_device<T: Real, V: Real, S: Real>(
        &self,
        system: System<'_, T>,
        on: &OnDevice<V, S>,
    ) -> Result<DeviceSubdomains<V, S>, SetupError> {
        let Schwarz { domain, levels, .. } = self.recipe;
        if domain > MOST {
            let (name, range) = ("Schwarz::domain", "at most 32 if a device chooses the domains");
            return Err(Error::Parameter { name, value: domain as f64, range }.into());
        }
        self.recipe.check(&[], system)?;
        let nodes = system.matrix.pattern().rows();
        let mut needed = Vec::new();
        loop {
            let built = self.with_rooms(system, on, rooms(nodes, domain, levels, &needed))?;
            // Each run gives more room to the finest level that lacks room, so each level is enlarged at most
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

    /// Builds domains that the device chooses, with room for `rooms[k]` nodes on level k.
    fn with_rooms<T: Real, V: Real, S: Real>(
        &self,
        system: System<'_, T>,
        on: &OnDevice<V, S>,
        rooms: Vec<usize>,
    ) -> Result<DeviceSubdomains<V, S>, SetupError> {
        on.check_room(self.bytes_of(on, system.matrix, &rooms))?;
        let (block, domain) = (system.matrix.block().0, self.recipe.domain);
        let nodes = rooms[0];
        let (matrix, place) = (on.matrix(system.matrix)?, on.plain());
        let lists = Lists::room(&place, &rooms, domain, block)?;
        let positions = rooms.iter().sum();
        let gathered = Gathered::room(&place, nodes, positions, matrix.pattern().len())?;
        let structure = Structure::new(&place, &matrix, rooms, domain)?;
        let mut built =
            self.with(system, on, matrix, lists, gathered, (&[], Levels::Device(Box::new(structure))))?;
        let points = match system.positions {
            None => None,
            Some(points) => {
                let flat: Vec<V> = points.iter().flatten().map(|&c| V::of(c)).collect();
                Some(on.vector(&flat)?)
            }
        };
        built.structure(None, points.as_ref())?;
        Ok(built)
    }

    fn with<T: Real, V: Real, S: Real>(
        &self,
        system: System<'_, T>,
        on: &OnDevice<V, S>,
        matrix: DeviceMatrix<V, S>,
        lists: Lists,
        gathered: Gathered,
        (left_out, levels): (&[u32], Levels),
    ) -> Result<DeviceSubdomains<V, S>, SetupError> {
        let stored = self.stored();
        let application = Application::new(&on.plain(), lists, stored, system.matrix.block().0, left_out)?;
        let (arithmetic, slice) = (self.recipe.arithmetic, matrix.slice());
        let numbers = Numbers::new::<V, S>(&application, gathered, arithmetic, stored.0, slice)?;
        let pattern = system.matrix.pattern().clone();
        Ok(DeviceSubdomains { recipe: *self, on: on.clone(), pattern, matrix, application, numbers, levels })
    }
}
