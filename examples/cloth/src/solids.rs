//! How solids press the cloth, and how cloth gets out of the way of solids that move.
//!
//! A solid moves in a step along a straight line: its centre, or the ends of its axis. Vertices and edges that it would
//! meet go along with it, until it meets none.

use coarsen::elastic::{Barrier, ContactPotential};
use coarsen::mesh::vector::{dot, sub};
use coarsen_contact::{ContactError, Friction, Obstacle, Shape};
use examples_scene::Shape as Solid;

/// The number of searches for vertices that a solid would meet.
const ROUNDS: usize = 20;

/// Contact with a solid.
pub(crate) type Pressed = Obstacle<Box<dyn Shape>>;

/// Friction with a solid.
pub(crate) type Rubbed = Friction<Box<dyn Shape>>;

/// A vertex that a solid would meet wherever it goes.
#[derive(Debug, thiserror::Error)]
#[error(
    "frame {frame}, step {step}: vertex {} (of those that are free, from 0) cannot get out of the way of obstacle {}; the last \
     frame on disk is good: {}", .met.vertex, .met.obstacle, .met.cure()
)]
pub(crate) struct Crushed {
    pub(crate) frame: usize,
    pub(crate) step: usize,
    pub(crate) met: Met,
}

/// A free vertex and an obstacle that meet in every round.
#[derive(Debug)]
pub(crate) struct Met {
    pub(crate) vertex: usize,
    pub(crate) obstacle: usize,
    /// A held vertex, of all vertices, that the obstacle reaches: edges with this end cannot stay outside.
    pub(crate) held: Option<u32>,
}

impl Met {
    fn cure(&self) -> String {
        self.held.map_or("take a smaller --dt".to_owned(), |held| {
            format!(
                "the obstacle reaches vertex {held}, which is held, and a smaller --dt does not help; move the obstacle on another \
                 path, or do not hold the vertex"
            )
        })
    }
}

/// The potential of barriers that begin at `reach`, with the stiffness k of contact.
pub(crate) fn barrier(reach: f64, stiffness: f64) -> ContactPotential {
    Barrier { stiffness: stiffness * reach * reach, reach }.into()
}

/// By how much a ball or a bar is grown so that edges whose ends are on it stay outside.
pub(crate) fn sag(solid: &Solid, longest: f64) -> f64 {
    solid.radius().map_or(0.0, |r| longest * longest / (8.0 * r))
}

/// The least share of a free end of an edge in the motion of a point of it that a solid meets.
const SHARE: f64 = 0.05;

/// Changes the displacements of free nodes from x while solids, each grown by a skin, move from their places before to
/// those after, and held nodes to `held`: what they would meet goes along with them, and the free end of an edge so far
/// that the point does that they meet. An obstacle after the solids does not move, and has the shape `still`.
///
/// # Errors
/// [`Met`], without a held vertex.
pub(crate) fn move_with_solids(
    obstacles: &[Pressed],
    x: &[f64],
    displacements: &mut [f64],
    held: &[[f64; 3]],
    moving: &[([Solid; 2], f64)],
    still: impl Fn() -> Option<Box<dyn Shape>>,
) -> Result<(), Met> {
    let mut met = None;
    for _ in 0..ROUNDS {
        met = None;
        for (k, obstacle) in obstacles.iter().enumerate() {
            let path = |t: f64| match moving.get(k) {
                Some((ends, skin)) => along(ends, *skin, t),
                None => still().unwrap_or_else(|| Box::new(UndefinedShape)),
            };
            let ends = moving.get(k).map(|(ends, _)| ends);
            let moves = ends.map_or(([0.0; 3], 0.0), |[from, to]| drift(from, to));
            for (_, point, by_held) in obstacle.impacts(x, displacements, held, path, moves) {
                for node in point.nodes().iter().map(|node| *node as usize) {
                    met = Some(Met { vertex: node, obstacle: k, held: None });
                    let own = 3 * node..3 * node + 3;
                    let at = [x[own.start], x[own.start + 1], x[own.start + 2]];
                    let along = ends.map_or([0.0; 3], |[from, to]| carried(from, to, at));
                    let moved = [0, 1, 2].map(|c| at[c] + along[c]);
                    let (n, up) = path(1.0).displacement_to(moved, obstacle.shape().distance(at));
                    let dx = [0, 1, 2].map(|c| along[c] + up * n[c]);
                    let share = if let [share] = point.weights() { share.max(SHARE) } else { 1.0 };
                    let dx = [0, 1, 2].map(|c| (dx[c] - by_held[c]) / share);
                    displacements[own].copy_from_slice(&dx);
                }
            }
        }
        if met.is_none() {
            return Ok(());
        }
    }
    met.map_or(Ok(()), Err)
}

/// The first of some points that a solid, grown by a skin, meets while it moves and the points go from x along d.
pub(crate) fn first_met(
    ends: &[Solid; 2],
    skin: f64,
    potential: &ContactPotential,
    [x, d]: [&[f64]; 2],
) -> Result<Option<usize>, ContactError> {
    let obstacle = Obstacle::with_potential(x.len() / 3, along(ends, skin, 0.0), potential.clone())?;
    let met = obstacle.impacts(x, d, &[], |t| along(ends, skin, t), drift(&ends[0], &ends[1]));
    Ok(met.first().map(|(_, point, _)| point.nodes()[0] as usize))
}

/// A moving solid, grown by a skin.
fn along([from, to]: &[Solid; 2], skin: f64, t: f64) -> Box<dyn Shape> {
    let ([a, b], [c, d]) = (axis(from), axis(to));
    let mix = |a: [f64; 3], b: [f64; 3]| [0, 1, 2].map(|k| (1.0 - t) * a[k] + t * b[k]);
    let solid = match *from {
        Solid::Plane { normal, .. } => Solid::Plane { point: mix(a, c), normal },
        Solid::Sphere { radius, .. } => Solid::Sphere { centre: mix(a, c), radius },
        Solid::Capsule { radius, .. } => Solid::Capsule { from: mix(a, c), to: mix(b, d), radius },
        other => other,
    };
    solid.grown(skin).unwrap_or_else(|_| Box::new(UndefinedShape))
}

/// The ends of the axis of a capsule, and of other solids twice their centre.
fn axis(solid: &Solid) -> [[f64; 3]; 2] {
    if let Solid::Capsule { from, to, .. } = *solid { [from, to] } else { [solid.centre(); 2] }
}

/// How far the ends of an axis move.
fn moved(from: &Solid, to: &Solid) -> [[f64; 3]; 2] {
    let ([a, b], [c, d]) = (axis(from), axis(to));
    [sub(c, a), sub(d, b)]
}

/// How a solid moves: evenly, and by how much points of it move beside that.
fn drift(from: &Solid, to: &Solid) -> ([f64; 3], f64) {
    let [p, q] = moved(from, to);
    let apart = sub(p, q);
    ([0, 1, 2].map(|k| 0.5 * (p[k] + q[k])), 0.5 * dot(apart, apart).sqrt())
}

/// How far the point of a solid moves that is nearest to x.
fn carried(from: &Solid, to: &Solid, x: [f64; 3]) -> [f64; 3] {
    let ([a, b], [p, q]) = (axis(from), moved(from, to));
    if a == b {
        return p;
    }
    let d = sub(b, a);
    let s = (dot(sub(x, a), d) / dot(d, d)).clamp(0.0, 1.0);
    [0, 1, 2].map(|k| (1.0 - s) * p[k] + s * q[k])
}

/// A shape whose distance is not known: an axis that has no length at some time.
struct UndefinedShape;

impl Shape for UndefinedShape {
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
