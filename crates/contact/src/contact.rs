//! One contact: a vertex and a triangle.
//!
//! > g = (x_v − Σ w_a x_a) · n

use coarsen_mesh::vector::{dot, sub};

use crate::shape::size;
use crate::triangle::{EQUAL, normal};

/// A vertex inside a body, and the surface triangle through which it leaves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contact {
    /// v, a node of the mesh.
    pub vertex: u32,
    /// The corners of the triangle, counter-clockwise as seen from outside.
    pub face: [u32; 3],
    /// w: the barycentric coordinates of the point of the triangle that is nearest to the vertex.
    pub weights: [f64; 3],
    /// n: the unit vector from the vertex to that point; the normal of the triangle, unless that point is on
    /// an edge or corner.
    pub normal: [f64; 3],
}

impl Contact {
    /// g for these positions with the stored w and n; negative inside.
    pub fn gap(&self, at: impl Fn(u32) -> [f64; 3]) -> f64 {
        let vertex = at(self.vertex);
        // Computed as Σ w_a (x_v − x_a), because differences keep all digits far from the origin.
        self.face.iter().zip(self.weights).map(|(&a, w)| w * dot(sub(vertex, at(a)), self.normal)).sum()
    }

    /// The magnitude of the terms of g.
    pub(crate) fn magnitude(&self, at: impl Fn(u32) -> [f64; 3]) -> f64 {
        let along = |node: u32| {
            let x = at(node);
            size(std::array::from_fn(|k| x[k] * self.normal[k]))
        };
        along(self.vertex) + self.face.iter().zip(self.weights).map(|(&a, w)| w * along(a)).sum::<f64>()
    }

    /// P = ∂²(g²/2)/∂x_v². It is n nᵀ if the nearest point is inside the triangle, I − u uᵀ if it is on an
    /// edge with the direction u, and I if it is a corner.
    pub(crate) fn resistance(&self, at: impl Fn(u32) -> [f64; 3]) -> [[f64; 3]; 3] {
        let cosine = normal(self.face.map(&at)).map_or(1.0, |normal| dot(normal, self.normal));
        if cosine * cosine >= 1.0 - EQUAL {
            return self.along_normal();
        }
        let mut ends = self.face.iter().zip(self.weights).filter(|(_, w)| *w != 0.0).map(|(&a, _)| at(a));
        match (ends.next(), ends.next()) {
            (Some(a), Some(b)) => {
                let u = sub(b, a);
                let square = dot(u, u);
                matrix(|p, q| f64::from(p == q) - u[p] * u[q] / square)
            }
            _ => matrix(|p, q| f64::from(p == q)),
        }
    }

    /// n nᵀ.
    pub(crate) fn along_normal(&self) -> [[f64; 3]; 3] {
        matrix(|p, q| self.normal[p] * self.normal[q])
    }

    /// The four nodes, each with the component of ∂g/∂x along n: 1 for the vertex, −w for the corners.
    pub fn stencil(&self) -> [(u32, f64); 4] {
        let ([a, b, c], [u, v, w]) = (self.face, self.weights);
        [(self.vertex, 1.0), (a, -u), (b, -v), (c, -w)]
    }
}

fn matrix(entry: impl Fn(usize, usize) -> f64) -> [[f64; 3]; 3] {
    std::array::from_fn(|p| std::array::from_fn(|q| entry(p, q)))
}
