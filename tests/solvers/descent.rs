//! Soft bodies with every driver: derivatives, equal final states, decreasing energies.

use std::ops::ControlFlow;

use crate::common::{self, noise};
use coarsen::descent::{BackendObjective, CachedPreconditioner, HostObjective, refreshed};
use coarsen::elastic::{
    BodyError, CoRotational, Curvature, Density, ImplicitEuler, Lame, Potential, Spring, Springs,
    StableNeoHookean, Tetrahedra,
};
use coarsen::mesh::Mesh;
use coarsen::optimize::{
    AcceleratedGradient, Beta, Constant, Direction, Gradient, Iterate, NonlinearCg, Norm, OrElse,
    check_gradient, check_hessian, node_weights,
};
use coarsen::prelude::*;
use coarsen::problems::Scene;

type Body = ImplicitEuler<Tetrahedra<StableNeoHookean>>;
type Soft = HostObjective<ImplicitEuler<Tetrahedra<StableNeoHookean>>>;
type BoxedDirection = Box<dyn Direction<Vec<f64>, Soft>>;

/// Smoothed aggregation with rigid-body modes of the points.
fn sa(body: &mut Body, x: &[f64]) -> CachedPreconditioner {
    let parameters = Multigrid { coarse_size: 100, ..tamstorf() };
    CachedPreconditioner::build(body, x, move |system| {
        Ok(Box::new(parameters.build_from(system, &Cpu::new())?))
    })
    .unwrap()
}

/// A driver: its name, whether it uses the line search of Moré and Thuente, and how it is built.
type Driver = (&'static str, bool, fn(&mut Body, &[f64]) -> BoxedDirection);

const DRIVERS: [Driver; 9] = [
    ("newton", false, |_, _| Box::new(Newton::inexact())),
    ("newton, 32 inner iterations", false, |_, _| Box::new(Newton::fixed(32))),
    ("l-bfgs", false, |b, x| Box::new(refreshed(Lbfgs::new(8, sa(b, x)), |d| &mut d.initial))),
    ("ncg+", true, |b, x| {
        Box::new(refreshed(NonlinearCg::new(Beta::PolakRibierePlus, sa(b, x)), NonlinearCg::inverse_mut))
    }),
    ("ncg", true, |b, x| {
        Box::new(refreshed(NonlinearCg::new(Beta::DaiKou, sa(b, x)), NonlinearCg::inverse_mut))
    }),
    ("accelerated", false, |b, x| {
        Box::new(refreshed(AcceleratedGradient::new(0.9, sa(b, x)), |d| &mut d.inverse))
    }),
    ("gradient", false, |b, x| Box::new(refreshed(Gradient::scaled(sa(b, x)), |d| &mut d.inverse))),
    ("chain", false, |b, x| {
        Box::new(OrElse::new(Newton::inexact(), refreshed(Lbfgs::new(4, sa(b, x)), |d| &mut d.initial)))
    }),
    ("constant matrix", false, constant),
];

fn on_demand(body: Body, m: CachedPreconditioner) -> Soft {
    HostObjective::new(body, m).projecting_on_demand()
}

/// The global step of Projective Dynamics.
fn constant(body: &mut Body, x: &[f64]) -> BoxedDirection {
    body.curvature = Curvature::Constant;
    let (m, a) = (sa(body, x), body.last_hessian().clone());
    body.curvature = Curvature::Projected;
    Box::new(Constant::new(a, m, Cg::new(Stop::relative(0.1))))
}

/// Minimises, and fails if the energy increases by more than its round-off.
fn minimize(
    name: &str,
    tight: bool,
    direction: &mut BoxedDirection,
    f: &mut Soft,
    x: &mut Vec<f64>,
    stop: Stop<f64>,
) {
    let stop = Stop { max_iterations: 10_000, ..stop };
    let mut last = f64::INFINITY;
    let mut falling = |it: &Iterate<'_, Vec<f64>>| {
        assert!(it.value <= last + it.round_off, "{} after {last}", it.value);
        last = it.value;
        ControlFlow::Continue(())
    };
    let report = if tight {
        let mut descent = Descent::new(MoreThuente::tight(), stop);
        descent.refresh = Refresh::Every(8);
        descent.minimize_with(f, direction, x, &mut falling).unwrap()
    } else {
        let mut descent = Descent::new(Backtracking::default(), stop);
        descent.refresh = Refresh::Every(8);
        descent.minimize_with(f, direction, x, &mut falling).unwrap()
    };
    println!("{name}: {report}");
    report.converged().unwrap_or_else(|e| panic!("{name}: {e}"));
}

