use super::*;
use crate::links::Coupling;
use crate::source::Source;
use coarsen_problems::{cloth, poisson2d};
use coarsen_sparse::{Bsr, assembly, morton};

pub(super) fn plan(a: &Bsr<f64>, positions: &[[f64; 3]], limits: Limits) -> Plan {
    let (links, coupled) = Links::of(Source::new(a), Coupling::Adjacency);
    Plan::new(a.block().0, links, &morton::order(positions).unwrap(), &coupled, limits).unwrap()
}

#[test]
fn maps_are_compositions() {
    let p = cloth(50, 0.01).unwrap();
    let plan = plan(&p.matrix, &p.positions, Limits { domain: 16, levels: 9, top: Coarse::Domains });
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
    let levels = |limits| plan(&p.matrix, &p.positions, limits);
    assert_eq!(levels(Limits { domain: 32, levels: 1, top: Coarse::Domains }).levels(), 1);
    let exact = levels(Limits { domain: 16, levels: 9, top: Coarse::Exact { unknowns: 200 } });
    assert_eq!((exact.levels(), exact.top_nodes()), (1, exact.domains(0)));
    assert!(exact.top_nodes() > 100);
}

#[test]
fn what_has_no_couplings_has_no_levels() {
    let a = Bsr::<f64>::identity(5, 2).unwrap();
    let plan = plan(
        &a,
        &[[0.0; 3], [1.0; 3], [2.0; 3], [3.0; 3], [4.0; 3]],
        Limits { domain: 32, levels: 9, top: Coarse::Domains },
    );
    assert_eq!((plan.levels(), plan.domains(0), plan.values()), (1, 0, 0));
    assert_eq!(plan.left_out(), [0, 1, 2, 3, 4]);
    let none = assembly::from_triplets::<f64>(0, 0, &[]).unwrap();
    assert_eq!(
        super::tests::plan(&none, &[], Limits { domain: 32, levels: 9, top: Coarse::Auto }).nodes(0),
        0
    );
}
