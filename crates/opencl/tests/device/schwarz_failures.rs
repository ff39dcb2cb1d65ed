//! Updates of multilevel Schwarz that fail: the numbers in use stay, and a later update succeeds.

use std::sync::Arc;

use crate::common::{self, applied, chain_of, in_step, problem};
use crate::spring::spring;
use coarsen_backend::conformance::noise;
use coarsen_backend::{Prepared, Reused, SetupError, Update};
use coarsen_core::{Cancel, Error};
use coarsen_opencl::{Device, DeviceSchwarz, DeviceVector, OpenCl, StructureSource};
use coarsen_schwarz::{Coarse, DampedDomains, Schwarz, Storage};
use coarsen_sparse::{Bsr, Sum, System};

type Built = Box<dyn Prepared<DeviceVector<f64>, f64>>;
type Build<'a> = Box<dyn Fn(System<'_, f64>, &OpenCl<f64>) -> Result<Built, SetupError> + 'a>;

/// The preconditioners of a device, by name.
fn builds<'a>() -> [(&'static str, Build<'a>); 5] {
    let schwarz = Schwarz { storage: Storage::Double, ..Schwarz::multilevel() };
    let device = |structure| DeviceSchwarz { schwarz, structure, ..Default::default() };
    let exact = Schwarz { domain: 16, coarse: Coarse::Exact { unknowns: 100 }, ..schwarz };
    let damped = DampedDomains { schwarz, ..Default::default() };
    let [host, own] = [StructureSource::Host, StructureSource::Device].map(device);
    [
        ("domains", Box::new(move |system, backend| Ok(Box::new(schwarz.build(system, backend)?) as Built))),
        ("a factor", Box::new(move |system, backend| Ok(Box::new(exact.build(system, backend)?) as Built))),
        ("damped", Box::new(move |system, backend| Ok(Box::new(damped.build(system, backend)?) as Built))),
        ("device", Box::new(move |system, backend| Ok(Box::new(host.build(system, backend)?) as Built))),
        (
            "device, own structure",
            Box::new(move |system, backend| Ok(Box::new(own.build(system, backend)?) as Built)),
        ),
    ]
}

/// A device with 64 MiB.
fn small(device: &mut Device) {
    (device.memory, device.used) = (1 << 26, Arc::default());
}

/// Allocates all memory of a device except 32 KiB.
fn fill(backend: &OpenCl<f64>) -> DeviceVector<f64> {
    let Err(Error::Memory { available, .. }) = backend.check_memory(u64::MAX) else {
        panic!("endless memory")
    };
    backend.zeros((available as usize - (32 << 10)) / 8).unwrap()
}

