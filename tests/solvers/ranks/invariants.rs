//! Properties of a backend with several ranks: preconditioners and V-cycles. Vectors and Krylov methods over ranks are tested in
//! `crates/distributed`.

use coarsen::backend::{Prepared, conformance};
use coarsen::multigrid::Smoothing;
use coarsen::prelude::*;

use super::vector::{Ranks, Share};
use super::{SHARES, on_ranks};
use crate::common::{noise, small_embedding, small_sa, small_skinning, systems};

type Invariant = fn(&Ranks);

#[test]
fn ranks_pass_the_conformance_tests_of_a_backend() {
    let invariants: [Invariant; 5] = [
        |on| conformance::vectors(on, 1e-14),
        |on| conformance::products(on, 1e-14),
        |on| conformance::blocks(on, 1e-14),
        |on| conformance::relaxation(on, 1e-14),
        conformance::wrong_sizes,
    ];
    for weights in SHARES {
        on_ranks(weights, |on| invariants.iter().for_each(|invariant| invariant(on)));
    }
}

fn gathered(on: &Ranks, x: &Share) -> Vec<f64> {
    let mut host = vec![f64::NAN; x.size()];
    on.read(x, &mut host).unwrap();
    host
}

fn distance(x: &[f64], y: &[f64]) -> f64 {
    let largest = y.iter().fold(0.0_f64, |m, y| m.max(y.abs()));
    x.iter().zip(y).fold(0.0_f64, |m, (x, y)| m.max((x - y).abs())) / largest
}

type Build = fn(&Bsr<f64>, &Ranks) -> Box<dyn Prepared<Share, f64>>;

fn built<R: Setup<f64, Ranks, Built: 'static>>(
    parameters: R,
    a: &Bsr<f64>,
    on: &Ranks,
) -> Box<dyn Prepared<Share, f64>> {
    Box::new(parameters.build(a, on).unwrap_or_else(|e| panic!("{e}")))
}

/// Preconditioners that need no special code for ranks, including V-cycles with each smoother.
const PRECONDITIONERS: [(&str, Build); 9] = [
    ("jacobi", |a, on| built(Jacobi::default(), a, on)),
    ("block-jacobi", |a, on| built(BlockJacobi::default(), a, on)),
    ("chebyshev", |a, on| built(Chebyshev::default(), a, on)),
    ("gauss-seidel", |a, on| built(GaussSeidel::default(), a, on)),
    ("sa", |a, on| built(small_sa(Cycle::V), a, on)),
    ("sa gauss-seidel", |a, on| {
        let smoothing = Smoothing::GaussSeidel(GaussSeidel::default());
        built(Multigrid { smoothing, ..small_sa(Cycle::V) }, a, on)
    }),
    ("sa k-cycle", |a, on| built(small_sa(Cycle::K), a, on)),
    ("skinning", |a, on| built(small_skinning(a), a, on)),
    ("node embedding", |a, on| built(small_embedding(a), a, on)),
];

#[test]
fn preconditioners_and_cycles_do_not_know_of_ranks() {
    ranks_are_equal(|name| ["poisson3d:8", "elasticity3d:5", "cloth:12"].contains(&name));
}

#[test]
#[ignore = "20 s: run by .ci/full"]
fn long_preconditioners_and_cycles_do_not_know_of_ranks() {
    ranks_are_equal(|name| !name.contains('_') && !name.starts_with("bcs"));
}

/// Every preconditioner gives the same result on several ranks as on one, after a build and after an update.
/// Conjugate gradients take the same number of iterations.
fn ranks_are_equal(selected: fn(&str) -> bool) {
    for (system, a) in systems().into_iter().filter(|(name, _)| selected(name)) {
        let n = a.shape().0;
        let r = noise(n, 6);
        let mut changed = a.clone();
        changed.values_mut().iter_mut().for_each(|v| *v *= 1.5);
        for (name, build) in PRECONDITIONERS {
            let run = |weights: &[usize]| {
                let all = on_ranks(weights, |on| {
                    let (mut m, r) = (build(&a, on), on.vector(&r).unwrap());
                    let mut z = r.like().unwrap();
                    m.apply(&r, &mut z);
                    let first = gathered(on, &z);
                    let mut x = r.like().unwrap();
                    let stop = Stop::relative(1e-8);
                    let solved =
                        FlexibleCg::new(stop).solve(&on.matrix(&a).unwrap(), &mut m, &r, &mut x).unwrap();
                    m.update(&changed).unwrap();
                    m.apply(&r, &mut z);
                    (first, solved.iterations, gathered(on, &z))
                });
                assert!(all.iter().all(|one| *one == all[0]), "{name} on {system}: ranks differ");
                all.into_iter().next().unwrap()
            };
            let alone = run(&[1]);
            for weights in [&[1, 1][..], &[2, 0, 1]] {
                let found = run(weights);
                let told = format!("{name} on {system}, {weights:?}");
                assert!(distance(&found.0, &alone.0) < 1e-8, "{told}: {:e}", distance(&found.0, &alone.0));
                assert!(distance(&found.2, &alone.2) < 1e-8, "{told}, updated");
                assert!(found.1.abs_diff(alone.1) <= 1 + alone.1 / 20, "{told}: {} and {}", found.1, alone.1);
            }
        }
    }
}
