//! Pictures of frames: bodies with their shadows, ground and obstacles.

use std::path::Path;

use crate::{Balls, Camera, Drawing, Picture, PictureError, Projection, Solid as Painted, name};
use coarsen_mesh::vector::{cross, dot, sub};

use examples_scene::shape::unit;
use examples_scene::{Shape, View};

use crate::patches::{Patch, tiles};

/// The colours of bodies, in turn.
pub const BODIES: [[u8; 3]; 6] =
    [[219, 116, 66], [79, 138, 196], [122, 173, 92], [186, 105, 170], [222, 181, 77], [92, 176, 171]];

/// The colours of tiles on the ground.
const TILES: [[u8; 3]; 2] = [[222, 222, 226], [205, 205, 211]];

/// The colours of tiles on walls.
const WALLS: [[u8; 3]; 2] = [[236, 236, 240]; 2];

/// A wall is drawn if the cosine of the angle between its normal and the direction to the eye is larger.
const FACING: f64 = 0.5;

/// The colour of obstacles.
pub const OBSTACLE: [u8; 3] = [150, 150, 158];

/// The colour of shadows.
const SHADOW: [u8; 3] = [150, 150, 156];

/// The height of shadows above the ground, in units of the view.
const LIFT: f64 = 1e-3;

/// The vertical angle of view in degrees.
const ANGLE: f64 = 30.0;

/// The parts of a picture that do not change between frames.
pub struct Stage {
    drawing: Drawing,
    view: Vec<[f64; 3]>,
    still: Vec<(Patch, [u8; 3])>,
    /// Obstacles without planes.
    rounds: Vec<Patch>,
    /// A point and the normal, towards the eye, of the plane at which meshes that stay are cut.
    cut: Option<[[f64; 3]; 2]>,
    /// A point of the ground and its normal.
    ground: Option<[[f64; 3]; 2]>,
    lift: f64,
    /// The triangles of each body.
    bodies: Vec<Vec<[u32; 3]>>,
}

impl Stage {
    /// The stage of a scene: its view, obstacles, the triangles of each body and the initial positions, for
    /// pictures `width` pixels wide.
    pub fn new(
        view: &View,
        obstacles: &[Shape],
        bodies: Vec<Vec<[u32; 3]>>,
        positions: &[[f64; 3]],
        width: usize,
    ) -> Self {
        let rounds: Vec<Patch> = obstacles.iter().filter_map(Patch::of).collect();
        let seen = || positions.iter().chain(rounds.iter().flat_map(|patch| &patch.positions));
        let ends = [[f64::INFINITY; 3], [f64::NEG_INFINITY; 3]];
        let around = seen().fold(ends, |[low, high], p| {
            [[0, 1, 2].map(|k| low[k].min(p[k])), [0, 1, 2].map(|k| high[k].max(p[k]))]
        });
        let corners = view.corners.unwrap_or(around);
        let size = sub(corners[1], corners[0]);

        // With y upwards, the azimuth of the camera increases from +z towards +x.
        let (azimuth, elevation) = (view.azimuth, view.elevation);
        let camera = Camera { azimuth, elevation, up: 1, projection: Projection::Perspective(ANGLE) };
        let (az, el) = (azimuth.to_radians(), elevation.to_radians());
        let towards = [el.cos() * az.sin(), el.sin(), el.cos() * az.cos()];
        let mut still: Vec<(Patch, [u8; 3])> = Vec::new();
        let mut ground = None;
        for solid in obstacles {
            let Shape::Plane { point, normal } = *solid else { continue };
            let normal = unit(normal);
            let upwards = normal[1] > 0.9;
            if dot(normal, towards) > if upwards { 0.0 } else { FACING } {
                let colours = if upwards { TILES } else { WALLS };
                still.extend(tiles(point, normal, corners).into_iter().zip(colours));
            }
            ground = ground.or(Some([point, normal]).filter(|_| upwards));
        }
        let corner = |k: usize| [0, 1, 2].map(|axis| corners[k >> axis & 1][axis]);
        Self {
            drawing: Drawing { width, height: width * 3 / 4, samples: 2, camera, ..Drawing::default() },
            view: (0..8).map(corner).collect(),
            still,
            rounds,
            cut: view
                .cut
                .then(|| [[0, 1, 2].map(|k| corners[0][k] + 0.5 * size[k]), [az.sin(), 0.0, az.cos()]]),
            ground,
            lift: LIFT * dot(size, size).sqrt(),
            bodies,
        }
    }

    /// Adds triangles that stay where they are, in the colour of obstacles; each triangle is drawn flat. A view that is cut
    /// leaves out those in front of the vertical plane through its middle.
    pub fn add_still(&mut self, positions: &[[f64; 3]], triangles: &[[u32; 3]]) {
        let near = |triangle: &[[f64; 3]; 3]| {
            self.cut.is_some_and(|[middle, normal]| {
                triangle.iter().map(|corner| dot(sub(*corner, middle), normal)).sum::<f64>() > 0.0
            })
        };
        let drawn = triangles.iter().map(|triangle| triangle.map(|v| positions[v as usize]));
        let corners = drawn.filter(|triangle| !near(triangle)).flatten().collect::<Vec<_>>();
        let own = (0..corners.len() as u32 / 3).map(|t| [3 * t, 3 * t + 1, 3 * t + 2]).collect();
        self.still.push((Patch { positions: corners, triangles: own }, OBSTACLE));
    }

