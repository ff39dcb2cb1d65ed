//! Gradients compared with differences of energies, Hessians with differences of gradients, and the
//! definiteness of projected Hessians.

mod anisotropic;
mod duals;
mod projections;
mod solids;

use coarsen_core::{Dot, LinearOperator, Objective};
use coarsen_elastic::{
    Arap, BaraffWitkin, Bending, CoRotational, CoRotationalMembrane, Curvature, Fabric, Fibers,
    FixedCoRotated, ImplicitEuler, Lame, Membrane, NeoHookean, Potential, Shell, Spring, Springs,
    StVenantKirchhoff, StableNeoHookean, Tetrahedra,
};
use coarsen_mesh::Mesh;

/// Reproducible numbers in [-1, 1).
fn noise(n: usize, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    };
    (0..n).map(|_| next()).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The (u, v) and triangles of a sheet of n x n vertices with spacing h and parallel diagonals.
fn sheet(n: usize, h: f64) -> (Vec<[f64; 2]>, Vec<[u32; 3]>) {
    let rest = (0..n * n).map(|i| [(i / n) as f64 * h, (i % n) as f64 * h]).collect();
    let cell = |c: usize| {
        let a = (c / (n - 1) * n + c % (n - 1)) as u32;
        let m = n as u32;
        [[a, a + m, a + m + 1], [a, a + m + 1, a + 1]]
    };
    (rest, (0..(n - 1) * (n - 1)).flat_map(cell).collect())
}

fn check(name: &str, potential: impl Potential, x: &[f64]) {
    let (n, h) = (x.len(), 1e-6);
    let mut f = ImplicitEuler::equilibrium(potential).unwrap();
    let moved = |by: f64, d: &[f64]| -> Vec<f64> { x.iter().zip(d).map(|(x, d)| x + by * d).collect() };
    let mut g = vec![0.0; n];
    f.gradient(&x.to_vec(), &mut g);
    for seed in 1..5 {
        let d = noise(n, seed);
        let ahead = f.value(&moved(h, &d)).value;
        let Dot { value: behind, magnitude } = f.value(&moved(-h, &d));
        let slope = (ahead - behind) / (2.0 * h);
        let size = dot(&g, &g).sqrt() * dot(&d, &d).sqrt() + f64::EPSILON * magnitude / h;
        assert!((slope - dot(&g, &d)).abs() < 1e-6 * size.max(1e-3), "{name}: {slope} for {}", dot(&g, &d));
        f.curvature = Curvature::Exact;
        let a = f.hessian(x).clone();
        assert!(a.asymmetric_pair(1e-9).is_none(), "{name}");
        let [mut more, mut less, mut product] = [(); 3].map(|()| vec![0.0; n]);
        f.gradient(&moved(h, &d), &mut more);
        f.gradient(&moved(-h, &d), &mut less);
        a.apply(&d, &mut product);
        let gap = (0..n).map(|k| ((more[k] - less[k]) / (2.0 * h) - product[k]).powi(2)).sum::<f64>().sqrt();
        assert!(
            gap < 1e-5 * dot(&product, &product).sqrt(),
            "{name}: {gap:e} beside {:e}",
            dot(&product, &product).sqrt()
        );
        for curvature in [Curvature::Projected, Curvature::Constant] {
            f.curvature = curvature;
            let (p, mut v, mut y) = (f.hessian(x).clone(), d.clone(), vec![0.0; n]);
            let most = p.diagonal().iter().fold(0.0_f64, |m, v| m.max(v.abs()));
            for _ in 0..60 {
                // Steps of the shifted power method towards the lowest eigenvalue.
                p.apply(&v, &mut y);
                assert!(dot(&v, &y) > -1e-9 * most * dot(&v, &v), "{name}, {curvature:?}: {:e}", dot(&v, &y));
                v.iter_mut().zip(&y).for_each(|(v, y)| *v = 6.0 * most * *v - y);
                let length = dot(&v, &v).sqrt();
                v.iter_mut().for_each(|v| *v /= length);
            }
        }
    }
}

