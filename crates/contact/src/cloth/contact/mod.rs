//! The energy of all pairs of a surface that are near.
//!
//! | symbol | here | |
//! |---|---|---|
//! | δ | `thickness` | contact begins at this distance |
//! | d, n, w | [`Touch`] | the distance of a pair, its direction, and the weights of the nearest points |
//! | m | `share` | 1; for two edges that are nearly parallel down to 0 |
//! | k | `stiffness` | stiffness of the barrier, N/m |
//! | ξ | [`MIN_DISTANCE`] δ | the distance that is kept |
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

mod energy;
mod impacts;
mod kernel;
mod renew;
mod resistance;

use std::sync::Arc;

use coarsen_core::parallel;
use coarsen_elastic::{Barrier, Nodes};
use coarsen_mesh::vector::{dot, sub};
use coarsen_sparse::Pattern;

use self::impacts::Timed;
use self::resistance::Resistance;
use super::distance::gap;
use super::swept_bounds::SweptBounds;
use crate::error::positive;
use crate::{BroadPhase, ContactError, Crossing, Crossings, Pair, Search, Topology, Touch};

/// The distance that steps keep, in units of the thickness.
const MIN_DISTANCE: f64 = 0.1;

/// Pairs are kept at their distance at the start, but between these, in units of the thickness: those that are nearer
/// are pushed apart, so that they can slide.
pub(super) const KEPT: [f64; 2] = [0.2, 0.5];

/// The error of a limit at which the sweeps of a zone end, in units of the thickness.
pub(super) const EXACT: f64 = 0.02;

/// Pairs that stay this far apart do not meet, in units of the thickness: less than what parted pairs keep, by more
/// than the errors of limits, so that they are not found again.
const CLEAR: f64 = KEPT[1] - 5.0 * EXACT;

/// The radius of the bounds in which candidates serve, in units of the thickness.
const SLACK: f64 = 0.5;

/// A line search may lengthen a step up to this α.
const LONGEST: f64 = 16.0;

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
/// *Fail-safe* [`max_step`](coarsen_elastic::Potential::max_step) bounds a step such that no pair comes nearer than a
/// tenth of the thickness; a pair that is there already comes no nearer, but may part and slide. So no pair of
/// triangles crosses in a descent that starts without a crossing, as [`new`](Self::new) checks, whatever the energy. [`blocking`](Self::blocking)
/// names the pair that bounded the last step.
///
/// *Cost* of a detection: two hashes and a query per vertex and edge, if a node has moved by more than half a
/// thickness against the others since the last search, or from the displacement that it searched; if steps are announced
/// ([`start_step`](Self::start_step)) and few nodes have, hashes and queries for these and what is near; else a
/// distance per candidate. A bound on a step searches along its displacement, so that a line search needs no other search.
/// Detection runs in parallel, and its result is bitwise the same for any number of threads. *Errors*: if positions
/// are not finite, energy and gradient are NaN, and [`take_fault`](Self::take_fault) returns the reason.
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
pub struct ClothContact<S = BroadPhase> {
    thickness: f64,
    resistance: Resistance,
    stiffness: f64,
    nodes: Nodes,
    pattern: Arc<Pattern>,
    parts: Topology,
    rest: Vec<[f64; 3]>,
    search: S,
    /// The pairs that may be near for positions in the bounds of the last search.
    candidates: Vec<Pair>,
    bounds: SweptBounds,
    /// The list of a search that has not ended, so that a search that fails leaves the state as it was.
    next: Vec<Pair>,
    /// The positions of all nodes at the last search; empty before the first.
    at: Vec<[f64; 3]>,
    /// Those at the start of the step, if steps are announced.
    start: Vec<[f64; 3]>,
    found: Vec<Touch>,
    /// Whether `found` has the pairs at these positions.
    listed: bool,
    timed: Timed,
    blocking: Option<(f64, Pair)>,
    fault: Option<ContactError>,
    /// Whether the exact Hessian is wanted where the curvature is exact.
    turns: bool,
}

