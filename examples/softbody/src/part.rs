//! The potentials of a scene: bodies, pins, obstacles and contact between bodies.

use std::sync::Arc;

use coarsen::elastic::{Attachments, Barrier, BodyError, Curvature, Energy, Potential, Total, Touching};
use coarsen::sparse::Pattern;
use coarsen_contact::{BodyContact, ClothContact, Contact, ContactError, Obstacle, Penetration, Shape};

use crate::bodies::Bodies;

/// A potential of a scene. The variants have concrete types, because a run changes pins and queries contacts.
pub(crate) enum Part {
    /// The elastic bodies.
    Bodies(Bodies),
    /// The pins.
    Pins(Attachments),
    /// Contact of nodes with an obstacle, by a penalty.
    Obstacle(Obstacle<Box<dyn Shape>>),
    /// The same, by a barrier.
    Fence(Obstacle<Box<dyn Shape>, Barrier>),
    /// Contact of bodies of tetrahedra with each other and with themselves, by a penalty.
    Contact(Box<BodyContact>),
    /// Contact of the surfaces of all bodies, by a barrier.
    Surface(Box<Surface>),
}

/// Contact of surfaces, and a test of its own for vertices inside tetrahedra.
pub(crate) struct Surface {
    /// The energy.
    pub(crate) contact: ClothContact,
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
        let contacts = contact.detect(x)?.len();
        let found = inside.as_mut().map_or(Ok(&[][..]), |inside| inside.detect(x))?;
        let other = |c: &&Contact| bodies[c.vertex as usize] != bodies[c.face[0] as usize];
        let at = |v: u32| std::array::from_fn(|k| x[3 * v as usize + k]);
        let deepest = found.iter().filter(other).map(|c| -c.gap(at)).fold(0.0, f64::max);
        Ok(Penetration { contacts, deepest })
    }
}

impl Part {
    /// The number and depth of the contacts of all parts at x; 0 for bodies and pins.
    ///
    /// # Errors
    /// Those of the detection.
    pub(crate) fn penetrations(all: &mut Total<Self>, x: &[f64]) -> Result<Penetration, ContactError> {
        let sum = |sum: Penetration, part: &mut Self| Ok(sum.and(part.penetration(x)?));
        all.parts_mut().iter_mut().try_fold(Penetration::default(), sum)
    }

    fn penetration(&mut self, x: &[f64]) -> Result<Penetration, ContactError> {
        Ok(match self {
            Self::Bodies(_) | Self::Pins(_) => Penetration::default(),
            Self::Obstacle(obstacle) => obstacle.penetration(x),
            Self::Fence(obstacle) => obstacle.penetration(x),
            Self::Contact(contact) => contact.penetration(x),
            Self::Surface(surface) => surface.penetration(x)?,
        })
    }

    /// Takes the error of the last detection that failed since the last call; `None` if none did.
    pub(crate) fn take_fault(all: &mut Total<Self>) -> Option<ContactError> {
        let fault = |part: &mut Self| match part {
            Self::Surface(surface) => surface.contact.take_fault(),
            _ => None,
        };
        all.parts_mut().iter_mut().filter_map(fault).last()
    }

    /// The number of tetrahedra of bodies whose volume at x is not positive.
    pub(crate) fn inverted(&self, x: &[f64]) -> usize {
        if let Self::Bodies(bodies) = self { bodies.inverted(x) } else { 0 }
    }

    /// The pins, if this part is one.
    pub(crate) fn pins(&mut self) -> Option<&mut Attachments> {
        if let Self::Pins(pins) = self { Some(pins) } else { None }
    }

    fn any(&self) -> &dyn Potential {
        match self {
            Self::Bodies(part) => part,
            Self::Pins(part) => part,
            Self::Obstacle(part) => part,
            Self::Fence(part) => part,
            Self::Contact(part) => &**part,
            Self::Surface(part) => &part.contact,
        }
    }

    fn any_mut(&mut self) -> &mut dyn Potential {
        match self {
            Self::Bodies(part) => part,
            Self::Pins(part) => part,
            Self::Obstacle(part) => part,
            Self::Fence(part) => part,
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

    fn add_contacts(&mut self, x: &[f64], curvature: Curvature, contacts: &mut Touching) {
        self.any_mut().add_contacts(x, curvature, contacts);
    }

    fn touches(&self) -> bool {
        self.any().touches()
    }

    fn max_step(&mut self, x: &[f64], d: &[f64]) -> f64 {
        self.any_mut().max_step(x, d)
    }

    fn renew(&mut self, x: &[f64]) -> Result<bool, BodyError> {
        self.any_mut().renew(x)
    }

    fn add_characteristic(&self, forces: &mut [f64]) {
        self.any().add_characteristic(forces);
    }
}
