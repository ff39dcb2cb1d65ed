//! Constraints with every preconditioner: PPCG gives the same solution as elimination, and preconditioners
//! remain effective.

use crate::common::{
    mixed_preconditioners, multigrids, preconditioners, problem, single_preconditioners, small_sa,
};
use coarsen::constraints::{Dirichlet, Filtered};
use coarsen::krylov::{BiCgStab, Richardson};
use coarsen::prelude::*;
use coarsen::problems::{NumpyRandom, Problem};
use coarsen::sparse::{Contacts, Stencil, Sum};

/// Points, lines, planes, vertex-face and edge-edge contacts on a fraction of the nodes of a system with 3x3
/// blocks.
fn constraints(p: &Problem, share: f64, seed: u64) -> Constraints {
    let (nodes, mut random) = (p.positions.len(), NumpyRandom::new(seed));
    let mut c = Constraints::new(nodes, 3).unwrap();
    let mut below = |n: usize| ((random.uniform() * n as f64) as usize).min(n - 1);
    // Consistent values for all constraints on a node, computed from one displacement.
    let x = p.right_hand_side(seed + 1000);
    let at = |i: usize| [x[3 * i], x[3 * i + 1], x[3 * i + 2]];
    let four = (0..(share * nodes as f64 / 4.0).ceil() as usize).map(|_| [0; 4].map(|_| below(nodes)));
    for (k, [i, j, l, m]) in four.collect::<Vec<_>>().into_iter().enumerate() {
        let normal = [0; 3].map(|_| random.normal());
        let along = |terms: &[(usize, f64)]| -> f64 {
            terms.iter().map(|&(i, w)| w * normal.iter().zip(at(i)).map(|(n, x)| n * x).sum::<f64>()).sum()
        };
        let distinct = i != j && i != l && i != m && j != l && j != m && l != m;
        match k % 5 {
            0 => c.point(i, &at(i)).unwrap(),
            1 => c.line(i, &normal, &at(i)).unwrap(),
            2 => c.plane(i, &normal, along(&[(i, 1.0)])).unwrap(),
            3 if distinct => {
                let gap = along(&[(i, 1.0), (j, -0.2), (l, -0.3), (m, -0.5)]);
                c.vertex_face(i, [j, l, m], [0.2, 0.3, 0.5], &normal, gap).unwrap();
            }
            _ if distinct => {
                let gap = along(&[(i, 0.75), (j, 0.25), (l, -0.5), (m, -0.5)]);
                c.edge_edge([i, j], [l, m], [0.25, 0.5], &normal, gap).unwrap();
            }
            _ => (),
        }
    }
    c
}

fn close(x: &[f64], y: &[f64], tolerance: f64) -> bool {
    let size = y.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
    x.iter().zip(y).all(|(x, y)| (x - y).abs() <= tolerance * size)
}

/// The solution from a factorisation of the filtered matrix.
fn direct(filtered: &mut Filtered<f64>, b: &[f64]) -> Vec<f64> {
    let mut x = vec![0.0; b.len()];
    filtered
        .solve(b, &mut x, |a, c, y| {
            let _ = Direct::default().factor(a.elastic).unwrap().solve(c, y).unwrap();
        })
        .unwrap();
    x
}

#[test]
fn every_preconditioner_solves_the_filtered_system() {
    for name in ["elasticity3d:5", "cloth:12"] {
        let p = problem(name);
        let c = constraints(&p, 0.3, 1);
        let mut filtered = prefilter(p.system(), &c).unwrap();
        let b = p.right_hand_side(1);
        let expected = direct(&mut filtered, &b);
        for (method, build) in preconditioners().into_iter().chain(multigrids()) {
            let mut m = build(filtered.matrix());
            let mut x = p.right_hand_side(2);
            let stop = Stop { max_iterations: 4000, ..Stop::relative(1e-11) };
            let report = filtered.solve(&b, &mut x, |a, c, y| Cg::new(stop).solve(a, &mut m, c, y));
            report.unwrap().unwrap().converged().unwrap_or_else(|e| panic!("{name} {method}: {e}"));
            assert!(close(&x, &expected, 1e-8), "{name} {method}");
        }
    }
}

