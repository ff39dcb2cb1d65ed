//! Closed surfaces of files.

use std::path::{Path, PathBuf};

use coarsen_contact::{ClosedSurface, ContactError};
use coarsen_mesh::{self as mesh, Mesh, ReadError};

/// A mesh that does not enclose a solid.
#[derive(Debug, thiserror::Error)]
pub enum MeshFault {
    /// A file that cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A surface that is open, inverted or flat.
    #[error("{}: {source}", file.display())]
    Surface {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        source: ContactError,
    },
}

/// Reads the triangles of a file, or the surface of its tetrahedra if there are no triangles, and scales the longest side about
/// the origin if a size is given. Whether they are closed is not checked.
///
/// # Errors
/// [`ReadError`] for a file that cannot be read or has no triangles.
pub fn surface(file: &Path, size: Option<f64>) -> Result<Mesh, ReadError> {
    let mesh = mesh::read_triangles(file).or_else(|error| {
        let Ok(solid) = mesh::read_tetrahedra(file) else { return Err(error) };
        let triangles = solid.surface();
        Ok(Mesh { positions: solid.positions, triangles, ..Mesh::default() }.without_unused())
    })?;
    Ok(if let Some(size) = size { mesh.scaled(size) } else { mesh })
}

/// Reads the closed surface of a file as [`surface`].
pub fn read(file: &Path, size: Option<f64>) -> Result<ClosedSurface, MeshFault> {
    closed(surface(file, size)?, file)
}

/// Returns the closed surface of a mesh; `file` is named in errors.
pub fn closed(mesh: Mesh, file: &Path) -> Result<ClosedSurface, MeshFault> {
    ClosedSurface::new(mesh).map_err(|source| MeshFault::Surface { file: file.into(), source })
}
