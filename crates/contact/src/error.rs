//! Errors of boxes, shapes and bodies.

use coarsen_elastic::BodyError;
use coarsen_mesh::Problem;
use coarsen_sparse::SparseError;

use crate::{Crossing, Pair};

/// The reason why a contact energy or a hash cannot be created.
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ContactError {
    /// A box that is empty, infinite or NaN.
    #[error("box {index} is empty or not finite; the positions it was made from may have diverged")]
    Box {
        /// Its number.
        index: usize,
    },
    /// A position that is not finite.
    #[error(
        "node {node} of the mesh has a position that is not finite; it may have diverged: take a smaller time step"
    )]
    Position {
        /// Its number in the mesh.
        node: usize,
    },
    /// A number outside its range.
    #[error("{what} is {found}, but must be {range}")]
    Value {
        /// The number.
        what: &'static str,
        /// The value found.
        found: f64,
        /// The allowed range.
        range: &'static str,
    },
    /// Two triangles with the same corners.
    #[error(
        "triangles {} and {} (from 0) both have the corners {}, {} and {}, so that contact would count twice; remove one of \
         them (Mesh::welded does)", triangles[0], triangles[1], corners[0], corners[1], corners[2]
    )]
    Double {
        /// The numbers of both.
        triangles: [usize; 2],
        /// The corners of the second one.
        corners: [u32; 3],
    },
    /// Edges at a shape that is not convex.
    #[error(
        "contact of edges needs a convex shape, since an edge may touch another one at several points; take the triangles \
         of the solid (ClothContact), or several convex shapes"
    )]
    Concave,
    /// A surface that crosses itself at the start.
    #[error("at the start, {0}; move the parts apart")]
    Intersects(Crossing),
    /// A pair that touches at the start.
    #[error(
        "at the start, {pair} are nearer than {min_distance:.3e} m, a tenth of the thickness; move them apart, or take a \
         smaller thickness"
    )]
    Close {
        /// The pair.
        pair: Pair,
        /// The distance that is kept.
        min_distance: f64,
    },
    /// A pair in the way of held nodes.
    #[error(
        "held nodes cannot move on: {pair} meet at {time:.2} of the step; take smaller steps, or move them slower"
    )]
    Crossed {
        /// The pair.
        pair: Pair,
        /// The time of the impact, from 0 to 1.
        time: f64,
    },
    /// More items than 32-bit numbers can count.
    #[error("{count} {what} are more than {limit}; divide the scene, or take larger cells")]
    TooMany {
        /// The items.
        what: &'static str,
        /// The number of items.
        count: usize,
        /// The limit.
        limit: usize,
    },
    /// Ranks that share a search.
    #[error("the search for pairs over ranks failed: {reason}")]
    Ranks {
        /// The text of the error of the ranks, or of the rank that failed.
        reason: String,
    },
    /// A surface with a hole.
    #[error(
        "the surface is not closed: the edge between vertices {} and {} (from 0) has more triangles on one side than on the \
         other, by {count}; close the hole or turn the triangles there", edge[0], edge[1]
    )]
    Open {
        /// The ends of the edge.
        edge: [u32; 2],
        /// The number of triangles too many.
        count: u32,
    },
    /// A surface whose normals point inwards.
    #[error(
        "the surface encloses the volume {volume:.3e} m³; its triangles must face outwards: swap two corners of each of them"
    )]
    Inverted {
        /// The enclosed volume.
        volume: f64,
    },
    /// A surface whose two sides lie on each other, or that is too small or too large for a volume.
    #[error(
        "the surface is closed, but encloses the volume {volume:.3e} m³ within rounding: it is flat, or its coordinates are too \
         small or too large; give it a thickness, or another size"
    )]
    Flat {
        /// The enclosed volume as it was computed.
        volume: f64,
    },
    /// A mesh that is invalid or has no tetrahedra.
    #[error(transparent)]
    Mesh(#[from] Problem),
    /// A list of held or touching nodes that is invalid.
    #[error(transparent)]
    Body(#[from] BodyError),
    /// The sparsity pattern could not be created.
    #[error(transparent)]
    Sparse(#[from] SparseError),
}

coarsen_core::debug_as_display!(ContactError);

/// The error of a potential whose contacts cannot be detected.
pub(crate) fn undetected(error: ContactError) -> BodyError {
    match error {
        ContactError::Position { node } => BodyError::Position { node },
        ContactError::TooMany { what, count, .. } => {
            BodyError::Value { what, found: count as f64, range: "a number of 32 bits; take larger cells" }
        }
        ContactError::Body(error) => error,
        ContactError::Sparse(error) => BodyError::Sparse(error),
        _ => BodyError::Value { what: "a position", found: f64::NAN, range: "finite" },
    }
}

/// Returns an error for a number that is not positive and finite.
pub(crate) fn positive(what: &'static str, found: f64) -> Result<f64, ContactError> {
    if found.is_finite() && found > 0.0 {
        Ok(found)
    } else {
        Err(ContactError::Value { what, found, range: "positive and finite" })
    }
}

/// Returns an error for a point with a coordinate that is not finite.
pub(crate) fn finite(what: &'static str, point: [f64; 3]) -> Result<[f64; 3], ContactError> {
    match point.iter().find(|x| !x.is_finite()) {
        Some(&found) => Err(ContactError::Value { what, found, range: "finite" }),
        None => Ok(point),
    }
}