    /// The width and height of all pictures.
    pub fn size(&self) -> (usize, usize) {
        (self.drawing.width, self.drawing.height)
    }

    /// The picture of balls and of solids that move, with a line of text. A ball has a shadow on the ground.
    ///
    /// # Errors
    /// [`PictureError`] for positions that are not finite and other numbers of radii or colours than of balls.
    pub fn balls(
        &self,
        moving: &[Painted<'_>],
        balls: Balls<'_>,
        caption: &str,
    ) -> Result<Picture, PictureError> {
        let still = self.still.iter().map(|(patch, colour)| patch.solid(*colour));
        let mut shadow = Patch::default();
        if let Some([point, normal]) = self.ground {
            // Where light comes in at a slant, the shadow of a ball is as much longer.
            let lamp = self.drawing.camera.lamp();
            let slant = dot(lamp, normal);
            let along = [0, 1, 2].map(|k| lamp[k] / slant - normal[k]);
            let [s, t] = [unit(along), cross(normal, unit(along))];
            for (centre, radius) in balls.centres.iter().zip(balls.radii) {
                let at = self.dropped(*centre, point, normal);
                let corner =
                    |a: f64, b: f64| [0, 1, 2].map(|k| at[k] + radius * (a / slant * s[k] + b * t[k]));
                shadow.quad([corner(-1.0, -1.0), corner(1.0, -1.0), corner(1.0, 1.0), corner(-1.0, 1.0)]);
            }
        }
        let shades: Vec<Patch> =
            moving.iter().filter_map(|solid| self.shade(solid.positions, solid.triangles)).collect();
        let shadows = shades.iter().chain([&shadow]).map(|patch| patch.solid(SHADOW));
        let solids: Vec<Painted<'_>> = still.chain(moving.iter().copied()).chain(shadows).collect();
        let mut picture = self.drawing.solids_and_balls(&self.view, &solids, balls)?;
        self.drawing.caption(&mut picture, caption);
        Ok(picture)
    }

    /// The picture of positions x, with a line of text.
    ///
    /// # Errors
    /// [`PictureError`] for positions that are not finite.
    pub fn frame(&self, x: &[f64], caption: &str) -> Result<Picture, PictureError> {
        self.draw(x, &self.rounds, caption)
    }

    /// The shadow of triangles on the ground, if there is one.
    fn shade(&self, positions: &[[f64; 3]], triangles: &[[u32; 3]]) -> Option<Patch> {
        let [point, normal] = self.ground?;
        let positions = positions.iter().map(|p| self.dropped(*p, point, normal)).collect();
        Some(Patch { positions, triangles: triangles.to_vec() })
    }

    /// Where the shadow of a point falls on the ground, a little above it: along the light.
    fn dropped(&self, p: [f64; 3], point: [f64; 3], normal: [f64; 3]) -> [f64; 3] {
        let (lamp, height) = (self.drawing.camera.lamp(), dot(sub(p, point), normal) - self.lift);
        let distance = height.max(0.0) / dot(lamp, normal);
        [0, 1, 2].map(|k| p[k] - distance * lamp[k])
    }

    fn draw(&self, x: &[f64], rounds: &[Patch], caption: &str) -> Result<Picture, PictureError> {
        let positions: &[[f64; 3]] = x.as_chunks().0;
        let shades = rounds.iter().filter_map(|patch| self.shade(&patch.positions, &patch.triangles));
        let shades: Vec<Patch> = shades
            .chain(self.bodies.iter().filter_map(|triangles| self.shade(positions, triangles)))
            .collect();
        let mut solids: Vec<Painted<'_>> = Vec::new();
        solids.extend(self.still.iter().map(|(patch, colour)| patch.solid(*colour)));
        solids.extend(rounds.iter().map(|patch| patch.solid(OBSTACLE)));
        solids.extend(shades.iter().map(|patch| patch.solid(SHADOW)));
        for (body, triangles) in self.bodies.iter().enumerate() {
            solids.push(Painted { positions, triangles, colour: BODIES[body % BODIES.len()] });
        }
        let mut picture = self.drawing.solids(&self.view, &solids)?;
        self.drawing.caption(&mut picture, caption);
        Ok(picture)
    }

    /// Writes the picture of a frame into a folder.
    ///
    /// # Errors
    /// [`PictureError`] for positions that are not finite and files that cannot be written.
    pub fn write(&self, folder: &Path, frame: usize, x: &[f64], caption: &str) -> Result<(), PictureError> {
        self.frame(x, caption)?.write_png(folder.join(name(frame, "png")))
    }

    /// As [`write`](Self::write), with balls and capsules at other places.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn write_moved(
        &self,
        folder: &Path,
        frame: usize,
        x: &[f64],
        obstacles: &[Shape],
        caption: &str,
    ) -> Result<(), PictureError> {
        let rounds: Vec<Patch> = obstacles.iter().filter_map(Patch::of).collect();
        self.draw(x, &rounds, caption)?.write_png(folder.join(name(frame, "png")))
    }
}
