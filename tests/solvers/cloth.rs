//! Cloth that falls on a floor: sums of energies, changing contact, and updates of preconditioners.

use std::cell::RefCell;
use std::rc::Rc;

use coarsen::PreconditionerKind;
use coarsen::backend::{SetupError, Update};
use coarsen::descent::{BackendObjective, CachedPreconditioner, HostObjective, refreshed};
use coarsen::elastic::{Bending, Fabric, ImplicitEuler, Membrane, Plus, Potential, Spring, Springs};
use coarsen::prelude::*;
use coarsen::sparse::SystemAt;
use coarsen_contact::{Obstacle, Plane};

/// The number of vertices per side.
const SIDE: usize = 7;

/// The spacing in m.
const H: f64 = 0.05;

/// The time step in s.
const STEP: f64 = 0.02;

/// A tilted sheet 2 cm above a floor, and its positions.
fn sheet() -> (ImplicitEuler<impl Potential + use<>>, Vec<f64>) {
    let at = |i: usize| [(i / SIDE) as f64 * H, (i % SIDE) as f64 * H, 0.02 + (i / SIDE) as f64 * H * 0.3];
    let cell = |c: usize| {
        let (a, n) = ((c / (SIDE - 1) * SIDE + c % (SIDE - 1)) as u32, SIDE as u32);
        [[a, a + n, a + n + 1], [a, a + n + 1, a + 1]]
    };
    let triangles: Vec<[u32; 3]> = (0..(SIDE - 1) * (SIDE - 1)).flat_map(cell).collect();
    let positions: Vec<[f64; 3]> = (0..SIDE * SIDE).map(at).collect();
    let free = [false; SIDE * SIDE];
    let membrane = Membrane::in_space(Fabric::isotropic(200.0, 0.3), &triangles, &free, &positions).unwrap();
    let masses = membrane.masses(0.2);
    let bending = Bending::new(3.0 * 1e-4, &triangles, &positions, &free, &positions).unwrap();
    let plane = Plane::through([0.0; 3], [0.0, 0.0, 1.0]).unwrap();
    let floor = Obstacle::new(SIDE * SIDE, plane, 50.0).unwrap();
    let all = Plus::new(Plus::new(bending, membrane).unwrap(), floor).unwrap();
    (ImplicitEuler::new(all, &masses, STEP).unwrap(), positions.into_flattened())
}

fn block_jacobi<F: SystemAt>(f: &mut F, x: &[f64]) -> CachedPreconditioner {
    CachedPreconditioner::build(f, x, |system| {
        Ok(Box::new(BlockJacobi::default().build_from(system, &Cpu::new())?))
    })
    .unwrap()
}

/// Newton's method, on host vectors and on a backend, and L-BFGS take the same steps onto the floor.
/// Preconditioners get contact separately from the matrix.
#[test]
fn every_driver_takes_the_same_steps_onto_the_ground() {
    let mut ends: Vec<Vec<f64>> = Vec::new();
    for driver in ["newton", "newton on a backend", "l-bfgs"] {
        let (mut body, mut x) = sheet();
        let mut v = vec![0.0; x.len()];
        let mut touched = 0;
        for step in 0..8 {
            let before = x.clone();
            body.begin(&before, &v, [0.0, 0.0, -9.81]).unwrap();
            let m = block_jacobi(&mut body, &x);
            let mut descent = Descent::new(MoreThuente::default(), Stop::absolute(1e-9));
            descent.refresh = Refresh::Every(2);
            let report = match driver {
                "newton" => {
                    let mut f = HostObjective::new(&mut body, m).projecting_on_demand();
                    descent.minimize(&mut f, &mut Newton::inexact(), &mut x)
                }
                "newton on a backend" => {
                    let mut f = BackendObjective::new(&mut body, &x, m, &Cpu::new()).projecting_on_demand();
                    descent.minimize(&mut f, &mut Newton::inexact(), &mut x)
                }
                _ => {
                    descent.minimize(&mut body, &mut refreshed(Lbfgs::new(8, m), |d| &mut d.initial), &mut x)
                }
            };
            let report = report.unwrap();
            println!("{driver}, step {step}: {report}");
            report.converged().unwrap();
            (0..x.len()).for_each(|k| v[k] = (x[k] - before[k]) / STEP);
            touched = touched.max(body.system_at(&x).unwrap().contact.as_ref().map_or(0, |c| c.len()));
        }
        assert!(touched > SIDE, "{driver}: {touched} nodes on the floor");
        assert!(x.iter().skip(2).step_by(3).all(|z| *z > -0.02), "{driver}");
        ends.push(x);
    }
    for end in &ends[1..] {
        let gap = end.iter().zip(&ends[0]).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(gap < 1e-6, "{gap:e} m");
    }
}

