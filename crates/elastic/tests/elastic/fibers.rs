//! Baraff-Witkin tetrahedra: values by hand, projections, and numbers that are refused.

use coarsen_core::SplitMix64;
use coarsen_elastic::{BaraffWitkin, BodyError, Curvature, Fibers, ImplicitEuler, Potential};
use coarsen_mesh::Mesh;

/// The coordinate axes.
const AXES: [[f64; 3]; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

/// A 9x9 matrix for the vector (w₁, w₂, w₃).
type Matrix = [[f64; 9]; 9];

/// The corner of a unit cube, with the volume 1/6, held at its corner: its free nodes are at w₁, w₂, w₃.
fn corner(fibers: Fibers) -> BaraffWitkin {
    let positions = [&[[0.0; 3]][..], &AXES].concat();
    let mesh = Mesh { positions, tetrahedra: vec![[0, 1, 2, 3]], ..Mesh::default() };
    BaraffWitkin::new(&mesh, &[true, false, false, false], |_| fibers).unwrap()
}

/// ∂²ψ/∂w², exact and projected.
fn hessians(fibers: Fibers, w: &[[f64; 3]; 3]) -> [Matrix; 2] {
    let mut body = ImplicitEuler::equilibrium(corner(fibers)).unwrap();
    [Curvature::Exact, Curvature::Projected].map(|curvature| {
        body.curvature = curvature;
        let a = body.hessian(w.as_flattened());
        std::array::from_fn(|r| std::array::from_fn(|s| 6.0 * a.get(r, s)))
    })
}

/// Whether A + shift I has a Cholesky factor.
fn positive(a: &Matrix, shift: f64) -> bool {
    let mut a = *a;
    (0..9).for_each(|k| a[k][k] += shift);
    for k in 0..9 {
        if a[k][k] <= 0.0 {
            return false;
        }
        for (r, s) in (k + 1..9).flat_map(|r| (k + 1..9).map(move |s| (r, s))) {
            a[r][s] -= a[r][k] * a[k][s] / a[k][k];
        }
    }
    true
}

/// Whether the projection of A is P, where A = P − N, P and N are positive semidefinite, and P N = 0.
fn check_projection(fibers: Fibers, w: &[[f64; 3]; 3]) {
    let [exact, p] = hessians(fibers, w);
    let n: Matrix = std::array::from_fn(|r| std::array::from_fn(|s| p[r][s] - exact[r][s]));
    let size = exact.as_flattened().iter().fold(1.0_f64, |m, v| m.max(v.abs()));
    assert!(positive(&p, 1e-12 * size) && positive(&n, 1e-12 * size), "{w:?}");
    for (r, s) in (0..81).map(|rs| (rs / 9, rs % 9)) {
        let product: f64 = (0..9).map(|t| p[r][t] * n[t][s]).sum();
        assert!(product.abs() < 1e-12 * size * size, "{product:e} {w:?}");
    }
}

/// Each stretch has its own w. A shear has negative eigenvalues only where its w are neither 0 nor orthogonal, so that
/// with one w of 0 a single one is projected. The other modulus is too small to count.
#[test]
fn projections_drop_the_negative_part() {
    let mut random = SplitMix64::new(8);
    let mut states: Vec<[[f64; 3]; 3]> =
        (0..200).map(|_| [(); 3].map(|()| [(); 3].map(|()| 1.5 * random.number()))).collect();
    states.extend([AXES, [[0.0; 3]; 3], [AXES[0], AXES[0], [0.0; 3]], [AXES[0], [-0.5, 0.0, 0.0], AXES[1]]]);
    for w in &states {
        check_projection(Fibers { stretch: 2.0, shear: 1e-300 }, w);
        for zero in 0..3 {
            let mut pair = *w;
            pair[zero] = [0.0; 3];
            check_projection(Fibers { stretch: 1e-300, shear: 3.0 }, &pair);
        }
    }
}

/// The columns (3, 0, 0), (1, 1, 0), (0, 0, 0) have the lengths 3, √2, 0 and one nonzero product, 3.
#[test]
fn one_state_by_hand() {
    let mut body = corner(Fibers { stretch: 2.0, shear: 4.0 });
    let w = [[3.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0; 3]];
    let (root, energy) = (2.0_f64.sqrt(), body.energy(w.as_flattened()));
    assert!((6.0 * energy.value - (4.0 + (root - 1.0).powi(2) + 1.0 + 18.0)).abs() < 1e-14);
    let magnitude = 2.0 * (2.0 * 4.0 + (root - 1.0) * (root + 1.0) + 1.0) + 2.0 * 4.0 * 3.0 * 3.0;
    assert!((6.0 * energy.magnitude - magnitude).abs() < 1e-13, "{energy:?}");
    let mut forces = [0.0; 9];
    body.add_gradient(w.as_flattened(), &mut forces);
    let pull = 2.0 * (root - 1.0) / root;
    let expected = [[4.0 + 12.0, 12.0, 0.0], [36.0 + pull, pull, 0.0], [0.0; 3]];
    let close = |(a, b): (&f64, &f64)| (6.0 * a - b).abs() < 1e-13;
    assert!(forces.iter().zip(expected.as_flattened()).all(close), "{forces:?}");
}

#[test]
fn fibers_and_axes_out_of_range_are_refused() {
    let mesh = Mesh::bar([1, 1, 1], 1.0);
    let good = Fibers { stretch: 1.0, shear: 1.0 };
    let body = |fibers: Fibers, axes: [[f64; 3]; 3]| {
        let fibers = |e| if e == 2 { fibers } else { good };
        BaraffWitkin::along(&mesh, &[false; 8], fibers, |e| if e == 3 { axes } else { AXES }).err()
    };
    assert_eq!(body(good, [[0.0, -1.0, 0.0], [0.6, 0.0, 0.8], [0.8, 0.0, -0.6]]), None);
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        for fibers in [Fibers { stretch: bad, ..good }, Fibers { shear: bad, ..good }] {
            assert!(matches!(body(fibers, AXES), Some(BodyError::Fibers { index: 2, .. })), "{fibers:?}");
        }
    }
    for (i, j, bad) in [(0, 0, 1.1), (1, 1, f64::NAN), (0, 1, 1e-3), (2, 2, f64::INFINITY), (1, 0, -1e-5)] {
        let mut axes = AXES;
        axes[i][j] = bad;
        assert!(matches!(body(good, axes), Some(BodyError::Axes { index: 3, .. })), "{i} {j} {bad}");
    }
}
