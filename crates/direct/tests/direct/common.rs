//! Shared parts of the tests of factors: small matrices, paths and grids, residuals, and a build by one method.

#![allow(dead_code, reason = "no test uses all of it")]

use coarsen_core::LinearOperator;
use coarsen_direct::{Dense, Direct, DirectError, Factor, Method};
use coarsen_sparse::{Bsr, assembly};

/// The matrix of these rows, without entries that are 0.
pub(crate) fn small(rows: &[&[f64]]) -> Bsr<f64> {
    let entries: Vec<_> = (0_u32..)
        .zip(rows)
        .flat_map(|(i, row)| (0_u32..).zip(*row).map(move |(j, &v)| (i, j, v)))
        .filter(|e| e.2 != 0.0)
        .collect();
    assembly::from_triplets(rows.len(), rows.len(), &entries).unwrap()
}

/// The same matrix beside 300 rows with its largest entry on the diagonal, so that faer factors it by default.
pub(crate) fn beside(a: &Bsr<f64>) -> Bsr<f64> {
    let n = a.shape().0 as u32;
    let stored = (0..n as usize).flat_map(|i| a.row(i).map(move |(j, v)| (i as u32, j as u32, v[0])));
    let largest = a.values().iter().fold(0.0_f64, |most, v| most.max(v.abs()));
    let entries: Vec<_> = stored.chain((n..n + 300).map(|i| (i, i, largest))).collect();
    assembly::from_triplets(n as usize + 300, n as usize + 300, &entries).unwrap()
}

/// The Laplacian of a path graph: singular, with the constants as null space.
pub(crate) fn unconstrained(n: u32) -> Bsr<f64> {
    let entries: Vec<_> =
        (1..n).flat_map(|i| [(i, i, 1.0), (i - 1, i - 1, 1.0), (i, i - 1, -1.0), (i - 1, i, -1.0)]).collect();
    assembly::from_triplets(n as usize, n as usize, &entries).unwrap()
}

/// −Δ on an n x n grid with Dirichlet ends, plus `shift`.
pub(crate) fn grid(n: u32, shift: f64) -> Bsr<f64> {
    let mut entries = Vec::new();
    for at in 0..n * n {
        entries.push((at, at, 4.0 + shift));
        for (next, inside) in [(at + 1, (at + 1) % n > 0), (at + n, at + n < n * n)] {
            if inside {
                entries.extend([(at, next, -1.0), (next, at, -1.0)]);
            }
        }
    }
    assembly::from_triplets((n * n) as usize, (n * n) as usize, &entries).unwrap()
}

/// ‖b − A x‖ / ‖b‖.
pub(crate) fn residual(a: &Bsr<f64>, b: &[f64], x: &[f64]) -> f64 {
    let mut r = vec![0.0; b.len()];
    a.residual(&b.to_vec(), &x.to_vec(), &mut r);
    let norm = |v: &[f64]| v.iter().map(|v| v * v).sum::<f64>().sqrt();
    norm(&r) / norm(b)
}

pub(crate) fn build(method: Method, a: &Bsr<f64>) -> Result<Factor, DirectError> {
    direct(method).factor(a)
}

/// The parameters of a method, with the engine under test.
pub(crate) fn direct(method: Method) -> Direct {
    Direct { method, engine: super::ENGINE, ..Direct::default() }
}

/// The parameters of pseudo-inverses, with the engine under test.
pub(crate) fn dense(tolerance: f64) -> Dense {
    Dense { tolerance, engine: super::ENGINE }
}
