//! Scenes as data: bodies, colliders, emitters, a view. A [`Setting`] describes a scene, both for built-in
//! scenes and for scene files.
//!
//! | file | what |
//! |---|---|
//! | `setting` | the data |
//! | `twist`, `boxes`, `donut`, `chain`, `boards`, `faceless`, `sauce`, `armacat`, `wheel` | scenes of Wang et al. 2020, Table 2 |
//! | `sheets`, `stretched`, `bar` | its Fig. 2, 18 and 20 |
//! | `file` | scenes from TOML files |
//! | `check` | checks of numbers |
//!
//! The shapes, motions, numbers of frames and largest steps of the scenes are those of the authors' repository
//! (penn-graphics-research/HOT), where it has them as numbers. Meshes of theirs that are no simple shape are
//! replaced, and each scene says by what.

mod armacat;
mod bar;
mod boards;
mod boxes;
mod chain;
mod check;
mod donut;
mod faceless;
mod file;
mod sauce;
mod setting;
mod sheets;
mod stretched;
mod twist;
mod wheel;

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::fault::SceneError;
pub use setting::{Body, Emitter, SHORTEST, Setting, Stuff};

/// A scene by name.
#[derive(Clone, Debug)]
pub enum SceneChoice {
    /// Four pillars with stiff balls, twisted until they break.
    Twist,
    /// A metal box between two elastic ones.
    Boxes,
    /// An elastic ring between two metal bars, and two balls.
    Donut,
    /// Soft and stiff rings.
    Chain,
    /// Granular flow on boards.
    Boards,
    /// A head is turned and released.
    Faceless,
    /// Sauce flows on a hill.
    Sauce,
    /// A ball and an armadillo on a trampoline.
    Armacat,
    /// A wheel of metal is crushed.
    Wheel,
    /// Four balls on sheets of metal and of softer material.
    Sheets,
    /// A box that is stretched at the start.
    Stretched,
    /// A bar with a stiff middle is twisted.
    Bar,
    /// A scene file.
    File(PathBuf),
}

impl FromStr for SceneChoice {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(match text {
            "twist" => Self::Twist,
            "boxes" => Self::Boxes,
            "donut" => Self::Donut,
            "chain" => Self::Chain,
            "boards" => Self::Boards,
            "faceless" => Self::Faceless,
            "sauce" => Self::Sauce,
            "armacat" => Self::Armacat,
            "wheel" => Self::Wheel,
            "sheets" => Self::Sheets,
            "stretched" => Self::Stretched,
            "bar" => Self::Bar,
            file => Self::File(file.into()),
        })
    }
}

impl SceneChoice {
    /// Refuses options that have no effect on this scene, of `--stiff`, `--seed` and `--data`; `given` says which of
    /// them are given.
    ///
    /// # Errors
    /// [`SceneError::Option`].
    pub fn check_options(&self, given: [bool; 3]) -> Result<(), SceneError> {
        let used = [
            (matches!(self, Self::Armacat | Self::Bar), "--stiff", "armacat and bar"),
            (matches!(self, Self::Stretched), "--seed", "stretched"),
            (matches!(self, Self::Armacat), "--data", "armacat"),
        ];
        match used.into_iter().zip(given).find(|((used, ..), given)| *given && !used) {
            Some(((_, option, scenes), _)) => Err(SceneError::Option { option, scenes }),
            None => Ok(()),
        }
    }

    /// Returns the scene. `stiff` is the modulus of the cat of `armacat` and of the middle of `bar`, `seed` that
    /// of `stretched`, `data` a folder of meshes.
    ///
    /// # Errors
    /// Those of a scene file, and [`SceneError::Data`].
    pub fn setting(&self, stiff: Option<f64>, seed: u64, data: Option<&Path>) -> Result<Setting, SceneError> {
        let setting = match self {
            Self::Twist => twist::setting(),
            Self::Boxes => boxes::setting(),
            Self::Donut => donut::setting(),
            Self::Chain => chain::setting(),
            Self::Boards => boards::setting(),
            Self::Faceless => faceless::setting(),
            Self::Sauce => sauce::setting(),
            Self::Armacat => armacat::setting(stiff, data)?,
            Self::Wheel => wheel::setting(),
            Self::Sheets => sheets::setting(),
            Self::Stretched => stretched::setting(seed),
            Self::Bar => bar::setting(stiff),
            Self::File(file) => file::read(file)?,
        };
        setting.check()?;
        Ok(setting)
    }
}
