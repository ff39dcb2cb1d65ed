//! Inverses of multilevel domains computed on a device, compared with the inverses of the host.

use crate::common::{self, applied, chain, difference, in_step, problem};
use coarsen_backend::conformance::noise;
use coarsen_backend::{Backend, Cpu, Reused, SetupError};
use coarsen_core::{Error, Preconditioner, Real, Stop, Vector};
use coarsen_krylov::Cg;
use coarsen_opencl::{Device, DeviceSchwarz, OpenCl, StructureSource, Touched};
use coarsen_schwarz::{Arithmetic, Coarse, Repair, Schwarz, Storage, Weights};
use coarsen_sparse::{Bsr, System, Zeros, assembly};

/// The host computes inverses in `f64` from the same matrix. Applications of both inverses agree to the
/// precision in which they are stored.
fn numbers_are_the_hosts<T: Real>(close: f64)
where
    Cpu<f64>: Backend<Real = f64>,
{
    let Some(here) = common::backend::<T>() else { return };
    let check = |backend: &OpenCl<T>, parameters: &Schwarz, system: System<'_, f64>| {
        let n = system.matrix.shape().0;
        let rounded = system.matrix.to::<T>().to::<f64>();
        let system = System { matrix: &rounded, ..system };
        let mut there = DeviceSchwarz { schwarz: *parameters, ..DeviceSchwarz::default() }
            .build(system, backend)
            .unwrap();
        let mut host = Schwarz { coarse: Coarse::Domains, ..*parameters }.build(system, &Cpu::new()).unwrap();
        let r = noise(n, 3);
        let mut z = vec![f64::NAN; n];
        host.apply(&r, &mut z);
        let r: Vec<T> = r.into_iter().map(T::from_f64).collect();
        let found: Vec<f64> = applied(backend, &mut there, &r).iter().map(|v| v.as_f64()).collect();
        let gap = difference(&found, &z);
        let close = if parameters.storage == Storage::Double { close } else { close.max(2e-5) };
        assert!(gap <= close, "{n} unknowns: {gap:.1e}");
        assert_eq!(there.repairs().unwrap(), host.repairs().collect::<Vec<_>>());
    };
    for backend in [here.clone(), in_step(&here)] {
        for storage in [Storage::Single, Storage::Double] {
            let parameters = Schwarz { storage, ..Schwarz::multilevel() };
            for n in [0, 1, 2, 31, 32, 33, 1000] {
                let (a, positions) = chain(n);
                check(&backend, &parameters, System { positions: Some(&positions), ..System::from(&a) });
            }
            check(&backend, &parameters, problem("cloth:40").system());
        }
        check(&backend, &Schwarz::multilevel(), problem("graph:2000").system());
        check(&backend, &Schwarz { domain: 16, ..Schwarz::multilevel() }, problem("elasticity3d:8").system());
    }
}

#[test]
fn numbers_are_the_hosts_in_f64() {
    numbers_are_the_hosts::<f64>(1e-9);
}

/// On real matrices both forms of the kernels compute the inverses of the host and take the same number of
/// iterations.
#[test]
fn real_matrices_have_the_hosts_numbers() {
    let Some(here) = common::backend::<f64>() else { return };
    let parameters = Schwarz { storage: Storage::Double, ..Schwarz::multilevel() };
    for (name, a) in common::real(&["nos3", "fv3", "hypre_beam_hex_459"]) {
        let on_the_host = Schwarz { coarse: Coarse::Domains, ..parameters };
        let mut host = on_the_host.build(&a, &Cpu::<f64>::new()).unwrap();
        let (r, mut z) = (noise(a.shape().0, 2), vec![0.0; a.shape().0]);
        host.apply(&r, &mut z);
        let mut x = vec![0.0; r.len()];
        let expected = Cg::new(Stop::relative(1e-6)).solve(&a, &mut host, &r, &mut x).unwrap();
        for backend in [here.clone(), in_step(&here)] {
            let mut m =
                DeviceSchwarz { schwarz: parameters, ..Default::default() }.build(&a, &backend).unwrap();
            let gap = difference(&applied(&backend, &mut m, &r), &z);
            assert!(gap <= 1e-7, "{name}: {gap:.1e}");
            let (there, b) = (backend.matrix(&a).unwrap(), backend.vector(&r).unwrap());
            let mut x = b.like().unwrap();
            let found = Cg::new(Stop::relative(1e-6)).solve(&there, &mut m, &b, &mut x).unwrap();
            let (found, expected) = (found.iterations, expected.iterations);
            assert!(found.abs_diff(expected) <= 1 + expected / 50, "{name}: {found}, {expected} on the host");
        }
    }
}

