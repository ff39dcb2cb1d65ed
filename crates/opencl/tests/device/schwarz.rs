//! Multilevel additive Schwarz on a device compared with the host, with inverses from the host.

use crate::common::{self, applied, chain, difference, in_step, problem};
use coarsen_backend::conformance::noise;
use coarsen_backend::{Backend, Cpu};
use coarsen_core::{Preconditioner, Real, Stop, Vector};
use coarsen_krylov::Cg;
use coarsen_opencl::OpenCl;
use coarsen_schwarz::{Coarse, Schwarz, Storage, Weights};
use coarsen_sparse::System;

const SIZES: [usize; 7] = [0, 1, 2, 31, 32, 33, 1000];

/// The device and the host apply the same inverses. In both forms of the kernels the results agree to the
/// round-off of sums of some hundred terms.
macro_rules! agrees {
    ($name:ident, $real:ty, $host:expr) => {
        #[test]
        fn $name() {
            let Some(here) = common::backend::<$real>() else { return };
            let check = |backend: &OpenCl<$real>, parameters: &Schwarz, system: System<'_, f64>| {
                let mut there = parameters.build(system, backend).unwrap();
                let coarse = match parameters.coarse {
                    Coarse::Auto => Coarse::Domains, // on a device
                    asked => asked,
                };
                let mut host = Schwarz { coarse, ..*parameters }.build(system, &$host).unwrap();
                let n = system.matrix.shape().0;
                let r: Vec<$real> = noise(n, 3).into_iter().map(<$real>::from_f64).collect();
                let mut z = vec![<$real>::NAN; n];
                host.apply(&r, &mut z);
                let found = applied(backend, &mut there, &r);
                let gap = difference(&found, &z);
                assert!(gap <= 50.0 * <$real as Real>::EPSILON as f64, "{n} unknowns: {gap:.1e}");
                assert_eq!(found, applied(backend, &mut there, &r), "two applications differ in bits");
            };
            for backend in [here.clone(), in_step(&here)] {
                for storage in [Storage::Single, Storage::Double] {
                    let parameters = Schwarz { storage, ..Schwarz::multilevel() };
                    for n in SIZES {
                        let (a, positions) = chain(n);
                        check(
                            &backend,
                            &parameters,
                            System { positions: Some(&positions), ..System::from(&a) },
                        );
                    }
                    for name in ["cloth:40", "graph:2000"] {
                        check(&backend, &parameters, problem(name).system());
                    }
                }
                for coarse in [Coarse::Auto, Coarse::Exact { unknowns: 200 }] {
                    for name in ["poisson2d:70", "elasticity3d:8"] {
                        check(
                            &backend,
                            &Schwarz { coarse, domain: 10, ..Schwarz::multilevel() },
                            problem(name).system(),
                        );
                    }
                }
            }
        }
    };
}

agrees!(device_equals_host_in_f64, f64, Cpu::new());
agrees!(device_equals_host_in_f32, f32, Cpu::single());

/// Conjugate gradients take the same number of iterations as on the host, with one synchronisation per iteration and no
/// allocation.
#[test]
fn iterations_are_those_of_the_host() {
    let Some(backend) = common::backend::<f64>() else { return };
    for name in ["cloth:60", "elasticity3d:7", "jump3d:8"] {
        let p = problem(name);
        let parameters = Schwarz { coarse: Coarse::Domains, ..Schwarz::multilevel() };
        let (b, stop) = (p.right_hand_side(1), Stop::relative(1e-8));
        let mut x = vec![0.0; b.len()];
        let mut m = parameters.build(p.system(), &Cpu::new()).unwrap();
        let host = Cg::new(stop).solve(&p.matrix, &mut m, &b, &mut x).unwrap().converged().unwrap();
        let mut m = parameters.build(p.system(), &backend).unwrap();
        let (a, b) = (backend.matrix(&p.matrix).unwrap(), backend.vector(&b).unwrap());
        let (mut x, mut cg) = (b.like().unwrap(), Cg::new(stop));
        let mut solve = || {
            x.fill(0.0);
            cg.solve(&a, &mut m, &b, &mut x).unwrap().converged().unwrap()
        };
        let first = solve();
        let before = backend.counters();
        assert_eq!(first, solve());
        let after = backend.counters();
        assert!(first.iterations.abs_diff(host.iterations) <= 1, "{name}: {first}, on the host {host}");
        assert_eq!(after.allocations, before.allocations, "{name}");
        assert_eq!(after.synchronisations - before.synchronisations, first.iterations as u64 + 2, "{name}");
    }
}

