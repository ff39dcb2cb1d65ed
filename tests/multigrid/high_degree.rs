//! Smoothed aggregation of matrices with nodes of high degree: nodes that are coupled to very many others.

use coarsen_backend::conformance::noise;
use coarsen_backend::{Cpu, Setup};
use coarsen_core::Stop;
use coarsen_krylov::Cg;
use coarsen_multigrid::{Coarse, Coarsening, Hierarchy, Keep, Multigrid};
use coarsen_smoothed_aggregation::{SmoothedAggregation, Spreading};
use coarsen_smoothed_aggregation::{smoothed_aggregation, tamstorf};
use coarsen_sparse::{Bsr, System, assembly};

use crate::common::{applied, grid, problem};

/// A symmetric matrix of couplings −w, whose row sums are `mass`.
fn laplacian(n: u32, mass: f64, couplings: &[(u32, u32, f64)]) -> Bsr<f64> {
    let mut diagonal = vec![mass; n as usize];
    let mut entries = Vec::new();
    for &(i, j, w) in couplings {
        (diagonal[i as usize], diagonal[j as usize]) = (diagonal[i as usize] + w, diagonal[j as usize] + w);
        entries.extend([(i, j, -w), (j, i, -w)]);
    }
    entries.extend((0..n).map(|i| (i, i, diagonal[i as usize])));
    assembly::from_triplets(n as usize, n as usize, &entries).unwrap()
}

/// The couplings of a grid of m x m nodes.
fn mesh(m: u32) -> Vec<(u32, u32, f64)> {
    let at = |x: u32, y: u32| y * m + x;
    let across = (0..m).flat_map(|y| (1..m).map(move |x| (at(x - 1, y), at(x, y), 1.0)));
    across.chain((1..m).flat_map(|y| (0..m).map(move |x| (at(x, y - 1), at(x, y), 1.0)))).collect()
}

/// The couplings of a grid of m x m x m nodes.
fn cube(m: u32) -> Vec<(u32, u32, f64)> {
    let along = |step: u32| {
        let inside = move |i: &u32| i / step % m + 1 < m;
        (0..m * m * m).filter(inside).map(move |i| (i, i + step, 1.0))
    };
    along(1).chain(along(m)).chain(along(m * m)).collect()
}

fn ring(n: u32) -> Vec<(u32, u32, f64)> {
    (0..n).map(|i| (i, (i + 1) % n, 1.0)).collect()
}

/// Adds couplings of weight w between node n and every `step`-th of the nodes before.
fn with_centre(mut couplings: Vec<(u32, u32, f64)>, n: u32, step: u32, w: f64) -> Vec<(u32, u32, f64)> {
    couplings.extend((0..n).step_by(step as usize).map(|i| (n, i, w)));
    couplings
}

/// Iterations, and the hierarchy.
fn solved(parameters: Multigrid<SmoothedAggregation>, a: &Bsr<f64>) -> (usize, Hierarchy) {
    let mut m = parameters.build_from(a.into(), &Cpu::new()).unwrap();
    let (b, mut x) = (noise(a.shape().0, 1), vec![0.0; a.shape().0]);
    let report = Cg::new(Stop::relative(1e-8)).solve(a, &mut m, &b, &mut x).unwrap();
    (report.converged().unwrap().iterations, m)
}

fn coarsened(a: &Bsr<f64>) -> Coarse<f64, Spreading> {
    SmoothedAggregation::default().coarsen(&grid(a), None).unwrap().unwrap()
}

/// Weak and ordinary couplings, to all nodes and to every tenth: about the iterations without the centre, on several
/// levels, and coarse matrices of the same size.
#[test]
fn a_high_degree_node_keeps_iterations_of_a_grid() {
    let mass = 1e-3;
    for (name, n, couplings) in [("square", 8100, mesh(90)), ("cube", 8000, cube(20))] {
        for parameters in [smoothed_aggregation(), tamstorf()] {
            let (without, plain) = solved(parameters, &laplacian(n, mass, &couplings));
            for (step, w) in [(1, 1e-5), (1, 1e-3), (1, 1.0), (1, 1e2), (10, 1e-3), (10, 1.0), (10, 1e2)] {
                let a = laplacian(n + 1, mass, &with_centre(couplings.clone(), n, step, w));
                let (with, centre) = solved(parameters, &a);
                let [less, more] = [&plain, &centre].map(|m| m.operator_complexity());
                let what = format!("{name}, every {step}, {w}: {with} iterations, complexity {more:.2}");
                println!("{what}; without the centre {without}, {less:.2}");
                assert!(with <= 2 * without, "{what}; {without} iterations without the centre");
                assert!(more < less + 0.5, "{what}; {less} without the centre");
                assert!(w > 10.0 || centre.levels() >= plain.levels(), "{what}; {} levels", centre.levels());
            }
        }
    }
}

