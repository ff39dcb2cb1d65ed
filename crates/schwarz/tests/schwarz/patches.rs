//! Invariants of contact and patches.

use coarsen_backend::conformance::noise;
use coarsen_backend::{Cpu, Reused, SetupError};
use coarsen_core::Cancel;
use coarsen_problems::Problem;
use coarsen_schwarz::{Coarse, Schwarz};
use coarsen_sparse::{Contacts, Sum, System, assembly};

use crate::common::{applied, difference, exact, problem};

/// Returns springs between nodes that are far apart in the mesh.
fn springs(p: &Problem, count: usize, seed: u64, stiffness: f64) -> (Vec<(u32, u32)>, Vec<f64>) {
    let n = p.matrix.pattern().rows();
    let ends = noise(2 * count, seed);
    let (mut places, mut values) = (Vec::new(), Vec::new());
    for pair in ends.chunks_exact(2) {
        let [i, j] = [0, 1].map(|k| (((pair[k] + 1.0) / 2.0 * (n - 60) as f64) as usize + 30) as u32);
        let mut spring = [0.0; 9];
        spring.iter_mut().step_by(4).for_each(|v| *v = stiffness);
        for (place, sign) in [((i, i), 1.0), ((i, j), -1.0), ((j, i), -1.0), ((j, j), 1.0)] {
            places.push(place);
            values.extend(spring.map(|v| sign * v));
        }
    }
    (places, values)
}

#[test]
fn contact_takes_part_on_every_level() {
    let p = problem("cloth:25");
    let mut contact = Contacts::new(625, 3).unwrap();
    let (places, values) = springs(&p, 40, 5, 10.0);
    contact.replace(&places, &values).unwrap();
    let sum = Sum { elastic: &p.matrix, contact: &contact };
    let merged = sum.merge().unwrap();
    for coarse in [Coarse::Domains, Coarse::Exact { unknowns: 200 }] {
        let parameters = Schwarz { coarse, ..exact() };
        let parts = System { positions: Some(&p.positions), ..System::from(&sum) };
        let whole = System { positions: Some(&p.positions), ..System::from(&merged) };
        let (mut m, mut w) =
            (parameters.build(parts, &Cpu::new()).unwrap(), parameters.build(whole, &Cpu::new()).unwrap());
        assert_eq!(m.plan().domains(0), w.plan().domains(0));
        let r = noise(1875, 6);
        for level in 0..m.plan().levels() {
            assert_eq!(m.plan().domains(level), w.plan().domains(level));
            for d in 0..m.plan().domains(level) {
                assert_eq!(
                    m.plan().members(level, d),
                    w.plan().members(level, d),
                    "{coarse:?} level {level}"
                );
            }
        }
        let off = difference(&applied(&mut m, &r), &applied(&mut w, &r));
        assert!(off < 1e-10, "{coarse:?}: {off:.1e}");
    }
}

/// A patch of the changed rows equals an update of all rows, and recomputes few domains.
#[test]
fn patch_equals_update_on_the_same_maps() {
    let p = problem("cloth:45");
    let n = p.matrix.pattern().rows();
    let build = |parameters: Schwarz, contact: &Contacts<f64>| {
        let sum = Sum { elastic: &p.matrix, contact };
        parameters.build(System { positions: Some(&p.positions), ..System::from(&sum) }, &Cpu::new()).unwrap()
    };
    let mut contact = Contacts::new(n, 3).unwrap();
    let (places, values) = springs(&p, 6, 5, 10.0);
    contact.replace(&places, &values).unwrap();
    let (new_places, new_values) = springs(&p, 5, 9, 40.0);
    let mut touched: Vec<u32> = places.iter().chain(&new_places).map(|p| p.0).collect();
    touched.sort_unstable();
    touched.dedup();
    for coarse in [Coarse::Domains, Coarse::Exact { unknowns: 300 }] {
        let parameters = Schwarz { coarse, ..Schwarz::multilevel() };
        let (mut patched, mut updated) = (build(parameters, &contact), build(parameters, &contact));
        let mut next = contact.clone();
        next.replace(&new_places, &new_values).unwrap();
        let sum = Sum { elastic: &p.matrix, contact: &next };
        let reused = patched.patch(&sum, &touched).unwrap();
        assert_eq!(updated.update(&sum).unwrap(), Reused::Structure);
        let Reused::Rest { redone, of } = reused else { panic!("{reused:?}") };
        assert!(redone < of / 2, "{redone} of {of}");
        let r = noise(3 * n, 6);
        assert_eq!(applied(&mut patched, &r), applied(&mut updated, &r));
        patched.patch(&p.matrix, &touched).unwrap(); // contact gone
        updated.update(&p.matrix).unwrap();
        assert_eq!(applied(&mut patched, &r), applied(&mut updated, &r));
        assert_eq!(patched.age(), 2);
    }
}

