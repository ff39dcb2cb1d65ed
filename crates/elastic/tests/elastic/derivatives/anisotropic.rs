//! Anisotropic cloth compared with the same energy written for dual numbers, and its bending by direction.

use coarsen_elastic::{AnisotropicMembrane, Orthotropic, PlanarStiffness, Potential, Shell};

use super::duals::{D, REST, TRIANGLES, c, columns, dot, hats};
use super::{duals, noise, sheet};

const STRAINS: [f64; 3] = [0.03, 0.1, 0.3];
const ROUND: f64 = 1e-3;

/// c₁₁, c₁₂, c₂₂, c₃₃ at the strains, for the directions 0°, 45° and 90°.
const NUMBERS: [[[f64; 4]; 3]; 3] = [
    [[2000.0, 300.0, 1500.0, 400.0], [3000.0, 200.0, 1600.0, 500.0], [9000.0, -400.0, 1700.0, 700.0]],
    [[1800.0, 250.0, 1400.0, 300.0], [2000.0, 300.0, 1500.0, 900.0], [2500.0, 300.0, 2000.0, 3000.0]],
    [[1900.0, 300.0, 1500.0, 350.0], [1700.0, 300.0, 2500.0, 400.0], [1500.0, 300.0, 5000.0, 300.0]],
];

fn planar() -> PlanarStiffness {
    let all = NUMBERS.map(|of| of.map(|[c11, c12, c22, c33]| Orthotropic { c11, c12, c22, c33 }));
    PlanarStiffness::new(&STRAINS, all.each_ref().map(|of| &of[..])).unwrap()
}

/// ∫₀^λ μ C(μ) dμ and C(λ) of one number.
fn mean(direction: usize, number: usize, lambda: D) -> [D; 2] {
    let at = |k: usize| NUMBERS[direction][k][number];
    let (mut integral, mut last) = (c(0.0), c(at(0)));
    let mut from = c(0.0);
    for k in 0..4 {
        let line = |x: D| match k {
            0 => c(at(0)),
            3 => c(at(2)),
            _ => {
                c(at(k - 1))
                    + c((at(k) - at(k - 1)) / (STRAINS[k] - STRAINS[k - 1])) * (x - c(STRAINS[k - 1]))
            }
        };
        let end = STRAINS.get(k).copied().unwrap_or(f64::INFINITY);
        let to = if lambda.value < end { lambda } else { c(end) };
        // Simpson's rule is exact for the quadratic μ C(μ).
        let middle = c(0.5) * (from + to);
        let f = |x: D| x * line(x);
        integral += (to - from) * c(1.0 / 6.0) * (f(from) + c(4.0) * f(middle) + f(to));
        (from, last) = (to, line(to));
        if lambda.value < end {
            break;
        }
    }
    [integral, last]
}

/// Returns E of both triangles, and adds its gradient to g. The strain must be one with λ > 0.
fn energy(x: &[D], g: &mut [D]) -> D {
    let mut all = c(0.0);
    for t in TRIANGLES {
        let (area, slopes) = hats(t);
        let w = columns(t, &slopes, x);
        let [u, v] = w.map(|w| c(0.5) * (dot(w, w) - c(1.0)));
        let shear = dot(w[0], w[1]);
        let (d, m, s) = (c(0.5) * (u - v), c(0.5) * (u + v), c(0.5) * shear);
        let r = (d * d + s * s + c(ROUND * ROUND)).sqrt();
        let (lambda, t_) = (m + r - c(ROUND), d / r);
        assert!(lambda.value > 0.0);
        let positive = |v: D| if v.value > 0.0 { v } else { c(0.0) };
        let (plus, minus) = (positive(t_), positive(-t_));
        let weights = [plus * plus, c(1.0) - t_ * t_, minus * minus];
        let by_t = [c(2.0) * plus, c(-2.0) * t_, c(-2.0) * minus];
        // The three products of (2): Σ w C̄, its derivative by t, and by λ.
        let p = [c(0.5) * u * u, u * v, c(0.5) * v * v, c(0.5) * shear * shear];
        let [mut e, mut e_t, mut e_l] = [c(0.0); 3];
        let mut sums = [c(0.0); 4];
        for (k, n) in (0..12).map(|kn| (kn / 4, kn % 4)) {
            let [integral, last] = mean(k, n, lambda);
            let average = c(2.0) * integral / (lambda * lambda);
            sums[n] += weights[k] * average;
            e += weights[k] * average * p[n];
            e_t += by_t[k] * average * p[n];
            e_l += weights[k] * c(2.0) * (last - average) / lambda * p[n];
        }
        all += c(area) * e;
        // ∂E/∂(u, v, shear)
        let r_d = d / r;
        let slope = |by_d: f64, by_m: f64, by_s: f64| {
            let of_r = c(by_d) * r_d + c(by_s) * (s / r);
            e_t * (c(by_d) - t_ * of_r) / r + e_l * (c(by_m) + of_r)
        };
        let stress = [
            sums[0] * u + sums[1] * v + slope(0.5, 0.5, 0.0),
            sums[1] * u + sums[2] * v + slope(-0.5, 0.5, 0.0),
            sums[3] * shear + slope(0.0, 0.0, 0.5),
        ];
        for (a, k) in (0..9).map(|e| (e / 3, e % 3)) {
            let of_u = stress[0] * w[0][k] + stress[2] * w[1][k];
            let of_v = stress[1] * w[1][k] + stress[2] * w[0][k];
            g[3 * t[a] as usize + k] += c(area) * (c(slopes[a][0]) * of_u + c(slopes[a][1]) * of_v);
        }
    }
    all
}

