//! Checks of the numbers and keys of a scene.

use super::setting::{Body, Emitter, Setting, Stuff};
use crate::collider::{Collider, Kind};
use crate::fault::SceneError;
use crate::plasticity::Plasticity;
use crate::shape::Shape;

/// A number that is not in its range: the key, the number, the range.
type Fault = Option<(&'static str, f64, &'static str)>;

fn positive(key: &'static str, found: f64) -> Fault {
    (!(found > 0.0 && found.is_finite())).then_some((key, found, "positive and finite"))
}

/// The least and the largest modulus and density: squares and products of these numbers are finite and not 0.
const SIZES: std::ops::RangeInclusive<f64> = 1e-100..=1e100;

fn sized(key: &'static str, found: f64) -> Fault {
    (!SIZES.contains(&found)).then_some((key, found, "from 1e-100 to 1e100"))
}

fn finite(key: &'static str, of: &[f64]) -> Fault {
    of.iter().find(|v| !v.is_finite()).map(|v| (key, *v, "finite"))
}

impl Setting {
    /// Checks the ranges of all numbers, and refuses a yield stress, friction, `cells` and a swing where they have no
    /// effect.
    ///
    /// # Errors
    /// [`SceneError`] for the first number outside its range, or the first key that has no effect.
    pub fn check(&self) -> Result<(), SceneError> {
        if self.body.is_empty() && self.emitter.is_empty() {
            return Err(SceneError::Empty);
        }
        let named = |table, index, fault: Fault| match fault {
            Some((key, found, range)) => Err(SceneError::Value { table, index, key, found, range }),
            None => Ok(()),
        };
        let most = if self.dt == f64::INFINITY { None } else { positive("dt", self.dt) }; // ∞: a frame
        let corners = self.view.corners.as_ref().map_or(&[][..], |c| c.as_flattened());
        let scene = finite("gravity", &self.gravity)
            .or_else(|| positive("dx", self.dx))
            .or(most)
            .or_else(|| positive("rate", self.rate))
            .or_else(|| positive("cfl", self.cfl))
            .or_else(|| finite("view.corners", corners))
            .or_else(|| finite("view.azimuth", &[self.view.azimuth]))
            .or_else(|| finite("view.elevation", &[self.view.elevation]));
        named("scene", 0, scene)?;
        self.largest_step(None)?;
        for (index, body) in self.body.iter().enumerate() {
            named("body", index, check_body(body))?;
            if body.shape.is_some() == body.mesh.is_some() {
                return Err(SceneError::Outline { table: "body", index });
            }
            complete("body", index, &body.of)?;
            used_stuff("body", index, &body.of)?;
        }
        for (index, collider) in self.collider.iter().enumerate() {
            named("collider", index, check_collider(collider))?;
            if collider.shape.is_some() == collider.mesh.is_some() {
                return Err(SceneError::Outline { table: "collider", index });
            }
            used_collider(index, collider)?;
        }
        for (index, emitter) in self.emitter.iter().enumerate() {
            let fault = check_volume(emitter.shape)
                .or_else(|| finite("velocity", &emitter.velocity))
                .or_else(|| positive("until", emitter.until))
                .or_else(|| finite("swing", &emitter.swing))
                .or_else(|| finite("swing_rate", &emitter.swing_rate))
                .or_else(|| check_stuff(&emitter.of));
            named("emitter", index, fault)?;
            complete("emitter", index, &emitter.of)?;
            used_stuff("emitter", index, &emitter.of)?;
            used_emitter(index, emitter)?;
        }
        Ok(())
    }
}

/// Refuses a shape that cannot be filled.
fn check_volume(shape: Shape) -> Fault {
    match shape.bounds() {
        None => Some(("shape.plane, its volume", f64::INFINITY, "finite: take a sphere or a box")),
        Some(_) => shape.fault(),
    }
}

fn check_body(body: &Body) -> Fault {
    let shape = body.shape.and_then(check_volume);
    let turn = body.turn.and_then(|(axis, angle)| {
        finite("turn", &[angle]).or_else(|| positive("turn, its axis", axis.iter().map(|a| a * a).sum()))
    });
    let stretch = body.stretch.and_then(|s| s.iter().find_map(|s| positive("stretch", *s)));
    let least = body.stretch.map_or(1.0, |s| s.into_iter().fold(f64::INFINITY, f64::min));
    let scatter = body.scatter.filter(|(size, _)| !(0.0..least).contains(size));
    let scatter = scatter
        .map(|(size, _)| ("scatter", size, "0 or more and below the least stretch (1 without `stretch`)"));
    shape
        .or(turn)
        .or(stretch)
        .or(scatter)
        .or_else(|| finite("shift", &body.shift))
        .or_else(|| finite("velocity", &body.velocity))
        .or_else(|| body.mesh.as_ref().and_then(|mesh| positive("mesh.size", mesh.size.unwrap_or(1.0))))
        .or_else(|| check_stuff(&body.of))
}

