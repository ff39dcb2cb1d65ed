//! Friction of nodes and edges with a solid that may turn, and the law of friction for other users.
//!
//! | symbol | here | |
//! |---|---|---|
//! | x_n, n, λ | `Grip` | position at the start of the step, normal there, and normal force there: \|φ'\| ‖∇d‖ of the obstacle |
//! | u | `Spin` | the velocity of the solid at x_n |
//! | s | `slip` | P (x − x_n − h u) with P = I − n nᵀ: how far the point slides on the solid in the step |
//! | ε_v, ε | [`STICKING_SPEED`], h ε_v | sticking speed, and the slip below which friction is softer than Coulomb's |
//!
//! > D = Σ μ λ φ(‖s‖),  φ' = 1 for ‖s‖ ≥ ε, else 2 ‖s‖/ε − ‖s‖²/ε²,  ∂D/∂x = μ λ φ' s/‖s‖    (1)
//! > ∂²D/∂x² = μ λ (φ'' ŝ ŝᵀ + φ'/‖s‖ (P − ŝ ŝᵀ)),  ŝ = s/‖s‖    (2)
//!
//! (2) has no stiffness along s at ‖s‖ ≥ ε, so that a step of Newton's method carries nodes past ‖s‖ = 0, and the line
//! search then cuts the steps of all nodes. Since φ'/‖s‖ does not rise with ‖s‖, the parabola
//!
//! > D(s) ≤ D(s₀) + μ λ φ'(‖s₀‖)/‖s₀‖ ½ (‖s‖² − ‖s₀‖²)    (3)
//!
//! lies above D and touches it at s₀. Its Hessian stands in for (2) where Hessians are projected.
//!
//! Lagged Coulomb friction: Li et al. 2020, "Incremental potential contact", ACM TOG 39(4), §5. (3): Hunter & Lange
//! 2004, "A tutorial on MM algorithms", The American Statistician 58(1), §3.3.

use std::sync::Arc;

use coarsen_elastic::{BodyError, ContactHessian, Curvature, ElementKernel, Energy, Potential};
use coarsen_mesh::vector::{cross, dot, sub};
use coarsen_sparse::Pattern;

use crate::error::{finite, positive};
use crate::obstacle::Pressed;
use crate::shape::{norm, size};
use crate::{ContactError, Obstacle, Shape};

/// The default sticking speed ε_v in m/s, below which friction fades: a node at rest on a slope creeps by less than this.
pub const STICKING_SPEED: f64 = 1e-3;

/// The motion of a solid: a rotation about an axis through a point, and a drift.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spin {
    /// A point of the axis.
    pub through: [f64; 3],
    /// The axis times the rate in radians per second.
    pub rate: [f64; 3],
    /// The velocity of that point in m/s.
    pub drift: [f64; 3],
}

/// A point that the solid presses at the start of a step.
#[derive(Clone, Copy, Debug)]
struct Grip {
    pressed: Pressed,
    /// x_n + h u.
    anchor: [f64; 3],
    /// μ λ.
    force: f64,
}

/// Friction of free nodes and edges with a solid shape, as an energy of one time step.
///
/// Points, normals and normal forces are those of an [`Obstacle`] at the start of the step ([`Potential::renew`]), by a
/// penalty or a barrier. D is convex; its projected Hessian is that of a parabola above D. D is no energy of the scene: its
/// gradient is the force. *Use* beside an equal `Obstacle` in [`ImplicitEuler`](coarsen_elastic::ImplicitEuler). *Cost*: a
/// pass over the nodes and edges per step, and over those that touch per evaluation, on one thread.
///
/// ```
/// use coarsen_contact::{Friction, Obstacle, Plane, Spin};
/// use coarsen_elastic::Potential;
/// let floor = Obstacle::new(1, Plane::through([0.0; 3], [0.0, 1.0, 0.0])?, 100.0)?;
/// let mut friction = Friction::new(floor, Spin::default(), 0.5, 0.01)?;
/// friction.renew(&[0.0, -0.2, 0.0])?; // pressed with 20 N
/// let mut g = [0.0; 3];
/// friction.add_gradient(&[0.3, -0.2, 0.0], &mut g);
/// assert_eq!(g, [10.0, 0.0, 0.0]); // it slides, and is held back with 10 N
/// # Ok::<(), coarsen_contact::ContactError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Friction<S> {
    obstacle: Obstacle<S>,
    spin: Spin,
    coefficient: f64,
    h: f64,
    /// ε.
    soft: f64,
    grips: Vec<Grip>,
}

