//! Hierarchies that are updated from a matrix in device memory, compared with the update on the host.

use crate::common::{self, difference, problem};
use coarsen_backend::conformance::noise;
use coarsen_backend::{Backend, Cpu, Matrix, NumericBackend, SetupError};
use coarsen_core::{Error, Outcome, Preconditioner, Real, Stop};
use coarsen_krylov::Cg;
use coarsen_multigrid::{Coarsening, Coarsest, JacobiCg, Multigrid, Smoothing};
use coarsen_node_embedding::node_embedding;
use coarsen_node_embedding::{Constraint, NodeEmbedding};
use coarsen_opencl::OpenCl;
use coarsen_relax::{Chebyshev, DampedJacobi, GaussSeidel, Spai0};
use coarsen_skinning::skinning_levels;
use coarsen_smoothed_aggregation::SmoothedAggregation;
use coarsen_smoothed_aggregation::tamstorf;
use coarsen_sparse::{Bsr, System, assembly};

/// Skinning of a body, and of a sheet, whose flat handles need a stiffness term on every level. An update on
/// the device keeps the term of the build. The term acts only on motions of handles that move no node, so
/// applications agree nonetheless.
#[test]
fn skinning_update_on_device_equals_host() {
    for (name, handles) in [("elasticity3d:7", [40, 8]), ("cloth:21", [60, 10])] {
        agrees(name, skinning_levels(&handles));
    }
}

/// Node embedding, also with nodes that are held or slide, for which P is stored in full blocks.
#[test]
fn node_embedding_update_on_device_equals_host() {
    let parameters = Multigrid { coarsest: Coarsest::Factor, ..node_embedding(1.0 / 7.0) };
    agrees("elasticity3d:7", parameters.clone());
    let slides = |i: u32| (i, Constraint::Slides([1.0, 2.0, f64::from(i)]));
    let held = (0..40).step_by(10).map(|i| (i, Constraint::Held));
    let constraints = held.chain((3..40).step_by(5).map(slides)).collect();
    let coarsening = NodeEmbedding { constraints, ..parameters.coarsening.clone() };
    agrees("elasticity3d:7", Multigrid { coarsening, ..parameters });
    agrees("elasticity3d:7", node_embedding(1.0 / 7.0)); // CG on the coarsest level
}

/// A refresh of node embedding from the host uploads the values of all matrices and the inverted diagonal blocks, and of the
/// coarsest matrix its dense inverse if it has a factor: an upload and a synchronisation for each array. Nothing is read. A GPU pads
/// the rows of a slice and the blocks of the diagonal.
#[test]
fn refreshes_of_embedded_nodes_move_values_only() {
    let Some(backend) = common::backend::<f64>() else { return };
    let p = problem("elasticity3d:7");
    let changed = stiffened(&p.matrix);
    for smoothing in smoothings() {
        for coarsest in [Coarsest::Factor, Coarsest::Iterative(JacobiCg::default())] {
            let parameters = Multigrid { coarsest, smoothing, ..node_embedding(1.0 / 7.0) };
            let mut m = parameters.build(p.system(), &backend).unwrap();
            assert_eq!(m.levels(), 3);
            let all: Vec<&Bsr<f64>> =
                [&p.matrix].into_iter().chain((1..3).filter_map(|l| m.matrix(l))).collect();
            let values = |a: &&Bsr<f64>| a.values().len() + 9 * a.pattern().rows();
            let above = all[..2].iter().map(values).sum::<usize>();
            let (arrays, numbers) = match coarsest {
                Coarsest::Factor => (5, above + all[2].shape().0.pow(2)),
                _ => (6, above + values(&all[2])),
            };
            let before = backend.counters();
            m.update(System { matrix: &changed, ..p.system() }).unwrap();
            let now = backend.counters();
            let [uploads, synchronisations, downloads] = [
                now.uploads - before.uploads,
                now.synchronisations - before.synchronisations,
                now.downloads - before.downloads,
            ];
            assert_eq!(
                [uploads, synchronisations, downloads],
                [arrays, arrays, 0],
                "{smoothing:?} {coarsest:?}"
            );
            let (sent, bytes) = (now.sent - before.sent, 8 * numbers as u64);
            let padded = backend.device().accelerator && sent > bytes && sent < 2 * bytes;
            assert!(sent == bytes || padded, "{smoothing:?} {coarsest:?}: {sent} bytes for {bytes}");
        }
    }
}

