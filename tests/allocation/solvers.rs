//! From the second call on, solves, updates and descents do not allocate, with one thread and with two
//! threads.

use coarsen::auto::{Parameters, Precond};
use coarsen::descent::{BackendObjective, CachedPreconditioner, HostObjective, refreshed};
use coarsen::direct::Dense;
use coarsen::elastic::{ImplicitEuler, StableNeoHookean, Tetrahedra};
use coarsen::krylov::BlockCg;
use coarsen::multigrid::Smoothing;
use coarsen::optimize::{Direction, Forcing, Gradient, Linearize, Norm, node_weights};
use coarsen::parallel;
use coarsen::prelude::*;
use coarsen::problems::Scene;
use coarsen::schwarz::AdditiveSchwarz;
use coarsen::sparse::{Contacts, OwnedSystem, SparseError, Stencil, SystemAt};

use crate::common::{self, multigrids, noise, preconditioners};
use crate::counting::{bytes, held};

/// A chain of `n` nodes with five unknowns each, a block size without a special kernel.
fn chain(n: u32) -> Bsr<f64> {
    let coupled = (0..n - 1).flat_map(|i| [(i, i + 1), (i + 1, i)]);
    let places: Vec<(u32, u32)> = (0..n).map(|i| (i, i)).chain(coupled).collect();
    let unit = |k: usize| if k.is_multiple_of(6) { 1.0 } else { 0.1 };
    let scaled = |p: &(u32, u32)| if p.0 == p.1 { 3.0 } else { -1.0 };
    let values: Vec<f64> = places.iter().flat_map(|p| (0..25).map(move |k| scaled(p) * unit(k))).collect();
    assembly::from_blocks((n as usize, n as usize), (5, 5), &places, &values).unwrap()
}

/// The Laplacian of a path, with constants in its kernel.
fn path() -> Bsr<f64> {
    let n = 3000;
    let entries =
        (0..n - 1).flat_map(|i| [(i, i, 1.0), (i + 1, i + 1, 1.0), (i, i + 1, -1.0), (i + 1, i, -1.0)]);
    assembly::from_triplets(n as usize, n as usize, &entries.collect::<Vec<_>>()).unwrap()
}

/// Hierarchies with six unknowns per coarse node, a K-cycle, sweeps over half of the matrix, or a singular
/// coarsest matrix.
fn hierarchies_of_blocks(threads: usize) {
    let names = if threads > 1 { ["elasticity3d:12", "cloth:61"] } else { ["elasticity3d:8", "cloth:31"] };
    let ([body, sheet], free) = (names.map(common::problem), path());
    let elastic = System { positions: Some(&body.positions), ..System::from(&body.matrix) };
    let cloth = System { positions: Some(&sheet.positions), ..System::from(&sheet.matrix) };
    let chebyshev = tamstorf().smoothing;
    for (name, system, cycle, smoothing) in [
        ("V", elastic, Cycle::V, chebyshev),
        ("K", elastic, Cycle::K, chebyshev),
        ("halves", elastic, Cycle::V, Smoothing::Fitted),
        ("weak couplings left out", cloth, Cycle::V, Smoothing::Fitted),
        ("singular", System::from(&free), Cycle::V, chebyshev),
    ] {
        let parameters = Multigrid { smoothing, ..common::small_sa(cycle) };
        let mut m = parameters.build(system, &Cpu::mixed()).unwrap();
        assert!(m.levels() > 2, "{m}");
        let mut r = noise(system.matrix.shape().0, 2);
        let mean = r.iter().sum::<f64>() / r.len() as f64;
        r.iter_mut().for_each(|r| *r -= mean);
        let mut z = r.clone();
        m.update(system).unwrap();
        m.apply(&r, &mut z);
        let counted = bytes(|| {
            m.update(system).unwrap();
            m.apply(&r, &mut z);
        });
        assert_eq!(counted, 0, "{name} at {threads} threads");
        assert!(z.iter().all(|z| z.is_finite()), "{name}");
    }
}

/// Cycles over eight columns and over one follow each other. A second solve allocates only the reports, which are smaller
/// than a vector.
fn several_columns(threads: usize) {
    let a = common::problem("poisson2d:60").matrix;
    let n = a.shape().0;
    let parameters =
        Multigrid { smoothing: Smoothing::Chebyshev(Chebyshev::default()), ..common::small_sa(Cycle::V) };
    let mut m = parameters.build(&a, &Cpu::new()).unwrap();
    let b: Vec<_> = (0..9).map(|j| noise(n, j + 1)).collect();
    let mut x = vec![vec![0.0; n]; b.len()];
    let mut method = BlockCg::new(Stop::relative(1e-8));
    method.shared = false;
    let mut solve = || {
        x.iter_mut().for_each(|x| x.fill(0.0));
        let reports = method.solve(&a, &mut m, &b, &mut x).unwrap();
        assert!(reports.iter().all(|report| report.iterations > 3), "{reports:?}");
    };
    solve();
    let counted = bytes(solve);
    assert!(counted < 500 * b.len(), "{counted} bytes for several columns at {threads} threads");
}

