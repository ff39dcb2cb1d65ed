//! Matrix and contact of a filtered system stay apart: together they are the filtered sum, and the touched rows
//! are those that changed.

use crate::dense::Dense;
use crate::projector::{Numbers, constraints, system};
use coarsen_constraints::{Constraints, prefilter};
use coarsen_sparse::{Bsr, Contacts, Stencil, Sum};

const NODES: usize = 14;

/// Contact of distant nodes. The stiffness of a pair depends on the pair alone.
fn contact(pairs: &[(u32, u32)]) -> Contacts<f64> {
    let stencils: Vec<Stencil> = pairs.iter().map(|&(i, j)| Stencil::point_point(i, j)).collect();
    let stiffness = |&(i, j): &(u32, u32)| {
        let n = Numbers(u64::from(100 * i + j)).vector(3);
        (0..9).map(|e| 50.0 * n[e / 3] * n[e % 3]).collect::<Vec<f64>>()
    };
    let mut set = Contacts::new(NODES, 3).unwrap();
    set.assemble(&stencils, &pairs.iter().flat_map(stiffness).collect::<Vec<f64>>()).unwrap();
    set
}

/// Some pairs of nodes that the matrix does not couple.
fn pairs(random: &mut Numbers) -> Vec<(u32, u32)> {
    let all = [(0, 7), (1, 8), (2, 9), (3, 10), (5, 12), (6, 13), (0, 2), (1, 3), (6, 12)];
    all.into_iter().filter(|_| random.next() > 0.0).collect()
}

/// The block rows in which two matrices differ.
fn differing(one: &Bsr<f64>, other: &Bsr<f64>) -> Vec<u32> {
    let differs = |&i: &u32| {
        (0..3 * 3 * NODES).any(|e| {
            let (row, column) = (3 * i as usize + e % 3, e / 3);
            one.get(row, column) != other.get(row, column)
        })
    };
    (0..NODES as u32).filter(differs).collect()
}

/// The system with contact apart has the solution of the merged system. Its matrix is that of the elastic part.
#[test]
fn the_parts_have_the_solution_of_the_sum() {
    for seed in 0..20 {
        let mut random = Numbers(seed);
        let a = system(NODES, 3, seed);
        let c = constraints(NODES, 3, seed as usize % 6, &mut random);
        let set = contact(&pairs(&mut random));
        let sum = Sum { elastic: &a, contact: &set };
        let (mut apart, mut whole) =
            (prefilter(&sum, &c).unwrap(), prefilter(&sum.merge().unwrap(), &c).unwrap());
        assert_eq!(apart.matrix(), prefilter(&a, &c).unwrap().matrix());
        let b = random.vector(3 * NODES);
        let (mut x, mut expected) = (vec![0.0; b.len()], vec![0.0; b.len()]);
        apart.solve(&b, &mut x, |s, c, y| *y = Dense::of(&s.merge().unwrap()).solve(c)).unwrap();
        whole.solve(&b, &mut expected, |s, c, y| *y = Dense::of(s.elastic).solve(c)).unwrap();
        let largest = expected.iter().fold(1.0_f64, |m, v| m.max(v.abs()));
        assert!(x.iter().zip(&expected).all(|(x, e)| (x - e).abs() < 1e-9 * largest), "{seed}");
    }
}

/// Constraints and pairs come and go. An update equals a build, and the touched rows are those that differ.
#[test]
fn touched_rows_are_those_that_changed() {
    let (a, mut random) = (system(NODES, 3, 3), Numbers(11));
    let mut filtered = prefilter(&a, &Constraints::new(NODES, 3).unwrap()).unwrap();
    assert_eq!(filtered.touched().len(), NODES, "all rows are new");
    let (mut sizes, mut before) = (Vec::new(), a.clone());
    let (mut c, mut set) = (Constraints::new(NODES, 3).unwrap(), contact(&[]));
    for step in 0..400_u64 {
        match step % 4 {
            0 => set = contact(&pairs(&mut random)),
            1 => c = constraints(NODES, 3, step as usize % 5, &mut random),
            2 => {
                // One node more, held or on a plane. Its value does not matter.
                let node = random.below(NODES);
                c = Constraints::new(NODES, 3).unwrap();
                c.plane(2, &[1.0, 0.5, -0.25], random.next()).unwrap();
                if random.next() > 0.0 {
                    c.point(node.max(3), &random.vector(3)).unwrap();
                }
            }
            _ => {}
        }
        let sum = Sum { elastic: &a, contact: &set };
        filtered.update(&sum, &c).unwrap();
        let rebuilt = prefilter(&sum, &c).unwrap();
        assert_eq!(
            (filtered.matrix(), filtered.contact().values()),
            (rebuilt.matrix(), rebuilt.contact().values())
        );
        assert_eq!(filtered.contact().places(), rebuilt.contact().places());
        let now = filtered.sum().merge().unwrap();
        assert_eq!(filtered.touched(), differing(&before, &now), "step {step}");
        sizes.push(filtered.touched().len());
        before = now;
    }
    assert!(sizes.contains(&0) && sizes.iter().any(|&n| n > 0 && n < NODES / 2), "{sizes:?}");
}

/// New values of the matrix touch no row; another pattern touches all.
#[test]
fn other_values_touch_nothing() {
    let (a, other) = (system(NODES, 3, 3), system(NODES, 3, 4));
    let c = constraints(NODES, 3, 3, &mut Numbers(1));
    let mut filtered = prefilter(&a, &c).unwrap();
    filtered.update(&other, &c).unwrap();
    assert!(filtered.touched().is_empty());
    let merged = Sum { elastic: &a, contact: &contact(&[(0, 7)]) }.merge().unwrap();
    filtered.update(&merged, &c).unwrap();
    assert_eq!(filtered.touched().len(), NODES);
}
