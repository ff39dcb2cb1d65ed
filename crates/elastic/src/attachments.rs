//! Nodes attached to points by springs.
//!
//! > E = Σ k/2 ‖x_i − p_i‖²

use std::sync::Arc;

use coarsen_sparse::Pattern;

use crate::BodyError;
use crate::nodes::pattern_of;
use crate::potential::{Curvature, Energy, Potential};

/// One pin of a node.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Pin {
    node: u32,
    point: [f64; 3],
    stiffness: f64,
}

/// Pins: springs that pull free nodes to points, and that can be added and removed during a simulation.
///
/// The Hessian is diagonal, so the sparsity pattern never changes. A node has at most one pin. *Use* for
/// interactive forces, such as dragging with a mouse. *Not* for a node that never moves: hold this node,
/// which then has no unknowns.
#[derive(Clone, Debug)]
pub struct Attachments {
    pattern: Arc<Pattern>,
    pins: Vec<Pin>,
}

impl Attachments {
    /// Returns an empty set of pins for `nodes` free nodes.
    ///
    /// # Errors
    /// [`BodyError::Sparse`] if there are more nodes than a matrix may have rows.
    pub fn new(nodes: usize) -> Result<Self, BodyError> {
        Ok(Self { pattern: pattern_of(nodes, (0..nodes as u32).map(|i| (i, i)))?, pins: Vec::new() })
    }

    /// Pins a free node to a point, with a stiffness in N/m. A previous pin of the node is replaced.
    ///
    /// # Errors
    /// [`BodyError`] if the node does not exist or the stiffness is not positive.
    pub fn attach(&mut self, node: usize, point: [f64; 3], stiffness: f64) -> Result<(), BodyError> {
        if node >= self.pattern.rows() {
            let (index, nodes) = (self.pins.len(), self.pattern.rows());
            return Err(BodyError::Node { what: "attachment", index, node, nodes });
        }
        if !(stiffness.is_finite() && stiffness > 0.0) {
            let range = "positive and finite";
            return Err(BodyError::Value { what: "the stiffness of an attachment", found: stiffness, range });
        }
        let pin = Pin { node: node as u32, point, stiffness };
        match self.pins.binary_search_by_key(&pin.node, |pin| pin.node) {
            Ok(at) => self.pins[at] = pin,
            Err(at) => self.pins.insert(at, pin),
        }
        Ok(())
    }

    /// Removes the pin of a node, and returns whether the node had a pin.
    pub fn release(&mut self, node: usize) -> bool {
        let found = self.pins.binary_search_by_key(&(node as u32), |pin| pin.node);
        found.map(|at| self.pins.remove(at)).is_ok()
    }

    /// The number of pins.
    pub fn len(&self) -> usize {
        self.pins.len()
    }

    /// Whether there are no pins.
    pub fn is_empty(&self) -> bool {
        self.pins.is_empty()
    }
}

impl Pin {
    fn gap(&self, x: &[f64]) -> [f64; 3] {
        std::array::from_fn(|k| x[3 * self.node as usize + k] - self.point[k])
    }
}

impl Potential for Attachments {
    fn nodes(&self) -> usize {
        self.pattern.rows()
    }

    fn pattern(&self) -> &Arc<Pattern> {
        &self.pattern
    }

    fn energy(&mut self, x: &[f64]) -> Energy {
        let energy = |pin: &Pin| {
            let term = |k: usize| {
                let (gap, at) = (pin.gap(x)[k], x[3 * pin.node as usize + k]);
                let magnitude = gap.abs() * (at.abs() + pin.point[k].abs());
                pin.stiffness * Energy { value: 0.5 * gap * gap, magnitude }
            };
            (0..3).map(term).sum::<Energy>()
        };
        self.pins.iter().map(energy).sum()
    }

    fn add_gradient(&mut self, x: &[f64], g: &mut [f64]) {
        for pin in &self.pins {
            let gap = pin.gap(x);
            (0..3).for_each(|k| g[3 * pin.node as usize + k] += pin.stiffness * gap[k]);
        }
    }

    fn add_hessian(&mut self, _: &[f64], _: Curvature, values: &mut [f64]) {
        for pin in &self.pins {
            (0..3).for_each(|k| values[9 * pin.node as usize + 4 * k] += pin.stiffness);
        }
    }
}