/// An update with values on the device gives the cycle of an update on the host.
fn agrees<C: Coarsening<f64> + 'static>(name: &str, parameters: Multigrid<C>) {
    let Some(backend) = common::backend::<f64>() else { return };
    let p = problem(name);
    let (changed, n) = (stiffened(&p.matrix), p.matrix.shape().0);
    let chebyshev = Smoothing::Chebyshev(Chebyshev { degree: 2, ratio: 4.0, ..Default::default() });
    let parameters = Multigrid { smoothing: chebyshev, ..parameters };
    let mut host = parameters.build(p.system(), &Cpu::<f64>::new()).unwrap();
    host.update(System { matrix: &changed, ..p.system() }).unwrap();
    let mut there = parameters.build(p.system(), &backend).unwrap();
    let mut plan = there.numeric_plan().unwrap();
    there.update_on_device(&backend.matrix(&changed).unwrap(), &mut plan).unwrap();
    let (r, mut z) = (noise(n, 3), vec![0.0; n]);
    host.apply(&r, &mut z);
    let gap = difference(&applied(&backend, &mut there, &r), &z);
    assert!(gap <= 1e-9, "{name}: {gap:e}");
}

fn parameters(smoothing: Smoothing) -> Multigrid<SmoothedAggregation> {
    Multigrid { smoothing, coarse_size: 30, ..tamstorf() }
}

/// Returns a matrix of the same pattern with another stiffness: S A S with S between 0.8 and 1.2, constant on
/// a node.
fn stiffened(a: &Bsr<f64>) -> Bsr<f64> {
    let (mut changed, area) = (a.clone(), a.block().0 * a.block().1);
    let s = |i: usize| 1.0 + 0.2 * (i as f64 * 0.9).sin();
    let mut blocks = changed.values_mut().chunks_exact_mut(area);
    for i in 0..a.pattern().rows() {
        for &j in a.pattern().row(i) {
            let factor = s(i) * s(j as usize);
            blocks.next().into_iter().flatten().for_each(|v| *v *= factor);
        }
    }
    changed
}

/// Returns M⁻¹ r, computed on a device, in the precision of the host.
fn applied<V: Real, S: Real>(
    backend: &OpenCl<V, S>,
    m: &mut impl Preconditioner<<OpenCl<V, S> as Backend>::Vector>,
    r: &[f64],
) -> Vec<f64> {
    let r: Vec<V> = r.iter().map(|&v| V::from_f64(v)).collect();
    common::applied(backend, m, &r).into_iter().map(Real::as_f64).collect()
}

