//! Errors of scenes.

use coarsen::AnyError;
use coarsen::elastic::BodyError;
use coarsen_contact::{ContactError, Pair};

use crate::meshes::{MeshChoice, MeshFault};

/// A scene that cannot be read or is not valid.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SceneError {
    /// A file that cannot be read, or a key with a fault.
    #[error(transparent)]
    Scene(#[from] examples_scene::SceneError),
    /// An attachment of a node that does not exist.
    #[error(
        "attachment {index} (from 0) refers to node {found}, but there are only {count}, numbered from 0"
    )]
    Missing { index: usize, found: usize, count: usize },
    /// An attachment without nodes.
    #[error(
        "attachment {index} (from 0) holds no nodes; its box or list is empty, in coordinates of the scene"
    )]
    Nothing { index: usize },
    /// A node in two attachments at a time.
    #[error(
        "attachments {first} and {second} (from 0) both hold node {node} of body {body} in frame {frame}; a node \
         can have one attachment at a time: change nodes, from or until"
    )]
    Twice { first: usize, second: usize, body: usize, node: usize, frame: usize },
    /// A material of solids for a mesh of triangles.
    #[error(
        "body {index} (from 0): the mesh {mesh} has no tetrahedra, which its material needs; use mass-spring"
    )]
    Surface { index: usize, mesh: MeshChoice },
    /// A mesh that cannot be simulated.
    #[error(transparent)]
    Mesh(#[from] MeshFault),
    /// A body whose elements or moduli are not valid.
    #[error("body {index} (from 0): {source}")]
    Body { index: usize, source: BodyError },
    /// An obstacle that is not valid.
    #[error("obstacle {index} (from 0): {source}")]
    Obstacle { index: usize, source: ContactError },
    /// A sheet in a scene with contact between bodies by penalties.
    #[error(
        "body {index} (from 0) is a sheet, which penalties keep from no body; use --contact barrier, or set contact.bodies = \
         false to let bodies pass through each other"
    )]
    NoContact { index: usize },
    /// A body whose parts have no distance at rest.
    #[error(
        "body {index} (from 0) touches itself at rest: {pair} are {distance:.1e} m apart, so that barriers have no room; \
         merge nodes at the same place (--weld), move the parts apart, or set contact.bodies = false"
    )]
    Touches { index: usize, pair: Pair, distance: f64 },
    /// A node inside an obstacle.
    #[error(
        "at the start, node {node} of body {body} (from 0) is {depth:.3e} m inside obstacle {obstacle}; move one of \
         them, or use --contact penalty"
    )]
    Inside { body: usize, node: usize, depth: f64, obstacle: usize },
    /// An edge inside an obstacle.
    #[error(
        "at the start, an edge at node {node} of body {body} (from 0) is inside obstacle {obstacle}; move one of them, or use \
         --contact penalty"
    )]
    Dips { body: usize, node: usize, obstacle: usize },
    /// Bodies that intersect.
    #[error(
        "at the start, bodies {first} and {second} (from 0) intersect: node {node} of body {first} is on an edge that \
         crosses the surface, or inside body {second}; move them apart, or use --contact penalty"
    )]
    Intersect { first: usize, second: usize, node: usize },
    /// Bodies that cannot touch each other.
    #[error(transparent)]
    Contact(#[from] ContactError),
    /// Potentials that cannot be added.
    #[error(transparent)]
    Sum(#[from] BodyError),
    /// A pattern that cannot be made.
    #[error(transparent)]
    Any(#[from] AnyError),
}
