//! Contact of triangles in device memory: detection, energy and the bound of steps.
//!
//! | file | step |
//! |---|---|
//! | `surface` | what all kernels are given |
//! | `search` | candidates: pairs whose boxes overlap |
//! | `touches` | the candidates that are near, as elements |
//! | `bound` | the largest step along a displacement |

mod bound;
mod search;
mod surface;
mod touches;

use std::fmt;

use coarsen_core::{Dot, Error, Real, Vector};
use coarsen_elastic::{Curvature, ElementKernel, SurfaceKernel};

use self::bound::Bound;
use self::search::Search;
use self::surface::Surface;
use self::touches::{BLOCKS, CONTACT, FRICTION, Touches};
use crate::program::NONE;
use crate::{DeviceBackend, DeviceContacts, DeviceScalar, DeviceStream, DeviceVector};

/// By how much boxes are larger than half of the thickness, in units of the thickness.
const SLACK: f64 = 0.25;

/// The share of this in which nodes count as inside: the rest is for round-off.
const INSIDE: f64 = 0.99;

/// A line search may lengthen a step up to this α.
const LONGEST: f64 = 16.0;

/// The first capacities: entries of cells for each part, candidates for each query, and pairs that are near.
const CAPACITIES: [usize; 3] = [8, 16, 64];

/// The largest capacity. A count that kernels cannot represent is the largest index, which is above it.
const LIMIT: usize = i32::MAX as usize;

/// The length of a list of length `now` that needs this many entries.
fn longer(what: &'static str, needed: usize, now: usize) -> Result<usize, Error> {
    match needed {
        _ if needed <= now => Ok(now),
        _ if needed <= LIMIT => Ok((needed + needed / 2).min(LIMIT)),
        count => Err(Error::TooLarge { what, count, limit: LIMIT }),
    }
}

/// Contact of a surface of triangles with itself in device memory: the counterpart of `ClothContact` of `coarsen_contact`, of
/// which [`SurfaceKernel`] is made.
///
/// A [`search`](Self::search) finds candidates for all positions near x, or near a line from x; [`max_step`](Self::max_step)
/// searches along its displacement. Energy, gradient and Hessian are those at positions for which the last search serves: so a
/// line search needs no other search. In `f64` candidates and bounds below 1 are those of the host, to the last bit; energies and
/// derivatives are within the round-off of a logarithm. Every run gives the same bits. Friction, if the surface has it, is that of the
/// pairs that are near in the last [`grip`](Self::grip); its energy is added. Held nodes stay where the kernel has them.
///
/// Nothing synchronises or allocates, except [`grow`](Self::grow). Lists have a fixed capacity. Energy, gradient and Hessian are NaN if
/// a list is too small, a position is not finite, or a free node is outside of the last search; and before the first search. With
/// friction they are NaN until `grip`, also after `grow`. A bound is NaN if a list is too small or a position is not finite. `grow`
/// tells which of these it was, and a step is to be computed again. *Cost* of a search: about thirty launches and a pass over the
/// boxes; of an evaluation: a distance for each candidate. *Memory* in `f64` 2.2 KB for each pair that is near, the same again for
/// friction, 20 bytes for each candidate, and 32 for each entry of a cell. *Reference* Li et al. 2020, "P-Cloth", ACM TOG 39(6), §3.2
/// and §4.1.
pub struct DeviceClothContact<V: Real> {
    pair: ElementKernel,
    friction: Option<ElementKernel>,
    surface: Surface<V>,
    search: Search,
    bound: Bound,
    near: Near<V>,
}

/// The pairs that are near, those with friction, and the blocks of both.
struct Near<V: Real> {
    contact: Touches<V>,
    friction: Option<Touches<V>>,
    stream: DeviceStream<V>,
    values: DeviceVector<V>,
}

impl<V: Real> Near<V> {
    /// Allocates `capacity` elements, and as many of friction.
    fn new(
        surface: &Surface<V>,
        (pair, friction): (&ElementKernel, Option<&ElementKernel>),
        capacity: usize,
    ) -> Result<Self, Error> {
        let backend = &surface.backend;
        let new = |kernel, numbers| Touches::new(surface, (kernel, numbers), capacity);
        let blocks = BLOCKS * capacity * (1 + usize::from(friction.is_some()));
        let near = Self {
            contact: new(pair, CONTACT)?,
            friction: friction.map(|friction| new(friction, FRICTION)).transpose()?,
            stream: DeviceStream::of_blocks(backend, surface.free, blocks)?,
            values: backend.zeros(9 * blocks)?,
        };
        if near.friction.is_some() {
            // Until pairs of friction are listed they have one block, (0, 0) of the first element, which is NaN.
            let (mut queue, places) = (backend.queue(), near.stream.list());
            queue.fill_list(places, 2 * blocks, NONE);
            queue.fill_list(places, 2 * (BLOCKS * capacity + 1), 0);
        }
        Ok(near)
    }
}