/// Contact of lasting pairs, with another stiffness in each step.
fn contact_that_lasts(threads: usize) {
    let relaxed: [(&str, Build); 7] = [
        ("jacobi", |s| Ok(Box::new(Jacobi::default().build(s, &Cpu::new())?))),
        ("block jacobi", |s| Ok(Box::new(BlockJacobi::default().build(s, &Cpu::new())?))),
        ("chebyshev", |s| Ok(Box::new(Chebyshev::default().build(s, &Cpu::new())?))),
        ("gauss-seidel", |s| Ok(Box::new(GaussSeidel::default().build(s, &Cpu::new())?))),
        ("ic0", |s| Ok(Box::new(Ic0::default().build(s, &Cpu::new())?))),
        ("ilu0", |s| Ok(Box::new(Ilu0.build(s, &Cpu::new())?))),
        ("the hierarchy of auto", |s| {
            let (precond, parameters) = (Precond::SmoothedAggregation, Parameters::default());
            Ok(parameters.build(precond, s, &Cpu::mixed())?.0)
        }),
    ];
    let builds: [(&str, Build); 3] = [
        ("hierarchy", |s| Ok(Box::new(common::small_sa(Cycle::V).build(s, &Cpu::mixed())?))),
        ("domains", |s| Ok(Box::new(Schwarz::multilevel().build(s, &Cpu::new())?))),
        ("damped domains", |s| Ok(Box::new(OverDomains::multiplicative().build(s, &Cpu::new())?))),
    ];
    let overlapping: [(&str, Build); 1] =
        [("overlap", |s| Ok(Box::new(AdditiveSchwarz::overlapping().build(s, &Cpu::new())?)))];
    let exact: [(&str, Build); 2] = [
        ("factor", |s| Ok(Box::new(Direct::default().build(s, &Cpu::new())?))),
        ("dense inverse", |s| Ok(Box::new(Dense::default().build(s, &Cpu::new())?))),
    ];
    let (sheet, small) = if threads > 1 { ("cloth:61", "cloth:31") } else { ("cloth:41", "cloth:21") };
    updates_with_contact(sheet, &builds, threads);
    updates_with_contact(sheet, &relaxed, threads);
    updates_with_contact(small, &overlapping, threads);
    updates_with_contact("cloth:9", &exact, threads);
    hessians_with_contact(threads);
}

/// A quadratic whose Hessian has lasting contact.
struct Touching(OwnedSystem<f64>);

impl Objective<Vec<f64>> for Touching {
    fn value(&mut self, x: &Vec<f64>) -> Dot<f64> {
        self.0.apply_dot(x, &mut vec![0.0; x.len()])
    }

    fn gradient(&mut self, x: &Vec<f64>, g: &mut Vec<f64>) {
        self.0.apply(x, g);
    }
}

impl SystemAt for Touching {
    fn system_at(&mut self, _: &[f64]) -> Result<&OwnedSystem<f64>, SparseError> {
        Ok(&self.0)
    }
}

/// Hessians with contact, copied to a backend.
fn hessians_with_contact(threads: usize) {
    let sheet = common::problem("cloth:61");
    let n = sheet.positions.len();
    let mut set = Contacts::new(n, 3).unwrap();
    let stencils: Vec<_> = (100..n as u32 / 3).map(|i| Stencil::point_point(i, n as u32 - i)).collect();
    set.assemble(&stencils, &vec![1.0; 9 * stencils.len()]).unwrap();
    let (x, backend) = (vec![0.0; 3 * n], Cpu::new());
    let touching = Touching(OwnedSystem { contact: Some(set), ..OwnedSystem::from(sheet.matrix) });
    let mut f = BackendObjective::bare(touching, &x, &backend);
    let mut linearize = || assert!(f.linearize(&x).is_ok());
    linearize();
    linearize();
    assert_eq!(bytes(linearize), 0, "a Hessian with contact at {threads} threads");
}

/// A preconditioner of a system.
type Built = Box<dyn Prepared<Vec<f64>, f64> + Send>;

