//! The smallest distance of a surface from itself.

use coarsen_core::parallel;

use super::broad_phase::BroadPhase;
use super::distance::gap;
use super::topology::Topology;
use crate::error::positive;
use crate::{Aabb, ContactError, Pair};

/// Returns the smallest distance in m of a vertex and a triangle, or of two edges, without a common node, and the
/// first pair at this distance; `None` if no pair is nearer than `most`.
///
/// *Use* it to choose a thickness: [`ClothContact`](crate::ClothContact) has no energy at `positions` if its
/// thickness is not larger. In a flat part the smallest distance is the smallest height of a triangle. *Cost*: two
/// hashes, and a distance for each pair of boxes that are nearer than `most`, in parallel.
///
/// # Errors
/// [`ContactError`] for corners that do not exist, triangles without area or with the same corners, positions that are
/// not finite, and a `most` that is not positive.
///
/// ```
/// let x = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.2], [1.0, 0.0, 0.2], [0.0, 1.0, 0.3]];
/// let nearest = coarsen_contact::clearance(&[[0, 1, 2], [3, 4, 5]], &x, 0.5)?;
/// assert!(nearest.is_some_and(|(distance, _)| (distance - 0.2).abs() < 1e-12));
/// # Ok::<(), coarsen_contact::ContactError>(())
/// ```
pub fn clearance(
    triangles: &[[u32; 3]],
    positions: &[[f64; 3]],
    most: f64,
) -> Result<Option<(f64, Pair)>, ContactError> {
    let most = positive("the largest distance", most)?;
    if let Some(node) = parallel::position(positions, |x| x.iter().any(|x| !x.is_finite())) {
        return Err(ContactError::Position { node });
    }
    let parts = Topology::new(triangles, &vec![false; positions.len()], positions)?;
    let distance = |pair: &Pair| gap(pair, &pair.nodes().map(|v| positions[v as usize])).distance;
    let mut near = Vec::new();
    BroadPhase::default().find(
        &parts,
        |node| Aabb::of([positions[node as usize]]).grown(0.5 * most),
        |pair| distance(pair) < most,
        &mut near,
    )?;
    let distances = near.iter().map(|pair| (distance(pair), *pair));
    Ok(distances.min_by(|(a, _), (b, _)| a.total_cmp(b)))
}
