//! The energies of contact of a scene: penalties, which nodes enter, or barriers, which nothing crosses.

use coarsen::elastic::{Barrier, Plus};
use coarsen::mesh::Mesh;
use coarsen::mesh::vector::{dot, sub};
use coarsen_contact::{
    BodyContact, ClothContact, ClothFriction, ContactError, Crossings, Friction, Obstacle, Shape as _, Spin,
    clearance,
};

use super::world::Shape;
use super::{SceneError, Setting};
use crate::options::{Contact, Method};
use crate::part::{Inside, Part};

/// The stiffness of a contact, in units of Young's modulus times the length of an edge. A barrier of a tenth of an edge
/// then presses at half of its thickness about like the stress E on the triangles of a node.
const STIFFNESS: f64 = 10.0;

/// The largest thickness of barriers, in units of the mean length of an edge.
const THICKEST: f64 = 0.1;

/// Parts of a body touch at rest if they are not farther apart than this, in units of the mean length of an edge. It is
/// above the round-off of positions.
const TOUCH: f64 = 1e-9;

/// The energies of contact, and the test for vertices inside other bodies.
type Contacts = (Vec<Box<dyn Part>>, Option<Inside>);

/// All that contact depends on.
pub(super) struct ContactInputs<'a> {
    pub(super) setting: &'a Setting,
    pub(super) meshes: &'a [Mesh],
    /// The positions and tetrahedra of all bodies.
    pub(super) whole: &'a Mesh,
    pub(super) shapes: &'a [Shape],
    /// The largest product of Young's modulus and the length of an edge, N/m.
    pub(super) stiffest: f64,
    pub(super) method: &'a Method,
    /// Whether bodies have contact with each other and with themselves.
    pub(super) wanted: bool,
}

