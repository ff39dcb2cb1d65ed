//! Constraints of single nodes filtered out of matrices on a device, compared with the host.

use coarsen_backend::Backend;
use coarsen_constraints::{ConstraintError, Constraints, Projector, prefilter};
use coarsen_core::{Error, Identity, LinearOperator, Real, Stop, Vector};
use coarsen_krylov::Cg;
use coarsen_opencl::{DeviceContacts, DeviceFilter, DeviceJacobi, DeviceMatrix, DeviceSum, Format, OpenCl};
use coarsen_sparse::{Bsr, Contacts, Pattern, System};

use crate::common::{self, difference, in_step, read, wave};

/// Points, lines and planes at about two fifths of the nodes; some planes twice.
fn constraints(nodes: usize, seed: usize) -> Constraints {
    let mut c = Constraints::new(nodes, 3).unwrap();
    for node in 0..nodes {
        let wave = |k: usize| ((node * 7 + seed * 3 + k) as f64 * 0.9).sin();
        let (along, at) = ([wave(1), wave(2), 1.5], [wave(3), wave(4), wave(5)]);
        match (node + seed) % 10 {
            0 => c.point(node, &at).unwrap(),
            1 => c.line(node, &along, &at).unwrap(),
            2 => c.plane(node, &along, wave(6)).unwrap(),
            3 => {
                c.plane(node, &along, wave(6)).unwrap();
                c.plane(node, &along, wave(6)).unwrap();
            }
            _ => {}
        }
    }
    c
}

/// Contact between the nodes.
fn touching<T: Real>(nodes: usize, seed: u32) -> Contacts<T> {
    let (stencils, stiffness) = common::touching(nodes as u32, 30, 3, seed);
    let mut set = Contacts::new(nodes, 3).unwrap();
    set.assemble(&stencils, &stiffness.iter().map(|v| T::from_f64(*v)).collect::<Vec<_>>()).unwrap();
    set
}

/// Filtered values are those of the host in every layout, for constraints that change while A stays; so are products with
/// filtered contact, and projections.
fn filters_agree<T: Real>(backend: Option<OpenCl<T>>) {
    let Some(backend) = backend else { return };
    let p = common::problem("cloth:9");
    let host = p.matrix.to::<T>();
    let (n, small) = (host.pattern().rows(), 200.0 * T::EPSILON.as_f64());
    for format in [Format::Rows, Format::Ell, Format::Sliced] {
        let a = DeviceMatrix::new(&backend, &host, format).unwrap();
        let mut filtered = DeviceMatrix::new(&backend, &host, format).unwrap();
        let mut filter = DeviceFilter::new(&backend, n, 3).unwrap();
        for seed in 0..4 {
            // Without constraints the values stay as they are.
            let c = if seed == 2 { Constraints::new(n, 3).unwrap() } else { constraints(n, seed) };
            let set = touching::<T>(n, seed as u32);
            let expected = prefilter(System { contact: Some(&set), ..System::from(&host) }, &c).unwrap();
            let before = backend.counters();
            filter.replace(expected.projector()).unwrap();
            let synchronisations = if filter.constrained() > 0 { 3 } else { 1 };
            assert_eq!(backend.counters().synchronisations - before.synchronisations, synchronisations);
            assert_eq!(filter.constrained(), expected.projector().filtered());
            let before = backend.counters();
            filter.matrix(&a, &mut filtered).unwrap();
            assert_eq!(backend.counters().synchronisations, before.synchronisations);
            let mut found = Bsr::<T>::zeros(host.pattern().clone(), (3, 3)).unwrap();
            filtered.read_values(&mut found).unwrap();
            let gap = difference(found.values(), expected.matrix().values());
            assert!(gap < small, "{format:?} {seed}: {gap:e}");

            let mut contact = DeviceContacts::new(&backend, n, 3, 1000).unwrap();
            contact.replace(&set).unwrap();
            let mut pressed = DeviceContacts::new(&backend, n, 3, 1000).unwrap();
            filter.contact(&contact, &mut pressed).unwrap();
            let (x, mut y) = (wave::<T>(3 * n), vec![T::zero(); 3 * n]);
            let (there, mut product) = (backend.vector(&x).unwrap(), backend.zeros(3 * n).unwrap());
            expected.sum().apply(&x, &mut y);
            DeviceSum::new(&filtered, &pressed).unwrap().apply(&there, &mut product);
            assert!(difference(&read(&product), &y) < small, "{format:?} {seed}");

            let mut there = backend.vector(&x).unwrap();
            filter.project(&mut there).unwrap();
            expected.projector().apply(&x, &mut y);
            assert!(difference(&read(&there), &y) < small, "{format:?} {seed}");
        }
    }
}

#[test]
fn filters_agree_with_the_host() {
    filters_agree::<f64>(common::backend());
    filters_agree::<f32>(common::backend());
    filters_agree::<f64>(common::posing(common::gpu));
    filters_agree::<f64>(common::backend().as_ref().map(in_step));
}

