//! Contact of bodies of tetrahedra with each other and with themselves.
//!
//! | symbol | here | |
//! |---|---|---|
//! | v; a | `vertex`; `face` | a vertex inside a body; the corners of the nearest triangle of its surface |
//! | w, n | `weights`, `normal` | the nearest point of that triangle; the direction from v to this point |
//! | g | `gap` | (x_v − Σ w_a x_a) · n, the negative depth |
//! | c | `stencil` | ∂g/∂x along n: 1 for v, −w_a for the corners |
//! | P | `resistance` | ∂²(g²/2)/∂x_v²; n nᵀ if the nearest point is inside the triangle |
//! | k | `stiffness` | stiffness of the penalty |
//!
//! > E = Σ k/2 min(g, 0)²,  ∂E/∂x_i = k g c_i n,  ∂²E/∂x_i∂x_j = k c_i c_j P    (1)
//!
//! Xian, Tong & Liu 2019, §4.6. There the surface is fixed, and only v has an entry of c.

use std::ops::Range;
use std::sync::Arc;

use coarsen_core::parallel;
use coarsen_elastic::{BodyError, ContactHessian, Curvature, Energy, Nodes, Potential};
use coarsen_mesh::Mesh;
use coarsen_sparse::{Pattern, Stencil};

use crate::detector::Detector;
use crate::error::positive;
use crate::error::undetected;
use crate::{Contact, ContactError, Pair, Penetration, Touch};

/// The number of contacts per task of a parallel loop.
const LEAF: usize = 256;

/// The number of scalar operations per contact, used to decide whether threads pay off.
const WORK: usize = 100;

/// The number of every held node in a stencil.
const HELD: u32 = u32::MAX;

/// Contact of bodies of tetrahedra with each other and with themselves, by a quadratic penalty.
///
/// A surface vertex that lies inside a tetrahedron without being its corner is pushed to the nearest point of
/// the surface. The search for this point starts from the same place in the body at rest, so that the vertex
/// leaves on the shortest path from any depth. A body at rest has no contacts. Bodies are the connected parts
/// of the mesh. Edges that cross without a vertex inside a body are not found. The forces and torques on a
/// vertex and its triangle add up to zero. [`ClothFriction`](crate::ClothFriction) is their friction.
///
/// *Detection* The contacts are those at the x of each evaluation; value, gradient and Hessian at one x share
/// one detection. So E is a function of x, and a line search compares values of one function, for one
/// detection per trial. E is continuous, unless strains change the ratio of two depths by half, or a vertex is
/// pushed through its own elements, and its gradient is exact. Where two places of the surface are equally
/// far, the gradient jumps, and E has no minimum there.
///
/// *Inverted elements* A vertex inside its own body has no contact while a triangle of which it is a corner is
/// the nearest one at rest: it is then behind inverted elements, whose energy has to push it out. If it is
/// pushed beyond the middle of the body, a triangle of the other side is the nearest one. It is then in
/// contact with the other side at its full depth, and E jumps.
///
/// The Hessian is positive semidefinite, since it does not contain the turning of n. *Use*
/// [`frozen`](Self::frozen) for the quadratic energies of Xian et al., whose contacts are detected once per
/// iteration.
///
/// *Cost* of a detection: a hash of all surface vertices, one query per tetrahedron, and one search per
/// vertex inside. A detection runs in parallel, and its result is bitwise the same for any number of threads.
/// It allocates if it finds more than all detections before. *Errors*: if positions are not finite, energy
/// and gradient are NaN.
///
/// ```
/// use coarsen_contact::BodyContact;
/// use coarsen_elastic::Potential;
/// use coarsen_mesh::Mesh;
/// // A cube, and above it a smaller cube whose lower corners are 0.1 inside.
/// let mut mesh = Mesh::bar([1, 1, 1], 1.0);
/// let upper = mesh.clone();
/// mesh.positions.extend(upper.positions.iter().map(|p| [0.5 * p[0] + 0.3, p[1] + 0.9, 0.5 * p[2] + 0.3]));
/// mesh.tetrahedra.extend(upper.tetrahedra.iter().map(|t| t.map(|v| v + 8)));
/// let mut contact = BodyContact::new(&mesh, &[false; 16], 200.0)?;
/// let x = mesh.positions.as_flattened();
/// assert_eq!(contact.penetration(x).contacts, 4);
/// assert!((contact.energy(x).value - 4.0).abs() < 1e-12); // 4 · 200/2 · 0.1²
/// # Ok::<(), coarsen_contact::ContactError>(())
/// ```
pub struct BodyContact {
    /// Whether evaluations use the contacts of the last [`detect`](Self::detect) with their w and n;
    /// initially false.
    ///
    /// Each contact then has a quadratic energy while g < 0, with P = n nᵀ. Do not detect within a run of a
    /// descent method: its last f(x) belongs to the old contacts and is often smaller than all values with
    /// the new contacts. Call `detect` and then minimise for one iteration, which evaluates f(x) again. The
    /// start of a time step ([`Potential::renew`]) detects too.
    pub frozen: bool,
    stiffness: f64,
    nodes: Nodes,
    pattern: Arc<Pattern>,
    detector: Detector,
    /// The positions of all nodes at the last detection; empty before the first detection.
    at: Vec<[f64; 3]>,
    found: Vec<Contact>,
}

