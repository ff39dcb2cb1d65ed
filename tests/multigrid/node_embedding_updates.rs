//! Node embedding: new values, and sets of nodes that change.

use coarsen_node_embedding::{node_embedding, node_embedding_of};
use std::sync::Arc;

use coarsen_backend::conformance::noise;
use coarsen_backend::{Cpu, Reused, Setup, UpdateExt};
use coarsen_multigrid::{Coarsest, Multigrid, Smoothing};
use coarsen_node_embedding::{Kernel, NodeEmbedding, Restraint};
use coarsen_relax::{DampedJacobi, GaussSeidel};

use crate::common::applied;
use crate::node_embedding::{Built, recipe, sparks, system};
use crate::particles::stiffness;

fn same(a: &Built, b: &Built) -> bool {
    let levels = a.levels() == b.levels();
    levels
        && (1..a.levels())
            .all(|l| a.matrix(l) == b.matrix(l) && a.prolongation(l - 1) == b.prolongation(l - 1))
}

/// New values, another set of nodes, and other restraints: an update gives the bits of a build.
#[test]
fn an_update_equals_a_build() {
    let at = |nodes: &[[i32; 3]]| -> Vec<[f64; 3]> {
        nodes.iter().map(|x| x.map(|k| 0.1 * f64::from(k))).collect()
    };
    let ((small, a), (large, b)) = (stiffness(&sparks(6), 1.0), stiffness(&sparks(7), 1.0));
    let (x, y) = (at(&small), at(&large));
    let (recipe, on) = (node_embedding(0.1), Cpu::new());
    let mut m = recipe.build(system(&a, &x), &on).unwrap();
    let mut doubled = a.clone();
    doubled.values_mut().iter_mut().for_each(|v| *v *= 2.0);
    assert_eq!(m.update(system(&doubled, &x)).unwrap(), Reused::Structure);
    assert!(same(&m, &recipe.build(system(&doubled, &x), &on).unwrap()));
    assert_eq!(m.update(system(&b, &y)).unwrap(), Reused::Nothing);
    let mut fresh = recipe.build(system(&b, &y), &on).unwrap();
    assert!(same(&m, &fresh));
    let r = noise(b.shape().0, 3);
    assert_eq!(applied(&mut m, &r), applied(&mut fresh, &r));

    let restraints: Arc<[_]> = Arc::new([(5, Restraint::Held)]);
    let held = NodeEmbedding { restraints, ..recipe.coarsening.clone() };
    m.replace_method(held.clone());
    assert!(same(&m, &fresh), "until the next update");
    m.update(system(&b, &y)).unwrap();
    let recipe = node_embedding_of(held);
    assert!(same(&m, &recipe.build(system(&b, &y), &on).unwrap()) && !same(&m, &fresh));
    m.replace_method(NodeEmbedding {
        restraints: Arc::new([(99_999, Restraint::Held)]),
        ..recipe.coarsening.clone()
    });
    let before = applied(&mut m, &r);
    assert!(m.update(system(&b, &y)).is_err());
    assert_eq!(applied(&mut m, &r), before, "after an error");
}

/// If all nodes are held there is no coarse node: a build and an update then make one level, and a later update makes
/// coarse levels again.
#[test]
fn nodes_that_are_all_held_have_no_coarse_level() {
    let (nodes, a) = stiffness(&sparks(7), 1.0);
    let on = Cpu::new();
    let free = recipe(&nodes, Kernel::Linear);
    let restraints: Arc<[_]> = (0..nodes.len() as u32).map(|node| (node, Restraint::Held)).collect();
    let held = node_embedding_of(NodeEmbedding { restraints, ..free.coarsening.clone() });
    let r = noise(a.shape().0, 3);
    let mut built = held.build(&a, &on).unwrap();
    assert_eq!(built.levels(), 1);
    let expected = applied(&mut built, &r);

    let mut m = free.build(&a, &on).unwrap();
    let (levels, before) = (m.levels(), applied(&mut m, &r));
    assert!(levels > 1);
    for _ in 0..3 {
        m.replace_method(held.coarsening.clone());
        m.update(&a).unwrap();
        assert_eq!((m.levels(), applied(&mut m, &r)), (1, expected.clone()));
        m.replace_method(free.coarsening.clone());
        m.update(&a).unwrap();
        assert_eq!((m.levels(), applied(&mut m, &r)), (levels, before.clone()));
    }
}

/// Old levels are kept as memory for the next build only where their smoother can use it.
#[test]
fn memory_that_no_build_uses_is_freed() {
    let ((small, a), (large, b)) = (stiffness(&sparks(6), 1.0), stiffness(&sparks(7), 1.0));
    let known = GaussSeidel { symmetric: true, ..GaussSeidel::default() };
    let smoothers = [
        (Smoothing::SymmetricGaussSeidel(known), true),
        (Smoothing::DampedJacobi(DampedJacobi::default()), false),
    ];
    for (smoothing, kept) in smoothers {
        let of = |nodes: &[[i32; 3]]| Multigrid {
            smoothing,
            coarsest: Coarsest::Factor,
            ..recipe(nodes, Kernel::Linear)
        };
        let mut m = of(&small).build(&a, &Cpu::new()).unwrap();
        m.replace_method(of(&large).coarsening);
        m.update(&b).unwrap();
        let fresh = of(&large).build(&b, &Cpu::new()).unwrap();
        assert_eq!(m.bytes() > fresh.bytes(), kept, "{smoothing:?}");
        assert!(kept || m.bytes() == fresh.bytes());
    }
}
