//! Contact beside the matrix in multilevel domains of a device.

use crate::common::{self, applied, difference, in_step, problem};
use crate::schwarz_structure::{all, by_plain_loops};
use coarsen_backend::conformance::noise;
use coarsen_backend::{Backend, Cpu, Reused};
use coarsen_core::{Error, Preconditioner, Stop, Vector};
use coarsen_krylov::Cg;
use coarsen_opencl::{
    DeviceContacts, DeviceSchwarz, DeviceStream, DeviceSum, DeviceTouched, OpenCl, Renewed, StructureSource,
    Touched,
};
use coarsen_problems::Problem;
use coarsen_schwarz::{Coarse, Schwarz, Storage};
use coarsen_sparse::{Bsr, Contacts, Sum, System};

/// The capacity for contact blocks.
const CAPACITY: usize = 4000;

fn beside(structure: StructureSource) -> DeviceSchwarz {
    DeviceSchwarz { structure, contacts: CAPACITY, ..all() }
}

/// Contacts between the nodes of a problem.
fn contacts(p: &Problem, count: u32, seed: u32) -> Contacts<f64> {
    let (n, b) = (p.matrix.pattern().rows(), p.matrix.block().0);
    let (contacts, stiffness) = common::touching(n as u32, count, b, seed);
    let mut set = Contacts::new(n, b).unwrap();
    set.assemble(&contacts, &stiffness).unwrap();
    set
}

fn merged(p: &Problem, set: &Contacts<f64>) -> Bsr<f64> {
    Sum { elastic: &p.matrix, contact: set }.merge().unwrap()
}

fn with<'a>(p: &'a Problem, set: &'a Contacts<f64>) -> System<'a, f64> {
    System { contact: Some(set), ..p.system() }
}

/// A set of the backend with the blocks of the host.
fn there(backend: &OpenCl<f64>, set: &Contacts<f64>) -> DeviceContacts<f64> {
    let mut there = DeviceContacts::new(backend, set.nodes(), set.block(), CAPACITY).unwrap();
    there.replace(set).unwrap();
    there
}

/// If the device chooses the structure, contact beside the matrix gives the levels and the inverses of the merged
/// matrix.
#[test]
fn contact_beside_the_matrix_counts_as_in_it() {
    let Some(here) = common::backend::<f64>() else { return };
    for backend in [here.clone(), in_step(&here)] {
        for (name, count) in [("cloth:30", 60), ("poisson2d:30", 40), ("cloth:30", 0)] {
            let p = problem(name);
            let set = contacts(&p, count, 5);
            let whole = merged(&p, &set);
            let mut expected = all().build(System { matrix: &whole, ..p.system() }, &backend).unwrap();
            let mut found = beside(StructureSource::Device).build(with(&p, &set), &backend).unwrap();
            assert_eq!(found.nodes().unwrap(), expected.nodes().unwrap(), "{name}");
            let r = noise(whole.shape().0, 3);
            let gap = difference(&applied(&backend, &mut found, &r), &applied(&backend, &mut expected, &r));
            assert!(gap < 1e-10, "{name} with {count}: {gap:.1e}");
        }
    }
}

/// If the host chooses the structure, the inverses are those of the host, also after pairs have come and gone.
#[test]
fn contact_gives_the_hosts_numbers() {
    let Some(here) = common::backend::<f64>() else { return };
    let p = problem("cloth:40");
    let parameters = Schwarz { coarse: Coarse::Domains, storage: Storage::Double, ..Schwarz::multilevel() };
    let sets = [(70, 1), (0, 2), (110, 3)].map(|(count, seed)| contacts(&p, count, seed));
    let r = noise(p.matrix.shape().0, 4);
    for backend in [here.clone(), in_step(&here)] {
        let mut host = parameters.build(with(&p, &sets[0]), &Cpu::<f64>::new()).unwrap();
        let mut m = DeviceSchwarz { schwarz: parameters, ..beside(StructureSource::Host) }
            .build(with(&p, &sets[0]), &backend)
            .unwrap();
        for set in &sets {
            host.update(with(&p, set)).unwrap();
            assert_eq!(m.update(with(&p, set)).unwrap(), Reused::Structure);
            let mut z = vec![0.0; r.len()];
            host.apply(&r, &mut z);
            let gap = difference(&applied(&backend, &mut m, &r), &z);
            assert!(gap < 1e-9, "{} blocks: {gap:.1e}", set.len());
        }
    }
}