impl<S: Shape> Friction<S> {
    /// Returns the friction with an obstacle that turns, with the coefficient μ, for steps of `h` seconds. Nothing touches
    /// before the first step.
    ///
    /// # Errors
    /// [`ContactError::Value`] for an h that is not positive, a negative μ, and for numbers that are not finite.
    pub fn new(obstacle: Obstacle<S>, spin: Spin, coefficient: f64, h: f64) -> Result<Self, ContactError> {
        finite("a point of the axis of a solid", spin.through)?;
        finite("the rate of a solid", spin.rate)?;
        finite("the velocity of a solid", spin.drift)?;
        let coefficient = self::coefficient(coefficient)?;
        let soft = softness(h, STICKING_SPEED)?;
        Ok(Self { obstacle, spin, coefficient, h, soft, grips: Vec::new() })
    }

    /// The same with another sticking speed than [`STICKING_SPEED`], in m/s.
    ///
    /// # Errors
    /// [`ContactError::Value`] for a speed that is not positive and finite.
    pub fn sticking(self, speed: f64) -> Result<Self, ContactError> {
        Ok(Self { soft: softness(self.h, speed)?, ..self })
    }

    /// Replaces shape and motion for the next step.
    pub fn set_motion(&mut self, shape: S, spin: Spin) {
        self.obstacle.set_shape(shape);
        self.spin = spin;
    }

    /// Moves the held ends of edges; `positions` has all nodes. In the step, points of edges slide by that too.
    pub fn hold(&mut self, positions: &[[f64; 3]]) {
        self.obstacle.hold(positions);
        self.grips.iter_mut().for_each(|grip| grip.pressed.hold(positions));
    }

    fn check(&self, what: &str, x: &[f64]) {
        assert_eq!(x.len(), 3 * self.obstacle.nodes(), "{what}: wrong length");
    }

    /// s and ‖s‖ of a point.
    fn slip(grip: &Grip, x: &[f64]) -> ([f64; 3], f64) {
        across(sub(grip.pressed.at(x), grip.anchor), grip.pressed.normal)
    }
}

/// ε: the slip in a step of h seconds at the sticking speed.
///
/// # Errors
/// [`ContactError::Value`] for numbers that are not positive and finite.
pub(crate) fn softness(h: f64, speed: f64) -> Result<f64, ContactError> {
    Ok(positive("the time step", h)? * positive("the sticking speed", speed)?)
}

/// Returns φ, φ'/‖s‖ and φ'' of (1) for a slip of this length and ε = `soft`, both in m; or both in m/s, as speeds. The
/// length is 0 or more, and ε is positive.
pub fn friction_terms(length: f64, soft: f64) -> [f64; 3] {
    if length >= soft {
        return [length, 1.0 / length, 0.0];
    }
    let y = length / soft;
    [soft * (y * y - y * y * y / 3.0 + 1.0 / 3.0), (2.0 - y) / soft, 2.0 * (1.0 - y) / soft]
}

/// Returns P v, the part of a vector across a unit normal, and its length.
pub fn across(vector: [f64; 3], normal: [f64; 3]) -> ([f64; 3], f64) {
    let along = dot(vector, normal);
    let rest = std::array::from_fn(|c| vector[c] - along * normal[c]);
    (rest, norm(rest))
}

/// Returns the Hessian (2) for a slip and its length as of [`across`], the unit normal, the force μ λ in N and ε = `soft`,
/// in N/m. It is positive semidefinite.
pub fn stiffness(slip: [f64; 3], length: f64, n: [f64; 3], force: f64, soft: f64) -> [[f64; 3]; 3] {
    let [_, over, second] = friction_terms(length, soft);
    let unit = if length > 0.0 { slip.map(|s| s / length) } else { [0.0; 3] };
    let entry = |p: usize, q: usize| {
        let across = f64::from(p == q) - n[p] * n[q] - unit[p] * unit[q];
        force * (second * unit[p] * unit[q] + over * across) // (2)
    };
    std::array::from_fn(|p| std::array::from_fn(|q| entry(p, q)))
}