/// Every preconditioner in f32, for storage and arithmetic, on every backend that supports f32.
#[test]
fn every_preconditioner_does_in_few_digits() {
    let p = problem("elasticity3d:5");
    let mut filtered = prefilter(p.system(), &constraints(&p, 0.3, 1)).unwrap();
    let b = p.right_hand_side(1);
    let expected = direct(&mut filtered, &b);
    for (method, build) in mixed_preconditioners() {
        let (mut m, mut x) = (build(filtered.matrix()), vec![0.0; b.len()]);
        let stop = Stop { max_iterations: 4000, ..Stop::relative(1e-10) };
        let report = filtered.solve(&b, &mut x, |a, c, y| Cg::new(stop).solve(a, &mut m, c, y));
        report.unwrap().unwrap().converged().unwrap_or_else(|e| panic!("{method}: {e}"));
        assert!(close(&x, &expected, 1e-7), "{method}");
    }
    let b: Vec<f32> = b.iter().map(|v| *v as f32).collect();
    for (method, build) in single_preconditioners() {
        let (mut m, mut c, mut x) = (build(filtered.matrix()), vec![0.0; b.len()], vec![0.0; b.len()]);
        filtered.right_hand_side(&b, &mut c).unwrap();
        filtered.start(&mut x).unwrap();
        let stop = Stop { max_iterations: 4000, ..Stop::relative(1e-4) };
        let report = Cg::new(stop).solve(filtered.matrix(), &mut m, &c, &mut x).unwrap();
        report.converged().unwrap_or_else(|e| panic!("{method}: {e}"));
        filtered.recover(&mut x).unwrap();
        let x: Vec<f64> = x.iter().map(|v| f64::from(*v)).collect();
        assert!(close(&x, &expected, 1e-2), "{method} in f32");
    }
}

#[test]
fn every_method_solves_the_filtered_system() {
    let p = problem("cloth:12");
    let mut filtered = prefilter(p.system(), &constraints(&p, 0.3, 1)).unwrap();
    let b = p.right_hand_side(1);
    let expected = direct(&mut filtered, &b);
    let stop = Stop { max_iterations: 20_000, ..Stop::relative(1e-11) };
    let methods: [(&str, Box<dyn Krylov<Vec<f64>>>); 6] = [
        ("cg", Box::new(Cg::new(stop))),
        ("fcg", Box::new(FlexibleCg::new(stop))),
        ("minres", Box::new(Minres::new(stop))),
        ("gmres", Box::new(Gmres::new(stop))),
        ("bicgstab", Box::new(BiCgStab::new(stop))),
        ("richardson", Box::new(Richardson::new(stop))),
    ];
    for (name, mut method) in methods {
        let mut m = small_sa(Cycle::V).build(filtered.system(Some(&p.positions)), &Cpu::new()).unwrap();
        let mut x = p.right_hand_side(2);
        let report = filtered.solve(&b, &mut x, |a, c, y| method.solve(a, &mut m, c, y)).unwrap().unwrap();
        report.converged().unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(close(&x, &expected, 1e-8), "{name}");
    }
}

/// The individual steps of `solve`, with vectors on the selected backend.
#[test]
fn every_backend_solves_the_filtered_system() {
    let p = problem("elasticity3d:5");
    let mut filtered = prefilter(p.system(), &constraints(&p, 0.3, 1)).unwrap();
    let b = p.right_hand_side(1);
    let expected = direct(&mut filtered, &b);
    for backend in [AnyBackend::choose(BackendChoice::Cpu).unwrap(), AnyBackend::auto().unwrap()] {
        let (mut c, mut x) = (vec![0.0; b.len()], vec![0.0; b.len()]);
        filtered.right_hand_side(&b, &mut c).unwrap();
        filtered.start(&mut x).unwrap();
        let mut m = small_sa(Cycle::V).build(filtered.system(Some(&p.positions)), &backend).unwrap();
        let (a, c, mut y) = (
            backend.matrix(filtered.matrix()).unwrap(),
            backend.vector(&c).unwrap(),
            backend.vector(&x).unwrap(),
        );
        let report = Cg::new(Stop::relative(1e-6)).solve(&a, &mut m, &c, &mut y).unwrap();
        let _ = report.converged().unwrap();
        backend.read(&y, &mut x).unwrap();
        filtered.recover(&mut x).unwrap();
        assert!(close(&x, &expected, 1e-4), "{backend}");
    }
}

