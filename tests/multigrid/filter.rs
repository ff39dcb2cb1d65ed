//! Couplings that smooth the prolongation: weak ones are left out where there are many of them.

use coarsen_backend::{Cpu, Setup};
use coarsen_core::Stop;
use coarsen_krylov::Cg;
use coarsen_multigrid::Coarsening;
use coarsen_smoothed_aggregation::tamstorf;
use coarsen_smoothed_aggregation::{SmoothedAggregation, Spreading};
use coarsen_sparse::{Bsr, NearKernel, Prolongation, Strength, System, assembly};

use crate::common::{grid, problem};

/// The measure of weak couplings on the finest level.
const NORMS: Strength = Strength::Symmetric { theta: 0.08 };

/// Returns the couplings that smooth P; none if all do.
fn spreading(a: &Bsr<f64>) -> Spreading {
    let parameters = SmoothedAggregation { strength: NORMS, ..Default::default() };
    parameters.coarsen(&grid(a), None).unwrap().unwrap().state
}

#[test]
fn sheets_and_rotated_layers_have_many_weak_couplings() {
    for (spec, expected) in [
        ("cloth:21", true),
        ("anisotropic2d:40", true),
        ("poisson2d:40", false),
        ("poisson3d:12", false),
        ("jump3d:16", false),
        ("elasticity3d:6", false),
    ] {
        let a = problem(spec).matrix;
        assert_eq!(!spreading(&a).couplings().is_empty(), expected, "{spec}");
    }
}

#[test]
fn equal_neighbours_are_not_weak() {
    // A stencil of 26 neighbours with -1 and a diagonal of 26: every coupling is below 0.08.
    let n = 6_usize;
    let at = |i: usize| [i % n, i / n % n, i / n / n];
    let near = |i: usize, j: usize| at(i).iter().zip(at(j)).all(|(x, y)| x.abs_diff(y) < 2);
    let entries: Vec<_> = (0..n * n * n)
        .flat_map(|i| {
            (0..n * n * n)
                .filter(move |&j| near(i, j))
                .map(move |j| (i as u32, j as u32, if i == j { 26.0 } else { -1.0 }))
        })
        .collect();
    let a = assembly::from_triplets(n * n * n, n * n * n, &entries).unwrap();
    assert!(spreading(&a).couplings().is_empty());
}

/// Where A K = 0, P K_c = K for any scaling of the unknowns.
#[test]
fn a_near_kernel_is_kept_where_nothing_holds_it() {
    let n = 40;
    let problem = problem("anisotropic2d:40");
    let scale = |i: usize| 2.0_f64.powi(i as i32 % 5 - 2);
    let (pattern, block, mut values) = problem.matrix.clone().into_parts();
    for i in 0..pattern.rows() {
        pattern.range(i).for_each(|k| values[k] *= scale(i) * scale(pattern.indices()[k] as usize));
    }
    let a = Bsr::new(pattern, block, values).unwrap();
    let modes = NearKernel::from_rows(1, (0..n * n).map(|i| 1.0 / scale(i)).collect()).unwrap();
    let mut parameters = tamstorf();
    (parameters.coarsening.kernel_sweeps, parameters.coarsening.prune) = (0, 0.0);
    let m = parameters.build_from(System { near_kernel: Some(&modes), ..(&a).into() }, &Cpu::new()).unwrap();
    let p = m.prolongation(0).and_then(Prolongation::matrix).unwrap();
    let of = m.aggregates(0).unwrap();
    let mut coarse = vec![0.0_f64; p.shape().1];
    (0..n * n).for_each(|i| coarse[of[i] as usize] += modes.row(i)[0].powi(2));
    for i in (0..n * n).filter(|i| (1..n - 1).contains(&(i % n)) && (1..n - 1).contains(&(i / n))) {
        let sum: f64 = p.row(i).map(|(g, v)| v[0] * coarse[g].sqrt()).sum();
        assert!((sum / modes.row(i)[0] - 1.0).abs() < 1e-10, "row {i}: {sum}");
    }
}

