//! The energy of all pairs of a surface that are near.
//!
//! | symbol | here | |
//! |---|---|---|
//! | δ | `thickness` | contact begins at this distance |
//! | d, n, w | [`Touch`] | the distance of a pair, its direction, and the weights of the nearest points |
//! | m | `share` | 1; for two edges that are nearly parallel down to 0 |
//! | k | `stiffness` | stiffness of the barrier, N/m |
//! | ξ | [`FLOOR`] δ | the distance that is kept |
//! | φ | [`Barrier`] | −k (δ − d)² ln((d − ξ)/(δ − ξ)) for ξ < d < δ |
//!
//! > E = Σ m φ(d),  ∂E/∂x_a = m φ' w_a n + φ ∂m/∂x_a,  H_ab = m φ'' w_a w_b n nᵀ    (1)
//!
//! Repulsion springs in the implicit system: Baraff & Witkin 1998, §6; Tamstorf, Jones & McCormick 2015, §3;
//! Wu, Wang & Wang 2022, §8. φ and m: Li et al. 2020, "Incremental potential contact", ACM TOG 39(4), Eq. 6 and
//! §4.5. ξ and the bound on steps: Li, Kaufman & Jiang 2021, "Codimensional incremental potential contact", §4.
//!
//! A spring that begins with its full stiffness at δ makes Newton's method switch pairs on and off: the force has a
//! kink where the pairs of cloth at rest are. φ is twice continuously differentiable there.

use std::ops::Range;
use std::sync::Arc;

use coarsen_core::parallel;
use coarsen_elastic::{Barrier, BodyError, Curvature, Energy, Law, Nodes, Potential, Touching};
use coarsen_mesh::vector::{dot, sub};
use coarsen_sparse::Pattern;

use super::advance::{approaches, impact_before};
use super::distance::gap;
use super::drift;
use crate::error::{positive, undetected};
use crate::shape::size;
use crate::{Aabb, Broad, ContactError, Impact, Pair, Search, Topology, Touch};

/// The distance that steps keep, in units of the thickness.
const FLOOR: f64 = 0.1;

/// Candidates are looked for this much further than needed, in units of the thickness on each side, so that
/// they serve until a node has moved by it against the others.
const SLACK: f64 = 0.5;

/// A line search may lengthen a step up to this α.
const LONGEST: f64 = 16.0;

/// The number of contacts per task of a parallel loop, and of scalar operations per contact.
const LEAF: usize = 256;
const WORK: usize = 60;