impl BodyContact {
    /// Returns the contact of bodies with the mesh as rest shape and with `held` nodes. Each contact has a
    /// stiffness k in N/m.
    ///
    /// # Errors
    /// [`ContactError`] for a mesh without tetrahedra or with invalid tetrahedra, a k that is not positive,
    /// and lists of different lengths.
    pub fn new(mesh: &Mesh, held: &[bool], stiffness: f64) -> Result<Self, ContactError> {
        let stiffness = positive("the stiffness of contact", stiffness)?;
        let nodes = Nodes::new(held, &mesh.positions)?;
        let pattern = Arc::new(Pattern::diagonal(nodes.free())?);
        let (detector, at, found) = (Detector::new(mesh)?, Vec::new(), Vec::new());
        Ok(Self { frozen: false, stiffness, nodes, pattern, detector, at, found })
    }

    /// Moves the held nodes; `positions` has one entry per node of the mesh. *Panics* on another length.
    pub fn hold(&mut self, positions: &[[f64; 3]]) {
        self.nodes.hold(positions);
    }

    /// Finds the contacts at x, even if contacts are [`frozen`](Self::frozen), and returns them sorted by
    /// vertex. *Panics* on a wrong length.
    ///
    /// # Errors
    /// [`ContactError::Position`] for the first node whose position is not finite. The list of contacts is
    /// then empty.
    pub fn detect(&mut self, x: &[f64]) -> Result<&[Contact], ContactError> {
        self.check("detect", x);
        let Self { nodes, detector, at, found, .. } = self;
        at.clear();
        at.extend((0..nodes.count() as u32).map(|node| nodes.at(node, x)));
        if let Err(error) = detector.find(at, found) {
            at.clear(); // forget the last positions
            return Err(error);
        }
        Ok(&self.found)
    }

    /// Returns the number of contacts at x and the largest depth. Contacts that are [`frozen`](Self::frozen)
    /// are not detected again. *Panics* on a wrong length.
    pub fn penetration(&mut self, x: &[f64]) -> Penetration {
        if self.find_at("penetration", x) {
            let depth = |contact: &Contact| Penetration::of(contact.gap(|node| self.nodes.at(node, x)));
            self.found.iter().map(depth).fold(Penetration::default(), Penetration::and)
        } else {
            Penetration::of(f64::NAN)
        }
    }

    /// The contacts of the last detection that press at x, each with its force k |g|, N.
    pub(crate) fn touches(&self, x: &[f64]) -> impl Iterator<Item = (Touch, f64)> {
        self.found.iter().filter_map(|contact| {
            let depth = -contact.gap(|node| self.nodes.at(node, x));
            let Contact { vertex, face, weights: [u, v, w], normal: [a, b, c] } = *contact;
            let numbers = [1.0, -u, -v, -w, a, b, c, depth, 1.0, 1.0, 1.0];
            let touch = Touch::of_numbers(Pair::VertexFace { vertex, face }, numbers);
            (depth > 0.0).then_some((touch, self.stiffness * depth))
        })
    }

