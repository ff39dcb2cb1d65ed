//! Domains around nodes of high degree: nodes that are coupled to very many others.

use coarsen_backend::Cpu;
use coarsen_backend::conformance::noise;
use coarsen_core::Stop;
use coarsen_krylov::Cg;
use coarsen_schwarz::{Coarse, Coupling, Order, Plan, Schwarz};
use coarsen_sparse::{Bsr, System, assembly};

use crate::common::{adjacent, exact};

/// A symmetric matrix of couplings −1, whose row sums are 1/2.
fn laplacian(n: u32, couplings: &[(u32, u32)]) -> Bsr<f64> {
    let mut diagonal = vec![0.5; n as usize];
    let mut entries = Vec::new();
    for &(i, j) in couplings {
        (diagonal[i as usize], diagonal[j as usize]) =
            (diagonal[i as usize] + 1.0, diagonal[j as usize] + 1.0);
        entries.extend([(i, j, -1.0), (j, i, -1.0)]);
    }
    entries.extend((0..n).map(|i| (i, i, diagonal[i as usize])));
    assembly::from_triplets(n as usize, n as usize, &entries).unwrap()
}

/// Node `centre` of n is coupled to all others.
fn star(n: u32, centre: u32) -> Bsr<f64> {
    laplacian(n, &(0..n).filter(|&i| i != centre).map(|i| (centre, i)).collect::<Vec<_>>())
}

fn sizes(plan: &Plan, level: usize) -> Vec<usize> {
    (0..plan.domains(level)).map(|d| plan.members(level, d).len()).collect()
}

/// With a division for each leaf, 200,000 leaves would read 8 · 10¹⁰ couplings, which takes minutes.
#[test]
fn leaves_of_large_stars_fill_domains() {
    let n = 200_000;
    for (centre, order) in [(0, Order::Natural), (n - 1, Order::Graph)] {
        let a = star(n, centre);
        let parameters = Schwarz { order, coarse: Coarse::Domains, ..Schwarz::multilevel() };
        let plan = parameters.plan(System::from(&a)).unwrap();
        let sizes = sizes(&plan, 0);
        assert_eq!(sizes.iter().sum::<usize>(), n as usize);
        assert!(sizes.iter().all(|&size| size <= 32) && sizes.len() < n as usize / 16, "{}", sizes.len());
        assert!(plan.nodes(plan.levels() - 1) < 32 * 32, "{order:?}: {} levels", plan.levels());
    }
}

/// Leaves share domains with leaves of the same centre only, and the iterations stay few.
#[test]
fn leaves_of_one_high_degree_node_share_domains() {
    let (centres, leaves) = (3, 3000);
    let centre = |i: u32| i % centres;
    let mut couplings: Vec<(u32, u32)> = (centres..centres * leaves).map(|i| (centre(i), i)).collect();
    couplings.extend([(0, 1), (1, 2)]);
    let a = laplacian(centres * leaves, &couplings);
    let parameters = adjacent(16, 8, Coarse::Domains);
    let plan = parameters.plan(System::from(&a)).unwrap();
    for d in 0..plan.domains(0) {
        let nodes = plan.members(0, d);
        let with_centre = nodes.iter().any(|&i| i < centres);
        assert!(with_centre || nodes.iter().all(|&i| centre(i) == centre(nodes[0])), "domain {d}: {nodes:?}");
    }
    for coupling in [Coupling::Adjacency, Coupling::Strength { theta: 0.25 }] {
        let mut m = Schwarz { coupling, ..exact() }.build(System::from(&a), &Cpu::new()).unwrap();
        let (b, mut x) = (noise(a.shape().0, 1), vec![0.0; a.shape().0]);
        let report = Cg::new(Stop::relative(1e-8)).solve(&a, &mut m, &b, &mut x).unwrap();
        let iterations = report.converged().unwrap().iterations;
        println!("{coupling:?}: {iterations} iterations");
        assert!(iterations <= 25, "{coupling:?}: {iterations} iterations");
    }
}

/// A pocket beside the domain of a centre that may not be divided any more is joined with another neighbour.
#[test]
fn pockets_of_a_grid_join_the_grid() {
    let m = 120;
    let at = |x: u32, y: u32| y * m + x + 1;
    let across = (0..m).flat_map(|y| (1..m).map(move |x| (at(x - 1, y), at(x, y))));
    let mut couplings: Vec<(u32, u32)> = across.collect();
    couplings.extend((1..m).flat_map(|y| (0..m).map(move |x| (at(x, y - 1), at(x, y)))));
    let parameters = Schwarz { order: Order::Natural, ..adjacent(16, 1, Coarse::Domains) };
    let count = |couplings: &[(u32, u32)]| {
        let plan = parameters.plan(System::from(&laplacian(m * m + 1, couplings))).unwrap();
        plan.domains(0)
    };
    let without = count(&couplings);
    couplings.extend((0..m * m).map(|i| (0, i + 1)));
    let with = count(&couplings);
    println!("{with} domains, {without} without the centre");
    assert!(with <= without + without / 4, "{with} domains, {without} without the centre");
}

/// With a centre, which brings all nodes of the pattern close to each other, domains of a grid remain compact.
#[test]
fn a_weak_high_degree_node_keeps_domains_compact() {
    let m = 100;
    let at = |x: u32, y: u32| y * m + x;
    let across = (0..m).flat_map(|y| (1..m).map(move |x| (at(x - 1, y), at(x, y), 1.0)));
    let grid: Vec<_> =
        across.chain((1..m).flat_map(|y| (0..m).map(move |x| (at(x, y - 1), at(x, y), 1.0)))).collect();
    let iterations = |couplings: &[(u32, u32, f64)]| {
        let n = m * m + 1;
        let mut entries: Vec<_> = (0..n).map(|i| (i, i, 1e-2)).collect();
        for &(i, j, w) in couplings {
            entries.extend([(i, j, -w), (j, i, -w), (i, i, w), (j, j, w)]);
        }
        let a = assembly::from_triplets(n as usize, n as usize, &entries).unwrap();
        let mut m = Schwarz::multilevel().build(System::from(&a), &Cpu::new()).unwrap();
        let (b, mut x) = (noise(n as usize, 1), vec![0.0; n as usize]);
        Cg::new(Stop::relative(1e-8)).solve(&a, &mut m, &b, &mut x).unwrap().converged().unwrap().iterations
    };
    let without = iterations(&grid);
    for step in [1, 10] {
        let with: Vec<_> =
            grid.iter().copied().chain((0..m * m).step_by(step).map(|i| (m * m, i, 1e-3))).collect();
        let with = iterations(&with);
        println!("every {step}: {with} of {without} iterations");
        assert!(with <= 2 * without, "every {step}: {with} iterations, {without} without the centre");
    }
}
