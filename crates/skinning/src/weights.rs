//! The weights of the control points at the nodes (§4.2).
//!
//! | symbol | here |
//! |---|---|
//! | ω_ij | the weight of control point j at node i; Σ_j ω_ij = 1, or 0 for a node without edges |
//! | ℓ_ij | the length of the edge between nodes i and j |
//! | L | the graph Laplacian: −1/ℓ_ij for an edge, and row sums of 0 |

use coarsen_backend::SetupError;
use coarsen_core::Cancel;
use coarsen_direct::Direct;
use coarsen_sparse::{Pattern, assembly};

use super::control_points::{ControlPoints, Lengths};

/// The weights with which control points move nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Weights {
    /// The weight is 1 for the nearest control point and 0 for all other control points. Coarse matrices stay sparse,
    /// and an update multiplies each block of A once.
    #[default]
    Constant,
    /// Harmonic weights: ω is 1 at its control point, 0 at all other control points, and L ω = 0 at all other nodes.
    /// *Use* to compare: fewer cycles are needed, but coarse matrices are several times denser, and the setup factors L
    /// and solves for each control point. *Deviation*: the paper uses bounded biharmonic weights, which need a
    /// quadratic program for each control point. Harmonic weights also lie between 0 and 1, with a sum of 1. On a
    /// straight rope they are linear, so one motion of all its control points moves no node, and the coarse matrix is
    /// singular but consistent: use constant weights for ropes.
    Harmonic,
}

/// Weights below this value are dropped. The other weights of the node are then scaled to add up to 1.
const NEGLIGIBLE: f64 = 1e-3;

/// Returns ω between nodes (rows) and the control points of the first level (columns).
pub(super) fn weights(
    kind: Weights,
    graph: &Lengths<'_>,
    control_points: &ControlPoints,
    cancel: Option<&Cancel>,
) -> Result<(Pattern, Vec<f64>), SetupError> {
    let (nodes, count) = (graph.pattern.rows(), control_points.count(0));
    match kind {
        Weights::Constant => {
            let pattern = Pattern::new(count, (0..=nodes).collect(), control_points.controls[0].clone())?;
            let held =
                |(i, &j): (usize, &u32)| control_points.order[j as usize] as usize == i || !graph.alone(i);
            let weights =
                control_points.controls[0].iter().enumerate().map(|of| f64::from(u8::from(held(of))));
            Ok((pattern, weights.collect()))
        }
        Weights::Harmonic => {
            let rows = harmonic(graph, &control_points.order[..count], cancel)?;
            let mut offsets = vec![0];
            offsets.extend(rows.iter().scan(0, |sum, row| {
                *sum += row.len();
                Some(*sum)
            }));
            let columns = rows.iter().flatten().map(|&(j, _)| j).collect();
            let values = rows.iter().flatten().map(|&(_, w)| w).collect();
            Ok((Pattern::new(count, offsets, columns)?, values))
        }
    }
}

/// Returns, for each node, the control points with a nonzero weight, and these weights.
fn harmonic(
    graph: &Lengths<'_>,
    control_points: &[u32],
    cancel: Option<&Cancel>,
) -> Result<Vec<Vec<(u32, f64)>>, SetupError> {
    let nodes = graph.pattern.rows();
    let mut control_point_of = vec![u32::MAX; nodes];
    control_points.iter().enumerate().for_each(|(j, &i)| control_point_of[i as usize] = j as u32);
    let mut free_of = vec![u32::MAX; nodes];
    let free: Vec<usize> =
        (0..nodes).filter(|&i| control_point_of[i] == u32::MAX && !graph.alone(i)).collect();
    free.iter().enumerate().for_each(|(f, &i)| free_of[i] = f as u32);
    let mut rows: Vec<Vec<(u32, f64)>> =
        control_point_of.iter().map(|&j| if j == u32::MAX { Vec::new() } else { vec![(j, 1.0)] }).collect();
    let all = (0..nodes).flat_map(|i| graph.pattern.range(i).map(move |at| graph.length(i, at)));
    let shortest = all.filter(|&l| l > 0.0).fold(f64::INFINITY, f64::min);
    let mut laplacian = Vec::new();
    let mut pulls = vec![Vec::new(); control_points.len()]; // columns of −L, one per control point
    for (f, &i) in free.iter().enumerate() {
        let mut sum = 0.0;
        for at in graph.pattern.range(i) {
            let j = graph.pattern.indices()[at] as usize;
            let stiffness = shortest / graph.length(i, at).max(1e-3 * shortest); // nodes may coincide
            if j == i || stiffness == 0.0 {
                continue;
            }
            sum += stiffness;
            match control_point_of[j] {
                u32::MAX => laplacian.push((f as u32, free_of[j], -stiffness)),
                control_point => pulls[control_point as usize].push((f, stiffness)),
            }
        }
        laplacian.push((f as u32, f as u32, sum));
    }
    if free.is_empty() {
        return Ok(rows);
    }
    let laplacian = assembly::from_triplets(free.len(), free.len(), &laplacian)?;
    SetupError::unless_cancelled(cancel)?;
    let mut factor = Direct::default().factor(&laplacian)?;
    let (mut b, mut w) = (vec![0.0; free.len()], vec![0.0; free.len()]);
    for (j, pulls) in pulls.iter().enumerate() {
        SetupError::unless_cancelled(cancel)?;
        pulls.iter().for_each(|&(f, stiffness)| b[f] += stiffness);
        factor.solve(&b, &mut w)?;
        pulls.iter().for_each(|&(f, _)| b[f] = 0.0);
        for (&i, &w) in free.iter().zip(&w).filter(|(_, w)| **w > NEGLIGIBLE) {
            rows[i].push((j as u32, w));
        }
    }
    for row in &mut rows {
        let sum: f64 = row.iter().map(|(_, w)| w).sum();
        row.iter_mut().for_each(|(_, w)| *w /= sum);
    }
    Ok(rows)
}