fn largest_gap(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

/// Fails unless all drivers end at the same positions; one thread per driver.
fn all_end_together(drivers: &[Driver], run: impl Fn(&Driver) -> Vec<f64> + Sync) {
    let run = &run;
    let ends: Vec<Vec<f64>> = std::thread::scope(|scope| {
        let running: Vec<_> = drivers.iter().map(|driver| scope.spawn(move || run(driver))).collect();
        running.into_iter().map(|end| end.join().unwrap()).collect()
    });
    for (driver, end) in drivers.iter().zip(&ends) {
        let gap = largest_gap(&ends[0], end);
        assert!(gap < 1e-6, "{} ends {gap:e} m away", driver.0);
    }
}

#[test]
fn every_driver_finds_the_twisted_bar() {
    // With a constant matrix, convergence is as slow as with a Laplacian preconditioner for elasticity:
    // without inertia it takes thousands of steps.
    all_end_together(&DRIVERS[..8], |&(name, tight, driver)| {
        let Scene { mut body, start: mut x, .. } = Scene::bar_twist(3).unwrap();
        let (mut direction, m) = (driver(&mut body, &x), sa(&mut body, &x));
        minimize(name, tight, &mut direction, &mut on_demand(body, m), &mut x, Stop::relative(1e-9));
        x
    });
}

/// The second step begins with velocities, and with directions that forget the first one.
#[test]
fn every_driver_takes_the_same_time_steps() {
    trajectories_are_equal(2);
}

#[test]
#[ignore = "a minute: run by .ci/full"]
fn long_trajectories_of_all_drivers_are_equal() {
    trajectories_are_equal(20);
}

/// Steps of a stretched sphere after release: every driver gives the same trajectory. The bench
/// `descent -- steps` runs the armadillo.
fn trajectories_are_equal(steps: usize) {
    let Some(data) = common::data() else { return };
    let (file, h) = (data.join("meshes/ipc_sphere1K.msh.gz"), 1.0 / 30.0);
    all_end_together(&DRIVERS, |&(name, tight, driver)| {
        let Scene { mut body, start: mut x, .. } = Scene::stretched(file.to_str().unwrap(), h).unwrap();
        let (mut direction, m) = (driver(&mut body, &x), sa(&mut body, &x));
        let mut f = on_demand(body, m);
        let mut v = vec![0.0; x.len()];
        for _ in 0..steps {
            let before = x.clone();
            f.objective.begin(&before, &v, [0.0; 3]).expect("a pattern");
            direction.as_mut().forget();
            minimize(name, tight, &mut direction, &mut f, &mut x, Stop::absolute(1e-5));
            v.iter_mut().zip(x.iter().zip(&before)).for_each(|(v, (x, x0))| *v = (x - x0) / h);
        }
        x
    });
}

/// Vectors of a host backend take the same steps, bit for bit.
#[test]
fn the_cpu_backend_takes_the_same_steps() {
    let stop = Stop::relative(1e-6);
    for newton in [true, false] {
        let Scene { mut body, start, .. } = Scene::bar_twist(3).unwrap();
        let (m, idle) = (sa(&mut body, &start), || CachedPreconditioner::constant(Box::new(Identity)));
        let mut descent = Descent::new(Backtracking::default(), stop);
        descent.refresh = Refresh::Every(4);
        let (mut x, mut y) = (start.clone(), start.clone());
        let mut again = Scene::bar_twist(3).unwrap().body;
        let (here, there) = if newton {
            let mut f = on_demand(body, m);
            let here = descent.minimize(&mut f, &mut Newton::inexact(), &mut x).unwrap();
            let m = sa(&mut again, &start);
            let mut f = BackendObjective::new(again, &start, m, &Cpu::new()).projecting_on_demand();
            (here, descent.minimize(&mut f, &mut Newton::inexact(), &mut y).unwrap())
        } else {
            let mut f = on_demand(body, idle());
            let here = descent
                .minimize(&mut f, &mut refreshed(Lbfgs::new(8, m), |d| &mut d.initial), &mut x)
                .unwrap();
            let m = sa(&mut again, &start);
            let mut f = BackendObjective::new(again, &start, idle(), &Cpu::new());
            let mut lbfgs = BackendObjective::<_, Cpu>::refreshed(Lbfgs::new(8, m), |d| &mut d.initial);
            (here, descent.minimize(&mut f, &mut lbfgs, &mut y).unwrap())
        };
        assert_eq!((here.iterations, here.refreshes), (there.iterations, there.refreshes));
        assert_eq!(x, y);
        here.converged().unwrap();
    }
}

/// If the transfer of a gradient to the backend fails, the gradient becomes NaN and the descent ends.
#[test]
fn a_gradient_that_is_not_written_is_not_a_number() {
    let Scene { body, start, .. } = Scene::bar_twist(2).unwrap();
    let idle = CachedPreconditioner::constant(Box::new(Identity));
    let mut f = BackendObjective::new(body, &start, idle, &Cpu::new());
    let mut g = vec![1.0; start.len()];
    f.gradient(&start, &mut g);
    assert!(g.iter().all(|v| v.is_finite()));
    let mut other = vec![1.0; start.len() - 1]; // a wrong length, which the backend rejects
    f.gradient(&start, &mut other);
    assert!(other.iter().all(|v| v.is_nan()));
}

/// The experiment of Wang et al. 2020, §7.4, on a bar of 8281 vertices: with a middle section 10⁵ times
/// stiffer than the ends, L-BFGS with a multigrid cycle takes at most 1.5 times as many iterations in the
/// node-wise characteristic norm.
#[test]
fn stiff_parts_cost_few_iterations() {
    let iterations = [1e5, 1e10].map(|middle| {
        let Scene { mut body, start: mut x, .. } = Scene::bar_step(12, [1e5, middle], 1.0 / 30.0).unwrap();
        let mut parameters = tamstorf();
        parameters.coarsening.prune = 1e-3;
        let m = CachedPreconditioner::build(&mut body, &x, move |system| {
            Ok(Box::new(parameters.build_from(system, &Cpu::new())?))
        })
        .unwrap();
        let mut descent = Descent::new(Backtracking::default(), Stop::absolute(1e-7));
        descent.norm = Norm::weighted(node_weights(&body.characteristic(), 3).unwrap()).unwrap();
        descent.refresh = Refresh::WhenSlower(1);
        let mut lbfgs = refreshed(Lbfgs::new(8, m), |d| &mut d.initial);
        let report = descent.minimize(&mut body, &mut lbfgs, &mut x).unwrap();
        println!("{middle:e} Pa: {report}");
        report.converged().unwrap().iterations
    });
    assert!(2 * iterations[1] <= 3 * iterations[0], "{iterations:?}");
}

/// Gradient and exact Hessian of a potential are compared with finite differences; the projected Hessian must
/// have no negative curvature.
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
    }
    // Projection only adds curvature: neither P nor P - A has a negative eigenvalue.
    let (n, mut scratch) = (x.len(), vec![0.0; x.len()]);
    let [least, most] = ends_of_spectrum(n, |v, y| p.apply(v, y));
    assert!(least > -1e-9 * most, "{name}: P has the eigenvalue {least:e}, the largest is {most:e}");
    let [added, _] = ends_of_spectrum(n, |v, y| {
        p.apply(v, y);
        a.apply(v, &mut scratch);
        y.iter_mut().zip(&scratch).for_each(|(y, a)| *y -= a);
    });
    assert!(added > -1e-9 * most, "{name}: P - A has the eigenvalue {added:e}, the largest is {most:e}");
}