#[test]
fn derivatives_of_cloth_are_exact() {
    let (rest, triangles) = sheet(5, 0.25);
    let flat: Vec<[f64; 3]> = rest.iter().map(|&[u, v]| [u, v, 0.0]).collect();
    let held: Vec<bool> = (0..25).map(|i| i < 5).collect();
    // Stretched and wrinkled, then compressed.
    for (stretch, shake) in [(1.2, 0.03), (0.7, 0.05)] {
        let noise = noise(75, 7);
        let x: Vec<f64> =
            flat.as_flattened().iter().zip(&noise).map(|(x, n)| stretch * x + shake * n).skip(15).collect();
        for fabric in [Fabric { stretch: 5e3, coupling: 0.0, shear: 1e3 }, Fabric::isotropic(5e3, 0.3)] {
            check("membrane", Membrane::new(fabric, &triangles, &rest, &held, &flat).unwrap(), &x);
            check("membrane in space", Membrane::in_space(fabric, &triangles, &held, &flat).unwrap(), &x);
        }
        check("bending", Bending::new(2.0, &triangles, &flat, &held, &flat).unwrap(), &x);
        let law = Lame::plane_stress(5e3, 0.3);
        let cloth = CoRotationalMembrane::new(law, &triangles, &rest, &held, &flat).unwrap();
        check("co-rotational membrane", cloth, &x);
        let curved: Vec<[f64; 3]> = flat.iter().map(|&[u, v, _]| [u, v, 0.3 * u * u + 0.2 * u * v]).collect();
        for rest in [&flat, &curved] {
            check("shell", Shell::new(2.0, &triangles, rest, &held, &flat).unwrap(), &x);
        }
        let mut at_rest = Shell::new(2.0, &triangles, &curved, &held, &curved).unwrap();
        let free = at_rest.free(&curved);
        assert!(at_rest.energy(&free).value < 1e-28);
    }
    let membrane = Membrane::in_space(Fabric::isotropic(1.0, 0.3), &triangles, &[false; 25], &flat).unwrap();
    assert!((membrane.masses(0.2).iter().sum::<f64>() - 0.2).abs() < 1e-14);
    let wrong = Fabric { stretch: 1.0, coupling: 2.0, shear: 1.0 };
    assert!(Membrane::in_space(wrong, &triangles, &held, &flat).is_err());
    assert!(Bending::new(0.0, &triangles, &flat, &held, &flat).is_err());
    assert!(Shell::new(f64::NAN, &triangles, &flat, &held, &flat).is_err());
    let wrong = Lame { mu: 1.0, lambda: -1.5 };
    assert!(CoRotationalMembrane::new(wrong, &triangles, &rest, &held, &flat).is_err());
}

/// A hinge that is at rest almost folded passes π without a jump.
#[test]
fn shells_pass_a_full_fold() {
    let at = |angle: f64| -> Vec<f64> {
        let tip = [angle.cos(), 0.0, angle.sin()];
        [[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], tip].concat()
    };
    let rest = at(3.0);
    let points: Vec<[f64; 3]> = rest.as_chunks().0.to_vec();
    let mut shell = Shell::new(2.0, &[[0, 1, 2], [1, 0, 3]], &points, &[false; 4], &points).unwrap();
    let [before, after] = [2.9, 3.1].map(|angle| shell.energy(&at(angle)).value);
    assert!((before - after).abs() < 1e-12 * before.max(after) + 1e-12, "{before:e}, {after:e}");
    let beyond = shell.energy(&at(3.2)).value;
    assert!((beyond / after - 4.0).abs() < 1e-9, "{beyond:e}, {after:e}");
}

/// A hinge whose edge has collapsed has a finite energy, and no force or stiffness.
#[test]
fn shells_bear_a_collapsed_edge() {
    let flat = [[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [1.0, 0.0, 0.0]];
    let mut folded = flat;
    folded[3] = [0.0, 0.0, 1.0]; // at rest by a right angle: E = ½ k w θ̄², k w = 2 · 1
    let mut shell = Shell::new(2.0, &[[0, 1, 2], [1, 0, 3]], &folded, &[false; 4], &flat).unwrap();
    let mut x = flat.concat();
    x.copy_within(..3, 3);
    let rest = std::f64::consts::FRAC_PI_2;
    let energy = shell.energy(&x);
    assert!((energy.value - rest * rest).abs() < 1e-12 && energy.magnitude.is_finite());
    let mut gradient = vec![0.0; 12];
    shell.add_gradient(&x, &mut gradient);
    let mut hessian = vec![0.0; 9 * shell.pattern().len()];
    shell.add_hessian(&x, Curvature::Exact, &mut hessian);
    assert!(gradient.iter().chain(&hessian).all(|v| *v == 0.0));
}

/// Where squares overflow, a line search must not see a small energy.
#[test]
fn membranes_that_overflow_have_no_energy() {
    let flat = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
    let rest = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]];
    let law = Lame { lambda: 1.0, mu: 1.0 };
    let mut cloth = CoRotationalMembrane::new(law, &[[0, 1, 2]], &rest, &[false; 3], &flat).unwrap();
    let far = [[0.0, 0.0, 0.0], [1e160, 0.0, 0.0], [0.0, 1.0, 0.0]];
    assert!(!cloth.energy(far.as_flattened()).value.is_finite());
}

