//! Properties of a backend with several ranks: vectors, every Krylov method, preconditioners, V-cycles.

use coarsen::backend::{Prepared, conformance};
use coarsen::krylov::{PipelinedCg, Richardson, SingleReductionCg};
use coarsen::multigrid::Smoothing;
use coarsen::prelude::*;
use coarsen::{Error, Stop};

use super::vector::{LEAF, Ranks, Share};
use super::{SHARES, on_ranks};
use crate::common::{GENERATED, noise, small_embedding, small_sa, small_skinning, systems_of};

#[test]
fn ranks_pass_the_conformance_tests_of_a_backend() {
    conform(&[&[2, 0, 1]]);
}

#[test]
#[ignore = "6 s: run by .ci/full"]
fn long_ranks_pass_the_conformance_tests_of_a_backend() {
    conform(&SHARES);
}

fn conform(shares: &[&[usize]]) {
    for weights in shares {
        on_ranks(weights, |backend| conformance::check(backend, 1e-14));
    }
}

/// Sizes are global, and sums have the same bits for any number of ranks.
#[test]
fn sums_do_not_depend_on_ranks() {
    let n = 7 * LEAF + 11;
    let [x, y] = [1, 2].map(|seed| noise(n, seed));
    let sums = |weights: &[usize]| {
        let all = on_ranks(weights, |backend| {
            let (x, y) = (backend.vector(&x).unwrap(), backend.vector(&y).unwrap());
            assert_eq!((x.size(), x.local_size()), (n, backend.range(n).len()));
            (x.local_size(), [x.dot(&y), x.dot_magnitude(&y).magnitude, x.norm()].map(f64::to_bits))
        });
        assert_eq!(all.iter().map(|(own, _)| own).sum::<usize>(), n);
        assert!(all.iter().all(|(_, sums)| *sums == all[0].1));
        all[0].1
    };
    let alone = sums(&[1]);
    SHARES.iter().for_each(|weights| assert_eq!(sums(weights), alone, "{weights:?}"));
}

fn methods<V: Vector<Real = f64>>(stop: Stop<f64>) -> Vec<(&'static str, Box<dyn Krylov<V>>)> {
    let mut flexible = Gmres::new(stop);
    flexible.flexible = true;
    let mut damped = Richardson::new(stop);
    damped.omega = 0.1;
    vec![
        ("Cg", Box::new(Cg::new(stop))),
        ("SingleReductionCg", Box::new(SingleReductionCg::new(stop))),
        ("PipelinedCg", Box::new(PipelinedCg::new(stop))),
        ("FlexibleCg", Box::new(FlexibleCg::new(stop))),
        ("Minres", Box::new(Minres::new(stop))),
        ("Gmres", Box::new(Gmres::new(stop))),
        ("Gmres, flexible", Box::new(flexible)),
        ("BiCgStab", Box::new(BiCgStab::new(stop))),
        ("Richardson", Box::new(damped)),
    ]
}

/// A ring with distant couplings in 3x3 blocks, symmetric or unsymmetric; diagonally dominant.
fn ring(nodes: usize, symmetric: bool) -> Bsr<f64> {
    let a = conformance::ring(nodes, 3);
    let n = a.shape().0;
    let mut entries = Vec::new();
    for i in 0..n {
        for (j, v) in (0..n).map(|j| (j, a.get(i, j))).filter(|(_, v)| *v != 0.0) {
            let v = if symmetric { 0.5 * v } else { v };
            entries.push((i as u32, j as u32, v));
            if symmetric {
                entries.push((j as u32, i as u32, v));
            }
        }
    }
    assembly::from_triplets(n, n, &entries).unwrap()
}

fn gathered(backend: &Ranks, x: &Share) -> Vec<f64> {
    let mut host = vec![f64::NAN; x.size()];
    backend.read(x, &mut host).unwrap();
    host
}

fn distance(x: &[f64], y: &[f64]) -> f64 {
    let largest = y.iter().fold(0.0_f64, |m, y| m.max(y.abs()));
    x.iter().zip(y).fold(0.0_f64, |m, (x, y)| m.max((x - y).abs())) / largest
}