/// The smallest and largest eigenvalue of a symmetric matrix, by power iteration on A and on c - A with c
/// above both.
fn ends_of_spectrum(n: usize, mut apply: impl FnMut(&Vec<f64>, &mut Vec<f64>)) -> [f64; 2] {
    let mut power = |shift: f64, sign: f64| {
        let (mut v, mut y, mut found) = (noise(n, 21), vec![0.0; n], 0.0);
        for _ in 0..2000 {
            let norm = v.norm();
            if norm == 0.0 {
                break; // A = 0
            }
            v.iter_mut().for_each(|v| *v /= norm);
            apply(&v, &mut y);
            found = y.dot(&v);
            v.iter_mut().zip(&y).for_each(|(v, y)| *v = shift * *v + sign * y);
        }
        found
    };
    let first = power(0.0, 1.0); // the largest in magnitude
    let bound = 1.1 * first.abs();
    [power(bound, -1.0), power(bound, 1.0)]
}

#[test]
fn energies_have_the_derivatives_they_say() {
    let mesh = Mesh::bar([3, 2, 2], 0.5);
    let held: Vec<bool> = mesh.positions.iter().map(|p| p[0] == 0.0).collect();
    let free: Vec<f64> =
        mesh.positions.iter().zip(&held).filter(|(_, h)| !**h).flat_map(|(p, _)| *p).collect();
    // Stretched and perturbed; then compressed until elements are inverted.
    for (stretch, shake) in [(1.1, 0.05), (0.6, 0.4)] {
        let noise = noise(free.len(), 1);
        let x: Vec<f64> = free.iter().zip(&noise).map(|(x, n)| stretch * x + shake * n).collect();
        let material = |e: usize| Lame::new(1.0 + e as f64 % 3.0, 0.35);
        fn body<D: Density>(d: D, mesh: &Mesh, held: &[bool], m: impl Fn(usize) -> Lame) -> Tetrahedra<D> {
            Tetrahedra::new(d, mesh, held, m).unwrap()
        }
        derivatives("co-rotational", body(CoRotational, &mesh, &held, material), &x);
        derivatives("stable neo-Hookean", body(StableNeoHookean, &mesh, &held, material), &x);
        let edges = mesh.tetrahedra.iter().flat_map(|t| [[t[0], t[1]], [t[1], t[2]], [t[2], t[3]]]);
        let springs = edges.map(|ends| Spring { ends, stiffness: 2.0, length: 0.5 }).collect();
        derivatives("springs", Springs::new(springs, &held, &mesh.positions).unwrap(), &x);
    }
}

