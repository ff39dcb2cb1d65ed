//! Scenes: bodies, obstacles, emitters and a view, in TOML files of `examples/scene`. Lengths are in m, y points upwards, angles
//! are in degrees.
//!
//! The built-in scenes are `scenes/*.toml`. Their shapes, motions, numbers of frames and largest steps are those of the authors'
//! repository (penn-graphics-research/HOT), where it has them as numbers. Meshes of theirs that are no simple shape are replaced,
//! and each scene says by what.

use std::path::Path;

use coarsen_core::SplitMix64;
use examples_scene::file::Source;
use examples_scene::{EARTH, Scene, View};

pub use examples_scene::{Body, Emitter};

use crate::collider::Collider;
use crate::fault::SceneError;
use crate::material::{PRESETS, numbers, preset};

/// The built-in scenes: Wang et al. 2020, Table 2, Fig. 2, 18 and 20.
pub const BUILT_IN: [(&str, &str); 12] = [
    ("twist", include_str!("../scenes/twist.toml")),
    ("boxes", include_str!("../scenes/boxes.toml")),
    ("donut", include_str!("../scenes/donut.toml")),
    ("chain", include_str!("../scenes/chain.toml")),
    ("boards", include_str!("../scenes/boards.toml")),
    ("faceless", include_str!("../scenes/faceless.toml")),
    ("sauce", include_str!("../scenes/sauce.toml")),
    ("armacat", include_str!("../scenes/armacat.toml")),
    ("wheel", include_str!("../scenes/wheel.toml")),
    ("sheets", include_str!("../scenes/sheets.toml")),
    ("stretched", include_str!("../scenes/stretched.toml")),
    ("bar", include_str!("../scenes/bar.toml")),
];

/// Refuses options that have no effect on a scene, of `--stiff`, `--seed` and `--data`; `given` says which of them are given.
///
/// # Errors
/// [`SceneError::Option`].
pub fn check_options(name: &str, given: [bool; 3]) -> Result<(), SceneError> {
    let all = [("--stiff", "armacat and bar"), ("--seed", "stretched"), ("--data", "armacat")];
    let is_unused =
        |((_, scenes), given): &((_, &str), bool)| *given && !scenes.split(" and ").any(|of| of == name);
    match all.into_iter().zip(given).find(is_unused) {
        Some(((option, scenes), _)) => Err(SceneError::Option { option, scenes }),
        None => Ok(()),
    }
}

/// The shortest time step, in frames: with shorter ones a frame takes forever, or time does not go on.
pub const SHORTEST: f64 = 1e-6;

/// A scene for the material point method.
#[derive(Clone, Debug)]
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
    /// The colliders: the obstacles of the file.
    pub collider: Vec<Collider>,
    /// The emitters.
    pub emitter: Vec<Emitter>,
    /// The view of the pictures.
    pub view: View,
    /// Where all this stands.
    pub source: Source,
}

impl Setting {
    /// Reads a scene by name, or a file. `stiff` is the modulus of the cat of `armacat` and of the middle of `bar`, `seed` that
    /// of the stretches of `stretched`, `data` the folder of the meshes of `armacat`.
    ///
    /// # Errors
    /// [`SceneError`]; the text of a file that is no scene is named by its line and key.
    pub fn read(name: &str, stiff: Option<f64>, seed: u64, data: Option<&Path>) -> Result<Self, SceneError> {
        Self::new(name, Scene::read(name, &BUILT_IN)?, stiff, seed, data)
    }

    /// The scene of a file with this name; see [`read`](Self::read).
    ///
    /// # Errors
    /// [`SceneError`]
    pub fn new(
        name: &str,
        scene: Scene,
        stiff: Option<f64>,
        seed: u64,
        data: Option<&Path>,
    ) -> Result<Self, SceneError> {
        let Scene { gravity, mut body, obstacle: collider, emitter, view, source, .. } = scene;
        match name {
            "armacat" => body[0].material.young = stiff.or(body[0].material.young),
            "bar" => body[1].material.young = stiff.or(body[1].material.young),
            "stretched" => {
                let mut random = SplitMix64::new(seed);
                body[0].stretch = Some([0; 3].map(|_| 1.0 + 0.3 * random.number()));
            }
            _ => {}
        }
        if BUILT_IN.iter().any(|(known, _)| *known == name) {
            for mesh in body.iter_mut().filter_map(|body| body.mesh.as_mut()) {
                let folder = data.ok_or(SceneError::Data { scene: "armacat" })?;
                *mesh = folder.join(&*mesh).to_string_lossy().into_owned();
            }
        }
        let number = |key: &str, default: f64| -> Result<f64, SceneError> {
            let found = source.value(key, "positive and finite", |v: &f64| *v > 0.0 && v.is_finite())?;
            Ok(found.unwrap_or(default))
        };
        let usual = Self::default();
        let (dx, dt, cfl) =
            (number("grid.dx", usual.dx)?, number("time.dt", usual.dt)?, number("time.cfl", usual.cfl)?);
        let rate = number("time.rate", usual.rate)?;
        let frames = source.value("time.frames", "a whole number", |_| true)?.unwrap_or(usual.frames);
        let setting = Self { gravity, dx, dt, cfl, rate, frames, body, collider, emitter, view, source };
        setting.check()?;
        Ok(setting)
    }

    /// Checks the bodies and the materials, beside what the file was checked for.
    fn check(&self) -> Result<(), SceneError> {
        self.largest_step(None)?;
        if let Some(index) = self.body.iter().position(|body| body.shape.is_none() && body.mesh.is_none()) {
            return Err(self.outline("body", index));
        }
        let bodies = self.body.iter().enumerate().map(|(k, body)| ("body", k, &body.material));
        let emitters = self.emitter.iter().enumerate().map(|(k, emitter)| ("emitter", k, &emitter.material));
        for (table, index, of) in bodies.chain(emitters) {
            let fault = |key: &str, why: String| {
                Err(self.source.fault(format!("{table}[{index}].material{key}"), why).into())
            };
            if let Some(name) = of.name.as_deref().filter(|name| preset(name).is_none()) {
                let all = PRESETS.map(|(name, ..)| name).join(", ");
                return fault("", format!("is `{name}`, but must be one of {all}"));
            }
            let (density, young, poisson, _) = numbers(of);
            for (key, number) in [(".density", density), (".young", young), (".poisson", poisson)] {
                if number.is_nan() {
                    return fault(key, "is missing; give it, or the name of a material".into());
                }
            }
            if poisson < 0.0 {
                return fault(".poisson", format!("is {poisson:?}, but must be 0 or more and below 1/2"));
            }
        }
        Ok(())
    }

    /// The error of a row without an outline.
    pub(crate) fn outline(&self, table: &str, index: usize) -> SceneError {
        let why = "or mesh: give one of the two, and not both";
        self.source.fault(format!("{table}[{index}].shape"), why).into()
    }

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
            gravity: EARTH,
            dx: 0.02,
            dt: f64::INFINITY,
            cfl: 0.6, // Wang et al. 2020, §7.1
            rate: 24.0,
            frames: 48,
            body: Vec::new(),
            collider: Vec::new(),
            emitter: Vec::new(),
            view: View::default(),
            source: Source::default(),
        }
    }
}
