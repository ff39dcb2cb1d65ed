//! What is written for each frame: particles as points, for other programs, and pictures of them as small balls, among
//! the colliders.
//!
//! *Reference* PLY: Turk 1994, "The PLY polygon file format".

use std::path::Path;

use clap::ValueEnum;
use coarsen::contact::Aabb;
use coarsen::elastic::{Density, FixedCoRotated};
use coarsen::mesh::vector::{dot, sub};
use examples_render::{Balls, OBSTACLE, Patch, PictureError, Solid, Stage, name};
use examples_run::files::{Grid, OutputError, cauchy, failed, list_frames, von_mises};
use examples_scene::View;

use crate::collider::Obstacle;
use crate::particles::{Body, Matrix, Particle};
use crate::scene::Setting;
use crate::shape::Shape;

/// The format of points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Stanford PLY, binary: position, velocity and number of the body of each particle.
    Ply,
    /// VTK legacy, binary, with the same data.
    Vtk,
    /// For ParaView: `frames.pvd` and a `.vtu` for each frame, also with stress and von Mises stress.
    Pvd,
    /// No points.
    None,
}

impl Format {
    /// Writes the particles of a frame; `delay` is the time between two frames in s.
    ///
    /// # Errors
    /// [`OutputError::Write`]
    pub fn write(
        self,
        folder: &Path,
        frame: usize,
        delay: f64,
        particles: &[Particle],
        bodies: &[Body],
    ) -> Result<(), OutputError> {
        let (extension, bytes) = match self {
            Self::Pvd => {
                grid(particles, bodies).write(folder, frame)?;
                return list_frames(folder, frame, delay);
            }
            Self::Ply => ("ply", ply(particles)),
            Self::Vtk => ("vtk", vtk(particles)),
            Self::None => return Ok(()),
        };
        let path = folder.join(name(frame, extension));
        std::fs::write(&path, bytes).map_err(failed(&path))
    }
}

/// Particles with their body, velocity, and the Cauchy stress of their elastic deformation.
fn grid(particles: &[Particle], bodies: &[Body]) -> Grid {
    let all = |of: fn(&Particle) -> &[f64; 3]| particles.iter().flat_map(of).copied().collect::<Vec<_>>();
    let stress = |p: &Particle| cauchy(&FixedCoRotated.stress(bodies[p.body as usize].lame, &p.f), &p.f);
    let stresses: Vec<Matrix> = particles.iter().map(stress).collect();
    Grid {
        points: all(|p| &p.x),
        cells: (0..particles.len() as u32).map(|k| vec![k]).collect(),
        point_data: vec![
            ("velocity", 3, all(|p| &p.v)),
            ("body", 1, particles.iter().map(|p| f64::from(p.body)).collect()),
            ("stress", 9, stresses.as_flattened().as_flattened().to_vec()),
            ("von_mises", 1, stresses.iter().map(von_mises).collect()),
        ],
        cell_data: Vec::new(),
    }
}

/// The bytes of a PLY file.
pub fn ply(particles: &[Particle]) -> Vec<u8> {
    let mut text = format!("ply\nformat binary_little_endian 1.0\nelement vertex {}\n", particles.len());
    for key in ["x", "y", "z", "vx", "vy", "vz"] {
        text += &format!("property float {key}\n");
    }
    text += "property uint body\nend_header\n";
    let mut bytes = text.into_bytes();
    for p in particles {
        p.x.iter().chain(&p.v).for_each(|v| bytes.extend((*v as f32).to_le_bytes()));
        bytes.extend(p.body.to_le_bytes());
    }
    bytes
}

/// The bytes of a VTK file, whose numbers have the most significant byte first.
pub fn vtk(particles: &[Particle]) -> Vec<u8> {
    let n = particles.len();
    let mut bytes = b"# vtk DataFile Version 3.0\nparticles\nBINARY\nDATASET POLYDATA\n".to_vec();
    let triples = |bytes: &mut Vec<u8>, of: fn(&Particle) -> &[f64; 3]| {
        particles.iter().flat_map(of).for_each(|v| bytes.extend((*v as f32).to_be_bytes()));
    };
    bytes.extend(format!("POINTS {n} float\n").bytes());
    triples(&mut bytes, |p| &p.x);
    bytes.extend(format!("\nVERTICES {n} {}\n", 2 * n).bytes());
    (0..n as u32).for_each(|k| [1, k].iter().for_each(|v| bytes.extend(v.to_be_bytes())));
    bytes.extend(format!("\nPOINT_DATA {n}\nVECTORS velocity float\n").bytes());
    triples(&mut bytes, |p| &p.v);
    bytes.extend(b"\nSCALARS body int 1\nLOOKUP_TABLE default\n");
    particles.iter().for_each(|p| bytes.extend(p.body.to_be_bytes()));
    bytes.push(b'\n');
    bytes
}

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
        let plane = |obstacle: &Obstacle| {
            obstacle.collider.shape.filter(|shape| matches!(shape, Shape::Plane { .. }))
        };
        let solids: Vec<Shape> = shown().filter_map(plane).collect();
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
        let solids: Vec<Solid<'_>> = patches.iter().map(|patch| patch.solid(OBSTACLE)).collect();
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
        let Aabb { low, high } = Aabb::of(points.iter().copied());
        [low, high]
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
        (Some(shape), _) => Patch::of(shape)?,
    };
    let pose = collider.pose(time);
    patch.positions.iter_mut().for_each(|x| *x = pose.apply(*x));
    Some(patch)
}