impl ClothContact {
    /// Returns the contact of a surface at rest at `positions`, with `held` nodes, a thickness δ in m, and a
    /// stiffness k in N/m of each pair.
    ///
    /// # Errors
    /// [`ContactError`] for corners that do not exist, triangles without area or with the same corners, positions that
    /// are not finite, and a thickness or k that is not positive. [`ContactError::Intersects`] names an edge that crosses a
    /// triangle, unless all their nodes are held, and [`ContactError::Close`] a pair that is nearer than a tenth of the
    /// thickness.
    pub fn new(
        triangles: &[[u32; 3]],
        held: &[bool],
        positions: &[[f64; 3]],
        thickness: f64,
        stiffness: f64,
    ) -> Result<Self, ContactError> {
        Self::with(BroadPhase::default(), triangles, held, positions, thickness, stiffness)
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
        let reach = (1.0 - MIN_DISTANCE) * thickness;
        let parts = Topology::new(triangles, held, positions)?;
        let rest = positions.to_vec();
        let mut contact = Self {
            thickness,
            resistance: Resistance::Barrier(Barrier { stiffness: stiffness * reach * reach, reach }),
            stiffness,
            nodes,
            pattern,
            parts,
            rest,
            search,
            candidates: Vec::new(),
            bounds: SweptBounds::default(),
            next: Vec::new(),
            at: Vec::new(),
            start: Vec::new(),
            found: Vec::new(),
            listed: false,
            timed: Timed::default(),
            blocking: None,
            fault: None,
            turns: false,
        };
        contact.approach_at(positions.to_vec())?;
        contact.list()?;
        let min_distance = MIN_DISTANCE * thickness;
        // Where an end is nearer than that, the pair is one of those below.
        let far = |Crossing { edge, triangle: face }: &Crossing| {
            edge.iter().all(|&vertex| {
                let pair = Pair::VertexFace { vertex, face: *face };
                gap(&pair, &pair.nodes().map(|v| positions[v as usize])).distance > min_distance
            })
        };
        let crossings = Crossings::new(triangles.to_vec(), held.to_vec()).find(positions);
        if let Some(crossing) = crossings.into_iter().find(far) {
            return Err(ContactError::Intersects(crossing));
        }
        // A pair that touches has no direction and is not among the touches.
        let close =
            |pair: &Pair| gap(pair, &pair.nodes().map(|v| positions[v as usize])).distance <= min_distance;
        let first = contact.search.first(&contact.candidates, 1.0, &|pair, _| close(pair).then_some(0.0))?;
        match first {
            Some((_, pair)) => Err(ContactError::Close { pair, min_distance }),
            None => Ok(contact),
        }
    }

    /// Makes the Hessian with [`Curvature::Exact`](coarsen_elastic::Curvature::Exact) exact; it may then be indefinite.
    ///
    /// *Use* it with Newton's method that projects on demand, for solids that are pressed together: the turning of n
    /// weighs as much as a force over the length of an edge, which in a body under a large strain is its own
    /// stiffness. Without it the method converges linearly.
    /// *Cost*: sixteen blocks for each pair, of which none is shared.
    #[must_use]
    pub fn turning(self) -> Self {
        Self { turns: true, ..self }
    }

    /// The same contact by springs: φ = k/2 (δ − d)² in place of the barrier.
    ///
    /// *Use* for steps of one linear solve: their force is linear, so that the solve finds where a pair rests, while
    /// the slope of a barrier at a small distance moves a pair by a share of that distance alone. *Do not use* in a
    /// descent: its line search would switch pairs on and off. The force is at most k δ; `max_step` keeps pairs apart
    /// as before.
    pub fn with_springs(self) -> Self {
        Self { resistance: Resistance::Springs(self.stiffness), ..self }
    }

    /// The search, for example to ask for its counts.
    pub fn search(&self) -> &S {
        &self.search
    }

    /// Moves the held nodes without a search for pairs that they meet (see [`carry`](Self::carry)); `positions` has one
    /// entry per node of the surface. *Panics* on another length.
    pub fn hold(&mut self, positions: &[[f64; 3]]) {
        self.nodes.hold(positions);
    }

    /// Moves the held nodes to `positions` of all nodes, while free nodes move from x along d. *Panics* on wrong
    /// lengths.
    ///
    /// # Errors
    /// [`ContactError::Crossed`] names the first pair that would come nearer than a tenth of the thickness, and
    /// [`ContactError::Position`] a node that is not finite. The held nodes are then where they were.
    pub fn carry(&mut self, x: &[f64], d: &[f64], positions: &[[f64; 3]]) -> Result<(), ContactError> {
        self.check("carry", d);
        self.approach(x)?;
        let dx = |node: u32| match self.nodes.slot(node) {
            Some(_) => self.moved(node, d),
            None => sub(positions[node as usize], self.at[node as usize]),
        };
        let dx: Vec<[f64; 3]> = (0..self.nodes.count() as u32).map(dx).collect();
        if let Some((time, pair)) = self.sweep(&dx, 1.0)?.0 {
            return Err(ContactError::Crossed { pair, time });
        }
        self.nodes.hold(positions);
        Ok(())
    }

    /// The distance at which contact begins.
    pub fn thickness(&self) -> f64 {
        self.thickness
    }

    /// The pair that bounded the last [`max_step`](coarsen_elastic::Potential::max_step), and the bound; `None` if
    /// none did.
    pub fn blocking(&self) -> Option<(f64, Pair)> {
        self.blocking
    }

    /// Takes the error of the last evaluation that failed since the last call; `None` if none did.
    ///
    /// The methods of [`Potential`](coarsen_elastic::Potential) return NaN then, or no contacts. A descent that
    /// recovers has evaluated NaN too, so this is a failure of a step only if the descent fails.
    pub fn take_fault(&mut self) -> Option<ContactError> {
        self.fault.take()
    }

