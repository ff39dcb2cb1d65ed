//! Pictures: particles as small balls, among the colliders.

use std::path::Path;

use coarsen::mesh::vector::{dot, sub};
use examples_common::files::name;
use examples_common::picture::{Balls, PictureError, Solid};
use examples_common::stage::{self, Patch, Stage, View};

use crate::collider::Obstacle;
use crate::particles::{Body, Particle};
use crate::scene::Setting;
use crate::shape::Shape;

/// The radius of balls, in units of the distance of particles.
const RADIUS: f64 = 0.75;

/// The colours of bodies, from the softest to the stiffest on a logarithmic scale of 1e4 to 1e11 Pa.
const COLOURS: [[u8; 3]; 6] =
    [[233, 163, 100], [219, 116, 66], [186, 80, 84], [140, 96, 150], [79, 120, 180], [92, 110, 130]];

/// How frames are drawn.
pub struct Pictures {
    stage: Stage,
    colliders: Vec<Obstacle>,
    colours: Vec<[u8; 3]>,
    radii: Vec<f64>,
}

impl Pictures {
    /// The pictures of a scene.
    pub fn new(
        setting: &Setting,
        obstacles: &[Obstacle],
        bodies: &[Body],
        particles: &[Particle],
        width: usize,
    ) -> Self {
        let shown = || obstacles.iter().filter(|obstacle| obstacle.collider.shown);
        let plane = |obstacle: &Obstacle| match obstacle.collider.shape {
            Some(Shape::Plane { point, normal }) => Some(stage::Solid::Plane { point, normal }),
            _ => None,
        };
        let solids: Vec<stage::Solid> = shown().filter_map(plane).collect();
        let colour = |body: &Body| {
            let level = (body.lame.at_rest().log10() - 4.5) / 7.0 * COLOURS.len() as f64;
            COLOURS[(level.max(0.0) as usize).min(COLOURS.len() - 1)]
        };
        Self {
            stage: Stage::new(&view(setting, obstacles, particles), &solids, Vec::new(), &[], width),
            colliders: shown().cloned().collect(),
            colours: bodies.iter().map(colour).collect(),
            radii: bodies.iter().map(|body| RADIUS * body.volume.cbrt()).collect(),
        }
    }

    /// The width and height of all pictures.
    pub fn size(&self) -> (usize, usize) {
        self.stage.size()
    }

    /// Writes the picture of a frame.
    ///
    /// # Errors
    /// [`PictureError`] for positions that are not finite and files that cannot be written.
    pub fn write(
        &self,
        folder: &Path,
        frame: usize,
        time: f64,
        particles: &[Particle],
    ) -> Result<(), PictureError> {
        let centres: Vec<[f64; 3]> = particles.iter().map(|p| p.x).collect();
        let of = |p: &Particle| p.body as usize;
        let colours: Vec<[u8; 3]> = particles.iter().map(|p| self.colours[of(p)]).collect();
        let radii: Vec<f64> = particles.iter().map(|p| self.radii[of(p)]).collect();
        let patches: Vec<Patch> = self
            .colliders
            .iter()
            .filter(|obstacle| obstacle.collider.exists(time))
            .filter_map(|obstacle| patch(obstacle, time))
            .collect();
        let solids: Vec<Solid<'_>> = patches.iter().map(|patch| patch.solid(stage::OBSTACLE)).collect();
        let balls = Balls { centres: &centres, radii: &radii, colours: &colours };
        let caption = format!("t = {time:.2} s");
        let picture = self.stage.balls(&solids, balls, &caption)?;
        picture.write_png(folder.join(name(frame, "png")))
    }
}

/// The view of a scene. If the scene has none, it shows the particles and the emitters, the colliders that are shown,
/// and where these lie above planes.
pub fn view(setting: &Setting, obstacles: &[Obstacle], particles: &[Particle]) -> View {
    let mut points: Vec<[f64; 3]> = particles.iter().map(|p| p.x).collect();
    points.extend(setting.emitter.iter().filter_map(|emitter| emitter.shape.bounds()).flatten());
    let shown = || obstacles.iter().filter(|obstacle| obstacle.collider.shown);
    shown().filter_map(|obstacle| patch(obstacle, 0.0)).for_each(|patch| points.extend(patch.positions));
    let around = |points: &[[f64; 3]]| {
        let ends = [[f64::INFINITY; 3], [f64::NEG_INFINITY; 3]];
        points.iter().fold(ends, |[low, high], p| {
            [[0, 1, 2].map(|k| low[k].min(p[k])), [0, 1, 2].map(|k| high[k].max(p[k]))]
        })
    };
    let ends = around(&points);
    points = ends.to_vec();
    for obstacle in shown() {
        if let Some(Shape::Plane { point, normal }) = obstacle.collider.shape {
            points.extend(ends.map(|x| {
                let height = dot(sub(x, point), normal) / dot(normal, normal);
                [0, 1, 2].map(|k| x[k] - height * normal[k])
            }));
        }
    }
    View { corners: setting.view.corners.or(Some(around(&points))), ..setting.view }
}

/// The triangles of a collider at a time; `None` for a plane, which the stage draws.
fn patch(Obstacle { collider, surface, .. }: &Obstacle, time: f64) -> Option<Patch> {
    let mut patch = match (&collider.shape, surface) {
        (None, None) => return None,
        (None, Some(mesh)) => Patch { positions: mesh.positions.clone(), triangles: mesh.triangles.clone() },
        (Some(shape), _) => match *shape {
            Shape::Plane { .. } => return None,
            Shape::Sphere { centre, radius } => Patch::capsule(centre, centre, radius),
            Shape::Capsule { from, to, radius } => Patch::capsule(from, to, radius),
            Shape::Box { low, high } => Patch::cuboid(low, high),
            Shape::Torus { centre, axis, radii } => Patch::torus(centre, axis, radii),
            Shape::Cylinder { from, to, radius } => Patch::cylinder(from, to, radius),
        },
    };
    let pose = collider.pose(time);
    patch.positions.iter_mut().for_each(|x| *x = pose.apply(*x));
    Some(patch)
}
