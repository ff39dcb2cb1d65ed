//! Scenes from TOML files.
//!
//! ```toml
//! gravity = [0.0, -9.81, 0.0]
//!
//! [[body]]
//! mesh = "bar:4"
//! material = "neo-hookean"
//! young = 1e5
//! centre = [0.0, 1.0, 0.0]
//! rotate = [0.0, 0.0, 30.0]
//!
//! [[attachment]]
//! body = 0
//! nodes = { top = 0.02 } # or { box = [[..], [..]] }, { nearest = [..] }, { list = [..] }
//! until = 60
//!
//! [[obstacle]]
//! plane = { point = [0.0, 0.0, 0.0], normal = [0.0, 1.0, 0.0] }
//!
//! [[obstacle]]
//! sphere = { centre = [0.0, 0.3, 0.0], radius = 0.3 }
//!
//! [view]
//! corners = [[-1.0, 0.0, -1.0], [1.0, 1.5, 1.0]]
//! ```

use std::path::Path;

use super::error::SceneError;
use super::setting::Setting;

/// Reads a scene file.
///
/// # Errors
/// [`SceneError::Read`] and [`SceneError::Format`], which names the line and the key.
pub(crate) fn read(file: &Path) -> Result<Setting, SceneError> {
    let fail = |error: std::io::Error| SceneError::Read { file: file.into(), kind: error.kind() };
    let text = std::fs::read_to_string(file).map_err(fail)?;
    toml::from_str(&text).map_err(|what| SceneError::Format { file: file.into(), what })
}
