//! Friction of cloth with itself and with held triangles, and of bodies.

use coarsen_contact::{ClothContact, ClothFriction, ContactError};
use coarsen_elastic::{ImplicitEuler, Plus, Potential};

use crate::common::{check_gradient, check_hessian, contact, crossing};
use crate::steps::minimize;

/// The coefficient of friction, and the time step.
const MU: f64 = 0.5;
const H: f64 = 0.01;

/// A triangle above a large one, which is held.
fn pair() -> (ClothContact, Vec<f64>) {
    let x = [
        [-5.0, 0.0, -5.0],
        [0.0, 0.0, 9.0],
        [9.0, 0.0, -5.0],
        [0.1, 0.03, 0.0],
        [0.2, 0.035, 0.5],
        [0.6, 0.04, 0.1],
    ];
    let held = [true, true, true, false, false, false];
    let contact = ClothContact::new(&[[0, 1, 2], [3, 4, 5]], &held, &x, 0.05, 1e4).unwrap();
    (contact, x.as_flattened()[9..].to_vec())
}

/// Parts that stick, and that slide. Forces of free pairs add up to zero.
#[test]
fn derivatives_of_friction_of_cloth() {
    for slip in [1e-7, 1e-3] {
        let (mut contact, start) = pair();
        let mut friction = ClothFriction::new(&contact, MU, H).unwrap();
        friction.grip(&mut contact, &start).unwrap();
        let x: Vec<f64> = start.iter().enumerate().map(|(k, x)| x + slip * (k as f64).sin()).collect();
        let g = check_gradient(&mut friction, &x, 1e-3 * slip, 1e-5);
        assert!(g.iter().any(|g| *g != 0.0));
        check_hessian(friction, &x, 1e-3 * slip, 1e-4);
    }
    let x = [
        [0.0, 0.0, 0.0],
        [3.0, 0.0, 0.0],
        [0.0, 3.0, 0.0],
        [1.0, 1.0, 0.1],
        [2.0, 1.0, 2.1],
        [1.0, 2.0, 2.1],
    ];
    let mut contact = ClothContact::new(&[[0, 1, 2], [3, 4, 5]], &[false; 6], &x, 0.3, 50.0).unwrap();
    let mut friction = ClothFriction::new(&contact, MU, H).unwrap();
    friction.grip(&mut contact, x.as_flattened()).unwrap();
    let moved: Vec<f64> =
        x.as_flattened().iter().enumerate().map(|(k, x)| x + 0.01 * (k as f64).cos()).collect();
    let mut g = vec![0.0; 18];
    friction.add_gradient(&moved, &mut g);
    for c in 0..3 {
        let sum: f64 = g.iter().skip(c).step_by(3).sum();
        assert!(sum.abs() < 1e-12, "{sum:e}");
    }
    assert!(g.iter().any(|g| g.abs() > 0.1));
}

/// The mean velocity down a slope after some steps, and after some more.
fn slides(tangent: f64) -> [f64; 2] {
    let cosine = (1.0 + tangent * tangent).sqrt().recip();
    let gravity = [10.0 * tangent * cosine, -10.0 * cosine, 0.0];
    let (contact, mut x) = pair();
    let friction = ClothFriction::new(&contact, MU, H).unwrap();
    let mut step = ImplicitEuler::new(Plus::new(contact, friction).unwrap(), &[2.0; 3], H).unwrap();
    let mut v = vec![0.0; 9];
    [40, 20].map(|steps| {
        for _ in 0..steps {
            let forces = &mut step.potential;
            forces.second.grip(&mut forces.first, &x).unwrap();
            step.begin(&x, &v, gravity).unwrap();
            let old = x.clone();
            minimize(&mut step, &mut x, 30);
            v = x.iter().zip(&old).map(|(new, old)| (new - old) / H).collect();
        }
        v.iter().step_by(3).sum::<f64>() / 3.0
    })
}

/// Coulomb's law: cloth stays on a slope whose tangent is below μ, and accelerates by g (sin − μ cos) on a steeper
/// one.
#[test]
fn cloth_stays_on_gentle_slopes() {
    let [_, gentle] = slides(0.3);
    assert!(gentle.abs() < 2e-3, "{gentle}");
    let [before, after] = slides(0.8);
    let expected = 10.0 * (0.8 - MU) / (1.0_f64 + 0.64).sqrt() * 20.0 * H;
    assert!((after - before - expected).abs() < 0.02 * expected, "{} for {expected}", after - before);
}

