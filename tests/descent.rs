//! Soft bodies under every driver: derivatives, the same end state, energies that fall.

mod common;

use std::ops::ControlFlow;

use coarsen::backend::Prepared;
use coarsen::optimize::{
    AcceleratedGradient, Beta, Constant, DescentError, DescentMonitor, Direction, Gradient, Iterate,
    Linearized, NonlinearCg, OrElse, Preconditioned, Refreshed, ScaledNorm, Verdict, check_gradient,
    check_hessian,
};
use coarsen::prelude::*;
use coarsen::problems::{
    CoRotational, Curvature, Density, ImplicitEuler, Lame, Potential, Scene, Spring, Springs,
    StableNeoHookean, TetMesh, Tetrahedra,
};
use common::noise;

type Follower = Box<dyn Prepared<Vec<f64>, f64>>;
type Body = ImplicitEuler<Tetrahedra<StableNeoHookean>>;
type Elastic = Linearized<
    Body,
    Bsr<f64>,
    Follower,
    fn(&mut Body, &Vec<f64>, &mut Bsr<f64>) -> Result<(), DescentError>,
    fn(&Bsr<f64>, &Vec<f64>, &mut Follower) -> Result<(), DescentError>,
>;

fn follow(a: &Bsr<f64>, x: &[f64], m: &mut Follower) -> Result<(), DescentError> {
    m.update_from(System { positions: Some(x.as_chunks().0), ..a.into() })
        .map_err(DescentError::linearize)?;
    Ok(())
}

fn elastic(mut body: Body, x: &[f64], m: Follower) -> Elastic {
    let hessian = body.hessian(x).clone();
    let assemble = |f: &mut Body, x: &Vec<f64>, a: &mut Bsr<f64>| {
        a.values_mut().copy_from_slice(f.hessian(x).values());
        Ok(())
    };
    let f: Elastic = Linearized::new(body, hessian, m, assemble, |a, x, m| follow(a, x, m));
    f.projecting(|body, stand_in| {
        body.curvature = if stand_in { Curvature::Projected } else { Curvature::Exact };
    })
}

/// Smoothed aggregation with the translations and rotations of the points.
fn sa(body: &mut Body, x: &[f64]) -> Follower {
    let recipe = Multigrid { coarse_size: 100, ..Multigrid::smoothed_aggregation() };
    let system = System { positions: Some(x.as_chunks().0), ..body.hessian(x).into() };
    Box::new(recipe.build_from(system, &Cpu::new()).unwrap())
}

fn following<D>(direction: D) -> Box<dyn Direction<Vec<f64>, Elastic>>
where
    D: Direction<Vec<f64>, Elastic> + Preconditioned<Vec<f64>, Inverse = Follower> + 'static,
{
    let update = |f: &mut Elastic, x: &Vec<f64>, m: &mut Follower| follow(f.objective.hessian(x), x, m);
    Box::new(Refreshed::new(direction, update))
}

/// Every driver with its line search; `tight` says that it is More-Thuente's.
fn drivers(body: &mut Body, x: &[f64]) -> Vec<(&'static str, bool, Box<dyn Direction<Vec<f64>, Elastic>>)> {
    vec![
        ("newton", false, Box::new(Newton::inexact())),
        ("newton, 32 inner iterations", false, Box::new(Newton::fixed(32))),
        ("l-bfgs", false, following(Lbfgs::new(8, sa(body, x)))),
        ("ncg+", true, following(NonlinearCg::new(Beta::PolakRibierePlus, sa(body, x)))),
        ("ncg", true, following(NonlinearCg::new(Beta::DaiKou, sa(body, x)))),
        ("accelerated", false, following(AcceleratedGradient::new(0.9, sa(body, x)))),
        ("gradient", false, following(Gradient::scaled(sa(body, x)))),
        ("chain", false, Box::new(OrElse::new(Newton::inexact(), following(Lbfgs::new(4, sa(body, x)))))),
        ("constant matrix", false, constant(body, x)),
    ]
}

/// The global step of Projective Dynamics.
fn constant(body: &mut Body, x: &[f64]) -> Box<dyn Direction<Vec<f64>, Elastic>> {
    body.curvature = Curvature::Constant;
    let (m, a) = (sa(body, x), body.last_hessian().clone());
    body.curvature = Curvature::Projected;
    Box::new(Constant::new(a, m, Cg::new(Stop::relative(0.1))))
}

