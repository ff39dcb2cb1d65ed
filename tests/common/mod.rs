//! Shared by the tests of the facade: lists of preconditioners and of systems, and the folder of real data.

#![allow(dead_code)] // each test file uses a part

mod data;
#[cfg(feature = "opencl")]
mod device;

pub(crate) use data::data;

use coarsen::backend::{Backend, Prepared};
use coarsen::direct::{Direct, Method};
use coarsen::multigrid::{Coarsest, Smoothing};
use coarsen::node_embedding::Nodes;
use coarsen::prelude::*;
use coarsen::problems::{Options, Problem};
use coarsen::relax::{Chebyshev, DampedJacobi, Spai0};
use coarsen::schwarz::{AdditiveSchwarz, Coarse, Coupling, Inner};
use coarsen::skinning::Skinning;
use coarsen::smoothed_aggregation::{PlainAggregation, SmoothedAggregation};

/// A named preconditioner, built from any matrix on a backend.
pub(crate) type Named<V> = (&'static str, fn(&Bsr<f64>) -> Box<dyn Prepared<Vec<V>, f64>>);

fn build<R, B: Backend<Vector = Vec<V>, Real = V>, V: Real>(
    parameters: R,
    a: &Bsr<f64>,
    backend: B,
) -> Box<dyn Prepared<Vec<V>, f64>>
where
    R: Setup<f64, B>,
    R::Built: 'static,
{
    Box::new(parameters.build(a, &backend).unwrap_or_else(|e| panic!("{e}")))
}

macro_rules! preconditioners {
    ($backend:expr) => {
        vec![
            ("jacobi", |a| build(Jacobi::default(), a, $backend)),
            ("l1-jacobi", |a| build(Jacobi { omega: 1.0, l1: true }, a, $backend)),
            ("block-jacobi", |a| build(BlockJacobi { omega: 0.5, l1: false }, a, $backend)),
            ("l1-block-jacobi", |a| build(BlockJacobi { omega: 1.0, l1: true }, a, $backend)),
            ("damped", |a| build(DampedJacobi::default(), a, $backend)),
            ("spai0", |a| build(Spai0::default(), a, $backend)),
            ("gauss-seidel", |a| build(GaussSeidel::default(), a, $backend)),
            ("ssor", |a| build(GaussSeidel { omega: 1.3, sweeps: 2, ..Default::default() }, a, $backend)),
            ("chebyshev", |a| build(Chebyshev::default(), a, $backend)),
            ("ic0", |a| build(Ic0::default(), a, $backend)),
            ("ilu0", |a| build(Ilu0, a, $backend)),
            ("cholesky", |a| build(Direct { method: Method::Cholesky, ..Direct::default() }, a, $backend)),
            ("mas", |a| build(small_mas(), a, $backend)),
            ("mas exact top", |a| {
                build(Schwarz { coarse: Coarse::Exact { unknowns: 60 }, ..small_mas() }, a, $backend)
            }),
            ("overlapping", |a| build(small_overlapping(Inner::Inverses), a, $backend)),
            ("overlapping sweeps", |a| build(small_overlapping(Inner::Sweeps { pairs: 2 }), a, $backend)),
            ("overlapping factors", |a| build(small_overlapping(Inner::Factors), a, $backend)),
        ]
    };
}

/// Every preconditioner in f64. To test a new preconditioner, add a line to the macro above.
pub(crate) fn preconditioners() -> Vec<Named<f64>> {
    with_devices(
        preconditioners!(Cpu::new()),
        #[cfg(feature = "opencl")]
        device::doubles,
    )
}

/// Adds the same methods on a device, with the feature `opencl`.
fn with_devices<V>(
    all: Vec<Named<V>>,
    #[cfg(feature = "opencl")] devices: fn() -> Vec<Named<V>>,
) -> Vec<Named<V>> {
    #[cfg(feature = "opencl")]
    let all = [all, devices()].concat();
    all
}

/// Every preconditioner with f64 vectors and f32 storage.
pub(crate) fn mixed_preconditioners() -> Vec<Named<f64>> {
    with_devices(
        preconditioners!(Cpu::mixed()),
        #[cfg(feature = "opencl")]
        device::mixed,
    )
}

/// Every preconditioner in f32.
pub(crate) fn single_preconditioners() -> Vec<Named<f32>> {
    with_devices(
        preconditioners!(Cpu::single()),
        #[cfg(feature = "opencl")]
        device::singles,
    )
}

macro_rules! coarsenings {
    ($backend:expr, $suffix:literal) => {
        vec![
            (concat!("sa", $suffix), |a| build(small_sa(Cycle::V), a, $backend)),
            (concat!("plain aggregation", $suffix), |a| build(small_plain(), a, $backend)),
            (concat!("skinning", $suffix), |a| build(small_skinning(a), a, $backend)),
            (concat!("node embedding", $suffix), |a| build(small_embedding(a), a, $backend)),
        ]
    };
}

/// Multigrid cycles with a small coarsest level, so that small systems have several levels. To test a new coarsening, add a
/// line to the macro above.
pub(crate) fn multigrids() -> Vec<Named<f64>> {
    let mut all: Vec<Named<f64>> = coarsenings!(Cpu::new(), "");
    let mixed: Vec<Named<f64>> = coarsenings!(Cpu::mixed(), " mixed");
    let cycles: Vec<Named<f64>> = vec![
        ("sa w-cycle", |a| build(small_sa(Cycle::W), a, Cpu::new())),
        ("sa f-cycle", |a| build(small_sa(Cycle::F), a, Cpu::new())),
        ("sa gauss-seidel", |a| {
            let smoothing = Smoothing::GaussSeidel(GaussSeidel::default());
            build(Multigrid { smoothing, ..small_sa(Cycle::V) }, a, Cpu::new())
        }),
        ("sa fitted", |a| {
            let smoothing = Smoothing::Fitted;
            build(Multigrid { smoothing, ..small_sa(Cycle::V) }, a, Cpu::mixed())
        }),
        ("sa fitted w-cycle", |a| {
            let smoothing = Smoothing::Fitted;
            build(Multigrid { smoothing, ..small_sa(Cycle::W) }, a, Cpu::mixed())
        }),
    ];
    all.extend(mixed.into_iter().chain(cycles));
    with_devices(
        all,
        #[cfg(feature = "opencl")]
        device::multigrids,
    )
}

/// Whether another method of the lists runs the same loops; tests on several threads leave this one out.
pub(crate) fn has_loops_of_another(name: &str) -> bool {
    [
        "l1-jacobi",
        "l1-block-jacobi",
        "ssor",
        "mas exact top",
        "plain aggregation mixed",
        "skinning mixed",
        "node embedding mixed",
        "sa w-cycle",
        "sa f-cycle",
        "sa fitted w-cycle",
    ]
    .contains(&name)
}

/// Multigrid in f32.
pub(crate) fn single_multigrids() -> Vec<Named<f32>> {
    let mut all: Vec<Named<f32>> = coarsenings!(Cpu::single(), "");
    all.push(("sa fitted", |a| {
        let smoothing = Smoothing::Fitted;
        build(Multigrid { smoothing, ..small_sa(Cycle::V) }, a, Cpu::single())
    }));
    all
}

/// Plain aggregation with at most 40 unknowns on the coarsest level.
fn small_plain() -> Multigrid<PlainAggregation> {
    Multigrid { coarse_size: 40, ..Multigrid::of(PlainAggregation::default()) }
}

/// Skinning with several levels of control points. The rest positions are invented points of a lattice, because the
/// invariants hold for any positions.
pub(crate) fn small_skinning(a: &Bsr<f64>) -> Multigrid<Skinning> {
    let nodes = a.pattern().rows();
    let at = |i: usize| [i % 7, i / 7 % 7, i / 49].map(|c| c as f64);
    let coarsening = Skinning {
        control_points: vec![nodes.div_ceil(10), nodes.div_ceil(40)],
        rest: Some((0..nodes).map(at).collect()),
        ..Skinning::default()
    };
    Multigrid { coarse_size: 0, ..Multigrid::of(coarsening) }
}

/// Node embedding with a fixed operator, for nodes in the rows of a square. These are the places of a Poisson
/// problem; the invariants hold for any places.
pub(crate) fn small_embedding(a: &Bsr<f64>) -> Multigrid<NodeEmbedding> {
    let nodes = a.pattern().rows() as i32;
    let side = nodes.isqrt().max(1);
    let places = (0..nodes).map(|i| [i / side, i % side, 0]).collect();
    let parameters = node_embedding_of(NodeEmbedding::new(Nodes::Given(places)));
    Multigrid { coarsest: Coarsest::Factor, ..parameters }
}

/// Smoothed aggregation with at most 40 unknowns on the coarsest level.
pub(crate) fn small_sa(cycle: Cycle) -> Multigrid<SmoothedAggregation> {
    Multigrid { cycle, coarse_size: 40, ..tamstorf() }
}

/// Multilevel additive Schwarz with domains small enough for several levels.
pub(crate) fn small_mas() -> Schwarz {
    // All couplings have the same weight. Otherwise a build and an update would give different domains for
    // new values.
    let coupling = Coupling::Adjacency;
    Schwarz { domain: 8, coarse: Coarse::Domains, coupling, ..Schwarz::multilevel() }
}

/// One level of overlapping domains, small enough for several of them; they grow as those of [`small_mas`].
pub(crate) fn small_overlapping(inner: Inner) -> AdditiveSchwarz {
    let domain = if inner == Inner::Inverses { 8 } else { 60 };
    AdditiveSchwarz { inner, domain, coupling: Coupling::Adjacency, ..AdditiveSchwarz::overlapping() }
}

/// A problem of the gallery, by name.
pub(crate) fn problem(name: &str) -> Problem {
    Problem::parse(name, &Options::default()).unwrap_or_else(|e| panic!("{e}"))
}

/// The generated ones of [`systems`].
pub(crate) const GENERATED: [&str; 8] = [
    "poisson2d:17",
    "poisson3d:8",
    "anisotropic2d:15",
    "jump3d:8",
    "elasticity3d:5",
    "cloth:12",
    "softbody:4",
    "graph:300",
];

/// The real ones of [`systems`].
const FILES: [&str; 6] = ["bcsstk01", "nos5", "hypre_beam_hex_459", "pyamg_bar", "polyfem_A_2", "494_bus"];

/// Small symmetric positive definite systems of every kind: scalar and block matrices, smooth and rough
/// coefficients, generated and real.
pub(crate) fn systems() -> Vec<(String, Bsr<f64>)> {
    systems_of(&[&GENERATED[..], &FILES].concat())
}

/// The named ones of [`systems`], real ones only where the data folder is given.
pub(crate) fn systems_of(names: &[&str]) -> Vec<(String, Bsr<f64>)> {
    let (files, generated): (Vec<&str>, Vec<&str>) =
        names.iter().copied().partition(|name| FILES.contains(name));
    let mut systems: Vec<_> = generated.iter().map(|name| (name.to_string(), problem(name).matrix)).collect();
    if !files.is_empty()
        && let Some(data) = data()
    {
        systems.extend(files.iter().map(|file| (file.to_string(), read(&data, file))));
    }
    systems
}

/// A matrix of the data folder.
pub(crate) fn read(data: &std::path::Path, name: &str) -> Bsr<f64> {
    matrix_market::read(data.join(format!("matrices/{name}.mtx.gz"))).unwrap_or_else(|e| panic!("{e}"))
}

/// M⁻¹ r; the result must not depend on the old values of z.
pub(crate) fn applied<V: Real>(m: &mut dyn Preconditioner<Vec<V>>, r: &[V]) -> Vec<V> {
    let mut z = vec![V::nan(); r.len()];
    m.apply(&r.to_vec(), &mut z);
    z
}

/// Reproducible pseudo-random numbers between -1 and 1.
pub(crate) fn noise(n: usize, seed: u64) -> Vec<f64> {
    coarsen::backend::conformance::noise(n, seed)
}
