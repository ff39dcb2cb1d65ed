//! Friction of a surface of triangles with itself, and of bodies of tetrahedra with each other.
//!
//! | symbol | here | |
//! |---|---|---|
//! | w, n, λ | `Grip` | weights, direction and normal force m |φ'| of a pair at the start of the step |
//! | s | `slip` | P Σ w_a (x_a − x_a,n) with P = I − n nᵀ: how far the parts slide on each other in the step |
//! | φ | [`friction_terms`] | ‖s‖, smooth at 0, as for friction with solids |
//!
//! > D = Σ μ λ φ(‖s‖),  ∂D/∂x_a = μ λ w_a φ' s/‖s‖,  H_ab = w_a w_b ∂²(μ λ φ)/∂s²    (1)
//!
//! Projected Hessians take that of a parabola above φ, as friction with solids does
//! ([`majoriser`](crate::friction::majoriser)).
//!
//! Lagged Coulomb friction: Li et al. 2020, "Incremental potential contact", ACM TOG 39(4), §5.

use std::sync::Arc;

use coarsen_elastic::{ContactHessian, Curvature, ElementKernel, Energy, Nodes, Potential, SurfaceKernel};
use coarsen_mesh::vector::sub;
use coarsen_sparse::Pattern;

use super::contact::ClothContact;
use super::narrow_phase::Touch;
use crate::friction::{STICKING_SPEED, across, coefficient, curved, friction_terms, softness};
use crate::shape::size;
use crate::{BodyContact, ContactError, Search};

/// The source of a device.
const SOURCE: &str = concat!(
    include_str!("distance.cl"),
    include_str!("../potential.cl"),
    include_str!("narrow_phase.cl"),
    include_str!("../friction_terms.cl"),
    include_str!("friction.cl")
);

/// A pair that touches at the start of a step.
#[derive(Clone, Copy, Debug)]
struct Grip {
    touch: Touch,
    /// Σ w_a x_a,n.
    start: [f64; 3],
    /// μ λ.
    force: f64,
}

/// Friction of cloth with itself and with obstacles of triangles, and of bodies, as an energy of one time step.
///
/// Pairs, directions and normal forces are those of a [`ClothContact`] at the start of the step, which [`grip`](Self::grip)
/// takes, or those of a [`BodyContact`], which [`grip_bodies`](Self::grip_bodies) takes. Held nodes that move drag the cloth along. D is convex; its projected Hessian is
/// that of a parabola above D. D is no energy of the scene: its gradient is the force. Forces of a pair add up to zero.
/// *Use* beside the contact in [`ImplicitEuler`](coarsen_elastic::ImplicitEuler). *Cost*: a pass over the pairs per
/// evaluation, on one thread.
///
/// ```
/// use coarsen_contact::{ClothContact, ClothFriction};
/// use coarsen_elastic::Potential;
/// // A vertex 0.1 above a triangle that is held.
/// let x = [[0.0, 0.0, 0.0], [3.0, 0.0, 0.0], [0.0, 3.0, 0.0], [1.0, 1.0, 0.1], [2.0, 1.0, 2.1], [1.0, 2.0, 2.1]];
/// let held = [true, true, true, false, false, false];
/// let mut contact = ClothContact::new(&[[0, 1, 2], [3, 4, 5]], &held, &x, 0.3, 50.0)?;
/// let mut friction = ClothFriction::new(&contact, 0.5, 0.01)?;
/// let (mut x, mut pressed, mut g) = (x.as_flattened()[9..].to_vec(), [0.0; 9], [0.0; 9]);
/// friction.grip(&mut contact, &x)?;
/// contact.add_gradient(&x, &mut pressed);
/// x[0] += 0.2; // it slides along x
/// friction.add_gradient(&x, &mut g);
/// assert!((g[0] - 0.5 * pressed[2].abs()).abs() < 1e-12 && g[1].abs() < 1e-12 && g[2].abs() < 1e-12);
/// # Ok::<(), coarsen_contact::ContactError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ClothFriction {
    coefficient: f64,
    h: f64,
    /// ε.
    soft: f64,
    nodes: Nodes,
    pattern: Arc<Pattern>,
    grips: Vec<Grip>,
}

impl ClothFriction {
    /// Returns the friction of a surface with the coefficient μ, for steps of `h` seconds. Nothing touches before
    /// the first [`grip`](Self::grip).
    ///
    /// # Errors
    /// [`ContactError::Value`] for a negative μ, an h that is not positive, and numbers that are not finite.
    pub fn new<S: Search>(contact: &ClothContact<S>, coefficient: f64, h: f64) -> Result<Self, ContactError> {
        Self::with(contact.places(), contact.pattern(), coefficient, h)
    }

