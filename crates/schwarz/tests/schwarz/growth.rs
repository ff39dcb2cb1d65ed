//! Domains and levels: the order from which domains grow, what they contain, and where levels end.

use coarsen_problems::{cloth, graph, poisson2d};
use coarsen_schwarz::{Coarse, Coupling, Order, Schwarz};
use coarsen_sparse::{Bsr, Contacts, Graph, Sum, System, assembly};

use crate::common::{adjacent, exact};
use crate::links::graph_of;

/// Whether node i is coupled to another node.
fn is_coupled(a: &Bsr<f64>, i: usize) -> bool {
    a.row(i).any(|(j, block)| j != i && block.iter().any(|v| *v != 0.0))
}

/// Returns the nodes of all domains of the finest level, in the order of the domains.
fn listed(parameters: Schwarz, system: System<'_, f64>) -> Vec<u32> {
    let plan = Schwarz { levels: 1, ..parameters }.plan(system).unwrap();
    (0..plan.domains(0)).flat_map(|d| plan.members(0, d).to_vec()).collect()
}

/// A domain begins with the first node of the order, and equally coupled nodes follow in the order. In a
/// complete graph the domain lists the whole order.
#[test]
fn positions_win_over_the_graph() {
    let of = |order: Order, system: System<'_, f64>| {
        listed(Schwarz { order, ..adjacent(8, 1, Coarse::Domains) }, system)
    };
    let a = graph_of(3, &[(0, 1, -0.1), (0, 2, -0.1), (1, 2, -0.1)]);
    let points = [[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [1.0, 0.0, 0.0]];
    let placed = System { positions: Some(&points), ..System::from(&a) };
    assert_eq!(of(Order::Auto, placed), [0, 2, 1]);
    assert_eq!(of(Order::Natural, placed), [0, 1, 2]);
    // The path 3 - 1 - 0 - 2 - 4, with node 2 at one end of the curve.
    let a = graph_of(5, &[(3, 1, -0.1), (1, 0, -0.1), (0, 2, -0.1), (2, 4, -0.1)]);
    let points = [1.0, 2.0, 0.0, 3.0, 4.0].map(|x| [x, 0.0, 0.0]);
    let bare = System::from(&a);
    let placed = System { positions: Some(&points), ..bare };
    assert_eq!((of(Order::Auto, placed)[0], of(Order::Natural, placed)[0]), (2, 0));
    let by_graph = of(Order::Graph, placed);
    assert!(by_graph[0] == 3 || by_graph[0] == 4, "{by_graph:?}");
    assert_eq!(of(Order::Curve, placed), of(Order::Auto, placed));
    assert_eq!(of(Order::Auto, bare), by_graph);
    assert_eq!(of(Order::Curve, bare), of(Order::Graph, bare));
}

/// Two chains, 0 2 4 and 1 3 5, are coupled to each other a thousand times more weakly than inside. In the
/// strong order the domains of one chain come after those of the other.
#[test]
fn strong_parts_stand_together() {
    let a =
        graph_of(6, &[(0, 2, -1.0), (2, 4, -1.0), (1, 3, -1.0), (3, 5, -1.0), (0, 1, -1e-3), (4, 5, -1e-3)]);
    let together = |order: Order| {
        let parameters =
            Schwarz { order, domain: 2, coupling: Coupling::Strength { theta: 0.25 }, ..exact() };
        let nodes = listed(parameters, System::from(&a));
        nodes[..3].iter().all(|i| i % 2 == nodes[0] % 2)
    };
    assert!(together(Order::Strong) && !together(Order::Natural));
}

/// Two pairs of nodes coupled only by contact are adjacent in the order. The contact is too weak for a
/// domain.
#[test]
fn contact_is_part_of_the_graph() {
    let a = graph_of(8, &[(0, 1, -1.0), (2, 3, -1.0), (4, 5, -1.0), (6, 7, -1.0)]);
    let parameters = Schwarz {
        order: Order::Graph,
        domain: 2,
        levels: 1,
        coupling: Coupling::Strength { theta: 0.25 },
        ..exact()
    };
    let apart = |system: System<'_, f64>| {
        let plan = parameters.plan(system).unwrap();
        let [first, last] = [0, 6].map(|i| plan.domain_of(0, i).unwrap());
        assert_eq!([0, 6].map(|i| plan.domain_of(0, i + 1).unwrap()), [first, last]);
        first.abs_diff(last)
    };
    let mut contact = Contacts::new(8, 1).unwrap();
    contact.replace(&[(1, 6), (6, 1)], &[-0.05; 2]).unwrap();
    assert_eq!(apart(System::from(&Sum { elastic: &a, contact: &contact })), 1);
    assert_eq!(apart(System::from(&a)), 3);
}

