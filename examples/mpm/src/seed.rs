//! Particles of bodies and emitters.
//!
//! A body is filled with a lattice of points, n for each cell of the grid, each moved at random by up to a
//! quarter of their distance h = Δx / n^(1/3). A particle has the volume h³. The lattice is fixed in space, so
//! the particles of a body do not depend on other bodies.

use std::path::Path;

use coarsen::contact::{Aabb, ClosedSurface, ContactError};
use coarsen::elastic::Lame;
use coarsen_core::SplitMix64;
use examples_scene::closed::{self, MeshFault};

use crate::fault::SceneError;
use crate::material::{Material, numbers};
use crate::particles::{Body, IDENTITY, Particle};
use crate::scene::{Emitter, Setting};
use crate::shape::{Pose, Shape, Solid};

/// How far a point is moved, in units of the distance of points.
const JITTER: f64 = 0.25;

/// The number of particles in a cell.
const PER_CELL: u32 = 8;

/// The largest number of points of all bodies and emitters that are tested: a mistyped spacing does not use all memory. Their
/// particles would take 13 GB.
const MOST: f64 = 67_108_864.0; // 2²⁶

/// The region of a body.
enum Region {
    Shape(Shape, Solid),
    Closed(Box<ClosedSurface>),
}

/// The bodies of a scene, ready to be filled.
pub struct Seeds<'a> {
    setting: &'a Setting,
    regions: Vec<(Region, Pose)>,
}

/// The distance of the particles of a body.
fn spacing(of: &Material, dx: f64) -> f64 {
    dx / f64::from(of.per_cell.unwrap_or(PER_CELL)).cbrt()
}

/// The mass, volume and material of the particles of a body.
fn body(of: &Material, dx: f64) -> Body {
    let (density, young, poisson, plasticity) = numbers(of);
    let volume = spacing(of, dx).powi(3);
    Body { mass: density * volume, volume, lame: Lame::new(young, poisson), plasticity }
}

/// The point of a lattice with these coordinates.
fn point(seed: usize, cell: [i64; 3], h: f64) -> [f64; 3] {
    let hash = cell.iter().fold(seed as u64, |hash, &c| SplitMix64::new(hash ^ c as u64).bits());
    let mut random = SplitMix64::new(hash);
    std::array::from_fn(|k| h * (cell[k] as f64 + 0.5 + JITTER * random.number()))
}

/// About the number of points of a lattice in a box.
fn points_in([low, high]: [[f64; 3]; 2], h: f64) -> f64 {
    (0..3).map(|k| (high[k] - low[k]) / h + 2.0).product()
}

/// Calls `f` with all points of a lattice in a box.
fn each_point(seed: usize, [low, high]: [[f64; 3]; 2], h: f64, f: &mut dyn FnMut([f64; 3])) {
    let ends: [[i64; 2]; 3] =
        std::array::from_fn(|k| [(low[k] / h).floor() as i64, (high[k] / h).ceil() as i64]);
    let ends = ends.map(|[low, high]| [low.saturating_sub(1), high.saturating_add(1)]);
    for z in ends[2][0]..ends[2][1] {
        for y in ends[1][0]..ends[1][1] {
            (ends[0][0]..ends[0][1]).for_each(|x| f(point(seed, [x, y, z], h)));
        }
    }
}

impl<'a> Seeds<'a> {
    /// Reads the meshes of a scene.
    ///
    /// # Errors
    /// [`SceneError::Mesh`], [`SceneError::Shape`], and [`SceneError::Scene`] without shape and mesh.
    pub fn new(setting: &'a Setting) -> Result<Self, SceneError> {
        let mut regions = Vec::with_capacity(setting.body.len());
        for (index, body) in setting.body.iter().enumerate() {
            let table = "body";
            let fail = |source: MeshFault| SceneError::Mesh { table, index, source };
            let shaped = |source: ContactError| SceneError::Shape { table, index, source };
            let region = match (&body.shape, &body.mesh) {
                (Some(shape), _) => Region::Shape(*shape, shape.solid().map_err(shaped)?),
                (None, Some(file)) => {
                    Region::Closed(Box::new(closed::read(Path::new(file), body.size).map_err(fail)?))
                }
                (None, None) => return Err(setting.outline(table, index)),
            };
            let about = if let Region::Shape(shape, _) = &region { shape.centre() } else { [0.0; 3] };
            let (axis, angle) = body.turn.unwrap_or(([0.0, 1.0, 0.0], 0.0));
            regions.push((region, Pose::new(axis, angle.to_radians(), about, body.shift)));
        }
        Ok(Self { setting, regions })
    }

