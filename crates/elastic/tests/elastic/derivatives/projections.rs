//! Projected Hessians: of H = P − N the part P, where P and N are positive semidefinite and P N = 0.
//!
//! A matrix has exactly one such P: its part of nonnegative eigenvalues.

use coarsen_core::LinearOperator;
use coarsen_elastic::{
    Arap, CoRotational, CoRotationalMembrane, Curvature, Density, Fabric, FixedCoRotated, ImplicitEuler,
    Lame, NeoHookean, Potential, Spring, Springs, StVenantKirchhoff, StableNeoHookean, Tetrahedra, Triangle,
};
use coarsen_mesh::Mesh;

use super::noise;

/// A symmetric matrix, row by row.
type Matrix = Vec<Vec<f64>>;

fn gap(a: &Matrix, b: &Matrix) -> Matrix {
    let row = |(a, b): (&Vec<f64>, &Vec<f64>)| a.iter().zip(b).map(|(a, b)| a - b).collect();
    a.iter().zip(b).map(row).collect()
}

fn size(a: &Matrix) -> f64 {
    a.iter().flatten().fold(0.0, |m, v| v.abs().max(m))
}

/// Whether A + shift I has a Cholesky factor.
fn is_positive(a: &Matrix, shift: f64) -> bool {
    let (mut a, n) = (a.clone(), a.len());
    (0..n).for_each(|k| a[k][k] += shift);
    for k in 0..n {
        if a[k][k] <= 0.0 {
            return false;
        }
        for (r, s) in (k + 1..n).flat_map(|r| (k + 1..n).map(move |s| (r, s))) {
            a[r][s] -= a[r][k] * a[k][s] / a[k][k];
        }
    }
    true
}

/// Checks that `p` is the projection of `h`; returns whether H has a negative part.
fn check(name: &str, h: &Matrix, p: &Matrix) -> bool {
    let (n, size) = (gap(p, h), size(h));
    assert!(size > 0.0 && size.is_finite(), "{name}: {size}");
    assert!(is_positive(p, 1e-11 * size), "{name}: P of {h:?}");
    assert!(is_positive(&n, 1e-11 * size), "{name}: N of {h:?}");
    for (r, s) in (0..h.len()).flat_map(|r| (0..h.len()).map(move |s| (r, s))) {
        let product: f64 = (0..h.len()).map(|t| p[r][t] * n[t][s]).sum();
        assert!(product.abs() < 1e-11 * size * size, "{name}: {product:e} of {h:?}");
    }
    self::size(&n) > 1e-3 * size
}

/// The Hessian of all free nodes.
fn dense(potential: &mut ImplicitEuler<impl Potential>, curvature: Curvature, x: &[f64]) -> Matrix {
    potential.curvature = curvature;
    let a = potential.hessian(x);
    let column = |k: usize| {
        let mut unit = vec![0.0; x.len()];
        unit[k] = 1.0;
        let mut column = vec![0.0; x.len()];
        a.apply(&unit, &mut column);
        column
    };
    (0..x.len()).map(column).collect()
}

/// Checks a potential at each x; some of them must have a Hessian with a negative part.
fn check_potential(name: &str, potential: impl Potential, states: &[Vec<f64>]) {
    let mut f = ImplicitEuler::equilibrium(potential).unwrap();
    let mut negative = 0;
    for x in states {
        let [h, p] = [Curvature::Exact, Curvature::Projected].map(|curvature| dense(&mut f, curvature, x));
        negative += usize::from(check(name, &h, &p));
    }
    assert!(negative > 5 && negative < states.len(), "{name}: {negative} of {}", states.len());
}

/// The columns of F: a tetrahedron whose first corner is held at the origin, with the unit vectors as edges.
/// Its Hessian is ∂²ψ/∂F² times the volume.
fn check_density(name: &str, density: impl Density, states: &[Vec<f64>]) {
    let positions = vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    let mesh = Mesh { positions, tetrahedra: vec![[0, 1, 2, 3]], ..Mesh::default() };
    let held = [true, false, false, false];
    let body = Tetrahedra::new(density, &mesh, &held, |_| Lame::new(1.0, 0.3)).unwrap();
    check_potential(name, body, states);
}

fn determinant(x: &[f64]) -> f64 {
    let [a, b, c] = [0, 3, 6].map(|k| [x[k], x[k + 1], x[k + 2]]);
    coarsen_mesh::vector::dot(a, coarsen_mesh::vector::cross(b, c))
}