fn check_stuff(of: &Stuff) -> Fault {
    let cells = of.per_cell.filter(|n| !(1..=1000).contains(n));
    let cells = cells.map(|n| ("of.per_cell", f64::from(n), "1 to 1000"));
    let poisson = of.poisson.filter(|nu| !(0.0..0.5).contains(nu));
    let granular = of.granular.and_then(|[low, high]| {
        let least = (!(0.0 < low && low <= 1.0)).then_some(("of.granular[0]", low, "above 0 and at most 1"));
        let most = !(high >= 1.0 && high.is_finite());
        least.or(most.then_some(("of.granular[1]", high, "1 or more, and finite")))
    });
    poisson
        .map(|nu| ("of.poisson", nu, "0 or more and below 1/2"))
        .or(granular)
        .or(cells)
        .or_else(|| of.density.and_then(|v| sized("of.density", v)))
        .or_else(|| of.young.and_then(|v| sized("of.young", v)))
        .or_else(|| of.yield_stress.and_then(|v| positive("of.yield_stress", v)))
}

fn check_collider(collider: &Collider) -> Fault {
    let mut from = 0.0;
    let phase = collider.motion.iter().find_map(|phase| {
        let late = (phase.until.is_nan() || phase.until <= from).then_some((
            "motion.until",
            phase.until,
            "later than the phase before",
        ));
        from = phase.until;
        late.or_else(|| finite("motion.velocity", &phase.velocity))
            .or_else(|| finite("motion.rate", &[phase.rate]))
    });
    let axis = positive("axis, its length", collider.axis.iter().map(|a| a * a).sum());
    let cells = (!(0.0..100.0).contains(&collider.cells)).then_some(("cells", collider.cells, "0 to 100"));
    let rough = collider.friction >= 0.0 && collider.friction.is_finite();
    let friction = (!rough).then_some(("friction", collider.friction, "0 or more, and finite"));
    let gone = collider.gone.filter(|gone| gone.is_nan()).map(|gone| ("gone", gone, "a time in s"));
    let size = collider.mesh.as_ref().and_then(|mesh| positive("mesh.size", mesh.size.unwrap_or(1.0)));
    collider.shape.and_then(|shape| shape.fault()).or(phase).or(axis).or(cells).or(friction).or(gone).or(size)
}

/// Refuses keys of a material that have no effect.
fn used_stuff(table: &'static str, index: usize, of: &Stuff) -> Result<(), SceneError> {
    if of.yield_stress.is_none() || of.granular.is_none() {
        return Ok(());
    }
    let (key, other) = ("of.yield_stress", "granular flow");
    let cure = "leave out of.granular for the flow of von Mises, or of.yield_stress";
    Err(SceneError::Unused { table, index, key, other, cure })
}

/// Refuses keys of a collider that have no effect.
fn used_collider(index: usize, collider: &Collider) -> Result<(), SceneError> {
    let round = collider.shape.is_some_and(|shape| shape.radius().is_some());
    let (key, other, cure) = if collider.kind == Kind::Sticky && collider.friction > 0.0 {
        let cure =
            "it works with kind = \"slip\" and kind = \"separating\": give one of them, or leave it out";
        ("friction", "kind = \"sticky\", the default", cure)
    } else if !round && collider.cells > 0.0 {
        let other = if collider.mesh.is_some() { "a mesh" } else { "a plane or a box" };
        (
            "cells",
            other,
            "it works with a sphere, torus, capsule or cylinder: take one of them, or leave it out",
        )
    } else {
        return Ok(());
    };
    Err(SceneError::Unused { table: "collider", index, key, other, cure })
}

/// Refuses the shapes that cannot emit, and keys of an emitter that have no effect.
fn used_emitter(index: usize, emitter: &Emitter) -> Result<(), SceneError> {
    if !matches!(emitter.shape, Shape::Sphere { .. } | Shape::Box { .. }) {
        return Err(SceneError::Emitter { index, shape: emitter.shape.name() });
    }
    let Some(axis) = (0..3).find(|&k| (emitter.swing[k] == 0.0) != (emitter.swing_rate[k] == 0.0)) else {
        return Ok(());
    };
    let (key, other) = if emitter.swing_rate[axis] == 0.0 {
        ("swing", "an axis without swing_rate")
    } else {
        ("swing_rate", "an axis without swing")
    };
    let cure = "a swing needs both on the same axis: give both, or 0 for both";
    Err(SceneError::Unused { table: "emitter", index, key, other, cure })
}

fn complete(table: &'static str, index: usize, of: &Stuff) -> Result<(), SceneError> {
    for (key, known) in [("density", of.density), ("young", of.young), ("poisson", of.poisson)] {
        if known.is_none() && of.material.is_none() {
            return Err(SceneError::Missing { table, index, key });
        }
    }
    Ok(())
}

impl Stuff {
    /// The density, Young's modulus, Poisson's ratio and the plastic flow; the numbers of the preset where a
    /// key is missing.
    pub fn numbers(&self) -> (f64, f64, f64, Plasticity) {
        let preset = self.material.map(|material| material.numbers());
        let of = |own: Option<f64>, key: fn(&crate::material::Numbers) -> f64| {
            own.or(preset.as_ref().map(key)).unwrap_or(f64::NAN)
        };
        let plasticity = match (self.granular, self.yield_stress.or(preset.and_then(|p| p.yield_stress))) {
            (Some(bounds), _) => Plasticity::Granular { bounds },
            (None, Some(yield_stress)) => Plasticity::VonMises { yield_stress },
            (None, None) => Plasticity::Elastic,
        };
        (
            of(self.density, |p| p.density),
            of(self.young, |p| p.young),
            of(self.poisson, |p| p.poisson),
            plasticity,
        )
    }
}
