//! Matrices and contact sets assembled on a device, compared with the host.

use crate::common;
use coarsen_backend::conformance::noise;
use coarsen_backend::{Backend, Matrix};
use coarsen_core::{Error, LinearOperator, Real, Stop};
use coarsen_krylov::Cg;
use coarsen_opencl::{DeviceContacts, DeviceEll, DeviceMatrix, DeviceStream, DeviceSum, Format, OpenCl};
use coarsen_smoothed_aggregation::tamstorf;
use coarsen_sparse::assembly::{Assembly, from_blocks};
use coarsen_sparse::{Contacts, Stencil, Sum};

/// Contact sets of the device have the pattern of the host, and its values to round-off; a second assembly
/// gives the same bits.
fn contacts_are_the_hosts<V: Real, S: Real>(backend: &OpenCl<V, S>, tolerance: f64) {
    let n = 200;
    for b in [1, 3] {
        let mut stream = DeviceStream::of_contacts(backend, n, 350).unwrap();
        let mut there = DeviceContacts::new(backend, n, b, 4000).unwrap();
        let mut host = Contacts::<V>::new(n, b).unwrap();
        for count in [40, 0, 1, 350, 7] {
            let (contacts, stiffness) = common::touching(n as u32, count, b, count);
            let stiffness: Vec<V> = stiffness.into_iter().map(V::from_f64).collect();
            host.assemble(&contacts, &stiffness).unwrap();
            stream.write_contacts(&contacts).unwrap();
            let values = backend.vector(&stiffness).unwrap();
            let before = backend.counters();
            there.assemble(&stream, &values).unwrap();
            assert_eq!(backend.counters().synchronisations, before.synchronisations);
            there.check().unwrap();
            let (places, found) = there.read().unwrap();
            assert_eq!(places, host.places(), "{count} contacts of {b}");
            for (f, e) in found.iter().zip(host.values()) {
                assert!((f.as_f64() - e.as_f64()).abs() <= tolerance * 20.0, "{f}, expected {e}");
            }
            there.assemble(&stream, &values).unwrap();
            assert_eq!(there.read().unwrap(), (places, found));
        }
    }
}

#[test]
fn contacts_are_the_hosts_in_every_precision() {
    let Some(double) = common::backend::<f64>() else { return };
    contacts_are_the_hosts(&double, f64::EPSILON);
    contacts_are_the_hosts(&double.mixed(), 1e-6);
    let Some(single) = common::backend::<f32>() else { return };
    contacts_are_the_hosts(&single, 1e-6);
}

/// Returns corners of quads between n nodes, with another order of elements in every row.
fn quads(n: u32) -> Vec<[u32; 4]> {
    (0..n).map(|e| [e, (e * 7 + 1) % n, (e * 3 + 2) % n, n - 1 - e]).collect()
}

fn places(corners: &[[u32; 4]]) -> Vec<(u32, u32)> {
    corners.iter().flat_map(|c| c.iter().flat_map(move |&i| c.iter().map(move |&j| (i, j)))).collect()
}

/// An ELL matrix has the pattern, values and products of the host, at all sizes.
#[test]
fn ell_matrices_are_the_hosts() {
    let Some(backend) = common::backend::<f64>() else { return };
    for (n, b) in [(1, 1), (31, 1), (32, 3), (33, 1), (200, 3)] {
        let corners = quads(n);
        let (at, plan) = (places(&corners), Assembly::of_elements(n as usize, &corners).unwrap());
        let values = noise(at.len() * b * b, 3);
        let mut host = plan.zeros::<f64>(b).unwrap();
        plan.fill(&values, &mut host).unwrap();
        let mut stream = DeviceStream::of_blocks(&backend, n as usize, at.len() + 10).unwrap();
        stream.write_blocks(&at).unwrap();
        let [blocks, longest] = stream.found().unwrap();
        assert_eq!(blocks, host.pattern().len());
        let mut there = DeviceEll::new(&backend, n as usize, b, longest).unwrap();
        let there_values = backend.vector(&values).unwrap();
        there.assemble(&stream, &there_values).unwrap();
        there.check().unwrap();
        let found = there.read().unwrap();
        assert_eq!((found.pattern(), found.block()), (host.pattern(), host.block()));
        let close = |f: &f64, e: &f64| (f - e).abs() <= 1e-14;
        assert!(found.values().iter().zip(host.values()).all(|(f, e)| close(f, e)), "{n} of {b}");
        let x = noise(n as usize * b, 4);
        let mut y = vec![0.0; x.len()];
        host.apply(&x, &mut y);
        let (vx, mut vy) = (backend.vector(&x).unwrap(), backend.zeros(x.len()).unwrap());
        there.apply(&vx, &mut vy);
        assert!(common::read(&vy).iter().zip(&y).all(|(f, e)| (f - e).abs() <= 1e-12), "{n} of {b}");
        there.assemble(&stream, &there_values).unwrap();
        assert_eq!(there.read().unwrap(), found);
    }
}