#[test]
fn numbers_are_the_hosts_in_f32() {
    numbers_are_the_hosts::<f32>(1e-4);
}

/// An update from a matrix of the backend needs no synchronisation and no allocation, and equals a build, bit for bit. The
/// same holds for a patch of all rows.
#[test]
fn an_update_from_a_device_matrix_needs_no_synchronisation() {
    let Some(here) = common::backend::<f64>() else { return };
    for backend in [here.clone(), in_step(&here)] {
        let p = problem("cloth:40");
        let mut changed = p.matrix.clone();
        let touched: Vec<u32> = (100..120).collect();
        for &i in &touched {
            let k = p.matrix.pattern().find(i as usize, i as usize).unwrap();
            changed.values_mut()[9 * k] *= 4.0;
        }
        let r = noise(p.matrix.shape().0, 5);
        let (old, new) = (backend.matrix(&p.matrix).unwrap(), backend.matrix(&changed).unwrap());
        let mut m = DeviceSchwarz::default().build(p.system(), &backend).unwrap();
        let first = applied(&backend, &mut m, &r);
        let before = backend.counters();
        m.update_on_device(&new).unwrap();
        m.update_on_device(&new).unwrap();
        let counted = backend.counters();
        assert_eq!(
            (counted.synchronisations, counted.allocations),
            (before.synchronisations, before.allocations)
        );
        let expected = applied(&backend, &mut m, &r);
        m.update_on_device(&old).unwrap();
        assert_eq!(applied(&backend, &mut m, &r), first);
        m.patch_on_device(&new, Touched::Rows(&touched)).unwrap();
        let patched = applied(&backend, &mut m, &r);
        assert!(patched == expected && patched != first);
        assert_eq!(m.update(p.system()).unwrap(), Reused::Structure);
        assert_eq!(applied(&backend, &mut m, &r), first);
    }
}

/// Conjugate gradients take the same number of iterations as with the inverses of the host, even if domains
/// are eliminated in `f32`.
#[test]
fn iterations_are_those_of_the_host() {
    let Some(here) = common::backend::<f64>() else { return };
    for (name, arithmetic) in [("cloth:50", Arithmetic::Double), ("elasticity3d:7", Arithmetic::Single)] {
        let p = problem(name);
        let parameters = Schwarz { coarse: Coarse::Domains, arithmetic, ..Schwarz::multilevel() };
        let (b, stop) = (p.right_hand_side(1), Stop::relative(1e-8));
        let mut x = vec![0.0; b.len()];
        let mut m = parameters.build(p.system(), &Cpu::new()).unwrap();
        let host = Cg::new(stop).solve(&p.matrix, &mut m, &b, &mut x).unwrap().converged().unwrap();
        for backend in [here.clone(), in_step(&here)] {
            let mut m = DeviceSchwarz { schwarz: parameters, ..DeviceSchwarz::default() }
                .build(p.system(), &backend)
                .unwrap();
            let (a, b) = (backend.matrix(&p.matrix).unwrap(), backend.vector(&b).unwrap());
            let mut x = b.like().unwrap();
            let found = Cg::new(stop).solve(&a, &mut m, &b, &mut x).unwrap().converged().unwrap();
            assert!(found.iterations.abs_diff(host.iterations) <= 1, "{name}: {found}, on the host {host}");
        }
    }
}

/// Returns a matrix of pairs of nodes, coupled by the given strengths.
fn pairs(strengths: &[f64]) -> Bsr<f64> {
    let mut entries = Vec::new();
    for (k, &s) in strengths.iter().enumerate() {
        let (i, j) = (2 * k as u32, 2 * k as u32 + 1);
        entries.extend([(i, i, 1.0), (j, j, 1.0), (i, j, s), (j, i, s)]);
    }
    assembly::from_triplets(2 * strengths.len(), 2 * strengths.len(), &entries).unwrap()
}