/// Contact of a surface of triangles with itself, by a barrier that begins at a distance: cloth, the surfaces of
/// bodies, and obstacles of triangles whose nodes are held.
///
/// Pairs are a vertex and a triangle, or two edges, without a common node. E depends on x alone: pairs are found
/// at each x at which E is evaluated. E and its gradient are continuous, and the Hessian φ'' n nᵀ is positive
/// semidefinite, since it contains neither the turning of n nor second derivatives of m. Forces and torques of a
/// pair add up to zero. Friction is a potential of its own, [`ClothFriction`](crate::ClothFriction).
///
/// *Choose* k such that kδ is a few times the largest force that presses a pair together; it need not be exact, since
/// the force has no upper bound. A pair under a small force f is at about δ − d = √(f δ / 3 k) and resists with the
/// stiffness √(12 k f / δ).
///
/// *Fail-safe* [`max_step`](Potential::max_step) bounds a step such that no pair comes nearer than a tenth of
/// the thickness; a pair that is there already comes no nearer, but may part and slide. So no pair of triangles
/// crosses in a descent that starts without a crossing, whatever the energy.
/// [`blocking`](Self::blocking) names the pair that bounded the last step.
///
/// *Cost* of a detection: two hashes and a query per vertex and edge, if a node has moved by more than half a
/// thickness against the others since the last search, else a distance per candidate. It runs in parallel, and its result is
/// bitwise the same for any number of threads. *Errors*: if positions are not finite, energy and gradient are
/// NaN, and [`take_fault`](Self::take_fault) returns the reason.
///
/// ```
/// use coarsen_contact::ClothContact;
/// use coarsen_elastic::Potential;
/// // A vertex 0.1 above a triangle; its own triangle stands on end.
/// let x = [[0.0, 0.0, 0.0], [3.0, 0.0, 0.0], [0.0, 3.0, 0.0], [1.0, 1.0, 0.1], [2.0, 1.0, 2.1], [1.0, 2.0, 2.1]];
/// let mut contact = ClothContact::new(&[[0, 1, 2], [3, 4, 5]], &[false; 6], &x, 0.3, 50.0)?;
/// let x = x.as_flattened();
/// assert_eq!(contact.detect(x)?.len(), 1);
/// // −50 (0.3 − 0.1)² ln((0.1 − 0.03) / (0.3 − 0.03))
/// assert!((contact.energy(x).value - 50.0 * 0.2 * 0.2 * (27.0 / 7.0_f64).ln()).abs() < 1e-12);
/// let mut down = vec![0.0; 18];
/// down[11] = -1.0; // the vertex may move by 0.07: up to 0.03, which is a tenth of 0.3
/// let step = contact.max_step(x, &down);
/// assert!(step < 0.07 && step > 0.06);
/// # Ok::<(), coarsen_contact::ContactError>(())
/// ```
pub struct ClothContact<S = Broad> {
    thickness: f64,
    barrier: Barrier,
    nodes: Nodes,
    pattern: Arc<Pattern>,
    parts: Topology,
    rest: Vec<[f64; 3]>,
    search: S,
    /// Pairs that may be near, and the positions at which they were found; empty before the first search.
    candidates: Vec<Pair>,
    searched: Vec<[f64; 3]>,
    /// The positions of all nodes at the last detection; empty before the first detection.
    at: Vec<[f64; 3]>,
    found: Vec<Touch>,
    swept: Vec<Pair>,
    blocking: Option<(f64, Pair)>,
    fault: Option<ContactError>,
}

impl ClothContact {
    /// Returns the contact of a surface at rest at `positions`, with `held` nodes, a thickness δ in m, and a
    /// stiffness k in N/m of each pair.
    ///
    /// # Errors
    /// [`ContactError`] for corners that do not exist, triangles without area, positions that are not finite, a
    /// thickness or k that is not positive, and [`ContactError::Close`] for a pair that is nearer than a tenth of
    /// the thickness.
    pub fn new(
        triangles: &[[u32; 3]],
        held: &[bool],
        positions: &[[f64; 3]],
        thickness: f64,
        stiffness: f64,
    ) -> Result<Self, ContactError> {
        Self::with(Broad::default(), triangles, held, positions, thickness, stiffness)
    }
}

impl<S: Search> ClothContact<S> {
    /// As [`new`](ClothContact::new), with another search, for example one whose work is shared by ranks.
    ///
    /// # Errors
    /// Those of [`new`](ClothContact::new) and of the search.
    pub fn with(
        search: S,
        triangles: &[[u32; 3]],
        held: &[bool],
        positions: &[[f64; 3]],
        thickness: f64,
        stiffness: f64,
    ) -> Result<Self, ContactError> {
        let thickness = positive("the thickness of contact", thickness)?;
        let stiffness = positive("the stiffness of contact", stiffness)?;
        let nodes = Nodes::new(held, positions)?;
        let pattern = Arc::new(Pattern::diagonal(nodes.free())?);
        let reach = (1.0 - FLOOR) * thickness;
        let parts = Topology::new(triangles, held, positions)?;
        let rest = positions.to_vec();
        let mut contact = Self {
            thickness,
            barrier: Barrier { stiffness: stiffness * reach * reach, reach },
            nodes,
            pattern,
            parts,
            rest,
            search,
            candidates: Vec::new(),
            searched: Vec::new(),
            at: Vec::new(),
            found: Vec::new(),
            swept: Vec::new(),
            blocking: None,
            fault: None,
        };
        contact.detect_at(positions.to_vec())?;
        let floor = FLOOR * thickness;
        // A pair that touches has no direction and is not among the touches.
        let close = |pair: &Pair| gap(pair, &pair.nodes().map(|v| positions[v as usize])).distance <= floor;
        let first = contact.search.first(&contact.candidates, 1.0, &|pair, _| close(pair).then_some(0.0))?;
        match first {
            Some((_, pair)) => Err(ContactError::Close { pair, floor }),
            None => Ok(contact),
        }
    }

