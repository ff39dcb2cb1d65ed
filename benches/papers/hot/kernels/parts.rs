//! The parts of a step of HOT on one thread, on all cores and, with `--features opencl`, on the default device. The paper
//! gives a rebuild as about four cycles and more than 20 iterations of CG with block Jacobi (§5).

use std::hint::black_box;

use coarsen::backend::{Cpu, DenseBlocks, Matrix, SweepDirection};
use coarsen::multigrid::{Coarsest, JacobiCg, Keep, Multigrid, Smoothing};
use coarsen::node_embedding::{NodeEmbedding, Nodes};
use coarsen::prelude::*;
use coarsen::relax::{BlockJacobi, GaussSeidel};
use coarsen::schwarz::SchwarzBackend;
use coarsen::sparse::{OwnedSystem, SystemAt};
use coarsen::{LinearOperator, Objective, Preconditioner, Vector};
use coarsen_core::parallel;
use mpm::energy::Increment;

use crate::stage::Stage;
use crate::{Outcome, fastest};

/// The iterations of CG that are measured together.
const ITERATIONS: usize = 20;

/// Prints milliseconds, and the commands and synchronisations of each part on a device.
pub(crate) fn run(stage: &Stage) -> Outcome<()> {
    let cores = std::thread::available_parallelism()?.get();
    on_threads(stage, 1)?;
    on_threads(stage, cores)
}

fn on_threads(stage: &Stage, threads: usize) -> Outcome<()> {
    parallel::threads(threads, || -> Outcome<()> {
        let mut state = stage.state.clone();
        let begun = stage.begin_next(&mut state)?;
        let mut f = Increment::new(begun.given(&state.particles, &stage.bodies, stage.setting.gravity))?;
        let z = f.start();
        let (mut moved, mut gradient) = (z.clone(), vec![0.0; z.len()]);
        println!(
            "\n| parts of a step of HOT, {threads} threads | ms | commands | synchronisations |\n|---|---:|---:|---:|"
        );
        let evaluate = fastest(|| {
            moved[0] += 1e-9; // an energy is not computed twice at a point
            black_box(f.value(&moved));
            f.gradient(&moved, &mut gradient);
        });
        println!("| energy and gradient, the processor | {:.2} | | |", 1e3 * evaluate);
        let nodes = Nodes::OfSystem { spacing: f.spacing(), origin: [0.0; 3] };
        let method = NodeEmbedding { constraints: f.node_constraints().into(), ..NodeEmbedding::new(nodes) };
        let known = GaussSeidel { symmetric: true, ..GaussSeidel::default() }; // as the driver `hot`
        let smoothing = Smoothing::SymmetricGaussSeidel(known);
        let parameters = Multigrid { smoothing, ..node_embedding_of(method) };
        let system = f.system_at(&z)?;
        parts("the processor", &Cpu::new(), system, &parameters, || [0, 0])?;
        #[cfg(feature = "opencl")]
        if threads > 1 {
            let backend = coarsen::opencl::default_device::<f64>()?;
            let counts = || [backend.counters().launches, backend.counters().synchronisations];
            parts(&backend.device().to_string(), &backend, system, &parameters, counts)?;
        }
        Ok(())
    })?
}

fn parts<B: SchwarzBackend<Real = f64>>(
    name: &str,
    backend: &B,
    system: &OwnedSystem<f64>,
    parameters: &Multigrid<NodeEmbedding>,
    counts: impl Fn() -> [u64; 2],
) -> Outcome<()> {
    let measure = |what: &str, call: &mut dyn FnMut()| {
        let ms = 1e3 * fastest(&mut *call);
        let before = counts();
        call();
        let after = counts();
        let [commands, synchronisations] = [0, 1].map(|k| after[k] - before[k]);
        println!("| {what}, {name} | {ms:.2} | {commands} | {synchronisations} |");
    };
    let host = &system.matrix;
    let mut a = backend.matrix(host)?;
    let b = backend.vector(&vec![1.0; host.shape().0])?;
    let mut y = b.like()?;
    measure("values of the Hessian", &mut || {
        a.set_values(host).expect("the pattern of the matrix");
        let _ = b.sync();
    });
    measure("A x", &mut || {
        a.apply(black_box(&b), &mut y);
        let _ = y.sync();
    });
    let d = backend.blocks(&DenseBlocks::inverse_diagonal(host, "bench")?)?;
    let order = backend.rows(&backend.relaxation_order(host.pattern()))?;
    measure("a sweep of Gauss-Seidel", &mut || {
        a.relax(&order, SweepDirection::Forward, &d, 1.0, &b, &mut y);
        let _ = y.sync();
    });
    measure("the order of sweeps", &mut || {
        black_box(backend.relaxation_order(host.pattern()));
    });
    measure("a hierarchy", &mut || {
        drop(parameters.build_from(system.system(), backend).expect("a hierarchy of a step"));
        let _ = b.sync();
    });
    let mut anew =
        Multigrid { keep: Keep::Nothing, ..parameters.clone() }.build_from(system.system(), backend)?;
    measure("a rebuild in kept memory", &mut || {
        anew.update(system.system()).expect("the same system");
        let _ = b.sync();
    });
    let mut jacobi = BlockJacobi::default().build_from(system.system(), backend)?;
    let mut cg = Cg::new(Stop { max_iterations: ITERATIONS, ..Stop::relative(0.0) });
    measure("20 iterations of CG with block Jacobi", &mut || {
        y.fill(0.0);
        let _ = cg.solve(&a, &mut jacobi, &b, &mut y);
        let _ = y.sync();
    });
    let mut m = parameters.build_from(system.system(), backend)?;
    measure("a refresh", &mut || {
        m.update(system.system()).expect("the same system");
        let _ = b.sync();
    });
    measure("a cycle", &mut || {
        m.apply(&b, &mut y);
        let _ = y.sync();
    });
    let once = Coarsest::Iterative(JacobiCg { max_iterations: 1, ..JacobiCg::default() });
    let parameters = Multigrid { coarsest: once, ..parameters.clone() };
    let mut m = parameters.build_from(system.system(), backend)?;
    measure("a cycle with one iteration on the coarsest level", &mut || {
        m.apply(&b, &mut y);
        let _ = y.sync();
    });
    Ok(())
}