/// If `f32` would lose digits, domains are eliminated again in `f64`, by the rule of the host.
#[test]
fn domains_that_single_precision_loses_are_repeated() {
    let Some(here) = common::backend::<f64>() else { return };
    let a = pairs(&[-0.5, -0.9999, 0.99, -0.99999, -0.9]);
    let r = noise(10, 1);
    for backend in [here.clone(), in_step(&here)] {
        for (storage, close) in [(Storage::Single, 1e-6), (Storage::Double, 1e-10)] {
            let parameters = Schwarz { storage, arithmetic: Arithmetic::Single, ..Schwarz::multilevel() };
            let mut host = Schwarz { coarse: Coarse::Domains, ..parameters }.build(&a, &Cpu::new()).unwrap();
            let mut m = DeviceSchwarz { schwarz: parameters, ..DeviceSchwarz::default() }
                .build(&a, &backend)
                .unwrap();
            let mut z = vec![0.0; 10];
            host.apply(&r, &mut z);
            let gap = difference(&applied(&backend, &mut m, &r), &z);
            assert!(gap < close, "{storage:?}: {gap:.1e}");
            assert!(m.repairs().unwrap().is_empty());
        }
    }
}

/// A device without `f64` accepts pivots down to 1e-5 in `f32`; a device with `f64` accepts pivots down to
/// 1e-6 in `f64`.
#[test]
fn pivots_are_trusted_by_the_precision_there_is() {
    for (double, trust) in [(true, 1e-6), (false, 1e-5)] {
        let pose = |device: &mut Device| device.double &= double;
        let Some(here) = common::posing::<f32>(pose).filter(|backend| backend.device().double == double)
        else {
            return;
        };
        for backend in [here.clone(), in_step(&here)] {
            for (pivot, repaired) in [(1e-3, false), (2.0 * trust, false), (0.5 * trust, true)] {
                let a = pairs(&[-(1.0_f64 - pivot).sqrt(), -0.5]);
                let m = DeviceSchwarz::default().build(&a, &backend).unwrap();
                let found: Vec<_> =
                    m.repairs().unwrap().into_iter().filter(|r| r.0 == 0).map(|r| r.2).collect();
                let expected = if repaired { vec![Repair::Shifted] } else { Vec::new() };
                assert_eq!(found, expected, "a pivot of {pivot:e}, f64 {double}");
            }
        }
    }
}

/// A semidefinite domain is shifted, and an indefinite domain is replaced by its block diagonal. Both are
/// reported, and z stays finite.
#[test]
fn domains_that_are_not_positive_are_named() {
    let Some(here) = common::backend::<f64>() else { return };
    for backend in [here.clone(), in_step(&here)] {
        let a = pairs(&[-0.5, -1.0, -2.0, f64::from(f32::MAX)]);
        let mut m = DeviceSchwarz::default().build(&a, &backend).unwrap();
        let mut host = Schwarz::multilevel().build(&a, &Cpu::new()).unwrap();
        let named: Vec<_> = m.repairs().unwrap().into_iter().filter(|r| r.0 == 0).collect();
        assert_eq!(named, host.repairs().filter(|r| r.0 == 0).collect::<Vec<_>>());
        assert_eq!(
            named.iter().map(|r| r.2).collect::<Vec<_>>(),
            [Repair::Shifted, Repair::BlockDiagonal, Repair::BlockDiagonal]
        );
        let (r, mut z) = (noise(8, 1), vec![0.0; 8]);
        host.apply(&r, &mut z);
        let found = applied(&backend, &mut m, &r);
        assert!(difference(&found, &z) < 1e-5, "{found:?} {z:?}");
        // NaN that is not checked: only the domain with NaN is replaced.
        let broken = pairs(&[-0.5, f64::NAN, -0.2, -0.1]);
        m.update_on_device(&backend.matrix(&broken).unwrap()).unwrap();
        assert_eq!(m.repairs().unwrap().iter().filter(|r| r.0 == 0).count(), 1);
        assert!(applied(&backend, &mut m, &r).iter().all(|v| v.is_finite()));
    }
}

