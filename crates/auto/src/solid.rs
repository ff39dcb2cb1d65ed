//! Whether the nodes of a system fill a volume.

use coarsen_sparse::Bsr;

/// The number of nodes that are looked at.
const SAMPLE: usize = 256;

/// The smallest mean of det S / (tr S / 3)³ of a solid. It is 1 if edges have all directions alike, and 0 if
/// they lie in a plane.
const LEAST: f64 = 0.1;

/// Whether the nodes fill a volume, so that a hierarchy in skinning space is a candidate: for elastic
/// solids, but not for sheets.
///
/// S is the sum of e eᵀ over the edges at a node, which have length 1. *Cost* 256 rows of the pattern. False
/// unless A has blocks of 3 and there is one position per block row.
///
/// ```
/// let (solid, cloth) = (coarsen_problems::elasticity3d(6, 1.0)?, coarsen_problems::cloth(6, 0.01)?);
/// let is_solid = |p: &coarsen_problems::Problem| coarsen_auto::is_solid(&p.matrix, &p.positions);
/// assert_eq!((is_solid(&solid), is_solid(&cloth)), (true, false));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn is_solid(a: &Bsr<f64>, positions: &[[f64; 3]]) -> bool {
    let (pattern, n) = (a.pattern(), a.pattern().rows());
    if a.block() != (3, 3) || n == 0 || positions.len() != n || pattern.columns() != n {
        return false;
    }
    let step = n.div_ceil(SAMPLE);
    let (sum, count) = (0..n).step_by(step).fold((0.0, 0), |(sum, count), i| {
        (sum + spread(positions[i], pattern.row(i).iter().map(|&j| positions[j as usize])), count + 1)
    });
    sum >= LEAST * f64::from(count)
}

/// det S / (tr S / 3)³ for the edges from x to its neighbours; 0 without edges.
fn spread(x: [f64; 3], neighbours: impl Iterator<Item = [f64; 3]>) -> f64 {
    let mut s = [[0.0; 3]; 3];
    for y in neighbours {
        let e: [f64; 3] = std::array::from_fn(|k| y[k] - x[k]);
        let square: f64 = e.iter().map(|e| e * e).sum();
        if square > 0.0 {
            (0..3).for_each(|r| (0..3).for_each(|c| s[r][c] += e[r] * e[c] / square));
        }
    }
    let minor = |a: usize, b: usize| s[1][a] * s[2][b] - s[1][b] * s[2][a];
    let det = s[0][0] * minor(1, 2) - s[0][1] * minor(0, 2) + s[0][2] * minor(0, 1);
    let mean = (s[0][0] + s[1][1] + s[2][2]) / 3.0;
    if mean > 0.0 { (det / mean.powi(3)).max(0.0) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use coarsen_problems::{Options, Problem, elasticity3d};

    use super::*;

    /// Sheets are not solid, also if they are turned and sheared; blocks and bodies are.
    #[test]
    fn edges_of_solids_have_all_directions() {
        let of = |p: &Problem| is_solid(&p.matrix, &p.positions);
        assert!(of(&elasticity3d(6, 1.0).unwrap()));
        for (name, solid) in [("softbody:7", true), ("cloth:12", false), ("cloth:30", false)] {
            let p = Problem::parse(name, &Options::default()).unwrap();
            assert_eq!(of(&p), solid, "{name}");
            let turned = p.positions.iter().map(|[x, y, z]| [0.6 * x - 0.8 * y, 0.8 * x + 0.6 * y, z + x]);
            let turned: Vec<[f64; 3]> = turned.collect();
            assert_eq!(is_solid(&p.matrix, &turned), solid, "{name}");
        }
    }
}
