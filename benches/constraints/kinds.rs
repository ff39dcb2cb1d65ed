//! Constraints on a sheet of cloth with N x N vertices, whose first and last rows are fixed.

use coarsen::constraints::Constraints;
use coarsen::problems::{NumpyRandom, Problem, cloth, pinned};

use crate::Outcome;

/// The kinds of constraints: four as they occur in contact, and two whose directions do not occur in contact.
pub(crate) const KINDS: [&str; 6] =
    ["points, lines, planes", "a table", "a body", "a fold", "steep planes", "random ties"];

/// Returns the sheet, with constraints of one kind on a fraction of its vertices.
pub(crate) fn constrained(kind: &str, n: usize, dt: f64, share: f64) -> Outcome<(Problem, Constraints)> {
    let p = cloth(n, dt)?;
    let mut c = Constraints::new(n * n, 3)?;
    let count = (share * (n * (n - 2)) as f64).round() as usize;
    match kind {
        // On random vertices in random directions.
        "points, lines, planes" => c = pinned(n, dt, share)?.constraints.unwrap_or(c),
        // A round patch in the middle slides on a horizontal table, on a body of the sheet's own shape, or on
        // steep planes.
        "a table" | "a body" | "steep planes" => {
            let centre = p.positions[n / 2 * n + n / 2];
            let from = |i: usize| [0, 1, 2].map(|k| p.positions[i][k] - centre[k]);
            let distance = |i: usize| from(i)[0].hypot(from(i)[1]).hypot(from(i)[2]);
            let mut nearest: Vec<(f64, usize)> = (n..n * (n - 1)).map(|i| (distance(i), i)).collect();
            nearest.sort_by(|a, b| a.0.total_cmp(&b.0));
            for &(_, i) in &nearest[..count] {
                let normal = match kind {
                    "a table" => [0.0, 0.0, 1.0],
                    "a body" => normal(&p, n, i),
                    _ => [from(i)[0], from(i)[1], 0.3],
                };
                c.plane(i, &normal, 0.0)?;
            }
        }
        // The sheet is folded in the middle. Vertices of one half are in contact with faces of the other
        // half, along the normals of the sheet.
        "a fold" => {
            for (row, column) in (0..count / 4).map(|k| (2 * (2 * k / (n - 2)), 2 * k % (n - 2))) {
                let (i, j) = ((1 + row) * n + column, (n - 3 - row) * n + column);
                c.vertex_face(i, [j, j + 1, j + n], [0.2, 0.3, 0.5], &normal(&p, n, i), 0.0)?;
            }
        }
        // Vertices tied in random directions to faces three rows away.
        _ => {
            let mut random = NumpyRandom::new(3);
            let mut used = vec![false; n * n];
            let mut left = count;
            while left >= 4 {
                let i = n + (random.uniform() * (n * (n - 2) - 6 * n) as f64) as usize;
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

/// The normal of the sheet at a vertex, computed from its neighbours.
fn normal(p: &Problem, n: usize, i: usize) -> [f64; 3] {
    let x = |i: usize| p.positions[i];
    let (left, right) = (if i.is_multiple_of(n) { i } else { i - 1 }, if i % n == n - 1 { i } else { i + 1 });
    let difference = |a: [f64; 3], b: [f64; 3]| [0, 1, 2].map(|k| a[k] - b[k]);
    let (u, v) = (difference(x(i + n), x(i - n)), difference(x(right), x(left)));
    [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]]
}