/// After an update on the device, a released node is still solved alone, and is reported. An update on the
/// host builds again, also if the device chose the structure.
#[test]
fn released_constraints_are_named() {
    let Some(here) = common::backend::<f64>() else { return };
    let p = problem("poisson2d:20");
    let (n, fixed) = (p.matrix.shape().0, 130);
    let mut constrained = p.matrix.clone();
    for i in 0..n {
        for k in p.matrix.pattern().range(i) {
            let j = p.matrix.pattern().indices()[k] as usize;
            if i != j && (i == fixed || j == fixed) {
                constrained.values_mut()[k] = 0.0;
            }
        }
    }
    let before = System { matrix: &constrained, ..p.system() };
    let r = noise(n, 4);
    for backend in [here.clone(), in_step(&here)] {
        for structure in [StructureSource::Host, StructureSource::Device] {
            let parameters = DeviceSchwarz { structure, ..DeviceSchwarz::default() };
            let (there, positions) =
                (backend.matrix(&p.matrix).unwrap(), backend.vector(&p.positions.concat()).unwrap());
            let mut m = parameters.build(before, &backend).unwrap();
            m.check().unwrap();
            m.update_on_device(&backend.matrix(&constrained).unwrap()).unwrap();
            m.check().unwrap();
            m.update_on_device(&there).unwrap();
            let named = m.check().unwrap_err();
            assert_eq!(named, SetupError::Released { node: fixed, first_row: fixed });
            if structure == StructureSource::Device {
                m.restructure_on_device(&there, &positions).unwrap();
                m.check().unwrap();
                m = parameters.build(before, &backend).unwrap();
            }
            assert_eq!(m.update(p.system()).unwrap(), Reused::Nothing);
            m.check().unwrap();
            let mut rebuilt = parameters.build(p.system(), &backend).unwrap();
            assert_eq!(applied(&backend, &mut m, &r), applied(&backend, &mut rebuilt, &r));
        }
    }
}

#[test]
fn updates_from_another_matrix_are_refused() {
    let Some(backend) = common::backend::<f64>() else { return };
    let p = problem("poisson2d:20");
    let mut m = DeviceSchwarz::default().build(p.system(), &backend).unwrap();
    let other = backend.matrix(&problem("poisson2d:21").matrix).unwrap();
    assert!(matches!(m.update_on_device(&other), Err(Error::Pattern { .. })));
    let beyond = m.patch_on_device(&backend.matrix(&p.matrix).unwrap(), Touched::Rows(&[400]));
    assert!(matches!(beyond, Err(Error::Shape { .. })));
    let mut zero = p.matrix.clone();
    zero.values_mut()[0] = 0.0;
    let refused = m.update(System { matrix: &zero, ..p.system() });
    assert!(matches!(refused, Err(SetupError::ZeroDiagonal { row: 0, .. })), "{refused:?}");
}

/// Weights of levels exist only on the host: they are refused if the device computes inverses, and the error
/// names the method that supports them.
#[test]
fn factors_of_levels_are_refused() {
    let Some(backend) = common::backend::<f64>() else { return };
    let p = problem("cloth:9");
    let parameters = Schwarz { weights: Weights::Energy, ..Schwarz::multilevel() };
    for structure in [StructureSource::Host, StructureSource::Device] {
        let refused = DeviceSchwarz { schwarz: parameters, structure, ..DeviceSchwarz::default() }
            .build(p.system(), &backend)
            .err()
            .unwrap();
        let parameter =
            matches!(refused, SetupError::Core(Error::Parameter { name: "Schwarz::weights", .. }));
        assert!(parameter && refused.to_string().contains("Schwarz supports Weights::Energy"), "{refused}");
    }
    assert!(parameters.build(p.system(), &backend).is_ok());
}

/// In 48 KiB of local memory, the elimination of a domain of 96 unknowns fits in `f64` and one of 128 in `f32` alone: where
/// the parameters ask for `f64`, it is refused, with the cure.
#[test]
fn domains_that_fit_in_f32_alone_are_refused_in_f64() {
    let pose = |device: &mut Device| {
        common::gpu(device);
        device.local = 48 << 10;
    };
    let Some(backend) = common::posing::<f64>(pose) else { return };
    let a = problem("poisson2d:32").matrix.reblock((4, 4), Zeros::Keep).unwrap();
    let build = |domain, storage, arithmetic| {
        let parameters = Schwarz { domain, storage, arithmetic, ..Schwarz::multilevel() };
        DeviceSchwarz { schwarz: parameters, structure: StructureSource::Device, ..DeviceSchwarz::default() }
            .build(&a, &backend)
            .map(drop)
    };
    let asked = [
        (Storage::Single, Arithmetic::Double),
        (Storage::Double, Arithmetic::Double),
        (Storage::Double, Arithmetic::Single),
    ];
    for (storage, arithmetic) in asked {
        let refused = build(32, storage, arithmetic).unwrap_err();
        let parameter = matches!(&refused, SetupError::Core(Error::Parameter { value: 128.0, .. }));
        assert!(parameter && refused.to_string().contains("store and eliminate in f32"), "{refused}");
        build(24, storage, arithmetic).unwrap();
    }
    build(32, Storage::Single, Arithmetic::Single).unwrap();
}
