//! Multilevel domains whose numbers, and structure, are computed where they are used.

use std::sync::Arc;

use coarsen_backend::{Backend, Matrix, Reused, Setup, SetupError, Update};
use coarsen_core::{Class, Error, Preconditioner, Real, Vector};
use coarsen_schwarz::{Coarse, Plan, Repair, Schwarz, Storage, Weights};
use coarsen_sparse::{Pattern, System};

use crate::backend::same_length;
use crate::program::real;
use crate::schwarz::apply::Application;
use crate::schwarz::lists::{HostLists, Lists};
use crate::schwarz::numbers::{Couplings, Gathered, Numbers};
use crate::schwarz::structure::{Lacking, MOST, Structure, rooms};
use crate::{DeviceMatrix, DeviceVector, OpenCl};

/// [`Schwarz`] computed on the device: inverses from a matrix that lives there, and, where asked for, order, domains and levels too.
///
/// *Use* where the matrix is assembled on the device, or where that is faster than the host; else [`Schwarz`] itself builds at any place. The
/// coarsest level is always cut into domains. Contact is merged into the matrix: a new pair is a new pattern, and builds anew.
/// *Reference* Wu, Wang, Wang 2022, §5 and §6.
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
    /// Domains, levels, precision; `coarse` and `refresh` are not looked at, `order` and `coupling` by [`By::Host`] alone. Other `weights` than
    /// [`Weights::Ones`] are refused with [`Error::Parameter`]: inverses come out of their elimination as they are applied.
    pub recipe: Schwarz,
    /// Who chooses order, domains and levels.
    pub structure: By,
}

/// Who chooses order, domains and levels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum By {
    /// The host, as [`Schwarz`] does: full domains along strong couplings.
    #[default]
    Host,
    /// The device, as Wu, Wang, Wang 2022 do (§5): stretches of a Morton curve, split into connected parts; domains of 32 nodes at most. It can be done
    /// anew in every time step without a wait ([`DeviceSubdomains::restructure_here`]).
    Device,
}

impl Default for DeviceSchwarz {
    fn default() -> Self {
        Self { recipe: Schwarz::multilevel(), structure: By::Host }
    }
}

/// What [`DeviceSchwarz`] builds.
pub struct DeviceSubdomains<V: Real, S: Real = V> {
    recipe: DeviceSchwarz,
    on: OpenCl<V, S>,
    pattern: Arc<Pattern>,
    /// Where values of the host land.
    matrix: DeviceMatrix<V, S>,
    application: Application<V>,
    numbers: Numbers,
    levels: Levels,
}

/// Where the structure is known.
enum Levels {
    Host(Plan),
    Device(Box<Structure>),
}

impl<T: Real, V: Real, S: Real> Setup<T, OpenCl<V, S>> for DeviceSchwarz {
    type Built = DeviceSubdomains<V, S>;