/// The function that builds it.
type Build = fn(System<'_, f64>) -> Result<Built, coarsen::backend::SetupError>;

fn updates_with_contact(sheet: &str, builds: &[(&str, Build)], threads: usize) {
    let sheet = common::problem(sheet);
    let n = sheet.positions.len() as u32;
    let sets = [1.0, 3.0].map(|stiffness| {
        let stencils: Vec<_> = (n / 37..n / 3).step_by(7).map(|i| Stencil::point_point(i, n - i)).collect();
        let blocks = stencils.iter().flat_map(|_| (0..9).map(|k| if k % 4 == 0 { stiffness } else { 0.0 }));
        let mut set = Contacts::new(n as usize, 3).unwrap();
        set.assemble(&stencils, &blocks.collect::<Vec<_>>()).unwrap();
        set
    });
    let systems = sets.each_ref().map(|set| System { contact: Some(set), ..sheet.system() });
    for &(name, build) in builds {
        let mut m = build(systems[0]).unwrap();
        let (r, mut z) = (noise(3 * n as usize, 2), vec![0.0; 3 * n as usize]);
        let mut updates = || {
            for system in [systems[1], systems[0]] {
                assert_ne!(m.update(system).unwrap(), Reused::Nothing, "{name}");
                m.patch(system, &[n / 37, n - n / 37]).unwrap();
                m.apply(&r, &mut z);
            }
        };
        updates();
        updates();
        assert_eq!(bytes(updates), 0, "{name} with contact at {threads} threads");
        let mut step = coarsen::Step::new(systems[0], build).unwrap();
        step.update().unwrap();
        let mut steps = || {
            for system in [systems[1], systems[0]] {
                step.set(system).unwrap();
                step.update_as(|_| coarsen::Action::Update).unwrap();
            }
        };
        steps();
        steps();
        assert_eq!(bytes(steps), 0, "steps of {name} with contact at {threads} threads");
    }
}

/// A grid that is large enough for loops over vectors on several threads.
fn grid() -> Bsr<f64> {
    common::problem("poisson2d:260").matrix
}

pub(crate) fn with_threads(threads: usize) {
    // Nothing depends on the size on one thread. On several threads, the grid is large enough for loops over vectors, and the
    // chain for products and for loops over the two copies of a vector that overlapping domains have.
    let systems = match threads {
        1 => [common::problem("poisson2d:60").matrix, chain(500)],
        _ => [grid(), chain(6600)],
    };
    parallel::threads(threads, || {
        if threads > 1 {
            what_is_held();
        }
        updates(&systems, |name| threads == 1 || !common::has_loops_of_another(name), threads);
        hierarchies_of_blocks(threads);
        several_columns(threads);
        contact_that_lasts(threads);
        bodies(threads);
    })
    .unwrap();
}

/// All methods, on a chain that is large enough for loops over vectors as well.
pub(crate) fn long_with_two_threads() {
    parallel::threads(2, || updates(&[grid(), chain(20_000)], |_| true, 2)).unwrap();
}

/// Updates and applications of the selected preconditioners on both systems, and of cycles on the first.
fn updates(systems: &[Bsr<f64>; 2], selected: impl Fn(&str) -> bool, threads: usize) {
    let relaxed = systems.iter().flat_map(|a| preconditioners().into_iter().map(move |r| (a, r)));
    let in_f32: common::Named<f64> =
        ("sa in f32", |a| Box::new(common::small_sa(Cycle::V).build_f32(a.into()).unwrap()));
    let all = relaxed.chain(multigrids().into_iter().map(|r| (&systems[0], r)));
    let all = all.chain(systems.iter().map(|a| (a, in_f32)));
    for (a, (name, build)) in all {
        // Allocations of the device driver are not counted here; on a device, `OpenCl::counters` counts
        // the allocations of this library.
        if name.starts_with("opencl") || is_slow(name, a) || !selected(name) {
            continue;
        }
        let (mut m, size) = (build(a), a.block().0);
        let (r, mut z) = (noise(a.shape().0, 2), vec![0.0; a.shape().0]);
        m.update_from(a.into()).unwrap();
        m.apply(&r, &mut z);
        let counted = bytes(|| {
            m.update_from(a.into()).unwrap();
            m.apply(&r, &mut z);
        });
        assert_eq!(counted, 0, "{name} on blocks of {size} at {threads} threads");
    }
}

/// Whether a case is left out: a factorisation takes seconds for the large grid, but not for the chain. The
/// allocations of a factor do not depend on the system (`direct.rs`).
fn is_slow(name: &str, a: &Bsr<f64>) -> bool {
    name == "cholesky" && a.block() == (1, 1) && a.shape().0 > 10_000
}

/// Updates and applications of the selected methods from a thread outside the pool. Each loop is then a job for the pool, so
/// only the job queue may allocate.
pub(crate) fn from_outside(selected: fn(&str) -> bool) {
    let a = &grid();
    for (name, build) in preconditioners().into_iter().chain(multigrids()) {
        // The device driver may allocate.
        if name.starts_with("opencl") || is_slow(name, a) || !selected(name) {
            continue;
        }
        let mut m = build(a);
        let (r, mut z) = (noise(a.shape().0, 2), vec![0.0; a.shape().0]);
        let mut both = |times: usize| {
            for _ in 0..times {
                m.update_from(a.into()).unwrap();
                m.apply(&r, &mut z);
            }
        };
        both(2);
        let counted = bytes(|| both(3));
        // The queue allocates a block of 1.5 KB for every 63 jobs: at most one per update or application.
        assert!(counted <= 3 * 1600, "{name}: {counted} bytes in 3 updates and applications");
    }
}

/// Descents on an elastic body, with updates of the preconditioner, as in a time step: values, gradients,
/// Hessians and updates do not allocate.
fn bodies(threads: usize) {
    type Soft = HostObjective<ImplicitEuler<Tetrahedra<StableNeoHookean>>>;
    let jacobi = |scene: &mut Scene| {
        CachedPreconditioner::build(&mut scene.body, &scene.start, move |system| {
            Ok(Box::new(BlockJacobi::default().build_from(system, &Cpu::new())?))
        })
        .unwrap()
    };
    let scene = || Scene::bar_step(8, [1e5; 2], 1.0 / 30.0).unwrap();
    let mut around = scene();
    let preconditioned = Newton::with(Cg::default(), Forcing::Preconditioned { min_norm: 1e-9 });
    let directions: Vec<(&str, Box<dyn Direction<Vec<f64>, Soft>>)> = vec![
        ("l-bfgs", Box::new(refreshed(Lbfgs::new(4, jacobi(&mut around)), |d| &mut d.initial))),
        ("gradient", Box::new(refreshed(Gradient::scaled(jacobi(&mut around)), |d| &mut d.inverse))),
        ("newton", Box::new(Newton::inexact())),
        ("newton, preconditioned forcing", Box::new(preconditioned)),
    ];
    for (name, mut direction) in directions {
        let mut scene = scene();
        let m = jacobi(&mut scene);
        let Scene { body, start, .. } = scene;
        let weights = node_weights(&body.characteristic(), 3).unwrap();
        let (mut f, mut x) = (HostObjective::new(body, m).projecting_on_demand(), start.clone());
        let mut descent = Descent::new(Backtracking::default(), Stop::relative(0.0));
        descent.norm = Norm::weighted(weights).unwrap();
        descent.stop.max_iterations = 6;
        descent.refresh = Refresh::Every(2);
        // Steps 0, 2 and 4 refresh the preconditioner. In the first run, step 0 keeps the preconditioner
        // built at the start.
        let mut expected = 2;
        let mut minimize = || {
            x.copy_from_slice(&start);
            direction.as_mut().forget();
            let report = descent.minimize(&mut f, &mut direction, &mut x).unwrap();
            assert_eq!((report.iterations, report.refreshes), (6, expected), "{name}: {report}");
            expected = 3;
        };
        minimize();
        minimize();
        assert_eq!(bytes(minimize), 0, "a body under {name} at {threads} threads");
    }
}

/// An object reports most of the memory that it holds, and never more than it holds. Small maps are not
/// reported.
fn what_is_held() {
    let [body, sheet, plate] = ["elasticity3d:14", "cloth:61", "poisson2d:120"].map(common::problem);
    let said = |name: &str, bytes: usize, held: usize, least: f64| {
        let share = bytes as f64 / held as f64;
        assert!((least..=1.0).contains(&share), "{name}: {bytes} bytes of {held}");
    };
    let gauss_seidel = Smoothing::GaussSeidel(GaussSeidel::default());
    for (name, problem, least) in [("body", &body, 0.98), ("sheet", &sheet, 0.96), ("plate", &plate, 0.93)] {
        let system = System { positions: Some(&problem.positions), ..System::from(&problem.matrix) };
        for parameters in [
            common::small_sa(Cycle::V),
            common::small_sa(Cycle::K),
            Multigrid { smoothing: Smoothing::Fitted, ..common::small_sa(Cycle::V) },
            Multigrid { smoothing: gauss_seidel, ..common::small_sa(Cycle::V) },
        ] {
            let (m, bytes) = held(|| parameters.build(system, &Cpu::new()).unwrap());
            said(name, m.bytes(), bytes, least);
            let (m, bytes) = held(|| parameters.build(system, &Cpu::mixed()).unwrap());
            said(name, m.bytes(), bytes, least);
        }
        let (m, bytes) = held(|| common::small_mas().build(system, &Cpu::new()).unwrap());
        said(name, m.bytes(), bytes, 0.75);
    }
    let free = path();
    let build = || common::small_sa(Cycle::V).build(&free, &Cpu::new()).unwrap();
    drop(build()); // products of dense matrices keep a buffer per thread
    let (m, bytes) = held(build);
    said("singular", m.bytes(), bytes, 0.85);
}
