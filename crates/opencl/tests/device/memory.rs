//! The memory of a setup is estimated in advance: the estimates are upper bounds, and a device that is too
//! small is refused before any allocation.

use crate::common::{self, problem};
use coarsen_backend::{Backend, SetupError};
use coarsen_core::{Error, Scalar, Vector};
use coarsen_opencl::{DeviceSchwarz, OpenCl, StructureSource};
use coarsen_schwarz::{Schwarz, Storage};

/// An estimate is at least the memory used, and less than twice as much.
#[test]
fn estimates_are_close_from_above() {
    let backends = [common::backend::<f64>(), common::posing::<f64>(common::gpu)];
    for backend in backends.into_iter().flatten() {
        for name in ["cloth:60", "elasticity3d:10", "poisson2d:70"] {
            let p = problem(name);
            let before = backend.counters().bytes;
            let check = |estimated: u64| {
                let taken = backend.counters().bytes - before;
                println!("{name}: {taken} taken, {estimated} estimated");
                assert!(taken <= estimated && estimated < 2 * taken, "{name}: {taken}, {estimated}");
            };
            let a = backend.matrix(&p.matrix).unwrap();
            check(backend.matrix_bytes(&p.matrix));
            drop(a);
            for structure in [StructureSource::Host, StructureSource::Device] {
                for storage in [Storage::Single, Storage::Double] {
                    let parameters = Schwarz { storage, ..Schwarz::multilevel() };
                    let parameters =
                        DeviceSchwarz { schwarz: parameters, structure, ..DeviceSchwarz::default() };
                    let _built = parameters.build(p.system(), &backend).unwrap();
                    check(parameters.bytes(&backend, &p.matrix));
                }
            }
        }
    }
}

/// Domains that do not fit are refused before any copy, and the backend can still be used.
#[test]
fn domains_of_a_full_device_are_refused() {
    let p = problem("cloth:60");
    let Some(backend) = common::posing::<f64>(|device| device.memory = 2 << 20) else { return };
    let before = backend.counters();
    let of = |structure| DeviceSchwarz { structure, ..DeviceSchwarz::default() };
    for structure in [StructureSource::Host, StructureSource::Device] {
        let refused = of(structure).build(p.system(), &backend).map(drop).unwrap_err();
        assert!(matches!(refused, SetupError::Core(Error::Memory { .. })), "{refused}");
        assert_eq!(backend.counters(), before);
    }
    let needed = backend.domain_bytes(&Schwarz::multilevel(), &p.matrix);
    assert!(matches!(backend.check_memory(needed), Err(Error::Memory { .. })));
    assert_eq!(backend.vector(&[3.0, 4.0]).unwrap().norm(), 5.0);
    let small = common::posing::<f64>(|device| device.memory = 40 << 20).unwrap();
    for structure in [StructureSource::Host, StructureSource::Device] {
        assert!(of(structure).build(p.system(), &small).is_ok());
    }
}

/// Backends on a device share its memory; what one drops, another can take.
#[test]
fn backends_of_a_device_share_its_memory() {
    let Some(first) = common::posing::<f64>(|device| device.memory = 8 << 20) else { return };
    let second = OpenCl::<f64>::new(first.device()).unwrap();
    let half = vec![1.0; 5 << 17];
    let before = second.counters();
    let here = first.vector(&half).unwrap();
    let refused = second.vector(&half).map(drop).unwrap_err();
    assert!(matches!(refused, Error::Memory { needed, available } if available < needed), "{refused}");
    assert!(second.check_memory(5 << 20).is_err() && second.counters() == before);
    drop(here);
    assert_eq!(second.vector(&half).unwrap().first_not_finite(), None);
}

/// Backends of many threads launch a kernel at many sizes at once. PoCL before 6.0 ends the process if they have queues of their own.
#[test]
fn many_threads_launch_at_once() {
    std::thread::scope(|scope| {
        for thread in 0..6 {
            scope.spawn(move || {
                let Some(backend) = common::backend::<f64>() else { return };
                backend.record(thread % 2 == 0).unwrap();
                for k in 0..400 {
                    let n = 1 + (k * 97 + thread * 13) % 3000 * (1 + k / 40);
                    let mut y = backend.vector(&vec![1.0; n]).unwrap();
                    let x = y.like().unwrap();
                    let one = y.scalar(1.0);
                    y.axpby(&one, &x, &one);
                    assert_eq!(Scalar::read(&y.dot(&y)), n as f64);
                }
            });
        }
    });
}
