//! The sum of a list of energies.

use std::sync::Arc;

use coarsen_sparse::Pattern;

use crate::potential::{ContactHessian, Curvature, Energy, Potential, shorter};
use crate::union::{Map, add_hessian, union};
use crate::{BodyError, ElementKernel};

/// The sum Σ E_k of energies of the same nodes; all parts have the same type or are boxed.
///
/// Its sparsity pattern is the union of all patterns. A part whose pattern equals the union adds its Hessian
/// in place. Any other part adds it through a map. Put the part with the largest pattern first. *Memory*: a
/// second copy of the Hessian of each part whose pattern is smaller than the union. *Use* for parts that are
/// chosen at run time; [`Plus`](crate::Plus) adds two parts whose types are known.
///
/// ```
/// use coarsen_elastic::{Attachments, Potential, Spring, Springs, Total};
/// let spring = Spring { ends: [0, 1], stiffness: 10.0, length: 1.0 };
/// let rope = Springs::new(vec![spring], &[false; 2], &[[0.0; 3]; 2])?;
/// let mut pin = Attachments::new(2)?;
/// pin.attach(0, [0.0; 3], 4.0)?;
/// let parts: Vec<Box<dyn Potential>> = vec![Box::new(rope), Box::new(pin)];
/// let mut all = Total::new(parts)?;
/// assert_eq!(all.energy(&[1.0, 0.0, 0.0, 3.0, 0.0, 0.0]).value, 7.0); // 10/2 (2 - 1)² + 4/2 · 1²
/// # Ok::<(), coarsen_elastic::BodyError>(())
/// ```
pub struct Total<P = Box<dyn Potential>> {
    parts: Vec<P>,
    pattern: Arc<Pattern>,
    maps: Vec<Option<Map>>,
}

impl<P: Potential> Total<P> {
    /// Returns the sum of `parts`.
    ///
    /// # Errors
    /// [`BodyError::Length`] for an empty list and for parts with different numbers of nodes.
    pub fn new(parts: Vec<P>) -> Result<Self, BodyError> {
        let Some(first) = parts.first() else {
            return Err(BodyError::Length { what: "energies of a sum", expected: 1, found: 0 });
        };
        let nodes = first.nodes();
        Self::of(nodes, parts)
    }

    /// Returns the sum of `parts` of `nodes` free nodes, which may be none: E is then 0.
    ///
    /// # Errors
    /// [`BodyError::Length`] for a part with another number of nodes, [`BodyError::Sparse`] for more nodes than the rows that a
    /// matrix may have.
    pub fn of(nodes: usize, parts: Vec<P>) -> Result<Self, BodyError> {
        if let Some(found) = parts.iter().map(P::nodes).find(|&found| found != nodes) {
            let what = "nodes of energies that are added";
            return Err(BodyError::Length { what, expected: nodes, found });
        }
        let pattern = Arc::new(Pattern::diagonal(nodes)?);
        let mut total = Self { parts, pattern, maps: Vec::new() };
        total.unite()?;
        Ok(total)
    }

    /// The parts in their given order.
    pub fn parts(&self) -> &[P] {
        &self.parts
    }

    /// The parts, for example to change their parameters. Their sparsity patterns may only change in
    /// [`renew`](Potential::renew).
    pub fn parts_mut(&mut self) -> &mut [P] {
        &mut self.parts
    }

    /// Recomputes the union of all patterns and the maps to it.
    fn unite(&mut self) -> Result<(), BodyError> {
        let patterns: Vec<_> = self.parts.iter().map(P::pattern).collect();
        if !patterns.is_empty() {
            self.pattern = union(&patterns)?;
        }
        self.maps = patterns.iter().map(|part| Map::new(part, &self.pattern)).collect();
        Ok(())
    }
}

impl<P: Potential> Potential for Total<P> {
    fn nodes(&self) -> usize {
        self.pattern.rows()
    }

    fn pattern(&self) -> &Arc<Pattern> {
        &self.pattern
    }

    fn energy(&mut self, x: &[f64]) -> Energy {
        self.parts.iter_mut().map(|part| part.energy(x)).sum()
    }

    fn add_gradient(&mut self, x: &[f64], g: &mut [f64]) {
        self.parts.iter_mut().for_each(|part| part.add_gradient(x, g));
    }

    fn add_hessian(&mut self, x: &[f64], curvature: Curvature, values: &mut [f64]) {
        for (part, map) in self.parts.iter_mut().zip(&mut self.maps) {
            add_hessian(part, map.as_mut(), x, curvature, values);
        }
    }

    fn add_contacts(&mut self, x: &[f64], curvature: Curvature, contacts: &mut ContactHessian) {
        self.parts.iter_mut().for_each(|part| part.add_contacts(x, curvature, contacts));
    }

    fn has_contact_hessian(&self) -> bool {
        self.parts.iter().any(P::has_contact_hessian)
    }

    fn max_step(&mut self, x: &[f64], d: &[f64]) -> f64 {
        self.parts.iter_mut().map(|part| part.max_step(x, d)).fold(f64::INFINITY, shorter)
    }

    fn renew(&mut self, x: &[f64]) -> Result<bool, BodyError> {
        let (mut renewed, mut failed) = (false, None);
        for part in &mut self.parts {
            match part.renew(x) {
                Ok(new) => renewed |= new,
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        // After an error of one part, earlier parts may still have new patterns.
        if renewed || failed.is_some() {
            self.unite()?;
        }
        failed.map_or(Ok(renewed), Err)
    }

    fn add_characteristic(&self, forces: &mut [f64]) {
        self.parts.iter().for_each(|part| part.add_characteristic(forces));
    }

    fn kernels(&self) -> Result<Vec<ElementKernel>, BodyError> {
        let kernels: Result<Vec<_>, _> = self.parts.iter().map(P::kernels).collect();
        Ok(kernels?.concat())
    }
}