impl<V: Real> DeviceClothContact<V> {
    /// Uploads a surface and compiles the kernels. There are no candidates before the first search.
    ///
    /// # Errors
    /// [`Error::Shape`] for nodes that do not exist, lists of different lengths, and a surface without triangles or without free nodes;
    /// [`Error::NotFinite`] for positions of held nodes and lengths at rest, [`Error::Parameter`] unless 0 ≤ min_distance < thickness
    /// in the precision of the backend, or if friction has other held nodes; [`Error::TooLarge`], [`Error::Memory`], [`Error::Build`]
    /// and [`Error::Device`] of the backend.
    pub fn new<S>(backend: &DeviceBackend<V, S>, of: &SurfaceKernel) -> Result<Self, Error> {
        let surface = Surface::new(backend, of)?;
        let [cells, pairs, near] = CAPACITIES;
        let (cells, pairs) = (cells * surface.parts(), pairs * surface.queries());
        let search = Search::new(&surface, [cells, pairs])?;
        let (pair, friction) = (of.pair.clone(), of.friction.clone());
        let near = Near::new(&surface, (&pair, friction.as_ref()), near)?;
        let bound = Bound::new(&surface, pairs)?;
        Ok(Self { pair, friction, surface, search, bound, near })
    }

    /// Finds the candidates for positions near x, or near x + t d for t from 0 to 1. Does not synchronise. *Panics* on a wrong length,
    /// as do the others.
    pub fn search(&mut self, x: &DeviceVector<V>, along: Option<&DeviceVector<V>>) {
        along.into_iter().chain([x]).for_each(|x| self.assert_fits(x));
        let margin = V::from_f64(SLACK + 0.5) * self.surface.thickness;
        self.search.run(&self.surface, x, along, margin);
    }

    /// Takes the pairs and the forces of friction at x, where a step begins, after a search around x. Does not synchronise.
    pub fn grip(&mut self, x: &DeviceVector<V>) {
        if self.has_friction() {
            self.search(x, None);
        }
        let Self { surface, search, near: Near { contact, friction, stream, .. }, .. } = self;
        if let Some(touches) = friction {
            touches.list(surface, search, x, (stream, BLOCKS * contact.capacity));
            touches.sort(surface);
            touches.elements.renew(x);
        }
    }

    /// Lists the pairs that are near at x.
    fn list(&self, x: &DeviceVector<V>) {
        self.assert_fits(x);
        self.near.contact.list(&self.surface, &self.search, x, (&self.near.stream, 0));
    }

    /// The energy at x and the magnitude of its terms, J. Does not synchronise.
    pub fn energy(&self, x: &DeviceVector<V>) -> Dot<DeviceScalar<V>> {
        self.list(x);
        let own = self.near.contact.elements.energy(x);
        self.near.friction.iter().map(|touches| touches.elements.energy(x)).fold(own, |sum, more| Dot {
            value: sum.value + more.value,
            magnitude: sum.magnitude + more.magnitude,
        })
    }

    /// Adds the gradient: g += ∇E(x), in N.
    pub fn add_gradient(&self, x: &DeviceVector<V>, g: &mut DeviceVector<V>) {
        self.list(x);
        self.near.contact.sort(&self.surface);
        self.near.contact.elements.add_gradient(x, g);
        self.add_friction(x, g);
    }

    /// Adds the gradient of friction alone.
    pub(crate) fn add_friction(&self, x: &DeviceVector<V>, g: &mut DeviceVector<V>) {
        self.near.friction.iter().for_each(|touches| touches.elements.add_gradient(x, g));
    }

    /// Whether there is friction.
    pub(crate) fn has_friction(&self) -> bool {
        self.near.friction.is_some()
    }

    /// Replaces a set by the Hessian at x, positive semidefinite; that of friction has this curvature. It has at most
    /// [`blocks`](Self::blocks) blocks. Does not synchronise.
    ///
    /// # Errors
    /// Those of [`DeviceContacts::assemble`].
    pub fn hessian(
        &mut self,
        x: &DeviceVector<V>,
        curvature: Curvature,
        to: &mut DeviceContacts<V>,
    ) -> Result<(), Error> {
        self.list(x);
        let Near { contact, friction, stream, values } = &mut self.near;
        stream.sort_written()?;
        contact.elements.write_hessian(x, curvature, values, 0);
        let first = BLOCKS * contact.capacity;
        friction.iter().for_each(|touches| touches.elements.write_hessian(x, curvature, values, first));
        to.assemble(stream, values)
    }

