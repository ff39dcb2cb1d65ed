//! The sum of two energies.

use std::sync::Arc;

use coarsen_sparse::Pattern;

use crate::potential::{ContactHessian, Curvature, Energy, Potential, shorter};
use crate::union::{Map, add_hessian, union};
use crate::{BodyError, ElementKernel};

/// The sum A + B of two energies of any types. Sums of three parts are nested: `Plus::new(Plus::new(a, b)?,
/// c)?`.
///
/// Its sparsity pattern is the union of both patterns. A part whose pattern equals the union adds its Hessian
/// in place. Any other part adds it through a map. Put the part with the largest pattern first. *Memory*: a
/// second copy of the Hessian of each part whose pattern is smaller than the union. *Use*
/// [`Total`](crate::Total) instead for a list whose length is known only at run time.
///
/// ```
/// use coarsen_elastic::{Attachments, Plus, Potential, Spring, Springs};
/// let spring = Spring { ends: [0, 1], stiffness: 10.0, length: 1.0 };
/// let rope = Springs::new(vec![spring], &[false; 2], &[[0.0; 3]; 2])?;
/// let mut both = Plus::new(rope, Attachments::new(2)?)?;
/// both.second.attach(0, [0.0; 3], 4.0)?;
/// assert_eq!(both.energy(&[1.0, 0.0, 0.0, 3.0, 0.0, 0.0]).value, 7.0); // 10/2 (2 - 1)² + 4/2 · 1²
/// # Ok::<(), coarsen_elastic::BodyError>(())
/// ```
pub struct Plus<A, B> {
    /// The potential A.
    pub first: A,
    /// The potential B.
    pub second: B,
    pattern: Arc<Pattern>,
    maps: [Option<Map>; 2],
}

impl<A: Potential, B: Potential> Plus<A, B> {
    /// Returns the sum of two energies of the same nodes.
    ///
    /// # Errors
    /// [`BodyError::Length`] if the numbers of nodes differ.
    pub fn new(first: A, second: B) -> Result<Self, BodyError> {
        let (expected, found) = (first.nodes(), second.nodes());
        if expected != found {
            return Err(BodyError::Length { what: "nodes of energies that are added", expected, found });
        }
        let pattern = first.pattern().clone();
        let mut plus = Self { first, second, pattern, maps: [None, None] };
        plus.unite()?;
        Ok(plus)
    }

    /// Recomputes the union of both patterns and the maps to it.
    fn unite(&mut self) -> Result<(), BodyError> {
        let parts = [self.first.pattern(), self.second.pattern()];
        self.pattern = union(&parts)?;
        self.maps = parts.map(|part| Map::new(part, &self.pattern));
        Ok(())
    }
}

impl<A: Potential, B: Potential> Potential for Plus<A, B> {
    fn nodes(&self) -> usize {
        self.first.nodes()
    }

    fn pattern(&self) -> &Arc<Pattern> {
        &self.pattern
    }

    fn energy(&mut self, x: &[f64]) -> Energy {
        self.first.energy(x) + self.second.energy(x)
    }

    fn add_gradient(&mut self, x: &[f64], g: &mut [f64]) {
        self.first.add_gradient(x, g);
        self.second.add_gradient(x, g);
    }

    fn add_hessian(&mut self, x: &[f64], curvature: Curvature, values: &mut [f64]) {
        let [a, b] = &mut self.maps;
        add_hessian(&mut self.first, a.as_mut(), x, curvature, values);
        add_hessian(&mut self.second, b.as_mut(), x, curvature, values);
    }

    fn add_contacts(&mut self, x: &[f64], curvature: Curvature, contacts: &mut ContactHessian) {
        self.first.add_contacts(x, curvature, contacts);
        self.second.add_contacts(x, curvature, contacts);
    }

    fn has_contact_hessian(&self) -> bool {
        self.first.has_contact_hessian() || self.second.has_contact_hessian()
    }

    fn max_step(&mut self, x: &[f64], d: &[f64]) -> f64 {
        shorter(self.first.max_step(x, d), self.second.max_step(x, d))
    }

    fn renew(&mut self, x: &[f64]) -> Result<bool, BodyError> {
        let (first, second) = (self.first.renew(x), self.second.renew(x));
        // After an error of one part, the other part may still have a new pattern.
        if !matches!((&first, &second), (Ok(false), Ok(false))) {
            self.unite()?;
        }
        Ok(first? | second?)
    }

    fn add_characteristic(&self, forces: &mut [f64]) {
        self.first.add_characteristic(forces);
        self.second.add_characteristic(forces);
    }

    fn kernels(&self) -> Result<Vec<ElementKernel>, BodyError> {
        Ok([self.first.kernels()?, self.second.kernels()?].concat())
    }
}
