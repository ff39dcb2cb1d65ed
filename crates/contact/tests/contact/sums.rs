//! Sums of energies, and contacts and patterns that change.

use std::sync::Arc;

use coarsen_contact::{Obstacle, Plane};
use coarsen_core::{LinearOperator, Objective};
use coarsen_elastic::{
    Attachments, Barrier, BodyError, Curvature, Energy, ImplicitEuler, Plus, Potential, Spring, Springs,
    Total,
};
use coarsen_sparse::{Pattern, SystemAt};

fn springs(pairs: &[[u32; 2]]) -> Springs {
    let spring = |&ends: &[u32; 2]| Spring { ends, stiffness: 10.0, length: 1.0 };
    Springs::new(pairs.iter().map(spring).collect(), &[false; 4], &[[0.0; 3]; 4]).unwrap()
}

/// A barrier at x = −0.3.
fn wall() -> Obstacle<Plane> {
    let plane = Plane::through([-0.3, 0.0, 0.0], [1.0, 0.0, 0.0]).unwrap();
    Obstacle::with_potential(4, plane, Barrier { stiffness: 2.0, reach: 0.5 }).unwrap()
}

const X: [f64; 12] = [0.0, -0.1, 0.0, 1.2, 0.05, 0.0, 1.9, 0.5, 0.3, 3.0, 0.2, 0.1];

/// Checks ∇f by differences of f, and the matrix plus contacts by differences of ∇f.
fn check<P: Potential>(f: &mut ImplicitEuler<P>) {
    let (x, h) = (X.to_vec(), 1e-6);
    f.curvature = Curvature::Exact;
    let (mut g, mut more, mut less) = (vec![0.0; 12], vec![0.0; 12], vec![0.0; 12]);
    f.gradient(&x, &mut g);
    for k in 0..12 {
        let moved = |by: f64| {
            let mut x = x.clone();
            x[k] += by;
            x
        };
        let slope = (f.value(&moved(h)).value - f.value(&moved(-h)).value) / (2.0 * h);
        assert!((slope - g[k]).abs() < 1e-5 * g[k].abs().max(1.0), "{k}: {slope} {}", g[k]);
        f.gradient(&moved(h), &mut more);
        f.gradient(&moved(-h), &mut less);
        let (unit, mut column) = (moved(1.0).iter().zip(&x).map(|(a, b)| a - b).collect(), vec![0.0; 12]);
        f.system_at(&x).unwrap().apply(&unit, &mut column);
        for i in 0..12 {
            let slope = (more[i] - less[i]) / (2.0 * h);
            assert!(
                (slope - column[i]).abs() < 1e-4 * column[i].abs().max(1.0),
                "{i} {k}: {slope} {}",
                column[i]
            );
        }
    }
}

#[test]
fn a_sum_has_the_derivatives_of_its_parts() {
    let ropes = Plus::new(springs(&[[0, 1], [1, 2]]), springs(&[[2, 3], [0, 3]])).unwrap();
    assert_eq!(ropes.pattern().len(), 4 + 8); // the union
    let mut pins = Attachments::new(4).unwrap();
    pins.attach(3, [3.0, 0.0, 0.0], 7.0).unwrap();
    let floor = Obstacle::new(4, Plane::through([0.0; 3], [0.0, 1.0, 0.0]).unwrap(), 100.0).unwrap();
    let all = Plus::new(Plus::new(ropes, pins).unwrap(), Plus::new(floor, wall()).unwrap()).unwrap();
    let mut f = ImplicitEuler::new(all, &[1.0; 4], 0.1).unwrap();
    f.begin(&X, &[0.0; 12], [0.0, -9.81, 0.0]).unwrap();
    check(&mut f);
    let contact = f.system_at(&X).unwrap().contact.clone().unwrap();
    assert_eq!(contact.places(), [(0, 0)]); // on the floor and near the wall
    // Only the wall limits steps.
    let d: Vec<f64> = (0..12).map(|k| if k % 3 == 0 { -1.0 } else { -5.0 }).collect();
    assert!((f.max_step(&X.to_vec(), &d) - 0.9 * 0.3).abs() < 1e-12);
    // A pin is removed and another pin is added, but the pattern stays the same.
    let before = f.potential.pattern().clone();
    assert!(f.potential.first.second.release(3) && !f.potential.first.second.release(3));
    assert!(f.potential.first.second.is_empty());
    f.potential.first.second.attach(1, [0.0; 3], 2.0).unwrap();
    check(&mut f);
    assert!(Arc::ptr_eq(&before, f.potential.pattern()));
    assert!(f.potential.first.second.attach(4, [0.0; 3], 2.0).is_err());
    assert!(f.potential.first.second.attach(0, [0.0; 3], -2.0).is_err());
}

