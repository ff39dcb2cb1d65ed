//! Multilevel domains whose numbers are computed where they are used.

use std::sync::Arc;

use coarsen_backend::{Backend, Reused, Setup, SetupError, Update};
use coarsen_core::{Error, Preconditioner, Real};
use coarsen_schwarz::{Coarse, Plan, Repair, Schwarz, Storage};
use coarsen_sparse::{Pattern, System};

use crate::program::real;
use crate::schwarz::apply::Application;
use crate::schwarz::lists::{HostLists, Lists};
use crate::schwarz::numbers::{Couplings, Numbers};
use crate::{DeviceMatrix, DeviceVector, OpenCl};

/// [`Schwarz`] with the numeric phase on the device: structure by the host, once; inverses from a matrix that lives there, in every time step.
///
/// *Use* where the matrix is assembled on the device, or where it is faster than the host; else [`Schwarz`] itself builds at any place. The
/// coarsest level is always cut into domains. Contact is merged into the matrix: a new pair is a new pattern, and builds anew.
/// *Reference* Wu, Wang, Wang 2022, §6.
///
/// ```
/// use coarsen_backend::{Backend, Setup};
/// use coarsen_core::{Preconditioner, Vector};
/// use coarsen_opencl::{DeviceSchwarz, OpenCl};
/// let Ok(on) = OpenCl::<f64>::default_device() else { return Ok(()) }; // no OpenCL here
/// let p = coarsen_problems::cloth(20, 0.01)?;
/// let mut m = DeviceSchwarz::default().build(p.system(), &on)?;
/// let a = on.matrix(&p.matrix)?;
/// m.update_here(&a)?; // a time step later: nothing travels
/// let r = on.vector(&p.right_hand_side(1))?;
/// let mut z = r.like()?;
/// m.apply(&r, &mut z);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeviceSchwarz {
    /// Domains, levels, precision; `coarse` and `refresh` are not looked at.
    pub recipe: Schwarz,
}

impl Default for DeviceSchwarz {
    fn default() -> Self {
        Self { recipe: Schwarz::multilevel() }
    }
}

/// What [`DeviceSchwarz`] builds.
pub struct DeviceSubdomains<V: Real, S: Real = V> {
    recipe: DeviceSchwarz,
    on: OpenCl<V, S>,
    plan: Plan,
    pattern: Arc<Pattern>,
    /// Where values of the host land.
    matrix: DeviceMatrix<V, S>,
    application: Application<V>,
    numbers: Numbers,
}

impl<T: Real, V: Real, S: Real> Setup<T, OpenCl<V, S>> for DeviceSchwarz {
    type Built = DeviceSubdomains<V, S>;

    fn build_from(
        &self,
        system: System<'_, T>,
        on: &OpenCl<V, S>,
    ) -> Result<DeviceSubdomains<V, S>, SetupError> {
        let recipe = Schwarz { coarse: Coarse::Domains, ..self.recipe };
        let plan = recipe.plan(system)?;
        let whole = system.whole()?;
        let matrix = on.matrix(&*whole)?;
        let host = HostLists::of(&plan)?;
        let couplings = Couplings::of(&plan, &host, &matrix);
        let lists = Lists::new(&on.plain(), &plan, &host)?;
        let stored = match recipe.storage {
            Storage::Single => (real::<f32>(), size_of::<f32>()),
            Storage::Double => (real::<f64>(), size_of::<f64>()),
        };
        let application = Application::new(&on.plain(), lists, stored, plan.block(), plan.left_out())?;
        let numbers =
            Numbers::new::<V, S>(&application, &couplings, recipe.arithmetic, stored.0, matrix.slice())?;
        numbers.compute(&application, matrix.values(), None)?;
        let pattern = whole.pattern().clone();
        Ok(DeviceSubdomains { recipe: *self, on: on.clone(), plan, pattern, matrix, application, numbers })
    }
}

impl<V: Real, S: Real> DeviceSubdomains<V, S> {
    /// Levels, domains and maps.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// New inverses from a matrix of the place, of the pattern and the layout that was built for: nothing travels and nobody waits.
    ///
    /// Values are not checked: a domain whose numbers are of no use is replaced by its diagonal blocks, and [`repairs`](Self::repairs) names it.
    ///
    /// # Errors
    /// [`Error::Pattern`] for another pattern or layout, [`Error::Device`] when the place has failed.
    pub fn update_here(&mut self, a: &DeviceMatrix<V, S>) -> Result<(), Error> {
        self.follow(a, None)
    }

    /// As [`update_here`](Self::update_here), for the domains that hold one of the block rows `touched`, on every level; the list travels.
    ///
    /// # Errors
    /// As there, and [`Error::Shape`] for a row that does not exist.
    pub fn patch_here(&mut self, a: &DeviceMatrix<V, S>, touched: &[u32]) -> Result<(), Error> {
        let rows = self.pattern.rows();
        match touched.iter().find(|i| **i as usize >= rows) {
            Some(&i) => {
                Err(Error::Shape { what: "touched block rows", expected: rows, found: i as usize + 1 })
            }
            None => self.follow(a, Some(touched)),
        }
    }

    /// Domains that were not positive definite to round-off, with what was done to them: (level, domain, repair). One wait.
    ///
    /// Nodes in no domain follow the domains of the last level, under the number of levels.
    ///
    /// # Errors
    /// [`Error::Device`] when the place has failed.
    pub fn repairs(&self) -> Result<Vec<(usize, usize, Repair)>, Error> {
        let mut codes = self.numbers.repairs(&self.application)?.into_iter();
        let levels = self.plan.levels();
        let count =
            |level| if level < levels { self.plan.domains(level) } else { self.plan.left_out().len() };
        let mut found = Vec::new();
        for level in 0..=levels {
            let level_codes = codes.by_ref().take(count(level)).enumerate();
            found.extend(level_codes.filter_map(|(d, repair)| repair.map(|r| (level, d, r))));
        }
        Ok(found)
    }

    fn follow(&mut self, a: &DeviceMatrix<V, S>, touched: Option<&[u32]>) -> Result<(), Error> {
        if !Pattern::same(a.pattern(), &self.pattern) || a.format() != self.matrix.format() {
            return Err(Error::Pattern { what: "device matrix" });
        }
        self.numbers.compute(&self.application, a.values(), touched)
    }
}

impl<V: Real, S: Real> Preconditioner<DeviceVector<V>> for DeviceSubdomains<V, S> {
    fn apply(&mut self, r: &DeviceVector<V>, z: &mut DeviceVector<V>) {
        self.application.run(r, &mut |_, _| {}, z);
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

impl<V: Real, S: Real> DeviceSubdomains<V, S> {
    /// Moves the values of a host matrix, and takes them.
    fn move_and_follow<T: Real>(
        &mut self,
        system: System<'_, T>,
        touched: Option<&[u32]>,
    ) -> Result<Reused, SetupError> {
        system.check()?;
        let whole = system.whole()?;
        let merged = System { contact: None, matrix: &whole, ..system };
        if !self.plan.serves(&self.pattern, merged) {
            *self = self.recipe.build_from(merged, &self.on)?;
            return Ok(Reused::Nothing);
        }
        self.recipe.recipe.check(&self.plan, merged)?;
        coarsen_backend::Matrix::set_values(&mut self.matrix, &*whole)?;
        self.numbers.compute(&self.application, self.matrix.values(), touched)?;
        Ok(Reused::Structure)
    }
}
