//! Order, domains and levels chosen on a device.

use crate::common::{self, applied, difference, in_step, problem};
use coarsen_backend::conformance::noise;
use coarsen_backend::{Backend, Reused, SetupError};
use coarsen_core::{Error, Outcome, Preconditioner, Stop, Vector};
use coarsen_krylov::Cg;
use coarsen_opencl::{DeviceSchwarz, DeviceVector, StructureSource, Touched};
use coarsen_schwarz::{Coarse, Coupling, Order, Schwarz, Storage};
use coarsen_sparse::{Bsr, Permutation, System, assembly};

pub(crate) fn all() -> DeviceSchwarz {
    DeviceSchwarz {
        schwarz: Schwarz { storage: Storage::Double, ..Schwarz::multilevel() },
        structure: StructureSource::Device,
        ..DeviceSchwarz::default()
    }
}

/// Returns A as dense rows of scalars.
fn dense(a: &Bsr<f64>) -> Vec<Vec<f64>> {
    let n = a.shape().0;
    (0..n).map(|i| (0..n).map(|j| a.get(i, j)).collect()).collect()
}

/// Returns A⁻¹ r by elimination.
fn solved(mut a: Vec<Vec<f64>>, mut r: Vec<f64>) -> Vec<f64> {
    let n = r.len();
    for k in 0..n {
        for i in (0..n).filter(|i| *i != k) {
            let f = a[i][k] / a[k][k];
            (0..n).for_each(|j| a[i][j] -= f * a[k][j]);
            r[i] -= f * r[k];
        }
    }
    (0..n).map(|i| r[i] / a[i][i]).collect()
}

/// Returns M⁻¹ r by plain loops, as in §5. Nodes are in the order of a curve, every `m` nodes form a domain,
/// and connected parts of domains are the nodes of the next level. Couplings are those of `old`, values those of `a`.
/// Also returns the number of nodes per level.
pub(crate) fn by_plain_loops(
    [old, a]: [&Bsr<f64>; 2],
    positions: &[[f64; 3]],
    m: usize,
    r: &[f64],
) -> (Vec<f64>, Vec<usize>) {
    let (b, n) = (a.block().0, a.pattern().rows());
    let coupled = |i: usize, j: usize| old.pattern().find(i, j).is_some() && i != j;
    let free = |i: usize| old.row(i).any(|(j, block)| j != i && block.iter().any(|v| *v != 0.0));
    let mut curve: Vec<usize> =
        coarsen_sparse::morton::order(positions).unwrap().iter().map(|&i| i as usize).collect();
    curve.sort_by_key(|&i| !free(i));
    // Sets of nodes of the finest level, in the order of the level.
    let mut nodes: Vec<Vec<usize>> = curve.into_iter().map(|i| vec![i]).collect();
    let (matrix, mut z, mut counts) = (dense(a), vec![0.0; n * b], Vec::new());
    loop {
        counts.push(nodes.len());
        let joined = |s: &Vec<usize>, t: &Vec<usize>| {
            s.iter().any(|&i| t.iter().any(|&j| free(i) && free(j) && coupled(i, j)))
        };
        let sum = |s: &[usize], t: &[usize], p: usize, q: usize| -> f64 {
            s.iter()
                .flat_map(|&i| t.iter().map(move |&j| (i, j)))
                .map(|(i, j)| matrix[i * b + p][j * b + q])
                .sum()
        };
        let mut next = Vec::new();
        for domain in nodes.chunks(m) {
            let size = domain.len() * b;
            let entry = |p: usize, q: usize| sum(&domain[p / b], &domain[q / b], p % b, q % b);
            let inside = (0..size).map(|p| (0..size).map(|q| entry(p, q)).collect()).collect();
            let right = (0..size).map(|p| domain[p / b].iter().map(|&i| r[i * b + p % b]).sum()).collect();
            for (p, v) in solved(inside, right).into_iter().enumerate() {
                domain[p / b].iter().for_each(|&i| z[i * b + p % b] += v);
            }
            let mut left: Vec<&Vec<usize>> =
                domain.iter().filter(|s| counts.len() > 1 || free(s[0])).collect();
            while !left.is_empty() {
                let (mut part, mut at) = (vec![left.remove(0)], 0);
                while at < part.len() {
                    let (near, far): (Vec<_>, Vec<_>) = left.into_iter().partition(|t| joined(part[at], t));
                    part.extend(near);
                    left = far;
                    at += 1;
                }
                next.push(part.into_iter().flatten().copied().collect());
            }
        }
        let of = |i: usize| nodes.iter().position(|s| s.contains(&i)).unwrap() / m;
        let apart = (0..n).all(|i| !free(i) || (0..n).all(|j| !free(j) || !coupled(i, j) || of(i) == of(j)));
        if apart || next.len() >= nodes.len() {
            return (z, counts);
        }
        nodes = next;
    }
}