/// Updates `m` from `old` to `new` on a full device, and then with memory: the first fails and changes nothing, the second
/// equals a build.
fn fails_and_succeeds(
    backend: &OpenCl<f64>,
    name: &str,
    build: &Build<'_>,
    [old, new]: [System<'_, f64>; 2],
) {
    let n = old.matrix.shape().0;
    let r = noise(n, 3);
    let mut m = build(old, backend).unwrap();
    let before = applied(backend, &mut *m, &r);
    let full = fill(backend);
    let refused = m.update(new).unwrap_err();
    assert!(matches!(refused, SetupError::Core(Error::Memory { .. })), "{name}: {refused}");
    drop(full);
    assert_eq!(applied(backend, &mut *m, &r), before, "{name}");
    m.patch(old, &[0]).unwrap();
    assert_eq!(applied(backend, &mut *m, &r), before, "{name}: a patch");
    m.update(new).unwrap();
    let after = applied(backend, &mut *m, &r);
    assert_ne!(after, before, "{name}");
    assert_eq!(after, applied(backend, &mut *build(new, backend).unwrap(), &r), "{name}");
}

fn backends() -> impl Iterator<Item = OpenCl<f64>> {
    let backend = common::posing::<f64>(small);
    backend.into_iter().flat_map(|backend| [in_step(&backend), backend])
}

/// Another pattern needs a build, beside the numbers in use.
#[test]
fn a_rebuild_without_memory_changes_nothing() {
    let p = problem("cloth:25");
    let contact = spring(625, [100, 600], 1.0);
    let touching = Sum { elastic: &p.matrix, contact: &contact }.merge().unwrap();
    for backend in backends() {
        for (name, build) in &builds() {
            fails_and_succeeds(
                &backend,
                name,
                build,
                [p.system(), System { matrix: &touching, ..p.system() }],
            );
        }
    }
}

/// If the coarsest level can no longer be factored, an update is a build, which may fail.
#[test]
fn a_level_without_a_factor_and_without_memory_changes_nothing() {
    let n = 4000;
    let chain = |inside: f64, across: f64| chain_of(n, 2.5, |i| if i % 16 == 15 { across } else { inside });
    let (sound, indefinite) = (chain(-1.0, -1.0), chain(-0.5, -100.0));
    let positions: Vec<[f64; 3]> = (0..n).map(|i| [f64::from(i), 0.0, 0.0]).collect();
    let system = |a| System { positions: Some(&positions), ..System::from(a) };
    let parameters = Schwarz {
        storage: Storage::Double,
        domain: 16,
        coarse: Coarse::Exact { unknowns: 300 },
        ..Schwarz::multilevel()
    };
    let build: Build<'_> =
        Box::new(|system, backend| Ok(Box::new(parameters.build(system, backend)?) as Built));
    for backend in backends() {
        let m = parameters.build(system(&sound), &backend).unwrap();
        assert!(m.plan().top_nodes() > 0);
        fails_and_succeeds(&backend, "a factor", &build, [system(&sound), system(&indefinite)]);
    }
}

/// Released constraints need another structure of the device.
#[test]
fn a_released_node_without_memory_changes_nothing() {
    let p = problem("poisson2d:60");
    let mut constrained = p.matrix.clone();
    for i in 0..3600 {
        for k in p.matrix.pattern().range(i) {
            let j = p.matrix.pattern().indices()[k] as usize;
            if i != j && (i == 130 || j == 130) {
                constrained.values_mut()[k] = 0.0;
            }
        }
    }
    for backend in backends() {
        let [.., (name, build)] = &builds();
        fails_and_succeeds(
            &backend,
            name,
            build,
            [System { matrix: &constrained, ..p.system() }, p.system()],
        );
    }
}

/// Values that a check refuses, or an update that is cancelled, change nothing; nor does a step whose ρ cannot be estimated.
#[test]
fn refused_and_cancelled_updates_change_nothing() {
    let p = problem("poisson2d:40");
    let r = noise(1600, 3);
    let times = |factor: f64, row: usize| -> Bsr<f64> {
        let mut a = p.matrix.clone();
        let k = a.pattern().find(row, row).unwrap();
        a.values_mut()[k] *= factor;
        a
    };
    let (zero, infinite, double) = (times(0.0, 7), times(f64::INFINITY, 7), times(2.0, 7));
    let mut small = p.matrix.clone();
    small.values_mut().iter_mut().for_each(|v| *v *= 2.0_f64.powi(-1018));
    let cancel = Cancel::new();
    cancel.cancel();
    for backend in backends() {
        for (name, build) in &builds() {
            let mut m = build(p.system(), &backend).unwrap();
            let before = applied(&backend, &mut *m, &r);
            for a in [&zero, &infinite] {
                let new = System { matrix: a, ..p.system() };
                assert!(m.update(new).is_err() && m.patch(new, &[7]).is_err(), "{name}");
            }
            let cancelled = System { matrix: &double, cancel: Some(&cancel), ..p.system() };
            if *name == "damped" {
                let refused = m.update(&small).unwrap_err();
                assert!(matches!(refused, SetupError::Core(Error::Parameter { .. })), "{refused}");
            }
            assert_eq!(m.update(cancelled), Err(SetupError::Cancelled), "{name}");
            assert_eq!(applied(&backend, &mut *m, &r), before, "{name}");
            assert_eq!(m.update(p.system()).unwrap(), Reused::Structure, "{name}");
            assert_eq!(applied(&backend, &mut *m, &r), before, "{name}");
        }
    }
}