    /// Returns the friction of bodies with each other and with themselves, as [`new`](Self::new) that of a surface.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn of_bodies(contact: &BodyContact, coefficient: f64, h: f64) -> Result<Self, ContactError> {
        Self::with(contact.places(), contact.pattern(), coefficient, h)
    }

    fn with(nodes: &Nodes, pattern: &Arc<Pattern>, coefficient: f64, h: f64) -> Result<Self, ContactError> {
        let coefficient = self::coefficient(coefficient)?;
        let soft = softness(h, STICKING_SPEED)?;
        let (nodes, pattern) = (nodes.clone(), pattern.clone());
        Ok(Self { coefficient, h, soft, nodes, pattern, grips: Vec::new() })
    }

    /// The same with another sticking speed than [`STICKING_SPEED`], in m/s.
    ///
    /// # Errors
    /// [`ContactError::Value`] for a speed that is not positive and finite.
    pub fn sticking(self, speed: f64) -> Result<Self, ContactError> {
        Ok(Self { soft: softness(self.h, speed)?, ..self })
    }

    /// Takes pairs and forces from the contact at the x at the start of a step, before held nodes move. *Panics* for a
    /// contact of another number of nodes. A search over ranks that gives each rank the touches at its nodes alone
    /// makes the energy that of these touches; take [`grip_at`](Self::grip_at) there.
    ///
    /// # Errors
    /// As [`ClothContact::detect`]. There is then no friction.
    pub fn grip<S: Search>(&mut self, contact: &mut ClothContact<S>, x: &[f64]) -> Result<(), ContactError> {
        self.grip_at(contact, x, |_| true)
    }

    /// As [`grip`](Self::grip), but takes only the pairs with a free node that `own` accepts, by its number among the
    /// free nodes. Gradient and Hessian are then complete at these nodes, to the same bits, and not at others; for
    /// ranks that share the nodes. Without friction, nothing is detected.
    ///
    /// # Errors
    /// As [`ClothContact::detect`]. There is then no friction.
    pub fn grip_at<S: Search>(
        &mut self,
        contact: &mut ClothContact<S>,
        x: &[f64],
        own: impl Fn(usize) -> bool,
    ) -> Result<(), ContactError> {
        self.grips.clear();
        if self.coefficient == 0.0 {
            return Ok(());
        }
        contact.detect(x)?;
        self.nodes.hold_as(contact.places());
        for &touch in contact.found() {
            if !contact.slots(&touch).into_iter().flatten().any(&own) {
                continue;
            }
            self.take(touch, contact.force(&touch), x);
        }
        Ok(())
    }

    /// As [`grip`](Self::grip), for the vertices inside bodies: the force is k |g|.
    ///
    /// # Errors
    /// As [`BodyContact::detect`]. There is then no friction.
    pub fn grip_bodies(&mut self, contact: &mut BodyContact, x: &[f64]) -> Result<(), ContactError> {
        self.grips.clear();
        if self.coefficient > 0.0 {
            contact.detect(x)?;
            self.nodes.hold_as(contact.places());
            contact.touches(x).for_each(|(touch, force)| self.take(touch, force, x));
        }
        Ok(())
    }

    /// The friction of the pairs of a surface for a device; `None` for a coefficient of 0.
    pub fn kernel(&self, surface: &SurfaceKernel) -> Option<ElementKernel> {
        let pair = &surface.pair;
        let common = [&pair.common[..], &[self.coefficient, self.soft]].concat();
        let kernel = ElementKernel { source: SOURCE, common, renewed: true, ..pair.clone() };
        (self.coefficient > 0.0).then_some(kernel)
    }

    /// Adds a pair with this normal force.
    fn take(&mut self, touch: Touch, force: f64, x: &[f64]) {
        let (start, force) = (self.between(&touch, x), self.coefficient * force);
        if force > 0.0 {
            self.grips.push(Grip { touch, start, force });
        }
    }

    /// Moves the held nodes; `positions` has one entry per node of the surface. *Panics* on another length.
    pub fn hold(&mut self, positions: &[[f64; 3]]) {
        self.nodes.hold(positions);
    }

    /// Σ w_a x_a.
    fn between(&self, touch: &Touch, x: &[f64]) -> [f64; 3] {
        let mut sum = [0.0; 3];
        for (w, node) in touch.weights.iter().zip(touch.pair.nodes()) {
            let at = self.nodes.at(node, x);
            (0..3).for_each(|c| sum[c] += w * at[c]);
        }
        sum
    }

    /// s and ‖s‖.
    fn slip(&self, grip: &Grip, x: &[f64]) -> ([f64; 3], f64) {
        across(sub(self.between(&grip.touch, x), grip.start), grip.touch.normal)
    }

    fn check(&self, what: &str, x: &[f64]) {
        assert_eq!(x.len(), 3 * self.nodes.free(), "{what}: wrong length");
    }
}

impl Potential for ClothFriction {
    fn nodes(&self) -> usize {
        self.nodes.free()
    }

    fn pattern(&self) -> &Arc<Pattern> {
        &self.pattern
    }

    fn energy(&mut self, x: &[f64]) -> Energy {
        self.check("energy", x);
        let energy = |grip: &Grip| {
            let (_, length) = self.slip(grip, x);
            let [value, over, _] = friction_terms(length, self.soft);
            let terms: f64 = grip.touch.pair.nodes().iter().map(|&node| size(self.nodes.at(node, x))).sum();
            grip.force * Energy { value, magnitude: over * length * terms }
        };
        self.grips.iter().map(energy).sum()
    }

    fn add_gradient(&mut self, x: &[f64], g: &mut [f64]) {
        self.check("add_gradient", x);
        self.check("add_gradient", g);
        for grip in &self.grips {
            let (slip, length) = self.slip(grip, x);
            let force = grip.force * friction_terms(length, self.soft)[1];
            for (w, node) in grip.touch.weights.iter().zip(grip.touch.pair.nodes()) {
                let Some(slot) = self.nodes.slot(node) else { continue };
                (0..3).for_each(|c| g[3 * slot + c] += w * force * slip[c]); // (1)
            }
        }
    }

    fn add_hessian(&mut self, _: &[f64], _: Curvature, _: &mut [f64]) {}

    fn add_contacts(&mut self, x: &[f64], curvature: Curvature, contacts: &mut ContactHessian) {
        self.check("add_contacts", x);
        for grip in &self.grips {
            let k = curved(self.slip(grip, x), grip.touch.normal, grip.force, self.soft, curvature);
            contacts.push(grip.touch.stencil(&self.nodes), k);
        }
    }

    fn has_contact_hessian(&self) -> bool {
        true
    }
}