    /// The search, for example to ask for its counts.
    pub fn search(&self) -> &S {
        &self.search
    }

    /// Moves the held nodes without a look at what is in their way ([`carry`](Self::carry) looks); `positions` has one
    /// entry per node of the surface. *Panics* on another length.
    pub fn hold(&mut self, positions: &[[f64; 3]]) {
        self.nodes.hold(positions);
    }

    /// Moves the held nodes to `positions` of all nodes, while free nodes move from x along d. *Panics* on wrong lengths.
    ///
    /// # Errors
    /// [`ContactError::Crossed`] names the first pair that would come nearer than a tenth of the thickness, and
    /// [`ContactError::Position`] a node that is not finite. The held nodes are then where they were.
    pub fn carry(&mut self, x: &[f64], d: &[f64], positions: &[[f64; 3]]) -> Result<(), ContactError> {
        self.check("carry", d);
        self.detect(x)?;
        let by = |node: u32| match self.nodes.slot(node) {
            Some(_) => self.moved(node, d),
            None => sub(positions[node as usize], self.at[node as usize]),
        };
        let by: Vec<[f64; 3]> = (0..self.nodes.count() as u32).map(by).collect();
        if let Some((time, pair)) = self.sweep(&by)?.0.filter(|(time, _)| *time < 1.0) {
            return Err(ContactError::Crossed { pair, time });
        }
        self.nodes.hold(positions);
        Ok(())
    }

    /// The distance at which contact begins.
    pub fn thickness(&self) -> f64 {
        self.thickness
    }

    /// The pair that bounded the last [`max_step`](Potential::max_step), and the bound; `None` if none did.
    pub fn blocking(&self) -> Option<(f64, Pair)> {
        self.blocking
    }

    /// Takes the error of the last evaluation that failed since the last call; `None` if none did.
    ///
    /// The methods of [`Potential`] return NaN then, or no contacts. A descent that recovers has evaluated NaN too,
    /// so this is a failure of a step only if the descent fails.
    pub fn take_fault(&mut self) -> Option<ContactError> {
        self.fault.take()
    }

    /// Whether pairs can be detected at x; if not, the error is kept.
    fn look(&mut self, x: &[f64]) -> bool {
        self.detect(x).map(drop).map_err(|error| self.fault = Some(error)).is_ok()
    }

    /// Finds the pairs that are near at x and returns them, sorted. *Panics* on a wrong length.
    ///
    /// # Errors
    /// [`ContactError::Position`] for the first node whose position is not finite. There are then no pairs.
    pub fn detect(&mut self, x: &[f64]) -> Result<&[Touch], ContactError> {
        self.check("detect", x);
        let at: Vec<[f64; 3]> = (0..self.nodes.count() as u32).map(|node| self.nodes.at(node, x)).collect();
        if self.at != at {
            self.detect_at(at)?;
        }
        Ok(&self.found)
    }

    fn detect_at(&mut self, at: Vec<[f64; 3]>) -> Result<(), ContactError> {
        self.found.clear();
        self.at.clear();
        if let Some(node) = parallel::position(&at, |x| x.iter().any(|x| !x.is_finite())) {
            return Err(ContactError::Position { node });
        }
        // Whether the candidates contain all pairs that are near.
        if !drift::is_within(&at, &self.searched, SLACK * self.thickness) {
            let reach = (0.5 + SLACK) * self.thickness; // half of the distance of two parts
            self.searched.clear();
            // Until the next search a pair comes nearer by twice the slack at most.
            let most = (1.0 + 2.0 * SLACK) * self.thickness;
            self.search.pairs(
                &self.parts,
                &|node| Aabb::of([at[node as usize]]).grown(reach),
                &|pair| gap(pair, &pair.nodes().map(|v| at[v as usize])).distance <= most,
                &mut self.candidates,
            )?;
            self.searched.clone_from(&at);
        }
        let rest = &self.rest;
        let square = |a: u32, b: u32| {
            let edge = sub(rest[a as usize], rest[b as usize]);
            dot(edge, edge)
        };
        let (thickness, points) = (self.thickness, &at);
        let of = |pair: &Pair| Touch::of(*pair, &pair.nodes().map(|v| points[v as usize]), square, thickness);
        self.search.touches(&self.candidates, &of, &mut self.found)?;
        self.at = at;
        Ok(())
    }

