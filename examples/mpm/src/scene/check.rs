//! Checks of the numbers and keys of a scene. A fault is a key and what is wrong with it; each table tells its first one.

use examples_common::closed::MeshFile;

use super::{Body, Emitter, Setting};
use crate::collider::{Collider, Kind};
use crate::fault::SceneError;
use crate::material::Material;
use crate::shape::{Shape, length};

type Fault = Option<(&'static str, String)>;

fn number(good: bool, key: &'static str, found: f64, range: &str) -> Fault {
    (!good).then(|| (key, format!("is {found:?}, but must be {range}")))
}

fn positive(key: &'static str, found: f64) -> Fault {
    number(found > 0.0 && found.is_finite(), key, found, "positive and finite")
}

fn finite(key: &'static str, of: &[f64]) -> Fault {
    of.iter().find_map(|&v| number(v.is_finite(), key, v, "finite"))
}

/// Squares and products of such numbers are finite and not 0.
fn sized(key: &'static str, found: f64) -> Fault {
    number((1e-100..=1e100).contains(&found), key, found, "from 1e-100 to 1e100")
}

impl Setting {
    /// Checks the ranges of all numbers, and refuses a yield stress, friction, `cells` and a swing where they have no
    /// effect.
    ///
    /// # Errors
    /// [`SceneError`] for the first number outside its range, or the first key that has no effect.
    pub fn check(&self) -> Result<(), SceneError> {
        let named = |table, index, fault: Fault| match fault {
            Some((key, why)) => Err(SceneError::Key { table, index, key, why }),
            None => Ok(()),
        };
        named("scene", 0, of_scene(self))?;
        self.largest_step(None)?;
        for (index, body) in self.body.iter().enumerate() {
            if body.shape.is_some() == body.mesh.is_some() {
                return Err(SceneError::outline("body", index));
            }
            named("body", index, of_body(body))?;
        }
        for (index, collider) in self.collider.iter().enumerate() {
            if collider.shape.is_some() == collider.mesh.is_some() {
                return Err(SceneError::outline("collider", index));
            }
            named("collider", index, of_collider(collider))?;
        }
        let mut emitters = self.emitter.iter().enumerate();
        emitters.try_for_each(|(index, emitter)| named("emitter", index, of_emitter(emitter)))
    }
}

fn of_scene(setting: &Setting) -> Fault {
    if setting.body.is_empty() && setting.emitter.is_empty() {
        return Some(("body", "is missing: a scene needs bodies or emitters; add a table [[body]]".into()));
    }
    let most = if setting.dt == f64::INFINITY { None } else { positive("dt", setting.dt) }; // ∞: a frame
    let corners = setting.view.corners.as_ref().map_or(&[][..], |c| c.as_flattened());
    finite("gravity", &setting.gravity)
        .or_else(|| positive("dx", setting.dx))
        .or(most)
        .or_else(|| positive("rate", setting.rate))
        .or_else(|| positive("cfl", setting.cfl))
        .or_else(|| finite("view.corners", corners))
        .or_else(|| finite("view.azimuth", &[setting.view.azimuth]))
        .or_else(|| finite("view.elevation", &[setting.view.elevation]))
}

fn of_body(body: &Body) -> Fault {
    let turn = |(axis, angle): ([f64; 3], f64)| {
        finite("turn", &[angle]).or_else(|| positive("turn, its axis", axis.iter().map(|a| a * a).sum()))
    };
    let least = body.stretch.map_or(1.0, |s| s.into_iter().fold(f64::INFINITY, f64::min));
    let range = "0 or more and below the least stretch (1 without `stretch`)";
    let scatter = |(size, _): (f64, u64)| number((0.0..least).contains(&size), "scatter", size, range);
    body.shape
        .and_then(of_volume)
        .or_else(|| body.turn.and_then(turn))
        .or_else(|| body.stretch.and_then(|s| s.into_iter().find_map(|s| positive("stretch", s))))
        .or_else(|| body.scatter.and_then(scatter))
        .or_else(|| finite("shift", &body.shift))
        .or_else(|| finite("velocity", &body.velocity))
        .or_else(|| of_mesh(&body.mesh))
        .or_else(|| of_material(&body.of))
}

fn of_collider(collider: &Collider) -> Fault {
    let mut from = 0.0;
    let phase = collider.motion.iter().find_map(|phase| {
        let before = std::mem::replace(&mut from, phase.until);
        number(phase.until > before, "motion.until", phase.until, "later than the phase before")
            .or_else(|| finite("motion.velocity", &phase.velocity))
            .or_else(|| finite("motion.rate", &[phase.rate]))
    });
    let Collider { shape, mesh, friction, cells, axis, .. } = collider;
    let rough = *friction >= 0.0 && friction.is_finite();
    let round = shape.is_some_and(|shape| shape.radius().is_some());
    let unused = if collider.kind == Kind::Sticky && *friction > 0.0 {
        let why = "has no effect on kind = \"sticky\", the default; it works with kind = \"slip\" and kind = \
                   \"separating\": give one of them, or leave it out";
        Some(("friction", why.into()))
    } else if !round && *cells > 0.0 {
        let other = if mesh.is_some() { "a mesh" } else { "a plane or a box" };
        let cure = "it works with a sphere, torus, capsule or cylinder: take one of them, or leave it out";
        Some(("cells", format!("has no effect on {other}; {cure}")))
    } else {
        None
    };
    shape
        .and_then(of_shape)
        .or(phase)
        .or_else(|| positive("axis, its length", axis.iter().map(|a| a * a).sum()))
        .or_else(|| number((0.0..100.0).contains(cells), "cells", *cells, "0 to 100"))
        .or_else(|| number(rough, "friction", *friction, "0 or more, and finite"))
        .or_else(|| collider.gone.and_then(|gone| number(!gone.is_nan(), "gone", gone, "a time in s")))
        .or_else(|| of_mesh(mesh))
        .or(unused)
}

fn of_emitter(emitter: &Emitter) -> Fault {
    let Emitter { shape, swing, swing_rate, .. } = emitter;
    let round = matches!(shape, Shape::Sphere { .. } | Shape::Box { .. });
    let kind = || format!("is a {}, but only a sphere or a box can emit; take one of them", shape.name());
    let single = (0..3).find(|&k| (swing[k] == 0.0) != (swing_rate[k] == 0.0)).map(|axis| {
        let (key, other) = match swing_rate[axis] == 0.0 {
            true => ("swing", "swing_rate"),
            false => ("swing_rate", "swing"),
        };
        let cure = "a swing needs both on the same axis: give both, or 0 for both";
        (key, format!("has no effect on an axis without {other}; {cure}"))
    });
    of_volume(*shape)
        .or_else(|| finite("velocity", &emitter.velocity))
        .or_else(|| positive("until", emitter.until))
        .or_else(|| finite("swing", swing))
        .or_else(|| finite("swing_rate", swing_rate))
        .or_else(|| of_material(&emitter.of))
        .or_else(|| (!round).then(|| ("shape", kind())))
        .or(single)
}

fn of_mesh(mesh: &Option<MeshFile>) -> Fault {
    mesh.as_ref().and_then(|mesh| positive("mesh.size", mesh.size.unwrap_or(1.0)))
}

/// Refuses a shape that cannot be filled.
fn of_volume(shape: Shape) -> Fault {
    match shape.bounds() {
        None => number(false, "shape.plane, its volume", f64::INFINITY, "finite: take a sphere or a box"),
        Some(_) => of_shape(shape),
    }
}

/// The first number that makes a shape empty or undefined.
fn of_shape(shape: Shape) -> Fault {
    let along = |key, [a, b]: [[f64; 3]; 2]| positive(key, length([0, 1, 2].map(|k| b[k] - a[k])));
    match shape {
        Shape::Plane { point, normal } => {
            finite("plane.point", &point).or_else(|| positive("plane.normal, its length", length(normal)))
        }
        Shape::Sphere { centre, radius } => {
            finite("sphere.centre", &centre).or_else(|| positive("sphere.radius", radius))
        }
        Shape::Box { low, high } => finite("box.low", &low)
            .or_else(|| finite("box.high", &high))
            .or_else(|| (0..3).find_map(|k| positive("box.high less box.low", high[k] - low[k]))),
        Shape::Torus { centre, axis, radii } => finite("torus.centre", &centre)
            .or_else(|| positive("torus.axis, its length", length(axis)))
            .or_else(|| radii.iter().find_map(|r| positive("torus.radii", *r))),
        Shape::Capsule { from, to, radius } => finite("capsule.from", &from)
            .or_else(|| finite("capsule.to", &to))
            .or_else(|| along("capsule.to less capsule.from, its length", [from, to]))
            .or_else(|| positive("capsule.radius", radius)),
        Shape::Cylinder { from, to, radius } => finite("cylinder.from", &from)
            .or_else(|| finite("cylinder.to", &to))
            .or_else(|| along("cylinder.to less cylinder.from, its length", [from, to]))
            .or_else(|| positive("cylinder.radius", radius)),
    }
}

fn of_material(of: &Material) -> Fault {
    let Material { material, density, young, poisson, yield_stress, granular, per_cell } = *of;
    let bounds = |[low, high]: [f64; 2]| {
        number(0.0 < low && low <= 1.0, "of.granular[0]", low, "above 0 and at most 1").or_else(|| {
            number(high >= 1.0 && high.is_finite(), "of.granular[1]", high, "1 or more, and finite")
        })
    };
    let numbers = [("density", density), ("young", young), ("poisson", poisson)];
    let missing = numbers.into_iter().find(|(_, known)| known.is_none() && material.is_none());
    let flows = yield_stress.is_some() && granular.is_some();
    poisson
        .and_then(|nu| number((0.0..0.5).contains(&nu), "of.poisson", nu, "0 or more and below 1/2"))
        .or_else(|| granular.and_then(bounds))
        .or_else(|| per_cell.and_then(|n| number((1..=1000).contains(&n), "of.per_cell", n.into(), "1 to 1000")))
        .or_else(|| density.and_then(|v| sized("of.density", v)))
        .or_else(|| young.and_then(|v| sized("of.young", v)))
        .or_else(|| yield_stress.and_then(|v| positive("of.yield_stress", v)))
        .or_else(|| missing.map(|(key, _)| (key, "is missing; give it, or a preset as material".into())))
        .or_else(|| {
            let why = "has no effect on granular flow; leave out of.granular for the flow of von Mises, or of.yield_stress";
            flows.then(|| ("of.yield_stress", why.into()))
        })
}