/// An update with values on the device equals the update of the host: applications agree to round-off, and
/// the numbers of iterations are the same.
fn equals_a_host_update<V: Real, S: Real>(
    backend: &OpenCl<V, S>,
    name: &str,
    smoothing: Smoothing,
    tolerance: f64,
) {
    let p = problem(name);
    let (a, changed) = (&p.matrix, stiffened(&p.matrix));
    let n = a.shape().0;
    let mut host = parameters(smoothing).build(p.system(), &Cpu::<f64>::new()).unwrap();
    host.update(System { matrix: &changed, ..p.system() }).unwrap();
    let mut there = parameters(smoothing).build(p.system(), backend).unwrap();
    assert!(there.levels() > 2, "{name}: {} levels", there.levels());
    let mut plan = there.numeric_plan().unwrap();
    let moved = backend.matrix(&changed).unwrap();
    there.update_on_device(&moved, &mut plan).unwrap();

    let r = noise(n, 3);
    let mut z = vec![0.0; n];
    host.apply(&r, &mut z);
    let found = applied(backend, &mut there, &r);
    let gap = difference(&found, &z);
    // A GPU sweeps in colours, so its cycle is another one.
    let alike = !(backend.device().accelerator && matches!(smoothing, Smoothing::GaussSeidel(_)));
    assert!(gap <= tolerance || !alike, "{name}, {smoothing:?}: {gap:e}");

    let accuracy = if V::EPSILON.as_f64() > 1e-10 { 1e-4 } else { 1e-8 };
    let mut x = vec![0.0; n];
    let expected = Cg::new(Stop::relative(accuracy)).solve(&changed, &mut host, &r, &mut x).unwrap();
    let rounded: Vec<V> = r.iter().map(|&v| V::from_f64(v)).collect();
    let (b, mut x) = (backend.vector(&rounded).unwrap(), backend.vector(&vec![V::zero(); n]).unwrap());
    let report =
        Cg::new(Stop::relative(V::from_f64(accuracy))).solve(&moved, &mut there, &b, &mut x).unwrap();
    assert_eq!(report.outcome, Outcome::Converged);
    let allowed = if alike { 1 } else { expected.iterations / 3 };
    assert!(report.iterations.abs_diff(expected.iterations) <= allowed, "{name}: {}", report.iterations);

    // The same values again give the same bits, and nothing is allocated.
    let before = backend.counters();
    there.update_on_device(&moved, &mut plan).unwrap();
    assert_eq!(backend.counters().allocations, before.allocations);
    assert_eq!(applied(backend, &mut there, &r), found);
    // The host can still update the hierarchy.
    there.update(p.system()).unwrap();
    let mut rebuilt = parameters(smoothing).build(p.system(), backend).unwrap();
    assert!(difference(&applied(backend, &mut there, &r), &applied(backend, &mut rebuilt, &r)) <= tolerance);
}

/// Returns smoothers for the tests; on a processor, Gauss-Seidel sweeps in the order of the CPU.
fn smoothings() -> [Smoothing; 3] {
    [
        Smoothing::Chebyshev(Chebyshev { degree: 2, ratio: 4.0, ..Default::default() }),
        Smoothing::DampedJacobi(DampedJacobi::default()),
        Smoothing::GaussSeidel(GaussSeidel::default()),
    ]
}

#[test]
fn scalar_update_on_device_equals_host() {
    let Some(backend) = common::backend::<f64>() else { return };
    smoothings()
        .into_iter()
        .for_each(|smoothing| equals_a_host_update(&backend, "poisson2d:24", smoothing, 1e-11));
}

#[test]
fn elastic_update_on_device_equals_host() {
    let Some(backend) = common::backend::<f64>() else { return };
    smoothings()
        .into_iter()
        .for_each(|smoothing| equals_a_host_update(&backend, "elasticity3d:7", smoothing, 1e-10));
}

#[test]
fn update_on_device_equals_host_in_every_precision() {
    let Some(double) = common::backend::<f64>() else { return };
    let [chebyshev, ..] = smoothings();
    equals_a_host_update(&double.mixed(), "elasticity3d:7", chebyshev, 1e-5);
    let Some(single) = common::backend::<f32>() else { return };
    equals_a_host_update(&single, "poisson2d:24", chebyshev, 1e-3);
}

#[test]
fn updates_on_a_gpu_equal_host_updates() {
    let Some(gpu) = common::posing::<f64>(common::gpu) else { return };
    let [chebyshev, ..] = smoothings();
    equals_a_host_update(&gpu, "elasticity3d:7", chebyshev, 1e-10);
}

