//! The couplings along which domains grow, seen from the domains.
//!
//! A domain adds the free node with the largest fraction of its couplings in the domain, and the first in the
//! order among equals. So the second node of a domain of two compares weights.

use coarsen_backend::conformance::noise;
use coarsen_problems::{cloth, poisson2d};
use coarsen_schwarz::{Coarse, Coupling, Order, Plan, Schwarz};
use coarsen_sparse::{Bsr, Contacts, Sum, System, assembly};

use crate::common::{adjacent, exact};

/// Returns a symmetric matrix of scalars with 2 on the diagonal and the given couplings.
pub(crate) fn graph_of(n: u32, couplings: &[(u32, u32, f64)]) -> Bsr<f64> {
    let mut entries: Vec<(u32, u32, f64)> = (0..n).map(|i| (i, i, 2.0)).collect();
    couplings.iter().for_each(|&(i, j, v)| entries.extend([(i, j, v), (j, i, v)]));
    assembly::from_triplets(n as usize, n as usize, &entries).unwrap()
}

/// A chain 0 - 1 - 2 - 3 with a weak link in the middle, and a fixed node 4 with a stored zero.
fn chain() -> Bsr<f64> {
    graph_of(5, &[(0, 1, -1.0), (1, 2, -0.01), (2, 3, -1.0), (3, 4, 0.0)])
}

/// Returns the domains of the finest level, each sorted.
fn domains(plan: &Plan) -> Vec<Vec<u32>> {
    let sorted = |d| {
        let mut nodes = plan.members(0, d).to_vec();
        nodes.sort_unstable();
        nodes
    };
    (0..plan.domains(0)).map(sorted).collect()
}

/// Returns the node that joins node 0 in a domain of two.
fn partner(coupling: Coupling, system: System<'_, f64>) -> u32 {
    let parameters = Schwarz { domain: 2, levels: 1, order: Order::Natural, coupling, ..exact() };
    let found = domains(&parameters.plan(system).unwrap());
    let pair = found.iter().find(|nodes| nodes.contains(&0)).unwrap();
    assert_eq!(pair.len(), 2, "{found:?}");
    pair[1]
}

/// All couplings that are not zero have the same weight.
#[test]
fn stored_zeros_do_not_couple() {
    let plan = adjacent(8, 1, Coarse::Domains).plan(System::from(&chain())).unwrap();
    assert_eq!((plan.left_out(), domains(&plan)), (&[4][..], vec![vec![0, 1, 2, 3]]));
    let a = graph_of(5, &[(0, 1, -0.01), (0, 2, -1.0), (1, 3, -1.0), (2, 4, -0.01)]);
    assert_eq!(partner(Coupling::Adjacency, System::from(&a)), 1, "equal weights, so the first");
    assert_eq!(partner(Coupling::Strength { theta: 0.0 }, System::from(&a)), 2);
}