/// Fails where the energy rises by more than its round-off.
struct Falling(f64);

impl DescentMonitor<Vec<f64>> for Falling {
    fn observe(&mut self, it: &Iterate<'_, Vec<f64>>) -> ControlFlow<Verdict> {
        assert!(it.value <= self.0 + it.round_off, "{} after {}", it.value, self.0);
        self.0 = it.value;
        ControlFlow::Continue(())
    }
}

fn minimize(
    name: &str,
    tight: bool,
    direction: &mut Box<dyn Direction<Vec<f64>, Elastic>>,
    f: &mut Elastic,
    x: &mut Vec<f64>,
    stop: Stop<f64>,
) {
    let stop = Stop { max_iterations: 10_000, ..stop };
    let falling = &mut Falling(f64::INFINITY);
    let report = if tight {
        let mut descent = Descent::new(MoreThuente::tight(), stop);
        descent.refresh = Refresh::Every(8);
        descent.minimize(f, direction, x, falling).unwrap()
    } else {
        let mut descent = Descent::new(Backtracking::default(), stop);
        descent.refresh = Refresh::Every(8);
        descent.minimize(f, direction, x, falling).unwrap()
    };
    println!("{name}: {report}");
    report.converged().unwrap_or_else(|e| panic!("{name}: {e}"));
}