/// Special cases: no contact, a contact of a node with itself, repeated contacts, all nodes fixed. Each gives
/// the right result, or an error that names the node.
#[test]
fn odd_contacts_and_constraints_are_right_or_refused() {
    let p = problem("cloth:12");
    let (n, b) = (p.positions.len(), p.right_hand_side(1));
    let stop = Stop { max_iterations: 4000, ..Stop::relative(1e-10) };
    let solved = |sum: &Sum<'_, f64>| {
        let mut x = vec![0.0; b.len()];
        let mut m = Schwarz::multilevel().build(sum, &Cpu::new()).unwrap();
        let _ = Cg::new(stop).solve(sum, &mut m, &b, &mut x).unwrap().converged().unwrap();
        x
    };
    let mut contact = Contacts::new(n, 3).unwrap();
    let stiff = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
    // No contact: the elastic system.
    contact.assemble(&[], &[]).unwrap();
    let free = solved(&Sum { elastic: &p.matrix, contact: &contact });
    let mut exact = vec![0.0; b.len()];
    let _ = Direct::default().factor(&p.matrix).unwrap().solve(&b, &mut exact).unwrap();
    assert!(close(&free, &exact, 1e-7));
    // A contact of a node with itself.
    let refused = contact.assemble(&[Stencil::point_point(17, 17)], &stiff).unwrap_err();
    assert!(refused.to_string().contains("node 17"), "{refused}");
    let mut c = Constraints::new(n, 3).unwrap();
    let refused = c.vertex_face(30, [31, 30, 42], [0.2, 0.3, 0.5], &[0.0, 0.0, 1.0], 0.0).unwrap_err();
    assert!(refused.to_string().contains("node 30"), "{refused}");
    // A contact listed twice has twice the stiffness; a repeated constraint is redundant.
    let pair = Stencil::point_point(20, 100);
    contact.assemble(&[pair, pair], &[stiff, stiff].concat()).unwrap();
    let twice = solved(&Sum { elastic: &p.matrix, contact: &contact });
    contact.assemble(&[pair], &stiff.map(|v| 2.0 * v)).unwrap();
    assert!(close(&twice, &solved(&Sum { elastic: &p.matrix, contact: &contact }), 1e-7));
    (0..2).for_each(|_| c.vertex_face(30, [31, 44, 42], [0.2, 0.3, 0.5], &[0.0, 0.0, 1.0], 0.1).unwrap());
    assert_eq!(prefilter(p.system(), &c).unwrap().density().dependent, 1);
    // With a different value the constraint is contradictory.
    c.vertex_face(30, [31, 44, 42], [0.2, 0.3, 0.5], &[0.0, 0.0, 1.0], 0.2).unwrap();
    let refused = prefilter(p.system(), &c).unwrap_err();
    assert!(refused.to_string().contains("nodes 30, 31, 42 and 44"), "{refused}");
    // All nodes are fixed.
    c.clear();
    (0..n).for_each(|i| c.point(i, &[i as f64, 0.5, -1.0]).unwrap());
    let mut filtered = prefilter(p.system(), &c).unwrap();
    for (name, build) in preconditioners().into_iter().chain(multigrids()) {
        let (mut m, mut x, mut z) = (build(filtered.matrix()), b.clone(), vec![f64::NAN; b.len()]);
        m.apply(&b, &mut z);
        assert!(b.iter().zip(&z).map(|(b, z)| b * z).sum::<f64>() > 0.0, "{name}");
        let report =
            filtered.solve(&b, &mut x, |a, c, y| Cg::new(stop).solve(a, &mut m, c, y)).unwrap().unwrap();
        assert!(
            report.iterations == 0 && x.chunks_exact(3).enumerate().all(|(i, x)| x == [i as f64, 0.5, -1.0]),
            "{name}"
        );
    }
}

