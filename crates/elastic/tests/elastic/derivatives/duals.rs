//! Membrane and bending compared, up to round-off, with the same energies written for dual numbers.

use coarsen_core::{LinearOperator, Objective};
use coarsen_elastic::{Bending, Curvature, Fabric, ImplicitEuler, Membrane, Potential};
use coarsen_optimize::Dual;

pub(super) type D = Dual<f64>;

/// The (u, v) of two triangles over the edge 0 1, with the tips 2 and 3.
pub(super) const REST: [[f64; 2]; 4] = [[0.0, 0.0], [1.0, 0.2], [0.3, 0.9], [0.6, -0.8]];
pub(super) const TRIANGLES: [[u32; 3]; 2] = [[0, 1, 2], [1, 0, 3]];

pub(super) fn c(v: f64) -> D {
    Dual::constant(v)
}

pub(super) fn dot(a: [D; 3], b: [D; 3]) -> D {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// The position of node i.
fn node(x: &[D], i: u32) -> [D; 3] {
    std::array::from_fn(|k| x[3 * i as usize + k])
}

/// The area of a triangle at rest, and the gradients of its shape functions.
pub(super) fn hats(t: [u32; 3]) -> (f64, [[f64; 2]; 3]) {
    let p = t.map(|i| REST[i as usize]);
    let edge = |i: usize, j: usize| [p[j][0] - p[i][0], p[j][1] - p[i][1]];
    let (a, b) = (edge(0, 1), edge(0, 2));
    let twice = a[0] * b[1] - a[1] * b[0];
    // The gradient of a shape function is the opposite edge, rotated by 90 degrees and divided by twice the
    // area.
    let hat = |i: usize, j: usize| edge(i, j).map(|e| e / twice);
    (0.5 * twice.abs(), [hat(1, 2), hat(2, 0), hat(0, 1)].map(|e| [-e[1], e[0]]))
}

/// w_u and w_v of a triangle.
pub(super) fn columns(t: [u32; 3], slopes: &[[f64; 2]; 3], x: &[D]) -> [[D; 3]; 2] {
    [0, 1].map(|s| {
        std::array::from_fn(|k| (0..3).fold(c(0.0), |sum, a| sum + c(slopes[a][s]) * node(x, t[a])[k]))
    })
}

/// Returns a (½ k (e_u² + e_v²) + c e_u e_v + ½ k' (w_u · w_v)²), and adds its gradient to g.
fn membrane(f: Fabric, x: &[D], g: &mut [D]) -> D {
    let mut energy = c(0.0);
    for t in TRIANGLES {
        let (area, slopes) = hats(t);
        let w = columns(t, &slopes, x);
        let lengths = w.map(|w| dot(w, w).sqrt());
        let ([u, v], shear) = (lengths.map(|l| l - c(1.0)), dot(w[0], w[1]));
        energy += c(area)
            * (c(0.5 * f.stretch) * (u * u + v * v)
                + c(f.coupling) * u * v
                + c(0.5 * f.shear) * shear * shear);
        let pull = [c(f.stretch) * u + c(f.coupling) * v, c(f.stretch) * v + c(f.coupling) * u];
        for (a, s, k) in (0..18).map(|e| (e / 6, e / 3 % 2, e % 3)) {
            let slope = pull[s] / lengths[s] * w[s][k] + c(f.shear) * shear * w[1 - s][k];
            g[3 * t[a] as usize + k] += c(area * slopes[a][s]) * slope;
        }
    }
    energy
}

/// The cotangent of the angle at p between q and r, in the flat cloth.
fn cotangent([p, q, r]: [u32; 3]) -> f64 {
    let [p, q, r] = [p, q, r].map(|i| REST[i as usize]);
    let (a, b) = ([q[0] - p[0], q[1] - p[1]], [r[0] - p[0], r[1] - p[1]]);
    (a[0] * b[0] + a[1] * b[1]) / (a[0] * b[1] - a[1] * b[0]).abs()
}

/// Returns ½ k / (A₀ + A₁) ‖Σ c_a x_a‖², and adds its gradient to g.
fn bending(k: f64, x: &[D], g: &mut [D]) -> D {
    let [c01, c02, c03, c04] = [[0, 1, 2], [0, 1, 3], [1, 0, 2], [1, 0, 3]].map(cotangent);
    let weights = [c03 + c04, c01 + c02, -c01 - c03, -c02 - c04];
    let scale = k / TRIANGLES.map(|t| hats(t).0).iter().sum::<f64>();
    let bend: [D; 3] =
        std::array::from_fn(|k| (0..4).fold(c(0.0), |sum, a| sum + c(weights[a]) * x[3 * a + k]));
    (0..12).for_each(|e| g[e] += c(scale * weights[e / 3]) * bend[e % 3]);
    c(0.5 * scale) * dot(bend, bend)
}

/// Compares E, ∇E · d and ∇²E d of a potential with those of `again`, for several d.
pub(super) fn check(potential: impl Potential, again: impl Fn(&[D], &mut [D]) -> D, x: &[f64]) {
    let mut f = ImplicitEuler::equilibrium(potential).unwrap();
    f.curvature = Curvature::Exact;
    let (mut g, mut product) = (vec![0.0; 12], vec![0.0; 12]);
    f.gradient(&x.to_vec(), &mut g);
    let size = |v: &[f64]| v.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
    for k in 1..13 {
        let d: Vec<f64> = (0..12).map(|i| ((i * k + 1) as f64).sin()).collect();
        let mut gradient = vec![D::default(); 12];
        let energy = again(&Dual::along(x, &d), &mut gradient);
        let value = f.value(&x.to_vec()).value;
        assert!((energy.value - value).abs() < 1e-13 * value, "{energy:?} for {value}");
        let slope: f64 = g.iter().zip(&d).map(|(g, d)| g * d).sum();
        assert!((energy.slope - slope).abs() < 1e-12 * size(&g), "{energy:?} for {slope}");
        f.hessian(x).apply(&d, &mut product);
        for i in 0..12 {
            assert!(
                (gradient[i].value - g[i]).abs() < 1e-12 * size(&g),
                "{i}: {:?} for {}",
                gradient[i],
                g[i]
            );
            let gap = (gradient[i].slope - product[i]).abs();
            assert!(gap < 1e-12 * size(&product), "{i}: {:?} for {}", gradient[i], product[i]);
        }
    }
}

#[test]
fn membrane_and_bending_agree_with_dual_numbers() {
    let flat = REST.map(|[u, v]| [u, v, 0.0]);
    let held = [false; 4];
    // Stretched and bent, then compressed so that the Hessian is indefinite.
    for stretch in [1.3, 0.6] {
        let x: Vec<f64> = flat
            .iter()
            .enumerate()
            .flat_map(|(i, p)| [stretch * p[0] + 0.1 * p[1], p[1], 0.2 * ((i + 1) as f64).cos()])
            .collect();
        for fabric in [Fabric { stretch: 5e3, coupling: 0.0, shear: 1e3 }, Fabric::isotropic(5e3, 0.3)] {
            let cloth = Membrane::new(fabric, &TRIANGLES, &REST, &held, &flat).unwrap();
            check(cloth, |x, g| membrane(fabric, x, g), &x);
        }
        let hinge = Bending::new(2.0, &TRIANGLES, &flat, &held, &flat).unwrap();
        check(hinge, |x, g| bending(2.0, x, g), &x);
    }
}