fn largest_gap(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

#[test]
fn every_driver_finds_the_twisted_bar() {
    let mut reference: Option<Vec<f64>> = None;
    let Scene { mut body, start } = Scene::bar_twist(3).unwrap();
    // The constant matrix converges like a Laplacian beside elasticity: without inertia, in thousands of steps.
    for (name, tight, mut direction) in
        drivers(&mut body, &start).into_iter().filter(|d| d.0 != "constant matrix")
    {
        let Scene { mut body, start: mut x } = Scene::bar_twist(3).unwrap();
        let m = sa(&mut body, &x);
        minimize(name, tight, &mut direction, &mut elastic(body, &x, m), &mut x, Stop::relative(1e-9));
        let gap = largest_gap(reference.get_or_insert_with(|| x.clone()), &x);
        assert!(gap < 1e-6, "{name} ends {gap:e} m away");
    }
}

/// Twenty steps of a stretched sphere that is let go: the same path by each driver. The armadillo takes them in the bench
/// `descent -- steps`.
#[test]
fn every_driver_takes_the_same_time_steps() {
    let Some(data) = common::data() else { return };
    let (file, h) = (data.join("meshes/ipc_sphere1K.msh.gz"), 1.0 / 30.0);
    let scene = || Scene::stretched(file.to_str().unwrap(), h).unwrap();
    let mut reference: Option<Vec<f64>> = None;
    let Scene { mut body, start } = scene();
    for (name, tight, mut direction) in drivers(&mut body, &start) {
        let Scene { mut body, start: mut x } = scene();
        let m = sa(&mut body, &x);
        let mut f = elastic(body, &x, m);
        let (mut v, begin) = (vec![0.0; x.len()], std::time::Instant::now());
        for _ in 0..20 {
            let before = x.clone();
            f.objective.begin(&before, &v, [0.0; 3]);
            direction.as_mut().forget();
            minimize(name, tight, &mut direction, &mut f, &mut x, Stop::absolute(1e-5));
            v.iter_mut().zip(x.iter().zip(&before)).for_each(|(v, (x, x0))| *v = (x - x0) / h);
        }
        let gap = largest_gap(reference.get_or_insert_with(|| x.clone()), &x);
        println!("{name}: {gap:e} m, {:.1?}", begin.elapsed());
        assert!(gap < 1e-6, "{name} ends {gap:e} m away");
    }
}

/// The question of Wang et al. 2020, §7.4, on a bar of 8281 vertices: a middle that is 10⁵ times stiffer than its ends costs L-BFGS around
/// a cycle at most half as many iterations again, in the node-wise characteristic norm.
#[test]
fn stiff_parts_cost_few_iterations() {
    let iterations = [1e5, 1e10].map(|middle| {
        let Scene { mut body, start: mut x } = Scene::bar_step(12, [1e5, middle], 1.0 / 30.0).unwrap();
        let characteristic = body.potential.characteristic();
        let weights = characteristic.iter().flat_map(|c| [1.0 / c; 3]).collect();
        let mut norm = ScaledNorm::new(weights, 1e-7 * (characteristic.len() as f64).sqrt()).unwrap();
        let mut recipe = Multigrid::smoothed_aggregation();
        recipe.coarsening.prune = 1e-3;
        let system = System { positions: Some(x.as_chunks().0), ..body.hessian(&x).into() };
        let m: Follower = Box::new(recipe.build_from(system, &Cpu::new()).unwrap());
        let mut descent = Descent::new(Backtracking::default(), Stop::relative(0.0));
        descent.refresh = Refresh::WhenSlower(1);
        let mut lbfgs = following(Lbfgs::new(8, m));
        let spare = sa(&mut body, &x);
        let report = descent.minimize(&mut elastic(body, &x, spare), &mut lbfgs, &mut x, &mut norm).unwrap();
        println!("{middle:e} Pa: {report}");
        report.converged().unwrap().iterations
    });
    assert!(2 * iterations[1] <= 3 * iterations[0], "{iterations:?}");
}

/// Gradient and exact Hessian of a potential against differences, the projected one against negative curvature.
fn derivatives(name: &str, potential: impl Potential, x: &[f64]) {
    let x = &x.to_vec();
    let mut f = ImplicitEuler::equilibrium(potential).unwrap();
    f.curvature = Curvature::Exact;
    let a = f.hessian(x).clone();
    assert!(
        largest_gap(a.transpose().unwrap().values(), a.values())
            < 1e-9 * a.diagonal().iter().fold(0.0, |m, v| v.abs().max(m))
    );
    f.curvature = Curvature::Projected;
    let p = f.hessian(x).clone();
    for seed in 0..4 {
        let [d, e] = [noise(x.len(), seed), noise(x.len(), seed + 10)];
        let gradient = check_gradient(&mut f, x, &d).unwrap();
        assert!(gradient.error < 1e-8, "{name}: {gradient:?}");
        let hessian = check_hessian(&mut f, &a, x, [&d, &e]).unwrap();
        assert!(hessian.error < 1e-6, "{name}: {hessian:?}");
        let (mut pd, mut ad) = (d.clone(), d.clone());
        p.apply(&d, &mut pd);
        a.apply(&d, &mut ad);
        assert!(pd.dot(&d) >= ad.dot(&d) && pd.dot(&d) > 0.0, "{name}: projection only adds curvature");
    }
}

#[test]
fn energies_have_the_derivatives_they_say() {
    let mesh = TetMesh::bar([3, 2, 2], 0.5);
    let held: Vec<bool> = mesh.nodes.iter().map(|p| p[0] == 0.0).collect();
    let free: Vec<f64> = mesh.nodes.iter().zip(&held).filter(|(_, h)| !**h).flat_map(|(p, _)| *p).collect();
    // Stretched and shaken; and squeezed until elements turn inside out.
    for (stretch, shake) in [(1.1, 0.05), (0.6, 0.4)] {
        let noise = noise(free.len(), 1);
        let x: Vec<f64> = free.iter().zip(&noise).map(|(x, n)| stretch * x + shake * n).collect();
        let material = |e: usize| Lame::new(1.0 + e as f64 % 3.0, 0.35);
        fn body<D: Density>(d: D, mesh: &TetMesh, held: &[bool], m: impl Fn(usize) -> Lame) -> Tetrahedra<D> {
            Tetrahedra::new(d, mesh, held, m).unwrap()
        }
        derivatives("co-rotational", body(CoRotational, &mesh, &held, material), &x);
        derivatives("stable neo-Hookean", body(StableNeoHookean, &mesh, &held, material), &x);
        let edges = mesh.tets.iter().flat_map(|t| [[t[0], t[1]], [t[1], t[2]], [t[2], t[3]]]);
        let springs = edges.map(|ends| Spring { ends, stiffness: 2.0, length: 0.5 }).collect();
        derivatives("springs", Springs::new(springs, &held, &mesh.nodes).unwrap(), &x);
    }
}

#[test]
fn bodies_at_rest_have_no_energy() {
    let mesh = TetMesh::bar([2, 2, 2], 0.5);
    let held: Vec<bool> = mesh.nodes.iter().map(|p| p[0] == 0.0).collect();
    let mut body = Tetrahedra::new(StableNeoHookean, &mesh, &held, |_| Lame::new(1e5, 0.4)).unwrap();
    let x = body.free(&mesh.nodes);
    assert!(body.energy(&x).value.abs() < 1e-9);
    let mut g = vec![0.0; x.len()];
    body.add_gradient(&x, &mut g);
    assert!(g.norm() < 1e-9);
    let mass: f64 = body.masses(1000.0).iter().sum();
    assert!(mass < 1000.0 && mass > 500.0); // the held face has a share
}

/// A body that was only turned has no energy: what there is, is round-off, and f's own size says nothing of it.
#[test]
fn round_off_is_known_near_zero() {
    let mesh = TetMesh::bar([3, 2, 2], 0.5);
    let none = vec![false; mesh.nodes.len()];
    let material = |_| Lame::new(1e5, 0.4);
    let (s, c) = 0.7_f64.sin_cos();
    let x: Vec<f64> = mesh.nodes.iter().flat_map(|&[x, y, z]| [c * x - s * y, s * x + c * y, z]).collect();
    let edges = mesh.tets.iter().flat_map(|t| [[t[0], t[1]], [t[1], t[2]], [t[2], t[3]]]);
    let length = |[a, b]: [u32; 2]| {
        let [a, b] = [a, b].map(|i| mesh.nodes[i as usize]);
        (0..3).map(|k| (a[k] - b[k]).powi(2)).sum::<f64>().sqrt()
    };
    let springs = edges.map(|ends| Spring { ends, stiffness: 1e5, length: length(ends) }).collect();
    fn check(name: &str, potential: impl Potential, x: &Vec<f64>) {
        let mut f = ImplicitEuler::equilibrium(potential).unwrap();
        let value = f.value(x);
        println!("{name}: {value:e}, told {:e}", f.round_off(value));
        assert!(
            value.abs() <= f.round_off(value).max(1e-24),
            "{name}: {value:e}, told {:e}",
            f.round_off(value)
        );
        assert!(f.round_off(value) < 1e-10, "{name}");
    }
    check("neo-Hookean", Tetrahedra::new(StableNeoHookean, &mesh, &none, material).unwrap(), &x);
    check("co-rotational", Tetrahedra::new(CoRotational, &mesh, &none, material).unwrap(), &x);
    check("springs", Springs::new(springs, &none, &mesh.nodes).unwrap(), &x);
}

#[test]
fn threads_do_not_change_bits() {
    let evaluate = || {
        let Scene { mut body, start } = Scene::bar_twist(5).unwrap();
        let mut g = vec![0.0; start.len()];
        body.gradient(&start, &mut g);
        (body.value(&start).to_bits(), g, body.hessian(&start).clone())
    };
    assert!(threads(1, evaluate).unwrap() == threads(3, evaluate).unwrap());
}

#[test]
fn impossible_bodies_are_refused() {
    let mesh = TetMesh::bar([1, 1, 1], 1.0);
    let all = vec![true; mesh.nodes.len()];
    let material = |_| Lame::new(1.0, 0.3);
    let held = Tetrahedra::new(StableNeoHookean, &mesh, &all, material).err().unwrap();
    assert!(held.to_string().contains("free"));
    let none = vec![false; mesh.nodes.len()];
    let mut bent = mesh.clone();
    bent.tets[2].swap(0, 1);
    let error = Tetrahedra::new(StableNeoHookean, &bent, &none, material).err().unwrap();
    assert!(error.to_string().contains("tetrahedron 2"), "{error}");
    bent.tets[2][0] = 99;
    assert!(Tetrahedra::new(StableNeoHookean, &bent, &none, material).is_err());
    assert!(Scene::bar_twist(0).is_err() && Scene::bar_step(2, [1e5, f64::NAN], 0.01).is_err());
    assert!(Scene::stretched("/no/such/mesh", 0.01).is_err());
}