    /// Whether a point is in a body.
    fn contains(&self, index: usize, x: [f64; 3]) -> bool {
        let (region, pose) = &self.regions[index];
        let own = pose.invert(x);
        match region {
            Region::Shape(_, solid) => solid.distance(own) < 0.0,
            Region::Closed(surface) => surface.winding(own) > 0,
        }
    }

    /// A box that contains a body.
    fn bounds(&self, index: usize) -> [[f64; 3]; 2] {
        let (region, pose) = &self.regions[index];
        let [low, high] = match region {
            Region::Shape(shape, _) => shape.bounds().unwrap_or_default(),
            Region::Closed(surface) => surface.mesh().bounds(),
        };
        let corner = |c: usize| pose.apply(std::array::from_fn(|k| [low[k], high[k]][c >> k & 1]));
        let Aabb { low, high } = Aabb::of((0..8).map(corner));
        [low, high]
    }

    /// Calls `f` with the points of a body at which no later body is.
    fn points(&self, index: usize, dx: f64, f: &mut dyn FnMut([f64; 3])) {
        let h = spacing(&self.setting.body[index].material, dx);
        each_point(index, self.bounds(index), h, &mut |x| {
            let later = || (index + 1..self.regions.len()).any(|other| self.contains(other, x));
            if self.contains(index, x) && !later() {
                f(x);
            }
        });
    }

    /// Refuses a spacing of the grid at which bodies and emitters have more than 2²⁶ points in a number of frames.
    ///
    /// # Errors
    /// [`SceneError::Scene`].
    pub fn check(&self, dx: f64, frames: usize) -> Result<(), SceneError> {
        let mut all = 0.0;
        let mut few = |table: &'static str, index: usize, points: f64, spacing: f64| {
            all += points;
            if all <= MOST {
                return Ok(());
            }
            let why = format!(
                "brings the scene to about {all:.1e} points, of which {points:.1e} are its own at a distance of \
                 {spacing:.3e} m, but at most {MOST:.1e} are allowed; take a larger --dx or fewer --particles, or check its size"
            );
            Err(SceneError::from(self.setting.source.fault(format!("{table}[{index}].shape"), why)))
        };
        for (index, own) in self.setting.body.iter().enumerate() {
            let h = spacing(&own.material, dx);
            few("body", index, points_in(self.bounds(index), h), h)?;
        }
        for (index, emitter) in self.setting.emitter.iter().enumerate() {
            let h = spacing(&emitter.material, dx);
            let region = emitter.shape.bounds().map_or(0.0, |region| points_in(region, h));
            few("emitter", index, region + self.flow(emitter, frames) / h.powi(3), h)?;
        }
        Ok(())
    }

    /// Refuses a spacing at which an emitter has a smaller cross-section than its particles.
    fn check_section(&self, dx: f64) -> Result<(), SceneError> {
        for (index, emitter) in self.setting.emitter.iter().enumerate() {
            let speed = emitter.velocity.iter().map(|v| v * v).sum::<f64>().sqrt();
            let (spacing, area) =
                (spacing(&emitter.material, dx), shadow(&emitter.shape, emitter.velocity) / speed);
            if speed > 0.0 && area < spacing * spacing {
                let why = format!(
                    "has a cross-section of {area:.1e} m², less than that of a particle at a distance of {spacing:.3e} m: \
                     little or nothing flows; take a smaller --dx or more --particles, or check its shape and velocity"
                );
                return Err(self.setting.source.fault(format!("emitter[{index}].shape"), why).into());
            }
        }
        Ok(())
    }

    /// The volume that an emitter emits in a number of frames.
    fn flow(&self, emitter: &Emitter, frames: usize) -> f64 {
        let time = emitter.until.min(frames as f64 / self.setting.rate);
        shadow(&emitter.shape, emitter.velocity) * time
    }

    /// The spacing of the grid with about this number of particles: of all bodies, and of all emitters over
    /// their time.
    ///
    /// # Errors
    /// [`SceneError::Scene`] for too many particles.
    pub fn spacing_for(&self, particles: usize) -> Result<f64, SceneError> {
        let mut dx = self.setting.dx;
        while dx.is_finite() && self.check(dx, self.setting.frames).is_err() {
            dx *= 2.0; // too many to count at the scene's own spacing
        }
        for _ in 0..4 {
            dx *= (self.count(dx)?.max(1.0) / particles as f64).cbrt();
        }
        Ok(dx)
    }

    /// About the number of particles: of all bodies, and of all emitters over their time.
    ///
    /// # Errors
    /// [`SceneError::Scene`] for too many particles.
    pub fn count(&self, dx: f64) -> Result<f64, SceneError> {
        self.check(dx, self.setting.frames)?;
        let mut count = 0.0;
        (0..self.regions.len()).for_each(|index| self.points(index, dx, &mut |_| count += 1.0));
        for emitter in &self.setting.emitter {
            count += self.flow(emitter, self.setting.frames) / spacing(&emitter.material, dx).powi(3);
        }
        Ok(count)
    }

    /// The particles and the bodies; those of emitters are the last bodies, without particles.
    ///
    /// # Errors
    /// [`SceneError::Scene`] for a body without particles, for too many, and for an emitter that hardly emits any.
    pub fn fill(&self, dx: f64) -> Result<(Vec<Particle>, Vec<Body>), SceneError> {
        self.check(dx, self.setting.frames)?;
        self.check_section(dx)?;
        let mut particles = Vec::new();
        for (index, own) in self.setting.body.iter().enumerate() {
            let before = particles.len();
            let (size, seed) = own.scatter.unwrap_or((0.0, 0));
            let mut random = SplitMix64::new(seed);
            let (v, c, body) = (own.velocity, [[0.0; 3]; 3], index as u32);
            self.points(index, dx, &mut |x| {
                let mut f = IDENTITY;
                (0..3).for_each(|k| f[k][k] = own.stretch.map_or(1.0, |s| s[k]) + size * random.number());
                particles.push(Particle { x, v, c, f, body });
            });
            if particles.len() == before {
                let why = format!(
                    "has zero volume: no particle lies in it at a distance of {:.3e} m; take more --particles, or check it \
                     and the bodies after it",
                    spacing(&own.material, dx)
                );
                return Err(self.setting.source.fault(format!("body[{index}].shape"), why).into());
            }
        }
        Ok((particles, self.bodies(dx)))
    }

    /// The bodies.
    pub fn bodies(&self, dx: f64) -> Vec<Body> {
        let bodies = self.setting.body.iter().map(|own| &own.material);
        bodies
            .chain(self.setting.emitter.iter().map(|emitter| &emitter.material))
            .map(|of| body(of, dx))
            .collect()
    }
}