#[test]
fn derivatives_of_bodies_are_exact() {
    let mesh = Mesh::bar([3, 2, 2], 0.5);
    let held: Vec<bool> = mesh.positions.iter().map(|p| p[0] == 0.0).collect();
    let material = |e: usize| Lame::new(1.0 + e as f64 % 3.0, 0.35);
    let shaken = |stretch: f64, shake: f64| -> Vec<f64> {
        let all: Vec<[f64; 3]> = mesh.positions.clone();
        let free: Vec<f64> = all.iter().zip(&held).filter(|(_, h)| !**h).flat_map(|(p, _)| *p).collect();
        let noise = noise(free.len(), 3);
        free.iter().zip(&noise).map(|(x, n)| stretch * x + shake * n).collect()
    };
    let x = shaken(1.1, 0.05);
    check("co-rotational", Tetrahedra::new(CoRotational, &mesh, &held, material).unwrap(), &x);
    check("neo-Hookean", Tetrahedra::new(NeoHookean, &mesh, &held, material).unwrap(), &x);
    check("as rigid as possible", Tetrahedra::new(Arap, &mesh, &held, material).unwrap(), &x);
    let squeezed = shaken(0.6, 0.3);
    check("fixed co-rotated", Tetrahedra::new(FixedCoRotated, &mesh, &held, material).unwrap(), &squeezed);
    check(
        "St. Venant-Kirchhoff",
        Tetrahedra::new(StVenantKirchhoff, &mesh, &held, material).unwrap(),
        &squeezed,
    );
    let fibers = |e: usize| Fibers { stretch: 1.0 + e as f64 % 3.0, shear: 0.7 };
    let axes = |e: usize| {
        let (s, c) = (e as f64).sin_cos();
        [[c, s, 0.0], [0.0, 0.0, 1.0], [s, -c, 0.0]]
    };
    for x in [&x, &squeezed] {
        check("Baraff-Witkin", BaraffWitkin::along(&mesh, &held, fibers, axes).unwrap(), x);
    }
    check(
        "stable neo-Hookean",
        Tetrahedra::new(StableNeoHookean, &mesh, &held, material).unwrap(),
        &squeezed,
    );
    let edges = mesh.tetrahedra.iter().flat_map(|t| [[t[0], t[1]], [t[1], t[2]], [t[2], t[3]]]);
    let springs = edges.map(|ends| Spring { ends, stiffness: 2.0, length: 0.5 }).collect();
    check("springs", Springs::new(springs, &held, &mesh.positions).unwrap(), &squeezed);
}

/// A step to the bound keeps the volume of every element positive. A step twice as long as the step to the
/// first flat element does not.
#[test]
fn steps_end_before_an_element_is_flat() {
    let mesh = Mesh::bar([2, 1, 1], 1.0);
    let free = vec![false; mesh.positions.len()];
    let x = mesh.positions.as_flattened();
    let d: Vec<f64> = noise(x.len(), 5).iter().map(|n| 3.0 * n).collect();
    let mut body = Tetrahedra::new(NeoHookean, &mesh, &free, |_| Lame::new(1.0, 0.3)).unwrap();
    let most = body.max_step(x, &d);
    let at = |alpha: f64| -> Vec<f64> { x.iter().zip(&d).map(|(x, d)| x + alpha * d).collect() };
    assert!(most > 0.0 && most < 1.0, "{most}");
    assert!(body.energy(&at(most)).value.is_finite());
    assert!(body.energy(&at(most * 1.12)).value.is_infinite());
    let mut stable = Tetrahedra::new(StableNeoHookean, &mesh, &free, |_| Lame::new(1.0, 0.3)).unwrap();
    assert_eq!(stable.max_step(x, &d), f64::INFINITY);
}
