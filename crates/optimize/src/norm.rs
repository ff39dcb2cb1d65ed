//! The norm in which a descent measures gradients.

use coarsen_core::{Error, Real, Scalar, Vector};
use num_traits::Float;

use crate::line_search::within;

/// ‖W ∇f‖₂ with a diagonal W, or ‖∇f‖₂: the norm for stopping, refreshing, stagnation and the report.
///
/// *Use* weights if f has stiff and soft parts. [`node_weights`] of characteristic forces give the node-wise
/// characteristic norm of Wang et al. 2020 (HOT), Eq. 9. The tolerance is then a strain, both in stiff and in
/// soft parts (1e-7 in their §7.1). *Cost* of weights: 3 passes and one reduction per step. *Memory*: 2
/// vectors.
///
/// ```
/// use coarsen_core::Stop;
/// use coarsen_optimize::{Backtracking, Descent, Lbfgs, Norm, Rosenbrock, node_weights};
/// let mut descent = Descent::new(Backtracking::default(), Stop::absolute(1e-8));
/// descent.norm = Norm::weighted(node_weights(&[100.0, 1.0], 1)?)?; // two nodes of one unknown, the first a hundred times stiffer
/// let mut x = vec![-1.2, 1.0];
/// let report = descent.minimize(&mut Rosenbrock, &mut Lbfgs::scaled(4), &mut x)?.converged()?;
/// assert!(report.gradient <= 1e-8);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Norm<V: Vector>(Option<Weights<V>>);

struct Weights<V> {
    weights: V,
    scaled: V,
}

impl<V: Vector> Default for Norm<V> {
    /// ‖∇f‖₂.
    fn default() -> Self {
        Self(None)
    }
}

impl<V: Vector> Norm<V> {
    /// Returns the norm with these weights, one per scalar of x and in the layout of x.
    ///
    /// # Errors
    /// [`Error::Parameter`] for weights that are not finite or whose squares overflow, [`Error::Device`] if
    /// memory cannot be allocated.
    pub fn weighted(weights: V) -> Result<Self, Error> {
        let size = weights.norm();
        within("Norm, norm of the weights", size, size.is_finite(), "finite")?;
        Ok(Self(Some(Weights { scaled: weights.like()?, weights })))
    }

    /// Returns the norm of a gradient. *Panics* if its length differs from the number of weights.
    pub fn of(&mut self, g: &V) -> V::Real {
        self.square(g).read().sqrt()
    }

    /// The square of the norm, without synchronisation.
    pub(crate) fn square(&mut self, g: &V) -> V::Scalar {
        let Some(Weights { weights, scaled }) = &mut self.0 else { return g.dot(g) };
        let [one, zero] = [1.0, 0.0].map(|v| g.scalar(V::Real::from_f64(v)));
        scaled.hadamard(&one, weights, g, &zero);
        scaled.dot(scaled)
    }

    /// Returns an error if the number of weights is not the size of x.
    pub(crate) fn fits(&self, x: &V) -> Result<(), Error> {
        match &self.0 {
            Some(Weights { weights, .. }) if weights.size() != x.size() => Err(Error::Shape {
                what: "Descent::norm, weights",
                expected: x.size(),
                found: weights.size(),
            }),
            _ => Ok(()),
        }
    }
}

/// Returns the weights of the node-wise characteristic norm of a grid of the material point method, 1 / (ℓ ξᵢ
/// Δt √n) with ℓ = 24 Δx², for n active nodes and `components` scalars per node.
///
/// `stiffness` contains ξᵢ = Σ_p m_p ω_ip ξ_p / Σ_p m_p ω_ip: the mass average of ξ_p = ‖dP̂/dF̂‖ at rest of the
/// particles (`coarsen_elastic::Lame::at_rest`). The gradient is a momentum, since the unknowns are velocities.
/// ‖W ∇f‖ ≤ 1e-7 is the test of the paper, ‖ĝ‖ ≤ 1e-7 √n. Wang et al. 2020 (HOT), §5.2, (9).
///
/// # Errors
/// [`Error::Parameter`] for a stiffness, a spacing Δx or a time step Δt that is not positive and finite.
pub fn grid_weights<T: Real>(
    stiffness: &[T],
    spacing: T,
    time_step: T,
    components: usize,
) -> Result<Vec<T>, Error> {
    let unit = T::from_f64(24.0) * spacing * spacing * time_step;
    let is_unit = unit.is_finite() && spacing > T::zero() && time_step > T::zero();
    within("grid_weights, 24 Δx² Δt", unit, is_unit, "positive and finite")?;
    let forces: Vec<T> = stiffness.iter().map(|&xi| unit * xi).collect(); // (9)
    node_weights(&forces, components)
}

/// Returns the weights 1 / (cᵢ √n), for the characteristic forces cᵢ of n nodes and `components` scalars per
/// node.
///
/// ‖W ∇f‖₂ is then the root mean square over the nodes of force / characteristic force. For a mesh, cᵢ = ℓᵢ
/// ξᵢ. For a grid, all nodes have the same ℓᵢ. If x are velocities, multiply cᵢ by the time step.
///
/// # Errors
/// [`Error::Parameter`] for a force that is not positive and finite.
pub fn node_weights<T: Real>(forces: &[T], components: usize) -> Result<Vec<T>, Error> {
    let mean = T::from_f64(1.0 / (forces.len() as f64).sqrt());
    let mut weights = Vec::with_capacity(components * forces.len());
    for &force in forces {
        within(
            "characteristic force of a node",
            force,
            force.is_finite() && force > T::zero(),
            "positive and finite",
        )?;
        weights.extend(std::iter::repeat_n(mean / force, components));
    }
    Ok(weights)
}
