//! Obstacles that hold nodes while they push: minima over all states, and Coulomb's law.

use crate::dense::{Dense, dot};
use crate::projector::{Numbers, system};
use coarsen_constraints::{ConstraintError, Constraints, ContactState, Supports, prefilter};
use coarsen_sparse::Bsr;

/// Solves until the states stay, and returns x and the forces of the obstacles.
fn settle(a: &Bsr<f64>, b: &[f64], supports: &mut Supports, most: usize) -> (Vec<f64>, Vec<f64>) {
    let (n, mut x) = (b.len(), vec![0.0; b.len()]);
    let dense = Dense::of(a);
    for _ in 0..most {
        let mut c = Constraints::new(n / 3, 3).unwrap();
        supports.constrain(&mut c).unwrap();
        let mut rhs = b.to_vec();
        supports.add_friction(&mut rhs);
        let mut filtered = prefilter(a, &c).unwrap();
        filtered.solve(&rhs, &mut x, |a, c, y| *y = Dense::of(a.elastic).solve(c)).unwrap();
        let force: Vec<f64> =
            (0..n).map(|i| (0..n).map(|j| dense.at(i, j) * x[j]).sum::<f64>() - b[i]).collect();
        if supports.review(&x, &force) == 0 {
            return (x, force);
        }
    }
    panic!("the states still change after {most} reviews");
}

const NODES: usize = 7;

/// Without friction, x is the minimum over all subsets of obstacles that are touched, found within four reviews.
#[test]
fn without_friction_x_is_the_minimum() {
    let mut touched = 0;
    for seed in 0..40 {
        let mut random = Numbers(seed);
        let (a, b) = (system(NODES, 3, seed), random.vector(3 * NODES));
        let planes: Vec<(usize, [f64; 3], f64)> = (0..4)
            .map(|k| (k + seed as usize % 3, [random.next(), random.next(), 1.5], 0.3 * random.next() - 0.1))
            .collect();
        let mut supports = Supports::new(NODES);
        for &(node, normal, offset) in &planes {
            supports.add(node, normal, offset, [0.0; 3], 0.0).unwrap();
        }
        let (x, force) = settle(&a, &b, &mut supports, 4);
        let energy = |x: &[f64]| {
            let dense = Dense::of(&a);
            let ax: Vec<f64> =
                (0..x.len()).map(|i| (0..x.len()).map(|j| dense.at(i, j) * x[j]).sum()).collect();
            0.5 * dot(x, &ax) - dot(x, &b)
        };
        let gap = |x: &[f64], &(node, normal, offset): &(usize, [f64; 3], f64)| {
            dot(&normal, &x[3 * node..3 * node + 3]) - offset
        };
        for (k, plane) in planes.iter().enumerate() {
            let push = dot(&plane.1, &force[3 * plane.0..3 * plane.0 + 3]);
            let free = supports.state(k) == ContactState::Free;
            touched += usize::from(!free);
            assert!(gap(&x, plane) > -1e-7 && push > -1e-7, "{seed}: {} {push}", gap(&x, plane));
            assert!(if free { push.abs() < 1e-7 } else { gap(&x, plane).abs() < 1e-7 }, "{seed}");
        }
        let least = (0..1 << planes.len()).filter_map(|subset: usize| {
            let mut c = Constraints::new(NODES, 3).unwrap();
            let held = planes.iter().enumerate().filter(|(k, _)| subset >> k & 1 == 1);
            held.for_each(|(_, (node, normal, offset))| c.plane(*node, normal, *offset).unwrap());
            let mut y = vec![0.0; b.len()];
            let mut filtered = prefilter(&a, &c).unwrap();
            filtered.solve(&b, &mut y, |a, c, y| *y = Dense::of(a.elastic).solve(c)).unwrap();
            planes.iter().all(|plane| gap(&y, plane) > -1e-9).then(|| energy(&y))
        });
        let least = least.fold(f64::INFINITY, f64::min);
        assert!((energy(&x) - least).abs() < 1e-7 * least.abs().max(1.0), "{seed}: {} {least}", energy(&x));
    }
    assert!((30..130).contains(&touched), "{touched} of 160");
}

