//! Scenes from TOML files.
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

use std::path::Path;

use super::setting::Setting;
use crate::fault::SceneError;

/// Reads a scene file. Meshes are searched in the folder of the file.
///
/// # Errors
/// [`SceneError::Read`] and [`SceneError::Format`], which names the line and the key.
pub(super) fn read(file: &Path) -> Result<Setting, SceneError> {
    let fail = |error: std::io::Error| SceneError::Read { file: file.into(), kind: error.kind() };
    let text = std::fs::read_to_string(file).map_err(fail)?;
    let parsed = toml::from_str(&text);
    let mut setting: Setting = parsed.map_err(|what| SceneError::Format { file: file.into(), what })?;
    let bodies = setting.body.iter_mut().filter_map(|body| body.mesh.as_mut());
    for mesh in bodies.chain(setting.collider.iter_mut().filter_map(|collider| collider.mesh.as_mut())) {
        mesh.file = file.parent().unwrap_or(Path::new(".")).join(&mesh.file);
    }
    Ok(setting)
}
