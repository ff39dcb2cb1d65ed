//! Node embedding: new values, and sets of nodes that change.

use coarsen_node_embedding::{node_embedding, node_embedding_of};
use std::sync::Arc;

use coarsen_backend::conformance::noise;
use coarsen_backend::{Cpu, Reused};
use coarsen_node_embedding::{Constraint, Kernel, NodeEmbedding};

use crate::common::applied;
use crate::node_embedding::{Built, parameters, sparks, system};
use crate::particles::stiffness;

fn same(a: &Built, b: &Built) -> bool {
    let levels = a.levels() == b.levels();
    levels
        && (1..a.levels())
            .all(|l| a.matrix(l) == b.matrix(l) && a.prolongation(l - 1) == b.prolongation(l - 1))
}

/// New values, and another set of nodes: an update gives the bits of a build. After an error the hierarchy is as before.
#[test]
fn an_update_equals_a_build() {
    let at = |nodes: &[[i32; 3]]| -> Vec<[f64; 3]> {
        nodes.iter().map(|x| x.map(|k| 0.1 * f64::from(k))).collect()
    };
    let ((small, a), (large, b)) = (stiffness(&sparks(6), 1.0), stiffness(&sparks(7), 1.0));
    let (x, y) = (at(&small), at(&large));
    let (parameters, backend) = (node_embedding(0.1), Cpu::new());
    let mut m = parameters.build(system(&a, &x), &backend).unwrap();
    let mut doubled = a.clone();
    doubled.values_mut().iter_mut().for_each(|v| *v *= 2.0);
    assert_eq!(m.update(system(&doubled, &x)).unwrap(), Reused::Structure);
    assert!(same(&m, &parameters.build(system(&doubled, &x), &backend).unwrap()));
    assert_eq!(m.update(system(&b, &y)).unwrap(), Reused::Nothing);
    let mut rebuilt = parameters.build(system(&b, &y), &backend).unwrap();
    assert!(same(&m, &rebuilt));
    let r = noise(b.shape().0, 3);
    let before = applied(&mut rebuilt, &r);
    assert_eq!(applied(&mut m, &r), before);
    let beside: Vec<_> = x.iter().map(|x| x.map(|c| c + 0.03)).collect(); // not on the grid
    assert!(m.update(system(&a, &beside)).is_err());
    assert_eq!(applied(&mut m, &r), before, "after an error");
}

/// If all nodes are held there is no coarse node.
#[test]
fn nodes_that_are_all_held_have_no_coarse_level() {
    let (nodes, a) = stiffness(&sparks(7), 1.0);
    let free = parameters(&nodes, Kernel::Linear);
    assert!(free.build(&a, &Cpu::new()).unwrap().levels() > 1);
    let constraints: Arc<[_]> = (0..nodes.len() as u32).map(|node| (node, Constraint::Held)).collect();
    let held = node_embedding_of(NodeEmbedding { constraints, ..free.coarsening });
    assert_eq!(held.build(&a, &Cpu::new()).unwrap().levels(), 1);
}