/// A wheel whose centre is tied to one node of its rim, so that all other couplings of the centre are weak, and one whose
/// couplings are equally weak.
#[test]
fn wheels_are_coarsened_like_their_rims() {
    let n = 20_000;
    let (without, _) = solved(smoothed_aggregation(), &laplacian(n, 1e-4, &ring(n)));
    for tied in [None, Some(10.0)] {
        let mut couplings = with_centre(ring(n), n, 1, 1e-4);
        couplings.extend(tied.map(|w| (n, 0, w)));
        let a = laplacian(n + 1, 1e-8, &couplings);
        let (with, m) = solved(smoothed_aggregation(), &a);
        println!("{tied:?}: {with} of {without} iterations, complexity {}", m.operator_complexity());
        assert!(with <= 2 * without, "{tied:?}: {with} iterations, {without} without the centre");
        assert!(m.operator_complexity() < 2.5, "{tied:?}: complexity {}", m.operator_complexity());
    }
}

/// The work of the setup: entries of P and of coarse matrices are a few for each entry of A. One row and one column of
/// each coarse matrix are long; in the others, rows are those of a line.
#[test]
fn setup_with_a_high_degree_node_is_linear() {
    let n = 30_000;
    let a = laplacian(n + 1, 1e-3, &with_centre(ring(n), n, 1, 1.0));
    let (_, m) = solved(smoothed_aggregation(), &a);
    for level in 1..m.levels() {
        let (p, coarse) = (m.prolongation(level - 1).unwrap().pattern(), m.matrix(level).unwrap().pattern());
        let lengths = (0..coarse.rows()).map(|i| coarse.range(i).len());
        assert!(p.len() <= 4 * p.rows(), "level {level}: {} entries of P in {} rows", p.len(), p.rows());
        if coarse.rows() > 500 {
            assert_eq!(lengths.filter(|&length| length > 10).count(), 1, "level {level}");
        }
    }
}

/// A centre is an aggregate of its own, and its row of P is that of P̂.
#[test]
fn a_high_degree_node_is_its_own_aggregate() {
    let n = 900;
    let coarse = coarsened(&laplacian(n + 1, 1e-4, &with_centre(mesh(30), n, 1, 1.0)));
    let aggregates = coarse.aggregates.unwrap();
    let own = aggregates[n as usize];
    assert_eq!(aggregates.iter().filter(|&&g| g == own).count(), 1);
    let p = coarse.prolongation.to_matrix().unwrap();
    assert_eq!(p.pattern().row(n as usize), [own]);
    assert_eq!(p.get(n as usize, own as usize), 1.0);
    let beside = (0..n as usize).filter(|&i| p.get(i, own as usize) != 0.0).count();
    assert!(beside > 800, "only {beside} rows of P follow a high-degree node with ordinary couplings");
}

/// Nodes whose only or strongest couplings are those to the centre are of its aggregate.
#[test]
fn nodes_coupled_only_to_a_high_degree_node_join_it() {
    let star: Vec<(u32, u32, f64)> = (0..1000).map(|i| (1000, i, 1.0)).collect();
    assert_eq!(coarsened(&laplacian(1001, 0.5, &star)).prolongation.pattern().columns(), 1);
    let mut body = mesh(40);
    body.extend((0..400).map(|i| (1600, i, 1e6)));
    let aggregates = coarsened(&laplacian(1601, 1e-4, &body)).aggregates.unwrap();
    let of_body =
        |nodes: std::ops::Range<usize>| nodes.filter(|&i| aggregates[i] == aggregates[1600]).count();
    assert_eq!((of_body(0..400), of_body(400..1600)), (400, 0));
}

/// Pairs of nodes that are coupled weakly to a centre and to nothing else stay apart, although they are small.
#[test]
fn pairs_coupled_weakly_to_a_high_degree_node_stay_apart() {
    let n = 400;
    let pairs = (0..n / 2).map(|i| (2 * i, 2 * i + 1, 1.0)).collect();
    let a = laplacian(n + 1, 1e-6, &with_centre(pairs, n, 1, 1e-2));
    assert_eq!(coarsened(&a).prolongation.pattern().columns(), n as usize / 2 + 1);
}

