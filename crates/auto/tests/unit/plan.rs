//! The plan: which method each matrix gets.

use coarsen_diagnose::diagnose;
use coarsen_direct::Direct;
use coarsen_problems::{Material, Options, Problem, elasticity3d, poisson2d, poisson3d, softcube};
use coarsen_sparse::assembly::from_triplets;
use coarsen_sparse::{Bsr, System};

use crate::cost::Costs;
use crate::plan::{FactorCost, Plan};
use crate::{Auto, Ending, Method, Precond};

fn plan(a: &Bsr<f64>, iterate: bool) -> Plan {
    Plan::new(Auto { iterate, ..Auto::default() }, a.into(), &diagnose(a))
}

/// The tridiagonal matrix of n rows with these entries below, on and above the diagonal; the diagonal alternates.
fn chain(n: u32, below: f64, diagonal: [f64; 2], above: f64) -> Bsr<f64> {
    let row = |i: u32| {
        let beside = (i + 1 < n).then_some([(i + 1, i, below), (i, i + 1, above)]);
        [(i, i, diagonal[i as usize % 2])].into_iter().chain(beside.into_iter().flatten())
    };
    from_triplets(n as usize, n as usize, &(0..n).flat_map(row).collect::<Vec<_>>()).unwrap()
}

#[test]
fn the_matrix_decides() {
    for (below, diagonal, above, expected, negate) in [
        (-1.0, [2.0, 2.0], -1.0, (Method::Cg, Precond::SmoothedAggregation), false),
        (1.0, [-2.0, -2.0], 1.0, (Method::Cg, Precond::SmoothedAggregation), true),
        (2.0, [1.0, 1.0], 2.0, (Method::Minres, Precond::L1Jacobi), false),
        (2.0, [1.0, -1.0], 2.0, (Method::Minres, Precond::L1Jacobi), false),
        (1.0, [0.0, 1.0], 1.0, (Method::Minres, Precond::L1Jacobi), false),
        (-1.0, [2.0, 2.0], 0.0, (Method::Gmres, Precond::SmoothedAggregation), false),
        (-1.0, [2.0, -2.0], 0.0, (Method::Gmres, Precond::Ilu0), false),
        (3.0, [0.0, 2.0], 1.0, (Method::Gmres, Precond::L1Jacobi), false),
    ] {
        let small = plan(&chain(20, below, diagonal, above), false);
        assert_eq!(small.begins(), (Method::Direct, Precond::None), "{below} {diagonal:?} {above}");
        let plan = plan(&chain(20_000, below, diagonal, above), true);
        assert_eq!((plan.begins(), plan.negate), (expected, negate), "{below} {diagonal:?} {above}");
    }
    // A component without constraints is singular, so the matrix is not factorised, even if it is small.
    let free = from_triplets(2, 2, &[(0, 0, 1.0), (0, 1, -1.0), (1, 0, -1.0), (1, 1, 1.0)]).unwrap();
    assert_eq!(plan(&free, false).begins().0, Method::Cg);
}

/// Both factors of a symmetric matrix have the entries of one triangle; the structure of L U bounds all row exchanges.
#[test]
fn only_lu_counts_twice() {
    let direct = |below: f64, diagonal: [f64; 2], above: f64| {
        plan(&chain(20_000, below, diagonal, above), false).costs.direct()
    };
    let definite = direct(-1.0, [2.0, 2.0], -1.0);
    assert_eq!(direct(2.0, [1.0, -1.0], 2.0), definite);
    assert!(direct(3.0, [1.0, 1.0], 1.0) > definite);
}

#[test]
fn sizes_and_structure_decide() {
    let begins = |a: &Bsr<f64>| plan(a, false).begins();
    let sa = (Method::Cg, Precond::SmoothedAggregation);
    assert_eq!(begins(&poisson3d(40).unwrap().matrix), (Method::Cg, Precond::Jacobi));
    assert_eq!(begins(&poisson2d(300).unwrap().matrix), sa);
    assert_eq!(begins(&elasticity3d(30, 1.0).unwrap().matrix), sa);
    // With positions, a solid with a mass term goes to skinning; a large one without, or with jumps, to smoothed aggregation.
    for (problem, expected) in [
        (softcube(24, 0.01, Material::NeoHookean, &|_, _| 1e5).unwrap(), (Method::Cg, Precond::Skinning)),
        (elasticity3d(40, 1.0).unwrap(), sa),
        (elasticity3d(25, 1e4).unwrap(), sa),
    ] {
        let Problem { matrix: a, positions, .. } = &problem;
        let system = System { positions: Some(positions), ..a.into() };
        assert_eq!(Plan::new(Auto::default(), system, &diagnose(a)).begins(), expected);
    }
    let plan = plan(&elasticity3d(6, 1.0).unwrap().matrix, true);
    assert_eq!(plan.factor, FactorCost::None(Ending::FactorExcluded));
}