#[test]
fn domains_are_connected_cover_the_free_nodes_and_are_full() {
    for p in [poisson2d(60).unwrap(), cloth(40, 0.01).unwrap(), graph(3000).unwrap()] {
        for most in [4, 16, 32, 64] {
            let plan = adjacent(most, 1, Coarse::Domains).plan(p.system()).unwrap();
            let graph = Graph::of(p.matrix.pattern()).unwrap();
            let free: Vec<bool> = (0..plan.nodes(0)).map(|i| is_coupled(&p.matrix, i)).collect();
            let mut seen = vec![false; free.len()];
            for d in 0..plan.domains(0) {
                let nodes = plan.members(0, d);
                assert!(nodes.len() <= most);
                nodes.iter().for_each(|&i| assert!(!std::mem::replace(&mut seen[i as usize], true)));
                let (mut reached, mut at) = (vec![nodes[0]], 0);
                while at < reached.len() {
                    for &j in graph.neighbours(reached[at] as usize) {
                        if plan.domain_of(0, j as usize) == Some(d) && !reached.contains(&j) {
                            reached.push(j);
                        }
                    }
                    at += 1;
                }
                assert_eq!(reached.len(), nodes.len(), "{}: domain {d} is not connected", p.name);
                assert!(nodes.iter().all(|&i| plan.domain_of(0, i as usize) == Some(d)));
            }
            assert_eq!(seen, free, "{}", p.name);
            assert!((0..free.len()).all(|i| free[i] != plan.left_out().contains(&(i as u32))));
            let mean = free.iter().filter(|f| **f).count() as f64 / plan.domains(0) as f64;
            println!("{} {most}: {mean:.1}", p.name);
            assert!(mean > 0.6 * most as f64, "{}: {mean:.1} nodes a domain of {most}", p.name);
        }
    }
}

/// Fig. 6: two strips that interleave in space and are not coupled.
#[test]
fn disjoint_bodies_share_no_domain() {
    let mut entries: Vec<(u32, u32, f64)> = (0..40).map(|i| (i, i, 2.0)).collect();
    for i in 0..38 {
        entries.extend([(i, i + 2, -1.0), (i + 2, i, -1.0)]); // even nodes are one strip, odd ones the other
    }
    let a = assembly::from_triplets(40, 40, &entries).unwrap();
    let positions: Vec<[f64; 3]> = (0..40).map(|i| [f64::from(i), 0.0, 0.0]).collect();
    let system = System { positions: Some(&positions), ..System::from(&a) };
    let plan = adjacent(8, 1, Coarse::Domains).plan(system).unwrap();
    assert!(plan.domains(0) >= 5);
    for d in 0..plan.domains(0) {
        assert!(plan.members(0, d).iter().all(|i| i % 2 == plan.members(0, d)[0] % 2));
    }
}

#[test]
fn maps_are_compositions() {
    let p = cloth(50, 0.01).unwrap();
    let plan = adjacent(16, 9, Coarse::Domains).plan(p.system()).unwrap();
    assert_eq!((plan.nodes(0), plan.left_out().len()), (2500, 100));
    assert!(plan.levels() >= 3 && plan.domains(plan.levels() - 1) == 1);
    for i in 0..2500 {
        let mut at = plan.map(0, i);
        assert_eq!(at.is_none(), plan.left_out().contains(&(i as u32)));
        for level in 0..plan.levels() - 1 {
            at = at.and_then(|node| plan.domain_of(level, node));
            assert_eq!(at, plan.map(level + 1, i));
        }
    }
}

#[test]
fn levels_end_where_they_are_told_to() {
    let p = poisson2d(50).unwrap();
    let levels = |parameters: Schwarz| parameters.plan(p.system()).unwrap();
    assert_eq!(levels(adjacent(32, 1, Coarse::Domains)).levels(), 1);
    let exact = levels(adjacent(16, 9, Coarse::Exact { unknowns: 200 }));
    assert_eq!((exact.levels(), exact.top_nodes()), (1, exact.domains(0)));
    assert!(exact.top_nodes() > 100);
}

#[test]
fn a_matrix_without_couplings_has_no_levels() {
    let a = Bsr::<f64>::identity(5, 2).unwrap();
    let positions: Vec<[f64; 3]> = (0..5).map(|i| [f64::from(i); 3]).collect();
    let system = System { positions: Some(&positions), ..System::from(&a) };
    let plan = adjacent(32, 9, Coarse::Domains).plan(system).unwrap();
    assert_eq!((plan.levels(), plan.domains(0), plan.values()), (1, 0, 0));
    assert_eq!(plan.left_out(), [0, 1, 2, 3, 4]);
    let none = assembly::from_triplets::<f64>(0, 0, &[]).unwrap();
    assert_eq!(adjacent(32, 9, Coarse::Auto).plan(System::from(&none)).unwrap().nodes(0), 0);
}
