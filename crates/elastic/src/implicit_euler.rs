//! One implicit Euler step as an objective.
//!
//! > f(x) = ½ (x − y)ᵀ M (x − y) / h² + E(x),    y = x_n + h v_n + h² a    (2)
//!
//! with masses M, acceleration a and potential E. The minimiser is x_{n+1}, and v_{n+1} = (x_{n+1} − x_n) /
//! h. Martin et al. 2011; Xian, Tong & Liu 2019, Eq. 2.

use std::ops::Range;

use coarsen_core::{Dot, Objective, parallel};
use coarsen_sparse::{Bsr, Contacts, OwnedSystem, SparseError, SystemAt};

use crate::BodyError;
use crate::error::positive;
use crate::potential::{ContactHessian, Curvature, Energy, Potential};

/// The objective (2) of one time step, or the potential E without inertia.
///
/// ```
/// use coarsen_core::Objective;
/// use coarsen_elastic::{ImplicitEuler, Spring, Springs};
/// let spring = Spring { ends: [0, 1], stiffness: 10.0, length: 1.0 };
/// let rope = Springs::new(vec![spring], &[true, false], &[[0.0; 3]; 2])?;
/// let mut step = ImplicitEuler::new(rope, &[2.0], 0.1)?;
/// step.begin(&[0.0, 1.0, 0.0], &[0.0; 3], [0.0, -10.0, 0.0])?;
/// // y is 0.1 m below x: the inertia alone is 2/2 · 0.1² / 0.1² J.
/// assert!((step.value(&vec![0.0, 1.0, 0.0]).value - 1.0).abs() < 1e-12);
/// # Ok::<(), coarsen_elastic::BodyError>(())
/// ```
pub struct ImplicitEuler<P> {
    /// The potential E.
    pub potential: P,
    /// The kind of Hessian that [`hessian`](Self::hessian) computes.
    pub curvature: Curvature,
    /// M / h² of each node; 0 without inertia.
    inertia: Vec<f64>,
    h: f64,
    target: Vec<f64>,
    parts: OwnedSystem<f64>,
    contact_hessian: ContactHessian,
}

impl<P: Potential> ImplicitEuler<P> {
    /// Returns the objective for steps of `h` seconds and free nodes with these `masses` in kg.
    ///
    /// # Errors
    /// [`BodyError::Length`], [`BodyError::Mass`] and [`BodyError::Value`] for invalid masses and time steps.
    pub fn new(potential: P, masses: &[f64], h: f64) -> Result<Self, BodyError> {
        let (expected, found) = (potential.nodes(), masses.len());
        if expected != found {
            return Err(BodyError::Length { what: "masses", expected, found });
        }
        let good = |v: f64| v.is_finite() && v > 0.0;
        positive("the time step", h)?;
        if let Some((node, &mass)) = masses.iter().enumerate().find(|(_, m)| !good(**m)) {
            return Err(BodyError::Mass { node, mass });
        }
        let inertia: Vec<f64> = masses.iter().map(|m| m / (h * h)).collect();
        if !inertia.iter().all(|m| good(*m)) {
            let range = "neither so short nor so long that m / h² of a node is infinite or 0";
            return Err(BodyError::Value { what: "the time step", found: h, range });
        }
        Self::with(potential, inertia, h)
    }

    /// Returns the potential without inertia (h = ∞), whose minimum is an equilibrium.
    ///
    /// # Errors
    /// [`BodyError::Sparse`] if the Hessian cannot be allocated.
    pub fn equilibrium(potential: P) -> Result<Self, BodyError> {
        let none = vec![0.0; potential.nodes()];
        Self::with(potential, none, f64::INFINITY)
    }

    fn with(potential: P, inertia: Vec<f64>, h: f64) -> Result<Self, BodyError> {
        let matrix = Bsr::zeros(potential.pattern().clone(), (3, 3))?;
        let n = potential.nodes();
        let contact = if potential.has_contact_hessian() { Some(Contacts::new(n, 3)?) } else { None };
        let parts = OwnedSystem { contact, positions: vec![[0.0; 3]; n], ..OwnedSystem::from(matrix) };
        Ok(Self {
            potential,
            curvature: Curvature::Projected,
            inertia,
            h,
            target: vec![0.0; 3 * n],
            parts,
            contact_hessian: ContactHessian::default(),
        })
    }

