//! Constraints on a sheet of cloth of N x N vertices, whose first and last rows are held already.

use coarsen::problems::{NumpyRandom, Problem, cloth, pinned};
use coarsen::sparse::Constraints;

use crate::Outcome;

/// The kinds compared.
pub(crate) const KINDS: [&str; 4] = ["points, lines, planes", "a table", "a ball", "vertex-face"];

/// The sheet, and constraints of a kind on a share of its vertices.
pub(crate) fn constrained(kind: &str, n: usize, dt: f64, share: f64) -> Outcome<(Problem, Constraints)> {
    let p = cloth(n, dt)?;
    let mut c = Constraints::new(n * n, 3)?;
    let free: Vec<usize> = (n..n * (n - 1)).collect();
    let count = (share * free.len() as f64).round() as usize;
    match kind {
        // Everywhere, in any direction.
        "points, lines, planes" => {
            let constraints = pinned(n, dt, share)?.constraints;
            return Ok((p, constraints.unwrap_or(c)));
        }
        // A connected patch in the middle lies on a horizontal table, or on a ball, and slides.
        "a table" | "a ball" => {
            let centre = p.positions[n / 2 * n + n / 2];
            let from = |i: usize| [0, 1, 2].map(|k| p.positions[i][k] - centre[k]);
            let mut nearest: Vec<(f64, usize)> =
                free.iter().map(|&i| (from(i)[0].hypot(from(i)[1]).hypot(from(i)[2]), i)).collect();
            nearest.sort_by(|a, b| a.0.total_cmp(&b.0));
            for &(_, i) in &nearest[..count] {
                let [x, y, _] = from(i);
                let normal = if kind == "a table" { [0.0, 0.0, 1.0] } else { [x, y, 0.3] };
                c.plane(i, &normal, 0.0)?;
            }
        }
        // Vertices against faces some lines away, until the share of vertices is used up.
        _ => {
            let mut random = NumpyRandom::new(3);
            let mut used = vec![false; n * n];
            let mut left = count;
            while left >= 4 {
                let i = n + (random.uniform() * (free.len() - 6 * n) as f64) as usize;
                let j = i + 3 * n + (random.uniform() * 8.0) as usize;
                let nodes = [i, j, j + 1, j + n];
                if nodes.iter().any(|&k| used[k]) {
                    continue;
                }
                nodes.iter().for_each(|&k| used[k] = true);
                let normal = [0; 3].map(|_| random.normal());
                c.vertex_face(i, [j, j + 1, j + n], [0.2, 0.3, 0.5], &normal, 0.0)?;
                left -= 4;
            }
        }
    }
    Ok((p, c))
}