#[test]
fn the_structure_of_the_device_equals_plain_loops() {
    let Some(here) = common::backend::<f64>() else { return };
    for backend in [here.clone(), in_step(&here)] {
        for (name, domain) in [("cloth:9", 32), ("cloth:14", 8), ("poisson2d:17", 4), ("jump3d:8", 16)] {
            let p = problem(name);
            let mut parameters = all();
            parameters.schwarz.domain = domain;
            let mut m = parameters.build(p.system(), &backend).unwrap();
            let r = noise(p.matrix.shape().0, 7);
            let (expected, counts) = by_plain_loops([&p.matrix; 2], &p.positions, domain, &r);
            let nodes = m.nodes().unwrap();
            assert_eq!(nodes, counts, "{name}");
            let gap = difference(&applied(&backend, &mut m, &r), &expected);
            assert!(gap < 1e-9, "{name}: {gap:.1e}");
        }
    }
}

/// If domains have more connected parts than the usual capacity, a build allocates more. After nodes
/// have moved, `check` returns an error instead.
#[test]
fn levels_have_room_or_say_so() {
    let Some(here) = common::backend::<f64>() else { return };
    let n = 640;
    let mut entries: Vec<(u32, u32, f64)> = (0..n).map(|i| (i, i, 2.5)).collect();
    entries.extend((1..n).flat_map(|i| [(i - 1, i, -1.0), (i, i - 1, -1.0)]));
    let a = assembly::from_triplets(n as usize, n as usize, &entries).unwrap();
    let along = |place: fn(u32) -> u32| -> Vec<[f64; 3]> {
        (0..n).map(|i| [f64::from(2 * place(i / 2) + i % 2), 0.0, 0.0]).collect()
    };
    // In `far`, consecutive pairs of the chain are far from each other.
    let (near, far) = (along(|pair| pair), along(|pair| pair * 37 % 320));
    let r = noise(n as usize, 3);
    for backend in [here.clone(), in_step(&here)] {
        let mut m = all().build(System { positions: Some(&far), ..System::from(&a) }, &backend).unwrap();
        m.check().unwrap();
        let (expected, counts) = by_plain_loops([&a; 2], &far, 32, &r);
        assert_eq!((m.nodes().unwrap(), counts[1]), (counts, 320));
        let gap = difference(&applied(&backend, &mut m, &r), &expected);
        assert!(gap < 1e-9, "{gap:.1e}");
        let mut m = all().build(System { positions: Some(&near), ..System::from(&a) }, &backend).unwrap();
        m.check().unwrap();
        let (there, moved) = (backend.matrix(&a).unwrap(), backend.vector(&far.concat()).unwrap());
        m.restructure_on_device(&there, &moved).unwrap();
        let told = m.check().unwrap_err();
        let lacking =
            |e: &SetupError| matches!(e, SetupError::Core(Error::Capacity { count: 320, capacity: 160, .. }));
        assert!(lacking(&told), "{told}");
        m.restructure_on_device(&there, &backend.vector(&near.concat()).unwrap()).unwrap();
        m.check().unwrap();
    }
}