/// Below the sticking speed, the force is a share of μ λ that depends on the ratio of both speeds.
#[test]
fn the_sticking_speed_of_cloth_is_a_parameter() {
    let (mut contact, start) = pair();
    let slid: Vec<f64> =
        start.iter().enumerate().map(|(k, x)| x + if k % 3 == 0 { 5e-4 } else { 0.0 }).collect();
    let mut drag = |friction: ClothFriction| {
        let (mut friction, mut g) = (friction, vec![0.0; 9]);
        friction.grip(&mut contact, &start).unwrap();
        friction.add_gradient(&slid, &mut g);
        g.iter().step_by(3).sum::<f64>()
    };
    let friction = || ClothFriction::new(&pair().0, MU, H).unwrap();
    let (full, half) = (drag(friction()), drag(friction().sticking(0.1).unwrap()));
    // At half of the sticking speed φ' is 2 · 1/2 − 1/4.
    assert!(full > 0.0 && (half / full - 0.75).abs() < 1e-3, "{half} of {full}");
    assert!(matches!(friction().sticking(0.0), Err(ContactError::Value { .. })));
}

/// A triangle that moves drags the cloth along.
#[test]
fn held_triangles_drag() {
    let (mut contact, x) = pair();
    let mut friction = ClothFriction::new(&contact, MU, H).unwrap();
    friction.grip(&mut contact, &x).unwrap();
    let shifted = [[-4.9, 0.0, -5.0], [0.1, 0.0, 9.0], [9.1, 0.0, -5.0], [0.0; 3], [0.0; 3], [0.0; 3]];
    friction.hold(&shifted);
    let mut g = vec![0.0; 9];
    friction.add_gradient(&x, &mut g);
    assert!(g[0] < 0.0 && g[1].abs() < 1e-12 * g[0].abs(), "{g:?}");
}

#[test]
fn values_that_are_not_valid_are_refused() {
    let (contact, _) = pair();
    for (coefficient, h) in [(-0.1, H), (f64::NAN, H), (MU, 0.0)] {
        let error = ClothFriction::new(&contact, coefficient, h).unwrap_err();
        assert!(matches!(error, ContactError::Value { .. }), "{error}");
    }
}

/// Bodies that are pressed together by penalties: parts that stick, and that slide, whose forces are μ k |g| each and add up
/// to zero.
#[test]
fn derivatives_of_friction_of_bodies() {
    let mesh = crossing();
    let start = mesh.positions.as_flattened();
    for slip in [1e-7, 1e-2] {
        let mut contact = contact(&mesh, 50.0);
        let mut friction = ClothFriction::of_bodies(&contact, MU, H).unwrap();
        friction.grip_bodies(&mut contact, start).unwrap();
        // The upper bar, whose nodes come after those of the lower one, slides along x.
        let lower = 3 * 7 * 3 * 3;
        let along =
            |k: usize| if k >= lower && k.is_multiple_of(3) { slip } else { 0.1 * slip * (k as f64).sin() };
        let x: Vec<f64> = start.iter().enumerate().map(|(k, x)| x + along(k)).collect();
        let g = check_gradient(&mut friction, &x, 1e-3 * slip, 1e-5);
        for c in 0..3 {
            let sum: f64 = g.iter().skip(c).step_by(3).sum();
            assert!(sum.abs() < 1e-10, "{sum:e}");
        }
        let drag: f64 = g[lower..].iter().step_by(3).sum();
        let at = |v: u32| std::array::from_fn(|k| start[3 * v as usize + k]);
        let normal: f64 = contact.detect(start).unwrap().iter().map(|c| -50.0 * c.gap(at).min(0.0)).sum();
        let share = drag / (MU * normal);
        assert!(share > 0.0 && share < 1.0 && (slip < 1e-3) == (share < 0.5), "{slip}: {share}");
        check_hessian(friction, &x, 1e-3 * slip, 1e-4);
    }
    let mut contact = contact(&mesh, 50.0);
    let mut none = ClothFriction::of_bodies(&contact, 0.0, H).unwrap();
    none.grip_bodies(&mut contact, start).unwrap();
    assert_eq!(none.energy(start).value, 0.0);
}
