//! Friction: derivatives, nodes on slopes, and what a turning solid drags along.

use coarsen_contact::friction::{STICKING_SPEED, across, friction_terms, majoriser, stiffness};
use coarsen_contact::{ContactError, Friction, Obstacle, Plane, Shape, Sphere, Spin};
use coarsen_elastic::{Barrier, ContactPotential, ImplicitEuler, Penalty, Plus, Potential};

use crate::common::{check_gradient, check_hessian, gradient, noise};
use crate::steps::minimize;

const NONE: Spin = Spin { through: [0.0; 3], rate: [0.0; 3], drift: [0.0; 3] };

/// Nodes that slide, that stick, and that do not touch, on a ball that turns.
#[test]
fn derivatives_of_friction() {
    let ball = Sphere::new([0.0; 3], 1.0).unwrap();
    let spin = Spin { rate: [0.0, 0.3, 0.0], ..NONE };
    let start = [0.9, 0.0, 0.1, 0.0, 0.95, 0.2, 0.0, 0.0, 2.0, 0.5, 0.5, 0.5];
    for slip in [1e-6, 1e-2] {
        let mut friction = Friction::new(Obstacle::new(4, ball, 100.0).unwrap(), spin, 0.4, 0.01).unwrap();
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
    let (n, force) = ([0.6, 0.0, 0.8], 3.0);
    const SOFT: f64 = 0.01 * STICKING_SPEED;
    let product = |k: [[f64; 3]; 3], s: [f64; 3]| -> f64 {
        (0..3).map(|p| (0..3).map(|q| s[p] * k[p][q] * s[q]).sum::<f64>()).sum()
    };
    let slips = noise(60, 7);
    for at in [1e-9, 0.3 * SOFT, SOFT, 5.0 * SOFT, 0.1] {
        for both in slips.as_chunks::<6>().0 {
            let [slip, other] = [[0, 1, 2], [3, 4, 5]].map(|k| across(k.map(|k| both[k]), n));
            let s0 = slip.0.map(|s| s * at / slip.1);
            let k = majoriser(at, n, force, SOFT);
            let exact = stiffness(s0, at, n, force, SOFT);
            let energy = |length: f64| force * friction_terms(length, SOFT)[0];
            for scale in [0.0, 1e-3, 0.5, 1.0, 2.0, 1e3] {
                let s = other.0.map(|s| s * at * scale);
                let length = other.1 * at * scale;
                let above = energy(at) + 0.5 * (product(k, s) - product(k, s0));
                assert!(above >= energy(length) * (1.0 - 1e-12), "{above} at {length}, from {at}");
                assert!(product(k, s) >= product(exact, s) * (1.0 - 1e-12) - 1e-300);
            }
            // The same slope at s0.
            let slope: [f64; 3] = [0, 1, 2].map(|p| (0..3).map(|q| k[p][q] * s0[q]).sum());
            let expected = s0.map(|s| force * friction_terms(at, SOFT)[1] * s);
            assert!(slope.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-12 * force), "{slope:?}");
            assert!(product(k, n).abs() < 1e-12 * force * friction_terms(at, SOFT)[1]);
        }
    }
}

/// The velocity down a slope of a node of 2 kg after half a second. It begins at a height.
fn slides(potential: impl Into<ContactPotential>, height: f64, tangent: f64, coefficient: f64) -> f64 {
    let (cosine, h) = ((1.0 + tangent * tangent).sqrt().recip(), 0.01);
    let gravity = [10.0 * tangent * cosine, -10.0 * cosine, 0.0];
    let slope = Plane::through([0.0; 3], [0.0, 1.0, 0.0]).unwrap();
    let floor = Obstacle::with_potential(1, slope, potential).unwrap();
    let friction = Friction::new(floor.clone(), NONE, coefficient, h).unwrap();
    let mut step = ImplicitEuler::new(Plus::new(floor, friction).unwrap(), &[2.0], h).unwrap();
    let (mut x, mut v) = (vec![0.0, height, 0.0], vec![0.0; 3]);
    for _ in 0..50 {
        step.begin(&x, &v, gravity).unwrap();
        let old = x.clone();
        minimize(&mut step, &mut x, 20);
        v = x.iter().zip(&old).map(|(new, old)| (new - old) / h).collect();
    }
    v[0]
}

