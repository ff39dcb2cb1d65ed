//! Scenes as data: bodies, attachments, obstacles, gravity, a view. A [`Setting`] describes a scene, both for
//! built-in scenes and for scene files.
//!
//! | file | what |
//! |---|---|
//! | `setting` | the data |
//! | `swing`, `pile`, `twist`, `pachinko`, `hang` | the built-in scenes |
//! | `file` | scenes from TOML files |
//! | `check` | checks of numbers |
//! | `world` | nodes, masses and potentials of a scene |
//! | `contact` | the energies of contact |
//! | `error` | errors of scenes |

mod check;
mod contact;
mod error;
mod file;
mod hang;
mod pachinko;
mod pile;
mod setting;
mod swing;
mod twist;
mod world;

use crate::meshes::MeshChoice;
use crate::options::Options;
pub(crate) use error::SceneError;
pub(crate) use setting::{SceneChoice, Setting};
pub(crate) use world::World;

/// Standard gravity.
pub(crate) const EARTH: [f64; 3] = [0.0, -9.81, 0.0];

impl Setting {
    /// Returns the scene of the command line. Every key of every body is set, except the material if it
    /// depends on the mesh.
    ///
    /// # Errors
    /// Errors of a scene file.
    pub(crate) fn of(options: &Options) -> Result<Self, SceneError> {
        let mesh = options.mesh.clone().unwrap_or(match &options.scene {
            SceneChoice::Swing | SceneChoice::Pile | SceneChoice::File(_) => MeshChoice::Bar(4),
            SceneChoice::Twist => MeshChoice::Bar(6),
            SceneChoice::Pachinko => MeshChoice::Bar(3),
            SceneChoice::Hang => MeshChoice::Sheet(41),
        });
        let mut setting = match &options.scene {
            SceneChoice::Swing => swing::setting(&mesh),
            SceneChoice::Pile => pile::setting(),
            SceneChoice::Twist => twist::setting(),
            SceneChoice::Pachinko => pachinko::setting(),
            SceneChoice::Hang => hang::setting(),
            SceneChoice::File(file) => file::read(file)?,
        };
        for body in &mut setting.body {
            body.mesh.get_or_insert_with(|| mesh.clone());
            body.material = body.material.or(options.material);
            body.young.get_or_insert(options.young);
            body.poisson.get_or_insert(options.poisson);
            body.density.get_or_insert(options.density);
        }
        setting.weld |= options.weld;
        setting.gravity.get_or_insert(EARTH);
        setting.check()?;
        Ok(setting)
    }
}
