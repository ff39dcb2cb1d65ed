//! Nodes attached to points by springs.
//!
//! > E = Σ k/2 ‖x_i − p_i‖²

use std::sync::Arc;

use coarsen_sparse::Pattern;

use crate::error::positive;
use crate::kernel::kernel;
use crate::nodes::pattern_of;
use crate::potential::{Curvature, Energy, Potential};
use crate::{BodyError, ElementKernel};

/// The slot of a node without a pin.
const NONE: u32 = u32::MAX;

/// One pin of a node.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Pin {
    node: u32,
    point: [f64; 3],
    stiffness: f64,
}

/// Pins: springs that pull free nodes to points, and that can be added and removed during a simulation.
///
/// The Hessian is diagonal, so the sparsity pattern never changes. A pin is added or removed in constant time;
/// the first evaluation after that sorts the pins by node, so that sums do not depend on the order of calls.
/// *Memory* 4 bytes per node and 40 per pin.
/// *Use* for interactive forces such as a mouse. For a node that never moves, use a held node, which has no
/// unknowns. A node has at most one pin.
#[derive(Clone, Debug)]
pub struct Attachments {
    pattern: Arc<Pattern>,
    pins: Vec<Pin>,
    /// The index in `pins` of the pin of each node, or [`NONE`].
    slots: Vec<u32>,
    /// Whether `pins` is sorted by node.
    sorted: bool,
}

impl Attachments {
    /// Returns an empty set of pins for `nodes` free nodes.
    ///
    /// # Errors
    /// [`BodyError::Sparse`] if there are more nodes than a matrix may have rows.
    pub fn new(nodes: usize) -> Result<Self, BodyError> {
        let pattern = pattern_of(nodes, (0..nodes as u32).map(|i| (i, i)))?;
        Ok(Self { pattern, pins: Vec::new(), slots: vec![NONE; nodes], sorted: true })
    }

    /// Pins a free node to a point, with a stiffness in N/m. A previous pin of the node is replaced.
    ///
    /// # Errors
    /// [`BodyError`] if the node does not exist, the point is not finite, or k is not positive. The pins are
    /// then unchanged.
    pub fn attach(&mut self, node: usize, point: [f64; 3], stiffness: f64) -> Result<(), BodyError> {
        if node >= self.pattern.rows() {
            let (index, nodes) = (self.pins.len(), self.pattern.rows());
            return Err(BodyError::Node { what: "attachment", index, node, nodes });
        }
        positive("the stiffness of an attachment", stiffness)?;
        if let Some(&found) = point.iter().find(|v| !v.is_finite()) {
            let what = "a coordinate of the point of an attachment";
            return Err(BodyError::Value { what, found, range: "finite" });
        }
        let pin = Pin { node: node as u32, point, stiffness };
        match self.slots[node] {
            NONE => {
                self.sorted &= self.pins.last().is_none_or(|last| last.node < pin.node);
                self.slots[node] = self.pins.len() as u32;
                self.pins.push(pin);
            }
            at => self.pins[at as usize] = pin,
        }
        Ok(())
    }

    /// Removes the pin of a node, and returns whether the node had a pin.
    pub fn release(&mut self, node: usize) -> bool {
        let Some(at) = self.slots.get(node).copied().filter(|at| *at != NONE) else { return false };
        self.slots[node] = NONE;
        self.pins.swap_remove(at as usize);
        if let Some(moved) = self.pins.get(at as usize) {
            self.slots[moved.node as usize] = at;
            self.sorted = false;
        }
        true
    }

    fn sort(&mut self) {
        if !self.sorted {
            self.pins.sort_unstable_by_key(|pin| pin.node);
            self.pins.iter().zip(0..).for_each(|(pin, at)| self.slots[pin.node as usize] = at);
            self.sorted = true;
        }
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
        assert_eq!(x.len(), 3 * self.nodes(), "energy: wrong length");
        self.sort();
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
        assert!(x.len() == 3 * self.nodes() && g.len() == x.len(), "add_gradient: wrong length");
        for pin in &self.pins {
            let gap = pin.gap(x);
            (0..3).for_each(|k| g[3 * pin.node as usize + k] += pin.stiffness * gap[k]);
        }
    }

    fn add_hessian(&mut self, _: &[f64], _: Curvature, values: &mut [f64]) {
        assert_eq!(values.len(), 9 * self.pattern.len(), "add_hessian: wrong length");
        for pin in &self.pins {
            (0..3).for_each(|k| values[9 * pin.node as usize + 4 * k] += pin.stiffness);
        }
    }

    /// Sorted by node, as the sums of the host.
    fn kernels(&self) -> Result<Vec<ElementKernel>, BodyError> {
        let mut pins = self.pins.clone();
        pins.sort_unstable_by_key(|pin| pin.node);
        let data = pins.iter().flat_map(|pin| [pin.stiffness, pin.point[0], pin.point[1], pin.point[2]]);
        Ok(vec![ElementKernel {
            source: kernel!("attachments"),
            corners: 1,
            free: self.nodes(),
            elements: pins.iter().map(|pin| pin.node).collect(),
            held: Vec::new(),
            data: data.collect(),
            common: Vec::new(),
            bounds_steps: false,
            renewed: false,
        }])
    }
}
