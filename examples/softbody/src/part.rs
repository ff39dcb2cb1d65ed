//! The potentials of a scene: bodies, pins, obstacles and contact between bodies.

use std::sync::Arc;

use coarsen::elastic::{Attachments, BodyError, Curvature, Energy, Potential, Touching};
use coarsen::sparse::Pattern;
use coarsen_contact::{BodyContact, Obstacle, Penetration, Shape};

use crate::bodies::Bodies;

/// A potential of a scene. The variants have concrete types, because a run changes pins and queries contacts.
pub(crate) enum Part {
    /// The elastic bodies.
    Bodies(Bodies),
    /// The pins.
    Pins(Attachments),
    /// Contact of nodes with an obstacle.
    Obstacle(Obstacle<Box<dyn Shape>>),
    /// Contact of bodies of tetrahedra with each other and with themselves.
    Contact(Box<BodyContact>),
}

impl Part {
    /// The number and depth of the contacts at x; 0 for bodies and pins.
    pub(crate) fn penetration(&mut self, x: &[f64]) -> Penetration {
        match self {
            Self::Bodies(_) | Self::Pins(_) => Penetration::default(),
            Self::Obstacle(obstacle) => obstacle.penetration(x),
            Self::Contact(contact) => contact.penetration(x),
        }
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
            Self::Contact(part) => part,
        }
    }

    fn any_mut(&mut self) -> &mut dyn Potential {
        match self {
            Self::Bodies(part) => part,
            Self::Pins(part) => part,
            Self::Obstacle(part) => part,
            Self::Contact(part) => part,
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