    /// The largest number of blocks of a Hessian, until lists [grow](Self::grow).
    pub fn blocks(&self) -> usize {
        BLOCKS * self.near.contact.capacity * (1 + usize::from(self.near.friction.is_some()))
    }

    /// An α until which no pair comes nearer than a tenth of the thickness, or than it is at x if that is less, after a search
    /// along d. At least 1 without an impact before, and at most 16; NaN if pairs are missing. Does not synchronise.
    pub fn max_step(&mut self, x: &DeviceVector<V>, d: &DeviceVector<V>) -> DeviceScalar<V> {
        self.search(x, Some(d));
        let slack = V::from_f64(INSIDE * SLACK) * self.surface.thickness;
        self.bound.of(&self.surface, &self.search, [x, d], [slack, V::from_f64(LONGEST)])
    }

    /// Enlarges the lists that were too small since the last call, and returns whether there were any: what was computed since then
    /// is to be computed again, from a search or, with friction, from [`grip`](Self::grip) on. Results do not depend on the lengths of
    /// lists. Returns false after evaluations before the first search, or where positions are not finite. Synchronises once.
    ///
    /// # Errors
    /// [`Error::Memory`] if longer lists do not fit: nothing has changed then, and a later call tries again. [`Error::TooLarge`] for a
    /// list above 2³¹ entries. [`Error::Parameter`] if something was evaluated at finite positions outside of the last search,
    /// unless lists grow; [`Error::Allocation`] and [`Error::Device`] of the backend.
    pub fn grow(&mut self) -> Result<bool, Error> {
        let mut found = [0; 4];
        self.surface.backend.queue().read_list(&self.surface.status, &mut found)?;
        let grown = self.enlarge(found.map(|n| n as usize));
        if !matches!(grown, Err(Error::Memory { .. })) {
            self.surface.backend.queue().fill_list(&self.surface.status, found.len(), 0);
        }
        grown
    }

    /// Replaces the lists that are shorter than these counts, all or none.
    fn enlarge(&mut self, [cells, pairs, near, outside]: [usize; 4]) -> Result<bool, Error> {
        let Self { pair, friction, surface, search, bound, near: touches } = self;
        let cells = longer("entries of the cells of a search for contact", cells, search.cells)?;
        let pairs = longer("candidates of contact", pairs, search.pairs)?;
        let capacity = longer("pairs in contact", near, touches.contact.capacity)?;
        let (searches, evaluates) =
            (cells > search.cells || pairs > search.pairs, capacity > touches.contact.capacity);
        let found = searches.then(|| Search::new(surface, [cells, pairs])).transpose()?;
        let bounds = searches.then(|| Bound::new(surface, pairs)).transpose()?;
        let lists =
            evaluates.then(|| Near::new(surface, (&*pair, friction.as_ref()), capacity)).transpose()?;
        if searches {
            surface.backend.queue().fill_list(&surface.missing, 1, 1);
        }
        found.into_iter().for_each(|found| *search = found);
        bounds.into_iter().for_each(|bounds| *bound = bounds);
        lists.into_iter().for_each(|lists| *touches = lists);
        let grows = searches || evaluates;
        if outside > 0 && !grows {
            let (name, range) = ("nodes outside of the last search", "0; call `search` or `max_step` before");
            return Err(Error::Parameter { name, value: outside as f64, range });
        }
        Ok(grows)
    }

    /// The candidates of the last search: a query (vertices, then edges) and a part (triangles, then edges), sorted.
    /// Synchronises three times.
    ///
    /// # Errors
    /// [`Error::Parameter`] if some are missing, since positions are not finite or lists are to [grow](Self::grow);
    /// [`Error::Device`] of the backend.
    pub fn candidates(&self) -> Result<Vec<[u32; 2]>, Error> {
        let (mut missing, mut starts) = ([0], vec![0; self.surface.queries() + 1]);
        let mut queue = self.surface.backend.queue();
        queue.read_list(&self.surface.missing, &mut missing)?;
        if missing != [0] {
            let (name, range) = ("the flag of missing candidates", "0; call `grow`, and search again");
            return Err(Error::Parameter { name, value: 1.0, range });
        }
        queue.read_list(&self.search.starts, &mut starts)?;
        let mut found = vec![0; 2 * starts[self.surface.queries()] as usize];
        queue.read_list(&self.search.found, &mut found)?;
        Ok(found.as_chunks().0.to_vec())
    }

    fn assert_fits(&self, x: &DeviceVector<V>) {
        assert_eq!(x.size(), 3 * self.surface.free, "contact of triangles: wrong length");
        self.surface.backend.assert_same(x.backend());
    }
}

impl<V: Real> fmt::Debug for DeviceClothContact<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Surface { nodes, triangles, backend, .. } = &self.surface;
        write!(f, "contact of {triangles} triangles of {nodes} nodes on {backend:?}")
    }
}
