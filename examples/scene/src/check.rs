//! Checks of the numbers and keys of a scene. A fault is a key and what is wrong with it; each row tells its first one.

use std::borrow::Cow;

use coarsen_mesh::vector::norm;

use crate::shape::Shape;
use crate::{Attachment, Body, Emitter, Kind, Material, Motion, Obstacle, Pick, Scene, SceneError};

type Key = Cow<'static, str>;

type Fault = Option<(Key, String)>;

fn number(good: bool, key: impl Into<Key>, found: f64, range: &str) -> Fault {
    (!good).then(|| (key.into(), format!("is {found:?}, but must be {range}")))
}

fn positive(key: impl Into<Key>, found: f64) -> Fault {
    number(found > 0.0 && found.is_finite(), key, found, "positive and finite")
}

fn finite(key: impl Into<Key>, of: &[f64]) -> Fault {
    let wrong = of.iter().find(|v| !v.is_finite());
    wrong.and_then(|&v| number(false, key, v, "finite"))
}

/// Squares and products of such numbers are finite and not 0.
fn sized(key: &'static str, found: f64) -> Fault {
    number((1e-100..=1e100).contains(&found), key, found, "from 1e-100 to 1e100")
}

impl Scene {
    /// Checks the ranges of all numbers, and refuses a yield stress, friction, `cells`, `size`, `boxes` and a swing where they
    /// have no effect.
    ///
    /// # Errors
    /// [`SceneError::Key`] for the first number outside its range, or the first key that has no effect.
    pub fn check(&self) -> Result<(), SceneError> {
        let named = |row: String, fault: Fault| match fault {
            Some((key, why)) => Err(self.source.fault(row + &key, why)),
            None => Ok(()),
        };
        named(String::new(), of_scene(self))?;
        for (index, body) in self.body.iter().enumerate() {
            named(format!("body[{index}]."), of_body(body))?;
        }
        for (index, attachment) in self.attachment.iter().enumerate() {
            named(format!("attachment[{index}]."), of_attachment(attachment, self.body.len()))?;
        }
        for (index, obstacle) in self.obstacle.iter().enumerate() {
            named(format!("obstacle[{index}]."), of_obstacle(obstacle))?;
        }
        let mut emitters = self.emitter.iter().enumerate();
        emitters.try_for_each(|(index, emitter)| named(format!("emitter[{index}]."), of_emitter(emitter)))
    }
}

fn of_scene(scene: &Scene) -> Fault {
    if scene.body.is_empty() && scene.emitter.is_empty() {
        return Some((
            "body".into(),
            "is missing: a scene needs bodies or emitters; add a table [[body]]".into(),
        ));
    }
    let corners = scene.view.corners.as_ref().map_or(&[][..], |c| c.as_flattened());
    finite("gravity", &scene.gravity)
        .or_else(|| finite("view.corners", corners))
        .or_else(|| finite("view.azimuth", &[scene.view.azimuth]))
        .or_else(|| finite("view.elevation", &[scene.view.elevation]))
        .or_else(|| scene.motion.and_then(of_motion))
}

fn of_motion(motion: Motion) -> Fault {
    match motion {
        Motion::Twist { through, rate } => {
            finite("motion.twist.through", &through).or_else(|| finite("motion.twist.rate", &[rate]))
        }
        Motion::Walk { swing, pace, bob } => finite("motion.walk.swing", &[swing])
            .or_else(|| finite("motion.walk.pace", &[pace]))
            .or_else(|| finite("motion.walk.bob", &[bob])),
        Motion::Push { reach, period } => {
            finite("motion.push.reach", &[reach]).or_else(|| positive("motion.push.period", period))
        }
    }
}