/// Deformations from nearly none to inverted.
#[test]
fn projected_hessians_of_densities_are_semidefinite() {
    let state = |k: usize| -> Vec<f64> {
        let noise = noise(9, k as u64 + 1);
        (0..9).map(|e| if e % 4 == 0 { 1.0 } else { 0.0 } + 0.02 * k as f64 * noise[e]).collect()
    };
    let all: Vec<Vec<f64>> = (0..60).map(state).collect();
    let positive: Vec<Vec<f64>> = all.iter().filter(|x| determinant(x) > 0.1).cloned().collect();
    check_density("as rigid as possible", Arap, &all);
    check_density("co-rotational", CoRotational, &all);
    check_density("fixed co-rotated", FixedCoRotated, &all);
    check_density("St. Venant-Kirchhoff", StVenantKirchhoff, &all);
    check_density("stable neo-Hookean", StableNeoHookean, &all);
    check_density("neo-Hookean", NeoHookean, &positive);
}

/// The columns of F: a triangle whose first corner is held at the origin, with the unit vectors as edges at rest;
/// from stretched to compressed and turned.
#[test]
fn projected_hessians_of_triangles_are_semidefinite() {
    let state = |k: usize| -> Vec<f64> {
        let noise = noise(6, k as u64 + 1);
        let part = |e: usize| if e.is_multiple_of(4) { 1.2 - 0.01 * k as f64 } else { 0.0 };
        (0..6).map(|e| part(e) + 0.015 * k as f64 * noise[e]).collect()
    };
    let states: Vec<Vec<f64>> = (0..60).map(state).collect();
    let (rest, held) = ([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [true, false, false]);
    for law in [Lame::plane_stress(3.0, 0.3), Lame { mu: 1.0, lambda: -0.5 }] {
        let cloth = CoRotationalMembrane::new(law, &[[0, 1, 2]], &rest, &held, &[[0.0; 3]; 3]).unwrap();
        check_potential("co-rotational membrane", cloth, &states);
    }
}

#[test]
fn projected_hessians_of_springs_are_semidefinite() {
    let states: Vec<Vec<f64>> =
        (1..40).map(|k| noise(6, k).iter().map(|v| 0.04 * k as f64 * v).collect()).collect();
    let spring = || vec![Spring { ends: [0, 1], stiffness: 3.0, length: 1.0 }];
    check_potential("spring", Springs::new(spring(), &[false; 2], &[[0.0; 3]; 2]).unwrap(), &states);
    let half: Vec<Vec<f64>> = states.iter().map(|x| x[3..].to_vec()).collect();
    check_potential(
        "spring at a held node",
        Springs::new(spring(), &[true, false], &[[0.1; 3], [0.0; 3]]).unwrap(),
        &half,
    );
}

/// The Hessian in (w_u, w_v) of a triangle with the corners (0, 0), (1, 0), (0, 1).
fn of_columns(fabric: Fabric, w: &[[f64; 3]; 2], exact: bool) -> Matrix {
    let at = Triangle::new([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]).at(fabric, &[[0.0; 3], w[0], w[1]]);
    let curved = at.curvature(exact);
    let entry = |r: usize, s: usize| curved.stiffness(1 + r / 3, 1 + s / 3)[3 * (r % 3) + s % 3];
    (0..6).map(|r| (0..6).map(|s| entry(r, s)).collect()).collect()
}

/// Of the stretches with their coupling, terms (3) and (4), the projection is exact. Of the shear, term (5),
/// P is its first part, k' d dᵀ: the second part, which is left out, has positive and negative eigenvalues.
#[test]
fn projected_hessians_of_membranes_are_semidefinite() {
    let mut negative = [0; 2];
    for k in 0..60 {
        let noise = noise(6, k + 1);
        let w = [0, 1].map(|s: usize| {
            [0, 1, 2].map(|c: usize| f64::from(u8::from(s == c)) + 0.03 * k as f64 * noise[3 * s + c])
        });
        for coupling in [0.0, 0.3, -0.5] {
            let stretches = Fabric { stretch: 2.0, coupling, shear: 0.0 };
            let [h, p] = [true, false].map(|exact| of_columns(stretches, &w, exact));
            negative[0] += usize::from(check("stretches", &h, &p));
            // The Hessian is linear in k', so the difference is that of the shear alone.
            let sheared = Fabric { shear: 0.7, ..stretches };
            let [h, p] = [(true, h), (false, p)]
                .map(|(exact, without)| gap(&of_columns(sheared, &w, exact), &without));
            let (left_out, all) = (gap(&h, &p), size(&h) + size(&p));
            let product: f64 = (0..3).map(|c| w[0][c] * w[1][c]).sum();
            for (r, s) in (0..36).map(|rs| (rs / 6, rs % 6)) {
                let d = |r: usize| w[1 - r / 3][r % 3];
                let turn = if r % 3 == s % 3 && r != s { 0.5 * 0.7 * product } else { 0.0 };
                assert!((p[r][s] - 0.5 * 0.7 * d(r) * d(s)).abs() < 1e-13 * (all + 4.0), "{w:?}");
                assert!((left_out[r][s] - turn).abs() < 1e-13 * (all + 4.0), "{w:?}");
            }
            negative[1] += usize::from(!is_positive(&h, 1e-11 * all));
        }
    }
    assert!(negative.iter().all(|count| (10..180).contains(count)), "{negative:?}");
}
