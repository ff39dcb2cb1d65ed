//! The potentials of a scene: bodies, pins, obstacles and contact between bodies.

use coarsen::elastic::{Attachments, Energy, Plus, Potential, Total};
use coarsen_contact::{
    BodyContact, ClothContact, ClothFriction, Contact, ContactError, Friction, Obstacle, Penetration, Shape,
};

/// All potentials of a scene.
pub(crate) type Forces = Total<Box<dyn Part>>;

/// A potential of a scene, with what a run asks it.
pub(crate) trait Part: Potential {
    /// Takes the pairs that rub at the start of a step; contact returns the errors of it when it is renewed.
    fn grip(&mut self, _: &[f64]) {}

    /// The energy of the scene at x, without friction, whose gradient is a force.
    fn stored(&mut self, x: &[f64]) -> Energy {
        self.energy(x)
    }

    /// Adds the contacts at x, and how deep nodes are.
    fn add_depths(&mut self, _: &[f64], _: &mut Depths) -> Result<(), ContactError> {
        Ok(())
    }

    /// The number of tetrahedra of bodies whose volume at x is not positive.
    fn inverted(&self, _: &[f64]) -> usize {
        0
    }

    /// Whether it is contact of bodies and its friction: its energy is 0 if nothing is in contact at the start and at the end of a
    /// step.
    #[cfg_attr(not(feature = "opencl"), expect(dead_code, reason = "only devices have no such contact"))]
    fn is_body_contact(&self) -> bool {
        false
    }

    /// The pins, if this part is one.
    fn pins(&mut self) -> Option<&mut Attachments> {
        None
    }

    /// The barrier of surfaces, if this part has it.
    fn surface(&mut self) -> Option<&mut ClothContact> {
        None
    }
}

impl Part for Attachments {
    fn pins(&mut self) -> Option<&mut Attachments> {
        Some(self)
    }
}

impl Part for Obstacle<Box<dyn Shape>> {
    fn add_depths(&mut self, x: &[f64], depths: &mut Depths) -> Result<(), ContactError> {
        let found = self.penetration(x);
        depths.contacts += found.contacts;
        depths.obstacles = deeper(depths.obstacles, found);
        Ok(())
    }
}

impl Part for Friction<Box<dyn Shape>> {
    fn stored(&mut self, _: &[f64]) -> Energy {
        Energy::default()
    }
}

/// Contact of bodies of tetrahedra with each other and with themselves, by a penalty, and their friction.
impl Part for Plus<BodyContact, ClothFriction> {
    fn is_body_contact(&self) -> bool {
        true
    }

    fn grip(&mut self, x: &[f64]) {
        let _ = self.second.grip_bodies(&mut self.first, x);
    }

    fn stored(&mut self, x: &[f64]) -> Energy {
        self.first.energy(x)
    }

    fn add_depths(&mut self, x: &[f64], depths: &mut Depths) -> Result<(), ContactError> {
        let found = self.first.penetration(x);
        depths.contacts += found.contacts;
        depths.bodies = deeper(depths.bodies, found);
        Ok(())
    }
}

/// Contact of the surfaces of all bodies, by a barrier, and their friction. Depths are those of [`Inside`].
impl Part for Plus<ClothContact, ClothFriction> {
    fn is_body_contact(&self) -> bool {
        true
    }

    fn grip(&mut self, x: &[f64]) {
        let _ = self.second.grip(&mut self.first, x);
    }

    fn stored(&mut self, x: &[f64]) -> Energy {
        self.first.energy(x)
    }

    fn add_depths(&mut self, x: &[f64], depths: &mut Depths) -> Result<(), ContactError> {
        depths.contacts += self.first.detect(x)?.len();
        Ok(())
    }

    fn surface(&mut self) -> Option<&mut ClothContact> {
        Some(&mut self.first)
    }
}

/// A test of its own for vertices inside tetrahedra of other bodies. A vertex inside its own body, without a crossing of surfaces,
/// is behind inverted elements.
pub(crate) struct Inside {
    /// Finds vertices inside tetrahedra; its energy is not used.
    pub(crate) bodies: BodyContact,
    /// The body of each node.
    pub(crate) body: Vec<u32>,
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

impl Depths {
    /// The contacts of all parts at x, and how deep nodes are.
    pub(crate) fn of(all: &mut Forces, inside: Option<&mut Inside>, x: &[f64]) -> Result<Self, ContactError> {
        let mut depths = Self::default();
        all.parts_mut().iter_mut().try_for_each(|part| part.add_depths(x, &mut depths))?;
        if let Some(Inside { bodies, body }) = inside {
            let other = |c: &&Contact| body[c.vertex as usize] != body[c.face[0] as usize];
            let at = |v: u32| std::array::from_fn(|k| x[3 * v as usize + k]);
            let found = bodies.detect(x)?.iter().filter(other);
            let deepest = found.map(|c| -c.gap(at)).fold(0.0, f64::max);
            depths.bodies = deeper(depths.bodies, Penetration { contacts: 0, deepest });
        }
        Ok(depths)
    }
}

fn deeper(before: Option<f64>, found: Penetration) -> Option<f64> {
    Some(Penetration { contacts: 0, deepest: before.unwrap_or(0.0) }.and(found).deepest)
}
