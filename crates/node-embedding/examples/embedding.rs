//! Times of node embedding on a grid of trilinear elements: a rebuild against a cycle and against iterations
//! of block-Jacobi CG, on one thread. `cargo run --release -p coarsen-node-embedding --example embedding [ELEMENTS]`

use coarsen_node_embedding::node_embedding;
use std::time::Instant;

use coarsen_backend::Cpu;
use coarsen_core::{Preconditioner, Stop, parallel};
use coarsen_krylov::{Cg, FlexibleCg};
use coarsen_multigrid::{Coarsening, Grid, Keep, Multigrid, Smoothing};
use coarsen_relax::{BlockJacobi, GaussSeidel};
use coarsen_sparse::GalerkinPlan;

/// The time in milliseconds that this thread has run, where Linux counts it; otherwise the time of a clock.
fn now(start: Instant) -> f64 {
    let counted = std::fs::read_to_string("/proc/thread-self/schedstat");
    let nanoseconds = counted.ok().and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    nanoseconds.map_or_else(|| 1e3 * start.elapsed().as_secs_f64(), |ns| 1e-6 * ns)
}

/// The shortest time of several calls, in milliseconds.
fn shortest(calls: usize, mut f: impl FnMut()) -> f64 {
    let start = Instant::now();
    let mut time = || {
        let before = now(start);
        f();
        now(start) - before
    };
    (0..calls).map(|_| time()).fold(f64::INFINITY, f64::min)
}

fn measure(n: usize) -> Result<(), Box<dyn std::error::Error>> {
    let p = coarsen_problems::elasticity3d(n, 1.0)?;
    let (r, mut z) = (p.right_hand_side(1), vec![0.0; p.matrix.shape().0]);
    let backend = Cpu::new();
    let mut jacobi = BlockJacobi::default().build(&p.matrix, &backend)?;
    let stop = Stop { max_iterations: 50, ..Stop::relative(0.0) };
    let mut cg = Cg::new(stop);
    let mut iterations = |z: &mut Vec<f64>| {
        z.fill(0.0);
        cg.solve(&p.matrix, &mut jacobi, &r, z).map(drop)
    };
    iterations(&mut z)?;
    let iteration = shortest(5, || drop(iterations(&mut z))) / 50.0;
    println!("{} nodes; CG with block Jacobi: {iteration:.3} ms an iteration", p.matrix.pattern().rows());
    z.fill(0.0);
    let solved = Cg::new(Stop::relative(1e-6)).solve(&p.matrix, &mut jacobi, &r, &mut z)?.converged()?;
    println!("{} iterations to 1e-6", solved.iterations);
    let method = node_embedding(1.0 / n as f64).coarsening;
    let mut step = method.coarsen(&Grid::finest(&p.system(), &p.matrix), None)?.ok_or("no coarse grid")?;
    let mut plan = GalerkinPlan::new(&p.matrix, &step.prolongation)?;
    let mut coarse = plan.build(&p.matrix, &step.prolongation)?;
    let general = shortest(9, || drop(plan.update(&p.matrix, &step.prolongation, &mut coarse)));
    let mut made = Some(method.product(&p.matrix, &mut step, &mut plan, None)?);
    let stencil = shortest(9, || made = method.product(&p.matrix, &mut step, &mut plan, made.take()).ok());
    println!("R H P: {general:.2} ms by the general plan, {stencil:.2} ms by stencils");
    let gauss_seidel = GaussSeidel::default();
    for (name, smoothing) in [
        ("symmetric", Smoothing::SymmetricGaussSeidel(gauss_seidel)),
        (
            "symmetric, known",
            Smoothing::SymmetricGaussSeidel(GaussSeidel { symmetric: true, ..gauss_seidel }),
        ),
        ("forward, backward", Smoothing::GaussSeidel(gauss_seidel)),
    ] {
        let parameters = Multigrid { smoothing, ..node_embedding(1.0 / n as f64) };
        let mut m = parameters.build(p.system(), &backend)?;
        z.fill(0.0);
        let solved =
            FlexibleCg::new(Stop::relative(1e-6)).solve(&p.matrix, &mut m, &r, &mut z)?.converged()?;
        println!("{name}: {} iterations to 1e-6", solved.iterations);
        let cycle = shortest(15, || m.apply(&r, &mut z));
        let update = shortest(9, || drop(m.update(p.system())));
        let mut anew = Multigrid { keep: Keep::Nothing, ..parameters }.build(p.system(), &backend)?;
        let rebuild = shortest(9, || drop(anew.update(p.system())));
        println!("{name}: cycle {cycle:.2} ms, new values {update:.2} ms ({:.2} cycles)", update / cycle);
        let [cycles, its] = [rebuild / cycle, rebuild / iteration];
        println!("rebuild {rebuild:.2} ms ({cycles:.2} cycles, {its:.1} iterations)\n{anew}\n");
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let n = std::env::args().nth(1).map_or(Ok(36), |n| n.parse())?;
    parallel::threads(1, || measure(n).map_err(|e| e.to_string()))??;
    Ok(())
}
