//! The nodes and the modes of aggregates, and what an update keeps of them.

use coarsen_backend::conformance::noise;
use coarsen_core::parallel;
use coarsen_multigrid::{Coarse, Coarsening, Grid};
use coarsen_smoothed_aggregation::{SmoothedAggregation, Spreading};
use coarsen_sparse::{Bsr, NearKernel, assembly};

use crate::common::{grid, problem};

fn coarsened(fine: &Grid<'_, f64>, parameters: SmoothedAggregation) -> Coarse<f64, Spreading> {
    below(fine, None, parameters)
}

/// Coarsens `fine`, given the step that led to it.
fn below(
    fine: &Grid<'_, f64>,
    above: Option<&Spreading>,
    parameters: SmoothedAggregation,
) -> Coarse<f64, Spreading> {
    parameters.coarsen(fine, above).unwrap().unwrap()
}

/// Returns a matrix with ones on the diagonal and the given couplings.
fn couplings(n: u32, all: &[(u32, u32, f64)]) -> Bsr<f64> {
    let own = (0..n).map(|i| (i, i, 1.0));
    let entries: Vec<_> = own.chain(all.iter().flat_map(|&(i, j, w)| [(i, j, -w), (j, i, -w)])).collect();
    assembly::from_triplets(n as usize, n as usize, &entries).unwrap()
}

fn aggregates(n: u32, all: &[(u32, u32, f64)]) -> Vec<u32> {
    let parameters = SmoothedAggregation { filter: false, ..Default::default() };
    coarsened(&grid(&couplings(n, all)), parameters).aggregates.unwrap()
}

/// Nodes 4 and 5 are left over and are most strongly connected to each other. Yet each joins an aggregate of
/// the first pass.
#[test]
fn left_over_nodes_see_the_first_pass_alone() {
    let all = [(0, 2, 0.8), (1, 3, 0.8), (2, 4, 0.8), (3, 5, 0.8), (4, 5, 0.9)];
    assert_eq!(aggregates(6, &all), [0, 1, 0, 1, 0, 1]);
}

#[test]
fn left_over_nodes_join_what_they_are_most_strongly_connected_to_and_the_first_of_equals() {
    let both = |low: f64, high: f64| {
        aggregates(7, &[(0, 2, 0.8), (0, 5, 0.8), (1, 3, 0.8), (1, 6, 0.8), (2, 4, low), (3, 4, high)])
    };
    assert_eq!(both(0.8, 0.8), [0, 1, 0, 1, 0, 0, 1]);
    assert_eq!(both(0.8, 0.7), [0, 1, 0, 1, 0, 0, 1]);
    assert_eq!(both(0.7, 0.8), [0, 1, 0, 1, 1, 0, 1]);
}

/// A grid of long lines, which is one chunk; and a path on which some nodes have neighbours beyond the chunk around them and beyond
/// the chunk between two middles, so that they are visited in order.
#[test]
fn threads_do_not_change_aggregates_with_long_couplings() {
    let (width, lines, length) = (3000_u32, 14, 3 * 8192);
    let along = (0..width * lines).filter(|&i| !(i + 1).is_multiple_of(width)).map(|i| (i, i + 1, 0.24));
    let across = (0..width * (lines - 1)).map(|i| (i, i + width, 0.24));
    let path = (1..length).map(|i| (i - 1, i, 0.24));
    let beyond = (6500..6800).map(|i| (i, i + 6000, 0.24));
    for (n, couplings) in
        [(width * lines, along.chain(across).collect::<Vec<_>>()), (length, path.chain(beyond).collect())]
    {
        let of = |threads| parallel::threads(threads, || aggregates(n, &couplings)).unwrap();
        let one = of(1);
        let mut sizes = vec![0; one.len()];
        one.iter().for_each(|&g| sizes[g as usize] += 1);
        assert!(sizes.iter().all(|&size| size == 0 || size > 2));
        assert!([2, 7].into_iter().all(|threads| one == of(threads)));
    }
}

/// Nodes 6 and 7 are too few for an aggregate. Together they join another aggregate along their strongest
/// coupling to it, which is weak.
#[test]
fn small_aggregates_join_their_strongest_neighbour() {
    let inside = [(0, 1, 0.9), (0, 2, 0.9), (3, 4, 0.9), (3, 5, 0.9), (6, 7, 0.9)];
    for (low, high, joins) in [(0.3, 0.2, 0), (0.2, 0.3, 1)] {
        let all = [&inside[..], &[(1, 7, low), (4, 7, high)]].concat();
        assert_eq!(aggregates(8, &all), [0, 0, 0, 1, 1, 1, joins, joins]);
    }
}

/// Within triples of nodes, couplings have a large norm but zero eigenvalues. Between triples they are small
/// multiples of the identity. If weak couplings are dropped, strength is measured by norms, and the triples
/// are aggregates. By eigenvalues they are not.
#[test]
fn aggregates_of_blocks_follow_norms_where_weak_couplings_are_left_out() {
    let (triples, mut entries) = (4, Vec::new());
    entries.extend((0..6 * triples).map(|r| (r, r, 1.0)));
    for t in 0..triples {
        let first = 3 * t;
        for other in [first + 1, first + 2] {
            entries.extend([(2 * first, 2 * other + 1, 0.5), (2 * other + 1, 2 * first, 0.5)]);
        }
        if t + 1 < triples {
            let (i, j) = (first + 1, first + 5);
            entries.extend((0..2).flat_map(|k| [(2 * i + k, 2 * j + k, 0.1), (2 * j + k, 2 * i + k, 0.1)]));
        }
    }
    let n = 6 * triples as usize;
    let a = assembly::from_triplets_blocked(n, n, (2, 2), &entries).unwrap();
    let expected: Vec<u32> = (0..3 * triples).map(|i| i / 3).collect();
    let (fine, filtered) = (Grid { depth: 1, ..grid(&a) }, Spreading::new(a.pattern(), vec![true]));
    let aggregates = |parameters| below(&fine, Some(&filtered), parameters).aggregates.unwrap();
    assert_eq!(aggregates(SmoothedAggregation::default()), expected);
    let all = SmoothedAggregation { filter: false, ..Default::default() };
    assert_ne!(aggregates(all), expected);
}