/// Results computed by a refused patch are not used by the next patch.
#[test]
fn a_refused_patch_leaves_nothing_behind() {
    let p = problem("cloth:25"); // two sides of it are held: rows of the identity
    let mut m = Schwarz::multilevel().build(p.system(), &Cpu::new()).unwrap();
    let [i, j] = [0, 1].map(|k| m.plan().left_out()[k]);
    let r = noise(1875, 6);
    let before = applied(&mut m, &r);
    let mut other = p.matrix.clone();
    for (node, factor) in [(i as usize, 2.0), (j as usize, 0.0)] {
        let k = other.pattern().find(node, node).unwrap();
        other.values_mut()[9 * k..9 * k + 9].iter_mut().for_each(|v| *v *= factor);
    }
    let refused = m.patch(&other, &[i, j]).unwrap_err();
    assert!(matches!(refused, SetupError::ZeroDiagonal { row, .. } if row == 3 * j as usize), "{refused}");
    assert_eq!(applied(&mut m, &r), before);
    m.patch(p.system(), &[j]).unwrap();
    assert_eq!(applied(&mut m, &r), before);
}

/// Nor are results of an update or a patch that was cancelled after its checks.
#[test]
fn a_cancelled_update_leaves_nothing_behind() {
    let p = problem("cloth:25");
    let mut m = Schwarz::multilevel().build(p.system(), &Cpu::new()).unwrap();
    let [i, j] = [0, 1].map(|k| m.plan().left_out()[k]);
    let r = noise(1875, 6);
    let before = applied(&mut m, &r);
    let mut other = p.matrix.clone();
    let k = other.pattern().find(i as usize, i as usize).unwrap();
    other.values_mut()[9 * k..9 * k + 9].iter_mut().for_each(|v| *v *= 2.0);
    let cancel = Cancel::new();
    cancel.cancel();
    let system = System { cancel: Some(&cancel), ..System::from(&other) };
    for touched in [None, Some([i])] {
        let refused = match touched {
            None => m.update(system),
            Some(touched) => m.patch(system, &touched),
        };
        assert_eq!(refused.unwrap_err(), SetupError::Cancelled);
        m.patch(p.system(), &[j]).unwrap();
        assert_eq!(applied(&mut m, &r), before);
    }
}

/// If the coarsest level can no longer be factored, an update is a build.
#[test]
fn a_coarsest_level_without_a_factor_is_built_anew() {
    let n = 200;
    let chain = |inside: f64, across: f64| {
        let coupling = |i: usize| if i % 16 == 15 { across } else { inside };
        let mut entries: Vec<(u32, u32, f64)> = (0..n).map(|i| (i as u32, i as u32, 2.5)).collect();
        for i in 0..n - 1 {
            entries.push((i as u32, i as u32 + 1, coupling(i)));
            entries.push((i as u32 + 1, i as u32, coupling(i)));
        }
        assembly::from_triplets(n, n, &entries).unwrap()
    };
    let (sound, indefinite) = (chain(-1.0, -1.0), chain(-0.5, -100.0));
    let positions: Vec<[f64; 3]> = (0..n).map(|i| [i as f64, 0.0, 0.0]).collect();
    let system = |a| System { positions: Some(&positions), ..System::from(a) };
    let parameters = Schwarz { coarse: Coarse::Exact { unknowns: 100 }, ..exact() };
    let mut m = parameters.build(system(&sound), &Cpu::new()).unwrap();
    assert!(m.plan().top_nodes() > 0);
    assert_eq!(m.update(system(&indefinite)).unwrap(), Reused::Nothing);
    let mut rebuilt = parameters.build(system(&indefinite), &Cpu::new()).unwrap();
    let r = noise(n, 3);
    assert_eq!(applied(&mut m, &r), applied(&mut rebuilt, &r));
}

/// A held node is in no domain. Its contact couplings to other nodes are ignored on every level; only its
/// diagonal block of contact is used.
#[test]
fn contact_with_a_held_node_stays_outside() {
    let p = problem("cloth:25");
    let mut m = exact().build(p.system(), &Cpu::new()).unwrap();
    assert!(m.plan().levels() > 1, "{m}");
    let (held, free) = (m.plan().left_out()[0], 310);
    assert!(!m.plan().left_out().contains(&free));
    let spring = |sign: f64| (0..9).map(move |k| if k % 4 == 0 { sign * 40.0 } else { 0.0 });
    let mut applied_with = |places: &[(u32, u32)]| {
        let value = |&(i, j): &(u32, u32)| spring(if i == j { 1.0 } else { -1.0 });
        let values: Vec<f64> = places.iter().flat_map(value).collect();
        let mut contact = Contacts::new(625, 3).unwrap();
        contact.replace(places, &values).unwrap();
        assert_eq!(m.update(&Sum { elastic: &p.matrix, contact: &contact }).unwrap(), Reused::Structure);
        applied(&mut m, &noise(1875, 6))
    };
    let diagonal = [(held, held), (free, free)];
    let without = applied_with(&diagonal);
    assert_eq!(applied_with(&[diagonal[0], (held, free), (free, held), diagonal[1]]), without);
    assert_ne!(applied_with(&diagonal[..1]), without);
}