impl ContactInputs<'_> {
    /// The energies of contact, and why there is none of the body with itself, where the scene does not ask for it and the mesh
    /// is not fit.
    pub(super) fn parts(self) -> Result<(Contacts, Option<SceneError>), SceneError> {
        let make = |this: &Self| match this.method.contact {
            Contact::Penalty => this.penalties(),
            Contact::Barrier => this.barriers(),
        };
        let [_, said] = self.setting.touches();
        match make(&self) {
            Err(fault) if self.wanted && !said => Ok((make(&Self { wanted: false, ..self })?, Some(fault))),
            parts => Ok((parts?, None)),
        }
    }

    fn penalties(&self) -> Result<Contacts, SceneError> {
        let n = self.whole.positions.len();
        let stiffness = self.setting.contact_stiffness.unwrap_or(STIFFNESS * self.stiffest);
        let mut parts: Vec<Box<dyn Part>> = Vec::new();
        for (index, solid) in self.setting.obstacle.iter().enumerate() {
            let make = || Obstacle::new(n, solid.grown(0.0)?, stiffness);
            let fault = |source| SceneError::Obstacle { index, source };
            let friction = make().and_then(|rough| self.friction(rough));
            parts.push(Box::new(make().map_err(fault)?));
            parts.push(Box::new(friction.map_err(fault)?));
        }
        if self.wanted {
            if let Some(index) = self.meshes.iter().position(|mesh| mesh.tetrahedra.is_empty()) {
                return Err(SceneError::NoContact { index });
            }
            let contact = BodyContact::new(self.whole, &vec![false; n], stiffness)?;
            let friction = ClothFriction::of_bodies(&contact, self.method.friction, self.method.dt)?;
            parts.push(Box::new(Plus::new(contact, friction)?));
        }
        Ok((parts, None))
    }

    /// Contact by barriers.
    ///
    /// # Errors
    /// [`SceneError`] for obstacles that are not valid, for a node inside an obstacle, for a body whose parts touch at
    /// rest, and for bodies that intersect or nearly touch at the start.
    fn barriers(&self) -> Result<Contacts, SceneError> {
        let Self { setting, whole, .. } = *self;
        if !self.wanted && setting.obstacle.is_empty() {
            return Ok((Vec::new(), None));
        }
        let (n, at) = (whole.positions.len(), &whole.positions);
        let (free, mut inside) = (vec![false; n], None);
        let stiffness = setting.contact_stiffness.unwrap_or(STIFFNESS * self.stiffest);
        let thickness = setting.contact_thickness.map_or_else(|| self.thickness(), Ok)?;
        let potential = Barrier { stiffness: stiffness * thickness * thickness, reach: thickness };
        let triangles = self.shapes.iter().flat_map(|shape| shape.triangles.iter().copied()).collect();
        let surface = Crossings::new(triangles, free.clone());
        let mut edges = surface.edges().to_vec();
        edges.retain(|&[a, b]| at[a as usize] != at[b as usize]); // triangles without area
        let mut parts: Vec<Box<dyn Part>> = Vec::new();
        for (index, solid) in setting.obstacle.iter().enumerate() {
            let fault = |source| SceneError::Obstacle { index, source };
            let shape = solid.grown(0.0).map_err(fault)?;
            if let Some(node) = at.iter().position(|x| shape.distance(*x) <= 0.0) {
                let depth = -shape.distance(at[node]);
                let (body, node) = self.body(node);
                return Err(SceneError::Inside { body, node, depth, obstacle: index });
            }
            // An edge between nodes outside of a plane is outside.
            let list = if solid.radius().is_some() { &edges[..] } else { &[] };
            let make = || Obstacle::with_potential(n, solid.grown(0.0)?, potential)?.edges(list, &free, at);
            let friction = make().and_then(|rough| self.friction(rough));
            let obstacle = make().map_err(fault)?;
            if let Some([node, _]) = obstacle.inside(at.as_flattened()) {
                let (body, node) = self.body(node as usize);
                return Err(SceneError::Dips { body, node, obstacle: index });
            }
            parts.push(Box::new(obstacle));
            parts.push(Box::new(friction.map_err(fault)?));
        }
        if self.wanted {
            let contact = ClothContact::new(surface.triangles(), &free, at, thickness, stiffness);
            let contact = contact.map_err(|error| match error {
                ContactError::Intersects(crossing) => self.intersect(crossing.edge[0], crossing.triangle[0]),
                error => error.into(),
            })?;
            let contact = contact.turning();
            let friction = ClothFriction::new(&contact, self.method.friction, self.method.dt)?;
            parts.push(Box::new(Plus::new(contact, friction)?));
            let solid = !whole.tetrahedra.is_empty();
            let mut bodies = solid.then(|| BodyContact::new(whole, &free, stiffness)).transpose()?;
            if let Some(bodies) = &mut bodies
                && let Some(contact) = bodies.detect(at.as_flattened())?.first()
            {
                return Err(self.intersect(contact.vertex, contact.face[0]));
            }
            let count = |(body, shape): (u32, &Shape)| std::iter::repeat_n(body, shape.nodes.len());
            let body = (0..).zip(self.shapes).flat_map(count).collect();
            inside = bodies.map(|bodies| Inside { bodies, body });
        }
        Ok((parts, inside))
    }

    /// Friction with an obstacle.
    fn friction(
        &self,
        obstacle: Obstacle<Box<dyn coarsen_contact::Shape>>,
    ) -> Result<Friction<Box<dyn coarsen_contact::Shape>>, ContactError> {
        Friction::new(obstacle, Spin::default(), self.method.friction, self.method.dt)
    }

    /// The distance at which barriers begin. With contact between bodies, no part of a body touches another one at
    /// rest.
    fn thickness(&self) -> Result<f64, SceneError> {
        let at = &self.whole.positions;
        let mut thickness = f64::INFINITY;
        for (index, shape) in self.shapes.iter().enumerate() {
            let length = |[a, b]: [u32; 2]| {
                let d = sub(at[a as usize], at[b as usize]);
                dot(d, d).sqrt()
            };
            let sides = shape.triangles.iter().flat_map(|&[a, b, c]| [[a, b], [b, c], [c, a]]);
            let mean = sides.map(length).sum::<f64>() / (3 * shape.triangles.len()) as f64;
            thickness = thickness.min(THICKEST * mean);
            if self.wanted {
                let own = shape.triangles.iter().map(|t| t.map(|v| v - shape.nodes.start as u32));
                let own: Vec<[u32; 3]> = own.collect();
                let found =
                    clearance(&own, &at[shape.nodes.clone()], thickness).map_err(|error| match error {
                        ContactError::Body(source) => SceneError::Body { index, source },
                        error => error.into(),
                    })?;
                if let Some((distance, pair)) = found {
                    if distance <= TOUCH * mean {
                        return Err(SceneError::Touches { index, pair, distance });
                    }
                    thickness = distance;
                }
            }
        }
        Ok(thickness)
    }

    /// The body of a node, and its number in the body.
    fn body(&self, node: usize) -> (usize, usize) {
        let body = self.shapes.iter().position(|shape| shape.nodes.contains(&node));
        let body = body.expect("every node belongs to a body");
        (body, node - self.shapes[body].nodes.start)
    }

    /// The error of two bodies with these nodes.
    fn intersect(&self, node: u32, other: u32) -> SceneError {
        let ((first, node), (second, _)) = (self.body(node as usize), self.body(other as usize));
        SceneError::Intersect { first, second, node }
    }
}
