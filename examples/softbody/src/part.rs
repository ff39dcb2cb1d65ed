//! The potentials of a scene: bodies, pins, obstacles and contact between bodies.

use std::sync::Arc;

use coarsen::elastic::{
    Attachments, Barrier, BodyError, ContactHessian, Curvature, Energy, Plus, Potential, Total,
};
use coarsen::sparse::Pattern;
use coarsen_contact::{
    BodyContact, ClothContact, ClothFriction, Contact, ContactError, Obstacle, Penetration, Shape,
};

use crate::bodies::Bodies;

/// A potential of a scene. The variants have concrete types, because a run changes pins and queries contacts.
pub(crate) enum Part {
    /// The elastic bodies.
    Bodies(Bodies),
    /// The pins.
    Pins(Attachments),
    /// Contact of nodes with an obstacle, by a penalty.
    Obstacle(Obstacle<Box<dyn Shape>>),
    /// The same, by a barrier; of edges too.
    BarrierObstacle(Obstacle<Box<dyn Shape>, Barrier>),
    /// Friction with an obstacle, which is no energy of the scene.
    Friction(Box<dyn Potential>),
    /// Contact of bodies of tetrahedra with each other and with themselves, by a penalty, and their friction.
    Contact(Box<Plus<BodyContact, ClothFriction>>),
    /// Contact of the surfaces of all bodies, by a barrier, and their friction.
    Surface(Box<Surface>),
}

/// Contact of surfaces, and a test of its own for vertices inside tetrahedra.
pub(crate) struct Surface {
    /// The energy, and friction.
    pub(crate) contact: Plus<ClothContact, ClothFriction>,
    /// Finds vertices inside tetrahedra, if the scene has tetrahedra; its energy is not used.
    pub(crate) inside: Option<BodyContact>,
    /// The body of each node.
    pub(crate) bodies: Vec<u32>,
}

impl Surface {
    /// The number of pairs that are near, and the depth of the deepest vertex inside another body. A vertex inside its
    /// own body, without a crossing of surfaces, is behind inverted elements.
    ///
    /// # Errors
    /// Those of the detection.
    fn penetration(&mut self, x: &[f64]) -> Result<Penetration, ContactError> {
        let Self { contact, inside, bodies } = self;
        let contacts = contact.first.detect(x)?.len();
        let found = inside.as_mut().map_or(Ok(&[][..]), |inside| inside.detect(x))?;
        let other = |c: &&Contact| bodies[c.vertex as usize] != bodies[c.face[0] as usize];
        let at = |v: u32| std::array::from_fn(|k| x[3 * v as usize + k]);
        let deepest = found.iter().filter(other).map(|c| -c.gap(at)).fold(0.0, f64::max);
        Ok(Penetration { contacts, deepest })
    }
}

/// The contacts of a scene, and how deep nodes are in m; `None` where nothing tests it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Depths {
    pub(crate) contacts: usize,
    /// In obstacles.
    pub(crate) obstacles: Option<f64>,
    /// Of bodies of tetrahedra, in other ones and by penalties in themselves.
    pub(crate) bodies: Option<f64>,
}

impl Part {
    /// The contacts of all parts at x, and how deep nodes are.
    ///
    /// # Errors
    /// Those of the detection.
    pub(crate) fn depths(all: &mut Total<Self>, x: &[f64]) -> Result<Depths, ContactError> {
        let mut depths = Depths::default();
        let deeper = |of: &mut Option<f64>, found: Penetration| {
            *of = Some(Penetration { contacts: 0, deepest: of.unwrap_or(0.0) }.and(found).deepest);
            found.contacts
        };
        for part in all.parts_mut() {
            depths.contacts += match part {
                Self::Bodies(_) | Self::Pins(_) | Self::Friction(_) => 0,
                Self::Obstacle(obstacle) => deeper(&mut depths.obstacles, obstacle.penetration(x)),
                Self::BarrierObstacle(obstacle) => deeper(&mut depths.obstacles, obstacle.penetration(x)),
                Self::Contact(contact) => deeper(&mut depths.bodies, contact.first.penetration(x)),
                Self::Surface(surface) => {
                    let found = surface.penetration(x)?;
                    if surface.inside.is_some() { deeper(&mut depths.bodies, found) } else { found.contacts }
                }
            };
        }
        Ok(depths)
    }