/// M is symmetric and positive for every number of levels.
#[test]
fn every_number_of_levels_is_symmetric_and_positive() {
    let Some(backend) = common::backend::<f64>() else { return };
    let p = problem("cloth:40");
    let n = p.matrix.shape().0;
    for levels in 1..4 {
        let mut m = Schwarz { levels, ..Schwarz::multilevel() }.build(p.system(), &backend).unwrap();
        for seed in 0..3 {
            let (x, y) = (noise(n, seed), noise(n, seed + 10));
            let (mx, my) = (applied(&backend, &mut m, &x), applied(&backend, &mut m, &y));
            let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
            let size = (dot(&x, &mx) * dot(&y, &my)).sqrt();
            assert!(dot(&x, &mx) > 0.0 && (dot(&y, &mx) - dot(&x, &my)).abs() < 1e-12 * size);
        }
    }
}

/// Updates and patches of the host change the inverses on the device.
#[test]
fn updates_arrive() {
    let Some(backend) = common::backend::<f64>() else { return };
    let p = problem("cloth:40");
    let mut changed = p.matrix.clone();
    changed.values_mut().iter_mut().for_each(|v| *v *= 3.0);
    let r = noise(p.matrix.shape().0, 5);
    let mut m = Schwarz::multilevel().build(p.system(), &backend).unwrap();
    let before = applied(&backend, &mut m, &r);
    m.update(System { matrix: &changed, ..p.system() }).unwrap();
    let thrice: Vec<f64> = applied(&backend, &mut m, &r).iter().map(|z| 3.0 * z).collect();
    assert!(difference(&thrice, &before) < 1e-6);
    let all: Vec<u32> = (0..p.matrix.pattern().rows() as u32).collect();
    m.patch(p.system(), &all).unwrap();
    assert_eq!(applied(&backend, &mut m, &r), before);
}

/// A patch copies only the domains that it changed, and the level weights.
#[test]
fn a_patch_copies_only_changed_domains() {
    for backend in [common::backend::<f64>(), common::posing::<f64>(common::gpu)].into_iter().flatten() {
        let p = problem("cloth:40");
        let mut changed = p.matrix.clone();
        let touched = [820_u32, 821];
        for &i in &touched {
            let k = p.matrix.pattern().find(i as usize, i as usize).unwrap();
            changed.values_mut()[9 * k] *= 4.0;
        }
        let new = System { matrix: &changed, ..p.system() };
        let r = noise(p.matrix.shape().0, 5);
        let sent = |run: &mut dyn FnMut()| {
            let before = backend.counters().sent;
            run();
            backend.counters().sent - before
        };
        let parameters = Schwarz { coarse: Coarse::Domains, ..Schwarz::multilevel() };
        let mut m = parameters.build(p.system(), &backend).unwrap();
        let (all, largest) = (4 * m.plan().values() as u64, 4 * 4992);
        let moved = sent(&mut || _ = m.patch(new, &touched).unwrap());
        let most = 2 * largest * m.plan().levels() as u64;
        assert!(moved > 0 && moved <= most && most < all / 2, "{moved} of {all}");
        let patched = applied(&backend, &mut m, &r);
        m.update(p.system()).unwrap();
        m.update(new).unwrap();
        assert_eq!(patched, applied(&backend, &mut m, &r));

        let parameters = Schwarz { weights: Weights::Energy, ..parameters };
        let mut m = parameters.build(p.system(), &backend).unwrap();
        let moved = sent(&mut || _ = m.update(new).unwrap());
        assert!(moved >= all && moved < all + all / 4, "{moved} of {all}");
        let mut host = parameters.build(p.system(), &Cpu::new()).unwrap();
        host.update(new).unwrap();
        let (found, mut z) = (applied(&backend, &mut m, &r), vec![0.0; r.len()]);
        host.apply(&r, &mut z);
        assert!(difference(&found, &z) < 1e-6, "factors arrive");
    }
}

/// The kernels for the largest domains use loops, where those for smaller domains are unrolled.
#[test]
fn the_largest_domains_agree() {
    let Some(here) = common::backend::<f32>() else { return };
    let p = problem("poisson2d:33");
    let r: Vec<f32> = noise(p.matrix.shape().0, 3).into_iter().map(f32::from_f64).collect();
    let parameters = Schwarz { domain: 1024, coarse: Coarse::Domains, ..Schwarz::multilevel() };
    let mut host = parameters.build(p.system(), &Cpu::single()).unwrap();
    let mut z = vec![0.0; r.len()];
    host.apply(&r, &mut z);
    for backend in [in_step(&here), here] {
        let mut m = parameters.build(p.system(), &backend).unwrap();
        let gap = difference(&applied(&backend, &mut m, &r), &z);
        assert!(gap < 1e-5, "{gap:.1e}");
    }
}