    fn build_from(
        &self,
        system: System<'_, T>,
        on: &OpenCl<V, S>,
    ) -> Result<DeviceSubdomains<V, S>, SetupError> {
        system.check()?;
        if self.recipe.weights != Weights::Ones {
            let range = "Weights::Ones (0) where a device computes inverses; Schwarz itself takes Weights::Energy (1) at every place";
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
    /// The type that inverses are stored in, and its bytes.
    fn stored(&self) -> (&'static str, usize) {
        match self.recipe.storage {
            Storage::Single => (real::<f32>(), size_of::<f32>()),
            Storage::Double => (real::<f64>(), size_of::<f64>()),
        }
    }

    fn by_host<T: Real, V: Real, S: Real>(
        &self,
        system: System<'_, T>,
        on: &OpenCl<V, S>,
    ) -> Result<DeviceSubdomains<V, S>, SetupError> {
        let recipe = Schwarz { coarse: Coarse::Domains, ..self.recipe };
        let plan = recipe.plan(system)?;
        let inverses = plan.values() * self.stored().1;
        on.check_room(on.matrix_bytes(system.matrix) + inverses as u64)?;
        let matrix = on.matrix(system.matrix)?;
        let (host, place) = (HostLists::of(&plan)?, on.plain());
        let gathered = Gathered::new(&place, &Couplings::of(&plan, &host, &matrix))?;
        let lists = Lists::new(&place, &plan, &host)?;
        let left_out = plan.left_out().to_vec();
        let built = self.with(system, on, matrix, lists, gathered, (&left_out, Levels::Host(plan)))?;
        built.numbers.compute(&built.application, &built.matrix, None)?;
        Ok(built)
    }

    fn by_device<T: Real, V: Real, S: Real>(
        &self,
        system: System<'_, T>,
        on: &OpenCl<V, S>,
    ) -> Result<DeviceSubdomains<V, S>, SetupError> {
        let Schwarz { domain, levels, .. } = self.recipe;
        if domain > MOST {
            let (name, range) = ("Schwarz::domain", "at most 32 where a device chooses them");
            return Err(Error::Parameter { name, value: domain as f64, range }.into());
        }
        self.recipe.check(&[], system)?;
        let nodes = system.matrix.pattern().rows();
        let mut needed = Vec::new();
        loop {
            let built = self.with_rooms(system, on, rooms(nodes, domain, levels, &needed))?;
            // Levels are found one after the other, so that each of them is made room for once.
            match built.lacking()? {
                Some(Lacking { level, count, .. }) => {
                    needed.resize(level, 0);
                    needed[level - 1] = count;
                }
                None => return Ok(built),
            }
        }
    }

    /// A structure of the device with room for so many nodes on every level.
    fn with_rooms<T: Real, V: Real, S: Real>(
        &self,
        system: System<'_, T>,
        on: &OpenCl<V, S>,
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
        on: &OpenCl<V, S>,
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

impl<V: Real, S: Real> DeviceSubdomains<V, S> {
    /// Nodes of every level. One wait where the device chose them.
    ///
    /// # Errors
    /// [`Error::Device`] when the place has failed.
    pub fn nodes(&self) -> Result<Vec<usize>, Error> {
        match &self.levels {
            Levels::Host(plan) => Ok((0..plan.levels()).map(|level| plan.nodes(level)).collect()),
            Levels::Device(structure) => {
                let nodes = structure.nodes(&self.on.plain())?;
                Ok(nodes.into_iter().take_while(|count| *count > 0).collect())
            }
        }
    }

    /// Values of all inverses that there is room for.
    pub fn values(&self) -> usize {
        self.application.lists.values
    }

    /// New inverses from a matrix of the place, of the pattern and the layout that was built for: nothing travels and nobody waits.
    ///
    /// Values are not checked: a domain whose numbers are of no use is replaced by its diagonal blocks, and [`repairs`](Self::repairs) names it. A node that
    /// had no couplings when the structure was chosen (a constraint) is solved alone until the structure is chosen anew; [`check`](Self::check) names one
    /// that has some now.
    ///
    /// # Errors
    /// [`Error::Pattern`] for another pattern or layout, [`Error::Device`] when the place has failed.
    pub fn update_here(&mut self, a: &DeviceMatrix<V, S>) -> Result<(), Error> {
        self.check_same(a)?;
        self.numbers.compute(&self.application, a, None)
    }

    /// As [`update_here`](Self::update_here), for the domains that hold one of the block rows `touched`, on every level; the list travels.
    ///
    /// # Errors
    /// As there, and [`Error::Shape`] for a row that does not exist, or for more rows than there are.
    pub fn patch_here(&mut self, a: &DeviceMatrix<V, S>, touched: &[u32]) -> Result<(), Error> {
        self.check_same(a)?;
        self.check_rows(touched)?;
        self.numbers.compute(&self.application, a, Some(touched))
    }

    /// New order, domains and levels along the curve through `positions`, three numbers a node, and all inverses: nothing travels and nobody waits.
    ///
    /// A level that has more nodes than there is room for is left out, with those above it; [`check`](Self::check) says so.
    /// Where the host chose the structure it stays, as in [`update_here`](Self::update_here).
    ///
    /// # Errors
    /// As there, and [`Error::Shape`] for another number of positions.
    pub fn restructure_here(
        &mut self,
        a: &DeviceMatrix<V, S>,
        positions: &DeviceVector<V>,
    ) -> Result<(), Error> {
        self.check_same(a)?;
        same_length("positions", 3 * self.pattern.rows(), positions.size())?;
        self.on.assert_same(positions.on());
        self.structure(Some(a), Some(positions))
    }

    /// Domains that were not positive definite to round-off, with what was done to them: (level, domain, repair). One wait.
    ///
    /// Nodes in no domain follow the domains of the last level, under the number of levels.
    ///
    /// # Errors
    /// [`Error::Device`] when the place has failed.
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

    /// Whether the structure serves the values and positions of the last update. Two waits.
    ///
    /// # Errors
    /// [`Error::Capacity`] where nodes have moved ([`restructure_here`](Self::restructure_here)) so that a level has no room for its nodes: it is left out,
    /// and with it those above; a build anew makes the room. [`SetupError::Released`] names a node that had no couplings when the structure was chosen, and
    /// has some now: M is positive definite, but no domain knows of them. [`Error::Device`] when the place has failed.
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

    /// A level that the structure has no room for.
    fn lacking(&self) -> Result<Option<Lacking>, Error> {
        match &self.levels {
            Levels::Host(_) => Ok(None),
            Levels::Device(structure) => structure.lacking(&self.on.plain()),
        }
    }

    /// Structure, where the device chooses it, and numbers of `a`, or of what the host moved last.
    fn structure(
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

    /// Moves the values of a host matrix, and takes them.
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
        // The host alone knows which nodes its plan leaves out.
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

    /// A sum of inverses that are symmetric to the bit; a domain that is not positive definite falls back on its diagonal blocks.
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