fn of_body(body: &Body) -> Fault {
    if body.shape.is_some() && body.mesh.is_some() {
        return Some(("shape".into(), "or mesh: give one of the two, and not both".into()));
    }
    if body.shape.is_some() && body.size.is_some() {
        let why = "has no effect on a shape, which has its numbers; it works with `mesh`: leave it out";
        return Some(("size".into(), why.into()));
    }
    let turn = |(axis, angle): ([f64; 3], f64)| {
        finite("turn", &[angle]).or_else(|| positive("turn, its axis", axis.iter().map(|a| a * a).sum()))
    };
    let least = body.stretch.map_or(1.0, |s| s.into_iter().fold(f64::INFINITY, f64::min));
    let range = "0 or more and below the least stretch (1 without `stretch`)";
    let scatter = |(size, _): (f64, u64)| number((0.0..least).contains(&size), "scatter", size, range);
    body.shape
        .and_then(of_volume)
        .or_else(|| body.size.and_then(|size| positive("size", size)))
        .or_else(|| body.turn.and_then(turn))
        .or_else(|| body.stretch.and_then(|s| s.into_iter().find_map(|s| positive("stretch", s))))
        .or_else(|| body.scatter.and_then(scatter))
        .or_else(|| finite("rotate", &body.rotate))
        .or_else(|| finite("shift", &body.shift))
        .or_else(|| body.centre.and_then(|centre| finite("centre", &centre)))
        .or_else(|| body.above.and_then(|above| finite("above", &[above])))
        .or_else(|| body.axes.and_then(|axes| finite("axes", axes.as_flattened())))
        .or_else(|| finite("velocity", &body.velocity))
        .or_else(|| of_material(&body.material))
}

fn of_attachment(attachment: &Attachment, bodies: usize) -> Fault {
    let Attachment { body, nodes, from, until, stiffness, velocity, turn } = attachment;
    if *body >= bodies {
        return Some((
            "body".into(),
            format!("refers to body {body}, but there are only {bodies}, numbered from 0"),
        ));
    }
    let nodes = match nodes {
        Pick::Top(share) => {
            number(*share > 0.0 && *share <= 1.0, "nodes.top", *share, "above 0 and at most 1")
        }
        Pick::Nearest(point) => finite("nodes.nearest", point),
        // A box may be open to a side.
        Pick::Box(corners) => corners
            .as_flattened()
            .iter()
            .find(|v| v.is_nan())
            .and_then(|&v| number(false, "nodes.box", v, "a number or infinite")),
        Pick::Band(height) => number(*height >= 0.0, "nodes.band", *height, "0 or more"),
        _ => None,
    };
    let ends = until.filter(|until| *until <= (*from).max(1));
    let turning = turn.map_or([0.0; 7], |t| {
        let ([a, b, c], [d, e, f]) = (t.through, t.axis);
        [a, b, c, d, e, f, t.rate]
    });
    let axis = turn.filter(|turn| turn.axis.iter().all(|v| *v == 0.0));
    nodes
        .or_else(|| {
            let range = "a frame after the first one of the attachment";
            ends.map(|until| ("until".into(), format!("is {until}, but must be {range}")))
        })
        .or_else(|| stiffness.and_then(|k| positive("stiffness", k)))
        .or_else(|| {
            axis.and_then(|turn| number(false, "turn.axis", turn.axis[0], "a vector of positive length"))
        })
        .or_else(|| finite("turn", &turning))
        .or_else(|| finite("velocity", velocity))
}

