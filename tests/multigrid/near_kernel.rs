//! The near-kernel of smoothed aggregation: its local bases, its scale, rotations, and rows of constraints.

use coarsen_core::Real;
use coarsen_multigrid::{Coarse, Coarsening, Grid};
use coarsen_problems::{elasticity3d, poisson2d};
use coarsen_smoothed_aggregation::{SmoothedAggregation, Spreading};
use coarsen_sparse::{Bsr, NearKernel, assembly};

use crate::common::grid;

/// Returns a matrix in which all unknowns are coupled, so that no row is a constraint.
fn full(nodes: usize, b: usize) -> Bsr<f64> {
    let n = nodes * b;
    let entry =
        |k: usize| ((k / n) as u32, (k % n) as u32, if k / n == k % n { 1.0 + n as f64 } else { 1.0 });
    let entries: Vec<_> = (0..n * n).map(entry).collect();
    assembly::from_triplets_blocked(n, n, (b, b), &entries).unwrap()
}

/// Returns parameters that use rotations on aggregates of any size.
fn rotating() -> SmoothedAggregation {
    SmoothedAggregation { rotations_from: 0, ..Default::default() }
}

/// Coarsens onto given aggregates; P is P̂.
fn given<T: Real>(a: &Bsr<T>, modes: &NearKernel, aggregates: &[u32]) -> Coarse<T, Spreading> {
    let fine = Grid { near_kernel: Some(modes), sets: Some(aggregates), ..Grid::new(a) };
    rotating().coarsen(&fine, None).unwrap().unwrap()
}

/// Returns the rows of P̂ R; these are the rows of K for the nodes of aggregates.
fn kernel(coarse: &Coarse<f64, Spreading>) -> Vec<Vec<f64>> {
    let (p, r) = (coarse.prolongation.to_matrix().unwrap(), coarse.near_kernel.as_ref().unwrap());
    let row = |i: usize, c: usize| (0..p.shape().1).map(|j| p.get(i, j) * r.row(j)[c]).sum();
    (0..p.shape().0).map(|i| (0..r.vectors()).map(|c| row(i, c)).collect()).collect()
}

/// Returns the number of vectors that aggregates of four nodes use, which leave out rotations.
fn vectors(modes: &NearKernel, b: usize, positions: Option<&[[f64; 3]]>) -> usize {
    let a = full(modes.size() / b, b);
    let sets: Vec<u32> = (0..modes.size() / b).map(|i| i as u32 / 4).collect();
    let fine = Grid { near_kernel: Some(modes), sets: Some(&sets), positions, ..grid(&a) };
    SmoothedAggregation::default().coarsen(&fine, None).unwrap().unwrap().prolongation.block().1
}

/// Checks that K = P̂ R on aggregated nodes, and P̂ᵀP̂ = I except for columns without a basis function. Returns the number of these.
fn check(modes: &NearKernel, block: usize, aggregates: &[u32], count: usize) -> usize {
    let coarse = given(&full(aggregates.len(), block), modes, aggregates);
    let (p, k) = (coarse.prolongation.to_matrix().unwrap(), modes.vectors());
    assert_eq!((p.block(), p.pattern().columns()), ((block, k), count));
    for (row, product) in kernel(&coarse).iter().enumerate() {
        let g = aggregates[row / block];
        for (c, product) in product.iter().enumerate() {
            let expected = if g == u32::MAX { 0.0 } else { modes.row(row)[c] };
            assert!((product - expected).abs() < 1e-12, "row {row}, mode {c}: {product} for {expected}");
        }
    }
    for i in 0..aggregates.len() {
        let own: Vec<u32> = Some(aggregates[i]).filter(|&g| g != u32::MAX).into_iter().collect();
        assert_eq!(p.pattern().row(i), own, "P̂ has one block in each row of an aggregate");
    }
    for (g, q, c) in (0..count).flat_map(|g| (0..k * k).map(move |pc| (g, pc / k, pc % k))) {
        let dot: f64 = (0..modes.size()).map(|row| p.get(row, g * k + q) * p.get(row, g * k + c)).sum();
        let without_basis = coarse.without_basis.contains(&((g * k + c) as u32));
        let expected = if q == c && !without_basis { 1.0 } else { 0.0 };
        assert!((dot - expected).abs() < 1e-12, "aggregate {g}: ({q}, {c}) is {dot}");
    }
    coarse.without_basis.len()
}