/// Nodes that have moved are sorted again without a synchronisation or an allocation, and the result equals a build on
/// the device, bit for bit.
#[test]
fn nodes_that_moved_are_sorted_without_synchronisation() {
    let Some(backend) = common::backend::<f64>() else { return };
    let p = problem("cloth:60");
    let moved: Vec<[f64; 3]> = p.positions.iter().map(|&[x, y, z]| [y * y, -x, z]).collect();
    let a = backend.matrix(&p.matrix).unwrap();
    let there = |points: &[[f64; 3]]| backend.vector(&points.concat()).unwrap();
    let (before, after) = (there(&p.positions), there(&moved));
    let r = noise(p.matrix.shape().0, 7);
    let mut m = all().build(p.system(), &backend).unwrap();
    let first = applied(&backend, &mut m, &r);
    let rebuilt = all().build(System { positions: Some(&moved), ..p.system() }, &backend);
    let expected = applied(&backend, &mut rebuilt.unwrap(), &r);
    let counted = backend.counters();
    m.restructure_on_device(&a, &after).unwrap();
    let now = backend.counters();
    assert_eq!((now.synchronisations, now.allocations), (counted.synchronisations, counted.allocations));
    assert!(applied(&backend, &mut m, &r) == expected && expected != first);
    m.restructure_on_device(&a, &before).unwrap();
    assert_eq!(applied(&backend, &mut m, &r), first);
    assert!(matches!(
        m.restructure_on_device(&a, &backend.vector(&[0.0; 3]).unwrap()),
        Err(Error::Shape { .. })
    ));
}

/// With the structure of the device, the number of iterations is little larger than with the structure of the
/// host for the same couplings.
#[test]
fn iterations_stay_near_those_of_the_host() {
    let Some(backend) = common::backend::<f64>() else { return };
    for name in ["cloth:60", "poisson2d:70", "elasticity3d:8"] {
        let p = problem(name);
        let (a, b) = (backend.matrix(&p.matrix).unwrap(), backend.vector(&p.right_hand_side(1)).unwrap());
        let parameters = Schwarz {
            coarse: Coarse::Domains,
            coupling: Coupling::Adjacency,
            order: Order::Curve,
            ..Schwarz::multilevel()
        };
        let count = |m: &mut dyn Preconditioner<DeviceVector<f64>>| {
            let mut x = b.like().unwrap();
            let report = Cg::new(Stop::relative(1e-6)).solve(&a, m, &b, &mut x).unwrap();
            assert_eq!(report.outcome, Outcome::Converged);
            report.iterations
        };
        let host = count(&mut parameters.build(p.system(), &backend).unwrap());
        let mut m = DeviceSchwarz { schwarz: parameters, ..all() }.build(p.system(), &backend).unwrap();
        let device = count(&mut m);
        println!("{name}: {host} by the host, {device} by the device, levels {:?}", m.nodes().unwrap());
        assert!(device <= host + host / 2, "{name}: {host} by the host, {device} by the device");
    }
}

#[test]
fn structures_of_small_systems_cover_all_nodes() {
    let Some(backend) = common::backend::<f64>() else { return };
    for n in [0, 1, 2, 31, 32, 33, 1000] {
        let mut entries: Vec<(u32, u32, f64)> = (0..n).map(|i| (i, i, 2.5)).collect();
        for i in 2..n {
            entries.extend([(i - 1, i, -1.0), (i, i - 1, -1.0)]); // node 0 is fixed
        }
        let a = assembly::from_triplets(n as usize, n as usize, &entries).unwrap();
        let positions: Vec<[f64; 3]> = (0..n).map(|i| [f64::from(i), 0.0, 0.0]).collect();
        for positions in [None, Some(&positions[..])] {
            let mut m = all().build(System { positions, ..System::from(&a) }, &backend).unwrap();
            let r = vec![1.0; n as usize];
            let z = applied(&backend, &mut m, &r);
            assert!(z.iter().all(|v| *v > 0.0 && v.is_finite()), "{n}");
            assert!(
                z.first().is_none_or(|v| (v - 0.4).abs() < 1e-12),
                "{n}: a fixed node is in no coarse level"
            );
        }
    }
    let p = problem("poisson2d:10");
    let mut large = all();
    large.schwarz.domain = 33;
    assert!(matches!(large.build(p.system(), &backend), Err(SetupError::Core(Error::Parameter { .. }))));
}

