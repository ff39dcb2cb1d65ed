//! Contact of a surface for devices.

use coarsen_elastic::{Barrier, BodyError, ElementKernel, SurfaceKernel};
use coarsen_mesh::vector::{dot, sub};

use super::{ClothContact, MIN_DISTANCE};
use crate::cloth::contact::resistance::Resistance;

/// The sources of the distance and the continuous detection of a pair, and of its energy.
const DETECTION: &str = concat!(include_str!("../distance.cl"), include_str!("../advance.cl"));
const ENERGY: &str = concat!(
    include_str!("../distance.cl"),
    include_str!("../../potential.cl"),
    include_str!("../narrow_phase.cl"),
    include_str!("../energy.cl")
);

impl<S> ClothContact<S> {
    /// The surface and the energy of its pairs for a device, without [friction](crate::ClothFriction::kernel). Queries and parts are in the order of candidates of the host.
    ///
    /// # Errors
    /// [`BodyError::NoKernel`] for springs and for the exact Hessian.
    pub fn kernel(&self) -> Result<SurfaceKernel, BodyError> {
        let none = |energy: &str| Err(BodyError::NoKernel { energy: energy.to_owned() });
        let Resistance::Barrier(Barrier { stiffness, reach }) = self.resistance else {
            return none("contact of triangles by springs");
        };
        if self.turns {
            return none("contact of triangles with its exact Hessian");
        }
        let (free, mut held) = (self.nodes.free(), Vec::new());
        let number = |node: usize| match self.nodes.slot(node as u32) {
            Some(slot) => slot as u32,
            None => {
                held.push(self.nodes.at(node as u32, &[]));
                (free + held.len() - 1) as u32
            }
        };
        let numbers: Vec<u32> = (0..self.nodes.count()).map(number).collect();
        let of = |node: u32| numbers[node as usize];
        let mut triangles = self.parts.triangles.clone();
        triangles.sort_unstable();
        let square = |[a, b]: &[u32; 2]| {
            let edge = sub(self.rest[*a as usize], self.rest[*b as usize]);
            dot(edge, edge)
        };
        let min_distance = MIN_DISTANCE * self.thickness;
        let pair = ElementKernel {
            source: ENERGY,
            corners: 4,
            free,
            elements: Vec::new(),
            held,
            data: Vec::new(),
            common: vec![1.0, stiffness, reach, self.thickness, min_distance],
            bounds_steps: false,
            renewed: false,
        };
        Ok(SurfaceKernel {
            pair,
            friction: None,
            detection: DETECTION,
            vertices: self.parts.vertices.iter().map(|v| of(*v)).collect(),
            edges: self.parts.edges.iter().map(|edge| edge.map(of)).collect(),
            triangles: triangles.iter().map(|t| t.map(of)).collect(),
            rest: self.parts.edges.iter().map(square).collect(),
            thickness: self.thickness,
            min_distance,
        })
    }
}