/// Every energy is minimised by one second-order and two first-order methods: a bar that was stretched and
/// perturbed reaches the same rest state.
#[test]
fn every_energy_is_minimised() {
    fn rests<P: Potential>(name: &str, potential: impl Fn() -> P, start: &[f64], rest: &[f64]) {
        let stop = Stop::relative(1e-8);
        for method in ["newton", "l-bfgs", "ncg"] {
            let mut body = ImplicitEuler::equilibrium(potential()).unwrap();
            let m = CachedPreconditioner::build(&mut body, start, move |system| {
                Ok(Box::new(BlockJacobi::default().build_from(system, &Cpu::new())?))
            });
            let (mut x, m) = (start.to_vec(), m.unwrap());
            let mut descent = Descent::new(MoreThuente::tight(), stop);
            descent.refresh = Refresh::Every(8);
            descent.stop.max_iterations = 5000;
            let report = match method {
                "newton" => {
                    let mut f = HostObjective::new(body, m).projecting_on_demand();
                    descent.minimize(&mut f, &mut Newton::inexact(), &mut x)
                }
                "l-bfgs" => {
                    descent.minimize(&mut body, &mut refreshed(Lbfgs::new(8, m), |d| &mut d.initial), &mut x)
                }
                _ => {
                    let mut ncg = refreshed(NonlinearCg::new(Beta::DaiKou, m), NonlinearCg::inverse_mut);
                    descent.minimize(&mut body, &mut ncg, &mut x)
                }
            };
            let report = report.unwrap();
            println!("{name}, {method}: {report}");
            let report = report.converged().unwrap();
            assert!(report.inner > 0 || method != "newton");
            let gap = largest_gap(rest, &x);
            assert!(gap < 1e-5, "{name}, {method}: {gap:e} m from rest");
        }
    }
    let mesh = Mesh::bar([8, 2, 2], 0.25);
    let held: Vec<bool> = mesh.positions.iter().map(|p| p[0] == 0.0).collect();
    let free: Vec<f64> =
        mesh.positions.iter().zip(&held).filter(|(_, h)| !**h).flat_map(|(p, _)| *p).collect();
    let shake = noise(free.len(), 1);
    let x: Vec<f64> = free.iter().zip(&shake).map(|(x, n)| 1.2 * x + 0.02 * n).collect();
    let material = |e: usize| Lame::new(1e5 * (1.0 + e as f64 % 3.0), 0.35);
    rests("co-rotational", || Tetrahedra::new(CoRotational, &mesh, &held, material).unwrap(), &x, &free);
    rests("neo-Hookean", || Tetrahedra::new(StableNeoHookean, &mesh, &held, material).unwrap(), &x, &free);
    // A spring along every edge, with the edge's rest length.
    let mut edges: Vec<[u32; 2]> = mesh
        .tetrahedra
        .iter()
        .flat_map(|t| (0..4).flat_map(move |a| (0..a).map(move |b| [t[a].min(t[b]), t[a].max(t[b])])))
        .collect();
    edges.sort_unstable();
    edges.dedup();
    let length = |[a, b]: [u32; 2]| {
        let [a, b] = [a, b].map(|i| mesh.positions[i as usize]);
        (0..3).map(|k| (a[k] - b[k]).powi(2)).sum::<f64>().sqrt()
    };
    let springs: Vec<Spring> =
        edges.iter().map(|&ends| Spring { ends, stiffness: 1e4, length: length(ends) }).collect();
    rests("springs", || Springs::new(springs.clone(), &held, &mesh.positions).unwrap(), &x, &free);
}

