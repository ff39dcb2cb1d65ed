//! Products with the Hessian and Gauss-Seidel, beside read bandwidth.

use std::hint::black_box;

use coarsen::backend::{Backend, Cpu, DenseBlocks, Matrix, SweepDirection};
use coarsen::prelude::*;
use coarsen::sparse::SystemAt;
use coarsen::{LinearOperator, Preconditioner};
use mpm::energy::Increment;

use crate::stage::Stage;
use crate::{Outcome, fastest, on_threads};

/// Prints GB/s and their share of the bandwidth.
pub(crate) fn run(stage: &Stage, bandwidth: [f64; 2]) -> Outcome<()> {
    let mut state = stage.state.clone();
    let begun = stage.begin_next(&mut state)?;
    let mut f = Increment::new(begun.given(&state.particles, &stage.bodies, stage.setting.gravity))?;
    let zeros = vec![0.0; f.size()];
    let system = f.system_at(&zeros)?;
    let (host, backend, n) = (&system.matrix, Cpu::<f64>::new(), zeros.len());
    let a = backend.matrix(host)?;
    let inverses = DenseBlocks::inverse_diagonal(host, "bench")?;
    let blocks = 8 * inverses.values().len();
    let d = backend.blocks(&inverses)?;
    let order = backend.relaxation_order(host.pattern());
    let known = GaussSeidel { symmetric: true, ..GaussSeidel::default() };
    let matrix = host.bytes();
    println!(
        "\n{} blocks, {:.1} per row, {:.0} MB",
        host.pattern().len(),
        host.pattern().len() as f64 * 3.0 / n as f64,
        matrix as f64 * 1e-6
    );
    println!(
        "\n| kernel | one thread, ms | GB/s | of reading | two threads, ms | GB/s | of reading | gain |\n|---|---:|---:|---:|---:|---:|---:|---:|"
    );
    let line = |name: &str, bytes: usize, [one, two]: [f64; 2]| {
        let rate = |s: f64| bytes as f64 / s * 1e-9;
        println!(
            "| {name} | {:.2} | {:.1} | {:.0} % | {:.2} | {:.1} | {:.0} % | {:.2} |",
            one * 1e3,
            rate(one),
            100.0 * rate(one) / bandwidth[0],
            two * 1e3,
            rate(two),
            100.0 * rate(two) / bandwidth[1],
            one / two
        );
    };
    let (b, x) = (vec![1.0; n], vec![0.5; n]);
    let product = on_threads(|_| {
        let mut y = vec![0.0; n];
        fastest(|| a.apply(black_box(&x), &mut y))
    })?;
    line("A x", matrix + 16 * n, product);
    let sweep = on_threads(|_| {
        let mut y = x.clone();
        fastest(|| a.relax(&order, SweepDirection::Forward, &d, 1.0, &b, &mut y))
    })?;
    line("a sweep of Gauss-Seidel", matrix + blocks + 24 * n, sweep);
    let both = coarsen_both(known, system, &backend, &b)?;
    line("forward and backward from zero, half of A twice", matrix + blocks + 32 * n, both);
    Ok(())
}

/// Symmetric Gauss-Seidel as the smoother of HOT.
fn coarsen_both(
    parameters: GaussSeidel,
    system: &coarsen::sparse::OwnedSystem<f64>,
    backend: &Cpu<f64>,
    b: &Vec<f64>,
) -> Outcome<[f64; 2]> {
    let mut seconds = [0.0; 2];
    for (seconds, threads) in seconds.iter_mut().zip(crate::THREADS) {
        let built = coarsen_core::parallel::threads(threads, || -> Outcome<f64> {
            let mut m = parameters.build_from(system.system(), backend)?;
            let mut z = vec![0.0; b.len()];
            Ok(fastest(|| m.apply(black_box(b), &mut z)))
        });
        *seconds = built??;
    }
    Ok(seconds)
}
