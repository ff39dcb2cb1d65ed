//! A curl-curl matrix with a small mass term, nearly singular on the kernel of the curl.

use std::f64::consts::PI;

use coarsen::problems::random_vector;
use coarsen::sparse::Bsr;
use coarsen::sparse::assembly::from_triplets;

/// `n` numbers in (0, 1).
pub(crate) fn uniform(n: usize, seed: u64) -> Vec<f64> {
    random_vector(n, seed).iter().map(|v| 0.5 + v.atan() / PI).collect()
}

/// Σ s r rᵀ over sparse rows r with weights s, and a diagonal.
pub(crate) fn gram(
    n: usize,
    rows: impl Iterator<Item = (Vec<(usize, f64)>, f64)>,
    diagonal: &[f64],
) -> Bsr<f64> {
    let mut entries: Vec<(u32, u32, f64)> = Vec::new();
    for (row, weight) in rows {
        for &(i, p) in &row {
            entries.extend(row.iter().map(|&(j, q)| (i as u32, j as u32, weight * (p * q))));
        }
    }
    entries.extend(diagonal.iter().enumerate().map(|(i, &d)| (i as u32, i as u32, d)));
    from_triplets(n, n, &entries).expect("entries of the grid")
}

/// Cᵀ C + ε M on the edges of a grid of n³ cells; C maps edges to faces.
pub(crate) fn curl(seed: u64, n: usize, mass: f64) -> Bsr<f64> {
    let m = n + 1;
    // Edges along x, y, z: n edges in the direction of the edge, n + 1 in the other directions.
    let extent = |d: usize| -> [usize; 3] { std::array::from_fn(|e| if e == d { n } else { m }) };
    let of_each = n * m * m;
    let edge = |d: usize, at: [usize; 3]| {
        let [_, y, z] = extent(d);
        d * of_each + (at[0] * y + at[1]) * z + at[2]
    };
    let mut rows = Vec::new();
    for d in 0..3 {
        let (p, q) = ((d + 1) % 3, (d + 2) % 3);
        for x in 0..m {
            for y in 0..m {
                for z in 0..m {
                    let at = [x, y, z];
                    if at[p] >= n || at[q] >= n {
                        continue;
                    }
                    let step = |e: usize| std::array::from_fn(|k| at[k] + usize::from(k == e));
                    rows.push(vec![
                        (edge(p, at), 1.0),
                        (edge(q, step(p)), 1.0),
                        (edge(p, step(q)), -1.0),
                        (edge(q, at), -1.0),
                    ]);
                }
            }
        }
    }
    let weights: Vec<f64> = uniform(rows.len(), seed).iter().map(|u| 0.5 + u).collect();
    let diagonal: Vec<f64> = uniform(3 * of_each, seed + 1).iter().map(|u| mass * (0.5 + u)).collect();
    gram(3 * of_each, rows.into_iter().zip(weights), &diagonal)
}