#[test]
fn the_membrane_agrees_with_dual_numbers() {
    let flat = REST.map(|[u, v]| [u, v, 0.0]);
    let placed = |[a, b, d, e]: [f64; 4]| -> Vec<f64> {
        let place = |(i, p): (usize, &[f64; 3])| {
            [a * p[0] + b * p[1], d * p[0] + e * p[1], 0.1 * ((i + 1) as f64).cos()]
        };
        flat.iter().enumerate().flat_map(place).collect()
    };
    // In all intervals of strain, along u, along v and sheared, with an indefinite Hessian.
    for map in [
        [1.01, 0.0, 0.0, 0.99],
        [1.05, 0.02, 0.0, 0.9],
        [1.15, 0.0, 0.1, 0.8],
        [0.8, 0.1, 0.0, 1.2],
        [1.4, 0.3, 0.0, 1.1],
        [0.9, 0.4, 0.3, 0.9],
    ] {
        let cloth = AnisotropicMembrane::new(planar(), &TRIANGLES, &REST, &[false; 4], &flat).unwrap();
        duals::check(cloth, energy, &placed(map));
    }
}

/// Projected and constant Hessians are positive semidefinite, and exact ones are derivatives of gradients.
#[test]
fn projected_hessians_are_semidefinite() {
    let (rest, triangles) = sheet(4, 0.3);
    let flat: Vec<[f64; 3]> = rest.iter().map(|&[u, v]| [u, v, 0.0]).collect();
    let held: Vec<bool> = (0..16).map(|i| i < 4).collect();
    for (stretch, shake) in [(1.2, 0.03), (0.7, 0.05)] {
        let noise = noise(48, 7);
        let x = flat.as_flattened().iter().zip(&noise).map(|(x, n)| stretch * x + shake * n);
        let cloth = AnisotropicMembrane::new(planar(), &triangles, &rest, &held, &flat).unwrap();
        super::check("anisotropic membrane", cloth, &x.skip(12).collect::<Vec<_>>());
    }
}

/// A sheet resists a stretch along u, between both and along v by the numbers of each direction.
#[test]
fn directions_differ() {
    let pull = |angle: f64| {
        let (s, k) = angle.sin_cos();
        let rest = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]];
        // Stretched by 30 % along (k, s), in space.
        let place = |[u, v]: [f64; 2]| {
            let along = 1.3 * (k * u + s * v);
            [along, k * v - s * u, 0.0]
        };
        let flat = rest.map(|[u, v]| [u, v, 0.0]);
        let mut cloth = AnisotropicMembrane::new(planar(), &[[0, 1, 2]], &rest, &[false; 3], &flat).unwrap();
        cloth.energy(rest.map(place).as_flattened()).value
    };
    let [u, between, v] = [0.0, 45.0, 90.0].map(|degrees: f64| pull(degrees.to_radians()));
    assert!(u > 1.5 * v && v > 1.15 * between, "{u} {between} {v}");
}

/// Each hinge has the stiffness that it is given.
#[test]
fn hinges_bend_by_their_own_stiffness() {
    let flat = [[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [1.0, 0.0, 0.0]];
    let triangles = [[0, 1, 2], [1, 0, 3]];
    let mut folded = flat;
    folded[3] = [0.0, 0.0, 1.0];
    let energy = |mut shell: Shell| shell.energy(folded.as_flattened()).value;
    let given =
        Shell::by_hinge(|hinge| 1.0 + f64::from(hinge[2]), &triangles, &flat, &[false; 4], &flat).unwrap();
    let expected = 3.0 * energy(Shell::new(1.0, &triangles, &flat, &[false; 4], &flat).unwrap());
    assert!((energy(given) / expected - 1.0).abs() < 1e-14);
    assert!(Shell::by_hinge(|_| 0.0, &triangles, &flat, &[false; 4], &flat).is_err());
}
