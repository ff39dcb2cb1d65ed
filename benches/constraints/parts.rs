//! The parts of a solve of the filtered system: convergence rates (Fig. 5), shares of filtering and setup (Fig. 6), and
//! memory beside the matrix (§12).
//!
//! The rate is the tolerance to the power of one over the iterations: a bound on the geometric mean of the factors by which
//! an iteration shrinks √(rᵀM⁻¹r), which the paper gives (§11.1), since the last one may shrink it below the tolerance. The
//! memory is that of the hierarchy or the domains, in units of that of A: all of it, with the lists by which an update
//! reads the values of A, and as a count by hand the prolongations and coarse matrices alone, which are what the paper has. `sa-f32` is
//! the hierarchy that `auto` and the command take.
//! `sizes=51,101` takes sheets with other numbers of vertices along a side.

use std::time::Instant;

use coarsen::backend::Backend;
use coarsen::prelude::*;

use crate::kinds::constrained;
use crate::{Outcome, TOLERANCE};

const SIDES: [usize; 3] = [101, 151, 201];
const STEPS: [f64; 2] = [0.002, 0.01];
const METHODS: [&str; 5] = ["tamstorf", "sa", "sa-f32", "mas", "block-jacobi"];

/// The number of repetitions; the fastest counts for each part.
const TIMES: usize = 3;

/// A preconditioner, its bytes, and those of prolongations and coarse matrices.
type Built = (Box<dyn Preconditioner<Vec<f64>>>, [usize; 2]);

pub(crate) fn parts() -> Outcome<()> {
    println!("parts: cloth with 30 % of it on a table, to {TOLERANCE:.0e} in the norm of the preconditioner");
    println!(
        "| vertices | dt, ms | method | iterations | rate | ms | filter | setup | solve | memory | P and A_c |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|");
    for (side, dt) in sides()?.iter().flat_map(|side| STEPS.map(|dt| (*side, dt))) {
        let (p, c) = constrained("a table", side, dt, 0.3)?;
        for method in METHODS {
            let (b, mut best) = (p.right_hand_side(1), [f64::INFINITY; 3]);
            let (mut iterations, mut memory) = (0, [0.0; 2]);
            for _ in 0..TIMES {
                let mut clock = Instant::now();
                let mut lap = |k: usize| {
                    best[k] = clock.elapsed().as_secs_f64().min(best[k]);
                    clock = Instant::now();
                };
                let mut filtered = prefilter(p.system(), &c)?;
                lap(0);
                let (mut m, bytes) = build(method, filtered.system(Some(&p.positions)))?;
                lap(1);
                let mut cg = Cg::new(Stop { max_iterations: 20_000, ..Stop::relative(0.0) });
                cg.stop_in_preconditioner(Some(TOLERANCE));
                let mut x = vec![0.0; b.len()];
                let report = filtered.solve(&b, &mut x, |a, c, y| cg.solve(a, &mut m, c, y))??.converged()?;
                lap(2);
                let whole = p.matrix.bytes() as f64;
                (iterations, memory) = (report.iterations, bytes.map(|bytes| bytes as f64 / whole));
            }
            let total: f64 = best.iter().sum();
            let [filter, setup, solve] = best.map(|seconds| 100.0 * seconds / total);
            let rate = TOLERANCE.powf(1.0 / iterations.max(1) as f64);
            println!(
                "| {} | {:.0} | {method} | {iterations} | {rate:.3} | {:.1} | {filter:.0} % | {setup:.0} % | {solve:.0} % | \
                 {:.2} | {:.2} |",
                side * side,
                1e3 * dt,
                1e3 * total,
                memory[0],
                memory[1]
            );
        }
    }
    Ok(())
}

/// The numbers of vertices along a side that are asked for.
fn sides() -> Outcome<Vec<usize>> {
    let asked = std::env::args().find_map(|word| word.strip_prefix("sizes=").map(str::to_owned));
    Ok(asked.map_or(Ok(SIDES.to_vec()), |text| text.split(',').map(str::parse).collect())?)
}

/// The bytes of the prolongations and of the coarse matrices.
fn levels<T: Real, B: Backend>(m: &Hierarchy<T, B>) -> usize {
    let coarse = |l: usize| m.matrix(l).map_or(0, |a| a.bytes()) + m.prolongation(l).map_or(0, |p| p.bytes());
    (0..m.levels()).map(coarse).sum()
}

fn build(method: &str, system: System<'_, f64>) -> Outcome<Built> {
    let backend = Cpu::new();
    Ok(match method {
        "tamstorf" => {
            let m = tamstorf().build(system, &backend)?;
            let bytes = [m.bytes(), levels(&m)];
            (Box::new(m), bytes)
        }
        "sa" => {
            let m = smoothed_aggregation().build(system, &backend)?;
            let bytes = [m.bytes(), levels(&m)];
            (Box::new(m), bytes)
        }
        "sa-f32" => {
            let m = smoothed_aggregation().build_f32(system)?;
            let bytes = [m.get().bytes(), levels(m.get())];
            (Box::new(m), bytes)
        }
        "mas" => {
            let m = Schwarz::multilevel().build(system, &backend)?;
            let bytes = [m.bytes(), 0];
            (Box::new(m), bytes)
        }
        _ => (
            Box::new(BlockJacobi::default().build_from(system, &backend)?),
            [9 * 8 * system.matrix.pattern().rows(), 0],
        ),
    })
}
