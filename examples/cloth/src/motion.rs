//! What moves by a formula of time: held vertices and solids.

use std::f64::consts::TAU;
use std::path::PathBuf;
use std::sync::Arc;

use coarsen::mesh::vector::sub;
use coarsen::mesh::{Mesh, read_triangles};
use coarsen_contact::Spin;
use examples_scene::shape::unit;
use examples_scene::{Motion as Formula, Obstacle, Phase, Scene as Setting, Shape};

use crate::fault::{SceneError, SheetFault};
use crate::sheet::{Sheet, welded};

/// The number of frames in a second.
pub(crate) const RATE: f64 = 24.0;

/// A formula for held vertices and solids. Free vertices have no formula.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Motion {
    /// Nothing moves, but solids may spin.
    #[default]
    Still,
    /// A formula of the scene. Of [`Formula::Walk`], balls move as the hips and capsules are legs.
    Formula(Formula),
    /// Solids move as their obstacles say.
    Phases(Vec<Obstacle>),
    /// Seams close; nothing else moves.
    Sewing,
    /// The obstacle of triangles moves from frame to frame of a sequence of files.
    Played(Played),
}

/// The positions of the vertices of an obstacle at each frame; between frames they move along straight lines, and after
/// the last frame they rest.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Played(pub(crate) Arc<Vec<Vec<[f64; 3]>>>);

impl Played {
    /// Reads the obstacle of a sequence of files, the numbers of its triangles there, and how it moves. All files need the same
    /// triangles.
    pub(crate) fn read(files: &[PathBuf], weld: bool) -> Result<(Mesh, Vec<u32>, Self), SceneError> {
        let (mut meshes, mut numbers): (Vec<Mesh>, _) = (Vec::with_capacity(files.len()), Vec::new());
        for file in files {
            let (mesh, kept) = welded(read_triangles(file).map_err(SheetFault::from)?, weld);
            let first = meshes.first().unwrap_or(&mesh);
            if mesh.triangles != first.triangles || mesh.positions.len() != first.positions.len() {
                return Err(SceneError::Sequence { file: file.clone(), first: files[0].clone() });
            }
            if meshes.is_empty() {
                numbers = kept;
            }
            meshes.push(mesh);
        }
        let first = meshes.first().cloned().unwrap_or_default();
        Ok((first, numbers, Self(Arc::new(meshes.into_iter().map(|mesh| mesh.positions).collect()))))
    }

    /// Writes the positions of the obstacle at a time to the end of those of all vertices.
    fn place(&self, time: f64, all: &mut [[f64; 3]]) {
        let Some(last) = self.0.len().checked_sub(1) else { return };
        let at = (time * RATE).clamp(0.0, last as f64);
        let (k, share) = (at as usize, at.fract());
        let (from, to) = (&self.0[k], &self.0[(k + 1).min(last)]);
        let begin = all.len() - from.len();
        for ((p, a), b) in all[begin..].iter_mut().zip(from).zip(to) {
            *p = [0, 1, 2].map(|c| a[c] + share * (b[c] - a[c]));
        }
    }
}

/// The time until a walk has its full swing, in seconds.
const WARM: f64 = 0.5;

/// The interval of the difference quotient for velocities of solids, in seconds.
const TICK: f64 = 1e-6;

impl Motion {
    /// The formula of a scene; a body of files is not yet known.
    pub(crate) fn of(setting: &Setting, sheet: &Sheet) -> Self {
        let solids = || setting.obstacle.iter().filter(|obstacle| obstacle.shape.is_some());
        match setting.motion {
            Some(formula) => Self::Formula(formula),
            None if !solids().all(spins) => Self::Phases(solids().cloned().collect()),
            None if !sheet.seams.is_empty() => Self::Sewing,
            None => Self::Still,
        }
    }

    /// The positions of all vertices at a time, given those at the start; only those of held vertices matter.
    pub(crate) fn held(&self, start: &[[f64; 3]], time: f64) -> Vec<[f64; 3]> {
        if let Self::Played(frames) = self {
            let mut all = start.to_vec();
            frames.place(time, &mut all);
            return all;
        }
        let place = |p: &[f64; 3]| match *self {
            Self::Formula(Formula::Twist { through, rate }) => {
                let d = sub(*p, through);
                let (sin, cos) = (d[0].signum() * rate.to_radians() * time).sin_cos();
                [p[0], through[1] + cos * d[1] - sin * d[2], through[2] + sin * d[1] + cos * d[2]]
            }
            Self::Formula(Formula::Walk { .. }) => [p[0], p[1] + self.rise(time), p[2]],
            _ => *p,
        };
        start.iter().map(place).collect()
    }

