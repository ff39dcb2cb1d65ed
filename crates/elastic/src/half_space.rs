//! Contact of nodes with a plane.
//!
//! > E = Σ_i φ(n · x_i − c)
//!
//! with the unit normal n and an energy φ of the distance: [`Penalty`](crate::Penalty) or
//! [`Barrier`](crate::Barrier). Its gradient is φ' n, its Hessian φ'' n nᵀ.

use std::sync::Arc;

use coarsen_sparse::{Pattern, Stencil};

use crate::BodyError;
use crate::nodes::pattern_of;
use crate::potential::{ContactHessian, Curvature, Energy, Potential};

/// An energy φ of the distance to an obstacle in m, positive outside.
pub trait ContactPotential {
    /// φ, φ' and φ'' at a distance. All are 0 without contact.
    fn at(&self, distance: f64) -> [f64; 3];

    /// Checks the parameters of the potential.
    ///
    /// # Errors
    /// [`BodyError::Value`] for the first one outside its range.
    fn check(&self) -> Result<(), BodyError>;

    /// The largest α for which `distance + α rate` is valid.
    fn max_step(&self, distance: f64, rate: f64) -> f64 {
        let _ = (distance, rate);
        f64::INFINITY
    }
}

/// Returns an error for a parameter of a potential that is not positive and finite.
pub(crate) fn positive(what: &'static str, found: f64) -> Result<(), BodyError> {
    if found.is_finite() && found > 0.0 {
        Ok(())
    } else {
        Err(BodyError::Value { what, found, range: "positive and finite" })
    }
}

/// The contact energy of all free nodes with a plane.
///
/// Its Hessian changes with the set of nodes in contact. It is stored as contacts, not in the matrix. *Cost*:
/// one pass over the nodes on one thread.
///
/// ```
/// use coarsen_elastic::{HalfSpace, Penalty, Potential};
/// let mut floor = HalfSpace::new(2, [0.0, 2.0, 0.0], 0.5, Penalty { stiffness: 8.0 })?; // y ≥ 0.5, the normal is made a unit vector
/// assert_eq!(floor.energy(&[0.0, 0.0, 0.0, 0.0, 3.0, 0.0]).value, 1.0); // 8/2 · 0.5²
/// # Ok::<(), coarsen_elastic::BodyError>(())
/// ```
#[derive(Clone, Debug)]
pub struct HalfSpace<L> {
    potential: L,
    normal: [f64; 3],
    offset: f64,
    pattern: Arc<Pattern>,
}

impl<L: ContactPotential> HalfSpace<L> {
    /// Returns the half-space n · x ≥ `offset` for `nodes` free nodes, with `offset` in m and n = `normal` /
    /// ‖`normal`‖.
    ///
    /// # Errors
    /// [`BodyError::Value`] for a normal of length 0, numbers that are not finite, and a potential whose parameters
    /// are out of range.
    pub fn new(nodes: usize, normal: [f64; 3], offset: f64, potential: L) -> Result<Self, BodyError> {
        potential.check()?;
        let length = normal.iter().map(|n| n * n).sum::<f64>().sqrt();
        if !(length.is_finite() && length > 0.0) {
            let (what, range) = ("the length of the normal of a plane", "positive and finite");
            return Err(BodyError::Value { what, found: length, range });
        }
        if !offset.is_finite() {
            let (what, range) = ("the offset of a plane", "finite");
            return Err(BodyError::Value { what, found: offset, range });
        }
        let pattern = pattern_of(nodes, (0..nodes as u32).map(|i| (i, i)))?;
        Ok(Self { potential, normal: normal.map(|n| n / length), offset, pattern })
    }

    /// The potential φ.
    pub fn potential(&self) -> &L {
        &self.potential
    }

    fn check(&self, what: &str, x: &[f64]) {
        assert_eq!(x.len(), 3 * self.pattern.rows(), "{what}: wrong length");
    }

    fn along(&self, v: &[f64]) -> f64 {
        (0..3).map(|k| self.normal[k] * v[k]).sum()
    }

    /// n · x − c for the position x of a node.
    fn distance(&self, x: &[f64]) -> f64 {
        self.along(x) - self.offset
    }
}

impl<L: ContactPotential> Potential for HalfSpace<L> {
    fn nodes(&self) -> usize {
        self.pattern.rows()
    }

    fn pattern(&self) -> &Arc<Pattern> {
        &self.pattern
    }

    fn energy(&mut self, x: &[f64]) -> Energy {
        self.check("energy", x);
        let energy = |x: &[f64]| {
            let [value, slope, _] = self.potential.at(self.distance(x));
            let terms = (0..3).map(|k| (self.normal[k] * x[k]).abs()).sum::<f64>() + self.offset.abs();
            Energy { value, magnitude: slope.abs() * terms }
        };
        x.chunks_exact(3).map(energy).sum()
    }

    fn add_gradient(&mut self, x: &[f64], g: &mut [f64]) {
        self.check("add_gradient", x);
        self.check("add_gradient", g);
        for (x, g) in x.chunks_exact(3).zip(g.chunks_exact_mut(3)) {
            let slope = self.potential.at(self.distance(x))[1];
            (0..3).for_each(|k| g[k] += slope * self.normal[k]);
        }
    }

    fn add_hessian(&mut self, _: &[f64], _: Curvature, _: &mut [f64]) {}

    fn add_contacts(&mut self, x: &[f64], _: Curvature, contacts: &mut ContactHessian) {
        self.check("add_contacts", x);
        for (i, x) in x.chunks_exact(3).enumerate() {
            let stiffness = self.potential.at(self.distance(x))[2];
            if stiffness > 0.0 {
                contacts.push(
                    Stencil::point(i as u32),
                    self.normal.map(|p| self.normal.map(|q| stiffness * (p * q))),
                );
            }
        }
    }

    fn has_contact_hessian(&self) -> bool {
        true
    }

    fn max_step(&mut self, x: &[f64], d: &[f64]) -> f64 {
        self.check("max_step", x);
        self.check("max_step", d);
        let step = |(x, d): (&[f64], &[f64])| self.potential.max_step(self.distance(x), self.along(d));
        x.chunks_exact(3).zip(d.chunks_exact(3)).map(step).fold(f64::INFINITY, f64::min)
    }
}
