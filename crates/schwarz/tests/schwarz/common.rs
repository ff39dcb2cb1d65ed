//! The systems and vector functions that these tests share.

use coarsen_core::Preconditioner;
use coarsen_problems::{Options, Problem};
use coarsen_schwarz::{Arithmetic, Coarse, Coupling, Schwarz, Storage};

pub(crate) fn problem(name: &str) -> Problem {
    Problem::parse(name, &Options::default()).unwrap()
}

/// Returns grids, bodies, sheets, jumps and a graph.
pub(crate) fn problems() -> Vec<Problem> {
    ["poisson2d:23", "elasticity3d:6", "cloth:21", "jump3d:8", "graph:500"].map(problem).into()
}

/// Returns parameters with `f64` throughout.
pub(crate) fn exact() -> Schwarz {
    Schwarz {
        storage: Storage::Double,
        arithmetic: Arithmetic::Double,
        domain: 16,
        coarse: Coarse::Domains,
        ..Schwarz::multilevel()
    }
}

pub(crate) fn applied(m: &mut dyn Preconditioner<Vec<f64>>, r: &Vec<f64>) -> Vec<f64> {
    let mut z = vec![f64::NAN; r.len()];
    m.apply(r, &mut z);
    z
}

pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Returns ‖a − b‖₂ / ‖b‖₂.
pub(crate) fn difference(a: &[f64], b: &[f64]) -> f64 {
    let size = dot(b, b).sqrt();
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt() / size
}

/// Returns parameters whose domains grow along all couplings alike.
pub(crate) fn adjacent(domain: usize, levels: usize, coarse: Coarse) -> Schwarz {
    Schwarz { domain, levels, coarse, coupling: Coupling::Adjacency, ..exact() }
}

/// Returns the columns of M⁻¹, from unit vectors.
pub(crate) fn columns(m: &mut dyn Preconditioner<Vec<f64>>, n: usize) -> Vec<Vec<f64>> {
    let unit = |j: usize| (0..n).map(|i| f64::from(u8::from(i == j))).collect();
    (0..n).map(|j| applied(m, &unit(j))).collect()
}