/// Each step uploads its constraints alone, and its solution is that of the host.
#[test]
fn a_step_sends_only_its_constraints() {
    let Some(backend) = common::backend::<f64>() else { return };
    let p = common::problem("cloth:13");
    let (n, b) = (p.matrix.pattern().rows(), p.right_hand_side(1));
    let a = backend.matrix(&p.matrix).unwrap();
    let mut matrix = backend.matrix(&p.matrix).unwrap();
    let mut filter = DeviceFilter::new(&backend, n, 3).unwrap();
    let stop = || Stop { max_iterations: 20_000, ..Stop::relative(1e-11) };
    for seed in 0..3 {
        let c = constraints(n, seed);
        let mut host = prefilter(&p.matrix, &c).unwrap();
        let mut expected = vec![0.0; 3 * n];
        let report =
            host.solve(&b, &mut expected, |a, c, y| Cg::new(stop()).solve(a, &mut Identity, c, y)).unwrap();
        report.unwrap().converged().unwrap();

        let before = backend.counters();
        filter.replace(host.projector()).unwrap();
        filter.matrix(&a, &mut matrix).unwrap();
        let sent = backend.counters().sent - before.sent;
        assert!(sent as usize <= 8 * n + 72 * filter.constrained(), "{sent} bytes");
        let mut z = vec![0.0; 3 * n];
        host.projector().complete(&mut z);
        let (z, rhs) = (backend.vector(&z).unwrap(), backend.vector(&b).unwrap());
        let (mut r, mut x) = (backend.zeros(3 * n).unwrap(), backend.zeros(3 * n).unwrap());
        a.residual(&rhs, &z, &mut r);
        filter.project(&mut r).unwrap();
        let mut m = DeviceJacobi::new(&matrix, 1.0).unwrap();
        Cg::new(stop()).solve(&matrix, &mut m, &r, &mut x).unwrap().converged().unwrap();
        filter.project(&mut x).unwrap();
        x.axpby(&r.scalar(1.0), &z, &r.scalar(1.0));
        let found = read(&x);
        assert!(difference(&found, &expected) < 1e-7, "{seed}: {:e}", difference(&found, &expected));
        let mut met = vec![0.0; 3 * n]; // S x + z
        host.projector().apply(&found, &mut met);
        host.projector().complete(&mut met);
        assert!(difference(&found, &met) < 1e-14, "{seed}");
    }
}

#[test]
fn filters_of_another_size_are_refused() {
    let Some(backend) = common::backend::<f64>() else { return };
    let p = common::problem("cloth:9");
    let n = p.matrix.pattern().rows();
    let mut filter = DeviceFilter::new(&backend, n, 3).unwrap();
    let mut c = Constraints::new(n, 3).unwrap();
    c.plane(4, &[1.0, 0.0, 0.0], 0.0).unwrap();
    filter.replace(&Projector::new(&c, 64).unwrap()).unwrap();
    c.equation(&[(7, &[1.0, 0.0, 0.0]), (2, &[-1.0, 0.0, 0.0])], 0.0).unwrap();
    let tied = filter.replace(&Projector::new(&c, 64).unwrap()).unwrap_err();
    assert!(matches!(&tied, ConstraintError::Tied { nodes } if nodes[..] == [2, 7]), "{tied}");
    assert_eq!(filter.constrained(), 1);
    let other = Projector::new(&Constraints::new(n + 1, 3).unwrap(), 64).unwrap();
    assert!(matches!(filter.replace(&other), Err(ConstraintError::Fit(Error::Shape { .. }))));
    let flat = Projector::new(&Constraints::new(3 * n, 1).unwrap(), 64).unwrap();
    assert!(matches!(filter.replace(&flat), Err(ConstraintError::Fit(Error::Shape { .. }))));

    let rows = DeviceMatrix::new(&backend, &p.matrix, Format::Rows).unwrap();
    let mut sliced = DeviceMatrix::new(&backend, &p.matrix, Format::Sliced).unwrap();
    let refused = filter.matrix(&rows, &mut sliced);
    assert!(matches!(refused, Err(ConstraintError::Fit(Error::Pattern { .. }))));
    let small = common::problem("cloth:5").matrix;
    let [small, mut same] = [0; 2].map(|_| backend.matrix(&small).unwrap());
    assert!(matches!(filter.matrix(&small, &mut same), Err(ConstraintError::Fit(Error::Shape { .. }))));
    let [from, mut to] = [8, 4].map(|capacity| DeviceContacts::new(&backend, n, 3, capacity).unwrap());
    assert!(matches!(filter.contact(&from, &mut to), Err(Error::Capacity { count: 8, capacity: 4, .. })));
    assert!(matches!(DeviceFilter::new(&backend, n, 0), Err(Error::Parameter { .. })));
}

/// A constrained node without a stored diagonal block would get a row of zeros: it is refused as on the host, and one
/// without constraints is not.
#[test]
fn a_node_without_a_diagonal_block_is_refused() {
    let Some(backend) = common::backend::<f64>() else { return };
    // Nodes 0 and 2 have diagonal blocks, node 1 only couples with them.
    let pattern = Pattern::new(3, vec![0, 2, 4, 6], vec![0, 1, 0, 2, 1, 2]).unwrap();
    let values = (0..24).map(|k| 1.0 + f64::from(k)).collect();
    let host = Bsr::new(pattern.into(), (2, 2), values).unwrap();
    for format in [Format::Rows, Format::Ell, Format::Sliced] {
        let a = DeviceMatrix::new(&backend, &host, format).unwrap();
        let mut filtered = DeviceMatrix::new(&backend, &host, format).unwrap();
        let mut filter = DeviceFilter::new(&backend, 3, 2).unwrap();
        for (node, good) in [(0, true), (1, false), (2, true)] {
            let mut c = Constraints::new(3, 2).unwrap();
            c.plane(node, &[1.0, 0.5], 0.0).unwrap();
            filter.replace(&Projector::new(&c, 64).unwrap()).unwrap();
            let [there, here] = [filter.matrix(&a, &mut filtered).err(), prefilter(&host, &c).err()];
            assert_eq!(there, here, "{format:?}");
            assert_eq!(there, (!good).then_some(ConstraintError::NoDiagonal { node }), "{format:?}");
        }
    }
}