#[test]
fn rigid_modes_of_points_and_lines_are_dependent() {
    let line = |n: usize| (0..n).map(|i| [i as f64, 2.0 * i as f64, 0.0]).collect::<Vec<_>>();
    // A single node has no rotation (3 without), nodes on a line have two rotations (1 without), and four nodes
    // in space have three.
    for (positions, without_basis) in [
        (line(1), 3),
        (line(2), 1),
        (line(5), 1),
        (vec![[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], 0),
    ] {
        let modes = NearKernel::rigid_body_modes(&positions, 3).unwrap();
        let columns_without_basis = check(&modes, 3, &vec![0; positions.len()], 1);
        assert_eq!(columns_without_basis, without_basis, "{positions:?}");
    }
}

/// A column that differs from another column by noise of f32 gives a basis function only in f64.
#[test]
fn noise_of_the_precision_is_no_basis_function() {
    let noisy = |i: usize| 1.0 + 3e-7 * if i.is_multiple_of(3) { 1.0 } else { -0.5 };
    let (ones, other): (Vec<f64>, Vec<f64>) = (0..12).map(|i| (1.0, noisy(i))).unzip();
    let modes = NearKernel::from_columns(&[&ones, &other]).unwrap();
    let aggregates = [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1];
    let a = full(12, 1);
    assert_eq!(given(&a.to::<f32>(), &modes, &aggregates).without_basis, [1, 3]);
    assert!(given(&a, &modes, &aggregates).without_basis.is_empty());
}

#[test]
fn decoupled_nodes_have_no_rows() {
    let positions: Vec<[f64; 3]> =
        (0..9).map(|i| [f64::from(i % 3), f64::from(i / 3), 0.3 * f64::from(i * i % 5)]).collect();
    let modes = NearKernel::rigid_body_modes(&positions, 3).unwrap();
    check(&modes, 3, &[0, 0, 0, 0, u32::MAX, 1, 1, 1, 1], 2);
}

/// Returns D A D with D = 10^(k mod 5 - 2) at node k.
fn rescaled(a: &Bsr<f64>) -> Bsr<f64> {
    let (pattern, block, mut values) = a.clone().into_parts();
    let d = |k: usize| 10.0_f64.powi(k as i32 % 5 - 2);
    let size = block.0 * block.1;
    for i in 0..pattern.rows() {
        for k in pattern.range(i) {
            let factor = d(i) * d(pattern.indices()[k] as usize);
            values[k * size..(k + 1) * size].iter_mut().for_each(|v| *v *= factor);
        }
    }
    Bsr::new(pattern, block, values).unwrap()
}

#[test]
fn modes_follow_the_scale_of_the_matrix() {
    for problem in [poisson2d(12).unwrap(), elasticity3d(5, 1.0).unwrap()] {
        let (a, b) = (&problem.matrix, problem.matrix.block().0);
        let modes = || match b {
            3 => NearKernel::rigid_body_modes(&problem.positions, 3).unwrap(),
            _ => NearKernel::constants(a.shape().0, b).unwrap(),
        };
        let found = |a: &Bsr<f64>| {
            let positions = Some(&problem.positions[..]);
            let parameters = SmoothedAggregation { kernel_sweeps: 0, omega: 0.0, ..rotating() };
            kernel(&parameters.coarsen(&Grid { positions, ..grid(a) }, None).unwrap().unwrap())
        };
        let (plain, modes) = (found(a), modes());
        for (i, row) in plain.iter().enumerate().filter(|(_, row)| row.iter().any(|v| *v != 0.0)) {
            assert!(row.iter().zip(modes.row(i)).all(|(v, e)| (v - e).abs() < 1e-12), "row {i}: {row:?}");
        }
        let scaled = found(&rescaled(a));
        assert!([40, 41].iter().all(|&node| scaled[node * b][0] != 0.0));
        // Neighbours have scales of 10^(k mod 5 - 2), so the ratio of their modes is 10.
        let ratio = scaled[40 * b][0] / scaled[41 * b][0];
        assert!((ratio / 10.0 - 1.0).abs() < 0.5, "{ratio}");
    }
}

#[test]
fn translations_are_known_behind_filters() {
    let points: Vec<[f64; 3]> = (0..8).map(|i| [f64::from(i), f64::from(i * i), 0.5]).collect();
    let modes = NearKernel::rigid_body_modes(&points, 3).unwrap();
    let are_rigid = |modes: &NearKernel| vectors(modes, 3, None) == 3;
    assert!(are_rigid(&modes));
    // Modes of positions alone become the translations.
    let (a, sets) = (full(8, 3), [0, 0, 0, 0, 1, 1, 1, 1]);
    let fine = Grid { positions: Some(&points), sets: Some(&sets), ..grid(&a) };
    let found = kernel(&SmoothedAggregation::default().coarsen(&fine, None).unwrap().unwrap());
    let constants = NearKernel::constants(24, 3).unwrap();
    assert!(found.concat().iter().zip(constants.values()).all(|(v, e)| (v - e).abs() < 1e-14));
    assert_eq!(found[0].len(), 3);
    // Every node slides on a plane with the normal (0.6, 0, 0.8); the first node is held.
    let normal = [0.6, 0.0, 0.8];
    let mut values = modes.values().to_vec();
    for rows in values.chunks_exact_mut(18) {
        for j in 0..6 {
            let share: f64 = (0..3).map(|r| normal[r] * rows[r * 6 + j]).sum();
            (0..3).for_each(|r| rows[r * 6 + j] -= share * normal[r]);
        }
    }
    values[..18].fill(0.0);
    let filtered = NearKernel::from_rows(6, values.clone()).unwrap();
    assert!(are_rigid(&filtered));
    // After the translations come three vectors that are not rotations.
    let mut other = modes.values().to_vec();
    other.iter_mut().skip(4).step_by(6).for_each(|v| *v += 0.5);
    assert!(!are_rigid(&NearKernel::from_rows(6, other).unwrap()));
    values.rotate_right(1); // no longer translations
    assert!(!are_rigid(&NearKernel::from_rows(6, values).unwrap()));
}

/// In 2D only positions distinguish a rotation (about any point, by any angle) from another vector.
#[test]
fn a_third_vector_in_the_plane_need_not_be_a_turn() {
    let positions: Vec<[f64; 3]> =
        (0..60).map(|i| [0.3 * f64::from(i % 10), 0.2 * f64::from(i / 10), 0.0]).collect();
    let with = |third: &dyn Fn([f64; 3]) -> [f64; 2]| {
        let rows = positions.iter().flat_map(|&x| [1.0, 0.0, third(x)[0], 0.0, 1.0, third(x)[1]]);
        NearKernel::from_rows(3, rows.collect()).unwrap()
    };
    let are_rigid = |modes: &NearKernel, positions: Option<&[[f64; 3]]>| vectors(modes, 2, positions) == 2;
    let rigid = NearKernel::rigid_body_modes(&positions, 2).unwrap();
    let turn = with(&|x| [4.0 - 0.5 * x[1], 0.5 * x[0] - 3.0]);
    for modes in [&rigid, &turn] {
        assert!(are_rigid(modes, Some(&positions)));
        assert!(!are_rigid(modes, None), "positions are required");
    }
    let mut partly = turn.clone();
    partly.constrain(0..40).unwrap();
    assert!(are_rigid(&partly, Some(&positions)));
    for own in [with(&|x| [x[0], x[1]]), with(&|x| [x[0] * x[0], 0.0]), with(&|x| [0.0, x[0]])] {
        assert!(!are_rigid(&own, Some(&positions)));
    }
}

#[test]
fn constraints_are_seen_by_row_and_weak_nodes_by_couplings() {
    // Nodes of two unknowns; the first unknown of node 0 is held, and node 2 is nearly isolated.
    let entries = [
        (0, 0, 1.0),
        (1, 1, 2.0),
        (1, 3, -1.0),
        (3, 1, -1.0),
        (2, 2, 2.0),
        (3, 3, 2.0),
        (2, 3, 0.5),
        (3, 2, 0.5),
        (4, 4, 1.0),
        (5, 5, 1.0),
        (3, 5, -1e-3),
        (5, 3, -1e-3),
    ];
    let a = assembly::from_triplets_blocked(6, 6, (2, 2), &entries).unwrap();
    let parameters = SmoothedAggregation { filter: false, ..Default::default() };
    let coarse = parameters.coarsen(&grid(&a), None).unwrap().unwrap();
    assert_eq!(coarse.aggregates.unwrap(), [0, 0, u32::MAX]);
    // Given aggregates contain all nodes, and P̂ is zero in the rows of constraints.
    let p = given(&a, &NearKernel::constants(6, 2).unwrap(), &[0, 0, 0]).prolongation;
    let p = p.to_matrix().unwrap();
    let zero: Vec<bool> = (0..6).map(|row| p.get(row, 0) == 0.0 && p.get(row, 1) == 0.0).collect();
    assert_eq!(zero, [true, false, false, false, true, false]);
}
