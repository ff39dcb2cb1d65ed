//! How solids press the cloth, and how cloth gets out of the way of solids that move.
//!
//! A solid moves in a step along a straight way: its centre, or the ends of its axis. Vertices and edges that it would meet
//! go along with it, until it meets none.

use coarsen::elastic::{Barrier, BodyError, Law, Penalty};
use coarsen::mesh::vector::{dot, sub};
use coarsen_contact::{Friction, Obstacle, Shape, Spin};
use examples_common::stage::Solid;

use crate::fault::SceneError;
use crate::options::Options;
use crate::supported::way;
use crate::world::{Fixed, contact_stiffness, shape};

/// How often vertices that a solid would meet are looked for.
const ROUNDS: usize = 20;

/// How a solid presses.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pressing {
    /// Vertices and edges stay outside.
    Barrier(Barrier),
    /// Vertices enter: below constraints, and over ranks, where a step is one linear solve.
    Penalty(Penalty),
}

impl Law for Pressing {
    fn at(&self, distance: f64) -> [f64; 3] {
        match self {
            Self::Barrier(law) => law.at(distance),
            Self::Penalty(law) => law.at(distance),
        }
    }

    fn check(&self) -> Result<(), BodyError> {
        match self {
            Self::Barrier(law) => law.check(),
            Self::Penalty(law) => law.check(),
        }
    }

    fn max_step(&self, distance: f64, rate: f64) -> f64 {
        match self {
            Self::Barrier(law) => law.max_step(distance, rate),
            Self::Penalty(law) => law.max_step(distance, rate),
        }
    }
}

/// Contact with a solid.
pub(crate) type Pressed = Obstacle<Box<dyn Shape>, Pressing>;

/// Friction with a solid.
pub(crate) type Rubbed = Friction<Box<dyn Shape>, Pressing>;

/// A vertex that a solid would meet wherever it goes.
#[derive(Debug, thiserror::Error)]
#[error(
    "frame {frame}, step {step}: vertex {vertex} (of those that are free, from 0) cannot get out of the way of obstacle \
     {obstacle}; the last frame on disk is good: take a smaller --dt"
)]
pub(crate) struct Crushed {
    pub(crate) frame: usize,
    pub(crate) step: usize,
    vertex: u32,
    obstacle: usize,
}

/// Contact and friction of `nodes` free nodes with the solids at the start, and contact of the edges between free vertices if
/// solids are barriers.
///
/// # Errors
/// [`SceneError::Obstacle`] for a solid or a number that is not valid, [`SceneError::Touches`] for an edge that begins in a
/// barrier.
pub(crate) fn solids(
    fixed: &Fixed,
    nodes: usize,
    options: &Options,
) -> Result<(Vec<Pressed>, Vec<Rubbed>), SceneError> {
    let (mu, h) = (options.cloth.friction, options.method.dt);
    let (mut obstacles, mut frictions) = (Vec::new(), Vec::new());
    let barrier = matches!(fixed.law, Pressing::Barrier(_));
    let (mut edges, mut rest) = (Vec::new(), Vec::new());
    if barrier {
        rest = fixed.nodes.gather(&fixed.positions);
        let free = |&[a, b]: &[u32; 2]| Some([fixed.nodes.slot(a)? as u32, fixed.nodes.slot(b)? as u32]);
        edges.extend(fixed.crossings.edges().iter().filter_map(free));
    }
    // The statue has no motion, and comes after those that have one.
    let spins = fixed.spins(0.0).into_iter().chain([Spin::default()]);
    let shapes = fixed.shapes(0.0, true)?.into_iter().zip(fixed.shapes(0.0, true)?);
    for (index, ((smooth, rough), spin)) in shapes.zip(spins).enumerate() {
        let make = |shape: Box<dyn Shape>| {
            let convex = shape.is_convex();
            let obstacle = Obstacle::with_law(nodes, shape, fixed.law)?;
            if barrier && convex { obstacle.edges(&edges, &rest) } else { Ok(obstacle) }
        };
        let fault = |source| SceneError::Obstacle { index, source };
        let obstacle = make(smooth).map_err(fault)?;
        if barrier && let Some(ends) = obstacle.inside(&rest) {
            return Err(SceneError::Touches { ends, obstacle: index });
        }
        frictions.push(make(rough).and_then(|rough| Friction::new(rough, spin, mu, h)).map_err(fault)?);
        obstacles.push(obstacle);
    }
    Ok((obstacles, frictions))
}

/// The law of a barrier of the cloth whose solids are grown by `floor`.
pub(crate) fn barrier(thickness: f64, floor: f64, options: &Options) -> Pressing {
    let reach = thickness - floor;
    Pressing::Barrier(Barrier { stiffness: contact_stiffness(options) * reach * reach, reach })
}