#[test]
fn bodies_at_rest_have_no_energy() {
    let mesh = Mesh::bar([2, 2, 2], 0.5);
    let held: Vec<bool> = mesh.positions.iter().map(|p| p[0] == 0.0).collect();
    let mut body = Tetrahedra::new(StableNeoHookean, &mesh, &held, |_| Lame::new(1e5, 0.4)).unwrap();
    let x = body.free(&mesh.positions);
    assert!(body.energy(&x).value.abs() < 1e-9);
    let mut g = vec![0.0; x.len()];
    body.add_gradient(&x, &mut g);
    assert!(g.norm() < 1e-9);
    let mass: f64 = body.masses(1000.0).iter().sum();
    assert!(mass < 1000.0 && mass > 500.0); // the fixed face has a part of the mass
}

/// A rigidly rotated body has no energy. Its computed energy is round-off, whose size cannot be estimated
/// from |f|.
#[test]
fn round_off_is_known_near_zero() {
    let mesh = Mesh::bar([3, 2, 2], 0.5);
    let none = vec![false; mesh.positions.len()];
    let material = |_| Lame::new(1e5, 0.4);
    let (s, c) = 0.7_f64.sin_cos();
    let x: Vec<f64> =
        mesh.positions.iter().flat_map(|&[x, y, z]| [c * x - s * y, s * x + c * y, z]).collect();
    let edges = mesh.tetrahedra.iter().flat_map(|t| [[t[0], t[1]], [t[1], t[2]], [t[2], t[3]]]);
    let length = |[a, b]: [u32; 2]| {
        let [a, b] = [a, b].map(|i| mesh.positions[i as usize]);
        (0..3).map(|k| (a[k] - b[k]).powi(2)).sum::<f64>().sqrt()
    };
    let springs = edges.map(|ends| Spring { ends, stiffness: 1e5, length: length(ends) }).collect();
    fn check(name: &str, potential: impl Potential, x: &Vec<f64>) {
        let mut f = ImplicitEuler::equilibrium(potential).unwrap();
        let Dot { value, magnitude } = f.value(x);
        let round_off = f64::EPSILON * magnitude;
        println!("{name}: {value:e}, told {round_off:e}");
        assert!(value.abs() <= round_off.max(1e-24), "{name}: {value:e}, told {round_off:e}");
        assert!(round_off < 1e-10, "{name}");
    }
    check("neo-Hookean", Tetrahedra::new(StableNeoHookean, &mesh, &none, material).unwrap(), &x);
    check("co-rotational", Tetrahedra::new(CoRotational, &mesh, &none, material).unwrap(), &x);
    check("springs", Springs::new(springs, &none, &mesh.positions).unwrap(), &x);
}