/// Unusable values are reported, and a valid matrix restores the hierarchy. Other patterns are refused, and
/// so are smoothers that can only be updated on the host.
#[test]
fn faults_are_named() {
    let Some(backend) = common::backend::<f64>() else { return };
    let p = problem("poisson2d:24");
    let [chebyshev, ..] = smoothings();
    let mut m = parameters(chebyshev).build(p.system(), &backend).unwrap();
    let mut plan = m.numeric_plan().unwrap();
    let r = noise(p.matrix.shape().0, 1);
    let expected = applied(&backend, &mut m, &r);
    let mut broken = p.matrix.clone();
    let at = broken.pattern().find(7, 7).unwrap();
    broken.values_mut()[at] = -4.0;
    let mut there = backend.matrix(&broken).unwrap();
    match m.update_on_device(&there, &mut plan).unwrap_err() {
        SetupError::NotPositive { row: 7, diagonal, .. } => assert_eq!(diagonal, -4.0),
        other => panic!("{other}"),
    }
    broken.values_mut()[at] = 0.0;
    there.set_values(&broken).unwrap();
    let fault = m.update_on_device(&there, &mut plan).unwrap_err();
    assert!(matches!(fault, SetupError::ZeroDiagonal { row: 7, .. }), "{fault}");
    there.set_values(&p.matrix).unwrap();
    m.update_on_device(&there, &mut plan).unwrap();
    assert!(difference(&applied(&backend, &mut m, &r), &expected) < 1e-11);

    let other = backend.matrix(&assembly::from_triplets(576, 576, &[(0, 0, 1.0)]).unwrap()).unwrap();
    let refused = m.update_on_device(&other, &mut plan).unwrap_err();
    assert!(matches!(refused, SetupError::Core(Error::Pattern { .. })), "{refused}");
    let smoothing = Smoothing::Spai0(Spai0::default());
    let mut spai0 = parameters(smoothing).build(p.system(), &backend).unwrap();
    let mut plan = spai0.numeric_plan().unwrap();
    let refused = spai0.update_on_device(&there, &mut plan).unwrap_err();
    assert_eq!(refused, SetupError::HostOnly { method: "spai0" });
}

/// A hierarchy without coarser levels consists only of its coarse solve.
#[test]
fn update_of_one_level_on_device_equals_host() {
    let Some(backend) = common::backend::<f64>() else { return };
    let p = problem("poisson2d:5");
    let mut m = tamstorf().build(p.system(), &backend).unwrap();
    assert_eq!(m.levels(), 1);
    let mut plan = m.numeric_plan().unwrap();
    let mut twice = p.matrix.clone();
    twice.values_mut().iter_mut().for_each(|v| *v *= 2.0);
    let r = noise(25, 1);
    let before = applied(&backend, &mut m, &r);
    m.update_on_device(&backend.matrix(&twice).unwrap(), &mut plan).unwrap();
    let after: Vec<f64> = applied(&backend, &mut m, &r).into_iter().map(|v| 2.0 * v).collect();
    assert!(difference(&after, &before) < 1e-13);
}

/// A product of matrices that do not match is refused, and the error names the wrong size.
#[test]
fn products_of_other_sizes_are_refused() {
    let Some(backend) = common::backend::<f64>() else { return };
    let of = |m: u32, n: u32| {
        let entries: Vec<_> = (0..m).flat_map(|i| (0..n).map(move |j| (i, j, 1.0))).collect();
        backend.matrix(&assembly::from_triplets(m as usize, n as usize, &entries).unwrap()).unwrap()
    };
    let (a, wide, p, coarse) = (of(4, 4), of(4, 6), of(4, 2), of(2, 2));
    assert!(backend.galerkin([&a, &p, &coarse], &[1]).is_ok());
    let refused = backend.galerkin([&wide, &p, &coarse], &[]).err().unwrap();
    let what = "Galerkin product, block columns of A";
    assert_eq!(refused, Error::Shape { what, expected: 4, found: 6 });
    let refused = backend.galerkin([&a, &p, &coarse], &[1, 2]).err().unwrap();
    let what = "Galerkin product, unknowns without a basis function";
    assert_eq!(refused, Error::Shape { what, expected: 2, found: 3 });
}
