//! Scenes, and checks of derivatives by differences.

use coarsen_contact::BodyContact;
use coarsen_core::LinearOperator;
use coarsen_elastic::{Curvature, ImplicitEuler, Potential};
use coarsen_mesh::Mesh;
use coarsen_sparse::SystemAt;

/// Returns one mesh of several bodies.
pub(crate) fn together(bodies: &[Mesh]) -> Mesh {
    bodies.iter().fold(Mesh::default(), |mut all, body| {
        let first = all.positions.len() as u32;
        all.positions.extend(&body.positions);
        all.tetrahedra.extend(body.tetrahedra.iter().map(|t| t.map(|v| v + first)));
        all
    })
}

/// Returns the mesh rotated by an angle about the z axis, then moved.
pub(crate) fn placed(mut mesh: Mesh, angle: f64, by: [f64; 3]) -> Mesh {
    let (sin, cos) = angle.sin_cos();
    for p in &mut mesh.positions {
        let [x, y, z] = *p;
        *p = [cos * x - sin * y + by[0], sin * x + cos * y + by[1], z + by[2]];
    }
    mesh
}

/// Two bars; the upper bar is rotated and reaches 0.13 into the lower bar. No vertex lies on a plane of
/// symmetry.
pub(crate) fn crossing() -> Mesh {
    let lower = Mesh::bar([6, 2, 2], 0.5);
    let upper = placed(Mesh::bar([5, 2, 2], 0.43), 0.3, [0.7, 0.05, 0.87]);
    together(&[lower, upper])
}

pub(crate) fn contact(mesh: &Mesh, stiffness: f64) -> BodyContact {
    BodyContact::new(mesh, &vec![false; mesh.positions.len()], stiffness).unwrap()
}

/// Reproducible numbers in [-1, 1).
pub(crate) fn noise(n: usize, seed: u64) -> Vec<f64> {
    let mut random = coarsen_core::SplitMix64::new(seed);
    (0..n).map(|_| random.bits() as f64 / (1_u64 << 63) as f64 - 1.0).collect()
}

pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// x + α d.
pub(crate) fn moved(x: &[f64], alpha: f64, d: &[f64]) -> Vec<f64> {
    x.iter().zip(d).map(|(x, d)| x + alpha * d).collect()
}

pub(crate) fn gradient(potential: &mut impl Potential, x: &[f64]) -> Vec<f64> {
    let mut g = vec![0.0; x.len()];
    potential.add_gradient(x, &mut g);
    g
}

/// Compares the gradient with differences of energies, and returns the gradient.
pub(crate) fn check_gradient(potential: &mut impl Potential, x: &[f64], h: f64, accuracy: f64) -> Vec<f64> {
    let g = gradient(potential, x);
    for seed in 1..6 {
        let d = noise(x.len(), seed);
        let mut energy = |alpha: f64| potential.energy(&moved(x, alpha, &d)).value;
        let slope = (energy(h) - energy(-h)) / (2.0 * h);
        let size = (dot(&g, &g) * dot(&d, &d)).sqrt();
        assert!((slope - dot(&g, &d)).abs() <= accuracy * size, "{slope} for {}", dot(&g, &d));
    }
    g
}

/// Compares the Hessian, contacts included, with differences of gradients.
pub(crate) fn check_hessian(potential: impl Potential, x: &[f64], h: f64, accuracy: f64) {
    let mut f = ImplicitEuler::equilibrium(potential).unwrap();
    f.curvature = Curvature::Exact;
    for seed in 1..6 {
        let d = noise(x.len(), seed);
        let [more, less] = [h, -h].map(|alpha| gradient(&mut f.potential, &moved(x, alpha, &d)));
        let mut product = vec![0.0; x.len()];
        f.system_at(x).unwrap().apply(&d, &mut product);
        let gap = (0..x.len()).map(|k| ((more[k] - less[k]) / (2.0 * h) - product[k]).powi(2)).sum::<f64>();
        let size = dot(&product, &product).sqrt();
        assert!(size > 0.0 && gap.sqrt() <= accuracy * size, "{:e} beside {size:e}", gap.sqrt());
    }
}