/// The listing of the book.
#[test]
fn the_book_runs() -> Result<(), Box<dyn std::error::Error>> {
    let Some(backend) = common::backend::<f64>() else { return Ok(()) };
    let p = problem("cloth:40");
    // ANCHOR: book
    let a = backend.matrix(&p.matrix)?;
    let b = backend.vector(&p.right_hand_side(1))?;
    let mut cg = Cg::new(Stop { check_every: 10, ..Stop::relative(1e-4) });

    // 1. Set up on the host, apply on the device.
    let mut m = Schwarz::multilevel().build(p.system(), &backend)?;
    let mut x = b.like()?;
    println!("{}", cg.solve(&a, &mut m, &b, &mut x)?.converged()?);

    // 2. Order, domains, levels and inverses on the device, from a matrix and
    // positions stored there.
    let structure = StructureSource::Device;
    let options = DeviceSchwarz { structure, ..DeviceSchwarz::default() };
    let mut m = options.build(p.system(), &backend)?;
    let positions = backend.vector(&p.positions.concat())?;
    m.restructure_on_device(&a, &positions)?; // every ten steps (§5.3)
    m.update_on_device(&a)?; // every step: values have changed
    m.patch_on_device(&a, Touched::Rows(&[500, 620]))?; // two rows have changed
    x.fill(0.0);
    println!("{}", cg.solve(&a, &mut m, &b, &mut x)?.converged()?);
    assert!(m.repairs()?.is_empty());
    // ANCHOR_END: book
    Ok(())
}

/// An update that builds again, without positions, has the domains of the positions of the build.
#[test]
fn a_rebuild_keeps_the_positions_of_the_build() {
    let Some(backend) = common::backend::<f64>() else { return };
    let p = problem("cloth:20");
    let n = p.positions.len() as u32;
    // Nodes in an order in which neighbours are far apart.
    let order: Vec<u32> = (0..n).map(|k| k * 7 % n).collect();
    let order = Permutation::new(order).unwrap();
    let a = p.matrix.permute(&order).unwrap();
    let positions: Vec<_> = (0..n).map(|k| p.positions[(k * 7 % n) as usize]).collect();
    // Another pattern of the same nodes: a coupling of the first and the last.
    let (mut places, mut values) = (Vec::new(), Vec::new());
    for i in 0..n {
        for (j, block) in a.row(i as usize) {
            places.push((i, j as u32));
            values.extend_from_slice(block);
        }
    }
    places.extend([(0, n - 1), (n - 1, 0)]);
    values.extend([1e-3; 18]);
    let changed = assembly::from_blocks((n as usize, n as usize), (3, 3), &places, &values).unwrap();
    let r = noise(3 * n as usize, 5);
    for structure in [StructureSource::Host, StructureSource::Device] {
        let parameters = DeviceSchwarz { structure, ..all() };
        let with = |a| System { positions: Some(&positions), ..System::from(a) };
        let mut found = parameters.build(with(&a), &backend).unwrap();
        assert!(!found.to_string().contains("earlier"), "{found}");
        assert_eq!(found.update(&changed).unwrap(), Reused::Nothing);
        assert!(found.to_string().contains("positions of an earlier build"), "{found}");
        let [mut kept, mut lost] = [with(&changed), System::from(&changed)]
            .map(|system| parameters.build(system, &backend).unwrap());
        let expected = applied(&backend, &mut kept, &r);
        assert!(applied(&backend, &mut found, &r) == expected, "{structure:?}");
        assert!(applied(&backend, &mut lost, &r) != expected, "{structure:?}: positions change the domains");
    }
}