/// A node on a slope sticks up to μ, and slides beyond with the force μ λ against its motion. A node that is pulled off
/// leaves.
#[test]
fn nodes_stick_and_slide() {
    let a = system(1, 3, 5);
    let stiffness = a.get(0, 0);
    assert!(stiffness > 0.0);
    for (tangent, friction, expected) in [
        (0.3, 0.5, ContactState::Stick),
        (0.8, 0.5, ContactState::Slide),
        (0.8, 0.0, ContactState::Slide),
        (-0.8, 0.5, ContactState::Slide),
    ] {
        let mut supports = Supports::new(1);
        supports.add(0, [0.0, 2.0, 0.0], 0.2, [0.3, 0.1, 0.4], friction).unwrap();
        let at = [0.3, 0.1, 0.4];
        // A force of 10 onto the plane y = 0.1, and of 10 tan along it, on top of the one that keeps the node at p.
        let push = [10.0 * tangent, -10.0, 0.0];
        let b: Vec<f64> =
            (0..3).map(|i| push[i] + (0..3).map(|j| a.get(i, j) * at[j]).sum::<f64>()).collect();
        let (x, force) = settle(&a, &b, &mut supports, 10);
        assert_eq!(supports.state(0), expected, "{tangent} {friction}");
        assert!((x[1] - 0.1).abs() < 1e-12, "{x:?}");
        match expected {
            ContactState::Stick => assert_eq!(x, at),
            _ => {
                let slip = [x[0] - at[0], x[2] - at[2]];
                assert!(slip[0] * tangent > 0.0);
                let rest = force[0].hypot(force[2]);
                assert!((rest - friction * force[1]).abs() < 2e-3 * force[1], "{force:?}");
                assert!(friction == 0.0 || slip[0] * force[0] + slip[1] * force[2] < 0.0);
            }
        }
        let lifted: Vec<f64> = b.iter().zip([0.0, 20.0, 0.0]).map(|(b, up)| b + up).collect();
        let (x, force) = settle(&a, &lifted, &mut supports, 10);
        assert!(
            supports.state(0) == ContactState::Free && x[1] > 0.1 && force.iter().all(|f| f.abs() < 1e-9)
        );
    }
}

#[test]
fn obstacles_that_are_not_valid_are_refused() {
    let mut supports = Supports::new(2);
    assert!(supports.is_empty());
    let up = [0.0, 1.0, 0.0];
    let error = supports.add(2, up, 0.0, [0.0; 3], 0.0).unwrap_err();
    assert!(matches!(error, ConstraintError::Node { node: 2, nodes: 2, .. }));
    let error = supports.add(0, [0.0; 3], 0.0, [0.0; 3], 0.0).unwrap_err();
    assert!(matches!(error, ConstraintError::Vanishing { .. }));
    for (normal, offset, point) in [
        (up, f64::NAN, [0.0; 3]),
        (up, 0.0, [f64::INFINITY, 0.0, 0.0]),
        ([f64::NAN, 0.0, 0.0], 0.0, [0.0; 3]),
        ([f64::NAN, 1.0, 0.0], 0.0, [0.0; 3]),
        ([f64::INFINITY, 1.0, 0.0], 0.0, [0.0; 3]),
    ] {
        let error = supports.add(0, normal, offset, point, 0.0).unwrap_err();
        assert!(matches!(error, ConstraintError::NotFinite { .. }), "{error}");
    }
    let error = supports.add(1, [0.0, 1.0, 0.0], 0.0, [0.0; 3], -0.5).unwrap_err();
    assert!(matches!(error, ConstraintError::Friction { node: 1, .. }) && error.to_string().contains("-0.5"));
    assert_eq!(supports.len(), 0);
    supports.add(1, [0.0, 1.0, 0.0], 0.0, [0.0; 3], 0.5).unwrap();
    // With y ≥ 0 and x + y ≥ 0, the force on the node does not tell which obstacle pushes.
    let error = supports.add(1, [1.0, 1.0, 0.0], 0.0, [0.0; 3], 0.5).unwrap_err();
    assert!(
        matches!(error, ConstraintError::Occupied { node: 1 }) && error.to_string().contains("penalties")
    );
    assert_eq!(supports.len(), 1);
    supports.clear();
    assert_eq!(supports.len(), 0);
    supports.add(1, [1e-200, 1e-200, 0.0], 0.0, [0.0; 3], 0.5).unwrap();
}

/// An obstacle that moves takes its node along, and the node keeps its state, with friction along the new plane.
#[test]
fn obstacles_move_and_keep_states() {
    let a = system(1, 3, 5);
    let mut supports = Supports::new(1);
    let b = [10.0, -20.0, 0.0];
    supports.add(0, [0.0, 1.0, 0.0], 0.1, [0.0, 0.1, 0.0], 0.1).unwrap();
    settle(&a, &b, &mut supports, 10);
    assert_eq!((supports.state(0), supports.node(0)), (ContactState::Slide, 0));
    supports.put(0, [0.1, 1.0, 0.0], 0.2, [0.0, 0.2, 0.0], 0.1).unwrap();
    let mut drag = vec![0.0; 3];
    supports.add_friction(&mut drag);
    assert!(supports.len() == 1 && supports.state(0) == ContactState::Slide && drag[0] < 0.0);
    assert!((0.1 * drag[0] + drag[1]).abs() < 1e-12 * drag[0].abs(), "{drag:?}");
    let (x, _) = settle(&a, &b, &mut supports, 10);
    assert!((0.1 * x[0] + x[1] - 0.2).abs() < 1e-12, "{x:?}");
    // The result is that of a start without a state, up to the share at which friction has settled.
    let mut again = Supports::new(1);
    again.put(0, [0.1, 1.0, 0.0], 0.2, [0.0, 0.2, 0.0], 0.1).unwrap();
    let (y, _) = settle(&a, &b, &mut again, 10);
    assert!((0..3).all(|k| (x[k] - y[k]).abs() < 1e-2 * x[0].abs()), "{x:?} {y:?}");
    assert!(supports.put(1, [0.0, 1.0, 0.0], 0.0, [0.0; 3], 0.0).is_err());
}