    /// Whether pairs can be detected at x; if not, the error is kept.
    fn find_at(&mut self, x: &[f64]) -> bool {
        self.detect(x).map(drop).map_err(|error| self.fault = Some(error)).is_ok()
    }

    /// Whether the search lists the touches of all shares, which energies need; if not, the error is kept.
    fn knows_all(&mut self) -> bool {
        if !self.search.is_complete() {
            let reason = "an energy needs all pairs, and each rank has those at its nodes".to_owned();
            self.fault = Some(ContactError::Ranks { reason });
        }
        self.search.is_complete()
    }

    /// Finds the pairs that are near at x and returns them, sorted. *Panics* on a wrong length.
    ///
    /// # Errors
    /// [`ContactError::Position`] for the first node whose position is not finite. There are then no pairs.
    pub fn detect(&mut self, x: &[f64]) -> Result<&[Touch], ContactError> {
        self.check("detect", x);
        self.approach(x)?;
        self.list()?;
        Ok(&self.found)
    }

    /// Finds the candidates at x, which bounds of steps need; touches are not computed.
    fn approach(&mut self, x: &[f64]) -> Result<(), ContactError> {
        let at: Vec<[f64; 3]> = (0..self.nodes.count() as u32).map(|node| self.nodes.at(node, x)).collect();
        if self.at == at { Ok(()) } else { self.approach_at(at) }
    }

    fn approach_at(&mut self, at: Vec<[f64; 3]>) -> Result<(), ContactError> {
        self.found.clear();
        self.listed = false;
        self.timed.clear();
        self.at.clear();
        if let Some(node) = parallel::position(&at, |x| x.iter().any(|x| !x.is_finite())) {
            return Err(ContactError::Position { node });
        }
        if !self.bounds.holds(&at) {
            let still = vec![[0.0; 3]; at.len()];
            match self.start.is_empty() {
                true => self.search_along(&at, &still, SLACK)?,
                false => self.search_for(&at, &still, SLACK)?,
            }
        }
        self.at = at;
        Ok(())
    }

    /// Computes the touches among the candidates.
    fn list(&mut self) -> Result<(), ContactError> {
        if self.listed {
            return Ok(());
        }
        let rest = &self.rest;
        let square = |a: u32, b: u32| {
            let edge = sub(rest[a as usize], rest[b as usize]);
            dot(edge, edge)
        };
        let (thickness, points) = (self.thickness, &self.at);
        let of = |pair: &Pair| Touch::of(*pair, &pair.nodes().map(|v| points[v as usize]), square, thickness);
        self.search.touches(&self.candidates, &of, &mut self.found)?;
        self.listed = true;
        Ok(())
    }

    /// The displacement of a node; 0 for a held node.
    fn moved(&self, node: u32, d: &[f64]) -> [f64; 3] {
        self.nodes.slot(node).map_or([0.0; 3], |slot| [d[3 * slot], d[3 * slot + 1], d[3 * slot + 2]])
    }

    fn check(&self, what: &str, x: &[f64]) {
        assert_eq!(x.len(), 3 * self.nodes.free(), "{what}: wrong length");
    }

    /// φ, φ' and φ'' of a pair; for a barrier φ is infinite at the distance that is kept, and below.
    fn potential(&self, touch: &Touch) -> [f64; 3] {
        self.resistance.at(touch.distance, self.thickness)
    }

    /// The force in N that presses the parts of a pair of the last detection apart: m |φ'|.
    pub(super) fn force(&self, touch: &Touch) -> f64 {
        touch.share * self.potential(touch)[1].abs()
    }

    /// ∂E/∂x of the four nodes of a pair of the last detection, in N.
    pub fn slopes(&self, touch: &Touch) -> [[f64; 3]; 4] {
        let [value, slope, _] = self.potential(touch);
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
        self.potential(touch)[2] * touch.share
    }

    /// The numbers of the four nodes of a pair among the free nodes; `None` for held nodes.
    pub fn slots(&self, touch: &Touch) -> [Option<usize>; 4] {
        touch.pair.nodes().map(|node| self.nodes.slot(node))
    }

    /// The pairs, or those of a share, among which the pairs of the last detection are, sorted.
    pub fn candidates(&self) -> &[Pair] {
        &self.candidates
    }

    /// The pairs of the last detection, or those that the search gives to a rank, sorted; none if only steps were
    /// bounded since the nodes moved.
    pub fn found(&self) -> &[Touch] {
        &self.found
    }

    /// The positions of all nodes at the last search.
    pub(super) fn positions(&self) -> &[[f64; 3]] {
        &self.at
    }

    /// The nodes, with the held ones where they are now.
    pub(super) fn places(&self) -> &Nodes {
        &self.nodes
    }
}
