//! Triangles of cloth by hand, and cloth with a stiffness by direction and strain.

use coarsen_elastic::{
    AnisotropicMembrane, Curved, Fabric, Orthotropic, PlanarStiffness, Potential, Triangle,
};

const FABRIC: Fabric = Fabric { stretch: 5e3, coupling: 0.0, shear: 1e3 };
const REST: [[f64; 2]; 3] = [[0.0, 0.0], [0.5, 0.0], [0.5, 0.5]]; // slopes (−2, 0), (2, −2), (0, 2)

fn stretched(place: impl Fn([f64; 2]) -> [f64; 3]) -> Curved {
    Triangle::new(REST).at(FABRIC, &REST.map(place)).curvature(false)
}

#[test]
fn a_flat_triangle_by_hand() {
    let k = stretched(|[u, v]| [u, v, 0.0]);
    assert_eq!(k.area, 0.125);
    assert_eq!(k.stiffness(0, 0), [5e3 * 0.5, 0.0, 0.0, 0.0, 1e3 * 0.5, 0.0, 0.0, 0.0, 0.0]);
    assert_eq!(k.stiffness(2, 2), [1e3 * 0.5, 0.0, 0.0, 0.0, 5e3 * 0.5, 0.0, 0.0, 0.0, 0.0]);
    // Of slopes (2, −2) and (0, 2).
    assert_eq!(k.stiffness(1, 2), [-1e3 * 0.5, 0.0, 0.0, 1e3 * 0.5, -5e3 * 0.5, 0.0, 0.0, 0.0, 0.0]);
}

#[test]
fn a_collapsed_triangle_has_finite_derivatives() {
    let fabric = Fabric { coupling: 1e3, ..FABRIC };
    for x in [[[1.0, 2.0, 3.0]; 3], REST.map(|[_, v]| [0.0, v, 0.0])] {
        let at = Triangle::new(REST).at(fabric, &x);
        assert!(at.gradient().iter().flatten().all(|g| g.is_finite()));
        for (exact, a, b) in [(true, 0, 1), (false, 0, 1), (false, 1, 1)] {
            assert!(at.curvature(exact).stiffness(a, b).iter().all(|k| k.is_finite()));
        }
    }
}

#[test]
fn compression_leaves_no_negative_part() {
    let k = stretched(|[u, v]| [0.5 * u, v, 0.0]).stiffness(0, 0);
    assert_eq!((k[8], k[0] > 0.0), (0.0, true));
}

/// The energy per area of a stretch e along x is ½ E / (1 − ν²) e² if the width is fixed, and ½ E e² if
/// the sheet may narrow by ν e.
#[test]
fn an_isotropic_sheet_narrows_by_poissons_ratio() {
    let (fabric, e) = (Fabric::isotropic(2.0, 0.3), 1e-4);
    let energy = |across: f64| {
        let x = REST.map(|[u, v]| [(1.0 + e) * u, (1.0 + across) * v, 0.0]);
        Triangle::new(REST).at(fabric, &x).energy().value / 0.125
    };
    assert!((energy(0.0) / (e * e / 0.91) - 1.0).abs() < 1e-9);
    assert!((energy(-0.3 * e) / (e * e) - 1.0).abs() < 1e-9);
    let turned = Triangle::flat([[1.0, 1.0, 0.0], [1.0, 1.5, 0.0], [1.0, 1.5, 0.5]]).unwrap();
    assert!((turned.area - 0.125).abs() < 1e-15);
    assert!(Triangle::flat([[0.0; 3], [1.0, 0.0, 0.0], [2.0, 0.0, 0.0]]).is_none());
}

const STRAINS: [f64; 3] = [0.02, 0.05, 0.2];

/// C at these strains, for the directions 0°, 45° and 90°.
fn samples() -> [[Orthotropic; 3]; 3] {
    let c = |k: f64| Orthotropic { c11: 1000.0 * k, c12: 200.0, c22: 700.0 * k, c33: 300.0 / k };
    [[1.0, 2.0, 5.0], [0.8, 0.9, 1.5], [1.0, 1.1, 0.7]].map(|of| of.map(c))
}

fn planar() -> PlanarStiffness {
    PlanarStiffness::new(&STRAINS, samples().each_ref().map(|of| &of[..])).unwrap()
}