    /// The displacement of a node; 0 for a held node.
    fn moved(&self, node: u32, d: &[f64]) -> [f64; 3] {
        self.nodes.slot(node).map_or([0.0; 3], |slot| [d[3 * slot], d[3 * slot + 1], d[3 * slot + 2]])
    }

    /// The first impact of a motion of all nodes from the last detection, and the α up to which it was looked for.
    fn sweep(&mut self, by: &[[f64; 3]]) -> Result<(Impact, f64), ContactError> {
        if let Some(node) = parallel::position(by, |d| d.iter().any(|d| !d.is_finite())) {
            return Err(ContactError::Position { node });
        }
        let (at, floor) = (&self.at, FLOOR * self.thickness);
        let before = |pair: &Pair, ends: [f64; 2]| {
            let nodes = pair.nodes().map(|v| v as usize);
            impact_before(pair, &nodes.map(|v| at[v]), &nodes.map(|v| by[v]), floor, ends)
        };
        // The candidates contain all pairs that are near until then.
        let last = drift::covered(at, &self.searched, by, SLACK * self.thickness).min(LONGEST);
        if last >= 1.0 {
            let time = |pair: &Pair, end: f64| before(pair, [last, end]);
            return Ok((self.search.first(&self.candidates, last, &time)?, last)); // others stay a thickness apart
        }
        // Against the middle of all, whose motion leads to no impact.
        let middle = drift::middle(by.iter().copied());
        let path = |node: u32| {
            let (x, d) = (at[node as usize], by[node as usize]);
            Aabb::of([x, [0, 1, 2].map(|k| x[k] + (d[k] - middle[k]))]).grown(floor)
        };
        let keep = |pair: &Pair| {
            let nodes = pair.nodes().map(|v| v as usize);
            approaches(pair, &nodes.map(|v| at[v]), &nodes.map(|v| by[v]), floor)
        };
        self.search.pairs(&self.parts, &path, &keep, &mut self.swept)?;
        Ok((self.search.first(&self.swept, 1.0, &|pair, end| before(pair, [1.0, end]))?, 1.0))
    }

    fn check(&self, what: &str, x: &[f64]) {
        assert_eq!(x.len(), 3 * self.nodes.free(), "{what}: wrong length");
    }

    /// φ, φ' and φ'' of a pair; φ is infinite at the distance that is kept, and below.
    fn law(&self, touch: &Touch) -> [f64; 3] {
        self.barrier.at(touch.distance - FLOOR * self.thickness)
    }

    /// The force in N that presses the parts of a pair of the last detection apart: m |φ'|.
    pub(super) fn force(&self, touch: &Touch) -> f64 {
        touch.share * self.law(touch)[1].abs()
    }

    /// ∂E/∂x of the four nodes of a pair of the last detection, in N.
    pub fn slopes(&self, touch: &Touch) -> [[f64; 3]; 4] {
        let [value, slope, _] = self.law(touch);
        let turning = touch.share_gradient(&touch.pair.nodes().map(|node| self.at[node as usize]));
        std::array::from_fn(|a| {
            std::array::from_fn(|c| {
                let along = touch.share * slope * touch.weights[a] * touch.normal[c];
                let soft = turning.map_or(0.0, |turning| value * turning[a][c]);
                along + soft // (1)
            })
        })
    }

