//! The lists of a plan for devices: numbers of nodes, and the blocks from which domains are assembled.

use coarsen_problems::{Problem, cloth, poisson2d};
use coarsen_schwarz::{Coarse, Plan, Schwarz};

use crate::common::adjacent;

/// Returns two plans of three or more levels: one with nodes in no domain, one with a level solved as one
/// system.
fn plans() -> [(Plan, Problem); 2] {
    let (sheet, square) = (cloth(30, 0.01).unwrap(), poisson2d(30).unwrap());
    let all = adjacent(8, 9, Coarse::Domains);
    let exact = adjacent(4, 9, Coarse::Exact { unknowns: 20 });
    let of = |p: Problem, parameters: Schwarz| (parameters.plan(p.system()).unwrap(), p);
    let plans = [of(sheet, all), of(square, exact)];
    assert!(plans.iter().all(|(plan, _)| plan.levels() >= 3) && plans[1].0.top_nodes() > 0);
    plans
}

#[test]
fn positions_parents_and_children_agree_with_the_plan() {
    for (plan, _) in plans() {
        let n = plan.numbering().unwrap();
        let (fine, last) = (plan.nodes(0), plan.levels());
        let mut domain = 0;
        for level in 0..last {
            for d in 0..plan.domains(level) {
                let [begin, end] = [n.ranges[2 * domain], n.ranges[2 * domain + 1]];
                let members = n.order[begin as usize..end as usize].iter();
                let members: Vec<u32> = members.map(|&i| i - n.first[level] as u32).collect();
                assert_eq!(members, plan.members(level, d));
                let above = (level + 1 < last || plan.top_nodes() > 0).then(|| n.first[level + 1] + d);
                for &i in &members {
                    let parent = n.parent[n.first[level] + i as usize];
                    assert_eq!(parent, above.map_or(u32::MAX, |above| above as u32));
                }
                if let Some(above) = above {
                    assert_eq!(n.children[2 * (above - fine)..][..2], [begin, end]);
                }
                domain += 1;
            }
        }
        assert_eq!((n.ranges.len(), n.offsets.len()), (2 * domain, domain));
        assert_eq!(n.levels.len(), last - 1 + usize::from(plan.top_nodes() > 0));
    }
}

/// The blocks gathered at a pair of positions sum to the block of C A Cᵀ, computed by plain loops over
/// all pairs of nodes.
#[test]
fn couplings_sum_to_the_matrices_of_the_levels() {
    for (plan, p) in plans() {
        let (numbering, a) = (plan.numbering().unwrap(), &p.matrix);
        let found = plan.couplings(&numbering, a.pattern());
        for level in 0..plan.levels() {
            let mut sums = std::collections::HashMap::new();
            for i in 0..plan.nodes(0) {
                for (j, block) in a.row(i) {
                    if let (Some(s), Some(t)) = (plan.map(level, i), plan.map(level, j)) {
                        *sums.entry((s, t)).or_insert(0.0) += block.iter().sum::<f64>();
                    }
                }
            }
            let domains = (0..plan.domains(level)).map(|d| plan.members(level, d));
            let first = numbering.first[level];
            let at = |i: u32| {
                let node = i + first as u32;
                numbering.order.iter().position(|&other| other == node).unwrap()
            };
            for members in domains.take(20) {
                for (k, &s) in members.iter().enumerate() {
                    for &t in &members[..k] {
                        let (p, q) = (at(s), at(t) as u32);
                        let inner = &found.inner[found.starts[p] as usize..found.starts[p + 1] as usize];
                        let blocks = inner.iter().filter(|[_, other]| *other == q);
                        let sum: f64 =
                            blocks.map(|&[block, _]| a.value(block as usize).iter().sum::<f64>()).sum();
                        let expected = sums.get(&(s as usize, t as usize)).copied().unwrap_or(0.0);
                        assert!((sum - expected).abs() <= 1e-9 * (1.0 + expected.abs()));
                    }
                }
            }
        }
        let alone = |i: usize| plan.left_out().contains(&(i as u32));
        assert!((0..plan.nodes(0)).all(|i| (found.alone[i] == 1) == alone(i)));
        assert!((0..plan.nodes(0)).all(|i| a.pattern().find(i, i) == Some(found.own[i] as usize)));
    }
}