#[test]
fn parts_of_other_sizes_are_refused() {
    let refused = Plus::new(springs(&[[0, 1]]), Attachments::new(3).unwrap()).err();
    assert!(matches!(refused, Some(BodyError::Length { expected: 4, found: 3, .. })), "{refused:?}");
}

/// A spring between the two nodes that are closest to each other at the start of a step.
struct Nearest {
    spring: Springs,
    /// Whether positions that are not finite are an error; otherwise their nodes are far from all others.
    finite: bool,
    /// Whether the spring stays where it is.
    fixed: bool,
}

impl Nearest {
    fn new(ends: [u32; 2]) -> Self {
        Self { spring: springs(&[ends]), finite: true, fixed: false }
    }
}

impl Potential for Nearest {
    fn nodes(&self) -> usize {
        4
    }
    fn pattern(&self) -> &Arc<Pattern> {
        self.spring.pattern()
    }
    fn energy(&mut self, x: &[f64]) -> Energy {
        self.spring.energy(x)
    }
    fn add_gradient(&mut self, x: &[f64], g: &mut [f64]) {
        self.spring.add_gradient(x, g);
    }
    fn add_hessian(&mut self, x: &[f64], curvature: Curvature, values: &mut [f64]) {
        self.spring.add_hessian(x, curvature, values);
    }
    fn renew(&mut self, x: &[f64]) -> Result<bool, BodyError> {
        if self.finite
            && let Some(&found) = x.iter().find(|x| !x.is_finite())
        {
            return Err(BodyError::Value { what: "a position", found, range: "finite" });
        }
        if self.fixed {
            return Ok(false);
        }
        let gap = |i: usize, j: usize| (0..3).map(|k| (x[3 * i + k] - x[3 * j + k]).powi(2)).sum::<f64>();
        let pairs = (0..16).map(|k| (k / 4, k % 4)).filter(|(i, j)| i < j);
        let near = pairs.min_by(|a, b| gap(a.0, a.1).total_cmp(&gap(b.0, b.1))).unwrap();
        self.spring = springs(&[[near.0 as u32, near.1 as u32]]);
        Ok(true)
    }
}

#[test]
fn patterns_change_with_the_nearest_pairs() {
    let both = Plus::new(springs(&[[0, 1], [1, 2]]), Nearest::new([0, 3])).unwrap();
    let mut f = ImplicitEuler::new(both, &[1.0; 4], 0.1).unwrap();
    check(&mut f);
    assert!(f.last_hessian().pattern().find(0, 3).is_some());
    f.begin(&X, &[0.0; 12], [0.0; 3]).unwrap();
    check(&mut f);
    assert!(f.last_hessian().pattern().find(0, 3).is_none()); // 1 and 2 are nearest
    let mut moved = X;
    moved[9..].copy_from_slice(&[2.0, 0.6, 0.3]);
    f.begin(&moved, &[0.0; 12], [0.0; 3]).unwrap();
    assert!(f.hessian(&moved).pattern().find(2, 3).is_some());
}

/// A step that cannot begin leaves the objective unchanged.
#[test]
fn a_failed_begin_changes_nothing() {
    let both = Plus::new(springs(&[[0, 1], [1, 2]]), Nearest::new([0, 3])).unwrap();
    let mut f = ImplicitEuler::new(both, &[1.0; 4], 0.1).unwrap();
    f.begin(&X, &[0.0; 12], [0.0; 3]).unwrap();
    let (before, mut bad) = (f.value(&X.to_vec()), X);
    bad[4] = f64::NAN;
    assert!(f.begin(&bad, &[1.0; 12], [0.0; 3]).is_err());
    assert_eq!(f.value(&X.to_vec()), before);
}

