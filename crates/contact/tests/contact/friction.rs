//! Friction: derivatives, nodes on slopes, and what a turning solid drags along.

use coarsen_contact::friction::{STICK, across, bounding, slide, stiffness};
use coarsen_contact::{ContactError, Friction, Obstacle, Plane, Shape, Sphere, Spin};
use coarsen_elastic::{ImplicitEuler, Plus, Potential};

use crate::common::{check_gradient, check_hessian, noise};
use crate::steps::minimize;

const NONE: Spin = Spin { through: [0.0; 3], rate: [0.0; 3], drift: [0.0; 3] };

/// Nodes that slide, that stick, and that do not touch, on a ball that turns.
#[test]
fn derivatives_of_friction() {
    let ball = Sphere::new([0.0; 3], 1.0).unwrap();
    let spin = Spin { rate: [0.0, 0.3, 0.0], ..NONE };
    let start = [0.9, 0.0, 0.1, 0.0, 0.95, 0.2, 0.0, 0.0, 2.0, 0.5, 0.5, 0.5];
    for slip in [1e-6, 1e-2] {
        let mut friction = Friction::new(4, ball, spin, 100.0, 0.4, 0.01).unwrap();
        friction.renew(&start).unwrap();
        let x: Vec<f64> = start.iter().enumerate().map(|(k, x)| x + slip * (k as f64).sin()).collect();
        let step = 1e-3 * slip;
        let g = check_gradient(&mut friction, &x, step, 1e-5);
        assert_eq!(g[6..9], [0.0; 3]);
        check_hessian(friction, &x, step, 1e-4);
    }
}

/// The parabola lies above the energy of friction, touches it, and bends more than it in every direction across the
/// normal.
#[test]
fn a_parabola_lies_above_friction() {
    let (n, force, h) = ([0.6, 0.0, 0.8], 3.0, 0.01);
    let product = |k: [[f64; 3]; 3], s: [f64; 3]| -> f64 {
        (0..3).map(|p| (0..3).map(|q| s[p] * k[p][q] * s[q]).sum::<f64>()).sum()
    };
    let slips = noise(60, 7);
    for at in [1e-9, 0.3 * h * STICK, h * STICK, 5.0 * h * STICK, 0.1] {
        for both in slips.as_chunks::<6>().0 {
            let [slip, other] = [[0, 1, 2], [3, 4, 5]].map(|k| across(k.map(|k| both[k]), n));
            let s0 = slip.0.map(|s| s * at / slip.1);
            let k = bounding(at, n, force, h);
            let exact = stiffness(s0, at, n, force, h);
            let energy = |length: f64| force * slide(length, h)[0];
            for scale in [0.0, 1e-3, 0.5, 1.0, 2.0, 1e3] {
                let s = other.0.map(|s| s * at * scale);
                let length = other.1 * at * scale;
                let above = energy(at) + 0.5 * (product(k, s) - product(k, s0));
                assert!(above >= energy(length) * (1.0 - 1e-12), "{above} at {length}, from {at}");
                assert!(product(k, s) >= product(exact, s) * (1.0 - 1e-12) - 1e-300);
            }
            // The same slope at s0.
            let slope: [f64; 3] = [0, 1, 2].map(|p| (0..3).map(|q| k[p][q] * s0[q]).sum());
            let expected = s0.map(|s| force * slide(at, h)[1] * s);
            assert!(slope.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-12 * force), "{slope:?}");
            assert!(product(k, n).abs() < 1e-12 * force * slide(at, h)[1]);
        }
    }
}

/// The velocity down a slope of a node of 2 kg after half a second.
fn slides(tangent: f64, coefficient: f64) -> f64 {
    let (cosine, h, k) = ((1.0 + tangent * tangent).sqrt().recip(), 0.01, 1e4);
    let gravity = [10.0 * tangent * cosine, -10.0 * cosine, 0.0];
    let slope = || Plane::through([0.0; 3], [0.0, 1.0, 0.0]).unwrap();
    let floor = Obstacle::new(1, slope(), k).unwrap();
    let friction = Friction::new(1, slope(), NONE, k, coefficient, h).unwrap();
    let mut step = ImplicitEuler::new(Plus::new(floor, friction).unwrap(), &[2.0], h).unwrap();
    let (mut x, mut v) = (vec![0.0, 2.0 * gravity[1] / k, 0.0], vec![0.0; 3]);
    for _ in 0..50 {
        step.begin(&x, &v, gravity).unwrap();
        let old = x.clone();
        minimize(&mut step, &mut x, 20);
        v = x.iter().zip(&old).map(|(new, old)| (new - old) / h).collect();
    }
    v[0]
}

/// Coulomb's law: a node stays on a slope whose tangent is below μ, and accelerates by g (sin − μ cos) on a
/// steeper one.
#[test]
fn nodes_stay_on_gentle_slopes() {
    assert!(slides(0.3, 0.5).abs() < 1e-3);
    let expected = 0.5 * 10.0 * (0.3 - 0.2) / 1.09_f64.sqrt();
    let found = slides(0.3, 0.2);
    assert!((found / expected - 1.0).abs() < 1e-3, "{found} for {expected}");
}

/// A node that is pressed on a turning ball gets its velocity.
#[test]
fn a_turning_ball_drags() {
    let ball = || Sphere::new([0.0; 3], 1.0).unwrap();
    let spin = Spin { rate: [0.0, 0.0, 0.5], ..NONE };
    let (h, k) = (0.01, 1e4);
    let both =
        Plus::new(Obstacle::new(1, ball(), k).unwrap(), Friction::new(1, ball(), spin, k, 0.5, h).unwrap());
    let mut step = ImplicitEuler::new(both.unwrap(), &[1.0], h).unwrap();
    let (mut x, mut v) = (vec![0.0, 1.0 - 1e-3, 0.0], vec![0.0; 3]);
    for _ in 0..20 {
        step.begin(&x, &v, [0.0, -10.0, 0.0]).unwrap();
        let old = x.clone();
        minimize(&mut step, &mut x, 20);
        v = x.iter().zip(&old).map(|(new, old)| (new - old) / h).collect();
    }
    assert!((v[0] + 0.5).abs() < 0.01 && ball().distance([x[0], x[1], x[2]]) < 0.0, "{v:?}");
}

#[test]
fn friction_without_meaning_is_refused() {
    let plane = Plane::through([0.0; 3], [0.0, 1.0, 0.0]).unwrap();
    let make =
        |spin: Spin, k: f64, coefficient: f64, h: f64| Friction::new(1, plane, spin, k, coefficient, h);
    assert!(make(NONE, 1.0, 0.1, 0.01).is_ok());
    let endless = Spin { rate: [0.0, f64::INFINITY, 0.0], ..NONE };
    for bad in [
        make(NONE, 0.0, 0.1, 0.01),
        make(NONE, 1.0, -0.1, 0.01),
        make(NONE, 1.0, 0.1, 0.0),
        make(endless, 1.0, 0.1, 0.01),
    ] {
        assert!(matches!(bad, Err(ContactError::Value { .. })));
    }
}
