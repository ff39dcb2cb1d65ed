//! Rebuilds within an update: a system without positions and near-kernel has those of the last build.

use coarsen_backend::conformance::noise;
use coarsen_backend::{Cpu, Reused, Update};
use coarsen_core::Preconditioner;
use coarsen_multigrid::{Keep, Multigrid};
use coarsen_problems::Problem;
use coarsen_smoothed_aggregation::SmoothedAggregation;
use coarsen_smoothed_aggregation::tamstorf;
use coarsen_sparse::{Bsr, Contacts, NearKernel, Sum, System};

use crate::common::{applied, problem};
use crate::spring;

/// A spring between two nodes that are not neighbours.
fn spring(p: &Problem) -> Contacts<f64> {
    let n = p.matrix.pattern().rows();
    spring::spring(n, [n as u32 / 2, n as u32 - 1], p.matrix.values()[0].abs())
}

fn parameters(keep: Keep) -> Multigrid<SmoothedAggregation> {
    Multigrid { keep, coarse_size: 60, ..tamstorf() }
}

/// With the same pattern and with another one, in an update and in a patch: the bits are those of a build with all
/// parts. The table says what was kept.
#[test]
fn a_rebuild_keeps_positions_and_near_kernel() {
    let p = problem("elasticity3d:7");
    let (contact, r) = (spring(&p), noise(p.matrix.shape().0, 4));
    let touching = Sum { elastic: &p.matrix, contact: &contact };
    let of = |system: System<'_, f64>| {
        applied(&mut parameters(Keep::Nothing).build(system, &Cpu::new()).unwrap(), &r)
    };
    let points = System { near_kernel: None, ..p.system() };
    let vectors = System { positions: None, ..p.system() };
    for (first, said) in [
        (p.system(), "positions and near-kernel of an earlier build"),
        (points, "positions of an earlier build"),
        (vectors, "near-kernel of an earlier build"),
    ] {
        let mut m = parameters(Keep::Nothing).build(first, &Cpu::new()).unwrap();
        assert!(!m.to_string().contains("earlier"), "{m}");
        for (bare, contact) in [(System::from(&p.matrix), None), (System::from(&touching), Some(&contact))] {
            let whole = of(System { contact, ..first });
            assert_ne!(whole, of(bare), "rigid-body modes change nothing");
            m.update(bare).unwrap();
            assert_eq!(applied(&mut m, &r), whole);
            assert!(m.to_string().contains(said), "{m}");
            m.patch(bare, &[1]).unwrap();
            assert_eq!(applied(&mut m, &r), whole);
        }
        m.update(first).unwrap();
        assert!(!m.to_string().contains("earlier"), "{m}");
    }
}

/// New values on kept aggregates make prolongations from the same near-kernel.
#[test]
fn new_prolongations_keep_the_near_kernel() {
    let p = problem("elasticity3d:7");
    let r = noise(p.matrix.shape().0, 4);
    let mut m = parameters(Keep::Aggregates).build(p.system(), &Cpu::new()).unwrap();
    let before = applied(&mut m, &r);
    assert_eq!(m.update(&p.matrix).unwrap(), Reused::Structure);
    assert_eq!(applied(&mut m, &r), before);
}

/// Another number of nodes has no use for them, and a near-kernel that an update gives replaces that of the build.
#[test]
fn parts_of_other_nodes_are_dropped() {
    let (p, smaller) = (problem("elasticity3d:7"), problem("elasticity3d:6"));
    let rebuilt = |system: System<'_, f64>| {
        let r = noise(system.matrix.shape().0, 4);
        applied(&mut parameters(Keep::Nothing).build(system, &Cpu::new()).unwrap(), &r)
    };
    let mut m = parameters(Keep::Nothing).build(p.system(), &Cpu::new()).unwrap();
    let again =
        |m: &mut dyn coarsen_core::Preconditioner<Vec<f64>>, a: &Bsr<f64>| applied(m, &noise(a.shape().0, 4));
    m.update(&smaller.matrix).unwrap();
    assert_eq!(again(&mut m, &smaller.matrix), rebuilt(System::from(&smaller.matrix)));
    m.update(&p.matrix).unwrap();
    assert_eq!(again(&mut m, &p.matrix), rebuilt(System::from(&p.matrix)));
    let constants = NearKernel::constants(p.matrix.shape().0, 3).unwrap();
    m.update(p.system()).unwrap();
    m.update(System { near_kernel: Some(&constants), ..System::from(&p.matrix) }).unwrap();
    m.update(&p.matrix).unwrap();
    let expected = System { near_kernel: Some(&constants), ..p.system() };
    assert_eq!(again(&mut m, &p.matrix), rebuilt(expected));
}

/// An update to a system of another size has the bits of a build, and so have those that follow. A matrix that cannot be
/// updated to changes nothing.
#[test]
fn a_hierarchy_in_f32_follows_another_size() {
    let [small, large] = ["poisson2d:20", "poisson2d:30"].map(|name| problem(name).matrix);
    let scaled = |a: &Bsr<f64>, factor: f64| {
        let mut a = a.clone();
        a.values_mut().iter_mut().for_each(|v| *v *= factor);
        a
    };
    let mut m = tamstorf().build_f32((&small).into()).unwrap();
    for a in [&large, &small, &scaled(&small, 2.0), &scaled(&small, 3.0), &large, &scaled(&large, 0.5)] {
        m.update_from(a.into()).unwrap();
        let n = a.shape().0;
        assert_eq!(Preconditioner::<Vec<f64>>::size(&m), Some(n));
        let r = noise(n, 4);
        let expected = applied(&mut tamstorf().build_f32(a.into()).unwrap(), &r);
        assert_eq!(applied(&mut m, &r), expected);
        m.update_from((&scaled(a, f64::NAN)).into()).unwrap_err();
        assert_eq!(applied(&mut m, &r), expected);
    }
}