/// Coulomb's law, on a penalty and on a barrier: a node stays on a slope whose tangent is below μ, and accelerates by
/// g (sin − μ cos) on a steeper one.
#[test]
fn nodes_stay_on_gentle_slopes() {
    let (penalty, barrier) = (Penalty { stiffness: 1e4 }, Barrier { stiffness: 0.1, reach: 0.01 });
    // Where the forces on the slopes balance the weight: at a depth, and by bisection at a height.
    let depth = |tangent: f64| -20.0 / (1.0 + tangent * tangent).sqrt() / 1e4;
    let height = |tangent: f64| {
        let weight = 20.0 / (1.0 + tangent * tangent).sqrt();
        let (mut low, mut high) = (0.0, 0.01);
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if -barrier.at(middle)[1] > weight { low = middle } else { high = middle }
        }
        high
    };
    for potential in
        [&|tangent: f64, mu: f64| slides(penalty, depth(tangent), tangent, mu), &|tangent: f64, mu: f64| {
            slides(barrier, height(tangent), tangent, mu)
        }] as [&dyn Fn(f64, f64) -> f64; 2]
    {
        let gentle = potential(0.3, 0.5);
        assert!(gentle.abs() < 1e-3, "{gentle}");
        let expected = 0.5 * 10.0 * (0.3 - 0.2) / 1.09_f64.sqrt();
        let found = potential(0.3, 0.2);
        assert!((found / expected - 1.0).abs() < 2e-3, "{found} for {expected}");
    }
}

/// Friction takes the potential, the nodes and the edges of its obstacle: the force of a point that slides is μ times that which
/// presses it, and other nodes have none.
#[test]
fn friction_takes_what_its_obstacle_takes() {
    let barrier = Barrier { stiffness: 2.0, reach: 0.1 };
    let ball = Sphere::new([0.0, -1.0, 0.0], 1.0).unwrap();
    // Two nodes near the top of the ball, a free one that is not listed, and an edge across the top.
    let x = [0.0, 0.03, 0.0, 0.02, 0.05, 0.0, 0.0, 0.04, 0.0, -0.5, 0.02, 0.0, 0.5, 0.02, 0.0];
    let obstacle = Obstacle::with_potential(5, ball, barrier).unwrap().only(&[0, 1]).unwrap();
    let mut obstacle = obstacle.edges(&[[3, 4]], &[false; 5], x.as_chunks().0).unwrap();
    let mut friction = Friction::new(obstacle.clone(), NONE, 0.5, 0.01).unwrap();
    friction.renew(&x).unwrap();
    let slid: Vec<f64> = x.iter().enumerate().map(|(k, x)| x + f64::from(u8::from(k % 3 == 2))).collect();
    let (pressed, held) = (gradient(&mut obstacle, &x), gradient(&mut friction, &slid));
    for node in [0, 1, 3, 4] {
        let force = (0..3).map(|k| pressed[3 * node + k].powi(2)).sum::<f64>().sqrt();
        assert!(force > 0.1 && (held[3 * node + 2] - 0.5 * force).abs() < 1e-12 * force, "{node}: {held:?}");
    }
    assert_eq!((&pressed[6..9], &held[6..9]), (&[0.0; 3][..], &[0.0; 3][..]));
}

/// Below the sticking speed, the force is a share of μ λ that depends on the ratio of both speeds.
#[test]
fn the_sticking_speed_is_a_parameter() {
    let floor = Obstacle::new(1, Plane::through([0.0; 3], [0.0, 1.0, 0.0]).unwrap(), 100.0).unwrap();
    let held = |friction: Friction<Plane>, speed: f64| {
        let mut friction = friction;
        friction.renew(&[0.0, -0.2, 0.0]).unwrap();
        gradient(&mut friction, &[0.01 * speed, -0.2, 0.0])[0]
    };
    let friction = || Friction::new(floor.clone(), NONE, 0.5, 0.01).unwrap();
    assert!((held(friction(), 5e-4) - 7.5).abs() < 1e-9);
    assert!((held(friction().sticking(0.1).unwrap(), 0.05) - 7.5).abs() < 1e-9);
    assert!(held(friction().sticking(0.1).unwrap(), 5e-4) < 0.11);
    assert!(matches!(friction().sticking(0.0), Err(ContactError::Value { .. })));
}

/// A node that is pressed on a turning ball gets its velocity.
#[test]
fn a_turning_ball_drags() {
    let ball = || Sphere::new([0.0; 3], 1.0).unwrap();
    let spin = Spin { rate: [0.0, 0.0, 0.5], ..NONE };
    let (h, k) = (0.01, 1e4);
    let obstacle = Obstacle::new(1, ball(), k).unwrap();
    let both = Plus::new(obstacle.clone(), Friction::new(obstacle, spin, 0.5, h).unwrap());
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
    let make = |spin: Spin, coefficient: f64, h: f64| {
        Friction::new(Obstacle::new(1, plane, 1.0).unwrap(), spin, coefficient, h)
    };
    assert!(make(NONE, 0.1, 0.01).is_ok());
    let endless = Spin { rate: [0.0, f64::INFINITY, 0.0], ..NONE };
    for bad in [make(NONE, -0.1, 0.01), make(NONE, 0.1, 0.0), make(endless, 0.1, 0.01)] {
        assert!(matches!(bad, Err(ContactError::Value { .. })));
    }
}