/// Rebuilds the preconditioner for a new pattern, and updates it for an old pattern.
#[test]
fn a_cached_preconditioner_is_rebuilt_for_a_new_pattern() {
    let rope = |pairs: &[[u32; 2]]| {
        let spring = |&ends: &[u32; 2]| Spring { ends, stiffness: 1e3, length: 1.0 };
        let springs = Springs::new(pairs.iter().map(spring).collect(), &[false; 3], &[[0.0; 3]; 3]).unwrap();
        ImplicitEuler::new(springs, &[1.0; 3], 0.1).unwrap()
    };
    let x = vec![0.0, 0.0, 0.0, 1.1, 0.0, 0.0, 1.9, 0.2, 0.0];
    let mut one = rope(&[[0, 1]]);
    let build = |system: System<'_, f64>| Ok(Box::new(Ic0::default().build_from(system, &Cpu::new())?) as _);
    let mut m: CachedPreconditioner = CachedPreconditioner::build(&mut one, &x, build).unwrap();
    let mut other = rope(&[[0, 1], [1, 2]]);
    assert!(!m.refresh(&mut one, &x).unwrap()); // the same pattern: not rebuilt
    assert!(m.refresh(&mut other, &x).unwrap());
    let mut rebuilt: CachedPreconditioner = CachedPreconditioner::build(&mut other, &x, build).unwrap();
    let (mut z, mut expected) = (vec![0.0; 9], vec![0.0; 9]);
    m.apply(&x, &mut z);
    rebuilt.apply(&x, &mut expected);
    assert_eq!(z, expected);
    assert!(!CachedPreconditioner::<Vec<f64>>::constant(Box::new(Identity)).refresh(&mut other, &x).unwrap());
}

/// The identity, which notes how it is updated.
struct Notes(Rc<RefCell<Vec<&'static str>>>);

impl Preconditioner<Vec<f64>> for Notes {
    fn apply(&mut self, r: &Vec<f64>, z: &mut Vec<f64>) {
        z.clone_from(r);
    }
    fn kind(&self) -> PreconditionerKind {
        PreconditionerKind::Symmetric
    }
    fn size(&self) -> Option<usize> {
        None
    }
}

impl Update<f64> for Notes {
    fn update_from(&mut self, _: System<'_, f64>) -> Result<Reused, SetupError> {
        self.0.borrow_mut().push("update");
        Ok(Reused::Structure)
    }
    fn patch_from(&mut self, system: System<'_, f64>, touched: &[u32]) -> Result<Reused, SetupError> {
        assert_eq!(touched.len(), system.matrix.pattern().rows());
        self.0.borrow_mut().push("patch");
        Ok(Reused::Structure)
    }
}

/// Pairs that come or go patch a preconditioner; new values of the same pairs update it.
#[test]
fn new_pairs_are_patched() {
    let (mut body, x) = sheet();
    let notes = Rc::new(RefCell::new(Vec::new()));
    let own = notes.clone();
    let mut m: CachedPreconditioner =
        CachedPreconditioner::build(&mut body, &x, move |_| Ok(Box::new(Notes(own.clone())))).unwrap();
    let at = |height: f64| -> Vec<f64> {
        x.iter().enumerate().map(|(k, x)| if k % 3 == 2 { x + height } else { 1.01 * x }).collect()
    };
    for height in [0.0, -0.03, -0.031, -0.2, 0.0, 0.01] {
        assert!(m.refresh(&mut body, &at(height)).unwrap());
    }
    assert_eq!(*notes.borrow(), ["update", "patch", "update", "patch", "patch", "update"]);
}