/// Two bodies that are coupled only by one contact between two nodes: every preconditioner must take the
/// contact into account.
#[test]
fn pairs_join_bodies() {
    let p = problem("elasticity3d:4");
    let n = p.positions.len();
    // Two copies of a body; the second is attached only to the first.
    let mut entries = Vec::new();
    for (i, (j, block)) in (0..n).flat_map(|i| p.matrix.row(i).map(move |block| (i, block))) {
        for body in 0..2 {
            for (e, &v) in block.iter().enumerate() {
                let place = |node: usize, r: usize| (3 * (node + body * n) + r) as u32;
                entries.push((place(i, e / 3), place(j, e % 3), v));
            }
        }
    }
    let a = assembly::from_triplets_blocked(6 * n, 6 * n, (3, 3), &entries).unwrap();
    let mut contact = Contacts::new(2 * n, 3).unwrap();
    let size = p.matrix.diagonal()[0];
    let stiffness: Vec<f64> = (0..9).map(|e| if e % 4 == 0 { 100.0 * size } else { 0.0 }).collect();
    let (first, second) = (n - 1, 2 * n - 1);
    contact.assemble(&[Stencil::point_point(first as u32, second as u32)], &stiffness).unwrap();
    let whole = Sum { elastic: &a, contact: &contact }.merge().unwrap();
    // The load acts on the first body only.
    let mut b = vec![0.0; 6 * n];
    b[3 * first] = 1.0;
    let mut expected: Vec<f64> = vec![0.0; 6 * n];
    let _ = Direct::default().factor(&whole).unwrap().solve(&b, &mut expected).unwrap();
    assert!((expected[3 * first] - expected[3 * second]).abs() < 0.05 * expected[3 * first].abs());
    for (name, build) in preconditioners().into_iter().chain(multigrids()) {
        let (mut m, mut x) = (build(&whole), vec![0.0; b.len()]);
        let stop = Stop { max_iterations: 4000, ..Stop::relative(1e-10) };
        let report = Cg::new(stop).solve(&whole, &mut m, &b, &mut x).unwrap();
        report.converged().unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(close(&x, &expected, 1e-7), "{name}");
    }
    // Domains with contact passed separately from the matrix.
    let sum = Sum { elastic: &a, contact: &contact };
    let mut m = Schwarz::multilevel().build(&sum, &Cpu::new()).unwrap();
    let mut x = vec![0.0; b.len()];
    let stop = Stop { max_iterations: 4000, ..Stop::relative(1e-10) };
    let _ = Cg::new(stop).solve(&sum, &mut m, &b, &mut x).unwrap().converged().unwrap();
    assert!(close(&x, &expected, 1e-7));
}

/// Constraints to fixed points give the same solution as [`Dirichlet`] elimination.
#[test]
fn fixed_points_are_eliminated_unknowns() {
    let p = problem("elasticity3d:5");
    let (n, b) = (p.matrix.shape().0, p.right_hand_side(1));
    let mut c = Constraints::new(n / 3, 3).unwrap();
    let mut fixed = Vec::new();
    for node in (0..n / 3).step_by(7) {
        let value = [0.1 * node as f64, -1.0, 0.5];
        c.point(node, &value).unwrap();
        fixed.extend((0..3).map(|r| (3 * node + r, value[r])));
    }
    let mut filtered = prefilter(p.system(), &c).unwrap();
    let x = direct(&mut filtered, &b);
    let small = Dirichlet::new(n, fixed.iter().copied()).unwrap().eliminate(&p.matrix, &b).unwrap();
    let mut free = vec![0.0; small.rhs.len()];
    let _ = Direct::default().factor(&small.matrix).unwrap().solve(&small.rhs, &mut free).unwrap();
    assert!(close(&x, &small.recover(&free), 1e-11));
    assert!(fixed.iter().all(|&(i, value)| x[i] == value), "given values are exact");
}