/// Along proportional strains the energy grows by the work of (1), up to δ.
#[test]
fn the_work_of_the_paper_along_proportional_strains() {
    let (planar, mut work, steps) = (planar(), 0.0, 20_000);
    let along = [0.3, 0.0, 0.0];
    for k in 0..steps {
        let p = along.map(|p| p * (f64::from(k) + 0.5) / f64::from(steps));
        let last = STRAINS.partition_point(|&strain| strain < p[0]);
        let along_u = samples()[0].map(|c| c.c11);
        let c11 = match last {
            0 => along_u[0],
            3 => along_u[2],
            _ => {
                let share = (p[0] - STRAINS[last - 1]) / (STRAINS[last] - STRAINS[last - 1]);
                along_u[last - 1] + share * (along_u[last] - along_u[last - 1])
            }
        };
        work += c11 * p[0] * along[0] / f64::from(steps);
    }
    let energy = planar.energy(along);
    assert!((energy / work - 1.0).abs() < 5e-3, "{energy} {work}");
}

/// The stress (S_uu, S_vv, S_uv) of a triangle with the strain (ε_uu, ε_vv, γ), from the forces on two corners:
/// ½ (S_uu w_u + S_uv w_v) and ½ (S_vv w_v + S_uv w_u).
fn stress(cloth: &mut AnisotropicMembrane, [u, v, g]: [f64; 3]) -> [f64; 3] {
    let a = (1.0 + 2.0 * u).sqrt(); // w_u = (a, 0) and w_v = (b, c)
    let b = g / a;
    let c = (1.0 + 2.0 * v - b * b).sqrt();
    let mut forces = [0.0; 9];
    cloth.add_gradient(&[0.0, 0.0, 0.0, a, 0.0, 0.0, b, c, 0.0], &mut forces);
    let uv = 2.0 * forces[4] / c;
    [(2.0 * forces[3] - uv * b) / a, 2.0 * forces[7] / c, uv]
}

/// The stress is continuous where the strain passes samples and directions.
#[test]
fn stress_has_no_jumps() {
    let rest = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]];
    let flat = rest.map(|[u, v]| [u, v, 0.0]);
    let mut cloth = AnisotropicMembrane::new(planar(), &[[0, 1, 2]], &rest, &[false; 3], &flat).unwrap();
    let path = |k: u32| {
        let a = f64::from(k) * 1e-5;
        [0.1 - 0.2 * a, -0.1 + 0.25 * a, 0.03 * (3.0 * a).sin()]
    };
    for k in 0..100_000 {
        let [before, after] = [path(k), path(k + 1)].map(|p| stress(&mut cloth, p));
        let jump = (0..3).map(|i| (after[i] - before[i]).abs()).fold(0.0, f64::max);
        assert!(jump < 0.2, "{k}: {before:?} {after:?}");
    }
}

/// u and v may be exchanged with all numbers, and the sign of shear does not matter.
#[test]
fn u_and_v_may_be_exchanged() {
    let turn = |c: Orthotropic| Orthotropic { c11: c.c22, c22: c.c11, ..c };
    let [a, b, c] = samples().map(|of| of.map(turn));
    let (planar, other) = (planar(), PlanarStiffness::new(&STRAINS, [&c, &b, &a]).unwrap());
    for [u, v, g] in [[0.1, -0.02, 0.05], [-0.1, 0.3, 0.0], [0.04, 0.04, -0.2]] {
        let e = planar.energy([u, v, g]);
        assert!(e > 0.0 && (other.energy([v, u, g]) / e - 1.0).abs() < 1e-14);
        assert_eq!(planar.energy([u, v, -g]), e);
    }
}

#[test]
fn samples_out_of_range_are_refused() {
    let good = Orthotropic { c11: 2.0, c12: 1.0, c22: 2.0, c33: 1.0 };
    let refused = |strains: &[f64], c: Orthotropic| {
        let samples = vec![c; strains.len()];
        PlanarStiffness::new(strains, [&samples; 3]).is_err()
    };
    assert!(!refused(&[0.1, 0.2], good));
    for strains in [&[0.0, 0.1][..], &[0.2, 0.1], &[0.1, f64::NAN], &[]] {
        assert!(refused(strains, good), "{strains:?}");
    }
    for c in [
        Orthotropic { c12: 2.1, ..good },
        Orthotropic { c11: 0.0, ..good },
        Orthotropic { c22: f64::INFINITY, ..good },
        Orthotropic { c33: -1.0, ..good },
    ] {
        assert!(refused(&[0.1], c), "{c:?}");
    }
    assert!(PlanarStiffness::new(&[0.1], [&[good], &[good], &[good, good]]).is_err());
}