/// After an assembly that does not fit, `check` returns the required size, and the old values are kept; a
/// later assembly that fits succeeds.
#[test]
fn overflow_is_named_and_changes_nothing() {
    let Some(backend) = common::backend::<f32>() else { return };
    let mut stream = DeviceStream::of_contacts(&backend, 40, 30).unwrap();
    let mut contacts = DeviceContacts::new(&backend, 40, 1, 20).unwrap();
    let few = [Stencil::point_point(1, 2), Stencil::point_point(30, 2)];
    stream.write_contacts(&few).unwrap();
    let ones = |count: usize| backend.vector(&vec![1.0; count]).unwrap();
    contacts.assemble(&stream, &ones(2)).unwrap();
    let before = contacts.read().unwrap();
    let (many, _) = common::touching(40, 30, 1, 1);
    stream.write_contacts(&many).unwrap();
    contacts.assemble(&stream, &ones(30)).unwrap();
    let [blocks, longest] = stream.found().unwrap();
    let refused = contacts.check().unwrap_err();
    assert_eq!(refused, Error::Capacity { what: "contact blocks", count: blocks, capacity: 20 });
    assert_eq!(contacts.read().unwrap(), before);
    let mut narrow = DeviceEll::<f32>::new(&backend, 40, 1, longest - 1).unwrap();
    narrow.assemble(&stream, &ones(30)).unwrap();
    let refused = narrow.check().unwrap_err();
    assert_eq!(refused, Error::Capacity { what: "blocks of a row", count: longest, capacity: longest - 1 });
    assert_eq!(narrow.read().unwrap().nnz(), 0);
    stream.write_contacts(&few).unwrap();
    contacts.assemble(&stream, &ones(2)).unwrap();
    contacts.check().unwrap();
    assert_eq!(contacts.read().unwrap(), before);
    // Too many contacts, nodes that do not exist, and lists of another kind are refused at once.
    let (too_many, _) = common::touching(40, 31, 1, 1);
    let refused = stream.write_contacts(&too_many).unwrap_err();
    assert_eq!(refused, Error::Capacity { what: "contacts of a stream", count: 31, capacity: 30 });
    assert!(matches!(stream.write_contacts(&[Stencil::point_point(1, 40)]), Err(Error::Shape { .. })));
    let refused = stream.write_contacts(&[few[0], Stencil::point_point(1, u32::MAX)]).unwrap_err();
    assert_eq!(refused, Error::Shape { what: "nodes of a stream", expected: 40, found: 1 << 32 });
    assert!(matches!(stream.write_contacts(&[Stencil::point_point(1, 1)]), Err(Error::Pattern { .. })));
    assert!(matches!(stream.write_blocks(&[(1, 1)]), Err(Error::Parameter { .. })));
    assert!(matches!(contacts.assemble(&stream, &ones(3)), Err(Error::Shape { .. })));
    contacts.assemble(&stream, &ones(2)).unwrap();
    assert_eq!(contacts.read().unwrap(), before);
}

/// Sizes for which memory never suffices are refused before any computation, and so are streams from 2³¹
/// entries on.
#[test]
fn sizes_without_room_are_refused() {
    let Some(backend) = common::posing::<f64>(|device| device.memory = 1 << 20) else { return };
    let before = backend.counters();
    let large = |made: Result<DeviceEll<f64>, Error>| made.err().unwrap();
    for [nodes, longest] in [[usize::MAX, 1], [1 << 20, usize::MAX], [1 << 20, 1 << 20]] {
        assert!(matches!(large(DeviceEll::new(&backend, nodes, 1, longest)), Error::TooLarge { .. }));
    }
    for block in [1 << 20, 1 << 40, usize::MAX] {
        assert!(matches!(large(DeviceEll::new(&backend, 1 << 10, block, 8)), Error::Memory { .. }));
    }
    let limit = (1 << 31) - 1;
    for [nodes, capacity] in [[limit, 1], [2, limit]] {
        let refused = DeviceStream::of_blocks(&backend, nodes, capacity).err().unwrap();
        assert!(matches!(refused, Error::Memory { .. }), "{refused}");
        let refused = DeviceStream::of_blocks(&backend, nodes + 1, capacity + 1).err().unwrap();
        assert!(matches!(refused, Error::TooLarge { limit: found, .. } if found == limit), "{refused}");
    }
    assert!(matches!(DeviceStream::of_contacts(&backend, 2, 1 << 27), Err(Error::TooLarge { .. })));
    assert_eq!(backend.counters(), before);
}

