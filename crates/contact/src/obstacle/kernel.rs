//! Contact with a shape as elements for devices.

use std::iter::{once, repeat_n};

use coarsen_elastic::{Barrier, BodyError, ContactPotential, ElementKernel, Penalty};

use super::{End, Obstacle};
use crate::Shape;

/// The numbers of friction for a node, and one more for an edge.
const GRIP: [usize; 2] = [7, 8];

impl<S: Shape> Obstacle<S> {
    /// The kernels of nodes and of edges: of contact, or of friction with its numbers.
    ///
    /// # Errors
    /// [`BodyError::NoKernel`] for other shapes and potentials than those of this library.
    pub(crate) fn kernels_of(&self, friction: Option<&[f64]>) -> Result<Vec<ElementKernel>, BodyError> {
        let none = |energy: &str| BodyError::NoKernel { energy: energy.to_owned() };
        let shape = self.shape.kernel();
        let (source, own) =
            shape.ok_or_else(|| none("contact with a solid that is not a plane, ball, capsule or box"))?;
        let (potential, bounds) = match self.potential {
            ContactPotential::Penalty(Penalty { stiffness }) => ([0.0, stiffness, 0.0], false),
            ContactPotential::Barrier(Barrier { stiffness, reach }) => ([1.0, stiffness, reach], true),
            _ => return Err(none("contact by a potential that is neither a penalty nor a barrier")),
        };
        let (free, renewed) = (self.active.len(), friction.is_some());
        let grip = if renewed { GRIP } else { [0; 2] };
        let nodes: Vec<u32> = (0..free as u32).filter(|node| self.active[*node as usize]).collect();
        let of_nodes = ElementKernel {
            source,
            corners: 1,
            free,
            data: vec![0.0; grip[0] * nodes.len()],
            elements: nodes,
            held: Vec::new(),
            common: [&potential, &own[..], friction.unwrap_or_default()].concat(),
            bounds_steps: bounds && !renewed,
            renewed,
        };
        if self.edges.is_empty() {
            return Ok(vec![of_nodes]);
        }
        let mut held = Vec::new();
        let number = |end: &End| match *end {
            End::Free(slot) => slot,
            End::Held { at, .. } => {
                held.push(at);
                (free + held.len() - 1) as u32
            }
        };
        let elements = self.edges.iter().flat_map(|edge| &edge.ends).map(number).collect();
        let data = self.edges.iter().flat_map(|edge| once(edge.soft).chain(repeat_n(0.0, grip[1]))).collect();
        Ok(vec![of_nodes.clone(), ElementKernel { corners: 2, elements, held, data, ..of_nodes }])
    }
}