    /// m φ'' of a pair of the last detection in N/m: H_ab is this number times w_a w_b n nᵀ.
    pub fn resistance(&self, touch: &Touch) -> f64 {
        self.law(touch)[2] * touch.share
    }

    /// The numbers of the four nodes of a pair among the free nodes; `None` for held nodes.
    pub fn slots(&self, touch: &Touch) -> [Option<usize>; 4] {
        touch.pair.nodes().map(|node| self.nodes.slot(node))
    }

    /// The pairs, or those of a share, among which the pairs of the last detection are, sorted.
    pub fn candidates(&self) -> &[Pair] {
        &self.candidates
    }

    /// The pairs of the last detection, sorted.
    pub fn found(&self) -> &[Touch] {
        &self.found
    }

    /// The nodes, with the held ones where they are now.
    pub(super) fn places(&self) -> &Nodes {
        &self.nodes
    }
}

impl<S: Search> Potential for ClothContact<S> {
    fn nodes(&self) -> usize {
        self.nodes.free()
    }

    fn pattern(&self) -> &Arc<Pattern> {
        &self.pattern
    }

    fn energy(&mut self, x: &[f64]) -> Energy {
        if !self.look(x) {
            return Energy { value: f64::NAN, magnitude: f64::NAN };
        }
        // The search need not be shared by threads.
        let (at, found, barrier, floor) = (&self.at, &self.found, self.barrier, FLOOR * self.thickness);
        let energy = |touch: &Touch| {
            let [value, slope, _] = barrier.at(touch.distance - floor);
            let points = touch.pair.nodes().map(|node| at[node as usize]);
            let terms = points.iter().zip(touch.weights).map(|(x, w)| w.abs() * size(*x)).sum::<f64>();
            touch.share * Energy { value, magnitude: slope.abs() * terms } // (1)
        };
        let leaf = |range: Range<usize>| found[range].iter().map(energy).sum::<Energy>();
        let count = found.len();
        parallel::tree(0..count, LEAF, parallel::worth(count * WORK), &leaf, &|a, b| a + b)
    }

    fn add_gradient(&mut self, x: &[f64], g: &mut [f64]) {
        self.check("add_gradient", g);
        if !self.look(x) {
            return g.fill(f64::NAN);
        }
        for touch in &self.found {
            for (node, slope) in touch.pair.nodes().into_iter().zip(self.slopes(touch)) {
                let Some(slot) = self.nodes.slot(node) else { continue };
                (0..3).for_each(|c| g[3 * slot + c] += slope[c]); // (1)
            }
        }
    }

    fn add_hessian(&mut self, _: &[f64], _: Curvature, _: &mut [f64]) {}

    /// Adds the same contacts for each kind of curvature.
    fn add_contacts(&mut self, x: &[f64], _: Curvature, contacts: &mut Touching) {
        if !self.look(x) {
            return;
        }
        for touch in self.found.iter().filter(|touch| touch.share > 0.0) {
            let (n, k) = (touch.normal, self.resistance(touch));
            contacts.push(touch.stencil(&self.nodes), n.map(|p| n.map(|q| k * p * q))); // (1)
        }
    }

    fn touches(&self) -> bool {
        true
    }

    /// An α until which no pair comes nearer than a tenth of the thickness, or than it is at x if that is less. It is
    /// the largest one below 1; above, it ends where the candidates of the last search do, or at 16.
    fn max_step(&mut self, x: &[f64], d: &[f64]) -> f64 {
        self.check("max_step", d);
        self.blocking = None;
        if !self.look(x) {
            return f64::NAN;
        }
        let by: Vec<[f64; 3]> = (0..self.nodes.count() as u32).map(|node| self.moved(node, d)).collect();
        match self.sweep(&by) {
            Ok((blocking, last)) => {
                self.blocking = blocking;
                blocking.map_or(last, |(t, _)| t)
            }
            Err(error) => {
                self.fault = Some(error);
                f64::NAN
            }
        }
    }

    fn renew(&mut self, x: &[f64]) -> Result<bool, BodyError> {
        self.detect(x).map(|_| false).map_err(undetected)
    }
}
