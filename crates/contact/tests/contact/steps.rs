//! Time steps by Newton's method push bodies apart.

use coarsen_contact::{BodyContact, Obstacle, Penetration, Plane};
use coarsen_core::{Identity, Objective, Stop};
use coarsen_elastic::{ImplicitEuler, Lame, Plus, Potential, StableNeoHookean, Tetrahedra};
use coarsen_krylov::Cg;
use coarsen_mesh::Mesh;
use coarsen_sparse::SystemAt;

use crate::common::{contact, dot, moved, placed, together};

/// Runs Newton's method with backtracking for up to `most` iterations. Returns the energies of all iterates.
pub(crate) fn minimize<P: Potential>(f: &mut ImplicitEuler<P>, x: &mut Vec<f64>, most: usize) -> Vec<f64> {
    let (mut g, mut values) = (vec![0.0; x.len()], vec![f.value(x).value]);
    for _ in 0..most {
        f.gradient(x, &mut g);
        let mut d = vec![0.0; x.len()];
        let a = f.system_at(x).unwrap();
        Cg::new(Stop::relative(1e-6)).solve(a, &mut Identity, &g, &mut d).unwrap().converged().unwrap();
        d.iter_mut().for_each(|d| *d = -*d);
        let (value, slope) = (values[values.len() - 1], dot(&g, &d));
        let steps = (0..30).map(|k| 0.5_f64.powi(k));
        let lower = |f: &mut ImplicitEuler<P>, alpha: f64| {
            f.value(&moved(x, alpha, &d)).value <= value + 1e-4 * alpha * slope
        };
        let Some(alpha) = steps.into_iter().find(|&alpha| lower(f, alpha)) else { break };
        *x = moved(x, alpha, &d);
        values.push(f.value(x).value);
    }
    values
}

/// Two bars that cross, without gravity: they separate, and the total momentum stays zero.
#[test]
fn bars_are_pushed_apart() {
    let upper = placed(Mesh::bar([4, 1, 1], 0.43), 1.2, [1.0, -0.3, 0.83]);
    let mesh = together(&[Mesh::bar([4, 2, 2], 0.5), upper]);
    let free = vec![false; mesh.positions.len()];
    let body = Tetrahedra::new(StableNeoHookean, &mesh, &free, |_| Lame::new(1e4, 0.3)).unwrap();
    let (masses, h) = (body.masses(100.0), 0.02);
    let all = Plus::new(body, contact(&mesh, 1e3)).unwrap();
    let mut step = ImplicitEuler::new(all, &masses, h).unwrap();
    let mut x = mesh.positions.as_flattened().to_vec();
    let before = step.potential.second.penetration(&x);
    assert!(before.contacts >= 4 && before.deepest > 0.1, "{before}");
    let mut v = vec![0.0; x.len()];
    for _ in 0..14 {
        step.begin(&x, &v, [0.0; 3]).unwrap();
        let old = x.clone();
        let values = minimize(&mut step, &mut x, 4);
        assert!(values.len() > 1 && values.windows(2).all(|pair| pair[1] < pair[0]), "{values:?}");
        v = x.iter().zip(&old).map(|(new, old)| (new - old) / h).collect();
    }
    let after = step.potential.second.penetration(&x);
    assert_eq!(after, Penetration::default(), "{before}, then {after}");
    let (up, down) = (x[3 * 45 + 2] - mesh.positions[45][2], x[2] - mesh.positions[0][2]);
    assert!(up > 0.05 && down < 0.0, "{up} {down}");
    for k in 0..3 {
        let momentum: f64 = (0..masses.len()).map(|i| masses[i] * v[3 * i + k]).sum();
        assert!(momentum.abs() < 1e-3, "{momentum}");
    }
}

/// A bar falls on another bar that lies on a floor. In the end both bars are at rest and no contact is deep.
#[test]
fn a_bar_rests_on_a_bar() {
    let mesh =
        together(&[Mesh::bar([3, 2, 1], 0.5), placed(Mesh::bar([2, 2, 1], 0.4), 0.5, [0.6, 0.05, 0.52])]);
    let n = mesh.positions.len();
    let body = Tetrahedra::new(StableNeoHookean, &mesh, &vec![false; n], |_| Lame::new(1e4, 0.3)).unwrap();
    let masses = body.masses(100.0);
    let floor = Obstacle::new(n, Plane::through([0.0; 3], [0.0, 0.0, 1.0]).unwrap(), 1e4).unwrap();
    let touching = Plus::new(BodyContact::new(&mesh, &vec![false; n], 1e4).unwrap(), floor).unwrap();
    let mut step = ImplicitEuler::new(Plus::new(body, touching).unwrap(), &masses, 0.05).unwrap();
    let (mut x, mut v) = (mesh.positions.as_flattened().to_vec(), vec![0.0; 3 * n]);
    for _ in 0..20 {
        step.begin(&x, &v, [0.0, 0.0, -10.0]).unwrap();
        let old = x.clone();
        minimize(&mut step, &mut x, 6);
        v = x.iter().zip(&old).map(|(new, old)| (new - old) / 0.05).collect();
    }
    // Without friction the upper bar may slide, but it does not fall.
    let (rising, mass) =
        masses.iter().enumerate().fold((0.0, 0.0), |(p, m), (i, mass)| (p + mass * v[3 * i + 2], m + mass));
    let touching = &mut step.potential.second;
    let [bodies, floor] = [touching.first.penetration(&x), touching.second.penetration(&x)];
    assert!((rising / mass).abs() < 0.02, "{}", rising / mass);
    for Penetration { contacts, deepest } in [bodies, floor] {
        assert!(contacts > 0 && deepest < 0.03, "{contacts} {deepest}");
    }
    let lowest = x.as_chunks::<3>().0[24..].iter().map(|p| p[2]).fold(f64::INFINITY, f64::min);
    assert!(lowest > 0.4, "{lowest}");
}