/// Aggregates of four nodes get only the translations if the given vectors are rigid-body modes. Other given
/// vectors are kept.
#[test]
fn small_aggregates_get_translations_of_rigid_modes_alone() {
    let nodes = 40_usize;
    let sets: Vec<u32> = (0..nodes as u32).map(|i| i / 4).collect();
    let positions: Vec<[f64; 3]> = noise(3 * nodes, 3)
        .chunks_exact(3)
        .map(|x| [5.0 * x[0] + 1.3, 4.0 * x[1] + 3.7, 3.0 * x[2] - 2.9])
        .collect();
    let vectors = |b: usize, modes: &NearKernel, rotations_from: usize| {
        let a = Bsr::<f64>::identity(nodes, b).unwrap();
        let fine = Grid {
            near_kernel: Some(modes),
            positions: Some(&positions),
            sets: Some(&sets),
            depth: 0,
            ..grid(&a)
        };
        let parameters = SmoothedAggregation { rotations_from, ..Default::default() };
        coarsened(&fine, parameters).prolongation.block().1
    };
    let plane = |third: &dyn Fn(usize) -> [f64; 2]| {
        let rows = (0..nodes).flat_map(|i| [1.0, 0.0, third(i)[0], 0.0, 1.0, third(i)[1]]);
        NearKernel::from_rows(3, rows.collect()).unwrap()
    };
    let errors = noise(2 * nodes, 4);
    // A rotation of any size, with a relative error of 1e-1 to 1e-6.
    for size in [1e-3, 1.0, 200.0] {
        let turn = |error: f64| {
            plane(&|i| {
                let x = positions[i];
                let off = [0, 1].map(|d| error * errors[2 * i + d]);
                [size * (0.3 - x[1] + off[0]), size * (x[0] - 2.0 + off[1])]
            })
        };
        for (error, rigid) in [(0.0, true), (5e-7, true), (1e-2, false)] {
            let expected = if rigid { 2 } else { 3 };
            assert_eq!(vectors(2, &turn(error), 7), expected, "{size}, {error}");
            assert_eq!(vectors(2, &turn(error), 4), 3, "aggregates of four keep rotations from four on");
        }
    }
    assert_eq!(vectors(2, &plane(&|i| [positions[i][1], positions[i][0]]), 7), 3);
    let rigid = NearKernel::rigid_body_modes(&positions, 3).unwrap();
    assert_eq!((vectors(3, &rigid, 7), vectors(3, &rigid, 0)), (3, 6));
    // The columns after the translations are not rotations: strains, or rotations with one component of a
    // column doubled.
    for (row, column) in [(0, 5), (1, 3), (2, 4)] {
        let mut other = rigid.values().to_vec();
        other.iter_mut().skip(6 * row + column).step_by(18).for_each(|v| *v *= 2.0);
        assert_eq!(vectors(3, &NearKernel::from_rows(6, other).unwrap(), 7), 6, "row {row}, column {column}");
    }
}

/// A refresh with the same values reproduces the old step. With other values it equals a new coarsening that
/// finds the same aggregates.
#[test]
fn a_refresh_is_a_coarsening_on_kept_aggregates() {
    for (spec, filtered) in [("anisotropic2d:20", true), ("cloth:15", true), ("poisson2d:15", false)] {
        let a = problem(spec).matrix;
        let parameters = SmoothedAggregation::default();
        let mut coarse = coarsened(&grid(&a), parameters);
        assert_eq!(!coarse.state.couplings().is_empty(), filtered, "{spec}");
        let mut four = a.clone();
        four.values_mut().iter_mut().for_each(|v| *v *= 4.0);
        for a in [&a, &four, &a] {
            let expected = coarsened(&grid(a), parameters);
            assert_eq!(expected.aggregates, coarse.aggregates, "{spec}");
            parameters.refresh(&grid(a), None, &mut coarse).unwrap();
            let pairs = coarse.prolongation.values().iter().zip(expected.prolongation.values());
            assert!(pairs.clone().all(|(x, y)| (x - y).abs() < 1e-12), "{spec}");
            assert_eq!(coarse.prolongation.pattern(), expected.prolongation.pattern());
        }
        if filtered {
            let before = coarse.prolongation.values().to_vec();
            let mut entries = vec![(0, a.shape().0 as u32 - 1, 0.5)];
            entries.extend((0..a.shape().0).map(|i| (i as u32, i as u32, 1.0)));
            let other =
                assembly::from_triplets_blocked(a.shape().0, a.shape().0, a.block(), &entries).unwrap();
            let refused = parameters.refresh(&grid(&other), None, &mut coarse).unwrap_err().to_string();
            assert!(refused.contains("the couplings of an aggregation"), "{refused}");
            assert_eq!(coarse.prolongation.values(), before);
        }
    }
}