/// Contact with neighbours and with other nodes gives the domains of the merged matrix. The strength of a
/// coupling by elements and by contact is the larger of the two.
#[test]
fn contact_between_neighbours_is_no_second_link() {
    let a = chain();
    let mut contact = Contacts::new(5, 1).unwrap();
    contact.replace(&[(0, 1), (2, 0), (2, 1), (2, 3), (2, 4)], &[-9.0; 5]).unwrap();
    let p = poisson2d(12).unwrap();
    let (mut places, ends) = (Vec::new(), noise(120, 3));
    for (k, pair) in ends.chunks_exact(2).enumerate() {
        let [i, j] = [0, 1].map(|e| ((pair[e] + 1.0) / 2.0 * 143.99) as u32);
        let j = if k % 2 == 0 { (i + 1) % 144 } else { j }; // mostly neighbours, or any two nodes
        if i != j {
            places.extend([(i, j), (j, i)]);
        }
    }
    places.sort_unstable();
    places.dedup();
    let mut many = Contacts::new(144, 1).unwrap();
    many.replace(&places, &vec![-9.0; places.len()]).unwrap();
    for (a, contact) in [(&a, &contact), (&p.matrix, &many)] {
        let sum = Sum { elastic: a, contact };
        let merged = sum.merge().unwrap();
        for domain in 2..8 {
            let parameters = Schwarz { order: Order::Natural, ..adjacent(domain, 9, Coarse::Domains) };
            let parts = parameters.plan(System::from(&sum)).unwrap();
            let whole = parameters.plan(System::from(&merged)).unwrap();
            assert_eq!((parts.levels(), parts.left_out()), (whole.levels(), whole.left_out()));
            for level in 0..parts.levels() {
                assert_eq!(parts.domains(level), whole.domains(level));
                for d in 0..parts.domains(level) {
                    assert_eq!(parts.members(level, d), whole.members(level, d), "level {level}, {domain}");
                }
            }
        }
    }
    // Nodes 1 and 2 each have half of their couplings in the domain of node 0, or node 2 has more.
    let tie = graph_of(5, &[(0, 1, -1.0), (0, 2, -1.0), (1, 3, -1.0), (2, 4, -1.0)]);
    let uneven = graph_of(5, &[(0, 1, -0.6), (0, 2, -0.5), (1, 3, -0.6), (2, 4, -0.6)]);
    let strength = Coupling::Strength { theta: 0.0 };
    for (a, coupling, value, expected) in [
        (&tie, Coupling::Adjacency, -9.0, 1),
        (&tie, strength, -1.0, 1),
        (&tie, strength, -9.0, 2),
        (&uneven, strength, -0.5, 1), // 0.25, not 0.5
        (&uneven, strength, -1.0, 2),
    ] {
        let mut contact = Contacts::new(5, 1).unwrap();
        contact.replace(&[(0, 2), (2, 0)], &[value; 2]).unwrap();
        let found = partner(coupling, System::from(&Sum { elastic: a, contact: &contact }));
        assert_eq!(found, expected, "{coupling:?}: {value}");
    }
}

/// A coupling below the threshold is ignored. Strengths are relative to the diagonal blocks, so that domains
/// do not depend on the units of the unknowns.
#[test]
fn weak_couplings_do_not_count() {
    let a = chain();
    let plan = |theta: f64| {
        let parameters = Schwarz { domain: 8, levels: 1, coupling: Coupling::Strength { theta }, ..exact() };
        parameters.plan(System::from(&a)).unwrap()
    };
    let (weak, all) = (plan(0.1), plan(0.0));
    assert_eq!((weak.left_out(), domains(&weak)), (&[4][..], vec![vec![0, 1], vec![2, 3]]));
    assert_eq!((all.left_out(), domains(&all)), (&[4][..], vec![vec![0, 1, 2, 3]]));
    let sheet = cloth(21, 0.01).unwrap().matrix;
    let mut scaled = sheet.clone();
    let d = |i: usize| 2.0_f64.powi(i as i32 % 5 - 2);
    let pattern = sheet.pattern().clone();
    for i in 0..pattern.rows() {
        for k in pattern.range(i) {
            let factor = d(i) * d(pattern.indices()[k] as usize);
            scaled.values_mut()[9 * k..9 * k + 9].iter_mut().for_each(|v| *v *= factor);
        }
    }
    for theta in [0.0, 0.25] {
        let parameters = Schwarz { levels: 1, coupling: Coupling::Strength { theta }, ..exact() };
        let [before, after] = [&sheet, &scaled].map(|a| domains(&parameters.plan(System::from(a)).unwrap()));
        assert_eq!(before, after, "{theta}");
    }
}

/// On the second level, domains 0 and 2 share two couplings, and domains 0 and 1 share one.
#[test]
fn coarse_weights_add_up() {
    let natural = Schwarz { order: Order::Natural, ..adjacent(2, 2, Coarse::Domains) };
    let plan = natural.plan(System::from(&chain())).unwrap();
    assert_eq!((plan.domains(0), plan.nodes(1), plan.domains(1), plan.members(1, 0)), (2, 2, 1, &[0, 1][..]));
    let pairs = [(0, 1, -1.0), (2, 3, -1.0), (4, 5, -1.0), (6, 7, -1.0)];
    let across = [(0, 4, -1.0), (1, 5, -1.0), (0, 2, -1.0), (4, 6, -1.0), (3, 7, -1.0)];
    let plan = natural.plan(System::from(&graph_of(8, &[&pairs[..], &across].concat()))).unwrap();
    assert_eq!(domains(&plan), [[0, 1], [2, 3], [4, 5], [6, 7]]);
    assert_eq!((plan.members(1, 0), plan.members(1, 1)), (&[0, 2][..], &[1, 3][..]));
}