    /// The nodes, with the held ones where they are now.
    pub(crate) fn places(&self) -> &Nodes {
        &self.nodes
    }

    fn check(&self, what: &str, x: &[f64]) {
        assert_eq!(x.len(), 3 * self.nodes.free(), "{what}: wrong length");
    }

    /// Detects contacts unless they are frozen or belong to this x already. Returns whether positions are
    /// finite.
    fn find_at(&mut self, what: &str, x: &[f64]) -> bool {
        self.check(what, x);
        if self.frozen {
            // Nodes without a contact would hide a position that is not finite.
            return parallel::position(x, |x| !x.is_finite()).is_none();
        }
        let nodes = &self.nodes;
        let known = |(node, at): (usize, &[f64; 3])| *at == nodes.at(node as u32, x);
        let same = self.at.len() == nodes.count() && self.at.iter().enumerate().all(known);
        same || self.detect(x).is_ok()
    }
}

impl Potential for BodyContact {
    fn nodes(&self) -> usize {
        self.nodes.free()
    }

    fn pattern(&self) -> &Arc<Pattern> {
        &self.pattern
    }

    fn energy(&mut self, x: &[f64]) -> Energy {
        if !self.find_at("energy", x) {
            return Energy { value: f64::NAN, magnitude: f64::NAN };
        }
        let Self { nodes, found, stiffness, .. } = self;
        let energy = |contact: &Contact| {
            let at = |node: u32| nodes.at(node, x);
            let gap = contact.gap(at);
            if gap >= 0.0 {
                return Energy::default();
            }
            let magnitude = gap.abs() * contact.magnitude(at);
            *stiffness * Energy { value: 0.5 * gap * gap, magnitude } // (1)
        };
        let leaf = |range: Range<usize>| found[range].iter().map(energy).sum::<Energy>();
        parallel::tree(0..found.len(), LEAF, parallel::worth(found.len() * WORK), &leaf, &|a, b| a + b)
    }

    fn add_gradient(&mut self, x: &[f64], g: &mut [f64]) {
        self.check("add_gradient", g);
        if !self.find_at("add_gradient", x) {
            return g.fill(f64::NAN);
        }
        for contact in &self.found {
            let gap = contact.gap(|node| self.nodes.at(node, x));
            if gap >= 0.0 {
                continue;
            }
            for (node, c) in contact.stencil() {
                let Some(slot) = self.nodes.slot(node) else { continue };
                let force = self.stiffness * gap * c;
                (0..3).for_each(|k| g[3 * slot + k] += force * contact.normal[k]); // (1)
            }
        }
    }

    fn add_hessian(&mut self, _: &[f64], _: Curvature, _: &mut [f64]) {}

    /// Adds the same contacts for each kind of curvature.
    fn add_contacts(&mut self, x: &[f64], _: Curvature, contacts: &mut ContactHessian) {
        if !self.find_at("add_contacts", x) {
            return;
        }
        let at = |node: u32| self.nodes.at(node, x);
        for contact in &self.found {
            if contact.gap(at) >= 0.0 {
                continue;
            }
            let slot = |node: u32| self.nodes.slot(node).map_or(HELD, |slot| slot as u32);
            let face = contact.face.map(slot);
            let stencil = Stencil::vertex_face(slot(contact.vertex), face, contact.weights).without(HELD);
            if stencil.nodes().is_empty() {
                continue; // all nodes are held
            }
            let p = if self.frozen { contact.along_normal() } else { contact.resistance(at) };
            contacts.push(stencil, p.map(|row| row.map(|p| self.stiffness * p))); // (1)
        }
    }

    fn has_contact_hessian(&self) -> bool {
        true
    }

    fn renew(&mut self, x: &[f64]) -> Result<bool, BodyError> {
        self.detect(x).map(|_| false).map_err(undetected)
    }
}