/// Nodes of which each is coupled strongly to all others, as by an eliminated constraint, are one aggregate.
#[test]
fn a_clique_has_no_high_degree_node() {
    let (m, k) = (60, 150);
    let mut couplings = mesh(m);
    couplings.extend((0..k).flat_map(|i| (0..i).map(move |j| (7 * j, 7 * i, 1e3))));
    let aggregates = coarsened(&laplacian(m * m, 1e-4, &couplings)).aggregates.unwrap();
    let first = aggregates[0];
    assert!((0..k as usize).all(|i| aggregates[7 * i] == first));
}

/// The rows of centres in P are the same in a build and in an update: an update to the values of the build gives its bits.
#[test]
fn update_with_a_high_degree_node_equals_rebuild() {
    let n = 2500;
    let parameters = Multigrid { keep: Keep::Aggregates, ..smoothed_aggregation() };
    for w in [1e-3, 1.0] {
        let of = |mass: f64| laplacian(n + 1, mass, &with_centre(mesh(50), n, 3, w));
        let mut m = parameters.build_from((&of(1e-3)).into(), &Cpu::new()).unwrap();
        let r = noise(n as usize + 1, 2);
        let built = applied(&mut m, &r);
        m.update(&of(1.0)).unwrap();
        assert_ne!(applied(&mut m, &r), built);
        m.update(&of(1e-3)).unwrap();
        assert_eq!(applied(&mut m, &r), built, "couplings of {w}");
    }
}

/// Grids, bodies and sheets have no node of high degree on any level.
#[test]
fn grids_bodies_and_sheets_have_no_high_degree_nodes() {
    for spec in
        ["poisson2d:60", "poisson3d:20", "jump3d:16", "anisotropic2d:60", "elasticity3d:9", "cloth:41"]
    {
        let p = problem(spec);
        let m = Multigrid { coarse_size: 30, ..tamstorf() }.build_from(p.system(), &Cpu::new()).unwrap();
        for level in 0..m.levels() {
            let pattern = m.matrix(level).unwrap_or(&p.matrix).pattern();
            let longest = (0..pattern.rows()).map(|i| pattern.range(i).len()).max().unwrap();
            let mean = pattern.len() as f64 / pattern.rows() as f64;
            println!("{spec}, level {level}: mean {mean:.1}, longest {longest}, {} nodes", pattern.rows());
            assert!(longest as f64 <= 4.0 * mean || longest <= 64, "{spec}: half of the limit, or the limit");
        }
    }
}

/// A body all nodes of which are tied by springs to one more node, as to a rigid body.
#[test]
fn a_high_degree_node_keeps_iterations_of_a_body() {
    let p = problem("elasticity3d:11");
    let nodes = p.matrix.pattern().rows();
    let size = p.matrix.values().iter().fold(0.0_f64, |m, v| m.max(v.abs()));
    let solve = |a: &Bsr<f64>, positions: &[[f64; 3]]| {
        let system = System { positions: Some(positions), ..System::from(a) };
        let mut m = smoothed_aggregation().build_from(system, &Cpu::new()).unwrap();
        let (b, mut x) = (noise(a.shape().0, 1), vec![0.0; a.shape().0]);
        let report = Cg::new(Stop::relative(1e-8)).solve(a, &mut m, &b, &mut x).unwrap();
        (report.converged().unwrap().iterations, m.operator_complexity())
    };
    let (without, less) = solve(&p.matrix, &p.positions);
    let positions = [&p.positions[..], &[[0.5; 3]]].concat();
    for weight in [1e-5, 1e-2, 1.0] {
        let (w, n) = (weight * size, 3 * nodes as u32 + 3);
        let mut entries: Vec<(u32, u32, f64)> = Vec::new();
        for (i, (j, block)) in (0..nodes).flat_map(|i| p.matrix.row(i).map(move |stored| (i, stored))) {
            let at = |e: usize| ((3 * i + e / 3) as u32, (3 * j + e % 3) as u32);
            entries.extend(block.iter().enumerate().map(|(e, &v)| (at(e).0, at(e).1, v)));
        }
        for (i, centre) in (0..n - 3).map(|i| (i, n - 3 + i % 3)) {
            entries.extend([(i, centre, -w), (centre, i, -w), (i, i, w), (centre, centre, w)]);
        }
        let a = assembly::from_triplets_blocked(n as usize, n as usize, (3, 3), &entries).unwrap();
        let (with, more) = solve(&a, &positions);
        println!("{weight}: {with} of {without} iterations, complexity {more:.2} of {less:.2}");
        assert!(with <= 2 * without, "{weight}: {with} iterations, {without} without the centre");
        assert!(more < less + 0.5, "{weight}: complexity {more}, {less} without the centre");
    }
}