/// IC(0) of blocks begins where its iterations take less time than the setup of a hierarchy and its cycles.
#[test]
fn small_sheets_begin_with_ic0() {
    for (spec, dt, expected) in [
        ("cloth:19", None, Precond::Ic0),
        ("cloth:19", Some(0.01), Precond::Ic0),
        ("cloth:58", None, Precond::Ic0),
        ("cloth:58", Some(0.01), Precond::SmoothedAggregation),
        ("cloth:101", None, Precond::SmoothedAggregation),
        ("pinned:300", None, Precond::SmoothedAggregation), // the factors do not fit into a cache
        ("elasticity3d:6", None, Precond::Ic0),
        ("elasticity3d:14", None, Precond::SmoothedAggregation),
    ] {
        let problem = Problem::parse(spec, &Options { dt, ..Options::default() }).unwrap();
        let system = problem.system();
        let plan = Plan::new(Auto::default(), system, &diagnose(&problem.matrix));
        assert_eq!(plan.begins(), (Method::Cg, expected), "{spec} {dt:?}");
    }
}

/// The stiffness of n³ trilinear cells, 20 times as long and wide as they are high.
fn flat_cells(n: i32) -> Bsr<f64> {
    let (k, m) = ([2.0, -1.0], [4.0 / 6.0, 1.0 / 6.0]);
    let nodes = || (0..n * n * n).map(|i| [i / (n * n), i / n % n, i % n]);
    let entries = nodes().flat_map(|p| nodes().map(move |q| (p, q))).filter_map(|(p, q)| {
        let d: [usize; 3] = std::array::from_fn(|e| p[e].abs_diff(q[e]) as usize);
        let number = |p: [i32; 3]| ((p[0] * n + p[1]) * n + p[2]) as u32;
        let [x, y, z] = d;
        let value = || k[x] * m[y] * m[z] + m[x] * k[y] * m[z] + 400.0 * m[x] * m[y] * k[z];
        d.iter().all(|d| *d < 2).then(|| (number(p), number(q), value()))
    });
    let size = (n * n * n) as usize;
    from_triplets(size, size, &entries.collect::<Vec<_>>()).unwrap()
}

/// Where many couplings have the sign of the diagonal, smoothed aggregation is not expected to be better than one level.
#[test]
fn a_hierarchy_is_not_first_where_errors_change_their_sign() {
    let plan = plan(&flat_cells(15), true);
    assert!(plan.costs.sample.mixed > 0.3, "{}", plan.costs.sample.mixed);
    assert_eq!(plan.begins(), (Method::Cg, Precond::Ic0));
    let expected = |precond| plan.costs.expected(Method::Cg, precond);
    assert!(expected(Precond::SmoothedAggregation) > 1.5 * expected(Precond::Jacobi));
}

/// Compares the true size of the factor, known after the ordering, with the estimate from the width, and with the bound from below.
#[test]
fn estimates_of_factors_are_within_a_factor_of_five() {
    for a in [
        poisson2d(30).unwrap().matrix,
        poisson2d(100).unwrap().matrix,
        poisson3d(15).unwrap().matrix,
        elasticity3d(5, 1.0).unwrap().matrix,
        elasticity3d(6, 1.0).unwrap().matrix,
    ] {
        let costs = Costs::of(&a, true);
        let (_, stats) = Direct::default().estimate(&a).unwrap();
        let whole = costs.ordering() + costs.factor(&stats);
        let ratio = costs.direct() / whole;
        assert!((0.2..5.0).contains(&ratio), "{ratio}");
        assert!(costs.least() <= whole && costs.ordering() < costs.least());
    }
}

/// A prescribed preconditioner is the only candidate, with the method that suits it; there is no factor.
#[test]
fn a_prescribed_preconditioner_is_the_only_candidate() {
    let (definite, unsymmetric) = (chain(20, -1.0, [2.0, 2.0], -1.0), chain(20, 1.0, [2.0, -2.0], 0.0));
    for (a, precond, method, expected) in [
        (&definite, Precond::Schwarz, None, Method::Cg),
        (&definite, Precond::Chebyshev, None, Method::Cg),
        (&definite, Precond::Ilu0, None, Method::Gmres),
        (&definite, Precond::Jacobi, Some(Method::Minres), Method::Minres),
        (&unsymmetric, Precond::Jacobi, None, Method::Gmres),
    ] {
        let auto = Auto { precond: Some(precond), method, ..Auto::default() };
        let plan = Plan::new(auto, a.into(), &diagnose(a));
        assert_eq!((&plan.candidates[..], plan.has_factor()), (&[(expected, precond)][..], false));
        assert_eq!(plan.begins(), (expected, precond));
    }
    let direct = Auto { precond: Some(Precond::Jacobi), method: Some(Method::Direct), ..Auto::default() };
    assert_eq!(Plan::new(direct, (&definite).into(), &diagnose(&definite)).begins().0, Method::Direct);
}