/// Every method takes as many iterations as with one host vector, finds the same solution and gives the same
/// report on all ranks.
#[test]
fn krylov_methods_do_not_know_of_ranks() {
    let stop = Stop::relative(1e-10);
    for (nodes, symmetric) in [(40, true), (67, true), (67, false), (1, true)] {
        let a = ring(nodes, symmetric);
        let (b, start) = (noise(3 * nodes, 3), noise(3 * nodes, 4));
        for (k, (name, mut alone)) in methods::<Vec<f64>>(stop).into_iter().enumerate() {
            if !symmetric && !["Gmres", "Gmres, flexible", "BiCgStab", "Richardson"].contains(&name) {
                continue;
            }
            let (mut m, mut expected) = (Jacobi::default().build(&a, &Cpu::new()).unwrap(), start.clone());
            let one = alone.solve(&a, &mut m, &b, &mut expected).unwrap().converged().unwrap();
            for weights in SHARES {
                let all = on_ranks(weights, |backend| {
                    let (a_here, mut m) =
                        (backend.matrix(&a).unwrap(), Jacobi::default().build(&a, backend).unwrap());
                    let (b, mut x) = (backend.vector(&b).unwrap(), backend.vector(&start).unwrap());
                    let mut method = methods::<Share>(stop).swap_remove(k).1;
                    (method.solve(&a_here, &mut m, &b, &mut x).unwrap(), gathered(backend, &x))
                });
                let told = format!("{name} of {nodes} nodes on {weights:?}: {}", all[0].0);
                assert!(all.iter().all(|one| *one == all[0]), "{told}");
                assert_eq!(all[0].0.outcome, Outcome::Converged, "{told}");
                assert!(
                    all[0].0.iterations.abs_diff(one.iterations) <= 1,
                    "{told}, alone {}",
                    one.iterations
                );
                assert!(distance(&all[0].1, &expected) < 1e-8, "{told}");
            }
        }
    }
}

/// NaN on one rank is an error on all ranks, with its global index. Different layouts are errors. Zero
/// right-hand sides and exact guesses take no iteration.
#[test]
fn krylov_methods_refuse_alike_on_all_ranks() {
    let a = ring(67, true);
    let n = a.shape().0;
    for weights in SHARES {
        for k in 0..methods::<Share>(Stop::default()).len() {
            on_ranks(weights, |backend| {
                let matrix = backend.matrix(&a).unwrap();
                let (name, mut method) = methods::<Share>(Stop::default()).swap_remove(k);
                let mut x = backend.vector(&noise(n, 1)).unwrap();
                let mut bad = noise(n, 2);
                bad[n - 1] = f64::NAN;
                let refused = method.solve(&matrix, &mut Identity, &backend.vector(&bad).unwrap(), &mut x);
                assert_eq!(refused, Err(Error::NotFinite { what: "b", index: n - 1 }), "{name}");
                let b = backend.vector(&noise(n, 2)).unwrap();
                let shifted =
                    Ranks { weights: weights.iter().map(|w| w + 1).chain([1]).collect(), ..backend.clone() };
                let mut other = shifted.vector(&noise(n, 1)).unwrap();
                let refused = method.solve(&matrix, &mut Identity, &b, &mut other);
                assert_eq!(refused, Err(Error::Layout { what: "x" }), "{name}");
                assert_eq!(gathered(backend, &x), noise(n, 1), "{name}");
                let report =
                    method.solve(&matrix, &mut Identity, &backend.vector(&vec![0.0; n]).unwrap(), &mut x);
                assert_eq!(report.unwrap().iterations, 0, "{name}");
                assert_eq!(gathered(backend, &x), vec![0.0; n], "{name}");
            });
        }
    }
}

/// The number of reductions per iteration does not grow with the Krylov space. A null space takes one
/// reduction for all its vectors.
#[test]
fn sums_over_many_vectors_are_one_reduction() {
    let (a, weights) = (ring(67, true), [2, 1]);
    let n = a.shape().0;
    let counted = |k: usize, vectors: usize| {
        let all = on_ranks(&weights, |backend| {
            let (matrix, b) = (backend.matrix(&a).unwrap(), backend.vector(&noise(n, 2)).unwrap());
            let space = (0..vectors).map(|k| backend.vector(&noise(n, 100 + k as u64)).unwrap()).collect();
            let space = NullSpace::new(space).unwrap();
            let before = backend.world.reductions();
            let count = |iterations: usize| {
                let stop = Stop { max_iterations: iterations, ..Stop::relative(1e-300) };
                let mut method =
                    Projected::new(methods::<Share>(stop).swap_remove(k).1, NullSpace::new(vec![]).unwrap());
                let mut x = b.like().unwrap();
                let _ = method.solve(&matrix, &mut Identity, &b, &mut x).unwrap();
            };
            count(4);
            let short = backend.world.reductions() - before;
            count(12);
            let long = backend.world.reductions() - before - short;
            let mut x = b.like().unwrap();
            x.copy(&b);
            let before = backend.world.reductions();
            space.project(&mut x);
            let projection = backend.world.reductions() - before;
            (long - short, projection)
        });
        all[0]
    };
    for (k, (name, _)) in methods::<Share>(Stop::default()).into_iter().enumerate() {
        let (eight, projection) = counted(k, 6);
        let an_iteration = eight as f64 / 8.0;
        let allowed = match name {
            "SingleReductionCg" | "PipelinedCg" => 1.0,
            "Gmres" | "Gmres, flexible" => 5.0,
            _ => 4.0,
        };
        assert!(an_iteration <= allowed, "{name}: {an_iteration} reductions an iteration");
        assert_eq!(projection, 1);
    }
}