/// With a structure of other contacts, inverses are those of the Galerkin matrices by plain loops: also where a new
/// pair is in one domain, but in different nodes of the next level.
#[test]
fn an_old_structure_takes_new_pairs() {
    let Some(here) = common::backend::<f64>() else { return };
    let p = problem("poisson2d:17");
    let [old, new] = [contacts(&p, 9, 1), contacts(&p, 40, 8)];
    let r = noise(p.matrix.shape().0, 7);
    for backend in [here.clone(), in_step(&here)] {
        for domain in [4, 16] {
            let mut parameters = beside(StructureSource::Device);
            parameters.schwarz.domain = domain;
            let mut m = parameters.build(with(&p, &old), &backend).unwrap();
            let (a, set) = (backend.matrix(&p.matrix).unwrap(), there(&backend, &new));
            m.update_on_device(&DeviceSum::new(&a, &set).unwrap()).unwrap();
            let matrices = [&merged(&p, &old), &merged(&p, &new)];
            let (expected, counts) = by_plain_loops(matrices, &p.positions, domain, &r);
            assert_eq!(m.nodes().unwrap(), counts);
            let gap = difference(&applied(&backend, &mut m, &r), &expected);
            assert!(gap < 1e-9, "domains of {domain}: {gap:.1e}");
            // Without contact.
            m.update_on_device(&a).unwrap();
            let (expected, _) = by_plain_loops([matrices[0], &p.matrix], &p.positions, domain, &r);
            let gap = difference(&applied(&backend, &mut m, &r), &expected);
            assert!(gap < 1e-9, "domains of {domain}, no contact: {gap:.1e}");
        }
    }
}

/// A patch of the rows of old and new pairs, marked on the device, equals an update; a structure chosen again equals a
/// build. All bit for bit, without a synchronisation or an allocation.
#[test]
fn marked_rows_are_patched_without_synchronisation() {
    let Some(here) = common::backend::<f64>() else { return };
    let p = problem("cloth:40");
    let n = p.matrix.pattern().rows();
    let [old, new] = [contacts(&p, 60, 1), contacts(&p, 80, 2)];
    let r = noise(p.matrix.shape().0, 5);
    for backend in [here.clone(), in_step(&here)] {
        let (a, before, after) =
            (backend.matrix(&p.matrix).unwrap(), there(&backend, &old), there(&backend, &new));
        let points = backend.vector(&p.positions.concat()).unwrap();
        let sums = [&before, &after].map(|set| DeviceSum::new(&a, set).unwrap());
        for structure in [StructureSource::Host, StructureSource::Device] {
            let mut m = beside(structure).build(with(&p, &old), &backend).unwrap();
            let first = applied(&backend, &mut m, &r);
            m.update_on_device(&sums[1]).unwrap();
            let updated = applied(&backend, &mut m, &r);
            assert_ne!(first, updated);
            m.update_on_device(&sums[0]).unwrap();
            assert_eq!(applied(&backend, &mut m, &r), first);
            let mut touched = DeviceTouched::new(&backend, n).unwrap();
            let counted = backend.counters();
            touched.clear().unwrap();
            touched.mark(&before).unwrap();
            touched.mark(&after).unwrap();
            m.patch_on_device(&sums[1], Touched::Marked(&touched)).unwrap();
            let now = backend.counters();
            assert_eq!(
                (now.synchronisations, now.allocations),
                (counted.synchronisations, counted.allocations)
            );
            assert_eq!(applied(&backend, &mut m, &r), updated);
            let rows = touched.read().unwrap();
            let named = |set: &Contacts<f64>, i: u32| set.places().iter().any(|place| place.0 == i);
            assert!((0..n as u32).all(|i| rows.contains(&i) == (named(&old, i) || named(&new, i))));
            m.patch_on_device(&sums[0], Touched::Rows(&rows)).unwrap();
            assert_eq!(applied(&backend, &mut m, &r), first);
            // Nothing touched: nothing changes.
            touched.clear().unwrap();
            m.patch_on_device(&sums[1], Touched::Marked(&touched)).unwrap();
            assert_eq!(applied(&backend, &mut m, &r), first);
            if structure == StructureSource::Device {
                let counted = backend.counters();
                m.restructure_on_device(&sums[1], &points).unwrap();
                let now = backend.counters();
                assert_eq!(
                    (now.synchronisations, now.allocations),
                    (counted.synchronisations, counted.allocations)
                );
                let mut rebuilt = beside(structure).build(with(&p, &new), &backend).unwrap();
                assert_eq!(applied(&backend, &mut m, &r), applied(&backend, &mut rebuilt, &r));
            }
        }
    }
}

