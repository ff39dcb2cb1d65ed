//! Aggregates of chains and grids: their sizes, chunks, reach and links, and given sets.

use coarsen_backend::conformance::noise;
use coarsen_backend::{Cpu, SetupError};
use coarsen_multigrid::{Coarsening, Grid};
use coarsen_smoothed_aggregation::tamstorf;
use coarsen_smoothed_aggregation::{EmptySet, SmoothedAggregation, Spread};
use coarsen_sparse::{Bsr, Pattern, assembly};

use crate::common::{grid, path, problem};

const NONE: u32 = u32::MAX;

/// Returns the aggregates and their number.
fn aggregated(a: &Bsr<f64>, parameters: SmoothedAggregation) -> (Vec<u32>, usize) {
    let coarse = parameters.coarsen(&grid(a), None).unwrap().unwrap();
    (coarse.aggregates.unwrap(), coarse.prolongation.pattern().columns())
}

fn parameters(spread: Spread) -> SmoothedAggregation {
    SmoothedAggregation { spread, filter: false, ..Default::default() }
}

fn run(a: &Bsr<f64>) -> (Vec<u32>, usize) {
    aggregated(a, parameters(Spread::Neighbours))
}

#[test]
fn a_chain_is_aggregated_evenly() {
    let (of, count) = run(&path(9));
    assert_eq!((of, count), (vec![0, 0, 0, 0, 0, 1, 1, 1, 1], 2));
}

/// The couplings of node 5 are small relative to its diagonal, so that relaxation solves it.
#[test]
fn decoupled_nodes_have_no_aggregate_and_others_have_one() {
    let mut a = path(12);
    let own = a.pattern().find(5, 5).unwrap();
    a.values_mut()[own] = 1e6;
    let (of, count) = run(&a);
    assert_eq!(of[5], NONE);
    assert!(of.iter().enumerate().all(|(i, &g)| (g == NONE) == (i == 5)));
    for g in 0..count as u32 {
        assert!(of.iter().filter(|&&o| o == g).count() >= 3, "{of:?}");
    }
}

#[test]
fn chunks_change_little_and_threads_nothing() {
    let n = 3 * 8192 + 17; // chunks have 8192 nodes
    let a = path(n);
    let one = coarsen_core::parallel::threads(1, || run(&a)).unwrap();
    for threads in [2, 7] {
        assert_eq!(one, coarsen_core::parallel::threads(threads, || run(&a)).unwrap());
    }
    let (of, count) = one;
    assert!(
        of.windows(2).all(|w| w[1] == w[0] || w[1] == w[0] + 1),
        "aggregates of a chain are intervals, in order"
    );
    assert!(count.abs_diff(n as usize / 3) < 8, "{count} aggregates of {n} nodes");
}

#[test]
fn second_neighbours_join() {
    let a = path(25);
    let (of, count) = aggregated(&a, parameters(Spread::Second));
    assert!(of.iter().all(|&g| g != NONE), "every node is in an aggregate: {of:?}");
    assert!(count < run(&a).1, "{of:?}");
}

/// Three nodes of two unknowns without couplings between nodes; node 1 is held.
#[test]
fn lonely_nodes_stay_alone() {
    let mut entries: Vec<(u32, u32, f64)> = (0..6).map(|i| (i, i, 2.0)).collect();
    entries.extend([(0, 1, 1.0), (1, 0, 1.0), (4, 5, 1.0), (5, 4, 1.0)]);
    let a = assembly::from_triplets_blocked(6, 6, (2, 2), &entries).unwrap();
    let (of, count) =
        aggregated(&a, SmoothedAggregation { dominance: 0.0, ..parameters(Spread::Neighbours) });
    assert_eq!((of, count), (vec![0, NONE, 1], 2));
}

/// Whether fitted aggregates are those of second neighbours.
fn uses_second_neighbours(a: &Bsr<f64>) -> bool {
    let of = |spread| aggregated(a, parameters(spread));
    let [fitted, near, second] = [Spread::Fitted, Spread::Neighbours, Spread::Second].map(of);
    assert!(fitted == near || fitted == second);
    fitted != near
}

#[test]
fn space_fills_planes_do_not() {
    let cases =
        [("poisson3d:24", true), ("jump3d:24", true), ("poisson2d:90", false), ("anisotropic2d:60", false)];
    for (spec, second) in cases {
        assert_eq!(uses_second_neighbours(&problem(spec).matrix), second, "{spec}");
    }
}