/// A small version of Fig. 8: with 1, 10 and 30 % of the vertices constrained, smoothed aggregation and
/// multilevel Schwarz take at most 1.5 times as many iterations.
#[test]
fn good_preconditioners_stay_good() {
    let iterations = |p: &Problem, schwarz: bool| {
        let mut filtered = p.prefilter().unwrap().unwrap();
        let b = p.right_hand_side(1);
        let system = filtered.system(Some(&p.positions));
        let mut m: Box<dyn Preconditioner<Vec<f64>>> = if schwarz {
            Box::new(Schwarz::multilevel().build(system, &Cpu::new()).unwrap())
        } else {
            Box::new(tamstorf().build(system, &Cpu::new()).unwrap())
        };
        let mut x = vec![0.0; b.len()];
        let solved =
            filtered.solve(&b, &mut x, |a, c, y| Cg::new(Stop::relative(1e-6)).solve(a, &mut m, c, y));
        solved.unwrap().unwrap().converged().unwrap().iterations as f64
    };
    for schwarz in [false, true] {
        let pinned = |share| coarsen::problems::pinned(41, 0.01, share).unwrap();
        let free = iterations(&pinned(0.0), schwarz);
        for share in [0.01, 0.1, 0.3] {
            let held = iterations(&pinned(share), schwarz);
            assert!(
                held <= 1.5 * free,
                "{share}, Schwarz {schwarz}: {held} iterations, {free} without constraints"
            );
        }
        // The same sheet on a table.
        let mut table = pinned(0.0);
        let mut c = Constraints::new(41 * 41, 3).unwrap();
        (10 * 41..22 * 41).for_each(|i| c.plane(i, &[0.0, 0.0, 1.0], 0.0).unwrap());
        table.constraints = Some(c);
        assert!(iterations(&table, schwarz) <= 1.5 * free, "table, Schwarz {schwarz}");
    }
}

/// A sheet folded in the middle, with vertices of one half in contact with faces of the other. Tied nodes can
/// slide past each other, so they must not share an aggregate.
#[test]
fn ties_do_not_join_aggregates() {
    let n = 41;
    let p = coarsen::problems::cloth(n, 0.01).unwrap();
    let iterations = |pairs: usize| {
        let mut c = Constraints::new(n * n, 3).unwrap();
        for (row, column) in (0..pairs).map(|k| (2 * (2 * k / (n - 2)), 2 * k % (n - 2))) {
            let (i, j) = ((1 + row) * n + column, (n - 3 - row) * n + column);
            c.vertex_face(i, [j, j + 1, j + n], [0.2, 0.3, 0.5], &[0.0, 0.0, 1.0], 0.0).unwrap();
        }
        let mut filtered = prefilter(p.system(), &c).unwrap();
        let system = filtered.system(Some(&p.positions));
        assert_eq!(system.links.is_some(), pairs > 0);
        let mut m = tamstorf().build(system, &Cpu::new()).unwrap();
        let (b, mut x) = (p.right_hand_side(1), vec![0.0; p.matrix.shape().0]);
        let report =
            filtered.solve(&b, &mut x, |a, c, y| Cg::new(Stop::relative(1e-5)).solve(a, &mut m, c, y));
        report.unwrap().unwrap().converged().unwrap().iterations as f64
    };
    let free = iterations(0);
    for pairs in [10, 40, 120] {
        let tied = iterations(pairs);
        assert!(tied <= 1.5 * free, "{pairs} pairs: {tied} iterations, {free} without");
    }
}