/// Twenty steps with contacts that come and go, all on the device: contact is assembled, the preconditioner is patched,
/// and its order is chosen again twice. Only the solves synchronise, and their iterations are near those of builds.
#[test]
fn steps_with_contact_synchronise_only_in_solves() {
    let Some(backend) = common::backend::<f64>() else { return };
    let p = problem("cloth:20");
    let (n, b) = (p.matrix.pattern().rows(), p.matrix.block().0);
    let parameters = beside(StructureSource::Device);
    let a = backend.matrix(&p.matrix).unwrap();
    let points = backend.vector(&p.positions.concat()).unwrap();
    let mut stream = DeviceStream::of_contacts(&backend, n, 120).unwrap();
    let mut set = DeviceContacts::new(&backend, n, b, CAPACITY).unwrap();
    let mut touched = DeviceTouched::new(&backend, n).unwrap();
    let mut m = parameters.build(p.system(), &backend).unwrap();
    let right = backend.vector(&p.right_hand_side(1)).unwrap();
    let (mut x, mut cg) = (right.like().unwrap(), Cg::new(Stop::relative(1e-6)));
    let (mut patched, mut built, mut renewed) = (0, 0, 0);
    for step in 0..20 {
        let (contacts, stiffness) = common::touching(n as u32, 6 * step, b, 1);
        stream.write_contacts(&contacts).unwrap();
        let stiffness = backend.vector(&stiffness).unwrap();
        let counted = backend.counters();
        touched.clear().unwrap();
        touched.mark(&set).unwrap();
        set.assemble(&stream, &stiffness).unwrap();
        touched.mark(&set).unwrap();
        let sum = DeviceSum::new(&a, &set).unwrap();
        renewed += u32::from(
            m.patch_or_restructure_on_device(&sum, &points, Touched::Marked(&touched)).unwrap()
                == Renewed::Structure,
        );
        let now = backend.counters();
        assert_eq!(
            (now.synchronisations, now.allocations),
            (counted.synchronisations, counted.allocations),
            "step {step}"
        );
        m.check().unwrap();
        set.check().unwrap();
        let mut solve = |m: &mut dyn Preconditioner<_>| {
            x.fill(0.0);
            cg.solve(&sum, m, &right, &mut x).unwrap().converged().unwrap().iterations
        };
        let iterations = solve(&mut m);
        if step % 4 != 3 {
            continue;
        }
        patched += iterations;
        let host = {
            let (places, values) = set.read().unwrap();
            let mut host = Contacts::new(n, b).unwrap();
            host.replace(&places, &values).unwrap();
            host
        };
        built += solve(&mut parameters.build(with(&p, &host), &backend).unwrap());
    }
    assert_eq!(renewed, 2);
    assert!(10 * patched <= 11 * built, "{patched} iterations, {built} with builds");
}

/// A set with a larger capacity than that of the domains is refused; an update of the host with more contacts builds again.
#[test]
fn too_many_contacts_are_named() {
    let Some(backend) = common::backend::<f64>() else { return };
    let p = problem("cloth:9");
    let set = contacts(&p, 30, 1);
    let few = DeviceSchwarz { contacts: set.len() - 1, ..all() };
    assert!(few.build(with(&p, &set), &backend).is_err());
    let mut m = few.build(p.system(), &backend).unwrap();
    let (a, large) = (backend.matrix(&p.matrix).unwrap(), there(&backend, &set));
    let refused = m.update_on_device(&DeviceSum::new(&a, &large).unwrap()).unwrap_err();
    assert!(matches!(refused, Error::Capacity { count: CAPACITY, .. }), "{refused}");
    let r = noise(p.matrix.shape().0, 3);
    assert_eq!(m.update(with(&p, &set)).unwrap(), Reused::Nothing);
    let mut rebuilt = beside(StructureSource::Device).build(with(&p, &set), &backend).unwrap();
    assert_eq!(applied(&backend, &mut m, &r), applied(&backend, &mut rebuilt, &r));
}