#[test]
fn fitted_spreading_coarsens_scalars_faster() {
    for (spec, fewer) in [("poisson3d:24", true), ("poisson2d:40", false), ("elasticity3d:6", false)] {
        let a = problem(spec).matrix;
        let coarse = |spread: Spread| {
            let mut parameters = tamstorf();
            parameters.coarsening.spread = spread;
            parameters.build(&a, &Cpu::new()).unwrap().matrix(1).unwrap().shape().0
        };
        let (near, fitted) = (coarse(Spread::Neighbours), coarse(Spread::Fitted));
        assert!(if fewer { 3 * fitted < 2 * near } else { fitted == near }, "{spec}: {fitted} of {near}");
    }
}

#[test]
fn uneven_or_no_couplings_keep_direct_neighbours() {
    let mut a = problem("poisson3d:24").matrix;
    let pattern = a.pattern().clone();
    for i in 0..pattern.rows() {
        for k in pattern.range(i) {
            let j = pattern.indices()[k] as usize;
            if i.abs_diff(j) == 24 * 24 {
                a.values_mut()[k] = -0.01; // along the third axis
            }
        }
    }
    assert!(!uses_second_neighbours(&a));
    assert!(!uses_second_neighbours(&problem("poisson2d:1").matrix));
}

/// Two ends of a chain that constraints couple share no aggregate if the links do not contain the constraint:
/// the other couplings keep their weights, so the aggregates are those of the chain. The links of aggregates
/// are those of their nodes.
#[test]
fn neighbours_alone_count_and_so_do_their_aggregates() {
    let n = 24_u32;
    let of = |ties: &[(u32, u32)], seed: u64| {
        let weights = noise(n as usize, seed);
        let mut entries: Vec<(u32, u32, f64)> = (0..n).map(|i| (i, i, 4.0)).collect();
        let along = (1..n).map(|i| (i - 1, i, -1.0 - 0.9 * weights[i as usize]));
        for (i, j, v) in along.chain(ties.iter().map(|&(i, j)| (i, j, -3.9))) {
            entries.extend([(i, j, v), (j, i, v)]);
        }
        assembly::from_triplets(n as usize, n as usize, &entries).unwrap()
    };
    for seed in 1..6 {
        let (alone, tied) = (of(&[], seed), of(&[(0, n - 1), (5, 15)], seed));
        let coarsened = |a: &Bsr<f64>, links: Option<&Pattern>| {
            let fine = Grid { links, ..grid(a) };
            let parameters = SmoothedAggregation { dominance: 0.0, ..parameters(Spread::Neighbours) };
            parameters.coarsen(&fine, None).unwrap().unwrap().aggregates.unwrap()
        };
        let expected = coarsened(&alone, None);
        assert_eq!(coarsened(&tied, Some(alone.pattern())), expected);
        assert_ne!(coarsened(&tied, None), expected);
    }
    let chain = path(4);
    for (sets, rows) in [([0, 0, 1, NONE], [&[0, 1][..], &[0, 1]]), ([0, NONE, 1, 1], [&[0][..], &[1]])] {
        let fine = Grid { links: Some(chain.pattern()), sets: Some(&sets), ..grid(&chain) };
        let links = parameters(Spread::Fitted).coarsen(&fine, None).unwrap().unwrap().links.unwrap();
        assert_eq!([links.row(0), links.row(1)], rows);
    }
}

/// A set without a node would give a zero column of P, which is detected one level later.
#[test]
fn a_set_without_a_node_is_named() {
    let a = problem("poisson2d:4").matrix;
    let coarsen = |sets: &[u32]| {
        SmoothedAggregation::default().coarsen(&Grid { sets: Some(sets), ..Grid::new(&a) }, None)
    };
    let mut sets: Vec<u32> = (0..16).map(|i| i / 4).collect();
    sets[5] = u32::MAX; // in no set
    assert_eq!(coarsen(&sets).unwrap().unwrap().prolongation.shape(), (16, 4));
    sets.iter_mut().filter(|s| **s == 2).for_each(|s| *s = 1);
    let named = |sets: &[u32]| match coarsen(sets).err() {
        Some(SetupError::Method { node: None, error }) => error.downcast_ref::<EmptySet>().copied(),
        other => panic!("{other:?}"),
    };
    assert_eq!(named(&sets), Some(EmptySet { set: 2, sets: 4 }));
    sets.fill(u32::MAX - 1);
    let sets_of_all = u32::MAX as usize;
    assert_eq!(named(&sets), Some(EmptySet { set: 0, sets: sets_of_all }));
}

/// If all couplings spread P, there are no flags.
#[test]
fn flags_that_are_not_needed_are_left_out() {
    for (spec, filtered) in [("poisson2d:20", false), ("elasticity3d:5", false), ("anisotropic2d:20", true)] {
        let a = problem(spec).matrix;
        let coarse = SmoothedAggregation::default().coarsen(&Grid::new(&a), None).unwrap().unwrap();
        assert_eq!(coarse.state.couplings().is_empty(), !filtered, "{spec}");
    }
}