fn of_obstacle(obstacle: &Obstacle) -> Fault {
    let Obstacle { shape, mesh, frames, size, solid, boxes, friction, cells, axis, .. } = obstacle;
    let outlines = [shape.is_some(), mesh.is_some(), frames.is_some()];
    // A solid without a file is one of the command line.
    if outlines.iter().filter(|is| **is).count() + usize::from(*solid && mesh.is_none()) != 1 {
        return Some(("shape".into(), "or mesh: give one of the two, and not both".into()));
    }
    let mut from = 0.0;
    let phase = obstacle.motion.iter().enumerate().find_map(|(p, phase)| {
        let before = std::mem::replace(&mut from, phase.until);
        let key = |key: &str| format!("motion[{p}].{key}");
        number(phase.until > before, key("until"), phase.until, "later than the phase before")
            .or_else(|| finite(key("velocity"), &phase.velocity))
            .or_else(|| finite(key("rate"), &[phase.rate]))
    });
    let corners = boxes.iter().enumerate().find_map(|(k, [low, high])| {
        let key = || format!("boxes[{k}]");
        finite(key(), low).or_else(|| finite(key(), high)).or_else(|| {
            (0..3).find_map(|c| positive(key() + ", its high less its low corner", high[c] - low[c]))
        })
    });
    let rough = *friction >= 0.0 && friction.is_finite();
    let round = shape.is_some_and(|shape| shape.radius().is_some());
    let unused = if obstacle.kind == Kind::Sticky && *friction > 0.0 {
        let why = "has no effect on kind = \"sticky\", the default; it works with kind = \"slip\" and kind = \
                   \"separating\": give one of them, or leave it out";
        Some(("friction".into(), why.into()))
    } else if !round && *cells > 0.0 {
        let other = if mesh.is_some() { "a mesh" } else { "a plane or a box" };
        let cure = "it works with a sphere, torus, capsule or cylinder: take one of them, or leave it out";
        Some(("cells".into(), format!("has no effect on {other}; {cure}")))
    } else if size.is_some() && (shape.is_some() || frames.is_some()) {
        let other = if shape.is_some() { "a shape, which has its numbers" } else { "`frames`" };
        let why = format!("has no effect on {other}; it works with `mesh`: leave it out");
        Some(("size".into(), why))
    } else if !boxes.is_empty() && (shape.is_some() || frames.is_some()) {
        let why = "fill a `mesh`, but neither a shape nor `frames`; leave them out";
        Some(("boxes".into(), why.into()))
    } else {
        None
    };
    shape
        .and_then(of_shape)
        .or(phase)
        .or_else(|| positive("axis, its length", axis.iter().map(|a| a * a).sum()))
        .or_else(|| number((0.0..100.0).contains(cells), "cells", *cells, "0 to 100"))
        .or_else(|| number(rough, "friction", *friction, "0 or more, and finite"))
        .or_else(|| obstacle.gone.and_then(|gone| number(!gone.is_nan(), "gone", gone, "a time in s")))
        .or_else(|| size.and_then(|size| positive("size", size)))
        .or(corners)
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
        (key.into(), format!("has no effect on an axis without {other}; {cure}"))
    });
    of_volume(*shape)
        .or_else(|| finite("velocity", &emitter.velocity))
        .or_else(|| positive("until", emitter.until))
        .or_else(|| finite("swing", swing))
        .or_else(|| finite("swing_rate", swing_rate))
        .or_else(|| of_material(&emitter.material))
        .or_else(|| (!round).then(|| ("shape".into(), kind())))
        .or(single)
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
    let name = shape.name();
    let of = |key: &str| format!("shape.{name}.{key}");
    match shape {
        Shape::Plane { point, normal } => {
            finite(of("point"), &point).or_else(|| positive(of("normal, its length"), norm(normal)))
        }
        Shape::Sphere { centre, radius } => {
            finite(of("centre"), &centre).or_else(|| positive(of("radius"), radius))
        }
        Shape::Box { low, high } => finite(of("low"), &low)
            .or_else(|| finite(of("high"), &high))
            .or_else(|| (0..3).find_map(|k| positive(of("high less shape.box.low"), high[k] - low[k]))),
        Shape::Torus { centre, axis, radii } => finite(of("centre"), &centre)
            .or_else(|| positive(of("axis, its length"), norm(axis)))
            .or_else(|| radii.iter().find_map(|r| positive(of("radii"), *r))),
        Shape::Capsule { from, to, radius } | Shape::Cylinder { from, to, radius } => {
            let along = [0, 1, 2].map(|k| to[k] - from[k]);
            finite(of("from"), &from)
                .or_else(|| finite(of("to"), &to))
                .or_else(|| positive(of(&format!("to less {name}.from, its length")), norm(along)))
                .or_else(|| positive(of("radius"), radius))
        }
    }
}

fn of_material(of: &Material) -> Fault {
    let Material { density, young, poisson, yield_stress, granular, per_cell, .. } = *of;
    let bounds = |[low, high]: [f64; 2]| {
        number(0.0 < low && low <= 1.0, "material.granular[0]", low, "above 0 and at most 1").or_else(|| {
            number(high >= 1.0 && high.is_finite(), "material.granular[1]", high, "1 or more, and finite")
        })
    };
    let flows = yield_stress.is_some() && granular.is_some();
    poisson
        .and_then(|nu| number(nu > -1.0 && nu < 0.5, "material.poisson", nu, "above -1 and below 1/2"))
        .or_else(|| granular.and_then(bounds))
        .or_else(|| {
            per_cell.and_then(|n| number((1..=1000).contains(&n), "material.per_cell", n.into(), "1 to 1000"))
        })
        .or_else(|| density.and_then(|v| sized("material.density", v)))
        .or_else(|| young.and_then(|v| sized("material.young", v)))
        .or_else(|| yield_stress.and_then(|v| positive("material.yield_stress", v)))
        .or_else(|| {
            let why = "has no effect on granular flow; leave out material.granular for the flow of von Mises, or \
                       material.yield_stress";
            flows.then(|| ("material.yield_stress".into(), why.into()))
        })
}