    /// The energy of the scene at x in J, without friction, whose gradient is a force.
    pub(crate) fn stored(all: &mut Total<Self>, x: &[f64]) -> f64 {
        let energy = |part: &mut Self| match part {
            Self::Friction(_) => Energy::default(),
            Self::Contact(contact) => contact.first.energy(x),
            Self::Surface(surface) => surface.contact.first.energy(x),
            other => other.energy(x),
        };
        all.parts_mut().iter_mut().map(energy).sum::<Energy>().value
    }

    /// The number of tetrahedra of bodies whose volume at x is not positive.
    pub(crate) fn inverted(&self, x: &[f64]) -> usize {
        if let Self::Bodies(bodies) = self { bodies.inverted(x) } else { 0 }
    }

    /// The pins, if this part is one.
    pub(crate) fn pins(&mut self) -> Option<&mut Attachments> {
        if let Self::Pins(pins) = self { Some(pins) } else { None }
    }

    /// The barrier of surfaces, if this part is one.
    pub(crate) fn surface(&mut self) -> Option<&mut ClothContact> {
        if let Self::Surface(surface) = self { Some(&mut surface.contact.first) } else { None }
    }

    fn any(&self) -> &dyn Potential {
        match self {
            Self::Bodies(part) => part,
            Self::Pins(part) => part,
            Self::Obstacle(part) => part,
            Self::BarrierObstacle(part) => part,
            Self::Friction(part) => &**part,
            Self::Contact(part) => &**part,
            Self::Surface(part) => &part.contact,
        }
    }

    fn any_mut(&mut self) -> &mut dyn Potential {
        match self {
            Self::Bodies(part) => part,
            Self::Pins(part) => part,
            Self::Obstacle(part) => part,
            Self::BarrierObstacle(part) => part,
            Self::Friction(part) => &mut **part,
            Self::Contact(part) => &mut **part,
            Self::Surface(part) => &mut part.contact,
        }
    }
}

impl Potential for Part {
    fn nodes(&self) -> usize {
        self.any().nodes()
    }

    fn pattern(&self) -> &Arc<Pattern> {
        self.any().pattern()
    }

    fn energy(&mut self, x: &[f64]) -> Energy {
        self.any_mut().energy(x)
    }

    fn add_gradient(&mut self, x: &[f64], g: &mut [f64]) {
        self.any_mut().add_gradient(x, g);
    }

    fn add_hessian(&mut self, x: &[f64], curvature: Curvature, values: &mut [f64]) {
        self.any_mut().add_hessian(x, curvature, values);
    }

    fn add_contacts(&mut self, x: &[f64], curvature: Curvature, contacts: &mut ContactHessian) {
        self.any_mut().add_contacts(x, curvature, contacts);
    }

    fn has_contact_hessian(&self) -> bool {
        self.any().has_contact_hessian()
    }

    fn max_step(&mut self, x: &[f64], d: &[f64]) -> f64 {
        self.any_mut().max_step(x, d)
    }

    fn renew(&mut self, x: &[f64]) -> Result<bool, BodyError> {
        // Contact returns the errors of friction below.
        let _ = match self {
            Self::Surface(surface) => surface.contact.second.grip(&mut surface.contact.first, x),
            Self::Contact(contact) => contact.second.grip_bodies(&mut contact.first, x),
            _ => Ok(()),
        };
        self.any_mut().renew(x)
    }

    fn add_characteristic(&self, forces: &mut [f64]) {
        self.any().add_characteristic(forces);
    }
}