/// One part of a sum has a new pattern, and another one fails in the same `begin`: the matrix follows the new
/// pattern, so that the objective can still be used.
#[test]
fn a_failed_begin_keeps_pattern_and_matrix_together() {
    let nearest = || Nearest { finite: false, ..Nearest::new([0, 3]) };
    let rope = || springs(&[[0, 1], [1, 2]]);
    let fails = || Nearest { fixed: true, ..Nearest::new([0, 1]) };
    let nested = Plus::new(nearest(), fails()).unwrap();
    let mut f = ImplicitEuler::new(Plus::new(rope(), nested).unwrap(), &[1.0; 4], 0.1).unwrap();
    let parts: Vec<Box<dyn Potential>> = vec![Box::new(rope()), Box::new(nearest()), Box::new(fails())];
    let mut g = ImplicitEuler::new(Total::new(parts).unwrap(), &[1.0; 4], 0.1).unwrap();
    let mut bad = X;
    (bad[3], bad[9]) = (f64::NAN, 1.9); // now 2 and 3 are closest
    assert!(f.begin(&bad, &[0.0; 12], [0.0; 3]).is_err());
    assert!(g.begin(&bad, &[0.0; 12], [0.0; 3]).is_err());
    for pattern in [f.hessian(&X).pattern(), g.hessian(&X).pattern()] {
        assert!(pattern.find(0, 3).is_none() && pattern.find(2, 3).is_some());
    }
    check(&mut f);
    check(&mut g);
}

/// A sum of a list of boxed parts has the values and derivatives of the nested sum, and forwards every method
/// to its parts.
#[test]
fn a_list_of_boxed_parts_is_a_sum() {
    let rope = || springs(&[[0, 1], [1, 2]]);
    let parts: Vec<Box<dyn Potential>> =
        vec![Box::new(rope()), Box::new(Nearest::new([0, 3])), Box::new(wall())];
    let mut f = ImplicitEuler::new(Total::new(parts).unwrap(), &[1.0; 4], 0.1).unwrap();
    let nested = Plus::new(Plus::new(rope(), Nearest::new([0, 3])).unwrap(), wall()).unwrap();
    let mut g = ImplicitEuler::new(nested, &[1.0; 4], 0.1).unwrap();
    (f.curvature, g.curvature) = (Curvature::Exact, Curvature::Exact);
    for start in 0..2 {
        let x = X.to_vec();
        let (one, other) = (f.value(&x).value, g.value(&x).value);
        assert!((one - other).abs() < 1e-14 * one.abs(), "{start}: {one} for {other}");
        let (h, k) = (f.hessian(&x), g.hessian(&x));
        assert_eq!(h.pattern(), k.pattern());
        // The nested sum adds in another order.
        let near = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-13 * h.get(0, 0);
        assert!(h.values().iter().zip(k.values()).all(near), "{start}");
        let (mut of_f, mut of_g) = (vec![0.0; 12], vec![0.0; 12]);
        f.potential.add_characteristic(&mut of_f[..4]);
        g.potential.add_characteristic(&mut of_g[..4]);
        assert!(of_f == of_g && of_f[0] > 0.0, "{of_f:?}");
        check(&mut f);
        f.begin(&X, &[0.0; 12], [0.0; 3]).unwrap();
        g.begin(&X, &[0.0; 12], [0.0; 3]).unwrap();
    }
    assert!(f.last_hessian().pattern().find(0, 3).is_none()); // renewed: 1 and 2 are closest
    assert!(
        f.potential.has_contact_hessian()
            && !f.system_at(&X).unwrap().contact.clone().unwrap().places().is_empty()
    );
    let d: Vec<f64> = (0..12).map(|k| if k % 3 == 0 { -1.0 } else { 0.0 }).collect();
    assert!((f.max_step(&X.to_vec(), &d) - 0.9 * 0.3).abs() < 1e-12);
}

#[test]
fn lists_without_parts_or_of_other_sizes_are_refused() {
    let refused = Total::<Springs>::new(Vec::new()).err();
    assert!(matches!(refused, Some(BodyError::Length { expected: 1, found: 0, .. })), "{refused:?}");
    let pins = [4, 3].map(|nodes| Attachments::new(nodes).unwrap()).into();
    let refused = Total::new(pins).err();
    assert!(matches!(refused, Some(BodyError::Length { expected: 4, found: 3, .. })), "{refused:?}");
}

/// m / h² is infinite or 0.
#[test]
fn time_steps_beyond_the_range_of_numbers_are_refused() {
    for h in [1e-170, 1e200] {
        let error = ImplicitEuler::new(springs(&[[0, 1]]), &[1.0; 4], h).err().unwrap();
        assert!(matches!(error, BodyError::Value { what: "the time step", .. }), "{error}");
    }
}