    /// The solids at a time, given those at the start.
    pub(crate) fn solids(&self, start: &[Shape], time: f64) -> Vec<Shape> {
        if let Self::Phases(obstacles) = self {
            return start.iter().zip(obstacles).map(|(solid, o)| solid.moved(&o.pose(time))).collect();
        }
        let Self::Formula(formula) = self else { return start.to_vec() };
        let (away, rise) = (self.away(time), self.rise(time));
        let shifted = |[x, y, z]: [f64; 3]| [x, y + rise, z - away];
        let place = |(k, solid): (usize, &Shape)| match (*solid, formula) {
            (Shape::Sphere { centre, radius }, _) => Shape::Sphere { centre: shifted(centre), radius },
            (Shape::Capsule { from, to, radius }, Formula::Walk { .. }) => {
                let (sin, cos) = self.angle(leg(k, start.len()), time).sin_cos();
                let d = sub(to, from);
                let turned = [d[0], cos * d[1] - sin * d[2], sin * d[1] + cos * d[2]];
                let to = shifted([0, 1, 2].map(|c| from[c] + turned[c]));
                Shape::Capsule { from: shifted(from), to, radius }
            }
            (other, _) => other,
        };
        start.iter().enumerate().map(place).collect()
    }

    /// How the solids move at a time, given their spins at the start; those after the list do not spin.
    pub(crate) fn spins(&self, start: &[Shape], spins: &[Spin], time: f64) -> Vec<Spin> {
        let of = |k: usize| spins.get(k).copied().unwrap_or_default();
        let rate = |now: f64, later: f64| (later - now) / TICK;
        let (rise, away) =
            (rate(self.rise(time), self.rise(time + TICK)), rate(self.away(time), self.away(time + TICK)));
        let drift = [0.0, rise, 0.0 - away];
        let spin = |(k, solid): (usize, &Shape)| match (self, solid) {
            (Self::Phases(obstacles), _) => turning(solid, &obstacles[k], time),
            (Self::Formula(_), Shape::Sphere { .. }) => Spin { drift, ..of(k) },
            (Self::Formula(Formula::Walk { .. }), Shape::Capsule { from, .. }) => {
                let leg = leg(k, start.len());
                let turn = rate(self.angle(leg, time), self.angle(leg, time + TICK));
                Spin { through: *from, rate: [turn, 0.0, 0.0], drift }
            }
            _ => of(k),
        };
        self.solids(start, time).iter().enumerate().map(spin).collect()
    }

    /// Whether held vertices or solids change their place.
    pub(crate) fn moves(&self) -> bool {
        !matches!(self, Self::Still)
    }

    /// How far a ball that pushes is away from its place at the start; its velocity begins at 0.
    fn away(&self, time: f64) -> f64 {
        let Self::Formula(Formula::Push { reach, period }) = *self else { return 0.0 };
        0.5 * reach * (1.0 - (TAU * time / period).cos())
    }

    /// How far hips are above their place at the start.
    fn rise(&self, time: f64) -> f64 {
        let Self::Formula(Formula::Walk { pace, bob, .. }) = *self else { return 0.0 };
        0.5 * bob * strength(time) * ((2.0 * (TAU * pace * time)).cos() - 1.0)
    }

    /// The angle of leg 0 or 1.
    fn angle(&self, leg: usize, time: f64) -> f64 {
        let Self::Formula(Formula::Walk { swing, pace, .. }) = *self else { return 0.0 };
        let side = if leg == 0 { 1.0 } else { -1.0 };
        side * swing.to_radians() * strength(time) * (TAU * pace * time).sin()
    }
}

/// The number of the leg that is solid k of `count`: legs are the last two.
fn leg(k: usize, count: usize) -> usize {
    k - count.saturating_sub(2).min(k)
}

/// The share of the full swing of a walk, which grows from 0 without a jump of the rate.
fn strength(time: f64) -> f64 {
    let s = (time / WARM).min(1.0);
    s * s * (3.0 - 2.0 * s)
}

/// How an obstacle moves at a time at which it is at `solid`.
fn turning(solid: &Shape, obstacle: &Obstacle, time: f64) -> Spin {
    let Some(Phase { velocity, rate, .. }) = obstacle.motion.iter().find(|phase| time < phase.until) else {
        return Spin::default();
    };
    let axis = unit(obstacle.axis);
    Spin { through: solid.centre(), rate: axis.map(|a| rate.to_radians() * a), drift: *velocity }
}

