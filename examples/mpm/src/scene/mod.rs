//! Scenes as data: bodies, colliders, emitters, a view, in TOML files. Lengths are in m, y points upwards, angles are in
//! degrees.
//!
//! ```toml
//! gravity = [0.0, -9.8, 0.0]
//! dx = 0.02
//! frames = 48
//!
//! [[body]]
//! shape = { sphere = { centre = [0.0, 0.6, 0.0], radius = 0.2 } }
//! of = { material = "tissue", young = 5e4 }
//! velocity = [0.0, -1.0, 0.0]
//!
//! [[body]]
//! mesh = { file = "armadillo.obj", size = 0.5 }
//! shift = [1.0, 0.4, 0.0]
//! of = { density = 1000.0, young = 1e5, poisson = 0.4 }
//!
//! [[collider]]
//! shape = { plane = { point = [0.0, 0.0, 0.0], normal = [0.0, 1.0, 0.0] } }
//! kind = "separating"
//!
//! [[collider]]
//! shape = { capsule = { from = [-0.4, 0.2, 0.0], to = [0.4, 0.2, 0.0], radius = 0.03 } }
//! kind = "slip"
//! friction = 0.3
//! axis = [0.0, 1.0, 0.0]
//! motion = [{ until = 1.0, rate = 90.0 }]
//!
//! [[collider]]
//! mesh = { file = "hill.obj" }
//! ```
//!
//! The built-in scenes are files of this kind: `scenes/*.toml`. Their shapes, motions, numbers of frames and largest steps
//! are those of the authors' repository (penn-graphics-research/HOT), where it has them as numbers. Meshes of theirs that
//! are no simple shape are replaced, and each scene says by what.

mod check;

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use coarsen_core::SplitMix64;
use examples_common::closed::MeshFile;
use examples_common::fields;
use examples_common::stage::View;
use serde::Deserialize;

use crate::collider::Collider;
use crate::fault::SceneError;
use crate::material::Material;
use crate::shape::Shape;

/// The built-in scenes: Wang et al. 2020, Table 2, Fig. 2, 18 and 20.
const BUILT_IN: [(&str, &str); 12] = [
    ("twist", include_str!("../../scenes/twist.toml")),
    ("boxes", include_str!("../../scenes/boxes.toml")),
    ("donut", include_str!("../../scenes/donut.toml")),
    ("chain", include_str!("../../scenes/chain.toml")),
    ("boards", include_str!("../../scenes/boards.toml")),
    ("faceless", include_str!("../../scenes/faceless.toml")),
    ("sauce", include_str!("../../scenes/sauce.toml")),
    ("armacat", include_str!("../../scenes/armacat.toml")),
    ("wheel", include_str!("../../scenes/wheel.toml")),
    ("sheets", include_str!("../../scenes/sheets.toml")),
    ("stretched", include_str!("../../scenes/stretched.toml")),
    ("bar", include_str!("../../scenes/bar.toml")),
];

/// A scene by name.
#[derive(Clone, Debug)]
pub enum SceneChoice {
    /// A built-in scene: its name and its text.
    BuiltIn(&'static str, &'static str),
    /// A scene file.
    File(PathBuf),
}

impl FromStr for SceneChoice {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        let found = BUILT_IN.into_iter().find(|(name, _)| *name == text);
        Ok(found.map_or_else(|| Self::File(text.into()), |(name, toml)| Self::BuiltIn(name, toml)))
    }
}

impl SceneChoice {
    /// Refuses options that have no effect on this scene, of `--stiff`, `--seed` and `--data`; `given` says which of
    /// them are given.
    ///
    /// # Errors
    /// [`SceneError::Option`].
    pub fn check_options(&self, given: [bool; 3]) -> Result<(), SceneError> {
        let name = if let Self::BuiltIn(name, _) = self { *name } else { "" };
        let all = [("--stiff", "armacat and bar"), ("--seed", "stretched"), ("--data", "armacat")];
        let is_unused =
            |((_, scenes), given): &((_, &str), bool)| *given && !scenes.split(" and ").any(|of| of == name);
        match all.into_iter().zip(given).find(is_unused) {
            Some(((option, scenes), _)) => Err(SceneError::Option { option, scenes }),
            None => Ok(()),
        }
    }

    /// Returns the scene. `stiff` is the modulus of the cat of `armacat` and of the middle of `bar`, `seed` that
    /// of the stretches of `stretched`, `data` the folder of the meshes of `armacat`. Meshes of a file are searched in its
    /// folder.
    ///
    /// # Errors
    /// [`SceneError`]; the text of a file that is no scene is named by its line and key.
    pub fn setting(&self, stiff: Option<f64>, seed: u64, data: Option<&Path>) -> Result<Setting, SceneError> {
        let (name, text, file) = match self {
            Self::BuiltIn(name, text) => (*name, (*text).to_owned(), Path::new(name)),
            Self::File(file) => {
                let fail = |error: std::io::Error| SceneError::Read { file: file.into(), kind: error.kind() };
                ("", std::fs::read_to_string(file).map_err(fail)?, file.as_path())
            }
        };
        let parsed = toml::from_str(&text);
        let mut setting: Setting = parsed.map_err(|what| SceneError::Format { file: file.into(), what })?;
        match name {
            "armacat" => setting.body[0].of.young = stiff.or(setting.body[0].of.young),
            "bar" => setting.body[1].of.young = stiff.or(setting.body[1].of.young),
            "stretched" => {
                let mut random = SplitMix64::new(seed);
                setting.body[0].stretch = Some([0; 3].map(|_| 1.0 + 0.3 * random.number()));
            }
            _ => {}
        }
        let folder = if let Self::BuiltIn(..) = self { data } else { file.parent() };
        let bodies = setting.body.iter_mut().filter_map(|body| body.mesh.as_mut());
        for mesh in bodies.chain(setting.collider.iter_mut().filter_map(|collider| collider.mesh.as_mut())) {
            let folder = folder.ok_or(SceneError::Data { scene: name })?;
            mesh.file = folder.join(&mesh.file);
        }
        setting.check()?;
        Ok(setting)
    }
}

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
    pub of: Material,
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
    pub of: Material,
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