#[test]
fn threads_do_not_change_bits() {
    let evaluate = || {
        let Scene { mut body, start, .. } = Scene::bar_twist(5).unwrap();
        let mut g = vec![0.0; start.len()];
        body.gradient(&start, &mut g);
        (body.value(&start).value.to_bits(), g, body.hessian(&start).clone())
    };
    assert!(threads(1, evaluate).unwrap() == threads(3, evaluate).unwrap());
}

#[test]
fn impossible_bodies_are_refused() {
    let mesh = Mesh::bar([1, 1, 1], 1.0);
    let all = vec![true; mesh.positions.len()];
    let material = |_| Lame::new(1.0, 0.3);
    let held = Tetrahedra::new(StableNeoHookean, &mesh, &all, material).err().unwrap();
    assert!(held.to_string().contains("free"));
    let none = vec![false; mesh.positions.len()];
    let mut bent = mesh.clone();
    bent.tetrahedra[2].swap(0, 1);
    let error = Tetrahedra::new(StableNeoHookean, &bent, &none, material).err().unwrap();
    assert!(error.to_string().contains("tetrahedron 2"), "{error}");
    bent.tetrahedra[2][0] = 99;
    assert!(Tetrahedra::new(StableNeoHookean, &bent, &none, material).is_err());
    for (young, poisson) in
        [(0.0, 0.3), (f64::NAN, 0.3), (f64::INFINITY, 0.3), (1.0, 0.5), (1.0, 0.6), (1.0, -1.0)]
    {
        let moduli = |e: usize| if e == 3 { Lame::new(young, poisson) } else { Lame::new(1.0, 0.3) };
        let error = Tetrahedra::new(StableNeoHookean, &mesh, &none, moduli).err().unwrap();
        assert!(matches!(error, BodyError::Material { index: 3, .. }), "{error}");
    }
    assert!(Tetrahedra::new(StableNeoHookean, &mesh, &none, |_| Lame::new(1.0, -0.9)).is_ok());
    let mut loose = mesh.clone();
    loose.positions.push([9.0; 3]);
    let mut held = vec![false; loose.positions.len()];
    let error = Tetrahedra::new(StableNeoHookean, &loose, &held, material).err().unwrap();
    assert!(matches!(error, BodyError::Loose { node } if node + 1 == loose.positions.len()), "{error}");
    held[loose.positions.len() - 1] = true;
    assert!(Tetrahedra::new(StableNeoHookean, &loose, &held, material).is_ok());
    assert!(Scene::bar_step(0, [1e5; 2], 0.01).err().unwrap().to_string().contains("bar-step"));
    assert!(Scene::bar_twist(0).is_err() && Scene::bar_step(2, [1e5, f64::NAN], 0.01).is_err());
    assert!(Scene::stretched("/no/such/mesh", 0.01).is_err());
}