/// A preconditioner updated to changed filters takes at most a third more iterations than a newly built
/// preconditioner.
#[test]
fn updates_follow_filters_that_move() {
    let p = problem("cloth:12");
    let (backend, b) = (Cpu::new(), p.right_hand_side(1));
    let mut c = Constraints::new(144, 3).unwrap();
    let mut hold = |first: usize| {
        c.clear();
        (first..140).step_by(9).for_each(|i| c.plane(i, &[0.3, 0.1, 1.0], 0.01).unwrap());
        c.clone()
    };
    let mut filtered = prefilter(p.system(), &hold(13)).unwrap();
    let mut m = Schwarz::multilevel().build(filtered.system(Some(&p.positions)), &backend).unwrap();
    let mut sa = tamstorf().build(filtered.system(Some(&p.positions)), &backend).unwrap();
    for first in [13, 14, 20, 13] {
        filtered.update(p.system(), &hold(first)).unwrap();
        m.update(filtered.system(Some(&p.positions))).unwrap();
        sa.update(filtered.system(Some(&p.positions))).unwrap();
        let (mut x, mut y) = (vec![0.0; b.len()], vec![0.0; b.len()]);
        let stop = Stop::relative(1e-11);
        let one =
            filtered.solve(&b, &mut x, |a, c, y| Cg::new(stop).solve(a, &mut m, c, y)).unwrap().unwrap();
        let two =
            filtered.solve(&b, &mut y, |a, c, y| Cg::new(stop).solve(a, &mut sa, c, y)).unwrap().unwrap();
        let mut rebuilt = tamstorf().build(filtered.system(Some(&p.positions)), &backend).unwrap();
        let mut z = vec![0.0; b.len()];
        let three = filtered
            .solve(&b, &mut z, |a, c, y| Cg::new(stop).solve(a, &mut rebuilt, c, y))
            .unwrap()
            .unwrap();
        let (kept, built) = (two.iterations, three.iterations);
        assert!(3 * kept <= 4 * built + 3, "from node {first}: {kept} iterations, {built} when built");
        assert!(
            one.converged().is_ok() && two.converged().is_ok() && close(&x, &y, 1e-9),
            "from node {first}"
        );
        let normal: f64 = 0.3 * x[3 * first] + 0.1 * x[3 * first + 1] + x[3 * first + 2];
        let size = x.iter().fold(1.0_f64, |m, v| m.max(v.abs()));
        assert!((normal - 0.01).abs() < 1e-14 * size, "node {first}: {normal}");
    }
}

/// A failed update keeps matrix, near-kernel and constraints. When contact is removed, its blocks are removed
/// too.
#[test]
fn refused_updates_and_contact_that_goes_leave_nothing() {
    let p = problem("cloth:12");
    let n = p.positions.len();
    let mut c = Constraints::new(n, 3).unwrap();
    c.plane(40, &[0.0, 0.0, 1.0], 0.1).unwrap();
    let mut filtered = prefilter(p.system(), &c).unwrap();
    let before = (filtered.matrix().clone(), filtered.near_kernel().clone(), filtered.density());
    let mut positions = p.positions.clone();
    positions[7][1] = f64::NAN;
    c.point(50, &[0.0; 3]).unwrap();
    let system = System { positions: Some(&positions), near_kernel: None, ..p.system() };
    let refused = filtered.update(system, &c).unwrap_err();
    assert!(refused.to_string().contains("positions"), "{refused}");
    assert_eq!((filtered.matrix().clone(), filtered.near_kernel().clone(), filtered.density()), before);
    let stiff = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
    let mut contact = Contacts::new(n, 3).unwrap();
    for pairs in [vec![(20, 100), (30, 90)], vec![(30, 90)], vec![]] {
        let touching: Vec<Stencil> = pairs.iter().map(|&(i, j)| Stencil::point_point(i, j)).collect();
        contact.assemble(&touching, &stiff.repeat(touching.len())).unwrap();
        let system = System { contact: Some(&contact), ..p.system() };
        filtered.update(system, &c).unwrap();
        assert_eq!(filtered.matrix(), prefilter(system, &c).unwrap().matrix(), "{} pairs", pairs.len());
    }
}
