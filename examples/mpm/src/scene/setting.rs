//! The data of a scene. Lengths are in m, y points upwards, angles are in degrees.

use examples_common::closed::MeshFile;
use examples_common::fields;
use examples_common::stage::View;
use serde::Deserialize;

use crate::collider::Collider;
use crate::fault::SceneError;
use crate::material::Material;
use crate::shape::Shape;

/// The shortest time step, in frames: with shorter ones a frame takes forever, or time does not go on.
pub const SHORTEST: f64 = 1e-6;

/// A scene.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Setting {
    /// The acceleration of gravity, m/s².
    pub gravity: [f64; 3],
    /// The spacing of the grid, m.
    pub dx: f64,
    /// The largest time step, s; infinite, the default, for a frame.
    pub dt: f64,
    /// A step moves no particle further than this share of the spacing by its velocity at the start. Colliders that start, and
    /// forces, may move it further: give a smaller `dt` for them.
    pub cfl: f64,
    /// The number of frames in a second.
    pub rate: f64,
    /// The number of frames.
    pub frames: usize,
    /// The bodies. Where two overlap, the material is that of the later one.
    pub body: Vec<Body>,
    /// The colliders.
    pub collider: Vec<Collider>,
    /// The emitters.
    pub emitter: Vec<Emitter>,
    /// The view of the pictures.
    pub view: View,
}

// The number of frames decides no bits of the frames before; the view, no particle. Pictures that are there keep theirs.
fields!(Setting { gravity, dx, dt, cfl, rate, body, collider, emitter } without frames, view);
fields!(Stuff { material, density, young, poisson, yield_stress, granular, per_cell });
fields!(Body { shape, mesh, turn, shift, of, velocity, stretch, scatter });
fields!(Emitter { shape, of, velocity, until, swing, swing_rate });

impl Setting {
    /// The largest time step, s: `given`, or that of the scene.
    ///
    /// # Errors
    /// [`SceneError::Step`] for a step that is longer than a frame, or shorter than [`SHORTEST`].
    pub fn largest_step(&self, given: Option<f64>) -> Result<f64, SceneError> {
        let (found, frame) = (given.unwrap_or(self.dt), 1.0 / self.rate);
        let fits = |frames: f64| (SHORTEST..=1.0 + 1e-12).contains(&frames);
        match found == f64::INFINITY && given.is_none() || fits(found * self.rate) {
            true => Ok(found.min(frame)),
            false => Err(SceneError::Step { found, least: SHORTEST * frame, frame }),
        }
    }
}

impl Default for Setting {
    /// An empty scene with the gravity of the earth and 24 frames per second.
    fn default() -> Self {
        Self {
            gravity: [0.0, -9.8, 0.0],
            dx: 0.02,
            dt: f64::INFINITY,
            cfl: 0.6, // Wang et al. 2020, §7.1
            rate: 24.0,
            frames: 48,
            body: Vec::new(),
            collider: Vec::new(),
            emitter: Vec::new(),
            view: View::default(),
        }
    }
}

/// What a body consists of.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Stuff {
    /// A material of Table 1; the other keys replace its numbers.
    pub material: Option<Material>,
    /// kg/m³.
    pub density: Option<f64>,
    /// Young's modulus, Pa.
    pub young: Option<f64>,
    /// Poisson's ratio.
    pub poisson: Option<f64>,
    /// The yield stress of von Mises, Pa; not beside `granular`.
    pub yield_stress: Option<f64>,
    /// The bounds of the stretches of granular flow.
    pub granular: Option<[f64; 2]>,
    /// The number of particles in a cell, 8 by default.
    pub per_cell: Option<u32>,
}

/// A body.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Body {
    /// Its shape.
    pub shape: Option<Shape>,
    /// Its surface, instead of a shape.
    pub mesh: Option<MeshFile>,
    /// The axis and the angle of a rotation about the centre of the shape, or about the origin of a mesh.
    pub turn: Option<([f64; 3], f64)>,
    /// A displacement after the rotation.
    pub shift: [f64; 3],
    /// What it consists of.
    pub of: Stuff,
    /// The velocity at the start, m/s.
    pub velocity: [f64; 3],
    /// The stretches along the axes at the start: F = diag.
    pub stretch: Option<[f64; 3]>,
    /// The largest random change of each stretch of each particle, and its seed.
    pub scatter: Option<(f64, u64)>,
}

/// A region from which material flows.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Emitter {
    /// The region: a ball or a box, longer than the way of the material in a step.
    pub shape: Shape,
    /// What flows.
    pub of: Stuff,
    /// The velocity of the material, m/s.
    pub velocity: [f64; 3],
    /// When the flow ends, s.
    pub until: f64,
    /// The region moves by amplitude · sin(rate · t) on each axis: the amplitudes in m. An axis has both or none.
    #[serde(default)]
    pub swing: [f64; 3],
    /// The rates, degrees/s.
    #[serde(default)]
    pub swing_rate: [f64; 3],
}

/// Aluminium: Wang et al. 2020, Table 2.
pub(super) const ALUMINIUM: Stuff = Stuff { yield_stress: Some(2.4e8), ..stuff(2.7e3, 6.9e10, 0.33) };

/// An elastic material.
pub(super) const fn stuff(density: f64, young: f64, poisson: f64) -> Stuff {
    Stuff {
        material: None,
        density: Some(density),
        young: Some(young),
        poisson: Some(poisson),
        yield_stress: None,
        granular: None,
        per_cell: None,
    }
}