impl Fixed {
    /// Changes the ways of free nodes from x while solids move from their places at one time to those at another: what they
    /// would meet goes along with them.
    ///
    /// # Errors
    /// The vertex and the obstacle that meet in every round.
    pub(crate) fn make_way(
        &self,
        obstacles: &[Pressed],
        x: &[f64],
        ways: &mut [f64],
        times: [f64; 2],
    ) -> Result<(), [usize; 2]> {
        let start: Vec<Solid> = self.start.iter().map(|(solid, _)| *solid).collect();
        let [before, after] = times.map(|time| self.motion.solids(&start, time));
        let mut met = None;
        for _ in 0..ROUNDS {
            met = None;
            for (k, obstacle) in obstacles.iter().enumerate() {
                // The statue does not move.
                let ends = before.get(k).zip(after.get(k)).map(|(a, b)| [*a, *b]);
                let path = |t: f64| match ends {
                    Some([from, to]) => {
                        let at = shape(k, &between(&from, &to, t), self.start[k].1);
                        at.unwrap_or_else(|_| Box::new(Nowhere))
                    }
                    None => {
                        self.statue.as_ref().map_or_else(|| Box::new(Nowhere) as _, |s| s.shape(self.skin))
                    }
                };
                let speed = ends.map_or(0.0, |[from, to]| farthest(&from, &to));
                for (_, nodes) in obstacle.impacts(x, ways, path, speed) {
                    for node in nodes {
                        met = Some([node as usize, k]);
                        let own = 3 * node as usize..3 * node as usize + 3;
                        let at = [x[own.start], x[own.start + 1], x[own.start + 2]];
                        let along = ends.map_or([0.0; 3], |[from, to]| carried(&from, &to, at));
                        let moved = [0, 1, 2].map(|c| at[c] + along[c]);
                        let (n, up) = way(&*path(1.0), moved, obstacle.shape().distance(at));
                        ways[own].copy_from_slice(&[0, 1, 2].map(|c| along[c] + up * n[c]));
                    }
                }
            }
            if met.is_none() {
                return Ok(());
            }
        }
        met.map_or(Ok(()), Err)
    }
}

impl Crushed {
    /// The fault of a step.
    pub(crate) fn new(frame: usize, step: usize, [vertex, obstacle]: [usize; 2]) -> Self {
        Self { frame, step, vertex: vertex as u32, obstacle }
    }
}

/// A solid between two places.
fn between(from: &Solid, to: &Solid, t: f64) -> Solid {
    let mix = |a: [f64; 3], b: [f64; 3]| [0, 1, 2].map(|k| (1.0 - t) * a[k] + t * b[k]);
    match (*from, *to) {
        (Solid::Plane { point, normal }, Solid::Plane { point: other, .. }) => {
            Solid::Plane { point: mix(point, other), normal }
        }
        (Solid::Sphere { centre, radius }, Solid::Sphere { centre: other, .. }) => {
            Solid::Sphere { centre: mix(centre, other), radius }
        }
        (Solid::Capsule { from: a, to: b, radius }, Solid::Capsule { from: c, to: d, .. }) => {
            Solid::Capsule { from: mix(a, c), to: mix(b, d), radius }
        }
        _ => *to,
    }
}

/// How far the points of a solid move at most.
fn farthest(from: &Solid, to: &Solid) -> f64 {
    let way = |a: [f64; 3], b: [f64; 3]| dot(sub(b, a), sub(b, a)).sqrt();
    match (*from, *to) {
        (Solid::Plane { point, .. }, Solid::Plane { point: other, .. }) => way(point, other),
        (Solid::Sphere { centre, .. }, Solid::Sphere { centre: other, .. }) => way(centre, other),
        (Solid::Capsule { from: a, to: b, .. }, Solid::Capsule { from: c, to: d, .. }) => {
            way(a, c).max(way(b, d))
        }
        _ => f64::INFINITY,
    }
}

/// How far the point of a solid moves that is nearest to x.
fn carried(from: &Solid, to: &Solid, x: [f64; 3]) -> [f64; 3] {
    match (*from, *to) {
        (Solid::Plane { point, .. }, Solid::Plane { point: other, .. }) => sub(other, point),
        (Solid::Sphere { centre, .. }, Solid::Sphere { centre: other, .. }) => sub(other, centre),
        (Solid::Capsule { from: a, to: b, .. }, Solid::Capsule { from: c, to: d, .. }) => {
            let axis = sub(b, a);
            let s = (dot(sub(x, a), axis) / dot(axis, axis)).clamp(0.0, 1.0);
            let (p, q) = (sub(c, a), sub(d, b));
            [0, 1, 2].map(|k| (1.0 - s) * p[k] + s * q[k])
        }
        _ => [0.0; 3],
    }
}

/// A shape whose distance is not known: an axis that has no length on its way.
struct Nowhere;

impl Shape for Nowhere {
    fn distance(&self, _: [f64; 3]) -> f64 {
        f64::NAN
    }

    fn normal(&self, _: [f64; 3]) -> [f64; 3] {
        [0.0, 1.0, 0.0]
    }

    fn curvature(&self, _: [f64; 3]) -> [[f64; 3]; 3] {
        [[0.0; 3]; 3]
    }

    fn magnitude(&self, _: [f64; 3]) -> f64 {
        0.0
    }
}