    /// Begins a step from positions x and velocities v, with the same acceleration for all nodes. The
    /// potential is renewed at x, which may change its sparsity pattern; see [`Potential::renew`]. *Panics*
    /// on wrong lengths.
    ///
    /// # Errors
    /// [`BodyError`] if a new pattern cannot be allocated, or if a part of the potential cannot be updated at
    /// x. The step before is then still the current one.
    pub fn begin(&mut self, x: &[f64], v: &[f64], acceleration: [f64; 3]) -> Result<(), BodyError> {
        assert!(x.len() == self.target.len() && v.len() == x.len(), "begin: wrong length");
        let renewed = self.potential.renew(x);
        // Also after an error, since a part of a sum may have a new pattern.
        if renewed.as_ref().is_ok_and(|new| *new) || self.potential.pattern() != self.parts.matrix.pattern() {
            self.parts.matrix = Bsr::zeros(self.potential.pattern().clone(), (3, 3))?;
        }
        renewed?;
        if self.h.is_finite() {
            for (k, y) in self.target.iter_mut().enumerate() {
                *y = x[k] + self.h * (v[k] + self.h * acceleration[k % 3]); // (2)
            }
        }
        Ok(())
    }

    /// The time step h in seconds; ∞ without inertia.
    pub fn step(&self) -> f64 {
        self.h
    }

    /// Computes ∇²f(x) without contacts and stores it until the next call; [`SystemAt::system_at`] includes
    /// contacts. *Panics* on a wrong length.
    pub fn hessian(&mut self, x: &[f64]) -> &Bsr<f64> {
        assert_eq!(x.len(), self.target.len(), "hessian: wrong length");
        let Self { potential, parts, curvature, inertia, .. } = self;
        let pattern = parts.matrix.pattern().clone();
        let values = parts.matrix.values_mut();
        values.fill(0.0);
        potential.add_hessian(x, *curvature, values);
        for (i, &m) in inertia.iter().enumerate().filter(|(_, m)| **m > 0.0) {
            if let Some(block) = pattern.find(i, i) {
                (0..3).for_each(|k| values[9 * block + 4 * k] += m);
            }
        }
        &parts.matrix
    }

    /// The characteristic force of each node in N, to scale gradients: see [`Potential::add_characteristic`].
    pub fn characteristic(&self) -> Vec<f64> {
        let mut forces = vec![0.0; self.inertia.len()];
        self.potential.add_characteristic(&mut forces);
        forces
    }

    /// The last Hessian that was computed; zeros before the first call of [`hessian`](Self::hessian).
    pub fn last_hessian(&self) -> &Bsr<f64> {
        &self.parts.matrix
    }
}

impl<P: Potential> SystemAt for ImplicitEuler<P> {
    fn system_at(&mut self, x: &[f64]) -> Result<&OwnedSystem<f64>, SparseError> {
        self.hessian(x);
        let Self { potential, parts, curvature, contact_hessian, .. } = self;
        parts.positions.copy_from_slice(x.as_chunks().0);
        if let Some(contact) = &mut parts.contact {
            contact_hessian.clear();
            potential.add_contacts(x, *curvature, contact_hessian);
            contact_hessian.assemble(contact)?;
        }
        Ok(parts)
    }

    fn project(&mut self, stand_in: bool) -> bool {
        self.curvature = if stand_in { Curvature::Projected } else { Curvature::Exact };
        true
    }
}

impl<P: Potential> Objective<Vec<f64>> for ImplicitEuler<P> {
    fn value(&mut self, x: &Vec<f64>) -> Dot<f64> {
        assert_eq!(x.len(), self.target.len(), "value: wrong length");
        let (inertia, target) = (&self.inertia, &self.target);
        let leaf = |nodes: Range<usize>| {
            let square = |k: usize| (x[k] - target[k]).powi(2);
            nodes.map(|i| 0.5 * inertia[i] * (square(3 * i) + square(3 * i + 1) + square(3 * i + 2))).sum()
        };
        let kinetic: f64 =
            parallel::tree(0..inertia.len(), parallel::LEAF, parallel::worth(x.len()), &leaf, &|a, b| a + b);
        let Energy { value, magnitude } = self.potential.energy(x);
        Dot { value: kinetic + value, magnitude: kinetic + magnitude }
    }

    fn gradient(&mut self, x: &Vec<f64>, g: &mut Vec<f64>) {
        assert!(x.len() == self.target.len() && g.len() == x.len(), "gradient: wrong length");
        for (k, g) in g.iter_mut().enumerate() {
            *g = self.inertia[k / 3] * (x[k] - self.target[k]);
        }
        self.potential.add_gradient(x, g);
    }

    fn max_step(&mut self, x: &Vec<f64>, d: &Vec<f64>) -> f64 {
        self.potential.max_step(x, d)
    }
}
