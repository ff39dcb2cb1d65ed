//! A second solve of the same length allocates nothing, nor does a solve of a smaller length.

#[path = "../../../tests/counting/mod.rs"]
mod counting;

use std::ops::Range;

use coarsen_core::{Identity, LinearOperator, Stop, from_fn, parallel};
use coarsen_krylov::{
    BiCgStab, BlockCg, Cg, FlexibleCg, Gmres, Krylov, Minres, NullSpace, PipelinedCg, Projected, Richardson,
    SingleReductionCg, SpectralRadius, start_vector,
};
use counting::bytes;

type Method = Box<dyn Krylov<Vec<f64>> + Send>;

/// All methods; Richardson iteration uses the given ω.
fn methods(stop: Stop<f64>, omega: f64, b: &Vec<f64>) -> [(&'static str, Method); 10] {
    let mut flexible = Gmres::new(stop);
    flexible.flexible = true;
    let mut damped = Richardson::new(stop);
    damped.omega = omega;
    [
        ("Cg", Box::new(Cg::new(stop))),
        ("SingleReductionCg", Box::new(SingleReductionCg::new(stop))),
        ("PipelinedCg", Box::new(PipelinedCg::new(stop))),
        ("FlexibleCg", Box::new(FlexibleCg::new(stop))),
        ("Minres", Box::new(Minres::new(stop))),
        ("Gmres", Box::new(Gmres::new(stop))),
        ("Gmres, flexible", Box::new(flexible)),
        ("BiCgStab", Box::new(BiCgStab::new(stop))),
        ("Richardson", Box::new(damped)),
        ("Projected", Box::new(Projected::new(Cg::new(stop), NullSpace::constants(b).unwrap()))),
    ]
}

/// A tridiagonal matrix.
fn chain(n: usize) -> impl LinearOperator<Vec<f64>> {
    from_fn(n, move |x: &Vec<f64>, y: &mut Vec<f64>| {
        for i in 0..n {
            y[i] = 2.1 * x[i] - x.get(i + 1).unwrap_or(&0.0) - if i > 0 { x[i - 1] } else { 0.0 };
        }
    })
}

/// Systems of other sizes are solved in the memory of the largest, with the bits of a new method.
fn other_sizes() {
    let sizes = [50, 7, 43, 20, 50, 1];
    let systems = sizes.map(|n| (chain(n), start_vector::<f64>(n)));
    let mut solutions = sizes.map(|n| vec![0.0; n]);
    let all = || methods(Stop { max_iterations: 100, ..Stop::relative(1e-10) }, 0.45, &systems[0].1);
    for (k, (name, mut method)) in all().into_iter().enumerate() {
        if name == "Projected" {
            continue; // its null space has one size
        }
        let mut round = || {
            for ((a, b), x) in systems.iter().zip(&mut solutions) {
                x.fill(0.0);
                let _ = method.solve(a, &mut Identity, b, x).unwrap();
            }
        };
        round();
        assert_eq!(bytes(round), 0, "{name}");
        for ((a, b), x) in systems.iter().zip(&solutions) {
            let ((_, mut method), mut again) = (all().into_iter().nth(k).unwrap(), vec![0.0; x.len()]);
            let report = method.solve(a, &mut Identity, b, &mut again).unwrap();
            assert_eq!(*x, again, "{name} of {} unknowns: {report}", x.len());
        }
    }
    let mut radius = SpectralRadius::default();
    let mut round = || {
        for (a, b) in &systems {
            radius.estimate(a, &mut Identity, b).unwrap();
        }
    };
    round();
    assert_eq!(bytes(round), 0);
}

/// Nothing but the state and the report of each column: less than one vector.
fn separate_columns() {
    let (n, k) = (5000, 11);
    let b: Vec<Vec<f64>> =
        (0..k).map(|j| start_vector::<f64>(n).into_iter().map(|v| v + f64::from(j)).collect()).collect();
    let (chain, mut x) = (chain(n), vec![vec![0.0; n]; b.len()]);
    let mut method = BlockCg::new(Stop::relative(1e-10));
    method.shared = false;
    let mut solve = || {
        x.iter_mut().for_each(|x| x.fill(0.0));
        let reports = method.solve(&chain, &mut Identity, &b, &mut x).unwrap();
        assert!(reports.iter().all(|report| report.iterations > 10), "{reports:?}");
    };
    assert!(bytes(&mut solve) > 5 * b.len() * n * size_of::<f64>());
    assert!(bytes(&mut solve) < 500 * b.len() && 500 * b.len() < n * size_of::<f64>());
}

fn main() {
    let n = 50;
    let chain = chain(n);
    let b: Vec<f64> = start_vector(n);
    for (name, mut method) in methods(Stop::relative(1e-10), 0.45, &b) {
        let mut x = vec![0.0; n];
        let mut solve = |budget| {
            x.fill(0.0);
            method.stop_mut().max_iterations = budget;
            let _ = method.solve(&chain, &mut Identity, &b, &mut x).unwrap();
        };
        assert!(bytes(|| solve(1)) > 0, "{name}");
        assert_eq!(bytes(|| solve(1000)), 0, "{name}");
    }
    let (mut method, mut x) = (Cg::new(Stop::relative(1e-10)), vec![0.0; n + 1]);
    let mut slices = || {
        x.fill(0.0);
        let _ = method.solve(&chain, &mut Identity, &b[..], &mut x[1..]).unwrap();
    };
    assert!(bytes(&mut slices) > 0);
    assert_eq!(bytes(&mut slices), 0, "slices");
    let mut radius = SpectralRadius::default();
    let mut estimate = || assert!(radius.estimate(&chain, &mut Identity, &b).unwrap() > 4.0);
    assert!(bytes(&mut estimate) > 0);
    assert_eq!(bytes(&mut estimate), 0);
    separate_columns();
    other_sizes();
    on_several_threads(); // last, since the threads of a pool allocate at any time
}

/// Systems large enough for several threads. Inside a pool a solve allocates nothing. From outside, only the
/// queue of the pool allocates.
fn on_several_threads() {
    let n = 8 * parallel::THRESHOLD + 5;
    let leaf = |(rows, x, y): (Range<usize>, &[f64], &mut [f64])| {
        rows.zip(x.iter().zip(y)).for_each(|(i, (x, y))| *y = (1.0 + (i % 97) as f64) * x);
    };
    let scale = from_fn(n, |x: &Vec<f64>, y: &mut Vec<f64>| {
        parallel::each((0..n, &x[..], &mut y[..]), parallel::LEAF, parallel::worth(n), &leaf);
    });
    let b: Vec<f64> = start_vector(n);
    for (name, mut method) in methods(Stop { max_iterations: 40, ..Stop::relative(1e-10) }, 0.02, &b) {
        let mut x = vec![0.0; n];
        let mut solve = || {
            x.fill(0.0);
            method.solve(&scale, &mut Identity, &b, &mut x).unwrap().iterations
        };
        let iterations = solve();
        let outside = bytes(|| assert_eq!(solve(), iterations));
        // Each loop is a job in a queue, which allocates a block of 1.5 KB for every 63 jobs. There are at
        // most fifteen loops per iteration, and for Gmres four per basis vector, with 15 vectors on average.
        let most = if name.starts_with("Gmres") { 4096 } else { 512 };
        assert!(outside <= most * iterations, "{name}: {outside} bytes in {iterations} iterations");
        let inside = parallel::threads(2, || {
            solve(); // lets the threads of the pool allocate their own memory
            bytes(|| assert_eq!(solve(), iterations))
        });
        assert_eq!(inside.unwrap(), 0, "{name}");
    }
}