/// An obstacle that becomes smooth has no friction, also where friction is frozen.
#[test]
fn obstacles_that_become_smooth_have_no_friction() {
    let (a, b, up) = (system(1, 3, 5), [10.0, -20.0, 0.0], [0.0, 1.0, 0.0]);
    for frozen in [false, true] {
        let mut supports = Supports::new(1);
        supports.add(0, up, 0.1, [0.0, 0.1, 0.0], 0.1).unwrap();
        settle(&a, &b, &mut supports, 10);
        supports.freeze_friction(frozen);
        supports.put(0, up, 0.1, [0.0, 0.1, 0.0], 0.0).unwrap();
        let (x, force) = settle(&a, &b, &mut supports, 10);
        let mut drag = vec![0.0; 3];
        supports.add_friction(&mut drag);
        assert!(supports.state(0) == ContactState::Slide && drag == [0.0; 3] && (x[1] - 0.1).abs() < 1e-12);
        assert!(force[0].abs() + force[2].abs() < 1e-9 * force[1], "{force:?}");
    }
}

/// While friction is frozen, nodes are only held and released.
#[test]
fn frozen_friction_stays() {
    let a = system(1, 3, 5);
    let mut supports = Supports::new(1);
    supports.add(0, [0.0, 1.0, 0.0], 0.1, [0.0, 0.1, 0.0], 0.1).unwrap();
    supports.freeze_friction(true);
    let (x, _) = settle(&a, &[10.0, -20.0, 0.0], &mut supports, 10);
    let mut drag = vec![0.0; 3];
    supports.add_friction(&mut drag);
    assert!(supports.state(0) == ContactState::Slide && drag == [0.0; 3] && (x[1] - 0.1).abs() < 1e-12);
    supports.freeze_friction(false);
    settle(&a, &[10.0, -20.0, 0.0], &mut supports, 10);
    supports.add_friction(&mut drag);
    let before = drag.clone();
    supports.freeze_friction(true);
    settle(&a, &[30.0, -40.0, 0.0], &mut supports, 10);
    drag.fill(0.0);
    supports.add_friction(&mut drag);
    assert!(before[0] < 0.0 && drag == before);
    settle(&a, &[0.0, 20.0, 0.0], &mut supports, 10);
    assert_eq!(supports.state(0), ContactState::Free);
}

/// A solve that failed does not look like states that have settled, and leaves them as they are.
#[test]
fn numbers_that_are_not_finite_settle_nothing() {
    let mut supports = Supports::new(2);
    supports.add(0, [0.0, 1.0, 0.0], 0.0, [0.0; 3], 0.1).unwrap();
    let (good, zero) = (vec![1.0; 6], vec![0.0; 6]);
    assert_eq!(supports.review(&good, &zero), 0);
    for (at, bad) in [(1, f64::NAN), (4, f64::NAN), (0, f64::INFINITY)] {
        let mut v = good.clone();
        v[at] = bad;
        assert_eq!((supports.review(&v, &zero), supports.review(&good, &v)), (1, 1), "{at}");
        assert_eq!(supports.state(0), ContactState::Free);
    }
}

/// An obstacle that takes the place of another is named by the number of that one.
#[test]
fn errors_name_the_obstacle() {
    let mut supports = Supports::new(3);
    (0..2).for_each(|node| supports.add(node, [0.0, 1.0, 0.0], 0.0, [0.0; 3], 0.0).unwrap());
    for (node, constraint) in [(0, 0), (1, 1), (2, 2)] {
        let vanishing = supports.put(node, [0.0; 3], 0.0, [0.0; 3], 0.0);
        assert_eq!(vanishing, Err(ConstraintError::Vanishing { constraint, nodes: vec![node as u32] }));
        let infinite = supports.put(node, [0.0, 1.0, 0.0], f64::INFINITY, [0.0; 3], 0.0);
        assert_eq!(infinite, Err(ConstraintError::NotFinite { constraint, nodes: vec![node as u32] }));
    }
}