/// The volume that flows out of a ball or a box in a second.
fn shadow(shape: &Shape, velocity: [f64; 3]) -> f64 {
    let speed = velocity.iter().map(|v| v * v).sum::<f64>().sqrt();
    match *shape {
        Shape::Sphere { radius, .. } => std::f64::consts::PI * radius * radius * speed,
        _ => shape.bounds().map_or(0.0, |[low, high]| {
            let side = |k: usize| high[k] - low[k];
            (0..3).map(|k| velocity[k].abs() * side((k + 1) % 3) * side((k + 2) % 3)).sum()
        }),
    }
}

/// Adds the particles of an emitter that enter its region after `from` and until `to`; at the start `from` is
/// −∞, and the region is filled.
///
/// The lattice moves with the material through the region, and the region with all of it swings. A point that crosses the
/// region within one step is not emitted, so the region must be longer than the displacement of the material in a step.
///
/// # Errors
/// [`ContactError::Value`] for numbers without a shape.
pub fn emit(
    emitter: &Emitter,
    body: usize,
    dx: f64,
    [from, to]: [f64; 2],
    particles: &mut Vec<Particle>,
) -> Result<(), ContactError> {
    let (to, solid) = (to.min(emitter.until), emitter.shape.solid()?);
    let Some([low, high]) = emitter.shape.bounds().filter(|_| to > from) else { return Ok(()) };
    let h = spacing(&emitter.material, dx);
    let ahead = |x: [f64; 3], t: f64| std::array::from_fn(|k| x[k] + t * emitter.velocity[k]);
    let rates = emitter.swing_rate.map(f64::to_radians);
    let (v, c) = (
        std::array::from_fn(|k| emitter.velocity[k] + emitter.swing[k] * rates[k] * (rates[k] * to).cos()),
        [[0.0; 3]; 3],
    );
    each_point(body, [ahead(low, -to), ahead(high, -to)], h, &mut |x| {
        let now = ahead(x, to);
        let inside = |x| solid.distance(x) < 0.0;
        if inside(now) && !(from.is_finite() && inside(ahead(x, from))) {
            let x = std::array::from_fn(|k| now[k] + emitter.swing[k] * (rates[k] * to).sin());
            particles.push(Particle { x, v, c, f: IDENTITY, body: body as u32 });
        }
    });
    Ok(())
}