/// Returns the Hessian of the parabola (3) that lies above the energy of friction and touches it at a slip of this
/// length, in N/m: μ λ φ'/‖s‖ P, for the unit normal, the force μ λ in N and ε = `soft`. It is positive semidefinite, and
/// not less than [`stiffness`].
pub fn majoriser(length: f64, n: [f64; 3], force: f64, soft: f64) -> [[f64; 3]; 3] {
    let over = force * friction_terms(length, soft)[1];
    std::array::from_fn(|p| std::array::from_fn(|q| over * (f64::from(p == q) - n[p] * n[q]))) // (3)
}

/// Returns (2), or the Hessian of (3) unless `curvature` is exact.
pub(crate) fn curved(
    (slip, length): ([f64; 3], f64),
    n: [f64; 3],
    force: f64,
    soft: f64,
    curvature: Curvature,
) -> [[f64; 3]; 3] {
    match curvature {
        Curvature::Exact => stiffness(slip, length, n, force, soft),
        Curvature::Projected | Curvature::Constant => majoriser(length, n, force, soft),
    }
}

/// Checks a coefficient of friction.
pub(crate) fn coefficient(found: f64) -> Result<f64, ContactError> {
    if found.is_finite() && found >= 0.0 {
        return Ok(found);
    }
    let (what, range) = ("the coefficient of friction", "0 or more, and finite");
    Err(ContactError::Value { what, found, range })
}

impl<S: Shape> Potential for Friction<S> {
    fn nodes(&self) -> usize {
        self.obstacle.nodes()
    }

    fn pattern(&self) -> &Arc<Pattern> {
        self.obstacle.pattern()
    }

    fn energy(&mut self, x: &[f64]) -> Energy {
        self.check("energy", x);
        let energy = |grip: &Grip| {
            let (_, length) = Self::slip(grip, x);
            let [value, over, _] = friction_terms(length, self.soft);
            let terms = size(grip.anchor) + length;
            grip.force * Energy { value, magnitude: over * length * terms }
        };
        self.grips.iter().map(energy).sum()
    }

    fn add_gradient(&mut self, x: &[f64], g: &mut [f64]) {
        self.check("add_gradient", x);
        self.check("add_gradient", g);
        for grip in &self.grips {
            let (slip, length) = Self::slip(grip, x);
            let [_, over, _] = friction_terms(length, self.soft);
            grip.pressed.add(slip.map(|s| grip.force * over * s), g); // (1)
        }
    }

    fn add_hessian(&mut self, _: &[f64], _: Curvature, _: &mut [f64]) {}

    fn add_contacts(&mut self, x: &[f64], curvature: Curvature, contacts: &mut ContactHessian) {
        self.check("add_contacts", x);
        for grip in &self.grips {
            let k = curved(Self::slip(grip, x), grip.pressed.normal, grip.force, self.soft, curvature);
            contacts.push(grip.pressed.stencil(), k);
        }
    }

    fn has_contact_hessian(&self) -> bool {
        true
    }

    /// As those of the obstacle; none if μ is 0.
    fn kernels(&self) -> Result<Vec<ElementKernel>, BodyError> {
        let Self { obstacle, spin: Spin { through, rate, drift }, coefficient, h, soft, .. } = self;
        let own = [&[*coefficient, *h, *soft], &through[..], rate, drift].concat();
        if *coefficient > 0.0 { obstacle.kernels_of(Some(&own)) } else { Ok(Vec::new()) }
    }

    fn renew(&mut self, x: &[f64]) -> Result<bool, BodyError> {
        self.check("renew", x);
        let Self { obstacle, spin, coefficient, h, grips, .. } = self;
        grips.clear();
        if *coefficient > 0.0 {
            obstacle.each_pressed(x, |pressed, force| {
                let at = pressed.at(x);
                let turned = cross(spin.rate, sub(at, spin.through));
                let anchor = std::array::from_fn(|k| at[k] + *h * (spin.drift[k] + turned[k]));
                grips.push(Grip { pressed, anchor, force: *coefficient * force });
            });
        }
        Ok(false)
    }
}