/// A free chain: constants are projected out of right-hand side, residuals and solution.
#[test]
fn singular_systems_are_solved_on_ranks() {
    let n = 200_u32;
    let entries: Vec<(u32, u32, f64)> = (0..n - 1)
        .flat_map(|i| [(i, i, 1.0), (i + 1, i + 1, 1.0), (i, i + 1, -1.0), (i + 1, i, -1.0)])
        .collect();
    let a = assembly::from_triplets(n as usize, n as usize, &entries).unwrap();
    let b = noise(n as usize, 5);
    let solve = |weights: &[usize]| {
        let all = on_ranks(weights, |backend| {
            let (matrix, load) = (backend.matrix(&a).unwrap(), backend.vector(&b).unwrap());
            let mut method = Projected::new(Cg::default(), NullSpace::constants(&load).unwrap());
            let mut x = load.like().unwrap();
            let mut rest = load.like().unwrap();
            rest.copy(&load);
            method.null_space.project(&mut rest);
            method.solve(&matrix, &mut Identity, &rest, &mut x).unwrap().converged().unwrap();
            gathered(backend, &x)
        });
        all.into_iter().next().unwrap()
    };
    let alone = solve(&[1]);
    SHARES.iter().for_each(|weights| assert!(distance(&solve(weights), &alone) < 1e-6, "{weights:?}"));
}

type Build = fn(&Bsr<f64>, &Ranks) -> Box<dyn Prepared<Share, f64>>;

fn built<R: Setup<f64, Ranks, Built: 'static>>(
    parameters: R,
    a: &Bsr<f64>,
    backend: &Ranks,
) -> Box<dyn Prepared<Share, f64>> {
    Box::new(parameters.build(a, backend).unwrap_or_else(|e| panic!("{e}")))
}

/// Preconditioners that need no special code for ranks, including V-cycles with each smoother.
const PRECONDITIONERS: [(&str, Build); 9] = [
    ("jacobi", |a, backend| built(Jacobi::default(), a, backend)),
    ("block-jacobi", |a, backend| built(BlockJacobi::default(), a, backend)),
    ("chebyshev", |a, backend| built(Chebyshev::default(), a, backend)),
    ("gauss-seidel", |a, backend| built(GaussSeidel::default(), a, backend)),
    ("sa", |a, backend| built(small_sa(Cycle::V), a, backend)),
    ("sa gauss-seidel", |a, backend| {
        let smoothing = Smoothing::GaussSeidel(GaussSeidel::default());
        built(Multigrid { smoothing, ..small_sa(Cycle::V) }, a, backend)
    }),
    ("sa k-cycle", |a, backend| built(small_sa(Cycle::K), a, backend)),
    ("skinning", |a, backend| built(small_skinning(a), a, backend)),
    ("node embedding", |a, backend| built(small_embedding(a), a, backend)),
];

#[test]
fn preconditioners_and_cycles_do_not_know_of_ranks() {
    ranks_are_equal(&["poisson3d:8", "elasticity3d:5"]);
}

#[test]
#[ignore = "20 s: run by .ci/full"]
fn long_preconditioners_and_cycles_do_not_know_of_ranks() {
    ranks_are_equal(&[&GENERATED[..], &["nos5"]].concat());
}

/// Every preconditioner gives the same result on several ranks as on one, after a build and after an update.
/// Conjugate gradients take the same number of iterations.
fn ranks_are_equal(names: &[&str]) {
    for (system, a) in systems_of(names) {
        let n = a.shape().0;
        let r = noise(n, 6);
        let mut changed = a.clone();
        changed.values_mut().iter_mut().for_each(|v| *v *= 1.5);
        for (name, build) in PRECONDITIONERS {
            let run = |weights: &[usize]| {
                let all = on_ranks(weights, |backend| {
                    let (mut m, r) = (build(&a, backend), backend.vector(&r).unwrap());
                    let mut z = r.like().unwrap();
                    m.apply(&r, &mut z);
                    let first = gathered(backend, &z);
                    let mut x = r.like().unwrap();
                    let stop = Stop::relative(1e-8);
                    let solved = FlexibleCg::new(stop)
                        .solve(&backend.matrix(&a).unwrap(), &mut m, &r, &mut x)
                        .unwrap();
                    m.update(&changed).unwrap();
                    m.apply(&r, &mut z);
                    (first, solved.iterations, gathered(backend, &z))
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