/// Contact holds a node in one direction; in the other directions the node moves with its neighbours.
#[test]
fn a_node_that_is_stiff_in_one_direction_is_not_left_alone() {
    let problem = problem("cloth:21");
    let (mut a, node, normal) = (problem.matrix.clone(), 10 * 21 + 10, [0.48, 0.6, 0.64]);
    let k = a.pattern().find(node, node).unwrap();
    for (e, v) in a.values_mut()[9 * k..9 * (k + 1)].iter_mut().enumerate() {
        *v += 1e6 * normal[e / 3] * normal[e % 3];
    }
    let m = tamstorf().build(&a, &Cpu::new()).unwrap();
    assert_ne!(m.aggregates(0).unwrap()[node], u32::MAX);
}

/// Some existing couplings become a thousand times stiffer.
#[test]
fn stiff_pairs_keep_their_couplings_and_many_of_them_all() {
    let problem = problem("cloth:41");
    let n = problem.matrix.pattern().rows();
    let tied = |pairs: usize| {
        let mut a = problem.matrix.clone();
        let pattern = a.pattern().clone();
        for first in (0..pairs).map(|p| 3 * 41 + 7 + (p * 37) % (n - 6 * 41)) {
            let size = a.value(pattern.find(first, first).unwrap())[0];
            for (i, j, sign) in [
                (first, first, 1.0),
                (first + 1, first + 1, 1.0),
                (first, first + 1, -1.0),
                (first + 1, first, -1.0),
            ] {
                let Some(k) = pattern.find(i, j) else { continue };
                a.values_mut()[9 * k + 8] += sign * 1e3 * size;
            }
        }
        a
    };
    let columns = problem.matrix.pattern().indices();
    for (pairs, kept) in [(0, true), (2, true), (100, false)] {
        let a = tied(pairs);
        let pattern = a.pattern();
        let weights = NORMS.weights(&a, false).unwrap();
        let strong = NORMS.strong(pattern, &weights);
        let is_tied = |i: usize| pattern.range(i).any(|k| columns[k] as usize != i && weights[k] > 0.75);
        let mut expected = strong.clone();
        for (i, k) in (0..n).flat_map(|i| pattern.range(i).map(move |k| (i, k))) {
            let j = columns[k] as usize;
            expected[k] |= j != i && weights[k] > 0.0 && (is_tied(i) || is_tied(j));
        }
        assert_eq!(expected == strong, pairs == 0, "{pairs} pairs");
        let of = spreading(&a);
        let found = of.couplings();
        assert_eq!(!found.is_empty(), kept, "{pairs} pairs");
        if !kept {
            continue;
        }
        // Rows that cannot use the strong couplings alone use all of them.
        let whole = |i: usize| pattern.range(i).all(|k| found[k]);
        assert!(
            (0..n).all(|i| whole(i) || pattern.range(i).all(|k| found[k] == expected[k])),
            "{pairs} pairs"
        );
        assert!(4 * (0..n).filter(|&i| whole(i)).count() < n, "{pairs} pairs");
    }
}

#[test]
fn leaving_weak_couplings_out_saves_iterations_and_entries() {
    for (spec, fewer) in [("anisotropic2d:150", 0.85), ("cloth:61", 1.0)] {
        let problem = problem(spec);
        let (a, b) = (&problem.matrix, problem.right_hand_side(1));
        let system = System { near_kernel: Some(&problem.near_kernel), ..a.into() };
        let run = |filter: bool| {
            let mut parameters = tamstorf();
            parameters.coarsening.filter = filter;
            let mut m = parameters.build_from(system, &Cpu::new()).unwrap();
            let mut x = vec![0.0; b.len()];
            let report = Cg::new(Stop::relative(1e-8)).solve(a, &mut m, &b, &mut x).unwrap();
            (report.converged().unwrap().iterations as f64, m.operator_complexity())
        };
        let ((its, complexity), (its_of_all, complexity_of_all)) = (run(true), run(false));
        assert!(its <= fewer * its_of_all, "{spec}: {its} of {its_of_all}");
        assert!(complexity < 0.95 * complexity_of_all, "{spec}: {complexity} of {complexity_of_all}");
    }
}