/// A matrix with a fixed pattern is filled with values from the device in every layout, and a hierarchy is
/// updated from this matrix without the host.
#[test]
fn matrices_are_filled_where_they_are() {
    let Some(backend) = common::backend::<f64>() else { return };
    let p = common::problem("poisson2d:20");
    let (a, n) = (&p.matrix, p.matrix.pattern().rows());
    let at: Vec<(u32, u32)> =
        (0..n).flat_map(|i| a.pattern().row(i).iter().map(move |&j| (i as u32, j))).collect();
    let mut stream = DeviceStream::of_blocks(&backend, n, 2 * at.len()).unwrap();
    // Every entry is the sum of two halves.
    stream.write_blocks(&[&at[..], &at].concat()).unwrap();
    let half: Vec<f64> = a.values().iter().chain(a.values()).map(|v| 0.5 * v).collect();
    let half = backend.vector(&half).unwrap();
    let mut zero = a.clone();
    for format in [Format::Rows, Format::Ell, Format::Sliced] {
        zero.values_mut().fill(7.0);
        let mut there = DeviceMatrix::new(&backend, &zero, format).unwrap();
        there.assemble(&stream, &half).unwrap();
        there.check().unwrap();
        there.read_values(&mut zero).unwrap();
        assert_eq!(&zero, a, "{format:?}");
    }
    let mut there = backend.matrix(a).unwrap();
    let mut m = tamstorf().build(p.system(), &backend).unwrap();
    let mut plan = m.numeric_plan().unwrap();
    there.assemble(&stream, &half).unwrap();
    m.update_on_device(&there, &mut plan).unwrap();
    // A block outside the pattern of the matrix is left out and reported by `check`; blocks without an entry
    // become zero.
    stream.write_blocks(&[(0, 0), (0, n as u32 - 1)]).unwrap();
    let values = backend.vector(&[3.0, 4.0]).unwrap();
    there.assemble(&stream, &values).unwrap();
    // The pattern of another target of the same stream has this block: every target reports its own errors.
    let corners = [(0, 0), (0, n as u32 - 1), (n as u32 - 1, n as u32 - 1)];
    let corners = from_blocks((n, n), (1, 1), &corners, &[0.0; 3]).unwrap();
    let mut other = backend.matrix(&corners).unwrap();
    other.check().unwrap();
    other.assemble(&stream, &values).unwrap();
    other.check().unwrap();
    assert!(matches!(there.check(), Err(Error::Pattern { .. })));
    there.read_values(&mut zero).unwrap();
    assert_eq!(zero.get(0, 0), 3.0);
    assert_eq!(zero.values().iter().filter(|v| **v != 0.0).count(), 1);
    // A second assembly compiles and allocates nothing; the error disappears with values from another source.
    let before = backend.counters();
    there.assemble(&stream, &values).unwrap();
    let after = backend.counters();
    assert_eq!((after.allocations, after.compiled), (before.allocations, before.compiled));
    assert!(there.check().is_err());
    there.set_values(a).unwrap();
    there.check().unwrap();
}

/// The listing of the book: a time step with matrix, contact and preconditioner on the device.
#[test]
fn a_step_stays_on_the_device() {
    let Some(backend) = common::backend::<f64>() else { return };
    let problem = coarsen_problems::cloth(20, 0.01).unwrap();
    let host = &problem.matrix;
    let run = || -> Result<(), Box<dyn std::error::Error>> {
        // ANCHOR: once
        let nodes = host.pattern().rows();
        let mut a = backend.matrix(host)?;
        let mut m = tamstorf().build(problem.system(), &backend)?;
        let mut plan = m.numeric_plan()?; // the products of each coarse block
        let row = |i: usize| host.pattern().row(i).iter().map(move |&j| (i as u32, j));
        let places: Vec<(u32, u32)> = (0..nodes).flat_map(row).collect();
        let mut elements = DeviceStream::of_blocks(&backend, nodes, places.len())?;
        elements.write_blocks(&places)?; // the positions of the blocks of a stream
        // for 64 contacts
        let mut touching = DeviceStream::of_contacts(&backend, nodes, 64)?;
        let mut contact = DeviceContacts::new(&backend, nodes, 3, 16 * 64)?; // blocks
        // ANCHOR_END: once
        let computed = backend.vector(host.values())?;
        let normal = backend.vector(&[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 5.0])?;
        let b = backend.vector(&problem.right_hand_side(1))?;
        let mut x = backend.zeros(3 * nodes)?;
        // ANCHOR: step
        a.assemble(&elements, &computed)?; // blocks on the device, with no transfer
        touching.write_contacts(&[Stencil::point_point(3, 390)])?;
        contact.assemble(&touching, &normal)?; // one stiffness per contact
        m.update_on_device(&a, &mut plan)?; // all levels, on the device
        let sum = DeviceSum::new(&a, &contact)?; // A + C, in one pass
        let mut cg = Cg::new(Stop::relative(1e-8));
        let report = cg.solve(&sum, &mut m, &b, &mut x)?.converged()?;
        contact.check()?; // whether the capacity was sufficient
        // ANCHOR_END: step
        assert!(report.iterations < 100);
        let mut set = Contacts::new(nodes, 3)?;
        set.assemble(&[Stencil::point_point(3, 390)], &[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 5.0])?;
        let merged = Sum { elastic: host, contact: &set }.merge()?;
        let mut r = vec![0.0; 3 * nodes];
        merged.residual(&problem.right_hand_side(1), &common::read(&x), &mut r);
        let norm = |v: &[f64]| v.iter().map(|v| v * v).sum::<f64>().sqrt();
        assert!(norm(&r) <= 1e-7 * norm(&problem.right_hand_side(1)));
        Ok(())
    };
    run().unwrap();
}