/// Whether an obstacle only turns in its place, always at one rate: a ball about the vertical axis through the origin.
fn spins(obstacle: &Obstacle) -> bool {
    let on_axis =
        matches!(obstacle.shape, Some(Shape::Sphere { centre: [x, _, z], .. }) if x == 0.0 && z == 0.0);
    let upright = obstacle.axis == [0.0, 1.0, 0.0] && on_axis;
    match obstacle.motion[..] {
        [] => true,
        [Phase { until, velocity, .. }] => upright && until == f64::INFINITY && velocity == [0.0; 3],
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coarsen::mesh::vector::dot;

    fn body() -> Vec<Shape> {
        let leg = |x: f64| Shape::Capsule { from: [x, 0.9, 0.0], to: [x, 0.1, 0.0], radius: 0.05 };
        vec![Shape::Sphere { centre: [0.0, 1.0, 0.0], radius: 0.1 }, leg(-0.1), leg(0.1)]
    }

    /// The velocity that friction gets is that of the points of the solid.
    #[test]
    fn spins_are_the_velocities_of_solids() {
        let (walk, body) =
            (Motion::Formula(Formula::Walk { swing: 0.6_f64.to_degrees(), pace: 1.0, bob: 0.03 }), body());
        let foot = |time: f64, k: usize| match walk.solids(&body, time)[k] {
            Shape::Capsule { to, .. } => to,
            Shape::Sphere { centre, .. } => centre,
            other => other.centre(),
        };
        for (time, k) in [(0.1, 0), (0.3, 1), (0.8, 2), (1.3, 1)] {
            let Spin { through, rate, drift } = walk.spins(&body, &[], time)[k];
            let turned = coarsen::mesh::vector::cross(rate, sub(foot(time, k), through));
            let moved = sub(foot(time + 1e-5, k), foot(time - 1e-5, k)).map(|d| d / 2e-5);
            let gap = sub(moved, [0, 1, 2].map(|c| turned[c] + drift[c]));
            assert!(dot(gap, gap).sqrt() < 1e-3, "{time} {k}: {gap:?}");
        }
    }

    /// The ball is at its reach after half a period, and friction gets its velocity.
    #[test]
    fn a_ball_that_pushes_comes_back() {
        let (push, body) = (Motion::Formula(Formula::Push { reach: 0.6, period: 2.0 }), body());
        let at = |time: f64| match push.solids(&body, time)[0] {
            Shape::Sphere { centre, .. } => centre[2],
            _ => f64::NAN,
        };
        assert!(at(0.0) == 0.0 && (at(1.0) + 0.6).abs() < 1e-12 && at(2.0).abs() < 1e-12);
        let Spin { drift, .. } = push.spins(&body, &[], 0.4)[0];
        assert!((drift[2] - (at(0.40001) - at(0.39999)) / 2e-5).abs() < 1e-4, "{drift:?}");
        assert_eq!(push.spins(&body, &[], 0.4)[1], Spin::default());
    }

    /// An obstacle of a scene file moves and turns phase by phase, and friction gets the velocities of its points.
    #[test]
    fn obstacles_move_by_their_phases() {
        let bar = Shape::Capsule { from: [-0.1, 1.0, 0.0], to: [0.1, 1.0, 0.0], radius: 0.05 };
        let phase = |until, velocity, rate| Phase { until, velocity, rate };
        let motion = vec![phase(1.0, [0.0, 0.5, 0.0], 90.0), phase(2.0, [0.2, 0.0, 0.0], 0.0)];
        let obstacle = Obstacle { shape: Some(bar), motion, ..Obstacle::default() };
        let moving = Motion::Phases(vec![obstacle]);
        let end = |time: f64| match moving.solids(&[bar], time)[0] {
            Shape::Capsule { to, .. } => to,
            _ => [f64::NAN; 3],
        };
        let far = |a: [f64; 3], b: [f64; 3]| dot(sub(a, b), sub(a, b)).sqrt();
        assert!(far(end(0.0), [0.1, 1.0, 0.0]) < 1e-12 && far(end(1.0), [0.0, 1.5, -0.1]) < 1e-12);
        assert!(far(end(3.0), [0.2, 1.5, -0.1]) < 1e-12);
        for time in [0.3, 1.4, 2.5] {
            let Spin { through, rate, drift } = moving.spins(&[bar], &[], time)[0];
            let turned = coarsen::mesh::vector::cross(rate, sub(end(time), through));
            let moved = sub(end(time + 1e-5), end(time - 1e-5)).map(|d| d / 2e-5);
            assert!(far(moved, [0, 1, 2].map(|c| turned[c] + drift[c])) < 1e-6, "{time}");
        }
    }

    /// Both ends of a strip turn against each other, and keep their shape.
    #[test]
    fn ends_turn_against_each_other() {
        let twist = Motion::Formula(Formula::Twist { through: [0.0, 1.0, 0.0], rate: 2.0_f64.to_degrees() });
        let ends = [[-0.5, 1.0, 0.1], [0.5, 1.0, 0.1]];
        let quarter = twist.held(&ends, std::f64::consts::FRAC_PI_4);
        assert!((quarter[1][1] - 0.9).abs() < 1e-12 && (quarter[0][1] - 1.1).abs() < 1e-12);
        assert_eq!(Motion::Still.held(&ends, 3.0), ends);
    }
}
